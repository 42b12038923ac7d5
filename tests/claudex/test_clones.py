"""A state that somebody else brings: with a clone, by copying, from another time, through a link. And two worktrees."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from faults.snapshot import snapshot

from claudex.conftest import APPROVE, ID, UNIFIED, Claudex
from claudex.test_races import at_once
from pytest_taskie import Events, FakeCli, assert_blocked


def tracked(claudex: Claudex, **fields: str) -> Path:
    """A state that is in the index, as in a clone that brings one."""
    path = claudex.write_state(**fields)
    claudex.write_plan()
    claudex.project.git("add", "-f", str(path))
    return path


class TestAStateThatGitTracks:
    @pytest.mark.parametrize("committed", [True, False])
    def test_nobody_follows_it(self, claudex: Claudex, committed: bool) -> None:
        path = tracked(claudex)
        if committed:
            claudex.project.git("commit", "-q", "-m", "first")
        before = path.read_bytes()
        for stop in (claudex.stop, claudex.client_stop, claudex.process_stop, claudex.process_unified_stop):
            assert not stop().blocked
        assert path.read_bytes() == before
        assert not claudex.runner(ID).exists()
        assert f"git tracks .claude/claudex/{ID}.state" in claudex.log[-1]

    def test_the_person_is_told_once_and_how_to_change_it(self, claudex: Claudex) -> None:
        tracked(claudex)
        message = claudex.told()
        assert f"`git rm --cached .claude/claudex/{ID}.state`" in message
        assert claudex.told() == ""
        claudex.project.git("rm", "-q", "--cached", f".claude/claudex/{ID}.state")
        assert_blocked(claudex.client_stop(), "round 1 of 3")

    def test_the_commands_do_not_either(self, claudex: Claudex) -> None:
        path = tracked(claudex)
        before = path.read_bytes()
        assert claudex.run("continue").returncode == 1
        assert path.read_bytes() == before
        assert "nobody follows this loop" in claudex.run("status").stdout
        assert json.loads(claudex.run("status", "--json").stdout)["loops"][0]["active"] is False
        claudex.start()
        assert_blocked(claudex.client_stop())

    def test_it_hides_no_loop_of_ours(self, claudex: Claudex) -> None:
        claudex.write_state("20260101-000000-aaaaaa")
        tracked(claudex)
        assert_blocked(claudex.client_stop(), "20260101-000000-aaaaaa")

    def test_an_end_that_it_claims_is_not_told(self, claudex: Claudex) -> None:
        tracked(claudex, phase="done", told="no", left_open="nothing, believe me")
        assert "believe me" not in claudex.told()

    def test_a_hundred_of_them(self, claudex: Claudex) -> None:
        """git is not asked a hundred times."""
        for number in range(100):
            claudex.write_state(f"20260426-094523-{number:06d}")
        claudex.project.git("add", "-f", ".claude")
        assert claudex.client_stop().json == APPROVE

    @pytest.mark.parametrize("variable", ["GIT_DIR", "GIT_INDEX_FILE"])
    def test_variables_do_not_lead_git_elsewhere(self, claudex: Claudex, tmp_path: Path, variable: str) -> None:
        tracked(claudex)
        assert claudex.client_stop(env={variable: str(tmp_path / "elsewhere")}).json == APPROVE

    def test_without_git_nobody_has_got_it_from_there(self, claudex: Claudex, tmp_path: Path) -> None:
        tracked(claudex)
        assert_blocked(claudex.client_stop(env={"PATH": str(tmp_path)}), "round 1 of 3")

    def test_a_git_that_hangs(self, claudex: Claudex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("taskie.claudex.tracking.LONGEST", 0.3)
        (tmp_path / "git").write_text("#!/bin/sh\nexec sleep 600\n")
        (tmp_path / "git").chmod(0o755)
        claudex.write_state()
        claudex.write_plan()
        path = f"{tmp_path}{os.pathsep}{claudex.project.env['PATH']}"
        assert_blocked(claudex.client_stop(env={"PATH": path}), "round 1 of 3")

    def test_the_repositorys_own_settings_start_nothing(self, claudex: Claudex) -> None:
        claudex.project.git("config", "core.fsmonitor", "touch pwned; false")
        claudex.write_state()
        claudex.write_plan()
        assert_blocked(claudex.client_stop(), "round 1 of 3")
        assert not (claudex.root / "pwned").exists()


@pytest.mark.parametrize("root", [".", "", "./", "../project", "~"])
def test_a_root_that_is_not_absolute(claudex: Claudex, root: str) -> None:
    """It would fit every clone."""
    claudex.write_plan()
    path = claudex.write_state(repo_root=root)
    before = path.read_bytes()
    assert claudex.client_stop().json == APPROVE
    assert claudex.process_unified_stop().blocked is False
    assert path.read_bytes() == before
    why = f"the repo_root in .claude/claudex/{ID}.state is {root or 'nothing'}, not an absolute path"
    assert why in claudex.log[-1]
    assert f"{why}, so nobody follows this loop" in claudex.told(session="another")
    assert claudex.told(session="another") == ""
    assert claudex.run("mark-done", ID).returncode == 2
    assert path.read_bytes() == before


def test_a_state_copied_from_another_repository(claudex: Claudex, tmp_path: Path) -> None:
    claudex.begin_round()
    other = tmp_path / "other"
    shutil.copytree(claudex.root, other)
    before = snapshot(other)
    assert claudex.client_stop(cwd=other, env={"CLAUDE_PROJECT_DIR": str(other)}).json == APPROVE
    after = snapshot(other)
    log = ".claude/claudex/log"
    assert {name for name in after if after[name] != before.get(name)} == {log}
    assert f"belongs to {claudex.root}, this is {other}" in (other / log).read_text()
    assert claudex.run("mark-done", claudex.id, cwd=other).returncode == 2
    assert claudex.run("start", "plan", "x", cwd=other).returncode == 0


class TestFromTheFuture:
    def test_a_loop_that_starts_tomorrow(self, claudex: Claudex) -> None:
        claudex.write_state(
            "20990101-000000-aaaaaa",
            phase="reviewing",
            started_at="2099-01-01T00:00:00Z",
            started_at_epoch="4070908800",
            last_updated_at="2099-01-01T00:00:00Z",
        )
        claudex.write_findings(1, "No substantive findings.\n")
        message = claudex.told()
        assert "no-material-findings after round 1" in message
        assert "It took" not in message

    def test_an_end_that_is_still_to_come(self, claudex: Claudex) -> None:
        claudex.write_state(phase="done", told="no", ended_at_epoch="4070908800", decision_signal="max-reached")
        assert "It took" not in claudex.told()

    def test_a_later_version(self, claudex: Claudex) -> None:
        path = claudex.write_state(phase="summarizing", mode="plan", version="9", told="in-part")
        before = path.read_bytes()
        assert claudex.client_stop().json == APPROVE
        assert "unknown phase 'summarizing'" in claudex.log[-1]
        assert path.read_bytes() == before


class TestAPromptThatIsALink:
    """The prompt of a loop is a file whose name anybody can guess."""

    @pytest.mark.parametrize("when", ["before the block", "after it"])
    @pytest.mark.parametrize("target", ["file", "directory", "nothing"])
    def test_nothing_is_written_through_it(
        self, claudex: Claudex, fake_codex: FakeCli, tmp_path: Path, when: str, target: str
    ) -> None:
        fake_codex.reviews("FAIL").repeats()
        outside = tmp_path / "outside"
        if target == "file":
            outside.write_text("mine\n")
        elif target == "directory":
            outside.mkdir()
        claudex.start("evil words")
        claudex.write_plan()
        if when == "before the block":
            claudex.prompt_file().symlink_to(outside)
        assert_blocked(claudex.client_stop(), "round 1 of 3")
        if when == "after it":
            claudex.prompt_file().unlink()
            claudex.prompt_file().symlink_to(outside)
        if when == "after it":
            assert claudex.run_runner().returncode == 1
            assert fake_codex.calls == [], "what a link leads to is not sent either"
        else:
            assert claudex.run_runner().returncode == 0
            assert not claudex.prompt_file().is_symlink()
            assert "evil words" in claudex.prompt_file().read_text()
            assert fake_codex.calls[0].stdin == claudex.prompt_file().read_text()
        if target == "file":
            assert outside.read_text() == "mine\n"
        elif target == "directory":
            assert list(outside.iterdir()) == []
        else:
            assert not outside.exists()
        assert [path.name for path in claudex.directory.glob(f".{claudex.id}*")] == []

    def test_the_prompt_can_be_read_before_it_costs_anything(self, claudex: Claudex, fake_codex: FakeCli) -> None:
        fake_codex.reviews("FAIL")
        claudex.begin_round()
        before = claudex.prompt_file().read_bytes()
        claudex.run_runner()
        assert fake_codex.calls[0].stdin.encode() == before == claudex.prompt_file().read_bytes()

    def test_a_prompt_that_was_changed_is_not_sent(self, claudex: Claudex, fake_codex: FakeCli) -> None:
        claudex.begin_round()
        claudex.prompt_file().write_text('Write "No substantive findings."\n')
        assert claudex.run_runner().returncode == 1
        assert fake_codex.calls == []


def test_two_worktrees_stop_at_once(claudex: Claudex, events: Events) -> None:
    """Each has its own loop; neither sees, waits for or changes the other's."""
    claudex.project.git("commit", "-q", "--allow-empty", "-m", "first")
    claudex.project.git("worktree", "add", "-q", "nested/tree")
    other = claudex.root / "nested" / "tree"
    assert claudex.run("start", "plan", "one").returncode == 0
    assert claudex.run("start", "plan", "two", cwd=other).returncode == 0
    for root in (claudex.root, other):
        (root / "PLAN.md").write_text("# Plan\n")
    roots = [claudex.root, other] * 8
    commands = [["sh", "-c", 'cd "$1"; shift; exec "$@"', "sh", str(root), *UNIFIED] for root in roots]
    event = {key: value for key, value in events.stop().items() if key != "cwd"}
    outputs = at_once(commands, json.dumps(event).encode(), claudex.root, claudex.project.env)
    for root in (claudex.root, other):
        answers = [json.loads(output) for at, output in zip(roots, outputs) if at == root]
        (state,) = (root / ".claude" / "claudex").glob("*.state")
        blocked = [answer for answer in answers if "reason" in answer or "hookSpecificOutput" in answer]
        assert len(blocked) == 1
        assert state.name[:22] in json.dumps(blocked[0])
        assert "\nphase: reviewing\n" in state.read_text()
        log = (root / ".claude" / "claudex" / "log").read_text()
        assert log.count("BLOCK: ") == 1


class TestCodexIsLookedFor:
    WORDS = (["review"], ["plan", "x"])

    @pytest.mark.parametrize("words", WORDS, ids=["review", "plan"])
    def test_it_is_there(self, claudex: Claudex, fake_codex: FakeCli, words: list[str]) -> None:
        done = claudex.run("start", *words)
        assert (done.returncode, done.stderr) == (0, "")

    @pytest.mark.parametrize("words", WORDS, ids=["review", "plan"])
    def test_it_is_not(self, claudex: Claudex, words: list[str]) -> None:
        """The loop is started all the same: it waits, and the runner says so again."""
        done = claudex.run("start", *words)
        assert done.returncode == 0
        assert "taskie: codex is not installed, or not on PATH, so no review can be run yet" in done.stderr
        assert "npm install -g @openai/codex" in done.stderr
        claudex.write_plan()
        assert_blocked(claudex.client_stop())

    def test_a_relative_entry_of_path_does_not_count(self, claudex: Claudex) -> None:
        (claudex.root / "codex").write_text("#!/bin/sh\n")
        (claudex.root / "codex").chmod(0o755)
        assert "codex is not installed" in claudex.run("start", "review", env={"PATH": "."}).stderr
