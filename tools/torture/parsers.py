"""One fuzzer for each parser: makes input, has it read, says whether it came to a decision; raises if that is wrong."""

from __future__ import annotations

import importlib
import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable
from unittest.mock import patch

from pytest_taskie._judgement import FIELDS, SPECIFIC, judge
from taskie import cli, config, hook, protocol, recorded, transcript
from taskie.autopilot import acceptance, advance, shape
from taskie.autopilot import state as autopilot_state
from taskie.autopilot import table as autopilot_table
from taskie.claudex import counting
from taskie.errors import CommandError
from taskie.gauntlet import answers, verdict
from taskie.gauntlet import config as gauntlet_config
from taskie.plans import findings, journal, reviewed, reviewer, tasks
from taskie.plans.phases import PHASES
from taskie.store import StoreError
from tools.torture.chance import Chance

MODELS = ("opus", "sonnet")
OUTCOMES = ("allowed", "asked", "blocked", "continued", "stopped")


class Room:
    """A worker's own directory, with a project of every engine, and the hook as a function."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.home.mkdir(parents=True)
        self.env = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
        self.transcript = self.home / "transcript.jsonl"
        self.outcome: reviewed.Reviewed | None = None
        setattr(reviewer, "review", self._review)  # noqa: B010 - it takes any arguments, which mypy would not have
        os.environ.clear()
        os.environ.update(self.env)

    def project(self, name: str) -> Path:
        path = self.root / name
        if not path.exists():
            path.mkdir()
        return path

    def _review(self, *_: object) -> reviewed.Reviewed:
        """In place of a program that writes a review."""
        if self.outcome is None:
            raise reviewer.ReviewFailed("there is none", reviewed.Reviewed(False), None)
        return self.outcome

    def hook(self, argv: Sequence[str], data: bytes, cwd: Path, only: str | None = None) -> tuple[int, str, str]:
        """Exit code and streams."""
        said: dict[int, list[str]] = {1: [], 2: []}
        os.chdir(cwd)
        with (
            patch.object(hook, "read_stdin", lambda: data),
            patch.object(hook, "write", lambda fd, text: said[fd].append(text)),
        ):
            code = hook.main(argv, only)
        return code, "".join(said[1]), "".join(said[2])

    def answer(self, argv: Sequence[str], data: bytes, cwd: Path, *, only: str | None = None) -> dict[str, Any]:
        """What the hook says to a client; it must be one line that a client can read, with exit 0 and no traceback."""
        code, out, err = self.hook(argv, data, cwd, only)
        assert code == 0, f"exit {code}: {err[-300:]}"
        assert "Traceback" not in err, err[-400:]
        assert out.count("\n") <= 1, out
        if not out:
            return {}
        out.encode("utf-8")  # a lone surrogate would not do
        document: dict[str, Any] = json.loads(out)
        reading = judge(0, out, err, "PreToolUse" if "--pre-tool-use" in argv else "Stop")
        assert only or reading.fault is None, reading.fault
        return document


def _must_speak(error: Exception) -> None:
    assert str(error) or error.args, "an error without a word"


def _stop(chance: Chance, cwd: Path) -> dict[str, Any]:
    event = {
        "session_id": "s",
        "cwd": str(cwd),
        "hook_event_name": "Stop",
        "stop_hook_active": chance.is_(0.3),
        "last_assistant_message": "Done.",
    }
    if chance.is_(0.3):
        event["transcript_path"] = chance.pick("/nowhere", str(cwd), None)
    return event


def _blocks(document: Mapping[str, Any]) -> bool:
    return document.get("decision") == "block" or "hookSpecificOutput" in document


def _events(chance: Chance, room: Room) -> bool:
    """Any event, at the hook of a project with a plan that is complete."""
    project = room.project("events")
    plan = project / ".taskie" / "plans" / "p"
    if not plan.exists():
        plan.mkdir(parents=True)
        (plan / "plan.md").write_text("# P\n")
        (plan / "state.json").write_text('{"phase": "complete", "next_phase": null}')
    fields = chance.spoil(_stop(chance, project))
    data = chance.damage(chance.text_of(fields if chance.is_(0.96) else chance.value(4)))
    argv = chance.choice(([], ["--fail-open"], ["--pre-tool-use"], ["--subagent-stop"]))
    code, out, err = room.hook(argv, data, project)
    assert "Traceback" not in err, err[-400:]
    try:
        protocol.parse_event(data)
    except protocol.InputError:
        assert code == (2 if not argv else 0), (code, argv)
        return False
    assert code in ((0, 2) if not argv else (0,)), (code, argv, err)
    assert code == 2 or argv in (["--pre-tool-use"], ["--subagent-stop"]) or json.loads(out)
    return True


def _states(chance: Chance, room: Room) -> bool:
    """A plan's state, at a stop; the reviewer is a function."""
    project = room.project("states")
    plan = project / ".taskie" / "plans" / "p"
    plan.mkdir(parents=True, exist_ok=True)
    (plan / "plan.md").write_text("# P\n")
    (plan / "task-1.md").write_text("# T\n")
    (plan / "tasks.md").write_text(f"| Id | Status |\n|--|--|\n| 1 | {chance.choice(('done', 'pending', 'x'))} |\n")
    phases = [*PHASES, None]
    state = {
        "max_reviews": chance.pick(0, 1, 8, odd=0.03),
        "current_task": chance.pick(None, "1", 1, "2", odd=0.03),
        "phase": chance.pick(*phases, odd=0.03),
        "phase_iteration": chance.pick(0, 1, 7, None, odd=0.03),
        "next_phase": chance.pick(*phases, odd=0.03),
        "review_model": chance.pick(*MODELS, odd=0.03),
        "consecutive_clean": chance.pick(0, 1, odd=0.03),
        "tdd": chance.pick(True, False, odd=0.03),
    }
    data = chance.damage(chance.text_of(chance.spoil(state, 0.2)), 0.05)
    (plan / "state.json").write_bytes(data)
    price = chance.pick(None, 0.5, odd=0.0)
    room.outcome = None if chance.is_(0.2) else reviewed.Reviewed(chance.is_(0.5), cost=price)
    fields = {**_stop(chance, project), "stop_hook_active": chance.is_(0.2)}
    document = room.answer(["--fail-open"], chance.text_of(fields), project)
    after = (plan / "state.json").read_bytes()
    if after != data:
        assert isinstance(json.loads(after), dict), "a state that is written is an object"
    for name in plan.iterdir():
        if name.name.startswith(".") or "review" in name.name:
            name.unlink()
    words = str(document.get("systemMessage"))
    return "no review until it is fixed" not in words


def _commands(chance: Chance, room: Room) -> bool:
    """What people type about a state: each ends with 0, 1 or 2 and no traceback."""
    project = room.project("commands")
    plan = project / ".taskie" / "plans" / "p"
    plan.mkdir(parents=True, exist_ok=True)
    (plan / "plan.md").write_text("# P\n")
    phases = [*PHASES, None]
    state = {
        "max_reviews": 8,
        "phase": chance.choice(phases),
        "next_phase": chance.choice(phases),
        "phase_iteration": 0,
    }
    (plan / "state.json").write_bytes(chance.damage(chance.text_of(chance.spoil(state, 0.4)), 0.05))
    words = chance.choice(
        (
            ["state", "get", "-r", chance.pick(".phase", ".", ".next_phase", odd=0.0)],
            ["state", "set", f"phase={chance.pick(*PHASES, odd=0.0)}", "--force"],
            ["state", "set", f"max_reviews={chance.word()}"],
            ["next"],
            ["status", "--json"],
            ["watch", "--once"],
            ["limit", chance.word() or "1"],
        )
    )
    if any("\0" in word for word in words):
        return False
    os.chdir(project)
    _, err, code = _captured(words)
    assert code in (0, 1, 2), code
    assert "Traceback" not in err, err[-300:]
    return code == 0 or "taskie:" in err


def _captured(words: list[str]) -> tuple[str, str, int]:
    import contextlib
    import io

    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    err = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = cli.main(words)
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else 1
        out.flush()
    return out.buffer.getvalue().decode("utf-8", "replace"), err.getvalue(), code


STATUSES = ("done", "pending", "in-progress", "**Done**", "✅", "todo", "[x]", "blocked", "completed (abc)")


def _tables(chance: Chance, room: Room) -> bool:
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


def _yaml(chance: Chance, room: Room) -> bool:
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
        _must_speak(error)
        return False
    return True


def _review_answers(chance: Chance, room: Room) -> bool:
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


def _plan_answers(chance: Chance, room: Room) -> bool:
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


def _claudex(chance: Chance, room: Room) -> bool:
    """A loop's state at a stop."""
    project = room.project("claudex")
    folder = project / ".claude" / "claudex"
    folder.mkdir(parents=True, exist_ok=True)
    identifier = "20260426-094523-abc123"
    fields = {
        "mode": chance.choice(("plan", "plan", "review")),
        "phase": chance.choice(("drafting", "reviewing", "reviewing", "done")),
        "topic": json.dumps(chance.word()),
        "round": str(chance.choice((1, 2, 3))),
        "max_rounds": str(chance.choice((1, 3))),
        "review_id": identifier,
        "repo_root": str(project),
        "session_id": chance.choice(("", "", "s", "other")),
        "started_at_epoch": "1777196723",
        "decision_signal": chance.choice(("none", "none", "no-material-findings", "x")),
    }
    spoiled = chance.spoil(fields, 0.15)
    text = "".join(f"{key}: {value}\n" for key, value in spoiled.items())
    state = folder / f"{identifier}.state"
    state.write_bytes(chance.damage(text.encode("utf-8", "replace"), 0.1))
    plan = project / "PLAN.md"
    plan.write_text("# P\n") if chance.is_(0.7) else plan.unlink(missing_ok=True)
    found = folder / identifier / "findings-round-1.md"
    found.parent.mkdir(exist_ok=True)
    found.write_text(chance.choice(("## High\n- x\n", "No substantive findings.\n", "")))
    only = chance.choice((None, "claudex"))
    document = room.answer(["--fail-open"], chance.text_of(_stop(chance, project)), project, only=only)
    shutil.rmtree(folder)
    return _blocks(document) or bool(document.get("systemMessage")) or document.get("decision") == "approve"


def _claudex_findings(chance: Chance, room: Room) -> bool:
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


STEPS = (*autopilot_table.FLOW, *autopilot_table.ASIDE, "resume")


def _autopilot_state(chance: Chance) -> dict[str, Any]:
    state = shape.new("FTR-1", "spec.md", "2026-01-01T00:00:00Z")
    state["plan_exists"] = chance.is_(0.8)
    state["tasks"] = [shape.new_task(1, "first"), shape.new_task("b", "second")]
    state["current_task"] = chance.pick(1, 1, "b", None, odd=0.05)
    state["step"] = chance.pick(*autopilot_table.STEPS, odd=0.03)
    state["tasks"][0].update(
        coder=chance.choice(("pending", "done")), tester=chance.choice(("pending", "pass", "fail"))
    )
    state["counters"] = {name: chance.pick(0, 1, 3, odd=0.02) for name in state["counters"]}
    loop = state["loop"]
    loop.update(then=chance.pick(None, "commit", odd=0.02), resume=chance.pick(None, "verify_func", odd=0.02))
    tested = {"passed": True, "failing": [], "summary": "PASS", "log": "x", "tree": None, "moved": ""}
    loop["tested"] = chance.pick(None, tested, odd=0.02)
    if chance.is_(0.15):
        state["loop"] = chance.spoil(loop)
    return chance.spoil(state, 0.12)


def _autopilot_advance(chance: Chance, room: Room) -> bool:
    """A state and an event: either is refused with a sentence, or the loop moves on."""
    project = room.project("autopilot")
    path = project / "autopilot-state.json"
    state = _autopilot_state(chance)
    path.write_bytes(chance.damage(chance.text_of(state), 0.04))
    (project / "spec.md").write_text("# FTR-1\n\n**Status:** queued\n")
    step = state.get("step") if chance.is_(0.7) else chance.choice(STEPS)
    known = [result for at, result in autopilot_table.TABLE if at == step] or ["passed"]
    event: dict[str, Any] = {"step": step, "result": chance.pick(*known, "passed", "failed", odd=0.05)}
    event["files_changed"] = chance.pick(["src/app.py"], [], odd=0.1)
    if chance.is_(0.3):
        event["findings"] = chance.value()
    text = chance.text_of(chance.spoil(event, 0.15)).decode("utf-8", "replace")
    try:
        autopilot_state.need(str(project))
    except StoreError as error:
        _must_speak(error)
        return False
    before = path.read_bytes()
    try:
        answer = advance.advance(str(project), advance.parse(text), room.env, lambda warning: None)
    except CommandError as error:
        _must_speak(error)
        assert path.read_bytes() == before, "a refused event changes nothing"
        return True
    assert isinstance(answer["next"], str)
    autopilot_state.need(str(project))  # what was written can be read
    return True


def _tool_use(chance: Chance, room: Room) -> bool:
    """A tool on a path: code before the plan is denied however the path is written."""
    project = room.project("tools")
    state = shape.new("FTR-1", "spec.md", "now")
    state["plan_exists"] = chance.is_(0.3)
    path = project / "autopilot-state.json"
    path.write_bytes(chance.damage(chance.text_of(state), 0.05))
    given = chance.pick("src/app.py", "src/a/b.py", "./src/../src/x", "README.md", f"{project}/src/y", odd=0.2)
    if isinstance(given, str) and chance.is_(0.15):
        given += chance.choice(("\0", "\ud800", "\x1b", "//", "/..", " "))
    event = {
        **_stop(chance, project),
        "hook_event_name": "PreToolUse",
        "tool_name": chance.pick("Write", "Edit", odd=0.1),
    }
    event["tool_input"] = chance.spoil({"file_path": given}, 0.1)
    data = json.dumps(event).encode()
    document = room.answer(["--pre-tool-use"], data, project)
    try:
        intact = json.loads(path.read_bytes().decode()) == state  # of bytes json would take a mark at their beginning
    except ValueError:
        intact = False
    found = event["tool_input"].get("file_path")
    is_code = (
        isinstance(found, str) and "\0" not in found and os.path.normpath(found).startswith(("src/", f"{project}/src/"))
    )
    if intact and is_code and event["tool_name"] in ("Write", "Edit") and not state["plan_exists"]:
        assert _blocks(document), f"{found!r} is allowed"
    return intact and isinstance(found, str)


def _toml(chance: Chance, room: Room) -> bool:
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


def _transcripts(chance: Chance, room: Room) -> bool:
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


def _outputs(chance: Chance, room: Room) -> bool:
    """What any hook may print, and how it is judged."""
    event = chance.choice((*SPECIFIC, "Stop", "Stop", "PreToolUse", "TaskCompleted", "PreCompact"))
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
        for name in SPECIFIC.get(event, {}):
            if chance.is_(0.5):
                specific[name] = chance.pick("x", "deny", "allow", {}, [], True, odd=0.1)
        document["hookSpecificOutput"] = chance.pick(specific, odd=0.1)
    if chance.is_(0.25):
        document[chance.choice(tuple(FIELDS))] = chance.value()
    text = chance.damage(chance.text_of(document)).decode("utf-8", "replace")
    if chance.is_(0.1):
        text = chance.choice((" ", "\u3000", "\ufeff", "words\n", "[" * 3000, '{"a": ' * 3000, "9" * 5000)) + text
    reading = judge(chance.choice((0, 0, 1, 2, -9)), text, chance.choice(("", "no such file")), event)
    assert reading.outcome in OUTCOMES
    assert reading.sentence
    return reading.document is not None


def _journals(chance: Chance, room: Room) -> bool:
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


def _recorded(chance: Chance, room: Room) -> bool:
    """What a test runner records for a gate."""
    project = room.project("recorded")
    counts = chance.spoil({"passed": 1, "failed": 0, "errors": 0, "warnings": 0}, 0.1)
    line = {"exit_code": 0, "counts": counts, "ids": ["t::a"], "failed": [], "tree": "x", "root": "/"}
    lines = [chance.text_of(chance.spoil(line, 0.15)).replace(b"\n", b" ") for _ in range(chance.randrange(1, 4))]
    path = project / "record.jsonl"
    path.write_bytes(chance.damage(b"\n".join(lines) + b"\n", 0.2))
    return len(list(recorded.read(str(path)))) > 0


def _acceptance(chance: Chance, room: Room) -> bool:
    """The tables under a spec's Acceptance Verification."""
    rows = [
        f"| AV-S{n} | {chance.word()} | `curl {chance.word()}` | 200 | {chance.pick('5s', '1 min', 'x', odd=0.0)} |"
        for n in range(3)
    ]
    table = ["| ID | Check | Command / Action | Expected | Timeout |", "|---|---|---|---|---|", *rows]
    text = "\n".join(["# S", "", "## Acceptance Verification", "", *table, "", chance.word()])
    found = acceptance.checks(chance.damage(text.encode("utf-8", "replace"), 0.4).decode("utf-8", "replace"))
    return found is not None


@dataclass(frozen=True)
class Fuzzer:
    check: Callable[[Chance, Room], bool]
    weight: int = 10


# A parser that is new gets a line here. (Trust files: once there are any.)
FUZZERS = {
    "events": Fuzzer(_events, 12),
    "states": Fuzzer(_states, 10),
    "commands": Fuzzer(_commands, 2),
    "tables": Fuzzer(_tables, 10),
    "yaml": Fuzzer(_yaml, 5),
    "answers": Fuzzer(_review_answers, 10),
    "plan-answers": Fuzzer(_plan_answers, 10),
    "claudex": Fuzzer(_claudex, 8),
    "claudex-findings": Fuzzer(_claudex_findings, 6),
    "advance": Fuzzer(_autopilot_advance, 4),
    "tool-use": Fuzzer(_tool_use, 8),
    "toml": Fuzzer(_toml, 10),
    "transcripts": Fuzzer(_transcripts, 8),
    "outputs": Fuzzer(_outputs, 20),
    "journals": Fuzzer(_journals, 6),
    "recorded": Fuzzer(_recorded, 6),
    "acceptance": Fuzzer(_acceptance, 6),
}
