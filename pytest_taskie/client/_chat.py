"""The scripted chat completions API: requests and answers in the wire format that Qwen Code speaks.

Knows that format and nothing else; HTTP is in `_server.py`; what is said comes from the script.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_taskie.client._request import Request, text_of
from pytest_taskie.client._script import ApiError, ToolCall
from pytest_taskie.client._server import Dialect, HttpReply, json_reply


class ChatRequest(Request):
    """A request whose system prompt is its first message, and whose tools are functions."""

    @property
    def tools(self) -> list[str]:
        return [str(tool.get("function", {}).get("name")) for tool in self.body.get("tools") or []]

    @property
    def system(self) -> str:
        return "\n".join(text_of(message) for message in self.messages if message.get("role") == "system")


def chat_reply(request: Request, blocks: list[str | ToolCall], number: int) -> HttpReply:
    """A stream of one piece for each block, or one object for a client that did not ask for a stream."""
    name = {"id": f"chatcmpl-{number:06d}", "created": 1, "model": request.model}
    calls = [block for block in blocks if isinstance(block, ToolCall)]
    text = "\n".join(block for block in blocks if isinstance(block, str))
    tools = [{"index": at, **_call(call, f"call_{number:06d}_{at}")} for at, call in enumerate(calls)]
    message = {"role": "assistant", "content": text or None, **({"tool_calls": tools} if tools else {})}
    reason = "tool_calls" if calls else "stop"
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    if not request.body.get("stream"):
        choice = {"index": 0, "message": message, "finish_reason": reason}
        return json_reply(200, {**name, "object": "chat.completion", "choices": [choice], "usage": usage})
    pieces: list[Mapping[str, Any]] = [
        {"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": reason}]},
        {"choices": [], "usage": usage},
    ]
    lines = [json.dumps({**name, "object": "chat.completion.chunk", **piece}) for piece in pieces]
    content = "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"])
    return HttpReply(200, "text/event-stream; charset=utf-8", content.encode())


def chat_error(error: ApiError) -> HttpReply:
    return json_reply(error.status, {"error": {"message": error.message, "type": error.kind, "code": error.kind}})


CHAT: Mapping[str, Dialect] = {"/v1/chat/completions": Dialect(chat_reply, chat_error, ChatRequest)}


def _call(call: ToolCall, name: str) -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": call.name, "arguments": json.dumps(dict(call.input))}}
