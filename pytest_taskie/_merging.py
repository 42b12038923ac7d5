"""What the client makes of several hooks of one event: one reading of many. A function of readings; runs nothing.

The stronger word wins: `continue: false`, then a block, then the question to the user, then the permission. Held
against Claude Code 2.1.327 by `tests/client/test_merging.py`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pytest_taskie._hook_entries import HookEntry
from pytest_taskie._judgement import Reading
from pytest_taskie._results import HookResult

STRONGEST = ("stopped", "ended", "blocked", "deferred", "asked", "granted", "continued", "unknown", "allowed")


def merged(readings: Sequence[Reading], event_name: str) -> Reading:
    """One reading of those of an event's hooks, which are in the order in which they have ended."""
    strongest = min((reading.outcome for reading in readings), key=STRONGEST.index)
    of_it = [reading for reading in readings if reading.outcome == strongest]
    # A tool call has one answer, the last denial or the first question; everything else is told one after the other.
    decides = of_it[0] if strongest == "asked" else of_it[-1]
    reasons = [reading.reason for reading in of_it if reading.reason]
    reason = decides.reason if event_name in ("PreToolUse", "PermissionRequest") else "\n".join(reasons) or None
    contexts = [reading.context for reading in readings if reading.context]
    messages = [reading.system_message for reading in readings if reading.system_message]
    blocked = strongest in ("blocked", "ended")
    inputs = [reading.updated_input for reading in readings if reading.updated_input is not None]
    faults = [reading.fault for reading in readings if reading.fault]
    meant = [reading for reading in of_it if not reading.accident]
    return replace(
        decides,
        reason=reason,
        context="\n".join(contexts) or None,
        system_message="\n".join(messages) or None,
        updated_input=inputs[-1] if inputs and not blocked else None,
        fault=decides.fault or (faults[0] if faults else None),
        accident=None if meant else decides.accident,
    )


@dataclass(frozen=True, eq=False, repr=False)
class HooksResult(HookResult):
    """What several hooks of one event came to: read like that of one, with the `parts` beside it.

    `not_run` are the hooks that only the real client can run: a prompt, an agent, a URL, a tool of a server.
    """

    parts: tuple[HookResult, ...] = ()
    not_run: tuple[HookEntry, ...] = ()

    __hash__ = None

    @classmethod
    def of(cls, parts: Sequence[HookResult], event_name: str, not_run: Sequence[HookEntry] = ()) -> HooksResult:
        """All of them as one; in the order in which they have ended."""
        first = next((part for part in parts if part.exit_code), parts[0])
        return cls(
            " & ".join(part.command for part in parts),
            first.exit_code,
            "".join(part.stdout for part in parts),
            "".join(part.stderr for part in parts),
            max(part.duration for part in parts),
            event_name,
            contracts=parts[0].contracts,
            parts=tuple(parts),
            not_run=tuple(not_run),
        )

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """How each client reads all of them together."""
        columns = zip(*(part.readings for part in self.parts))
        return tuple(merged(column, self.event_name) for column in columns)

    @property
    def json(self) -> Any:
        """The object of the one hook that has printed one; None where several have, or none."""
        found = [part.json for part in self.parts if part.json is not None]
        return found[0] if len(found) == 1 else None

    @property
    def contexts(self) -> list[str]:
        """What each of them adds to what the model reads."""
        return [part.context for part in self.parts if part.context]

    def report(self) -> str:
        """What each of them did, and what the client makes of it together."""
        told = [f"hook {number} of {len(self.parts)}\n{part.report()}" for number, part in enumerate(self.parts, 1)]
        told += [f"not run, only the real client can: a hook of the type {entry.type}" for entry in self.not_run]
        together = [f"together the client reads: {self.reading.sentence}"] if len(self.parts) > 1 else []
        return "\n".join([*told, *together])
