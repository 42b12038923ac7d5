"""What lies in a directory, byte for byte. Knows no test."""

from __future__ import annotations

import stat
from pathlib import Path

SMALL = 1 << 20


def snapshot(root: Path) -> dict[str, str | bytes]:
    """Every file below, by its path: its content, where a link points, or what else it is."""
    return {str(path.relative_to(root)): _content(path) for path in sorted(root.rglob("*"))}


def _content(path: Path) -> str | bytes:
    found = path.lstat()
    if stat.S_ISLNK(found.st_mode):
        return f"link to {path.readlink()}" if hasattr(path, "readlink") else "link"
    if not stat.S_ISREG(found.st_mode):
        return stat.filemode(found.st_mode)
    return path.read_bytes() if found.st_size < SMALL else f"{found.st_size} bytes"


def leftovers(plan: Path) -> list[str]:
    """Files of ours that must not outlive a stop. A failed review's log may."""
    return [
        path.name
        for path in sorted(plan.rglob(".*"))
        if not (path.name.startswith(".review-") and path.name.endswith(".log"))
    ]
