"""Clients that stay for many prompts: to start one costs seconds, a prompt in a running one a tenth.

Knows how each is talked to: Gemini CLI and Copilot CLI over the Agent Client Protocol, Qwen Code in stream-json, Codex
over its app server. Not what a hook says, nor what becomes of it.
"""

from __future__ import annotations

import itertools
import json
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_taskie._processes import Finished
from pytest_taskie.client import ScriptedClient
from pytest_taskie.client._held import HeldClient, SessionError

Json = dict[str, Any]
LIFETIME = 420.0
SECONDS = 90.0


class Conversation(ABC):
    """One client that runs until `end`. `said` is all that it has said, message by message."""

    arguments: Sequence[str] = ()
    # Whether it asks hooks about a tool's call as it does in print mode.
    asks_about_tools = True

    def __init__(self, client: ScriptedClient, env: Mapping[str, str]) -> None:
        self.cwd = str(client.project.path)
        self.said: list[Json] = []
        # What it has asked its host: whether a tool may be used.
        self.asked = 0
        self._rest = b""
        self._numbers = itertools.count(1)

        def start(before: Sequence[str]) -> Finished:
            return client._execute(self.arguments, env, None, LIFETIME, before=before)

        self._held = HeldClient(client._make_records() / "pipes", start)
        client._held.append(self._held)
        self.open()

    @abstractmethod
    def open(self) -> None:
        """Say hello."""

    @abstractmethod
    def prompt(self, text: str) -> list[Json]:
        """Say something, and wait until the client has finished with it: what it said meanwhile."""

    def answer(self, message: Json) -> None:  # noqa: B027 - not every client asks its host
        """What the client asks of its host."""

    def refused(self, said: Sequence[Json]) -> bool:
        """Whether it says that it has refused what a hook has printed. Only Codex says so."""
        return False

    def end(self) -> None:
        self._held.end()

    def say(self, message: Json) -> None:
        self._held.write(json.dumps(message).encode() + b"\n", time.monotonic() + SECONDS)

    def until(self, wanted: Callable[[Json], bool]) -> Json:
        """The next message that is wanted."""
        until = time.monotonic() + SECONDS
        while True:
            line, newline, rest = self._rest.partition(b"\n")
            if not newline:
                more = self._held.read(until)
                if not more:
                    why = "ended" if more is None else "is silent"
                    raise SessionError(f"the client {why}; the end of its stderr: {self._held.stderr[-2000:]!r}")
                self._rest += more
                continue
            self._rest = rest
            if not line.startswith(b"{"):
                continue
            message = json.loads(line)
            self.said.append(message)
            self.answer(message)
            if wanted(message):
                return dict(message)


class Rpc(Conversation):
    """JSON-RPC, a message a line."""

    def call(self, method: str, **params: object) -> Json:
        number = next(self._numbers)
        self.say({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        reply = self.until(lambda message: message.get("id") == number and "method" not in message)
        if "error" in reply:
            raise SessionError(f"{method}: {json.dumps(reply['error'])[:500]}")
        return dict(reply["result"])


class Acp(Rpc):
    def open(self) -> None:
        self.call("initialize", protocolVersion=1, clientCapabilities={})
        self.session = self.call("session/new", cwd=self.cwd, mcpServers=[])["sessionId"]

    def prompt(self, text: str) -> list[Json]:
        first = len(self.said)
        self.call("session/prompt", sessionId=self.session, prompt=[{"type": "text", "text": text}])
        return self.said[first:]

    def answer(self, message: Json) -> None:
        if message.get("method") == "session/request_permission":
            self.asked += 1
            options = message["params"]["options"]
            chosen = next(one["optionId"] for one in options if one["kind"] == "reject_once")
            outcome = {"outcome": "selected", "optionId": chosen}
            self.say({"jsonrpc": "2.0", "id": message["id"], "result": {"outcome": outcome}})


class Gemini(Acp):
    arguments = ("--acp", "-m", "gemini-2.5-pro", "--yolo")
    asks_about_tools = False


class Copilot(Acp):
    arguments = ("--acp", "--allow-all-tools", "--allow-all-paths", "--disable-builtin-mcps")


class Qwen(Conversation):
    arguments = ("--input-format", "stream-json", "--output-format", "stream-json", "--yolo")

    def open(self) -> None:
        """It begins with the first prompt."""

    def prompt(self, text: str) -> list[Json]:
        first = len(self.said)
        message = {"role": "user", "content": text}
        self.say({"type": "user", "message": message, "session_id": "", "parent_tool_use_id": None})
        self.until(lambda message: message.get("type") == "result")
        return self.said[first:]

    def answer(self, message: Json) -> None:
        if message.get("type") == "control_request":
            self.asked += 1
            reply = {"behavior": "deny", "message": "Not now."}
            done = {"subtype": "success", "request_id": message["request_id"], "response": reply}
            self.say({"type": "control_response", "response": done})


class Codex(Rpc):
    arguments = ("app-server",)

    def open(self) -> None:
        self.call("initialize", clientInfo={"name": "taskie", "title": "Taskie", "version": "1"})
        self.say({"jsonrpc": "2.0", "method": "initialized"})
        (listed,) = self.call("hooks/list", cwds=[self.cwd])["data"]
        for hook in listed["hooks"]:
            # The switch that trusts all of them is not one of the app server's.
            key = f"hooks.state.{json.dumps(hook['key'])}.trusted_hash"
            self.call("config/value/write", keyPath=key, value=hook["currentHash"], mergeStrategy="upsert")
        started = self.call("thread/start", cwd=self.cwd, approvalPolicy="never", sandbox="danger-full-access")
        self.thread = started["thread"]["id"]

    def prompt(self, text: str) -> list[Json]:
        first = len(self.said)
        self.call("turn/start", threadId=self.thread, input=[{"type": "text", "text": text}])
        self.until(lambda message: message.get("method") == "turn/completed")
        return self.said[first:]

    def refused(self, said: Sequence[Json]) -> bool:
        runs = [message["params"]["run"] for message in said if message.get("method") == "hook/completed"]
        entries = [entry["text"] for run in runs if run["status"] == "failed" for entry in run["entries"]]
        # By its exit code it only fails.
        return any(words in text for text in entries for words in (" JSON ", "non-empty reason", "unsupported"))


CONVERSATIONS: Mapping[str, type[Conversation]] = {
    "codex": Codex,
    "copilot": Copilot,
    "qwen": Qwen,
    "gemini": Gemini,
}
