"""Step `commit`: the task's files and nothing else, one commit, seen by git. The user's index stays as it is."""

from __future__ import annotations

import os
import tempfile
import time
from typing import IO, TYPE_CHECKING, Any

from taskie.autopilot import REVIEWERS, advance, changes, commits, inspected, loop, own_index
from taskie.autopilot import state as states
from taskie.autopilot.own_index import OwnIndex
from taskie.autopilot.table import Refused, check
from taskie.errors import CommandError
from taskie.git import Git, GitError, in_chunks, own_environment, split_paths
from taskie.programs import Command, run
from taskie.project import quoted
from taskie.protocol import shown
from taskie.values import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from taskie.autopilot.state import State

SECONDS = 600.0  # for git and the project's own hooks
PATIENCE = 10.0  # with somebody else's lock on the index
_SHOWN = 20  # of what is repeated; all of it is shown once
_OK = {"step": "commit", "result": "ok"}


class Paths(Value):
    """The task's files: those to add as they are, those to take out, and those that git does not track."""

    there: tuple[str, ...]
    gone: tuple[str, ...]
    left_out: tuple[str, ...]


def commit(
    root: str, message: str, env: Mapping[str, str], warn: Callable[[str], None], apart: Sequence[str] = ()
) -> dict[str, Any]:
    """Commit and record it; what `advance` answers. A commit that fails is recorded, too: `next` is not what follows.

    `apart`: changed files that are not the task's.
    """
    own_index.sweep(root)
    state = states.need(root)
    check(loop.at_hand(state), "commit")
    commits.check_message(message)
    until = time.monotonic() + 2 * SECONDS
    git = Git(root, env, until)
    if not commits.in_repository(git):
        raise Refused(f"{root} is not in a git repository: there is nothing to commit to")
    made = _made_before(git, state)
    if made is None:
        left_out = advance.inside(root, apart)
        loop.leave_out(state, left_out)  # which is written only with the try: what is refused changes nothing
        seen = changes.look(root, env, state["spec_path"])
        changes.refuse_changed_tests(state, seen)
        advance.refuse_unready(root, state, env, seen)
        paths = _paths(git, state["files_changed"])
        for path in paths.left_out:
            warn(f"{shown(path)} is ignored by git, not a file, or was never there: it is left out")
        with OwnIndex(root) as index, tempfile.TemporaryFile() as output:
            own = Git(root, env, until, index=index)
            head = _head(git)
            try:
                if not _stage(git, own, paths, head):
                    if state["loop"]["resume"] == "verify_func":
                        states.edit(root, lambda now: loop.leave_out(now, left_out))
                        return advance.advance(root, _OK, env, warn, notes=("there was nothing to commit",), again=True)
                    raise Refused(
                        "nothing to commit: the task's files are as in HEAD. If you have committed them already, "
                        'report it with `taskie autopilot advance \'{"step": "commit", "result": "ok", "hash": "…"}\'`'
                    )
                tree = own("write-tree").decode().strip()
                attempt = {"head": head, "message": message, "tree": tree}
                state = states.edit(root, _remember(attempt, left_out))
                made, problem = _attempt(own, env, message, head, output)
            except (GitError, OSError) as error:
                problem = str(error)
        if made is None:
            warn(problem)
            lines = problem.splitlines()
            failed = {"step": "commit", "result": "fail", "findings": lines[-_SHOWN:]}
            by_hooks = _changed_by_hooks(root, state, env)
            return advance.advance(root, failed, env, warn, notes=tuple(lines[-1:]), warnings=by_hooks)
    _bring_up_to_date(git, made, state["files_changed"], warn)
    other = commits.changed_hooks(state["loop"]["hooks"], commits.hooks(root, env))
    told = [f"the repository's commit hooks have changed since the task began: {', '.join(other)}"] if other else []
    told += _added_by_hooks(git, state, made)
    return advance.advance(root, {**_OK, "hash": made}, env, warn, warnings=tuple(told), own=True)


def _added_by_hooks(git: Git, state: State, made: str) -> list[str]:
    """A warning about what the commit has otherwise than it was staged, and so tested: only its hooks can do that."""
    staged = (state["loop"]["attempt"] or {}).get("tree")
    if not isinstance(staged, str):
        return []
    code, output, _ = git.attempt(["diff-tree", "-r", "-z", "--name-only", "--no-renames", staged, f"{made}^{{tree}}"])
    paths = [] if code else split_paths(output)
    told = f"the commit is not what the tests have seen; a hook has changed {changes.listed(paths)}"
    return [told] if paths else []


def _changed_by_hooks(root: str, state: State, env: Mapping[str, str]) -> tuple[str, ...]:
    """A warning about reviewed files that were as reviewed before the commit's hooks ran, and are not any more."""
    tree = changes.look(root, env, state["spec_path"])
    paths = sorted({path for step in REVIEWERS for path in inspected.changed_since(state, step, tree)})
    if not paths:
        return ()
    states.edit(root, lambda now: inspected.follow(now, tree, paths))
    return (f"a commit hook has changed what the reviewers have seen: {changes.listed(paths)}",)


def _remember(attempt: dict[str, Any], left_out: tuple[str, ...]) -> Callable[[State], State]:
    """A process may end after git's commit and before ours: the next one must recognise it."""

    def change(state: State) -> State:
        loop.leave_out(state, left_out)
        state["loop"]["attempt"] = attempt
        return state

    return change


def _made_before(git: Git, state: State) -> str | None:
    """The commit that an earlier process made and did not live to record."""
    attempt = state["loop"]["attempt"]
    head = _head(git)
    if attempt is None or head is None or attempt.get("head") == head:
        return None
    parents, _, message = git("log", "-1", "--format=%P%x00%B", head).decode("utf-8", "replace").partition("\0")
    same = message.strip().startswith(str(attempt.get("message")).strip())
    return head if same and parents == (attempt.get("head") or "") else None


def _head(git: Git) -> str | None:
    """The last commit; None if there is none yet. A git that fails otherwise has not said that."""
    code, output, _ = git.attempt(["rev-parse", "--verify", "-q", "HEAD^{commit}"])
    if code not in (0, 1):
        raise GitError(f"git rev-parse failed: exit code {code}")
    return None if code else output.decode().strip()


def _paths(git: Git, files: list[str]) -> Paths:
    """What of the task's files can be committed: those that are there, and those that git can see to be gone."""
    known: set[str] = set()
    for chunk in in_chunks(files):
        known.update(split_paths(git("ls-files", "-z", "--", *chunk, literal=True)))
        if _head(git) is not None:
            known.update(split_paths(git("ls-tree", "-z", "--name-only", "HEAD", "--", *chunk, literal=True)))
    whole = {path: os.path.join(git.root, path) for path in files}
    new = [path for path in files if path not in known and _is_file(whole[path])]
    ignored = set(split_paths(git.attempt(["check-ignore", "-z", "--stdin"], _joined(new))[1]) if new else [])
    there = tuple(path for path in files if _is_file(whole[path]) and path not in ignored)
    gone = tuple(path for path in files if path in known and path not in there)
    return Paths(there, gone, tuple(path for path in files if path not in there and path not in gone))


def _is_file(path: str) -> bool:
    """Whether git has one entry for it; a submodule's folder is such an entry too."""
    return os.path.islink(path) or os.path.isfile(path) or os.path.lexists(os.path.join(path, ".git"))


def _joined(paths: Sequence[str]) -> bytes:
    return b"".join(os.fsencode(path) + b"\0" for path in paths)


def _stage(git: Git, apart: Git, paths: Paths, head: str | None) -> bool:
    """HEAD with the task's files, in an index of its own: the user's stays as it is. Whether the two differ."""
    lock = os.path.join(git.root, os.fsdecode(git("rev-parse", "--git-path", "index.lock").rstrip(b"\n")))
    if os.path.lexists(lock):
        raise GitError(f"{shown(lock, 500)} is there: another git is at work. If none is, remove it")
    for name in ("MERGE_HEAD", "CHERRY_PICK_HEAD"):
        if git.attempt(["rev-parse", "--verify", "-q", name])[0] == 0:
            raise GitError(f"a merge or cherry-pick is under way ({name}): finish it first")
    apart("read-tree", head or "--empty")
    apart("update-index", "--force-remove", "-z", "--stdin", given=_joined(paths.gone))
    apart("update-index", "--add", "--replace", "-z", "--stdin", given=_joined(paths.there))
    return bool(apart("diff-index", "--cached", "--name-only", "-z", head) if head else apart("ls-files", "-z"))


def _attempt(
    apart: Git, env: Mapping[str, str], message: str, before: str | None, output: IO[bytes]
) -> tuple[str | None, str]:
    """The new commit, or why there is none. What somebody else has committed meanwhile would be undone by it."""
    if _head(apart) != before:
        return None, "HEAD has moved meanwhile"
    why_not = _run(apart, env, ["commit", "--quiet", f"--message={message}"], output)
    try:
        after = _head(apart)
        if after is None or after == before:
            return None, why_not
        parent = apart("log", "-1", "--format=%P", after).decode().strip()
    except GitError as error:  # it is remembered, so the next one recognises what this one has made
        raise CommandError(f"whether git has made the commit cannot be seen ({error}): run this again") from None
    return (after, "") if parent == (before or "") else (None, "HEAD has moved, but not by this commit")


def _bring_up_to_date(git: Git, made: str, files: list[str], warn: Callable[[str], None]) -> None:
    """The user's index, for what the commit has changed: else it would undo it. What they have staged beside stays."""
    changed = split_paths(git("diff-tree", "-r", "-z", "--root", "--no-commit-id", "--name-only", made))
    more = sorted(set(changed) - set(files))  # a hook may have added them
    if more and git.attempt(["rev-parse", "--verify", "-q", f"{made}^"])[0] == 0:
        for chunk in in_chunks(more):
            staged = git("diff-index", "--cached", "--name-only", "-z", f"{made}^", "--", *chunk, literal=True)
            changed = [path for path in changed if path not in split_paths(staged)]
    until = time.monotonic() + PATIENCE
    for chunk in in_chunks(changed):
        # Named, since git takes a HEAD that it cannot read for one without a commit, and would stage a deletion.
        while (done := git.attempt(["reset", "--quiet", made, "--", *chunk], literal=True))[0]:
            if time.monotonic() > until:
                why = shown(done[2].decode("utf-8", "replace").strip(), 300)
                paths = " ".join(map(quoted, map(shown, chunk[:_SHOWN])))
                warn(f"the commit is made, but git's index does not know it yet ({why}): run git reset -- {paths}")
                return
            time.sleep(0.1)


def _run(git: Git, env: Mapping[str, str], arguments: list[str], output: IO[bytes]) -> str:
    """Run git with the project's own hooks, until the deadline, and end what they leave; what it printed.

    The hooks see the user's own environment: whatever we set for git's sake they would inherit.
    """
    fd = output.fileno()
    own = {**own_environment(env), **git.index, "GIT_TERMINAL_PROMPT": "0"}
    outcome = run(Command("project", [git.program, *arguments], git.root, own, fd, fd, seconds=SECONDS))
    output.seek(0)
    lines = output.read(1 << 20).decode("utf-8", "replace").splitlines()
    why = outcome.problem or f"exit code {outcome.exit_code}"
    return "\n".join([f"git commit: {why}", *(shown(line, 500) for line in lines if line.strip())])
