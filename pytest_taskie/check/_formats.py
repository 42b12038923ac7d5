"""How a report is written: for people, and for the programs that show it to them. Values in, text out."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from xml.sax.saxutils import escape, quoteattr

from pytest_taskie.check._checking import Report
from pytest_taskie.check._rules import RULES, Flaw, rule

COLOURS = {"error": "31", "warning": "33"}
LEVELS = {"error": "error", "warning": "warning"}
PAGES = "docs/check.md"


def text(report: Report, colour: bool = False) -> str:
    """Each hook with what was found, how to see it again and what to do."""
    lines: list[str] = []
    for place, group in groupby(report.findings, key=_place):
        lines += ["", place]
        for one in group:
            painted = f"\x1b[{COLOURS[one.severity]}m{one.severity:<7}\x1b[0m" if colour else f"{one.severity:<7}"
            lines.append(f"  {painted} {one.rule}: {one.message}")
            if one.again:
                lines.append(f"          see it: {one.again}")
            lines.append(f"          fix:    {' '.join(rule(one.rule).FIX.split())}")
    if report.off:
        lines += ["", *(f"off: {one.rule} for {_place(one)}: {reason}" for one, reason in report.off)]
    if report.notes:
        lines.append("")
        lines += [f"note: {note.subject.name + ': ' if note.subject else ''}{note.text}" for note in report.notes]
    return "\n".join([*lines, "", summary(report)]).lstrip("\n") + "\n"


def summary(report: Report) -> str:
    """One line."""
    counted = [_many(report.count(severity), severity) for severity in LEVELS]
    found = ", ".join(part for part in counted if part) or "nothing found"
    hooks = _many(report.hooks, "hook") or "no hook"
    ended = f"; interrupted after {report.checked} of them" if report.interrupted else ""
    return f"{hooks}: {found}, in {report.seconds:.1f} s{ended}"


def as_json(report: Report, colour: bool = False) -> str:
    """For programs: everything, and nothing that is only shown."""
    told = {
        "hooks": report.hooks,
        "interrupted": report.interrupted,
        "findings": [_told(one) for one in report.findings],
        "off": [{**_told(one), "reason": reason} for one, reason in report.off],
        "notes": [
            {"hook": note.subject.name if note.subject else None, "text": note.text, "unchecked": note.unchecked}
            for note in report.notes
        ],
    }
    return json.dumps(told, indent=2) + "\n"


def junit(report: Report, colour: bool = False) -> str:
    """One case for each finding and each hook that could not be run; one that passes if there is neither."""
    cases = [
        f"  <testcase classname={quoteattr(_place(one))} name={quoteattr(one.rule)}>\n"
        f"    <failure type={quoteattr(one.severity)} message={quoteattr(_plain(one.message))}>"
        f"{escape(_plain(one.again or ''))}</failure>\n  </testcase>"
        for one in report.findings
    ]
    unchecked = [note for note in report.notes if note.unchecked]
    cases += [
        f'  <testcase classname={quoteattr(note.subject.name if note.subject else "check")} name="run">\n'
        f"    <error message={quoteattr(_plain(note.text))}/>\n  </testcase>"
        for note in unchecked
    ]
    if not cases:
        cases = ['  <testcase classname="taskie check" name="everything"/>']
    counted = f'tests="{len(cases)}" failures="{len(report.findings)}" errors="{len(unchecked)}"'
    head = f'<testsuite name="taskie check" {counted} time="{report.seconds:.3f}">'
    return "\n".join(['<?xml version="1.0" encoding="utf-8"?>', head, *cases, "</testsuite>"]) + "\n"


def sarif(report: Report, colour: bool = False) -> str:
    """For code scanning: a rule for each of ours, a result for each finding."""
    used = [name for name in RULES if any(one.rule == name for one in report.findings)]
    rules = [
        {
            "id": name,
            "shortDescription": {"text": rule(name).TITLE},
            "fullDescription": {"text": " ".join(rule(name).WHY.split())},
            "help": {"text": " ".join(rule(name).FIX.split())},
            "defaultConfiguration": {"level": rule(name).SEVERITY},
        }
        for name in used
    ]
    results = [
        {
            "ruleId": one.rule,
            "level": LEVELS[one.severity],
            "message": {"text": one.message + (f"\n{one.again}" if one.again else "")},
            "locations": [
                {
                    "physicalLocation": {
                        "artifactLocation": {"uri": _file(one) or "."},
                        "region": {"startLine": _line(one)},
                    }
                }
            ],
        }
        for one in report.findings
    ]
    driver = {"name": "taskie check", "rules": rules}
    run = {"tool": {"driver": driver}, "results": results}
    return json.dumps({"version": "2.1.0", "runs": [run]}, indent=2) + "\n"


def github(report: Report, colour: bool = False) -> str:
    """Annotations of a workflow's log."""
    lines = [
        f"::{one.severity} file={_property(_file(one) or '.')},line={_line(one)},title={_property(one.rule)}::"
        + _message(one.message + (f"\n{one.again}" if one.again else ""))
        for one in report.findings
    ]
    lines += [f"::notice::{_message((n.subject.name + ': ' if n.subject else '') + n.text)}" for n in report.notes]
    return "\n".join([*lines, summary(report)]) + "\n"


FORMATS: Mapping[str, Callable[[Report, bool], str]] = {
    "text": text,
    "json": as_json,
    "junit": junit,
    "sarif": sarif,
    "github": github,
}


def _place(one: Flaw) -> str:
    subject = one.subject
    if subject is None:
        return "?"
    where = f"{subject.file}:{_line(one)}" if subject.file else ""
    return " ".join(part for part in (where, subject.name if subject.event else "") if part)


def _file(one: Flaw) -> str | None:
    return str(one.subject.file) if one.subject and one.subject.file else None


def _line(one: Flaw) -> int:
    return one.line or (one.subject.line if one.subject else 1)


def _told(one: Flaw) -> dict[str, object]:
    return {
        "rule": one.rule,
        "severity": one.severity,
        "hook": one.subject.name if one.subject else None,
        "event": one.subject.event if one.subject else None,
        "file": _file(one),
        "line": _line(one),
        "message": one.message,
        "again": one.again,
    }


def _many(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}" if number else ""


def _plain(words: str) -> str:
    """XML has no control characters, not even spelled out."""
    return "".join(c if c in "\t\n" or c >= " " else "�" for c in words)


def _message(words: str) -> str:
    return words.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(words: str) -> str:
    return _message(words).replace(":", "%3A").replace(",", "%2C")


def pages(names: Sequence[str] = RULES) -> str:
    """The page of each rule, as Markdown."""
    parts = []
    for name in names:
        one = rule(name)
        runs = "runs the hook" if one.RUNS else "only reads"
        parts.append(
            f"### {name}\n\n*{one.SEVERITY}, {runs}.* {one.TITLE[0].upper()}{one.TITLE[1:]}. {one.WHY.strip()}\n\n"
            f"```text\n{one.EXAMPLE.strip()}\n```\n\n{one.FIX.strip()}\n"
        )
    return "\n".join(parts)
