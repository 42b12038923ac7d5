"""What a failed comparison of a state or a result prints: what differs, field by field."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_taskie._results import HookResult
from pytest_taskie._workspace import State, same_json


def explain(left: object, right: object) -> list[str] | None:
    """Lines for pytest, or None unless this is a comparison with a dictionary."""
    if isinstance(right, (State, HookResult)):
        left, right = right, left
    if not isinstance(right, dict):
        return None
    if isinstance(left, State):
        try:
            found = left.read()
        except (OSError, ValueError) as error:
            return [f"the state of plan {left.path.parent.name} cannot be read: {error}"]
        return [f"the state of plan {left.path.parent.name} is not as expected", *_differences(found, right)]
    if isinstance(left, HookResult):
        found = left.json
        lines = ["the hook's output is not as expected"]
        if found is not None:
            lines += _differences(found, right)
        return [*lines, *left.report().split("\n")]
    return None


def _differences(found: object, expected: Mapping[str, Any]) -> list[str]:
    if not isinstance(found, dict):
        return [f"it is {json.dumps(found)}, not an object"]
    lines = []
    for name in sorted({*found, *expected}):
        if name not in found:
            lines.append(f"{name}: missing, expected {_shown(expected[name])}")
        elif name not in expected:
            lines.append(f"{name}: {_shown(found[name])}, not expected at all")
        elif not same_json(found[name], expected[name]):
            lines.append(f"{name}: {_shown(found[name])}, expected {_shown(expected[name])}")
    return lines


def _shown(value: object) -> str:
    return json.dumps(value, default=repr)
