"""The scripted generateContent API: requests and answers in the wire format that Gemini CLI speaks.

Knows that format and nothing else; HTTP is in `_server.py`; what is said comes from the script.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from pytest_taskie.client._request import Request, text_of
from pytest_taskie.client._script import ApiError, ToolCall
from pytest_taskie.client._server import Dialect, HttpReply, json_reply

ROLES = {"model": "assistant"}
STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}


class GenerateRequest(Request):
    """A request whose model is in its path, and whose messages are `contents` made of `parts`."""

    @property
    def model(self) -> str:
        return self.path.rpartition("/")[2].partition(":")[0]

    @property
    def messages(self) -> list[Mapping[str, Any]]:
        return [
            {"role": ROLES.get(str(one.get("role")), str(one.get("role", "user"))), "content": _parts(one)}
            for one in self.body.get("contents") or []
        ]

    @property
    def tools(self) -> list[str]:
        groups = self.body.get("tools") or []
        return [str(tool.get("name")) for group in groups for tool in group.get("functionDeclarations") or []]

    @property
    def system(self) -> str:
        return text_of({"content": _parts(self.body.get("systemInstruction") or {})})


def generate_reply(request: Request, blocks: list[str | ToolCall], number: int) -> HttpReply:
    """A stream of one piece, or the same as one object where the path does not ask for a stream."""
    answer = {
        "candidates": [
            {"index": 0, "finishReason": "STOP", "content": {"role": "model", "parts": [*map(_part, blocks)]}}
        ],
        "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2},
        "modelVersion": request.model,
        "responseId": f"response-{number:06d}",
    }
    if not request.path.endswith(":streamGenerateContent"):
        return json_reply(200, answer)
    return HttpReply(200, "text/event-stream", f"data: {json.dumps(answer)}\r\n\r\n".encode())


def generate_error(error: ApiError) -> HttpReply:
    status = STATUS.get(error.status, "INTERNAL")
    return json_reply(error.status, {"error": {"code": error.status, "message": error.message, "status": status}})


_DIALECT = Dialect(generate_reply, generate_error, GenerateRequest)
GENERATE: Mapping[str, Dialect] = {
    "/v1beta/models/*:generateContent": _DIALECT,
    "/v1beta/models/*:streamGenerateContent": _DIALECT,
}


def _parts(content: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parts in the form of the other dialects: texts, calls, and what became of calls."""
    found: list[Mapping[str, Any]] = []
    for part in content.get("parts") or []:
        call, result = part.get("functionCall"), part.get("functionResponse")
        if call is not None:
            found.append({"type": "tool_use", "name": call.get("name"), "input": call.get("args")})
        elif result is not None:
            said = result.get("response", {})
            found.append({"type": "tool_result", "content": str(said.get("output", said.get("error", said)))})
        elif "text" in part:
            found.append({"type": "text", "text": part["text"]})
    return found


def _part(block: str | ToolCall) -> dict[str, Any]:
    if isinstance(block, str):
        return {"text": block}
    return {"functionCall": {"name": block.name, "args": dict(block.input)}}
