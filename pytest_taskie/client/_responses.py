"""The scripted Responses API: an answer in the wire format that Codex speaks.

Knows that format and nothing else; HTTP is in `_server.py`; what is said comes from the script.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_taskie.client._request import Request
from pytest_taskie.client._script import ToolCall
from pytest_taskie.client._server import Dialect, HttpReply, events_reply, json_reply


def responses_reply(request: Request, blocks: list[str | ToolCall], number: int) -> HttpReply:
    """A stream with the three events that suffice, or one object for a client that did not ask for a stream."""
    items = [_item(block, f"{number:06d}_{at}") for at, block in enumerate(blocks)]
    usage = {
        "input_tokens": 1,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": 1,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": 2,
    }
    response: dict[str, Any] = {"id": f"resp_{number:06d}", "object": "response", "model": request.model}
    done = {**response, "status": "completed", "output": items, "usage": usage}
    if not request.body.get("stream"):
        return json_reply(200, done)
    events: list[tuple[str, Mapping[str, Any]]] = [
        ("response.created", {"response": {**response, "status": "in_progress"}})
    ]
    events += [("response.output_item.done", {"output_index": at, "item": item}) for at, item in enumerate(items)]
    events.append(("response.completed", {"response": done}))
    return events_reply(events)


RESPONSES: Mapping[str, Dialect] = {"/v1/responses": Dialect(responses_reply)}


def _item(block: str | ToolCall, name: str) -> dict[str, Any]:
    if isinstance(block, str):
        content = [{"type": "output_text", "text": block, "annotations": []}]
        return {"type": "message", "id": f"msg_{name}", "role": "assistant", "status": "completed", "content": content}
    return {
        "type": "function_call",
        "id": f"fc_{name}",
        "call_id": f"call_{name}",
        "name": block.name,
        "arguments": json.dumps(dict(block.input)),
        "status": "completed",
    }
