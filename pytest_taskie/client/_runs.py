"""What happened in one run of a client, read from what it printed and wrote.

Pure: knows the shape of Claude Code's events and transcript; starts nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_taskie._judgement import judge
from pytest_taskie.client._hook_runs import HookRun, Json, spy_record
from pytest_taskie.client._request import Request, text_of

FEEDBACK = "Stop hook feedback:\n"
# A session of days has fewer.
MOST_LINES = 200_000


@dataclass(frozen=True)
class Stop:
    """One run of one Stop hook.

    `decision` is what the client made of it ("block" or None), not what the hook printed. `context`: it went on because
    of this `additionalContext`, which is a block without an error. Claude Code before 2.1 does not report a hook's
    output: `stdout`, `stderr`, `exit_code` and `outcome` are None, and parallel hooks are one stop.
    """

    decision: str | None
    stdin: Json | None = None
    stdout: str | None = None
    stderr: str | None = None
    exit_code: int | None = None
    outcome: str | None = None
    context: str | None = None

    @property
    def active(self) -> bool | None:
        """`stop_hook_active`, as the hook received it."""
        return None if self.stdin is None else bool(self.stdin.get("stop_hook_active"))


@dataclass(frozen=True)
class Story:
    """The part of a run that each client tells in its own way."""

    stops: Sequence[Stop]
    hook_runs: Sequence[HookRun] = field(repr=False)
    feedback: Sequence[str]
    system_messages: Sequence[str]
    result: Json = field(repr=False)


@dataclass(frozen=True)
class Run(Story):
    """One prompt, from the client's start to its end. A session's client goes on and has no `exit_code` yet."""

    exit_code: int | None
    stdout: str = field(repr=False)
    stderr: str
    duration: float
    timed_out: bool
    requests: Sequence[Request] = field(repr=False)
    events: Sequence[Json] = field(repr=False)
    transcript: Sequence[Json] = field(repr=False)

    @property
    def answer(self) -> str:
        """The last words of the agent, as the client gives them to a script."""
        return str(self.result.get("result", ""))

    @property
    def version(self) -> str:
        """The version that the client says it is; older ones say nothing."""
        return str(next((e["claude_code_version"] for e in self.events if "claude_code_version" in e), ""))

    def hooks(self, event: str) -> list[HookRun]:
        """Every run of the hooks of one event, such as PreToolUse, in the order in which they were started.

        The client's own name of an event (AfterAgent) means the same as the one that all have (Stop).
        """
        return [run for run in self.hook_runs if event in (run.event, run.name)]

    def landed(self, text: str) -> bool:
        """Whether the agent's model was told this, by a hook or by anybody but itself.

        The client's own questions (titles, summaries) and those of `prompt` hooks, which have no tools, do not count
        beside an agent that has tools.
        """
        of_agents = [request for request in self.requests if request.tools] or self.requests
        return any(text in told for request in of_agents for told in request.told)


def parse_lines(text: str) -> list[Json]:
    """The JSON objects among the lines of a text; other lines do not count."""
    found: list[Json] = []
    # Not splitlines(): a line separator inside a JSON string is legal there.
    for line in text.split("\n", MOST_LINES)[:MOST_LINES]:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            found.append(value)
    return found


def feedback_text(event: Json) -> str | None:
    """The text with which a client goes on after a block; None for every other event."""
    if event.get("type") != "user" or event.get("parent_tool_use_id"):
        return None
    message = event.get("message")
    text = text_of(message) if isinstance(message, Mapping) else ""
    return text if text.startswith(FEEDBACK) else None


def read_stops(events: Sequence[Json], hook_runs: Sequence[HookRun]) -> list[Stop]:
    """The stops in the order in which they happened."""
    if not any(event.get("subtype") == "hook_response" for event in events):
        return _stops_without_reports(events, [run.stdin for run in hook_runs if run.event == "Stop"])
    stdins = {str(run.report.get("hook_id")): run.stdin for run in hook_runs}
    found: list[Stop] = []
    for reports, said, went_on in _grouped(events):
        real = [report for report in reports if spy_record(report) is None]
        for report in real:
            blocks = bool(said) and (len(real) == 1 or _said_by(report, said))
            context = _context(report) if went_on and not blocks else None
            found.append(
                Stop(
                    "block" if blocks or context is not None else None,
                    stdins.get(str(report.get("hook_id"))),
                    str(report.get("stdout", "")),
                    str(report.get("stderr", "")),
                    report.get("exit_code"),
                    report.get("outcome"),
                    context,
                )
            )
    return found


def _context(report: Json) -> str | None:
    code = report.get("exit_code")
    return judge(code if isinstance(code, int) else 0, str(report.get("stdout", "")), "").context


def _grouped(events: Sequence[Json]) -> Iterable[tuple[list[Json], list[str], bool]]:
    """Each stop's hook reports, the feedback that followed before the model spoke again, and whether it did."""
    reports: list[Json] = []
    said: list[str] = []
    for event in events:
        text = feedback_text(event)
        if event.get("subtype") == "hook_response" and event.get("hook_event") == "Stop":
            reports.append(event)
        elif text is not None and reports:
            said.append(text)
        elif event.get("type") in ("assistant", "result") and reports:
            # Feedback that no answer follows was overruled: by `continue: false`, or by the cap.
            went_on = event["type"] == "assistant"
            yield reports, said if went_on else [], went_on
            reports, said = [], []
    if reports:
        yield reports, [], False


def _said_by(report: Json, said: Sequence[str]) -> bool:
    try:
        reason = json.loads(str(report.get("stdout", "")))["reason"]
    except (ValueError, KeyError, TypeError):
        reason = str(report.get("stderr", "")).strip() if report.get("exit_code") == 2 else ""
    return bool(reason) and any(str(reason) in text for text in said)


def _stops_without_reports(events: Sequence[Json], inputs: Sequence[Json | None]) -> list[Stop]:
    # Every block is followed by an answer and another stop; feedback that no answer follows was overruled.
    answered = max((at for at, event in enumerate(events) if event.get("type") == "assistant"), default=-1)
    blocks = sum(1 for at, event in enumerate(events) if at < answered and feedback_text(event) is not None)
    return [Stop("block" if number < blocks else None, stdin) for number, stdin in enumerate(inputs)]


def system_messages(transcript: Sequence[Json], events: Sequence[Json]) -> list[str]:
    """What hooks had to say to the person; from the reports where the client keeps no transcript."""
    found = [
        str(entry["attachment"].get("content", ""))
        for entry in transcript
        if isinstance(entry.get("attachment"), dict) and entry["attachment"].get("type") == "hook_system_message"
    ]
    if found or transcript:
        return found
    for event in events:
        if event.get("subtype") == "hook_response":
            found += [str(v["systemMessage"]) for v in parse_lines(str(event.get("stdout"))) if v.get("systemMessage")]
    return found
