"""`taskie client`: install real clients, list them, and run the contract suite in several of them.

Found by `taskie` through the entry point group `taskie.commands`: SUMMARY is its line in the help, `main` runs it.
Knows the command line; npm and the cache are in `_installation.py`, the contract suite is in the repository.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_taskie.client._installation import ClientError, cache_root, install, installed, parse_wanted
from pytest_taskie.client._kinds import KINDS
from taskie.usage import Parser

SUMMARY = "real clients for the tests: install, list, check"
DONE, FAILED = 0, 1
CHECK = Path(__file__).resolve().parents[2] / "tests" / "client" / "check.py"

DESCRIPTION = """\
Real clients for tests. They come from npm and live in $XDG_CACHE_HOME/taskie/clients (~/.cache without it);
the fixtures claude_client, codex_client, copilot_client, qwen_client and gemini_client take the newest one there,
or the one that --taskie-client names.
"""
EXAMPLES = """\
examples:
  taskie client install                    the newest Claude Code
  taskie client install claude codex       the newest of both
  taskie client install copilot qwen gemini
  taskie client install claude@known       the newest Claude Code that the contract data were measured in
  taskie client install 2.1.197 2.0.60     these versions of Claude Code
  taskie client install codex@0.166.0      this version of Codex
  taskie client list
  taskie client contract PreToolUse        what its hooks are told, and what becomes of their answers
  taskie client contract --html page.html  all of that as a page with a search
  taskie client check                      what differs between all installed versions of Claude Code
  taskie client check 2.1.197 2.0.60 --markdown docs/client-versions.md
  taskie client check --keep DIR           and keep the results: what has run there is not run again
  taskie client check latest --new         whether a client that has just come out does anything differently
  taskie client check copilot qwen         whether these still do what the contract data say
  taskie client check 2.1.326 --write      and put what was measured into the contract data
"""


def main(argv: Sequence[str]) -> int:
    """Run one of the commands: 0 done, 1 failed, 2 wrong usage."""
    try:
        if argv[:1] == ["check"]:
            return _check(argv[1:])
        arguments = _parser().parse_args(argv)
        return int(arguments.run(arguments))
    except SystemExit as ended:
        return int(ended.code or 0)
    except ClientError as error:
        print(f"taskie client: {error}", file=sys.stderr)
        return FAILED


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog="taskie client", description=DESCRIPTION, epilog=EXAMPLES, formatter_class=raw)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add = commands.add_parser("install", help="fetch clients with npm", description=DESCRIPTION, formatter_class=raw)
    versions = f"a version of Claude Code (2.1.197), or one of {', '.join(KINDS)}: codex, codex@0.166.0, codex@known"
    add.add_argument("versions", nargs="*", default=["claude"], metavar="VERSION", help=versions)
    add.add_argument("--force", action="store_true", help="fetch it again although it is there")
    add.set_defaults(run=_install)
    show = commands.add_parser("list", help="show the installed clients", description="Show the installed clients.")
    show.set_defaults(run=_list)
    contract = commands.add_parser("contract", help="what a hook is told at an event, and what becomes of its answer")
    contract.add_argument("event", nargs="?", metavar="EVENT", help="such as PreToolUse; without it, their names")
    contract.add_argument("--client", default="claude", choices=KINDS)
    contract.add_argument("--html", type=Path, metavar="FILE", help="write all of it as a page with a search")
    contract.set_defaults(run=_contract)
    commands.add_parser("check", help="run the contract suite in several versions and compare")
    return parser


def _install(arguments: argparse.Namespace) -> int:
    result = DONE
    for text in arguments.versions:
        try:
            client = install(parse_wanted(text), force=arguments.force)
        except ClientError as error:
            print(f"taskie client: {error}", file=sys.stderr)
            result = FAILED
        else:
            print(f"{client.name}: {client.command[-1]}", flush=True)
    return result


def _list(arguments: argparse.Namespace) -> int:
    found = [client for kind in KINDS for client in installed(kind)]
    for client in found:
        print(f"{client.kind:<7} {client.version:<12} {client.command[-1]}")
    if not found:
        print(f"No client in {cache_root()}. `taskie client install` fetches the newest Claude Code with npm.")
    return DONE


def _contract(arguments: argparse.Namespace) -> int:
    from pytest_taskie import _contract_page as page
    from pytest_taskie._contract import ContractError

    try:
        if arguments.html:
            arguments.html.write_text(page.html(arguments.client), encoding="utf-8")
            print(arguments.html)
        elif arguments.event:
            print(page.text(arguments.event, arguments.client), end="")
        else:
            print("\n".join(page.events(arguments.client)))
    except ContractError as error:
        raise ClientError(str(error)) from None
    except OSError as error:
        raise ClientError(f"{arguments.html} cannot be written: {error.strerror}") from None
    return DONE


def _check(argv: Sequence[str]) -> int:
    if not CHECK.is_file():
        raise ClientError("the contract suite is not part of the package: run this from a clone of Taskie's repository")
    sys.path.insert(0, str(CHECK.parents[1]))
    return int(importlib.import_module("client.check").main(argv))
