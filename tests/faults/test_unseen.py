"""A disk that does not say whether something is there: nobody takes it for missing, and then for what is not there."""

from __future__ import annotations

import errno
import json

import pytest
from support import HOOK
from support.commands import Ran, run_process
from support.faulty import Faulty

from faults.conftest import CheckedHook
from pytest_taskie import Events, FakeCli, Plan, Project, RunHook, assert_blocked

EIO = errno.EIO
UNSEEN = "cannot be read (Input/output error)"


def taskie(project: Project, *words: str, **more: str) -> Ran:
    return run_process(words, cwd=project.path, env={**project.env, **more})


def test_your_configuration(checked_hook: CheckedHook, plan: Plan, project: Project, faulty: Faulty) -> None:
    plan.state.write(phase="complete", next_phase=None)
    mine = project.home / ".config" / "taskie" / "config.toml"
    mine.parent.mkdir(parents=True)
    mine.write_text('[loop]\nguard = "strict"\n')
    said = checked_hook(process=True, env=faulty(f"stat={EIO}@{mine}")).stdout
    assert f"{mine}: config.toml {UNSEEN}; its settings are not used" in said or f"{mine} {UNSEEN}" in said


@pytest.mark.state
def test_a_projects_settings_of_the_client(
    plan: Plan, project: Project, run_hook: RunHook, fake_claude: FakeCli, faulty: Faulty
) -> None:
    """By them the variable would be the clone's word."""
    fake_claude.reviews("FAIL")
    plan.state.write()
    settings = project.path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"env": {"TASKIE_REVIEW_PERMISSIONS": "skip"}}))
    env = {"TASKIE_REVIEW_PERMISSIONS": "skip", **faulty(f"stat={EIO}@{settings}")}
    result = run_hook(command=[str(HOOK), "--fail-open"], env=env)
    assert_blocked(result)
    assert "TASKIE_REVIEW_PERMISSIONS is only taken from your own configuration" in str(result.json)


def test_a_test_that_the_guard_keeps(project: Project, run_hook: RunHook, events: Events, faulty: Faulty) -> None:
    project.git()
    (project.path / "spec.md").write_text("# Spec\n")
    assert taskie(project, "autopilot", "init", "S", "spec.md").code == 0
    assert taskie(project, "autopilot", "plan", '[{"id": 1, "name": "first"}]', "--test-command", "true").code == 0
    kept = project.path / "tests" / "regression" / "test_it.py"
    kept.parent.mkdir(parents=True)
    kept.write_text("assert True\n")
    event = events.pre_tool_use("Write", file_path=kept)

    def answer(**env: str) -> str:
        given = {"CLAUDE_PROJECT_DIR": str(project.path), **env}
        done = run_hook(event, command=[HOOK, "--pre-tool-use"], env=given)
        return str(done.json["hookSpecificOutput"]["permissionDecisionReason"])

    assert "cannot be changed once it exists" in answer()
    for number in range(1, 8):
        assert "cannot be changed" in answer(**faulty(f"stat={EIO}@{kept}#{number}")) or UNSEEN in answer(
            **faulty(f"stat={EIO}@{kept}#{number}")
        )
    assert UNSEEN in answer(**faulty(f"stat={EIO}@{kept}"))


def test_a_state_that_is_there_is_not_said_to_be_missing(plan: Plan, project: Project, faulty: Faulty) -> None:
    plan.state.write()
    done = taskie(project, "state", "set", "max_reviews=3", **faulty(f"stat={EIO}@{plan.path}/state.json"))
    assert done.code == 1
    assert UNSEEN in done.err
    assert "has no state.json" not in done.err


def test_what_is_trusted_is_not_said_to_be_untrusted(project: Project, faulty: Faulty) -> None:
    project.git()
    assert taskie(project, "claudex", "start", "plan", "a topic").code == 0
    (record,) = (project.home / ".config" / "taskie" / "trusted").glob("*.json")
    done = taskie(project, "untrust", **faulty(f"stat={EIO}@{record}"))
    assert (done.code, record.exists()) == (0, False)
    assert "Nothing is trusted any more in" in done.out


@pytest.mark.parametrize("number", range(1, 4))
def test_a_file_of_yours_in_place_of_our_link(project: Project, faulty: Faulty, number: int) -> None:
    link = project.home / ".config" / "taskie" / "hook"
    link.parent.mkdir(parents=True)
    link.write_text("mine\n")
    for fault in (f"stat={EIO}@{link}#{number}", f"stat={EIO}@{link}"):
        done = taskie(project, "install", "--project", **faulty(fault))
        assert done.code == 1
        assert link.read_text() == "mine\n"


@pytest.mark.parametrize("number", range(1, 4))
def test_a_command_of_yours_in_codex(project: Project, faulty: Faulty, number: int) -> None:
    skill = project.home / ".codex" / "skills" / "taskie-next-task" / "SKILL.md"
    skill.parent.mkdir(parents=True)
    skill.write_text("mine\n")
    taskie(project, "install", "--client", "codex", **faulty(f"open={EIO}@{skill}#1", f"stat={EIO}@{skill}#{number}"))
    assert skill.read_text() == "mine\n"


def test_a_repository(project: Project, faulty: Faulty) -> None:
    project.git()
    (project.path / "sub").mkdir()
    assert taskie(project, "claudex", "start", "plan", "a topic").code == 0
    env = {**project.env, **faulty(f"stat={EIO}@{project.path}/.git")}
    done = run_process(["status"], cwd=project.path / "sub", env=env)
    assert UNSEEN in done.out + done.err
