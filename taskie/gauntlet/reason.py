"""What the agent reads when it may not stop: what failed, what to do, and how it ends. Pure."""

from __future__ import annotations

from taskie.protocol import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from taskie.gauntlet.outcome import GateResult, RunResult

MAX_GATES = 6
MAX_REASON = 9000

INSTRUCTIONS = """\
You must fix this now. You cannot stop until it is resolved or one of the endings below is reached. When you stop, \
the gates are run again by themselves to verify your fixes: do not start them yourself. Committing, or stopping \
again without a change, does not help.

Trust level: medium. Fix what is wrong, and what you reasonably agree with. Skip a review's violation only if it is \
mistaken, outside this task, or a matter of taste; failing checks are never skipped.

Answer each violation in the review's JSON file: set its "status" to "fixed" or "skipped", and its "result" to what \
you did or why you skipped it. "fixed": you changed the code, and the reviewer looks again. "skipped": you will not \
change it; without a "result" it does not count.

It ends with one of: "Status: Passed", "Status: Passed with warnings" (violations were skipped), or \
"Status: Retry limit exceeded" (a person has to look at it)."""


def reason(result: RunResult) -> str:
    """The block's reason. The path comes first: it is the one thing that must not be cut."""
    failed = [gate for gate in result.gates if gate.status == "failed"]
    parts = ["GAUNTLET FAILED: the quality gates did not pass.", result.message + "."]
    if result.console_log_path:
        parts.append(f"Everything the run printed can be read in {result.console_log_path}")
    room = MAX_REASON - len(INSTRUCTIONS) - sum(map(len, parts))
    for number, gate in enumerate(failed):
        told = _told(gate, lines=16 if len(failed) < 3 else 6)
        if number >= MAX_GATES or len(told) > room:
            parts.append(f"… and {len(failed) - number} more in the log.")
            break
        parts.append(told)
        room -= len(told)
    parts += [f"Not proven: {shown(gate.summary, 300)}" for gate in result.gates if gate.status == "unable"][:3]
    return "\n\n".join([*parts, INSTRUCTIONS])


def _told(gate: GateResult, lines: int) -> str:
    rows = [f"{gate.key}: {gate.summary}"]
    if gate.tests:
        rows += ["Failing tests:", *_indented(gate.tests, 20)]
    elif gate.tail:
        rows += ["Its last lines:" if not gate.violations else "Violations:", *_indented(gate.tail, lines)]
    if gate.advice:
        rows.append(f"How to fix it: {gate.advice.strip()}")
    if gate.log:
        rows.append(f"{'Answer in' if gate.violations else 'All of it:'} {gate.log}")
    return "\n".join(rows)


def _indented(rows: Sequence[str], most: int) -> list[str]:
    return [f"    {row}" for row in rows[-most:]]
