"""`taskie status`: where the engines in this project stand. Each engine says it in values; only this prints."""

from __future__ import annotations

import json
import os
import shutil
import sys
from typing import TYPE_CHECKING

from taskie import engines, project, tables
from taskie.engine import Status, Table
from taskie.errors import CommandError
from taskie.hook import report
from taskie.protocol import harmless
from taskie.terminal import say

if TYPE_CHECKING:
    from collections.abc import Sequence

MAIN = "plans"  # always shown, and first; the others where they apply


def main(*, as_json: bool) -> int:
    """Every engine that applies here."""
    cwd = project.here()
    places = project.places(cwd, os.environ)
    applying = [name for name in engines.ENGINES if _applies(name, places)]
    others = [name for name in applying if name != MAIN]
    shown = others if MAIN not in applying and others and not as_json else [MAIN, *others]
    statuses = {name: _status(name, cwd) for name in shown}
    waiting = _waiting(cwd)
    if as_json:
        data = {**statuses.pop(MAIN).data, **{name: s.data for name, s in statuses.items()}}
        say(json.dumps({**data, **({"trust": waiting} if waiting else {})}, indent=2))
    elif not others:
        say("\n".join(_lines(statuses[MAIN].text)))
    else:
        parts = [[name.upper(), *_lines(status.text), ""] for name, status in statuses.items()]
        say("\n".join(line for part in parts for line in part).rstrip())
    if waiting and not as_json:
        say("", project.typeable(f"TRUST: {waiting}. `taskie trust --show` shows it"))
    return 0


def _waiting(cwd: str) -> str | None:
    """What the hook does not run yet; where that cannot be seen, each engine's own status says so."""
    from taskie.trusting import waits

    try:
        return waits(cwd, os.environ)
    except Exception:
        return None


def of_engine(engine: str, *, as_json: bool) -> int:
    """One engine alone."""
    status = engines.load(engine).status(project.here(), os.environ)
    say(json.dumps(status.data, indent=2) if as_json else "\n".join(_lines(status.text)))
    return 0


def _applies(name: str, places: list[str]) -> bool:
    try:
        engine = engines.load(name)
        roots = project.marked(engine.MARKER, places)
        return bool(roots) and engine.detect(roots) is not None
    except Exception:
        return True  # its status says what is wrong


def _status(name: str, cwd: str) -> Status:
    """Where the engine stands, or why that is unknown."""
    try:
        return engines.load(name).status(cwd, os.environ)
    except CommandError as error:
        problem = str(error)
    except Exception as error:
        problem = report(error, os.environ, f"Taskie's engine {name}")
    return Status({"problem": problem}, (problem,))


def _lines(text: Sequence[str | Table]) -> list[str]:
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
    return [
        harmless(line)
        for item in text
        for line in (tables.lines(item, width) if isinstance(item, Table) else [project.typeable(item)])
    ]
