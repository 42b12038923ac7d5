"""Which tests are those of a package. Runs nothing."""

from __future__ import annotations

import functools
from pathlib import Path

# The tests of each package: its own folder first, then those that drive it from outside.
PACKAGES: dict[str, tuple[str, ...]] = {
    "taskie/plans": ("tests/plans", "tests/cli", "tests/faults", "tests/acceptance"),
    "taskie/gauntlet": ("tests/gauntlet", "tests/docs/test_gauntlet.py"),
    "taskie/claudex": ("tests/claudex", "tests/docs/test_claudex.py"),
    "taskie/autopilot": ("tests/autopilot", "tests/docs/test_autopilot.py"),
    "taskie/setup": ("tests/setup", "tests/gauntlet/test_init.py", "tests/faults/test_no_locks.py"),
    "taskie/report": ("tests/report",),
    "taskie": (
        *("tests/core", "tests/hook", "tests/cli", "tests/trust", "tests/faults"),
        *(
            "tests/gauntlet/test_repository.py",
            "tests/gauntlet/test_decisions.py",
            "tests/docs/test_own_hook.py",
            "tests/docs/test_test_results.py",
        ),
        *("tests/plans/test_large_tables.py", "tests/autopilot/test_worktree.py", "tests/autopilot/test_unreported.py"),
    ),
    "pytest_taskie": (
        *("tests/harness", "tests/check", "tests/docs/test_judging.py", "tests/docs/test_test_results.py"),
        "tests/autopilot/test_recording.py",
    ),
}


def package(path: str) -> str:
    return next(name for name in sorted(PACKAGES, key=len, reverse=True) if path.startswith(f"{name}/"))


def files_of(*paths: str, root: Path) -> list[str]:
    """Every test file of the packages of these modules, once."""
    return list(dict.fromkeys(name for path in paths for name in _files(package(path), root)))


@functools.cache
def _files(name: str, root: Path) -> list[str]:
    places = [root / place for place in PACKAGES[name]]
    found = [file for place in places for file in (sorted(place.rglob("test_*.py")) if place.is_dir() else [place])]
    return [str(file.relative_to(root)) for file in found]


def support_of(root: Path) -> list[Path]:
    """What the tests are made of beside themselves."""
    return sorted(file for file in (root / "tests").rglob("*.py") if not file.name.startswith("test_"))
