"""The scripted API: HTTP in, server-sent events or plain JSON out, over a socket that is handed in.

Knows HTTP and the wire format of the Messages API; each other wire format is a dialect in a module of its own. What is
said comes from the script.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Callable, Union

from pytest_taskie.client._request import Request
from pytest_taskie.client._script import (
    ApiError,
    Block,
    Delay,
    Repeat,
    Script,
    Shell,
    Structured,
    ToolCall,
    Turn,
    blocks_of,
    structured_block,
)

# The server notices its end this fast where nothing wakes it.
POLL = 0.05


@dataclass(frozen=True)
class HttpReply:
    """One HTTP answer."""

    status: int
    content_type: str
    content: bytes


Reply = Callable[[Request, "list[Union[str, ToolCall]]", int], HttpReply]
ShellCall = Callable[[str], ToolCall]
# Whatever else is served under the first part of a path: a hook, and not the model.
Other = Callable[[str, Mapping[str, str], bytes], HttpReply]


def json_reply(status: int, value: Any) -> HttpReply:
    return HttpReply(status, "application/json", json.dumps(value).encode())


def write_count(path: Path, count: int) -> None:
    """Replaced at once: whoever reads it reads a number."""
    fresh = path.with_suffix(".new")
    fresh.write_text(f"{count}\n", encoding="ascii")
    fresh.replace(path)


def error_body(kind: str, message: str) -> Mapping[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}}


def error_reply(error: ApiError) -> HttpReply:
    return json_reply(error.status, error_body(error.kind, error.message))


@dataclass(frozen=True)
class Dialect:
    """A wire format: how an answer and an error are said in it, and how a request in it is read."""

    reply: Reply
    error: Callable[[ApiError], HttpReply] = error_reply
    request: type[Request] = Request


def events_reply(events: list[tuple[str, Mapping[str, Any]]]) -> HttpReply:
    lines = (f"event: {name}\ndata: {json.dumps({'type': name, **data})}\n\n" for name, data in events)
    return HttpReply(200, "text/event-stream; charset=utf-8", "".join(lines).encode())


class ScriptedServer:
    """Answers from the script until it is closed. `failures` are mistakes of this server or of a callable turn."""

    def __init__(
        self,
        script: Script,
        paths: Mapping[str, Dialect],
        others: Mapping[str, Other] | None = None,
        shell: ShellCall | None = None,
        counter: Path | None = None,
    ) -> None:
        self.script = script
        self.paths = paths
        self.others = others or {}
        self.shell = shell
        self.counter = counter
        self.failures: list[str] = []
        self.closing = threading.Event()
        self._asked = 0
        self._lock = threading.Lock()

    @contextlib.contextmanager
    def serve(self, listener: socket.socket) -> Iterator[ScriptedServer]:
        """Serve on a listening socket, which may belong to a network that this process is not in."""
        self.closing.clear()
        http = _Http(self, listener)
        thread = threading.Thread(target=http.serve_forever, args=(POLL,), name="taskie-scripted-api")
        thread.start()
        try:
            yield self
        finally:
            self.closing.set()
            # Wakes the thread where the system allows that; elsewhere it looks by itself.
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            http.shutdown()
            http.hang_up()
            http.server_close()
            thread.join()

    def reply(self, path: str, headers: Mapping[str, str], content: bytes) -> HttpReply:
        """What the script says to one POST."""
        plain = path.partition("?")[0]
        other = self.others.get(f"/{plain.split('/')[1]}") if plain.startswith("/") else None
        if other is not None:
            return other(path, headers, content)
        if plain.endswith("/count_tokens"):
            return json_reply(200, {"input_tokens": 1})
        dialect = next((found for path, found in self.paths.items() if fnmatchcase(plain, path)), None)
        if dialect is None:
            return json_reply(404, error_body("not_found_error", f"nothing is scripted for {plain}"))
        body = json.loads(content)
        if not isinstance(body, dict):
            return json_reply(400, error_body("invalid_request_error", "the body is not a JSON object"))
        request = dialect.request(plain, headers, body)
        turn = self.script.answer(request)
        with self._lock:
            self._asked += 1
            number = self._asked
            self._count()
        return self._render(turn, request, dialect, number)

    def _count(self) -> None:
        """Leave the number of requests so far, before any of them is answered: a hook's wrapper reads it."""
        if self.counter is not None:
            write_count(self.counter, len(self.script.requests))

    def _render(self, turn: Turn, request: Request, dialect: Dialect, number: int) -> HttpReply:
        while isinstance(turn, (Delay, Repeat)) or callable(turn):
            if isinstance(turn, Delay):
                self.closing.wait(turn.seconds)
            turn = turn(request) if callable(turn) else turn.turn
        if isinstance(turn, ApiError):
            return dialect.error(turn)
        return dialect.reply(request, [self._concrete(block, request) for block in blocks_of(turn)], number)

    def _concrete(self, block: Block, request: Request) -> str | ToolCall:
        if isinstance(block, Shell):
            if self.shell is None:
                raise TypeError("this client's shell tool is not known: script it as tool(…)")
            return self.shell(block.command)
        return structured_block(block, request.tools) if isinstance(block, Structured) else block


def messages_reply(request: Request, blocks: list[str | ToolCall], number: int) -> HttpReply:
    """An answer as the Messages API gives it: a stream, or one object for a client that did not ask for a stream."""
    content = [_content(block, f"toolu_{number:06d}_{at}") for at, block in enumerate(blocks)]
    usage = {"input_tokens": 1, "output_tokens": 1, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    calls = any(isinstance(block, ToolCall) for block in blocks)
    message = {
        "id": f"msg_{number:06d}",
        "type": "message",
        "role": "assistant",
        "model": request.model,
        "content": content,
        "stop_reason": "tool_use" if calls else "end_turn",
        "stop_sequence": None,
        "usage": usage,
    }
    if not request.body.get("stream"):
        return json_reply(200, message)
    start = {**message, "content": [], "stop_reason": None}
    events: list[tuple[str, Mapping[str, Any]]] = [("message_start", {"message": start})]
    for index, block in enumerate(content):
        empty, delta = _split(block)
        events += [
            ("content_block_start", {"index": index, "content_block": empty}),
            ("content_block_delta", {"index": index, "delta": delta}),
            ("content_block_stop", {"index": index}),
        ]
    ending = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    events += [("message_delta", {"delta": ending, "usage": usage}), ("message_stop", {})]
    return events_reply(events)


MESSAGES: Mapping[str, Dialect] = {"/v1/messages": Dialect(messages_reply)}


def _content(block: str | ToolCall, call_id: str) -> dict[str, Any]:
    if isinstance(block, str):
        return {"type": "text", "text": block}
    return {"type": "tool_use", "id": call_id, "name": block.name, "input": dict(block.input)}


def _split(block: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    if block["type"] == "text":
        return {**block, "text": ""}, {"type": "text_delta", "text": block["text"]}
    return {**block, "input": {}}, {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}


class _Http(ThreadingHTTPServer):
    # Threads are waited for: nothing of a run outlives it.
    daemon_threads = False
    block_on_close = True

    def __init__(self, server: ScriptedServer, listener: socket.socket) -> None:
        super().__init__(("127.0.0.1", 0), _Handler, bind_and_activate=False)
        self.socket.close()
        self.socket = listener
        self.server_address = listener.getsockname()
        # BaseHTTPRequestHandler would ask a name server for this.
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]
        self.scripted = server
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def hang_up(self) -> None:
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client may go away in the middle of an answer: that is not the test's mistake.
        self._open.discard(request)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Else every answer but a connection's first waits 40 ms, until the client confirms the headers.
    disable_nagle_algorithm = True
    server: _Http

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("content-length") or 0))
        scripted = self.server.scripted
        try:
            reply = scripted.reply(self.path, dict(self.headers.items()), content)
        except Exception:
            scripted.failures.append(f"answering {self.path} failed:\n{traceback.format_exc()}")
            reply = json_reply(400, error_body("invalid_request_error", "the script failed"))
        self._send(reply)

    def do_GET(self) -> None:
        self._send(json_reply(404, error_body("not_found_error", f"nothing is scripted for {self.path}")))

    def do_HEAD(self) -> None:
        self._send(HttpReply(200, "text/plain", b""))

    def _send(self, reply: HttpReply) -> None:
        with contextlib.suppress(ConnectionError):
            self.send_response(reply.status)
            self.send_header("content-type", reply.content_type)
            self.send_header("content-length", str(len(reply.content)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(reply.content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Nothing: the requests are in the run."""
