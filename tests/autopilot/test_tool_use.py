"""The PreToolUse hook: what is denied, and that everything else is silence.

What it judges is asked without a process; that a client hears it, in one test for each answer, with one.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from autopilot.conftest import ROOT, SPEC, TASKIE, Autopilot
from pytest_taskie import Events, HookResult, RunHook
from taskie.autopilot import tool_use
from taskie.protocol import parse_event

HOOK = [str(ROOT / "hooks" / "stop-hook.sh"), "--pre-tool-use"]
TOOLS = ("Edit", "Write", "MultiEdit")


def allowed(result: HookResult) -> bool:
    return (result.exit_code, result.stdout, result.blocked) == (0, "", False)


def denied(result: HookResult, reason: str) -> bool:
    return result.blocked and denies(result, reason)


def denies(result: HookResult, reason: str) -> bool:
    """What it says; `run_hook` takes bytes for a Stop event's, and does not judge by them."""
    said = json.loads(result.stdout)
    assert set(said) == {"hookSpecificOutput"}
    specific = said["hookSpecificOutput"]
    assert set(specific) == {"hookEventName", "permissionDecision", "permissionDecisionReason"}
    assert (specific["hookEventName"], specific["permissionDecision"]) == ("PreToolUse", "deny")
    assert result.exit_code == 0
    return reason in specific["permissionDecisionReason"]


@pytest.fixture
def unplanned(autopilot: Autopilot) -> Autopilot:
    autopilot.do("init", "FTR-1", SPEC)
    return autopilot


class TestNoCodeBeforeThePlan:
    @pytest.mark.parametrize("tool", TOOLS)
    @pytest.mark.parametrize(
        "path",
        ["src/app.py", "./src/app.py", "src/new/deep/file.py", "{root}/src/app.py", "docs/../src/app.py", "src/./x",
         "{root}/docs/../src/app.py", "{root}/../{name}/src/app.py", "src//app.py", "src", "src/\ud800.py"],
    )  # fmt: skip
    def test_denied_before_and_allowed_after(self, unplanned: Autopilot, tool: str, path: str) -> None:
        target = path.format(root=unplanned.root, name=unplanned.root.name)
        assert "no plan yet" in unplanned.objection(tool, target)
        unplanned.change(plan_exists=True)
        assert not unplanned.objection(tool, target)

    def test_as_the_client_asks(self, unplanned: Autopilot) -> None:
        assert denied(unplanned.tool("Edit", unplanned.root / "src" / "app.py"), "no plan yet")
        assert denied(unplanned.tool("Write", "src/app.py"), "no plan yet")
        assert allowed(unplanned.tool("Write", "README.md"))
        assert allowed(unplanned.tool("Read", "src/app.py"))
        unplanned.do("plan", '[{"id": 1, "name": "a"}]')
        assert allowed(unplanned.tool("Write", "src/app.py"))

    @pytest.mark.parametrize(
        "path",
        ["README.md", "srcs/app.py", "docs/src/app.py", "src/../README.md", "{root}/src/../setup.py", "../src/app.py",
         "/src/app.py", "tests/src.py", SPEC],
    )  # fmt: skip
    def test_elsewhere(self, unplanned: Autopilot, path: str) -> None:
        assert not unplanned.objection("Write", path.format(root=unplanned.root))

    @pytest.mark.parametrize("tool", ["Read", "Bash", "NotebookEdit", "edit", "Glob", ""])
    def test_other_tools(self, unplanned: Autopilot, tool: str) -> None:
        assert not unplanned.objection(tool, "src/app.py")

    def test_from_a_subdirectory(self, unplanned: Autopilot) -> None:
        below = unplanned.root / "src" / "deep"
        below.mkdir()
        assert "no plan yet" in unplanned.objection("Write", "a.py", cwd=below)
        assert "no plan yet" in unplanned.objection("Write", "../a.py", cwd=below)
        assert not unplanned.objection("Write", "../../a.py", cwd=below)

    def test_through_links(self, unplanned: Autopilot, tmp_path: Path) -> None:
        (unplanned.root / "lib").symlink_to("src")
        (unplanned.root / "one.py").symlink_to("src/app.py")
        (tmp_path / "outside").symlink_to(unplanned.root)
        for path in ("lib/app.py", "lib/new.py", "one.py", tmp_path / "outside" / "src" / "app.py"):
            assert "no plan yet" in unplanned.objection("Edit", path), path

    def test_upwards_from_a_link(self, unplanned: Autopilot, tmp_path: Path) -> None:
        """The client may shorten the path before it follows the link, or after."""
        (unplanned.root / "src" / "deep").mkdir()
        (unplanned.root / "inside").symlink_to("src/deep")
        (unplanned.root / "outside").symlink_to(tmp_path)
        (unplanned.root / "one.py").symlink_to("src/app.py")
        for path in ("inside/../app.py", "outside/../one.py"):
            assert "no plan yet" in unplanned.objection("Edit", path), path

    def test_where_src_itself_is_a_link(self, unplanned: Autopilot, tmp_path: Path) -> None:
        shutil.move(unplanned.root / "src", tmp_path / "code")
        (unplanned.root / "src").symlink_to(tmp_path / "code")
        assert "no plan yet" in unplanned.objection("Edit", "src/app.py")

    def test_where_src_leads_elsewhere_in_the_tree(self, unplanned: Autopilot) -> None:
        (unplanned.root / "src").rename(unplanned.root / "code")
        (unplanned.root / "src").symlink_to("code")
        assert "no plan yet" in unplanned.objection("Edit", "code/app.py")

    def test_from_outside_by_its_whole_path(self, unplanned: Autopilot, tmp_path: Path) -> None:
        """The client was started in the project, the agent is elsewhere."""
        assert "no plan yet" in unplanned.objection("Edit", unplanned.root / "src" / "app.py", cwd=tmp_path)

    def test_from_one_loop_into_another(self, autopilot: Autopilot, tmp_path: Path) -> None:
        autopilot.begin("first")
        other = tmp_path / "other"
        other.mkdir()
        autopilot.do("init", "FTR-2", SPEC, cwd=other)
        assert "no plan yet" in autopilot.objection("Write", other / "src" / "app.py", project_dir=other)

    def test_a_nested_worktree_goes_by_its_own_state(self, unplanned: Autopilot) -> None:
        inner = unplanned.root / ".worktrees" / "x"
        unplanned.project.git("worktree", "add", "-q", "-b", "x", str(inner))
        assert not unplanned.objection("Edit", inner / "src" / "app.py")
        unplanned.do("init", "FTR-2", SPEC, cwd=inner)
        unplanned.do("plan", '[{"id": 1, "name": "a"}]')
        assert "no plan yet" in unplanned.objection("Edit", inner / "src" / "app.py")
        assert not unplanned.objection("Edit", "src/app.py")


def test_it_says_what_to_do_in_words_that_a_shell_takes(unplanned: Autopilot) -> None:
    assert denied(unplanned.tool("Write", "src/app.py"), f"`'{ROOT}/bin/taskie' autopilot plan '[{{")
    assert denied(unplanned.tool("Write", unplanned.path), f"`'{ROOT}/bin/taskie' autopilot --help`")


class TestCapturedTests:
    PATH = "tests/regression/test_bug.py"

    @pytest.mark.parametrize("tool", TOOLS)
    def test_cannot_be_changed(self, autopilot: Autopilot, tool: str) -> None:
        autopilot.begin("first")
        autopilot.write(self.PATH, "x = 1\n")
        for path in (self.PATH, f"./{self.PATH}", autopilot.root / self.PATH, f"src/../{self.PATH}"):
            assert "cannot be changed" in autopilot.objection(tool, path)
        (autopilot.root / "tests" / "regression" / "test_link.py").symlink_to("nowhere")
        assert "cannot be changed" in autopilot.objection(tool, "tests/regression/test_link.py")

    def test_as_the_client_asks(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        assert allowed(autopilot.tool("Write", self.PATH))
        autopilot.write(self.PATH, "x = 1\n")
        assert denied(autopilot.tool("Write", self.PATH), "cannot be changed")

    def test_can_be_created(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        assert not autopilot.objection("Write", self.PATH)
        autopilot.write(self.PATH, "x = 1\n")
        assert not autopilot.objection("Write", "tests/regression/test_other.py")
        assert not autopilot.objection("Write", "tests/test_bug.py")

    def test_without_a_state_they_can(self, autopilot: Autopilot) -> None:
        autopilot.write(self.PATH, "x = 1\n")
        assert not autopilot.objection("Edit", self.PATH)


class TestTheState:
    @pytest.mark.parametrize("planned", [False, True])
    def test_cannot_be_edited(self, autopilot: Autopilot, planned: bool) -> None:
        autopilot.begin("first") if planned else autopilot.do("init", "FTR-1", SPEC)
        (autopilot.root / "alias.json").symlink_to(autopilot.path.name)
        os.link(autopilot.path, autopilot.root / "same.json")  # as another spelling is, where case does not count
        for path in (autopilot.path.name, autopilot.path, f"src/../{autopilot.path.name}", "alias.json", "same.json"):
            assert "Only `taskie autopilot` may change" in autopilot.objection("Write", path), path
        assert denied(autopilot.tool("Write", autopilot.path), "Only `taskie autopilot` may change")

    def test_another_of_its_name_can(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        assert not autopilot.objection("Write", f"docs/{autopilot.path.name}")

    @pytest.mark.parametrize(
        "content",
        [
            "",
            "{",
            "[]",
            "null",
            "{}",
            '{"plan_exists": null}',
            '{"plan_exists": 0}',
            '{"plan_exists": "false"}',
            "\xff",
        ],
    )
    def test_malformed(self, autopilot: Autopilot, content: str) -> None:
        autopilot.path.write_text(content, encoding="latin-1")
        for path in ("src/app.py", autopilot.path.name):
            assert not autopilot.objection("Write", path)

    def test_malformed_as_the_client_sees_it(self, autopilot: Autopilot) -> None:
        autopilot.path.write_bytes(b"\xff")
        result = autopilot.tool("Write", "src/app.py")
        assert allowed(result)
        assert result.stderr == ""

    def test_one_that_hangs_whoever_opens_it(self, autopilot: Autopilot) -> None:
        os.mkfifo(autopilot.path)
        assert allowed(autopilot.tool("Write", "src/app.py"))


class TestInput:
    @pytest.mark.parametrize(
        "event",
        [
            "{}",
            '{"tool_name": "Write"}',
            '{"tool_name": "Write", "tool_input": []}',
            '{"tool_name": "Write", "tool_input": {}}',
            '{"tool_name": "Write", "tool_input": {"file_path": 1}}',
            '{"tool_name": "Write", "tool_input": {"file_path": ""}}',
            '{"tool_name": ["Write"], "tool_input": {"file_path": "src/a"}}',
        ],
    )
    def test_what_cannot_be_judged_is_allowed(self, unplanned: Autopilot, event: str) -> None:
        read = parse_event(event.encode()).replace(cwd=str(unplanned.root))
        assert tool_use.objection(read, unplanned.project.env) is None

    NUL = b'{"tool_name": "Write", "tool_input": {"file_path": "src/a\\u0000b"}}'
    UNREADABLE = (b"", b"{", b"[]", b"null", b'{"tool_name": "Write\xff"}', NUL)

    @pytest.mark.parametrize("stdin", UNREADABLE)
    @pytest.mark.parametrize("planned", [False, True])
    def test_what_cannot_be_read_is_denied(
        self, unplanned: Autopilot, run_hook: RunHook, stdin: bytes, planned: bool
    ) -> None:
        """A guard does not fail open: what it has not seen may be the state itself."""
        unplanned.change(plan_exists=planned)
        assert denies(run_hook(command=HOOK, stdin=stdin), "Autopilot cannot tell which file this would change: ")

    @pytest.mark.parametrize("stdin", UNREADABLE)
    @pytest.mark.parametrize("marked", [False, True])
    def test_where_there_is_nothing_to_guard_it_is_allowed(
        self, autopilot: Autopilot, run_hook: RunHook, stdin: bytes, marked: bool
    ) -> None:
        if marked:
            autopilot.path.write_text("{}")
        result = run_hook(command=HOOK, stdin=stdin)
        assert (result.exit_code, result.stdout, "Traceback" in result.stderr) == (0, "", False)

    @pytest.mark.parametrize("path", ["src/\ud800", "\ud800", "src/" + "x" * 5000, "src/" + "x/" * 3000])
    def test_a_path_that_no_disk_has(self, unplanned: Autopilot, path: str) -> None:
        stdin = json.dumps({"tool_name": "Write", "tool_input": {"file_path": path}, "cwd": str(unplanned.root)})
        said = unplanned.unread(stdin)
        assert said.stdout == "" if path == "\ud800" else denies(said, "")

    @pytest.mark.parametrize("cwd", ["\ud800", "x\0", 5])
    def test_a_directory_that_no_disk_has(self, unplanned: Autopilot, cwd: object) -> None:
        stdin = json.dumps({"tool_name": "Write", "tool_input": {"file_path": "src/a"}, "cwd": cwd})
        assert denies(unplanned.unread(stdin), "")

    def test_without_a_cwd_it_is_where_the_hook_runs(self, unplanned: Autopilot, run_hook: RunHook) -> None:
        stdin = '{"tool_name": "Write", "tool_input": {"file_path": "src/a"}, "hook_event_name": "PreToolUse"}'
        assert "deny" in run_hook(command=HOOK, stdin=stdin).stdout
        gone = json.dumps({**json.loads(stdin), "cwd": str(unplanned.root / "gone")})
        assert "deny" in run_hook(command=HOOK, stdin=gone).stdout

    def test_inside_a_review(self, unplanned: Autopilot) -> None:
        assert allowed(unplanned.tool("Write", "src/app.py", env={"TASKIE_HOOK_SKIP": "1"}))

    def test_as_a_command(self, unplanned: Autopilot, events: Events) -> None:
        event = events.build(
            "PreToolUse", tool_name="Write", tool_input={"file_path": "src/a"}, cwd=str(unplanned.root)
        )

        def said(**env: str) -> str:
            return subprocess.run(
                [*TASKIE, "pre-tool-use"],
                input=json.dumps(event),
                cwd=unplanned.root,
                env={**unplanned.project.env, **env},
                capture_output=True,
                text=True,
                check=True,
            ).stdout

        assert json.loads(said())["hookSpecificOutput"]["permissionDecision"] == "deny"
        assert said(TASKIE_HOOK_SKIP="1") == ""


@pytest.fixture
def no_python(autopilot: Autopilot, tmp_path: Path) -> Autopilot:
    """A PATH on which there is no Python at all."""
    directory = tmp_path / "bare"
    directory.mkdir()
    for tool in ("sh", "readlink"):
        (directory / tool).symlink_to(shutil.which(tool) or "")
    autopilot.project.env["PATH"] = str(directory)
    return autopilot


def test_no_state_no_python(no_python: Autopilot) -> None:
    assert allowed(no_python.tool("Write", "src/app.py"))
    no_python.path.write_text('{"plan_exists": false}')
    assert "found no Python" in no_python.tool("Write", "src/app.py").stdout


def test_a_plan_of_another_engine_is_not_its_concern(no_python: Autopilot) -> None:
    (no_python.root / ".taskie" / "plans").mkdir(parents=True)
    assert allowed(no_python.tool("Write", "src/app.py"))
