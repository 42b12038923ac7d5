"""Steps `verify_smoke` and `verify_func`: the spec's acceptance checks. They never block a task."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from taskie.autopilot import acceptance, advance, loop, spec, verifying
from taskie.autopilot import state as states
from taskie.autopilot.table import check
from taskie.protocol import shown
from taskie.store import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from taskie.autopilot.acceptance import Checks

WAIT = 5.0  # before a smoke check is tried again


def verify(root: str, env: Mapping[str, str], warn: Callable[[str], None], wait: float = WAIT) -> dict[str, Any]:
    """Go as far as the checks alone lead: smoke checks with their retries, then the functional ones."""
    state = states.need(root)
    at = loop.at_hand(state).step
    if at not in ("verify_smoke", "verify_func"):
        check(loop.at_hand(state), "verify_smoke")
    found = _checks(root, state["spec_path"], warn)
    while True:
        result, notes = _run(at, found, root, env, warn)
        answer = advance.advance(root, {"step": at, "result": result}, env, warn, notes=notes)
        if answer["next"] not in ("verify_smoke", "verify_func"):
            return answer
        if answer["next"] == at:
            warn(f"Trying again in {wait:g} s.")
            time.sleep(wait)
        at = answer["next"]


def _checks(root: str, path: str, warn: Callable[[str], None]) -> Checks | None:
    try:
        text = spec.read(root, path)
    except StoreError as error:
        warn(f"nothing is verified: {error}")
        return None
    if text is None:
        warn(f"nothing is verified: there is no {shown(path)} in {root}")
        return None
    return acceptance.checks(text)


def _run(
    step: str, found: Checks | None, root: str, env: Mapping[str, str], warn: Callable[[str], None]
) -> tuple[str, tuple[str, ...]]:
    """The step's result, and a line for each check that failed or could not be judged."""
    if found is None:
        # The functional checks have no `skip`: by then there were some, and somebody has taken them out.
        return ("skip" if step == "verify_smoke" else "pass"), ()
    verified = verifying.run(found[0 if step == "verify_smoke" else 1], cwd=root, env=env)
    notes = []
    for each in verified:
        outcome = "FAIL" if not each.passed else "unchecked" if each.unchecked else "PASS"
        line = f"{outcome}: {shown(each.check.id)} {shown(each.check.name)}" + (f": {each.why}" if each.why else "")
        warn(line)
        if outcome != "PASS":
            notes.append(line)
    return ("pass" if all(each.passed for each in verified) else "fail"), tuple(notes)
