"""assert_approved and assert_blocked, and what their failures and comparisons print."""

from __future__ import annotations

import re

import pytest

from pytest_taskie import HookResult, assert_approved, assert_blocked

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
