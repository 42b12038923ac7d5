"""What is wrong with a hook's object or its entry, by the fields that the contract data names. Knows no effect."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pytest_taskie._contract import SPECIFIC, Contract, Row, nearest
from pytest_taskie._parsing import as_text, named_loss

TYPES: Mapping[str, Any] = {"boolean": bool, "string": str, "object": dict, "array": list, "array of strings": list}
# Named by the client in every object inside; the data has only what is an event's own.
NAME = "hookEventName"


def refused(document: Mapping[str, Any], contract: Contract, event: str) -> str | None:
    """Why the client refuses an object, or None."""
    known = {*contract.fields, *([SPECIFIC] if contract.specific(event) else [])}
    for name in document:
        if contract.closed and name not in known:
            return f"{name} is not a field that {contract.client} knows{_meant(name, contract.fields)}"
    wrong = _wrong(document, contract.fields, "")
    if wrong is None and SPECIFIC in document and not contract.loose:
        specific = document[SPECIFIC]
        named = specific.get(NAME)
        if not isinstance(named, str) or not contract.specific(named):
            return f"{SPECIFIC}.{NAME} is {as_text(named)}, which is not an event with such output"
        # Looked at also where the event is another one.
        own = contract.specific(named)
        stray = next((name for name in specific if name not in own and name != NAME), None)
        if contract.closed and stray:
            return f"{SPECIFIC}.{stray} is not a field that {contract.client} knows{_meant(stray, own)}"
        wrong = _wrong(specific, own, f"{SPECIFIC}.")
    return wrong


def _wrong(document: Mapping[str, Any], fields: Mapping[str, Row], prefix: str) -> str | None:
    for path, row in fields.items():
        *outer, name = path.split(".")
        inside: Any = document
        for part in outer:
            inside = inside.get(part) if isinstance(inside, dict) else None
        if not isinstance(inside, dict) or ("when" in row and row["when"] != inside.get("behavior")):
            continue
        if name not in inside:
            if row.get("required"):
                return f"{prefix}{path} is missing"
            continue
        wrong = _wrong_value(inside[name], row)
        if wrong:
            return f"{prefix}{path} {wrong}"
    return None


def _wrong_value(value: Any, row: Row) -> str | None:
    if value is None and row.get("null"):
        return None
    if "values" in row:
        return None if value in row["values"] else f"is {as_text(value)}, not one of {', '.join(row['values'])}"
    accepted = TYPES.get(row.get("type", "any"))
    if accepted is not None and not isinstance(value, accepted):
        return f"is {as_text(value)}, a known field of the wrong type"
    if row.get("type") == "array of strings" and not all(isinstance(item, str) for item in value):
        return "holds something that is not a string"
    return None


def misplaced(document: Mapping[str, Any], event: str, contract: Contract) -> str | None:
    """A field that the client does not read: misspelt, or in a place where it means nothing."""
    return next(_misplaced(document, event, contract), None)


def _misplaced(document: Mapping[str, Any], event: str, contract: Contract) -> Iterator[str]:
    inner = contract.specific(event)
    for name in document:
        if name in contract.fields:
            continue
        if name in inner:
            yield f"{named_loss(document)}: {name} counts only inside {SPECIFIC}"
        elif nearest(name, [*contract.fields, *inner]):
            yield f"{name} does not mean anything to the client{_meant(name, [*contract.fields, *inner])}"
    specific = document.get(SPECIFIC)
    if not isinstance(specific, dict) or specific.get(NAME) != event:
        return
    # Of several events the one that is named first is the best known.
    elsewhere = {name: other for other in reversed(contract.events) for name in contract.specific(other)}
    for name in specific:
        if name in inner or name == NAME:
            continue
        if name in elsewhere:
            yield f"{named_loss(document)}: {SPECIFIC}.{name} does nothing at {event}; it is for {elsewhere[name]}"
        elif name in contract.fields:
            yield f"{named_loss({name: specific[name]})}: {name} counts only outside {SPECIFIC}"
        elif nearest(name, [*inner, NAME]):
            yield f"{SPECIFIC}.{name} does not mean anything to the client{_meant(name, [*inner, NAME])}"
    for name, row in inner.items():
        if row.get("ignored") == "string" and isinstance(specific.get(name), str):
            yield f"{SPECIFIC}.{name} is a string: {row.get('note', 'it is ignored')}"


def _meant(name: str, known: Any) -> str:
    meant = nearest(name, known)
    return f"; is {meant} meant?" if meant else ""


def entry_fault(entry: Mapping[str, Any], event: str, plugin: bool, contract: Contract) -> str | None:
    """What is wrong with the entry that names the hook in settings or in a plugin's hooks.json."""
    kind = entry.get("type", "command")
    known = contract.handlers.get(kind, {}).get("fields", ()) if isinstance(kind, str) else ()
    for name in entry:
        if known and name not in known:
            return f"{contract.name} knows no {name} in the entry of a {kind} hook{_meant(name, known)}"
    if "if" in entry and event in contract.switches.get("if", {}).get("never", ()):
        return (
            f"`if` never matches at {event}: the client never runs this hook; "
            "leave `if` out and let the hook look at the event"
        )
    place, name = ("plugin", "a plugin's hooks.json") if plugin else ("settings", "settings")
    if entry.get("once") and place in contract.switches.get("once", {}).get("ignored", ()):
        return f"`once` is ignored in {name}: the hook runs each time; let it leave a file that says it has run"
    return None
