"""Where the project stands when a run begins: is the record of this branch, is a run unfinished, are retries left?"""

from __future__ import annotations

from taskie.gauntlet import logs, state
from taskie.gauntlet.state import State
from taskie.store import StoreError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from taskie.gauntlet.changes import Base
    from taskie.gauntlet.git import Git, Snapshot


def recorded(log_dir: str, warnings: list[str]) -> State:
    """The record, an empty one if there is none or it cannot be read."""
    try:
        return state.load(log_dir) or State()
    except StoreError as error:
        warnings.append(f"{error}; the last run counts as failed if its logs are there")
        return State()


def changed(git: Git, seen: Snapshot, base: Base, before: State) -> str | None:
    """Why the record is of another context: another branch, or work that has been merged since."""
    if before.branch is not None and before.branch != seen.branch:
        return f"the branch changed from {before.branch} to {seen.branch}"
    if before.commit and not before.in_base and base.tip and git.is_ancestor(before.commit, base.tip):
        return f"commit {before.commit[:12]} was merged into {base.name}"
    return None


def is_orphaned(log_dir: str, before: State) -> bool:
    """Logs without a verdict: a run that did not finish. A run without failures moves its logs away."""
    return logs.highest(log_dir) > 0 and not before.failed


def is_spent(log_dir: str, before: State, max_retries: int) -> bool:
    if before.status == "retry_limit_exceeded":
        return True
    return before.failed and before.tree is not None and logs.highest(log_dir) > max_retries


def spent_message(before: State, max_retries: int) -> str:
    count = len(before.open_gates)
    failures = f"{count} gate{'s' * (count != 1)} still failing" if count else "the last run failed"
    which = ", ".join(before.open_gates[:8]) or "see the logs"
    return f"The retry limit ({max_retries}) is exceeded and {failures}: {which}. A person should look at it"


def seen_before(before: State, tree: str) -> tuple[str, ...]:
    """What the last run saw beyond its commit, if the tree is another than the one that passed."""
    return () if tree == before.passed_tree else before.dirty
