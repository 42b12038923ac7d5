"""A scripted MCP server in a test: its tools and their answers, what it was asked, and how a client is told of it."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_taskie.client import _mcp_program

OBJECT = {"type": "object", "properties": {}, "additionalProperties": True}


@dataclass(frozen=True)
class McpCall:
    """One call of a tool; `elicited` is what the person said, if the tool asked."""

    tool: str
    input: Mapping[str, Any]
    elicited: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Elicit:
    """The tool asks the person before it answers."""

    message: str
    fields: Mapping[str, str]
    text: str = ""


def elicit(message: str, text: str = "", /, **fields: str) -> Elicit:
    """`elicit("Which colour?", colour="string")`: asks for these fields, then answers the text, or what was said."""
    return Elicit(message, fields, text)


class McpServer:
    """`server.tool("add", "Noted.")`, `claude_client(args=server.args)`, `server.calls`."""

    def __init__(self, name: str, folder: Path) -> None:
        folder.mkdir(parents=True)
        self.name = name
        self._folder = folder
        self._tools: dict[str, Any] = {}
        command = {"command": sys.executable, "args": ["-I", "-S", str(_mcp_program.__file__), str(folder)]}
        (folder / "mcp.json").write_text(json.dumps({"mcpServers": {name: command}}), encoding="utf-8")
        self._write()

    def tool(
        self, name: str, *answers: str | Elicit, error: bool = False, schema: Mapping[str, Any] | None = None
    ) -> None:
        """A tool, and what each call of it is answered; the last answer is given for ever. `error`: they are errors."""
        turns = [
            {"text": a, "error": error} if isinstance(a, str) else {"text": a.text, "elicit": _question(a)}
            for a in answers or ("ok",)
        ]
        self._tools[name] = {"description": f"{name}, scripted", "schema": schema or OBJECT, "answers": turns}
        self._write()

    @property
    def args(self) -> list[str]:
        """The arguments of a client that has this server, and may use its tools."""
        return ["--mcp-config", str(self._folder / "mcp.json"), "--allowedTools", f"mcp__{self.name}"]

    @property
    def calls(self) -> list[McpCall]:
        log = self._folder / "calls.jsonl"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return [McpCall(**json.loads(line)) for line in lines]

    def hook(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The entry of an `mcp_tool` hook: `server.hook("check", command="${tool_input.command}")`."""
        return {"type": "mcp_tool", "server": self.name, "tool": tool, "input": arguments}

    def _write(self) -> None:
        scripted = {"name": self.name, "tools": self._tools}
        (self._folder / "server.json").write_text(json.dumps(scripted), encoding="utf-8")


def _question(asked: Elicit) -> dict[str, Any]:
    fields = {name: {"type": kind} for name, kind in asked.fields.items()}
    return {
        "message": asked.message,
        "requestedSchema": {"type": "object", "properties": fields, "required": [*fields]},
    }
