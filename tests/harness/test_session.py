"""`session(…)`: the client's loop without the client. What it does is held against the client by `tests/client`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie import Project
from pytest_taskie.client import api_error, delay, repeat, shell, structured, tool
from pytest_taskie.simulated import NotMeasuredHere

LOOP = "[ ! -e FAILING ] || { echo FAILING is there >&2; exit 2; }"


def prints(answer: Any) -> str:
    return f"echo {shlex.quote(json.dumps(answer))}"


def bash(command: str) -> Any:
    return tool("Bash", command=command, description="d")


def test_a_loop_of_stops(session: Any, project: Project) -> None:
    (project.path / "FAILING").touch()
    client = session(hooks={"Stop": LOOP})
    client.agent("Done.", bash("rm FAILING"), "Now it is done.")
    run = client.prompt("Mend it.")
    assert [(stop.decision, stop.active) for stop in run.stops] == [("block", False), (None, True)]
    assert run.feedback == (f"Stop hook feedback:\n[{LOOP}]: FAILING is there\n",)
    assert run.answer == "Now it is done."
    assert run.landed("FAILING is there")
    assert not (project.path / "FAILING").exists()


def test_a_plugin_and_the_events_in_order(session: Any, project: Project, tmp_path: Path) -> None:
    log = '{"type": "command", "command": "cat >> \\"$CLAUDE_PROJECT_DIR\\"/log"}'
    events = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolBatch", "Stop", "SessionEnd")
    root = tmp_path / "plugin"
    (root / "hooks").mkdir(parents=True)
    hooks = ",".join(f'"{event}": [{{"hooks": [{log}]}}]' for event in events)
    (root / "hooks" / "hooks.json").write_text(f'{{"hooks": {{{hooks}}}}}')
    client = session(plugin=root)
    client.agent(tool("Write", file_path="a.txt", content="x"), "Done.")
    run = client.prompt("Write it.")
    seen = [json.loads(line) for line in (project.path / "log").read_text().splitlines()]
    assert [event["hook_event_name"] for event in seen] == list(events)
    assert [hook.event for hook in run.hook_runs] == list(events)
    assert seen[2]["tool_input"]["file_path"] == str(project.path / "a.txt")
    assert (project.path / "a.txt").read_text() == "x"
    assert run.hooks("PreToolUse")[0].stdin == seen[2]


def test_a_denial(session: Any, project: Project) -> None:
    deny = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "Not here."}
    client = session(
        settings={
            "hooks": {
                "PreToolUse": [
                    {
                        "matcher": "Write",
                        "hooks": [{"type": "command", "command": prints({"hookSpecificOutput": deny})}],
                    }
                ]
            }
        }
    )
    client.agent(tool("Write", file_path="a.txt", content="x"), "I see.")
    run = client.prompt("Write it.")
    assert run.landed("Not here.")
    assert not (project.path / "a.txt").exists()


def test_a_changed_input(session: Any, project: Project) -> None:
    change = {"hookEventName": "PreToolUse", "updatedInput": {"command": "echo other > made", "description": "d"}}
    client = session(hooks={"PreToolUse": prints({"hookSpecificOutput": change})})
    client.agent(bash("echo one > made"), "Done.")
    client.prompt("go")
    assert (project.path / "made").read_text() == "other\n"


def test_context_and_messages(session: Any) -> None:
    said = {"systemMessage": "Mind the gap."}
    client = session(hooks={"UserPromptSubmit": "echo The build is red.", "Stop": prints(said)})
    client.agent("Done.")
    run = client.prompt("go")
    assert run.landed("The build is red.")
    assert run.system_messages == ("Mind the gap.",)


def test_a_prompt_that_is_blocked(session: Any) -> None:
    client = session(hooks={"UserPromptSubmit": prints({"decision": "block", "reason": "Not today."})})
    run = client.prompt("go")
    assert "Not today." in run.answer
    assert run.requests == ()


def test_continue_false(session: Any) -> None:
    client = session(hooks={"Stop": prints({"continue": False, "stopReason": "Enough."})})
    client.agent("Done.")
    assert [stop.decision for stop in client.prompt("go").stops] == [None]


def test_the_cap(session: Any) -> None:
    client = session(hooks={"Stop": "exit 2"}, env={"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "2"})
    client.agent(repeat("Done."))
    run = client.prompt("go")
    assert [stop.decision for stop in run.stops] == ["block", "block", None]
    assert run.answer == ""


def test_a_hook_past_its_timeout(session: Any) -> None:
    client = session(hooks={"Stop": {"command": "sleep 60; exit 2", "timeout": 0.2}})
    client.agent("Done.")
    run = client.prompt("go")
    assert (run.hooks("Stop")[0].cancelled, run.stops[0].decision) == (True, None)


def test_the_transcript(session: Any, project: Project) -> None:
    client = session(hooks={"Stop": 'cp "$(sed -n \'s/.*"transcript_path":"\\([^"]*\\).*/\\1/p\')" copy'})
    client.agent(shell("true"), delay(0.01, "Done."))
    client.prompt("Go on, please.")
    copy = (project.path / "copy").read_text()
    assert [word in copy for word in ("Go on, please.", '"tool_use"', '"tool_result"', "Done.")] == [True] * 4


REFUSED: dict[str, Any] = {
    "another tool": ({}, [tool("WebFetch", url="http://localhost", prompt="x")], "a call of WebFetch"),
    "an error of the API": ({}, [api_error(529)], "an error of the API"),
    "structured output": ({}, [structured(a=1)], "structured output"),
    "an asynchronous hook": ({"Stop": {"command": "true", "async": True}}, ["Done."], "does not wait"),
    "a prompt hook": ({"Stop": {"type": "prompt", "prompt": "Done?"}}, ["Done."], "type prompt"),
    "an if": ({"PreToolUse": {"command": "true", "if": "Bash(a|b)"}}, [bash("ls; ls")], "`if`"),
    "in the background": ({}, [tool("Bash", command="ls", run_in_background=True)], "in the background"),
    "a glob below the project": ({}, [bash("mkdir sub; cd sub"), tool("Glob", pattern="sub/*")], "the pattern sub"),
    "an unmeasured event": ({"FileChanged": "true"}, ["Done."], "a hook at FileChanged"),
}


@pytest.mark.parametrize(("hooks", "turns", "words"), REFUSED.values(), ids=list(REFUSED))
def test_what_nobody_has_measured_is_refused(session: Any, hooks: Any, turns: Any, words: str) -> None:
    client = session(hooks=hooks)
    client.agent(*turns)
    with pytest.raises(NotMeasuredHere, match=f"{words}.*run this test in the real client"):
        client.prompt("go")


@pytest.mark.parametrize(
    ("other", "words"),
    [({"continue": False, "stopReason": "Enough."}, "ends? a prompt"), ({"systemMessage": "Hello."}, "a message")],
    ids=["continue false", "a message"],
)
def test_what_the_client_decides_by_a_race_is_refused(session: Any, other: Any, words: str) -> None:
    client = session(hooks={"UserPromptSubmit": [prints({"decision": "block", "reason": "No."}), prints(other)]})
    with pytest.raises(NotMeasuredHere, match=words):
        client.prompt("go")


def test_settings_that_are_not_simulated(session: Any, project: Project) -> None:
    with pytest.raises(NotMeasuredHere, match="the settings env"):
        session(settings={"env": {"A": "b"}}).prompt("go")
    (project.path / ".claude").mkdir()
    (project.path / ".claude" / "settings.json").write_text('{"env": {"A": "b"}}')
    with pytest.raises(NotMeasuredHere, match="the settings env"):
        session().prompt("go")


def test_a_tool_that_nobody_has_allowed(session: Any) -> None:
    client = session(tools=None)
    client.agent(bash("ls"))
    with pytest.raises(NotMeasuredHere, match="nobody has allowed"):
        client.prompt("go")


@pytest.mark.parametrize("words", [["--resume"], ["--agent", "x"]])
def test_arguments(session: Any, words: list[str]) -> None:
    with pytest.raises(NotMeasuredHere, match="the arguments"):
        session(args=words)


def test_the_script_and_the_session_must_agree(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_too_many(session):
            client = session()
            client.agent("Done.", "Nobody asks.")
            client.prompt("go")

        def test_too_few(session):
            client = session(hooks={"Stop": "exit 2"})
            client.agent("Done.")
            client.prompt("go")
        """
    )
    result = pytester.runpytest("-p", "no:randomly")
    result.stdout.fnmatch_lines(["*never fetched from the agent*", "*no turn left after 1*"])
    result.assert_outcomes(passed=1, failed=1, errors=1)


def test_the_option(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_it(claude_client):
            client = claude_client()
            client.agent("Done.")
            assert client.prompt("go").answer == "Done."
            assert type(client).__module__ == "pytest_taskie.client._fixtures"
            assert "Simulated" in type(client).__name__
        """
    )
    pytester.runpytest("--taskie-client", "simulated").assert_outcomes(passed=1)


def test_what_the_hooks_are_told_of_tools(session: Any, project: Project) -> None:
    """A hook gets what the tool has done: lines that have changed, and whether silence was to be expected."""
    (project.path / "a.txt").write_text("one\ntwo")
    client = session(hooks={"PostToolUse": "cat > /dev/null"})
    edit = tool("Edit", file_path="a.txt", old_string="two", new_string="three")
    client.agent(tool("Read", file_path="a.txt"), edit, bash("rm a.txt"), bash("ls"), "Done.")
    run = client.prompt("go")
    read, edited, removed, listed = (hook.stdin["tool_response"] for hook in run.hooks("PostToolUse"))
    assert (read["file"]["startLine"], read["file"]["content"]) == (1, "one\ntwo")
    (hunk,) = edited["structuredPatch"]
    assert hunk["lines"] == [" one", "-two", "\\ No newline at end of file", "+three", "\\ No newline at end of file"]
    assert (removed["noOutputExpected"], listed["noOutputExpected"]) == (True, False)
    (result,) = [event for event in run.events if event["type"] == "result"]
    assert (result["num_turns"], result["result"]) == (5, "Done.")
