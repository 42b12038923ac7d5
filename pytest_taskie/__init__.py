"""Test any hook of a coding agent as the client really runs it. The public names; the rest may change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_taskie.events import Events
from pytest_taskie.judgement import Reading, judge
from pytest_taskie.running import HookResult, RunHook, assert_approved, assert_blocked
from pytest_taskie.workspace import Plan, Project, State, make_state

if TYPE_CHECKING:
    from pytest_taskie.fake_cli import Call, FakeCli

__all__ = [
    "Call",
    "Events",
    "FakeCli",
    "HookResult",
    "Plan",
    "Project",
    "Reading",
    "RunHook",
    "State",
    "assert_approved",
    "assert_blocked",
    "judge",
    "make_state",
]

# The fixtures live in modules of their own, so that the names here stay those of the public functions.
pytest_plugins = ["pytest_taskie.client.fixtures", "pytest_taskie.plugin"]


def __getattr__(name: str) -> Any:
    # The fakes import taskie: only who names them pays for that.
    if name in ("Call", "FakeCli"):
        from pytest_taskie import fake_cli

        return getattr(fake_cli, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
