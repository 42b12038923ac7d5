"""What a part of the torture came to, and the one table of all parts. Runs nothing."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Failure:
    """What went wrong, of which kind, and the command that shows it again."""

    kind: str
    what: str
    again: str


@dataclass
class Result:
    """One row. `many` were tried, `reached` came to where they could have failed; `notes` say what was not tried."""

    part: str
    many: int = 0
    reached: int = 0
    failures: list[Failure] = field(default_factory=list)
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)

    @property
    def failed(self) -> str:
        """How many failures of which kinds, in one cell."""
        if not self.many and not self.failures:
            return "not measured"
        return f"{len(self.failures)}: {self.kinds}" if self.failures else "0"

    @property
    def kinds(self) -> str:
        counted = collections.Counter(failure.kind for failure in self.failures)
        return ", ".join(f"{number} {kind}" for kind, number in counted.most_common())


def table(results: Sequence[Result]) -> str:
    """In Markdown, which reads well in a terminal, too."""
    lines = ["| part | tried | reached | failures | seconds |", "|---|---:|---:|---|---:|"]
    for each in results:
        lines.append(f"| {each.part} | {each.many:,} | {each.reached:,} | {each.failed} | {each.seconds:.0f} |")
    notes = [f"- {each.part}: {note}" for each in results for note in each.notes]
    return "\n".join([*lines, *([""] if notes else []), *notes])


def listed(results: Sequence[Result], most: int) -> str:
    """Every failure with its command; of many of one kind the first ones."""
    lines = []
    for each in results:
        seen: collections.Counter[str] = collections.Counter()
        for failure in each.failures:
            seen[failure.kind] += 1
            if seen[failure.kind] <= most:
                lines.append(f"{each.part}, {failure.kind}: {failure.what}\n    again: {failure.again}")
        lines += [f"{each.part}, {kind}: {number - most} more" for kind, number in seen.items() if number > most]
    return "\n".join(lines)
