"""project.transcript: what a hook reads there when it stops, is blocked and stops again. Seen from the hook."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

from pytest_taskie import Events, Project, RunHook, assert_approved, assert_blocked
from pytest_taskie._transcript import folder_name

# As a well-known Stop hook does it: the last line of the assistant's, and the text of its blocks.
LAST_WORDS = r"""
import json, sys
event = json.load(sys.stdin)
lines = [line for line in open(event["transcript_path"]) if '"role":"assistant"' in line]
content = json.loads(lines[-1])["message"]["content"]
text = "".join(block["text"] for block in content if block["type"] == "text")
print(json.dumps({"systemMessage": f"{text}|{event['last_assistant_message']}"}))
"""
# The client made such a folder of it.
LONG = f"/tmp/pytest-of-root/pytest-518/test_names_name2_0/project/l{'o' * 120}/{'n' * 100}g"
BLOCK = """cat > /dev/null; echo '{"decision":"block","reason":"not yet"}'"""


def entries(project: Project) -> list[dict[str, Any]]:
    return [json.loads(line) for line in project.transcript.read_text().splitlines()]


def talk(project: Project) -> list[tuple[str, object]]:
    """Who said what, without the lines that the client writes for itself."""
    messages = [entry["message"] for entry in entries(project) if "message" in entry]
    return [(m["role"], m["content"] if isinstance(m["content"], str) else m["content"][0]["type"]) for m in messages]


@pytest.mark.parametrize("way", ["by default", "says", "in the event"])
def test_the_last_words_are_the_same_in_both_places(
    way: str, run_hook: RunHook, events: Events, project: Project
) -> None:
    if way == "says":
        project.says("All <done>.")
    event = events.stop(last_assistant_message="All <done>.") if way == "in the event" else events.stop()
    result = run_hook(event, command=["python3", "-c", LAST_WORDS])
    words = "Done." if way == "by default" else "All <done>."
    assert_approved(result, f"^{words}[|]{words}$")


def test_the_last_words_come_after_whatever_the_agent_did(run_hook: RunHook, project: Project) -> None:
    project.calls("Bash", command="ls")
    assert_approved(run_hook(command=["python3", "-c", LAST_WORDS]), "^Done.[|]Done.$")
    assert talk(project)[-3:] == [("assistant", "tool_use"), ("user", "tool_result"), ("assistant", "text")]


def test_between_two_stops_the_model_is_told_and_answers(run_hook: RunHook, events: Events, project: Project) -> None:
    before = len(talk(project))
    assert_blocked(run_hook(command=BLOCK), "^not yet$")
    assert talk(project)[before:] == [("user", "Stop hook feedback:\nnot yet")]
    assert_blocked(run_hook(events.stop(stop_hook_active=True), command=BLOCK))
    assert talk(project)[before:] == [
        ("user", "Stop hook feedback:\nnot yet"),
        ("assistant", "text"),
        ("user", "Stop hook feedback:\nnot yet"),
    ]


def test_after_additional_context_the_model_has_read_it(run_hook: RunHook, project: Project) -> None:
    context = {"hookSpecificOutput": {"hookEventName": "Stop", "additionalContext": "think of it"}}
    result = run_hook(command=["echo", json.dumps(context)])
    assert result.continues
    added = [entry["attachment"] for entry in entries(project) if entry["type"] == "attachment"][-2:]
    assert [one["type"] for one in added] == ["hook_success", "hook_additional_context"]
    assert json.loads(added[0]["stdout"]) == context
    assert added[1]["content"] == ["think of it"]
    assert "Stop hook feedback" not in project.transcript.read_text()


def test_a_subagents_stop_has_a_transcript_of_its_own(run_hook: RunHook, events: Events, project: Project) -> None:
    main = project.transcript.read_text()
    event = events.subagent_stop(agent_id="a7", last_assistant_message="Looked.")
    assert_blocked(run_hook(event, command=BLOCK), "^not yet$")
    (added,) = project.transcript.read_text().removeprefix(main).splitlines()
    assert json.loads(added)["message"]["content"][0]["name"] == "Agent"
    read = r"""
import json, sys
said = [json.loads(line) for line in open(json.load(sys.stdin)["agent_transcript_path"])]
talk = [entry["message"]["content"] for entry in said if "message" in entry]
print(json.dumps({"systemMessage": str([one if isinstance(one, str) else one[0]["text"] for one in talk])}))
"""
    again = events.subagent_stop(agent_id="a7", last_assistant_message="Looked again.")
    heard = run_hook(again, command=["python3", "-c", read])
    assert heard.system_message == "['Look at it.', 'Looked.', 'Stop hook feedback:\\nnot yet', 'Looked again.']"


def test_what_it_says_is_the_answer_to_the_main_agents_call(
    run_hook: RunHook, events: Events, project: Project
) -> None:
    """Not before it has stopped; then with whatever comes next, and once."""
    helper = project.transcript.subagent("Count the files.", agent_id="a8")
    run_hook(events.subagent_stop(agent_id="a8", last_assistant_message="One.\nOr two."), command="true")
    for words in ("It is one.", "Really."):
        run_hook(events.stop(last_assistant_message=words), command="true")
    said = [json.loads(line) for line in project.transcript.read_text().splitlines()]
    call, answer, *after = [entry["message"]["content"] for entry in said if "message" in entry][2:]
    assert (call[0]["name"], call[0]["input"]["prompt"]) == ("Agent", "Count the files.")
    assert (answer[0]["type"], answer[0]["tool_use_id"]) == ("tool_result", call[0]["id"])
    assert "\n  One.\n  Or two.\nagentId: a8 " in answer[0]["content"][0]["text"]
    assert [one[0]["text"] for one in after] == ["It is one.", "Really."]
    assert json.loads(helper.with_suffix(".meta.json").read_text())["toolUseId"] == call[0]["id"]


def test_a_transcript_that_is_the_tests_own_has_no_such_call(project: Project) -> None:
    project.transcript.write_text("mine\n")
    project.transcript.subagent("Count the files.", agent_id="a8").says("One.")
    assert project.transcript.read_text() == "mine\n"


def test_a_subagent_that_the_test_tells_of(run_hook: RunHook, events: Events, project: Project) -> None:
    helper = project.transcript.subagent("Count the files.", "Explore", agent_id="a8")
    helper.call("Bash", {"command": "ls"}, "x")
    event = events.subagent_stop(agent_id="a8", agent_type="Explore", last_assistant_message="One.")
    run_hook(event, command=BLOCK)
    lines = [json.loads(line) for line in helper.read_text().splitlines()]
    assert {(line["isSidechain"], line["agentId"]) for line in lines} == {(True, "a8")}
    assert [line["message"]["role"] for line in lines if "message" in line] == [
        *("user", "assistant", "user", "assistant", "user"),
    ]
    assert lines[0]["message"]["content"] == "Count the files."
    helper.write_text("mine")
    run_hook(event, command=BLOCK)
    assert helper.read_text() == "mine"


@pytest.mark.parametrize("command", ["true", 'echo \'{"decision":"approve"}\'', f"echo x; {BLOCK}"])
def test_no_feedback_without_a_block(command: str, run_hook: RunHook, project: Project) -> None:
    before = project.transcript.read_text()
    run_hook(command=command)
    assert project.transcript.read_text() == before


def test_no_feedback_after_another_events_block(run_hook: RunHook, events: Events, project: Project) -> None:
    before = project.transcript.read_text()
    assert_blocked(run_hook(events.pre_tool_use("Bash"), command=BLOCK))
    assert project.transcript.read_text() == before


@pytest.mark.parametrize("change", ["gone", "rewritten", "a link", "a directory"])
def test_a_transcript_that_the_test_has_changed_is_left_as_it_is(
    change: str, run_hook: RunHook, project: Project
) -> None:
    path = project.transcript
    if change != "rewritten":
        path.unlink()
    if change == "rewritten":
        path.write_text("x")
    elif change == "a link":
        (project.home / "other").write_text("x")
        path.symlink_to(project.home / "other")
    elif change == "a directory":
        path.mkdir()
    assert_blocked(run_hook(command=BLOCK))
    assert os.path.lexists(path) == (change != "gone")
    if change in ("rewritten", "a link"):
        assert path.read_text() == "x"


def test_each_line_follows_the_one_before_it(run_hook: RunHook, project: Project) -> None:
    project.asks("And now?")
    project.calls("Write", file_path=project.path / "x", content="ü")
    run_hook(command=BLOCK)
    lines = [entry for entry in entries(project) if "uuid" in entry]
    assert [entry["parentUuid"] for entry in lines] == [None, *(entry["uuid"] for entry in lines[:-1])]
    assert {entry["sessionId"] for entry in entries(project)} == {project.session_id}
    assert {entry["cwd"] for entry in lines} == {str(project.path)}


def test_a_prompt_begins_a_turn_and_events_are_in_it(project: Project, events: Events) -> None:
    first = events.stop()["prompt_id"]
    project.asks("And now?")
    second = events.stop()["prompt_id"]
    assert first != second == [entry for entry in entries(project) if "promptId" in entry][-1]["promptId"]


def test_any_line_can_be_added(project: Project) -> None:
    project.transcript.add("user", [{"type": "text", "text": "[Request interrupted by user]"}])
    project.transcript.add("assistant", [{"type": "text", "text": "a"}, {"type": "tool_use", "id": "1", "input": {}}])
    project.transcript.add("system", subtype="compact_boundary")
    project.transcript.call("Bash", {"command": "false"}, "Exit code 1", error=True)
    added = entries(project)[-6:]
    assert [entry["type"] for entry in added] == ["user", "assistant", "assistant", "system", "assistant", "user"]
    assert added[0]["message"]["content"][0]["text"] == "[Request interrupted by user]"
    assert added[1]["message"]["id"] == added[2]["message"]["id"]
    assert added[3]["subtype"] == "compact_boundary"
    assert added[5]["message"]["content"][0]["is_error"] is True


@pytest.mark.parametrize(
    ("directory", "folder"),
    [
        ("/tmp/my_project v1.2", "-tmp-my-project-v1-2"),
        ("/ü/😀", "-----"),
        (f"/{'x' * 199}", f"-{'x' * 199}"),
        (LONG, f"{LONG.replace('/', '-').replace('_', '-')[:200]}-54bkeu"),
    ],
)
def test_the_folders_name(directory: str, folder: str) -> None:
    """The form is the client's: tests/client compares it with the real one."""
    assert folder_name(directory) == folder
