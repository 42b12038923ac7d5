"""A machine without a browser: the tests that need one are skipped and say so, unless they must run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import ROOT

TEST = "tests/report/test_in_browser.py::test_every_section_is_a_click_away"


@pytest.mark.parametrize(
    ("options", "outcome", "code"), [([], "SKIPPED", 0), (["--require-browser"], "ERROR", 1)], ids=["may", "must"]
)
def test_without_a_browser(tmp_path: Path, options: list[str], outcome: str, code: int) -> None:
    env = {**os.environ, "PATH": str(tmp_path)}
    command = [sys.executable, "-m", "pytest", "-rsE", "-p", "no:cacheprovider", *options, TEST]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stdout
    assert outcome in done.stdout
    assert "install Debian's packages chromium and chromium-driver" in done.stdout
    assert ("--require-browser is given" in done.stdout) is bool(options)
