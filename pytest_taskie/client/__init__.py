"""The real client in a test: the words for scripts. Nothing is imported until one of them is used."""

from __future__ import annotations

from pytest_taskie.client.script import api_error, delay, repeat, structured, tool, verdict

__all__ = ["api_error", "delay", "repeat", "structured", "tool", "verdict"]
