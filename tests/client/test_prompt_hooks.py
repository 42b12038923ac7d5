"""Hooks that ask a model, in the real client: `prompt` hooks get the turns that a test scripts for them."""

from __future__ import annotations

import re
from typing import Callable

import pytest

from pytest_taskie.client import ClaudeClient, structured, tool

pytestmark = pytest.mark.client
QUESTION = {"type": "prompt", "prompt": "All tests pass?"}


@pytest.fixture(autouse=True)
def _new_enough(version: tuple[int, ...]) -> None:
    if version < (2, 1):
        pytest.skip("this client's prompt hooks are asked in another way")


@pytest.mark.parametrize("when", ["All tests pass?", re.compile("[Aa]ll tests")], ids=["text", "pattern"])
def test_a_stop(when: str | re.Pattern[str], claude_client: type[ClaudeClient]) -> None:
    """Its request shows the whole conversation, so that its first prompt is the person's."""
    client = claude_client(hooks={"Stop": QUESTION})
    client.agent("Done.", "Done again.")
    client.agent(
        structured(ok=False, reason="Two fail."), structured(ok=True, reason="Fine."), when=when, toolless=True
    )
    run = client.prompt("go on")
    assert run.answer == "Done again."
    assert run.stops == (), "the client does not report them"
    assert ["Two fail." in text for text in run.feedback] == [True]
    assert run.landed("Two fail.")


def test_a_tool(claude_client: type[ClaudeClient], measures: Callable[..., None]) -> None:
    client = claude_client(hooks={"PreToolUse": {**QUESTION, "continueOnBlock": True}})
    client.agent(tool("Bash", command="touch made", description="make it"), "Done.")
    client.agent(structured(ok=False, reason="Two fail."), when="All tests pass?", toolless=True)
    run = client.prompt("go on")
    assert run.landed("Two fail.")
    assert not (client.project.path / "made").exists()
    measures("handlers", "prompt", effect="the model is asked, and its answer counts")


def test_two_questions_in_one_conversation(claude_client: type[ClaudeClient]) -> None:
    """Each gets its own turn, though both requests begin with the person's prompt."""
    other = {"type": "prompt", "prompt": "Is it documented?"}
    client = claude_client(hooks={"Stop": [QUESTION, other]})
    client.agent("Done.", "Done again.")
    for question, reason in (("All tests pass?", "Two fail."), ("Is it documented?", "It is not.")):
        answers = [structured(ok=False, reason=reason), structured(ok=True, reason="Fine.")]
        client.agent(*answers, when=question, toolless=True)
    run = client.prompt("go on")
    assert run.landed("Two fail.")
    assert run.landed("It is not.")
    assert run.answer == "Done again."


def test_without_a_script_they_are_the_clients_own(claude_client: type[ClaudeClient]) -> None:
    client = claude_client(hooks={"Stop": QUESTION})
    client.agent("Done.")
    assert client.prompt("go on").answer == "Done."
