"""What lies in a directory, byte for byte. Knows no test."""

from __future__ import annotations

import os
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
    if found.st_size >= SMALL or not os.access(path, os.R_OK):
        return f"{stat.filemode(found.st_mode)} {found.st_size} bytes of {found.st_mtime_ns}"
    return path.read_bytes()


def written(*paths: Path) -> list[tuple[int, ...] | None]:
    """What writing these files would change, even with the same bytes; None where nothing is. Reading changes nothing.

    So not the whole `stat`: it tells when a file was last read, too.
    """
    return [_written(path.lstat()) if os.path.lexists(path) else None for path in paths]


def _written(found: os.stat_result) -> tuple[int, ...]:
    return found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns


def leftovers(plan: Path) -> list[str]:
    """Files of ours that must not outlive a stop. A failed review's log may; so may what is empty, and stuck."""
    return [
        path.name
        for path in sorted(plan.rglob(".*"))
        if not (path.name.startswith(".review-") and (path.suffix == ".log" or path.stat().st_size == 0))
    ]
