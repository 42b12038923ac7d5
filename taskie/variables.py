"""Which variables are the project's word rather than the user's. Knows the client's settings files, and no engine.

A client puts `env` of a project's own `.claude/settings.json` into the environment of every hook, over what the user
has set. Whoever is cloned must not speak for the user by that.
"""

from __future__ import annotations

import os

from taskie.project import places
from taskie.protocol import parse_json, shown
from taskie.store import StoreError, mode_of, read_regular

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

REFUSED = "TASKIE_PYTHON_REFUSED"  # by hooks/stop-hook.sh, which can tell nobody
FILES = ("settings.json", "settings.local.json")
# Ours and the engines'; where the user's own files are; what makes git run programs or look elsewhere; where programs
# are.
GUARDED = ("TASKIE_", "GAUNTLET_", "GIT_", "XDG_", "HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "PATH")
_HARMLESS = ("GIT_AUTHOR_", "GIT_COMMITTER_")
CI = "CI"  # by which gates go; what they run may have it from whomever
_MENTIONS = (*(prefix.encode() for prefix in GUARDED), b'"CI"', b"\\u")  # JSON can spell every letter another way


def untrusted(env: Mapping[str, str], root: str) -> frozenset[str]:
    """The variables that the project's own settings of the client set to the very value that they have."""
    return frozenset(set_by_project(env, root))


def set_by_project(env: Mapping[str, str], root: str) -> dict[str, str]:
    """The same, each with the file that sets it."""
    found: dict[str, str] = {}
    for place in places(root, env):
        for name in FILES:
            path = os.path.join(place, ".claude", name)
            if _is_there(path):
                found.update(dict.fromkeys(_set_by(path, env), path))
    return found


def _is_there(path: str) -> bool:
    """Where the disk does not say it may be, and then nobody knows what it sets."""
    try:
        return bool(mode_of(path))
    except StoreError:
        return True


def _set_by(path: str, env: Mapping[str, str]) -> list[str]:
    try:
        data = read_regular(os.path.realpath(path)) or b""
    except (OSError, StoreError):
        data = None
    if data is not None and not any(each in data for each in _MENTIONS):
        return []
    if os.path.realpath(path) == os.path.realpath(os.path.join(_home_of_the_system(), ".claude", FILES[0])):
        return []  # somebody works in their home directory: these settings are the user's own
    guarded = [name for name in env if name == CI or (name.startswith(GUARDED) and not name.startswith(_HARMLESS))]
    try:
        settings = parse_json((data or b"").decode("utf-8-sig"))
        given = settings.get("env", {}) if isinstance(settings, dict) else {}
    except ValueError:
        return guarded  # what is too large or too deep for us may not be so for the client
    if not isinstance(given, dict):
        return []
    return [name for name in guarded if name in given and _is_taken(given[name], env[name], name)]


def _is_taken(given: object, value: str, name: str) -> bool:
    """Whether a variable has this from the settings. The client makes a text, in its own way, of what is not one, and
    whoever starts us may have put something before a PATH."""
    return type(given) is not str or given == value or (name == "PATH" and given in value)


def users_own(env: Mapping[str, str], theirs: Mapping[str, str], root: str) -> tuple[Mapping[str, str], list[str]]:
    """The environment without what is not for a project to say, and a warning for each that is not taken.

    Our own settings stay: what a project may say by them is for `config` to know. So does TASKIE_HOOK_SKIP, since a
    project's settings can switch all hooks off anyway, and a reviewer's own stop must never be reviewed. Of a PATH
    stays what leads out of the project: nothing there is a clone's.
    """
    warnings = []
    if refused := env.get(REFUSED):
        warnings.append(
            f"TASKIE_PYTHON must be the absolute path of a Python outside the project, not {shown(refused)}; ignored"
        )
    dropped = [name for name in theirs if name != CI and not name.startswith(("TASKIE_", "PATH"))]
    kept = {name: value for name, value in env.items() if name not in dropped}
    if "HOME" in dropped:
        kept["HOME"] = _home_of_the_system()
    warnings += [f"{theirs[name]}: {name} is only taken from your own environment; ignored" for name in dropped]
    if "PATH" in theirs:
        places = env["PATH"].split(os.pathsep)
        outside = [place for place in places if not is_in_project(os.path.join(place, "program"), root, env)]
        if outside != places:
            kept["PATH"] = os.pathsep.join(outside)
            warnings.append(f"{theirs['PATH']}: PATH is only taken as far as it leads out of the project")
    return kept if kept != env else env, warnings


def in_ci(env: Mapping[str, str], root: str) -> bool:
    """Whether this is a run in CI. A project's settings would say so of every machine."""
    return env.get(CI, "").lower() in ("1", "true", "yes") and CI not in set_by_project(env, root)


def config_home(env: Mapping[str, str], theirs: Mapping[str, str] | frozenset[str] = frozenset()) -> str:
    """Where the user's configuration is, wherever the project says it were. Not absolute: there is no such place."""
    chosen = "" if "XDG_CONFIG_HOME" in theirs else env.get("XDG_CONFIG_HOME")
    home = _home_of_the_system() if "HOME" in theirs else env.get("HOME") or os.path.expanduser("~")
    return chosen or os.path.join(home, ".config")


def is_in_project(path: str, root: str, env: Mapping[str, str]) -> bool:
    """Whether a program lies in the project, whichever way its path leads there."""
    below = tuple(place + os.sep for place in places(root, env) if place != os.sep)
    folder = os.path.realpath(os.path.dirname(path)) + os.sep
    return folder.startswith(below) or os.path.realpath(path).startswith(below)


def _home_of_the_system() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        return ""
