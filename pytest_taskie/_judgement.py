"""How a client reads a finished hook: a function of exit code and streams. Knows no process and no file of a hook.

What the client finds on stdout is found here; what it then does comes from the contract data, row by row. Where no row
holds what a hook has said, the answer is `unknown`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pytest_taskie._accidents import accident, carriage_return
from pytest_taskie._checking import entry_fault, misplaced
from pytest_taskie._contract import SPECIFIC, STRICT, Contract, Row, contract, nearest
from pytest_taskie._parsing import as_text, named_loss
from pytest_taskie._sentences import Outcome, how_ended, sentence_of
from pytest_taskie._sorting import KINDS, Said, given_reason, sort, switches
from pytest_taskie._streams import answered

NOT_MEASURED = "unknown: not measured; run it in {}_client"
DECISIONS = {"deny", "decline", "cancel", "block", "ask", "defer", "allow", "accept", "approve"}
LOSSES = {
    "context": "context lost: {} has none for the model",
    "deny": "deny lost: {} cannot be blocked by a permission",
    "block": 'block lost: {} cannot be blocked by decision "block"',
    "exit-2": "block lost: {} cannot be blocked by exit 2",
    "continue-false": "continue false lost: {} ignores it",
}
NO_REASON = 'a block without a reason: the model only reads that a hook has blocked; say in "{}" what to do'
REASONS = {"deny": "permissionDecisionReason", "block": "reason"}


@dataclass(frozen=True)
class Reading:
    """What the client makes of a hook's output.

    `fault` is what the hook's author should fix, if the client went on only because it could not make sense of
    the hook. `accident`: it blocks, but not because its author wanted that. `document` is the JSON object on stdout,
    also one that the client refuses. `client` names the client and versions of which all this holds.
    """

    outcome: Outcome
    sentence: str
    decision: str | None = None
    reason: str | None = None
    system_message: str | None = None
    context: str | None = None
    document: dict[str, Any] | None = None
    fault: str | None = None
    accident: str | None = None
    updated_input: dict[str, Any] | None = None
    client: str = ""

    @property
    def of_any_client(self) -> str:
        """The sentence without the client's name, for where that is said beside it."""
        return self.sentence.replace(f" in {self.client})", ")").replace(f" of {self.client} ", " ")


def judge(
    exit_code: int,
    stdout: str,
    stderr: str,
    event_name: str = "Stop",
    command: str = "hook",
    *,
    client: str = "claude",
    version: str | None = None,
    entry: Mapping[str, Any] | None = None,
    plugin: bool = False,
    timed_out: bool = False,
) -> Reading:
    """Read the output of a hook that has ended, as the client would; without a version, the newest that was measured.

    `entry` is the hook's entry in settings or hooks.json: `{"onFailure": "block"}`. `plugin`: it is a plugin's.
    """
    return judged(
        contract(client, version), exit_code, stdout, stderr, event_name, command, entry or {}, plugin, timed_out
    )


def judged(
    known: Contract,
    exit_code: int,
    stdout: str,
    stderr: str,
    event_name: str,
    command: str,
    entry: Mapping[str, Any],
    plugin: bool,
    timed_out: bool,
) -> Reading:
    """The same by what is known of one client from a version on."""
    event_name = known.common(event_name)
    said = Said(event_name, command, exit_code, stderr, answered(known, exit_code, stdout, stderr))
    sort(said, known, timed_out)
    said.beside |= switches(entry, known) | ({"plugin"} if plugin else set())
    misentered = entry_fault(entry, event_name, plugin, known)
    if misentered and "never runs" in misentered:
        sentence = f"{said.subject} is allowed: {misentered}"
        return Reading("allowed", sentence, fault=misentered, document=said.printed.document, client=known.name)
    if known.lacks(event_name):
        sentence = f"{said.subject} is allowed: {known.name} has no event {event_name}, and never runs this hook"
        return Reading("allowed", sentence, document=said.printed.document, client=known.name)
    if entry.get("async") and not timed_out and known.knows("async"):
        said.kinds = {"async"}
    reading = replace(_decide(said, known), client=known.name)
    cause = carriage_return(stderr) if reading.fault else None
    known_fault = f"{reading.fault}: {cause}" if cause else reading.fault
    both = "; ".join(one for one in (known_fault, misentered) if one)
    fault = both or _other_fault(said, reading, known)
    if fault and fault != reading.fault:
        reading = replace(reading, fault=fault, sentence=f"{reading.sentence} ({fault})")
    return reading


def _decide(said: Said, known: Contract) -> Reading:
    """Take the kinds in turn until one has an effect."""
    left = [kind for kind in KINDS if kind in said.kinds]
    fault = said.printed.lost
    while left:
        kind = left[0]
        row = known.row(said.event, kind, {*left, *said.beside})
        if row is None:
            return _unknown(said, kind, known)
        if row["effect"] != "ignored":
            return _reading(said, kind, row, fault, known)
        fault = fault or row.get("fault") or _loss(said, kind)
        left.pop(0)
    return _reading(said, "nothing", {"effect": "allowed"}, fault, known)


def _loss(said: Said, kind: str) -> str | None:
    """What is lost where the client ignores a kind of output."""
    if kind == "exit-2" and "missing" in said.beside:
        return "exit 2 with the words of a missing script on stderr, which the client takes for a missing hook"
    if said.stray and kind in ("exit-2", "continue-false"):
        return f"{'block' if kind == 'exit-2' else 'continue false'} lost: {said.stray}"
    if kind == "other-event":
        return f"{named_loss(said.document)}: {said.stray}"
    return LOSSES[kind].format(said.event) if kind in LOSSES else None


def _unknown(said: Said, kind: str, known: Contract) -> Reading:
    where = f"no row for {kind} at {said.event} in {known.name}"
    if said.event not in known.events:
        meant = nearest(said.event, known.events)
        where = f"the data of {known.name} have no event {said.event}" + (f"; is {meant} meant?" if meant else "")
    sentence = f"{NOT_MEASURED.format(known.client)} ({where})"
    return Reading("unknown", sentence, document=said.printed.document)


def _reading(said: Said, kind: str, row: Row, fault: str | None, known: Contract) -> Reading:
    effect = row["effect"]
    if kind == "timeout":
        fault = "the hook did not end in time, and the client ended it"
    elif kind == "async":
        return _later(said, fault, heard=effect == "context")
    elif kind == "refused" or effect == "refused":
        why = said.refusal or f"{known.client} refuses {kind} as it is here"
        fault = f"{named_loss(said.printed.document)}: {why}"
    elif kind == "exit-1" and fault is None and (effect != "blocked" or STRICT in said.beside):
        fault = f"{how_ended(said.exit_code)}, which the client only shows as an error"
    elif said.exit_code not in (0, 2) and effect in ("allowed", "context", "granted"):
        fault = f"{how_ended(said.exit_code)} beside the JSON"
    outcome: Outcome = "allowed" if effect in ("context", "refused") else effect
    reason, decision = _reason(said, kind, row, outcome, known), _decision(said, kind, outcome)
    context = _context(said, kind, row, known)
    if outcome == "continued":
        reason = context
    if outcome == "blocked" and fault is None and "no-reason" in said.beside and kind in ("block", "deny"):
        nested = isinstance(said.specific.get("decision"), dict)
        fault = NO_REASON.format("message" if nested else REASONS[kind])
    return Reading(
        outcome,
        sentence_of(said, kind, row, outcome, fault),
        decision,
        reason,
        _system_message(said),
        context,
        said.printed.document,
        fault,
        _accident(said, kind) if outcome == "blocked" else None,
        _updated_input(said, outcome, known),
    )


def _system_message(said: Said) -> str | None:
    message = None if said.refusal else said.document.get("systemMessage")
    return message if isinstance(message, str) and message else None


def _accident(said: Said, kind: str) -> str | None:
    """Why it was not the hook's author who has blocked; where any exit code blocks, every failure may have."""
    if kind == "exit-1" and STRICT not in said.beside:
        return accident(2, said.stderr) or f"{how_ended(said.exit_code)}, by which a hook says that it has failed"
    return accident(said.exit_code, said.stderr) if "exit-2" in (kind, *_shown(said)) else None


def _shown(said: Said) -> set[str]:
    return said.kinds if "refused" in said.kinds else set()


def _later(said: Said, fault: str | None, heard: bool) -> Reading:
    """The reading of a hook that the client does not wait for."""
    answer = said.printed.later if said.printed.later is not None else said.document
    specific = answer.get(SPECIFIC)
    context = specific.get("additionalContext") if isinstance(specific, dict) else None
    lost = named_loss(answer)
    if lost != "output lost":
        fault = f"{lost}: async is true, so the client does not wait for the rest"
    sentence = f"{said.subject} is allowed: " + (fault or "the client does not wait for an asynchronous hook")
    arrives = heard and said.printed.later is not None and isinstance(context, str)
    return Reading(
        "allowed", sentence, context=context or None if arrives else None, document=said.printed.document, fault=fault
    )


def _reason(said: Said, kind: str, row: Row, outcome: Outcome, known: Contract) -> str | None:
    words = row.get("reason")
    if outcome == "blocked" and STRICT in said.beside:
        words = known.switches["onFailure"].get("reasons", {}).get(kind, words)
    if words is not None:
        return str(words).format(
            command=said.command,
            stderr=said.stderr.strip() or "No stderr output",
            said=said.printed.text,
            stopReason=said.document.get("stopReason") or "",
        )
    if kind in ("exit-2", "refused", "exit-1", "timeout"):
        return said.feedback if outcome in ("blocked", "ended") else None
    if said.refusal is not None or outcome == "allowed":
        return None
    given = given_reason(said, known.reading.get("reasons", ()))
    words = given if given is None or isinstance(given, str) else as_text(given)
    return words or str(known.reading.get("no_reason", "Blocked by hook")) if outcome == "blocked" else words


def _decision(said: Said, kind: str, outcome: Outcome) -> str | None:
    if said.refusal is not None or kind in ("exit-2", "exit-1", "timeout"):
        return "block" if outcome in ("blocked", "ended") else None
    named = [one for one in KINDS if one in said.kinds and one in DECISIONS]
    lost = {"block", "deny"} if outcome in ("allowed", "context") else set()
    return next((one for one in named if one not in lost), None)


def _context(said: Said, kind: str, row: Row, known: Contract) -> str | None:
    if kind == "text":
        # What starts like JSON is not shown to the model as text.
        return said.printed.text if row["effect"] == "context" and not said.printed.text.startswith("{") else None
    of_context = known.row(said.event, "context", ()) if "context" in said.kinds else None
    lost = of_context is not None and of_context["effect"] == "ignored"
    context = said.specific.get("additionalContext")
    return None if lost or not isinstance(context, str) else context or None


def _updated_input(said: Said, outcome: Outcome, known: Contract) -> dict[str, Any] | None:
    """The input with which the tool is called instead; None where it is not called with one."""
    nested = said.specific.get("decision")
    inside = nested if isinstance(nested, dict) else said.specific
    found = inside.get("updatedInput")
    needed = known.specific(said.event).get("updatedInput", {}).get("only_with")
    if needed and needed not in said.kinds:
        return None
    return found if isinstance(found, dict) and outcome in ("allowed", "granted", "asked") else None


def _other_fault(said: Said, reading: Reading, known: Contract) -> str | None:
    """What the author should know although it did not change what the client does."""
    limit = known.limit("context")
    size = len((reading.context or "").encode("utf-16-le", "surrogatepass")) // 2
    if limit and size > limit:
        return (
            f"context of {size:,} characters: over {limit:,} the model only reads its beginning and "
            "the name of a file; shorten it"
        )
    if said.refusal is None and said.printed.document is not None and reading.outcome != "unknown":
        if said.stray:
            return f"{named_loss(said.document)}: {said.stray}"
        return misplaced(said.printed.document, said.event, known)
    return None
