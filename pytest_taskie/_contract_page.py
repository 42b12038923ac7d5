"""The contract data for people: one event as text, or all of it as one page with a search. Knows no client.

What a version before does otherwise is told beside each row: that is what authors of hooks ask for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

from pytest_taskie import _contract
from pytest_taskie.client._kinds import CLIENTS

Json = Mapping[str, Any]
ASSETS = Path(__file__).parent / "contract"
SHARED = ("session_id", "transcript_path", "cwd", "hook_event_name")
LONGEST = 100
# What the parts of a row's name mean.
OUTPUT = {
    "nothing": "nothing on stdout, exit 0",
    "object": "an object",
    "nothing+object": "an object that decides nothing",
    "text": "plain text on stdout",
    "flood": "10 MB of text on stdout",
    "context": "additionalContext",
    "approve": '"decision": "approve"',
    "block": '"decision": "block"',
    "allow": '"permissionDecision" or "behavior": "allow"',
    "deny": '"permissionDecision", "behavior" or "decision": "deny"',
    "ask": '"permissionDecision": "ask"',
    "defer": '"permissionDecision": "defer"',
    "accept": '"action": "accept"',
    "decline": '"action": "decline"',
    "cancel": '"action": "cancel"',
    "interrupt": '"interrupt": true',
    "continue-false": '"continue": false',
    "above-2": "greater than 2",
    "permission": "inside hookSpecificOutput",
    "exit-1": "an exit code other than 0 and 2",
    "exit-2": "exit 2",
    "silent": "nothing on stderr",
    "missing": "the words of a missing script on stderr",
    "no-reason": "no reason",
    "refused": "an object that does not fit the client's schema",
    "other-event": "hookSpecificOutput of another event",
    "async": '"async": true',
    "timeout": "no end in time",
    "plugin": "the hook is a plugin's",
}
EFFECT = {
    "allowed": "goes its way",
    "granted": "the person is not asked any more",
    "asked": "the person is asked",
    "blocked": "does not happen, or the model is told the reason and goes on",
    "continued": "the turn goes on, without an error notice",
    "stopped": "the turn ends by the hook's wish",
    "ended": "the turn ends, and the model is told nothing",
    "ignored": "makes no difference",
    "refused": "the output is lost",
    "deferred": "put off, and the run ends",
    "context": "reaches the model",
}
KNOWN = {"observed": "held by a test in the real client", "schema": "read in the client's program, not tried"}
# Sections that are about no one event, and their titles.
OTHERS = {
    "handlers": "Kinds of hooks",
    "switches": "Switches of an entry",
    "environment": "Variables",
    "exits": "Exit codes",
    "limits": "Limits",
    "signals": "Signals",
    "tools": "Tools",
    "parameters": "Parameters of tools",
    "answers": "Answers of other tools",
}


def events(client: str = "claude") -> list[str]:
    """The names of the newest client's events."""
    data = _contract.load(client)
    return [*data.get("events", {}), *(n for n in data["outputs"] if n not in data.get("events", {}) and n != "*")]


def text(event: str, client: str = "claude") -> str:
    """One event, for a terminal."""
    names = events(client)
    found = next((name for name in names if name.lower() == event.lower()), None)
    if found is None:
        meant = _contract.nearest(event, names, 0.5)
        hint = f"; is {meant} meant?" if meant else ""
        raise _contract.ContractError(f"{client} has no event {event!r}{hint}\nIt has: {', '.join(names)}")
    data = _contract.load(client)
    lines = [f"{found} in {client} {', '.join(data['measured'])}", "", "a hook is told"]
    lines += _columns(_told(data, found)) or ["  (not measured)"]
    lines += ["", "what becomes of its answer"]
    lines += _columns([(output, effect, older) for output, effect, _, older in _answers(client, found)])
    lines += _columns(_fields(data, found))
    return "\n".join(line.rstrip() for line in lines) + "\n"


def html(client: str = "claude") -> str:
    """All of it as one page that needs nothing else."""
    data = _contract.load(client)
    cards = "".join(_event_card(client, data, name) for name in events(client))
    cards += "".join(_other_card(title, data.get(name, {})) for name, title in OTHERS.items() if data.get(name))
    effects = "".join(f"<dt>{name}</dt><dd>{escape(words)}</dd>" for name, words in EFFECT.items())
    title = f"What {CLIENTS[client].title} tells its hooks"
    return (
        f'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{title}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>\n{(ASSETS / 'page.css').read_text(encoding='utf-8')}</style>\n</head>\n<body>\n<header>\n"
        f"<h1>{title}, and what it makes of their answers</h1>\n"
        f"<p>Measured in {escape(', '.join(data['measured']))}. It holds from {escape(data['from'])} on; what versions "
        "before it do otherwise stands beside each answer.</p>\n"
        '<p class="search"><label for="search">Find an event, a field or an effect</label>\n'
        '<input id="search" type="search" autocomplete="off" placeholder="PreToolUse, updatedInput, blocked…">\n'
        '<output for="search"></output></p>\n</header>\n'
        f'<details><summary>What the words mean</summary><dl class="words">{effects}</dl></details>\n'
        f"<main>\n{cards}</main>\n<script>\n{(ASSETS / 'page.js').read_text(encoding='utf-8')}</script>\n"
        "</body>\n</html>\n"
    )


def _told(data: Json, event: str) -> list[tuple[str, str, str, str]]:
    """Of each field: its name, its types, when it is there, an example."""
    fields = data.get("events", {}).get(event, {}).get("fields", {})
    rows = []
    for name, field in fields.items():
        there = "always" if field.get("always") else "sometimes" if field.get("known") == "observed" else "never seen"
        example = "" if "example" not in field else _short(json.dumps(field["example"], ensure_ascii=False))
        types = " or ".join(kind for kind in field["types"] if kind != "unknown")
        rows.append((name, types or "any", there, example))
    return sorted(rows, key=lambda row: row[0] in SHARED)


def _answers(client: str, event: str) -> Iterator[tuple[str, str, str, str]]:
    """Of each kind of answer: what it is, its effect, how that is known, what older versions do with it."""
    newest, *older = _contract.every(client)
    for kind, row in _kinds(newest, event).items():
        effect, before = row["effect"], []
        for one in older:
            was = _kinds(one, event).get(kind, {}).get("effect", effect)
            if was != effect:
                before.append(f"{was} before {one.before}")
                effect = was
        known = KNOWN.get(str(row.get("known")), "told by others, not held by a test")
        yield meaning(kind), row["effect"], known, ", ".join(before)


def _kinds(known: _contract.Contract, event: str) -> Mapping[str, Json]:
    found: Mapping[str, Json] = known.outputs.get(event, {}).get("kinds", {})
    return found


def meaning(kind: str) -> str:
    """A row's name in words."""
    if kind in OUTPUT:
        return OUTPUT[kind]
    parts = [part for name in kind.split("+") for part in _contract.PARTS.get(name, (name,))]
    return ", ".join(OUTPUT.get(part, part.replace("=", ": ", 1)) for part in parts)


def _fields(data: Json, event: str) -> list[tuple[str, str, str]]:
    rows = data["outputs"].get(event, {}).get("fields", {})
    return [(name, str(row.get("type", "")), _values(row)) for name, row in rows.items()]


def _values(row: Json) -> str:
    told = [" or ".join(map(str, row["values"]))] if "values" in row else []
    return "; ".join(told + ([str(row["note"])] if "note" in row else []))


def _short(value: str) -> str:
    return value if len(value) <= LONGEST else f"{value[: LONGEST - 1]}…"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(*rows)]
    return ["  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)) for row in rows]


def _event_card(client: str, data: Json, name: str) -> str:
    situations = escape(", ".join(data.get("events", {}).get(name, {}).get("situations", {})))
    return _card(
        name,
        f"<p>Recorded in: {situations or 'no situation yet'}.</p>\n",
        _part("A hook is told", ("field", "type", "sent", "example"), _told(data, name), code=(0, 3)),
        _part("What becomes of its answer", ("answer", "effect", "known", "before"), [*_answers(client, name)]),
        _part("Fields of an answer", ("field", "type", "values"), _fields(data, name), code=(0,)),
    )


def _other_card(title: str, section: Json) -> str:
    return _card(title, _part("", ("name", ""), [(name, _said(value)) for name, value in section.items()], code=(0,)))


def _card(title: str, *parts: str) -> str:
    anchor = escape(title.replace(" ", "-"))
    return f'<section id="{anchor}"><h2><a href="#{anchor}">{escape(title)}</a></h2>\n{"".join(parts)}</section>\n'


def _said(value: object) -> str:
    """A row of any section, in a line."""
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_said(item)}" for key, item in value.items())
    if isinstance(value, list):
        return ", ".join(map(_said, value))
    return _short(value if isinstance(value, str) else json.dumps(value))


def _part(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], *, code: Sequence[int] = ()) -> str:
    """A table under its title; nothing if it has no rows."""
    if not rows:
        return ""
    above = f"<h3>{escape(title)}</h3>\n" if title else ""
    top = "".join(f"<th>{escape(cell)}</th>" for cell in head)
    body = "".join(f"<tr>{''.join(_cell(cell, at in code) for at, cell in enumerate(row))}</tr>\n" for row in rows)
    return f"<div>{above}<table>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n"


def _cell(cell: str, is_code: bool) -> str:
    kind = f' class="{cell}"' if cell in EFFECT else ""
    inside = f"<code>{escape(cell)}</code>" if is_code and cell else escape(cell)
    return f"<td{kind}>{inside}</td>"
