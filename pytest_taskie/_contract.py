"""The contract data: one file for each client and range of versions, in `contract/`. Reads them, and only when asked."""

from __future__ import annotations

import functools
import json
import os
import re
from typing import Any

FOLDER = os.path.join(os.path.dirname(__file__), "contract")


@functools.lru_cache(maxsize=None)
def load(client: str, version: str | None = None) -> dict[str, Any]:
    """The data for a version: of the files that are not newer than it, the newest. None: the newest of all."""
    names = [name for name in os.listdir(FOLDER) if name.startswith(f"{client}-") and name.endswith(".json")]
    ranked = sorted((_numbers(name), name) for name in names)
    fitting = [name for numbers, name in ranked if version is None or numbers <= _numbers(version)]
    if not fitting:
        raise LookupError(f"there is no contract data for {client} {version or ''}".rstrip())
    with open(os.path.join(FOLDER, fitting[-1]), encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
    return found


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))
