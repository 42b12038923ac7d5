"""One fuzzer for each parser: makes input, has it read, says whether it came to a decision; raises if that is wrong."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import dataclass
from typing import Any, Callable

from taskie import cli, protocol
from taskie.autopilot import advance, shape
from taskie.autopilot import state as autopilot_state
from taskie.autopilot import table as autopilot_table
from taskie.errors import CommandError
from taskie.plans import reviewed
from taskie.plans.phases import PHASES
from taskie.store import StoreError
from tools.torture import formats
from tools.torture.chance import Chance
from tools.torture.room import Room, blocks, must_speak, stop

MODELS = ("opus", "sonnet")


def _events(chance: Chance, room: Room) -> bool:
    """Any event, at the hook of a project with a plan that is complete."""
    project = room.project("events")
    plan = project / ".taskie" / "plans" / "p"
    if not plan.exists():
        plan.mkdir(parents=True)
        (plan / "plan.md").write_text("# P\n")
        (plan / "state.json").write_text('{"phase": "complete", "next_phase": null}')
    fields = chance.spoil(stop(chance, project))
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
    fields = {**stop(chance, project), "stop_hook_active": chance.is_(0.2)}
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
    document = room.answer(["--fail-open"], chance.text_of(stop(chance, project)), project, only=only)
    shutil.rmtree(folder)
    return blocks(document) or bool(document.get("systemMessage")) or document.get("decision") == "approve"


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
        must_speak(error)
        return False
    before = path.read_bytes()
    try:
        answer = advance.advance(str(project), advance.parse(text), room.env, lambda warning: None)
    except CommandError as error:
        must_speak(error)
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
        **stop(chance, project),
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
        assert blocks(document), f"{found!r} is allowed"
    return intact and isinstance(found, str)


@dataclass(frozen=True)
class Fuzzer:
    check: Callable[[Chance, Room], bool]
    weight: int = 10


# A parser that is new gets a line here. (Trust files: once there are any.)
FUZZERS = {
    "events": Fuzzer(_events, 12),
    "states": Fuzzer(_states, 10),
    "commands": Fuzzer(_commands, 2),
    "tables": Fuzzer(formats.tables, 10),
    "yaml": Fuzzer(formats.yaml, 5),
    "answers": Fuzzer(formats.review_answers, 10),
    "plan-answers": Fuzzer(formats.plan_answers, 10),
    "claudex": Fuzzer(_claudex, 8),
    "claudex-findings": Fuzzer(formats.claudex_findings, 6),
    "advance": Fuzzer(_autopilot_advance, 4),
    "tool-use": Fuzzer(_tool_use, 8),
    "toml": Fuzzer(formats.toml, 10),
    "transcripts": Fuzzer(formats.transcripts, 8),
    "outputs": Fuzzer(formats.outputs, 20),
    "journals": Fuzzer(formats.journals, 6),
    "recorded": Fuzzer(formats.recorded, 6),
    "acceptance": Fuzzer(formats.acceptance, 6),
}
