"""The assertions on a result, and what their failures and comparisons print."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie import (
    HookResult,
    RunHook,
    assert_approved,
    assert_asked,
    assert_blocked,
    assert_context,
    assert_denied,
    assert_fast,
    assert_granted,
    assert_updated_input,
)

BLOCK = HookResult("h", 0, '{"decision": "block", "reason": "Read plan-review-1.md."}', "")
CONTEXT = HookResult(
    "h", 0, '{"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "Read plan-review-1.md."}}', ""
)
NOTE = HookResult("h", 0, '{"systemMessage": "Plan validated."}', "")


def test_they_pass() -> None:
    assert_blocked(BLOCK)
    assert_blocked(BLOCK, r"plan-review-\d\.md")
    assert_blocked(CONTEXT, r"plan-review-\d\.md")
    assert_approved(NOTE)
    assert_approved(NOTE, "validated")
    assert_approved(HookResult("h", 0, "", ""))


@pytest.mark.parametrize(
    ("result", "message", "says"),
    [
        pytest.param(BLOCK, None, "not approved: the stop is blocked", id="blocked"),
        pytest.param(CONTEXT, None, "not approved: the stop is not blocked, but", id="continued"),
        pytest.param(NOTE, "rejected", "the message does not match 'rejected'", id="another message"),
        pytest.param(HookResult("h", 0, "", ""), "x", "the message does not match 'x'", id="no message"),
        pytest.param(HookResult("h", 1, "", "boom"), None, "only by accident: exit code 1", id="failed"),
        pytest.param(HookResult("h", 0, f"x\n{BLOCK.stdout}", ""), None, "by accident: block lost", id="lost block"),
        pytest.param(HookResult("h", 0, '{"continue": false}', ""), None, "the turn ends here", id="stopped"),
    ],
)
def test_assert_approved_fails(result: HookResult, message: str | None, says: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(says)) as failure:
        assert_approved(result, message)
    assert result.report() in str(failure.value)


@pytest.mark.parametrize(
    ("result", "reason", "says"),
    [
        pytest.param(NOTE, None, "not blocked: the stop is allowed", id="approved"),
        pytest.param(BLOCK, "^plan", "the reason does not match '^plan'", id="another reason"),
        pytest.param(CONTEXT, "^plan", "the reason does not match '^plan'", id="another context"),
        pytest.param(HookResult("h", 0, f"{BLOCK.stdout}x", ""), None, "not blocked: the stop is allowed", id="lost"),
        pytest.param(HookResult("h", 1, "", "boom"), None, "not blocked: the stop is allowed", id="failed"),
    ],
)
def test_assert_blocked_fails(result: HookResult, reason: str | None, says: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(says)) as failure:
        assert_blocked(result, reason)
    assert result.report() in str(failure.value)


def tool(
    stdout: str = "", exit_code: int = 0, stderr: str = "", event: str = "PreToolUse", **fields: Any
) -> HookResult:
    if fields:
        stdout = json.dumps({"hookSpecificOutput": {"hookEventName": event, **fields}})
    return HookResult("h", exit_code, stdout, stderr, event_name=event)


ALLOW = tool(permissionDecision="allow")
DENY = tool(permissionDecision="deny", permissionDecisionReason="Not here.")
ASK = tool(permissionDecision="ask", permissionDecisionReason="Sure?")
NEW_INPUT = tool(updatedInput={"command": "ls -l"})
LOUD = tool("Remember the tests.", event="UserPromptSubmit")
BROKEN = tool(exit_code=2, stderr="sh: 1: Syntax error: Unterminated quoted string")


def test_what_tool_guards_do() -> None:
    assert_granted(ALLOW)
    assert_approved(ALLOW, granted=True)
    assert_approved(tool())
    assert_denied(DENY, "^Not here")
    assert_blocked(DENY)
    assert_denied(tool(exit_code=2, stderr="Not here."))
    assert_asked(ASK, "Sure")
    assert_updated_input(NEW_INPUT, {"command": "ls -l"})
    assert_context(LOUD, "the tests")
    assert_context(tool(additionalContext="Remember the tests."), "^Remember")
    assert_context(CONTEXT, "plan-review")
    assert (ALLOW.granted, ALLOW.approved, ASK.asked) == (True, False, True)
    assert (LOUD.context, NEW_INPUT.updated_input) == ("Remember the tests.", {"command": "ls -l"})


@pytest.mark.parametrize(
    ("check", "says"),
    [
        (lambda: assert_approved(ALLOW), "not only approved: the tool call is granted: the user is not asked any more"),
        (lambda: assert_granted(tool()), "not granted: the tool call is allowed"),
        (lambda: assert_granted(DENY), "not granted: the tool call is blocked"),
        (lambda: assert_denied(ALLOW), "not denied: the tool call is granted"),
        (lambda: assert_denied(CONTEXT), "not denied: the stop is not blocked"),
        (lambda: assert_denied(DENY, "there"), "denied, but the reason does not match 'there'"),
        (lambda: assert_denied(BROKEN), "denied only by accident: exit 2 comes from the shell's own syntax error"),
        (lambda: assert_blocked(BROKEN), "blocked only by accident: exit 2 comes from the shell's own syntax error"),
        (lambda: assert_asked(DENY), "not asked: the tool call is blocked"),
        (lambda: assert_asked(ASK, "No"), "asked, but the reason does not match 'No'"),
        (lambda: assert_context(tool(), "x"), "no context: the tool call is allowed: nothing on stdout"),
        (
            lambda: assert_context(tool(additional_context="x"), "x"),
            "no context: hookSpecificOutput.additional_context",
        ),
        (lambda: assert_context(LOUD, "y$"), "the context does not match 'y$', it is 'Remember the tests.'"),
        (
            lambda: assert_context(tool(additionalContext="x" * 10_001), "x"),
            "context of 10,001 characters: over 10,000",
        ),
        (lambda: assert_updated_input(tool(), {}), "the input is not changed: the tool call is allowed"),
        (
            lambda: assert_updated_input(tool(updatedInput=[1]), {}),
            "not changed: output lost: hookSpecificOutput.updat",
        ),
        (
            lambda: assert_updated_input(NEW_INPUT, {"command": "ls"}),
            "the input is changed to {'command': 'ls -l'}, not",
        ),
        (
            lambda: assert_approved(tool(event="Nonsense")),
            "not approved: unknown: not measured; run it in claude_client",
        ),
        (lambda: assert_blocked(tool(event="Nonsense")), "not blocked: unknown: not measured; run it in claude_client"),
    ],
)
def test_they_fail(check: Callable[[], None], says: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(says)):
        check()


@pytest.mark.parametrize(
    ("command", "accident"),
    [
        ("echo 'unfinished", "the shell's own syntax error"),
        ("if true", "the shell's own syntax error"),
        ("python3 nowhere.py", "a script that is not there"),
        ("sh nowhere.sh", "a script that is not there"),
        ("python3 -c 'import sys; sys.excepthook = lambda *_: None; raise SystemExit(2)'", None),
    ],
)
def test_exit_2_of_a_real_shell(command: str, accident: str | None, run_hook: RunHook, events: Any) -> None:
    result = run_hook(events.pre_tool_use("Bash", command="ls"), command=command)
    if accident is None:
        assert_blocked(result)
        return
    assert result.exit_code == 2
    with pytest.raises(AssertionError, match=f"blocked only by accident: exit 2 comes from {accident}"):
        assert_blocked(result)


def test_a_timeout_is_a_result(run_hook: RunHook) -> None:
    result = run_hook(command="echo so far; sleep 60", entry={"timeout": 0.5})
    assert (result.timed_out, result.stdout, result.approved) == (True, "so far\n", True)
    with pytest.raises(AssertionError, match="approved only by accident: the hook did not end in time"):
        assert_approved(result)


def test_the_entry_is_judged_too(run_hook: RunHook, events: Any) -> None:
    guard = events.pre_tool_use("Bash", command="ls")
    assert_blocked(run_hook(guard, command="exit 1", entry={"onFailure": "block"}))
    assert_blocked(run_hook(guard, command="sleep 60", entry={"onFailure": "block", "timeout": 0.3}))
    assert run_hook(guard, command="exit 1").approved


@pytest.mark.parametrize("form", ["shell", "path"])
def test_a_script_with_carriage_returns(form: str, run_hook: RunHook, project: Any) -> None:
    script: Path = project.path / "hook.sh"
    script.write_bytes(b"#!/bin/sh\r\nexit 0\r\n")
    script.chmod(0o755)
    if form == "path":
        with pytest.raises(
            pytest.fail.Exception, match=r"could not be started: .*hook\.sh: a carriage return ends the line"
        ):
            run_hook(command=script)
        return
    result = run_hook(command="./hook.sh")
    with pytest.raises(
        AssertionError, match=r"only by accident: ./hook.sh: a carriage return ends the line .*\(CRLF\)"
    ):
        assert_approved(result)


@pytest.mark.parametrize("shell", ["sh", "bash"])
@pytest.mark.parametrize("lines", ["set -euo pipefail", "if true\nthen\nexit 2\nfi"])
def test_carriage_returns_that_end_a_shell_with_2(lines: str, shell: str, run_hook: RunHook, project: Any) -> None:
    """It blocks every time, whatever its author wanted."""
    (project.path / "hook.sh").write_bytes(lines.replace("\n", "\r\n").encode() + b"\r\n")
    result = run_hook(command=f"{shell} hook.sh")
    assert (result.exit_code, result.blocked) == (2, True)
    with pytest.raises(AssertionError, match=r"blocked only by accident: exit 2 comes from .*the shell's own"):
        assert_blocked(result)
    if "pipefail" in lines:
        assert "(CRLF)" in str(result.reading.accident)


def test_carriage_returns_in_the_lines_of_a_script(run_hook: RunHook, project: Any) -> None:
    (project.path / "hook.sh").write_bytes(b"nothing\r\n")
    assert "carriage returns end the script's lines (CRLF)" in str(run_hook(command="sh hook.sh").fault)


def test_fast_is_a_ratio_to_an_empty_hook(run_hook: RunHook) -> None:
    assert_fast(run_hook(command=":"), times=50)
    with pytest.raises(
        AssertionError, match=r"not fast: [\d.]+ times an empty hook \(\d\.\d+ s to 0\.\d+ s\), at most 3"
    ):
        assert_fast(run_hook(command="sleep 1"), times=3)
    with pytest.raises(TypeError, match="needs a result of run_hook"):
        assert_fast(BLOCK, times=3)


def test_a_failure_can_be_acted_on_without_running_again(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from pytest_taskie import assert_blocked

        def test_it(plan, run_hook):
            plan.state.write(phase="code-review")
            script = f'''echo starting; echo oops >&2; echo '{{"phase": "x"}}' > {plan.state.path}; exit 3'''
            assert_blocked(run_hook(command=script))
        """
    )
    outcome = pytester.runpytest("-p", "no:randomly")
    outcome.assert_outcomes(failed=1)
    outcome.stdout.fnmatch_lines(
        [
            "E *AssertionError: not blocked: the stop is allowed: exit code 3, which the client only shows as an error",
            "E *command: *echo starting;*",
            "E *exit code: 3 after *",
            "E *stdout:",
            "E *starting",
            "E *stderr:",
            "E *oops",
            "E *the client reads: the stop is allowed*",
            "E *state of test-plan before:",
            'E *"phase": "code-review",',
            "E *state of test-plan after:",
            'E *{"phase": "x"}',
        ]
    )
    outcome.stdout.no_fnmatch_line("*running.py*")


def test_comparisons_say_field_by_field_what_differs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def state(plan):
            plan.state.raw('{"phase": "a", "tdd": false, "extra": 1, "same": 2}')
            return plan.state

        def test_state(state):
            assert state == {"phase": "b", "tdd": 0, "wanted": None, "same": 2}

        def test_the_other_way_round(state):
            assert {"phase": "b", "tdd": False, "extra": 1, "same": 2} == state

        def test_no_object(state):
            state.raw("[1]")
            assert state == {"phase": "b"}

        def test_unreadable(state):
            state.raw("{")
            assert state == {"phase": "b"}

        def test_result(run_hook):
            assert run_hook(command="echo '{\\"a\\": 1}'") == {"a": 2}

        def test_no_result(run_hook):
            assert run_hook(command="echo text") == {"a": 2}

        def test_attribute(run_hook):
            assert run_hook(command="echo text").blocked

        def test_other_comparisons_are_left_alone(state):
            assert state != {"phase": "a", "tdd": False, "extra": 1, "same": 2}

        def test_comparisons_with_other_things_too(state):
            assert state == "text"

        class State:
            pass

        def test_and_a_class_of_the_same_name():
            assert State() == {}
        """
    )
    outcome = pytester.runpytest("-p", "no:randomly", "-vv")
    outcome.assert_outcomes(failed=10)
    outcome.stdout.fnmatch_lines(
        [
            "E *the state of plan test-plan is not as expected",
            "E *extra: 1, not expected at all",
            'E *phase: "a", expected "b"',
            "E *tdd: false, expected 0",
            "E *wanted: missing, expected null",
            "E *the state of plan test-plan is not as expected",
            'E *phase: "a", expected "b"',
            "E *it is [[]1], not an object",
            "E *the state of plan test-plan cannot be read: *",
            "E *the hook's output is not as expected",
            "E *a: 1, expected 2",
            "E *command: *echo*",
            "E *the client reads: the stop is allowed: plain text on stdout",
            "E *<HookResult: the stop is allowed: plain text on stdout*.blocked",
        ]
    )
    outcome.stdout.no_fnmatch_line("*same: 2,*expected*")
