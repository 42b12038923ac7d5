"""`taskie try`: one event through one hook, by hand, with the harness's report. Knows the command line.

Flaw by `taskie` through the entry point group `taskie.commands`: SUMMARY is its line in the help, `main` runs it.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pytest_taskie import _contract
from pytest_taskie._events import known_events
from pytest_taskie.check import _tracing
from pytest_taskie.check._asked import hook
from pytest_taskie.check._lab import Lab, Performance, Preparation
from pytest_taskie.check._room import RoomError, ground
from pytest_taskie.check._settings import SettingsError, settings
from pytest_taskie.check._situations import Situation, given
from taskie.terminal import say
from taskie.usage import Parser

SUMMARY = "one event through one hook, and what the client makes of it"
DONE, FAILED, USAGE = 0, 1, 2
DESCRIPTION = """\
Runs a hook once with one event, in a room of its own, and says what it printed and what the client makes of it. Your
files are not changed: the hook sees a copy.
"""
EXAMPLES = """\
HOOK is a command, or a file with the number of a hook in it; fields that are not given are as the client sends them.

examples:
  taskie try 'sh hooks/stop.sh' Stop
  taskie try 'sh hooks/stop.sh' Stop stop_hook_active=true
  taskie try hooks/hooks.json#0 PreToolUse tool_name=Bash tool_input.command='git push --force'
  taskie try hooks/hooks.json#0 PreToolUse tool_name=Write tool_input.file_path='{project}/.env' --without jq
  taskie try 'sh hooks/stop.sh' Stop --stops 9 --seed 'touch FAILING'

exit codes: 0 the hook ran, 1 it failed or its output was lost, 2 wrong usage, or it could not be run
"""


def main(argv: Sequence[str]) -> int:
    """Run it, and print the report."""
    try:
        arguments = _parser().parse_intermixed_args(argv)
    except SystemExit as ended:
        return int(ended.code or 0)
    try:
        return _main(arguments)
    except (SettingsError, RoomError, _contract.ContractError, ValueError, TypeError) as error:
        say(f"taskie try: {error}", file=sys.stderr)
        return USAGE


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog="taskie try", description=DESCRIPTION, epilog=EXAMPLES, formatter_class=raw)
    parser.add_argument("hook", metavar="HOOK", help="a command, or FILE#NUMBER")
    parser.add_argument("event", metavar="EVENT", help="such as Stop or PreToolUse")
    parser.add_argument("fields", nargs="*", metavar="FIELD=VALUE", help="what the event says; {project} is its path")
    parser.add_argument("--blank-project", action="store_true", help="the project's path has a blank")
    parser.add_argument("--blank-plugin", action="store_true", help="the plugin's path has a blank")
    parser.add_argument("--subdirectory", action="store_true", help="the agent has gone into a subdirectory")
    parser.add_argument("--without", action="append", default=[], metavar="PROGRAM", help="it is not on PATH")
    parser.add_argument("--times", type=int, default=1, metavar="N", help="so many runs at once, after one alone")
    parser.add_argument("--stops", type=int, default=1, metavar="N", help="so many stops of one turn")
    parser.add_argument("--agents", action="store_true", help="claude and others are there, as stand-ins")
    parser.add_argument("--failing", action="store_true", help="tools that check code find an error")
    parser.add_argument("--traced", action="store_true", help="which fields of the event are asked for")
    parser.add_argument("--seed", metavar="SCRIPT", help="a script for sh that is run in the project before")
    parser.add_argument("--unconfined", action="store_true", help="with your files and network, where it must be")
    return parser


def _main(arguments: argparse.Namespace) -> int:
    known = known_events()
    if arguments.event not in known:
        meant = _contract.nearest(arguments.event, known)
        hint = f"; is {meant} meant?" if meant else f". It has {', '.join(known)}"
        raise SettingsError(f"the client has no event {arguments.event!r}{hint}")
    for name in ("times", "stops"):
        if not 1 <= getattr(arguments, name) <= 100:
            raise SettingsError(f"--{name} is a number from 1 to 100")
    subject = replace(hook(arguments.hook, event=arguments.event), event=arguments.event)
    prepared = settings(subject.root).preparation(subject)
    if arguments.seed is not None:
        prepared = Preparation(prepared.install, arguments.seed)
    situation = Situation(
        arguments.event,
        given(arguments.fields),
        without=tuple(arguments.without),
        **{
            name: getattr(arguments, name)
            for name in (
                "blank_project",
                "blank_plugin",
                "subdirectory",
                "times",
                "stops",
                "agents",
                "failing",
                "traced",
            )
        },
    )
    with ground(confined=not arguments.unconfined) as there:
        there.probe()
        lab = Lab(there, subject, prepared)
        lab.event(situation, Path("/project"), 0)  # what is wrong with a field is said before anything is run
        performed = lab.perform(situation)
    _show(performed)
    bad = any(result.fault or result.reading.accident or result.timed_out for result in performed.results)
    return FAILED if bad else DONE


def _show(performed: Performance) -> None:
    for number, result in enumerate(performed.results, 1):
        if len(performed.results) > 1:
            say(f"--- {number} ---")
        say(result.report())
    fields = _tracing.asked(performed.files)
    files = [name for name in performed.files if name != f"home/{_tracing.NOTES}"]
    if files:
        say("files that it made or changed:", *(f"    {name}" for name in files))
    if performed.situation.traced:
        say(f"fields that it asked for: {', '.join(fields) or 'none that could be seen'}")
    for step in performed.steps:
        if step.names:
            say(f"it asked the network for: {', '.join(step.names)}")
        if step.alive:
            say("still running after it:", *(f"    {name}" for name in step.alive))
