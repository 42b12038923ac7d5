"""`taskie gauntlet …`: what a person reads, and exit codes that tell the truth."""

from __future__ import annotations

import json
import os
import pty
import subprocess
from pathlib import Path

import pytest

from pytest_taskie import Project
from taskie import cli

from .gates import TASKIE, Gauntlet

RUNS = ("stop-hook", "run", "check", "review")
VERBS = (*RUNS, "clean", "skip", "unskip", "init", "validate", "detect", "list", "status")


@pytest.mark.parametrize("verb", VERBS)
def test_help(verb: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["gauntlet", verb, "--help"])
    assert ended.value.code == 0
    assert len(capsys.readouterr().out) > 100


@pytest.mark.parametrize("words", [[], ["nonsense"], ["run", "lint"], ["stop-hook", "--what"]])
def test_wrong_usage(words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        cli.main(["gauntlet", *words])
    assert ended.value.code == 2


class TestRun:
    def test_passed(self, passing: Gauntlet) -> None:
        done = passing.process_run("run")
        assert done.returncode == 0
        assert "[PASS] check lint" in done.stdout
        assert "Status: Passed\n" in done.stdout
        assert str(passing.logs / "previous" / "console.1.log") in done.stdout

    def test_failed(self, failing: Gauntlet) -> None:
        failing.check("other", "true")
        done = failing.process_run("run")
        assert done.returncode == 1
        assert "Status: Failed\n" in done.stdout
        table = [line.split()[:2] for line in done.stdout.splitlines() if line.startswith(("PASS", "FAIL"))]
        assert sorted(table) == [["FAIL", "check:.:lint"], ["PASS", "check:.:other"]]

    def test_nothing_to_do(self, gauntlet: Gauntlet) -> None:
        gauntlet.settle()
        assert gauntlet.run().exit_code == 0

    def test_no_project(self, gauntlet: Gauntlet, tmp_path: Path) -> None:
        done = gauntlet.run(cwd=tmp_path)
        assert done.exit_code == 1
        assert "taskie gauntlet init" in done.stderr

    def test_invalid(self, gauntlet: Gauntlet) -> None:
        gauntlet.write(".gauntlet/config.yml", "max_retries: x\n")
        done = gauntlet.run()
        assert done.exit_code == 1
        assert "config.yml:1" in done.stderr

    def test_it_runs_although_it_has_passed(self, gauntlet: Gauntlet, tmp_path: Path) -> None:
        gauntlet.check("count", f"echo x >> {tmp_path}/runs")
        for _ in range(2):
            assert gauntlet.run().exit_code == 0
        assert (tmp_path / "runs").read_text() == "x\nx\n"

    def test_the_limit(self, failing: Gauntlet) -> None:
        failing.configure(max_retries=0)
        done = failing.run()
        assert done.exit_code == 1
        assert "Retry limit" not in done.stdout, "a run by hand costs nothing"
        failing.write("bad", "other")
        assert failing.stop().json["status"] == "retry_limit_exceeded"
        done = failing.run()
        assert done.exit_code == 1
        assert "Retry limit exceeded" in done.stdout
        assert "taskie gauntlet clean" in done.stdout
        assert "console.3.log" in failing.files(), "whoever asks for a run gets one"
        assert failing.run("clean").exit_code == 0
        failing.write("bad", "third")
        assert failing.stop().json["status"] == "retry_limit_exceeded"
        assert "console.1.log" in failing.files()

    def test_after_clean_there_are_as_many_tries_as_before(self, failing: Gauntlet) -> None:
        failing.configure(max_retries=2)
        told = []
        for text in ("one", "two", "three"):
            failing.write("bad", text)
            told.append(failing.stop().json["status"])
        assert told[0] == "failed"
        assert told[-1] == "retry_limit_exceeded"
        assert "Runs left before the retry limit: 0\n" in failing.run("status").stdout
        assert failing.run("clean").exit_code == 0
        assert "Runs left before the retry limit: 3\n" in failing.run("status").stdout
        failing.write("bad", "four")
        assert failing.stop().json["status"] == "failed"

    def test_progress_on_a_terminal(self, gauntlet: Gauntlet, project: Project) -> None:
        gauntlet.check("slow", "true")
        main, side = pty.openpty()
        words = [*TASKIE, "gauntlet", "run"]
        env = {**project.env, **gauntlet.env}
        done = subprocess.run(words, cwd=gauntlet.path, env=env, stdout=side, stderr=side, check=True, timeout=60)
        os.close(side)
        shown = b""
        try:
            while chunk := os.read(main, 65536):
                shown += chunk
        except OSError:
            pass  # the other side is closed
        os.close(main)
        assert done.returncode == 0
        assert b"s: check slow" in shown


def test_list_and_detect(gauntlet: Gauntlet) -> None:
    gauntlet.check("lint", "true")
    gauntlet.write(".gauntlet/checks/other.yml", "command: 'true'\n")
    listed = gauntlet.run("list").stdout
    assert "check   lint" in listed
    assert "unused: other" in listed
    assert "check:.:lint" in gauntlet.run("detect").stdout
    gauntlet.settle()
    assert "No applicable gates" in gauntlet.run("detect").stdout


def test_status(failing: Gauntlet) -> None:
    assert "No run is recorded" in failing.run("status").stdout
    failing.stop()
    told = failing.run("status").stdout
    assert "failing: check:.:lint" in told
    assert "Runs left before the retry limit: 3" in told
    found = json.loads(failing.run("status", "--json").stdout)
    assert (found["status"], found["open"], found["running"]) == ("failed", ["check:.:lint"], False)


@pytest.mark.parametrize("kind", ["check", "review"])
def test_one_that_no_entry_uses(kind: str, gauntlet: Gauntlet) -> None:
    """It is for no file, so there is nothing to run; success would be a lie."""
    gauntlet.write(".gauntlet/checks/spare.yml", "command: 'true'\n")
    gauntlet.write(".gauntlet/reviews/spare.md", "Look.\n")
    done = gauntlet.run(kind, "spare")
    assert done.exit_code == 2
    assert "no entry point of .gauntlet/config.yml uses 'spare'" in done.stderr
