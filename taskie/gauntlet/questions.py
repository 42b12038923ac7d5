"""The words that a reviewer reads: the review's prompt, how to answer, what is settled or to be verified, the diff."""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from taskie.gauntlet.settled import Violation

ANSWER = """\
Answer with one JSON object and nothing else:
{"status": "pass" or "fail", "violations": [{"file": "path", "line": 1, "issue": "what is wrong", \
"fix": "how to fix it", "priority": "critical" or "high" or "medium" or "low"}]}
"pass" means that nothing has to be changed. Read files if you need to; change nothing.
"""
VERIFY = """\
This has been reviewed before, and the review found the violations below. The author has answered each: "fixed" with a \
result that says how, or "new" if there is no answer yet. Verify each one in the files as they are now, whatever the \
answer claims. Report it again, word for word, if it is still there; leave it out if it has been fixed.
"""
ONLY_NEW = """\
Do not review everything again. Report a new violation only if it is in the changes below, which were made since then, \
and only if it matters.
"""
SETTLED = """\
These are settled: the author has decided against a change, for the reason given in "result". Do not report them \
again, neither in these words nor in others.
"""


def question(
    prompt: str, verified: Sequence[Violation], accepted: Sequence[Violation], diff: str, *, since: bool
) -> str:
    """Everything. `since`: the diff is what has changed since the last verdict, not since the base."""
    parts = [prompt, ANSWER]
    if verified:
        parts.append(VERIFY + _listed(verified, "file", "line", "issue", "status", "result"))
    if since:
        parts.append(ONLY_NEW)
    if accepted:
        parts.append(SETTLED + _listed(accepted, "file", "line", "issue", "result"))
    title = "What has changed since that review" if since else "The changes"
    nothing = "(nothing; look at the files themselves)" if since else "(no difference from the base; look at the files)"
    parts.append(f"{title}:\n\n{diff or nothing}\n")
    return "\n\n".join(parts)


def _listed(violations: Sequence[Violation], *fields: str) -> str:
    return json.dumps([{name: each.get(name) for name in fields} for each in violations], indent=1) + "\n"
