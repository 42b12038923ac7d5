"""Stops in the course of a turn: the flag, the cap, several hooks at once, and what else fires."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie.client import api_error, repeat, tool

pytestmark = pytest.mark.client

Observe = Callable[[str, object], None]
ALWAYS = "#!/bin/sh\ncat >/dev/null\n"
BLOCK = """echo '{"decision":"block","reason":"more please"}'"""
FLOOD = 10_000_000
# Before, nobody has asked.
MEASURED = (2, 1, 326)


def requests_of(run: Any) -> int:
    return sum(1 for request in run.requests if request.tools)


def test_stop_hook_active_is_false_then_true(claude_client: Any, hook_file: Any, observe: Observe) -> None:
    client = claude_client(hooks={"Stop": hook_file(BLOCK)})
    client.agent("Done.", tool("Bash", command="true", description="x"), "Done again.")
    run = client.prompt("go on")
    observe("stop_hook_active at the first stop and after a block", [stop.active for stop in run.stops])
    assert [stop.active for stop in run.stops] == [False, True]
    assert [stop.decision for stop in run.stops] == ["block", None]
    assert run.answer == "Done again."


def test_a_new_prompt_starts_with_false(claude_client: Any, hook_file: Any) -> None:
    client = claude_client(hooks={"Stop": hook_file(BLOCK)})
    client.agent("Done.", "Done again.", "Next.", "Next again.")
    client.prompt("go on")
    run = client.prompt("and on", resume=True)
    assert [stop.active for stop in run.stops] == [False, True]
    assert [request.prompt for request in run.requests if request.tools] == ["go on", "go on"]


def test_cap_of_eight_blocks(
    claude_client: Any, hook_file: Any, project: Any, version: Any, observe: Observe, measures: Callable[..., None]
) -> None:
    hook, blocks_in_a_flood = BLOCK, version >= MEASURED
    if blocks_in_a_flood:
        # Beside the first block; that it is told is among the eight.
        hook = f"[ -e flooded ] || {{ touch flooded; head -c {FLOOD} /dev/zero | tr '\\0' x >&2; }}\n{BLOCK}"
    client = claude_client(hooks={"Stop": hook_file(hook, head=ALWAYS)})
    limit = 14
    client.agent(*["Done."] * 9, repeat("Done.")) if version >= (2, 1, 197) else client.agent(repeat("Done."))
    run = client.prompt("go on", args=["--max-turns", str(limit)], timeout=30)
    blocks = [stop.decision for stop in run.stops].count("block")
    observe("blocks in a row before the client overrules", blocks if blocks <= 8 else "no cap")
    if version >= (2, 1, 197):
        assert blocks == 8
        assert [stop.decision for stop in run.stops] == ["block"] * 8 + [None]
        assert run.exit_code == 0
        measures("limits", "cap", value=blocks, variable="CLAUDE_CODE_STOP_HOOK_BLOCK_CAP")
        measures("exits", "blocked for ever", exit_code=run.exit_code)
    if blocks_in_a_flood:
        assert (project.path / "flooded").exists()
        measures("limits", "stderr beside a block", at_least=FLOOD)


def test_cap_is_a_variable(claude_client: Any, hook_file: Any, version: Any, observe: Observe) -> None:
    client = claude_client(hooks={"Stop": hook_file(BLOCK, head=ALWAYS)}, env={"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "2"})
    client.agent("Done.", repeat("Done."))
    run = client.prompt("go on", args=["--max-turns", "6"])
    blocks = [stop.decision for stop in run.stops].count("block")
    observe("blocks with CLAUDE_CODE_STOP_HOOK_BLOCK_CAP=2", blocks if blocks == 2 else "no cap")
    assert (blocks == 2) is (version >= (2, 1, 197))


@pytest.mark.in_both
def test_cap_is_reset_by_a_tool_call(claude_client: Any, hook_file: Any, tmp_path: Path, version: Any) -> None:
    if version < (2, 1, 197):
        pytest.skip("this client has no cap")
    count = tmp_path / "count"
    client = claude_client(
        hooks={
            "Stop": hook_file(f"echo x >> {count}; [ $(wc -l < {count}) -gt 10 ] || {BLOCK}", head=ALWAYS),
        }
    )
    call = tool("Bash", command="true", description="x")
    client.agent(*["Done."] * 6, call, *["Done."] * 5)
    run = client.prompt("go on")
    assert [stop.decision for stop in run.stops] == ["block"] * 10 + [None]
    assert run.answer == "Done."


@pytest.mark.in_both
def test_hooks_run_in_parallel_and_one_block_is_enough(claude_client: Any, hook_file: Any, tmp_path: Path) -> None:
    # Each waits for the other's file: one after the other, the first would wait in vain.
    wait = "for _ in $(seq 200); do [ -e {other} ] && break; sleep 0.05; done; [ -e {other} ] || exit 1"
    first, second = tmp_path / "first", tmp_path / "second"
    client = claude_client(
        hooks={
            "Stop": [
                hook_file(f"touch {first}; {wait.format(other=second)}; {BLOCK}", "a.sh"),
                hook_file(f"touch {second}; {wait.format(other=first)}", "b.sh"),
            ]
        }
    )
    client.agent("Done.", "Done again.")
    run = client.prompt("go on")
    assert len(run.feedback) == 1
    assert first.exists()
    assert second.exists()


@pytest.mark.in_both
def test_two_blocks_are_both_told(claude_client: Any, hook_file: Any, version: Any) -> None:
    one = hook_file("""echo '{"decision":"block","reason":"the first"}'""", "a.sh")
    two = hook_file("""echo '{"decision":"block","reason":"the second"}'""", "b.sh")
    client = claude_client(hooks={"Stop": [one, two]})
    client.agent("Done.", "Done again.")
    run = client.prompt("go on")
    told = "\n".join(run.feedback)
    assert "the first" in told
    assert "the second" in told
    if version >= (2, 1):
        assert [stop.decision for stop in run.stops] == ["block", "block", None, None]


def test_the_same_command_runs_once(claude_client: Any, hook_file: Any, tmp_path: Path, observe: Observe) -> None:
    command = hook_file(f"echo ran >> {tmp_path}/ran", head=ALWAYS)
    client = claude_client(hooks={"Stop": [command, command]})
    client.agent("Done.")
    client.prompt("go on")
    times = len((tmp_path / "ran").read_text().splitlines())
    observe("times the same command runs for one stop", times)
    assert times == 1


@pytest.mark.in_both
def test_system_message_never_reaches_the_model(claude_client: Any, hook_file: Any, version: Any) -> None:
    client = claude_client(
        hooks={"Stop": hook_file("""echo '{"decision":"block","reason":"more","systemMessage":"for the person"}'""")}
    )
    client.agent("Done.", "Done again.")
    run = client.prompt("go on")
    # The newest clients tell the model a blocking hook's command, which holds the words here: so a file it is.
    assert not [request for request in run.requests if "for the person" in json.dumps(request.body)]
    if version >= (2, 1):
        assert run.system_messages == ("for the person",)


def test_api_error_fires_no_stop(
    claude_client: Any, hook_file: Any, tmp_path: Path, version: Any, observe: Observe, measures: Callable[..., None]
) -> None:
    hooks = {
        event: hook_file(f"echo {event} >> {tmp_path}/fired", f"{event}.sh", ALWAYS)
        for event in ("Stop", "StopFailure")
    }
    client = claude_client(hooks=hooks, env={"CLAUDE_CODE_MAX_RETRIES": "0"})
    client.agent(repeat(api_error(403, "no such thing")))
    # The client does not wait for a StopFailure hook, so it may not get that far at once.
    for _ in range(5 if version >= (2, 1) else 1):
        run = client.prompt("go on")
        if (tmp_path / "fired").exists():
            break
    fired = (tmp_path / "fired").read_text().split() if (tmp_path / "fired").exists() else []
    observe("fires when the API fails", ", ".join(fired) or "nothing")
    observe("exit code when the API fails", run.exit_code)
    assert run.exit_code == 1
    assert run.result["is_error"] is True
    assert run.result["subtype"] == "success"
    assert "Stop" not in fired
    assert set(fired) <= ({"StopFailure"} if version >= (2, 1) else set())
    if version < MEASURED:
        return
    for status in (400, 500):
        client.agent(repeat(api_error(status, "no such thing")), when=f"fail with {status}")
        run = client.prompt(f"fail with {status}")
        measures("exits", f"the model answers {status}", exit_code=run.exit_code)


def test_subagent_fires_subagent_stop(claude_client: Any, hook_file: Any, tmp_path: Path, observe: Observe) -> None:
    hooks = {
        event: hook_file(f"cat > $(mktemp {tmp_path}/{event}.XXXXXX)", f"{event}.sh", "#!/bin/sh\n")
        for event in ("Stop", "SubagentStop")
    }
    client = claude_client(hooks=hooks)
    client.agent(
        tool(
            "Task",
            description="look",
            prompt="You are the helper.",
            subagent_type="general-purpose",
            run_in_background=False,
        ),
        "Done.",
    )
    client.agent("Looked.", when="You are the helper.")
    client.prompt("go on")
    stops, subs = (
        [
            json.loads(file.read_text())["hook_event_name"]
            for file in tmp_path.glob(f"{event}.*")
            if file.suffix != ".sh"
        ]
        for event in ("Stop", "SubagentStop")
    )
    observe("fires for a subagent", f"SubagentStop {len(subs)}, Stop {len(stops)}")
    assert set(subs) == {"SubagentStop"}
    assert stops == ["Stop"]


@pytest.mark.parametrize("prompt", ["/nothing-like-this", "/broken"])
def test_a_prompt_that_reaches_no_model_fires_no_stop(
    prompt: str, claude_client: Any, hook_file: Any, tmp_path: Path, project: Any, version: Any, observe: Observe
) -> None:
    commands = project.path / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "broken.md").write_text("---\nallowed-tools: Bash\n---\nResult: !`exit 3`\n")
    client = claude_client(hooks={"Stop": hook_file(f"touch {tmp_path}/fired", head=ALWAYS)})
    client.agent(repeat("Done."))
    run = client.prompt(prompt)
    kind = "an unknown command" if prompt == "/nothing-like-this" else "a command whose shell part fails"
    seen = f"exit {run.exit_code}, {'a model call' if requests_of(run) else 'no model call'}"
    observe(kind, seen + (", Stop" if (tmp_path / "fired").exists() else ", no Stop"))
    # Newer clients hand an unknown command to the model, as a prompt like any other; 2.1.250 does not yet.
    if (2, 1, 120) <= version < (2, 1, 290) or prompt == "/broken":
        assert (run.exit_code, requests_of(run), (tmp_path / "fired").exists()) == (0, 0, False)
