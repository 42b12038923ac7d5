"""Codex in a test: `codex exec` on a prompt, against a scripted Responses API. Knows its configuration and events."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pytest_taskie._processes import Finished
from pytest_taskie.client._hook_runs import Json, read_hook_runs
from pytest_taskie.client._request import Request
from pytest_taskie.client._responses import RESPONSES
from pytest_taskie.client._runs import Run, Stop, Story
from pytest_taskie.client._scripted import TIMEOUT, Environment, Hooks, ScriptedClient, Where, hook_groups

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
    _session = "thread_id"

    def __init__(
        self,
        *,
        hooks: Hooks | None = None,
        args: Sequence[str] = (),
        env: Environment | None = None,
        trust_hooks: bool = True,
        timeout: float = TIMEOUT,
    ) -> None:
        super().__init__(hooks, args, env, timeout)
        self._trust = trust_hooks

    def prompt(
        self,
        text: str,
        *,
        args: Sequence[str] = (),
        env: Environment | None = None,
        cwd: Where | None = None,
        timeout: float | None = None,
    ) -> Run:
        """Run `codex exec` with the prompt on stdin, and wait for its end."""
        return self._prompt(text, args, env, cwd, timeout)

    def _start(
        self, text: str, args: Sequence[str], env: Environment, cwd: Where | None, timeout: float | None
    ) -> Finished:
        trust = ["--dangerously-bypass-hook-trust"] if self._trust else []
        # The namespace is the sandbox; the client's own one would need another inside it.
        fixed = ["exec", "--json", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", *trust]
        return self._execute([*fixed, *args, "-"], env, cwd, timeout, text.encode("utf-8", "surrogateescape"))

    def _write_hooks(self, home: Path, records: Path | None) -> None:
        folder = home / ".codex"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "hooks.json").write_text(json.dumps({"hooks": hook_groups(self._hooks, records)}), encoding="utf-8")

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

    def _read(
        self,
        events: Sequence[Json],
        requests: Sequence[Request],
        records: Mapping[str, Json],
        transcript: Sequence[Json],
    ) -> Story:
        hook_runs = read_hook_runs((), records)
        stdins = [run.stdin for run in hook_runs if run.event == "Stop"]
        feedback = _feedback(requests)
        texts = [e["item"]["text"] for e in events if e.get("item", {}).get("type") == "agent_message"]
        ended = [e for e in events if e.get("type") in ("turn.completed", "turn.failed")]
        return Story(
            stops=tuple(Stop("block" if at < len(feedback) else None, stdin) for at, stdin in enumerate(stdins)),
            hook_runs=tuple(hook_runs),
            feedback=feedback,
            system_messages=(),
            result={**(ended[-1] if ended else {}), "result": texts[-1] if texts else ""},
        )


def _feedback(requests: Sequence[Request]) -> tuple[str, ...]:
    """Each reason once, from the first request that has it: later requests repeat the whole conversation."""
    return tuple(
        reason
        for request in requests
        if request.messages and request.messages[-1].get("role") == "user"
        for reason in _FEEDBACK.findall(request.last)
    )
