"""The page about writing one's own hook: its examples as they stand, and every promise beside them."""

from __future__ import annotations

import json
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

    def says(self, body: str, options: str = "") -> None:
        """A hook whose function has this body."""
        self.write(f"from taskie import *\ndef decide(event, turn):\n    {body}\nrun(decide{options})")

    def stop(self, *, active: bool = False, **fields: object) -> HookResult:
        return self._run(self._events.stop(stop_hook_active=active, **fields), command=[sys.executable, self._file])

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

    @pytest.mark.parametrize("body", ["1 / 0", "sys.exit(2)", "raise SystemExit", "return 5"])
    def test_on_what_nobody_foresaw(self, hook: Hook, body: str) -> None:
        hook.says(f"import sys; {body}")
        result = hook.stop()
        assert_approved(result, "The hook .*hook.py failed")
        assert result.exit_code == 0
        assert "Traceback" in hook.log.read_text()

    def test_none_allows(self, hook: Hook) -> None:
        hook.says("return None")
        assert hook.stop().json == {"suppressOutput": True}


@pytest.mark.parametrize("noise", ["print('noise')", "import os; os.system('echo noise')"])
def test_exactly_one_document(hook: Hook, noise: str) -> None:
    hook.says(f"{noise}; return Decision(reason='stay')")
    result = hook.stop()
    assert_blocked(result, "stay")
    assert result.stdout == '{"decision": "block", "reason": "stay"}\n'
    assert "noise" in result.stderr


def test_inside_a_review_it_is_not_ours_to_silence(hook: Hook) -> None:
    hook.says("return Decision(reason='stay')")
    hook.project.env["TASKIE_HOOK_SKIP"] = "1"
    assert hook.stop().blocked


def test_everything_the_client_sent_is_there(hook: Hook) -> None:
    hook.says("return Decision(reason=f'{event.name} {event.fields[\"permission_mode\"]} {event.cwd}')")
    assert_blocked(hook.stop(permission_mode="plan"), f"Stop plan {hook.project.path}")


def test_the_names_of_the_page_are_public_and_no_others() -> None:
    import taskie

    assert set(taskie.__all__) - {"__version__"} == {"Decision", "Event", "Turn", "run"}
    for name in ("Event", "Turn", "Decision"):
        assert f"| `{name}` |" in PAGE
