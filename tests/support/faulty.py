"""Processes in which calls of the C library fail: a library that is loaded before it, made with gcc. Knows no test."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).with_name("faulty.c")


class Faulty:
    """Makes the variables of an environment in which calls fail."""

    def __init__(self, library: Path) -> None:
        self._library = library

    def __call__(self, *faults: str) -> dict[str, str]:
        """`faulty("rename=5@/state.json")`: CALL=ERRNO@END-OF-THE-PATH; with #N only the N-th of a process.

        -9 for an error kills the process."""
        return {"LD_PRELOAD": str(self._library), "FAULTS": ",".join(faults)}


def build(directory: Path) -> Faulty:
    """Where it cannot be made, the test is skipped; not in CI, where a skip would hide it."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None or not sys.platform.startswith("linux"):
        why = "needs Linux and a C compiler, to make system calls fail"
        if "CI" in os.environ and sys.platform.startswith("linux"):
            pytest.fail(why)
        pytest.skip(why)
    library = directory / "faulty.so"
    made = subprocess.run(
        [compiler, "-shared", "-fPIC", "-O1", "-w", "-o", str(library), str(SOURCE), "-ldl"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert made.returncode == 0, made.stderr
    return Faulty(library)
