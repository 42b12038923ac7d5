"""The command line of `taskie autopilot`: its arguments, and the function behind each command."""

from __future__ import annotations

import argparse
import sys

from taskie.errors import CommandError


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add every command of the engine."""

    def add(name: str, summary: str, description: str) -> argparse.ArgumentParser:
        parser = commands.add_parser(name, help=summary, description=description)
        parser.set_defaults(run=f"taskie.autopilot.commands:{name.replace('-', '_')}")
        return parser

    init = add("init", "begin with a new state for a spec", _INIT)
    init.add_argument("spec_id", metavar="SPEC_ID")
    init.add_argument("spec_path", metavar="SPEC_PATH", help="stored as given; it need not exist")
    apart = init.add_mutually_exclusive_group()
    apart.add_argument("--force", action="store_true", help="discard an existing state")
    apart.add_argument("--worktree", action="store_true", help="in a new git worktree, on the branch autopilot/SPEC_ID")
    plan = add("plan", "set the tasks", _PLAN)
    plan.add_argument("tasks", type=_given, metavar="JSON", help='[{"id": 1, "name": "a"}], or - for stdin')
    plan.add_argument("--test-command", metavar="CMD", help="what tests them, such as 'pytest -q'; run without a shell")
    plan.add_argument("--force", action="store_true", help="plan again even if a task has been started")
    update = add("update", "change one field of a task by hand", _UPDATE)
    for name, help_ in (
        ("task", "a task's id"),
        ("field", "status, coder, tester, reviewer, commit or verify"),
        ("value", "one of the field's values"),
    ):
        update.add_argument(name, metavar={"field": "STEP"}.get(name, name.upper()), help=help_)
    for parser in (plan, update):
        parser.add_argument("--word", metavar="WORD", help="of a loop that has halted: what the person was told")
    step = add("advance", "report a step's result; prints the next step", _ADVANCE)
    example = '{"step": "tester", "result": "passed"}'
    step.add_argument("event", type=_given, metavar="EVENT", help=f"{example}, or - for stdin")

    check = add("pre-check", "look for TODOs, swallowed exceptions, files that are too long", _PRE_CHECK)
    check.add_argument("files", nargs="+", metavar="FILE")
    blueprint = add("blueprint", "check a spec against the system's blueprint", _BLUEPRINT)
    blueprint.add_argument("spec", metavar="SPEC")
    blueprint.add_argument("directory", nargs="?", metavar="DIR", help="default: ai/blueprint/system-blueprint")
    test = add("test", "run the tests: a short result, the full output in a file", _TEST)
    test.add_argument("command", nargs="*", metavar="-- CMD…", help="without a shell; default: the plan's test command")
    test.add_argument("--replace", action="store_true", help="make CMD the plan's test command; the person is told")
    test.add_argument("--timeout", type=_seconds, default=1800.0, metavar="SECONDS", help="default: 1800")
    regression = add("regression", "capture the debugger's regression test", _REGRESSION)
    regression.add_argument("command", nargs="*", metavar="-- CMD…", help="how to run it (default: pytest)")
    commit = add("commit", "commit the task's files, and only those", _COMMIT)
    commit.add_argument("-m", "--message", required=True, metavar="MSG", help="type(scope): text")
    commit.add_argument(
        "--leave-out",
        action="append",
        default=[],
        metavar="FILE",
        help="changed, but not by the task; the person is told",
    )
    verify = add("verify", "run the spec's acceptance checks", _VERIFY)
    verify.add_argument("--wait", type=_seconds, default=5.0, metavar="SECONDS", help="before a retry (default: 5)")
    finish = add("finish", "phase_3: the whole test suite, a summary, the branch ready", _FINISH)
    add("restore", "put back the state and the regression tests", _RESTORE)
    for parser in (step, test, regression, commit, verify, finish):
        parser.add_argument("--json", dest="as_json", action="store_true", help="print a JSON object, for programs")


_INIT = (
    "Writes autopilot-state.json in the working tree's root. From then on nothing under src/ may be edited until "
    "`plan` has set the tasks."
)
_PLAN = (
    "Sets the tasks, in their order, and begins with the first. JSON is a list, or an object with `tasks` and "
    "`test_command`. Prints what comes next."
)
_UPDATE = (
    "Changes one field of one task. This opens no gate: the step at hand decides what comes next. Only `status done` "
    "on the current task goes on to the next one, and is logged as done by hand."
)
_ADVANCE = (
    'Takes one event, changes the state, and prints {"next", "then", "why", "to"}. An event that is not due, or that a '
    "gate forbids, exits 1, names the gate and changes nothing."
)
_PRE_CHECK = (
    "Prints `file:line: [CHECK] message` for each finding and exits 1 if there is any: TODO and FIXME in comments, "
    "`except Exception` without raise, more than 400 lines of code or 600 of tests. The project's own "
    "scripts/pre-review-check.py is run too."
)
_BLUEPRINT = (
    "Checks a spec against ai/blueprint/system-blueprint: its Blueprint Reference, its domain, its numeric types, the "
    "direction of imports. Without a blueprint it exits 0."
)
_TEST = (
    "Runs the plan's test command, or another one, which then proves nothing for the tester's step; the first one that "
    "is run is the plan's if the plan named none. Prints PASS or FAIL with the failing tests and the path of the full "
    "output, in ai/.test-output. For pytest the result comes from Taskie's plugin. Exits as the command does."
)
_REGRESSION = (
    "At step `regression`: writes the test that the debugger proposed below tests/regression, runs it once and keeps "
    "it if it passes. Prints what comes next."
)
_COMMIT = (
    "At step `commit`: commits the files that the task has changed and nothing else; what you have staged stays "
    "staged. If it fails it exits 1 and may be called once more. Prints what comes next."
)
_RESTORE = (
    "Puts autopilot-state.json back as these commands last wrote it, and every changed file in tests/regression as it "
    "was. Nothing else is touched."
)
_VERIFY = (
    "At step `verify_smoke` or `verify_func`: runs the tables under the spec's Acceptance Verification, and ends "
    "whatever they start. Failures are warnings. Prints what comes next."
)
_FINISH = (
    "After the last task: runs the plan's test command once more, prints the tasks, their commits and every warning, "
    "and looks whether everything is committed. Exits 1 with what is in the way. Merges and pushes nothing."
)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds <= 86400:
        raise argparse.ArgumentTypeError(f"must be a number of seconds, 0 to 86400, not {text!r}")
    return seconds


def _given(text: str) -> str:
    """The argument itself, or for `-` what is on stdin."""
    if text != "-":
        return text
    if sys.stdin is None:
        raise CommandError("stdin is closed")
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        raise CommandError("stdin is not UTF-8") from None
