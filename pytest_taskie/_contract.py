"""The contract data: one file for each client and range of versions, in `contract/`. Reads them when asked."""

from __future__ import annotations

import functools
import json
import re
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "contract"


@functools.cache
def load(client: str, version: str | None = None) -> dict[str, Any]:
    """The data for a version: of the files that are not newer than it, the newest. None: the newest of all."""
    ranked = sorted((_numbers(path.name), path) for path in FOLDER.glob(f"{client}-*.json"))
    fitting = [path for numbers, path in ranked if version is None or numbers <= _numbers(version)]
    if not fitting:
        raise LookupError(f"there is no contract data for {client} {version or ''}".rstrip())
    found: dict[str, Any] = json.loads(fitting[-1].read_text(encoding="utf-8"))
    return found


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)[:3]))
