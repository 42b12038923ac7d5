"""When the hook runs the gates: environment over project over the user's global file, field by field."""

from __future__ import annotations

import os

from taskie.gauntlet.documents import Invalid, read, take
from taskie.gauntlet.rules import STOP_HOOK
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from taskie.gauntlet.config import Config
    from taskie.gauntlet.documents import Problem

GLOBAL = ("~", ".config", "agent-gauntlet", "config.yml")
ENABLED = "GAUNTLET_STOP_HOOK_ENABLED"
INTERVAL = "GAUNTLET_STOP_HOOK_INTERVAL_MINUTES"
DEFAULT_INTERVAL = 10.0
_YES = ("1", "true", "yes", "on")
_NO = ("0", "false", "no", "off")


class HookSettings(Value):
    """Whether the hook runs the gates, and how many minutes it lets pass between two runs that did not fail."""

    enabled: bool = True
    interval: float = DEFAULT_INTERVAL
    warnings: tuple[str, ...] = ()


def load(config: Config, env: Mapping[str, str]) -> HookSettings:
    warnings: list[str] = []
    chosen: dict[str, Any] = {}
    if config.enabled is None or config.interval is None:
        chosen.update(_global(env, warnings))
    if config.enabled is not None:
        chosen["enabled"] = config.enabled
    if config.interval is not None:
        chosen["run_interval_minutes"] = config.interval
    switch = env.get(ENABLED, "").strip().lower()
    if switch in _YES + _NO:
        chosen["enabled"] = switch in _YES
    elif switch:
        warnings.append(f"{ENABLED} must be true or false; ignored")
    minutes = env.get(INTERVAL, "").strip()
    if minutes:
        try:
            chosen["run_interval_minutes"] = STOP_HOOK["run_interval_minutes"](float(minutes))
        except ValueError:
            warnings.append(f"{INTERVAL} must be a number of minutes from 0 on; ignored")
    return HookSettings(
        chosen.get("enabled", True), chosen.get("run_interval_minutes", DEFAULT_INTERVAL), tuple(warnings)
    )


def _global(env: Mapping[str, str], warnings: list[str]) -> dict[str, Any]:
    home = env.get("HOME") or os.path.expanduser("~")
    path = os.path.join(home, *GLOBAL[1:])
    problems: list[Problem] = []
    try:
        document = read(path, path)
        if document is None:
            return {}
        raw = document.content.get("stop_hook", {})
        if not isinstance(raw, dict):
            warnings.append(f"{path}: stop_hook must be a mapping; ignored")
            return {}
        taken = take(document, ("stop_hook",), raw, STOP_HOOK, problems)
    except Invalid as error:
        warnings.append(f"{error}; the defaults are used")
        return {}
    warnings += [f"{problem}; ignored" for problem in problems]
    return taken
