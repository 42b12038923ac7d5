"""in_process: the same script for code that calls `subprocess` itself, through pytest-subprocess."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from pytest_taskie import FakeCli, Fakes, Plan, Project

pytest.importorskip("pytest_subprocess")

ARGUMENTS = ["claude", "--model", "opus", "--output-format", "json", "--json-schema", "{}", "-p"]
PROMPT = "Write your review to .taskie/plans/test-plan/plan-review-1.md."


def test_the_same_answers_and_the_same_notes(fake_claude: FakeCli, project: Project, plan: Plan) -> None:
    fake_claude.reviews("FAIL", "PASS").exits(0, 2).in_process()
    done = [
        subprocess.run(
            [*ARGUMENTS, PROMPT], cwd=project.path, env={"A": "b"}, capture_output=True, text=text, check=False
        )
        for text in (True, False)
    ]
    assert [json.loads(run.stdout)["structured_output"]["verdict"] for run in done] == ["FAIL", "PASS"]
    assert [run.returncode for run in done] == [0, 2]
    assert done[1].stderr == b"claude: ends with 2, as scripted\n"
    assert (plan.path / "plan-review-1.md").exists()
    first, _ = fake_claude.calls
    assert (first.model, first.prompt, first.cwd, dict(first.env)) == ("opus", PROMPT, project.path, {"A": "b"})


def test_output_into_a_file_or_a_descriptor(fake_claude: FakeCli, tmp_path: Path) -> None:
    fake_claude.says("Hello.").repeats().in_process()
    with (tmp_path / "out").open("wb") as out:
        subprocess.run(["/usr/bin/claude", "-p", "x"], stdout=out, check=True)
        subprocess.run(["claude", "-p", "x"], stdout=out.fileno(), check=True)
        subprocess.run(["claude", "-p", "x"], stdout=subprocess.DEVNULL, check=True)
    assert (tmp_path / "out").read_text() == "Hello.\nHello.\n"


def test_only_the_fixtures_can(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="fixtures fake_claude, fake_codex and fake_cli only"):
        FakeCli("claude", tmp_path, {}).in_process()


def test_what_needs_a_process_has_no_effect(fake_cli: Fakes) -> None:
    curl = fake_cli("curl", reads_stdin=True).answers(..., runs="echo ran; exit 3").in_process()
    done = subprocess.run(["curl", "-d", "@-"], input="posted", capture_output=True, text=True, check=True)
    assert (done.stdout, curl.calls[0].stdin) == ("", "")
