"""Which of this machine's variables a hook under test and a client get: an allow-list. Knows names, not their use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase

from taskie.stand_in import AGENTS

# What programs need to run at all, to speak the user's language, and to be measured. No token has such a name.
ALLOWED = (
    *("PATH", "HOME", "SHELL", "USER", "LOGNAME", "TMPDIR", "TEMP", "TMP", "TZ", "TERM", "COLORTERM", "NO_COLOR"),
    *("LANG", "LANGUAGE", "LC_*"),
    *("LD_LIBRARY_PATH", "DYLD_*", "NIX_LD", "NIX_LD_LIBRARY_PATH"),
    # An interpreter behind a version manager's shim, whose own home is no longer HOME.
    *("PYENV_ROOT", "PYENV_VERSION", "VIRTUAL_ENV"),
    *("PYTHONDEVMODE", "PYTHONDONTWRITEBYTECODE", "PYTHONFAULTHANDLER", "PYTHONHASHSEED", "PYTHONHOME"),
    *("PYTHONIOENCODING", "PYTHONPATH", "PYTHONPYCACHEPREFIX", "PYTHONUNBUFFERED", "PYTHONUTF8", "PYTHONWARNINGS"),
    *("COVERAGE_*", "COV_CORE_*"),
)
# The fixture's own; nothing brings the user's back.
FIXED = ("HOME", "PATH", "PWD", "OLDPWD")
# Another client, its settings, the suite's own runner or a shell's start file: a hook would be another one with them.
# They come in only by a name, or a pattern that begins like one.
DECISIVE = (
    *("BASH_ENV", "ENV", "GIT_*", "MOCK_*", "PYTEST_*", "TASKIE*", "XDG_*"),
    *(f"{prefix}*" for agent in AGENTS.values() for prefix in agent.variables),
)


def allowed(environ: Mapping[str, str]) -> dict[str, str]:
    """The part of an environment that no user minds a hook to read."""
    return {name: value for name, value in environ.items() if _matches(name, ALLOWED)}


def passed(environ: Mapping[str, str], patterns: Iterable[str]) -> dict[str, str]:
    """What the user wants to be passed besides: names, or patterns as a shell has them."""
    wide = [pattern for pattern in patterns if pattern[:1] in "*?["]
    narrow = [pattern for pattern in patterns if pattern not in wide]
    return {
        name: value
        for name, value in environ.items()
        if name not in FIXED and (_matches(name, narrow) or (_matches(name, wide) and not _matches(name, DECISIVE)))
    }


def without_proxies(environ: Mapping[str, str]) -> dict[str, str]:
    """For a network that has loopback alone: there a proxy is never right, however its variable is spelled."""
    kept = {name: value for name, value in environ.items() if not name.lower().endswith("_proxy")}
    return {**kept, "NO_PROXY": "*", "no_proxy": "*"}


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
