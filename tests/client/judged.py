"""Many outputs of hooks in one session of the real client, each at a prompt of its own, and where `judge` disagrees."""

from __future__ import annotations

import dataclasses
import json
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_taskie._judgement import Reading, judge
from pytest_taskie.client import ClaudeClient, repeat, tool
from pytest_taskie.client._claude import ALLOWED_TOOLS
from pytest_taskie.client._request import Request, text_of
from pytest_taskie.client._runs import FEEDBACK, parse_lines

from .outputs import Output

EVENTS = ("PreToolUse", "PostToolUse", "PostToolUseFailure", "UserPromptSubmit", "Stop", "SubagentStop")
# So many prompts of one session: each request repeats all before it, so what is long comes last.
AT_ONCE = 100
FEEDER = Path(__file__).parent / "feeder.py"
# Without a process that it does not need: it runs at every prompt.
HOOK = """\
#!/bin/sh
read -r event
case $event in *row-*) ;; *) exit 0 ;; esac
row=${{event##*row-}} row=${{row%%-*}}
cd {folder} && : > "$row.fired" && read -r code < "$row.code" && cat "$row.out" || exit 99
[ ! -s "$row.err" ] || cat "$row.err" >&2
exit "$code"
"""
HELPER = {"description": "help", "subagent_type": "general-purpose", "run_in_background": False}


@dataclasses.dataclass
class Seen:
    """What the client did at one prompt: its requests, those of the helper it started, what was made, how it ended."""

    requests: list[str] = dataclasses.field(default_factory=list)
    helpers: list[str] = dataclasses.field(default_factory=list)
    made: bool = False
    fired: bool = False
    stopped: bool = False


class Comparison:
    """One event's outputs in sessions of the real client. `disagreements`: a line for each that `judge` has wrong."""

    def __init__(self, claude_client: type[ClaudeClient], folder: Path, event: str) -> None:
        self._client_class = claude_client
        self._folder = folder
        self._event = event
        self.compared = 0
        self.outcomes: dict[str, int] = {}
        self.disagreements: list[str] = []

    def run(self, outputs: Sequence[Output]) -> None:
        outputs = sorted(outputs, key=lambda output: len(output.stdout))
        for start in range(0, len(outputs), AT_ONCE):
            self._session(outputs[start : start + AT_ONCE], self._folder / f"{self._event}-{start}")

    def _session(self, outputs: Sequence[Output], folder: Path) -> None:
        folder.mkdir(parents=True)
        for number, output in enumerate(outputs):
            for name, text in (("out", output.stdout), ("err", output.stderr), ("code", f"{output.exit_code}\n")):
                (folder / f"{number}.{name}").write_bytes(text.encode())
        hook = folder / "hook.sh"
        hook.write_text(HOOK.format(folder=shlex.quote(str(folder))))
        hook.chmod(0o755)
        seen = [Seen() for _ in outputs]
        client = self._client(str(hook), folder, seen)
        (folder / "prompts").write_text("".join(f"please row-{number}-\n" for number in range(len(outputs))))
        command = [sys.executable, str(FEEDER), str(folder / "prompts"), *client.installation.command]
        client.installation = dataclasses.replace(client.installation, command=tuple(command))
        home = Path(client._environment()["HOME"])
        # Without the spy and without reports on hooks: nobody reads them here.
        client._write_hooks(home, None)
        formats = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"]
        done = client.command("-p", *formats, "--allowedTools", ALLOWED_TOOLS)
        session = next(str(e["session_id"]) for e in parse_lines(done.stdout) if e.get("session_id"))
        for file in client._transcripts(home, session):
            self._read_transcript(parse_lines(file.read_text(encoding="utf-8", errors="replace")), seen)
        for number, output in enumerate(outputs):
            seen[number].fired = (folder / f"{number}.fired").exists()
            seen[number].made = (folder / f"row-{number}-.md").exists()
            self._compare(output, seen[number], str(hook))

    def _client(self, hook: str, folder: Path, seen: list[Seen]) -> ClaudeClient:
        client = self._client_class(
            hooks={self._event: hook},
            # A home of its own: in the project's the hooks of the session before would be run too.
            env={"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "0", "HOME": str(folder / "home")},
            timeout=30.0 + 6 * len(seen),
        )
        at, known = -1, 0

        def answer(request: Request) -> Any:
            nonlocal at, known
            asked = re.findall(r"please row-(\d+)-", request.last)
            if asked and int(asked[-1]) != at:
                at, known = int(asked[-1]), len(request.messages)
                seen[at].requests.append(request.last)
                return self._first(folder, at)
            seen[at].requests.append("\n".join(text_of(message) for message in request.messages[known:]))
            return "Again."

        def help_out(request: Request) -> str:
            number = int(re.findall(r"helper row-(\d+)-", request.prompt)[-1])
            seen[number].helpers.append(request.last)
            return f"Looked at row-{number}-." if len(seen[number].helpers) == 1 else "Looked again."

        client.agent(repeat(answer))
        if self._event == "SubagentStop":
            client.agent(repeat(help_out), when="You are helper")
        return client

    def _first(self, folder: Path, number: int) -> Any:
        if self._event in ("PreToolUse", "PostToolUse"):
            return tool("Write", file_path=folder / f"row-{number}-.md", content="x")
        if self._event == "PostToolUseFailure":
            return tool("Bash", command=f"false row-{number}-", description="x")
        if self._event == "SubagentStop":
            return tool("Task", prompt=f"You are helper row-{number}-.", **HELPER)
        return f"At row-{number}-." if self._event == "Stop" else "Done."

    def _read_transcript(self, transcript: Sequence[Any], seen: list[Seen]) -> None:
        at = 0
        for entry in transcript:
            text = json.dumps(entry.get("message", ""), ensure_ascii=False)
            asked = re.findall(r"please row-(\d+)-", text) if entry.get("type") == "user" else []
            at = int(asked[-1]) if asked else at
            seen[at].stopped |= "hook_stopped_continuation" in json.dumps(entry.get("attachment", ""))

    def _compare(self, output: Output, seen: Seen, command: str) -> None:
        try:
            reading = judge(output.exit_code, output.stdout, output.stderr, self._event, command)
            wrong = self._wrong(reading, seen)
        except Exception as error:
            reading, wrong = None, f"judge raises {type(error).__name__}: {error}"
        self.compared += 1
        outcome = reading.outcome if reading else "none"
        self.outcomes[outcome] = self.outcomes.get(outcome, 0) + 1
        if wrong:
            about = f"exit {output.exit_code}, stdout {output.stdout[:600]!r}, stderr {output.stderr!r}"
            self.disagreements.append(f"{self._event} {output.name}: judge says {outcome}, but {wrong}: {about}")

    def _wrong(self, reading: Reading, seen: Seen) -> str | None:
        """What the client did otherwise; None if it did as `judge` says."""
        if not seen.fired:
            return "the hook was not run"
        if reading.outcome == "unknown":
            return f"that is no answer: {reading.sentence}"
        if self._event == "UserPromptSubmit":
            went_on = bool(seen.requests)
            return None if went_on == (reading.outcome == "allowed") else f"the model was asked: {went_on}"
        if self._event == "PreToolUse":
            made = reading.outcome in ("allowed", "granted") or "made anyway" in reading.sentence
            if seen.made != made:
                return f"the call was made: {seen.made}"
        told = (seen.helpers if self._event == "SubagentStop" else seen.requests)[1:]
        if reading.outcome == "stopped":
            return f"the turn went on: {told}" if told else None
        ends = reading.outcome == "allowed" and self._event in ("Stop", "SubagentStop")
        if ends or reading.outcome in ("asked", "deferred"):
            return f"the turn went on: {told}" if told and ends else "it was stopped" if seen.stopped and ends else None
        if not told:
            return "the turn ended"
        if self._event in ("Stop", "SubagentStop"):
            blocked = FEEDBACK in told[0]
            if blocked != (reading.outcome == "blocked"):
                return f"the model was told {told[0][:300]!r}"
        heard = reading.reason is not None and reading.reason.strip() in told[0]
        if reading.outcome in ("blocked", "continued") and not heard:
            return f"the model was told {told[0][:300]!r}, not {reading.reason!r}"
        if reading.outcome == "allowed" and reading.reason and heard and self._event != "PreToolUse":
            return f"the model was told {told[0][:300]!r}"
        return None
