"""`taskie_clients`: one run of a hook, judged for every client and version that its author supports."""

from __future__ import annotations

import pytest

from pytest_taskie import HookResult, NotMeasured, assert_approved, assert_blocked
from pytest_taskie._clients import supported

TEST = """
from pytest_taskie import assert_approved, assert_blocked

def test_it(run_hook):
    {}
"""
BLOCK = '{"decision": "block", "reason": "more please"}'
REFUSED = """assert_blocked(run_hook(command='echo no >&2; echo "{\\\\"reason\\\\": 5}"; exit 2'))"""


def result(stdout: str, clients: str, exit_code: int = 0, stderr: str = "", event: str = "Stop") -> HookResult:
    return HookResult("h", exit_code, stdout, stderr, event_name=event, contracts=supported(clients))


def test_the_failure_says_which_version_loses_the_block() -> None:
    refused = result('{"decision": "block", "reason": 5}', "claude>=2.1.163", 2, "no")
    assert refused.blocked
    with pytest.raises(AssertionError) as failure:
        assert_blocked(refused)
    first, *rest = str(failure.value).split("\n")
    assert first.startswith("in claude >=2.1.163, <2.1.213: not blocked: the stop is allowed: block lost: reason is 5")
    assert "claude >=2.1.213 reads: the stop is blocked by exit 2" in "\n".join(rest)
    assert_blocked(result('{"decision": "block", "reason": 5}', "claude>=2.1.213", 2, "no"))


def test_a_version_without_the_event_loses_the_block() -> None:
    refuses = result("", "claude>=2.1.213", 2, "too dear", "PreModelSwitch")
    with pytest.raises(
        AssertionError, match=r"^in claude >=2\.1\.213, <2\.1\.251: not blocked: .* never runs this hook"
    ):
        assert_blocked(refuses)
    assert_blocked(result("", "claude>=2.1.326", 2, "too dear", "PreModelSwitch"))


def test_every_client_that_loses_it_is_named() -> None:
    silent = result('{"decision": "block"}', "claude>=2.1.213, codex")
    with pytest.raises(AssertionError, match=r"^in codex >=0\.169\.0: not blocked: the stop is allowed: block lost"):
        assert_blocked(silent)
    approve = result('{"decision": "approve"}', "codex")
    with pytest.raises(AssertionError, match="approved only by accident: output lost"):
        assert_approved(approve)


def test_what_is_the_same_in_several_is_said_once() -> None:
    refused = result('{"decision": "block", "reason": 5}', "claude>=1.0.120, qwen", 0, "no")
    with pytest.raises(AssertionError) as failure:
        assert_blocked(refused)
    lines = str(failure.value).split("\n")
    lost = "the stop is allowed: block lost: reason is 5, a known field of the wrong type"
    assert lines[0] == f"in claude >=1.0.120 and qwen >=0.24.4: not blocked: {lost}"
    told = [line for line in lines if " reads: " in line or " read: " in line]
    assert told == [f"claude >=1.0.120 and qwen >=0.24.4 read: {lost}"]


def test_all_of_them_may_say_the_same() -> None:
    failed = result("", "claude>=1.0.120, codex", 1)
    with pytest.raises(AssertionError) as failure:
        assert_blocked(failed)
    assert str(failure.value).count("exit code 1, which the client only shows as an error") == 2
    with pytest.raises(AssertionError, match=r"^in claude >=1\.0\.120 and codex >=0\.169\.0: not blocked: "):
        assert_blocked(failed)


def test_ranges_between_which_another_says_something_else_stay_apart() -> None:
    ask = '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "ask"}}'
    with pytest.raises(AssertionError) as failure:
        assert_approved(result(ask, "claude>=1.0.120, codex", event="PreToolUse"))
    told = [line for line in str(failure.value).split("\n") if " reads: " in line or " read: " in line]
    names = [line.split(" read")[0] for line in told]
    assert len(names) == len({line.split(": ", 1)[1] for line in told})
    assert names[0].startswith("claude >=")
    assert "codex >=0.169.0 reads: the tool call is allowed: output lost: codex refuses ask as it is here" in told


def test_what_was_not_measured_in_several_is_one_warning(recwarn: pytest.WarningsRecorder) -> None:
    """Of a client that says the same everywhere."""
    with pytest.warns(NotMeasured) as warned:
        assert_blocked(result(BLOCK, "claude>=2.1.213, codex", event="SubagentStop"))
    said = [str(one.message) for one in warned]
    assert len(said) == len({message.split(": ", 1)[1] for message in said})


def test_what_was_not_measured_there_is_a_warning() -> None:
    with pytest.warns(NotMeasured, match=r"codex >=0\.169\.0: unknown: not measured; run it in codex_client"):
        assert_blocked(result(BLOCK, "claude, codex", event="SubagentStop"))


@pytest.mark.parametrize(
    ("setting", "names"),
    [
        ("claude", ["claude >=2.1.326"]),
        ("claude==2.1.197", ["claude >=2.1.163, <2.1.213"]),
        ("claude >= 2.1.300,\n codex", ["claude >=2.1.326", "claude >=2.1.295, <2.1.326", "codex >=0.169.0"]),
        (["codex", "claude>=9"], ["codex >=0.169.0", "claude >=2.1.326"]),
        ("claude, claude==newest, ,", ["claude >=2.1.326"]),
    ],
)
def test_what_may_be_written(setting: str | list[str], names: list[str]) -> None:
    assert [one.name for one in supported(setting)] == names


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("amp", "*taskie_clients: 'amp' is not a client that was measured (claude, codex, copilot, gemini, qwen)"),
        ("claude>=2.0, kodex", "*'kodex' is not a client that was measured (claude, codex, *); is codex meant?"),
        ("claude>=new", "*taskie_clients: 'new' is not a version: write one such as 2.1.197, or newest"),
        ("claude<2", "*taskie_clients: 'claude<2' does not name a client: write claude, claude>=2.0 or *"),
        ("codex>=0.1", "*taskie_clients: nothing was measured of codex 0.1: the oldest is 0.169.0"),
        ("==2", "*'==2' does not name a client: *(known are claude, codex, copilot, gemini, qwen)"),
    ],
)
def test_what_is_not_known_is_a_usage_error(setting: str, says: str, pytester: pytest.Pytester) -> None:
    pytester.makeini(f"[pytest]\ntaskie_clients = {setting}")
    pytester.makepyfile("def test_it(): pass")
    outcome = pytester.runpytest()
    assert outcome.ret == pytest.ExitCode.USAGE_ERROR
    outcome.stderr.fnmatch_lines([f"ERROR: {says}"])


def test_run_hook_takes_them_from_the_ini(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ntaskie_clients = claude>=2.1.163")
    pytester.makepyfile(TEST.format(REFUSED))
    outcome = pytester.runpytest("-p", "no:randomly")
    outcome.assert_outcomes(failed=1)
    outcome.stdout.fnmatch_lines(["E *AssertionError: in claude >=2.1.163, <2.1.213: not blocked: *output lost*"])


def test_without_the_ini_it_is_the_newest(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TEST.format(REFUSED))
    pytester.runpytest("-p", "no:randomly").assert_outcomes(passed=1)


def test_an_array_in_pyproject(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\ntaskie_clients = ["claude>=2.1.163", "codex"]')
    pytester.makepyfile(TEST.format("assert len(run_hook(command=':').readings) == 6"))
    pytester.runpytest("-p", "no:randomly").assert_outcomes(passed=1)
