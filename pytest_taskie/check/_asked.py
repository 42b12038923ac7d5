"""One rule about one hook, asked for in a test: `assert found("hooks/hooks.json#0", "crash") == []`."""

from __future__ import annotations

from pathlib import Path

from pytest_taskie.check._lab import Lab
from pytest_taskie.check._room import ground
from pytest_taskie.check._rules import RULES, look, rule
from pytest_taskie.check._settings import SettingsError, settings
from pytest_taskie.check._subjects import Subject, read


def found(place: str, name: str, *, event: str = "Stop", matcher: str | None = None) -> list[str]:
    """What a rule finds in a hook: of a file, `#0` is its first one; anything else is a command."""
    if name not in RULES:
        raise SettingsError(f"there is no rule {name!r}")
    subject = hook(place, event=event, matcher=matcher)
    preparation = settings(subject.root).preparation(subject)
    with ground() as there:
        there.probe()
        return [one.message for one in look(name, Lab(there, subject, preparation))] if rule(name) else []


def hook(place: str, *, event: str = "Stop", matcher: str | None = None) -> Subject:
    """The hook that a place names."""
    file, _, number = place.rpartition("#")
    if not (file and number.isdigit() and Path(file).exists()):
        subjects, problems = read(place, event=event, matcher=matcher)
        if len(subjects) == 1:
            return subjects[0]
        why = problems[0].message if problems else f"it has {len(subjects)} hooks; name one, such as {place}#0"
        raise SettingsError(f"{place}: {why}")
    subjects, problems = read(file)
    if int(number) >= len(subjects):
        why = problems[0].message if problems else f"it has {len(subjects)} hooks, the first is #0"
        raise SettingsError(f"{file}: {why}")
    return subjects[int(number)]
