"""Which programs of a project its commands name. Knows words and files, not what a shell makes of them."""

from __future__ import annotations

import os
import stat

from taskie.store import FAILING, StoreError, mode_of, names_in, read_beginning, unreadable

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
_BETWEEN = b"\"'`;&|()<>=,[]{}$:#"
_APART = bytes.maketrans(_BETWEEN, b" " * len(_BETWEEN))


def programs(root: str, texts: Iterable[bytes], inner: str = "") -> list[tuple[str, bytes]]:
    """The programs below a root that these commands name in plain words, seen from it or from a directory they name.

    DiskError where the disk does not say.
    """
    names = _names(texts)
    files: list[str] = []
    bases = {inner} if inner else set()
    for name in names:
        mode = mode_of(os.path.join(root, name), follow=True)
        if stat.S_ISREG(mode):
            files.append(name)
        elif stat.S_ISDIR(mode) and name != ".":
            bases.add(name)
        elif name.endswith("/*"):
            bases.update(os.path.join(name[:-2], each) for each in names_in(os.path.join(root, name[:-2])))
    if len(bases) * len(names) > MOST:
        raise StoreError("its commands name too many files to look at")
    for base in bases:
        paths = (os.path.join(base, name) for name in names)
        files += [path for path in paths if stat.S_ISREG(mode_of(os.path.join(root, path), follow=True))]
    below = sorted(
        {path for name in files if (path := os.path.normpath(os.path.join(root, name))).startswith(f"{root}/")}
    )
    return [(os.path.relpath(path, root), data) for path in below if (data := _program(path)) is not None]


def _names(texts: Iterable[bytes]) -> list[str]:
    words: set[bytes] = set()
    for text in texts:
        words.update(text.translate(_APART).split())
        words.update(text.replace(b"'", b'"').split(b'"')[1::2])  # a name with a blank in it
    return [os.fsdecode(word) for word in words if b"\0" not in word and word[:1] != b"-" and 0 < len(word) < 1024]


def _program(path: str) -> bytes | None:
    """A script's or a program's content, None if it is neither: what a command only reads or writes changes all day.

    Of one that is large, what git changes whenever it writes it.
    """
    try:
        about = os.stat(path)
        found = read_beginning(os.path.realpath(path) if os.path.islink(path) else path, LARGEST)
    except OSError as error:
        if error.errno in FAILING:
            raise unreadable(path, error) from None
        return None
    except StoreError as error:
        if error.passing:
            raise
        return b"cannot be read"
    data, more = found or (b"", False)
    if not (about.st_mode & 0o111 or data.startswith(b"#!") or path.endswith(SCRIPTS)):
        return None
    return f"{about.st_size} {about.st_mtime_ns} {about.st_ino}".encode() if more else data
