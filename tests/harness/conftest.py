"""Inner runs with the plugin, also where it is not installed."""

from __future__ import annotations

import pytest


@pytest.fixture
def pytester(pytester: pytest.Pytester) -> pytest.Pytester:
    """pytest's own, with this plugin loaded and no file of an earlier run in the way."""
    pytester.plugins.append("pytest_taskie")
    return pytester
