"""What a hook has said, sorted into kinds of output. Knows text and fields; nothing here is the effect of anything."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_taskie._checking import NAME, refused
from pytest_taskie._contract import SPECIFIC, Contract
from pytest_taskie._parsing import Printed

# In this order the client looks at them; what it ignores leaves the word to the next.
KINDS = (
    *("async", "timeout", "refused", "continue-false", "deny", "decline", "cancel", "block", "exit-2"),
    *("ask", "defer", "allow", "accept", "approve", "context", "other-event", "exit-1", "text", "nothing"),
)
MISSING_SCRIPT = re.compile(r"no such file|can't open", re.IGNORECASE)
SUBJECTS = {
    "Stop": "the stop",
    "SubagentStop": "the subagent's stop",
    "PreToolUse": "the tool call",
    "UserPromptSubmit": "the prompt",
}


@dataclass
class Said:
    """What a hook has said, sorted: the kinds of output that are in it, and what is special about them."""

    event: str
    command: str
    exit_code: int
    stderr: str
    printed: Printed
    refusal: str | None = None
    specific: Mapping[str, Any] = field(default_factory=dict)
    stray: str | None = None
    kinds: set[str] = field(default_factory=set)
    beside: set[str] = field(default_factory=set)

    @property
    def subject(self) -> str:
        return SUBJECTS.get(self.event, f"the event {self.event}")

    @property
    def feedback(self) -> str:
        return f"[{self.command}]: {self.stderr or 'No stderr output'}"

    @property
    def document(self) -> Mapping[str, Any]:
        return self.printed.document or {}


def switches(entry: Mapping[str, Any], known: Contract) -> set[str]:
    """What of the entry changes the effect of a hook's end."""
    found = {"asyncRewake"} if entry.get("asyncRewake") and known.knows("asyncRewake") else set()
    if "onFailure" in entry and "onFailure" in known.switches:
        found.add(f"onFailure={entry['onFailure']}")
    return found


def sort(said: Said, known: Contract, timed_out: bool) -> None:
    """Find the kinds of output."""
    document = said.printed.document
    if timed_out:
        said.kinds = {"timeout"}
        return
    if said.printed.is_async:
        said.kinds = {"async"}
        return
    if said.exit_code == 2:
        said.kinds.add("exit-2")
        said.beside |= set() if said.stderr else {"silent"}
    elif said.exit_code:
        said.kinds.add("exit-1")
        said.beside |= {"above-2"} if said.exit_code > 2 else set()
    if document is None:
        said.kinds.add("text" if said.printed.text else "nothing")
        if said.exit_code == 2 and not said.printed.text and MISSING_SCRIPT.search(said.stderr):
            said.beside.add("missing")
        return
    said.refusal = refused(document, known, said.event)
    if said.refusal is not None:
        said.kinds.add("refused")
        return
    said.beside.add("object")
    said.kinds.add("nothing")
    _sort_object(said, document, known)
    if "other-event" in said.kinds:
        row = known.row(said.event, "other-event", ())
        if row and row["effect"] == "refused":
            said.refusal, said.specific = said.stray, {}
            said.kinds = {"refused"} | (said.kinds & {"exit-2", "exit-1"})


def _sort_object(said: Said, document: Mapping[str, Any], known: Contract) -> None:
    own = known.specific(said.event)
    specific = document.get(SPECIFIC) or {}
    if not isinstance(specific, dict):
        specific = {}
    if known.flat:
        specific = {**{name: document[name] for name in own if name in document}, **specific}
    if specific and not known.loose and specific[NAME] != said.event:
        said.stray = f"{SPECIFIC} is for {specific[NAME]}, the event is {said.event}"
        said.kinds.add("other-event")
        specific = {}
    said.specific = specific = {name: value for name, value in specific.items() if name in own}
    if document.get("continue") is False:
        said.kinds.add("continue-false")
    nested = specific.get("decision")
    for kind in (
        document.get("decision"),
        specific.get("permissionDecision"),
        specific.get("action"),
        nested.get("behavior") if isinstance(nested, dict) else None,
    ):
        if kind in KINDS:
            said.kinds.add(kind)
    if specific.get("permissionDecision"):
        said.beside.add("permission")
    if isinstance(nested, dict) and nested.get("interrupt"):
        said.beside.add("interrupt")
    if specific.get("additionalContext"):
        said.kinds.add("context")
    if said.kinds & {"block", "deny"} and not given_reason(said, known.reading.get("reasons", ())):
        said.beside.add("no-reason")


def given_reason(said: Said, names: Iterable[str] = ()) -> Any:
    """The reason that the object gives for what it decides; `names` are where the client looks for it, in turn."""
    specific = said.specific
    outer = next(filter(None, map(said.document.get, [*names, "reason"])), None)
    nested = specific.get("decision")
    if isinstance(nested, dict):
        return nested.get("message") or outer
    permission = specific.get("permissionDecision")
    if permission and (permission == "deny" or said.document.get("decision") != "block"):
        return specific.get("permissionDecisionReason") or outer
    return outer
