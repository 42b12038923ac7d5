"""The client's loop without the client: events, hooks and tools for real. Imported when a test asks for it."""

from pytest_taskie.simulated._client import SimulatedClient
from pytest_taskie.simulated._refusing import NotMeasuredHere

__all__ = ["NotMeasuredHere", "SimulatedClient"]
