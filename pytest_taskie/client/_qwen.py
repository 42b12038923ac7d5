"""Qwen Code in a test: `qwen -p`, against a scripted chat completions API. Knows its variables, files and events."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_taskie._processes import Finished
from pytest_taskie.client._chat import CHAT
from pytest_taskie.client._hook_runs import Json
from pytest_taskie.client._script import ToolCall
from pytest_taskie.client._scripted import Environment, Where
from pytest_taskie.client._spied import SLOW, SpiedClient

# Without what costs time and changes nothing for a hook; nor may it ask its model for memories, which nobody scripts.
SETTINGS = {
    "security": {"auth": {"selectedType": "openai"}},
    "general": {"enableAutoUpdate": False, "preventSystemSleep": False},
    "privacy": {"usageStatisticsEnabled": False},
    "telemetry": {"enabled": False},
    # As it is with -p anyway. In a terminal of its own a short command is now and then told as ended by SIGHUP.
    "tools": {"useRipgrep": False, "shell": {"enableInteractiveShell": False}},
    "memory": {"enableManagedAutoMemory": False, "enableManagedAutoDream": False},
}


class QwenClient(SpiedClient):
    """One real Qwen Code. `agent` says what its model will say; `prompt` runs it."""

    _patience = SLOW
    dialects = CHAT

    def _shell(self, command: str) -> ToolCall:
        return ToolCall("run_shell_command", {"command": command, "description": "run it", "is_background": False})

    def _start(
        self, text: str, args: Sequence[str], env: Environment, cwd: Where | None, timeout: float | None
    ) -> Finished:
        return self._execute(["--output-format", "stream-json", "--yolo", *args, "-p", text], env, cwd, timeout)

    def _prepare(self, url: str, env: Environment) -> None:
        """Nothing: its variables and its settings say everything."""

    def _address(self, url: str) -> Environment:
        return {
            "OPENAI_BASE_URL": f"{url}/v1",
            "OPENAI_API_KEY": "dummy",
            "OPENAI_MODEL": "scripted",
            # Else it starts itself again, with more memory.
            "QWEN_CODE_NO_RELAUNCH": "true",
        }

    def _write_groups(self, home: Path, groups: Mapping[str, Sequence[Any]]) -> None:
        folder = home / ".qwen"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "settings.json").write_text(json.dumps({**SETTINGS, "hooks": groups}), encoding="utf-8")

    def _transcripts(self, home: Path, session: str) -> Iterable[Path]:
        return (home / ".qwen").rglob(f"*{session}*.jsonl")

    def _answer(self, events: Sequence[Json]) -> Json:
        return next((e for e in reversed(events) if e.get("type") == "result"), {})
