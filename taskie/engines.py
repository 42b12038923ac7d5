"""The registry: which engines there are, in the order in which the hook asks them. Knows their names only.

A new engine is a package that keeps the contract in `taskie.engine`, and a line or two here; `make generate` brings its
marker and its events into `hooks/`. Cheap, deterministic engines come first: the first block ends the search.
"""

from __future__ import annotations

import os

from taskie.store import mode_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from taskie.engine import Engine

ENGINES = {
    "autopilot": "taskie.autopilot",
    "gauntlet": "taskie.gauntlet",
    "claudex": "taskie.claudex",
    "plans": "taskie.plans",
}
# What each keeps in a project, no matter whether it can be loaded: no change that another one looks at.
FILES = {
    "autopilot": ("autopilot-state.json", "ai/.test-output"),
    "gauntlet": ("gauntlet_logs",),
    "claudex": (".claude/claudex",),
    "plans": (".taskie",),
}


def load(name: str) -> Engine:
    """The engine's package. Whatever its import raises is the caller's to report."""
    module: Engine = __import__(ENGINES[name], fromlist=["MARKER"])
    if not hasattr(module, "EVENTS"):  # a folder whose files the disk did not show: Python takes it empty
        raise ImportError(f"{ENGINES[name]} cannot be read")
    return module


def events() -> dict[str, str]:
    """Every event that an engine takes, sorted, with the matchers of all who take it; "" matches everything."""
    matchers: dict[str, list[str]] = {}
    for name in ENGINES:
        for event, matcher in load(name).EVENTS.items():
            matchers.setdefault(event, []).append(matcher)
    return {
        event: "|".join(dict.fromkeys(matchers[event])) if all(matchers[event]) else "" for event in sorted(matchers)
    }


def markers(event: str) -> list[str]:
    """The markers and traces of the engines that take an event."""
    return [path for name in ENGINES if event in load(name).EVENTS for path in (load(name).MARKER, *load(name).TRACES)]


def is_used(engine: Engine, directory: str) -> bool:
    """Whether an engine is used in a directory, or was. DiskError where the disk does not say."""
    return any(mode_of(os.path.join(directory, path)) for path in (engine.MARKER, *engine.TRACES))


def files() -> tuple[str, ...]:
    """What the engines keep in a project for themselves: bookkeeping, and nobody's work."""
    return tuple(path for kept in FILES.values() for path in kept)


def switch(event: str) -> str:
    """The option with which `hooks/stop-hook.sh` is called for an event: `--pre-tool-use`; for Stop `--fail-open`."""
    return "--fail-open" if event == "Stop" else "-" + "".join(f"-{c.lower()}" if c.isupper() else c for c in event)


def event(argv: Sequence[str]) -> str:
    """The event that a hook's options name; Stop if none does."""
    named = next((word for word in argv if word.startswith("--") and word != "--fail-open"), "--stop")
    return "".join(part.capitalize() for part in named.split("-"))
