"""The rules for a plan's files, numbered as in the documentation. Takes names and text, returns sentences."""

from __future__ import annotations

import re

from taskie.plans.phases import REVIEWS
from taskie.protocol import shown

NO_PLAN = "Missing required file: plan.md"

_ID = "[A-Za-z0-9_-]+"
_DOCUMENTS = ("plan", "design", "tasks")
_SUBJECTS = dict.fromkeys((*_DOCUMENTS, *(review.subject.format(task=_ID) for review in REVIEWS.values())))
# Compiled only when they are used, which a stop with a review does not.
_KNOWN = rf"(?:{'|'.join(_DOCUMENTS)}|task-{_ID}|(?:{'|'.join(_SUBJECTS)})-(?:post-)?review-[0-9]+)\.md"
_BASED_REVIEW = rf"({'|'.join(_DOCUMENTS)})-review-[0-9]+\.md"
_POST_REVIEW = r"(.+)-post-review-([0-9]+)\.md"


def violations(names: list[str], nested: bool, tasks: str | None) -> list[str]:
    """Everything that is wrong with a plan that has these Markdown files and this `tasks.md`, if it can be read."""
    there = set(names)
    known = [name for name in names if re.fullmatch(_KNOWN, name)]
    found = []
    if "plan.md" not in there:
        found.append(NO_PLAN)
    found += [f"Invalid filename: {shown(name)}" for name in names if name not in known]
    if nested:
        found.append("Files found in nested directories")
    for name in known:
        review = re.fullmatch(_BASED_REVIEW, name)
        if review and f"{review[1]}.md" not in there:
            found.append(f"{name} requires {review[1]}.md")
    for name in known:
        post = re.fullmatch(_POST_REVIEW, name)
        if post and f"{post[1]}-review-{post[2]}.md" not in there:
            found.append(f"{name} requires {post[1]}-review-{post[2]}.md")
    if "tasks.md" not in there:
        if any(name.startswith("task-") for name in known):
            found.append("Task files exist but tasks.md is missing")
    elif tasks is not None:
        lines = [line.rstrip() for line in tasks.splitlines() if line.strip()]
        if not lines:
            found.append("tasks.md has no table rows")
        elif not all(line.startswith("|") and line.endswith("|") for line in lines):
            found.append("tasks.md contains non-table content")
    return found
