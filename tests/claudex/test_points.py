"""The numbered points of the design, one class each; the twelfth is the smoke test."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from claudex.conftest import APPROVE, ID, Claudex
from pytest_taskie import FakeCli, assert_blocked
from taskie.claudex import engine
from taskie.claudex.state import load_all, number
from taskie.claudex.texts import PERSONAS, persona

STAMP = r"\[\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\] "


class Test1Helpers:
    def test_a_line_with_its_time_for_each_decision(self, claudex: Claudex) -> None:
        claudex.start()
        blocked = claudex.stop()
        claudex.run("cancel")
        claudex.stop()
        assert all(re.match(STAMP, line) for line in claudex.log)
        said = [re.sub(STAMP, "", line) for line in claudex.log]
        assert f"BLOCK: {(blocked.reason or '')[:80]}" in said
        assert said[-1] == "APPROVE: no active loop"

    def test_approve_and_block_are_one_line_of_json(self, claudex: Claudex) -> None:
        assert claudex.process_stop().stdout == '{"decision":"approve"}\n'
        claudex.start('line\nbreak and "quotes" and \\ and \u2028')
        result = claudex.process_stop()
        assert result.stdout.count("\n") == 1
        assert list(json.loads(result.stdout)) == ["decision", "reason"]
        assert_blocked(result, "line\nbreak")

    def test_a_project_without_the_directory_gets_no_log(self, claudex: Claudex) -> None:
        assert claudex.stop().json == APPROVE
        assert not (claudex.root / ".claude").exists()

    @pytest.mark.parametrize("log", ["directory", "link"])
    def test_a_log_that_fails_changes_nothing(self, claudex: Claudex, log: str, tmp_path: Path) -> None:
        claudex.write_state()
        if log == "directory":
            (claudex.directory / "log").mkdir()
        else:
            (claudex.directory / "log").symlink_to(tmp_path / "elsewhere")
        assert_blocked(claudex.stop())
        assert not (tmp_path / "elsewhere").exists()


class Test2Trap:
    @pytest.mark.parametrize("stdin", ["", "no json", "[]", '{"cwd": 5}', b"\xff\xfe", '{"cwd": "/no/such/place"}'])
    def test_whatever_comes_in_is_allowed(self, claudex: Claudex, stdin: str | bytes) -> None:
        result = claudex.stop(stdin)
        assert (result.exit_code, result.json) == (0, APPROVE)

    def test_as_a_process_too(self, claudex: Claudex) -> None:
        result = claudex.process_stop(b"\xff\xfe")
        assert (result.exit_code, result.json) == (0, APPROVE)
        assert "not UTF-8" in result.stderr

    def test_an_unforeseen_error_is_allowed_and_logged(self, claudex: Claudex, monkeypatch: pytest.MonkeyPatch) -> None:
        """A broken installation: the engine itself raises."""

        def broken(*_: object) -> None:
            raise RuntimeError("unforeseen")

        claudex.write_state()
        assert claudex.stop().blocked
        monkeypatch.setattr(engine, "on_stop", broken)
        done = claudex.stop()
        assert (done.exit_code, done.stdout) == (0, '{"decision":"approve"}\n')
        assert "unforeseen" in done.stderr
        cache = claudex.project.env.get("XDG_CACHE_HOME") or f"{claudex.project.env['HOME']}/.cache"
        assert "RuntimeError: unforeseen" in Path(cache, "taskie", "hook.log").read_text()


class Test3Skip:
    def test_hooks_of_the_reviewer_stay_out(self, claudex: Claudex) -> None:
        claudex.write_state()
        result = claudex.stop(env={"TASKIE_HOOK_SKIP": "1"})
        assert (result.json, claudex.log) == (APPROVE, [])


class Test4ActiveLoop:
    def test_none(self, claudex: Claudex) -> None:
        claudex.directory.mkdir(parents=True)
        assert claudex.stop().json == APPROVE
        assert claudex.log[-1].endswith("APPROVE: no active loop")

    @pytest.mark.parametrize(
        "stem",
        ["mine", "", "20260426-094523-ABC123", "20260426-094523-abc123\n", "x20260426-094523-abc123", "..", "20260426"],
    )
    def test_a_name_that_is_not_an_id_is_removed(self, claudex: Claudex, stem: str) -> None:
        bad = claudex.write_raw(b"mode: plan\nphase: drafting\n", stem)
        assert claudex.stop().json == APPROVE
        assert not bad.exists()
        assert "its name is not a review id" in claudex.log[-1]
        assert len(claudex.log) == 1

    def test_a_finished_one_never_hides_the_active_one(self, claudex: Claudex) -> None:
        claudex.write_state("20260101-000000-aaaaaa")
        claudex.write_state("20270101-000000-bbbbbb", phase="done")
        assert_blocked(claudex.stop(), "20260101-000000-aaaaaa")

    def test_the_newest_active_one_is_the_loop(self, claudex: Claudex) -> None:
        claudex.write_state("20260102-000000-aaaaaa")
        claudex.write_state("20260101-000000-bbbbbb")
        assert_blocked(claudex.stop(), "20260102-000000-aaaaaa")

    def test_a_loop_of_another_session_is_not_ours(self, claudex: Claudex) -> None:
        claudex.write_state(session_id="another")
        assert claudex.client_stop().json == APPROVE
        assert "belongs to another session" in claudex.log[-1]
        assert_blocked(claudex.stop(), "PLAN.md")  # its own session is not known: a script

    def test_the_session_that_started_it(self, claudex: Claudex) -> None:
        env = {"CLAUDE_CODE_SESSION_ID": claudex.project.session_id}
        assert claudex.run("start", "plan", "x", env=env).returncode == 0
        assert claudex.says("session_id") == (claudex.project.session_id,)
        assert_blocked(claudex.client_stop())

    def test_a_session_id_that_could_forge_a_line(self, claudex: Claudex) -> None:
        assert claudex.run("start", "plan", "x", env={"CLAUDE_CODE_SESSION_ID": "a\nphase: done"}).returncode == 0
        assert claudex.says("session_id", "phase") == ("", "drafting")


class Test5Fields:
    def test_a_new_state_has_them_all(self, claudex: Claudex) -> None:
        claudex.start("a greeting", "--rounds", "5")
        expected = "mode phase topic round max_rounds review_id repo_root session_id started_at started_at_epoch"
        assert list(claudex.state) == [*expected.split(), "last_updated_at", "decision_signal"]
        assert re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{6}", claudex.id)
        assert claudex.says("mode", "phase", "topic", "round", "max_rounds", "decision_signal") == (
            *("plan", "drafting", '"a greeting"', "1", "5"),
            "none",
        )
        assert claudex.says("review_id", "repo_root") == (claudex.id, str(claudex.root))
        stamp = claudex.state["started_at"]
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", stamp)
        assert claudex.id[:15] == re.sub(r"[-:Z]", "", stamp).replace("T", "-")

    def test_a_write_keeps_what_it_does_not_know(self, claudex: Claudex) -> None:
        path = claudex.write_state(mine="kept")
        path.write_bytes(b"a comment\n" + path.read_bytes() + b"round: 9\n\xff\xfe\n")
        claudex.write_plan()
        assert_blocked(claudex.stop(), "round 1 of 3")
        after = path.read_bytes()
        assert after.startswith(b"a comment\n")
        assert b"mine: kept\n" in after
        assert after.endswith(b"round: 9\n\xff\xfe\n")


class Test6WorkingDirectory:
    def test_another_project(self, claudex: Claudex) -> None:
        path = claudex.write_state(repo_root="/somewhere/else")
        claudex.write_plan()
        before = path.read_bytes()
        assert claudex.stop().json == APPROVE
        assert path.read_bytes() == before
        assert "/somewhere/else" in claudex.log[-1]
        assert str(claudex.root) in claudex.log[-1]
        assert sorted(p.name for p in claudex.directory.iterdir()) == [path.name, "log"]


class Test7Numbers:
    @pytest.mark.parametrize("garbage", ["", "0", "-1", "1.5", "two", "1 2", "٣", "0x3", "1" * 5000, "01"])
    def test_garbage_has_a_default(self, garbage: str) -> None:
        assert number(garbage, 3) == 3

    @pytest.mark.parametrize("text", ["1", "7", "20"])
    def test_a_number(self, text: str) -> None:
        assert number(text, 3) == int(text)

    def test_in_a_state(self, claudex: Claudex) -> None:
        claudex.write_state(phase="reviewing", round="garbage", max_rounds="$(touch pwned)")
        claudex.write_plan()
        assert_blocked(claudex.stop(), "round 2 of 3")
        assert claudex.says("round") == ("2",)


class Test8Runner:
    def test_what_is_in_it(self, claudex: Claudex, fake_codex: FakeCli) -> None:
        fake_codex.reviews("FAIL")
        claudex.start()
        claudex.write_plan()
        claudex.stop()
        text = claudex.runner().read_text()
        assert "<<'PROMPTEOF'" in text
        assert 'codex exec --dangerously-bypass-approvals-and-sandbox < "$PROMPT_FILE"' in text
        comment = text.splitlines()[1]
        assert comment == "# Claudex: round 1 of 3, senior engineer reviews PLAN.md"
        done = claudex.run_runner()
        assert done.stdout.splitlines()[0].decode() == comment[2:]

    def test_personas(self) -> None:
        names = [persona(round_).name for round_ in (1, 2, 3, 4, 20)]
        assert names == ["senior engineer", "security and data integrity", "operations", "operations", "operations"]
        assert len(PERSONAS) == 3


class Test9PlanMode:
    @pytest.mark.parametrize("content", [None, "", " \n\t\n"])
    def test_drafting_without_a_plan(self, claudex: Claudex, content: str | None) -> None:
        claudex.start("a greeting")
        if content is not None:
            claudex.write_plan(content)
        assert_blocked(claudex.stop(), r"(?s)Write the plan to `PLAN\.md`.*a greeting")
        assert claudex.says("phase", "round") == ("drafting", "1")
        assert not claudex.runner().exists()

    def test_drafting_with_a_plan(self, claudex: Claudex, fake_codex: FakeCli) -> None:
        fake_codex.reviews("FAIL")
        claudex.start("a greeting")
        claudex.write_plan()
        reason = claudex.stop().reason or ""
        assert claudex.says("phase", "round") == ("reviewing", "1")
        assert reason.startswith("## "), "Markdown"
        for part in (claudex.runner(), claudex.findings(1), "## Changelog", f"claudex mark-done {claudex.id}"):
            assert str(part) in reason
        claudex.run_runner()
        prompt = fake_codex.calls[0].stdin
        for part in ("adversarial", "## High\n- ", "## Medium\n- ", "## Low\n- ", "\nNo substantive findings.\n"):
            assert part in prompt
        assert f".claude/claudex/{claudex.id}/findings-round-1.md" in prompt
        assert "a greeting" in prompt

    def test_a_block_names_only_its_own_rounds_findings(self, claudex: Claudex) -> None:
        claudex.start()
        claudex.write_plan()
        for round_ in (1, 2, 3):
            reason = claudex.stop().reason or ""
            assert set(re.findall(r"findings-round-(\d+)", reason)) == {str(round_)}
            assert set(re.findall(r"findings-round-(\d+)", claudex.runner().read_text())) == {str(round_)}

    def test_the_command_in_a_block_works_without_installation(self, claudex: Claudex) -> None:
        claudex.start()
        claudex.write_plan()
        (command,) = re.findall(r"```sh\n(.*mark-done.*)\n```", claudex.stop().reason or "")
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=claudex.root,
            env=claudex.project.env,
            capture_output=True,
            check=False,
            timeout=30,
        )
        assert done.returncode == 0, done.stderr
        assert claudex.says("phase", "decision_signal") == ("done", "no-material-findings")

    def test_no_material_findings_end_it(self, claudex: Claudex) -> None:
        claudex.write_state(phase="reviewing", decision_signal="no-material-findings")
        claudex.write_plan()
        claudex.runner(ID).write_text("")
        assert claudex.stop().json == APPROVE
        assert claudex.says("phase", "decision_signal") == ("done", "no-material-findings")
        assert not claudex.runner().exists()

    def test_the_last_round(self, claudex: Claudex) -> None:
        claudex.start("x", "--rounds", "2")
        claudex.write_plan()
        assert_blocked(claudex.stop(), "round 1 of 2")
        assert_blocked(claudex.stop(), "round 2 of 2")
        assert claudex.stop().json == APPROVE
        assert claudex.says("phase", "round", "decision_signal") == ("done", "2", "max-reached")
        assert "APPROVE: max-reached" in claudex.log[-1]
        assert not claudex.runner().exists()

    def test_done_cleans_up(self, claudex: Claudex) -> None:
        claudex.write_state(phase="done", decision_signal="no-material-findings")
        findings = claudex.write_findings(1)
        for name in ("-runner.sh", "-prompt.txt", ".lock"):
            (claudex.directory / f"{ID}{name}").touch()
        assert claudex.stop().json == APPROVE
        left = sorted(path.name for path in claudex.directory.iterdir())
        assert left == [ID, f"{ID}.state", "log"]
        assert findings.exists()

    @pytest.mark.parametrize("phase", ["summarizing", "", "DONE", "$(touch pwned)"])
    def test_any_other_phase(self, claudex: Claudex, phase: str) -> None:
        path = claudex.write_state(phase=phase)
        before = path.read_bytes()
        claudex.runner(ID).touch()
        assert claudex.stop().json == APPROVE
        assert claudex.log[-1].endswith(f"APPROVE: unknown phase '{phase}'")
        assert path.read_bytes() == before
        assert claudex.runner().exists()


class Test10ReviewMode:
    def test_it_blocks_once(self, claudex: Claudex, fake_codex: FakeCli) -> None:
        fake_codex.reviews("FAIL")
        claudex.start_review()
        assert claudex.says("mode", "phase") == ("review", "reviewing")
        result = claudex.stop()
        assert_blocked(result, "review starting")
        assert str(claudex.runner()) in (result.reason or "")
        assert claudex.says("phase") == ("done",)
        claudex.run_runner()
        for name in (f"reviews/review-{claudex.id}.md", f"reviews/proposed-fixes-{claudex.id}.md"):
            assert name in fake_codex.calls[0].stdin
            assert name in (result.reason or "")
        assert "current diff" in fake_codex.calls[0].stdin
        assert claudex.stop().json == APPROVE
        assert not claudex.runner().exists()
        assert not claudex.prompt_file().exists()

    def test_from_a_client_also_after_another_block(self, claudex: Claudex) -> None:
        claudex.start_review()
        assert_blocked(claudex.client_stop(active=True), "review starting")
        assert claudex.client_stop(active=True).json == APPROVE


class Test11MarkDone:
    def test_one_write(self, claudex: Claudex) -> None:
        claudex.write_state(phase="reviewing", round="2")
        before = claudex.state
        assert claudex.run("mark-done", ID).returncode == 0
        changed = {key for key, value in claudex.state.items() if before.get(key) != value}
        assert changed == {"phase", "decision_signal", "last_updated_at", "left_open", "told", "ended_at_epoch"}
        assert sorted(path.name for path in claudex.directory.iterdir()) == [f"{ID}.state", "log"]

    @pytest.mark.parametrize(
        "words", [[], [""], ["nonsense"], [f"{ID}\n"], [f"../{ID}"], ["20260426-094523-ffffff"], [f"{ID}; touch pwned"]]
    )
    def test_a_wrong_id_changes_nothing(self, claudex: Claudex, words: list[str]) -> None:
        path = claudex.write_state(phase="reviewing")
        before = path.read_bytes()
        assert claudex.run("mark-done", *words).returncode == 2
        assert path.read_bytes() == before
        assert [p.name for p in claudex.directory.iterdir()] == [path.name]

    def test_the_reviewer_itself_may_not(self, claudex: Claudex) -> None:
        claudex.write_state(phase="reviewing")
        assert claudex.run("mark-done", ID, env={"TASKIE_HOOK_SKIP": "1"}).returncode == 1
        assert claudex.says("phase") == ("reviewing",)

    def test_a_finished_loop_stays_as_it_is(self, claudex: Claudex) -> None:
        path = claudex.write_state(phase="done", decision_signal="max-reached")
        before = path.read_bytes()
        done = claudex.run("mark-done", ID)
        assert (done.returncode, path.read_bytes()) == (0, before)
        assert "already done" in done.stdout


def test_loading_nothing(tmp_path: Path) -> None:
    assert load_all(str(tmp_path / "missing")) == ([], [])
