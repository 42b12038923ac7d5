"""Every event of the client, provoked: what a hook is told in each situation is what the contract data say.

One session provokes as many events as it can. `taskie client check --write` makes the data of what is recorded here.
"""

from __future__ import annotations

import dataclasses
import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie import Events, Project, _contract
from pytest_taskie.client import ClaudeClient, api_error, repeat, tool

from .contract_data import drift
from .program_text import read
from .recorder import PAYLOAD, Recorder, json_type, situation, stable

pytestmark = pytest.mark.client

HERE = Path(__file__).resolve().parent
OLDEST = (2, 1, 326)
PRINT = ("-p", "--output-format", "stream-json", "--verbose")
STREAM = (*PRINT, "--input-format", "stream-json", "--permission-prompt-tool", "stdio")
TOOLS = "Agent,Bash,Edit,Glob,Grep,Read,TaskCreate,TaskUpdate,Write,EnterWorktree,ExitWorktree,mcp__asking__*"
SECONDS = 50.0
Json = dict[str, Any]


class Bench:
    """One test's client, with a hook for every event that keeps what it is told."""

    def __init__(self, client: ClaudeClient, recorder: Recorder, project: Project, scratch: Path) -> None:
        self.client = client
        self.recorder = recorder
        self.path = project.path
        self.home = Path(project.env["HOME"])
        self.mcp = scratch / "mcp.json"
        server = {"command": sys.executable, "args": [str(HERE / "asking_server.py")]}
        self.mcp.write_text(json.dumps({"mcpServers": {"asking": server}}))
        self.settings = self.home / ".claude" / "settings.json"
        self.settings.parent.mkdir(exist_ok=True)
        names = read(Path(client.installation.command[-1]))["events"]
        self.settings.write_text(json.dumps({"hooks": recorder.hooks(names)}))

    def run(self, *arguments: str, before: tuple[str, ...] = (), **more: Any) -> None:
        """Run the client; `before` is a program that starts it."""
        own = self.client.installation
        self.client.installation = dataclasses.replace(own, command=(*before, *own.command))
        self.client.command(*arguments, **more)
        self.client.installation = own

    def waits(self, event: str) -> str:
        """A command that ends once the event was sent."""
        return f"n=0; until [ -e {self.recorder.sent(event)} ] || [ $n -gt 200 ]; do sleep 0.1; n=$((n+1)); done"

    def once_sent(self, event: str, answer: str = "") -> str:
        """An answer that the model gives once the event was sent."""
        until = time.monotonic() + SECONDS
        while not self.recorder.sent(event).exists() and time.monotonic() < until:
            time.sleep(0.02)
        return answer


@pytest.fixture
def bench(claude_client: type[ClaudeClient], project: Project, tmp_path: Path, version: tuple[int, ...]) -> Bench:
    if version < OLDEST:
        pytest.skip("there are no data on the events of a client that old")
    return Bench(claude_client(), Recorder(tmp_path / "records"), project, tmp_path)


@pytest.fixture
def holds(
    bench: Bench, events: Events, tmp_path: Path, record_property: Callable[[str, object], None]
) -> Callable[..., list[Json]]:
    """All that was recorded is as the data say, and these events are among it."""

    def check(ordinary: str, *expected: str) -> list[Json]:
        places = {str(bench.path): "/project", str(bench.home): "/home/user", str(tmp_path): "/tmp"}
        sent = [stable(payload, places) for payload in bench.recorder.payloads()]
        told = [(situation(payload, ordinary), payload) for payload in sent]
        for pair in told:
            record_property(PAYLOAD, json.dumps(pair))
        data = _contract.load("claude", bench.client.version)
        assert [wrong for pair in told for wrong in differs(data["events"], *pair)] == []
        assert [wrong for pair in told for wrong in built_otherwise(events, *pair)] == []
        assert not {*expected} - {payload["hook_event_name"] for payload in sent}
        return sent

    return check


def differs(data: Mapping[str, Any], where: str, payload: Json) -> list[str]:
    """How a payload is not what the data say of its event."""
    name = payload["hook_event_name"]
    known = data.get(name)
    if known is None:
        return [f"{name} is not in the data"]
    wrong = []
    if list(payload) != known["situations"].get(where):
        wrong.append(f"{name}, {where}: {list(payload)} and not {known['situations'].get(where)}")
    for key, value in payload.items():
        if json_type(value) not in known["fields"].get(key, {}).get("types", ()):
            wrong.append(f"{name}.{key} is {value!r}")
    always = [key for key, field in known["fields"].items() if field["always"]]
    return wrong + [f"{name} has no {key}" for key in always if key not in payload]


def built_otherwise(events: Events, where: str, payload: Json) -> list[str]:
    """How the builder's event differs from one of the client: other fields, another order, other types."""
    name = payload["hook_event_name"]
    built = events.build(name, situation=where)
    shapes = [[(key, json_type(value)) for key, value in event.items()] for event in (built, payload)]
    open_fields = ("tool_response", "requested_model", "custom_instructions")
    pairs = [[pair for pair in shape if pair[0] not in open_fields] for shape in shapes]
    return [] if pairs[0] == pairs[1] and list(built) == list(payload) else [f"{name}, {where}: {shapes}"]


def test_the_program_names_nothing_else(bench: Bench) -> None:
    """An event that no test here provokes, a field of an event or of an output, a tool: new ones are noticed."""
    program = read(Path(bench.client.installation.command[-1]))
    assert drift(_contract.load("claude", bench.client.version), {"program": program}) == []


def test_in_print_mode(bench: Bench, project: Project, events: Events, holds: Callable[..., list[Json]]) -> None:
    """Tools of every kind, subagents, a worktree, tasks, files and settings that change, in one prompt."""
    path = bench.path
    (path / "CLAUDE.md").write_text("Be brief.\n")
    (path / "a.txt").write_text("one\n")
    (path / "watched.txt").write_text("x\n")
    (path / "sub").mkdir()
    (path / ".claude").mkdir()
    change = path / "change.sh"
    change.write_text(f"echo '{{}}' > {path}/.claude/settings.local.json; {bench.waits('ConfigChange')}\n")
    project.git("init", "-q")
    bench.client.agent(
        tool("Bash", command="echo hi", description="Say hi"),
        tool("Bash", command="exit 3", description="Fail"),
        tool("Read", file_path=path / "a.txt"),
        tool("Edit", file_path=path / "a.txt", old_string="one", new_string="two"),
        tool("Write", file_path=path / "b.txt", content="new\n"),
        tool("Glob", pattern="b.*"),
        tool("Grep", pattern="two"),
        tool("TaskCreate", subject="Task", description="To do", activeForm="Doing"),
        tool("TaskUpdate", taskId="1", status="completed"),
        tool("mcp__asking__echo", text="hi"),
        tool("mcp__asking__ask", text="hi"),
        tool("Agent", description="Look", prompt="sub: look", subagent_type="general-purpose", run_in_background=False),
        tool("Bash", command=f"echo y >> watched.txt; {bench.waits('FileChanged')}", description="Change a file"),
        tool("Bash", command=f"sh {change}", description="Change the settings"),
        tool("Bash", command="cd sub", description="Go down"),
        tool("EnterWorktree", name="tree"),
        tool("ExitWorktree", action="remove", discard_changes=True),
        "Done.",
    )
    bench.client.agent(
        tool("Bash", command="echo sub", description="Say sub"),
        tool("Bash", command="exit 4", description="Fail"),
        tool("mcp__asking__echo", text="hi"),
        tool("Bash", command="cd sub", description="Go down"),
        "Looked.",
        when="sub: look",
    )
    bench.run(*PRINT, "--allowedTools", TOOLS, "--mcp-config", str(bench.mcp), "--", "go on")
    sent = holds(
        "main",
        *("SessionStart", "InstructionsLoaded", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure"),
        *("PostToolBatch", "TaskCreated", "TaskCompleted", "Elicitation", "ElicitationResult", "Notification"),
        *("SubagentStart", "SubagentStop", "FileChanged", "ConfigChange", "CwdChanged", "WorktreeCreate"),
        *("WorktreeRemove", "MessageDisplay", "Stop", "SessionEnd"),
    )
    answered = [event for event in sent if event["hook_event_name"] == "PostToolUse" and "agent_id" not in event]
    for event in (
        events.bash("echo hi", stdout="hi", description="Say hi"),
        events.read(path / "a.txt", content="one\n"),
        events.edit(path / "a.txt", "one", "two", original="one\n"),
        events.write(path / "b.txt", "new\n", done=True),
    ):
        real = next(one for one in answered if one["tool_name"] == event["tool_name"])
        built = stable(event, {str(path): "/project"})
        assert [built[key] for key in ("tool_input", "tool_response")] == [real["tool_input"], real["tool_response"]]


def test_in_stream_json(bench: Bench, holds: Callable[..., list[Json]]) -> None:
    """What needs somebody at the other end: permissions, answers, another model, a directory more, a shorter past."""
    path = bench.path
    (path / "CLAUDE.md").write_text("Be brief.\n")
    (path / "sub").mkdir()
    (path / ".claude" / "commands").mkdir(parents=True)
    (path / ".claude" / "commands" / "hello.md").write_text("Say hello to $ARGUMENTS.")
    bench.client.agent(
        tool("Bash", command="touch made.txt", description="Make a file"),
        "Done.",
        "Hello.",
        tool("mcp__asking__ask", text="hi"),
        "Red.",
        "<summary>All of it.</summary>",
        "Cleared.",
        "<summary>All of it.</summary>",
    )
    steps: list[Json] = [
        {"say": "go on"},
        {"say": "/hello you"},
        {"say": "ask me"},
        {"ask": {"subtype": "set_model", "model": "sonnet"}},
        {"ask": {"subtype": "register_repo_root", "directory": str(path / "sub")}},
        {"say": "/compact"},
        {"say": "/clear"},
        {"say": "go on"},
        {"say": "/compact be short"},
    ]
    before = (sys.executable, str(HERE / "host.py"), json.dumps(steps))
    bench.run(*STREAM, "--mcp-config", str(bench.mcp), before=before)
    holds(
        "stream-json",
        *("PermissionRequest", "UserPromptExpansion", "Elicitation", "ElicitationResult", "PreModelSwitch"),
        *("PostModelSwitch", "DirectoryAdded", "PreCompact", "PostCompact", "SessionStart", "SessionEnd"),
    )


def test_in_a_terminal(bench: Bench, holds: Callable[..., list[Json]]) -> None:
    """A teammate has nothing more to do: only the interactive client has any."""
    bench.client.agent(
        tool("Agent", description="Look", prompt="mate: look", subagent_type="general-purpose", name="mate"),
        repeat("Done."),
        when="go on",
    )
    bench.client.agent(repeat(lambda request: bench.once_sent("Stop", "Looked.")), when="mate: look")
    arguments = ("--teammate-mode", "in-process", "--permission-mode", "default", "--allowedTools=Agent")
    env = {"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1"}
    with bench.client.terminal("go on", args=arguments, env=env, timeout=SECONDS):
        bench.once_sent("TeammateIdle")
    holds("interactive", "TeammateIdle", "SessionStart", "UserPromptSubmit", "PreToolUse", "MessageDisplay", "Stop")


def test_resumed(bench: Bench, holds: Callable[..., list[Json]]) -> None:
    bench.client.agent("Done.", "Done again.")
    bench.run(*PRINT, "--", "go on")
    bench.run(*PRINT, "--continue", "--", "go on")
    sent = holds("main", "SessionStart")
    starts = [event["source"] for event in sent if event["hook_event_name"] == "SessionStart"]
    assert starts == ["startup", "resume"]


def test_as_an_agent(bench: Bench, holds: Callable[..., list[Json]]) -> None:
    """With --agent the main agent has a type, and no id."""
    bench.client.agent(tool("Bash", command="echo hi", description="Say hi"), "Done.")
    agents = json.dumps({"reviewer": {"description": "Reviews", "prompt": "Review."}})
    bench.run(*PRINT, "--agents", agents, "--agent", "reviewer", "--allowedTools", "Bash", "--", "go on")
    sent = holds("agent", "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop", "SessionEnd")
    assert {event.get("agent_type") for event in sent} == {"reviewer"}


def test_refused_by_auto_mode(bench: Bench, holds: Callable[..., list[Json]]) -> None:
    """Its check needs a server that is not there, and without it every risky call is refused."""
    bench.client.agent(tool("Bash", command="curl http://127.0.0.1/x | sh", description="Run it"), "Refused.")
    bench.run(*PRINT, "--permission-mode", "auto", "--", "go on", env={"CLAUDE_CODE_ENABLE_AUTO_MODE": "1"})
    holds("main", "PermissionDenied")


def test_the_api_fails(bench: Bench, holds: Callable[..., list[Json]]) -> None:
    """The client ends without waiting for these hooks, if nobody keeps it."""
    bench.client.agent(repeat(api_error(400)))
    steps = [{"say": "go on"}, {"until": str(bench.recorder.sent("StopFailure"))}]
    bench.run(*STREAM, before=(sys.executable, str(HERE / "host.py"), json.dumps(steps)))
    holds("stream-json", "StopFailure")


@pytest.mark.parametrize("trigger", ["init", "maintenance"])
def test_set_up(bench: Bench, holds: Callable[..., list[Json]], trigger: str) -> None:
    bench.client.agent("Done.")
    bench.run(*PRINT, f"--{trigger}", "--", "go on")
    sent = holds("main", "Setup")
    assert [event["trigger"] for event in sent if event["hook_event_name"] == "Setup"] == [trigger]
