"""`taskie next`: what it reads of a plan, what it asks git, what it prints; it never changes anything."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, Callable

import pytest
from support import ROOT
from support.commands import Taskie

from pytest_taskie import Events, FakeCli, Plan, Project
from taskie import cli
from taskie.plans import next_command

pytestmark = pytest.mark.state

DONE = "# Task\n\n### Subtask\n- **Status**: done\n"
HALF_DONE = "# Task\n\n### Subtask\n- **Status**: pending\n"

Next = Callable[..., Any]


@pytest.fixture(autouse=True)
def in_project(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command runs in the project, with its environment and nobody else's."""
    monkeypatch.chdir(project.path)
    for name in set(os.environ) - set(project.env):
        if not name.startswith(("PYTEST", "COVERAGE")):
            monkeypatch.delenv(name)
    for name, value in project.env.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def next_(capsys: pytest.CaptureFixture[str]) -> Next:
    """`taskie next --json`, parsed."""

    def run(*words: str) -> Any:
        assert cli.main(["next", "--json", *words]) == 0
        out, err = capsys.readouterr()
        assert not err
        return json.loads(out)

    return run


class TestOutput:
    def test_json(self, make_plan: Callable[..., Plan], next_: Next) -> None:
        waiting = {"phase": "code-review", "next_phase": "post-code-review", "current_task": 2, "phase_iteration": 1}
        make_plan("greeting", state=waiting)
        assert next_() == {
            "action": "post-code-review",
            "file": str(ROOT / "actions" / "post-code-review.md"),
            "task": "2",
            "plan": "greeting",
            "why": "The code review (task-2-review-1.md) is written and waits for its answer.",
        }

    def test_no_file_where_there_is_no_action(self, make_plan: Callable[..., Plan], next_: Next) -> None:
        make_plan(state={})
        answer = next_()
        assert (answer["action"], answer["file"], answer["task"]) == ("stop", None, None)

    def test_a_name_with_which_no_review_runs(self, make_plan: Callable[..., Plan], next_: Next) -> None:
        make_plan("my plan", state={})
        answer = next_()
        assert answer["action"] == "ask"
        assert "rename its directory" in answer["why"]

    def test_a_limit_is_raised_by_something_that_can_be_typed(
        self, make_plan: Callable[..., Plan], next_: Next
    ) -> None:
        make_plan(state={"phase": "post-plan-review", "phase_iteration": 2, "max_reviews": 2})
        assert "/taskie:limit 6" in next_()["why"]

    @pytest.mark.parametrize(
        ("fields", "begins"),
        [
            (
                {"phase": "tasks-review", "next_phase": "complete-task"},
                f"Plan greeting: Carry out complete-task for task 1, as {ROOT}/actions/complete-task.md says. ",
            ),
            (
                {"phase": "plan-review", "next_phase": "create-tasks"},
                f"Plan greeting: Carry out create-tasks, as {ROOT}/actions/create-tasks.md says. ",
            ),
            ({}, "Plan greeting: Just stop. "),
            ({"phase": "complete", "next_phase": None, "tasks": {"1": "done"}}, "Plan greeting: Complete. "),
            ({"phase": "code-review", "next_phase": None}, "Plan greeting: Ask the user. "),
        ],
        ids=["an action with a task", "an action", "stop", "complete", "ask"],
    )
    def test_a_line_for_people(
        self,
        fields: dict[str, Any],
        begins: str,
        make_plan: Callable[..., Plan],
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        make_plan("greeting", tasks=fields.get("tasks", ("1", "2")), state=fields)
        assert cli.main(["next"]) == 0
        out = capsys.readouterr().out
        assert out.startswith(begins)
        assert out.count("\n") == 1

    def test_nothing_is_changed(self, make_plan: Callable[..., Plan], project: Project, next_: Next) -> None:
        reviewed = {"task-1-review-1.md": "# Review\n"}
        make_plan(
            "a", tasks={"1": "done"}, state={"phase": "all-code-review", "next_phase": "complete"}, files=reviewed
        )
        make_plan("b")
        project.git("add", "-A")
        project.git("commit", "--quiet", "-m", "all")
        assert next_("--plan", "a")["action"] == "complete"
        assert next_("--plan", "b")["action"] == "continue-task"
        assert project.git("status", "--porcelain") == ""

    def test_as_a_process(self, make_plan: Callable[..., Plan], taskie: Taskie) -> None:
        make_plan(state={"phase": "new-plan"}, files={"plan.md": "# Half"})
        done = taskie("next", "--json", process=True)
        assert json.loads(done.out)["action"] == "new-plan"


class TestWhichPlan:
    def test_none_at_all(self, next_: Next, capsys: pytest.CaptureFixture[str]) -> None:
        assert next_() == {
            "action": "new-plan",
            "file": str(ROOT / "actions" / "new-plan.md"),
            "task": None,
            "plan": None,
            "why": "There is no plan yet.",
        }
        assert cli.main(["next"]) == 0
        assert capsys.readouterr().out.startswith("Carry out new-plan, as ")

    @pytest.mark.parametrize("directory", [".taskie/plans", ".taskie/plans/empty"])
    def test_an_empty_directory(self, directory: str, project: Project, next_: Next) -> None:
        (project.path / directory).mkdir(parents=True)
        assert next_()["action"] == "new-plan"

    def test_the_newest_or_the_named(self, make_plan: Callable[..., Plan], next_: Next) -> None:
        make_plan("a", tasks={"1": "done"}, state={"phase": "complete", "next_phase": None}).age(9)
        make_plan("b", state={})
        assert next_()["plan"] == "b"
        named = next_("--plan", "a")
        assert (named["plan"], named["action"]) == ("a", "complete")

    def test_from_a_directory_below(
        self, make_plan: Callable[..., Plan], project: Project, monkeypatch: pytest.MonkeyPatch, next_: Next
    ) -> None:
        make_plan("a", state={})
        project.git()
        below = project.path / "src" / "deep"
        below.mkdir(parents=True)
        monkeypatch.chdir(below)
        assert next_()["plan"] == "a"

    @pytest.mark.parametrize("name", ["c", "../a", ".", ""])
    def test_an_unknown_name(
        self, name: str, make_plan: Callable[..., Plan], capsys: pytest.CaptureFixture[str]
    ) -> None:
        make_plan("a")
        assert cli.main(["next", "--plan", name]) == 2
        assert "there is no plan" in capsys.readouterr().err

    def test_a_name_where_there_are_no_plans(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["next", "--plan", "a"]) == 1
        assert "Create a plan first" in capsys.readouterr().err


class TestWhatIsRead:
    @pytest.mark.parametrize(("text", "action"), [(DONE, "stop"), (HALF_DONE, "continue-task")])
    def test_the_file_of_the_current_task(
        self, text: str, action: str, make_plan: Callable[..., Plan], next_: Next
    ) -> None:
        implemented = {"phase": "complete-task", "next_phase": "code-review", "current_task": "2"}
        make_plan(state=implemented, files={"task-1.md": HALF_DONE if text == DONE else DONE, "task-2.md": text})
        assert next_()["action"] == action

    def test_after_the_last_task_the_current_one_is_still_named(
        self, make_plan: Callable[..., Plan], next_: Next
    ) -> None:
        last = {"phase": "code-review", "next_phase": "all-code-review", "current_task": "2"}
        reviews = dict.fromkeys(("task-1-review-1.md", "task-2-review-1.md"), "# Review\n")
        plan = make_plan(state=last, tasks={"1": "done", "2": "done"}, files={"task-2.md": DONE, **reviews})
        assert next_()["action"] == "stop"
        plan.write("task-2.md", HALF_DONE)
        assert next_()["action"] == "continue-task"

    @pytest.mark.parametrize(
        ("name", "fields", "action"),
        [
            ("plan.md", {"phase": "new-plan", "next_phase": "plan-review"}, "new-plan"),
            ("tasks.md", {"phase": "create-tasks", "next_phase": "tasks-review"}, "create-tasks"),
            (
                "task-1.md",
                {"phase": "complete-task", "next_phase": "code-review", "current_task": "1"},
                "continue-task",
            ),
        ],
        ids=["plan.md", "tasks.md", "task-1.md"],
    )
    @pytest.mark.parametrize("way", ["link", "directory", "missing"])
    def test_what_is_not_a_file_is_missing(
        self,
        name: str,
        fields: dict[str, Any],
        action: str,
        way: str,
        make_plan: Callable[..., Plan],
        project: Project,
        next_: Next,
    ) -> None:
        """A link may lead out of the plan; what it shows would be taken for the agent's work."""
        plan = make_plan(state=fields, files={"task-1.md": DONE})
        (plan.path / name).rename(project.path / name)
        assert (project.path / name).stat().st_size
        if way == "link":
            (plan.path / name).symlink_to(project.path / name)
        elif way == "directory":
            (plan.path / name).mkdir()
        answer = next_()
        assert answer["action"] == action
        assert "missing" in answer["why"]

    def test_settings_are_the_project_s(self, make_plan: Callable[..., Plan], project: Project, next_: Next) -> None:
        plan = make_plan()
        plan.state.raw(json.dumps({"phase": "post-plan-review", "next_phase": "plan-review", "phase_iteration": 1}))
        assert "Max review limit" not in next_()["why"]
        (project.path / ".taskie" / "config.toml").write_text("[review]\nmax_reviews = 1\n")
        assert "Max review limit (1)" in next_()["why"]

    def test_a_budget_that_is_spent(
        self,
        make_plan: Callable[..., Plan],
        project: Project,
        fake_claude: FakeCli,
        events: Events,
        taskie: Taskie,
        next_: Next,
    ) -> None:
        plan = make_plan()
        fake_claude.outputs({"structured_output": {"verdict": "FAIL"}, "total_cost_usd": 1.25})
        plan.state.write(next_phase="plan-review")
        taskie("stop-hook", "--fail-open", stdin=json.dumps(events.stop()))
        plan.state.write(phase="post-plan-review", next_phase="plan-review", phase_iteration=1)
        config = project.path / ".taskie" / "config.toml"
        config.write_text("[review]\nplan_budget_usd = 1.30\n")
        assert "the hook runs the plan review" in next_()["why"]
        config.write_text("[review]\nplan_budget_usd = 1.25\n")
        answer = next_()
        assert answer["action"] == "stop"
        assert "The user must decide: No review: this plan's reviews have cost $1.25" in answer["why"]


class TestNoReadableState:
    @pytest.mark.parametrize("text", ["", "{", "[]", '{"phase": NaN}', "\xff"])
    def test_malformed(self, text: str, make_plan: Callable[..., Plan], next_: Next) -> None:
        plan = make_plan()
        plan.state.raw(text.encode("latin-1"))
        answer = next_()
        assert (answer["action"], answer["task"]) == ("continue-task", "1")
        assert "state.json: invalid JSON" in answer["why"]

    def test_a_link(self, make_plan: Callable[..., Plan], project: Project, next_: Next) -> None:
        plan = make_plan()
        (project.path / "state.json").write_text('{"phase": "complete", "next_phase": null}')
        plan.state.path.symlink_to(project.path / "state.json")
        answer = next_()
        assert answer["action"] == "continue-task"
        assert "symbolic link" in answer["why"]

    @pytest.mark.parametrize(
        "fields", [{"current_task": "../../etc/passwd"}, {"phase": 3}, {"next_phase": ["plan-review"]}, {"tdd": "yes"}]
    )
    def test_a_wrong_value_is_for_the_user(
        self, fields: dict[str, Any], make_plan: Callable[..., Plan], next_: Next
    ) -> None:
        make_plan(state=fields)
        answer = next_()
        assert answer["action"] == "ask"
        assert f"state.json: {next(iter(fields))} must be" in answer["why"]

    @pytest.mark.parametrize("text", [None, "{"], ids=["missing", "spoiled"])
    def test_a_plan_that_has_been_reviewed_is_repaired_rather_than_guessed(
        self, text: str | None, make_plan: Callable[..., Plan], next_: Next
    ) -> None:
        plan = make_plan(tasks=None, files={"plan-review-1.md": "# Review\n"})
        if text is not None:
            plan.state.raw(text)
        answer = next_()
        assert answer["action"] == "ask"
        assert "`taskie state repair`" in answer["why"]

    def test_from_nothing_to_complete(self, make_plan: Callable[..., Plan], next_: Next) -> None:
        plan = make_plan(tasks=None, files={"plan.md": None, "design.md": "# Design\n"})
        assert next_()["action"] == "new-plan"
        plan.write("plan.md", "# Plan\n")
        half = next_()
        assert half["action"] == "new-plan"
        assert "half-written" in half["why"]
        plan.write("plan.md", "# Plan\n\n## Overview\n")
        assert next_()["action"] == "create-tasks"
        plan.tasks({"1": "done", "2": "in-progress"})
        assert (next_()["action"], next_()["task"]) == ("continue-task", "2")
        plan.tasks({"1": "done", "2": "done"})
        assert (next_()["action"], next_()["task"]) == ("complete", None)


class TestGit:
    """Without a state, the unfinished task that was touched last in git's log."""

    @pytest.fixture
    def plan(self, make_plan: Callable[..., Plan], project: Project) -> Plan:
        plan = make_plan("old", tasks={"1": "done", "2": "pending", "3": "pending", "4": "pending"})
        self.commit(project)
        return plan

    def commit(self, project: Project) -> None:
        project.git("add", "-A")
        project.git("commit", "--quiet", "--message", "step")

    def touch(self, project: Project, plan: Plan, *names: str) -> None:
        for name in names:
            plan.write(name, f"{(plan.path / name).read_text()}more\n")
        self.commit(project)

    def test_all_in_one_commit(self, plan: Plan, next_: Next) -> None:
        assert next_()["task"] == "2"

    def test_the_last_touched(self, plan: Plan, project: Project, next_: Next) -> None:
        self.touch(project, plan, "task-4.md")
        self.touch(project, plan, "task-3.md")
        assert next_()["task"] == "3"
        assert "git's log" in next_()["why"]

    def test_other_files_and_finished_tasks_do_not_count(self, plan: Plan, project: Project, next_: Next) -> None:
        self.touch(project, plan, "task-3.md")
        self.touch(project, plan, "task-1.md", "tasks.md", "plan.md")
        (project.path / "task-4.md").write_text("not in the plan\n")
        plan.write("task-9.md", "not in the table\n")
        self.commit(project)
        assert next_()["task"] == "3"

    def test_the_same_name_in_another_plan(
        self, plan: Plan, make_plan: Callable[..., Plan], project: Project, next_: Next
    ) -> None:
        self.touch(project, plan, "task-3.md")
        other = make_plan("other", tasks=["4"])
        self.commit(project)
        self.touch(project, other, "task-4.md")
        assert next_("--plan", "old")["task"] == "3"

    def test_a_merge_that_differs_from_both_sides(self, plan: Plan, project: Project, next_: Next) -> None:
        project.git("checkout", "--quiet", "-b", "side")
        self.touch(project, plan, "task-3.md")
        project.git("checkout", "--quiet", "main")
        plan.write("task-3.md", "ours\n")
        self.commit(project)
        project.git("merge", "--quiet", "--strategy", "ours", "--no-commit", "side")
        plan.write("task-3.md", "of both\n")
        self.commit(project)
        assert next_()["task"] == "3"

    def test_an_uncommitted_change_does_not_count(self, plan: Plan, project: Project, next_: Next) -> None:
        self.touch(project, plan, "task-3.md")
        plan.write("task-4.md", "only here\n")
        assert next_()["task"] == "3"

    def test_inside_one_of_git_s_hooks(
        self, plan: Plan, project: Project, monkeypatch: pytest.MonkeyPatch, next_: Next
    ) -> None:
        self.touch(project, plan, "task-3.md")
        monkeypatch.setenv("GIT_DIR", ".git")
        assert next_()["task"] == "3"

    def test_the_repository_s_settings_start_no_program(self, plan: Plan, project: Project, next_: Next) -> None:
        started = project.path / "started"
        program = project.path / "program"
        signs = "cat > /dev/null; printf '\\n[GNUPG:] SIG_CREATED \\n' >&2; echo signed"
        program.write_text(f"#!/bin/sh\necho >> {started}\n{signs}\n")
        program.chmod(0o755)
        for setting in ("core.pager", "gpg.program", "diff.external", "core.fsmonitor"):
            project.git("config", setting, str(program))
        for setting in ("commit.gpgSign", "log.showSignature", "log.follow", "log.decorate"):
            project.git("config", setting, "true")
        project.git("config", "color.ui", "always")
        project.git("config", "format.pretty", "fuller")
        self.touch(project, plan, "task-3.md")
        assert started.exists()
        started.unlink()
        assert next_()["task"] == "3"
        assert not started.exists()

    def test_an_id_that_is_an_option_or_a_path(
        self, make_plan: Callable[..., Plan], project: Project, next_: Next
    ) -> None:
        plan = make_plan("odd", tasks=["1", "--output=x", "-2"])
        plan.write("tasks.md", f"{(plan.path / 'tasks.md').read_text()}| /../../../../../x | pending | high | out |\n")
        self.commit(project)
        self.touch(project, plan, "task--2.md")
        assert next_()["task"] == "-2"

    def test_a_task_without_a_file(self, plan: Plan, project: Project, next_: Next) -> None:
        self.touch(project, plan, "task-3.md")
        table = (plan.path / "tasks.md").read_text()
        plan.write("tasks.md", f"{table}| 5 | pending | low | later |\n")
        assert next_()["task"] == "3"

    def test_the_state_names_the_task(self, plan: Plan, project: Project, next_: Next) -> None:
        self.touch(project, plan, "task-3.md")
        plan.state.write(phase="next-task", next_phase=None, current_task="4")
        assert next_()["task"] == "4"
        plan.state.write(phase="next-task", next_phase=None)
        assert next_()["task"] == "3"

    def test_no_repository(self, make_plan: Callable[..., Plan], next_: Next) -> None:
        make_plan(tasks={"1": "done", "2": "pending"})
        assert (next_()["task"], "first unfinished" in next_()["why"]) == ("2", True)

    def test_no_commit(self, make_plan: Callable[..., Plan], project: Project, next_: Next) -> None:
        make_plan(tasks={"1": "done", "2": "pending"})
        project.git()
        assert next_()["task"] == "2"

    def test_ignored_by_git(self, make_plan: Callable[..., Plan], project: Project, next_: Next) -> None:
        make_plan(tasks={"1": "done", "2": "pending"})
        (project.path / ".gitignore").write_text(".taskie\n")
        self.commit(project)
        assert next_()["task"] == "2"

    def test_no_git(self, plan: Plan, project: Project, monkeypatch: pytest.MonkeyPatch, next_: Next) -> None:
        self.touch(project, plan, "task-3.md")
        monkeypatch.setenv("PATH", str(project.path))
        assert next_()["task"] == "2"

    @pytest.fixture
    def other_git(self, tmp_path: Path, project: Project, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
        """Puts a shell script in git's place, once the repository is as it should be."""

        def install(script: str) -> None:
            program = tmp_path / "git"
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)
            monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")

        return install

    def test_a_git_that_hangs(
        self,
        plan: Plan,
        project: Project,
        other_git: Callable[[str], None],
        monkeypatch: pytest.MonkeyPatch,
        next_: Next,
    ) -> None:
        self.touch(project, plan, "task-3.md")
        other_git("exec sleep 60")
        monkeypatch.setattr(next_command, "GIT_SECONDS", 0.2)
        began = time.monotonic()
        assert next_()["task"] == "2"
        assert time.monotonic() - began < 30

    def test_git_is_not_started_where_the_state_names_the_task(
        self, plan: Plan, project: Project, other_git: Callable[[str], None], next_: Next
    ) -> None:
        started = project.path / "started"
        other_git(f"touch {started}")
        next_()
        assert started.exists()
        started.unlink()
        plan.state.write(phase="next-task", next_phase=None, current_task="4")
        assert next_()["task"] == "4"
        assert not started.exists()

    @pytest.mark.parametrize(("code", "task"), [(0, "4"), (1, "2")])
    def test_a_git_that_fails_half_way_is_not_believed(
        self, code: int, task: str, plan: Plan, other_git: Callable[[str], None], next_: Next
    ) -> None:
        other_git(f"printf 'task-4.md\\0'; exit {code}")
        assert next_()["task"] == task

    @pytest.mark.parametrize("name", ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"])
    def test_git_asks_nobody_and_looks_at_no_other_repository(
        self, name: str, plan: Plan, other_git: Callable[[str], None], monkeypatch: pytest.MonkeyPatch, next_: Next
    ) -> None:
        monkeypatch.setenv(name, "elsewhere")
        other_git(f'[ "$GIT_NO_LAZY_FETCH$GIT_TERMINAL_PROMPT${name}" = 10 ] && printf "task-4.md\\0"')
        assert next_()["task"] == "4"
