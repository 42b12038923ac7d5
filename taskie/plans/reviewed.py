"""What a review came to, as a value, read from what the reviewer's client printed. Knows no program and no file."""

from __future__ import annotations

from taskie.protocol import parse_json
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Reviewed(Value):
    """`clean`: the verdict is PASS."""

    clean: bool


def read(document: dict[str, Any]) -> Reviewed:
    """The real client has the verdict in `structured_output`; a review without a verdict is not clean."""
    for field in ("structured_output", "result"):
        answer = document.get(field)
        if isinstance(answer, str):
            try:
                answer = parse_json(answer)
            except ValueError:
                continue
        if isinstance(answer, dict) and "verdict" in answer:
            return Reviewed(clean=bool(answer["verdict"] == "PASS"))
    return Reviewed(clean=False)


def printed(output: bytes) -> dict[str, Any]:
    """The object that the client printed; empty if it printed anything else."""
    try:
        answer = parse_json(output)
    except ValueError:
        return {}
    return answer if isinstance(answer, dict) else {}
