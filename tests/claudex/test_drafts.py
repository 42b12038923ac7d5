"""A PLAN.md that is older than the loop: it is asked about, and reviewed only if somebody says so."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path

import pytest

from claudex.conftest import APPROVE, Claudex
from pytest_taskie import assert_blocked

OLD = "# The plan of something else\n"


def test_start_asks_about_it(claudex: Claudex) -> None:
    claudex.write_plan(OLD)
    done = claudex.run("start", "plan", "a greeting")
    assert done.returncode == 0
    assert "PLAN.md is there already, from before this loop" in done.stdout
    assert "claudex continue --from-draft" in done.stdout


class TestUnchanged:
    @pytest.fixture(autouse=True)
    def started(self, claudex: Claudex) -> None:
        claudex.write_plan(OLD)
        claudex.start("a greeting")

    def test_it_is_not_reviewed(self, claudex: Claudex) -> None:
        assert_blocked(claudex.client_stop(), r"(?s)PLAN\.md is older than this loop.*a greeting.*ask the user")
        assert claudex.says("phase") == ("drafting",)
        assert not claudex.runner().exists()

    def test_nor_for_a_script(self, claudex: Claudex) -> None:
        assert_blocked(claudex.process_stop(), "is older than this loop")

    def test_within_a_turn_it_asks_once(self, claudex: Claudex) -> None:
        message = claudex.told(active=True)
        assert "PLAN.md is older than the loop, which waits for a new one" in message
        assert "claudex continue --from-draft` takes it as it is" in message

    def test_its_time_alone_does_not_make_it_new(self, claudex: Claudex) -> None:
        os.utime(claudex.root / "PLAN.md")
        assert_blocked(claudex.client_stop(), "is older than this loop")

    def test_the_same_text_in_a_new_file_is_the_same_plan(self, claudex: Claudex) -> None:
        (claudex.root / "PLAN.md").unlink()
        assert_blocked(claudex.client_stop(), "PLAN.md is not written yet")
        claudex.write_plan(OLD)
        assert_blocked(claudex.client_stop(), "is older than this loop")

    @pytest.mark.parametrize("text", [OLD + "\nrevised\n", "# Another plan\n", OLD.upper()])
    def test_once_it_has_changed_it_is_reviewed(self, claudex: Claudex, text: str) -> None:
        claudex.write_plan(text)
        assert_blocked(claudex.client_stop(), "round 1 of 3")

    def test_the_command_in_the_block_takes_it(self, claudex: Claudex) -> None:
        below = claudex.root / "src"
        below.mkdir()
        reason = claudex.client_stop(cwd=below).reason or ""
        command = shlex.split(reason.split("```sh\n")[1].split("\n```")[0])
        done = subprocess.run(command, cwd="/", env=claudex.project.env, capture_output=True, check=False, timeout=30)
        assert done.returncode == 0, done.stderr
        assert_blocked(claudex.client_stop(), "round 1 of 3")

    def test_later_rounds_do_not_ask(self, claudex: Claudex) -> None:
        claudex.run("continue", "--from-draft")
        assert_blocked(claudex.client_stop(), "round 1 of 3")
        claudex.write_plan(OLD)
        claudex.write_findings(1)
        assert_blocked(claudex.client_stop(active=True), "round 2 of 3")


class TestFromDraft:
    def test_it_takes_what_is_there(self, claudex: Claudex) -> None:
        claudex.write_plan(OLD)
        claudex.start("a greeting", "--from-draft")
        assert "old_plan" not in claudex.state
        assert_blocked(claudex.client_stop(), "round 1 of 3")

    @pytest.mark.parametrize("kind", ["missing", "blank", "directory", "FIFO"])
    def test_nothing_is_there(self, claudex: Claudex, kind: str) -> None:
        path = claudex.root / "PLAN.md"
        if kind == "blank":
            path.write_text(" \n")
        elif kind == "directory":
            path.mkdir()
        elif kind == "FIFO":
            os.mkfifo(path)
        done = claudex.run("start", "plan", "x", "--from-draft")
        assert done.returncode == 2
        assert "there is no PLAN.md" in done.stderr
        assert not (claudex.root / ".claude").exists()


class TestNotOlder:
    def test_a_plan_written_after_the_start(self, claudex: Claudex) -> None:
        """As the design's smoke test does."""
        claudex.start()
        assert "old_plan" not in claudex.state
        claudex.write_plan()
        assert_blocked(claudex.process_stop(), "round 1 of 3")

    def test_a_blank_one_is_none(self, claudex: Claudex) -> None:
        claudex.write_plan("\n")
        claudex.start()
        assert_blocked(claudex.client_stop(), "is not written yet")
        claudex.write_plan()
        assert_blocked(claudex.client_stop(), "round 1 of 3")

    def test_a_review_of_the_diff_has_nothing_to_do_with_it(self, claudex: Claudex) -> None:
        claudex.write_plan(OLD)
        claudex.start_review()
        assert_blocked(claudex.client_stop(), "review starting")

    def test_a_linked_plan(self, claudex: Claudex, tmp_path: Path) -> None:
        (tmp_path / "plan").write_text(OLD)
        (claudex.root / "PLAN.md").symlink_to(tmp_path / "plan")
        claudex.start()
        assert_blocked(claudex.client_stop(), "is older than this loop")
        (tmp_path / "plan").write_text("# New\n")
        assert_blocked(claudex.client_stop(), "round 1 of 3")

    def test_a_large_one(self, claudex: Claudex) -> None:
        claudex.write_plan("x" * (9 << 20))
        claudex.start()
        assert_blocked(claudex.client_stop(), "is older than this loop")
        claudex.write_plan("x" * (9 << 20) + "y")
        assert_blocked(claudex.client_stop(), "round 1 of 3")

    def test_a_state_with_garbage_in_that_field(self, claudex: Claudex) -> None:
        claudex.write_state(old_plan="garbage")
        claudex.write_plan()
        assert_blocked(claudex.client_stop(), "round 1 of 3")
        assert claudex.client_stop(active=True).json == APPROVE
