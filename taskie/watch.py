"""`taskie watch`: what runs now in a plan, in one line that follows it. It only looks, and writes no file."""

from __future__ import annotations

import os
import shutil
import sys
import time
import unicodedata
from typing import TYPE_CHECKING

from taskie.errors import CommandError
from taskie.plans import files, glance, journal
from taskie.plans.commands import find_plan
from taskie.protocol import shown
from taskie.terminal import redraw, say

if TYPE_CHECKING:
    from taskie.plans.glance import Glance
    from taskie.plans.journal import Entry, Running

EVERY = 1.0  # seconds between two looks


def run(*, plan: str | None, once: bool) -> int:
    """Follow the plan until Ctrl-C, or until it is gone."""
    path = find_plan(plan)
    if once:
        say(_words(glance.look(path), _last(path), time.time()))
        return 0
    follow = _on_a_terminal if sys.stdout.isatty() else _by_lines
    return follow(path, plan is None)


def _on_a_terminal(path: str, newest: bool) -> int:
    """One line, written over at every look; a person's own lines above it stay."""
    try:
        while True:
            began = time.monotonic()
            path = _there(path, newest)
            line = _fitting(_words(glance.look(path), _last(path), time.time()), _columns() - 1)
            redraw(line)
            _rest(began)
    finally:
        say(flush=True)  # whatever comes next begins on a line of its own


def _by_lines(path: str, newest: bool) -> int:
    """A line when something has changed. How long it has been running changes all the time, so it is not said."""
    said = None
    while True:
        began = time.monotonic()
        path = _there(path, newest)
        found, last = glance.look(path), _last(path)
        if (found, last) != said:
            said = found, last
            say(f"{time.strftime('%H:%M:%S')} {_words(found, last, None)}", flush=True)
        _rest(began)


def _rest(began: float) -> None:
    """Until the next look. Where a look takes long, as among thousands of plans, there are fewer."""
    time.sleep(max(EVERY, 10 * (time.monotonic() - began)))


def _there(path: str, newest: bool) -> str:
    """The plan to look at now: the newest may be another one by now."""
    if newest:
        plans = os.path.dirname(path)
        name = files.newest_plan(plans)
        if name is not None:
            return os.path.join(plans, name)
    if not os.path.isdir(path):
        raise CommandError(f"the plan {shown(os.path.basename(path))!r} is gone")
    return path


def _last(path: str) -> Entry | None:
    entries = journal.read(path).entries
    return entries[-1] if entries else None


def _words(found: Glance, last: Entry | None, now: float | None) -> str:
    """`now` is the time at which it is read, None where it must hold for longer than a moment."""
    name = shown(found.plan, 40)
    if found.running is not None:
        return f"{name}: reviewing: {_running(found.running, now)}"
    before = f" (last: {glance.last(last)})" if last else ""
    return f"{name}: {glance.waits_for(found)}{before}"


def _running(running: Running, now: float | None) -> str:
    what = glance.title(running.review, running.iteration, running.task, running.limit)
    parts = [f"{what} ({shown(running.model, 40)})"]
    began, until = glance.epoch(running.at), glance.epoch(running.deadline)
    if began is not None:
        parts.append(f"since {glance.clock(began)}" + (f" ({glance.duration(max(0.0, now - began))})" if now else ""))
    if until is not None:
        left = f" ({glance.duration(max(0.0, until - now))} left)" if now else ""
        parts.append(f"until {glance.clock(until)}{left}")
    return ", ".join(parts)


def _columns() -> int:
    """The terminal's own width, which changes; COLUMNS is what it was when the shell started us."""
    try:
        return os.get_terminal_size(sys.stdout.fileno()).columns or shutil.get_terminal_size().columns
    except OSError:
        return shutil.get_terminal_size().columns


def _fitting(line: str, width: int) -> str:
    """What fits into the terminal's width: a line that wraps could not be written over."""
    at = 0
    for index, letter in enumerate(line):
        wide = 0 if unicodedata.combining(letter) else 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if at + wide > max(1, width):
            return line[: max(0, index - 1)] + "…"
        at += wide
    return line
