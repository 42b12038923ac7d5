"""`taskie report`: where the page goes. Knows files; what is in the page is `reading`'s and `page`'s."""

from __future__ import annotations

import os
import stat
import sys

from taskie import project, store
from taskie.errors import USAGE_ERROR, CommandError
from taskie.plans.commands import find_plan
from taskie.plans.state import is_plan_id
from taskie.protocol import shown
from taskie.report.page import OURS, page
from taskie.report.reading import picture
from taskie.terminal import say

STDOUT = "-"


def run(*, plan: str | None, output: str | None, open_: bool) -> int:
    """Write the report of a plan, and say where it is."""
    path = find_plan(plan)
    if output == STDOUT and open_:
        raise CommandError("--open needs a file: what goes to stdout cannot be opened", USAGE_ERROR)
    target = None if output == STDOUT else os.path.join(project.here(), output or _default(os.path.basename(path)))
    if target is not None:
        _check(target)
    data = page(picture(path)).encode("utf-8", "replace")
    if target is None:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        return 0
    store.replace(target, data)
    say(shown(target, 4096))
    if open_:
        _open(target)
    return 0


def _default(plan: str) -> str:
    return f"taskie-report-{plan if is_plan_id(plan) and len(plan) <= 100 else 'plan'}.html"


def _check(target: str) -> None:
    """Only a report of ours is replaced, and never what a link leads to."""
    try:
        there = os.lstat(target)
    except OSError:
        return  # nothing there, or nowhere to write: then writing says so
    name = shown(target, 300)
    if not stat.S_ISREG(there.st_mode):
        what = "a directory" if stat.S_ISDIR(there.st_mode) else "not a regular file"
        raise CommandError(f"{name} is {what}: give --output the name of a file, or - for stdout", USAGE_ERROR)
    found = store.read_beginning(target, 1024)
    if found and found[0] and OURS.encode() not in found[0]:
        raise CommandError(f"{name} is there and is not a report of Taskie's: remove it, or give --output another name")


def _open(target: str) -> None:
    import pathlib
    import webbrowser

    if not webbrowser.open(pathlib.Path(target).as_uri()):
        raise CommandError("no browser was found to open it with; BROWSER may name one")
