"""What the working tree holds, and what has changed in it since a task began. Asks git, writes nothing.

Left out is what nobody changes on purpose: the engines' own files, Python's bytecode, and the spec, which gets a line
of the log at every step. Outside a repository nothing is known, and nothing is claimed.
"""

from __future__ import annotations

import os
import time

from taskie import engines
from taskie.autopilot.table import Refused
from taskie.git import GitError
from taskie.project import working_tree
from taskie.protocol import shown
from taskie.tree import Repository
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from taskie.autopilot.state import State

SECONDS = 60.0
MOST = 5000  # uncommitted files whose content is remembered
NAMED = 20
CAPTURED = "tests/regression"
CODE = "src"


class Tree(Value):
    """The working tree at one moment: HEAD, the fingerprint, mode and content of each file below the root, and which of
    them git does not track."""

    commit: str | None
    fingerprint: str
    files: Mapping[str, str]
    untracked: frozenset[str] = frozenset()


def look(root: str, env: Mapping[str, str], spec_path: str) -> Tree | None:
    """The tree as it is now; None outside a repository. GitError where git cannot read it."""
    if working_tree(root) is None:
        return None
    left_out = [*engines.files(), "__pycache__"]
    spec = os.path.relpath(os.path.realpath(os.path.join(root, spec_path)), os.path.realpath(root))
    if spec_path and spec != "." and not spec.startswith("../"):
        left_out.append(f"/{spec}")
    repository = Repository(root, env, time.monotonic() + SECONDS)
    try:
        seen = repository.snapshot(left_out)
    except GitError:
        repository("rev-parse", "--git-dir")  # which says why in git's own words
        raise
    at = len(seen.prefix)
    files = {path[at:].rstrip("/"): what for path, what in seen.files.items() if path[:at] == seen.prefix}
    return Tree(seen.commit, seen.tree, files, frozenset(path.rstrip("/") for path in seen.new))


def committed(root: str, env: Mapping[str, str], commit: str | None) -> dict[str, str]:
    """Mode and content of each file below the root, as a commit has them."""
    if commit is None:
        return {}
    git = Repository(root, env, time.monotonic() + SECONDS)
    files = {}
    for record in git("ls-tree", "-r", "-z", commit).split(b"\0"):
        if record:
            head, _, name = record.partition(b"\t")
            mode, _, content = head.split(b" ")
            files[os.fsdecode(name)] = f"{mode.decode()} {content.decode()}"
    return files


def differing(before: Mapping[str, str], tree: Tree, spec_path: str = "") -> dict[str, str | None]:
    """What is not as in a commit, and what it is now; None if it is gone."""
    changed: dict[str, str | None] = {path: what for path, what in tree.files.items() if before.get(path) != what}
    changed.update({path: None for path in before if path not in tree.files and not _is_left_out(path, spec_path)})
    return changed


def _is_left_out(path: str, spec_path: str) -> bool:
    """A committed file that `look` never sees is not gone."""
    parts = f"/{path}/"
    return path == os.path.normpath(spec_path or ".") or any(
        f"/{own}/" in parts for own in (*engines.files(), "__pycache__")
    )


def begin(root: str, env: Mapping[str, str], state: State) -> None:
    """Remember the tree as a task finds it: what is uncommitted already is not the task's doing."""
    loop = state["loop"]
    tree = look(root, env, state["spec_path"])
    loop.update(dirty={}, left_out=[], by_tests=[], at_base=None, tested=None, excused=False, details=[])
    if tree is None:
        return
    loop["base"] = tree.commit
    dirty = differing(committed(root, env, tree.commit), tree, state["spec_path"])
    loop["dirty"] = dirty if len(dirty) <= MOST else None
    for path, what in tree.files.items():
        if is_captured(path):
            loop["guarded"].setdefault(path, what)


def unreported(
    root: str, env: Mapping[str, str], state: State, tree: Tree | None, more: Iterable[str] = ()
) -> list[str]:
    """What has changed since the task began, is not in HEAD, and nobody has reported."""
    loop = state["loop"]
    if tree is None or loop["dirty"] is None:
        return []
    known = {*state["files_changed"], *more, *loop["left_out"], *loop["by_tests"]}
    changed = differing(committed(root, env, loop["base"]), tree, state["spec_path"])
    if tree.commit != loop["base"]:  # what somebody has committed meanwhile is told at the task's own commit
        beside = differing(committed(root, env, tree.commit), tree, state["spec_path"])
        changed = {path: what for path, what in changed.items() if path in beside}
    dirty = loop["dirty"].items()
    return sorted(path for path, what in changed.items() if path not in known and (path, what) not in dirty)


def run_between(before: Tree | None, after: Tree | None, state: State) -> tuple[list[str], list[str]]:
    """What changed while something ran: files of the project or the task, and new ones that nobody has reported."""
    if before is None or after is None:
        return [], []
    paths = {*before.files, *after.files}
    changed = sorted(path for path in paths if before.files.get(path) != after.files.get(path))
    new = {path for path in changed if path in after.untracked and path not in state["files_changed"]}
    return [path for path in changed if path not in new], sorted(new)


def is_captured(path: str) -> bool:
    return path.startswith(f"{CAPTURED}/")


def refuse_changed_tests(state: State, tree: Tree | None) -> None:
    """Refused if a regression test is not what it was, whatever has changed it."""
    guarded = state["loop"]["guarded"]
    changed = sorted(path for path, what in guarded.items() if tree is not None and tree.files.get(path) != what)
    if changed:
        raise Refused(
            f"a regression test cannot be changed or removed once it exists: {listed(changed)}. "
            "Put it back with `taskie autopilot restore`, and fix the code instead"
        )


def refuse_early_code(root: str, env: Mapping[str, str], state: State) -> None:
    """Refused if something under src/ has changed since `init`, when there was no plan yet."""
    tree, dirty = look(root, env, state["spec_path"]), state["loop"]["dirty"]
    if tree is None or dirty is None:
        return
    # Against the commit at `init`: what somebody has committed since was written without a plan, too.
    found = differing(committed(root, env, state["loop"]["base"]), tree, state["spec_path"]).items()
    changed = sorted(path for path, what in found if path.startswith(f"{CODE}/") and (path, what) not in dirty.items())
    if changed:
        raise Refused(
            f"there was no plan yet, and {listed(changed)} changed. Put it back, with `git stash` or "
            "`git checkout`, and what was committed with `git reset`, then plan. If a person changed it, start over: "
            "`taskie autopilot init SPEC_ID SPEC_PATH --force`"
        )


def listed(paths: Iterable[str]) -> str:
    """Their names, as far as a person reads them."""
    names = [shown(path) for path in paths]
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return ", ".join(names[:NAMED]) + more
