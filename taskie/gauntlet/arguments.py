"""The words of `taskie gauntlet`: what may be said, and which function does it."""

from __future__ import annotations

import argparse

from taskie.gauntlet import KINDS

VERBS = {
    "run": "run every gate that applies; exit 1 unless they pass",
    **{kind: f"run the {folder} that apply, or the named ones of them" for kind, folder in KINDS.items()},
    "clean": "move logs and the record of the last run to previous/",
    "skip": "pass over a gate's failure on this branch for a while; for a person in a terminal",
    "unskip": "let a skipped gate fail again",
    "init": "write a configuration to begin with and install the hook; changes nothing that is there",
    "validate": "say what is wrong with the configuration, with file and line; exit 1 on errors",
    "detect": "say which gates a run would run now",
    "list": "list the entry points and their gates",
}
MODULES = {**dict.fromkeys(("skip", "unskip"), "taskie.gauntlet.skipping"), "init": "taskie.setup.gauntlet"}
FUNCTIONS = {"detect": "show_applicable", "list": "list_gates", **dict.fromkeys(KINDS, "run")}


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add every command of the engine."""
    for verb, summary in VERBS.items():
        parser = commands.add_parser(verb, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
        module = MODULES.get(verb, "taskie.gauntlet.commands")
        parser.set_defaults(run=f"{module}:{FUNCTIONS.get(verb, verb)}")
        if verb in KINDS:
            parser.set_defaults(kinds=(verb,))
            parser.add_argument("names", nargs="*", metavar="NAME", help=f"a {verb}'s name")
        if verb == "run" or verb in KINDS:
            parser.add_argument("--timeout", type=float, metavar="SECONDS", help="end what still runs after so long")
        if verb == "skip":
            parser.add_argument(
                "gate", nargs="?", metavar="GATE", help="a failing gate's name, or its key in the report"
            )
            parser.add_argument("--reason", metavar="TEXT", help="why; told with every run that passes over it")
            parser.add_argument("--hours", type=float, default=24.0, help="for how long at most; default 24")
            parser.add_argument(
                "--list", action="store_true", dest="listed", help="list what is skipped on this branch"
            )
        if verb == "unskip":
            parser.add_argument("gate", metavar="GATE", help="a skipped gate's name or key")
