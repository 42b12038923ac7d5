"""Answers of a reviewer, in the shapes in which they really arrive."""

from __future__ import annotations

import json
from typing import Any

PASS: dict[str, Any] = {"status": "pass", "violations": []}
ISSUE: dict[str, Any] = {"file": "code.py", "line": 1, "issue": "x is not used", "fix": "remove it", "priority": "high"}
FAIL: dict[str, Any] = {"status": "fail", "violations": [ISSUE]}


def client(answer: dict[str, Any]) -> dict[str, Any]:
    """As the real client prints it."""
    return {"type": "result", "is_error": False, "result": json.dumps(answer), "structured_output": answer}


# The same answer in every shape that is understood.
ANSWERS = {
    "structured": client(FAIL),
    "result object": {"result": FAIL},
    "result text": {"is_error": False, "result": json.dumps(FAIL)},
    "fenced result": {"result": f"I have looked.\n\n```json\n{json.dumps(FAIL, indent=2)}\n```\nThat is all."},
    "plain": json.dumps(FAIL),
    "fenced": f"```json\n{json.dumps(FAIL, indent=2)}\n```\n",
    "prose": f"Let me think {{about}} it. {json.dumps(FAIL)} Done.",
    "the last counts": f"{json.dumps(PASS)}\nOn second thought:\n{json.dumps(FAIL)}",
}
USELESS = {
    "nothing": "",
    "prose": "It looks fine to me.",
    "no status": '{"violations": []}',
    "another status": '{"status": "maybe", "violations": []}',
    "an error": {"is_error": True, "result": "overloaded"},
    "cut off": '{"status": "fail", "violations": [{"file":',
}
