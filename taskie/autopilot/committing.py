"""Step `commit`: the task's files and nothing else, one commit, seen by git. The user's index stays as it is."""

from __future__ import annotations

import os
import re
import tempfile
import time
from typing import TYPE_CHECKING, Any

from taskie import agent
from taskie.autopilot import advance, loop
from taskie.autopilot import state as states
from taskie.autopilot.table import Refused, check
from taskie.git import Git, GitError, in_chunks, own_environment, split_paths
from taskie.protocol import shown
from taskie.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from taskie.autopilot.state import State

SECONDS = 600.0  # for git and the project's own hooks
PAUSE = 1.0  # before the second attempt: a lock may be gone by then
_MESSAGE = re.compile(r"[a-z]+\([^()\n]+\)!?: \S")
_FORM = "type(scope): text, such as `feat(billing): round to cents`"
_SHOWN = 20
_OK = {"step": "commit", "result": "ok"}


class Paths(Value):
    """The task's files: all that go into the commit, and those of them that git does not know yet."""

    all: tuple[str, ...]
    new: tuple[str, ...]
    left_out: tuple[str, ...]


def commit(root: str, message: str, env: Mapping[str, str], warn: Callable[[str], None]) -> dict[str, Any]:
    """Commit, once more if it fails, and record it; what `advance` answers."""
    state = states.need(root)
    check(loop.at_hand(state), "commit")
    if not _MESSAGE.match(message):
        raise Refused(f"the message is not of the form {_FORM}")
    git = Git(root, env, time.monotonic() + 3 * SECONDS)  # two attempts, and questions in between
    if not advance.in_repository(git):
        raise Refused(f"{root} is in no git repository: there is nothing to commit to")
    made = _made_before(git, state)
    while True:
        problem = ""
        if made is None:
            paths = _paths(git, state["files_changed"])
            for path in paths.left_out:
                warn(f"{shown(path)} is ignored by git, or was never there: it is left out")
            if not _differs(git, paths.all):
                if state["loop"]["resume"] == "verify_func":
                    return advance.advance(root, _OK, env, warn, notes=("there was nothing to commit",), again=True)
                raise Refused(
                    "nothing to commit: the task's files are as in HEAD. If you have committed them already, report it "
                    'with `taskie autopilot advance \'{"step": "commit", "result": "ok", "hash": "…"}\'`'
                )
            states.edit(root, _remember(_head(git), message))
            made, problem = _attempt(git, env, message, paths)
        if made is not None:
            return advance.advance(root, {**_OK, "hash": made}, env, warn)
        warn(problem)
        last = tuple(problem.splitlines()[-1:])
        answer = advance.advance(root, {"step": "commit", "result": "fail"}, env, warn, notes=last)
        if answer["next"] != "commit":
            return answer
        warn("Trying once more.")
        time.sleep(PAUSE)
        state = states.need(root)


def _remember(head: str | None, message: str) -> Callable[[State], None]:
    """A process may end after git's commit and before ours: the next one must recognise it."""
    return lambda state: state["loop"].update(attempt={"head": head, "message": message})


def _made_before(git: Git, state: State) -> str | None:
    """The commit that an earlier process made and did not live to record."""
    attempt = state["loop"]["attempt"]
    head = _head(git)
    if attempt is None or head is None or attempt.get("head") == head:
        return None
    said = git("log", "-1", "--format=%P%x00%B", head).decode("utf-8", "replace")
    parents, _, message = said.partition("\0")
    same = message.strip().startswith(str(attempt.get("message")).strip())
    return head if same and parents == (attempt.get("head") or "") else None


def _head(git: Git) -> str | None:
    code, said, _ = git.attempt(["rev-parse", "--verify", "-q", "HEAD^{commit}"])
    return None if code else said.decode().strip()


def _paths(git: Git, files: list[str]) -> Paths:
    """What of the task's files can be committed: those that are there, and those that git can see to be gone."""
    known: set[str] = set()
    for chunk in in_chunks(files):
        known.update(split_paths(git("ls-files", "-z", "--", *chunk, literal=True)))
        if _head(git) is not None:
            known.update(split_paths(git("ls-tree", "-z", "--name-only", "HEAD", "--", *chunk, literal=True)))
    there = [path for path in files if path not in known and _is_file(os.path.join(git.root, path))]
    given = "\0".join(there).encode("utf-8", "surrogateescape")
    ignored = set(split_paths(git.attempt(["check-ignore", "-z", "--stdin"], given)[1]) if there else [])
    new = tuple(path for path in there if path not in ignored)
    whole = tuple(path for path in files if path in known or path in new)
    return Paths(whole, new, tuple(path for path in files if path not in whole))


def _is_file(path: str) -> bool:
    return os.path.islink(path) or os.path.isfile(path)


def _differs(git: Git, paths: tuple[str, ...]) -> bool:
    return any(
        git("status", "--porcelain", "-z", "--untracked-files=all", "--", *chunk, literal=True)
        for chunk in in_chunks(paths)
    )


def _attempt(git: Git, env: Mapping[str, str], message: str, paths: Paths) -> tuple[str | None, str]:
    """The new commit, or why there is none. If it fails, git's index is what it was before."""
    before = _head(git)
    said = ""
    try:
        for chunk in in_chunks(paths.new):
            git("add", "--intent-to-add", "--", *chunk, literal=True)
        said = _run(git, env, ["commit", "--quiet", "--only", f"--message={message}"], paths.all)
    except GitError as error:
        said = str(error)
    finally:
        after = _head(git)
        if after == before:
            for chunk in in_chunks(paths.new):
                git.attempt(["rm", "--cached", "--quiet", "--force", "--ignore-unmatch", "--", *chunk], literal=True)
    if after is None or after == before:
        return None, said
    for chunk in in_chunks(paths.all):
        # A hook that adds what it has formatted adds it to the commit alone: the index would undo it.
        git.attempt(["reset", "--quiet", "--", *chunk], literal=True)
    parent = git("log", "-1", "--format=%P", after).decode().strip()
    return (after, "") if parent == (before or "") else (None, "HEAD has moved, but not by this commit")


def _run(git: Git, env: Mapping[str, str], arguments: list[str], paths: Sequence[str]) -> str:
    """Run git with the project's own hooks, until the deadline, and end what they leave; what it said.

    The hooks see the user's own environment: whatever we set for git's sake they would inherit.
    """
    literally = [f":(literal){path}" for path in paths]
    with tempfile.TemporaryFile() as output:
        fd = output.fileno()
        argv = [git.program, *arguments, "--", *literally]
        own = {**own_environment(env), "GIT_TERMINAL_PROMPT": "0"}
        ended = agent.run(argv, cwd=git.root, env=own, stdout=fd, stderr=fd, seconds=SECONDS, marks={})
        output.seek(0)
        lines = output.read(1 << 20).decode("utf-8", "replace").splitlines()
    told = [shown(line, 500) for line in lines if line.strip()][-_SHOWN:]
    why = ended.problem or f"exit code {ended.exit_code}"
    return "\n".join([f"git commit: {why}", *told])
