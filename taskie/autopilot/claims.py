"""What an event says of a regression test or of the acceptance checks, held against the state and the spec."""

from __future__ import annotations

from taskie.autopilot import spec
from taskie.autopilot import state as states
from taskie.autopilot.table import Refused
from taskie.protocol import shown
from taskie.store import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from taskie.autopilot.state import State

MAX_CODE = 256 * 1024


def regression(event: dict[str, Any]) -> dict[str, Any] | None:
    """The test that would have caught the bug, if the event brings one."""
    given = event.get("regression")
    if given is None:
        return None
    names = ("test_file", "test_code")
    if not isinstance(given, dict) or not all(isinstance(given.get(name), str) and given[name] for name in names):
        raise Refused('regression must look like {"test_file": "tests/regression/test_x.py", "test_code": "…"}')
    name = given.get("test_name")
    if not states.is_path(given["test_file"]) or (name is not None and not states.is_path(name)):
        raise Refused("regression.test_file, and test_name if given, must be valid names")
    if len(given["test_code"]) > MAX_CODE:
        raise Refused(f"regression.test_code is longer than {MAX_CODE >> 10} KB")
    return {**{key: given[key] for key in names}, "test_name": name}


def not_captured(state: State) -> tuple[str, ...]:
    """What the person is told of a regression test that was proposed and never run."""
    proposed = state["loop"]["regression"]
    which = f": {shown(str(proposed['test_file']))} was proposed, and not run" if proposed else ""
    return (f"no regression test was captured{which}",)


def refuse_unverified(root: str, state: State) -> None:
    """Refused if the spec has acceptance checks: that they pass is seen only by running them."""
    from taskie.autopilot import acceptance

    try:
        text = spec.read(root, state["spec_path"])
    except StoreError:
        return  # `verify` could not run them either, and a spec that changes is told
    if text is not None and acceptance.checks(text) is not None:
        raise Refused(
            f"the spec {shown(state['spec_path'])} has acceptance checks, and whether they pass is not believed: "
            "`taskie autopilot verify` runs them, and goes on from there"
        )
