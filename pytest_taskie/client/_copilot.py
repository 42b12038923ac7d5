"""Copilot CLI in a test: `copilot -p`, against a scripted Messages API. Knows its variables, files and events."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_taskie._processes import Finished
from pytest_taskie.client._hook_runs import Json
from pytest_taskie.client._installation import MANIFEST
from pytest_taskie.client._script import ToolCall
from pytest_taskie.client._scripted import Environment, Where
from pytest_taskie.client._server import MESSAGES
from pytest_taskie.client._spied import SLOW, SpiedClient


class CopilotClient(SpiedClient):
    """One real Copilot CLI. `agent` says what its model will say; `prompt` runs it."""

    _patience = SLOW
    dialects = MESSAGES
    _session = "sessionId"

    def _shell(self, command: str) -> ToolCall:
        return ToolCall("bash", {"command": command, "description": "run it"})

    def _start(
        self, text: str, args: Sequence[str], env: Environment, cwd: Where | None, timeout: float | None
    ) -> Finished:
        fixed = ["--output-format", "json", "--allow-all-tools", "--allow-all-paths", "--disable-builtin-mcps"]
        return self._execute([*fixed, *args, "-p", text], env, cwd, timeout)

    def _prepare(self, url: str, env: Environment) -> None:
        folder = Path(env["HOME"]) / ".copilot"
        folder.mkdir(parents=True, exist_ok=True)
        trusted = {"trusted_folders": [str(self.project.path.resolve())]}
        (folder / "config.json").write_text(json.dumps(trusted), encoding="utf-8")
        self._share_package(Path(env["HOME"]))
        self._tell_its_child(url)

    def _tell_its_child(self, url: str) -> None:
        """The client keeps its provider's variables from hooks, so one that a hook starts would want a login."""
        program = self._on_path() / self.installation.kind
        exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in self._address(url).items())
        command = shlex.join(self.installation.command)
        program.write_text(f'#!/bin/sh\n{exports}exec {command} "$@"\n', encoding="utf-8")

    def _share_package(self, home: Path) -> None:
        """The program unpacks 200 MB into each home: once, beside the installed one, is enough."""
        program = Path(self.installation.command[0])
        link = home / ".cache" / "copilot" / "pkg"
        ours = any((folder / MANIFEST).exists() for folder in program.parents)
        if ours and os.access(program.parent, os.W_OK) and not link.parent.exists():
            unpacked = program.parent / "unpacked"
            unpacked.mkdir(exist_ok=True)
            link.parent.mkdir(parents=True)
            link.symlink_to(unpacked)

    def _address(self, url: str) -> Environment:
        return {
            "COPILOT_PROVIDER_TYPE": "anthropic",
            "COPILOT_PROVIDER_BASE_URL": url,
            "COPILOT_PROVIDER_API_KEY": "dummy",
            "COPILOT_MODEL": "scripted",
            "COPILOT_OFFLINE": "true",
            "COPILOT_AUTO_UPDATE": "false",
        }

    def _write_groups(self, home: Path, groups: Mapping[str, Sequence[Any]]) -> None:
        folder = home / ".copilot" / "hooks"
        folder.mkdir(parents=True, exist_ok=True)
        hooks = {event: [entry for group in of for entry in group["hooks"]] for event, of in groups.items()}
        (folder / "harness.json").write_text(json.dumps({"version": 1, "hooks": hooks}), encoding="utf-8")

    def _transcripts(self, home: Path, session: str) -> Iterable[Path]:
        return (home / ".copilot" / "session-state").rglob(f"*{session}*/events.jsonl")

    def _answer(self, events: Sequence[Json]) -> Json:
        texts = [e["data"].get("content", "") for e in events if e.get("type") == "assistant.message"]
        result = next((e for e in reversed(events) if e.get("type") == "result"), {})
        return {**result, "result": texts[-1] if texts else ""}
