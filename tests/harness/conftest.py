"""Inner runs with the plugin, also where it is not installed."""

from __future__ import annotations

import pytest


@pytest.fixture
def pytester(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """pytest's own, with this plugin loaded in every inner run, whether in this process or another."""
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_taskie")
    return pytester
