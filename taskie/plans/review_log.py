"""`.review-N.log`: what a reviewer was asked and answered, for whoever wants to know why a review did not happen.

Knows the file and its bounds, not what the answer means.
"""

from __future__ import annotations

import os

from taskie.config import LETTERS
from taskie.programs import MAX_OUTPUT
from taskie.store import StoreError, close, remove, timestamp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_STDERR = 512 * 1024
MAX_STDOUT = 256 * 1024
MAX_ARGUMENTS = 64 * 1024
_PLAIN = LETTERS | set("._/=-")


class ReviewLog:
    """The log of one call: the arguments, then what the reviewer writes to stderr, as it comes; at the end of a review
    that failed, its stdout and what ended it. Its stdout goes into a file without a name until then.

    StoreError: it cannot be written.
    """

    def __init__(self, path: str, argv: Sequence[str], cwd: str) -> None:
        self.path = path
        self.stdout = self.stderr = -1
        self._argv = argv
        self._cwd = cwd
        self._begins = 0

    def __enter__(self) -> ReviewLog:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            for path in (self.path, self.path + ".out"):
                remove(path)  # never write through what somebody else put there
            self.stderr = os.open(self.path, flags, 0o600)
            self.stdout = os.open(self.path + ".out", flags, 0o600)
            os.unlink(self.path + ".out")
            called = _bytes(" ".join(_quoted(word) for word in self._argv))
            self._say(_bytes(f"{timestamp()}, in {self._cwd}:\n") + _cut(called, MAX_ARGUMENTS) + b"\n\nstderr:\n")
            self._begins = os.fstat(self.stderr).st_size
        except OSError as error:
            self.__exit__()
            raise StoreError(f"{self.path} cannot be written ({error.strerror})") from None
        return self

    def read(self) -> tuple[bytes, bytes]:
        """What it said and what it complained about; a flood is cut."""
        try:
            size = os.fstat(self.stdout).st_size
            said = os.pread(self.stdout, size, 0) if size <= MAX_OUTPUT else b""
            return said, os.pread(self.stderr, MAX_STDERR, self._begins)
        except OSError as error:
            raise StoreError(f"what the reviewer said cannot be read ({error.strerror})") from None

    def end(self, how: str) -> None:
        """Say what ended it; the log stays. A full disk leaves what is there."""
        try:
            if os.fstat(self.stderr).st_size > self._begins + MAX_STDERR:
                os.ftruncate(self.stderr, self._begins + MAX_STDERR)
            size = os.fstat(self.stdout).st_size
            said = _cut(os.pread(self.stdout, MAX_STDOUT + 1, 0), MAX_STDOUT)
            self._say(_bytes(f"\nstdout ({size} bytes):\n") + said + _bytes(f"\n\n{how}\n"))
            self._mask()
        except OSError:
            pass

    def _mask(self) -> None:
        """What the reviewer has written is known only now."""
        from taskie.masking import masked_bytes

        data = os.pread(self.stderr, os.fstat(self.stderr).st_size, 0)
        kept = masked_bytes(data)
        if kept != data:
            os.ftruncate(self.stderr, 0)
            self._say(kept)

    def _say(self, text: bytes) -> None:
        view = memoryview(text)
        while view:
            view = view[os.write(self.stderr, view) :]

    def __exit__(self, *_: object) -> None:
        for fd in (self.stdout, self.stderr):
            if fd >= 0:
                close(fd)


def _quoted(word: str) -> str:
    """As a shell takes it; the module shlex is not worth its import."""
    return word if word and _PLAIN.issuperset(word) else "'" + word.replace("'", "'\\''") + "'"


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "backslashreplace")


def _cut(text: bytes, limit: int) -> bytes:
    return text if len(text) <= limit else text[:limit] + b" [...]"
