"""Rule lost-writes: runs at the same time lose what they write."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace

from pytest_taskie.check._lab import Lab
from pytest_taskie.check._room import Left
from pytest_taskie.check._rules import Flaw, Severity

SEVERITY: Severity = "error"
TITLE = "runs at the same time lose what they write"
WHY = """\
Tools, subagents and sessions run at the same time, and so do their hooks. Whoever reads a file, changes it and writes
it back loses what another one has written in between.
"""
EXAMPLE = """\
log = json.load(open("log.json")); log.append(event); json.dump(log, open("log.json", "w"))
"""
FIX = """\
Append one line per event (O_APPEND), lock the file, or write one file each.
"""
RUNS = True

TIMES, TRIES = 8, 4
SELDOM = ("Setup", "SessionStart", "SessionEnd", "PreCompact", "PostCompact")


def look(lab: Lab) -> Iterator[Flaw]:
    base = next((one for one in lab.ordinary if one.files and one.end.code == 0), None)
    if base is None:
        return
    in_turn = lab.in_turn([base.situation] * (TIMES + 1)).files  # one is alone before the others
    situation = replace(base.situation, times=TIMES)
    for _ in range(TRIES):
        # In turn each has left as much as the one before: then less is not chance.
        lost = fewer(base.files, in_turn, lab.perform(situation, fresh=True).files)
        if lost:
            yield Flaw(lost, situation, "warning" if lab.subject.event in SELDOM else "error")
            return


def fewer(once: Mapping[str, Left], in_turn: Mapping[str, Left], at_once: Mapping[str, Left]) -> str | None:
    """A file in which each run leaves as much as the one before, and runs at once leave less."""
    for name, left in in_turn.items():
        first, expected = entries(once[name].text) if name in once else None, entries(left.text)
        if first is None or expected is None or name not in at_once:
            continue
        if expected <= first or (expected - first) % TIMES:
            continue
        found = entries(at_once[name].text)
        if found is None and left.text and left.text.lstrip()[:1] in "[{":
            return f"{TIMES} at once leave {name} spoiled"
        if found is not None and found < expected:
            return f"of {TIMES} at once {name} keeps {found} entries; one after the other leave {expected}"
    return None


def entries(text: str | None) -> int | None:
    """How much is in a file: elements, a number, lines."""
    if not text or not text.strip():
        return None
    try:
        value = json.loads(text)
    except ValueError:
        return None if text.lstrip()[:1] == "[" else text.count("\n")
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, dict):
        inside = (len(one) if isinstance(one, list) else one for one in value.values() if type(one) in (list, int))
        return max(inside, default=None)
    return len(value) if isinstance(value, list) else None
