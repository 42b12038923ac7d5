"""Every state command of every action, from every state that another one leaves and in which `taskie next` names it."""

from __future__ import annotations

import itertools
import json
import re
from typing import Any

import pytest
from support import ROOT
from support.commands import Taskie

from following.agent import COMMAND, PLAN, filled, state_commands
from pytest_taskie import Plan, Project, make_state
from taskie.plans.phases import CYCLES, PHASES, POST_REVIEWS

pytestmark = pytest.mark.state

TEXTS = {path.stem: " ".join(path.read_text().split()) for path in sorted((ROOT / "actions").glob("*.md"))}
# Every command, as "ACTION" or "ACTION 1" and "ACTION 2" for the two of an answer: in the loop, and alone.
WRITES = {
    f"{action} {number + 1}" if len(found) > 1 else action: command
    for action, text in TEXTS.items()
    for found in [COMMAND.findall(text)]
    for number, command in enumerate(found)
}
LOOP = {f"{post} 1": {"phase": review.phase, "next_phase": post} for post, review in POST_REVIEWS.items()}
PAIRS = list(itertools.product(WRITES, repeat=2))

TABLE = "| Id | Status | Prerequisites |\n|---|---|---|\n| 1 | {} | - |\n| 2 | {} | 1 |\n"
TASK = "# Task\n\n- **Status**: {}\n"
WHOLE = {"plan.md": "# Plan\n\n## Overview\n"}


def tasks(first: str, second: str, *reviewed: str) -> dict[str, str]:
    return {
        **WHOLE,
        "tasks.md": TABLE.format(first, second),
        "task-1.md": TASK.format("done" if first == "done" else "pending"),
        "task-2.md": TASK.format("done" if second == "done" else "pending"),
        **{f"task-{task}-review-1.md": "# Review" for task in reviewed},
    }


# What may lie beside a state.
FILES: dict[str, dict[str, str]] = {
    "nothing": {},
    "half-a-plan": {"plan.md": "# Half\n"},
    "plan": WHOLE,
    "rows-without-files": {**WHOLE, "tasks.md": TABLE.format("pending", "pending")},
    "pending": tasks("pending", "pending"),
    "begun": tasks("in-progress", "pending"),
    "first-done": tasks("done", "pending"),
    "first-reviewed": tasks("done", "pending", "1"),
    "all-done": tasks("done", "done", "1"),
    "all-reviewed": tasks("done", "done", "1", "2"),
}
AT_WORK = {"phase": "tasks-review", "next_phase": "complete-task"}
# No state at all.
UNREADABLE = {"missing": None, "empty": "", "cut-off": '{"phase": "complete-ta', "list": "[]"}
# A state with a value that it cannot have.
BAD_FIELDS: dict[str, dict[str, Any]] = {
    "phase-number": {"phase": 5},
    "next-phase-list": {"next_phase": ["code-review"]},
    "task-path": {"current_task": "../1"},
    "negative": {"phase_iteration": -1},
    "max-reviews-text": {"max_reviews": "many"},
    "tdd-text": {"tdd": "yes"},
}
UNUSABLE = {**UNREADABLE, **{name: json.dumps(make_state(**{**AT_WORK, **bad})) for name, bad in BAD_FIELDS.items()}}


@pytest.fixture
def plan(project: Project) -> Plan:
    """An empty plan of the name that the agent fills in."""
    plan = Plan(project.path / ".taskie" / "plans" / PLAN)
    plan.path.mkdir(parents=True)
    return plan


def lay_out(plan: Plan, files: dict[str, str]) -> None:
    for path in plan.path.iterdir():
        path.unlink()
    for name, text in files.items():
        plan.write(name, text)


def own_write(action: str, next_phase: object, task: str | None) -> tuple[str, ...]:
    """The command with which an action ends, in this state."""
    (command,) = state_commands(TEXTS[action], next_phase)
    return filled(command, task)


def problem_of(plan: Plan, taskie: Taskie, *, unusable: bool = False, repaired: bool = False) -> str | None:
    """What goes wrong if somebody follows `taskie next` to its action's state command; None if nothing does."""
    asked = taskie("next", "--json")
    if asked.code:
        return f"next: {asked.err}"
    step = json.loads(asked.out)
    if step["action"] == "ask" and "`taskie state repair`" in step["why"] and not repaired:
        done = taskie("state", "repair")
        return f"repair: {done.err}" if done.code else problem_of(plan, taskie, repaired=True)
    if step["file"] is None:
        return None if step["action"] != "ask" or not unusable else f"nobody says how to go on: {step['why']}"
    try:
        state = json.loads(plan.state.path.read_text())
    except (OSError, ValueError):
        state = {}
    next_phase = state.get("next_phase") if isinstance(state, dict) else None
    words = own_write(step["action"], next_phase, step["task"] or "1")
    done = taskie(*words)
    if done.code:
        return f"{step['action']}: {done.err}"
    after = plan.state.read()
    assert after["phase"] == step["action"]
    if after["next_phase"] == "plan-review" and step["action"] not in ("new-plan", "post-plan-review"):
        return f"{step['action']} leads to plan-review"
    again = taskie("next", "--json")
    return f"next, after {' '.join(words)}: {again.err}" if again.code else None


@pytest.mark.parametrize("first", WRITES)
def test_every_pair(first: str, plan: Plan, taskie: Taskie) -> None:
    """What follows a write that announces nothing, ends the loop, or is repeated is never refused."""
    lay_out(plan, FILES["begun"])
    wrong = []
    for second in WRITES:
        plan.state.write(**LOOP.get(first, {"phase": "complete", "next_phase": None, "current_task": "1"}))
        done = taskie(*filled(WRITES[first], "1"))
        assert done.code == 0, done.err
        before = plan.state.path.read_bytes()
        announced = plan.state.read()["next_phase"]
        if second in LOOP and announced != LOOP[second]["next_phase"] and second != first:
            continue  # the action itself says that this command is not for here
        done = taskie(*filled(WRITES[second], "2"))
        expected = announced is None or "next_phase=null" in WRITES[second] or first == second or is_free(second)
        if done.code and expected:
            wrong.append(f"{second}: {done.err}")
        if done.code and plan.state.path.read_bytes() != before:
            wrong.append(f"{second}: is refused, and has changed the state")
        if done.code and not re.search(r"follows|comes", done.err):
            wrong.append(f"{second}: does not say what it may follow: {done.err}")
    assert not wrong, "\n".join(wrong)


def is_free(write: str) -> bool:
    """A command that changes no phase, and so has no place in the machine."""
    return "phase=" not in WRITES[write] and " begin " not in WRITES[write]


@pytest.mark.parametrize("phase", PHASES)
def test_what_next_names_from_every_state(phase: str, plan: Plan, taskie: Taskie) -> None:
    """All that the table allows, with all that may lie there; what it does not allow, with a few."""
    wrong = []
    for next_phase, (label, files) in itertools.product((*PHASES, None), FILES.items()):
        allowed = next_phase is None or next_phase in PHASES[phase].next
        if not allowed and label not in ("plan", "begun"):
            continue
        for task in [None, "1", "2"][: 3 if "done" in label else 2] if allowed else ["1"]:
            lay_out(plan, files)
            plan.state.write(phase=phase, next_phase=next_phase, current_task=task, phase_iteration=1)
            problem = problem_of(plan, taskie)
            if problem:
                wrong.append(f"{next_phase} next, task {task}, {label}: {problem}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("state", UNUSABLE)
def test_what_next_names_without_a_usable_state(state: str, plan: Plan, taskie: Taskie) -> None:
    wrong = []
    for label, files in FILES.items():
        lay_out(plan, files)
        spoil(plan, UNUSABLE[state])
        problem = problem_of(plan, taskie, unusable=True)
        if problem:
            wrong.append(f"{label}: {problem}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("state", [*UNREADABLE, "nothing-said"])
def test_every_action_may_begin_without_a_usable_state(state: str, plan: Plan, taskie: Taskie) -> None:
    """The state is made of the action's own fields, and the spoiled one is kept."""
    wrong = []
    for write, command in WRITES.items():
        if write in LOOP or is_free(write):
            continue  # for a state that says where it is
        lay_out(plan, FILES["begun"])
        spoil(plan, UNUSABLE.get(state, "{}"))
        done = taskie(*filled(command, "1"))
        if done.code:
            wrong.append(f"{write}: {done.err}")
            continue
        after = plan.state.read()
        action = write.partition(" ")[0]
        if action in CYCLES and after["next_phase"] != PHASES[action].next[0]:
            wrong.append(f"{write}: {after['next_phase']} is next")
        if action not in CYCLES and after["next_phase"] == "plan-review":
            wrong.append(f"{write}: inherits the plan's review")
    assert not wrong, "\n".join(wrong)


def spoil(plan: Plan, text: str | None) -> None:
    if text is not None:
        plan.state.raw(text)


@pytest.mark.parametrize("words", [("state", "repair"), filled(WRITES["complete-task"], "1")], ids=" ".join)
@pytest.mark.parametrize("state", ["cut-off", "list", *BAD_FIELDS])
def test_a_spoiled_state_is_kept(state: str, words: tuple[str, ...], plan: Plan, taskie: Taskie) -> None:
    """Whoever replaces it; an action changes a state with one bad field only in its own fields."""
    lay_out(plan, FILES["begun"])
    spoil(plan, UNUSABLE[state])
    done = taskie(*words)
    assert done.code == 0, done.err
    kept = [path.read_text() for path in plan.path.iterdir() if path.name != "state.json"]
    assert UNUSABLE[state] in kept or (state in BAD_FIELDS and "repair" not in words)
    assert problem_of(plan, taskie, unusable=True) is None
