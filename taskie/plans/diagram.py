"""The loop as a picture for the documentation, drawn from the table: `python3 -m taskie.plans.diagram`."""

from __future__ import annotations

from taskie.plans.phases import LAST_REVIEW, ONE_TASK, REVIEWS

# The action that begins each review cycle; the last cycle begins by itself.
BEGINS = {"plan-review": "new-plan", "tasks-review": "create-tasks", "code-review": "complete-task"}


def mermaid() -> str:
    """A state diagram: what the hook does at a stop is in [brackets]."""
    lines = ["stateDiagram-v2", f"    [*] --> {BEGINS['plan-review']}"]
    for review in REVIEWS.values():
        if review.phase in BEGINS:
            lines.append(f"    {BEGINS[review.phase]} --> {review.phase}: [stop] review 1")
        lines.append(f"    {review.phase} --> {review.post}: [block] issues, or not yet two clean in a row")
        lines.append(f"    {review.post} --> {review.phase}: [stop] next review, other model")
        when = ", tasks remain" if review.needs == ONE_TASK else ""
        lines.append(f"    {review.phase} --> {review.targets[0]}: [approve] two clean in a row{when}")
        if review.needs == ONE_TASK:
            lines.append(f"    {review.phase} --> {LAST_REVIEW}: [approve] two clean in a row, no task remains")
    return "\n".join([*lines, "    complete --> [*]"])


if __name__ == "__main__":
    print(mermaid())
