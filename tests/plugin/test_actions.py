"""The texts that agents follow, held against the table of phases and the fields of the state."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from support import ROOT
from support.commands import Taskie

from pytest_taskie import Plan
from taskie.plans.phases import CYCLES, ONE_TASK, PHASES, REVIEWS, WORK
from taskie.plans.state import FIELDS
from taskie.plans.structure import violations

pytestmark = [pytest.mark.state, pytest.mark.validation]

ACTIONS = {path.stem: path.read_text() for path in sorted((ROOT / "actions").glob("*.md"))}
COMMAND = re.compile(r"`taskie (state (?:set|begin) [^`]+)`")
# Actions that are not phases themselves: they lead to one, or change none.
HELPERS = {"continue-plan", "add-task"}

STANDALONE = {"next_phase": "null", "phase_iteration": "null"}
# What each action sets: (in the loop, standalone) for the answers to reviews.
DUTIES: dict[str, list[dict[str, str]]] = {
    **{cycle: [] for cycle in CYCLES},
    "next-task": [{"phase": "next-task", "current_task": "{id}", **STANDALONE}],
    "next-task-tdd": [{"phase": "next-task-tdd", "current_task": "{id}", **STANDALONE}],
    "continue-task": [{"phase": "continue-task", "current_task": "{id}"}],
    "continue-plan": [{"phase": "complete", "next_phase": "null"}],
    "add-task": [{"current_task": "{id}"}],
    **{review: [{"phase": review, **STANDALONE}] for review in REVIEWS},
    **{
        review.post: [{"phase": review.post, "next_phase": review.phase}, {"phase": review.post, **STANDALONE}]
        for review in REVIEWS.values()
    },
}


def commands(text: str) -> list[dict[str, str]]:
    """The fields of every `taskie state set` in a text, which says which plan it is about."""
    found = []
    for command in COMMAND.findall(text):
        verb, *words, option, plan = shlex.split(command)[1:]
        assert (option, plan) == ("--plan", "{plan-id}")
        if verb == "set":
            found.append(dict(word.split("=", 1) for word in words))
    return found


def beginnings(text: str) -> list[list[str]]:
    """The words after every `taskie state begin` in a text."""
    commands = [shlex.split(command)[1:] for command in COMMAND.findall(text)]
    return [words for verb, *words in commands if verb == "begin"]


def test_there_is_an_action_for_every_phase_but_the_last() -> None:
    assert set(ACTIONS) == {*PHASES} - {"complete"} | HELPERS


@pytest.mark.parametrize("name", ACTIONS)
def test_an_action_sets_what_the_design_says(name: str) -> None:
    assert commands(ACTIONS[name]) == DUTIES[name]


@pytest.mark.parametrize("name", ACTIONS)
def test_only_an_action_with_reviews_begins_their_cycle(name: str) -> None:
    task = ["{id}"] if name in CYCLES and REVIEWS[PHASES[name].next[0]].needs == ONE_TASK else []
    assert beginnings(ACTIONS[name]) == ([[name, *task, "--plan", "{plan-id}"]] if name in CYCLES else [])


@pytest.mark.parametrize("name", [name for name in ACTIONS if name in WORK])
def test_the_state_is_written_before_the_row(name: str) -> None:
    text = ACTIONS[name]
    assert text.index("`taskie state ") < text.index("set the task's status to `done`")


def test_the_state_is_written_before_the_plan() -> None:
    text = ACTIONS["new-plan"]
    assert text.index("`taskie state ") < text.index("Write `plan.md`")


@pytest.mark.parametrize("name", ACTIONS)
def test_no_action_decides_what_the_configuration_does(name: str) -> None:
    assert not {"review_model", "max_reviews"} & {field for fields in commands(ACTIONS[name]) for field in fields}


@pytest.mark.parametrize("name", ACTIONS)
def test_fields_and_phases_exist(name: str) -> None:
    for fields in commands(ACTIONS[name]):
        assert set(fields) <= set(FIELDS)
        for field in ("phase", "next_phase"):
            assert fields.get(field, "null") in {*PHASES, "null"}
    named = set(re.findall(r"`\"?([a-z]+(?:-[a-z]+)+)\"?`", ACTIONS[name]))
    assert named <= {*PHASES, *HELPERS, "in-progress"}


@pytest.mark.parametrize("name", [*ACTIONS, "ground-rules"])
def test_files_that_are_named_may_exist(name: str) -> None:
    text = ACTIONS.get(name) or (ROOT / "ground-rules.md").read_text()
    for file in re.findall(r"[\w{}./-]+\.md\b", text):
        concrete = file.replace("{n}", "1").replace("{id}", "1").replace("{plan-id}", "p").rpartition("/")[2]
        if not (ROOT / file).exists():
            assert f"Invalid filename: {concrete}" not in violations([concrete], False, None), file


@pytest.mark.parametrize("name", [name for name in ACTIONS if name in REVIEWS])
def test_a_review_starts_from_a_clean_slate_and_leaves_the_state_to_the_hook(name: str) -> None:
    assert "Do not read earlier reviews" in " ".join(ACTIONS[name].split())
    assert "TASKIE_HOOK_SKIP" in ACTIONS[name]
    assert REVIEWS[name].subject.format(task="{id}") + "-review-{n}.md" in ACTIONS[name]


@pytest.mark.parametrize("review", REVIEWS.values(), ids=list(REVIEWS))
def test_an_answer_names_its_files(review: object) -> None:
    post, subject = getattr(review, "post"), getattr(review, "subject").format(task="{id}")  # noqa: B009
    assert f"`{subject}-review-{{n}}.md`" in ACTIONS[post]
    assert f"`{subject}-post-review-{{n}}.md`" in ACTIONS[post]


# Where each action's write is made from, in the order of the design's paths.
PATHS = [
    (None, "new-plan"),
    (("plan-review", "post-plan-review"), "post-plan-review"),
    (("plan-review", "create-tasks"), "create-tasks"),
    (("tasks-review", "post-tasks-review"), "post-tasks-review"),
    (("tasks-review", "complete-task"), "complete-task"),
    (("tasks-review", "complete-task-tdd"), "complete-task-tdd"),
    (("code-review", "post-code-review"), "post-code-review"),
    (("code-review", "complete-task"), "complete-task"),
    (("code-review", "complete-task-tdd"), "complete-task-tdd"),
    (("complete-task", "code-review"), "continue-task"),
    (("code-review", "all-code-review"), "continue-task"),
    (("code-review", "complete-task"), "continue-task"),
    (("next-task", None), "continue-task"),
    (("code-review", "complete-task"), "next-task"),
    (("all-code-review", "post-all-code-review"), "post-all-code-review"),
    (("all-code-review", "complete"), "continue-plan"),
    (("complete", None), "complete-task"),
    *((("code-review", "complete-task"), review) for review in REVIEWS),
]


@pytest.mark.parametrize(("before", "name"), PATHS, ids=[f"{before}-{name}" for before, name in PATHS])
def test_every_write_is_one_that_the_command_allows(
    before: tuple[str, str | None] | None, name: str, plan: Plan, taskie: Taskie
) -> None:
    """The command as the action gives it; the first one run by the plugin's own path."""
    written = {} if before is None else plan.state.write(phase=before[0], next_phase=before[1], max_reviews=5, mine=1)
    command = COMMAND.findall(ACTIONS[name])[0].replace("{id}", "2").replace("{plan-id}", "test-plan")
    done = taskie(*shlex.split(command), process=before is None)
    assert done.code == 0, done.err
    after = plan.state.read()
    assert json.loads(done.out) == after
    if name in CYCLES:
        assert (after["phase"], after["next_phase"]) == (name, PHASES[name].next[0])
        return  # which other fields: tests of the command
    fields = {key: value.replace("{id}", "2") for key, value in DUTIES[name][0].items()}
    for key, value in fields.items():
        assert json.dumps(after[key]) in (value, json.dumps(value))
    for kept in set(written) - set(fields) - {"phase_iteration"}:
        assert after[kept] == written[kept]


def test_nobody_is_told_to_edit_the_state_to_leave_the_loop() -> None:
    """There is a command for it, and whoever begins a plan hears of it."""
    assert "`/taskie:stop`" in ACTIONS["new-plan"].rpartition("Tell the user")[2]
    for name, text in ACTIONS.items():
        named = set(re.findall(r"/taskie:([a-z-]+)", text))
        assert named <= {path.name for path in (ROOT / "skills").iterdir()}, name
        assert not re.search(r"`next_phase`\s+to\s+null", text), name
