"""A scripted MCP server on stdio: `python -I -S _mcp_program.py FOLDER`. The client starts it once for each prompt.

Knows as much of the protocol as tools and elicitation take. Reads `server.json`, which `_mcp.py` wrote,
and appends each call to `calls.jsonl`.
"""

from __future__ import annotations

import json
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def say(message: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def hear() -> dict[str, Any] | None:
    """The next message; None at the end. A line that is not a message is passed over."""
    for line in sys.stdin:
        try:
            message = json.loads(line)
        except ValueError:
            continue
        if isinstance(message, dict):
            return message
    return None


class Server:
    """The script, and what was called."""

    def __init__(self, folder: str) -> None:
        with open(os.path.join(folder, "server.json"), encoding="utf-8") as file:
            self.scripted = json.load(file)
        self.log = os.path.join(folder, "calls.jsonl")

    def answer(self, method: str, params: dict[str, Any]) -> Any:
        if method == "initialize":
            return {
                "protocolVersion": params.get("protocolVersion", "2025-06-18"),
                "capabilities": {"tools": {}},
                "serverInfo": {"name": self.scripted["name"], "version": "1"},
            }
        if method == "tools/list":
            tools = self.scripted["tools"].items()
            return {
                "tools": [{"name": n, "description": t["description"], "inputSchema": t["schema"]} for n, t in tools]
            }
        if method == "tools/call":
            return self.call(str(params.get("name")), params.get("arguments") or {})
        return {} if method == "ping" else None

    def call(self, name: str, arguments: Any) -> dict[str, Any]:
        tool = self.scripted["tools"].get(name)
        if tool is None:
            return {"content": [{"type": "text", "text": "there is no tool " + name}], "isError": True}
        # The file and not a counter: each prompt has a new process.
        turn = tool["answers"][min(self.calls(name), len(tool["answers"]) - 1)]
        elicited = self.elicit(turn["elicit"]) if "elicit" in turn else None
        self.note({"tool": name, "input": arguments, "elicited": elicited})
        text = turn["text"] if elicited is None else turn["text"] or json.dumps(elicited)
        return {"content": [{"type": "text", "text": text}], "isError": bool(turn.get("error"))}

    def elicit(self, question: dict[str, Any]) -> Any:
        say({"id": "taskie-elicitation", "method": "elicitation/create", "params": question})
        while True:
            message = hear()
            if message is None:
                return {}
            if message.get("id") == "taskie-elicitation":
                return message.get("result", {"error": message.get("error")})

    def calls(self, name: str) -> int:
        try:
            with open(self.log, encoding="utf-8") as file:
                return sum(json.loads(line)["tool"] == name for line in file)
        except FileNotFoundError:
            return 0

    def note(self, call: dict[str, Any]) -> None:
        with open(self.log, "a", encoding="utf-8") as file:
            file.write(json.dumps(call) + "\n")


def main() -> None:
    server = Server(sys.argv[1])
    while True:
        message = hear()
        if message is None:
            return
        if "id" not in message or "method" not in message:
            continue  # a notification, or an answer to nothing
        params = message.get("params")
        result = server.answer(str(message["method"]), params if isinstance(params, dict) else {})
        error = {"code": -32601, "message": "no such method"}
        say({"id": message["id"], **({"error": error} if result is None else {"result": result})})


if __name__ == "__main__":
    main()
