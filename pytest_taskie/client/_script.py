"""What a model will say, scripted in advance: the vocabulary of scripts, and which request gets which turn.

Pure: knows requests and answers as values, neither sockets nor processes nor a client's wire format of answers.
"""

from __future__ import annotations

import json
import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Union

from pytest_taskie.client._request import STRUCTURED_TOOLS, Request, short


@dataclass(frozen=True)
class ToolCall:
    """The model calls a tool."""

    name: str
    input: Mapping[str, Any]


@dataclass(frozen=True)
class Structured:
    """The model's structured output: a call of the client's own tool, or the JSON as text where there is none."""

    fields: Mapping[str, Any]


@dataclass(frozen=True)
class Shell:
    """The model calls the client's own tool for commands, whatever that is called there."""

    command: str


@dataclass(frozen=True)
class ApiError:
    """The API refuses, with this HTTP status."""

    status: int
    kind: str
    message: str


@dataclass(frozen=True)
class Delay:
    """The answer is held back for some seconds."""

    seconds: float
    turn: Turn


@dataclass(frozen=True)
class Repeat:
    """The answer to this request and to every later one; nobody needs to fetch it."""

    turn: Turn


Block = Union[str, ToolCall, Shell, Structured]
_BLOCKS = (str, ToolCall, Shell, Structured)
Turn = Union[Block, "Sequence[Block]", ApiError, Delay, Repeat, "Callable[[Request], Turn]"]
When = Union[str, "re.Pattern[str]", None]

_ERROR_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


def tool(name: str, /, **arguments: Any) -> ToolCall:
    """`tool("Write", file_path=plan.path / "plan.md", content="…")`: paths become strings."""
    return ToolCall(name, {key: _plain(value) for key, value in arguments.items()})


def shell(command: str, /) -> Shell:
    """`shell("rm FAILING")`: the client's own tool for commands, so that one script is for every client."""
    return Shell(command)


def structured(**fields: Any) -> Structured:
    """Structured output with these fields."""
    return Structured({key: _plain(value) for key, value in fields.items()})


def verdict(word: str, /, **fields: Any) -> Structured:
    """A reviewer's structured output: `verdict("PASS")`."""
    return structured(verdict=word, **fields)


def api_error(status: int, message: str = "scripted error", *, kind: str | None = None) -> ApiError:
    """An error of the API: 529 is overload, 401 a bad key. The client may try again, which takes the next turn."""
    if not 400 <= status <= 599:
        raise ValueError(f"an error's status is 400 to 599, not {status}")
    return ApiError(status, kind or _ERROR_KINDS.get(status, "api_error"), message)


def delay(seconds: float, turn: Turn = "Done.") -> Delay:
    """The turn, but only after some seconds."""
    return Delay(seconds, turn)


def repeat(turn: Turn) -> Repeat:
    """The turn for every request from here on, however many there are (none is fine too). Only as the last one."""
    return Repeat(turn)


@dataclass
class Conversation:
    """A scripted conversation, or several that begin alike: each request takes the next turn."""

    when: When
    turns: tuple[Turn, ...]
    toolless: bool = False
    taken: int = 0

    def speaks(self, request: Request) -> bool:
        if not request.tools and not self.toolless:
            return False
        return self.when is None or self._finds(request.prompt) or self.is_asked(request)

    def is_asked(self, request: Request) -> bool:
        """Whether it is asked for by the newest message: a `prompt` hook shows the whole conversation, then asks."""
        return self.when is not None and not request.tools and self.toolless and self._finds(request.last)

    def _finds(self, text: str) -> bool:
        assert self.when is not None
        return self.when in text if isinstance(self.when, str) else self.when.search(text) is not None

    def next(self) -> Turn | None:
        if self.taken < len(self.turns):
            turn = self.turns[self.taken]
            if not isinstance(turn, Repeat):
                self.taken += 1
                return turn
            return turn.turn
        return None

    @property
    def left(self) -> list[Turn]:
        return [turn for turn in self.turns[self.taken :] if not isinstance(turn, Repeat)]

    @property
    def name(self) -> str:
        if self.when is None:
            return "the agent"
        return f"the agent for {self.when if isinstance(self.when, str) else self.when.pattern!r}"


class Script:
    """All conversations of one client. Threads ask it at the same time: an agent and its reviewer do."""

    def __init__(self) -> None:
        self.agents: list[Conversation] = []
        self.requests: list[Request] = []
        self.unscripted: list[tuple[Request, str]] = []
        self._lock = threading.Lock()

    def add(self, turns: Sequence[Turn], when: When = None, *, toolless: bool = False) -> Conversation:
        for turn in turns[:-1]:
            if isinstance(turn, Repeat):
                raise ValueError("repeat(…) has no end: it can only be the last turn")
        for turn in turns:
            check(turn)
        if when is None and any(agent.when is None for agent in self.agents):
            raise ValueError("there is a default agent already: give one of the two `when=`, or all turns at once")
        agent = Conversation(when, tuple(turns), toolless)
        self.agents.append(agent)
        return agent

    def answer(self, request: Request) -> Turn:
        """The next turn of the conversation that this request belongs to."""
        with self._lock:
            self.requests.append(request)
            if request.is_housekeeping:
                return "ok"
            # A named conversation comes before the default one, whatever the order in the test.
            candidates = sorted(self.agents, key=lambda agent: (agent.when is None, not agent.is_asked(request)))
            agent = next((agent for agent in candidates if agent.speaks(request)), None)
            if agent is None and not request.tools:
                # Titles, summaries, quota checks: the client asks for them as it likes.
                return "ok"
            turn = agent.next() if agent else None
            if turn is None:
                why = (
                    f"{agent.name} has no turn left after {agent.taken}"
                    if agent
                    else "no agent takes this conversation"
                )
                self.unscripted.append((request, why))
                # The one status after which every client gives up at once.
                return ApiError(403, "permission_error", f"unscripted request: {why}")
        while callable(turn):
            turn = turn(request)
        return turn

    def complaints(self) -> list[str]:
        """What a test must hear about at its end: requests without a turn, turns without a request."""
        asked: dict[tuple[str, str], int] = {}
        for request, why in self.unscripted:
            asked[why, str(request)] = asked.get((why, str(request)), 0) + 1
        found = [
            f"unscripted request: {why}{f' (asked {times} times)' if times > 1 else ''}\n    {request}"
            for (why, request), times in asked.items()
        ]
        for agent in self.agents:
            if agent.left:
                last = next((str(r) for r in reversed(self.requests) if agent.speaks(r)), "there was none")
                turns = "".join(f"\n    {short(str(turn))}" for turn in agent.left)
                found.append(f"never fetched from {agent.name}:{turns}\n  its last request: {last}")
        return found


def blocks_of(turn: Turn) -> list[Block]:
    """The content of a turn that is an answer."""
    if isinstance(turn, _BLOCKS):
        return [turn]
    if isinstance(turn, Sequence):
        return list(turn)
    raise TypeError(f"{turn!r} is not an answer")


def check(turn: Turn) -> None:
    """Refuse what is not a turn when it is written, not when it is fetched."""
    if isinstance(turn, (Delay, Repeat)):
        check(turn.turn)
    elif isinstance(turn, ApiError) or callable(turn) or isinstance(turn, _BLOCKS):
        return
    elif not isinstance(turn, Sequence) or not all(isinstance(b, _BLOCKS) for b in turn):
        raise TypeError(
            f"{turn!r} is not a turn: give a text, tool(…), shell(…), verdict(…), api_error(…), or a list of blocks"
        )


def structured_block(block: Structured, tools: Sequence[str]) -> str | ToolCall:
    """Structured output in the form that this client asked for."""
    for name in STRUCTURED_TOOLS:
        if name in tools:
            return ToolCall(name, block.fields)
    return json.dumps(dict(block.fields))


def _plain(value: Any) -> Any:
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
