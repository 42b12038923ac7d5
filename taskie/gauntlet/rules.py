"""What each key of the configuration may hold, and how to say so. Reads no file."""

from __future__ import annotations

import os
import re

from taskie.gauntlet import KINDS
from taskie.gauntlet.documents import suggestion
from taskie.gauntlet.verdict import Problem

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, Union

    from taskie.gauntlet.documents import Document

    Rule = Callable[[Any], Any]
    # [RULE] is for each item of a list; one text is as good as a list of one.
    Rules = Mapping[str, Union[Rule, list[Rule], "Rules"]]

FOLDER = ".gauntlet"
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")
_REVISION = re.compile(r"[^\s\x00-\x1f\x7f~^:?*\[\\-][^\s\x00-\x1f\x7f~^:?*\[\\]*")


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def _rules_from(value: Any) -> str:
    if value not in ("worktree", "base"):
        raise ValueError('"worktree" or "base"')
    return str(value)


def text_rule(value: Any) -> str:
    if not isinstance(value, str) or not value.strip() or "\0" in value:
        raise ValueError("a text" if isinstance(value, str) else f'a text, in quotes: "{str(value).lower()}"')
    return value


def whole_rule(value: Any, least: int, most: int) -> int:
    if type(value) is not int or not least <= value <= most:
        raise ValueError(f"a whole number from {least} to {most}")
    return value


def minutes(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 10**9:
        raise ValueError("a number, 0 or more")
    return float(value)


def _seconds(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < 10**9:
        raise ValueError("a number of seconds above 0")
    return float(value)


def path_rule(value: Any) -> str:
    """A path that stays below the project's root, without the dots."""
    text = text_rule(value)
    parts = [part for part in text.split("/") if part not in ("", ".")]
    if os.path.isabs(text) or ".." in parts:
        raise ValueError(f"a path inside the project, not {text!r}")
    return "/".join(parts) or "."


def _log_dir(value: Any) -> str:
    path = path_rule(value)
    if path == "." or path.split("/")[0] in (".git", FOLDER):
        raise ValueError("a directory of its own inside the project")
    return path


def _revision(value: Any) -> str:
    if not isinstance(value, str) or not _REVISION.fullmatch(value):
        raise ValueError("a branch, such as origin/main")
    return value


def name_rule(value: Any) -> str:
    if not isinstance(value, str) or not NAME.fullmatch(value):
        raise ValueError("names of letters, digits, '_', '-' and '.'")
    return value


def _commands(value: Any) -> dict[str, str]:
    if not isinstance(value, dict):
        raise ValueError("a mapping of names to commands")
    return {name_rule(name): text_rule(command) for name, command in value.items()}


def _inline(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not all(isinstance(fields, dict) for fields in value.values()):
        raise ValueError("a mapping of names to gates, each a mapping as in a file of its own")
    return {name_rule(name): fields for name, fields in value.items()}


STOP_HOOK: Rules = {"enabled": _flag, "run_interval_minutes": minutes}
ENTRY: Rules = {"path": path_rule, "exclude": [path_rule], **{folder: [name_rule] for folder in KINDS.values()}}
TOP: Rules = {
    "base_branch": _revision,
    "log_dir": _log_dir,
    "allow_parallel": _flag,
    "max_retries": lambda value: whole_rule(value, 0, 100),
    "rules_from": _rules_from,
    "entry_points": [lambda entry: entry],
    "stop_hook": STOP_HOOK,
    **dict.fromkeys(KINDS.values(), _inline),
    "cli": {"default_preference": [name_rule], "commands": _commands},
}
GATE: Rules = {"parallel": _flag, "timeout": _seconds, "fail_fast": _flag, "run_in_ci": _flag, "run_locally": _flag}


def take(
    document: Document, raw: Mapping[str, Any], rules: Rules, problems: list[Problem], at: tuple[str, ...] = ()
) -> dict[str, Any]:
    """The known keys with values that they may have; every other is a problem with its line. `at` leads to `raw`."""
    taken: dict[str, Any] = {}
    for key, value in raw.items():
        rule = rules.get(key)
        if rule is None:
            text = f"unknown key {'.'.join((*at, str(key)))!r}{suggestion(key, rules)}"
            problems.append(Problem(document.name, document.line(*at, str(key)), text, warning=True))
        elif value is not None:  # `timeout:` with nothing after it is as good as not there
            try:
                if isinstance(rule, list):
                    items = [value] if isinstance(value, str) else value
                    if not isinstance(items, list):
                        raise ValueError("a list")
                    taken[key] = tuple([rule[0](item) for item in items])
                elif callable(rule):
                    taken[key] = rule(value)
                elif isinstance(value, dict):
                    taken[key] = take(document, value, rule, problems, (*at, key))
                else:
                    raise ValueError("a mapping")
            except ValueError as error:
                text = f"{'.'.join((*at, key))} must be {error}"
                problems.append(Problem(document.name, document.line(*at, key), text))
    return taken
