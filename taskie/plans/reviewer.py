"""One run of the reviewer: the file it must write, the verdict it gives. Knows no state, and no provider's options."""

from __future__ import annotations

import os
import re

from taskie.plans.files import is_written
from taskie.plans.phases import FOR_VERDICT
from taskie.plans.providers import Question, provider_of
from taskie.plans.reviewed import read
from taskie.programs import MAX_OUTPUT, Command, find_program
from taskie.protocol import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from taskie.plans.providers import Provider
    from taskie.plans.reviewed import Reviewed
    from taskie.programs import Outcome, Programs
    from taskie.project import Context

_UNKNOWN_OPTION = rb"unknown option '?(--[a-z-]+)"
MAX_LOG = 1024 * 1024


class ReviewFailed(Exception):
    """The review did not succeed; the message says why and what to do."""


def review(
    context: Context, plan: str, name: str, iteration: int, model: str, prompt: str, programs: Programs
) -> Reviewed:
    """Have the review file `name` written in the plan. ReviewFailed: nothing changed."""
    provider, model = provider_of(model)
    asked = Question(context.config, model, prompt, FOR_VERDICT)
    first, *rest = provider.command(context.config)
    program = find_program(first, context.env.get("PATH", ""))
    if program is None:
        raise ReviewFailed(f"{shown(first)} was not found on PATH; install it or set review.command")
    log = os.path.join(plan, f".review-{iteration}.log")
    file = _ReviewFile(plan, name)
    try:
        file.set_aside()
        document = _run(context, [program, *rest], provider, asked, log, programs)
        if not is_written(file.path):
            raise ReviewFailed(f"the reviewer ended without writing {name}; see {log}")
    except BaseException:
        file.restore()
        raise
    file.keep()
    _remove(log)
    return read(document)


def _run(
    context: Context, command: list[str], provider: Provider, asked: Question, log: str, programs: Programs
) -> dict[str, Any]:
    """What the reviewer printed. A client too old for an option that only we add is called again without it."""
    seconds = context.config.review_timeout
    without: list[str] = []
    while True:
        argv = command + provider.arguments(asked, without)
        with _Output(log) as output:
            run = Command("agent", argv, context.root, context.env, output.stdout, output.stderr, seconds=seconds)
            outcome = programs.run(run, context.deadline)
            said, complained = output.read()
        unknown = re.search(_UNKNOWN_OPTION, complained)
        option = unknown[1].decode() if unknown and outcome.exit_code else None
        if option in provider.droppable and option not in without:
            without.append(option)
            continue
        if option == provider.needed:
            raise ReviewFailed(f"this client is too old: it does not know {option}; update it")
        document = provider.document(said)
        _check(outcome, document, complained, log)
        return document


def _check(outcome: Outcome, answer: dict[str, Any], complained: bytes, log: str) -> None:
    if outcome.problem is None and outcome.exit_code == 0 and answer.get("is_error") is not True:
        return
    why = f"the reviewer {outcome.problem}" if outcome.problem else f"the reviewer exited with code {outcome.exit_code}"
    result = answer.get("result")
    lines = complained.decode("utf-8", "replace").strip().splitlines()
    detail = result if isinstance(result, str) and result else lines[-1] if lines else ""
    if b"root/sudo" in complained:
        detail += ' (as root: IS_SANDBOX=1 in a container, or review.permissions = "scoped")'
    raise ReviewFailed(f"{why}{': ' + shown(detail, 300) if detail else ''}; see {log}")


class _Output:
    """Where the reviewer writes: stdout into a file without a name, stderr into the log, which stays."""

    def __init__(self, log: str) -> None:
        self._log = log
        self.stdout = self.stderr = -1

    def __enter__(self) -> _Output:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            for path in (self._log, self._log + ".out"):
                _remove(path)  # never write through what somebody else put there
            self.stderr = os.open(self._log, flags, 0o600)
            self.stdout = os.open(self._log + ".out", flags, 0o600)
            os.unlink(self._log + ".out")
        except OSError as error:
            self.__exit__()
            raise ReviewFailed(f"{self._log} cannot be written ({error.strerror})") from None
        return self

    def read(self) -> tuple[bytes, bytes]:
        """What was said and complained; a flood is cut."""
        if os.fstat(self.stderr).st_size > MAX_LOG:
            os.ftruncate(self.stderr, MAX_LOG)
        size = os.fstat(self.stdout).st_size
        said = os.pread(self.stdout, size, 0) if size <= MAX_OUTPUT else b""
        return said, os.pread(self.stderr, MAX_LOG, 0)

    def __exit__(self, *_: object) -> None:
        for fd in (self.stdout, self.stderr):
            if fd >= 0:
                os.close(fd)


class _ReviewFile:
    """The file that a run must write. One that already exists (an earlier cycle's review) is set aside, and comes
    back if the run fails: the client refuses to overwrite a file that it has not read."""

    def __init__(self, plan: str, name: str) -> None:
        self.path = os.path.join(plan, name)
        self._old = os.path.join(plan, f".{name}.old")
        self._moved = False

    def set_aside(self) -> None:
        if os.path.isdir(self.path) and not os.path.islink(self.path):
            raise ReviewFailed(f"{self.path} is a directory and in the way")
        try:
            if os.path.lexists(self._old):
                _remove(self.path)  # half a review, of a run that was killed: the one set aside is the older truth
            elif os.path.lexists(self.path):
                os.rename(self.path, self._old)
        except OSError as error:
            raise ReviewFailed(f"{self.path} is in the way and cannot be moved ({error.strerror})") from None
        self._moved = True

    def restore(self) -> None:
        """As it was before the run."""
        if not self._moved:
            return
        _remove(self.path)  # half a review, of a run that failed
        try:
            if os.path.isdir(self.path):
                os.rmdir(self.path)  # the reviewer made it
            if os.path.lexists(self._old):
                os.rename(self._old, self.path)
        except OSError:
            pass  # it stays beside it, under its hidden name

    def keep(self) -> None:
        """The new review replaces the old one."""
        _remove(self._old)


def _remove(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # not there, or a directory that is not ours
