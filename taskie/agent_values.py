"""What one option of an agent's command line takes, and what the agent says of a value that it does not take."""

from __future__ import annotations

import re

from taskie import agent_options


class Option:
    """One option: its long name, and what it takes. `optional`: a value or none; `many`: all up to the next option."""

    def __init__(self, shown: str) -> None:
        start = min((shown.index(mark) for mark in "<[" if mark in shown), default=len(shown))
        self.shown, self.takes = shown, shown[start:]
        self.names = shown[:start].strip().split(", ")
        self.name = next(name for name in self.names if name.startswith("--"))
        self.optional = self.takes.startswith("[")
        self.many = "..." in self.takes


def wrong_for_claude(option: Option, value: object) -> str:
    choices = agent_options.CLAUDE_CHOICES.get(option.name)
    positive, whole, rule = agent_options.CLAUDE_NUMBERS.get(option.name, (False, False, ""))
    if choices and value not in (*choices, *agent_options.CLAUDE_UNLISTED.get(option.name, ())):
        rule = f"Allowed choices are {', '.join(choices)}."
    elif not rule or _is_number(str(value), positive=positive, whole=whole):
        return ""
    return f"error: option '{option.shown}' argument '{value}' is invalid. {rule}"


def _is_number(text: str, *, positive: bool, whole: bool) -> bool:
    """As JavaScript takes it: nothing at all is 0, and so may be written 0x10 or Infinity."""
    if re.fullmatch(r"0[xX][0-9a-fA-F]+|0[oO][0-7]+|0[bB][01]+", text):
        number: float = int(text, 0)
    elif re.fullmatch(r"\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|[+-]?Infinity)?\s*", text, re.ASCII):
        number = float(text.strip() or 0)
    else:
        return False
    return (number > 0 or not positive) and (number == number // 1 or not whole)


def wrong_for_codex(option: Option, value: object) -> str:
    choices = agent_options.CODEX_CHOICES.get(option.name)
    if not choices or value in choices:
        return ""
    known = f"\n  [possible values: {', '.join(choices)}]"
    return f"error: invalid value '{value}' for '{option.name} {option.takes}'{known}"
