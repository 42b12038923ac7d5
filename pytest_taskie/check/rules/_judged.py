"""What clients make of a hook's output at everyday events, sorted by what is wrong. Knows no rule."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_taskie.check._lab import Lab, Performance

KINDS = {
    "two-documents": re.compile(r"two JSON documents"),
    "noise": re.compile(r"other text (?:before|after) the JSON|starts like a JSON object|control character"),
    "misplaced-field": re.compile(
        r"counts only (?:in|out)side|does nothing at|does not mean anything"
        r"|hookSpecificOutput is for|has none for the model"
        r"|which is not an event with such output"
    ),
    "block-without-reason": re.compile(r"a block without a reason"),
    "lost-output": re.compile(r"^(?:output|block|deny|context|continue false) lost"),
}


def faults(lab: Lab, kind: str) -> Iterator[tuple[str, Performance]]:
    """What is wrong with the output in this way, with the client's name where it is not the first one's."""
    performed = [*lab.ordinary, *([lab.refused] if lab.refused and lab.refused not in lab.ordinary else [])]
    for one in performed:
        for number, reading in enumerate(one.first.readings):
            if reading.fault and sorted_as(reading.fault) == kind:
                yield (f"{reading.client}: {reading.fault}" if number else reading.fault), one


def sorted_as(fault: str) -> str | None:
    return next((kind for kind, words in KINDS.items() if words.search(fault)), None)
