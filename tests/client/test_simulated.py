"""The simulated session and the real client leave the same trace of sessions that nobody has chosen.

A few in every run. More, and others: `SESSIONS=500 SESSIONS_FROM=1000 pytest tests/client/test_simulated.py`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie import Project
from pytest_taskie._hook_entries import HookEntry
from pytest_taskie._hooks_running import Place
from pytest_taskie._results import HookResult
from pytest_taskie._running import entrance_of
from pytest_taskie.client import ClaudeClient, Run, repeat, tool
from pytest_taskie.simulated._client import SimulatedClient, Stage
from pytest_taskie.simulated._refusing import NotMeasuredHere

from .random_sessions import Making, Scenario
from .tracing import differences, trace

pytestmark = pytest.mark.client
COUNT = int(os.environ.get("SESSIONS", "6"))
FIRST = int(os.environ.get("SESSIONS_FROM", "0"))
# The words are those of this one.
MEASURED = (2, 1, 326)
Both = Callable[[Scenario], "list[str] | None"]


@pytest.fixture
def twin(tmp_path: Path, _taskie_path: str) -> Iterator[Callable[..., SimulatedClient]]:
    """Make a simulated client in a project of its own."""
    stages: list[Stage] = []

    def make(**options: Any) -> SimulatedClient:
        stage = Stage(Project(tmp_path / f"twin{len(stages)}", _taskie_path), entrance_of(None))
        stages.append(stage)
        kind: type[SimulatedClient] = type("SimulatedClient", (SimulatedClient,), {"_stage": stage})
        return kind(**options)

    yield make
    assert [complaint for stage in stages for made in stage.clients for complaint in made.complaints()] == []


@pytest.fixture
def both(
    claude_client: type[ClaudeClient],
    project: Project,
    twin: Callable[..., SimulatedClient],
    tmp_path: Path,
    version: tuple[int, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> Both:
    """Run a scenario in both, and say where they differ; None if the simulation refuses it, or if it goes otherwise
    where the hooks of one event end in the other order."""

    def compare(scenario: Scenario) -> list[str] | None:
        options: dict[str, Any] = {"settings": {"hooks": scenario.settings}}
        if scenario.plugin:
            root = tmp_path / "plug"
            (root / ".claude-plugin").mkdir(parents=True)
            (root / "hooks").mkdir()
            (root / ".claude-plugin" / "plugin.json").write_text('{"name": "plug"}')
            (root / "hooks" / "hooks.json").write_text(json.dumps({"hooks": scenario.plugin}))
            options["plugin"] = root
        simulated = twin(**options)
        backwards = twin(**options)
        try:
            with monkeypatch.context() as patch:
                patch.setattr(Place, "run", _forwards)
                first = _run(simulated, scenario)
                patch.setattr(Place, "run", _backwards)
                turned = _run(backwards, scenario)
        except NotMeasuredHere as why:
            print(why)
            return None
        older = version < MEASURED
        known = trace(first, simulated.project.path, older=older)
        if differences(known, trace(turned, backwards.project.path, older=older)):
            print("which of several hooks ends first decides, in the client too")
            return None
        real = claude_client(**options)
        second = _run(real, scenario)
        for client in (simulated, backwards, real):
            # What is left over of the script is the same in both, or else the traces differ.
            client._script.agents.clear()
        return differences(known, trace(second, project.path, older=older))

    return compare


def _forwards(place: Place, entries: Sequence[HookEntry], event: Any, where: str) -> list[tuple[int, HookResult]]:
    """Run the hooks of an event one after the other."""
    return [(at, place._run(entry, event, where, at)) for at, entry in enumerate(entries)]


def _backwards(place: Place, entries: Sequence[HookEntry], event: Any, where: str) -> list[tuple[int, HookResult]]:
    """The same, the last one first."""
    return [(at, place._run(entries[at], event, where, at)) for at in reversed(range(len(entries)))]


def _run(client: Any, scenario: Scenario) -> Run:
    scenario.arrange(client.project.path)
    client.agent(*scenario.turns)
    run: Run = client.prompt("go on")
    return run


@pytest.mark.parametrize("seed", range(FIRST, FIRST + COUNT))
def test_a_random_session(both: Both, seed: int, version: tuple[int, ...]) -> None:
    found = both(Making(seed, edits=version >= MEASURED).scenario())
    if found is None:
        print("REFUSED")
        return
    assert not found, "\n".join(found)


CALLS = [
    tool("Bash", command="echo hi", description="d"),
    ["Some words.", tool("Bash", command="echo out; echo err >&2; exit 3", description="d")],
    tool("Write", file_path="new.txt", content="a\n"),
    tool("Write", file_path="a.txt", content="b"),
    tool("Read", file_path="a.txt"),
    tool("Edit", file_path="a.txt", old_string="b", new_string="c"),
    tool("Edit", file_path="a.txt", old_string="nope", new_string="2"),
    tool("Edit", file_path="b.txt", old_string="one", new_string="1", replace_all=True),
    tool("Edit", file_path="b.txt", old_string="1", new_string="x"),
    tool("Edit", file_path="nowhere", old_string="a", new_string="b"),
    tool("Edit", file_path="made.txt", old_string="", new_string="b"),
    tool("Edit", file_path="b.txt", old_string="x", new_string="x"),
    [tool("Write", file_path="w1", content="1"), tool("Write", file_path="w2", content="2\n")],
    tool("Read", file_path="sub"),
    tool("Read", file_path="nothing"),
    tool("Read", file_path="empty"),
    tool("Read", file_path="b.txt", offset=2, limit=1),
    tool("Glob", pattern="*.nope"),
    tool("Glob", pattern="**/*.py"),
    tool("Grep", pattern="import"),
    tool("Grep", pattern="nothing like it"),
    tool("Grep", pattern="import", output_mode="content"),
    tool("Bash", command="cd sub && ls", description="d"),
    tool("Bash", command="pwd; ls nothing", description="d"),
    tool("Glob", pattern="*.py"),
    tool("Bash", command="cd ..", description="d"),
    tool("Bash", command="cd /", description="d"),
    tool("Bash", command="printf 'a\\n\\nb\\n\\n'", description="d"),
    tool("Bash", command="mkdir zz && touch yy", description="d"),
    tool("Bash", command="nosuchcommand", description="d"),
    tool("Bash", command="sleep 5", timeout=300, description="d"),
    tool("Bash", command="grep q b.txt", description="d"),
    tool("Bash", command="kill -9 $$", description="d"),
    tool("Bash", cmd="x"),
    tool("Read"),
    "Done.",
]
EVERYWHERE = (
    *("SessionStart", "UserPromptSubmit", "MessageDisplay", "PreToolUse", "PostToolUse", "PostToolUseFailure"),
    *("PostToolBatch", "CwdChanged", "Stop", "SessionEnd"),
)


def test_every_tool(both: Both, version: tuple[int, ...]) -> None:
    """Each answer, and each event with all its fields."""
    if version < MEASURED:
        pytest.skip("tools answer as in the newest client that was measured")
    hooks = {event: [{"hooks": [{"type": "command", "command": f": {event}"}]}] for event in EVERYWHERE}
    files = {"a.txt": "one\ntwo\n", "b.txt": "one\ntwo\none\n", "sub/c.py": "import os\n", "empty": ""}
    found = both(Scenario(hooks, {}, files, CALLS))
    assert found == [], "\n".join(found or ["refused"])


def test_the_cap(both: Both) -> None:
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": "echo again >&2; exit 2"}]}]}
    call = tool("Bash", command="true", description="d")
    assert both(Scenario(hooks, {}, {}, ["Done.", "Done.", call, repeat("Done.")])) == []
