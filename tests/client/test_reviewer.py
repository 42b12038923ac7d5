"""`claude -p` as a reviewer, started by a hook: recursion, stdin, stdout, verdicts, errors, permissions."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie.client import api_error, repeat, structured, tool, verdict

pytestmark = pytest.mark.client

Observe = Callable[[str, object], None]
ALWAYS = "#!/bin/sh\ncat >/dev/null\n"
NO_HOOKS = """--settings '{"disableAllHooks":true}'"""
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {"verdict": {"type": "string", "enum": ["PASS", "FAIL"]}},
        "required": ["verdict"],
    }
)


def needs(version: tuple[int, ...], first: tuple[int, ...], what: str) -> None:
    if version < first:
        pytest.skip(f"this client has no {what}")


@pytest.mark.parametrize("switch", [f"{NO_HOOKS}", "--settings '{\"hooks\":{}}'", "--bare", "--safe-mode", ""])
def test_recursion(
    switch: str, claude_client: Any, hook_file: Any, tmp_path: Path, project: Any, version: Any, observe: Observe
) -> None:
    (project.path / "CLAUDE.md").write_text("# The house rules\n")
    fired = tmp_path / "fired"
    # A third run ends it: a hook that recurses would never end by itself.
    review = f'claude -p {switch} "You are the reviewer." </dev/null >> {tmp_path}/said 2>&1'
    hook = hook_file(f"echo x >> {fired}; [ $(wc -l < {fired}) -ge 3 ] || {review}", head=ALWAYS)
    client = claude_client(hooks={"Stop": hook})
    client.agent("Done.")
    client.agent(repeat("Reviewed."), when="You are the reviewer.")
    client.prompt("go on")
    times = len(fired.read_text().splitlines())
    asked = [request for request in client.requests if "You are the reviewer." in request.prompt]
    rules = any("The house rules" in json.dumps(request.body) for request in asked)
    said = (tmp_path / "said").read_text()
    seen = f"{'recurses' if times > 1 else 'one hook'}, CLAUDE.md {'kept' if rules else 'lost'}"
    observe(f"a reviewer with {switch or 'no switch'}", "unknown option" if "unknown option" in said else seen)
    if switch in ("", "--settings '{\"hooks\":{}}'"):
        assert times == 3
    elif switch == NO_HOOKS:
        assert (times, rules) == (1, True)
        assert all(request.tools for request in asked)
    elif version >= (2, 1, 197):
        assert (times, rules) == (1, False)


def test_own_variable_reaches_the_inner_hook(claude_client: Any, hook_file: Any, tmp_path: Path) -> None:
    review = '[ -n "$INNER" ] || INNER=1 claude -p "You are the reviewer." </dev/null >/dev/null 2>&1'
    hook = hook_file(f'echo "inner=$INNER" >> {tmp_path}/fired; {review}', head=ALWAYS)
    client = claude_client(hooks={"Stop": hook})
    client.agent("Done.")
    client.agent("Reviewed.", when="You are the reviewer.")
    client.prompt("go on")
    assert (tmp_path / "fired").read_text().split() == ["inner=", "inner=1"]


def test_unread_stdin_becomes_part_of_the_prompt(claude_client: Any, hook_file: Any, version: Any) -> None:
    hook = hook_file(f'claude -p {NO_HOOKS} "You are the reviewer." >/dev/null 2>&1', head="#!/bin/sh\n")
    client = claude_client(hooks={"Stop": hook})
    client.agent("Done.")
    client.agent("Reviewed.", when="You are the reviewer.")
    client.prompt("go on")
    prompt = next(r.prompt for r in client.requests if "You are the reviewer." in r.prompt)
    assert '"hook_event_name":"Stop"' in prompt


def test_open_stdin_is_waited_for(
    claude_client: Any, version: Any, hook_file: Any, tmp_path: Path, observe: Observe
) -> None:
    """For three seconds, and by older clients for ever: there the pipe is closed at last."""
    pipe, said = tmp_path / "pipe", tmp_path / "said"
    held = f"mkfifo {pipe}; sleep 20 > {pipe} & holder=$!"
    review = f'claude -p {NO_HOOKS} "You are the reviewer." < {pipe} > /dev/null 2> {said}; kill $holder'
    client = claude_client(hooks={"Stop": hook_file(f"{held}; {review}")})
    client.agent("Done.")
    client.agent("Reviewed.", when="You are the reviewer.")
    run = client.prompt("go on")
    observe("a reviewer whose stdin stays open", "waits" if run.duration > 3 else "does not wait")
    assert run.duration > 3
    if version >= (2, 1, 120):
        assert "no stdin data received in 3s" in said.read_text()


def test_a_large_result_arrives_whole_in_a_file(claude_client: Any, hook_file: Any, tmp_path: Path) -> None:
    out = tmp_path / "out"
    review = f'claude -p {NO_HOOKS} --output-format json "You are the reviewer." </dev/null > {out}'
    client = claude_client(hooks={"Stop": hook_file(review)})
    client.agent("Done.")
    client.agent("x" * 1_000_000, when="You are the reviewer.")
    client.prompt("go on")
    assert len(json.loads(out.read_text())["result"]) == 1_000_000


@pytest.mark.parametrize("option", ["", "--no-session-persistence"])
def test_session_persistence(
    option: str, claude_client: Any, hook_file: Any, version: Any, tmp_path: Path, observe: Observe
) -> None:
    review = f'claude -p {option} {NO_HOOKS} "You are the reviewer." </dev/null > {tmp_path}/said 2>&1'
    client = claude_client(hooks={"Stop": hook_file(review)})
    client.agent("Done.", repeat("Done."))
    client.agent(repeat("Reviewed."), when="You are the reviewer.")
    client.prompt("go on")
    client.prompt("The second prompt.", resume=True)
    resumed = next(r.prompt for r in reversed(client.requests) if "The second prompt." in r.last)
    if "unknown option" in (tmp_path / "said").read_text():
        observe(f"claude --continue after a reviewer with {option}", "unknown option")
        assert version < (2, 1)
    else:
        if option:
            observe(f"claude --continue after a reviewer with {option}", f"resumes {resumed!r}")
        # Without the option it is whichever session wrote last, which differs from run to run.
        assert resumed == "go on" or not option


def reviewed(client: Any, *args: str, env: dict[str, str] | None = None, schema: str = SCHEMA) -> tuple[int, Any]:
    """One review as a hook would start it: the exit code, and what was printed."""
    more = ("--json-schema", schema) if schema else ()
    done = client.command("-p", "review it", "--output-format", "json", *more, *args, env=env)
    try:
        return done.exit_code, json.loads(done.stdout)
    except ValueError:
        return done.exit_code, done.stdout + done.stderr


def shape(code: int, said: Any) -> str:
    if not isinstance(said, dict):
        return f"exit {code}, no JSON: {said.strip()[:60]}"
    extra = "structured_output" if "structured_output" in said else "no structured_output"
    return f"exit {code}, {said['subtype']}, is_error {str(said['is_error']).lower()}, {extra}"


def test_verdict(claude_client: Any, version: Any, observe: Observe) -> None:
    client = claude_client()
    client.agent(repeat(verdict("PASS", note="x")))
    code, said = reviewed(client)
    observe("a reviewer's verdict", shape(code, said))
    if version < (2,):
        assert code == 1
        assert "unknown option '--json-schema'" in said
        return
    observe("type of .result beside a verdict", type(said["result"]).__name__)
    assert code == 0
    assert said["is_error"] is False
    assert said["structured_output"]["verdict"] == "PASS"
    assert isinstance(said["result"], str)


def test_no_verdict(claude_client: Any, version: Any, observe: Observe) -> None:
    needs(version, (2,), "--json-schema")
    client = claude_client()
    client.agent(repeat("I like it."))
    # Some clients ask for the verdict again, and without a limit for ever.
    code, said = reviewed(client, "--max-turns", "8")
    observe("a reviewer that gives no verdict", shape(code, said))
    assert "structured_output" not in said
    if version >= (2, 1, 197):
        assert (code, said["subtype"]) == (0, "success")


def test_wrong_verdict(claude_client: Any, version: Any, observe: Observe) -> None:
    needs(version, (2, 1), "checked schema")
    client = claude_client()
    client.agent(repeat(structured(verdict="MAYBE")))
    code, said = reviewed(client)
    observe("a reviewer whose verdict does not fit the schema", shape(code, said))
    assert code == 1
    assert said["subtype"] == "error_max_structured_output_retries"


def test_api_error(claude_client: Any, version: Any, observe: Observe) -> None:
    client = claude_client(env={"CLAUDE_CODE_MAX_RETRIES": "1"})
    client.agent(repeat(api_error(529)))
    code, said = reviewed(client, schema=SCHEMA if version >= (2,) else "")
    times = sum(1 for request in client.requests if request.tools)
    observe("a reviewer whose API is overloaded", shape(code, said))
    observe("requests with CLAUDE_CODE_MAX_RETRIES=1", times)
    assert (code, said["subtype"], said["is_error"]) == (1, "success", True)
    if version >= (2, 1):
        assert times == 2


def test_max_turns(claude_client: Any, version: Any, observe: Observe) -> None:
    client = claude_client()
    client.agent(repeat(tool("Bash", command="true", description="x")))
    code, said = reviewed(client, "--max-turns", "2", schema="")
    observe("a reviewer past --max-turns", shape(code, said))
    assert said["subtype"] == "error_max_turns"
    assert code == (1 if version >= (2, 1) else 0)


def test_max_budget(claude_client: Any, version: Any, observe: Observe) -> None:
    needs(version, (2, 1), "--max-budget-usd")
    client = claude_client()
    client.agent(repeat(tool("Bash", command="true", description="x")))
    code, said = reviewed(client, "--max-budget-usd", "0.00001")
    observe("a reviewer past --max-budget-usd", shape(code, said))
    assert (code, said["subtype"]) == (1, "error_max_budget_usd")


def test_unknown_option(claude_client: Any) -> None:
    code, said = reviewed(claude_client(), "--no-such-option", schema="")
    assert code == 1
    assert "unknown option '--no-such-option'" in said


def test_a_list_option_swallows_the_prompt(claude_client: Any) -> None:
    done = claude_client().command("-p", "--allowedTools", "Read", "review it")
    assert done.exit_code == 1
    assert "Input must be provided" in done.stderr


@pytest.mark.skipif(os.geteuid() != 0, reason="a rule for root")
@pytest.mark.parametrize("sandbox", [False, True])
def test_skipping_permissions_as_root(sandbox: bool, claude_client: Any, observe: Observe) -> None:
    client = claude_client()
    client.agent(repeat("Done."))
    env = {"IS_SANDBOX": "1" if sandbox else ""}
    code, _ = reviewed(client, "--dangerously-skip-permissions", env=env, schema="")
    observe(f"--dangerously-skip-permissions as root{' with IS_SANDBOX=1' if sandbox else ''}", f"exit {code}")
    assert code == (0 if sandbox else 1)


def test_least_privilege(claude_client: Any, project: Any, version: Any, observe: Observe) -> None:
    needs(version, (2, 1), "--permission-mode dontAsk")
    (project.path / ".taskie").mkdir()
    allowed, refused = project.path / ".taskie" / "review.md", project.path / "elsewhere.md"
    client = claude_client()
    client.agent(tool("Write", file_path=allowed, content="x"), tool("Write", file_path=refused, content="x"), "Done.")
    args = ["--permission-mode", "dontAsk", "--tools", "Read,Grep,Glob,Write"]
    code, _ = reviewed(client, *args, "--allowedTools", "Read,Grep,Glob,Edit(.taskie/**)", schema="")
    observe("Edit(.taskie/**) for a reviewer", f"inside {allowed.exists()}, elsewhere {refused.exists()}")
    assert (code, allowed.exists(), refused.exists()) == (0, True, False)


def test_write_refuses_a_file_that_was_not_read(
    claude_client: Any, project: Any, version: Any, observe: Observe
) -> None:
    (project.path / "x.md").write_text("old")
    client = claude_client()
    client.agent(tool("Write", file_path=project.path / "x.md", content="new"), "Done.")
    client.prompt("go on")
    observe("Write on an existing, unread file", "refused" if (project.path / "x.md").read_text() == "old" else "done")
    if version < (2, 1, 250):
        assert (project.path / "x.md").read_text() == "old"
