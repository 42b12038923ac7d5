"""One request of a client to its model: what is asked, and by whom. Pure: knows no script.

Read as the Messages and the Responses API have it; other dialects read theirs in a subclass.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# The tools that Claude Code and Qwen Code offer when they were started with --json-schema.
STRUCTURED_TOOLS = ("StructuredOutput", "structured_output")
SHOWN = 600


@dataclass(frozen=True)
class Request:
    """One request of a client to its model. `body` is what it sent; the rest is read from it."""

    path: str
    headers: Mapping[str, str] = field(repr=False)
    body: Mapping[str, Any] = field(repr=False)

    @property
    def model(self) -> str:
        return str(self.body.get("model", ""))

    @property
    def messages(self) -> list[Mapping[str, Any]]:
        """The conversation so far, oldest first (Codex calls it `input`)."""
        found = self.body.get("messages", self.body.get("input", []))
        if isinstance(found, str):
            return [{"role": "user", "content": found}]
        return [message for message in found if isinstance(message, Mapping)]

    @property
    def tools(self) -> list[str]:
        """The names of the tools that the model may call."""
        return [str(tool.get("name") or tool.get("type")) for tool in self.body.get("tools") or []]

    @property
    def prompt(self) -> str:
        """The first prompt of the conversation, without what the client puts around it."""
        texts = [text_of(message) for message in self.messages if message.get("role") == "user"]
        spoken = [text for text in (without_context(text) for text in texts) if text]
        return spoken[0] if spoken else (texts[0] if texts else "")

    @property
    def last(self) -> str:
        """All text of the newest message that is not the client's own: a prompt, a hook's feedback, a tool's result."""
        spoken = [message for message in self.messages if message.get("role") not in ("system", "developer")]
        return text_of(spoken[-1]) if spoken else ""

    @property
    def told(self) -> list[str]:
        """Everything that the model is told: the system prompt and each message but its own."""
        return [self.system, *(text_of(message) for message in self.messages if message.get("role") != "assistant")]

    @property
    def is_housekeeping(self) -> bool:
        """A request that no test scripts: older clients warm up, and ask once more after structured output."""
        return self.prompt == "Warmup" or self._follows_structured_output()

    def _follows_structured_output(self) -> bool:
        turns = [message for message in self.messages if message.get("role") in ("user", "assistant")]
        if len(turns) < 2 or turns[-1].get("role") != "user":
            return False
        called = [block.get("name") for block in _blocks(turns[-2]) if block.get("type") == "tool_use"]
        results = [block for block in _blocks(turns[-1]) if block.get("type") == "tool_result"]
        return (
            len(called) == 1
            and called[0] in STRUCTURED_TOOLS
            and bool(results)
            and not any(r.get("is_error") for r in results)
        )

    @property
    def system(self) -> str:
        """The system prompt (Codex: the instructions)."""
        found = self.body.get("system", self.body.get("instructions", ""))
        return found if isinstance(found, str) else text_of({"content": found})

    def __str__(self) -> str:
        return f"{self.path} model={self.model} tools={len(self.tools)} messages={len(self.messages)} " + (
            f"prompt={short(self.prompt)} last={short(self.last)}"
        )


def _blocks(message: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    content = message.get("content")
    return [block for block in content if isinstance(block, Mapping)] if isinstance(content, list) else []


def text_of(message: Mapping[str, Any]) -> str:
    """Every text in a message, tool results and function outputs included."""
    content = message.get("content", message.get("output", ""))
    if isinstance(content, str):
        return content
    if not isinstance(content, Sequence):
        return ""
    parts = []
    for block in content:
        if isinstance(block, Mapping):
            parts.append(str(block["text"]) if "text" in block else text_of(block))
    return "\n".join(part for part in parts if part)


# Claude Code and Qwen Code send reminders, Codex its environment, Copilot CLI the time and Gemini CLI the session's
# circumstances, in the user's name and before the user's words.
_CONTEXT = re.compile(
    r"<(system-reminder|environment_context|user_instructions|permissions[ a-z]*|INSTRUCTIONS"
    r"|current_datetime|session_context)>.*?</\1>",
    re.DOTALL,
)


def without_context(text: str) -> str:
    """What the user, or a hook, has said."""
    return _CONTEXT.sub("", text).strip()


def short(text: str) -> str:
    shown = repr(text)
    return shown if len(shown) <= SHOWN else f"{shown[: SHOWN - 1]}… ({len(text)} characters)"
