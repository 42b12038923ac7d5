"""`taskie gauntlet skip` and `unskip`: a person passes over a failure. Not on the hook's path."""

from __future__ import annotations

import getpass
import os
import sys
import time
from typing import TYPE_CHECKING

from taskie.errors import CommandError
from taskie.gauntlet import changes, lock, record, skips
from taskie.gauntlet.commands import config_of, root_here
from taskie.programs import MARK
from taskie.protocol import shown
from taskie.store import timestamp

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from taskie.gauntlet.record import Record
    from taskie.tree import Snapshot

AGENTS = ("CLAUDECODE", "CODEX_SANDBOX", "CODEX_SANDBOX_NETWORK_DISABLED", "GEMINI_CLI", MARK)
MAX_HOURS = 720.0


def skip(gate: str | None, reason: str | None, hours: float, listed: bool) -> int:
    if listed:
        return _list()
    if not gate or not reason or not reason.strip():
        raise CommandError("say which gate, and why: taskie gauntlet skip GATE --reason TEXT", 2)
    if not 0 < hours <= MAX_HOURS:
        raise CommandError(f"--hours must be above 0 and at most {MAX_HOURS:g}", 2)
    _refuse_agents(os.environ)
    seen, log_dir, before = _project()
    keys = _named(gate, before.unproven)
    if not keys:
        failing = ", ".join(before.open_gates) or "nothing"
        raise CommandError(f"{gate} has not failed in the last run, so there is nothing to skip; failing: {failing}")
    end = skips.until(hours)
    _ask(f"Skip {', '.join(keys)} on {seen.branch} until it passes, at most until {end}? [y/N] ")
    made = [
        skips.Skip(key, seen.branch, seen.prefix, _who(), timestamp(), end, shown(reason.strip(), 500)) for key in keys
    ]
    skips.change(
        seen.common,
        lambda present: [*(each for each in present if not (each.gate in keys and each.is_of(seen))), *made],
    )
    _enter(seen, log_dir)
    for each in made:
        print(f"{each}.")
    print("The gate is still run, and every run that passes over it says so.")
    return 0


def unskip(gate: str) -> int:
    seen, _, _ = _project()
    keys = _named(gate, skips.in_force(skips.load(seen.common, []), seen))
    if not keys:
        raise CommandError(f"{gate} is not skipped on {seen.branch}")
    skips.end(seen.common, seen, keys)
    print(f"No longer skipped: {', '.join(keys)}.")
    return 0


def _list() -> int:
    seen, _, _ = _project()
    warnings: list[str] = []
    found = skips.in_force(skips.load(seen.common, warnings), seen)
    for each in found.values():
        print(f"{each}.")
    if not found:
        print(f"No gate is skipped on {seen.branch}.")
    for warning in warnings:
        print(warning, file=sys.stderr)
    return 0


def _refuse_agents(env: Mapping[str, str]) -> None:
    agents = [name for name in AGENTS if env.get(name)]
    if agents:
        raise CommandError(f"only a person may skip a gate, and {agents[0]} says that an agent runs this")
    if not sys.stdin.isatty():
        raise CommandError("only a person may skip a gate: run this in a terminal, where it asks you")


def _ask(question: str) -> None:
    print(question, end="", flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CommandError("nothing is skipped")


def _project() -> tuple[Snapshot, str, Record]:
    root = root_here()
    config = config_of(root)
    seen = changes.GatedRepository(root, os.environ, time.monotonic() + 60).seen(config.log_dir, config.rules)
    log_dir = os.path.join(root, config.log_dir)
    return seen, log_dir, record.load(log_dir, [])


def _named(gate: str, keys: Sequence[str] | Mapping[str, object]) -> list[str]:
    """The gates that are meant: by key, or by name in every entry."""
    return [key for key in keys if key == gate or key.split(":", 2)[-1].split("@")[0] == gate]


def _who() -> str:
    try:
        return shown(getpass.getuser())
    except (OSError, KeyError, ImportError):
        return f"user {os.getuid()}"


def _enter(seen: Snapshot, log_dir: str) -> None:
    """Into the record, so that the next stop is not answered from a failure that is passed over."""
    held = lock.take(log_dir)
    if held is None:
        return  # the run that is in progress has its own answer, and the next one will look again
    try:
        before = record.load(log_dir, [])
        after = skips.recorded(before, skips.in_force(skips.load(seen.common, []), seen))
        if not after.open_gates:
            record.archive(log_dir)
        record.save(log_dir, after, [])
    finally:
        lock.release(log_dir, held)
