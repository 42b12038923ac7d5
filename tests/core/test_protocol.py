"""What is taken for an event, and what is printed: exactly what both clients accept."""

from __future__ import annotations

import itertools
import json
import os
import threading
from collections.abc import Iterator
from typing import IO, Any

import pytest

from taskie import protocol
from taskie.protocol import APPROVE, Decision, Event, InputError, merge, parse_event, parse_json, read_stdin, render

TEXTS = [
    "",
    "a sentence",
    "two\nlines\t\x00\x1b",
    'quotes " \\ {}',
    "é 😀",
    "\ud800",
    "a\udfffb",
    "\ud83d\ude00",
    "\ufeff",
]


@pytest.mark.parametrize("reason", [None, *TEXTS])
@pytest.mark.parametrize("message", [None, "", "said", "\udc00"])
@pytest.mark.parametrize("warnings", [(), ("",), ("one", "two\ud800")])
def test_render(reason: str | None, message: str | None, warnings: tuple[str, ...]) -> None:
    line = render(Decision(reason, message, warnings, progress=True))
    assert "\n" not in line
    line.encode("ascii")
    printed = json.loads(line)
    told = [text for text in (message, *warnings) if text]
    if reason is None:
        assert printed.pop("suppressOutput") is True
    else:
        assert printed.pop("decision") == "block"
        assert printed.pop("reason").encode("utf-8")
    if told:
        assert printed.pop("systemMessage").encode("utf-8")
    assert printed == {}


def test_render_spacing() -> None:
    assert render(Decision("Why")) == '{"decision": "block", "reason": "Why"}'
    assert render(APPROVE) == '{"suppressOutput": true}'
    assert render(Decision(message="Hi")) == '{"systemMessage": "Hi", "suppressOutput": true}'
    assert render(Decision("Why", "Hi", ("Look",))) == (
        '{"decision": "block", "reason": "Why", "systemMessage": "Hi\\nLook"}'
    )


def test_render_keeps_what_can_be_said() -> None:
    assert json.loads(render(Decision("é \ud83d\ude00 \U0001f600 \ud800.")))["reason"] == "é 😀 😀 \ufffd."
    assert json.loads(render(Decision("\ufeffx")))["reason"] == "\ufeffx"
    assert json.loads(render(Decision("")))["reason"]


def test_merge_loses_nothing() -> None:
    choices = [
        Decision(reason, message, warnings, progress)
        for reason, message, warnings, progress in itertools.product(
            [None, "", "r"], [None, "m"], [(), ("w",)], [False, True]
        )
    ]
    for first, second in itertools.product(choices, choices):
        both = merge(first, second.replace(reason=second.reason and "r2", message=second.message and "m2"))
        assert both.reason == (first.reason if first.reason is not None else second.reason and "r2")
        assert (both.message or "").split("\n") == [
            *([first.message] if first.message else []),
            *(["m2"] if second.message else []),
        ] or (both.message is None and not first.message and not second.message)
        assert both.warnings == first.warnings + second.warnings
        assert both.progress == (first.progress or second.progress)


EVENTS = {
    "whole": (
        {"cwd": "/p", "stop_hook_active": True, "session_id": "s", "turn_id": "t", "hook_event_name": "Stop"},
        Event(cwd="/p", stop_hook_active=True, session_id="s", turn_id="t", client="codex"),
    ),
    "empty": ({}, Event(cwd="", bare=True)),
    "nulls": ({"cwd": None, "stop_hook_active": None, "session_id": None}, Event(cwd="")),
    "active as text": ({"cwd": "/p", "stop_hook_active": "true"}, Event(cwd="/p")),
    "active as number": ({"cwd": "/p", "stop_hook_active": 1}, Event(cwd="/p")),
    "a name that is none": ({"cwd": "/p", "hook_event_name": []}, Event(cwd="/p", bare=True)),
    "a name of names": ({"cwd": "/p", "hook_event_name": {"a": ["Stop"]}}, Event(cwd="/p", bare=True)),
    "wrong ids": ({"cwd": "/p", "session_id": 1, "turn_id": ["x"]}, Event(cwd="/p", bare=True, client="codex")),
    "unknown fields": ({"cwd": "/p", "other": {"deep": [1]}}, Event(cwd="/p", bare=True)),
}


@pytest.mark.parametrize(("sent", "expected"), list(EVENTS.values()), ids=list(EVENTS))
def test_event(sent: dict[str, Any], expected: Event) -> None:
    expected = expected.replace(fields=sent)
    assert parse_event(json.dumps(sent).encode()) == expected
    assert parse_event(b" \n" + json.dumps(sent, indent=2).encode() + b"\r\n\n") == expected


REFUSED = {
    "empty": (b"", "stdin was empty"),
    "blank": (b" \r\n\t", "stdin was empty"),
    "text": (b"hello", "Expecting value"),
    "cut": (b'{"cwd": "/p"', "Expecting ',' delimiter"),
    "two": (b"{} {}", "Extra data"),
    "list": (b"[]", "not a JSON object"),
    "text value": (b'"{}"', "not a JSON object"),
    "number": (b"1", "not a JSON object"),
    "null": (b"null", "not a JSON object"),
    "not UTF-8": (b'{"cwd": "\xff"}', "not UTF-8"),
    "UTF-16": ('{"cwd": "/p"}'.encode("utf-16"), "not UTF-8"),
    "byte order mark": (b"\xef\xbb\xbf{}", "BOM"),
    "deep": (b"[" * 10_000 + b"]" * 10_000, "nested too deeply"),
    "deep object": (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "nested too deeply"),
    "NaN": (b'{"a": NaN}', "NaN is not JSON"),
    "Infinity": (b'{"a": -Infinity}', "-Infinity is not JSON"),
    "control character": (b'{"cwd": "a\nb"}', "control character"),
    "cwd number": (b'{"cwd": 1}', "cwd is not a path"),
    "cwd list": (b'{"cwd": ["/p"]}', "cwd is not a path"),
    "cwd false": (b'{"cwd": false}', "cwd is not a path"),
    "cwd NUL": (b'{"cwd": "/p\\u0000"}', "cwd is not a path"),
}


@pytest.mark.parametrize(("sent", "why"), list(REFUSED.values()), ids=list(REFUSED))
def test_no_event(sent: bytes, why: str) -> None:
    with pytest.raises(InputError, match=f"^Invalid JSON input: .*{why}"):
        parse_event(sent)


def test_parse_json_takes_text_and_bytes() -> None:
    assert parse_json('{"a": 1.5}') == parse_json(b'{"a": 1.5}') == {"a": 1.5}


class Pipe:
    """A pipe: what the client writes, and the descriptor that the hook reads."""

    def __init__(self) -> None:
        self.read_end, write_end = os.pipe()
        self.client: IO[bytes] = os.fdopen(write_end, "wb", buffering=0)

    def close(self) -> None:
        self.client.close()
        os.close(self.read_end)


@pytest.fixture
def pipe() -> Iterator[Pipe]:
    both = Pipe()
    yield both
    both.close()


def test_reads_to_the_end(pipe: Pipe) -> None:
    data = b'{"a": "' + b"x" * (1 << 20) + b'"}'

    def write() -> None:
        pipe.client.write(data[:10])
        for at in range(10, len(data), 65536):
            pipe.client.write(data[at : at + 65536])
        pipe.client.close()

    writer = threading.Thread(target=write)
    writer.start()
    assert read_stdin(pipe.read_end) == data
    writer.join()


def test_a_complete_line_is_enough(pipe: Pipe) -> None:
    pipe.client.write(b'{"cwd": "/p"}\n')
    assert read_stdin(pipe.read_end, patience=60) == b'{"cwd": "/p"}\n'


def test_an_indented_document_is_read_whole(pipe: Pipe) -> None:
    pipe.client.write(b'{\n"cwd":\n"/p"\n}\n')
    assert read_stdin(pipe.read_end, patience=60) == b'{\n"cwd":\n"/p"\n}\n'


@pytest.mark.parametrize("sent", [b"", b'{"cwd": "/p"}', b"{\n", b"no JSON\n"])
def test_patience_with_a_pipe_left_open(pipe: Pipe, sent: bytes) -> None:
    pipe.client.write(sent)
    with pytest.raises(InputError, match=r"^Invalid JSON input: stdin was not closed within 0\.05 seconds$"):
        read_stdin(pipe.read_end, patience=0.05)


def test_patience_is_for_all_of_it(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that sends a little again and again does not get more time."""
    seconds = iter(range(50))

    class Clock:
        def monotonic(self) -> float:
            pipe.client.write(b" ")
            now = next(seconds, None)
            assert now is not None, "still reading after 50 seconds"
            return now

    monkeypatch.setattr(protocol, "time", Clock())
    with pytest.raises(InputError, match="not closed within 5 seconds"):
        read_stdin(pipe.read_end, patience=5)


def test_limit(pipe: Pipe, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MAX_INPUT", 1 << 20)
    pipe.client.write(b"{}\n")
    assert read_stdin(pipe.read_end) == b"{}\n"
    source = os.open("/dev/zero", os.O_RDONLY)
    with pytest.raises(InputError, match=r"^Invalid JSON input: more than 1 MB$"):
        read_stdin(source)
    os.close(source)


def test_stdin_that_is_not_open() -> None:
    with pytest.raises(InputError, match=r"^Invalid JSON input: stdin cannot be read "):
        read_stdin(9999)


def test_stdin_that_is_a_directory(tmp_path: os.PathLike[str]) -> None:
    fd = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(InputError, match=r"^Invalid JSON input: stdin cannot be read "):
        read_stdin(fd)
    os.close(fd)


@pytest.mark.parametrize(
    ("name", "expected"),
    [("plan", "plan"), ("a\nb", "a\\x0ab"), ("\x1b[31m", "\\x1b[31m"), ("é", "é"), ("\ud800", "\\xd800"), ("", "")],
)
def test_shown(name: str, expected: str) -> None:
    assert protocol.shown(name) == expected


def test_shown_is_short() -> None:
    assert len(protocol.shown("x" * 300)) == 120
    assert protocol.shown("x" * 300).endswith("…")
    assert protocol.shown("x" * 120) == "x" * 120
    assert len(protocol.shown("\n" * 300, limit=50)) == 50
