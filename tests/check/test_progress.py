"""What a check shows on a terminal while it runs, and nothing of it elsewhere."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def words(tmp_path: Path) -> list[str]:
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": f"cat >/dev/null; exit {n}"}]} for n in (3, 4)]}
    (tmp_path / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    code = "import sys; from taskie.cli import main; sys.exit(main(sys.argv[1:]))"
    return [sys.executable, "-c", code, "check", str(tmp_path / "hooks.json"), "--rule", "crash"]


def test_on_a_terminal(words: list[str]) -> None:
    ours, theirs = pty.openpty()
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=theirs, text=True, check=False)
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    os.close(ours)
    assert re.search("[01] of 2 hooks checked; Stop cat", shown)  # the first may end before anybody looks
    assert "2 of 2 hooks checked" in shown
    assert shown.endswith("\r\x1b[K"), "it is taken away in the end"
    assert (done.returncode, "\x1b" in done.stdout) == (1, False)


def test_elsewhere(words: list[str]) -> None:
    assert subprocess.run(words, capture_output=True, text=True, check=False).stderr == ""
