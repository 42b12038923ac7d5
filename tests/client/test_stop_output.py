"""What the client makes of a Stop hook's output, row by row, and that `judge` says the same of every row."""

from __future__ import annotations

from typing import Callable

import pytest

from pytest_taskie._judgement import Reading
from pytest_taskie.client._installation import version_numbers
from pytest_taskie.client._runs import FEEDBACK, Run

from .conftest import FIRST_STOP
from .outputs import FIRST_TRACED, OUTPUTS, Output
from .shared import SharedClient

pytestmark = pytest.mark.client


def effect(run: Run) -> str:
    """What the client did after the first stop."""
    agents = [request for request in run.requests if request.tools]
    if any("hook_stopped_continuation" in str(entry.get("attachment")) for entry in run.transcript):
        return "stopped"
    if len(agents) == 1:
        return "allowed"
    return "continued" if run.stops[0].context is not None else "blocked"


@pytest.mark.parametrize("output", OUTPUTS, ids=lambda output: output.name.replace(" ", "-"))
def test_output(
    output: Output,
    shared_client: Callable[..., SharedClient],
    judge_here: Callable[..., Reading],
    version: tuple[int, ...],
    observe: Callable[[str, object], None],
    measures: Callable[..., None],
) -> None:
    client = shared_client("Stop", FIRST_STOP)
    run = client.run(output, "go on", "Done.", "Done again.")
    observe(f"output: {output.name}", effect(run))
    if output.name == f"exit {output.exit_code}":
        measures("exits", str(output.exit_code), at="Stop", effect=effect(run))
    assert effect(run) == output.expected(version)
    assert run.stops[0].decision == ("block" if effect(run) in ("blocked", "continued") else None)
    if output.effect != "stopped":  # which beats what another field says, also where it leaves no trace
        assert bool(run.feedback) == (effect(run) in ("blocked", "continued"))

    # Before, `continue: false` left no trace of itself.
    outcome = "stopped" if output.effect == "stopped" else effect(run)
    reading = judge_here(output.exit_code, output.stdout, output.stderr, "Stop", client.command)
    assert reading.outcome == outcome
    if outcome == "blocked":
        dash = "- " if version < (2,) else ""
        assert run.feedback == (f"{FEEDBACK}{dash}{reading.reason}",)
        assert [request for request in run.requests if request.last.startswith(run.feedback[0])]
    if version >= version_numbers(FIRST_TRACED):
        assert list(run.system_messages) == ([reading.system_message] if reading.system_message else [])
