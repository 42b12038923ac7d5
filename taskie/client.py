"""`taskie client`: install real clients, list them, and run the contract suite in several of them.

Knows the command line and the report; npm and the cache are in `pytest_taskie.client.installation`.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_taskie.client.installation import Installation

DONE, FAILED, USAGE = 0, 1, 2
SUITE = Path(__file__).resolve().parent.parent / "tests" / "client"
# The files whose tests are rows of the contract; the others test the fixtures and Taskie itself.
CONTRACT = ("stop_output", "event_outputs", "turns", "input", "timeouts", "reviewer", "plugins")
CHECK_TIMEOUT = 1800.0
ROW = "contract: "

DESCRIPTION = """\
Real clients for tests. They come from npm and live in $XDG_CACHE_HOME/taskie/clients (~/.cache without it);
the fixtures claude_client and codex_client take the newest one there, or the one that --taskie-client names.
"""
EXAMPLES = """\
examples:
  taskie client install                    the newest Claude Code
  taskie client install claude codex       the newest of both
  taskie client install 2.1.197 2.0.60     these versions of Claude Code
  taskie client install codex@0.166.0      this version of Codex
  taskie client list
  taskie client check                      what differs between all installed versions of Claude Code
  taskie client check 2.1.197 2.0.60 --markdown docs/client-versions.md
"""


@dataclass(frozen=True)
class Report:
    """One version's run of the contract suite."""

    version: str
    passed: int
    failed: tuple[str, ...]
    skipped: int
    rows: dict[str, str]


def main(argv: Sequence[str]) -> int:
    """Run one of the commands; 0 is done, 1 failed, 2 a command line that makes no sense."""
    try:
        arguments = _parser().parse_args(argv)
    except SystemExit as ended:
        return int(ended.code or 0)
    try:
        from pytest_taskie.client.installation import ClientError
    except ImportError as error:
        print(f"taskie client needs the package pytest-taskie with its dependencies ({error})", file=sys.stderr)
        return FAILED
    try:
        return int(arguments.run(arguments))
    except ClientError as error:
        print(f"taskie client: {error}", file=sys.stderr)
        return FAILED


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="taskie client", description=DESCRIPTION, epilog=EXAMPLES, formatter_class=raw
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    versions = "a version (2.1.197), claude, codex or codex@VERSION"

    add = commands.add_parser("install", help="fetch clients with npm", description=DESCRIPTION, formatter_class=raw)
    add.add_argument("versions", nargs="*", default=["claude"], metavar="VERSION", help=versions)
    add.add_argument("--force", action="store_true", help="fetch it again although it is there")
    add.set_defaults(run=_install)

    show = commands.add_parser("list", help="show the installed clients", description="Show the installed clients.")
    show.set_defaults(run=_list)

    check = commands.add_parser(
        "check",
        help="run the contract suite in several versions and compare",
        description="Run the contract suite (tests/client of Taskie's repository) in each version of Claude Code and "
        "print what differs. 0: every version behaves as the suite expects of it.",
    )
    check.add_argument("versions", nargs="*", metavar="VERSION", help="default: all that are installed")
    check.add_argument("--markdown", type=Path, metavar="FILE", help="write the table as a page of documentation, too")
    check.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="tests at a time")
    check.set_defaults(run=_check)
    return parser


def _install(arguments: argparse.Namespace) -> int:
    from pytest_taskie.client.installation import ClientError, install, parse_wanted

    failed = False
    for text in arguments.versions:
        try:
            client = install(parse_wanted(text), force=arguments.force)
        except ClientError as error:
            print(f"taskie client: {error}", file=sys.stderr)
            failed = True
        else:
            print(f"{client.name}: {client.command[-1]}", flush=True)
    return FAILED if failed else DONE


def _list(arguments: argparse.Namespace) -> int:
    from pytest_taskie.client.installation import KINDS, cache_root, installed

    found = [client for kind in KINDS for client in installed(kind)]
    for client in found:
        print(f"{client.kind:<7} {client.version:<12} {client.command[-1]}")
    if not found:
        print(f"No client in {cache_root()}. `taskie client install` fetches the newest Claude Code with npm.")
    return DONE


def _check(arguments: argparse.Namespace) -> int:
    from pytest_taskie.client.installation import ClientError, find, installed, parse_wanted

    if not SUITE.is_dir():
        raise ClientError("the contract suite is not part of the package: run this from a clone of Taskie's repository")
    wanted = [parse_wanted(text) for text in arguments.versions]
    if any(one.kind != "claude" for one in wanted):
        raise ClientError("the contract suite is about Claude Code; Codex has tests/client/test_codex.py")
    clients = [find(one) for one in wanted] or installed("claude")
    if not clients:
        raise ClientError("no version is installed; `taskie client install` fetches the newest with npm")
    reports = [_report(client, arguments.jobs) for client in clients]
    table = _markdown(reports)
    print(table, end="")
    if arguments.markdown:
        arguments.markdown.write_text(_page(table), encoding="utf-8")
    return FAILED if any(report.failed for report in reports) else DONE


def _report(client: Installation, jobs: int) -> Report:
    version = client.version or client.command[-1]
    with tempfile.TemporaryDirectory() as folder:
        xml = Path(folder) / "report.xml"
        files = [str(SUITE / f"test_{name}.py") for name in CONTRACT]
        command = [sys.executable, "-m", "pytest", "-q", "-m", "client", *files]
        command += ["--taskie-require-client", f"--taskie-client={version}", f"--junitxml={xml}"]
        command += ["-n", str(jobs)] if jobs > 1 and _has_xdist() else []
        print(f"{client.name} …", end=" ", file=sys.stderr, flush=True)
        said = _run(command)
        if not xml.is_file():
            from pytest_taskie.client.installation import ClientError

            raise ClientError(f"the contract suite did not run in {client.name}:\n{said[-3000:]}")
        report = _read(version, xml)
    print(f"{report.passed} passed, {len(report.failed)} failed, {report.skipped} skipped", file=sys.stderr)
    for name in report.failed:
        print(f"  {name}", file=sys.stderr)
    return report


def _has_xdist() -> bool:
    import importlib.util

    return importlib.util.find_spec("xdist") is not None


def _run(command: Sequence[str]) -> str:
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        cwd=SUITE.parent.parent,
    )
    try:
        said, _ = process.communicate(timeout=CHECK_TIMEOUT)
    except BaseException as error:
        # The workers are in this group; each ends its clients, which die with the process that started them.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        if isinstance(error, subprocess.TimeoutExpired):
            return f"no end within {CHECK_TIMEOUT:g} seconds"
        raise
    return said


def _read(version: str, xml: Path) -> Report:
    from xml.etree import ElementTree

    passed, skipped, failed = 0, 0, []
    rows: dict[str, str] = {}
    for case in ElementTree.parse(xml).iter("testcase"):
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(str(case.get("name")))
        elif case.find("skipped") is not None:
            skipped += 1
        else:
            passed += 1
        for row in case.iter("property"):
            name = str(row.get("name"))
            if name.startswith(ROW):
                rows[name[len(ROW) :]] = str(row.get("value"))
    return Report(version, passed, tuple(failed), skipped, rows)


def _markdown(reports: Sequence[Report]) -> str:
    names = sorted({name for report in reports for name in report.rows})
    values = {name: [report.rows.get(name, "-") for report in reports] for name in names}
    differing = [name for name in names if len(set(values[name])) > 1]
    versions = [report.version for report in reports]
    counts = [["passed", *(str(r.passed) for r in reports)], ["failed", *(str(len(r.failed)) for r in reports)]]
    counts.append(["does not apply", *(str(r.skipped) for r in reports)])
    lines = [*_table(["contract suite", *versions], counts), ""]
    if len(reports) > 1:
        rows = [[name, *values[name]] for name in differing]
        lines += [*_table(["what differs", *versions], rows), ""] if rows else ["No row differs.", ""]
    lines.append(f"{len(names) - len(differing)} rows are the same in all of them." if len(reports) > 1 else "")
    return "\n".join(lines).rstrip() + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    return [line(head), line("---" for _ in head), *(line(row) for row in rows)]


def _page(table: str) -> str:
    return (
        "# What differs between versions of Claude Code\n\n"
        "Measured, not read: `taskie client check --markdown docs/client-versions.md` ran the contract suite in each "
        "of these clients and wrote this page. A dash: the version was not asked, since it has no such thing. For a "
        "Stop hook's output the words mean: *allowed*, the turn ends; *blocked*, the model is told the reason and goes "
        "on; *continued*, it goes on without an error notice; *stopped*, the turn ends by the hook's wish. Other "
        "events' outputs have the event's name before them: *allowed*, it goes its way; *blocked*, the tool call or "
        "the prompt does not, or the model is told the reason; *asked*, it is left to the user.\n\n" + table
    )


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
