"""The words for what a client did, from what was seen. Knows no event and no client."""

from __future__ import annotations

import re

from .stage import Seen

EFFECT = "effect"
FACT = "fact"
COMPLAINT = re.compile(r"hook blocking error|hook feedback:|hook error:")
# What asks for nothing: where the client goes its way nothing is lost.
MODEST = {"nothing", "text", "exit-1", "approve", "allow", "accept", "async", "timeout"}


def observed(kind: str, seen: Seen, words: str) -> str:
    """The effect, as one who does not know the hook sees it."""
    ends = "continue-false" in kind
    if seen.deferred:
        return "deferred"
    if seen.asked:
        return "asked"
    if seen.interrupted or seen.stopped or seen.ended or (ends and not seen.requests):
        return "stopped" if ends or seen.interrupted else "ended"
    if not seen.happened:
        return "continued" if seen.continued else "blocked"
    if seen.granted:
        return "granted"
    if COMPLAINT.search(seen.news):
        return "blocked"
    return "context" if words in seen.told and kind in ("text", "context", "async") else "allowed"


def stored(kind: str, effect: str) -> str:
    """The effect as the data name it: what asks for something and does not get it is refused or ignored."""
    if effect != "allowed" or kind.replace("onFailure=block+", "").split("+")[0] in MODEST:
        return effect
    return "refused" if "refused" in kind else "ignored"
