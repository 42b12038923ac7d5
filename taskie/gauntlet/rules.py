"""What each key of the configuration may hold, and how to say so. Knows no file."""

from __future__ import annotations

import os
import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

FOLDER = ".gauntlet"
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_REVISION = re.compile(r"[^\s\x00-\x1f\x7f~^:?*\[\\-][^\s\x00-\x1f\x7f~^:?*\[\\]*")


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError("a text" if isinstance(value, str) else f'a text, in quotes: "{str(value).lower()}"')
    return value


def whole(least: int, most: int = 10**6) -> Callable[[Any], int]:
    def check(value: Any) -> int:
        if type(value) is not int or not least <= value <= most:
            raise ValueError(f"a whole number from {least} to {most}")
        return value

    return check


def number(least: float) -> Callable[[Any], float]:
    def check(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not least <= value < 10**9:
            raise ValueError(f"a number from {least:g} on")
        return float(value)

    return check


def _seconds(value: Any) -> float:
    found = number(0)(value)
    if not found:
        raise ValueError("a number of seconds above 0")
    return found


def _inside(value: Any) -> str:
    """A path that stays below the project's root, without the dots."""
    text = _text(value)
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if os.path.isabs(text) or ".." in parts:
        raise ValueError(f"a path inside the project, not {text!r}")
    return "/".join(parts) or "."


def _log_dir(value: Any) -> str:
    path = _inside(value)
    if path == "." or path.split("/")[0] in (".git", FOLDER):
        raise ValueError("a directory of its own inside the project")
    return path


def _revision(value: Any) -> str:
    if not isinstance(value, str) or not _REVISION.fullmatch(value):
        raise ValueError("a branch, such as origin/main")
    return value


def _texts(item: Callable[[Any], str]) -> Callable[[Any], tuple[str, ...]]:
    def check(value: Any) -> tuple[str, ...]:
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list):
            raise ValueError("a list")
        return tuple(item(each) for each in values)

    return check


def _name(value: Any) -> str:
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise ValueError("names of letters, digits, '_', '-' and '.'")
    return value


def _commands(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError("a mapping of names to commands")
    return {_name(name): _text(command) for name, command in value.items()}


STOP_HOOK = {"enabled": _flag, "run_interval_minutes": number(0)}
CLI = {"default_preference": _texts(_name), "commands": _commands}
ENTRY = {"path": _inside, "exclude": _texts(_inside), "checks": _texts(_name), "reviews": _texts(_name)}
TOP = {
    "base_branch": _revision,
    "log_dir": _log_dir,
    "allow_parallel": _flag,
    "max_retries": whole(0, 100),
    "entry_points": lambda value: value,
    "stop_hook": lambda value: value,
    "cli": lambda value: value,
}
GATE = {"parallel": _flag, "timeout": _seconds, "fail_fast": _flag, "run_in_ci": _flag, "run_locally": _flag}
CHECK = {"command": _text, "working_directory": _inside, **GATE, "fix_instructions": _text}
REVIEW = {"num_reviews": whole(1, 20), "cli_preference": _texts(_name), "model": _name, **GATE}
