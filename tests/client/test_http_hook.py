"""`http` hooks in the real client: they are reached inside its network, what they are sent, what their answers do."""

from __future__ import annotations

from typing import Callable

import pytest

from pytest_taskie.client import ClaudeClient, HttpHook, tool
from pytest_taskie.client._fixtures import installation

from .test_isolation import isolated

pytestmark = [pytest.mark.client, isolated]
# 2.1.120 knows the field and does not send them, 2.1.197 does.
SENDS_HEADERS = (2, 1, 197)


@pytest.fixture(scope="session")
def program(pytestconfig: pytest.Config) -> str:
    """Asked for before a test gets a home of its own."""
    return installation("claude", pytestconfig).command[-1]


@pytest.fixture(autouse=True)
def _new_enough(version: tuple[int, ...]) -> None:
    if version < (2, 1, 63):
        pytest.skip("this client has no http hooks")


def test_it_is_posted_the_event_and_its_answer_counts(
    claude_client: type[ClaudeClient], http_hook: HttpHook, measures: Callable[..., None]
) -> None:
    http_hook.answers({"decision": "block", "reason": "The tests fail."}, {})
    client = claude_client(hooks={"Stop": http_hook.entry})
    client.agent("Done.", "Done again.")
    run = client.prompt("go on")
    assert run.feedback == ("Stop hook feedback:\nThe tests fail.",)
    assert run.answer == "Done again."
    assert [(stop.decision, stop.exit_code, stop.active) for stop in run.stops] == [
        ("block", 200, False),
        (None, 200, True),
    ]
    assert [post.event["stop_hook_active"] for post in http_hook.posts] == [False, True]
    assert http_hook.posts[0].event["hook_event_name"] == "Stop"
    assert http_hook.posts[0].headers["Content-Type"] == "application/json"
    measures("handlers", "http", effect="the event is posted there, and the answer counts")


def test_answers_of_all_kinds(
    claude_client: type[ClaudeClient],
    http_hook: HttpHook,
    version: tuple[int, ...],
    observe: Callable[[str, object], None],
) -> None:
    """A status that is an error lets the call go ahead; so does a text; and a function sees the post."""
    deny = {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": "not b"}
    http_hook.answers(500, lambda post: {"hookSpecificOutput": {**deny}} if "b" in str(post.event) else {}, {})
    client = claude_client(
        hooks={"PreToolUse": {**http_hook.entry, "url": f"{http_hook.url}/guard?a=1", "headers": {"X-Mine": "yes"}}}
    )
    client.agent(*(tool("Bash", command=f"touch {name}", description="make it") for name in "abc"), "Done.")
    run = client.prompt("go on")
    assert sorted(path.name for path in client.project.path.iterdir()) == ["a", "c"]
    assert run.landed("not b")
    (posted,) = {(post.path, post.headers.get("X-Mine")) for post in http_hook.posts}
    observe("headers of an http hook's entry", "sent" if posted[1] else "not sent")
    assert posted == ("/taskie-hook/guard?a=1", "yes" if version >= SENDS_HEADERS else None)


@pytest.mark.parametrize(
    ("answers", "complaint"),
    [("{}, {}", "*never fetched from the http hook: {}*"), ("", "*a post to the http hook has no answer*Stop*")],
)
def test_too_many_answers_and_too_few_fail_the_test(
    answers: str, complaint: str, program: str, pytester: pytest.Pytester
) -> None:
    pytester.makepyfile(
        f"""
def test_it(claude_client, http_hook):
    http_hook.answers({answers})
    client = claude_client(hooks={{"Stop": http_hook.entry}})
    client.agent("Done.")
    assert client.prompt("go on").answer == "Done."
"""
    )
    result = pytester.runpytest_subprocess(f"--taskie-client={program}")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines([complaint])


def test_unscripted_it_allows_everything(claude_client: type[ClaudeClient], http_hook: HttpHook) -> None:
    client = claude_client(hooks={"Stop": http_hook.entry})
    client.agent("Done.")
    with client.session() as session:
        assert session.prompt("go on").answer == "Done."
    assert len(http_hook.posts) == 1
