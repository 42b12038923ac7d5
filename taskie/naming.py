"""Which programs of a project its commands name. Knows words and files, not what a shell makes of them."""

from __future__ import annotations

import os
import re
import stat

from taskie.store import StoreError, read_beginning

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

LARGEST = 4 << 20  # bytes of a program that is read
MOST = 20_000  # looks at the disk
# What an interpreter takes without another sign that it is a program.
SCRIPTS = (
    *(".bash", ".cjs", ".fish", ".js", ".jsx", ".lua", ".mjs", ".mk", ".php", ".pl", ".ps1", ".py", ".rb", ".sh"),
    *(".tcl", ".ts", ".zsh", "Makefile", "Rakefile", "justfile"),
)
_APART = re.compile(rb"[\s\"'`;&|()<>=,\[\]{}$:#]+")
_QUOTED = re.compile(rb"[\"']([^\"'\n]+)[\"']")


def programs(root: str, texts: Iterable[bytes], inner: str = "") -> list[tuple[str, bytes]]:
    """The programs below a root that these commands name in plain words, seen from it or from a directory they name."""
    words = {word for text in texts for word in (*_APART.split(text), *_QUOTED.findall(text)) if word}
    names = sorted(os.fsdecode(word) for word in words if b"\0" not in word and len(word) < 1024)
    bases = {"", inner, *(base for name in names for base in _directories(root, name))}
    if len(bases) * len(names) > MOST:
        raise StoreError("its commands name too many files to look at")
    found: dict[str, bytes] = {}
    for base in bases:
        for name in names:
            path = os.path.normpath(os.path.join(root, base, name))
            if path.startswith(f"{root}/") and path not in found and (data := _program(path)) is not None:
                found[path] = data
    return [(os.path.relpath(path, root), found[path]) for path in sorted(found)]


def _directories(root: str, name: str) -> list[str]:
    """The directories that a word stands for, which is one, or with `/*` at its end all that are in it."""
    if os.path.isabs(name) or name in (".", ".."):
        return []
    try:
        if not name.endswith("/*"):
            return [name] if stat.S_ISDIR(os.stat(os.path.join(root, name)).st_mode) else []
        parent = os.path.join(root, name[:-2])
        return [f"{name[:-1]}{each}" for each in os.listdir(parent) if os.path.isdir(os.path.join(parent, each))]
    except OSError:
        return []


def _program(path: str) -> bytes | None:
    """A script's or a program's content, None if it is neither: what a command only reads or writes changes all day.

    Of one that is large, what git changes whenever it writes it.
    """
    try:
        about = os.stat(path)
        if not stat.S_ISREG(about.st_mode):
            return None
        found = read_beginning(os.path.realpath(path), LARGEST)
    except OSError:
        return None
    except StoreError:
        return b"cannot be read"
    data, more = found or (b"", False)
    if not (about.st_mode & 0o111 or data.startswith(b"#!") or path.endswith(SCRIPTS)):
        return None
    return f"{about.st_size} {about.st_mtime_ns} {about.st_ino}".encode() if more else data
