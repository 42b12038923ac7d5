"""Where verdicts are kept: sealed, in the git directory that all worktrees share. Knows files, not what they say.

The agent works in the tree, so a record in the tree would be one of its files. This one is bound to its repository and
its worktree by a seal, so that a copy from elsewhere, an edit and a hand-made record all show. The seal's secret is the
user's: a program that the user runs can read it, and forge a record that does not show. It takes intent to do that.
"""

from __future__ import annotations

import json
import os

from taskie.store import Lock, StoreError, digest, read_object, read_regular, remove, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any

FOLDER = os.path.join("taskie", "gauntlet")
_SECRET = 32
_PATIENCE = 5.0
_FOREIGN = "was not written by Taskie for this working tree"


class Forged(StoreError):
    """What stands there was not written by us for this place."""


class Ledger:
    """The ledger of one project in one worktree, beside those of its other worktrees."""

    suffix = ".json"

    def __init__(self, common: str, root: str, env: Mapping[str, str]) -> None:
        self.folder = os.path.join(os.path.realpath(common), FOLDER)
        self.root = os.path.realpath(root)
        self.path = os.path.join(self.folder, f"{digest(os.fsencode(self.root))[:16]}{self.suffix}")
        self._env = env
        self._secret: bytes | None = None

    def read(self) -> dict[str, Any] | None:
        """What was last written; None if nothing was. Forged if somebody else wrote it, StoreError if unreadable."""
        return self._read(self.path)

    def write(self, content: Mapping[str, Any]) -> None:
        """StoreError if it cannot be."""
        try:
            os.makedirs(self.folder, exist_ok=True)
        except OSError as error:
            raise StoreError(f"{self.folder} cannot be made ({error.strerror})") from None
        whole = {"root": self.root, "content": content}
        sealed = {**whole, "seal": self._seal(self.path, whole)}
        replace(self.path, (json.dumps(sealed, indent=1) + "\n").encode())

    def forget(self) -> None:
        """As if nothing had been written."""
        remove(self.path)

    def others(self) -> Iterator[dict[str, Any]]:
        """What the project's other worktrees have on record."""
        try:
            names = sorted(os.listdir(self.folder))
        except OSError:
            return
        for name in names:
            path = os.path.join(self.folder, name)
            if path == self.path or not name.endswith(self.suffix) or name.startswith("."):
                continue
            try:
                found = self._read(path)
            except StoreError:
                continue
            if found is not None:
                yield found

    def _read(self, path: str) -> dict[str, Any] | None:
        raw = read_object(path)
        if raw is None:
            return None
        whole = {"root": raw.get("root"), "content": raw.get("content")}
        root = whole["root"]
        here = isinstance(root, str) and os.path.basename(path) == f"{digest(os.fsencode(root))[:16]}{self.suffix}"
        if not here or raw.get("seal") != self._seal(path, whole) or not isinstance(whole["content"], dict):
            raise Forged(f"{path} {_FOREIGN}")
        return whole["content"]

    def _seal(self, path: str, whole: Mapping[str, Any]) -> str:
        said = json.dumps([path, whole], sort_keys=True).encode()
        return digest(self._key() + said)

    def _key(self) -> bytes:
        """The user's secret, made where there is none. Without a home the seal only shows careless edits."""
        if self._secret is None:
            self._secret = _secret(self._env)
        return self._secret


def _secret(env: Mapping[str, str]) -> bytes:
    home = env.get("XDG_STATE_HOME") or os.path.join(env.get("HOME") or os.path.expanduser("~"), ".local", "state")
    if not os.path.isabs(home):
        return b""
    path = os.path.join(home, "taskie", "seal")
    try:
        if found := read_regular(path, 1 << 10):
            return found
        folder = os.path.dirname(path)
        os.makedirs(folder, mode=0o700, exist_ok=True)
        with Lock(folder) as lock:  # of two who make it at once one does, and both read that one
            if lock.take(_PATIENCE) and not read_regular(path, 1 << 10):
                replace(path, os.urandom(_SECRET), private=True)
        return read_regular(path, 1 << 10) or b""
    except (OSError, StoreError) as error:
        if isinstance(error, StoreError) and error.passing:
            raise  # another key would make a forgery of what is sealed with this one
        return b""
