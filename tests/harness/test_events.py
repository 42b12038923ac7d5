"""events: builders for every event of the client, that refuse what the client would not send."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_taskie import Events, Project, _contract

EVENTS = _contract.load("claude")["events"]


def snake(name: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in name)[1:]


@pytest.mark.parametrize("name", sorted(EVENTS))
def test_every_event_has_a_builder(events: Events, project: Project, name: str) -> None:
    event = getattr(events, snake(name))()
    assert event["hook_event_name"] == name
    assert event["session_id"] == project.session_id
    assert event["transcript_path"] == str(project.transcript)
    assert event["cwd"] == str(project.path)
    known = {key: field["types"] for key, field in EVENTS[name]["fields"].items()}
    assert [*event] == [*events.build(name)] in EVENTS[name]["situations"].values()
    assert {*event} <= {*known}


def test_fields_of_the_event_and_of_all_events(events: Events) -> None:
    event = events.stop(stop_hook_active=True, permission_mode="plan", cwd=Path("/elsewhere"))
    assert (event["stop_hook_active"], event["permission_mode"], event["cwd"]) == (True, "plan", "/elsewhere")
    assert events.session_start(source="resume")["source"] == "resume"


def test_tool_events_take_the_tools_input(events: Events) -> None:
    event = events.pre_tool_use("Write", file_path=Path("/a/b"), content="x")
    assert event["tool_name"] == "Write"
    assert event["tool_input"] == {"file_path": "/a/b", "content": "x"}
    assert events.permission_request("Bash", command="ls")["tool_input"] == {"command": "ls"}
    done = events.post_tool_use("Bash", {"stdout": "x"}, command="ls")
    assert (done["tool_input"], done["tool_response"]) == ({"command": "ls"}, {"stdout": "x"})


def test_optional_fields_are_sent_only_with_a_value(events: Events) -> None:
    assert "title" not in events.notification()
    assert events.notification(title="Hello")["title"] == "Hello"
    assert "model" not in events.session_start()


def test_events_outside_a_turn_have_no_prompt(events: Events) -> None:
    assert "prompt_id" not in events.session_start()
    assert "prompt_id" in events.stop()
    assert ("prompt_id" in events.session_end(), "permission_mode" in events.session_end()) == (True, False)
    assert ("permission_mode" in events.user_prompt_submit(), "effort" in events.user_prompt_submit()) == (True, False)


def test_one_builder_is_one_prompt(events: Events) -> None:
    assert events.stop()["prompt_id"] == events.pre_tool_use()["prompt_id"]


def test_an_event_can_be_changed_without_changing_the_next(events: Events) -> None:
    events.stop()["background_tasks"].append("x")
    events.pre_tool_use()["tool_input"]["a"] = 1
    events.build("PreToolUse")["tool_input"]["a"] = 1
    assert events.stop()["background_tasks"] == []
    assert "a" not in events.build("PreToolUse")["tool_input"]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"stop_hook_activ": True}, "no field 'stop_hook_activ' with Stop. Did you mean 'stop_hook_active'"),
        ({"stop_hook_active": "true"}, "stop_hook_active of Stop is 'true': the client sends bool"),
        ({"stop_hook_active": 1}, "the client sends bool"),
        ({"background_tasks": {}}, "the client sends list"),
        ({"cwd": 5}, "the client sends str"),
        ({"cwd": None}, "the client sends str"),
    ],
)
def test_what_the_client_would_not_send_is_refused(events: Events, fields: dict[str, object], says: str) -> None:
    with pytest.raises(TypeError, match=says):
        events.stop(**fields)


def test_null_is_refused_except_where_the_client_sends_it(events: Events) -> None:
    assert events.pre_compact()["custom_instructions"] is None
    assert events.pre_compact(custom_instructions="short")["custom_instructions"] == "short"
    with pytest.raises(TypeError, match="the client sends None or str"):
        events.pre_compact(custom_instructions=5)
    assert events.build("PreToolUse", tool_input="no object")["tool_input"] == "no object"
    with pytest.raises(TypeError, match="the client sends int"):
        events.build("PostToolUse", duration_ms=True)


def test_an_unknown_event_is_refused_with_the_known_ones(events: Events) -> None:
    with pytest.raises(AttributeError, match=r"no event 'sotp'.*session_start.*stop,"):
        events.sotp()  # type: ignore[attr-defined]
    with pytest.raises(ValueError, match=r"no event 'Sotp'.*SessionStart"):
        events.build("Sotp")


def test_inside_a_subagent(events: Events) -> None:
    event = events.pre_tool_use("Bash", agent="code-reviewer", command="ls")
    assert (event["agent_type"], event["tool_input"]) == ("code-reviewer", {"command": "ls"})
    assert list(event) == EVENTS["PreToolUse"]["situations"]["subagent"]
    assert events.build("PreToolUse", agent_id="a1", agent_type="x")["agent_id"] == "a1"
    assert "agent_id" not in events.pre_tool_use()
    assert list(events.stop(agent_type="reviewer")) == EVENTS["Stop"]["situations"]["agent"]


def test_a_subagents_stop_is_another_event(events: Events) -> None:
    with pytest.raises(ValueError, match=r"A subagent's stop is SubagentStop.*agent_type="):
        events.stop(agent="general-purpose")
    assert events.subagent_stop(agent="general-purpose")["agent_type"] == "general-purpose"


def test_an_agent_where_none_was_seen(events: Events) -> None:
    """The client's own schema has it for every event; it stands where it stands in the others."""
    event = events.task_created(agent="general-purpose")
    names = list(event)
    assert names.index("prompt_id") < names.index("agent_id") < names.index("agent_type") < names.index("task_id")


def test_a_tool_of_an_mcp_server(events: Events) -> None:
    event = events.post_tool_use("mcp__github__search", [{"type": "text", "text": "none"}], query="x")
    assert event["mcp_server"]["name"] == "github"
    assert list(event) == EVENTS["PostToolUse"]["situations"]["mcp"]
    both = events.pre_tool_use("mcp__github__search", agent="general-purpose")
    assert list(both) == EVENTS["PreToolUse"]["situations"]["subagent mcp"]
    assert "mcp_server" not in events.pre_tool_use("Bash")


def test_what_only_a_resumed_session_has(events: Events) -> None:
    resumed = {"seconds_since_last_response", "context_tokens", "prompt_cache_likely_expired"}
    assert resumed < set(events.session_start(source="resume"))
    assert not resumed & set(events.session_start())
    assert "model" in events.session_start(situation="interactive")
    with pytest.raises(ValueError, match=r"Setup was not seen in the situation 'resume'. It was in: main"):
        events.setup(situation="resume")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Task", r"no tool 'Task'. It is 'Agent' today"),
        ("bash", r"no tool 'bash'. Did you mean 'Bash'"),
        ("Nonsense", r"no tool 'Nonsense'. .*Bash.*mcp__"),
    ],
)
def test_a_tool_that_the_client_does_not_have_is_refused(events: Events, name: str, says: str) -> None:
    for build in (events.pre_tool_use, events.post_tool_use, events.permission_request):
        with pytest.raises(ValueError, match=says):
            build(name)


def test_paths_are_those_of_the_project(events: Events, project: Project) -> None:
    assert events.instructions_loaded()["file_path"] == str(project.path / "CLAUDE.md")
    assert events.cwd_changed()["old_cwd"] == str(project.path)
    folder = project.transcript.with_suffix("") / "subagents"
    assert Path(events.subagent_stop()["agent_transcript_path"]).parent == folder
