"""What a review came to, as a value, read from what the reviewer's client printed. Knows no program and no file."""

from __future__ import annotations

import json

from taskie.plans.journal import is_amount, is_count, tokens_of
from taskie.protocol import parse_json
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

# What the journal calls it, and the client.
_TOKENS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}


class Reviewed(Value):
    """`clean`: it does not fail. `findings`: what it found, if that was asked for and said.

    `cost` in USD, `tokens` and `turns` are what the client says, None if nothing. `seconds` is how long it took,
    `so_far` what all reviews of the plan have cost, both None for a review that is not recorded; `warnings` are for the
    person.
    """

    clean: bool
    findings: tuple[Mapping[str, Any], ...] | None = None
    turns: int | None = None
    cost: float | None = None
    tokens: Mapping[str, int] | None = None
    seconds: float | None = None
    so_far: float | None = None
    warnings: tuple[str, ...] = ()

    @property
    def price(self) -> str:
        """41 s, $0.37 (plan so far $1.12): without what nobody knows, or what costs nothing."""
        if self.seconds is None:
            return ""
        return ", ".join([f"{self.seconds:.0f} s", *([self.bill] if self.bill else [])])

    @property
    def bill(self) -> str:
        """$0.37 (plan so far $1.12): the money alone, of a review that is recorded."""
        if self.seconds is None or not self.cost:
            return ""
        return f"${self.cost:,.2f}" + (f" (plan so far ${self.so_far:,.2f})" if self.so_far else "")


def read(document: dict[str, Any], fail_on: str | None = None) -> Reviewed:
    """The real client has the verdict in `structured_output`; a review without a verdict is not clean.

    With `fail_on`, findings are weighed here, and the verdict counts only where there are none.
    """
    price = _price(document)
    for field in ("structured_output", "result"):
        answer = document.get(field)
        if isinstance(answer, str):
            try:
                answer = parse_json(answer)
            except ValueError:
                continue
        if isinstance(answer, dict) and "verdict" in answer:
            reviewed = price.replace(clean=bool(answer["verdict"] == "PASS"))
            return _weighed(reviewed, answer.get("findings"), fail_on) if fail_on else reviewed
    return price


def _weighed(reviewed: Reviewed, given: object, fail_on: str) -> Reviewed:
    from taskie.plans import findings  # most reviews have none

    found = findings.read(given)
    return reviewed.replace(findings=found, clean=not findings.fails(found, fail_on) if found else reviewed.clean)


def _price(document: Mapping[str, Any]) -> Reviewed:
    """What the client says that it cost. A client may say nothing, and another one nonsense."""
    turns, cost, usage = (document.get(name) for name in ("num_turns", "total_cost_usd", "usage"))
    return Reviewed(
        clean=False,
        turns=turns if is_count(turns) else None,
        cost=cost if is_amount(cost) else None,
        tokens=_tokens(usage) if isinstance(usage, dict) else None,
    )


def _tokens(usage: Mapping[str, Any]) -> dict[str, int] | None:
    """A client without a cache does not speak of it."""
    said = {ours: usage.get(theirs) for ours, theirs in _TOKENS.items()}
    if said["input"] is None or said["output"] is None:
        return None
    return tokens_of({name: 0 if number is None else number for name, number in said.items()})


def _whole(digits: str) -> int | None:
    """Python refuses thousands of digits, and no count has so many."""
    return int(digits) if len(digits) < 400 else None


def printed(output: bytes) -> dict[str, Any]:
    """The object that the client printed; empty if it printed anything else. A number that is none loses no verdict."""
    try:
        answer = json.loads(output.decode("utf-8"), parse_constant=lambda name: None, parse_int=_whole)
    except (ValueError, RecursionError):
        return {}
    return answer if isinstance(answer, dict) else {}
