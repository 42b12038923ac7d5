"""The words of `taskie gauntlet`: what may be said, and which function does it."""

from __future__ import annotations

import argparse

from taskie.gauntlet import KINDS

VERBS = {
    "run": "run every gate that applies; exit 1 unless they pass",
    **{kind: f"run the {folder} that apply, or the named ones of them" for kind, folder in KINDS.items()},
    "clean": "move logs and the record of the last run to previous/",
    "init": "write a configuration to begin with and install the hook; changes nothing that is there",
    "validate": "say what is wrong with the configuration, with file and line; exit 1 on errors",
    "detect": "say which gates a run would run now",
    "list": "list the entry points and their gates",
}
FUNCTIONS = {"detect": "show_applicable", "list": "list_gates", **dict.fromkeys(KINDS, "run")}


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add every command of the engine."""
    for verb, summary in VERBS.items():
        parser = commands.add_parser(verb, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        module = "taskie.setup.gauntlet" if verb == "init" else "taskie.gauntlet.commands"
        parser.set_defaults(run=f"{module}:{FUNCTIONS.get(verb, verb)}")
        if verb in KINDS:
            parser.set_defaults(kinds=(verb,))
            parser.add_argument("names", nargs="*", metavar="NAME", help=f"a {verb}'s name")
        if verb == "run" or verb in KINDS:
            parser.add_argument("--timeout", type=float, metavar="SECONDS", help="end what still runs after so long")
