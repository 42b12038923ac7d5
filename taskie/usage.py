"""The parser of a command line of ours. A word that it does not know is somebody else's, too: it may hold anything."""

from __future__ import annotations

import argparse

from taskie.protocol import harmless

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn


class Parser(argparse.ArgumentParser):
    """One whose complaints do nothing to a terminal."""

    def error(self, message: str) -> NoReturn:
        super().error(harmless(message))
