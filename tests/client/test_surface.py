"""What a client's own program says of its hooks is what the data say of its version: read in each, run in none."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie import _contract
from pytest_taskie.client._fixtures import installation

from . import contract_data, program_text

pytestmark = pytest.mark.client
# The first in which they are.
WITH_MODEL_SWITCH = (2, 1, 251)

Observe = Callable[[str, object], None]


@pytest.fixture(scope="module")
def found(pytestconfig: pytest.Config) -> Any:
    """What the program under test says."""
    return program_text.surface(Path(installation("claude", pytestconfig).command[-1]))


def test_the_data_name_what_the_program_names(found: Any, pytestconfig: pytest.Config, observe: Observe) -> None:
    """Its events, the kinds of hooks with their fields, the fields of an answer: all of them, and no others."""
    data = _contract.load("claude", installation("claude", pytestconfig).version)
    assert differs(data, found) == []
    observe("events of its hooks", ", ".join(found["events"]))
    observe("kinds of hooks", ", ".join(found["handlers"]))
    for kind, fields in found["handlers"].items():
        observe(f"fields of a hook's entry, {kind}", ", ".join(fields))
    observe("fields of an answer", ", ".join(sorted(found["answer"])))
    for event, fields in found["outputs"].items():
        observe(f"fields of hookSpecificOutput, {event}", ", ".join(fields))


def test_a_client_newer_than_its_data_differs_from_them(found: Any, version: tuple[int, ...]) -> None:
    """The real client of today, and the real data of a client of a year ago."""
    if version < WITH_MODEL_SWITCH:
        pytest.skip("this client has not got the events that the data do not know")
    lines = differs(_contract.load("claude", "2.1.197"), found)
    assert {"new: events: PreModelSwitch", "new: events: PostModelSwitch", "new: events: DirectoryAdded"} <= {*lines}
    assert "new: fields.PostToolUse: hookSpecificOutput.classifierContext" in lines
    # What a program names for the first time the data have to learn; what it does not name any more goes.
    assert [line for line in lines if not line.startswith("new: ")] == []


def differs(data: Any, found: Any) -> list[str]:
    return program_text.differences(said(data), said(contract_data.with_surface(data, found)))


def said(data: Any) -> Any:
    """What of the data a program can say."""
    fields = {event: list(output["fields"]) for event, output in data["outputs"].items()}
    entries = {kind: row["fields"] for kind, row in data["handlers"].items() if "fields" in row}
    return {"events": data["program"]["events"], "fields": fields, "entries": entries}
