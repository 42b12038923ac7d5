"""What a project says about its check: seeds, what is installed first, rules that are off and why. Reads TOML."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from pytest_taskie._contract import nearest
from pytest_taskie.check._lab import Preparation
from pytest_taskie.check._rules import RULES, Flaw
from pytest_taskie.check._subjects import Subject
from taskie.config import read_toml
from taskie.store import StoreError

FILES = ((".taskie/config.toml", False), ("pyproject.toml", True))
KEYS = ("install", "seed", "off")


class SettingsError(Exception):
    """Which file says what wrong."""


@dataclass(frozen=True)
class Settings:
    """`seeds` by a hook's name or a pattern of it; `off` by a rule's name, and a hook's if it is off for that alone."""

    install: str = ""
    seeds: Mapping[str, str] = field(default_factory=dict)
    off: Mapping[str, str] = field(default_factory=dict)
    file: Path | None = None

    def preparation(self, subject: Subject) -> Preparation:
        seed = next((script for name, script in self.seeds.items() if named(subject, name)), "")
        return Preparation(self.install, seed)

    def why_off(self, rule: str, subject: Subject | None) -> str | None:
        """The reason for which a rule is off, for all hooks or for this one."""
        for key, reason in self.off.items():
            name, _, hook = key.partition(" ")
            if name == rule and (not hook or (subject is not None and named(subject, hook))):
                return reason
        return None

    def split(self, findings: list[Flaw]) -> tuple[list[Flaw], list[tuple[Flaw, str]]]:
        """What counts, and what is off with its reason."""
        kept, left = [], []
        for one in findings:
            reason = self.why_off(one.rule, one.subject)
            if reason is None:
                kept.append(one)
            else:
                left.append((one, reason))
        return kept, left


def named(subject: Subject, name: str) -> bool:
    """Whether this is one of a hook's names: the event and its script, the script alone, or a pattern of them."""
    whole = subject.name
    return any(fnmatchcase(one, name) for one in (whole, whole.partition(" ")[2], subject.event))


def settings(where: Path) -> Settings:
    """Those of the nearest folder from here upwards that has any, up to a repository's root."""
    for folder in upwards(where):
        for name, is_pyproject in FILES:
            file = folder / name
            try:
                table = read_toml(str(file), is_pyproject).get("check")
            except StoreError as error:
                raise SettingsError(f"{file} {error}") from None
            if table is not None:
                return _settings(file, table)
    return Settings()


def upwards(where: Path) -> Iterator[Path]:
    where = where.absolute()
    for folder in (where, *where.parents):
        yield folder
        if (folder / ".git").exists():
            return


def _settings(file: Path, table: object) -> Settings:
    if not isinstance(table, dict):
        raise SettingsError(f"{file}: check must be a table")
    for key in table:
        if key not in KEYS:
            meant = nearest(key, KEYS)
            hint = f"; is {meant} meant?" if meant else f" (it has {', '.join(KEYS)})"
            raise SettingsError(f"{file}: check has no setting {key!r}{hint}")
    install = table.get("install", "")
    if not isinstance(install, str):
        raise SettingsError(f"{file}: check.install must be a string, a script for sh")
    seeds, off = (_strings(file, key, table.get(key, {})) for key in ("seed", "off"))
    for key, reason in off.items():
        rule = key.partition(" ")[0]
        if rule not in RULES:
            meant = nearest(rule, RULES)
            raise SettingsError(f"{file}: there is no rule {rule!r}" + (f"; is {meant} meant?" if meant else ""))
        if not reason.strip():
            raise SettingsError(f"{file}: check.off.{key} must say why the rule is off")
    return Settings(install, seeds, off, file)


def _strings(file: Path, key: str, value: Any) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise SettingsError(f"{file}: check.{key} must be a table of strings")
    return value
