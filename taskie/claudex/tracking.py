"""What git has brought here: a loop of this machine is nobody else's, so a state that git tracks came with a clone."""

from __future__ import annotations

import os

from taskie.git import own_environment
from taskie.programs import Command, find_program, run
from taskie.project import working_tree
from taskie.store import close

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

LONGEST = 5.0  # seconds
# Whatever the repository's configuration says, nothing of it is started; whoever owns it, git answers.
_CAREFUL = ("-c", "core.fsmonitor=false", "-c", "safe.directory=*")


def is_tracked(path: str, env: Mapping[str, str]) -> bool:
    """Whether the file is in the index of its repository. Where git cannot say, nobody has got it from there."""
    directory, name = os.path.split(path)
    program = find_program("git", env.get("PATH", "")) if working_tree(directory) else None
    if program is None:
        return False
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    try:
        argv = (program, *_CAREFUL, "ls-files", "--error-unmatch", "--", name)
        outcome = run(Command("project", argv, directory, own_environment(env), nowhere, nowhere, seconds=LONGEST))
    finally:
        close(nowhere)
    return outcome.exit_code == 0


def brought_link(root: str, marker: str, env: Mapping[str, str]) -> str | None:
    """A link on the way from the root to our directory that git tracks: a clone must not choose where we write."""
    path = root
    for part in marker.split("/"):
        path = os.path.join(path, part)
        if os.path.islink(path) and is_tracked(path, env):
            return path
    return None
