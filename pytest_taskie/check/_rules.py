"""The table of rules, and what a rule says. Each is a module of `rules/`, which is also its page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Literal, Protocol, cast

from pytest_taskie.check._situations import Situation
from pytest_taskie.check._subjects import Subject

if TYPE_CHECKING:
    from pytest_taskie.check._lab import Lab

Severity = Literal["error", "warning"]

# In the order in which they are told. What is not in it is not looked for.
RULES = (
    *("configuration", "unknown-event", "impossible-matcher", "if-never-matches", "ignored-setting"),
    *("relative-command", "blank-in-plugin", "blank-in-project", "subdirectory", "crash", "accidental-exit-2", "hangs"),
    *("phantom-variable", "phantom-field", "obsolete-tool", "missing-program", "misplaced-field", "two-documents"),
    *("noise", "lost-output", "forwarded-stderr", "block-without-reason", "grants", "endless-stops", "recursion"),
    *("lost-writes", "large-event", "injection", "secrets-left", "litter", "processes-left", "network", "slow-start"),
)


@dataclass(frozen=True)
class Edit:
    """A text in a file, and what it should be."""

    old: str
    new: str


@dataclass(frozen=True)
class Flaw:
    """What is wrong with one hook. With a situation it can be seen again."""

    message: str
    situation: Situation | None = None
    severity: Severity = "error"
    rule: str = ""
    subject: Subject | None = None
    edit: Edit | None = None
    line: int | None = None

    @property
    def again(self) -> str | None:
        """The command that shows it again."""
        return self.situation.command(self.subject.place) if self.situation and self.subject else None


class Rule(Protocol):
    """A module of `rules/`. Its name, with hyphens, is the rule's."""

    SEVERITY: Severity
    TITLE: str
    WHY: str
    EXAMPLE: str
    FIX: str
    RUNS: bool  # the hook is run for it

    @staticmethod
    def look(lab: Lab) -> Iterator[Flaw]: ...


@cache
def rule(name: str) -> Rule:
    return cast(Rule, import_module(f"pytest_taskie.check.rules.{name.replace('-', '_')}"))


def look(name: str, lab: Lab) -> list[Flaw]:
    """What a rule finds in a hook, each thing once."""
    module = rule(name)
    found = [
        replace(
            one, rule=name, subject=lab.subject, severity=module.SEVERITY if one.severity == "error" else one.severity
        )
        for one in module.look(lab)
    ]
    return list({one.message: one for one in found}.values())
