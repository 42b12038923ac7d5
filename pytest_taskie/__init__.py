"""Test any hook of a coding agent as the client really runs it. These names are public; everything else may change."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = [
    "AgentCall",
    "Call",
    "Events",
    "FakeCli",
    "FakeProgram",
    "Fakes",
    "HookResult",
    "Hooks",
    "HooksResult",
    "IgnoredHooks",
    "NotMeasured",
    "Plan",
    "PluginHooks",
    "Project",
    "Reading",
    "RunHook",
    "State",
    "Stops",
    "assert_approved",
    "assert_asked",
    "assert_blocked",
    "assert_context",
    "assert_denied",
    "assert_fast",
    "assert_granted",
    "assert_updated_input",
    "judge",
    "make_state",
]

# The fixtures live in modules of their own, so that the names here stay those of the public functions.
pytest_plugins = ["pytest_taskie._plugin", "pytest_taskie.client._fixtures"]

if TYPE_CHECKING:
    from pytest_taskie._assertions import (
        NotMeasured,
        assert_approved,
        assert_asked,
        assert_blocked,
        assert_context,
        assert_denied,
        assert_fast,
        assert_granted,
        assert_updated_input,
    )
    from pytest_taskie._events import Events
    from pytest_taskie._fake_cli import AgentCall, FakeCli
    from pytest_taskie._fake_program import Call, FakeProgram
    from pytest_taskie._fakes import Fakes
    from pytest_taskie._judgement import Reading, judge
    from pytest_taskie._merging import HooksResult
    from pytest_taskie._plugin_hooks import Hooks, IgnoredHooks, PluginHooks
    from pytest_taskie._results import HookResult
    from pytest_taskie._running import RunHook
    from pytest_taskie._stopping import Stops
    from pytest_taskie._workspace import Plan, Project, State, make_state
else:
    # pytest imports this package in every run of everybody who has it installed: only those who use it pay.
    _MODULES = {
        "_assertions": (
            *("assert_approved", "assert_asked", "assert_blocked", "assert_context"),
            *("assert_denied", "assert_fast", "assert_granted", "assert_updated_input", "NotMeasured"),
        ),
        "_events": ("Events",),
        "_fake_cli": ("AgentCall", "FakeCli"),
        "_fake_program": ("Call", "FakeProgram"),
        "_fakes": ("Fakes",),
        "_judgement": ("Reading", "judge"),
        "_merging": ("HooksResult",),
        "_plugin_hooks": ("Hooks", "IgnoredHooks", "PluginHooks"),
        "_results": ("HookResult",),
        "_running": ("RunHook",),
        "_stopping": ("Stops",),
        "_workspace": ("Plan", "Project", "State", "make_state"),
    }

    def _lazy(package, modules):
        """The `__getattr__` of a package that imports a module when one of its names is first used."""

        def load(name):
            for module, names in modules.items():
                if name in names:
                    from importlib import import_module

                    return getattr(import_module(f"{package}.{module}"), name)
            raise AttributeError(f"module {package!r} has no attribute {name!r}")

        return load

    __getattr__ = _lazy(__name__, _MODULES)
