"""Run git in one directory until a deadline. Knows how to call it, not what is asked."""

from __future__ import annotations

import fcntl
import os
import signal
import time

from taskie.errors import CommandError, Interrupted
from taskie.programs import TICK, find_program
from taskie.protocol import shown
from taskie.signals import Signals
from taskie.spawning import start
from taskie.store import close

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from taskie.watchman import Watchman

LONG = 1.0  # seconds, after which a call is worth a process that ends it should we be killed
_ALIEN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE", "GIT_EXTERNAL_DIFF")
_ARGUMENTS = 100_000  # characters of paths in one call; every system allows more


class GitError(CommandError):
    """git is not there, failed or took too long; the message is a sentence."""


class Git:
    """git in a directory. What goes wrong is raised as `failure`. `index` is another index than the repository's.
    For `caller`, the whole process's, see `Signals`."""

    failure: type[Exception] = GitError
    caller: int | None = None

    def __init__(self, root: str, env: Mapping[str, str], deadline: float, index: str | None = None) -> None:
        asking = {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C", "GIT_TERMINAL_PROMPT": "0"}
        self.root = root
        self.index = {} if index is None else {"GIT_INDEX_FILE": index}
        self._deadline = deadline
        self._env = {**own_environment(env), **asking, **self.index}
        program = find_program("git", env.get("PATH", ""))
        if program is None:
            raise self.failure("git was not found on PATH; install it")
        self.program = program

    def __call__(self, *arguments: str, given: bytes | None = None, literal: bool = False) -> bytes:
        """What it prints. `literal`: paths are names, not patterns."""
        code, output, complaint = self.attempt(arguments, given, literal)
        if code:
            lines = complaint.decode("utf-8", "replace").strip().splitlines()
            blamed = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines[-1:]
            why = blamed[0] if blamed else f"exit code {code}"
            raise self.failure(f"git {arguments[0]} failed: {shown(why, 300)}")
        return output

    def attempt(
        self, arguments: Sequence[str], given: bytes | None = None, literal: bool = False
    ) -> tuple[int, bytes, bytes]:
        """Its exit code and what it prints on either stream."""
        env = {**self._env, "GIT_LITERAL_PATHSPECS": "1"} if literal else self._env
        with Signals(self.caller) as signals:
            question = GitCall(self, [self.program, *arguments], env, given or b"", self._deadline)
            try:
                return question.answer(signals)
            finally:
                question.end()

    def begin(self, *asked: Sequence[str]) -> GitCalls:
        """Ask several things at the same time, and wait for none of them yet."""
        calls = GitCalls(self)
        try:
            for arguments in asked:
                calls.append(GitCall(self, [self.program, *arguments], self._env, b"", self._deadline))
        except BaseException:
            calls.end()
            raise
        return calls


class GitCall:
    """What git was asked, until it has answered. Its streams are files without a name: no pipe can fill up."""

    def __init__(self, git: Git, argv: list[str], env: Mapping[str, str], given: bytes, deadline: float) -> None:
        self._verb = argv[1]
        self._failure = git.failure
        self._until = min(max(time.monotonic() + 0.1, deadline), time.monotonic() + 3600.0)
        self._files: list[int] = []
        self._watchman: Watchman | None = None
        self._long = time.monotonic() + LONG
        try:
            with Signals():  # they wait until we know what has been started
                try:
                    self._files = [_nameless(given), _nameless(), _nameless()]
                    self._child = start(argv, git.root, env, *self._files)
                except (OSError, ValueError) as error:
                    self._close()
                    raise self._failure(f"git could not be started ({error})") from None
                RUNNING.append(self)
        except Interrupted:
            self.end()
            raise

    def answer(self, signals: Signals) -> tuple[int, bytes, bytes]:
        """Wait for it. `failure` if it takes too long; a signal to us ends the wait."""
        while (code := self._child.poll()) is None:
            left = self._until - time.monotonic()
            if left <= 0:
                raise self._failure(f"git {self._verb} took too long")
            if self._watchman is None and time.monotonic() >= self._long:
                for call in RUNNING:  # the others will be waited for after this one
                    call.watch()
            self._pause(signals, min(TICK, left))
        return code, _content(self._files[1]), _content(self._files[2])

    def watch(self) -> None:
        """Have it ended should we be killed."""
        from taskie.watchman import Watchman

        self._watchman = self._watchman or Watchman(self._child.pid)

    def kill(self) -> None:
        if self._child.poll() is None:
            os.killpg(self._child.pid, signal.SIGKILL)  # it is not reaped, so the number is its own

    def end(self) -> None:
        """Whatever has happened, it is not left running."""
        self.kill()
        while self._child.poll() is None:
            time.sleep(0.002)
        if self._watchman is not None:
            self._watchman.dismiss()
        if self in RUNNING:
            RUNNING.remove(self)
        self._close()

    def _pause(self, signals: Signals, seconds: float) -> None:
        """Until it has ended, or for a moment where the system cannot tell."""
        try:
            watch = os.pidfd_open(self._child.pid)
        except (AttributeError, OSError):
            signals.wait([], 0.002)
            return
        try:
            signals.wait([watch], seconds)
        finally:
            close(watch)

    def _close(self) -> None:
        for fd in self._files:
            close(fd)
        self._files = []


RUNNING: list[GitCall] = []


def kill_all() -> None:
    """For a signal that may come at any moment: whoever has called git may not even know it yet."""
    for call in RUNNING:
        call.kill()


class GitCalls(list[GitCall]):
    """What git was asked at the same time. None of them is left running."""

    def __init__(self, git: Git) -> None:
        super().__init__()
        self._git = git

    def answers(self) -> list[tuple[int, bytes, bytes]]:
        with Signals(self._git.caller) as signals:
            try:
                return [call.answer(signals) for call in self]
            finally:
                self.end()

    def end(self) -> None:
        while self:
            self.pop().end()


def _nameless(data: bytes = b"") -> int:
    """A file in memory, or on disk where there is no such thing, with this in it."""
    if hasattr(os, "memfd_create"):
        fd = os.memfd_create("git", os.MFD_CLOEXEC)
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            fd = fcntl.fcntl(file, fcntl.F_DUPFD_CLOEXEC, 3)
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
    os.lseek(fd, 0, os.SEEK_SET)
    return fd


def _content(fd: int) -> bytes:
    os.lseek(fd, 0, os.SEEK_SET)
    size = os.fstat(fd).st_size
    data = bytearray()
    while len(data) < size and (chunk := os.read(fd, size - len(data))):
        data += chunk
    return bytes(data)


def own_environment(env: Mapping[str, str]) -> dict[str, str]:
    """Without what would make git look at another repository than the directory's own."""
    return {name: value for name, value in env.items() if name not in _ALIEN}


def split_paths(listed: bytes) -> list[str]:
    """The paths of an answer to `-z`."""
    return [os.fsdecode(path) for path in listed.split(b"\0") if path]


def in_chunks(paths: Sequence[str]) -> list[list[str]]:
    """As many paths at a time as one call takes."""
    chunks: list[list[str]] = []
    size = _ARGUMENTS
    for path in paths:
        size += len(os.fsencode(path)) + 1
        if size > _ARGUMENTS:
            chunks.append([])
            size = 0
        chunks[-1].append(path)
    return chunks
