"""What a reviewer said, and what the agent answered: violations, found in any output."""

from __future__ import annotations

import json
import os
import re

from taskie.gauntlet.settled import PRIORITIES, by_weight, identity
from taskie.gauntlet.verdict import Unable
from taskie.protocol import parse_json
from taskie.store import StoreError, read_object
from taskie.store import digest as digest_of
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    Violation = dict[str, Any]

MAX_ANSWER = 8 << 20  # bytes
MAX_VIOLATIONS = 200
MAX_TEXT = 1000
MAX_LINE = 10_000_000
# What a search for an answer may cost, in characters looked at. A failed attempt looks at everything before it, too,
# to say in which line it failed; and one that is too deep has looked often.
_PATIENCE, _DEPTH = 1 << 30, 300_000
_STRIDE = 1 << 16
_OBJECT = re.compile(r'\{(?=\s*")')
SCHEMA = json.dumps(
    {
        "type": "object",
        "properties": {
            "status": {"enum": ["pass", "fail"]},
            "violations": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "file": {"type": "string"},
                        "line": {"type": ["integer", "null"]},
                        "issue": {"type": "string"},
                        "fix": {"type": "string"},
                        "priority": {"enum": list(PRIORITIES)},
                    },
                    "required": ["file", "issue"],
                },
            },
        },
        "required": ["status", "violations"],
    },
    separators=(",", ":"),
)


class ReviewAnswer(Value):
    """Whether the reviewer passes it, and the violations, the heaviest first; `dropped` of them were too many."""

    passes: bool
    violations: tuple[Violation, ...] = ()
    dropped: int = 0


def verdict(output: bytes, root: str) -> ReviewAnswer:
    """Unable if there is no answer in what it printed."""
    if len(output) > MAX_ANSWER:
        raise Unable(f"its answer cannot be used: it is larger than {MAX_ANSWER >> 20} MB")
    answer = _answer(output.decode("utf-8", "replace"))
    if answer is None:
        raise Unable("its answer cannot be used: no JSON object with a status of pass or fail")
    listed = answer.get("violations")
    found = [clean(item, root) for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []
    if answer["status"] == "fail" and not found:
        found = [clean({"issue": "The reviewer failed it without naming a violation."})]
    kept = by_weight(found)[:MAX_VIOLATIONS]
    return ReviewAnswer(answer["status"] == "pass", tuple(kept), len(found) - len(kept))


def complaint(output: bytes) -> str:
    """What a client that has failed says on stdout instead of an answer."""
    try:
        document = parse_json(output)
    except ValueError:
        return output[-300:].decode("utf-8", "replace").strip()
    return _text(document.get("result")) if isinstance(document, dict) else ""


def _answer(text: str) -> Mapping[str, Any] | None:
    """In `structured_output`, in `result`, then anywhere in stdout; fences and prose around it do not matter."""
    try:
        document = parse_json(text)
    except ValueError:
        document = None
    if isinstance(document, dict):
        if document.get("is_error") is True:
            raise Unable(f"it reports an error: {str(document.get('result'))[:300]}")
        for candidate in (document.get("structured_output"), document.get("result"), document):
            found = _search(candidate) if isinstance(candidate, str) else candidate
            if _is_answer(found):
                return found
        return None
    return _search(text)


def _is_answer(value: object) -> bool:
    return isinstance(value, dict) and value.get("status") in ("pass", "fail")


def _search(text: str) -> Mapping[str, Any] | None:
    """The last object in the text that is an answer: what comes before it is thinking aloud."""
    decoder = json.JSONDecoder()
    found, end, patience = None, 0, _PATIENCE
    while patience > 0 and (begin := _OBJECT.search(text, end)):
        at = begin.start()
        if at > _STRIDE:
            text, at = text[at:], 0
        try:
            value, end = decoder.raw_decode(text, at)
        except RecursionError:
            end, patience = at + 1, patience - _DEPTH
        except ValueError as error:
            end, patience = at + 1, patience - getattr(error, "pos", len(text))
        else:
            patience -= end - at
            if _is_answer(value):
                found = value
    return found


def clean(raw: Mapping[str, Any], root: str = "") -> Violation:
    """A violation with exactly the fields that the agent reads, none of them without bounds."""
    file = _text(raw.get("file"))
    if root and file.startswith(f"{root}/"):
        file = file[len(root) + 1 :]
    while file.startswith("./"):
        file = file[2:]
    priority = _text(raw.get("priority")).strip().lower()
    return {
        "file": file,
        "line": _line(raw.get("line")),
        "issue": _text(raw.get("issue")) or _text(raw.get("message")) or "no description",
        "fix": _text(raw.get("fix")),
        "priority": priority if priority in PRIORITIES else "medium",
        "status": "new",
        "result": None,
    }


def _text(value: object) -> str:
    return value[:MAX_TEXT] if isinstance(value, str) else ""


def _line(value: object) -> int | None:
    """A line that a file may have: `7`, `7.0` and `"7-9"` are; 0, -1 and 1e300 are none."""
    if isinstance(value, str):
        first = value.strip().partition("-")[0].strip()
        value = int(first) if first.isascii() and first.isdigit() and len(first) < 10 else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and 0 < value <= MAX_LINE else None


def answered(recorded: Sequence[Violation], edited: Sequence[Violation]) -> list[Violation]:
    """The recorded violations with the agent's answers. What it took out of the file is still there, as new."""
    answers = {identity(violation): violation for violation in edited}
    found = []
    for violation in recorded:
        answer = answers.get(identity(violation), {})
        status, result = answer.get("status"), answer.get("result")
        reason = result[:MAX_TEXT] if isinstance(result, str) and result.strip() else None
        if status not in ("fixed", "skipped") or (status == "skipped" and reason is None):
            status = "new"
        found.append({**violation, "status": status, "result": reason})
    return found


def read_files(directory: str) -> dict[str, tuple[str, list[Violation]]]:
    """The newest review file of each gate, as the agent left it: its path and the violations in it."""
    newest: dict[str, tuple[int, str, list[Violation]]] = {}
    try:
        names = os.listdir(directory)
    except OSError:
        names = []
    for name in names:
        if not name.startswith("review_") or not name.endswith(".json"):
            continue
        path = os.path.join(directory, name)
        run = name.split(".")[-2]
        try:
            raw = read_object(path) or {}
        except StoreError:
            continue  # the record knows what was in it
        if not isinstance(raw.get("gate"), str) or not run.isdigit():
            continue
        items = raw.get("violations")
        violations = [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []
        if raw["gate"] not in newest or newest[raw["gate"]][0] < int(run):
            newest[raw["gate"]] = (int(run), path, violations)
    return {gate: (path, violations) for gate, (_, path, violations) in newest.items()}


def digest(directory: str) -> str:
    """Of everything that the agent has answered: another one is progress."""
    given = [
        (gate, *identity(violation), str(violation.get("status")), str(violation.get("result")))
        for gate, (_, violations) in read_files(directory).items()
        for violation in violations
    ]
    return digest_of(repr(sorted(given)).encode("utf-8", "surrogatepass"))
