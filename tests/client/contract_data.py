"""The contract data as `taskie client check` makes them: from what was recorded, and from the client's program.

Knows the files and how two of them are compared; runs nothing. Sections that it does not measure stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pytest_taskie import _contract
from pytest_taskie.client._installation import Installation, version_numbers

from . import program_text
from .recorder import events_section, tools_section

FORMAT = 1
HELD = "tests/client/test_every_event.py"
# What is a matter of the run, not of the contract: it is written, but another is no drift.
LOOSE = ("example", "input", "response")
Json = dict[str, Any]


def measured(client: Installation, recorded: Iterable[tuple[str, Json]], rows: Mapping[str, str]) -> Json:
    """The sections that this run of the suite gives."""
    program = program_text.read(Path(client.command[-1]))
    payloads = list(recorded)
    sections: Json = {"program": program}
    if payloads:
        sections["events"] = events_section(payloads, program, HELD)
        sections["tools"] = tools_section(payloads, program)
    if rows:
        sections["rows"] = dict(sorted(rows.items()))
    return sections


def stored(version: str) -> Json:
    """What the data say of a version; nothing for one that is older than all of them."""
    _contract.forget()
    try:
        return _contract.load("claude", version)
    except _contract.ContractError:
        return {}


def drift(data: Json, sections: Mapping[str, Any]) -> list[str]:
    """Line by line, how what was measured differs from what is stored. What is not stored yet cannot differ."""
    if not data.get("events"):
        return []
    both = [name for name in sections if name in data]
    lines = program_text.differences(_strict({n: data[n] for n in both}), _strict({n: sections[n] for n in both}))
    unknown = [name for name in sections["program"]["events"] if name not in data["events"]]
    return [*(f"the data know no event {name}" for name in unknown), *lines]


def write(version: str, sections: Mapping[str, Any]) -> Path:
    """Put the sections into the file of this version; a file for it alone if they differ from those of older ones."""
    data = stored(version)
    same = data.get("from") == version or (bool(data.get("events")) and not drift(data, sections))
    begins = str(data["from"]) if same else version
    was = data if same else {**data, "measured": []}
    head: Json = {"format": FORMAT, "client": "claude", "from": begins}
    head["measured"] = sorted({*was.get("measured", ()), version}, key=version_numbers)
    return _put({**head, **was, **head, "outputs": was.get("outputs", {}), **sections})


def name(version: str) -> Path:
    """Say in the data of this version that they were measured in it, and nothing else."""
    data = stored(version)
    return _put({**data, "measured": sorted({*data["measured"], version}, key=version_numbers)})


def _put(data: Json) -> Path:
    path: Path = _contract.FOLDER / f"claude-{data['from']}.json"
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    _contract.forget()
    return path


def _strict(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items() if key not in LOOSE}
    return value
