"""The table of slash commands, and the two texts made of each row: a skill for Claude Code, a prompt for all others.

What a command does is not here: it is in `actions/NAME.md`, or in `tools/bodies/NAME.md` where the command line does
the work. Commands of the other engines exist in Claude Code only.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from taskie.autopilot import texts

# Our command in every way that an agent's shell may spell it. The client compares texts, so each needs its own rule;
# the quotes are there for a path with a space.
SPELLINGS = (
    '"${CLAUDE_PLUGIN_ROOT}/bin/taskie"',
    "'${CLAUDE_PLUGIN_ROOT}/bin/taskie'",
    "${CLAUDE_PLUGIN_ROOT}/bin/taskie",
)
# Bookkeeping, which asks nobody for permission: words of our command that run no program of the project and do not
# touch its history. The client goes on asking about all others (`autopilot test -- CMD` would run anything).
PLANS = ("next", "state")
AUTOPILOT = tuple(f"autopilot {verb}" for verb in ("advance", "blueprint", "init", "plan", "status"))


@dataclass(frozen=True)
class Command:
    """One row."""

    name: str
    description: str
    hint: str = ""  # what the user may write after the command
    loop: str = ""  # the end of the description where the automatic reviews follow
    keeps_state: bool = False  # whether Codex too keeps state.json, so that they follow there as well
    unasked: tuple[str, ...] = PLANS


COMMANDS = (
    Command(
        "new-plan",
        "Write a plan for what you ask",
        "WHAT TO BUILD",
        loop="; it is then reviewed until two reviews in a row find nothing",
        keeps_state=True,
    ),
    Command(
        "continue-plan",
        "Go on with the plan wherever it stands, the usual command after every stop",
        "[PLAN]",
        keeps_state=True,
    ),
    Command(
        "create-tasks", "Cut the reviewed plan into tasks", "[PLAN]", loop="; they are then reviewed automatically"
    ),
    Command(
        "complete-task",
        "Implement one task",
        "[TASK]",
        loop=" and have its code reviewed until two reviews in a row find nothing",
    ),
    Command(
        "complete-task-tdd",
        "Implement one task test-first",
        "[TASK]",
        loop=" and have its code reviewed until two reviews in a row find nothing",
    ),
    Command("next-task", "Implement one task and stop, without automatic reviews", "[TASK]"),
    Command("next-task-tdd", "Implement one task test-first and stop, without automatic reviews", "[TASK]"),
    Command("continue-task", "Finish a task that was interrupted", "[TASK]"),
    Command("add-task", "Add one task to the plan, without implementing it", "WHAT TO ADD"),
    Command("plan-review", "Review the plan once, without the automatic loop", "[PLAN]"),
    Command("tasks-review", "Review the tasks once, without the automatic loop", "[PLAN]"),
    Command("code-review", "Review the code of one task once, without the automatic loop", "[TASK]"),
    Command("all-code-review", "Review the code of all tasks together once, without the automatic loop", "[PLAN]"),
    Command("post-plan-review", "Address what a review of the plan found", "[PLAN]"),
    Command("post-tasks-review", "Address what a review of the tasks found", "[PLAN]"),
    Command("post-code-review", "Address what a review of one task's code found", "[TASK]"),
    Command("post-all-code-review", "Address what a review of all tasks' code found", "[PLAN]"),
)
# What a person does to the loop, and to Taskie itself, without leaving the client.
STEERING = (
    Command("status", "Show where every plan and every other loop of this project stands", unasked=("status",)),
    Command("doctor", "Check whether the hook can work here, and say what to do if not", unasked=("doctor",)),
    Command("stop", "Leave the review loop, so that no review starts by itself any more", "[PLAN]", unasked=("stop",)),
    Command("limit", "Say or set how many reviews each cycle of the plan may have", "[N] [PLAN]", unasked=("limit",)),
    Command(
        "trust",
        "Show what the hook would run of what this repository brings, and trust it",
        "[WORD]",
        unasked=("trust",),
    ),
)
# Commands of the other engines.
ENGINES = (
    Command(
        "autopilot",
        "Work through a spec task by task, each with tests, checks, two reviews and one commit",
        "SPEC",
        unasked=AUTOPILOT,
    ),
    Command(
        "claudex-plan",
        "Write a plan that Codex then attacks round by round until it finds nothing of substance",
        "WHAT TO PLAN",
        unasked=("claudex start", "claudex mark-done"),
    ),
    Command(
        "claudex-review",
        "Have Codex review the current diff once and propose fixes, without changing any code",
        "[WHAT THE CHANGE IS FOR]",
        unasked=("claudex start",),
    ),
    Command(
        "claudex-continue",
        "Take over the Claudex loop of this project that another session has started",
        unasked=("claudex continue", "claudex mark-done"),
    ),
    Command(
        "claudex-status",
        "Show where every Claudex loop of this project stands and what each round has found",
        unasked=("claudex status",),
    ),
    Command(
        "claudex-cancel",
        "End the active Claudex loop of this project; its plan and its findings stay",
        unasked=("claudex cancel",),
    ),
    Command(
        "claudex-rollback",
        "Remove everything that Claudex loops have left in this project except the log and PLAN.md",
        unasked=("claudex status", "claudex rollback"),
    ),
)


def files() -> list[tuple[str, Callable[[Path], str]]]:
    """Every file of a command, and what makes its text, given the repository's root."""
    skills = [(f"skills/{row.name}/SKILL.md", _skill_of(row)) for row in (*COMMANDS, *STEERING, *ENGINES)]
    prompts = [(f"codex/prompts/taskie-{row.name}.md", _prompt_of(row)) for row in (*COMMANDS, *STEERING)]
    return [*skills, *prompts]


def _skill_of(row: Command) -> Callable[[Path], str]:
    rules = ", ".join(f"Bash({spelling} {words}:*)" for words in row.unasked for spelling in SPELLINGS)
    head = [
        f"name: {row.name}",
        f"description: {row.description}{row.loop}",
        *([f"argument-hint: {json.dumps(row.hint)}"] if row.hint else []),
        f"allowed-tools: {rules}",
        "disable-model-invocation: true",
    ]

    def text(root: Path) -> str:
        body = _attached(row, root) if row in COMMANDS else _own(row, root, "${CLAUDE_PLUGIN_ROOT}", " --plugin")
        return _document(head, body.replace("{steps}", _steps()))

    return text


def _own(row: Command, root: Path, place: str, as_plugin: str = "") -> str:
    """A body of the command's own, with our program as this client finds it; only one of them loads us as a plugin."""
    body = (root / "tools" / "bodies" / f"{row.name}.md").read_text(encoding="utf-8")
    return body.replace("{taskie}", f'"{place}/bin/taskie"').replace("{as_plugin}", as_plugin)


def _steps() -> str:
    """Autopilot's steps as rows of a table: the words with which its hook asks for each."""
    rows = []
    for step, (what, how) in texts.STEPS.items():
        calls = ", then ".join(f"`autopilot {line}`" for line in how.split("\n"))
        rows.append(f"| `{step}` | {what} | {calls} |")
    return "\n".join(rows)


def _attached(row: Command, root: Path) -> str:
    """A body that attaches the action, the ground rules, and the persona that the action asks for."""
    action = f"actions/{row.name}.md"
    personas = re.findall(r"`(personas/[\w-]+\.md)`", (root / action).read_text(encoding="utf-8"))
    attached = "".join(f'@"${{CLAUDE_PLUGIN_ROOT}}/{file}"\n' for file in ("ground-rules.md", action, *personas))
    return f"""\
Carry out the action `{row.name}` below, under the ground rules. The user's own words: $ARGUMENTS

Where these texts say `taskie`, run `"${{CLAUDE_PLUGIN_ROOT}}/bin/taskie"`; where they name a file of the plugin,
it is in `${{CLAUDE_PLUGIN_ROOT}}`.

{attached}"""


def _prompt_of(row: Command) -> Callable[[Path], str]:
    head = [
        f"description: {row.description}{row.loop if row.keeps_state else ''}",
        f"argument-hint: {json.dumps(row.hint)}",
    ]
    state = (
        'Where these texts say `taskie`, run `"${TASKIE_ROOT}/bin/taskie"`; where they name a file of the plugin,'
        if row.keeps_state
        else "Leave `state.json` alone, whatever the action says about it. Where these texts name a file of the plugin,"
    )
    body = f"""\
Read `${{TASKIE_ROOT}}/ground-rules.md`, then carry out the action in `${{TASKIE_ROOT}}/actions/{row.name}.md`.
The user's own words: $ARGUMENTS

{state}
it is in `${{TASKIE_ROOT}}`.
"""
    return lambda root: _document(head, body if row in COMMANDS else _own(row, root, "${TASKIE_ROOT}"))


def _document(head: list[str], body: str) -> str:
    return "\n".join(["---", *head, "---", "", body])
