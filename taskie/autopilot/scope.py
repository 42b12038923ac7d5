"""Does a failing test belong to what was changed? Compares paths, reads nothing."""

from __future__ import annotations

import posixpath
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

_FILE = re.compile(r"[^\s()]+\.[a-z]{1,4}")  # with no directory before it; `tests.test_a.TestA` is a name
_TEST_MARKS = ("test_", "_test", ".test", ".spec", "-test")

TITLE = "test: "  # before a test's name that is no path, whatever it looks like


def in_scope(failure: object, files: Iterable[str], root: str) -> bool:
    """Whether a failing test's id belongs to a changed file. To be safe, an id without a path in the root does."""
    path = _path(failure, root)
    if path is None:
        return True
    tested = _tested_module(path)
    for file in files:
        if path == file or path.startswith(f"{posixpath.dirname(file)}/"):
            return True
        if tested is not None and tested == _module(file):
            return True
    return False


def _path(failure: object, root: str) -> str | None:
    if not isinstance(failure, str):
        return None
    path = failure.partition("::")[0].strip()
    if path.startswith(TITLE) or ("/" not in path and not _FILE.fullmatch(path)):
        return None  # the name of a test, which does not name its file
    path = posixpath.relpath(posixpath.join(root, path), root)
    return None if path.partition("/")[0] == ".." else path


def _tested_module(path: str) -> str | None:
    """The module that a test file is named after: `service` for test_service.py; None for other files."""
    stem = _stem(path)
    for mark in _TEST_MARKS:
        if mark.endswith("_") and stem.startswith(mark):
            return stem[len(mark) :]
        if stem.endswith(mark):
            return stem[: -len(mark)]
    return None


def _module(file: str) -> str:
    stem = _stem(file)
    return posixpath.basename(posixpath.dirname(file)) if stem == "__init__" else stem


def _stem(path: str) -> str:
    return posixpath.splitext(posixpath.basename(path))[0]
