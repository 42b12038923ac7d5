"""Test any hook of a coding agent as the client really runs it. The public names; the rest may change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_taskie.events import Events
    from pytest_taskie.fake_cli import Call, FakeCli
    from pytest_taskie.judgement import Reading, judge
    from pytest_taskie.running import HookResult, RunHook, assert_approved, assert_blocked
    from pytest_taskie.workspace import Plan, Project, State, make_state

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

MODULES = {
    "events": ("Events",),
    "fake_cli": ("Call", "FakeCli"),
    "judgement": ("Reading", "judge"),
    "running": ("HookResult", "RunHook", "assert_approved", "assert_blocked"),
    "workspace": ("Plan", "Project", "State", "make_state"),
}


def __getattr__(name: str) -> Any:
    # pytest imports this package in every run of everybody who has it installed: only who uses it pays.
    for module, names in MODULES.items():
        if name in names:
            from importlib import import_module

            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
