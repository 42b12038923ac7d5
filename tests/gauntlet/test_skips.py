"""A person passes over a failure: recorded, told with every run, never silent, and not for an agent."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import time
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from taskie.gauntlet import lock, skips

from .gates import TASKIE, Gauntlet

REASON = "the flaky server is being repaired"


def typed(gauntlet: Gauntlet, *words: str, answer: str = "y\n", env: dict[str, str] | None = None) -> tuple[int, str]:
    """The command in a terminal of its own, where this is typed."""
    main, side = pty.openpty()
    environment = {**gauntlet.project.env, **gauntlet.env, **(env or {})}
    command = [*TASKIE, "gauntlet", *words]
    with subprocess.Popen(command, cwd=gauntlet.path, env=environment, stdin=side, stdout=side, stderr=side) as process:
        os.close(side)
        os.write(main, answer.encode())
        shown = b""
        try:
            while chunk := os.read(main, 65536):
                shown += chunk
        except OSError:
            pass  # the other side is closed
        code = process.wait(30)
    os.close(main)
    return code, shown.decode().replace("\r\n", "\n")


def skip(gauntlet: Gauntlet, *words: str) -> str:
    code, shown = typed(gauntlet, "skip", "lint", "--reason", REASON, *words)
    assert code == 0, shown
    return shown


def files(gauntlet: Gauntlet) -> list[Path]:
    return [*(gauntlet.path / ".git" / "taskie" / "gauntlet").glob("*.skips")]


def recorded(gauntlet: Gauntlet) -> list[dict[str, str]]:
    (path,) = files(gauntlet)
    found: list[dict[str, str]] = json.loads(path.read_text())["content"]["skips"]
    return found


@pytest.fixture
def failed(failing: Gauntlet) -> Gauntlet:
    failing.check("other", "true")
    assert failing.stop().json["status"] == "failed"
    return failing


class TestSkipped:
    def test_the_stop_is_allowed_and_says_so_each_time(self, failed: Gauntlet) -> None:
        skip(failed)
        for change in (None, None, "another", None):
            if change:
                failed.write(change, "")
            answer = failed.stop().json
            assert (answer["decision"], answer["status"]) == ("approve", "passed_with_warnings")
            assert "check:.:lint fails and is skipped by " in answer["systemMessage"]
            assert REASON in answer["systemMessage"]
            assert REASON in failed.unified_stop().json["systemMessage"]

    def test_what_is_recorded(self, failed: Gauntlet) -> None:
        shown = skip(failed, "--hours", "2")
        (made,) = recorded(failed)
        assert made.pop("by")
        assert (made["gate"], made["branch"], made["reason"]) == ("check:.:lint", "work", REASON)
        assert made["at"] < made["until"]
        assert "Skip check:.:lint on work until it passes, at most until" in shown
        assert REASON in failed.run("skip", "--list").stdout
        assert "failing, skipped by a person: check:.:lint" in failed.run("status").stdout

    def test_for_a_day_unless_it_says_otherwise(self, failed: Gauntlet) -> None:
        skip(failed)
        (made,) = recorded(failed)
        began, ends = (datetime.strptime(made[name], "%Y-%m-%dT%H:%M:%SZ") for name in ("at", "until"))
        assert timedelta(hours=24) - timedelta(minutes=1) < ends - began <= timedelta(hours=24)

    def test_the_gate_is_still_run_and_the_others_count(self, failed: Gauntlet) -> None:
        skip(failed)
        done = failed.run()
        assert done.exit_code == 0
        assert "WARN  check:.:lint" in done.stdout
        assert "1 gate passed; failed and skipped by a person: check lint." in done.stdout
        failed.check("other", "false")
        answer = failed.stop().json
        assert answer["status"] == "failed"
        assert "check:.:other" in answer["reason"]
        assert "check:.:lint: exit code" not in answer["reason"]

    def test_it_ends_when_the_gate_passes(self, failed: Gauntlet) -> None:
        skip(failed)
        (failed.path / "bad").unlink()
        failed.write("good", "")
        answer = failed.stop().json
        assert answer["status"] == "passed"
        assert "check:.:lint passes again, so it is no longer skipped" in answer["systemMessage"]
        assert recorded(failed) == []
        failed.write("bad", "")
        assert failed.stop().json["status"] == "failed"

    def test_it_ends_with_its_time(self, failed: Gauntlet, monkeypatch: pytest.MonkeyPatch) -> None:
        skip(failed, "--hours", "1")
        assert failed.stop().json["decision"] == "approve"
        now = time.time()
        later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(now + 3700))
        monkeypatch.setattr(skips, "timestamp", lambda: later)
        assert failed.stop().json["status"] == "failed"

    def test_unskip(self, failed: Gauntlet) -> None:
        skip(failed)
        assert failed.stop().json["decision"] == "approve"
        assert failed.run("unskip", "lint").stdout == "No longer skipped: check:.:lint.\n"
        assert failed.stop().json["status"] == "failed"
        assert failed.run("skip", "--list").stdout == "No gate is skipped on work.\n"
        done = failed.run("unskip", "lint")
        assert (done.exit_code, "is not skipped on work" in done.stderr) == (1, True)

    def test_another_branch_is_not_skipped(self, failed: Gauntlet) -> None:
        skip(failed)
        failed.project.git("checkout", "-q", "-b", "elsewhere")
        assert failed.stop().json["status"] == "failed"

    def test_hiding_the_change_does_not_clear_it(self, failed: Gauntlet) -> None:
        """What is passed over is not forgotten with the change that it was about."""
        skip(failed)
        assert failed.stop().json["decision"] == "approve"
        failed.settle()
        failed.run("unskip", "lint")
        assert failed.stop().json["status"] == "failed"

    def test_it_is_run_whatever_has_changed(self, gauntlet: Gauntlet) -> None:
        """So that its pass is noticed, also where the change that it was about is in the base by now."""
        gauntlet.check("lint", "test ! -e bad", glob="bad")
        gauntlet.settle()
        gauntlet.write("bad", "")
        assert gauntlet.stop().json["status"] == "failed"
        skip(gauntlet)
        assert gauntlet.stop().json["status"] == "passed_with_warnings"
        for name in ("one", "two"):
            gauntlet.settle()
            gauntlet.write(name, "")
            assert "failed and skipped by a person: check lint" in gauntlet.stop().json["message"]

    def test_it_begins_no_interval(self, failed: Gauntlet) -> None:
        failed.configure(stop_hook={"run_interval_minutes": 10})
        skip(failed)
        assert failed.stop().json["status"] == "passed_with_warnings"

    def test_after_the_limit(self, failing: Gauntlet) -> None:
        failing.configure(max_retries=0)
        assert failing.stop().json["status"] == "retry_limit_exceeded"
        skip(failing)
        assert failing.stop().json["status"] == "passed_with_warnings"


class TestRefused:
    @pytest.mark.parametrize("name", ["CLAUDECODE", "CODEX_SANDBOX", "GEMINI_CLI", "TASKIE_AGENT_RUN"])
    def test_an_agent(self, failed: Gauntlet, name: str) -> None:
        code, shown = typed(failed, "skip", "lint", "--reason", REASON, env={name: "1"})
        assert code == 1
        assert f"only a person may skip a gate, and {name} says that an agent runs this" in shown
        assert files(failed) == []

    def test_while_a_run_is_in_progress(self, failed: Gauntlet) -> None:
        """It writes the same files."""
        held = lock.take(str(failed.logs))
        code, shown = typed(failed, "skip", "lint", "--reason", REASON)
        assert code == 1
        assert "a run is in progress; try again when it has ended" in shown
        assert files(failed) == []
        assert held is not None
        lock.release(str(failed.logs), held)
        skip(failed)

    def test_without_a_terminal(self, failed: Gauntlet) -> None:
        done = failed.process_run("skip", "lint", "--reason", REASON)
        assert done.returncode == 1
        assert "run this in a terminal" in done.stderr
        assert files(failed) == []

    @pytest.mark.parametrize("answer", ["n\n", "\n", "lint\n", "\x04"])
    def test_another_answer_than_yes(self, failed: Gauntlet, answer: str) -> None:
        code, shown = typed(failed, "skip", "lint", "--reason", REASON, answer=answer)
        assert (code, "nothing is skipped" in shown) == (1, True)
        assert files(failed) == []

    @pytest.mark.parametrize(
        ("words", "code", "told"),
        [
            ([], 2, "say which gate, and why"),
            (["lint"], 2, "say which gate, and why"),
            (["lint", "--reason", "  "], 2, "say which gate, and why"),
            (["lint", "--reason", "x", "--hours", "0"], 2, "--hours must be"),
            (["lint", "--reason", "x", "--hours", "nan"], 2, "--hours must be"),
            (["other", "--reason", "x"], 1, "other has not failed in the last run"),
            (["nothing", "--reason", "x"], 1, "failing: check:.:lint"),
        ],
    )
    def test_wrong_words(self, failed: Gauntlet, words: list[str], code: int, told: str) -> None:
        ended, shown = typed(failed, "skip", *words)
        assert (ended, told in shown) == (code, True), shown
        assert files(failed) == []

    @pytest.mark.parametrize("text", ["not JSON", "[]", '{"skips": 3}', ""])
    def test_a_spoiled_file_skips_nothing(self, failed: Gauntlet, text: str) -> None:
        skip(failed)
        files(failed)[0].write_text(text)
        failed.write("more", "")
        answer = failed.stop().json
        assert answer["status"] == "failed"
        assert "so no gate is skipped" in answer["systemMessage"]

    @pytest.mark.parametrize("changed", ["gate", "until", "reason", "by"])
    def test_one_that_was_written_by_hand_shows(self, failed: Gauntlet, changed: str) -> None:
        """Sealed as the verdicts are."""
        skip(failed)
        (path,) = files(failed)
        whole = json.loads(path.read_text())
        whole["content"]["skips"][0][changed] += "x"
        path.write_text(json.dumps(whole))
        answer = failed.stop().json
        assert answer["status"] == "failed"
        assert "was not written by Taskie for this working tree, so no gate is skipped" in answer["systemMessage"]

    def test_one_of_the_future_does_not_hold_yet(self, failed: Gauntlet, monkeypatch: pytest.MonkeyPatch) -> None:
        skip(failed)
        monkeypatch.setattr(skips, "timestamp", lambda: "1999-01-01T00:00:00Z")
        assert failed.stop().json["status"] == "failed"


def test_a_worktree_has_its_own(failed: Gauntlet, tmp_path: Path) -> None:
    """What is skipped here passes here: another worktree with the same files has to pass by itself."""
    skip(failed)
    failed.commit()
    assert failed.stop().json["status"] == "passed_with_warnings"
    other = tmp_path / "second"
    failed.project.git("worktree", "add", "-q", "-b", "second", str(other))
    assert failed.run("skip", "--list", cwd=other).stdout == "No gate is skipped on second.\n"
    assert failed.stop(cwd=str(other)).json["status"] == "failed"
    assert REASON in failed.run("skip", "--list").stdout
