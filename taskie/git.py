"""Run git in one directory until a deadline. Knows how to call it, not what is asked."""

from __future__ import annotations

import os
import time

from taskie.errors import CommandError
from taskie.programs import find_program
from taskie.protocol import shown

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_ALIEN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_NAMESPACE", "GIT_EXTERNAL_DIFF")
_ARGUMENTS = 100_000  # characters of paths in one call; every system allows more


class GitError(CommandError):
    """git is not there, failed or took too long; the message is a sentence."""


class Git:
    """git in a directory. What goes wrong is raised as `failure`. `index` is another index than the repository's."""

    failure: type[Exception] = GitError

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
        import subprocess  # as dear as half an interpreter, for those who need only the rest

        try:
            done = subprocess.run(
                [self.program, *arguments],
                cwd=self.root,
                env={**self._env, "GIT_LITERAL_PATHSPECS": "1"} if literal else self._env,
                input=given if given is not None else b"",
                capture_output=True,
                timeout=min(max(0.1, self._deadline - time.monotonic()), 3600.0),
                check=False,
            )
        except subprocess.TimeoutExpired:
            raise self.failure(f"git {arguments[0]} took too long") from None
        except (OSError, ValueError) as error:
            raise self.failure(f"git could not be started ({error})") from None
        return done.returncode, done.stdout, done.stderr


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
