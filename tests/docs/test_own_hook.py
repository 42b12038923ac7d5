"""The page about writing one's own hook: its examples as they stand, and every promise beside them."""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path

import pytest

from pytest_taskie import Events, HookResult, Project, RunHook, assert_approved, assert_blocked

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "own-hook.md").read_text()
STOP, TOOL = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


class Hook:
    """A hook of somebody who has installed the library."""

    def __init__(self, run_hook: RunHook, events: Events, project: Project, tmp_path: Path) -> None:
        self._run, self._events, self.project = run_hook, events, project
        self._file = tmp_path / "hook.py"
        self.log = Path(project.env["HOME"], ".cache", "taskie", "hook.log")
        project.env.pop("XDG_CACHE_HOME", None)

    def write(self, text: str) -> None:
        self._file.write_text(f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{text}")

    def says(self, body: str, options: str = "", *, relative: bool = False) -> None:
        """A hook whose function has this body."""
        if relative:
            self._file = self.project.path / "own.py"
        self.write(f"from taskie import *\ndef decide(event, turn):\n    {body}\nrun(decide{options})")

    def stop(self, *, active: bool = False, shell: str = "", **fields: object) -> HookResult:
        file = os.path.relpath(self._file, self.project.path) if self._file.parent == self.project.path else self._file
        command = f"exec '{sys.executable}' '{file}' {shell}"
        return self._run(self._events.stop(stop_hook_active=active, **fields), command=command)

    def send(self, stdin: str) -> HookResult:
        return self._run(stdin=stdin, command=[sys.executable, self._file])

    def tool(self, name: str, **given: object) -> HookResult:
        return self._run(self._events.pre_tool_use(name, **given), command=[sys.executable, self._file])


@pytest.fixture
def hook(run_hook: RunHook, events: Events, project: Project, tmp_path: Path) -> Hook:
    return Hook(run_hook, events, project, tmp_path)


def test_ten_lines() -> None:
    assert len([line for line in STOP.splitlines() if line.strip()]) <= 10


def test_the_stop_hook_on_the_page(hook: Hook) -> None:
    hook.write(STOP)
    assert hook.stop().json == {"suppressOutput": True}
    for name in ("a.py", "b.py"):
        (hook.project.path / name).write_text("# FIXME\n")
    assert_blocked(hook.stop(), "FIXME in a.py, b.py.")
    again = hook.stop(active=True)
    assert_approved(again, "nothing has changed since the last block: Finish what is marked FIXME in a.py, b.py.")
    (hook.project.path / "a.py").write_text("")
    assert_blocked(hook.stop(active=True), "FIXME in b.py.")
    (hook.project.path / "b.py").write_text("")
    assert hook.stop(active=True).json == {"suppressOutput": True}


def test_the_tool_hook_on_the_page(hook: Hook) -> None:
    hook.write(TOOL)
    assert hook.tool("Write", file_path="src/a.py").stdout == ""
    denied = json.loads(hook.tool("Write", file_path="uv.lock").stdout)["hookSpecificOutput"]
    assert (denied["permissionDecision"], denied["hookEventName"]) == ("deny", "PreToolUse")
    assert hook.tool("Write", file_path="uv.lock").blocked, "a tool is denied however often"


class TestItNeverLoops:
    def test_at_most_so_often_in_a_turn(self, hook: Hook, tmp_path: Path) -> None:
        count = f"open({str(tmp_path / 'count')!r}, 'a').write('x')"
        body = f"{count}; return Decision(reason=str(len(open({str(tmp_path / 'count')!r}).read())))"
        hook.says(body, ", most=3")
        decisions = [hook.stop(active=number > 0).blocked for number in range(5)]
        assert decisions == [True, True, True, False, False]
        assert hook.stop().blocked, "another turn"

    def test_eight_times_unless_it_says_otherwise(self, hook: Hook) -> None:
        hook.says("return Decision(reason='the rest', progress=True)")
        results = [hook.stop(active=number > 0) for number in range(10)]
        assert [result.blocked for result in results] == [True] * 8 + [False] * 2
        assert_approved(results[-1], "the rest")

    def test_an_authors_own_evidence(self, hook: Hook) -> None:
        hook.says("return Decision(reason='same', progress=True)", ", most=2")
        assert [hook.stop(active=active).blocked for active in (False, True, True)] == [True, True, False]

    def test_another_hooks_block_is_not_ours(self, hook: Hook) -> None:
        hook.says("return Decision(reason='first')")
        assert hook.stop(active=True).blocked
        assert not hook.stop(active=True).blocked

    def test_sessions_are_apart(self, hook: Hook) -> None:
        hook.says("return Decision(reason='same')")
        assert hook.stop(session_id="one").blocked
        assert hook.stop(session_id="two", active=True).blocked
        assert not hook.stop(session_id="one", active=True).blocked

    def test_what_cannot_be_remembered_is_not_blocked_again(self, hook: Hook) -> None:
        hook.says("return Decision(reason='stay')")
        Path(hook.project.env["HOME"], ".cache").write_text("not a directory")
        assert hook.stop().blocked
        assert_approved(hook.stop(active=True), "stay")

    @pytest.mark.parametrize("kept", ["null", "[1]", "", "1\n\udcff"])
    def test_a_spoiled_memory_is_none(self, hook: Hook, kept: str) -> None:
        hook.says("return Decision(reason='stay')")
        assert hook.stop().blocked
        (memory,) = (hook.log.parent / "blocks").iterdir()
        memory.write_text(kept, errors="surrogateescape")
        assert [hook.stop(active=True).blocked for _ in range(2)] == [True, False]

    @pytest.mark.parametrize(
        "change", ["os.chdir(made)", "os.environ['HOME'] = made", "sys.argv[:] = [made]", "sys.argv.clear()"]
    )
    def test_whatever_the_function_changes(self, hook: Hook, change: str) -> None:
        """Each time to something else; the hook is named by a path that is not absolute."""
        made = f"import os, sys, tempfile; made = tempfile.mkdtemp(dir={str(hook.project.path)!r})"
        hook.says(f"{made}; {change}; return Decision(reason='stay')", relative=True)
        assert [hook.stop(active=active).blocked for active in (False, True, True)] == [True, False, False]

    @pytest.mark.parametrize("name", ["HOME", "XDG_CACHE_HOME"])
    def test_without_a_home_nothing_is_left_in_the_project(self, hook: Hook, name: str) -> None:
        hook.says("return Decision(reason='stay')")
        hook.project.env[name] = "~"  # as Python has it for a user whom the system does not know
        before = sorted(hook.project.path.iterdir())
        assert hook.stop().blocked
        assert_approved(hook.stop(active=True), "stay")
        hook.says("1 / 0")
        assert_approved(hook.stop(), "and blocks nothing.$")
        assert sorted(hook.project.path.iterdir()) == before

    def test_nothing_stays_behind(self, hook: Hook) -> None:
        hook.says("return Decision(reason='stay' if not turn.active else None)")
        assert hook.stop().blocked
        assert list((hook.log.parent / "blocks").iterdir())
        assert not hook.stop(active=True).blocked
        assert list((hook.log.parent / "blocks").iterdir()) == []


class TestItFailsOpen:
    @pytest.mark.parametrize("stdin", ["", "{", "[]", '{"cwd": 5}'])
    def test_on_what_is_not_an_event(self, hook: Hook, stdin: str) -> None:
        hook.says("return Decision(reason='never')")
        assert_approved(hook.send(stdin), "Invalid JSON input")

    @pytest.mark.parametrize(
        "body",
        [
            "1 / 0",
            "sys.exit(2)",
            "raise SystemExit",
            "raise KeyboardInterrupt",
            "import asyncio; raise asyncio.CancelledError",
            "raise type('Mute', (Exception,), {'__str__': None})",
            "return 5",
            "return Decision(reason=5)",
            "return Decision(message=5)",
            "return Decision(warnings=None)",
        ],
    )
    def test_on_what_nobody_foresaw(self, hook: Hook, body: str) -> None:
        hook.says(f"import sys; {body}")
        result = hook.stop()
        assert_approved(result, "The hook .*hook.py failed")
        assert result.exit_code == 0
        assert "Traceback" in hook.log.read_text()

    def test_where_nobody_reads_the_log(self, hook: Hook) -> None:
        hook.says("1 / 0")
        hook.log.parent.mkdir(parents=True)
        os.mkfifo(hook.log)
        assert_approved(hook.stop(), "failed .ZeroDivisionError: division by zero. and blocks nothing.$")

    def test_none_allows(self, hook: Hook) -> None:
        hook.says("return None")
        assert hook.stop().json == {"suppressOutput": True}


@pytest.mark.parametrize(
    "noise",
    [
        "print('noise')",
        "import os; os.system('echo noise')",
        "import atexit; atexit.register(print, 'noise')",
        "import threading; threading.Timer(0.3, print, ['noise']).start()",
        "import os; print('noise', flush=True); os.close(1)",
        "import sys; print('noise'); sys.stdout.close()",
        "import os, sys; child = os.fork(); child or sys.exit(print('noise', flush=True)); os.waitpid(child, 0)",
        "import os; child = os.fork(); child or 1 / (print('noise', flush=True) or 0); os.waitpid(child, 0)",
        "import os; print('noise', flush=True); child = os.fork(); child and os.waitpid(child, 0)",
    ],
)
def test_exactly_one_document(hook: Hook, noise: str) -> None:
    hook.says(f"{noise}; return Decision(reason='stay')")
    result = hook.stop()
    assert_blocked(result, "stay")
    assert result.stdout == '{"decision": "block", "reason": "stay"}\n'
    assert "noise" in result.stderr


@pytest.mark.parametrize("stderr", ["2>&-", "2>/dev/full"])
def test_nobody_reads_stderr(hook: Hook, stderr: str) -> None:
    hook.says("print('noise'); return Decision(reason='stay')")
    hook.project.env.pop("PYTHONUNBUFFERED", None)  # what is buffered fails when the interpreter ends
    result = hook.stop(shell=stderr)
    assert_blocked(result, "stay")
    assert (result.stdout, result.exit_code) == ('{"decision": "block", "reason": "stay"}\n', 0)


def test_inside_a_review_it_is_not_ours_to_silence(hook: Hook) -> None:
    hook.says("return Decision(reason='stay')")
    hook.project.env["TASKIE_HOOK_SKIP"] = "1"
    assert hook.stop().blocked


def test_everything_the_client_sent_is_there(hook: Hook) -> None:
    hook.says("return Decision(reason=f'{event.name} {event.fields[\"permission_mode\"]} {event.cwd}')")
    assert_blocked(hook.stop(permission_mode="plan"), f"Stop plan {hook.project.path}")


def test_the_command_in_the_settings_runs_it(hook: Hook, run_hook: RunHook) -> None:
    """With the Python that has the library: here it is the one that finds the clone."""
    (settings,) = re.findall(r"^```json\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (entry,) = json.loads(settings)["hooks"]["Stop"][0]["hooks"]
    file = hook.project.path / "hooks" / "fixmes.py"
    file.parent.mkdir()
    file.write_text(STOP)
    (hook.project.path / "a.py").write_text("# FIXME\n")
    assert_blocked(run_hook(command=entry["command"], env={"PYTHONPATH": str(ROOT)}), "FIXME in a.py.")


def test_a_pipe_that_stays_open(hook: Hook, run_hook: RunHook, events: Events, tmp_path: Path) -> None:
    hook.says("return Decision(reason='stay')")
    reader, writer = os.pipe()
    os.write(writer, json.dumps(events.stop()).encode() + b"\n")
    with os.fdopen(reader) as stdin, os.fdopen(writer, "wb"):
        result = run_hook(stdin=stdin, command=[sys.executable, tmp_path / "hook.py"])
    assert_blocked(result, "stay")


def test_the_fields_of_an_event_are_those_of_the_page(hook: Hook) -> None:
    row = PAGE.partition("| `Event` | ")[2].partition(";")[0]
    names = re.findall(r"`(\w+)`", row)
    assert len(names) == 6
    hook.says(f"return Decision(reason=repr([getattr(event, name) for name in {names}]))")
    seen = ["PreToolUse", str(hook.project.path), hook.project.session_id, False, "Write", {"file_path": "a"}]
    assert_blocked(hook.tool("Write", file_path="a"), re.escape(repr(seen)))


def test_what_a_turn_says(hook: Hook) -> None:
    hook.says("return Decision(message=f'{turn.active} {turn.may_block(False)} {turn.may_block(True)}')")
    assert [hook.stop(active=active).system_message for active in (False, True)] == [
        "False True True",
        "True False True",
    ]


def test_whom_a_decision_tells(hook: Hook) -> None:
    hook.says("return Decision(reason='for the model', message='for the person', warnings=('and this',))")
    result = hook.stop()
    assert result.reason == "for the model"
    assert "for the person" in (result.system_message or "")
    assert "and this" in (result.system_message or "")
    assert "model" not in (result.system_message or "")
    hook.says("return Decision()")
    assert hook.stop().json == {"suppressOutput": True}


def test_the_setting_on_the_page_finds_it(pytester: pytest.Pytester) -> None:
    (ini,) = re.findall(r"^```ini\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    pytester.makefile(".ini", pytest=ini)
    (pytester.mkdir("hooks") / "fixmes.py").write_text(STOP)
    pytester.makepyfile(
        f"""
        from pytest_taskie import assert_blocked

        def test_it(project, run_hook):
            (project.path / "a.py").write_text("# FIXME")
            assert_blocked(run_hook(env={{"PYTHONPATH": {str(ROOT)!r}}}), reason="FIXME in a.py")
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


def test_a_file_that_is_not_there_exits_with_2(run_hook: RunHook, events: Events) -> None:
    """So a tool is denied by nobody's wish, and only the reason tells."""
    result = run_hook(events.pre_tool_use("Write", file_path="a"), command="python3 hooks/gone.py")
    assert (result.exit_code, result.blocked) == (2, True)
    assert "can't open file" in (result.reason or "")


def test_the_names_of_the_page_are_public_and_no_others() -> None:
    import taskie

    assert set(taskie.__all__) - {"__version__"} == {"Decision", "Event", "Turn", "run"}
    for name in ("Event", "Turn", "Decision"):
        assert f"| `{name}` |" in PAGE
