"""Gemini CLI in a test: `gemini -p`, against a scripted generateContent API. Knows its variables, files and events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_taskie._processes import Finished
from pytest_taskie.client._generate import GENERATE
from pytest_taskie.client._hook_runs import Json
from pytest_taskie.client._script import ToolCall
from pytest_taskie.client._scripted import Environment, Where
from pytest_taskie.client._spied import SLOW, SpiedClient

SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    "general": {"enableAutoUpdate": False, "enableAutoUpdateNotification": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    "hooksConfig": {"enabled": True},
}


class GeminiClient(SpiedClient):
    """One real Gemini CLI. `agent` says what its model will say; `prompt` runs it."""

    _patience = SLOW
    dialects = GENERATE
    events = {  # noqa: RUF012 - a constant
        "Stop": "AfterAgent",
        "PreToolUse": "BeforeTool",
        "PostToolUse": "AfterTool",
        "UserPromptSubmit": "BeforeAgent",
        "PreCompact": "PreCompress",
    }

    def _shell(self, command: str) -> ToolCall:
        return ToolCall("run_shell_command", {"command": command, "description": "run it"})

    def _start(
        self, text: str, args: Sequence[str], env: Environment, cwd: Where | None, timeout: float | None
    ) -> Finished:
        # A model by name: else another model is asked first which one it should be.
        fixed = ["--output-format", "stream-json", "--yolo", "-m", "gemini-2.5-pro"]
        return self._execute([*fixed, *args, "-p", text], env, cwd, timeout)

    def _prepare(self, url: str, env: Environment) -> None:
        """Nothing: its variables and its settings say everything."""

    def _address(self, url: str) -> Environment:
        return {
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_API_KEY": "dummy",
            # Else it starts itself again, with more memory.
            "GEMINI_CLI_NO_RELAUNCH": "true",
        }

    def _write_groups(self, home: Path, groups: Mapping[str, Sequence[Any]]) -> None:
        folder = home / ".gemini"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "settings.json").write_text(json.dumps({**SETTINGS, "hooks": groups}), encoding="utf-8")

    def _transcripts(self, home: Path, session: str) -> Iterable[Path]:
        return (home / ".gemini" / "tmp").rglob(f"*{session[:8]}*.json*")

    def _answer(self, events: Sequence[Json]) -> Json:
        result = next((e for e in reversed(events) if e.get("type") == "result"), {})
        return {**result, "result": _last_words(events)}


def _last_words(events: Sequence[Json]) -> str:
    """The pieces of the last message, which anything else ends: a tool's call, a blocked stop."""
    words = ""
    fresh = True
    for event in events:
        if event.get("type") == "message" and event.get("role") == "assistant":
            words = str(event.get("content", "")) if fresh else words + str(event.get("content", ""))
            fresh = False
        else:
            fresh = True
    return words
