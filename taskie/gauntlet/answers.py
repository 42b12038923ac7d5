"""What a reviewer said, and what the agent answered: violations, found in any output, compared by file and issue."""

from __future__ import annotations

import json
import os

from taskie.gauntlet.verdict import Unable
from taskie.protocol import parse_json
from taskie.store import StoreError, read_object
from taskie.store import digest as digest_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    Violation = dict[str, Any]

PRIORITIES = ("critical", "high", "medium", "low")
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


def verdict(output: bytes) -> tuple[bool, list[Violation]]:
    """Whether the reviewer passes it, and the violations. Unable if there is no answer in what it printed."""
    text = output.decode("utf-8", "replace")
    answer = _answer(text)
    if answer is None:
        raise Unable("its answer cannot be used: no JSON object with a status of pass or fail")
    violations = [clean(item) for item in answer.get("violations") or [] if isinstance(item, dict)]
    if answer["status"] == "fail" and not violations:
        violations = [clean({"issue": "The reviewer failed it without naming a violation."})]
    return answer["status"] == "pass", violations


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
    found = None
    at = text.find("{")
    for _ in range(10_000):
        if at < 0:
            break
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            end = at + 1
        else:
            if _is_answer(value):
                found = value
        at = text.find("{", end)
    return found


def clean(raw: Mapping[str, Any]) -> Violation:
    """A violation with exactly the fields that the agent reads."""
    line = raw.get("line")
    priority = str(raw.get("priority", "")).lower()
    return {
        "file": str(raw.get("file") or ""),
        "line": line if type(line) is int else None,
        "issue": str(raw.get("issue") or raw.get("message") or "no description"),
        "fix": str(raw.get("fix") or ""),
        "priority": priority if priority in PRIORITIES else "medium",
        "status": "new",
        "result": None,
    }


def identity(violation: Mapping[str, Any]) -> tuple[str, str]:
    return str(violation.get("file")), " ".join(str(violation.get("issue")).split())


def without(violations: Iterable[Violation], known: Iterable[Violation]) -> list[Violation]:
    seen = {identity(violation) for violation in known}
    return [violation for violation in violations if identity(violation) not in seen]


def answered(recorded: Sequence[Violation], edited: Sequence[Violation]) -> list[Violation]:
    """The recorded violations with the agent's answers. What it took out of the file is still there, as new."""
    answers = {identity(violation): violation for violation in edited}
    found = []
    for violation in recorded:
        answer = answers.get(identity(violation), {})
        status, result = answer.get("status"), answer.get("result")
        reason = result if isinstance(result, str) and result.strip() else None
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
