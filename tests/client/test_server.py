"""The scripted API over HTTP, without a client: what goes over the wire."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from http.client import HTTPConnection
from typing import Any

import pytest

from pytest_taskie.client import api_error, delay, repeat, shell, tool
from pytest_taskie.client._chat import CHAT
from pytest_taskie.client._generate import GENERATE
from pytest_taskie.client._responses import RESPONSES
from pytest_taskie.client._script import Script, ToolCall
from pytest_taskie.client._server import MESSAGES, ScriptedServer


class Api:
    """A running server, and one request at a time."""

    def __init__(self, server: ScriptedServer, port: int) -> None:
        self.server = server
        self.port = port

    def post(self, body: Any, path: str = "/v1/messages?beta=true", method: str = "POST") -> tuple[int, str]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=10)
        connection.request(method, path, body if isinstance(body, bytes) else json.dumps(body))
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def ask(self, **body: Any) -> tuple[int, str]:
        message = {"model": "m", "tools": [{"name": "Bash"}], "messages": [{"role": "user", "content": "go"}]}
        return self.post({**message, **body})


@pytest.fixture
def script() -> Script:
    return Script()


@pytest.fixture
def api(script: Script) -> Iterator[Api]:
    dialects = {**MESSAGES, **RESPONSES, **CHAT, **GENERATE}
    server = ScriptedServer(script, dialects, shell=lambda command: ToolCall("run", {"it": command}))
    with socket.create_server(("127.0.0.1", 0)) as listener, server.serve(listener):
        yield Api(server, listener.getsockname()[1])


def events(text: str) -> list[dict[str, Any]]:
    return [json.loads(line[6:]) for line in text.split("\n") if line.startswith("data: ")]


def test_plain_json(api: Api, script: Script) -> None:
    script.add([["Look:", tool("Bash", command="ls")]])
    status, text = api.ask()
    answer = json.loads(text)
    assert status == 200
    assert answer["stop_reason"] == "tool_use"
    assert [block["type"] for block in answer["content"]] == ["text", "tool_use"]
    assert answer["content"][1]["input"] == {"command": "ls"}


def test_server_sent_events(api: Api, script: Script) -> None:
    script.add([["Look:", tool("Bash", command="ls")]])
    _, text = api.ask(stream=True)
    block = ["content_block_start", "content_block_delta", "content_block_stop"]
    names = [event["type"] for event in events(text)]
    assert names == ["message_start", *block, *block, "message_delta", "message_stop"]
    deltas = [event["delta"] for event in events(text) if event["type"] == "content_block_delta"]
    assert deltas[0] == {"type": "text_delta", "text": "Look:"}
    assert json.loads(deltas[1]["partial_json"]) == {"command": "ls"}


def test_responses(api: Api, script: Script) -> None:
    script.add([tool("exec_command", cmd="ls"), "Done."])
    body = {"model": "m", "tools": [{"name": "exec_command"}], "input": "go", "stream": True}
    _, text = api.post(body, "/v1/responses")
    assert [event["type"] for event in events(text)] == [
        "response.created",
        "response.output_item.done",
        "response.completed",
    ]
    assert events(text)[1]["item"]["name"] == "exec_command"
    _, text = api.post({**body, "stream": False}, "/v1/responses")
    assert json.loads(text)["output"][0]["content"][0]["text"] == "Done."


def test_chat_completions(api: Api, script: Script) -> None:
    script.add([["Look:", shell("ls")], "Done.", api_error(429, "too much")])
    function = {"type": "function", "function": {"name": "run"}}
    said = [{"role": "system", "content": "Be good."}, {"role": "user", "content": "go"}]
    body = {"model": "m", "tools": [function], "messages": said, "stream": True}
    _, text = api.post(body, "/v1/chat/completions")
    assert text.endswith("data: [DONE]\n\n")
    first, last, usage = (json.loads(line[6:]) for line in text.split("\n\n")[:3])
    (call,) = first["choices"][0]["delta"]["tool_calls"]
    assert first["choices"][0]["delta"]["content"] == "Look:"
    assert (call["function"]["name"], json.loads(call["function"]["arguments"])) == ("run", {"it": "ls"})
    assert last["choices"][0]["finish_reason"] == "tool_calls"
    assert usage["usage"]["total_tokens"] == 2
    _, text = api.post({**body, "stream": False}, "/v1/chat/completions")
    assert json.loads(text)["choices"][0]["message"] == {"role": "assistant", "content": "Done."}
    assert api.post(body, "/v1/chat/completions")[0] == 429
    request = script.requests[0]
    assert (request.tools, request.system, request.prompt, request.last) == (["run"], "Be good.", "go", "go")


def test_generate_content(api: Api, script: Script) -> None:
    script.add([["Look:", shell("ls")], "Done.", api_error(429, "too much")])
    asked = "<session_context>\nIt is late.\n</session_context>\ngo"
    result = {"functionResponse": {"name": "run", "response": {"output": "a file"}}}
    contents = [
        {"role": "user", "parts": [{"text": asked}]},
        {"role": "model", "parts": [{"functionCall": {"name": "run", "args": {}}}]},
        {"role": "user", "parts": [result]},
    ]
    tools = [{"functionDeclarations": [{"name": "run"}]}]
    body = {"contents": contents, "tools": tools, "systemInstruction": {"parts": [{"text": "Be good."}]}}
    path = "/v1beta/models/some-model"
    _, text = api.post(body, f"{path}:streamGenerateContent?alt=sse")
    parts = json.loads(text[6:])["candidates"][0]["content"]["parts"]
    assert parts == [{"text": "Look:"}, {"functionCall": {"name": "run", "args": {"it": "ls"}}}]
    _, text = api.post(body, f"{path}:generateContent")
    assert json.loads(text)["candidates"][0]["content"]["parts"] == [{"text": "Done."}]
    status, text = api.post(body, f"{path}:generateContent")
    assert (status, json.loads(text)["error"]["status"]) == (429, "RESOURCE_EXHAUSTED")
    request = script.requests[0]
    assert (request.model, request.tools, request.system) == ("some-model", ["run"], "Be good.")
    assert (request.prompt, request.last) == ("go", "a file")
    assert request.told == ["Be good.", asked, "a file"]


def test_errors_have_the_apis_shape(api: Api, script: Script) -> None:
    script.add([api_error(529, "too much")])
    status, text = api.ask()
    assert status == 529
    assert json.loads(text)["error"] == {"type": "overloaded_error", "message": "too much"}


def test_delay(api: Api, script: Script) -> None:
    script.add([delay(0.2, "late")])
    before = time.monotonic()
    _, text = api.ask()
    assert time.monotonic() - before >= 0.2
    assert "late" in text


def test_a_delay_does_not_outlast_the_server(script: Script) -> None:
    """Closing waits for the answer under way, which gives up its delay."""
    script.add([delay(60, "never")])
    server = ScriptedServer(script, MESSAGES)
    before = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as listener, server.serve(listener):
        connection = HTTPConnection("127.0.0.1", listener.getsockname()[1], timeout=10)
        connection.request("POST", "/v1/messages", '{"tools":[{"name":"Bash"}],"messages":[]}')
        while not script.requests:
            time.sleep(0.01)
    connection.close()
    assert time.monotonic() - before < 20


def test_other_paths(api: Api, script: Script) -> None:
    assert api.post(b"", "/", "HEAD") == (200, "")
    assert api.post(b"", "/v1/models", "GET")[0] == 404
    assert api.post({}, "/v1/other")[0] == 404
    assert api.post({}, "/v1/messages/count_tokens")[1] == '{"input_tokens": 1}'
    assert api.post([], "/v1/messages")[0] == 400
    assert script.requests == []


def test_a_function_that_fails_is_a_failure_of_the_test(api: Api, script: Script) -> None:
    def wrong(request: Any) -> str:
        raise RuntimeError("the test's own mistake")

    script.add([wrong])
    assert api.ask()[0] == 400
    assert "the test's own mistake" in api.server.failures[0]


def test_several_at_once(api: Api, script: Script) -> None:
    import threading

    script.add([repeat("x")])
    threads = [threading.Thread(target=api.ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(script.requests) == 8
