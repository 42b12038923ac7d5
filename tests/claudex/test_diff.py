"""What Codex is given to read: the diff without our own files, in a real repository; the findings of earlier rounds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from claudex.conftest import Claudex
from pytest_taskie import FakeCli, assert_blocked

OURS = [
    ".claude/settings.json",
    ".claude/claudex/notes.md",
    ".taskie/plans/x/state.json",
    "autopilot-state.json",
    "gauntlet_logs/run.log",
    "ai/.test-output/task-1.txt",
    "reviews/review-20260101-000000-aaaaaa.md",
    "reviews/proposed-fixes-20260101-000000-aaaaaa.md",
    "packages/one/.claude/claudex/log",
    "packages/one/.taskie/config.toml",
]
THEIRS = [
    "src/new.py",
    "src/changed.py",
    "src/staged.py",
    "reviews/models.py",
    "docs/reviews/policy.md",
    "my.claude/file",
    "src/autopilot-state.json.md",
    "with space/ünï.txt",
]


def write(root: Path, name: str, text: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(text)


def commands(prompt: str) -> list[str]:
    """The commands that the prompt gives: its indented lines."""
    return re.findall(r"^    (git .*)$", prompt, re.MULTILINE)


@pytest.fixture
def prompt(claudex: Claudex, fake_codex: FakeCli) -> str:
    """A repository with a commit, our files and theirs in it, tracked or not; what Codex is then asked."""
    claudex.project.git("config", "core.quotePath", "false")
    for name in ("src/changed.py", "autopilot-state.json", ".claude/settings.json"):
        write(claudex.root, name, "before\n")
    claudex.project.git("add", "-A")
    claudex.project.git("commit", "-q", "-m", "first")
    for name in (*OURS, *THEIRS):
        write(claudex.root, name, f"content of {name}\n")
    claudex.project.git("add", "src/staged.py", "reviews", "gauntlet_logs")
    fake_codex.reviews("FAIL")
    claudex.start_review()
    assert_blocked(claudex.client_stop())
    claudex.run_runner()
    return fake_codex.calls[0].stdin


class TestTheDiff:
    def test_the_names(self, claudex: Claudex, prompt: str) -> None:
        status, _ = commands(prompt)
        listed = {line[3:].strip('"') for line in claudex.shell(status).splitlines()}
        assert listed == set(THEIRS)

    def test_the_contents(self, claudex: Claudex, prompt: str) -> None:
        _, diff = commands(prompt)
        shown = claudex.shell(diff)
        assert set(re.findall(r"^\+\+\+ b/(.*)$", shown, re.MULTILINE)) == {
            *("src/changed.py", "src/staged.py", "reviews/models.py"),
        }
        assert "+content of src/changed.py" in shown

    def test_without_them_our_files_would_be_there(self, claudex: Claudex, prompt: str) -> None:
        """The commands leave out something that git would show."""
        plain = claudex.shell("git status --short --untracked-files=all")
        for name in OURS[2:8]:
            assert name in plain

    def test_from_a_directory_below(self, claudex: Claudex, prompt: str) -> None:
        status, diff = commands(prompt)
        below = f"cd packages/one && {status}"
        assert len(claudex.shell(below).splitlines()) == len(THEIRS)
        assert "src/changed.py" in claudex.shell(f"cd src && {diff}")


def test_before_the_first_commit(claudex: Claudex, fake_codex: FakeCli) -> None:
    fake_codex.reviews("FAIL")
    write(claudex.root, "src/new.py", "new\n")
    write(claudex.root, "autopilot-state.json", "{}\n")
    claudex.project.git("add", "-A")
    claudex.start_review()
    assert_blocked(claudex.client_stop())
    claudex.run_runner()
    status, diff = commands(fake_codex.calls[0].stdin)
    assert claudex.shell(status) == "A  src/new.py\n"
    assert re.findall(r"^\+\+\+ b/(.*)$", claudex.shell(diff), re.MULTILINE) == ["src/new.py"]


def test_our_own_files_stay_out_of_commits(claudex: Claudex) -> None:
    """`git add -A` in the middle of a loop: only the findings are the project's."""
    claudex.begin_round()
    claudex.write_findings(1)
    claudex.project.git("add", "-A")
    listed = claudex.project.git("ls-files").split()
    assert sorted(listed) == [f".claude/claudex/{claudex.id}/findings-round-1.md", "PLAN.md"]
    assert_blocked(claudex.client_stop(active=True), "round 2 of 3")


class TestEarlierFindings:
    def asked(self, claudex: Claudex, codex: FakeCli) -> str:
        claudex.run_runner()
        return codex.calls[-1].stdin

    def test_the_first_round_has_none(self, claudex: Claudex, fake_codex: FakeCli) -> None:
        fake_codex.reviews("FAIL")
        claudex.begin_round()
        prompt = self.asked(claudex, fake_codex)
        assert "what became of" not in prompt
        assert set(re.findall(r"findings-round-(\d)", prompt)) == {"1"}

    def test_the_next_ones_name_them_all(self, claudex: Claudex, fake_codex: FakeCli) -> None:
        fake_codex.reviews("FAIL")
        claudex.begin_round(3)
        prompt = self.asked(claudex, fake_codex)
        assert f"\n{claudex.findings(1)}\n{claudex.findings(2)}\n" in prompt
        assert "Find out what became of each of them" in prompt
        assert prompt.count(str(claudex.findings(3))) == 1

    def test_a_round_that_left_none_is_not_named(self, claudex: Claudex, fake_codex: FakeCli) -> None:
        fake_codex.reviews("FAIL")
        claudex.begin_round()
        claudex.stop()
        claudex.write_findings(2)
        assert_blocked(claudex.client_stop(), "round 3 of 3")
        prompt = self.asked(claudex, fake_codex)
        assert set(re.findall(r"findings-round-(\d)", prompt)) == {"2", "3"}

    def test_nor_is_a_link(self, claudex: Claudex, fake_codex: FakeCli, tmp_path: Path) -> None:
        fake_codex.reviews("FAIL")
        claudex.begin_round()
        (tmp_path / "secret").write_text("## High\n- a secret\n")
        claudex.findings(1).symlink_to(tmp_path / "secret")
        claudex.stop()
        assert "findings-round-1" not in self.asked(claudex, fake_codex)

    def test_a_repeated_block_names_them_again(self, claudex: Claudex, fake_codex: FakeCli) -> None:
        fake_codex.reviews("FAIL")
        claudex.begin_round(2)
        claudex.client_stop(active=True)
        assert_blocked(claudex.client_stop(), "round 2 of 3")
        assert str(claudex.findings(1)) in self.asked(claudex, fake_codex)

    def test_of_very_many_the_last(self, claudex: Claudex, fake_codex: FakeCli) -> None:
        fake_codex.reviews("FAIL")
        claudex.write_state(phase="reviewing", round="40", max_rounds="60")
        claudex.write_plan()
        for number in range(1, 41):
            claudex.write_findings(number)
        assert_blocked(claudex.client_stop(), "round 41 of 60")
        named = set(map(int, re.findall(r"findings-round-(\d+)", self.asked(claudex, fake_codex))))
        assert named == set(range(21, 42))
