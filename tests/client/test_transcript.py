"""The transcript that the client writes, and the one that `project` has: the same lines, of the same form."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie import Project
from pytest_taskie._transcript import VERSION, folder_name
from pytest_taskie.client import tool
from pytest_taskie.client._installation import version_numbers

pytestmark = pytest.mark.client

NEWEST_FORM = version_numbers(VERSION)
BLOCK = """echo '{"decision":"block","reason":"one more thing"}'"""


def form(value: object) -> object:
    """Keys and types, without the values: what a hook relies on."""
    if isinstance(value, dict):
        return {key: form(child) for key, child in value.items()}
    if isinstance(value, list):
        return [form(child) for child in value]
    return type(value).__name__


def lines(text: str) -> dict[str, list[Any]]:
    """The transcript's lines by what they are about, of the kinds that a hook may want to read."""
    found: dict[str, list[Any]] = {}
    for raw in text.splitlines():
        entry = json.loads(raw)
        content = entry.get("message", {}).get("content")
        block = content[0] if isinstance(content, list) and content else {}
        name = {"Bash": "shell", "Write": "file"}.get(block.get("name", ""), block.get("name", ""))
        of = {
            "user": "feedback" if entry.get("isMeta") else block.get("type", "prompt"),
            "assistant": f"{block.get('type')} {name}".strip(),
            "attachment": entry.get("attachment", {}).get("type"),
            "system": entry.get("subtype"),
            "queue-operation": entry.get("operation"),
        }.get(entry["type"])
        found.setdefault(f"{entry['type']}: {of}", []).append(entry)
    return found


@pytest.fixture(autouse=True)
def _measured(version: Any) -> None:
    if version < NEWEST_FORM:
        pytest.skip("the transcript of `project` has the form of a newer client's")


@pytest.fixture
def written(claude_client: Any, project: Project, hook_file: Callable[..., str]) -> str:
    """A turn with two tool calls, one that fails, words beside a call, and a stop that is blocked once."""
    client = claude_client(hooks={"Stop": hook_file(BLOCK)})
    client.agent(
        tool("Bash", command="echo hi", description="says hi"),
        tool("Write", file_path=project.path / "x.md", content="x"),
        ["I look.", tool("Read", file_path="/nonexistent")],
        "Half done.",
        "All done.",
    )
    run = client.prompt("go on")
    assert run.answer == "All done."
    folders = [f for f in (project.home / ".claude" / "projects").iterdir() if f.name == project.transcript.parent.name]
    files = [file for file in folders[0].glob("*.jsonl") if file.name != project.transcript.name]
    assert len(files) == 1, "it is in the folder where the project has its own"
    return files[0].read_text(encoding="utf-8")


def ours(project: Project, command: str) -> str:
    """The same story, told by the project."""
    there = project.transcript
    there.write_text("")
    there.prompt("go on")
    there.call("Bash", {"command": "echo hi", "description": "says hi"}, "hi")
    there.call("Write", {"file_path": str(project.path / "x.md"), "content": "x"}, "File created")
    there.add("assistant", [{"type": "text", "text": "I look."}])
    there.call("Read", {"file_path": "/nonexistent"}, "File does not exist.", error=True)
    there.says("Half done.")
    there.feedback("one more thing", command)
    there.says("All done.")
    return there.read_text(encoding="utf-8")


def test_the_lines_have_the_clients_form(
    written: str, project: Project, tmp_path: Path, observe: Callable[[str, object], None]
) -> None:
    theirs, mine = lines(written), lines(ours(project, str(tmp_path / "hook.sh")))
    observe("kinds of lines in a transcript", ", ".join(sorted(theirs)))
    spoken = [kind for kind in mine if kind.startswith(("user", "assistant"))]
    for kind in spoken:
        bodies = [[entry["message"]["content"] for entry in side[kind]] for side in (theirs, mine)]
        assert form(bodies[0]) == form(bodies[1]), kind
    for line in (*written.splitlines(), *project.transcript.read_text().splitlines()):
        if json.loads(line)["type"] in ("user", "assistant"):
            assert line == json.dumps(json.loads(line), ensure_ascii=False, separators=(",", ":")), "compact"
    assert set(mine) <= set(theirs)
    del theirs["system: stop_hook_summary"][1:]
    for kind, entries in mine.items():
        seen = [form({**entry, "parentUuid": "", "hookInfos": 0, "hookCount": 0}) for entry in theirs[kind]]
        assert [form({**e, "parentUuid": "", "hookInfos": 0, "hookCount": 0}) for e in entries] == seen, kind


def test_a_subagent_in_the_main_agents_transcript(claude_client: Any, project: Project, tmp_path: Path) -> None:
    """When it stops there is the call, and the answer to it when the main agent goes on."""
    then = tmp_path / "then"
    keep = (
        f"import json,sys; print(open(json.load(sys.stdin)['transcript_path']).read(), file=open({str(then)!r}, 'w'))"
    )
    client = claude_client(hooks={"SubagentStop": f"{shlex.quote(sys.executable)} -c {shlex.quote(keep)}"})
    asked = {"prompt": "You are a helper.", "subagent_type": "general-purpose", "run_in_background": False}
    client.agent(tool("Agent", description="look", **asked), "All done.")
    client.agent("Looked.", when="You are a helper.")
    client.prompt("go on")
    (file,) = (f for f in project.transcript.parent.glob("*.jsonl") if f.name != project.transcript.name)
    there = project.transcript
    there.prompt("go on")
    there.subagent("You are a helper.").says("Looked.")
    mine = [there.read_text()]
    there.says("All done.")
    mine.append(there.read_text())
    for their_text, my_text in zip((then.read_text(), file.read_text()), mine):
        theirs, own = lines(their_text.replace("\n\n", "\n")), lines(my_text)
        for kind in ("assistant: tool_use Agent", "user: tool_result"):
            forms = [[form({**entry, "parentUuid": ""}) for entry in side.get(kind, [])] for side in (theirs, own)]
            assert forms[0] == forms[1], kind
    assert "user: tool_result" in lines(mine[1])
    assert "user: tool_result" not in lines(mine[0])


def test_the_words_after_a_block(written: str, project: Project, tmp_path: Path) -> None:
    theirs, mine = lines(written), lines(ours(project, str(tmp_path / "hook.sh")))
    said = [side["user: feedback"][0]["message"]["content"] for side in (theirs, mine)]
    assert said == ["Stop hook feedback:\none more thing"] * 2
    rendered = [side["attachment: hook_blocking_error"][0]["rendered"] for side in (theirs, mine)]
    assert rendered[0] == rendered[1]


@pytest.mark.parametrize("exit_2", [False, True], ids=["block", "exit 2"])
def test_the_harness_tells_the_model_what_the_client_tells_it(
    exit_2: bool, claude_client: Any, project: Project, hook_file: Callable[..., str], run_hook: Any, events: Any
) -> None:
    """The same hook in the client and in `run_hook`: the same feedback in both transcripts."""
    command = hook_file("echo not yet >&2; exit 2" if exit_2 else BLOCK)
    client = claude_client(hooks={"Stop": command})
    client.agent("Half done.", "All done.")
    client.prompt("go on")
    run_hook(events.stop(last_assistant_message="Half done."), command=command)
    folder = project.transcript.parent
    told = [lines(file.read_text())["user: feedback"][0]["message"]["content"] for file in folder.glob("*.jsonl")]
    assert len(told) == 2
    assert told[0] == told[1]


@pytest.mark.parametrize("name", ["it's a_b.c", "ünïcode😀 (x) A+B@~", f"l{'o' * 120}/{'n' * 100}g"])
def test_the_folders_name(name: str, claude_client: Any, project: Project) -> None:
    where = project.path / name
    where.mkdir(parents=True)
    client = claude_client(hooks={"Stop": "true"})
    client.agent("Done.")
    run = client.prompt("go on", cwd=where)
    assert Path(run.stops[0].stdin["transcript_path"]).parent.name == folder_name(str(where))
