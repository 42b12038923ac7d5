"""What the unified hook does with what a repository brings, before and after the user has trusted it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from support import HOOK

from pytest_taskie import Events, Project, RunHook
from taskie import trust
from taskie.gauntlet.brought import brought

from .checkouts import CONFIG, Checkout, check

RULE = ".gauntlet/checks/test.yml"
ASKED = "you have not trusted"


def claudex_state(root: Path) -> str:
    fields = {
        "mode": "plan", "phase": "drafting", "topic": '"evil"', "round": "1", "max_rounds": "3",
        "review_id": "20990101-000000-aaaaaa", "repo_root": str(root), "session_id": "", "decision_signal": "none",
    }  # fmt: skip
    return "".join(f"{key}: {value}\n" for key, value in fields.items())


class TestAClone:
    def test_its_gates_are_not_run(self, clone: Checkout) -> None:
        clone.write("bad", "")
        result = clone.stop()
        assert not result.continues
        assert clone.ran == []
        told = str(result.system_message)
        assert "\n" not in told
        assert told.startswith("Taskie: this project brings commands that you have not trusted")
        assert "gauntlet (.gauntlet/config.yml, .gauntlet/checks/test.yml)" in told
        assert "trust --show` shows them" in told
        assert not (clone.path / "gauntlet_logs").exists()

    @pytest.mark.parametrize("setting", ["core.fsmonitor", "filter.evil.clean"])
    def test_no_program_of_its_git_configuration_is_run(self, clone: Checkout, setting: str) -> None:
        """An archive has a `.git/config` of somebody else's, by which `git status` runs programs."""
        clone.write("tool", f"#!/bin/sh\necho {setting} >> {clone.path}/ran\ncat\n", 0o755)
        clone.write(".git/info/attributes", "* filter=evil\n")
        clone.git("config", setting, str(clone.path / "tool"))
        clone.write(".gitignore", "ran\ngauntlet_logs/\nchanged/\n")
        assert ASKED in clone.message()
        assert clone.ran == []

    def test_after_the_word_they_run_and_block(self, clone: Checkout) -> None:
        clone.trust()
        clone.write("bad", "")
        assert clone.stop().continues
        assert clone.ran == ["one"]

    def test_a_claudex_state_blocks_nothing(self, theirs: Checkout) -> None:
        theirs.write(".claude/claudex/20990101-000000-aaaaaa.state", claudex_state(theirs.path))
        theirs.git("rm", "-q", "-r", ".gauntlet")
        result = theirs.stop()
        assert not result.continues
        assert "claudex (.claude/claudex/20990101-000000-aaaaaa.state)" in str(result.system_message)
        assert [each.suffix for each in (theirs.path / ".claude" / "claudex").iterdir()] == [".state"]
        theirs.trust()
        assert theirs.stop().continues

    def test_an_autopilot_state_blocks_nothing(self, theirs: Checkout, tmp_path: Path) -> None:
        assert theirs.taskie("autopilot", "init", "spec", "spec.md").code == 0
        assert (
            theirs.taskie("autopilot", "plan", '[{"id": 1, "name": "evil"}]', "--test-command", "./evil.sh").code == 0
        )
        theirs.git("rm", "-q", "-r", ".gauntlet")
        theirs.git("add", "-A")
        theirs.git("commit", "-q", "-m", "a state")
        theirs.git("clone", "-q", str(theirs.path), str(tmp_path / "clone"))
        clone = theirs.at(tmp_path / "clone")
        result = clone.stop()
        assert not result.continues
        assert "autopilot (autopilot-state.json)" in str(result.system_message)
        clone.trust()
        assert clone.stop().continues

    def test_one_line_for_all_engines(self, clone: Checkout) -> None:
        clone.write(".claude/claudex/20990101-000000-aaaaaa.state", claudex_state(clone.path))
        told = clone.message()
        assert "\n" not in told
        assert "gauntlet (" in told
        assert "; claudex (" in told
        assert told.count("/taskie:trust ") == 1

    @pytest.mark.state
    def test_a_plan_needs_no_trust(self, project: Project, run_hook: RunHook, events: Events) -> None:
        project.env.pop("TASKIE_TRUST")
        project.make_plan().state.write(phase="complete", next_phase=None)
        result = run_hook(events.stop(), command=[HOOK, "--fail-open"])
        assert result == {"suppressOutput": True}

    def test_the_other_engines_still_answer(self, clone: Checkout) -> None:
        """A plan's own message stands beside the line."""
        (clone.path / ".taskie" / "plans" / "p").mkdir(parents=True)
        (clone.path / ".taskie" / "plans" / "p" / "plan.md").write_text("# Plan\n")
        told = clone.message()
        assert ASKED in told
        assert "state.json" in told


class TestConsent:
    """Whoever names an engine has said so; so has whoever sets the variable."""

    def test_an_engines_own_hook(self, clone: Checkout, run_hook: RunHook, events: Events) -> None:
        done = run_hook(
            events.stop(cwd=str(clone.path)),
            command=[clone.env["TASKIE_PYTHON"], HOOK.parents[1] / "bin" / "taskie", "gauntlet", "stop-hook"],
            cwd=clone.path,
        )  # fmt: skip
        assert done.json["status"] == "passed"
        assert clone.ran == ["one"]

    def test_a_run_by_hand(self, clone: Checkout) -> None:
        assert clone.taskie("gauntlet", "run").code == 0
        assert clone.ran == ["one"]
        assert clone.records == []

    def test_the_variable(self, clone: Checkout) -> None:
        assert ASKED not in clone.message(TASKIE_TRUST="1")
        assert clone.ran == ["one"]
        assert clone.records == []

    @pytest.mark.parametrize("value", ["0", "", "true", "yes"])
    def test_another_value(self, clone: Checkout, value: str) -> None:
        assert ASKED in clone.message(TASKIE_TRUST=value)

    @pytest.mark.parametrize("name", ["settings.json", "settings.local.json"])
    def test_the_variable_of_a_projects_settings(self, clone: Checkout, name: str) -> None:
        clone.write(f".claude/{name}", json.dumps({"env": {"TASKIE_TRUST": "1"}}))
        assert ASKED in clone.message(TASKIE_TRUST="1")
        assert clone.ran == []

    def test_a_configuration_directory_in_the_clone(self, clone: Checkout) -> None:
        """A clone that knows where it will be brings the record along, and says that it is the user's."""
        clone.trust()
        inside = clone.path / "config"
        shutil.copytree(clone.records[0].parents[2], inside)
        clone.taskie("untrust")
        told = clone.message(XDG_CONFIG_HOME=str(inside))
        assert ASKED in told
        assert "lies in the project" in told
        assert clone.ran == []


class TestOtherEvents:
    @pytest.fixture
    def brought(self, theirs: Checkout, tmp_path: Path) -> Checkout:
        assert theirs.taskie("autopilot", "init", "spec", "spec.md").code == 0
        theirs.git("add", "-A")
        theirs.git("commit", "-q", "-m", "a state")
        theirs.git("clone", "-q", str(theirs.path), str(tmp_path / "clone"))
        return theirs.at(tmp_path / "clone")

    def test_the_guard_denies_without_trust(self, brought: Checkout, run_hook: RunHook, events: Events) -> None:
        event = {**events.pre_tool_use("Write", file_path=brought.path / "src" / "a.py"), "cwd": str(brought.path)}
        given = {"CLAUDE_PROJECT_DIR": str(brought.path)}
        denied = run_hook(event, command=[HOOK, "--pre-tool-use"], cwd=brought.path, env=given)
        assert denied.json["hookSpecificOutput"]["permissionDecision"] == "deny"

    def test_a_reviewers_answer_is_not_recorded(self, brought: Checkout, run_hook: RunHook) -> None:
        before = (brought.path / "autopilot-state.json").read_bytes()
        event = {
            "hook_event_name": "SubagentStop", "cwd": str(brought.path), "session_id": "x", "stop_hook_active": False,
            "agent_type": "taskie:code-quality", "agent_id": "a", "last_assistant_message": '{"status": "approved"}',
        }  # fmt: skip
        given = {"CLAUDE_PROJECT_DIR": str(brought.path)}
        silent = run_hook(event, command=[HOOK, "--subagent-stop"], cwd=brought.path, env=given)
        assert silent == {"suppressOutput": True}
        assert (brought.path / "autopilot-state.json").read_bytes() == before


class TestTheBase:
    """Rules that are not in the working tree: those of the base commit, if they are the ones that hold."""

    def test_they_are_asked_about_too(self, theirs: Checkout, tmp_path: Path) -> None:
        theirs.write(".gauntlet/config.yml", CONFIG + "rules_from: base\n")
        theirs.commit(RULE, check("evil"), "what the clone's own files do not show")
        theirs.write(".gauntlet/config.yml", CONFIG.replace("before", "main"))
        theirs.git("checkout", "-q", "-b", "work")
        theirs.commit(RULE, check("harmless"))
        theirs.git("clone", "-q", "--branch", "work", str(theirs.path), str(tmp_path / "clone"))
        clone = theirs.at(tmp_path / "clone")
        # What the hook itself looks at is trusted, and the base is not yet.
        trust.add(str(clone.path), clone.env, {"gauntlet": brought(str(clone.path))})
        told = clone.message()
        assert clone.ran == []
        assert "not trusted the rules of the base commit" in told
        shown = clone.taskie("trust", "--show").out
        assert "evil" in shown
        assert "harmless" in shown
