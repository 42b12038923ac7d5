"""What is expected of a client's version is what `judge` says of it: every row, every version that was measured.

The clients themselves are asked by the tests beside this one, which take one version at a time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest

from pytest_taskie import _contract
from pytest_taskie._judgement import judge
from pytest_taskie.client._installation import version_numbers

from .event_outputs import POST_TOOL_USE, PRE_TOOL_USE, SESSION_START, SUBAGENT_STOP, USER_PROMPT_SUBMIT
from .outputs import OUTPUTS, Output

FILES = [json.loads(path.read_text(encoding="utf-8")) for path in _contract.FOLDER.glob("claude-*.json")]
VERSIONS = sorted({version for data in FILES for version in (data["from"], *data["measured"])}, key=version_numbers)
ROWS = {
    "Stop": OUTPUTS,
    "SubagentStop": SUBAGENT_STOP,
    "PreToolUse": PRE_TOOL_USE,
    "PostToolUse": POST_TOOL_USE,
    "UserPromptSubmit": USER_PROMPT_SUBMIT,
    "SessionStart": SESSION_START,
}


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(("event", "outputs"), ROWS.items(), ids=ROWS)
def test_judge_says_what_is_expected_of_the_version(event: str, outputs: Sequence[Output], version: str) -> None:
    if event == "SubagentStop" and version_numbers(version) < (2, 1):
        pytest.skip("this client does not say in the event what the subagent has said")
    expected, judged = {}, {}
    for output in outputs:
        # Where `continue: false` leaves no trace it is still what the hook says.
        stops = output.effect == "stopped"
        expected[output.name] = output.effect if stops else output.expected(version_numbers(version))
        outcome = judge(output.exit_code, output.stdout, output.stderr, event, version=version).outcome
        # There the tools are allowed anyway, so that a permission makes no difference.
        judged[output.name] = "allowed" if outcome == "granted" else outcome
    assert judged == expected
