"""Codex in a test: `codex exec` on a prompt, against a scripted Responses API.

Knows this client's configuration and events; the rest it shares with `sessions.py`.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_taskie.client.installation import Installation
from pytest_taskie.client.responses import RESPONSES
from pytest_taskie.client.runs import Json, Run, Stop, parse_lines
from pytest_taskie.client.script import Request
from pytest_taskie.client.sessions import (
    TIMEOUT,
    Hooks,
    ScriptedClient,
    Workspace,
    hook_groups,
    recorded_inputs,
    spy_command,
)

# No retries: an error in a script should be one error in the run, and at once.
CONFIG = """\
model = "scripted"
model_provider = "scripted"

[model_providers.scripted]
name = "scripted"
base_url = "{url}/v1"
wire_api = "responses"
env_key = "OPENAI_API_KEY"
request_max_retries = 0
stream_max_retries = 0

[analytics]
enabled = false

[features]
plugins = false
"""
_FEEDBACK = re.compile(r"<hook_prompt\b[^>]*>(.*?)</hook_prompt>", re.DOTALL)


class CodexClient(ScriptedClient):
    """One real Codex. `agent` says what its model will say; `prompt` runs `codex exec`."""

    dialects = RESPONSES

    def __init__(
        self,
        installation: Installation,
        project: Workspace,
        scratch: Path,
        *,
        network: bool = False,
        hooks: Hooks | None = None,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        trust_hooks: bool = True,
        timeout: float = TIMEOUT,
    ) -> None:
        super().__init__(installation, project, scratch, network=network, timeout=timeout)
        self._hooks = hooks or {}
        self._args = list(args)
        self._env = dict(env or {})
        self._trust = trust_hooks

    def prompt(
        self,
        text: str,
        *,
        args: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        cwd: os.PathLike[str] | str | None = None,
        timeout: float | None = None,
    ) -> Run:
        """Run `codex exec` with the prompt on stdin, and wait for its end."""
        records = self._scratch / f"stops-{len(self.runs)}"
        records.mkdir(parents=True)
        environment = self._environment(self._env, env)
        home = Path(environment["HOME"]) / ".codex"
        self._write_hooks(home, records)
        before = len(self._script.requests)
        trust = ["--dangerously-bypass-hook-trust"] if self._trust else []
        # The namespace is the sandbox; the client's own one would need another inside it.
        fixed = ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", *trust]
        where = Path(cwd) if cwd is not None else self.project.path
        finished = self._execute(
            [*fixed, *self._args, *args, "-"], environment, where, timeout, text.encode("utf-8", "surrogateescape")
        )
        stdout = finished.stdout.decode("utf-8", "replace")
        events = parse_lines(stdout)
        session = next((str(e["thread_id"]) for e in events if e.get("thread_id")), "")
        requests = tuple(self._script.requests[before:])
        feedback = _feedback(requests)
        inputs = recorded_inputs(records, session)
        run = Run(
            exit_code=finished.exit_code,
            stdout=stdout,
            stderr=finished.stderr.decode("utf-8", "replace"),
            duration=finished.duration,
            timed_out=finished.timed_out,
            requests=requests,
            events=events,
            stops=tuple(Stop("block" if at < len(feedback) else None, stdin) for at, stdin in enumerate(inputs)),
            feedback=feedback,
            system_messages=(),
            result=_result(events),
            transcript=_transcript(home, session),
        )
        self.runs.append(run)
        return run

    def _write_hooks(self, home: Path, records: Path) -> None:
        home.mkdir(parents=True, exist_ok=True)
        hooks = hook_groups(self._hooks, spy_command(records))
        (home / "hooks.json").write_text(json.dumps({"hooks": hooks}), encoding="utf-8")

    def _prepare(self, url: str, env: Mapping[str, str]) -> None:
        home = Path(env["HOME"]) / ".codex"
        home.mkdir(parents=True, exist_ok=True)
        (home / "config.toml").write_text(CONFIG.format(url=url), encoding="utf-8")

    def _address(self, url: str) -> Mapping[str, str]:
        return {"OPENAI_API_KEY": "dummy"}


def _feedback(requests: Sequence[Request]) -> tuple[str, ...]:
    """Each reason once, from the request that told it first: later requests repeat the whole conversation."""
    return tuple(
        reason
        for request in requests
        if request.messages and request.messages[-1].get("role") == "user"
        for reason in _FEEDBACK.findall(request.last)
    )


def _result(events: Sequence[Json]) -> dict[str, Any]:
    said = [e["item"]["text"] for e in events if e.get("item", {}).get("type") == "agent_message"]
    ended = [e for e in events if e.get("type") in ("turn.completed", "turn.failed")]
    return {**(ended[-1] if ended else {}), "result": said[-1] if said else ""}


def _transcript(home: Path, session: str) -> list[Json]:
    files = (home / "sessions").rglob(f"*{session}.jsonl") if session else ()
    return [entry for file in files for entry in parse_lines(file.read_text(encoding="utf-8", errors="replace"))]
