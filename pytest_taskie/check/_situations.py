"""What is done to a hook in a room: which event, how often, and what is awkward there. A value, and a command line."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

PROJECT = "{project}"  # in a field: where the project is


@dataclass(frozen=True)
class Situation:
    """One event, and the room in which a hook gets it.

    `times`: so many runs at once. `stops`: so many stops of one turn, as long as the hook blocks. `without`: programs
    that are not there. `agents`: a stand-in for the client is on PATH, which runs the hook again as a client would.
    `failing`: the tools that check code find an error. `traced`: which fields are asked for is noted.
    """

    event: str
    fields: Mapping[str, Any] = field(default_factory=dict)
    blank_project: bool = False
    blank_plugin: bool = False
    subdirectory: bool = False
    without: tuple[str, ...] = ()
    times: int = 1
    stops: int = 1
    agents: bool = False
    failing: bool = False
    traced: bool = False

    @property
    def key(self) -> str:
        return json.dumps({**vars(self), "fields": dict(self.fields)}, sort_keys=True)

    @property
    def words(self) -> list[str]:
        """What follows `taskie try HOOK`."""
        found = [self.event]
        for name, value in self.fields.items():
            if isinstance(value, Mapping):
                found += [f"{name}.{inner}={_spelled(one)}" for inner, one in value.items()]
            else:
                found.append(f"{name}={_spelled(value)}")
        for option in ("blank_project", "blank_plugin", "subdirectory", "agents", "failing", "traced"):
            if getattr(self, option):
                found.append(f"--{option.replace('_', '-')}")
        found += [f"--without={program}" for program in self.without]
        found += [f"--{option}={getattr(self, option)}" for option in ("times", "stops") if getattr(self, option) > 1]
        return found

    def command(self, hook: str) -> str:
        """The command that shows it again."""
        return shlex.join(["taskie", "try", hook, *self.words])


def _spelled(value: object) -> str:
    """As `taskie try` reads it: JSON where plain text would be read otherwise."""
    if not isinstance(value, str):
        return json.dumps(value)
    if len(value) > 2000 and len(set(value)) == 1:
        return f"{value[0]}*{len(value)}"
    return json.dumps(value) if _reads_otherwise(value) else value


def _reads_otherwise(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def given(words: list[str]) -> dict[str, Any]:
    """`tool_name=Bash tool_input.command='ls'` as fields; a value that is JSON is that value, `x*2000000` so many x."""
    fields: dict[str, Any] = {}
    for word in words:
        name, equals, text = word.partition("=")
        if not equals or not name:
            raise ValueError(f"{word!r} is not field=value, such as tool_name=Bash or tool_input.command='ls -l'")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
            one, star, size = text[:1], text[1:2], text[2:]
            if star == "*" and size.isdigit() and len(size) < 9:
                value = one * int(size)
        outer, dot, inner = name.partition(".")
        if dot:
            inside = fields.setdefault(outer, {})
            if not isinstance(inside, dict):
                raise ValueError(f"{outer} is given twice, as a value and as an object")
            inside[inner] = value
        else:
            fields[outer] = value
    return fields
