"""What the client makes of a Stop hook's output, row by row, and that `judge` says the same of every row."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie._judgement import judge
from pytest_taskie.client import repeat
from pytest_taskie.client._runs import FEEDBACK, Run

from .outputs import OUTPUTS, Output

pytestmark = pytest.mark.client


def printing(output: Output, folder: Path, hook_file: Callable[..., str]) -> str:
    """The command of a hook that prints exactly this."""
    for name in ("stdout", "stderr"):
        (folder / name).write_bytes(getattr(output, name).encode())
    return hook_file(f"cat {folder}/stdout; cat {folder}/stderr >&2; exit {output.exit_code}")


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
    claude_client: Any,
    hook_file: Callable[..., str],
    tmp_path: Path,
    version: tuple[int, ...],
    observe: Callable[[str, object], None],
) -> None:
    command = printing(output, tmp_path, hook_file)
    client = claude_client(hooks={"Stop": command})
    client.agent("Done.", repeat("Done again."))
    run = client.prompt("go on")
    observe(f"output: {output.name}", effect(run))
    assert run.exit_code == 0
    assert effect(run) == output.expected(version)
    assert run.stops[0].decision == ("block" if effect(run) in ("blocked", "continued") else None)
    if effect(run) != "stopped":  # which beats what another field says
        assert bool(run.feedback) == (effect(run) in ("blocked", "continued"))

    if output.expected(version) == output.effect:
        reading = judge(output.exit_code, output.stdout, output.stderr, "Stop", command)
        assert reading.outcome == output.effect
        if output.effect == "blocked":
            dash = "- " if version < (2,) else ""
            assert run.feedback == (f"{FEEDBACK}{dash}{reading.reason}",)
            assert [request for request in run.requests if request.last.startswith(run.feedback[0])]
        if version >= (2, 1):
            assert list(run.system_messages) == ([reading.system_message] if reading.system_message else [])
