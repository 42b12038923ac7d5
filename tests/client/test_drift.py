"""The alarm: what is measured or read in a client's program, and is not what the contract data say."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie import _contract
from pytest_taskie.client._fixtures import installation
from pytest_taskie.client._installation import ClientError, Installation

from . import check, contract_data, program_text
from .recorder import events_section, situation, stable

Json = dict[str, Any]
PROGRAM = """\
var a=["PreToolUse","PostToolUse"];x=["PreToolUse","Stop","SessionEnd","New"],base=m(()=>u({session_id:o(),\
transcript_path:o(),effort:u({level:o().describe("a } in a text")}).optional()})),
p=m(()=>j().and(u({hook_event_name:T("Stop"),stop_hook_active:O(),note:o().nullable(),other:elsewhere().optional()}))),
q=m(()=>j().and(u({hook_event_name:T("New")})).and(more(["a"])));function more(e){return u({trigger:B(e)})}
r=u({continue:O().optional(),suppressOutput:O().optional(),decision:B(["a"])}),
s=u({hookEventName:T("Stop"),additionalContext:o().optional()}),
h=u({type:T("command").describe("Shell command hook type"),command:o(),if:R()}),i=u({type:T("http"),url:o()}),
t=["Agent","Bash"],_t={Task:"Agent",KillShell:"TaskStop"};
"""
FOUND = {
    "events": ["PreToolUse", "Stop", "SessionEnd", "New"],
    "handlers": {"command": ["type", "command", "if"]},
    "common": {
        "session_id": {"types": ["string"], "optional": False},
        "transcript_path": {"types": ["string"], "optional": False},
        "effort": {"types": ["object"], "optional": True},
    },
    "inputs": {
        "New": {"trigger": {"types": ["string"], "optional": False}},
        "Stop": {
            "stop_hook_active": {"types": ["boolean"], "optional": False},
            "note": {"types": ["string", "null"], "optional": False},
            "other": {"types": [], "optional": True},
        },
    },
    "answer": {
        "continue": {"types": ["boolean"], "optional": True},
        "suppressOutput": {"types": ["boolean"], "optional": True},
        "decision": {"types": ["string"], "optional": False},
    },
    "outputs": {"Stop": {"additionalContext": {"types": ["string"], "optional": True}}},
    "tools": ["Agent", "Bash"],
    "renamed": {"Task": "Agent", "KillShell": "TaskStop"},
}


def program(folder: Path, text: str = PROGRAM, name: str = "claude") -> Path:
    path = folder / name
    path.write_bytes(b"\x7fELF\0\xff" + text.encode() + b"\0\xff")
    return path


def test_what_a_program_says_of_its_hooks(tmp_path: Path) -> None:
    assert program_text.read(program(tmp_path)) == FOUND


def test_a_program_that_says_nothing(tmp_path: Path) -> None:
    with pytest.raises(ClientError, match="does not hold the list of events"):
        program_text.read(program(tmp_path, "nothing"))


def test_an_object_without_an_end(tmp_path: Path) -> None:
    with pytest.raises(ClientError, match="has no end"):
        program_text.read(program(tmp_path, PROGRAM[: PROGRAM.index("note:")]))


def test_a_new_event_a_lost_field_another_effect() -> None:
    stored: Json = {
        "events": {"Stop": {"fields": {"note": {"types": ["string"]}}}},
        "rows": {"Stop: exit 2": "blocked"},
    }
    found: Json = {"events": {"Stop": {"fields": {}}, "New": {}}, "rows": {"Stop: exit 2": "allowed"}}
    assert program_text.differences(stored, found) == [
        "lost: events.Stop.fields.note",
        "new: events.New",
        "differs: rows.Stop: exit 2: 'blocked' is now 'allowed'",
    ]
    assert program_text.differences({"a": ["x", "y"]}, {"a": ["y", "z"]}) == ["lost: a: x", "new: a: z"]
    assert program_text.differences(stored, stored) == []


def test_what_is_not_stored_yet_cannot_differ(tmp_path: Path) -> None:
    client = Installation("claude", "2.1.5", (str(program(tmp_path)),))
    sections = contract_data.measured(client, recorded(), {"a row": "allowed"})
    stored = {name: sections[name] for name in ("events", "program")}
    assert contract_data.drift(stored, sections) == []
    assert contract_data.drift({**stored, "rows": {"a row": "blocked"}}, sections) == [
        "differs: rows.a row: 'blocked' is now 'allowed'"
    ]
    assert contract_data.drift({**sections, "events": {}}, sections) == []


HELD = "tests/client/test_x.py::test_outputs[Stop]"
OUTPUTS: Json = {
    "Stop": {
        "kinds": {
            "block": {"effect": "blocked", "known": "observed", "held": HELD, "reason": "{stderr}"},
            "text": {"effect": "allowed", "known": "observed", "held": HELD},
            "defer": {"effect": "deferred", "known": "observed", "held": "tests/client/test_y.py::test_it"},
            "allow": {"effect": "granted", "known": "reported"},
        },
        "fields": {"hookSpecificOutput.retry": {"type": "boolean", "known": "schema"}},
    }
}


def test_an_effect_that_was_observed_is_stored_with_the_test_that_holds_it() -> None:
    effects = [
        ("Stop", "block", "ignored", HELD),
        ("Stop", "exit-2", "blocked", HELD),
        ("Stop", "hookSpecificOutput.retry", "used", HELD),
        ("New", "text", "context", HELD),
    ]
    section = contract_data.outputs_section(OUTPUTS, effects)
    kinds = section["Stop"]["kinds"]
    now = {"effect": "ignored", "known": "observed", "held": HELD}
    assert kinds["block"] == now, "its words were of the old effect"
    assert kinds["exit-2"] == {"effect": "blocked", "known": "observed", "held": HELD}
    assert "text" not in kinds, "the test that held it does not see it any more"
    assert [kinds[name] for name in ("defer", "allow")] == [OUTPUTS["Stop"]["kinds"][n] for n in ("defer", "allow")]
    assert section["Stop"]["fields"] == {
        "hookSpecificOutput.retry": {"type": "boolean", "effect": "used", "known": "observed", "held": HELD}
    }
    assert section["New"]["kinds"]["text"]["effect"] == "context"
    same = [("Stop", "block", "blocked", HELD), ("Stop", "text", "allowed", HELD)]
    assert contract_data.outputs_section(OUTPUTS, same) == OUTPUTS


def test_another_effect_raises_the_alarm(
    tmp_path: Path, data: Callable[[Json], None], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the suite's report to the exit code: a client that makes something else of an output than the data say."""
    client = Installation("claude", "2.1.5", (str(program(tmp_path)),))
    sections = contract_data.measured(client, recorded(), {})
    data({**sections, "outputs": OUTPUTS})
    monkeypatch.setattr(check, "SUITE", tmp_path / "tests" / "client")
    monkeypatch.setattr(check, "CONTRACT", ("rows",))
    monkeypatch.setattr(check, "find", lambda wanted: client)
    check.SUITE.mkdir(parents=True)
    test = (
        "import json, pytest\n@pytest.mark.client\ndef test_it(record_property):\n"
        '    for kind, effect in (("block", "EFFECT"), ("text", "allowed")):\n'
        f'        record_property("effect", json.dumps(["Stop", kind, effect, "{HELD}"]))\n'
    )
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_taskie")
    # The second test has the size of the first and may be of the same second: its bytecode would be the first one's.
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    (check.SUITE / "test_rows.py").write_text(test.replace("EFFECT", "blocked"))
    assert check.main(["2.1.5", "--jobs", "1"]) == 0, capsys.readouterr()
    (check.SUITE / "test_rows.py").write_text(test.replace("EFFECT", "allowed"))
    assert check.main(["2.1.5", "--jobs", "1"]) == 1
    assert "differs: outputs.Stop.kinds.block.effect: 'blocked' is now 'allowed'" in capsys.readouterr().out
    assert check.main(["2.1.5", "--jobs", "1", "--write"]) == 0
    assert contract_data.stored("2.1.5")["outputs"]["Stop"]["kinds"]["block"]["effect"] == "allowed"
    assert check.main(["2.1.5", "--jobs", "1"]) == 0


def recorded(**more: object) -> list[tuple[str, Json]]:
    first = {"session_id": "1", "transcript_path": "/t", "hook_event_name": "Stop", "stop_hook_active": False}
    return [("interactive", {**first, "note": None}), ("main", {**first, **more})]


def test_the_data_of_what_was_recorded() -> None:
    section = events_section(recorded(), FOUND, "a test")
    assert list(section) == FOUND["events"]
    stop = section["Stop"]
    assert list(stop["situations"]) == ["main", "interactive"], "the plainest one first"
    assert stop["fields"]["stop_hook_active"] == {
        "types": ["boolean"],
        "always": True,
        "example": False,
        "known": "observed",
    }
    assert stop["fields"]["note"] == {
        "types": ["null", "string"],
        "always": False,
        "example": None,
        "known": "observed",
    }
    assert stop["fields"]["effort"] == {"types": ["object"], "always": False, "known": "schema"}
    assert "held" not in section["New"], "nobody has provoked it"


@pytest.mark.parametrize(
    ("payload", "says"),
    [
        ({"hook_event_name": "Stop"}, "main"),
        ({"hook_event_name": "Stop", "agent_type": "x"}, "agent"),
        ({"hook_event_name": "PreToolUse", "agent_type": "x", "agent_id": "1"}, "subagent"),
        ({"hook_event_name": "PreToolUse", "tool_name": "mcp__a__b"}, "mcp"),
        ({"hook_event_name": "SubagentStop", "agent_type": "x", "agent_id": "1"}, "main"),
        ({"hook_event_name": "SessionStart", "source": "startup"}, "main"),
        ({"hook_event_name": "SessionStart", "source": "resume"}, "resume"),
    ],
)
def test_situations(payload: Json, says: str) -> None:
    assert situation(payload, "main") == says


def test_what_is_another_in_every_run_is_replaced() -> None:
    payload = {"id": "5a18fda6-f4e2-4feb-a1e5-15059d4b78b5", "path": "/tmp/x/a.txt", "duration_ms": 47, "index": 3}
    assert stable(payload, {"/tmp/x": "/project"}) == {
        "id": "00000000-0000-4000-8000-000000000000",
        "path": "/project/a.txt",
        "duration_ms": 1,
        "index": 3,
    }


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[Json], None]]:
    """Contract data of our own, for every version from 2.1.0 on."""
    (tmp_path / "contract").mkdir()
    monkeypatch.setattr(_contract, "FOLDER", tmp_path / "contract")

    def put(value: Json) -> None:
        head = {"format": 1, "client": "claude", "from": "2.1.0", "measured": ["2.1.0"], "outputs": {}}
        (tmp_path / "contract" / "claude-2.1.0.json").write_text(json.dumps({**head, **value}))
        _contract.forget()

    yield put
    _contract.forget()


def test_data_are_written_for_a_version_that_differs_and_only_then(
    tmp_path: Path, data: Callable[[Json], None]
) -> None:
    client = Installation("claude", "2.1.5", (str(program(tmp_path)),))
    sections = contract_data.measured(client, recorded(), {"a row": "allowed"})
    data({**sections, "handlers": {"modules": {"effect": "run"}}})
    assert contract_data.write("2.1.5", sections).name == "claude-2.1.0.json"
    assert contract_data.stored("2.1.5")["measured"] == ["2.1.0", "2.1.5"]
    changed = contract_data.measured(client, recorded(another=1), {"a row": "blocked"})
    assert contract_data.write("2.1.6", changed).name == "claude-2.1.6.json"
    assert contract_data.stored("2.1.5")["rows"] == {"a row": "allowed"}
    newer = contract_data.stored("2.1.7")
    assert (newer["from"], newer["measured"], newer["rows"]) == ("2.1.6", ["2.1.6"], {"a row": "blocked"})
    assert newer["handlers"] == {
        "modules": {"effect": "run"},
        "command": {"known": "schema", "fields": ["type", "command", "if"]},
    }, "what is not measured here stays"
    assert contract_data.stored("1.0.0") == {}


@pytest.mark.parametrize("passes", [True, False])
def test_a_client_whose_events_are_not_in_the_data_is_named(
    passes: bool, tmp_path: Path, data: Callable[[Json], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With what its program names, and no more; and only if it does as the suite expects."""
    client = Installation("claude", "2.1.5", (str(program(tmp_path)),))
    report = check.Report("2.1.5", 1, () if passes else ("a row",), 0, {"a row": "allowed"})
    monkeypatch.setattr(check, "find", lambda wanted: client)
    monkeypatch.setattr(check, "_report", lambda *arguments: report)
    gone = {"kinds": {"text": {"effect": "allowed"}}, "fields": {}}
    data({"events": {}, "outputs": {"Stop": OUTPUTS["Stop"], "Gone": gone}})
    before = contract_data.stored("2.1.5")
    assert check.main(["2.1.5", "--write"]) == (0 if passes else 1)
    after = contract_data.stored("2.1.5")
    if not passes:
        assert after == before
        return
    assert after["measured"] == ["2.1.0", "2.1.5"]
    assert after["program"] == {"events": FOUND["events"]}
    assert after["handlers"] == {"command": {"known": "schema", "fields": ["type", "command", "if"]}}
    assert list(after["outputs"]) == ["Stop", "PreToolUse", "SessionEnd", "New"]
    assert after["outputs"]["Stop"]["kinds"] == OUTPUTS["Stop"]["kinds"]
    fields = after["outputs"]["Stop"]["fields"]
    assert fields == {"hookSpecificOutput.additionalContext": {"type": "string", "known": "schema"}}
    assert check.main(["2.1.4", "--write"]) == 0, "the newest of the range says what the range knows"


@pytest.fixture(scope="session")
def chosen(pytestconfig: pytest.Config) -> Installation:
    """The client under test; asked for before a test has data of its own, which may not know it."""
    return installation("claude", pytestconfig)


@pytest.mark.client
def test_a_client_that_is_newer_than_the_data_raises_the_alarm(
    tmp_path: Path,
    data: Callable[[Json], None],
    monkeypatch: pytest.MonkeyPatch,
    chosen: Installation,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The real client, checked with data of the time before it had an event; no test provokes the event."""
    client = chosen
    if client.version is None or client.numbers < (2, 1, 326):
        pytest.skip("there are no data on the events of a client that old")
    whole = copy.deepcopy({k: v for k, v in json.loads(WHOLE).items() if k in ("events", "program", "tools")})
    monkeypatch.setattr(check, "SUITE", tmp_path / "repo" / "tests" / "client")
    monkeypatch.setattr(check, "CONTRACT", ("rows",))
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_taskie")
    check.SUITE.mkdir(parents=True)
    (check.SUITE / "test_rows.py").write_text("import pytest\n@pytest.mark.client\ndef test_it(): pass\n")
    data(whole)
    assert check.main([client.version, "--jobs", "1"]) == 0, capsys.readouterr()
    del whole["events"]["DirectoryAdded"]
    whole["program"]["events"].remove("DirectoryAdded")
    del whole["program"]["inputs"]["DirectoryAdded"]
    data(whole)
    assert check.main([client.version, "--jobs", "1"]) == 1
    said = capsys.readouterr().out
    assert f"claude {client.version}: the data know no event DirectoryAdded" in said
    assert "new: program.inputs.DirectoryAdded" in said


WHOLE = (_contract.FOLDER / "claude-2.1.326.json").read_text(encoding="utf-8")
