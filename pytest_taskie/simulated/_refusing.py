"""What the simulation does when nobody has measured what the client would do: it says so, and does not guess."""

from __future__ import annotations

from pytest_taskie._assertions import NotMeasured


class NotMeasuredHere(NotMeasured):
    """The simulation does not know what the client would do next. The message says what to do instead."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}: not measured, so it is not simulated; run this test in the real client")
