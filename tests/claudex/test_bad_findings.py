"""Findings that are wrong in every way: nothing hangs, nothing outside is read, and the person hears what is known."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from claudex.conftest import Claudex
from pytest_taskie import assert_blocked
from taskie.claudex import findings
from taskie.store import StoreError

CLEAN = "No substantive findings.\n"
SECONDS = 5.0


def a_directory(path: Path, outside: Path) -> None:
    path.mkdir()


def a_fifo(path: Path, outside: Path) -> None:
    os.mkfifo(path)


def a_link_out(path: Path, outside: Path) -> None:
    outside.mkdir()
    (outside / "findings").write_text(CLEAN)
    path.symlink_to(outside / "findings")


def a_dangling_link(path: Path, outside: Path) -> None:
    path.symlink_to(outside / "nothing")


def in_a_linked_directory(path: Path, outside: Path) -> None:
    path.parent.rmdir()
    outside.mkdir()
    (outside / path.name).write_text(CLEAN)
    path.parent.symlink_to(outside)


def blank(path: Path, outside: Path) -> None:
    path.write_text(" \n\t\n")


NONE_AT_ALL: dict[str, tuple[Callable[[Path, Path], None], str]] = {
    "a directory": (a_directory, "findings-round-1.md is not a regular file"),
    "a FIFO": (a_fifo, "findings-round-1.md is not a regular file"),
    "a link out of the project": (a_link_out, "findings-round-1.md is a symbolic link"),
    "a dangling link": (a_dangling_link, "findings-round-1.md is a symbolic link"),
    "a directory that is a link": (in_a_linked_directory, "leads out of the project"),
    "blank": (blank, ""),
}


@pytest.mark.parametrize(("spoil", "why"), NONE_AT_ALL.values(), ids=list(NONE_AT_ALL))
class TestNotFindings:
    def test_the_round_counts_as_not_run(
        self, claudex: Claudex, tmp_path: Path, spoil: Callable[[Path, Path], None], why: str
    ) -> None:
        claudex.begin_round()
        spoil(claudex.findings(1), tmp_path / "outside")
        began = time.monotonic()
        assert "the review of round 1 has not been run" in claudex.told(active=True)
        assert claudex.says("phase", "round") == ("reviewing", "1")
        assert time.monotonic() - began < SECONDS

    def test_a_claim_over_it(
        self, claudex: Claudex, tmp_path: Path, spoil: Callable[[Path, Path], None], why: str
    ) -> None:
        claudex.begin_round()
        spoil(claudex.findings(1), tmp_path / "outside")
        assert claudex.run("mark-done", claudex.id).returncode == 0
        assert "the review of round 1 was never run" in claudex.state["left_open"]
        assert why in claudex.state["left_open"]
        assert "the review of round 1 was never run" in claudex.told()

    def test_status(self, claudex: Claudex, tmp_path: Path, spoil: Callable[[Path, Path], None], why: str) -> None:
        claudex.begin_round()
        spoil(claudex.findings(1), tmp_path / "outside")
        (row,) = json.loads(claudex.run("status", "--json").stdout)["loops"]
        assert row["findings"] == []


def test_a_linked_directory_is_not_written_to(claudex: Claudex, tmp_path: Path) -> None:
    claudex.start()
    claudex.write_plan()
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "findings-round-1.md").write_text("mine\n")
    (claudex.directory / claudex.id).symlink_to(outside)
    assert "leads out of the project; loop" in claudex.told()
    assert claudex.says("phase") == ("drafting",)
    assert [path.name for path in outside.iterdir()] == ["findings-round-1.md"]
    assert (outside / "findings-round-1.md").read_text() == "mine\n"


class TestFindingsOfAnUnusualKind:
    def test_five_megabytes(self, claudex: Claudex) -> None:
        claudex.begin_round(rounds=1)
        line = "- a finding that goes on and on\n"
        claudex.write_findings(1, "## High\n" + line * (5 * 1024 * 1024 // len(line)))
        began = time.monotonic()
        message = claudex.told(active=True)
        assert time.monotonic() - began < SECONDS
        counted = (findings.LIMIT - len("## High\n")) // len(line) + 1  # the last one is cut off
        assert f"at least {counted} high, 0 medium, 0 low are open" in message
        assert "(only its beginning)" in message
        assert len(message) < 1000

    def test_five_megabytes_that_begin_with_nothing(self, claudex: Claudex) -> None:
        """What is cut off might say more than that there is nothing."""
        claudex.begin_round()
        claudex.write_findings(1, CLEAN + "\n" * (5 << 20))
        assert_blocked(claudex.client_stop(active=True), "round 2 of 3")

    def test_one_line_without_an_end(self, claudex: Claudex) -> None:
        claudex.begin_round()
        claudex.write_findings(1, "#" * (5 << 20))
        began = time.monotonic()
        assert_blocked(claudex.client_stop(active=True), "round 2 of 3")
        assert time.monotonic() - began < SECONDS

    def test_binary(self, claudex: Claudex) -> None:
        claudex.begin_round(rounds=1)
        claudex.findings(1).write_bytes(bytes(range(256)) * 40)
        message = claudex.told(active=True)
        assert claudex.says("decision_signal") == ("max-reached",)
        assert "findings-round-1.md says something else than that there is nothing, in another form" in message

    def test_two_hundred(self, claudex: Claudex) -> None:
        claudex.begin_round(rounds=1)
        claudex.write_findings(1, "## High\n" + "- wrong\n" * 90 + "## Medium\n" + "- bad\n" * 110 + "## Low\n")
        message = claudex.told(active=True)
        assert "90 high, 110 medium, 0 low are open" in message
        assert len(message.splitlines()) == 4

    def test_a_file_that_may_not_be_read(self, claudex: Claudex, monkeypatch: pytest.MonkeyPatch) -> None:
        """There is something in it, so the round was run; what, nobody knows."""
        path = claudex.root / "findings.md"
        path.write_text("## High\n- wrong\n")

        def closed(path: str, limit: int) -> None:
            raise StoreError("findings.md cannot be read (Permission denied)")

        monkeypatch.setattr(findings, "read_beginning", closed)
        found = findings.read(str(claudex.root), str(path))
        assert (found.there, found.clean) == (True, False)
        assert findings.objection(found, 1) == (
            "nobody can tell what is open: findings.md cannot be read (Permission denied)"
        )


class TestReviews:
    @pytest.mark.parametrize("kind", ["FIFO", "link"])
    def test_a_review_that_is_not_a_file(self, claudex: Claudex, tmp_path: Path, kind: str) -> None:
        claudex.start_review()
        assert_blocked(claudex.client_stop())
        path = claudex.root / "reviews" / f"review-{claudex.id}.md"
        if kind == "FIFO":
            os.mkfifo(path)
        else:
            (tmp_path / "secret").write_text("## High\n- a secret\n")
            path.symlink_to(tmp_path / "secret")
        assert "the review was not run (" in claudex.told(active=True)

    def test_a_linked_directory(self, claudex: Claudex, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (claudex.root / "reviews").symlink_to(outside)
        claudex.start_review()
        assert "reviews leads out of the project" in claudex.told()
        assert claudex.says("phase") == ("reviewing",)

    def test_a_rollback_does_not_reach_through_it(self, claudex: Claudex, tmp_path: Path) -> None:
        claudex.start_review()
        outside = tmp_path / "outside"
        outside.mkdir()
        kept = outside / f"review-{claudex.id}.md"
        kept.write_text("mine\n")
        (claudex.root / "reviews").symlink_to(outside)
        assert claudex.run("rollback").returncode == 0
        assert kept.read_text() == "mine\n"
