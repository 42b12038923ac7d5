"""The command line. Each command imports what it needs when it is called."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Callable

import taskie
from taskie.errors import USAGE_ERROR, CommandError

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 0 done, 1 failed, 2 wrong usage or input."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words[:1] == ["stop-hook"] and set(words[1:]) <= {"--fail-open"}:
        from taskie import stop

        return stop.main(words[1:])
    if words[:1] == ["client"]:
        from taskie import client

        return client.main(words[1:])
    if words[:2] == ["gauntlet", "stop-hook"] and len(words) == 2:
        from taskie.gauntlet import hook

        return hook.main()
    parser = _parser(words)
    options = parser.parse_args(words)
    if not hasattr(options, "run"):
        parser.print_help()
        return USAGE_ERROR
    run: Callable[[argparse.Namespace], int] = options.run
    try:
        return run(options)
    except CommandError as error:
        print(f"taskie: {error}", file=sys.stderr)
        return error.code
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 1
    except KeyboardInterrupt:
        return 130
    except BaseException as error:
        number = getattr(error, "number", None)  # taskie.processes.Ended, which only some commands import
        if number is None:
            raise
        from taskie.processes import end_by

        return end_by(number)


def _parser(words: Sequence[str]) -> argparse.ArgumentParser:
    parser = _command_parser(
        "taskie",
        "Keeps a coding agent at work until its plan, its tasks and its code have passed their reviews.",
        epilog="Start here: `taskie demo` shows the whole loop, with no key and no network. "
        "`taskie COMMAND --help` explains each command.",
    )
    parser.add_argument("--version", action="version", version=f"taskie {taskie.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", parser_class=argparse.ArgumentParser)

    hook = _add(
        commands,
        "stop-hook",
        "the Stop hook: reads the client's event on stdin, prints one decision",
        "Reads the hook event as JSON on stdin and prints one line of JSON: a block with its reason, or an "
        "approval. `hooks/stop-hook.sh` runs this, faster. Try it: echo '{}' | taskie stop-hook",
    )
    hook.add_argument(
        "--fail-open",
        action="store_true",
        help="exit 0 also if the input is wrong: a client takes exit 2 for a block",
    )
    hook.set_defaults(run=_stop_hook)

    status = _add(
        commands,
        "status",
        "where every engine in this project stands",
        "Shows each plan with its stage, phase and review count, the newest first: that is the one that the hook "
        "works on. Other engines that are used here follow with what they say of themselves.",
    )
    status.add_argument("--json", action="store_true", help="for programs: a JSON object")
    status.set_defaults(run=_status)

    next_ = _add(
        commands,
        "next",
        "what comes next for a plan, and why: what continue-plan follows",
        "Says which action comes next for the newest plan, or that the agent should just stop, that all is done, or "
        "that the user must decide. Changes nothing. Decided from state.json, else from what lies in the plan.",
    )
    next_.add_argument("--json", action="store_true", help="for programs: a JSON object")
    _add_plan(next_)
    next_.set_defaults(run=_next)

    state = _add(commands, "state", "read or change a plan's state.json", "Reads or changes a plan's state.json.")
    verbs = state.add_subparsers(metavar="get|set", required=True)
    get = _add(
        verbs,
        "get",
        "print the state, or what a jq filter selects of it",
        "Prints the state as JSON, or the first result of a jq filter. Plain paths such as .phase need no jq.",
    )
    get.add_argument("filter", nargs="?", default=".", help="such as .next_phase (default: everything)")
    get.add_argument("-r", "--raw", action="store_true", help="print a text without its quotes")
    _add_plan(get)
    get.set_defaults(run=_state_get)
    set_ = _add(
        verbs,
        "set",
        "change fields, checked and atomically",
        "Changes the named fields and prints the new state; every other field stays as it is. A phase that does "
        "not exist, or that cannot follow the present one, is refused. "
        "Example: taskie state set phase=post-plan-review next_phase=plan-review",
    )
    set_.add_argument("fields", nargs="+", metavar="FIELD=VALUE", help="null empties a field that can be empty")
    set_.add_argument("--force", action="store_true", help="allow a transition that the table of phases does not have")
    _add_plan(set_)
    set_.set_defaults(run=_state_set)

    claudex = _add(
        commands,
        "claudex",
        "a plan or a diff that a second agent, Codex, reviews round by round",
        "The loop in which Codex reviews a plan, or the current diff, until it finds nothing of substance.",
    )
    if words[:1] == ["claudex"]:
        from taskie.claudex.arguments import add_commands

        add_commands(claudex)

    autopilot = _add(
        commands,
        "autopilot",
        "the tasks of a spec, one after another, each through gates that are code",
        "The loop of a task: code, tests, checks, two reviews, one commit, verification. `advance` says which step "
        "comes next; no step can be skipped.",
    )
    if words[:1] == ["autopilot"]:
        from taskie.autopilot import arguments

        arguments.add_commands(autopilot)

    _add_setup(commands)

    # Its options are its own, and need pytest's plugin: see taskie.client.
    commands.add_parser("client", help="real clients for the tests: install, list, check", add_help=False)

    demo = _add(
        commands,
        "demo",
        "a whole plan through the review loop, with no key and no network",
        "Drives a plan in a temporary folder from its first review to `complete`. Every stop runs the real hook; "
        "the reviewer is a small program that stands in for `claude`. Ends non-zero if anything goes wrong.",
    )
    demo.add_argument("--keep", action="store_true", help="leave the folder for inspection and say where it is")
    demo.set_defaults(run=_demo)
    _add_gauntlet(commands)
    return parser


def _add_gauntlet(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    gauntlet = _add(
        commands,
        "gauntlet",
        "quality gates that run when the agent stops",
        "Checks and reviews of the changed files, as .gauntlet/ says. The agent may stop when they pass.",
    )
    verbs = gauntlet.add_subparsers(metavar="VERB", required=True)
    summaries = {
        "stop-hook": "this engine's own Stop hook: an event on stdin, one JSON line with a status on stdout",
        "run": "run every gate that applies; exit 1 unless they pass",
        "check": "run the checks that apply, or the named ones of them",
        "review": "run the reviews that apply, or the named ones of them",
        "clean": "move logs and the record of the last run to previous/",
        "init": "write a configuration to begin with and install the hook; changes nothing that is there",
        "validate": "say what is wrong with the configuration, with file and line; exit 1 on errors",
        "detect": "say which gates a run would run now",
        "list": "list the entry points and their gates",
        "status": "where the gates stand: the last run, what is open, how many retries are left",
    }
    for verb, summary in summaries.items():
        added = _add(verbs, verb, summary, f"{summary[0].upper()}{summary[1:]}.")
        added.set_defaults(run=_gauntlet, verb=verb)
        if verb in ("check", "review"):
            added.add_argument("names", nargs="*", metavar="NAME", help=f"a {verb}'s name")
        if verb in ("run", "check", "review"):
            added.add_argument("--timeout", type=float, metavar="SECONDS", help="end what still runs after so long")
        if verb == "status":
            added.add_argument("--json", action="store_true", help="for programs: a JSON object")


def _command_parser(name: str, description: str, epilog: str | None = None) -> argparse.ArgumentParser:
    return argparse.ArgumentParser(prog=name, description=description, epilog=epilog)


def _add(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, summary: str, description: str
) -> argparse.ArgumentParser:
    return commands.add_parser(name, help=summary, description=description)


def _add_plan(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--plan", metavar="ID", help="which plan (default: the one that was modified last)")


def _add_setup(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    for name, summary, description in (
        (
            "install",
            "add the hook to a client's settings, without the plugin",
            "Adds Taskie's hook to the settings of Claude Code or of Codex: for Stop and, in Claude Code, for "
            "PreToolUse, which Autopilot needs. Every other setting stays as it is, and the file as it was is kept "
            "beside it. The second time it changes nothing. For Codex it also adds Taskie's commands.",
        ),
        ("uninstall", "take it out again", "Takes out what `taskie install` has put in, and nothing else."),
    ):
        parser = _add(commands, name, summary, description)
        scope = parser.add_mutually_exclusive_group()
        for choice, help_ in (
            ("project", "in the repository's root, or here outside of one (Claude Code's default)"),
            ("user", "in your own settings: holds in all your projects (Codex's default)"),
        ):
            scope.add_argument(f"--{choice}", dest="scope", action="store_const", const=choice, help=help_)
        parser.add_argument("--client", choices=("claude", "codex"), default="claude", help="default: claude")
        if name == "install":
            parser.add_argument("--force", action="store_true", help="also where the plugin brings the hook already")
        parser.set_defaults(run=_install if name == "install" else _uninstall)
    doctor = _add(
        commands,
        "doctor",
        "can the hook work here, and if not, what to do",
        "Looks at Python, the client, the settings, the hook and its configuration, and says for each problem how to "
        "solve it. Changes nothing. Exit 1 if the hook cannot work.",
    )
    doctor.add_argument("--json", action="store_true", help="for programs: a JSON object")
    doctor.set_defaults(run=_doctor)


def _stop_hook(options: argparse.Namespace) -> int:
    from taskie import stop

    return stop.main(["--fail-open"] if options.fail_open else [])


def _status(options: argparse.Namespace) -> int:
    from taskie import overview

    return overview.main(as_json=options.json)


def _next(options: argparse.Namespace) -> int:
    from taskie.plans import next_command

    return next_command.run(as_json=options.json, plan=options.plan)


def _state_get(options: argparse.Namespace) -> int:
    from taskie.plans import commands

    return commands.state_get(options.filter, raw=options.raw, plan=options.plan)


def _state_set(options: argparse.Namespace) -> int:
    from taskie.plans import commands

    return commands.state_set(options.fields, force=options.force, plan=options.plan)


def _install(options: argparse.Namespace) -> int:
    from taskie.setup import install

    return install.install(options.client, options.scope, force=options.force)


def _uninstall(options: argparse.Namespace) -> int:
    from taskie.setup import install

    return install.uninstall(options.client, options.scope)


def _doctor(options: argparse.Namespace) -> int:
    from taskie.setup import doctor

    return doctor.main(as_json=options.json)


def _gauntlet(options: argparse.Namespace) -> int:
    if options.verb == "stop-hook":
        from taskie.gauntlet import hook

        return hook.main()
    if options.verb == "init":
        from taskie.gauntlet.init import init

        return init()
    from taskie.gauntlet import commands

    if options.verb == "status":
        return commands.status(as_json=options.json)
    if options.verb in ("run", "check", "review"):
        kinds = ("check", "review") if options.verb == "run" else (options.verb,)
        return commands.run(kinds, getattr(options, "names", []), options.timeout)
    simple = {
        "clean": commands.clean,
        "validate": commands.validate,
        "detect": commands.show_applicable,
        "list": commands.list_gates,
    }
    return simple[options.verb]()


def _demo(options: argparse.Namespace) -> int:
    from taskie import demo

    return demo.main(keep=options.keep)
