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

from . import contract_data, versions_page
from .effects import EFFECT, FACT
from .recorder import PAYLOAD

SUITE = Path(__file__).resolve().parent
# The files whose tests are rows of the contract; the others test the fixtures and Taskie itself.
CONTRACT = (
    *("stop_output", "feedback", "event_outputs", "turns", "input", "timeouts", "reviewer", "plugins"),
    *("entries", "every_event", "effects", "switches", "world", "prompt_hooks", "http_hook", "mcp_server", "modules"),
    *("surface", "tool_calls"),
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
        "--keep",
        type=Path,
        metavar="FOLDER",
        help="keep each version's results there; a version that has some is not run again, but for the files of --only",
    )
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
    _writable(arguments)
    reports = [_report(client, arguments) for client in clients]
    table = _markdown(reports)
    print(table, end="")
    if arguments.markdown:
        versions = [report.version for report in reports]
        page = versions_page.page(versions, _counts(reports), _rows(reports))
        arguments.markdown.write_text(page, encoding="utf-8")
    drifted = [_drifted(client, report, arguments) for client, report in zip(clients, reports)]
    # What fails because the data are old has just been written.
    return int(any(differing) or any(drifted) or any(report.failed for report in reports if not arguments.write))


def _differs(client: Installation, arguments: argparse.Namespace) -> bool:
    """The same for another client, of which there are no rows to print; what has failed beside them is named."""
    report = _report(client, arguments)
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


def _writable(arguments: argparse.Namespace) -> None:
    """Before half an hour of tests."""
    path = arguments.keep
    try:
        if path:
            path.mkdir(parents=True, exist_ok=True)
        path = arguments.markdown
        if path:
            path.open("ab").close()
    except OSError as error:
        raise ClientError(f"{path} cannot be written: {error.strerror}") from None


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


def _report(client: Installation, arguments: argparse.Namespace) -> Report:
    version = client.version or client.command[-1]
    suite = (arguments.only or CONTRACT) if client.kind == "claude" else OTHERS
    kept = arguments.keep / f"{client.version or 'client'}.xml" if arguments.keep else None
    print(f"{client.name} …", end=" ", file=sys.stderr, flush=True)
    if kept and kept.is_file() and not arguments.only:
        report = _read(version, kept)
        print("kept:", end=" ", file=sys.stderr)
    else:
        with tempfile.TemporaryDirectory() as folder:
            xml = Path(folder) / "report.xml"
            _run(client, version, xml, arguments.jobs, suite)
            if kept:
                _keep(kept, xml)
            report = _read(version, kept or xml)
    print(f"{report.passed} passed, {len(report.failed)} failed, {report.skipped} skipped", file=sys.stderr)
    for name in report.failed:
        print(f"  {name}", file=sys.stderr)
    return report


def _run(client: Installation, version: str, xml: Path, jobs: int, names: Iterable[str]) -> None:
    """The suite's files in one version."""
    files = [str(SUITE / f"test_{name}.py") for name in names]
    command = [sys.executable, "-m", "pytest", "-q", "-m", "client", *files, "--taskie-require-client"]
    # Each of the others has its name in the ids of its tests.
    named = [f"--taskie-client={client.kind}@{version}", "-k", client.kind]
    command += [f"--taskie-client={version}"] if client.kind == "claude" else named
    command += [f"--junitxml={xml}", "-o", "junit_family=xunit1"]
    command += ["-n", str(jobs)] if jobs > 1 and importlib.util.find_spec("xdist") else []
    try:
        _, out, err = run_group(command, CHECK_TIMEOUT, cwd=SUITE.parents[1])
        output = out + err
    except subprocess.TimeoutExpired:
        output = f"no end within {CHECK_TIMEOUT:g} seconds"
    if not xml.is_file():
        raise ClientError(f"the contract suite did not run in {client.name}:\n{output[-3000:]}")


def _keep(kept: Path, xml: Path) -> None:
    """Put these results in the place of those that are kept of the same files."""
    new = _parse(xml)
    if kept.is_file():
        suite = next(new.iter("testsuite"))
        again = {case.get("classname") for case in suite.iter("testcase")}
        old = _parse(kept).iter("testcase")
        suite.extend(case for case in old if case.get("classname") not in again)
    new.write(kept, encoding="utf-8")


def _parse(xml: Path) -> ElementTree.ElementTree[ElementTree.Element]:
    try:
        return ElementTree.parse(xml)
    except ElementTree.ParseError as error:
        raise ClientError(f"{xml} does not hold the results of a run: {error}; remove it") from None


def _read(version: str, xml: Path) -> Report:
    passed, skipped, failed = 0, 0, []
    rows: dict[str, str] = {}
    payloads: list[tuple[str, dict[str, Any]]] = []
    effects: list[contract_data.Effect] = []
    facts: list[contract_data.Fact] = []
    # By name: they ran in any order.
    for case in sorted(_parse(xml).iter("testcase"), key=lambda case: str(case.get("name"))):
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
    rows = _rows(reports)
    differing = {name: values for name, values in rows.items() if len({*values}) > 1}
    versions = [report.version for report in reports]
    lines = [*versions_page.table(["contract suite", *versions], _counts(reports)), ""]
    if len(reports) > 1:
        told = ([name, *values] for name, values in differing.items())
        lines += [*versions_page.table(["what differs", *versions], told), ""] if differing else ["No row differs.", ""]
    lines.append(f"{len(rows) - len(differing)} rows are the same in all of them." if len(reports) > 1 else "")
    return "\n".join(lines).rstrip() + "\n"


def _rows(reports: Sequence[Report]) -> dict[str, list[str]]:
    names = sorted({name for report in reports for name in report.rows})
    return {name: [report.rows.get(name, "-") for report in reports] for name in names}


def _counts(reports: Sequence[Report]) -> list[list[str]]:
    counts = [["passed", *(str(r.passed) for r in reports)], ["failed", *(str(len(r.failed)) for r in reports)]]
    return [*counts, ["does not apply", *(str(r.skipped) for r in reports)]]
