"""A process of ours beside one that takes long: it ends that one, and its group, should we be killed. Knows no program.

A keeper does more, from the start, and costs more; this is for what is short but for the times when it is not.
"""

from __future__ import annotations

import os
import select
import signal

from taskie.keeper import ABANDONED, leave
from taskie.signals import ENDING
from taskie.spawning import descriptors
from taskie.store import close

DISMISSED = b"."


class Watchman:
    """Watches over a child of ours that leads its group, until it is dismissed. Where no process can be made, nobody
    does."""

    def __init__(self, leader: int) -> None:
        heard, self._held = os.pipe()
        try:
            self._number = os.fork()
        except OSError:
            close(heard)
            close(self._held)
            self._held = -1
            return
        if self._number:
            close(heard)
            return
        try:
            _watch(leader, heard)
        finally:
            leave(0)

    def dismiss(self) -> None:
        """The child has ended, and been reaped."""
        if self._held < 0:
            return
        try:
            os.write(self._held, DISMISSED)
        except OSError:
            pass  # somebody has ended it
        close(self._held)
        self._held = -1
        try:
            os.waitpid(self._number, 0)
        except ChildProcessError:
            pass  # whoever has started us ignores SIGCHLD


def _watch(leader: int, heard: int) -> None:
    os.setsid()
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)
    try:
        leading = os.pidfd_open(leader)  # its number may be another's once we are gone
    except (AttributeError, OSError):
        leading = -1
    for fd in descriptors():
        if fd not in (heard, leading):
            close(fd)
    if os.read(heard, 1) == DISMISSED:
        return
    for number, patience in ((signal.SIGTERM, ABANDONED), (signal.SIGKILL, 0.0)):
        if leading >= 0 and select.select([leading], [], [], 0)[0]:
            return
        try:
            os.killpg(leader, number)
        except OSError:
            return  # it has ended
        select.select([leading] if leading >= 0 else [], [], [], patience)
