"""What a simulated session tells the model: the requests, in the newest client's form. Knows messages; runs nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_taskie._results import HookResult
from pytest_taskie.client._request import Request
from pytest_taskie.simulated._firing import Fired

Json = Mapping[str, Any]
MODEL = "claude-opus-5-5"
TOOLS = ("Agent", "Bash", "Edit", "Glob", "Grep", "Read", "Write")


class Talk:
    """The messages so far. What hooks add is collected, and told with the next request."""

    def __init__(self) -> None:
        self.messages: list[Json] = []
        self._beside: list[str] = []

    def request(self) -> Request:
        """The next request, with all that was said."""
        if self._beside:
            self.messages.append({"role": "system", "content": [_text("\n\n".join(self._beside))]})
            self._beside = []
        tools = [{"name": name} for name in TOOLS]
        body = {"model": MODEL, "messages": list(self.messages), "tools": tools, "system": []}
        return Request("/v1/messages", {}, body)

    def user(self, *texts: str) -> None:
        """Somebody says something in the user's name."""
        self.messages.append({"role": "user", "content": [_text(text) for text in texts]})

    def assistant(self, blocks: Sequence[Json]) -> None:
        self.messages.append({"role": "assistant", "content": list(blocks)})

    def results(self, blocks: Sequence[Json]) -> None:
        """What the tools have answered."""
        self.messages.append({"role": "user", "content": list(blocks)})

    def beside(self, *texts: str) -> None:
        """What the client puts beside the newest message."""
        self._beside += texts


def _text(text: str) -> Json:
    return {"type": "text", "text": text}


def told_together(fired: Fired) -> list[str]:
    """The contexts of an event's hooks, as one text."""
    joined = "\n".join(fired.contexts)
    return [f"{fired.name} hook additional context: {joined}"] if joined else []


def told_one_by_one(fired: Fired) -> list[str]:
    """Each block and each context by itself, in the order in which the hooks have ended."""
    found = []
    for result in fired.results:
        # At a stop, what came with exit 2 is said in the user's name alone.
        by_exit = (result.reason or "").startswith(f"[{result.command}]: ")
        if result.blocked and not (fired.event == "Stop" and by_exit):
            found.append(blocking(fired.name, result))
        if result.context:
            found.append(f"{fired.name} hook additional context: {result.context}")
    return found


def blocking(name: str, result: HookResult) -> str:
    return f'{name} hook blocking error from command: "{result.command}": {result.reason}'


def told_at_start(fired: Fired) -> list[str]:
    """What hooks say at the session's start: plain words first, then the contexts as one."""
    plain, given = [], []
    for result in fired.results:
        if result.context and result.json is None:
            plain.append(f"{fired.name} hook success: {result.context}")
        elif result.context:
            given.append(result.context)
    event = fired.event
    return [*plain, *([f"{event} hook additional context: " + "\n".join(given)] if given else [])]


def told_at_prompt(fired: Fired) -> list[str]:
    """What hooks say at a prompt: each by itself, in the order in which they have ended."""
    found = []
    for result in fired.results:
        if result.context:
            kind = "success" if result.json is None else "additional context"
            found.append(f"{fired.name} hook {kind}: {result.context}")
    return found
