"""Where the project is, and where our own files are. Knows paths, no engine's content."""

from __future__ import annotations

import os

from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from taskie.config import Config

_HERE = os.path.dirname(os.path.abspath(__file__))


class Project(Value):
    """Where an engine works: its root, the agent's directory, its settings, and until when (monotonic)."""

    root: str
    cwd: str
    config: Config
    env: Mapping[str, str]
    deadline: float


def plugin_root() -> str:
    """The directory that holds `hooks/`, `actions/` and `ground-rules.md`: inside the wheel, or the checkout."""
    packed = os.path.join(_HERE, "_plugin")
    return packed if os.path.isdir(packed) else os.path.dirname(_HERE)


def places(cwd: str, env: Mapping[str, str]) -> list[str]:
    """Directories in which an engine looks for its marker, nearest first, as physical paths.

    `cwd` follows the agent's own `cd`, so the search goes up to the repository's root. Outside a repository
    there is no root to stop at, so it stays where it is. `CLAUDE_PROJECT_DIR` is where the client was started.
    """
    here = os.path.realpath(cwd)
    upwards = [here]
    at = here
    while not os.path.lexists(os.path.join(at, ".git")):
        parent = os.path.dirname(at)
        if parent == at:
            upwards = [here]
            break
        upwards.append(parent)
        at = parent
    started = env.get("CLAUDE_PROJECT_DIR")
    if started and os.path.isabs(started):
        started = os.path.realpath(started)
        if started not in upwards and os.path.isdir(started):
            upwards.append(started)
    return upwards


def working_tree(path: str) -> str | None:
    """The repository or git worktree that a directory is in: none gets what belongs to another."""
    at = os.path.realpath(path)
    while not os.path.lexists(os.path.join(at, ".git")):
        parent = os.path.dirname(at)
        if parent == at:
            return None
        at = parent
    return at


def quoted(text: str) -> str:
    """A text as one word of a POSIX shell."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


def own_command() -> str:
    """How an agent calls our command line, for its shell: nothing needs to be installed."""
    return quoted(os.path.join(plugin_root(), "bin", "taskie"))


def find(marker: str, where: list[str]) -> str | None:
    """The nearest of these directories that holds the marker."""
    return next((place for place in where if os.path.lexists(os.path.join(place, marker))), None)
