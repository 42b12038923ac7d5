"""What is installed in the working tree and ignored by git, lent by links to a checkout of it. Copies and runs nothing.

`node_modules` becomes a directory of links, one for each package, so that what a tool writes beside them stays there.
A package that is the repository's own is the checkout's. An environment of Python is one link: nothing of it is
made again. `vendor` is not lent: what is in there finds the repository's own files from where it really is.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from taskie.project import is_inside

if TYPE_CHECKING:
    from collections.abc import Iterable

    from taskie.git import Git

PACKAGES = "node_modules"
_PROGRAMS = ".bin"
_ENVIRONMENT = "pyvenv.cfg"


class Lent:
    """What was lent, so that it can be taken back. Nothing that a link leads to is ever touched."""

    def __init__(self, top: str, place: str) -> None:
        self._top = os.path.realpath(top)
        self._place = os.path.realpath(place)
        self._links: list[str] = []
        self.own: set[str] = set()  # names under which the repository's own packages are imported
        self.pythons: list[str] = []

    def lend(self, git: Git) -> None:
        """All that git ignores in the working tree and the checkout has a place for."""
        ignored = git("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
        for path in _installed(os.fsdecode(each) for each in ignored.split(b"\0")):
            here, there = os.path.join(self._top, path), os.path.join(self._place, path)
            parent = os.path.dirname(there)
            if os.path.realpath(parent) != parent or not os.path.isdir(parent) or os.path.islink(there):
                continue  # a committed link must not lead us anywhere else
            if os.path.basename(path) == PACKAGES and os.path.isdir(here):
                self._packages(here, there, "")
            elif os.path.isfile(os.path.join(here, _ENVIRONMENT)) and not os.path.lexists(there):
                self._link(os.path.realpath(here), there)
                self.pythons.append(os.path.join(there, "bin", "python"))

    def take_back(self) -> None:
        """Before anything else is deleted: what deletes a tree may follow a link in its need, to change a mode."""
        for link in self._links:
            if os.path.islink(link):
                os.unlink(link)

    def _packages(self, here: str, there: str, scope: str) -> None:
        os.makedirs(there, exist_ok=True)
        for entry in os.scandir(here):
            inner = os.path.join(there, entry.name)
            if entry.name.startswith(("@", _PROGRAMS)) and entry.is_dir(follow_symlinks=False):
                self._packages(entry.path, inner, f"{entry.name}/")
            elif not entry.name.startswith(".") and not os.path.lexists(inner):  # caches and notes begin with a dot
                self._package(entry.path, inner, scope + entry.name)

    def _package(self, here: str, there: str, name: str) -> None:
        real = os.path.realpath(here)
        inner = os.path.relpath(real, self._top)
        if is_inside(self._top, real) and PACKAGES not in inner.split(os.sep):
            self.own.add(name)
            real = os.path.join(self._place, inner)
        if os.path.exists(real):
            self._link(real, there)

    def _link(self, target: str, link: str) -> None:
        os.symlink(target, link)
        self._links.append(link)


def _installed(ignored: Iterable[str]) -> list[str]:
    """The directories of packages, whether git names them or what is in them, and what else may be installed."""
    found = set()
    for path in ignored:
        parts = path.rstrip("/").split("/")
        if PACKAGES in parts:
            found.add("/".join(parts[: parts.index(PACKAGES) + 1]))
        elif path.endswith("/"):
            found.add(path.rstrip("/"))
    return sorted(found)
