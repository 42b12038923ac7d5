"""The loop as a picture for the documentation, drawn from the table: `python3 -m tests.docs.diagram`."""

from __future__ import annotations

from taskie.plans.phases import CYCLES, LAST_REVIEW, NEW_PLAN, ONE_TASK, PHASES, REVIEWS


def mermaid() -> str:
    """A state diagram: what the hook does at a stop is in [brackets]. Variants with TDD are not drawn."""
    begins = {PHASES[phase].next[0]: phase for phase in reversed(CYCLES)}
    lines = ["stateDiagram-v2", f"    [*] --> {NEW_PLAN}"]
    for review in REVIEWS.values():
        if review.phase in begins:
            lines.append(f"    {begins[review.phase]} --> {review.phase}: [stop] review 1")
        lines.append(f"    {review.phase} --> {review.post}: [block] issues, or not yet two clean in a row")
        lines.append(f"    {review.post} --> {review.phase}: [stop] next review, other model")
        when = ", tasks remain" if review.needs == ONE_TASK else ""
        lines.append(f"    {review.phase} --> {review.targets[0]}: [approve] two clean in a row{when}")
        if review.needs == ONE_TASK:
            lines.append(f"    {review.phase} --> {LAST_REVIEW}: [approve] two clean in a row, no task remains")
    return "\n".join([*lines, "    complete --> [*]"])


if __name__ == "__main__":
    print(mermaid())
