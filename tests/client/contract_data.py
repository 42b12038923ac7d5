"""The contract data as `taskie client check` makes them: from what was recorded, and from the client's program.

Knows the files and how two of them are compared; runs nothing. Sections that it does not measure stay as they are.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
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
# A section, a row of it, what was measured of it, and the test that did.
Fact = tuple[str, str, Json, str]
# An event, a kind of output or a field of one, what became of it, and the test that has seen it.
Effect = tuple[str, str, str, str]
BASIC = ("type", "effect", "known", "held")


def measured(
    client: Installation,
    recorded: Iterable[tuple[str, Json]],
    rows: Mapping[str, str],
    effects: Sequence[Effect] = (),
    facts: Sequence[Fact] = (),
    data: Mapping[str, Any] | None = None,
) -> Json:
    """The sections that this run of the suite gives; `data` is what is stored."""
    program = program_text.read(Path(client.command[-1]))
    payloads = list(recorded)
    sections: Json = {"program": program}
    if payloads:
        sections["events"] = events_section(payloads, program, HELD)
        sections["tools"] = tools_section(payloads, program)
    if rows:
        sections["rows"] = dict(sorted(rows.items()))
    if effects:
        sections["outputs"] = outputs_section((data or {}).get("outputs", {}), effects)
    return {**sections, **facts_sections(data or {}, facts)}


def facts_sections(data: Mapping[str, Any], facts: Sequence[Fact]) -> Json:
    """Other sections, with what was measured in their rows; what nobody measures stays beside it."""
    sections: Json = {}
    for name, row, found, held in facts:
        section = sections.setdefault(name, {**data.get(name, {})})
        section[row] = {**section.get(row, {}), **found, "known": "observed", "held": held}
    return sections


def outputs_section(stored: Mapping[str, Any], effects: Sequence[Effect]) -> Json:
    """What is stored of outputs, with the effects that were observed in place of those that the same tests hold."""
    tests = {held for *_, held in effects}
    section: Json = {}
    for event, output in stored.items():
        section[event] = {part: _others(part, rows, tests) for part, rows in output.items()}
    for event, name, effect, held in effects:
        part = "fields" if name.startswith(f"{_contract.SPECIFIC}.") else "kinds"
        was = stored.get(event, {}).get(part, {}).get(name, {})
        # The words beside a kind's effect are of that effect alone.
        same = part == "fields" or was.get("effect") == effect
        more = {key: value for key, value in was.items() if key not in BASIC and same}
        kept = section.setdefault(event, {"kinds": {}, "fields": {}})[part]
        typed = {key: was[key] for key in ("type",) if key in was}
        kept[name] = {**typed, "effect": effect, "known": "observed", "held": held, **more}
    return section


def _others(part: str, rows: Any, tests: Collection[str]) -> Any:
    """The rows that none of these tests holds; what a field is called and its type are not theirs to say."""
    if part == "fields":
        return {name: _unseen(row) if row.get("held") in tests else row for name, row in rows.items()}
    return {name: row for name, row in rows.items() if row.get("held") not in tests} if part == "kinds" else rows


def _unseen(row: Mapping[str, Any]) -> Json:
    return {**{key: value for key, value in row.items() if key not in ("effect", "held")}, "known": "schema"}


def stored(version: str) -> Json:
    """What the data say of a version; nothing for one that is older than all of them."""
    _contract.forget()
    try:
        wanted = _contract.numbers(version) or ()
    except _contract.ContractError:
        return {}  # a program that was given by its path
    older = not any(_contract.not_newer(one.first, wanted) for one in _contract.every("claude"))
    return {} if older else _contract.load("claude", version)


def drift(data: Json, sections: Mapping[str, Any]) -> list[str]:
    """Line by line, how what was measured differs from what is stored. What is not stored yet cannot differ."""
    if not data.get("events"):
        return []
    both = [name for name in sections if name in data]
    lines = program_text.differences(_strict({n: data[n] for n in both}), _strict({n: sections[n] for n in both}))
    unknown = [name for name in sections["program"]["events"] if name not in data["events"]]
    return [*(f"the data know no event {name}" for name in unknown), *lines]


def other_drift(kind: str, version: str, effects: Sequence[Effect], facts: Sequence[Fact]) -> list[str]:
    """The same for another client than Claude Code, of which only what tests have seen is stored."""
    data = _contract.load(kind, version)
    found = _other_sections(data, effects, facts)
    return program_text.differences(_strict({name: data.get(name, {}) for name in found}), _strict(found))


def write_other(kind: str, version: str, effects: Sequence[Effect], facts: Sequence[Fact]) -> Path:
    """Put what was seen into the data of another client; its words beside an effect stay with that effect."""
    data = _contract.load(kind, version)
    return _put({**data, **_other_sections(data, effects, facts)})


def _other_sections(data: Json, effects: Sequence[Effect], facts: Sequence[Fact]) -> Json:
    outputs = {"outputs": outputs_section(data["outputs"], effects)} if effects else {}
    return {**outputs, **facts_sections(data, facts)}


def write(version: str, sections: Mapping[str, Any]) -> Path:
    """Put the sections into the file of this version; a file for it alone if they differ from those of older ones."""
    data = stored(version)
    same = data.get("from") == version or (bool(data.get("events")) and not drift(data, sections))
    begins = str(data["from"]) if same else version
    was = data if same else {**data, "measured": []}
    head: Json = {"format": FORMAT, "client": "claude", "from": begins}
    head["measured"] = sorted({*was.get("measured", ()), version}, key=version_numbers)
    now = {**head, **was, **head, "outputs": was.get("outputs", {}), **sections}
    return _put(with_surface(now, sections["program"]))


def name(client: Installation) -> Path:
    """Say in the data of this version that they were measured in it, and what the newest such client knows."""
    version = str(client.version)
    data = stored(version)
    versions = sorted({*data["measured"], version}, key=version_numbers)
    if versions[-1] == version:
        data = with_surface(data, program_text.surface(Path(client.command[-1])))
    return _put({**data, "measured": versions})


def with_surface(data: Mapping[str, Any], found: Mapping[str, Any]) -> Json:
    """The data, with the events, kinds of hooks and fields that a client's program names, and no others."""
    stored = data.get("handlers", {})
    # What is in no schema, as modules are not, has no fields.
    handlers = {kind: row for kind, row in stored.items() if kind in found["handlers"] or "fields" not in row}
    for kind, fields in found["handlers"].items():
        handlers[kind] = {**handlers.get(kind, {"known": "schema"}), "fields": fields}
    switches = {name for fields in found["handlers"].values() for name in fields}
    return {
        **data,
        "handlers": handlers,
        "switches": {name: row for name, row in data.get("switches", {}).items() if name in switches},
        "outputs": _named(data.get("outputs", {}), found),
        "program": {**data.get("program", {}), "events": found["events"]},
    }


def _named(outputs: Mapping[str, Any], found: Mapping[str, Any]) -> Json:
    """Of these outputs those of the client's events, each with the fields that it has there."""
    shared = outputs.get(_contract.EVERY_EVENT)
    named: Json = {_contract.EVERY_EVENT: {**shared, "fields": _known(shared, found["answer"], "")}} if shared else {}
    for event in sorted(found["events"], key=[*outputs, *found["events"]].index):
        own = outputs.get(event, {"kinds": {}, "fields": {}})
        fields = _known(own, found["outputs"].get(event, {}), f"{_contract.SPECIFIC}.")
        named[event] = {**own, "fields": fields}
    return named


def _known(output: Mapping[str, Any], fields: Mapping[str, Any], start: str) -> Json:
    """The rows of these fields, and of what is inside them; one more for each that has none."""
    kept = {name: row for name, row in output["fields"].items() if name[len(start) :].partition(".")[0] in fields}
    for name, field in fields.items():
        kinds = [kind for kind in field["types"] if kind != "unknown"]
        kept.setdefault(f"{start}{name}", {"type": kinds[0] if len(kinds) == 1 else "any", "known": "schema"})
    return kept


def _put(data: Json) -> Path:
    path: Path = _contract.FOLDER / f"{data['client']}-{data['from']}.json"
    path.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    _contract.forget()
    return path


def _strict(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items() if key not in LOOSE}
    return value
