"""The loop's decisions do not depend on how the hook is started: that is tried in `hook/` and `acceptance/`."""

from __future__ import annotations

import pytest
from support.stopping import Stops

from pytest_taskie import Events, Project, RunHook


@pytest.fixture
def run_hook(project: Project, run_hook: RunHook, events: Events) -> RunHook:
    """The hook in this process; as one of its own where a test names its command or runs two at once."""
    return Stops(project, run_hook, events)
