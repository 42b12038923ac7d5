"""When the hook's process started: never too early, and a time also where nobody says so."""

from __future__ import annotations

import io
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support import ROOT

from taskie import hook

# Says when it reached the hook's first line, after a moment that only it has lived through.
SCRIPT = """
import sys, time
sys.path.insert(0, sys.argv[1])
from taskie.hook import process_start
sys.stdin.read()
reached = time.time_ns()
print(min(process_start() for _ in range(5)), reached)  # a pause inside it would make it later
"""


def test_it_is_before_the_first_line(tmp_path: Path) -> None:
    """The process waits for its stdin; what is written meanwhile is written after its start."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("no /proc here")
    before = time.time_ns()
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", SCRIPT, str(ROOT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    deadline = time.monotonic() + 0.05
    while time.monotonic() < deadline:
        pass  # longer than one tick of the kernel's clock
    (tmp_path / "written").touch()
    started, reached = map(int, process.communicate(timeout=30)[0].split())
    assert before <= started < (tmp_path / "written").stat().st_mtime_ns
    assert started < reached


@pytest.mark.parametrize(
    "content", [None, b"", b"1 (x) S", b"1 (x) S " + b"0 " * 40, b"1 (x) S " + b"9" * 30 + b" " * 20]
)
def test_where_nobody_says_so_it_is_now(content: bytes | None, monkeypatch: pytest.MonkeyPatch) -> None:
    def opened(*_: Any, **__: Any) -> Any:
        if content is None:
            raise FileNotFoundError
        return io.BytesIO(content)

    monkeypatch.setattr(hook, "open", opened, raising=False)
    before = time.time_ns()
    assert before <= hook.process_start() <= time.time_ns()


def test_an_old_process_is_not_a_hook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook, "LONGEST_START", 0.0)
    before = time.time_ns()
    assert before <= hook.process_start() <= time.time_ns()
