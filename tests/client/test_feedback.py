"""The context of a Stop hook: whether the client goes on with the turn, how often, and by what sign that is known."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie.client import repeat
from taskie.protocol import LONGEST_CONTEXT, parse_event, takes_feedback

pytestmark = pytest.mark.client

Observe = Callable[[str, object], None]
ALWAYS = "#!/bin/sh\n"


def says(text: str, folder: Path) -> str:
    """The part of a hook that gives this context, whatever is in it."""
    (folder / "said").write_text(text)
    return f"cat {folder}/said"


def requests_of(run: Any) -> list[Any]:
    return [request for request in run.requests if request.tools]


def context(text: str) -> str:
    return f'{{"hookSpecificOutput": {{"hookEventName": "Stop", "additionalContext": "{text}"}}}}'


def test_the_sign_is_never_there_where_context_would_be_lost(
    claude_client: Any, hook_file: Any, tmp_path: Path, observe: Observe
) -> None:
    body = f"cat > {tmp_path}/stdin; env > {tmp_path}/env; {says(context('think of it'), tmp_path)}"
    once = f"[ -e {tmp_path}/stdin ] && exit 0; "
    client = claude_client(hooks={"Stop": hook_file(once + body, head=ALWAYS)})
    client.agent("Done.", repeat("Done again."))
    run = client.prompt("go on")
    env = dict(line.partition("=")[::2] for line in (tmp_path / "env").read_text().splitlines())
    event = parse_event((tmp_path / "stdin").read_bytes())
    sign = takes_feedback(event, env)
    goes_on = len(requests_of(run)) == 2
    observe("the sign of a client that goes on with a Stop's context", "there" if sign else "missing")
    observe("prompt_id in a Stop event", "given" if event.fields.get("prompt_id") else "not given")
    observe(
        "CLAUDE_CODE_SESSION_ID of a Stop hook",
        "the event's session" if env.get("CLAUDE_CODE_SESSION_ID") == event.session_id else "not the event's",
    )
    assert goes_on or not sign


def test_context_has_the_protections_of_a_block(
    claude_client: Any, hook_file: Any, tmp_path: Path, version: Any, observe: Observe
) -> None:
    if version < (2, 1, 163):
        pytest.skip("this client loses a Stop's context")
    client = claude_client(hooks={"Stop": hook_file(says(context("think of it"), tmp_path), head=ALWAYS)})
    client.agent("Done.", repeat("Done."))
    run = client.prompt("go on", args=["--max-turns", "14"])
    times = sum(stop.context is not None for stop in run.stops)
    observe("contexts in a row before the client overrules", times if times <= 8 else "no cap")
    observe("stop_hook_active at the first stop and after context", [stop.active for stop in run.stops[:2]])
    assert times == 8
    assert [stop.active for stop in run.stops] == [False] + [True] * 8
    assert run.exit_code == 0


@pytest.mark.parametrize("more", [0, 1])
def test_context_that_is_longer_becomes_a_file(
    more: int, claude_client: Any, hook_file: Any, tmp_path: Path, version: Any, observe: Observe
) -> None:
    if version < (2, 1, 163):
        pytest.skip("this client loses a Stop's context")
    text = "x" * (LONGEST_CONTEXT + more)
    client = claude_client(hooks={"Stop": hook_file(says(context(text), tmp_path))})
    client.agent("Done.", repeat("Done again."))
    run = client.prompt("go on")
    assert len(requests_of(run)) == 2
    whole = text in str(requests_of(run)[1].body)
    observe(f"a Stop's context of {len(text)} characters", "whole" if whole else "a file's name")
    assert whole == (more == 0)
