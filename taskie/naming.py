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
    words = names(texts)
    files: list[str] = []
    bases = {inner} if inner else set()
    for name in words:
        mode = mode_of(os.path.join(root, name), follow=True)
        if stat.S_ISREG(mode):
            files.append(name)
        elif stat.S_ISDIR(mode) and name != ".":
            bases.add(name)
        elif name.endswith("/*"):
            bases.update(os.path.join(name[:-2], each) for each in names_in(os.path.join(root, name[:-2])))
    if len(bases) * len(words) > MOST:
        raise StoreError("its commands name too many files to look at")
    for base in bases:
        paths = (os.path.join(base, name) for name in words)
        files += [path for path in paths if stat.S_ISREG(mode_of(os.path.join(root, path), follow=True))]
    found: dict[tuple[str, bytes], None] = {}
    for name in sorted(files):
        own, links = followed(root, name)
        if (own or links) and (data := _program(os.path.join(root, name))) is not None:
            found.update(dict.fromkeys([*links, (own or os.path.normpath(name), data)]))
    return list(found)


def followed(root: str, name: str) -> tuple[str | None, list[tuple[str, bytes]]]:
    """A file's own name, None if it is not below the root; and each link there on the way to it, with where it leads.

    git knows a file by its own name alone, and whoever changes a link changes what is run.
    """
    links: list[tuple[str, bytes]] = []
    at, rest = "/" if name.startswith("/") else root, name.split("/")[::-1]
    for _ in range(MOST):
        if not rest:
            break
        part = rest.pop()
        if part == "..":
            at = os.path.dirname(at)
        elif part not in ("", "."):
            at = f"{at.rstrip('/')}/{part}"
            if os.path.islink(at):
                target = os.readlink(at)
                if inner := _below(root, at):
                    links.append((inner, os.fsencode(target)))
                at = "/" if target.startswith("/") else os.path.dirname(at)
                rest += target.split("/")[::-1]
    return _below(root, at), links


def _below(root: str, path: str) -> str | None:
    return path[len(root) + 1 :] if path.startswith(f"{root}/") else None


def names(texts: Iterable[bytes]) -> list[str]:
    """The words of commands that may be names of files."""
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
