"""Which processes a program has started, from the system's table of processes. Knows no keeper.

Imported only where something is left running.
"""

from __future__ import annotations

import os
import signal
import time

from taskie.store import close
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PATIENCE = 2.0  # seconds for `ps`, and for what the kernel itself cannot end


class Process(Value):
    """One line of the process table."""

    number: int
    parent: int
    group: int
    ended: bool


def below(ancestor: int) -> set[int]:
    """The descendants of a living process, by parent links."""
    try:
        return _children(ancestor)
    except OSError:  # the kernel keeps no lists of children
        found = {process.number: process for process in _processes(ancestor)}
        return {number for number in found if ancestor in _ancestry(number, found)} - {ancestor}


def related(leader: int, mark: str) -> set[int]:
    """The living ones in the leader's group, below it by parent links, or with the mark in their environment.

    The mark finds what has left the group and lost its parent; the links what has cleared its environment.
    """
    found = {process.number: process for process in _processes(leader)}
    return {
        number
        for number, process in found.items()
        if not process.ended
        and (process.group == leader or leader in _ancestry(number, found) or _marked(number, mark))
    }


def end(leader: int, mark: str, grace: float) -> None:
    """SIGTERM to all that can be found, SIGKILL to what is left after the grace."""
    number, until = signal.SIGTERM, float("inf")
    signalled: set[int] = set()
    while alive := related(leader, mark):
        if time.monotonic() >= until:
            if number is signal.SIGKILL:
                return  # the kernel itself cannot end it now
            number, until = signal.SIGKILL, float("inf")
            signalled.clear()
        send(number, alive - signalled)
        signalled |= alive
        # From the first signal on, however slow the look around was.
        until = min(until, time.monotonic() + (PATIENCE if number is signal.SIGKILL else grace))
        time.sleep(0.01)


def send(number: int, processes: set[int]) -> None:
    """A signal to each of them that is still there."""
    for process in processes:
        try:
            os.kill(process, number)
        except OSError:
            pass  # gone meanwhile


def _children(ancestor: int) -> set[int]:
    """By the kernel's own lists: they cost nothing for processes of others, so that they can be read in quick turns."""
    found: set[int] = set()
    waiting = [ancestor]
    while waiting:
        number = waiting.pop()
        try:
            threads = os.listdir(f"/proc/{number}/task")
        except OSError:
            if number == ancestor:
                raise
            continue  # gone meanwhile
        for thread in threads:
            try:
                listed = _content(f"/proc/{number}/task/{thread}/children")
            except OSError:
                if number == ancestor:
                    raise
                continue
            new = {int(child) for child in listed.split()} - found
            found |= new
            waiting += new
    return found


def _marked(number: int, mark: str) -> bool:
    try:
        with open(f"/proc/{number}/environ", "rb") as file:
            return mark.encode() in file.read()
    except OSError:
        return False


def _ancestry(number: int, found: Mapping[int, Process]) -> set[int]:
    """A process and its ancestors."""
    line: set[int] = set()
    while number in found and number not in line:
        line.add(number)
        number = found[number].parent
    return line


def _processes(first: int) -> Iterator[Process]:
    """Those that are not older than the first, since they alone can be its descendants; all where ages are unknown."""
    try:
        numbers = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        numbers = []
    oldest = _stat(str(first))
    since = int(oldest[19]) if oldest else 0
    for number in numbers:
        fields = _stat(number)
        if fields and int(fields[19]) >= since:
            yield Process(int(number), int(fields[1]), int(fields[2]), fields[0] in (b"Z", b"X"))
    if not numbers:
        yield from _processes_by_ps()


def _stat(number: str) -> list[bytes]:
    """The fields after the name; none if it is gone."""
    try:
        return _content(f"/proc/{number}/stat").rpartition(b")")[2].split()
    except OSError:
        return []


def _content(path: str) -> bytes:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)  # a stream takes three times as long
    try:
        data = b""
        while chunk := os.read(fd, 65536):
            data += chunk
        return data
    finally:
        close(fd)


def _processes_by_ps() -> Iterator[Process]:
    import subprocess

    try:
        listing = subprocess.run(
            ["/bin/ps", "-axo", "pid=,ppid=,pgid=,stat="], capture_output=True, timeout=PATIENCE, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return
    for line in listing.splitlines():
        number, parent, group, status = line.split()[:4]
        yield Process(int(number), int(parent), int(group), status.startswith(b"Z"))
