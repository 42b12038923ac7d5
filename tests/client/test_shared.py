"""One test, simulated and in the real client: what a page of the documentation shows."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_taskie import Project
from pytest_taskie.client import tool

pytestmark = [pytest.mark.client, pytest.mark.in_both]


def test_a_loop(claude_client: Any, project: Project) -> None:
    (project.path / "FAILING").touch()
    client = claude_client(hooks={"Stop": "[ ! -e FAILING ] || { echo FAILING is there >&2; exit 2; }"})
    client.agent("Done.", tool("Bash", command="rm FAILING", description="Mend it"), "Now it is done.")
    run = client.prompt("Mend it.")
    assert [(stop.decision, stop.active) for stop in run.stops] == [("block", False), (None, True)]
    assert run.landed("FAILING is there")
    assert run.answer == "Now it is done."
