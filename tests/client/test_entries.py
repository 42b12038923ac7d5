"""What an entry's switches change, what a permission grants and what comes late; and that `judge` says the same."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie._judgement import Reading
from pytest_taskie.client import repeat, tool

from .event_outputs import deny, specific
from .outputs import Output
from .shared import SharedClient
from .test_world import make_plugin

pytestmark = pytest.mark.client

ALWAYS = "#!/bin/sh\n"
FLOOD = 10_000_000
BLOCK = """echo '{"decision": "block", "reason": "more please"}'"""
# Whether older clients do the same was not asked of all of them.
MEASURED = (2, 1, 326)


ASKED_OF_ALL = (
    "test_a_guard_that_fails",
    "test_a_guard_that_takes_too_long",
    "test_without_a_permission",
    "test_context",
)
# Before, the client did not know the switch.
ON_FAILURE = (2, 1, 295)
# In 2.0.60 what comes late of a tool call is not told; no version in between was asked.
LATE_AT_A_TOOL = (2, 1, 90)


@pytest.fixture(autouse=True)
def _measured(version: tuple[int, ...], request: pytest.FixtureRequest) -> None:
    if version < MEASURED and request.node.originalname not in ASKED_OF_ALL:
        pytest.skip("measured in newer clients")


SWITCHES = pytest.mark.parametrize("switch", [{}, {"onFailure": "block"}], ids=["alone", "onFailure"])


@SWITCHES
@pytest.mark.parametrize(
    ("stdout", "stderr", "code"),
    [("", "", 1), ("", "boom\n", 1), ('{"reason": 5}', "", 0)],
    ids=["exit 1", "exit 1 with words", "refused"],
)
def test_a_guard_that_fails(
    switch: dict[str, str],
    stdout: str,
    stderr: str,
    code: int,
    shared_client: Callable[..., SharedClient],
    tmp_path: Path,
    judge_here: Callable[..., Reading],
    version: tuple[int, ...],
    observe: Callable[[str, object], None],
) -> None:
    client = shared_client("PreToolUse", timeout=30, **switch)
    made = tmp_path / "made.md"
    output = Output("a guard", "allowed", stdout, stderr, code)
    run = client.run(output, f"make {made}", tool("Write", file_path=made, content="x"), "Done.")
    kind = "refused" if stdout else f"exit 1{', with words' if stderr else ''}"
    effect = "allowed" if made.exists() else "blocked"
    observe(f"PreToolUse{', onFailure=block' if switch else ''}: {kind}", effect)
    reading = judge_here(code, stdout, stderr, "PreToolUse", client.command, entry={**switch, "timeout": 30})
    assert reading.outcome == effect
    assert made.exists() == (not switch or version < ON_FAILURE)
    if reading.outcome == "blocked":
        assert str(reading.reason) in run.requests[-1].last


@SWITCHES
def test_a_guard_that_takes_too_long(
    switch: dict[str, str],
    claude_client: Any,
    hook_file: Callable[..., str],
    project: Any,
    judge_here: Callable[..., Reading],
    version: tuple[int, ...],
    observe: Callable[[str, object], None],
    keeps: Callable[[str, str, str], list[str]],
    measures: Callable[..., None],
) -> None:
    command = hook_file("exec sleep 30", head=ALWAYS)
    entry = {**switch, "timeout": 1}
    client = claude_client(hooks={"PreToolUse": {"command": command, **entry}})
    client.agent(tool("Write", file_path=project.path / "made.md", content="x"), "Done.")
    run = client.prompt("go on")
    made = (project.path / "made.md").exists()
    effect = "allowed" if made else "blocked"
    observe(f"PreToolUse{', onFailure=block' if switch else ''}: timeout", effect)
    assert keeps("PreToolUse", "onFailure=block+timeout" if switch else "timeout", effect) == []
    if not switch:
        measures("switches", "timeout", before_a_tool=effect)
    reading = judge_here(0, "", "", "PreToolUse", command, entry=entry, timed_out=True)
    assert reading.outcome == effect
    assert made == (not switch or version < ON_FAILURE)
    if not made:
        assert json.dumps(reading.reason)[1:-1] in json.dumps(run.requests[-1].messages)


def test_the_users_settings_and_a_flood(
    claude_client: Any,
    tmp_path: Path,
    keeps: Callable[[str, str, str], list[str]],
    measures: Callable[..., None],
) -> None:
    """The hook floods; then the settings are not JSON any more."""
    client = claude_client()
    environment = client._environment()
    settings = Path(environment["HOME"]) / ".claude" / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    client.agent(repeat("Done."))
    wrong: list[str] = []
    flood = f"head -c {FLOOD} /dev/zero | tr '\\0' x"
    for kind, hook in {"text+flood": flood, "block+flood": f"{flood}; echo; {BLOCK}"}.items():
        once = f"touch {tmp_path}/again; [ -e {tmp_path}/{kind} ] || {{ touch {tmp_path}/{kind}; {hook}; }}"
        entry = {"type": "command", "command": once}
        settings.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [entry]}]}}), encoding="utf-8")
        before = len(client.requests)
        done = client._start("go on", [], environment, None, None)
        asked = [request for request in client.requests[before:] if request.tools]
        assert done.exit_code == 0
        assert (tmp_path / kind).exists()
        lost = "allowed" if kind == "text+flood" else "ignored"
        wrong += keeps("Stop", kind, lost if len(asked) == 1 else "blocked")
    measures("places", "user", value="~/.claude/settings.json")
    measures("places", "trust", value="nothing more: they are the user's")

    (tmp_path / "again").unlink()
    settings.write_text('{"hooks": {"Stop": [', encoding="utf-8")
    before = len(client.requests)
    done = client._start("go on", [], environment, None, None)
    found = {
        "exit_code": done.exit_code,
        "named": settings.name in done.stdout + done.stderr,
        "goes_on": len(client.requests) > before,
    }
    ran = (tmp_path / "again").exists()
    kept = settings.read_text(encoding="utf-8") == '{"hooks": {"Stop": ['
    measures("exits", "settings that are not JSON", kept=kept, **found)
    measures("exits", "a broken configuration", file="~/.claude/settings.json", hooks_run=ran, kept=kept, **found)
    assert wrong == []


@pytest.mark.parametrize("of", ["settings", "plugin"])
def test_a_prompts_script_is_missing(
    of: str,
    claude_client: Any,
    tmp_path: Path,
    judge_here: Callable[..., Reading],
    keeps: Callable[[str, str, str], list[str]],
) -> None:
    """What is forgiven to a plugin is not forgiven to the settings."""
    command = "echo 'sh: x: No such file' >&2; exit 2"
    theirs = {"plugin": make_plugin(tmp_path / "mine", {"UserPromptSubmit": command})}
    client = claude_client(**(theirs if of == "plugin" else {"hooks": {"UserPromptSubmit": command}}))
    client.agent(repeat("Done."))
    asked = bool([request for request in client.prompt("go on").requests if request.tools])
    reading = judge_here(2, "", "sh: x: No such file\n", "UserPromptSubmit", command, plugin=of == "plugin")
    assert reading.outcome == ("allowed" if asked else "blocked")
    if of == "plugin":
        assert keeps("UserPromptSubmit", "exit-2-missing+plugin", "ignored" if asked else "blocked") == []


@pytest.mark.parametrize(
    ("stdout", "runs"),
    [("", False), ("{}", False), ('{"decision": "approve"}', True), (deny(permissionDecision="allow"), True)],
    ids=["nothing", "object", "approve", "allow"],
)
def test_without_a_permission(
    stdout: str,
    runs: bool,
    claude_client: Any,
    hook_file: Callable[..., str],
    project: Any,
    judge_here: Callable[..., Reading],
    version: tuple[int, ...],
    observe: Callable[[str, object], None],
) -> None:
    command = hook_file(f"printf %s {shlex.quote(stdout)}", head=ALWAYS)
    client = claude_client(hooks={"PreToolUse": command}, tools=None)
    client.agent(tool("Bash", command="touch made", description="make it"), "Done.")
    client.prompt("go on")
    made = (project.path / "made").exists()
    outcome = judge_here(0, stdout, "", "PreToolUse", command).outcome
    observe(f"PreToolUse, no permission: {stdout or 'nothing'}", "granted" if made else "allowed")
    assert made is runs
    assert outcome == ("granted" if made else "allowed")


@pytest.mark.parametrize("event", ["SessionStart", "UserPromptSubmit", "PostToolUse"])
@pytest.mark.parametrize("kind", ["text", "async"])
def test_context(
    kind: str,
    event: str,
    claude_client: Any,
    hook_file: Callable[..., str],
    project: Any,
    judge_here: Callable[..., Reading],
    version: tuple[int, ...],
    observe: Callable[[str, object], None],
    keeps: Callable[[str, str, str], list[str]],
) -> None:
    late = '{"async": true}\n' + specific(event, additionalContext="think of the tests")
    stdout = "think of the tests" if kind == "text" else late
    command = hook_file(f"printf %s {shlex.quote(stdout)}", head=ALWAYS)
    client = claude_client(hooks={event: command})
    # The second call gives the answer time to come.
    calls = [
        tool("Write", file_path=project.path / "a.md", content="x"),
        tool("Bash", command="sleep 1", description="x"),
    ]
    client.agent(*calls, "Done.")
    run = client.prompt("go on")
    landed = any("think of the tests" in json.dumps(request.messages) for request in run.requests)
    observe(f"{event}: {kind} is context", landed)
    assert kind != "async" or keeps(event, "async", "context" if landed else "allowed") == []
    assert landed == (judge_here(0, stdout, "", event, command).context == "think of the tests")
    told_late = kind == "async" and version >= LATE_AT_A_TOOL
    assert landed == (told_late or event != "PostToolUse")


def test_once_is_ignored(
    claude_client: Any, tmp_path: Path, observe: Callable[[str, object], None], judge_here: Callable[..., Reading]
) -> None:
    """In settings and in a plugin: a hook that is to run once runs at both calls."""
    plugin = tmp_path / "plugin"
    for name, content in (
        (".claude-plugin/plugin.json", {"name": "own", "version": "1.0.0", "description": "x"}),
        ("hooks/hooks.json", {"hooks": {"PreToolUse": [{"hooks": [once(tmp_path / "of the plugin")]}]}}),
    ):
        (plugin / name).parent.mkdir(parents=True)
        (plugin / name).write_text(json.dumps(content), encoding="utf-8")
    client = claude_client(hooks={"PreToolUse": once(tmp_path / "of settings")}, plugin=plugin)
    call = tool("Bash", command="true", description="x")
    client.agent(call, call, "Done.")
    client.prompt("go on")
    for name, is_plugin in (("of settings", False), ("of the plugin", True)):
        runs = len((tmp_path / name).read_text().split())
        observe(f"PreToolUse: runs of a hook {name} with once, in two calls", runs)
        assert runs == 2
        reading = judge_here(0, "", "", "PreToolUse", entry={"once": True}, plugin=is_plugin)
        assert "`once` is ignored" in str(reading.fault)


def once(ran: Path) -> dict[str, object]:
    return {"type": "command", "command": f"echo x >> {shlex.quote(str(ran))}", "once": True}


LENGTHS = (10_000, 10_001)
WITH_CONTEXT = (
    *("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch"),
    *("SubagentStart", "SubagentStop", "Stop"),
)
AS_TEXT = ("SessionStart", "UserPromptSubmit")


def test_the_length_of_context(
    claude_client: Any, tmp_path: Path, observe: Callable[[str, object], None], judge_here: Callable[..., Reading]
) -> None:
    """Every event with context in one turn, each with a hook for either length."""
    hooks: dict[str, list[Any]] = {}
    printed: dict[tuple[str, str, int], tuple[str, str]] = {}
    for event, way in [*((event, "context") for event in WITH_CONTEXT), *((event, "text") for event in AS_TEXT)]:
        for length in LENGTHS:
            text = f"<{event} {way} {length} ".ljust(length - 1, "x") + ">"
            stdout = text if way == "text" else specific(event, additionalContext=text)
            printed[event, way, length] = text, stdout
            file = tmp_path / f"{event} {way} {length}"
            file.write_text(stdout, encoding="utf-8")
            script = f"grep -q 'stop_hook_active\":true' || cat {shlex.quote(str(file))}"
            hooks.setdefault(event, []).append({"hooks": [{"type": "command", "command": script}]})
    client = claude_client(settings={"hooks": hooks})
    helper = {"description": "help", "subagent_type": "general-purpose", "run_in_background": False}
    calls = [tool("Bash", command=command, description="x") for command in ("true", "false")]
    client.agent(*calls, tool("Agent", prompt="You are a helper.", **helper), repeat("Done."))
    client.agent(repeat("Looked."), when="You are a helper.")
    run = client.prompt("go on")
    heard = "".join(json.dumps(request.messages) for request in run.requests)
    for (event, way, length), (text, stdout) in printed.items():
        observe(f"{event}: {way} of {length} characters arrives whole", text in heard)
        assert f"<{event} {way} {length} " in heard
        reading = judge_here(0, stdout, "", event)
        assert (text in heard) == (reading.fault is None) == (length == LENGTHS[0]), (event, way, length)
