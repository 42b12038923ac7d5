"""Where the project is, and where our own files are. Knows paths, no engine's content."""

from __future__ import annotations

import os

from taskie.errors import CommandError
from taskie.protocol import speakable
from taskie.store import mode_of
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from taskie.config import Config
    from taskie.engine import Begun

_HERE = os.path.dirname(os.path.abspath(__file__))


class Context(Value):
    """Where an engine works: its root, the agent's directory, its settings, and until when (monotonic).

    `client`: it is called as in `hooks.json`. A script gets the words that the design fixes, a person in a client what
    helps there. `alone`: no other engine has something to do here, so all of the time is this one's.
    `asks`: only what the user has trusted may be run; whoever names an engine has said so by that. `begun`: see there.
    `caller`: the process that waits for the answer; programs do not outlive it.
    """

    root: str
    cwd: str
    config: Config
    env: Mapping[str, str]
    deadline: float
    client: bool = False
    alone: bool = False
    asks: bool = False
    begun: Sequence[Begun] = ()
    caller: int | None = None


def here() -> str:
    """The working directory, which may have been removed under us."""
    try:
        return os.getcwd()
    except OSError as error:
        raise CommandError(f"the current directory is gone ({error.strerror}): change into the repository") from None


def cache(env: Mapping[str, str]) -> str:
    """Our folder for what may be lost. Without a home it would be one in the project, so then it cannot be made."""
    folder = env.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.path.join(folder if os.path.isabs(folder) else os.devnull, "taskie")


def plugin_root() -> str:
    """The directory that holds `hooks/`, `actions/` and `ground-rules.md`: inside the wheel, or the checkout."""
    packed = os.path.join(_HERE, "_plugin")
    return packed if os.path.isdir(packed) else os.path.dirname(_HERE)


def places(cwd: str, env: Mapping[str, str], file: object = None) -> list[str]:
    """Directories in which an engine looks for its marker, nearest first, as physical paths.

    `cwd` follows the agent's own `cd`, so the search goes up to the repository's root. Outside a repository
    there is no root to stop at, so only `cwd` itself counts. `CLAUDE_PROJECT_DIR` is where the client was started.
    `file` is what a tool is about to change: its own repository comes first. DiskError where the disk does not say.
    """
    here = os.path.realpath(cwd)
    upwards = [here]
    at = here
    while not mode_of(os.path.join(at, ".git")):
        parent = os.path.dirname(at)
        if parent == at:
            upwards = [here]
            break
        upwards.append(parent)
        at = parent
    if isinstance(file, str) and "\0" not in file:
        target = os.path.dirname(os.path.realpath(os.path.join(here, speakable(file))))
        if working_tree(target):
            upwards = list(dict.fromkeys([*places(target, {}), *upwards]))
    started = env.get("CLAUDE_PROJECT_DIR")
    if started and os.path.isabs(started):
        started = os.path.realpath(started)
        if started not in upwards and os.path.isdir(started):
            upwards.append(started)
    return upwards


def working_tree(path: str) -> str | None:
    """The root of the repository, or of the git worktree, that a directory is in. Each has its own loops.

    DiskError where the disk does not say: a repository that is taken for none would lose what is kept in it.
    """
    at = os.path.realpath(path)
    while not mode_of(os.path.join(at, ".git")):
        parent = os.path.dirname(at)
        if parent == at:
            return None
        at = parent
    return at


def git_directory(tree: str) -> str | None:
    """The git directory of a working tree's root, found without git's help."""
    found = os.path.join(tree, ".git")
    try:
        if os.path.isfile(found):  # a worktree or a submodule says where its own is
            found = os.path.join(tree, _line(found).removeprefix("gitdir: "))
        return os.path.realpath(found) if os.path.isdir(found) else None
    except (OSError, ValueError):
        return None


def common_git_directory(path: str) -> str | None:
    """The git directory that all worktrees of a directory's repository share."""
    tree = working_tree(path)
    found = git_directory(tree) if tree is not None else None
    try:
        if found is not None and os.path.isfile(os.path.join(found, "commondir")):
            found = os.path.join(found, _line(os.path.join(found, "commondir")))
        return os.path.realpath(found) if found is not None and os.path.isdir(found) else None
    except (OSError, ValueError):
        return None


def _line(path: str) -> str:
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        return file.readline(4096).rstrip("\n")


def is_inside(root: str, path: str) -> bool:
    """Whether a path, relative to the root or not, stays below it, wherever links lead."""
    home = os.path.realpath(root)
    return os.path.commonpath([home, os.path.realpath(os.path.join(home, path))]) == home


def quoted(text: str) -> str:
    """A text as one word of a POSIX shell."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


def own_command() -> str:
    """How an agent calls our command line, for its shell: nothing needs to be installed."""
    return quoted(os.path.join(plugin_root(), "bin", "taskie"))


def typeable(text: str, env: Mapping[str, str] | None = None) -> str:
    """A message with our commands (`taskie …`, in backticks) as they can be typed where it is read.

    Whoever has the plugin alone has no program of that name on PATH.
    """
    folders = (os.environ if env is None else env).get("PATH", "").split(os.pathsep)
    if any(os.access(os.path.join(each, "taskie"), os.X_OK) for each in folders if os.path.isabs(each)):
        return text
    program = os.path.join(plugin_root(), "bin", "taskie")
    plain = program.translate(dict.fromkeys(map(ord, "/.-_")))
    return text.replace("`taskie ", f"`{program if plain.isascii() and plain.isalnum() else quoted(program)} ")


def marked(marker: str, places: list[str]) -> list[str]:
    """Those of these directories that hold the marker. DiskError where the disk does not say."""
    return [each for each in places if mode_of(os.path.join(each, marker))]


def find(marker: str, places: list[str]) -> str | None:
    """The nearest of these directories that holds the marker. DiskError where the disk does not say."""
    return next((place for place in places if mode_of(os.path.join(place, marker))), None)
