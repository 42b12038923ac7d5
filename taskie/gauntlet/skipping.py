"""`taskie gauntlet skip` and `unskip`: a person passes over a failure. Not on the hook's path."""

from __future__ import annotations

import getpass
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from taskie import project
from taskie.errors import CommandError
from taskie.gauntlet import changes, lock, record, skips
from taskie.gauntlet.commands import config_of, ledger_of, root_here
from taskie.gauntlet.record import Record
from taskie.gauntlet.skips import Skip, SkipLedger
from taskie.programs import MARK
from taskie.protocol import shown
from taskie.store import timestamp
from taskie.terminal import say

AGENTS = ("CLAUDECODE", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "GEMINI_CLI", MARK)
MAX_HOURS = 720.0


class _Project:
    """The project here, as far as skips go."""

    def __init__(self) -> None:
        self.root = root_here()
        config = config_of(self.root)
        repository = changes.GatedRepository(self.root, os.environ, time.monotonic() + 60)
        self.branch = repository.seen(config.log_dir, b"").branch
        self.log_dir = os.path.join(self.root, config.log_dir)
        self.kept = SkipLedger(project.common_git_directory(self.root) or "", self.root, os.environ)

    def record(self) -> Record:
        return record.load(self.log_dir, ledger_of(self.root), [])

    @contextmanager
    def locked(self) -> Iterator[None]:
        """While no run is in progress, which would write the same files."""
        held = lock.take(self.log_dir)
        if held is None:
            raise CommandError("a run is in progress; try again when it has ended")
        try:
            yield
        finally:
            lock.release(self.log_dir, held)


def skip(gate: str | None, reason: str | None, hours: float, listed: bool) -> int:
    if listed:
        return _list(_Project())
    if not gate or not reason or not reason.strip():
        raise CommandError("say which gate, and why: taskie gauntlet skip GATE --reason TEXT", 2)
    if not 0 < hours <= MAX_HOURS:
        raise CommandError(f"--hours must be above 0 and at most {MAX_HOURS:g}", 2)
    _refuse_agents(os.environ)
    here = _Project()
    before = here.record()
    keys = _named(gate, before.unproven)
    if not keys:
        failing = ", ".join(before.open_gates) or "nothing"
        raise CommandError(f"{gate} has not failed in the last run, so there is nothing to skip; failing: {failing}")
    end = skips.until(hours)
    _ask(f"Skip {', '.join(keys)} on {here.branch} until it passes, at most until {end}? [y/N] ")
    made = [Skip(key, here.branch, _who(), timestamp(), end, shown(reason.strip(), 500)) for key in keys]
    with here.locked():
        present = [each for each in skips.load(here.kept) if each.gate not in keys or each.branch != here.branch]
        skips.save(here.kept, [*present, *made])
        _enter(here)
    for each in made:
        say(f"{each}.")
    say("The gate is still run, and every pass without it says so.")
    return 0


def unskip(gate: str) -> int:
    here = _Project()
    keys = _named(gate, skips.in_force(skips.load(here.kept), here.branch))
    if not keys:
        raise CommandError(f"{gate} is not skipped on {here.branch}")
    with here.locked():
        skips.end(here.kept, here.branch, keys)
    say(f"No longer skipped: {', '.join(keys)}.")
    return 0


def _list(here: _Project) -> int:
    warnings: list[str] = []
    found = skips.in_force(skips.load(here.kept, warnings), here.branch)
    for line in skips.told(found):
        say(f"{line}.")
    if not found:
        say(f"No gate is skipped on {here.branch}.")
    for warning in warnings:
        say(warning, file=sys.stderr)
    return 0


def _refuse_agents(env: Mapping[str, str]) -> None:
    agents = [name for name in AGENTS if env.get(name)]
    if agents:
        raise CommandError(f"only a person may skip a gate, and {agents[0]} says that an agent runs this")
    if not sys.stdin.isatty():
        raise CommandError("only a person may skip a gate: run this in a terminal, where it asks you")


def _ask(question: str) -> None:
    say(question, end="", flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CommandError("nothing is skipped")


def _named(gate: str, keys: Iterable[str]) -> list[str]:
    """The gates that are meant: by key, or by name in every entry."""
    return [key for key in keys if key == gate or key.split(":", 2)[-1].split("@")[0] == gate]


def _who() -> str:
    try:
        return shown(getpass.getuser())
    except (OSError, KeyError, ImportError):
        return f"user {os.getuid()}"


def _enter(here: _Project) -> None:
    """Into the record, so that the next stop is not answered from a failure that is passed over."""
    ledger = ledger_of(here.root)
    after = skips.recorded(here.record(), skips.in_force(skips.load(here.kept), here.branch))
    if ledger and not after.is_new and not after.lost:  # what could not be read is not written anew
        if not after.open_gates:
            record.archive(here.log_dir)
        record.save(here.log_dir, ledger, after, [])
