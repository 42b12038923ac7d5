"""Codex in a test: `codex exec` on a prompt, against a scripted Responses API. Knows its configuration and events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_taskie._processes import Finished
from pytest_taskie.client._hook_runs import Json
from pytest_taskie.client._request import Request
from pytest_taskie.client._responses import RESPONSES
from pytest_taskie.client._script import ToolCall
from pytest_taskie.client._scripted import TIMEOUT, Environment, Hooks, Where
from pytest_taskie.client._spied import SpiedClient

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


class CodexClient(SpiedClient):
    """One real Codex. `agent` says what its model will say; `prompt` runs `codex exec`."""

    dialects = RESPONSES
    _session = "thread_id"

    def __init__(
        self,
        *,
        hooks: Hooks | None = None,
        args: Sequence[str] = (),
        env: Environment | None = None,
        trust_hooks: bool = True,
        wrap_hooks: bool = True,
        timeout: float = TIMEOUT,
    ) -> None:
        super().__init__(hooks=hooks, args=args, env=env, wrap_hooks=wrap_hooks, timeout=timeout)
        self._trust = trust_hooks

    def _shell(self, command: str) -> ToolCall:
        return ToolCall("exec_command", {"cmd": command})

    def _start(
        self, text: str, args: Sequence[str], env: Environment, cwd: Where | None, timeout: float | None
    ) -> Finished:
        trust = ["--dangerously-bypass-hook-trust"] if self._trust else []
        # The namespace is the sandbox; the client's own one would need another inside it.
        fixed = ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", *trust]
        return self._execute([*fixed, *args, "-"], env, cwd, timeout, text.encode("utf-8", "surrogateescape"))

    def _write_groups(self, home: Path, groups: Mapping[str, Sequence[Any]]) -> None:
        folder = home / ".codex"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "hooks.json").write_text(json.dumps({"hooks": groups}), encoding="utf-8")

    def _prepare(self, url: str, env: Environment) -> None:
        folder = Path(env["HOME"]) / ".codex"
        folder.mkdir(parents=True, exist_ok=True)
        text = CONFIG.format(url=url)
        if self._trust:
            # From 0.169 on, what a project brings is disabled until the project itself is trusted.
            root = json.dumps(str(self.project.path.resolve()), ensure_ascii=False)
            text += f'\n[projects.{root}]\ntrust_level = "trusted"\n'
        (folder / "config.toml").write_text(text, encoding="utf-8")

    def _address(self, url: str) -> Environment:
        return {"OPENAI_API_KEY": "dummy"}

    def _transcripts(self, home: Path, session: str) -> Iterable[Path]:
        return (home / ".codex" / "sessions").rglob(f"*{session}.jsonl")

    def _answer(self, events: Sequence[Json]) -> Json:
        texts = [e["item"]["text"] for e in events if e.get("item", {}).get("type") == "agent_message"]
        ended = [e for e in events if e.get("type") in ("turn.completed", "turn.failed")]
        return {**(ended[-1] if ended else {}), "result": texts[-1] if texts else ""}

    def _feedback(self, requests: Sequence[Request], following: Sequence[int]) -> Sequence[str]:
        """Each reason once, from the first request that has it, also where the client has hooks from another home."""
        return [
            str(reason)
            for request in requests
            if request.messages and request.messages[-1].get("role") == "user"
            for reason in _FEEDBACK.findall(request.last)
        ]
