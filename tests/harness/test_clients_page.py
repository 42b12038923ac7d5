"""docs/clients.md: what its advice says of each client is what the data say, which are held in the real clients."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_taskie import HookResult, _contract, assert_approved, assert_blocked, assert_denied
from pytest_taskie._clients import supported
from pytest_taskie._judgement import judge
from pytest_taskie.client._kinds import CLIENTS, KINDS
from tools.clients_page import EVENTS, PLACES, page

ROOT = Path(__file__).resolve().parents[2]
ALL = "claude, codex, copilot, qwen, gemini"
BLOCK = '{"decision": "block", "reason": "more please"}'
DENY = {
    "hookEventName": "PreToolUse",
    "permissionDecision": "deny",
    "permissionDecisionReason": "more please",
}
EVERYBODY = {*KINDS}
TESTS = """
from pathlib import Path
from pytest_taskie import assert_blocked

HERE = Path(__file__).parent


def test_exit_2(run_hook):
    assert_blocked(run_hook(command="echo more please >&2; exit 2"), "more please")


def test_an_unknown_field(run_hook):
    block = '{"decision": "block", "reason": "more please", "extra": 1}'
    assert_blocked(run_hook(command=f"echo '{block}'"), "more please")


def test_block(run_hook):
    assert_blocked(run_hook(command=f"cat {HERE}/block.json"), "more please")
"""


def blocking(stdout: str = "", stderr: str = "", exit_code: int = 0, event: str = "Stop") -> set[str]:
    """The clients in which this blocks."""
    return {kind for kind in KINDS if judge(exit_code, stdout, stderr, event, client=kind).outcome == "blocked"}


def result(stdout: str = "", stderr: str = "", exit_code: int = 0, event: str = "Stop") -> HookResult:
    return HookResult("h", exit_code, stdout, stderr, event_name=event, contracts=supported(ALL))


def test_one_object_with_a_reason_and_nothing_else() -> None:
    assert blocking(BLOCK) == EVERYBODY
    assert blocking(json.dumps({**json.loads(BLOCK), "extra": 1})) == EVERYBODY - {"codex"}
    assert blocking('{"decision": "block"}') == EVERYBODY - {"codex", "copilot"}
    assert blocking(f"warning\n{BLOCK}") == blocking(f"{BLOCK}\nwarning") == set()
    assert_blocked(result(BLOCK), "^more please$")
    assert_approved(result())


def test_no_exit_2() -> None:
    assert blocking("", "more please", 2) == EVERYBODY - {"copilot"}
    assert blocking("{}", "more please", 2) == EVERYBODY - {"copilot", "gemini"}
    assert blocking(BLOCK, "", 2) == EVERYBODY - {"codex", "qwen"}
    assert blocking(BLOCK, "", 1) == {"claude", "qwen", "gemini"}


def test_a_hook_that_fails_at_a_stop() -> None:
    assert blocking("", "broken", 1) == set()
    assert blocking("", "sh: 1: nothing: not found", 127) == {"gemini"}
    assert blocking("", "", 127) == set()
    with pytest.raises(AssertionError, match=r"in gemini >=0\.61\.0: blocked only by accident: exit .* a script that"):
        assert_blocked(result("", "sh: 1: nothing: not found", 127))


def test_caps() -> None:
    caps = {kind: _contract.load(kind)["limits"]["cap"]["value"] for kind in KINDS}
    assert caps == {"claude": 8, "codex": None, "copilot": 8, "qwen": 7, "gemini": None}
    for kind in KINDS:
        assert "stop_hook_active" in _contract.load(kind)["events"]["Stop"]["fields"]


def test_continue_false() -> None:
    ends = {kind: judge(0, '{"continue": false}', "", client=kind).outcome for kind in KINDS}
    assert ends == {
        **dict.fromkeys(["claude", "codex", "gemini"], "stopped"),
        "qwen": "blocked",
        "copilot": "allowed",
    }


def test_a_guard_says_it_twice() -> None:
    inside = json.dumps({"hookSpecificOutput": DENY})
    assert blocking(inside, event="PreToolUse") == EVERYBODY - {"gemini"}
    assert blocking(BLOCK, event="PreToolUse") == EVERYBODY - {"copilot"}
    both = json.dumps({**json.loads(BLOCK), "hookSpecificOutput": DENY})
    assert_denied(result(both, event="PreToolUse"), "more please")


def test_a_guard_that_fails() -> None:
    assert blocking("", "broken", 1, "PreToolUse") == {"copilot"}
    assert _contract.load("copilot")["switches"]["timeout"]["before_a_tool"] == "allowed"


def test_an_event_by_its_own_name() -> None:
    assert judge(0, BLOCK, "", "AfterAgent", client="gemini").outcome == "blocked"
    assert judge(0, BLOCK, "", "BeforeTool", client="gemini").sentence.startswith("the tool call is blocked")
    assert judge(0, BLOCK, "", "AfterAgent", client="qwen").outcome == "unknown"


def test_time() -> None:
    data = {kind: _contract.load(kind) for kind in KINDS}
    assert {kind for kind in KINDS if data[kind]["switches"]["timeout"]["unit"] == "milliseconds"} == {"gemini"}
    assert data["codex"]["signals"]["timeout"]["order"] == ["SIGKILL"]
    assert "SIGKILL" not in data["gemini"]["signals"]["timeout"]["order"]


def test_the_table_has_every_client_and_no_effect_without_words() -> None:
    text = page(ROOT)
    tables, _, others = text.partition("## What cannot be tested here")
    lines = [line for line in tables.splitlines() if line.startswith("|")]
    assert {line.count("|") for line in lines} == {len(CLIENTS) + 2}
    assert [line.split("|")[1].strip() for line in others.splitlines() if line[:1] == "|"][2:] == [
        "opencode",
        "Cursor, Windsurf",
    ]
    for event, _, rows, *_ in EVENTS:
        known = {kind for one in KINDS for kind in _contract.load(one)["outputs"][event]["kinds"]}
        assert {kind for _, kind in rows} <= known, event
    words = [title for title, _ in PLACES]
    assert len({*words}) == len(words)


def test_every_row_of_the_four_names_its_test() -> None:
    for kind in KINDS[1:]:
        data = _contract.load(kind)
        for event, output in data["outputs"].items():
            for name, row in output["kinds"].items():
                file, _, test = row["held"].partition("::")
                assert (ROOT / file).is_file(), (kind, event, name)
                assert f"[{kind}]" in test, (kind, event, name)
                assert f"def {test.partition('[')[0]}(" in (ROOT / file).read_text(encoding="utf-8")


def test_one_run_for_five_clients_names_the_one_that_loses_the_block(pytester: pytest.Pytester) -> None:
    pytester.makeini(f"[pytest]\ntaskie_clients = {ALL}")
    pytester.makepyfile(TESTS)
    (pytester.path / "block.json").write_text(BLOCK)
    done = pytester.runpytest("-p", "no:randomly")
    done.assert_outcomes(passed=1, failed=2)
    done.stdout.fnmatch_lines(["E *AssertionError: in copilot >=1.0.102: not blocked: *exit 2*"])
    done.stdout.fnmatch_lines(["E *AssertionError: in codex >=0.169.0: not blocked: *extra is not a field*"])
