"""Put back what only our commands may change, and something else has changed: the state, and the regression tests."""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING

from taskie.autopilot import MARKER, changes
from taskie.autopilot import state as states
from taskie.git import Git
from taskie.protocol import shown
from taskie.store import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from taskie.autopilot.state import State


def restore(root: str, env: Mapping[str, str]) -> list[str]:
    """What was put back, a line each."""
    done = [f"{MARKER} is as `taskie autopilot` last wrote it."] if states.restore(root) else []
    state = states.need(root)
    tree = changes.look(root, env, state["spec_path"])
    for path, what in state["loop"]["guarded"].items():
        if tree is not None and tree.files.get(path) != what:
            done.append(_put_back(root, path, str(what), state, env))
    return done or ["Everything is as it should be."]


def _put_back(root: str, path: str, what: str, state: State, env: Mapping[str, str]) -> str:
    mode, _, content = what.partition(" ")
    text = state["loop"]["captured"].get(path)
    git = Git(root, env, time.monotonic() + changes.SECONDS)
    data = text.encode("utf-8", "replace") if isinstance(text, str) else None
    if data is None:
        code, found, _ = git.attempt(["cat-file", "blob", content])
        data = None if code else found
    if data is None:
        return f"{shown(path)} was never committed, so it cannot be put back here."
    whole = os.path.join(root, path)
    if os.path.islink(whole):
        os.unlink(whole)
    os.makedirs(os.path.dirname(whole), exist_ok=True)
    replace(whole, data)
    os.chmod(whole, 0o755 if mode == "100755" else 0o644)
    return f"{shown(path)} is as it was."
