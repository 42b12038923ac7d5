"""`regression`: one new file below tests/regression, run once, kept if it passes; nothing else is touched."""

from __future__ import annotations

import errno
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from core.living import wait_until_gone
from faults.snapshot import snapshot
from support.faulty import Faulty

from autopilot.conftest import TASKIE, Autopilot

FILE = "tests/regression/test_bug.py"
GREEN = "def test_bug():\n    assert 1 + 1 == 2\n\n\ndef test_other():\n    assert False\n"
RED = "def test_bug():\n    assert 1 + 1 == 3\n"


def due(autopilot: Autopilot, **changes: Any) -> Autopilot:
    """At the step `regression`, with this test proposed."""
    autopilot.project.env.pop("PYTHONDONTWRITEBYTECODE", None)
    autopilot.project.env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"  # they take as long as pytest itself
    autopilot.begin("first")
    autopilot.go_to("tester")
    autopilot.advance("tester", "failed")
    proposed = {"test_file": FILE, "test_code": GREEN, "test_name": "test_bug", **changes}
    autopilot.advance("debugger", regression=proposed)
    autopilot.advance("coder", files_changed=[])
    assert autopilot.advance("tester", "passed")["next"] == "regression"
    return autopilot


def capture(autopilot: Autopilot, *words: str) -> dict[str, Any]:
    return dict(json.loads(autopilot.do("regression", *words)))


def tree(autopilot: Autopilot) -> set[str]:
    """Every file but the loop's own and git's."""
    own = ("autopilot-state.json", "ai/", ".git/", ".git")
    return {name for name in snapshot(autopilot.root) if not name.startswith(own) and name != "ai"}


def test_green_is_kept(autopilot: Autopilot) -> None:
    before = tree(due(autopilot))
    assert capture(autopilot)["next"] == "pre_check_code"
    assert (autopilot.root / FILE).read_text() == GREEN
    assert new_files(autopilot, before) == {FILE}
    assert autopilot.state["files_changed"] == ["src/app.py", FILE]
    assert f"regression test {FILE} is kept" in autopilot.log[-1]


def test_red_is_removed_and_the_loop_goes_on(autopilot: Autopilot) -> None:
    before = tree(due(autopilot, test_code=RED))
    done = autopilot.run("regression")
    assert json.loads(done.stdout)["next"] == "pre_check_code"
    assert "FAIL: 1 failure(s)" in done.stderr
    assert tree(autopilot) == before
    assert autopilot.state["files_changed"] == ["src/app.py"]
    assert f"regression test {FILE} failed, so it was removed again" in autopilot.log[-1]


@pytest.mark.parametrize("code", [0, 1])
def test_one_that_removes_its_own_file(autopilot: Autopilot, code: int) -> None:
    """Then there is nothing to keep, whatever it says."""
    before = tree(due(autopilot))
    assert capture(autopilot, "--", "sh", "-c", f"rm {FILE}; exit {code}")["next"] == "pre_check_code"
    assert tree(autopilot) == before
    assert autopilot.state["files_changed"] == ["src/app.py"]
    assert "changed its own file, so it was removed again" in autopilot.log[-1]


def test_without_a_name_the_whole_file_is_run(autopilot: Autopilot) -> None:
    due(autopilot, test_name=None)
    capture(autopilot)
    assert not (autopilot.root / FILE).exists(), "its other test fails"


@pytest.mark.parametrize("code", ["def test_bug(:\n", "", "x = 1\n"])
def test_what_is_not_a_test_is_red(autopilot: Autopilot, code: str) -> None:
    due(autopilot, test_code=code or "\n", test_name=None)
    assert capture(autopilot)["next"] == "pre_check_code"
    assert not (autopilot.root / FILE).exists()


@pytest.mark.parametrize(
    "path",
    ["tests/test_bug.py", "tests/regression", "tests/regression/", "tests/regression/../test_bug.py", "/test_bug.py",
     "../tests/regression/test_bug.py", "tests/regressions/test_bug.py", "link/test_bug.py", "src/app.py",
     "tests/regression/out/test_bug.py"],
)  # fmt: skip
def test_a_path_that_leads_elsewhere(autopilot: Autopilot, tmp_path: Path, path: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (autopilot.root / "link").symlink_to(outside)
    (autopilot.root / "tests" / "regression").mkdir(parents=True)
    (autopilot.root / "tests" / "regression" / "out").symlink_to(outside)
    autopilot.project.git("add", "-A")
    autopilot.project.git("commit", "-q", "-m", "Links")
    before = tree(due(autopilot, test_file=path))
    said = autopilot.fails("regression")
    assert "is not below tests/regression/" in said
    assert tree(autopilot) == before
    assert list(outside.iterdir()) == []
    assert autopilot.advance("regression")["next"] == "pre_check_code", "the way out that it names"


@pytest.mark.parametrize("content", ["mine = 1\n", "", GREEN])
def test_one_that_is_there_is_never_changed(autopilot: Autopilot, content: str) -> None:
    autopilot.write(FILE, content)
    due(autopilot)
    assert "already exists and cannot be changed" in autopilot.fails("regression")
    assert (autopilot.root / FILE).read_text() == content


def test_one_that_somebody_has_changed_since_a_process_ended(autopilot: Autopilot) -> None:
    due(autopilot)
    autopilot.change(loop={**autopilot.state["loop"], "attempt": {"file": FILE}})
    autopilot.write(FILE, "mine = 1\n")
    assert "already exists and cannot be changed" in autopilot.fails("regression")


def test_none_was_proposed(autopilot: Autopilot) -> None:
    due(autopilot).change(loop={**autopilot.state["loop"], "regression": None})
    assert "no regression test was proposed" in autopilot.fails("regression")


def test_one_that_cannot_be_written(autopilot: Autopilot) -> None:
    before = tree(due(autopilot, test_file=f"tests/regression/new/test_{'x' * 300}.py"))
    assert "cannot be written (File name too long)" in autopilot.fails("regression")
    assert tree(autopilot) == before


TEMPORARY = "/.test_bug.py.new"


def new_files(autopilot: Autopilot, before: set[str]) -> set[str]:
    return {name for name in tree(autopilot) - before if (autopilot.root / name).is_file()}


@pytest.mark.parametrize("call", ["create", "write", "fsync"])
def test_a_disk_that_fails_and_lets_nothing_be_removed(autopilot: Autopilot, faulty: Faulty, call: str) -> None:
    """No part of the test stands under its name; what stands beside it, the next attempt takes over."""
    before = tree(due(autopilot))
    ends = ("/test_bug.py", TEMPORARY)
    faults = faulty(*(f"{each}={errno.EIO}@{end}" for each in (call, "unlink") for end in ends))
    done = process(autopilot, faults)
    assert done.returncode == 1
    assert "test_bug.py cannot be written (Input/output error). Nothing was written" in done.stderr
    assert not (autopilot.root / FILE).exists()
    capture(autopilot, "--", "true")
    assert new_files(autopilot, before) == {FILE}


def test_a_disk_that_fails_once_when_all_is_written(autopilot: Autopilot, faulty: Faulty) -> None:
    before = tree(due(autopilot))
    assert process(autopilot, faulty(f"unlink={errno.EIO}@{TEMPORARY}#1")).returncode == 0
    assert new_files(autopilot, before) == {FILE}


def process(autopilot: Autopilot, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    command = [*TASKIE, "regression", "--", "true"]
    env = {**autopilot.project.env, **env}
    return subprocess.run(command, cwd=autopilot.root, env=env, capture_output=True, text=True, check=False)


def test_one_that_comes_while_ours_is_written(autopilot: Autopilot, monkeypatch: pytest.MonkeyPatch) -> None:
    before, link = tree(due(autopilot)), os.link

    def come(*paths: str) -> None:
        autopilot.write(FILE, "mine = 1\n")
        link(*paths)

    monkeypatch.setattr(os, "link", come)
    assert "test_bug.py cannot be written (File exists)" in autopilot.fails("regression")
    assert (autopilot.root / FILE).read_text() == "mine = 1\n"
    assert new_files(autopilot, before) == {FILE}


def test_on_a_disk_where_a_file_has_one_name(autopilot: Autopilot, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    before = tree(due(autopilot))
    monkeypatch.setattr(os, "link", refused)
    capture(autopilot, "--", "true")
    assert (autopilot.root / FILE).read_text() == GREEN
    assert new_files(autopilot, before) == {FILE}


def test_one_that_removes_itself(autopilot: Autopilot) -> None:
    before = tree(
        due(autopilot, test_code="import os\n\n\ndef test_bug():\n    os.unlink(__file__)\n    assert False\n")
    )
    assert capture(autopilot)["next"] == "pre_check_code"
    assert tree(autopilot) == before


@pytest.mark.parametrize("there", [False, True])
def test_which_pytest(autopilot: Autopilot, tmp_path: Path, there: bool) -> None:
    """The project's own, from PATH, and only without one ours."""
    program = tmp_path / "bin" / "pytest"
    program.parent.mkdir()
    if there:
        program.write_text("#!/bin/sh\nexit 0\n")
        program.chmod(0o755)
    due(autopilot, test_code=RED if there else GREEN)
    git = shutil.which("git")
    assert git
    (program.parent / "git").symlink_to(git)
    autopilot.do("regression", env={"PATH": str(program.parent)})
    assert (autopilot.root / FILE).exists()


def test_another_command(autopilot: Autopilot) -> None:
    due(autopilot, test_file="tests/regression/bug.test.js", test_code="ok")
    capture(autopilot, "--", "grep", "-q", "ok", "tests/regression/bug.test.js")
    assert autopilot.state["files_changed"] == ["src/app.py", "tests/regression/bug.test.js"]
    assert (autopilot.root / "tests/regression/bug.test.js").read_text() == "ok\n"


def test_a_command_that_is_not_there(autopilot: Autopilot) -> None:
    before = tree(due(autopilot))
    capture(autopilot, "--", "no-such-program")
    assert tree(autopilot) == before


def test_at_another_step(autopilot: Autopilot) -> None:
    autopilot.begin("first")
    assert "the step at hand is coder" in autopilot.fails("regression")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_process_that_ends_in_the_middle(autopilot: Autopilot, number: signal.Signals) -> None:
    """What it has left is its own: the next one begins again."""
    before = tree(due(autopilot, test_code="def test_bug():\n    pass\n"))
    started = autopilot.root / "ai" / "started"
    command = ["sh", "-c", f"echo $$ > '{started}.part'; mv '{started}.part' '{started}'; exec sleep 600"]
    process = subprocess.Popen([*TASKIE, "regression", "--", *command], cwd=autopilot.root, env=autopilot.project.env)
    until = time.monotonic() + 30
    while not started.exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    process.send_signal(number)
    assert process.wait(30) == -number
    if number == signal.SIGTERM:
        assert tree(autopilot) == before
    assert autopilot.state["step"] == "regression"
    assert capture(autopilot, "--", "true")["next"] == "pre_check_code"
    assert (autopilot.root / FILE).read_text() == "def test_bug():\n    pass\n"
    wait_until_gone(int(started.read_text()))
