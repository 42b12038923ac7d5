"""`taskie check`: what is wrong with hooks that nobody has tested. Knows the command line; the check is `_checking`.

Flaw by `taskie` through the entry point group `taskie.commands`: SUMMARY is its line in the help, `main` runs it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_taskie._clients import supported
from pytest_taskie._contract import ContractError, nearest
from pytest_taskie.check import _checking, _formats
from pytest_taskie.check._room import Ground, RoomError, ground
from pytest_taskie.check._rules import RULES, rule
from pytest_taskie.check._settings import SettingsError, settings
from pytest_taskie.check._subjects import Subject, read
from taskie.protocol import harmless
from taskie.terminal import redraw, say, steer
from taskie.usage import Parser

SUMMARY = "what is wrong with the hooks of a plugin or a project"
DONE, FOUND, USAGE = 0, 1, 2
DESCRIPTION = """\
Runs each hook of a plugin, a hooks.json, a settings.json or a command as the client does, at everyday events and in
awkward places, and says what is wrong. Each run is in a room of its own: your files, HOME and network are out of reach.
"""
EXAMPLES = """\
examples:
  taskie check                             the plugin or project here
  taskie check plugins/guard               a plugin
  taskie check .claude/settings.json       a project's hooks
  taskie check 'sh hooks/stop.sh'          a command, as a Stop hook (--event names another)
  taskie check --format github             for a workflow; also json, junit, sarif
  taskie check --rule crash --rule grants  these rules alone
  taskie check --explain lost-writes       a rule's page
  taskie check --fix                       quote paths and the like, after showing the change

exit codes: 0 no error or warning, 1 some, 2 it could not be checked
"""


def main(argv: Sequence[str]) -> int:
    """Check, and print what was found."""
    try:
        arguments = _parser().parse_args(argv)
    except SystemExit as ended:
        return int(ended.code or 0)
    try:
        with _interruptible():
            return _main(arguments)
    except (SettingsError, ContractError, RoomError) as error:
        say(f"taskie check: {error}", file=sys.stderr)
        return USAGE


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog="taskie check", description=DESCRIPTION, epilog=EXAMPLES, formatter_class=raw)
    parser.add_argument("path", nargs="?", default=".", metavar="PATH", help="a plugin, a project, a file, a command")
    parser.add_argument("--event", default="Stop", help="of a command: the event that it is for (default: Stop)")
    parser.add_argument("--matcher", help="of a command: the matcher that it has")
    parser.add_argument("--format", choices=_formats.FORMATS, default="text", help="default: text")
    parser.add_argument("--output", type=Path, metavar="FILE", help="write it there, and a line to stdout")
    parser.add_argument("--rule", action="append", metavar="RULE", help="only this rule; may be repeated")
    parser.add_argument("--client", default="", metavar="CLIENTS", help="judge for these, too: claude>=2.0,codex")
    parser.add_argument("--jobs", type=int, metavar="N", help="hooks at once (default: one for each core)")
    parser.add_argument("--explain", metavar="RULE", help="print a rule's page; all: of every rule")
    parser.add_argument("--write-test", type=Path, metavar="FILE", help="write a test that fails for each finding")
    parser.add_argument("--fix", action="store_true", help="change what is mechanical, after showing the change")
    parser.add_argument("--yes", action="store_true", help="with --fix: without a question")
    parser.add_argument(
        "--unconfined",
        action="store_true",
        help="run hooks with your files and network where they cannot be kept from them",
    )
    return parser


def _main(arguments: argparse.Namespace) -> int:
    if arguments.explain:
        names = RULES if arguments.explain == "all" else [_known(arguments.explain)]
        say(_formats.pages(names).rstrip())
        return DONE
    rules = [_known(name) for name in arguments.rule] if arguments.rule else RULES
    contracts = supported(arguments.client) if arguments.client else ()
    subjects, problems = read(arguments.path, event=arguments.event, matcher=arguments.matcher)
    where = Path(arguments.path) if Path(arguments.path).is_dir() else _folder(subjects)
    chosen = settings(where)
    with contextlib.ExitStack() as stack:
        there: Ground | None = None
        if subjects and any(rule(name).RUNS for name in rules):
            there = stack.enter_context(ground(confined=not arguments.unconfined))
            there.probe()
        report = _checking.check(
            subjects,
            problems,
            there,
            chosen,
            contracts=contracts,
            rules=rules,
            jobs=arguments.jobs,
            progress=_progress,
        )
    if sys.stderr.isatty():
        steer("\r\x1b[K", sys.stderr)
    if not subjects and not problems:
        raise SettingsError(f"{arguments.path} has no hooks that are commands")
    originals = list(report.findings)
    report.findings = [_checking.relative_to(Path.cwd(), one) for one in report.findings]
    _print(arguments, report)
    if arguments.write_test:
        from pytest_taskie.check._written import write

        write(arguments.write_test, originals)
    if arguments.fix:
        from pytest_taskie.check._fixes import fix

        fix(originals, yes=arguments.yes)
    return report.code


def _print(arguments: argparse.Namespace, report: _checking.Report) -> None:
    colour = arguments.output is None and sys.stdout.isatty() and "NO_COLOR" not in os.environ
    written = _formats.FORMATS[arguments.format](report, colour)
    if arguments.output:
        try:
            arguments.output.write_text(written, encoding="utf-8", errors="backslashreplace")
        except OSError as error:
            raise SettingsError(f"{arguments.output} cannot be written: {error.strerror}") from None
        say(_formats.summary(report))
    else:
        # What hooks print may steer a terminal; our colours may, too.
        for line in written.splitlines():
            head, colours, rest = line.partition("\x1b[0m") if colour else ("", "", line)
            steer(head + colours)
            say(harmless(rest))


def _folder(subjects: Sequence[Subject]) -> Path:
    return subjects[0].root if subjects else Path.cwd()


def _known(name: str) -> str:
    if name not in RULES:
        meant = nearest(name, RULES, 0.5)
        hint = f"; is {meant} meant?" if meant else f". There are {', '.join(RULES)}"
        raise SettingsError(f"there is no rule {name!r}{hint}")
    return name


def _progress(done: int, total: int, names: str) -> None:
    if sys.stderr.isatty():
        redraw(f"{done} of {total} hooks checked; {names}"[:100], sys.stderr)


@contextlib.contextmanager
def _interruptible() -> Iterator[None]:
    """SIGTERM ends a check as Ctrl-C does: with what was found so far, and nothing left running."""

    def interrupt(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
