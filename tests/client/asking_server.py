"""An MCP server on stdin and stdout with two tools: `echo` says its text again, `ask` asks the person for a colour."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

TEXT = {"type": "object", "properties": {"text": {"type": "string"}}}
COLOUR = {"type": "object", "properties": {"colour": {"type": "string"}}, "required": ["colour"]}
TOOLS = [{"name": name, "description": name, "inputSchema": TEXT} for name in ("echo", "ask")]


def main() -> None:
    asked: Any = None
    for line in sys.stdin:
        message = json.loads(line)
        method, number = message.get("method"), message.get("id")
        if method == "initialize":
            offers = {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}}}
            _send(id=number, result={**offers, "serverInfo": {"name": "asking", "version": "1"}})
        elif method == "tools/list":
            _send(id=number, result={"tools": TOOLS})
        elif method == "tools/call" and message["params"]["name"] == "ask":
            asked = number
            _send(
                id="colour",
                method="elicitation/create",
                params={"mode": "form", "message": "Which colour?", "requestedSchema": COLOUR},
            )
        elif method == "tools/call":
            _send(id=number, result=_said(message["params"]["arguments"].get("text", "")))
        elif method is None and number == "colour":
            _send(id=asked, result=_said(json.dumps(message.get("result"))))
        elif number is not None:
            _send(id=number, result={})


def _said(text: str) -> Mapping[str, Any]:
    return {"content": [{"type": "text", "text": text}]}


def _send(**fields: object) -> None:
    print(json.dumps({"jsonrpc": "2.0", **fields}), flush=True)


if __name__ == "__main__":
    main()
