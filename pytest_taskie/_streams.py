"""Which of a hook's streams a client reads as its answer, which is a matter of the exit code. Knows no event.

Claude Code looks at stdout alone, and so do all of which the contract data say nothing else.
"""

from __future__ import annotations

import json
from dataclasses import replace

from pytest_taskie._contract import Contract
from pytest_taskie._parsing import BLANKS, Printed, named_loss, printed

STDOUT, STDERR, EITHER, NOTHING = "stdout", "stderr", "stdout or stderr", "nothing"


def answered(known: Contract, exit_code: int, stdout: str, stderr: str) -> Printed:
    """What the client takes for the hook's answer."""
    rules = known.reading
    place = rules.get(str(exit_code), rules.get("other", STDOUT))
    text = {STDERR: stderr, NOTHING: "", EITHER: stdout if stdout.strip(BLANKS) else stderr}.get(place, stdout)
    if rules.get("strings"):
        text = _unwrapped(text)
    if rules.get("mark") == "lost" and text.startswith("\ufeff"):
        return Printed(text.strip(BLANKS), lost="output lost: a byte order mark before the JSON")
    found = printed(text, known.fields)
    if known.reading and found.is_async:
        # Another client's field.
        return replace(printed(json.dumps(found.document), known.fields), is_async=False)
    if place in (STDERR, NOTHING) and found.document is None:
        unread = printed(stdout, known.fields).document
        if unread is not None:
            lost = f"{named_loss(unread)}: at exit {exit_code} the client does not read the JSON on stdout"
            return replace(found, lost=found.lost or lost)
    return found


def _unwrapped(text: str) -> str:
    """What stands in a JSON string, which some clients read again."""
    try:
        inside = json.loads(text)
    except (ValueError, RecursionError):
        return text
    return inside if isinstance(inside, str) else text
