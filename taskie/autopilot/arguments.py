"""The words of `taskie autopilot`: what may be said, and which function does it. Imports each when it is called."""

from __future__ import annotations

import argparse
import sys

from taskie.errors import CommandError


def add_commands(autopilot: argparse.ArgumentParser) -> None:
    """Add every command of the engine to its parser."""
    verbs = autopilot.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, summary: str, description: str) -> argparse.ArgumentParser:
        return verbs.add_parser(name, help=summary, description=description)

    init = add("init", "begin: a new state for a spec", _INIT)
    init.add_argument("spec_id", metavar="SPEC_ID")
    init.add_argument("spec_path", metavar="SPEC_PATH", help="stored as given; it need not exist")
    init.add_argument("--force", action="store_true", help="forget the state that is there")
    init.set_defaults(run=_init)
    plan = add("plan", "set the tasks", _PLAN)
    plan.add_argument("tasks", metavar="JSON", help='[{"id": 1, "name": "a"}], or - for stdin')
    plan.add_argument("--force", action="store_true", help="plan anew although a task has been begun")
    plan.set_defaults(run=_plan)
    update = add("update", "change one field of a task by hand", _UPDATE)
    for name, help_ in (
        ("task", "a task's id"),
        ("field", "status, coder, tester, reviewer, commit or verify"),
        ("value", "one that the field can have"),
    ):
        update.add_argument(name, metavar={"field": "STEP"}.get(name, name.upper()), help=help_)
    update.set_defaults(run=_update)
    step = add("advance", "report a step's result; prints the next step", _ADVANCE)
    step.add_argument("event", metavar="EVENT", help='{"step": "tester", "result": "passed"}, or - for stdin')
    step.set_defaults(run=_advance)
    status = add("status", "where the loop stands", "Shows each task with its fields, the step at hand and warnings.")
    status.set_defaults(run=_status)

    check = add("pre-check", "look for TODOs, swallowed exceptions, files that are too long", _PRE_CHECK)
    check.add_argument("files", nargs="+", metavar="FILE")
    check.set_defaults(run=_pre_check)
    blueprint = add("blueprint", "check a spec against the system's blueprint", _BLUEPRINT)
    blueprint.add_argument("spec", metavar="SPEC")
    blueprint.add_argument("directory", nargs="?", metavar="DIR", help="default: ai/blueprint/system-blueprint")
    blueprint.set_defaults(run=_blueprint)
    test = add("test", "run the tests: a short result, the full output in a file", _TEST)
    test.add_argument("command", nargs="*", metavar="-- CMD…", help="the command, without a shell")
    test.add_argument("--timeout", type=_seconds, default=1800.0, metavar="SECONDS", help="default: 1800")
    test.set_defaults(run=_test)
    regression = add("regression", "capture the debugger's regression test", _REGRESSION)
    regression.add_argument("command", nargs="*", metavar="-- CMD…", help="how to run it (default: pytest)")
    regression.set_defaults(run=_regression)
    commit = add("commit", "commit the task's files, and only those", _COMMIT)
    commit.add_argument("-m", "--message", required=True, metavar="MSG", help="type(scope): text")
    commit.set_defaults(run=_commit)
    verify = add("verify", "run the spec's acceptance checks", _VERIFY)
    verify.add_argument("--wait", type=_seconds, default=5.0, metavar="SECONDS", help="before a retry (default: 5)")
    verify.set_defaults(run=_verify)
    for parser in (step, status, test, regression, commit, verify):
        parser.add_argument("--json", action="store_true", help="for programs: a JSON object")

    hooks = {"pre-tool-use": "the PreToolUse hook", "stop-hook": "this engine's Stop hook alone"}
    for name, summary in hooks.items():
        add(name, f"{summary}: an event on stdin", f"{_HOOKS} This one is {summary}.").set_defaults(
            run=_hook, hook=name
        )


_INIT = (
    "Writes autopilot-state.json in the working tree's root. From then on nothing under src/ may be edited until "
    "`plan` has set the tasks."
)
_PLAN = "Sets the tasks, in their order, and begins with the first. Prints what comes next."
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
    "direction of imports. Without a blueprint there is nothing to check: exit 0."
)
_TEST = (
    "Runs a test command. Prints PASS or FAIL with the failing tests and the path of the full output, in "
    "ai/.test-output. For pytest the result comes from Taskie's plugin. Exits as the command does."
)
_REGRESSION = (
    "At step `regression`: writes the test that the debugger proposed below tests/regression, runs it once and keeps "
    "it if it passes. Prints what comes next."
)
_COMMIT = (
    "At step `commit`: commits the files that the task has changed and nothing else; what you have staged stays "
    "staged. If it fails it is tried once more. Prints what comes next."
)
_VERIFY = (
    "At step `verify_smoke` or `verify_func`: runs the tables under the spec's Acceptance Verification, and ends "
    "whatever they start. Failures are warnings. Prints what comes next."
)
_HOOKS = "Reads a hook event as JSON on stdin and exits 0. The plugin's hooks run the same, faster."


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 86400:
        raise argparse.ArgumentTypeError(f"{text!r} is no number of seconds")
    return found


def _given(text: str) -> str:
    """An argument, or what stands on stdin."""
    if text != "-":
        return text
    if sys.stdin is None:
        raise CommandError("stdin is closed")
    try:
        return sys.stdin.buffer.read().decode("utf-8")
    except UnicodeDecodeError:
        raise CommandError("stdin is not UTF-8") from None


def _init(options: argparse.Namespace) -> int:
    from taskie.autopilot import commands

    return commands.init(options.spec_id, options.spec_path, force=options.force)


def _plan(options: argparse.Namespace) -> int:
    from taskie.autopilot import commands

    return commands.plan(_given(options.tasks), force=options.force)


def _update(options: argparse.Namespace) -> int:
    from taskie.autopilot import commands

    return commands.update(options.task, options.field, options.value)


def _advance(options: argparse.Namespace) -> int:
    from taskie.autopilot import commands

    return commands.step(_given(options.event))


def _status(options: argparse.Namespace) -> int:
    from taskie.autopilot import commands

    return commands.status(as_json=options.json)


def _pre_check(options: argparse.Namespace) -> int:
    from taskie.autopilot import commands

    return commands.pre_check(options.files)


def _blueprint(options: argparse.Namespace) -> int:
    from taskie.autopilot import commands

    return commands.blueprint(options.spec, options.directory)


def _test(options: argparse.Namespace) -> int:
    from taskie.autopilot import commands

    return commands.test(options.command, options.timeout, as_json=options.json)


def _regression(options: argparse.Namespace) -> int:
    from taskie.autopilot import commands

    return commands.regression(options.command)


def _commit(options: argparse.Namespace) -> int:
    from taskie.autopilot import commands

    return commands.commit(options.message)


def _verify(options: argparse.Namespace) -> int:
    from taskie.autopilot import commands

    return commands.verify(options.wait)


def _hook(options: argparse.Namespace) -> int:
    if options.hook == "stop-hook":
        from taskie.autopilot import hook

        return hook.main()
    from taskie.autopilot import tool_use

    return tool_use.main()
