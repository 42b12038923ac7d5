"""Plans to look at: one in the middle of its work with a journal, as a person would have it, and its parts."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_taskie import Plan, Project

NAMES = {"1": "done", "2": "done (4f2a9c1)", "3": "in-progress", "4": "pending"}
HEADINGS = {
    "1": "Read the configuration once",
    "2": "Greet in three languages",
    "3": "Fall back when a language is unknown",
    "4": "Document the command line",
}
REVIEW = """# Review of {what}

**Verdict: {verdict}.** I ran `python -m pytest -q` (41 passed) and read every file that the task names.

## What is wrong

1. `greet()` in `greeting/core.py` drops the *title* when the name is empty.
2. The table below says `fr`, the code says `FR`:

| language | key |
|---|---|
| French | `fr` |
| German | `de` |

```python
def greet(name: str, language: str = "en") -> str:
    return TEMPLATES[language].format(name=name)  # KeyError for an unknown language
```

## What is good

- [x] Every subtask has a test that fails without it
- [ ] The README mentions the fallback
  - it names `--language`, but not what happens for one that is unknown
"""
ANSWER = """# Answer to the review

- Point 1: fixed, with a test for the empty name.
- Point 2: rejected: keys are normalised in `languages.py` before they are looked up.
"""
FINDING = {
    "severity": "major",
    "file": "greeting/core.py",
    "line": 41,
    "what": "An unknown language raises KeyError instead of falling back to English.",
    "evidence": "greet('Ada', 'xx') -> KeyError: 'xx'",
}


def entry(**fields: Any) -> dict[str, Any]:
    """A line of the journal, every field there."""
    usual = {
        "at": "2026-11-16T09:00:00Z",
        "review": "plan-review",
        "task": None,
        "iteration": 1,
        "limit": 8,
        "model": "opus",
        "verdict": "PASS",
        "problem": None,
        "seconds": 41.2,
        "turns": 7,
        "cost_usd": 0.37,
        "tokens": {"input": 1200, "output": 3400, "cache_read": 51000, "cache_write": 8000},
        "file": None,
        "session": "0b1c",
        "findings": None,
    }
    return {**usual, **fields}


def write_journal(plan: Path, entries: list[dict[str, Any]]) -> None:
    (plan / "reviews.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in entries))


# When, what, task, iteration, model, verdict, seconds, cost.
HELD = (
    ("16T09:02:10", "plan-review", None, 1, "opus", "FAIL", 128, 0.61),
    ("16T09:11:40", "plan-review", None, 2, "sonnet", "FAIL", 74, 0.22),
    ("16T09:19:05", "plan-review", None, 3, "opus", "PASS", 96, 0.48),
    ("16T09:23:30", "plan-review", None, 4, "sonnet", "PASS", 61, 0.19),
    ("16T09:41:00", "tasks-review", None, 1, "opus", "PASS", 83, 0.44),
    ("16T09:45:20", "tasks-review", None, 2, "sonnet", "PASS", 52, 0.17),
    ("16T10:30:00", "code-review", "1", 1, "opus", "FAIL", 240, 1.12),
    ("16T10:52:00", "code-review", "1", 2, "sonnet", "PASS", 133, 0.35),
    ("16T10:58:30", "code-review", "1", 3, "opus", "PASS", 171, 0.84),
    ("17T08:40:00", "code-review", "2", 1, "opus", "PASS", 149, 0.77),
    ("17T08:46:10", "code-review", "2", 2, "sonnet", None, 300, None),
    ("17T08:55:00", "code-review", "2", 2, "sonnet", "PASS", 98, 0.29),
    ("17T09:31:00", "code-review", "3", 1, "opus", "FAIL", 187, 0.93),
)


def in_the_middle(project: Project, name: str = "three-greetings") -> Plan:
    """A plan of four tasks; the third has failed its first review."""
    plan = project.make_plan(
        name,
        tasks=NAMES,
        state={
            "phase": "code-review",
            "next_phase": "post-code-review",
            "phase_iteration": 1,
            "current_task": "3",
            "max_reviews": 8,
        },
    )
    (plan.path / "plan.md").write_text("# Three greetings\n\n## Overview\n\nA command line that greets.\n")
    for number, heading in HEADINGS.items():
        text = f"# {heading}\n\n### Subtask {number}.1\n- **Status**: {NAMES[number]}\n"
        (plan.path / f"task-{number}.md").write_text(text)
    entries = []
    for at, review, task, iteration, model, verdict, seconds, cost in HELD:
        subject = f"task-{task}" if task else review.removesuffix("-review")
        file = f"{subject}-review-{iteration}.md" if verdict else None
        findings: list[dict[str, Any]] | None = None
        if file:
            what = f"task {task}" if task else subject
            (plan.path / file).write_text(REVIEW.format(what=what, verdict=verdict))
            if (review, task) != ("code-review", "3"):
                (plan.path / file.replace("-review-", "-post-review-")).write_text(ANSWER)
            findings = [FINDING, {**FINDING, "severity": "minor", "line": 7}] if verdict == "FAIL" else []
        entries.append(
            entry(
                at=f"2026-11-{at}Z",
                review=review,
                task=task,
                iteration=iteration,
                model=model,
                verdict=verdict,
                seconds=seconds,
                cost_usd=cost,
                file=file,
                problem=None if verdict else "The reviewer did not answer within 300 seconds",
                findings=findings,
            )
        )
    write_journal(plan.path, entries)
    return plan
