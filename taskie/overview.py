"""`taskie status`: where every engine in this project stands. What each says is its own."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os

from taskie import project, stop
from taskie.errors import CommandError
from taskie.plans import commands as plans

PLANS = "taskie.plans"


def main(*, as_json: bool) -> int:
    """The plans first, then every other engine that applies here."""
    where = project.places(os.getcwd(), os.environ)
    others = [name for name in stop.ENGINES if name != PLANS and importlib.import_module(name).detect(where)]
    if as_json:
        told = json.loads(_said(PLANS, as_json=True))
        print(
            json.dumps({**told, **{_title(name): json.loads(_said(name, as_json=True)) for name in others}}, indent=2)
        )
        return 0
    if not others:
        return plans.status(as_json=False)
    shown = [*([PLANS] if importlib.import_module(PLANS).detect(where) else []), *others]
    print("\n".join(f"{_title(name).upper()}\n{_said(name, as_json=False)}" for name in shown), end="")
    return 0


def _title(engine: str) -> str:
    return engine.rpartition(".")[2]


def _said(engine: str, *, as_json: bool) -> str:
    """What the engine's own status command prints; what it cannot say, it says why."""
    output = io.StringIO()
    try:
        with contextlib.redirect_stdout(output):
            importlib.import_module(f"{engine}.commands").status(as_json=as_json)
    except CommandError as error:
        return json.dumps({"problem": str(error)}) if as_json else f"{error}\n"
    return output.getvalue()
