"""A session of several prompts in one real client: permission answers, model switch, interrupt, compaction, its end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_taskie import Project
from pytest_taskie.client import ClaudeClient, SessionError, delay, tool

from .test_isolation import alive

pytestmark = pytest.mark.client

BLOCK_ONCE = """cat | grep -q '"stop_hook_active":true' || echo '{"decision": "block", "reason": "more"}'"""


@pytest.fixture(autouse=True)
def _new_enough(version: tuple[int, ...]) -> None:
    if version < (2, 1):
        pytest.skip("sessions are for clients that report their hooks")


def write(project: Project, name: str) -> Any:
    return tool("Write", file_path=project.path / name, content=name)


def test_every_prompt_is_a_run(claude_client: type[ClaudeClient]) -> None:
    client = claude_client(hooks={"Stop": BLOCK_ONCE, "SessionEnd": "cat > /dev/null"})
    client.agent("One.", "Two.", "Three.", "Four.")
    with client.session() as session:
        first, second = session.prompt("first"), session.prompt("second")
        last = session.end()
    assert (first.answer, second.answer) == ("Two.", "Four.")
    for run in (first, second):
        assert [stop.decision for stop in run.stops] == ["block", None]
        assert run.feedback == ("Stop hook feedback:\nmore",)
        assert [stop.active for stop in run.stops] == [False, True]
        assert run.exit_code is None
    assert len(first.requests) == len(second.requests) == 2
    assert second.requests[0].prompt == "first"
    assert second.landed("second")
    (ended,) = last.hooks("SessionEnd")
    assert ended.stdin
    assert first.stops[0].stdin
    assert ended.stdin["session_id"] == first.stops[0].stdin["session_id"]
    assert last.exit_code == 0


def test_permission_answers(claude_client: type[ClaudeClient], project: Project) -> None:
    client = claude_client(tools=None)
    client.agent(
        write(project, "a"), write(project, "b"), tool("Bash", command="touch c", description="make it"), "Done."
    )
    with client.session() as session:
        session.permit("Write")
        session.deny("Bash", "Not with the shell.")
        run = session.prompt("go on")
    assert sorted(path.name for path in project.path.iterdir()) == ["a", "b"]
    assert [question.tool for question in session.asked] == ["Write", "Write", "Bash"]
    assert session.asked[2].input["command"] == "touch c"
    assert run.landed("Not with the shell.")


def test_a_permission_with_another_input(claude_client: type[ClaudeClient], project: Project) -> None:
    client = claude_client(tools=None)
    client.agent(write(project, "a"), "Done.")
    with client.session() as session:
        session.permit(input={"file_path": str(project.path / "b"), "content": "changed"})
        session.prompt("go on")
    assert [(path.name, path.read_text()) for path in project.path.iterdir()] == [("b", "changed")]


def test_a_question_that_nobody_answers_fails_the_test(claude_client: type[ClaudeClient], project: Project) -> None:
    client = claude_client(tools=None)
    client.agent(write(project, "a"), "Done.")
    with client.session() as session:
        session.prompt("go on")
    (complaint,) = client.complaints()
    assert "no answer was given" in complaint
    assert '"tool_name": "Write"' in complaint
    client._failures.clear()
    assert list(project.path.iterdir()) == []


def test_the_model_is_switched_or_a_hook_is_against_it(claude_client: type[ClaudeClient]) -> None:
    client = claude_client()
    client.agent("One.", "Two.")
    with client.session() as session:
        before = session.prompt("first")
        assert session.switch_model("claude-haiku-4-5").error is None
        after = session.prompt("second")
    assert before.requests[-1].model != "claude-haiku-4-5"
    assert after.requests[-1].model == "claude-haiku-4-5"


def test_a_switch_that_a_hook_refuses(claude_client: type[ClaudeClient], version: tuple[int, ...]) -> None:
    if version < (2, 1, 320):
        pytest.skip("this client has no such event")
    client = claude_client(hooks={"PreModelSwitch": "echo too dear >&2; exit 2"})
    client.agent("One.")
    with client.session() as session:
        session.prompt("first")
        refused = session.switch_model("claude-haiku-4-5")
    assert "too dear" in str(refused.error)


def test_a_turn_is_interrupted(claude_client: type[ClaudeClient]) -> None:
    client = claude_client(hooks={"Stop": "cat > /dev/null; [ -e go ] || sleep 60"})
    client.agent("One.", "Two.")
    with client.session() as session:
        session.send("first")
        session.wait_for(subtype="hook_started", hook_event="Stop")
        assert session.interrupt().error is None
        run = session.result()
        Path(client.project.path / "go").touch()
        assert session.prompt("second").answer == "Two."
    (hook,) = run.hooks("Stop")
    assert hook.cancelled
    assert hook.stdin


def test_it_is_compacted(claude_client: type[ClaudeClient]) -> None:
    client = claude_client(hooks={"PreCompact": "cat > /dev/null"})
    client.agent("One.", "<summary>It began.</summary>", "Two.")
    with client.session() as session:
        session.prompt("first")
        (before,) = session.compact().hooks("PreCompact")
        run = session.prompt("second")
    assert run.answer == "Two."
    assert run.landed("It began.")
    assert run.hooks("PreCompact") == []
    assert before.stdin
    assert before.stdin["trigger"] == "manual"


def test_a_deadline_ends_it_with_all_that_it_started(claude_client: type[ClaudeClient], tmp_path: Path) -> None:
    client = claude_client(hooks={"UserPromptSubmit": f"setsid sleep 1234 & echo $! > {tmp_path}/pid; sleep 60"})
    client.agent()
    session = client.session()
    with pytest.raises(SessionError, match="did not give an event with type='result' within 4 seconds"):
        session.prompt("first", timeout=4)
    assert not alive(int((tmp_path / "pid").read_text()))
    with pytest.raises(SessionError, match="has been ended"):
        session.prompt("second")


def test_a_late_answer_is_waited_for(claude_client: type[ClaudeClient]) -> None:
    client = claude_client()
    client.agent(delay(0.5, "One."))
    with client.session() as session:
        assert session.prompt("first").answer == "One."
