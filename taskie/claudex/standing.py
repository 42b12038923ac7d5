"""`taskie claudex status`: where every loop stands, what each round has found, how it ended. Changes nothing."""

from __future__ import annotations

import os
import re
import time
from typing import TYPE_CHECKING, Any

from taskie.claudex import artefacts, state, steps, summary
from taskie.claudex.commands import root_of
from taskie.claudex.counting import SEVERITIES
from taskie.claudex.findings import Findings, numbers
from taskie.claudex.state import Loop
from taskie.claudex.tracking import is_tracked
from taskie.engine import Status, Table
from taskie.protocol import shown

if TYPE_CHECKING:
    from collections.abc import Mapping

_FINDINGS = re.compile(r"findings-round-([1-9][0-9]{0,8})\.md")


def status(cwd: str, env: Mapping[str, str]) -> Status:
    """Every loop here, the newest first, with what each round has found, and how it ended."""
    root = root_of()
    directory = artefacts.directory_of(root)
    loops, problems = state.load_all(directory)
    rows = [_row(loop, root) for loop in loops]
    for row in rows:
        path = state.path_of(directory, row["review_id"])
        if row["active"] and is_tracked(path, env):
            row["active"] = False
            problems.append(f"git tracks {os.path.relpath(path, root)}, so nobody follows this loop")
    text: list[str | Table] = [Table([["LOOP", "MODE", "PHASE", "ROUND", "SIGNAL", "TOPIC"], *map(_cells, rows)])]
    if not rows and not problems:
        text = [f"No loops here ({root}). Start one with `taskie claudex start plan TOPIC`."]
    counts = [_counts(row, findings) for row in rows for findings in row["findings"]]
    if counts:
        text += ["", Table([["LOOP", "FINDINGS OF", *(name.upper() for name in SEVERITIES), ""], *counts])]
    ends = [_end(row) for row in rows if row["outcome"]]
    text += ["", *ends] if ends else []
    text += [f"problem: {shown(problem)}" for problem in problems]
    return Status({"root": root, "loops": rows, "problems": problems}, text)


def _row(loop: Loop, root: str) -> dict[str, Any]:
    ours = steps.belongs(loop, root)
    over = ours and loop.phase in (state.DONE, state.CANCELLED)
    last = artefacts.reviewed(root, loop)
    return {
        "review_id": loop.review_id,
        "mode": loop.mode,
        "phase": loop.phase,
        "active": loop.active and ours,
        "round": loop.round,
        "max_rounds": loop.max_rounds,
        "decision_signal": loop.signal,
        "topic": loop.topic,
        "repo_root": loop.repo_root,
        "findings": [_counted(round_, found) for round_, found in _findings(root, loop)],
        "outcome": summary.head(loop, last) if over else None,
        "seconds": loop.seconds(time.time()) if loop.active or state.ENDED in loop.fields else None,
    }


def _findings(root: str, loop: Loop) -> list[tuple[int, Findings]]:
    """Every file of findings that is there, by its round."""
    try:
        names = os.listdir(os.path.join(artefacts.directory_of(root), loop.review_id))
    except OSError:
        names = []
    matches = [match for match in map(_FINDINGS.fullmatch, names) if match]
    rounds = sorted(int(match[1]) for match in matches) if loop.mode == state.PLAN else [1]
    found = [(round_, artefacts.reviewed(root, loop, round_)) for round_ in rounds]
    return [(round_, each) for round_, each in found if each.there]


def _counted(round_: int, found: Findings) -> dict[str, Any]:
    """`at_least`: the severities of which there may be more than was counted."""
    unsure = [name for name in SEVERITIES if found.cut or name in found.least or "?" in numbers(found)]
    return {"round": round_, "clean": found.clean, **dict(zip(SEVERITIES, found.counts)), "at_least": unsure}


def _end(row: dict[str, Any]) -> str:
    took = "" if row["seconds"] is None else f" ({summary.duration(row['seconds'])})"
    return f"{row['review_id']}: {shown(row['outcome'], 400)}{took}"


def _cells(row: dict[str, Any]) -> list[str]:
    name = row["review_id"] + (" *" if row["active"] else "")
    fields = [row["mode"], row["phase"], f"{row['round']}/{row['max_rounds']}", row["decision_signal"], row["topic"]]
    return [name, *(shown(str(field), 40) or "-" for field in fields)]


def _counts(row: dict[str, Any], findings: dict[str, Any]) -> list[str]:
    unsure = {name: f"at least {findings[name]}" if findings[name] else "?" for name in findings["at_least"]}
    cells = [unsure.get(name, str(findings[name])) for name in SEVERITIES]
    return [row["review_id"], f"round {findings['round']}", *cells, "clean" if findings["clean"] else ""]
