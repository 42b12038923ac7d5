"""`taskie client check`: run the contract suite in several versions of Claude Code, and print what differs."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from pytest_taskie import _contract
from pytest_taskie.client._installation import (
    ClientError,
    Installation,
    find,
    installed,
    parse_wanted,
    run_group,
)

from . import contract_data
from .effects import EFFECT, FACT
from .recorder import PAYLOAD

SUITE = Path(__file__).resolve().parent
# The files whose tests are rows of the contract; the others test the fixtures and Taskie itself.
CONTRACT = (
    *("stop_output", "feedback", "event_outputs", "turns", "input", "timeouts", "reviewer", "plugins"),
    *("entries", "every_event", "effects", "switches", "world", "prompt_hooks", "http_hook", "mcp_server", "modules"),
    "surface",
)
# The same for the other clients.
OTHERS = ("contracts", "contract_ends")
CHECK_TIMEOUT = 1800.0
ROW = "contract: "


@dataclass(frozen=True)
class Report:
    """One version's run of the contract suite."""

    version: str
    passed: int
    failed: tuple[str, ...]
    skipped: int
    rows: dict[str, str]
    payloads: tuple[tuple[str, dict[str, Any]], ...] = ()
    effects: tuple[contract_data.Effect, ...] = ()
    facts: tuple[contract_data.Fact, ...] = ()


def main(argv: Sequence[str]) -> int:
    """0 if every version behaves as the suite expects of it, and as the contract data say; else 1."""
    parser = argparse.ArgumentParser(
        prog="taskie client check",
        description="Run the contract suite (tests/client of Taskie's repository) in each version of Claude Code and "
        "print what differs, between them and from the contract data that are stored. Of codex, copilot, qwen and "
        "gemini, if they are named: what differs from the data. 0: every version behaves as the "
        "suite expects of it and as the data say, or the data were written.",
    )
    parser.add_argument("versions", nargs="*", metavar="VERSION", help="default: all that are installed")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table as a page of documentation, too")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, metavar="N", help="tests at a time")
    parser.add_argument("--new", action="store_true", help="only versions that the contract data were not measured in")
    parser.add_argument("--write", action="store_true", help="write the contract data of what was measured")
    parser.add_argument(
        "--only", action="append", choices=CONTRACT, metavar="FILE", help="this file of the suite alone"
    )
    arguments = parser.parse_args(argv)
    wanted = [parse_wanted(text) for text in arguments.versions]
    others = [find(one) for one in wanted if one.kind != "claude"]
    differing = [_differs(client, arguments) for client in others]
    if others and len(others) == len(wanted):
        return int(any(differing))
    clients = [find(one) for one in wanted if one.kind == "claude"] or installed("claude")
    if not clients:
        raise ClientError("no version is installed; `taskie client install` fetches the newest with npm")
    if arguments.new:
        known = _contract.measured("claude")
        clients = [client for client in clients if client.version not in known]
        if not clients:
            print("The contract data were measured in every one of them.")
            return 0
    reports = [_report(client, arguments.jobs, arguments.only or CONTRACT) for client in clients]
    table = _markdown(reports)
    print(table, end="")
    if arguments.markdown:
        arguments.markdown.write_text(_page(table), encoding="utf-8")
    drifted = [_drifted(client, report, arguments) for client, report in zip(clients, reports)]
    # What fails because the data are old has just been written.
    return int(any(differing) or any(drifted) or any(report.failed for report in reports if not arguments.write))


def _differs(client: Installation, arguments: argparse.Namespace) -> bool:
    """The same for another client, of which there are no rows to print; what has failed beside them is named."""
    report = _report(client, arguments.jobs, OTHERS)
    version = client.version or _contract.newest_measured(client.kind)
    lines = contract_data.other_drift(client.kind, version, report.effects, report.facts)
    for line in lines:
        print(f"{client.name}: {line}")
    if arguments.write:
        written = contract_data.write_other(client.kind, version, report.effects, report.facts)
        print(f"{client.name}: written to {written}")
    elif not lines and not report.failed:
        print(f"{client.name}: as the data say")
    return bool(lines or report.failed) and not arguments.write


def _drifted(client: Installation, report: Report, arguments: argparse.Namespace) -> bool:
    """Print how this version differs from what is stored of it; write it if that is asked for."""
    data = contract_data.stored(report.version)
    if data and not data.get("events"):
        # Of a client so old the data have what its hooks' outputs do, which the suite itself compares.
        if arguments.write and not report.failed and not arguments.only:
            print(f"{client.name}: named in {contract_data.name(client)}")
        return bool(report.failed)
    rows = {} if arguments.only else report.rows
    sections = contract_data.measured(client, report.payloads, rows, report.effects, report.facts, data)
    lines = contract_data.drift(data, sections)
    for line in lines:
        print(f"{client.name}: {line}")
    if arguments.write:
        print(f"{client.name}: written to {contract_data.write(report.version, sections)}")
    return bool(lines) and not arguments.write


def _report(client: Installation, jobs: int, names: Iterable[str]) -> Report:
    version = client.version or client.command[-1]
    with tempfile.TemporaryDirectory() as folder:
        xml = Path(folder) / "report.xml"
        files = [str(SUITE / f"test_{name}.py") for name in names]
        command = [sys.executable, "-m", "pytest", "-q", "-m", "client", *files]
        command += [
            "--taskie-require-client",
            f"--taskie-client={version if client.kind == 'claude' else f'{client.kind}@{version}'}",
            f"--junitxml={xml}",
            "-o",
            "junit_family=xunit1",
        ]
        command += [] if client.kind == "claude" else ["-k", client.kind]
        command += ["-n", str(jobs)] if jobs > 1 and importlib.util.find_spec("xdist") else []
        print(f"{client.name} …", end=" ", file=sys.stderr, flush=True)
        try:
            _, out, err = run_group(command, CHECK_TIMEOUT, cwd=SUITE.parents[1])
            output = out + err
        except subprocess.TimeoutExpired:
            output = f"no end within {CHECK_TIMEOUT:g} seconds"
        if not xml.is_file():
            raise ClientError(f"the contract suite did not run in {client.name}:\n{output[-3000:]}")
        report = _read(version, xml)
    print(f"{report.passed} passed, {len(report.failed)} failed, {report.skipped} skipped", file=sys.stderr)
    for name in report.failed:
        print(f"  {name}", file=sys.stderr)
    return report


def _read(version: str, xml: Path) -> Report:
    passed, skipped, failed = 0, 0, []
    rows: dict[str, str] = {}
    payloads: list[tuple[str, dict[str, Any]]] = []
    effects: list[contract_data.Effect] = []
    facts: list[contract_data.Fact] = []
    # By name: they ran in any order.
    for case in sorted(ElementTree.parse(xml).iter("testcase"), key=lambda case: str(case.get("name"))):
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
            elif name == PAYLOAD:
                payloads.append(tuple(json.loads(str(row.get("value")))))
            elif name == EFFECT:
                effects.append(tuple(json.loads(str(row.get("value")))))
            elif name == FACT:
                facts.append(tuple(json.loads(str(row.get("value")))))
    return Report(version, passed, tuple(failed), skipped, rows, tuple(payloads), tuple(effects), tuple(facts))


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
