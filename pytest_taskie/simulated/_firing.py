"""Fire one event at the hooks of a simulated session, and keep what came of it. Knows hooks; no turn and no tool."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_taskie._checking import refused
from pytest_taskie._contract import contract
from pytest_taskie._hook_entries import HookEntry, HooksFile
from pytest_taskie._hooks_running import Place
from pytest_taskie._judgement import Reading
from pytest_taskie._matchers import target
from pytest_taskie._merging import merged
from pytest_taskie._results import HookResult
from pytest_taskie.client._hook_runs import HookRun
from pytest_taskie.simulated._refusing import NotMeasuredHere

Json = Mapping[str, Any]
# What the client does not report on: one run, of which only the input is known.
UNREPORTED = ("SessionEnd",)
# At these the client waits for no word.
DEAF = ("SessionEnd", "MessageDisplay", "CwdChanged")


@dataclass(frozen=True)
class Fired:
    """What the hooks of one event came to, in the order in which they have ended."""

    name: str
    event: str
    results: Sequence[HookResult] = ()

    @property
    def readings(self) -> list[Reading]:
        return [result.reading for result in self.results]

    @property
    def together(self) -> Reading:
        """All of them as the client takes them; without any, the event is allowed."""
        return merged(self.readings, self.event) if self.results else Reading("allowed", "no hook")

    def having(self, *outcomes: str) -> list[HookResult]:
        """Those that the client reads so."""
        return [result for result in self.results if result.reading.outcome in outcomes]

    @property
    def contexts(self) -> list[str]:
        return [result.context for result in self.results if result.context]

    @property
    def stop_reason(self) -> str:
        """Why a hook ends the turn."""
        for result in self.having("stopped"):
            reason = (result.reading.document or {}).get("stopReason")
            if isinstance(reason, str) and reason:
                return reason
        raise NotMeasuredHere("continue: false without a stopReason")

    @property
    def messages(self) -> list[str]:
        return [result.system_message for result in self.results if result.system_message]


@dataclass
class SessionHooks:
    """All hooks of a session, from wherever they are configured."""

    files: Sequence[HooksFile]
    place: Place
    session: str
    stream: list[dict[str, Any]] = field(default_factory=list)
    runs: list[HookRun] = field(default_factory=list)
    messages: list[str] = field(default_factory=list)

    def matching(self, event: str, payload: Json) -> list[HookEntry]:
        """The hooks that run, each command of a source once."""
        return [entry for file in self.files for entry in file.matching(event, payload)]

    def any_for(self, events: Iterable[str]) -> str | None:
        """The first of these events that has a hook."""
        wanted = set(events)
        return next((entry.event for file in self.files for entry in file.entries if entry.event in wanted), None)

    def fire(self, payload: Json, where: str) -> Fired:
        """Run the hooks of an event, with this input, in this directory."""
        event = str(payload["hook_event_name"])
        what = target(event, payload)
        name = f"{event}:{what}" if what is not None and event not in UNREPORTED else event
        entries = self.matching(event, payload)
        for entry in entries:
            _refuse(entry, payload)
        if not entries:
            return Fired(name, event)
        reports = [self._started(name, event) for _ in entries]
        numbered = self.place.run(entries, payload, where)
        results = [result for _, result in numbered]
        for result in results:
            _refuse_output(result, event)
        if event in UNREPORTED:
            self.runs.append(HookRun(event, event, payload))
            return Fired(name, event, results)
        self.stream += reports
        heard = _heard(results, event)
        ended = dict(numbered[: len(heard)])
        self.stream += [_report(reports[number], result) for number, result in ended.items()]
        for number, report in enumerate(reports):
            if number in ended:
                self.runs.append(_run(report, ended[number], payload))
            else:
                self.runs.append(HookRun(event, name, payload, report=report))
        fired = Fired(name, event, heard)
        self.messages += fired.messages
        return fired

    def _started(self, name: str, event: str) -> dict[str, Any]:
        return {
            "type": "system",
            "subtype": "hook_started",
            "hook_id": str(uuid.uuid4()),
            "hook_name": name,
            "hook_event": event,
            "session_id": self.session,
        }


def _report(started: Json, result: HookResult) -> dict[str, Any]:
    """What the client prints at a hook's end."""
    document = result.reading.document
    refusal = None if document is None else refused(document, contract("claude"), str(started["hook_event"]))
    failed = result.exit_code or refusal is not None
    return {
        **started,
        "subtype": "hook_response",
        "output": result.stdout + result.stderr,
        "stdout": result.stdout,
        "stderr": result.stderr,
        "exit_code": result.exit_code,
        "outcome": "cancelled" if result.timed_out else "error" if failed else "success",
    }


def _run(started: Json, result: HookResult, payload: Json) -> HookRun:
    report = _report(started, result)
    told = result.stdout, result.stderr, result.exit_code, report["outcome"]
    return HookRun(str(report["hook_event"]), str(report["hook_name"]), payload, *told, report)


def _heard(results: list[HookResult], event: str) -> list[HookResult]:
    """Those that the client waits for: once a hook has blocked a prompt, or ends the turn after a tool, it does not
    look at the others any more."""
    final = {"UserPromptSubmit": ("blocked", "stopped"), "PostToolUse": ("stopped",)}.get(event, ())
    last = next((n for n, result in enumerate(results, 1) if result.reading.outcome in final), None)
    _refuse_race(results, event, final)
    return results[:last]


def _refuse_race(results: Sequence[HookResult], event: str, final: Sequence[str]) -> None:
    """Refuse what depends on which of several hooks ends first: the client itself does not go the same way twice."""
    deciding = [result for result in results if result.reading.outcome in final]
    words = {(result.reading.outcome, result.reason) for result in deciding}
    if event == "UserPromptSubmit" and len(words) > 1:
        raise NotMeasuredHere(f"which of {len(deciding)} hooks that end a prompt, each with words of its own, is first")
    others = [result for result in results if result not in deciding] if len(deciding) == 1 else results
    if deciding and any(result.system_message for result in others):
        raise NotMeasuredHere(f"whether a message to the user comes before another hook ends the turn at {event}")


def _refuse(entry: HookEntry, payload: Json) -> None:
    """Refuse a hook whose course nobody has measured."""
    if entry.type != "command":
        raise NotMeasuredHere(f"a hook of the type {entry.type} ({entry})")
    if entry.is_async:
        raise NotMeasuredHere(f"a hook for which the client does not wait ({entry})")
    if entry.rule_holds(payload) is None:
        raise NotMeasuredHere(f"whether the `if` {entry.rule!r} holds")


def _refuse_output(result: HookResult, event: str) -> None:
    """Refuse an output whose effect nobody has measured."""
    reading = result.reading
    if reading.outcome == "unknown" and event not in DEAF:
        raise NotMeasuredHere(reading.sentence)
    document = reading.document or {}
    if document.get("async") is True:
        raise NotMeasuredHere("a hook that promises its answer for later")
    longest = contract("claude").limit("context")
    if longest is not None and max(map(len, (result.context or "", result.reason or ""))) > longest:
        raise NotMeasuredHere(f"a context or a reason of more than {longest:,} characters")
    specific = document.get("hookSpecificOutput")
    for name in ("updatedToolOutput", "updatedMCPToolOutput", "initialUserMessage", "watchPaths", "displayContent"):
        if isinstance(specific, Mapping) and name in specific:
            raise NotMeasuredHere(f"{name} in a hook's output")
