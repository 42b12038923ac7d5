"""The command line. Commands are strings, `module:function`, so that each imports what it needs when it is called.

What must be quick, a hook and a status line, comes before the parser, which costs more than they do.
"""

from __future__ import annotations

import os
import sys
from errno import ENOSPC

from taskie import engines, project
from taskie.clients import SENDERS
from taskie.errors import USAGE_ERROR, CommandError, Interrupted
from taskie.protocol import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence
    from importlib.metadata import EntryPoint
    from typing import Any

    from taskie.engine import Engine

    Commands = argparse._SubParsersAction[argparse.ArgumentParser]

INSTALLED = ("check", "client", "new-hook", "try")  # of pytest_taskie, which a clone alone does not offer


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code is 0 done, 1 failed, 2 wrong usage or input."""
    words = list(sys.argv[1:] if argv is None else argv)
    only = words.pop(0) if words[1:] == ["stop-hook"] and words[0] in engines.ENGINES else None
    if words[:1] == ["stop-hook"] and set(words[1:]) <= {"--fail-open"}:
        from taskie import hook  # at once: a hook must not wait for a parser

        return hook.main(words[1:], only)
    if words == ["statusline"]:
        from taskie import statusline  # at once too: the client asks for it again and again

        return statusline.main()
    from taskie.terminal import say  # now: with no descriptors left nothing can be imported that would say so

    if sys.stdout is None:  # closed
        import io

        sys.stdout = io.TextIOWrapper(io.BytesIO())
    elif hasattr(sys.stdout, "reconfigure"):  # names and texts are anybody's, and what it encodes the terminal's
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        try:
            return _run(words)
        except OSError as error:
            if error.filename is None and error.errno == ENOSPC:  # of stdout: whoever writes a file names it
                raise _unwritable(error) from None
            if isinstance(error, BrokenPipeError):
                raise
            raise _refused(error) from None
        finally:
            _flush()  # here, where it can still be answered
    except CommandError as error:
        say(f"taskie: {project.typeable(str(error))}", file=sys.stderr)
        return error.code
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt:
        return 130
    except Interrupted as interrupted:
        return interrupted.end_process()


def _run(words: list[str]) -> int:
    parser, commands = _parser(words)
    if not words or words[0].startswith("-"):
        _add_plugged_in(commands)
    elif words[0] not in commands.choices:
        return _foreign(words[0], list(commands.choices))(words[1:])
    options = vars(parser.parse_args(words))
    if "run" not in options:
        parser.print_help()
        return USAGE_ERROR
    from importlib import import_module

    from taskie import trust

    trust.tidy(os.environ)
    module, _, function = options.pop("run").partition(":")
    code: int = getattr(import_module(module), function)(**options)
    return code


def _flush() -> None:
    """Nobody may read what is printed, or the disk be full; what is left of it must not fail again at exit."""
    try:
        sys.stdout.flush()
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        if isinstance(error, BrokenPipeError):
            raise
        raise _unwritable(error) from None


def _unwritable(error: OSError) -> CommandError:
    return CommandError(f"the output cannot be written ({error.strerror})")


def _refused(error: OSError) -> CommandError:
    """What the system has not allowed, and nobody foresaw: no descriptors left, no temporary folder, a bad disk."""
    about = f" ({shown(os.fsdecode(error.filename))})" if isinstance(error.filename, (str, bytes)) else ""
    return CommandError(f"the system does not allow it: {error.strerror or error}{about}")


def _plugged_in() -> dict[str, EntryPoint]:
    """Commands of other packages, such as pytest_taskie's: entry points that name a module with SUMMARY and main."""
    from importlib.metadata import entry_points

    group = "taskie.commands"
    entries = entry_points(group=group) if sys.version_info >= (3, 10) else entry_points().get(group, ())
    return {entry.name: entry for entry in entries}


def _add_plugged_in(commands: Commands) -> None:
    """Their names and summaries, for the list of commands. One of our own names stays ours."""
    for name, entry in _plugged_in().items():
        if name not in commands.choices:
            try:
                summary = str(entry.load().SUMMARY)
            except (Exception, SystemExit) as error:
                summary = _unusable(error)
            commands.add_parser(name, help=summary.replace("%", "%%"))


def _unusable(error: BaseException) -> str:
    return f"cannot be used ({type(error).__name__}: {error})"


def _installation() -> str:
    """From our own files, if they can be installed: no index is known to have us."""
    root = project.plugin_root()
    there = os.path.exists(os.path.join(root, "pyproject.toml"))
    return f"pip install {project.quoted(root)}" if there else "`pip install .` in a clone of Taskie"


def _foreign(name: str, known: Sequence[str]) -> Callable[[Sequence[str]], int]:
    entry = _plugged_in().get(name)
    if entry is None:
        if name in INSTALLED:
            raise CommandError(f"the command {name!r} needs an installation: {_installation()}", USAGE_ERROR)
        import difflib

        meant = "".join(f" Did you mean `taskie {each}`?" for each in difflib.get_close_matches(name, known, 1))
        raise CommandError(f"there is no command {shown(name)!r}.{meant} `taskie --help` lists all.", USAGE_ERROR)
    try:
        main: Callable[[Sequence[str]], int] = entry.load().main
    except Exception as error:
        raise CommandError(f"the command {name!r} {_unusable(error)}") from error
    return main


def _parser(words: Sequence[str]) -> tuple[argparse.ArgumentParser, Commands]:
    import taskie
    from taskie.usage import Parser

    parser: argparse.ArgumentParser = Parser(
        prog="taskie",
        description="Keeps a coding agent at work until its plan, its tasks and its code have passed their reviews.",
        epilog="Start here: `taskie demo` shows the whole loop, with no key and no network. "
        "`taskie COMMAND --help` explains each command.",
    )
    parser.add_argument("--version", action="version", version=f"taskie {taskie.__version__}")
    commands = parser.add_subparsers(metavar="COMMAND")
    named = [name for name in engines.ENGINES if words[:1] == [name]]
    if not named:
        _add_own(commands)
    broken = {}
    for name in named or engines.ENGINES:
        try:
            _add_engine(commands, name, engines.load(name), whole=bool(named))
        except Exception as error:
            broken[name] = error
    for name, fault in broken.items():
        if words and not words[0].startswith("-") and (named or words[0] not in commands.choices):
            from taskie.hook import report

            raise CommandError(report(fault, os.environ, f"Taskie's engine {name}"))
        if name not in commands.choices:
            commands.add_parser(name, help=_unusable(fault).replace("%", "%%"))
    return parser, commands


def _add(commands: Commands, name: str, summary: str, description: str, **defaults: Any) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=summary, description=description)
    parser.set_defaults(**defaults)
    return parser


def _add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", dest="as_json", action="store_true", help="print a JSON object, for programs")


def _add_engine(commands: Commands, name: str, engine: Engine, *, whole: bool) -> None:
    """The engine's own commands and, where they stand under its name, its hooks and its status; else the name alone."""
    if not engine.SUMMARY:
        return engine.add_commands(commands)
    if not whole:
        commands.add_parser(name, help=engine.SUMMARY)
        return None
    described = f"{engine.SUMMARY[0].upper()}{engine.SUMMARY[1:]}."
    parser = commands.add_parser(name, help=engine.SUMMARY, description=described)
    verbs = parser.add_subparsers(metavar="COMMAND", required=True)
    for event in engine.EVENTS:
        switch = engines.switch(event)
        _add(
            verbs,
            "stop-hook" if event == "Stop" else switch.lstrip("-"),
            f"this engine's own {event} hook: an event on stdin, one line of JSON on stdout",
            f"Reads a {event} event as JSON on stdin, prints this engine's own answer, and exits 0 whatever "
            "happens. The unified hook runs this engine too: only one of the two belongs in a client's settings.",
            run="taskie.hook:main",
            argv=(switch,),
            only=name,
        )
    engine.add_commands(verbs)
    summary = "where it stands here"
    _add_json(_add(verbs, "status", summary, f"Shows {summary}.", run="taskie.overview:of_engine", engine=name))
    return None


def _add_own(commands: Commands) -> None:
    """What is not an engine's."""
    hook = _add(
        commands,
        "stop-hook",
        "the Stop hook: reads the client's event on stdin, prints one decision",
        "Reads the hook event as JSON on stdin and prints one line of JSON: a block with its reason, or an "
        "approval. `hooks/stop-hook.sh` runs this, faster. Try it: echo '{}' | taskie stop-hook",
        run="taskie.hook:main",
        argv=(),
    )
    hook.add_argument(
        "--fail-open",
        dest="argv",
        action="store_const",
        const=("--fail-open",),
        help="exit 0 even if the input is invalid: a client takes exit 2 for a block",
    )
    status = _add(
        commands,
        "status",
        "where every engine in this project stands",
        "Shows each plan with its stage, phase and review count, the newest first: that is the one that the hook "
        "works on. Other engines that are used here follow, each with its own status.",
        run="taskie.overview:main",
    )
    _add_json(status)
    _add_looking(commands)
    _add_trust(commands)
    demo = _add(
        commands,
        "demo",
        "a whole plan through the review loop, with no key and no network",
        "Drives a plan in a temporary folder from its first review to `complete`. Every stop runs the real hook; "
        "the reviewer is a small program that stands in for `claude`. Exits non-zero if anything goes wrong.",
        run="taskie.demo:main",
    )
    demo.add_argument("--keep", action="store_true", help="leave the folder for inspection and say where it is")
    for name, summary, description in (
        (
            "install",
            "add the hook to a client's settings, without the plugin",
            "Adds Taskie's hook to the settings of Claude Code or of another client: for Stop and, but for Codex, for "
            "PreToolUse, which Autopilot needs. Every other setting stays as it is, and the file as it was is kept "
            "beside it. Running it again changes nothing. For another client it also adds Taskie's commands. With "
            "--project Claude Code's settings get a command that is the same on every machine, and silent for whoever "
            "has not run this there. Example: taskie install --client gemini.",
        ),
        (
            "uninstall",
            "remove it again",
            "Removes what `taskie install` has added, and nothing else. What a team shares stays without --project.",
        ),
    ):
        parser = _add(commands, name, summary, description, run=f"taskie.setup.install:{name}")
        scope = parser.add_mutually_exclusive_group()
        for choice, help_ in (
            ("local", "for you alone, in this project: .claude/settings.local.json (Claude Code's default)"),
            ("project", "for all who work on this project: .claude/settings.json in the repository's root"),
            ("user", "in your own settings: holds in all your projects (the default of all other clients)"),
        ):
            scope.add_argument(f"--{choice}", dest="scope", action="store_const", const=choice, help=help_)
        parser.add_argument("--client", choices=tuple(SENDERS), default="claude", help="default: claude")
        if name == "install":
            parser.add_argument("--force", action="store_true", help="even if the plugin already provides the hook")
    doctor = _add(
        commands,
        "doctor",
        "can the hook work here, and if not, what to do",
        "Looks at Python, the client, the settings, the hook and its configuration, and says for each problem how to "
        "solve it. Changes nothing. Exit 1 if the hook cannot work.",
        run="taskie.setup.doctor:main",
    )
    _add_json(doctor)
    doctor.add_argument(
        "--plugin", action="store_true", help="a session that has loaded the plugin asks, as /taskie:doctor does"
    )


def _add_trust(commands: Commands) -> None:
    """Whether the hook may run what a repository brings."""
    described = (
        "The Stop hook runs what a repository brings (gates and the programs they name, a Claudex loop, Autopilot's "
        "test command) only after you have said so, for this directory and this content. Your own edits are not asked "
        "about again; what git brings is."
    )
    parser = _add(
        commands, "trust", "let the hook run what this repository brings", described, run="taskie.trusting:command"
    )
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--show", action="store_true", help="show exactly what would be run, and change nothing")
    what.add_argument(
        "--list", dest="listed", action="store_true", help="every directory in which something is trusted"
    )
    what.add_argument("--word", metavar="WORD", help="say yes with the word that the hook told you, without a terminal")
    _add_json(parser)
    forget = _add(
        commands,
        "untrust",
        "take that back",
        "Forgets what was trusted in this directory: the hook asks again.",
        run="taskie.trusting:untrust",
    )
    for each in (parser, forget):
        each.add_argument("path", metavar="PATH", nargs="?", help="which directory (default: this one)")


def _add_looking(commands: Commands) -> None:
    """What shows a plan to people: a page, a line that follows it, a line for the client."""
    report = _add(
        commands,
        "report",
        "a plan as one HTML file: timeline, verdicts, time, cost, every review",
        "Writes one HTML file that shows a plan: its stage, its tasks, a timeline of its reviews, verdicts, models, "
        "time and cost, and each review with its answer. It needs no network and no script. Prints the file's name.",
        run="taskie.report.command:run",
    )
    report.add_argument(
        "--output", metavar="FILE", help="where to write it, - for stdout (default: taskie-report-PLAN.html, here)"
    )
    report.add_argument("--open", dest="open_", action="store_true", help="open it in the browser")
    watch = _add(
        commands,
        "watch",
        "what runs now, in one line that follows it",
        "Shows the review that is running: since when, with which model, and until when; else what the plan waits for. "
        "On a terminal one line that is kept up to date, else one line for each change. Ends with Ctrl-C.",
        run="taskie.watch:run",
    )
    watch.add_argument("--once", action="store_true", help="say it once and end")
    for parser in (report, watch):
        parser.add_argument("--plan", metavar="ID", help="which plan (default: the one that was modified last)")
    _add(
        commands,
        "statusline",
        "one line about the plan, for the client's status line",
        "Reads what the client sends to a status line's command, as JSON on stdin, and prints one short line about the "
        "newest plan; nothing where there is none. Always exits 0. In the client's settings: "
        '"statusLine": {"type": "command", "command": "taskie statusline"}',
        run="taskie.statusline:main",
    )
