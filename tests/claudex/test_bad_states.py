"""States and places that are wrong in every way: the stop is allowed, the log says why, nothing is lost."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from faults.snapshot import snapshot

from claudex.conftest import APPROVE, HOOK, ID, Claudex
from pytest_taskie import RunHook, assert_approved, assert_blocked
from taskie.editing import read_pairs

# The modes of files apply to root too.
CONFINED = [sys.executable, str(Path(__file__).parents[1] / "faults" / "confined.py")]
STATES = {
    "empty": (b"", "belongs to (nowhere)"),
    "binary": (bytes(range(256)) * 20, "belongs to (nowhere)"),
    "no fields": (b"some words\n", "belongs to (nowhere)"),
    "nothing but a phase": (b"phase: drafting\n", "belongs to (nowhere)"),
    "no phase": (b"mode: plan\nrepo_root: ROOT\n", "unknown phase ''"),
    "no mode": (b"phase: drafting\nrepo_root: ROOT\n", "unknown mode ''"),
    "a mode of its own": (b"mode: x\nphase: reviewing\nrepo_root: ROOT\n", "unknown mode 'x'"),
    "a phase of the other mode": (b"mode: review\nphase: drafting\nrepo_root: ROOT\n", "unknown phase 'drafting'"),
    "a root with a NUL": (b'mode: plan\nphase: drafting\nrepo_root: "/a\\u0000"\n', "belongs to /a\\x00"),
    "too large": (b"mode: plan\n" + b"x" * (5 << 20), "is larger than 4 MB"),
}


@pytest.mark.parametrize(("content", "why"), STATES.values(), ids=list(STATES))
def test_a_state_that_says_nothing(claudex: Claudex, content: bytes, why: str) -> None:
    claudex.write_plan()
    claudex.write_raw(content.replace(b"ROOT", str(claudex.root).encode()))
    before = snapshot(claudex.root)
    assert claudex.client_stop().json == APPROVE
    after = snapshot(claudex.root)
    after.pop(".claude/claudex/log")
    assert after == before
    assert "APPROVE: " in claudex.log[-1]
    assert why in claudex.log[-1]
    assert len(claudex.log) == 1
    assert_approved(claudex.unified_stop())


def test_as_the_client_runs_it(claudex: Claudex) -> None:
    claudex.write_raw(b"")
    assert_approved(claudex.process_unified_stop())
    assert "belongs to (nowhere)" in claudex.log[-1]


@pytest.mark.parametrize(
    "missing", ["topic", "round", "max_rounds", "review_id", "session_id", "decision_signal", "started_at"]
)
def test_a_field_that_has_a_default(claudex: Claudex, missing: str) -> None:
    path = claudex.write_state()
    path.write_bytes(
        b"".join(line for line in path.read_bytes().splitlines(True) if not line.startswith(missing.encode()))
    )
    assert " 1/3 " in claudex.run("status").stdout
    claudex.write_plan()
    assert_blocked(claudex.client_stop(), "round 1 of 3")


def test_a_repeated_key(claudex: Claudex) -> None:
    path = claudex.write_state()
    path.write_bytes(path.read_bytes() + b"phase: done\nreview_id: other\nmax_rounds: 99\n")
    claudex.write_plan()
    assert_blocked(claudex.client_stop(), f"{ID}: round 1 of 3")
    assert read_pairs(path.read_bytes())["phase"] == "reviewing"


def test_an_id_inside_that_is_a_path(claudex: Claudex, tmp_path: Path) -> None:
    path = claudex.write_state()
    path.write_text(path.read_text().replace(f"review_id: {ID}", "review_id: ../../../escape"))
    claudex.write_plan()
    assert_blocked(claudex.client_stop(), ID)
    assert claudex.runner(ID).exists()
    assert list(tmp_path.rglob("*escape*")) == []


@pytest.mark.parametrize("kind", ["directory", "link", "dangling link", "FIFO"])
def test_a_state_that_is_not_a_regular_file(claudex: Claudex, kind: str, tmp_path: Path) -> None:
    claudex.directory.mkdir(parents=True)
    path = claudex.directory / f"{ID}.state"
    if kind == "directory":
        path.mkdir()
    elif kind == "FIFO":
        os.mkfifo(path)
    else:
        if kind == "link":
            (tmp_path / "state").write_text("mode: plan\nphase: drafting\n")
        path.symlink_to(tmp_path / "state")
    assert claudex.client_stop().json == APPROVE
    assert f"{ID}.state is" in claudex.log[-1]
    assert os.path.lexists(path)


def test_a_state_that_cannot_be_read(claudex: Claudex, run_hook: RunHook) -> None:
    path = claudex.write_state()
    path.chmod(0)
    result = run_hook(command=[*CONFINED, *HOOK])
    assert result.json == APPROVE
    assert f"{ID}.state cannot be read (Permission denied)" in claudex.log[-1]
    assert path.exists()


def test_a_directory_that_cannot_be_written(claudex: Claudex, run_hook: RunHook) -> None:
    path = claudex.write_state()
    claudex.write_plan()
    before = path.read_bytes()
    claudex.directory.chmod(0o555)
    try:
        assert run_hook(command=[*CONFINED, *HOOK]).json == APPROVE
    finally:
        claudex.directory.chmod(0o755)
    assert [entry.name for entry in claudex.directory.iterdir()] == [path.name]
    assert path.read_bytes() == before
    assert_blocked(claudex.client_stop(), "round 1 of 3")


def test_a_directory_with_a_bad_name(claudex: Claudex) -> None:
    """Only files are removed; what is not a file is left to its owner, and is not a loop."""
    (claudex.directory / "mine.state").mkdir(parents=True)
    assert claudex.client_stop().json == APPROVE
    assert (claudex.directory / "mine.state").is_dir()


def test_a_bad_name_beside_a_loop(claudex: Claudex) -> None:
    claudex.start()
    claudex.write_raw(b"", "mine")
    assert claudex.client_stop().json == APPROVE
    assert claudex.ids == [claudex.id]
    assert_blocked(claudex.client_stop())


class TestPlacesThatAreFiles:
    @pytest.mark.parametrize("name", [".claude", ".claude/claudex"])
    def test_where_states_would_be(self, claudex: Claudex, name: str) -> None:
        path = claudex.root / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("a file of mine\n")
        assert claudex.client_stop().json == APPROVE
        assert_approved(claudex.process_unified_stop())
        started = claudex.run("start", "plan", "x")
        assert started.returncode == 1
        assert "cannot be started" in started.stderr
        for command in ("cancel", "rollback", "status"):
            assert claudex.run(command).returncode == 0
        assert path.read_text() == "a file of mine\n"

    def test_where_findings_would_be(self, claudex: Claudex) -> None:
        claudex.start()
        claudex.write_plan()
        (claudex.directory / claudex.id).write_text("mine\n")
        assert_approved(claudex.unified_stop(), "is not a directory; loop .* stays as it was")
        assert claudex.says("phase") == ("drafting",)
        assert "is not a directory" in claudex.log[-1]
        assert not claudex.runner().exists()

    @pytest.mark.parametrize("kind", ["file", "dangling link"])
    def test_where_reviews_would_be(self, claudex: Claudex, kind: str) -> None:
        claudex.start_review()
        if kind == "file":
            (claudex.root / "reviews").write_text("mine\n")
        else:
            (claudex.root / "reviews").symlink_to("nowhere")
        assert_approved(claudex.unified_stop(), "reviews is not a directory")
        assert claudex.says("phase") == ("reviewing",)
        assert "reviews is not a directory" in claudex.log[-1]

    def test_where_the_plan_would_be(self, claudex: Claudex) -> None:
        claudex.start()
        (claudex.root / "PLAN.md").mkdir()
        assert_blocked(claudex.client_stop(), "is not written yet")
        assert claudex.client_stop(active=True).json == APPROVE
        (claudex.root / "PLAN.md").rmdir()
        os.mkfifo(claudex.root / "PLAN.md")
        assert_blocked(claudex.client_stop(), "is not written yet")


def test_a_closed_stdout(claudex: Claudex) -> None:
    claudex.start()
    result = claudex.process_stop(command=f"{' '.join(HOOK)} >&-")
    assert (result.exit_code, result.stdout) == (0, "")
