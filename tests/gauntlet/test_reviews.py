"""Reviews: who is asked and what, how the answer is read, and what the agent's own answers mean. No model is called."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from pytest_taskie import FakeCli, assert_approved, assert_blocked

from .gates import Gauntlet
from .reviewing import ANSWERS, FAIL, ISSUE, PASS, USELESS, client


def status(gauntlet: Gauntlet, *, active: bool = False) -> str:
    return str(gauntlet.stop(active=active).json["status"])


class TestTheQuestion:
    def test_claude(self, reviewed: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs(client(PASS))
        assert status(reviewed) == "passed"
        (call,) = fake_claude.calls
        assert "Look for mistakes in quality." in call.stdin
        assert "+x = 1" in call.stdin
        assert call.flags["--tools"] == ["Read,Grep,Glob"]
        assert call.flags["--permission-mode"] == "dontAsk"
        assert json.loads(call.flags["--settings"]) == {"disableAllHooks": True}
        assert call.flags["--no-session-persistence"] is True
        assert call.flags["--setting-sources"] == "user"
        assert "--disallowedTools" not in call.flags
        assert "--dangerously-skip-permissions" not in call.argv
        assert call.env["TASKIE_HOOK_SKIP"] == "1"
        assert call.cwd == reviewed.path

    def test_codex(self, gauntlet: Gauntlet, fake_codex: FakeCli) -> None:
        gauntlet.review("quality", cli_preference=["codex"], model="o9")
        fake_codex.outputs(json.dumps(PASS))
        assert status(gauntlet) == "passed"
        (call,) = fake_codex.calls
        assert call.argv[0] == "exec"
        assert call.flags["--sandbox"] == "read-only"
        assert call.model == "o9"
        assert "Look for mistakes" in call.stdin
        assert call.env["TASKIE_HOOK_SKIP"] == "1"

    def test_any_command(self, gauntlet: Gauntlet) -> None:
        gauntlet.write("mine", "x\n")
        gauntlet.configure(
            cli={"default_preference": ["mine"], "commands": {"mine": f"cat > seen; echo '{json.dumps(FAIL)}'"}}
        )
        gauntlet.review("quality")
        assert_blocked(gauntlet.stop(), "x is not used")
        assert "new file" in (gauntlet.path / "seen").read_text()
        assert (gauntlet.logs / "review_._quality_mine@1.1.json").exists()

    def test_an_older_client(self, reviewed: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.rejects("--no-session-persistence", "--settings").outputs(client(PASS))
        assert status(reviewed) == "passed"
        assert [("--settings" in call.argv) for call in fake_claude.calls] == [True, True, False]

    def test_a_project_can_deny_it_more_and_allow_it_nothing(self, reviewed: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs(client(PASS))
        said = {"allow": ["mcp__theirs"], "deny": ["Read(./.env)", "--model"], "ask": ["Grep"]}
        reviewed.write(".claude/settings.json", json.dumps({"permissions": said}))
        assert status(reviewed) == "passed"
        (call,) = fake_claude.calls
        assert call.flags["--allowedTools"] == ["Read,Grep,Glob"]
        assert call.flags["--disallowedTools"] == ["Read(./.env),Grep"]

    def test_a_client_that_cannot_leave_the_projects_settings_out(
        self, reviewed: Gauntlet, fake_claude: FakeCli
    ) -> None:
        fake_claude.rejects("--setting-sources").outputs(client(PASS))
        result = reviewed.stop()
        assert result.json["status"] == "passed"
        assert "the project's own settings may allow the reviewer more" in result.json["systemMessage"]
        assert ["--setting-sources" in call.flags for call in fake_claude.calls] == [True, False]

    def test_several_reviewers_take_turns(self, gauntlet: Gauntlet, fake_claude: FakeCli, fake_codex: FakeCli) -> None:
        gauntlet.review("quality", num_reviews=3, cli_preference=["claude", "codex"])
        fake_claude.outputs(client(PASS), client(PASS))
        fake_codex.outputs(json.dumps(PASS))
        assert status(gauntlet) == "passed"
        assert [name for name in gauntlet.files("previous") if name.endswith(".json")] == [
            "review_._quality_claude@1.1.json",
            "review_._quality_claude@3.1.json",
            "review_._quality_codex@2.1.json",
        ]

    def test_one_that_is_installed_is_chosen(self, gauntlet: Gauntlet, fake_codex: FakeCli) -> None:
        gauntlet.review("quality")
        fake_codex.outputs(json.dumps(PASS))
        assert status(gauntlet) == "passed"

    def test_only_the_files_of_the_entry(self, gauntlet: Gauntlet, fake_claude: FakeCli) -> None:
        gauntlet.review("quality")
        gauntlet.configure(entry_points=[{"path": "src", "reviews": ["quality"], "exclude": ["src/gen"]}])
        gauntlet.settle()
        for name in ("src/a.py", "src/gen/b.py", "other/c.py"):
            gauntlet.write(name, f"{name}\n")
        fake_claude.outputs(client(PASS))
        assert status(gauntlet) == "passed"
        assert "+src/a.py" in fake_claude.calls[0].stdin
        assert "b.py" not in fake_claude.calls[0].stdin
        assert "c.py" not in fake_claude.calls[0].stdin


class TestTheAnswer:
    @pytest.mark.parametrize("shape", ANSWERS)
    def test_every_shape(self, reviewed: Gauntlet, fake_claude: FakeCli, shape: str) -> None:
        fake_claude.outputs(ANSWERS[shape])
        assert_blocked(reviewed.stop(), r"\[high\] code.py:1: x is not used Fix: remove it")
        (violation,) = json.loads(reviewed.violations().read_text())["violations"]
        assert violation == {**ISSUE, "status": "new", "result": None}

    @pytest.mark.parametrize("shape", USELESS)
    def test_useless(self, reviewed: Gauntlet, fake_claude: FakeCli, shape: str) -> None:
        fake_claude.outputs(USELESS[shape])
        result = reviewed.stop()
        assert_approved(result, "nothing is proven")
        assert result.json["status"] == "infrastructure_error"

    def test_a_failing_reviewer(self, reviewed: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs(client(PASS)).exits(3)
        assert_approved(reviewed.stop(), "claude ended with exit code 3: claude: ends with 3")

    def test_a_slow_reviewer(self, gauntlet: Gauntlet, fake_claude: FakeCli) -> None:
        gauntlet.review("quality", timeout=0.2)
        fake_claude.delays(60).repeats()
        assert_approved(gauntlet.stop(), "claude took longer than 0.2 s")

    def test_no_reviewer(self, reviewed: Gauntlet) -> None:
        result = reviewed.stop()
        assert_approved(result, "no reviewer is installed: claude not found on PATH")
        assert result.json["status"] == "infrastructure_error"

    @pytest.mark.parametrize("entry", [".", "", "bin"])
    def test_a_program_of_the_project_is_no_reviewer(
        self, reviewed: Gauntlet, fake_claude: FakeCli, entry: str
    ) -> None:
        """Wherever PATH looks first."""
        own = reviewed.write(f"{entry or '.'}/claude", f"#!/bin/sh\ntouch ran\necho '{client(PASS)}'\n")
        own.chmod(0o755)
        reviewed.project.env["PATH"] = f"{entry}{os.pathsep}{reviewed.project.env['PATH']}"
        fake_claude.outputs(client(FAIL))
        assert_blocked(reviewed.stop(), "x is not used")
        assert not (reviewed.path / "ran").exists()

    def test_a_true_failure_beside_it_counts(self, reviewed: Gauntlet, fake_claude: FakeCli) -> None:
        reviewed.review("safety", cli_preference=["codex"])
        fake_claude.outputs(client(FAIL))
        assert_blocked(reviewed.stop(), "Not proven: no reviewer is installed")


class TestTheAgentsAnswers:
    @pytest.fixture
    def blocked(self, reviewed: Gauntlet, fake_claude: FakeCli) -> Gauntlet:
        fake_claude.outputs(client(FAIL))
        assert status(reviewed) == "failed"
        return reviewed

    def test_nobody_touched_it(self, blocked: Gauntlet, fake_claude: FakeCli) -> None:
        assert status(blocked, active=True) == "failed"
        assert status(blocked) == "failed"
        blocked.commit()
        assert status(blocked) == "failed"
        assert len(fake_claude.calls) == 1, "a new violation on the same tree fails without asking anybody"
        assert "nothing has changed since it failed" in (blocked.logs / "console.2.log").read_text()

    def test_fixed(self, blocked: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs(client(PASS))
        blocked.write("code.py", "print()\n")
        blocked.answer(status="fixed", result="removed it")
        assert status(blocked, active=True) == "passed"
        asked = fake_claude.calls[1].stdin
        assert "x is not used" in asked
        assert "removed it" in asked

    def test_fixed_without_a_change_is_asked_again(self, blocked: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs(client(FAIL))
        blocked.answer(status="fixed", result="believe me")
        assert status(blocked, active=True) == "failed"
        assert len(fake_claude.calls) == 2
        assert json.loads(blocked.violations().read_text())["violations"][0]["status"] == "new"

    def test_code_changed_but_unanswered(self, blocked: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs(client(PASS))
        blocked.write("code.py", "print()\n")
        assert status(blocked, active=True) == "passed"
        assert "x is not used" in fake_claude.calls[1].stdin

    @pytest.mark.parametrize("result", [None, "", "  ", 5])
    def test_skipped_without_a_reason(self, blocked: Gauntlet, fake_claude: FakeCli, result: Any) -> None:
        blocked.answer(status="skipped", result=result)
        assert status(blocked, active=True) == "failed"
        assert len(fake_claude.calls) == 1

    def test_skipped(self, blocked: Gauntlet, fake_claude: FakeCli) -> None:
        blocked.answer(status="skipped", result="used by a plugin")
        assert status(blocked, active=True) == "passed_with_warnings"
        assert len(fake_claude.calls) == 1

    def test_skipped_is_carried_on_for_this_branch(self, blocked: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs(client(FAIL), client(FAIL), client(FAIL))
        blocked.answer(status="skipped", result="used by a plugin")
        assert status(blocked, active=True) == "passed_with_warnings"
        blocked.write("code.py", "x = 2\n")
        assert status(blocked) == "passed_with_warnings"
        assert "settled" in fake_claude.calls[1].stdin
        blocked.project.git("checkout", "-q", "-b", "other", "main")
        blocked.write("code.py", "x = 3\n")
        blocked.commit()
        blocked.project.git("checkout", "-q", "-f", "work")
        blocked.write("code.py", "x = 4\n")
        blocked.commit()
        assert status(blocked) == "passed_with_warnings"
        blocked.project.git("checkout", "-q", "-f", "other")
        assert status(blocked) == "failed"

    def test_a_new_one_beside_a_carried_one(self, blocked: Gauntlet, fake_claude: FakeCli) -> None:
        blocked.answer(status="skipped", result="used by a plugin")
        another = {**ISSUE, "issue": "another one"}
        fake_claude.outputs(client({"status": "fail", "violations": [ISSUE, another]}))
        blocked.write("code.py", "x = 2\n")
        result = blocked.stop(active=True)
        assert_blocked(result, "another one")
        assert "x is not used" not in result.json["reason"]

    @pytest.mark.parametrize("how", ["delete the file", "empty it", "no violations", "no gate"])
    def test_violations_cannot_be_taken_away(self, blocked: Gauntlet, fake_claude: FakeCli, how: str) -> None:
        path = blocked.violations()
        content = json.loads(path.read_text())
        if how == "delete the file":
            path.unlink()
        elif how == "empty it":
            path.write_text("")
        else:
            content["violations" if how == "no violations" else "gate"] = []
            path.write_text(json.dumps(content))
        assert status(blocked, active=True) == "failed"
        assert len(fake_claude.calls) == 1

    def test_nonsense_in_the_file(self, blocked: Gauntlet, fake_claude: FakeCli) -> None:
        blocked.answer(status="done", result={"a": 1})
        assert status(blocked, active=True) == "failed"


def test_review_command(reviewed: Gauntlet, fake_claude: FakeCli) -> None:
    reviewed.check("lint", "false")
    fake_claude.outputs(client(PASS), client(PASS))
    assert reviewed.run("review").exit_code == 0
    assert reviewed.run("review", "quality").exit_code == 0
    assert reviewed.run("review", "nothing").exit_code == 2
    assert "check:.:lint" not in reviewed.state["gates"]


def test_the_schema_of_an_answer_asks_for_what_is_needed(reviewed: Gauntlet, fake_claude: FakeCli) -> None:
    fake_claude.outputs(client(PASS))
    reviewed.stop()
    argv = fake_claude.calls[0].argv
    schema = json.loads(argv[argv.index("--json-schema") + 1])
    assert schema["required"] == ["status", "violations"]
    assert schema["properties"]["violations"]["items"]["required"] == ["file", "issue"]
