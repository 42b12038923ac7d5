"""One run of a hook, and how each client reads it. Knows no process."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Callable

from pytest_taskie._clients import together
from pytest_taskie._contract import Contract, contract
from pytest_taskie._judgement import Reading, judged
from pytest_taskie._querying import first_result
from pytest_taskie._workspace import same_json

SHOWN = 4000


@dataclass(frozen=True, eq=False, repr=False)
class HookResult:
    """One run of a hook: what it did, and how the client reads that.

    Compares equal to a dictionary that is the JSON object on stdout: `assert result == {"suppressOutput": True}`.
    """

    command: str
    exit_code: int
    stdout: str
    stderr: str
    duration: float = 0.0
    event_name: str = "Stop"
    states_before: Mapping[str, str] = field(default_factory=dict)
    states_after: Mapping[str, str] = field(default_factory=dict)
    entry: Mapping[str, Any] = field(default_factory=dict)
    plugin: bool = False
    timed_out: bool = False
    contracts: tuple[Contract, ...] = ()
    script_fault: str | None = None
    origin: str | None = None
    empty: Callable[[], float] | None = None

    __hash__ = None  # type: ignore[assignment]  # equality is about stdout alone

    @property
    def reading(self) -> Reading:
        """How the client reads it: the newest, or with `taskie_clients` the newest of the first that is named."""
        return self.readings[0]

    @cached_property
    def readings(self) -> tuple[Reading, ...]:
        """How each client reads it that `taskie_clients` names, version range by version range."""
        ended = self.exit_code, self.stdout, self.stderr, self.event_name, self.command
        found = ((one, judged(one, *ended, self.entry, self.plugin, self.timed_out)) for one in self._known)
        return tuple(self._with_script_fault(self._with_origin(one, reading)) for one, reading in found)

    def _with_origin(self, known: Contract, reading: Reading) -> Reading:
        """The newest client tells the model whose plugin a hook is that says why on stderr; 2.1.213 does not."""
        by_exit = reading.reason is not None and reading.reason.startswith(f"[{self.command}]: ")
        if self.origin is None or not by_exit or known.client != "claude" or known.before is not None:
            return reading
        return replace(reading, reason=f"{reading.reason}\nThis hook comes from the {self.origin} plugin.")

    @property
    def _known(self) -> tuple[Contract, ...]:
        return self.contracts or (contract(),)

    def in_each(self, say: Callable[[Reading], str | None]) -> list[tuple[str, str]]:
        """What there is to say of each client's reading, where there is: names of clients, and the words."""
        said = [(one, say(reading)) for one, reading in zip(self._known, self.readings)]
        return together((one, words) for one, words in said if words)

    def _with_script_fault(self, reading: Reading) -> Reading:
        if not self.script_fault:
            return reading
        return replace(reading, fault=self.script_fault, sentence=f"{reading.sentence} ({self.script_fault})")

    @property
    def approved(self) -> bool:
        """The client goes on as if there were no hook: the stop, the tool call, … is allowed."""
        return self.reading.outcome == "allowed"

    @property
    def granted(self) -> bool:
        """The client does not ask the user any more: the hook has given the permission."""
        return self.reading.outcome == "granted"

    @property
    def asked(self) -> bool:
        """The client asks the user, because of the hook."""
        return self.reading.outcome == "asked"

    @property
    def blocked(self) -> bool:
        """The client blocks, and gives the model the reason."""
        return self.reading.outcome == "blocked"

    @property
    def continues(self) -> bool:
        """The turn goes on, without a block, because of `additionalContext`."""
        return self.reading.outcome == "continued"

    @property
    def stopped(self) -> bool:
        """The client ends the turn because `continue` is false."""
        return self.reading.outcome == "stopped"

    @property
    def decision(self) -> str | None:
        """The decision the client sees; None also where one was lost."""
        return self.reading.decision

    @property
    def reason(self) -> str | None:
        """The reason of a block, as the model reads it; where the user is asked, or the turn ends, that of the hook."""
        return self.reading.reason

    @property
    def context(self) -> str | None:
        """What the hook adds to what the model reads: `additionalContext`, or plain stdout where that counts."""
        return self.reading.context

    @property
    def updated_input(self) -> dict[str, Any] | None:
        """The input with which the tool is called instead of its own; None if the client takes none."""
        return self.reading.updated_input

    @property
    def system_message(self) -> str | None:
        """What the user reads."""
        return self.reading.system_message

    @property
    def fault(self) -> str | None:
        """What is wrong with the hook although the client goes on: a lost block, an exit code."""
        return self.reading.fault

    @property
    def json(self) -> Any:
        """The JSON object on stdout, or None if that is not exactly what is there."""
        return self.reading.document

    def jq(self, query: str) -> Any:
        """The first result of a jq filter on the JSON object on stdout."""
        return first_result(query, self.json)

    def report(self) -> str:
        """Everything an author needs to see why a hook did not do as expected."""
        lines = [
            f"command:   {self.command}",
            f"exit code: {self.exit_code} after {self.duration:.2f} s",
            *block("stdout:", self.stdout),
            *block("stderr:", self.stderr),
            *self._what_clients_read(),
        ]
        if self.reading.reason:
            where = f" in {self.reading.client}" if len(self.readings) > 1 else ""
            heard = self.blocked or self.continues
            lines += block(f"{'the model reads' if heard else 'the reason'}{where}:", self.reading.reason)
        for plan in sorted({*self.states_before, *self.states_after}):
            before, after = self.states_before.get(plan), self.states_after.get(plan)
            if before == after:
                lines += block(f"state of {plan}, unchanged:", before)
            else:
                lines += block(f"state of {plan} before:", before) + block(f"state of {plan} after:", after)
        return "\n".join(lines)

    def _what_clients_read(self) -> list[str]:
        if len(self.readings) == 1:
            return [f"the client reads: {self.reading.sentence}"]
        said = self.in_each(lambda reading: reading.of_any_client)
        return [f"{name} {'read' if ' and ' in name else 'reads'}: {words}" for name, words in said]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, HookResult):
            return self is other
        if not isinstance(other, dict):
            return NotImplemented
        return same_json(self.json, other)

    def __repr__(self) -> str:
        return (
            f"<HookResult: {self.reading.sentence}; exit {self.exit_code}, "
            f"stdout {self.stdout!r}, stderr {self.stderr!r}>"
        )


def block(title: str, text: str | None) -> list[str]:
    """A title and an indented text, on one line if it is empty."""
    if text is None:
        return [f"{title} (none)"]
    if not text:
        return [f"{title} (empty)"]
    if len(text) > SHOWN:
        text = f"{text[: SHOWN // 2]}\n… {len(text) - SHOWN} characters …\n{text[-SHOWN // 2 :]}"
    return [title, *(f"    {line}" for line in text.rstrip("\n").split("\n"))]
