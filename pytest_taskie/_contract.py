"""What was measured of each client: the data files of `contract/`, one for a client from a version on. Knows no hook.

Nothing is read before it is asked for. `contract("claude", "2.1.197")` is the file with the greatest `from` that is not
newer; without a version, the newest.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "contract"
FORMAT = 1
EVERY_EVENT = "*"
SPECIFIC = "hookSpecificOutput"
EFFECTS = {
    *("allowed", "granted", "asked", "blocked", "continued", "stopped"),
    *("ended", "ignored", "refused", "deferred", "context"),
}
NEWEST = ("", "latest", "newest")
VERSION = re.compile(r"(?:[A-Za-z][A-Za-z_-]* ?)*[v@]?([0-9]{1,9}(?:\.[0-9]{1,9}){0,3})(?:[-+ (].*)?", re.DOTALL)
FILE = re.compile(r"([a-z]+)-([0-9]+(?:\.[0-9]+)*)\.json")
# One name for what is several: a kind of output, and what is special about it.
PARTS = {
    "block-no-reason": ("block", "no-reason"),
    "deny-no-reason": ("deny", "no-reason"),
    "exit-2-silent": ("exit-2", "silent"),
    "exit-2-missing": ("exit-2", "missing"),
    "refused-exit-2": ("refused", "exit-2"),
}
# What is so different that a row without it says nothing about a kind of output.
STRICT = "onFailure=block"
OF_ITS_OWN = {
    "exit-2": {"missing", "asyncRewake"},
    "async": {"asyncRewake"},
    "exit-1": {STRICT},
    "refused": {STRICT},
    "timeout": {STRICT},
}

Row = Mapping[str, Any]
Numbers = tuple[int, ...]


class ContractError(ValueError):
    """A sentence for the author of a test: which client, version or file is not as it should be, and what to do."""


@dataclass(frozen=True, eq=False)
class Contract:
    """One file: what the client does from one version on, up to the next file's."""

    client: str
    first: str
    before: str | None
    outputs: Mapping[str, Mapping[str, Any]]
    handlers: Mapping[str, Any]
    switches: Mapping[str, Any]
    limits: Mapping[str, Any]
    # What the client's own program names; empty where nobody has read that.
    sent: Collection[str] = ()

    @property
    def name(self) -> str:
        return f"{self.client} >={self.first}" + (f", <{self.before}" if self.before else "")

    @property
    def fields(self) -> Mapping[str, Row]:
        """The fields that every event's output may have."""
        found: Mapping[str, Row] = self.outputs.get(EVERY_EVENT, {}).get("fields", {})
        return found

    @property
    def closed(self) -> bool:
        """Whether the client refuses an object for a field that it does not know."""
        return bool(self.outputs.get(EVERY_EVENT, {}).get("closed"))

    @property
    def loose(self) -> bool:
        """Whether the client takes what is inside an object as it comes, also without the event's name."""
        return bool(self.outputs.get(EVERY_EVENT, {}).get("loose"))

    @property
    def flat(self) -> bool:
        """Whether what belongs inside `hookSpecificOutput` counts outside it too."""
        return bool(self.outputs.get(EVERY_EVENT, {}).get("flat"))

    @property
    def reading(self) -> Mapping[str, Any]:
        """How the client finds an answer in what a hook has printed, where it does not look at stdout alone."""
        found: Mapping[str, Any] = self.outputs.get(EVERY_EVENT, {}).get("reading", {})
        return found

    def common(self, event: str) -> str:
        """The name that the data have for an event which the client may call otherwise."""
        return next((name for name, output in self.outputs.items() if output.get("called") == event), event)

    @property
    def events(self) -> list[str]:
        return [name for name in self.outputs if name != EVERY_EVENT]

    def lacks(self, event: str) -> bool:
        """Whether this is a client of a time before it had an event."""
        return bool(self.sent) and event not in self.sent and event in contract(self.client).sent

    def knows(self, switch: str) -> bool:
        """Whether there is such a switch in the entry of a command; also where nobody has read which there are."""
        fields = self.handlers.get("command", {}).get("fields")
        return fields is None or switch in fields

    def specific(self, event: str) -> dict[str, Row]:
        """The fields of an event's `hookSpecificOutput`, those inside them with a dot; empty if it has none."""
        fields = self.outputs.get(event, {}).get("fields", {}) if event != EVERY_EVENT else {}
        start = len(SPECIFIC) + 1
        return {name[start:]: row for name, row in fields.items() if name.startswith(f"{SPECIFIC}.")}

    def limit(self, name: str) -> int | None:
        """A limit; in older files there is the bare number."""
        found = self.limits.get(name)
        return found.get("value") if isinstance(found, Mapping) else found

    def row(self, event: str, kind: str, beside: Collection[str]) -> Row | None:
        """What is known of a kind of output with all this beside it: of the rows that fit, the most special one."""
        present = {kind, *beside}
        best: tuple[int, Row] | None = None
        for key, row in self.outputs.get(event, {}).get("kinds", {}).items():
            parts = _parts(key)
            fits = kind in parts and parts <= present and (present & OF_ITS_OWN.get(kind, set())) <= parts
            # How it is said weighs less than what else is said.
            weight = 2 * len(parts) - len(parts & {"silent", "no-reason"})
            if fits and (best is None or weight > best[0]):
                best = weight, row
        return best[1] if best else None


@cache
def _parts(key: str) -> frozenset[str]:
    return frozenset(part for name in key.split("+") for part in PARTS.get(name, (name,)))


def clients(folder: Path | None = None) -> list[str]:
    """The clients that there is data about."""
    return sorted({client for client, _ in _files(folder or FOLDER)})


def contract(client: str = "claude", version: str | None = None, folder: Path | None = None) -> Contract:
    """What holds for a client and its version, which may be written in any way that names one."""
    folder = folder or FOLDER
    starts = _starts(client, folder)
    wanted = None if version is None else numbers(version)
    fitting = [first for first in starts if wanted is None or not_newer(first, wanted)]
    if not fitting:
        raise ContractError(f"nothing was measured of {client} {version}: the oldest is {starts[0]}")
    return _read(folder, client, fitting[-1])


def load(client: str, version: str | None = None, folder: Path | None = None) -> dict[str, Any]:
    """The whole file that holds for a client and its version, as it is stored: with events, tools and the program."""
    found = contract(client, version, folder)
    return _stored(folder or FOLDER, client, found.first)


def measured(client: str, folder: Path | None = None) -> list[str]:
    """The versions of a client that the data were measured in."""
    folder = folder or FOLDER
    return [
        version for first in _starts(client, folder) for version in _stored(folder, client, first).get("measured", [])
    ]


def newest_measured(client: str, folder: Path | None = None) -> str:
    """The newest of them, which is the one to test in where tests must not change with every release."""
    versions = measured(client, folder)
    if not versions:
        raise ContractError(f"the contract data do not say in which version of {client} they were measured")
    return max(versions, key=lambda version: numbers(version) or ())


def forget() -> None:
    """Read the files again: they were written."""
    for read in (_files, _read, _stored):
        read.cache_clear()


def contracts(client: str, least: str, folder: Path | None = None) -> list[Contract]:
    """What holds for a client from a version on, the newest first: each file that one of these versions needs."""
    found = every(client, folder)
    return found[: 1 + found.index(contract(client, least, folder))]


def every(client: str, folder: Path | None = None) -> list[Contract]:
    """All that there is of a client, the newest first."""
    folder = folder or FOLDER
    return [_read(folder, client, first) for first in reversed(_starts(client, folder))]


def numbers(version: object) -> Numbers | None:
    """The numbers of a version such as `2.1.197`, `v2.1`, `2.1.197 (Claude Code)`; None for the newest."""
    text = version.strip() if isinstance(version, str) else str(version)
    if text.lower() in NEWEST:
        return None
    found = VERSION.fullmatch(text) if isinstance(version, (str, int, float)) and len(text) < 200 else None
    if found is None:
        raise ContractError(f"{text[:80]!r} is not a version: write one such as 2.1.197, or newest")
    return tuple(int(number) for number in found[1].split("."))


def not_newer(first: str, wanted: Numbers) -> bool:
    own = tuple(int(number) for number in first.split("."))
    size = max(len(own), len(wanted))
    return own + (0,) * (size - len(own)) <= wanted + (0,) * (size - len(wanted))


def nearest(name: str, known: Collection[str], cutoff: float = 0.75) -> str | None:
    """The known name that was probably meant; capitals, hyphens and underscores do not count."""
    plain = {re.sub(r"[-_]", "", one).lower(): one for one in known}
    close = get_close_matches(re.sub(r"[-_]", "", name).lower(), plain, 1, cutoff)
    return plain[close[0]] if close else None


def _starts(client: str, folder: Path) -> list[str]:
    """The versions from which files hold, the oldest first."""
    starts = [first for name, first in _files(folder) if name == client]
    if not starts:
        known = clients(folder)
        if not known:
            raise ContractError(f"there are no contract data in {folder}: install pytest-taskie again")
        meant = nearest(str(client), known, 0.5)
        hint = f"; is {meant} meant?" if meant else ""
        raise ContractError(f"{str(client)[:80]!r} is not a client that was measured ({', '.join(known)}){hint}")
    return sorted(starts, key=lambda first: [int(number) for number in first.split(".")])


@lru_cache(maxsize=8)
def _files(folder: Path) -> tuple[tuple[str, str], ...]:
    try:
        found = [FILE.fullmatch(path.name) for path in folder.iterdir()]
    except OSError as error:
        raise ContractError(f"the contract data cannot be listed: {error}; install pytest-taskie again") from None
    return tuple((match[1], match[2]) for match in found if match)


@lru_cache(maxsize=64)
def _stored(folder: Path, client: str, first: str) -> dict[str, Any]:
    path = folder / f"{client}-{first}.json"
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ContractError(f"{path} cannot be read: {error}; install pytest-taskie again") from None
    wrong = _wrong(stored, client, first)
    if wrong:
        raise ContractError(f"{path} {wrong}")
    found: dict[str, Any] = stored
    return found


@lru_cache(maxsize=64)
def _read(folder: Path, client: str, first: str) -> Contract:
    stored = _stored(folder, client, first)
    starts = _starts(client, folder)
    later = starts[starts.index(first) + 1 :]
    handlers, switches, limits = (stored.get(name, {}) for name in ("handlers", "switches", "limits"))
    sent = stored.get("program", {}).get("events", ())
    before = later[0] if later else None
    return Contract(client, first, before, stored["outputs"], handlers, switches, limits, sent)


def _wrong(stored: Any, client: str, first: str) -> str | None:
    """What is not as a data file should be."""
    spoiled = "is spoiled: {}; install pytest-taskie again"
    if not isinstance(stored, dict):
        return spoiled.format("it does not hold an object")
    form = stored.get("format")
    if isinstance(form, int) and form > FORMAT:
        return f"has format {form}, and this pytest-taskie reads format {FORMAT}: install a newer pytest-taskie"
    if form != FORMAT:
        return spoiled.format(f"its format is {json.dumps(form)[:80]}")
    if (stored.get("client"), stored.get("from")) != (client, first):
        return spoiled.format("it is about another client or version than its name says")
    if not isinstance(stored.get("measured", []), list):
        return spoiled.format("measured is not a list of versions")
    for name in ("outputs", "handlers", "switches", "limits", "events", "tools", "program", "parameters", "answers"):
        if not isinstance(stored.get(name, None if name == "outputs" else {}), dict):
            return spoiled.format(f"{name} is not an object")
    if not isinstance(stored.get("program", {}).get("events", []), list):
        return spoiled.format("program.events is not a list of names")
    for event, told in stored.get("events", {}).items():
        parts = [told.get(part) for part in ("fields", "situations")] if isinstance(told, dict) else [None]
        if not all(isinstance(part, dict) for part in parts) or not parts[0]:
            return spoiled.format(f"events.{event} does not say what is sent")
    for event, output in stored["outputs"].items():
        for part in ("kinds", "fields"):
            rows = output.get(part, {}) if isinstance(output, dict) else None
            if not isinstance(rows, dict) or not all(isinstance(row, dict) for row in rows.values()):
                return spoiled.format(f"outputs.{event}.{part} does not hold rows")
        for kind, row in output.get("kinds", {}).items():
            if row.get("effect") not in EFFECTS:
                return spoiled.format(f"outputs.{event}.kinds.{kind} has the effect {json.dumps(row.get('effect'))}")
    return None
