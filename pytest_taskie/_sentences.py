"""What is said of a hook's end, in one sentence for its author. Knows words; the effect is found elsewhere."""

from __future__ import annotations

from typing import Literal

from pytest_taskie._contract import STRICT, Row
from pytest_taskie._sorting import Said

Outcome = Literal["allowed", "granted", "asked", "blocked", "continued", "stopped", "ended", "deferred", "unknown"]


def sentence_of(said: Said, kind: str, row: Row, outcome: Outcome, fault: str | None) -> str:
    subject = said.subject
    if "sentence" in row:
        return str(row["sentence"])
    if outcome == "blocked":
        return _blocked_sentence(said, kind, fault)
    if outcome == "allowed":
        if fault:
            return fault if "cannot be blocked" in fault else f"{subject} is allowed: {fault}"
        if "object" in said.beside:
            return f"{subject} is allowed" + (
                ", with a message to the user" if said.document.get("systemMessage") else ""
            )
        return f"{subject} is allowed: " + ("plain text on stdout" if said.printed.text else "nothing on stdout")
    return {
        "granted": f"{subject} is granted: the user is not asked any more",
        "asked": f"{subject} is left to the user: {kind}",
        "deferred": f"{subject} is put off, and the run ends: {kind}",
        "stopped": "the turn ends here: continue is false, which beats a block",
        "ended": "the turn ends here, and the model is told nothing",
        "continued": f"{subject} is not blocked, but additionalContext goes on with the turn",
    }[outcome]


def _blocked_sentence(said: Said, kind: str, fault: str | None) -> str:
    subject = said.subject
    if kind == "exit-2":
        how = "with its stderr as the reason" if said.stderr or "object" in said.beside else "without a reason"
        return f"{subject} is blocked by exit 2, {how}"
    if STRICT in said.beside and kind in ("exit-1", "refused", "timeout"):
        return f"{subject} is blocked: the hook failed, and onFailure is block ({fault})"
    if kind == "refused":
        return f"{subject} is blocked by exit 2, with its stderr as the reason ({fault})"
    if kind == "exit-1" and fault is None:
        return f"{subject} is blocked by {how_ended(said.exit_code)}"
    if kind in ("exit-1", "nothing", "text"):
        return f"{subject} is blocked: {fault or 'the client wants something else on stdout'}"
    how = "without a reason" if "no-reason" in said.beside else "with a reason"
    return f"{subject} is blocked {how}"


def how_ended(exit_code: int) -> str:
    return f"ended by signal {-exit_code}" if exit_code < 0 else f"exit code {exit_code}"
