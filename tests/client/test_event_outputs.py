"""What the client makes of the output of hooks for other events than Stop, and that `judge` says the same of each row.

Tool calls are cheap: all rows of an event share one turn, in which each call is another row's.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie._judgement import Reading, judge
from pytest_taskie.client import repeat, tool
from pytest_taskie.client._runs import FEEDBACK, Run

from .event_outputs import ENDING, POST_TOOL_USE, PRE_TOOL_USE, SESSION_START, SUBAGENT_STOP, USER_PROMPT_SUBMIT
from .outputs import Output
from .prompts import prompts

pytestmark = pytest.mark.client

Observe = Callable[[str, object], None]
Version = tuple[int, ...]
REASON = "more please"
# Before, a denial that comes with something else, or without a reason, is told in other words or in none.
NEWEST_WORDS = (2, 1, 325)
# The number of the row is in the event, as the name of the file that is written, or as the prompt.
HOOK = """\
#!/bin/sh
row=$(sed -n 's/.*row-\\([0-9]*\\)-.*/\\1/p')
[ -n "$row" ] || exit 0
cd {folder} && cat "$row.out" && cat "$row.err" >&2 && exit "$(cat "$row.code")"
"""


@pytest.fixture
def rows(tmp_path: Path) -> Callable[[Sequence[Output]], str]:
    """The command of a hook that prints what each row says. Every row has its own reason, so that none is mixed up."""

    def write(outputs: Sequence[Output]) -> str:
        for number, output in enumerate(outputs):
            for name, text in (("out", output.stdout), ("err", output.stderr), ("code", str(output.exit_code))):
                (tmp_path / f"{number}.{name}").write_text(own_reason(text, number), encoding="utf-8")
        hook = tmp_path / "hook.sh"
        hook.write_text(HOOK.format(folder=shlex.quote(str(tmp_path))), encoding="utf-8")
        hook.chmod(0o755)
        return shlex.quote(str(hook))

    return write


def own_reason(text: str, number: int) -> str:
    return text.replace(REASON, f"{REASON} ({number})")


def reading(output: Output, number: int, event: str, command: str) -> Reading:
    said = own_reason(output.stdout, number), own_reason(output.stderr, number)
    return judge(output.exit_code, *said, event, command)


def calls(folder: Path, outputs: Sequence[Output]) -> list[Any]:
    return [tool("Write", file_path=folder / f"row-{n}-.md", content="x") for n in range(len(outputs))]


def told(run: Run, number: int) -> str:
    """What the model has been told up to the answer to this call."""
    requests = [request for request in run.requests if request.tools]
    return json.dumps(requests[number + 1].messages, ensure_ascii=False)


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse"])
def test_of_a_tool_call(
    event: str, claude_client: Any, project: Any, rows: Any, version: Version, observe: Observe
) -> None:
    outputs = PRE_TOOL_USE if event == "PreToolUse" else POST_TOOL_USE
    command = rows(outputs)
    client = claude_client(hooks={event: command})
    client.agent(*calls(project.path, outputs), "Done.")
    run = client.prompt("go on")
    found, judged, unheard = {}, {}, []
    for number, output in enumerate(outputs):
        made = (project.path / f"row-{number}-.md").exists()
        if event == "PreToolUse":
            effect = "allowed" if made else "asked" if output.effect == "asked" else "blocked"
        else:
            assert made
            effect = "blocked" if f"{REASON} ({number})" in told(run, number) else "allowed"
        observe(f"{event}: {output.name}", effect)
        found[output.name] = effect
        if output.expected(version) == output.effect:
            read = reading(output, number, event, command)
            # Here the tools are allowed anyway, so that a permission makes no difference.
            judged[output.name] = "allowed" if read.outcome == "granted" else read.outcome
            if read.outcome == "blocked" and json.dumps(read.reason)[1:-1] not in told(run, number):
                unheard.append(output.name)
    assert found == {output.name: output.expected(version) for output in outputs}
    assert judged == {name: effect for name, effect in found.items() if name in judged}
    assert unheard == [] or version < NEWEST_WORDS


def test_of_a_prompt(claude_client: Any, rows: Any, version: Version, observe: Observe) -> None:
    command = rows(USER_PROMPT_SUBMIT)
    client = claude_client(hooks={"UserPromptSubmit": command})
    client.agent(repeat("Done."))
    found, judged = {}, {}
    with prompts(client, version) as prompt:
        for number, output in enumerate(USER_PROMPT_SUBMIT):
            run = prompt(f"row-{number}-")
            found[output.name] = "allowed" if any(request.tools for request in run.requests) else "blocked"
            observe(f"UserPromptSubmit: {output.name}", found[output.name])
            if output.expected(version) == output.effect:
                judged[output.name] = reading(output, number, "UserPromptSubmit", command).outcome
    assert found == {output.name: output.expected(version) for output in USER_PROMPT_SUBMIT}
    assert judged == {name: effect for name, effect in found.items() if name in judged}


def test_of_a_subagents_stop(claude_client: Any, rows: Any, version: Version, observe: Observe) -> None:
    if version < (2, 1):
        pytest.skip("this client does not say in the event what the subagent has said")
    command = rows(SUBAGENT_STOP)
    client = claude_client(hooks={"SubagentStop": command})
    numbers = range(len(SUBAGENT_STOP))
    asks = [f"You are helper {number}." for number in numbers]
    helper = {"description": "help", "subagent_type": "general-purpose", "run_in_background": False}
    client.agent(*(tool("Task", prompt=ask, **helper) for ask in asks), "Done.")
    for number in numbers:
        client.agent(f"Looked at row-{number}-.", repeat("Looked again."), when=asks[number])
    run = client.prompt("go on")
    found, judged = {}, {}
    for number, output in enumerate(SUBAGENT_STOP):
        requests = [request for request in run.requests if asks[number] in request.prompt]
        told = json.dumps(requests[-1].messages)
        effect = "allowed" if len(requests) == 1 else "blocked" if FEEDBACK.strip() in told else "continued"
        observe(f"SubagentStop: {output.name}", effect)
        found[output.name] = effect
        if output.expected(version) == output.effect:
            judged[output.name] = reading(output, number, "SubagentStop", command).outcome
    assert found == {output.name: output.expected(version) for output in SUBAGENT_STOP}
    assert judged == {name: effect for name, effect in found.items() if name in judged}


@pytest.mark.parametrize("output", SESSION_START, ids=lambda output: output.name)
def test_of_what_has_happened(
    output: Output, claude_client: Any, hook_file: Callable[..., str], version: Version, observe: Observe
) -> None:
    say = f"printf %s {shlex.quote(output.stdout)}; printf %s {shlex.quote(output.stderr)} >&2; exit {output.exit_code}"
    command = hook_file(f"touch fired; {say}")
    client = claude_client(hooks={"SessionStart": command})
    client.agent(lambda request: f"I see {len(request.messages)} messages.")
    run = client.prompt("go on")
    observe(f"SessionStart: {output.name}", "allowed" if run.answer.startswith("I see") else "blocked")
    assert run.answer.startswith("I see")
    assert (client.project.path / "fired").exists()
    assert judge(output.exit_code, output.stdout, output.stderr, "SessionStart", command).outcome == output.effect


@pytest.mark.parametrize("output", ENDING, ids=lambda output: output.name)
@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse", "UserPromptSubmit"])
def test_that_ends_the_turn(
    event: str, output: Output, claude_client: Any, project: Any, rows: Any, version: Version, observe: Observe
) -> None:
    """Where a tool call is not blocked as well, it is made anyway."""
    command = rows([output])
    client = claude_client(hooks={event: command})
    client.agent(*(calls(project.path, [output]) if event != "UserPromptSubmit" else ()), repeat("Done."))
    run = client.prompt("row-0-")
    made = (project.path / "row-0-.md").exists()
    requests = sum(1 for request in run.requests if request.tools)
    observe(f"{event}: {output.name}", f"requests {requests}, tool call made {made}")
    read = reading(output, 0, event, command)
    assert read.outcome == "stopped"
    # In older clients a call that is blocked as well does not end the turn.
    goes_on = event == "PreToolUse" and version <= (2, 1, 197) and not made
    assert requests == (0 if event == "UserPromptSubmit" else 2 if goes_on else 1)
    assert made == (event == "PostToolUse" or "made anyway" in read.sentence)
