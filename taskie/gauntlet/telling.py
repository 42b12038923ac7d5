"""What the agent reads when it may not stop: which gates failed, their commands, as many errors as there is room for.

Pure: reads and writes nothing.
"""

from __future__ import annotations

from taskie.gauntlet.verdict import INSTRUCTIONS
from taskie.protocol import shown
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from taskie.gauntlet.verdict import GateResult, RunResult

MAX_GATES = 6
MAX_REASON = 9000
LONGEST_COMMAND = 600
LONGEST_ADVICE = 1000
MAX_FIXED = 20
RUN_IT = "Each check's command is named: run it yourself until it exits with 0, then stop."


class Told(Value):
    """One failed gate: what is said in any case, and between it lines of which as many are shown as fit. `errors`: they
    are one error each, `total` of them, and the first ones count most; `rest` is what has the others. Else they are
    output, whose ends count."""

    before: tuple[str, ...]
    lines: tuple[str, ...]
    after: tuple[str, ...]
    errors: bool
    total: int
    details: tuple[str, ...] = ()
    rest: str = "log"

    @property
    def least(self) -> int:
        return len("\n".join((*self.before, *self.after))) + 60  # with a line about what is left out

    @property
    def most(self) -> int:
        return _size(self.lines) + _size(self.details)

    def within(self, room: int) -> str:
        if not self.errors:
            lines = list(self.lines) if self.most <= room else _both_ends(self.lines, room)
        else:
            lines = _fitting(self.lines, room)
            if len(lines) < self.total:
                lines.append(f"… and {self.total - len(lines)} more: read the {self.rest} named below.")
            else:
                lines += _fitting(self.details, room - _size(lines))
        return "\n".join((*self.before, *(f"    {line}" for line in lines), *self.after))


def reason(result: RunResult) -> str:
    """The block's reason. The path comes first: it is the one thing that must not be cut."""
    failed = [gate for gate in result.gates if gate.status == "failed"]
    parts = ["GAUNTLET FAILED: the quality gates did not pass.", result.message + "."]
    if result.console_log_path:
        parts.append(f"Everything the run printed can be read in {result.console_log_path}")
    last = [f"Not proven: {shown(gate.summary, 300)}" for gate in result.gates if gate.status == "unable"][:3]
    last += [f"{gate.key}: {fixed}. Read them again before you edit them." for gate in result.gates
             if (fixed := fixed_text(gate))][:3]  # fmt: skip
    last += [RUN_IT] * any(gate.command for gate in failed)
    last.append(INSTRUCTIONS)
    room = MAX_REASON - sum(len(part) + 2 for part in (*parts, *last))
    told = [_told(gate) for gate in failed[:MAX_GATES]]
    while told and sum(each.least + 2 for each in told) > room:
        told.pop()
    room -= sum(each.least + 2 for each in told)
    parts += [each.within(share) for each, share in zip(told, shares([each.most for each in told], room))]
    if len(told) < len(failed):
        parts.append(f"… and {len(failed) - len(told)} more in the log.")
    return "\n\n".join([*parts, *last])


def shares(wanted: Sequence[int], room: int) -> list[int]:
    """The room for each: nobody gets more than they want, and what one leaves the others have."""
    given = [0] * len(wanted)
    left = room
    for position, at in enumerate(sorted(range(len(wanted)), key=wanted.__getitem__)):
        given[at] = min(wanted[at], max(0, left) // (len(wanted) - position))
        left -= given[at]
    return given


def fixed_text(gate: GateResult) -> str:
    """Which files its own `fix` has changed; nothing if none."""
    files = gate.fixed
    if not files:
        return ""
    more = f" and {len(files) - MAX_FIXED} more" if len(files) > MAX_FIXED else ""
    return f"its fix changed {', '.join(shown(file) for file in files[:MAX_FIXED])}{more}"


def _told(gate: GateResult) -> Told:
    before = [f"{gate.key}: {gate.summary}"]
    if gate.command:
        where = f", in {gate.directory}" if gate.directory not in (None, ".") else ""
        command = "".join(c if c.isprintable() or c == "\n" else " " for c in gate.command.strip())[:LONGEST_COMMAND]
        named = " ({files}: the changed files)" if "{files}" in command else ""
        before.append(f"Its command{where}{named}: {command}")
    after = [f"How to fix it: {gate.advice.strip()[:LONGEST_ADVICE]}"] if gate.advice else []
    if gate.log:
        after.append(f"{'Answer in' if gate.violations else 'All of it:'} {gate.log}")
    lines = gate.tests or gate.errors or (gate.tail if gate.violations else ())
    if lines:
        total = max(len(lines), 0 if gate.tests else gate.found)
        counted = "Violations:" if gate.violations else f"{total} error{'' if total == 1 else 's'}:"
        before.append("Failing tests:" if gate.tests else counted)
        details, rest = () if gate.tests else gate.output, "file" if gate.violations else "log"
        return Told(tuple(before), lines, tuple(after), True, total, details, rest)
    lines = gate.output or gate.tail
    if lines:
        before.append("Its output:")
    return Told(tuple(before), lines, tuple(after), False, len(lines))


def _size(lines: Sequence[str]) -> int:
    return sum(len(line) + 5 for line in lines)  # indented, and with the end of the line


def _both_ends(lines: Sequence[str], room: int) -> list[str]:
    """A third of the room for the beginning, the rest for the end: most tools sum up there."""
    first = _fitting(lines, room // 3)
    rest = lines[len(first) :]
    last = _fitting(rest[::-1], room - _size(first))[::-1]
    return [*first, f"… {len(rest) - len(last)} lines left out …", *last]


def _fitting(lines: Sequence[str], room: int) -> list[str]:
    kept: list[str] = []
    for line in lines:
        room -= len(line) + 5
        if room < 0:
            break
        kept.append(line)
    return kept
