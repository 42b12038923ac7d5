"""What a reviewer may do: all that the hook's call says of it. What the client makes of that is in `tests/client`."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest

from pytest_taskie import FakeCli, Plan, Project, RunHook, assert_blocked
from taskie.plans.must_run import plain_commands
from taskie.project import plugin_root

pytestmark = pytest.mark.state

HOOK = str(Path(plugin_root()) / "hooks" / "stop-hook.sh")
READING = ["Read", "Grep", "Glob"]


def task(*lines: str) -> str:
    return "\n".join(["# Task", "", "### Subtask 1.1: Do it", "- **Status**: done", *lines, "- **Test approach**: run"])


def scoped(project: Project) -> None:
    (project.path / ".taskie" / "config.toml").write_text('[review]\npermissions = "scoped"\n')


def rules(fake: FakeCli) -> list[str]:
    (listed,) = fake.calls[-1].flags["--allowedTools"]
    return re.findall(r"[A-Z][a-z]+(?:\([^)]*\))?", listed)


class TestWhoMayDoWhat:
    """D16: in a client little is allowed unless the person says otherwise; a script gets the design's call."""

    @pytest.mark.parametrize(
        ("setting", "as_a_client", "is_scoped"),
        [
            (None, True, True),
            (None, False, False),
            ("auto", True, True),
            ("skip", True, False),
            ("scoped", True, True),
            ("scoped", False, True),
        ],
    )
    def test_by_setting_and_caller(
        self,
        setting: str | None,
        as_a_client: bool,
        is_scoped: bool,
        plan: Plan,
        project: Project,
        fake_claude: FakeCli,
        run_hook: RunHook,
    ) -> None:
        fake_claude.reviews("FAIL")
        plan.state.write()
        words = [HOOK, "--fail-open"] if as_a_client else [HOOK]
        run_hook(command=words, env={"TASKIE_REVIEW_PERMISSIONS": setting} if setting else {})
        (call,) = fake_claude.calls
        assert ("--dangerously-skip-permissions" in call.flags) is not is_scoped
        assert (call.flags.get("--permission-mode") == "dontAsk") is is_scoped
        assert ("Anything else is refused" in call.prompt) is is_scoped

    def test_only_the_review_is_written(
        self, plan: Plan, project: Project, fake_claude: FakeCli, run_hook: RunHook
    ) -> None:
        fake_claude.reviews("FAIL")
        scoped(project)
        plan.state.write()
        assert_blocked(run_hook())
        assert rules(fake_claude) == [*READING, "Edit(/.taskie/plans/test-plan/plan-review-1.md)"]

    def test_a_project_can_deny_it_more_and_allow_it_nothing(
        self, plan: Plan, project: Project, fake_claude: FakeCli, run_hook: RunHook
    ) -> None:
        fake_claude.reviews("FAIL")
        scoped(project)
        plan.state.write()
        (project.path / ".claude").mkdir()
        said = {"allow": ["Bash"], "deny": ["Read(./.env)", "--model", 3, "WebFetch"], "ask": ["Bash(make:*)"]}
        (project.path / ".claude" / "settings.json").write_text(json.dumps({"permissions": said}))
        (project.path / ".claude" / "settings.local.json").write_text("{broken")
        assert_blocked(run_hook())
        flags = fake_claude.calls[-1].flags
        assert flags["--setting-sources"] == "user"
        assert flags["--disallowedTools"] == ["Read(./.env),WebFetch,Bash(make:*)"]
        assert "Bash" not in rules(fake_claude)

    def test_a_client_that_cannot_leave_the_projects_settings_out(
        self, plan: Plan, project: Project, fake_claude: FakeCli, run_hook: RunHook
    ) -> None:
        fake_claude.reviews("FAIL")
        scoped(project)
        plan.state.write()
        fake_claude.rejects("--setting-sources")
        result = run_hook(command=[HOOK, "--fail-open"])
        assert_blocked(result)
        assert "the project's own settings may allow the reviewer more" in str(result.json)
        assert ["--setting-sources" in call.flags for call in fake_claude.calls] == [True, False]


class TestMustRunCommands:
    def test_of_the_task_under_review(
        self, plan: Plan, project: Project, fake_claude: FakeCli, run_hook: RunHook
    ) -> None:
        fake_claude.reviews("FAIL")
        scoped(project)
        plan.tasks({"1": "done", "2": "pending"})
        plan.write("task-1.md", task("- **Must-run commands**: `make test`, `make lint`"))
        plan.write("task-2.md", task("- **Must-run commands**: `make other`"))
        plan.state.write(next_phase="code-review", current_task="1")
        assert_blocked(run_hook())
        assert [rule for rule in rules(fake_claude) if "Bash" in rule] == ["Bash(make test)", "Bash(make lint)"]
        assert "run exactly these commands, each on its own: `make test`, `make lint`." in fake_claude.calls[0].prompt

    def test_of_all_tasks(self, plan: Plan, project: Project, fake_claude: FakeCli, run_hook: RunHook) -> None:
        fake_claude.reviews("FAIL")
        scoped(project)
        plan.tasks({"1": "done", "2": "done"})
        plan.write("task-1.md", task("- **Must-run commands**: `make test`"))
        plan.write("task-2.md", task("- **Must-run commands**: `make test`", "- **Must-run commands**: `make all`"))
        for number in "12":
            plan.write(f"task-{number}-review-1.md", "# Review")
        plan.state.write(phase="code-review", next_phase="all-code-review")
        assert_blocked(run_hook())
        assert [rule for rule in rules(fake_claude) if "Bash" in rule] == ["Bash(make test)", "Bash(make all)"]

    def test_none_before_the_tasks_are_reviewed(
        self, plan: Plan, project: Project, fake_claude: FakeCli, run_hook: RunHook
    ) -> None:
        fake_claude.reviews("FAIL")
        scoped(project)
        plan.write("task-1.md", task("- **Must-run commands**: `make test`"))
        plan.state.write(phase="create-tasks", next_phase="tasks-review")
        assert_blocked(run_hook())
        assert not [rule for rule in rules(fake_claude) if "Bash" in rule]

    @pytest.mark.parametrize(
        "command",
        [
            "make test",
            "npm run test:unit",
            "tox -e py311,py312",
            "pytest -q tests/a.py::test_x",
            "go test ./...",
            "./run.sh --flag=1",
            "python3 -m pytest",
            "gitlint",
        ],
    )
    def test_a_plain_command(self, command: str) -> None:
        assert plain_commands([task(f"- **Must-run commands**: `{command}`")]) == (command,)

    @pytest.mark.parametrize(
        "command",
        [
            "make test; rm -rf .",
            "make test && git push",
            "make test | sh",
            "make test > src.py",
            "make test:*",
            "make *",
            "*",
            "pytest -k 'a b'",
            'pytest -k "a"',
            "echo $HOME",
            "echo $(id)",
            "make\\ttest",
            "make test)",
            "make test),Bash(*",
            "make test, Bash(rm:*)",
            "(make test)",
            "make test &",
            "~/run.sh",
            "-rf",
            "make test\t-x",
            "make\u00a0test",
            "x" * 300,
            "make test #",
            "!make",
            "make {a,b}",
            "make [ab]",
            "make ?",
            "make test\rrm",
            "git push",
        ],
    )
    def test_one_that_is_not(self, command: str) -> None:
        assert plain_commands([task(f"- **Must-run commands**: `{command}`")]) == ()

    @pytest.mark.parametrize(
        ("lines", "expected"),
        [
            (["- **Must-run commands**: `a`, `b` and `a`"], ("a", "b")),
            (["- **Must-run commands**:", "  - `a`", "  - `b`"], ("a", "b")),
            (["- **Must-run commands:** `a`"], ("a",)),
            (["* Must-run command: `a`"], ("a",)),
            (["- **Must-run commands**: none"], ()),
            (["- **Must-run commands**:", "- **Acceptance criteria**:", "  - `a` works"], ()),
            (["- **Acceptance criteria**:", "  - `a` works"], ()),
            (["- **Must-run commands**: `a\nb`"], ()),
            (["## Must-run commands", "", "- `a`", "- `b`"], ("a", "b")),
            (["#### Must-run commands:", "1. `a`", "2) b -x"], ("a", "b -x")),
            (["**Must-run commands:**", "", "- `a`"], ("a",)),
            (["**Must-run commands**", "- `a`"], ("a",)),
            (["Must-run commands: a b"], ("a b",)),
            (["Must-run commands:", "- `a`", "", "- `b`", "And `c`.", "- `d`"], ("a", "b")),
            (["1. **Must-run commands**: a"], ("a",)),
            (
                ["## Must-run commands", "", "```sh", "# first", "$ a", "", "b -x", "```", "```", "c", "```"],
                ("a", "b -x"),
            ),
            (["- **Must-run commands**:", "  ~~~", "  a", "  ~~~"], ("a",)),
            (["## Must-run commands", "```", "a", "cat > b <<END", "c", "END", "```", "d"], ("a",)),
            (["## Must-run commands", "```", "git diff --check", "a && b", "c \\", "  d", "```"], ("a", "b")),
            (["- **Must-run commands**: `a && b -x`"], ("a", "b -x")),
            (["- **Must-run commands**: a && b -x"], ("a", "b -x")),
            (["- **Must-run commands**: `a && b; c`"], ()),
            (["- **Must-run commands**: `a && `, `&& b`"], ()),
            (["- **Must-run commands**:", "- `a`"], ()),
            (["- **Must-run commands**:", "  -   **Other**: `a`"], ()),
            (["  - **Must-run commands**:", "  - `a`"], ()),
            (["- **Must-run commands**: Run all tests"], ()),
            (["- **Must-run commands**: a, b"], ()),
            (["- **Must-run commands**: run it."], ()),
            (["- **Must-run commands**: as before: a"], ()),
            (["- **Must-run commands**: go test ./..."], ("go test ./...",)),
            (["- **Must-run commands**: N/A."], ()),
            (["## Must-run commands of others", "- `a`"], ()),
            (["must-run commands are listed here", "- `a`"], ()),
            (["## Must-run commands", "## Other", "- `a`"], ()),
        ],
    )
    def test_where_they_stand(self, lines: list[str], expected: tuple[str, ...]) -> None:
        assert plain_commands([task(*lines)]) == expected

    @pytest.mark.parametrize(
        ("lines", "lost"),
        [
            (["- **Must-run commands**: `make test | tee log`"], True),
            (["## Must-run commands", "```", "for x in a; do", "```"], True),
            (["- **Must-run commands**: Run all tests."], True),
            (["- **Must-run commands**: `make test`"], False),
            (["- **Must-run commands**: none"], False),
            (["- **Must-run commands**:"], False),
            (["- **Must-run commands**: `git diff --check`"], False),
            ([], False),
        ],
    )
    def test_a_reviewer_is_told_of_those_that_cannot_be_allowed(
        self, lines: list[str], lost: bool, plan: Plan, project: Project, fake_claude: FakeCli, run_hook: RunHook
    ) -> None:
        fake_claude.reviews("FAIL")
        scoped(project)
        plan.tasks({"1": "done", "2": "pending"})
        plan.write("task-1.md", task(*lines))
        plan.state.write(next_phase="code-review", current_task="1")
        assert_blocked(run_hook())
        assert ("Some must-run commands are not allowed" in fake_claude.calls[0].prompt) is lost

    @pytest.mark.parametrize("flood", [" ", "- ", "#", "*", "# ", "a ", "a, ", "`", "-    "])
    def test_a_flood_takes_no_time(self, flood: str) -> None:
        text = f"Must-run commands:\n- {flood * 100_000}\n{flood * 100_000}\nMust-run commands: {flood * 100_000}"
        before = time.process_time()
        assert plain_commands([text, flood.rstrip() + flood[-1] * 100_000]) == ()
        assert time.process_time() - before < 2

    def test_there_is_a_bound(self) -> None:
        assert len(plain_commands(task(f"- **Must-run commands**: `make {n}`") for n in range(1000))) == 50

    def test_a_task_file_that_cannot_be_read(
        self, plan: Plan, project: Project, fake_claude: FakeCli, run_hook: RunHook
    ) -> None:
        fake_claude.reviews("FAIL")
        scoped(project)
        plan.tasks({"1": "done", "2": "done"})
        (plan.path / "task-2.md").unlink()
        (plan.path / "task-2.md").symlink_to("/etc/passwd")
        for number in "12":
            plan.write(f"task-{number}-review-1.md", "# Review")
        plan.state.write(phase="code-review", next_phase="all-code-review")
        assert_blocked(run_hook())
        assert len(fake_claude.calls) == 1
