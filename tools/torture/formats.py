"""Fuzzers of what is read by one function: tables, YAML, TOML, answers, transcripts, records. See `parsers`."""

from __future__ import annotations

import importlib
import json
from typing import Any, get_args

from pytest_taskie._contract import contract
from pytest_taskie._judgement import judge
from pytest_taskie._sentences import Outcome
from taskie import config, transcript
from taskie import recorded as records
from taskie.autopilot import acceptance as acceptance_tables
from taskie.claudex import counting
from taskie.gauntlet import answers, verdict
from taskie.gauntlet import config as gauntlet_config
from taskie.plans import findings, journal, reviewed, tasks
from tools.torture.chance import Chance
from tools.torture.room import Room, must_speak

OUTCOMES = get_args(Outcome)
STATUSES = ("done", "pending", "in-progress", "**Done**", "✅", "todo", "[x]", "blocked", "completed (abc)")


def tables(chance: Chance, room: Room) -> bool:
    """A table whose truth is known, unless it is spoiled."""
    rows = [(str(number + 1), chance.choice(STATUSES)) for number in range(chance.randrange(1, 9))]
    head = chance.choice(("| Id | Status | Priority |", "| ID | Status | Prerequisites |"))
    text = "\n".join([head, "|---|---|---|", *(f"| {id_} | {status} | {chance.word()} |" for id_, status in rows)])
    plain = "|" not in text.replace("\n", "").replace(" | ", "").replace("| ", "").replace(" |", "").replace("|---", "")
    spoiled = chance.damage(text.encode("utf-8", "replace"), 0.4)
    found = tasks.parse_tasks(spoiled.decode("utf-8", "replace"))
    standing = tasks.survey(spoiled.decode("utf-8", "replace"), ["task-1.md", "task-2-review-1.md"], lambda name: "")
    standing.next()
    tasks.task_files(found, [])
    if spoiled == text.encode("utf-8", "replace") and plain and "\n" not in "".join(s for _, s in rows):
        known = [(task.id, task.status) for task in found][: len(rows)]
        lost = [row for row in rows if row not in known]
        assert not lost or any(c in text for c in "\r\u2028\x0b\x0c\x1c\x85"), (lost, text)
    return bool(found)


def yaml(chance: Chance, room: Room) -> bool:
    """`.gauntlet/`, mostly right."""
    yaml = importlib.import_module("yaml")  # without stubs

    project = room.project("yaml")
    folder = project / ".gauntlet"
    for name in ("checks", "reviews"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    entry = {
        "path": chance.pick(".", "src", "packages/*", "**/*.py", odd=0.05),
        "checks": ["lint"],
        "reviews": ["look"],
    }
    top: dict[str, Any] = {"entry_points": [chance.spoil(entry, 0.05)]}
    for key, choices in {
        "base_branch": ("main", "origin/main"),
        "log_dir": ("logs", "a/b"),
        "allow_parallel": (True, False),
        "max_retries": (0, 3),
        "stop_hook": ({"enabled": True}, {"run_interval_minutes": 5}),
        "cli": ({"default_preference": ["claude"]},),
    }.items():
        if chance.is_(0.4):
            top[key] = chance.pick(*choices, odd=0.06)
    check = {"command": chance.pick("true", "make lint", odd=0.05)}
    for key, choices in {"timeout": (5, 0.5), "parallel": (True,), "working_directory": ("src",)}.items():
        if chance.is_(0.3):
            check[key] = chance.pick(*choices, odd=0.06)
    texts = {"config.yml": top, "checks/lint.yml": check}
    for name, value in texts.items():
        style = yaml.safe_dump if chance.is_(0.5) else json.dumps
        data = style(value).encode("utf-8", "replace")
        (folder / name).write_bytes(chance.damage(data, 0.06))
    head = json.dumps(chance.spoil({"num_reviews": 1}, 0.05))
    body = f"---\n{head}\n---\n{chance.word()}\nLook.\n".encode("utf-8", "replace")
    (folder / "reviews/look.md").write_bytes(chance.damage(body, 0.06))
    try:
        settings = gauntlet_config.load_settings(str(project))
        gauntlet_config.load(str(project), settings).checked()
    except (verdict.Invalid, verdict.Unable) as error:
        must_speak(error)
        return False
    return True


def review_answers(chance: Chance, room: Room) -> bool:
    """What a reviewer of a gate prints."""
    violation = {"file": "a.py", "line": chance.pick(1, None, "7-9", odd=0.2), "issue": "x", "priority": "high"}
    answer: Any = {"status": chance.pick("pass", "fail", odd=0.05), "violations": chance.pick([], [violation], odd=0.2)}
    if chance.is_(0.3):
        answer = chance.spoil(answer, 0.3)
    wrapped = chance.randrange(5)
    if wrapped == 0:
        answer = {"type": "result", "is_error": chance.pick(False, True, odd=0.1), "structured_output": answer}
    elif wrapped == 1:
        answer = {"result": chance.text_of(answer).decode()}
    data = chance.text_of(answer)
    if wrapped == 2:
        data = b'Let me {think} {"a": 1}\n```json\n' + data + b"\n```\nThat is all."
    elif wrapped == 3:
        data = b'{"a":"' * chance.choice((1, 50, 2000)) + b"\n" + data
    try:
        found = answers.verdict(chance.damage(data), "/root")
    except verdict.Unable:
        return False
    assert found.passes in (True, False)
    assert all(each["issue"] for each in found.violations)
    return True


def plan_answers(chance: Chance, room: Room) -> bool:
    """What a reviewer of a plan prints, and the findings in it."""
    finding = {"severity": "minor", "file": None, "line": 3, "what": "x", "evidence": "y"}
    verdict_: Any = {
        "verdict": chance.pick("PASS", "FAIL"),
        "findings": chance.pick([], [chance.spoil(finding)], odd=0.2),
    }
    usage = chance.spoil({"input_tokens": 1, "output_tokens": 2})
    document = {"type": "result", "structured_output": verdict_, "num_turns": 2, "total_cost_usd": 0.1, "usage": usage}
    if chance.is_(0.3):
        document = chance.spoil(document)
    if chance.is_(0.2):
        document["result"] = chance.text_of(verdict_).decode()
    said = reviewed.printed(chance.damage(chance.text_of(document)))
    found = reviewed.read(said, chance.choice((None, "minor", "blocker")))
    assert found.price == ""
    str(found.replace(seconds=1.0).price)
    findings.request(found.findings or ())
    findings.answers(chance.lines(("1. fixed", "- **2.** rejected: why", "| 3 | fixed |", chance.word())))
    return bool(said)


def claudex_findings(chance: Chance, room: Room) -> bool:
    lines = (
        "## High",
        "### Medium:",
        "- wrong",
        "1. two",
        "* none",
        "**Low**",
        "```",
        "",
        "No substantive findings.",
        "x",
    )
    text = chance.damage(chance.lines((*lines, chance.word()), 30).encode("utf-8", "replace"), 0.3)
    counts, least = counting.count(text.decode("utf-8", "replace"))
    assert all(type(number) is int and number >= 0 for number in counts.values())
    assert set(least) <= set(counts)
    return True


def toml(chance: Chance, room: Room) -> bool:
    """Settings of the user, of the project and of the environment: never an exception, always usable values."""
    project = room.project("toml")
    (project / ".taskie").mkdir(exist_ok=True)
    lines: list[str] = []
    section = ""
    for key in sorted(config.SETTINGS, key=lambda each: each.partition("_")[0]):
        if not chance.is_(0.25):
            continue
        name, _, setting = key.partition("_")
        if name != section:
            lines.append(f"[{name}]")
            section = name
        value = chance.pick(
            '"opus"', '["opus", "sonnet"]', "3", "0.5", "true", '"scoped"', '"strict"', "[]", "{}", odd=0.0
        )
        lines.append(f"{setting} = {value}")
    text = chance.damage("\n".join(lines).encode() + b"\n", 0.1)
    where = chance.choice((project / ".taskie" / "config.toml", room.home / ".config" / "taskie" / "config.toml"))
    where.parent.mkdir(parents=True, exist_ok=True)
    where.write_bytes(text)
    env = dict(room.env)
    for key in config.SETTINGS:
        if chance.is_(0.05):
            env[f"TASKIE_{key.upper()}"] = chance.pick(
                "1", "opus", "[1]", '["a"]', "x y", "-1", "nan", "1e400", odd=0.0
            )
    try:
        found = config.load(str(project), env)
    finally:
        where.unlink()
    assert found.review_models
    assert found.review_clean_required >= 1
    assert found.review_permissions in ("auto", "skip", "scoped")
    return not any("is not valid TOML" in warning for warning in found.warnings)


def transcripts(chance: Chance, room: Room) -> bool:
    """The client's record of a session."""
    lines = []
    for _ in range(chance.randrange(1, 8)):
        role = chance.choice(("user", "assistant"))
        call = {"type": "tool_use", "name": "Write", "input": {"file_path": "/p/.taskie/plans/p/plan.md"}}
        content = chance.pick("go on", [call], [chance.spoil(call)], [{"type": "text", "text": chance.word()}], odd=0.1)
        entry = {"type": role, "message": {"role": role, "content": content}}
        lines.append(json.dumps(chance.spoil(entry, 0.1) if chance.is_(0.3) else entry))
    room.transcript.write_bytes(chance.damage("\n".join(lines).encode("utf-8", "replace") + b"\n", 0.3))
    try:
        transcript.is_behind(str(room.transcript), chance.pick("go on", None))
        for act in transcript.acts(str(room.transcript), ["plans/p/", chance.choice(("taskie:", "bin/taskie"))]):
            assert isinstance(act.text, str)
    except transcript.Unreadable:
        return False
    return True


def outputs(chance: Chance, room: Room) -> bool:
    """What any hook may print, and how it is judged."""
    known = contract()
    event = chance.choice((*known.events, "Stop", "Stop", "PreToolUse", "TaskCompleted", "PreCompact"))
    good: dict[str, Any] = {
        "continue": chance.choice((True, False)),
        "decision": chance.choice(("block", "approve")),
        "reason": chance.word(),
        "systemMessage": chance.word(),
        "suppressOutput": True,
    }
    document = {key: value for key, value in good.items() if chance.is_(0.4)}
    if chance.is_(0.4):
        specific = {"hookEventName": chance.pick(event, odd=0.1)}
        for name in known.specific(event):
            if chance.is_(0.5):
                specific[name] = chance.pick("x", "deny", "allow", {}, [], True, odd=0.1)
        document["hookSpecificOutput"] = chance.pick(specific, odd=0.1)
    if chance.is_(0.25):
        document[chance.choice(tuple(known.fields))] = chance.value()
    text = chance.damage(chance.text_of(document)).decode("utf-8", "replace")
    if chance.is_(0.1):
        text = chance.choice((" ", "\u3000", "\ufeff", "words\n", "[" * 3000, '{"a": ' * 3000, "9" * 5000)) + text
    reading = judge(chance.choice((0, 0, 1, 2, -9)), text, chance.choice(("", "no such file")), event)
    assert reading.outcome in OUTCOMES
    assert reading.sentence
    return reading.document is not None


def journals(chance: Chance, room: Room) -> bool:
    """The record of a plan's reviews."""
    project = room.project("journal")
    entry = {
        "at": "2026-01-01T00:00:00Z",
        "review": "plan-review",
        "iteration": 1,
        "cost_usd": 0.5,
        "seconds": 3,
        "model": "opus",
    }
    lines = [chance.text_of(chance.spoil(entry, 0.2)).replace(b"\n", b" ") for _ in range(chance.randrange(1, 6))]
    (project / "reviews.jsonl").write_bytes(chance.damage(b"\n".join(lines) + b"\n", 0.2))
    found = journal.read(str(project))
    journal.spent(str(project))
    total, _ = journal.account(str(project))
    assert total >= 0
    return bool(found.entries)


def recorded(chance: Chance, room: Room) -> bool:
    """What a test runner records for a gate."""
    project = room.project("recorded")
    counts = chance.spoil({"passed": 1, "failed": 0, "errors": 0, "warnings": 0}, 0.1)
    line = {"exit_code": 0, "counts": counts, "ids": ["t::a"], "failed": [], "tree": "x", "root": "/"}
    lines = [chance.text_of(chance.spoil(line, 0.15)).replace(b"\n", b" ") for _ in range(chance.randrange(1, 4))]
    path = project / "record.jsonl"
    path.write_bytes(chance.damage(b"\n".join(lines) + b"\n", 0.2))
    return len(list(records.read(str(path)))) > 0


def acceptance(chance: Chance, room: Room) -> bool:
    """The tables under a spec's Acceptance Verification."""
    rows = [
        f"| AV-S{n} | {chance.word()} | `curl {chance.word()}` | 200 | {chance.pick('5s', '1 min', 'x', odd=0.0)} |"
        for n in range(3)
    ]
    table = ["| ID | Check | Command / Action | Expected | Timeout |", "|---|---|---|---|---|", *rows]
    text = "\n".join(["# S", "", "## Acceptance Verification", "", *table, "", chance.word()])
    found = acceptance_tables.checks(chance.damage(text.encode("utf-8", "replace"), 0.4).decode("utf-8", "replace"))
    return found is not None
