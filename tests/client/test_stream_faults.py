"""A session with a client that misbehaves: an error that says what it did, in bounded time and memory, and its end."""

from __future__ import annotations

import dataclasses
import json
import sys
import tracemalloc
from pathlib import Path
from typing import Callable

import pytest

from pytest_taskie.client import ClaudeClient, Session, SessionError
from pytest_taskie.client._session import MAX_LINE

from .test_isolation import alive, isolated

pytestmark = [pytest.mark.client, isolated]
Opened = Callable[[str], Session]
# Of every field that is read, another type than the client has ever sent.
STRANGE = [
    {"type": 5},
    {"type": "user", "message": ["Stop hook feedback:"]},
    {"type": "user", "message": {"content": [None, 3, {"text": {}}, {"content": 4}]}},
    {"type": "control_response", "response": 3},
    {"type": "control_response", "response": {"request_id": {}, "response": [1]}},
    {"subtype": "hook_started", "hook_id": [], "hook_event": ["Stop"], "hook_name": None},
    {"subtype": "hook_response", "hook_id": [], "hook_event": "Stop", "stdout": {}, "stderr": 7, "exit_code": "x"},
    {"type": "assistant", "message": None},
    {"session_id": {"a": 1}, "attachment": 4},
    ["not", "an", "object"],
    {"type": "result", "result": {"a": 1}, "of the future": True},
]


@pytest.fixture
def opened(claude_client: type[ClaudeClient], tmp_path: Path) -> Opened:
    """A session with a program in place of the client."""

    def start(source: str) -> Session:
        program = tmp_path / "program.py"
        program.write_text(f"import json, os, sys, time\n{source}\n")
        client = claude_client(timeout=30)
        command = (sys.executable, "-I", "-S", str(program))
        client.installation = dataclasses.replace(client.installation, command=command)
        return client.session()

    return start


FAULTS = {
    "ends at once": ("sys.exit('no such option')", r"ended while .*exit code 1\b.*no such option"),
    "ends in the middle of a line": (
        'sys.stdin.readline(); sys.stdout.write(\'{"type": "resu\'); sys.stdout.flush(); os._exit(3)',
        r"exit code 3; its last line has no end: b'\{\"type\": \"resu'",
    ),
    "prints a line without end": (
        "while True: os.write(1, b'x' * 65536)",
        "printed a line of more than 32 MiB",
    ),
    "prints lines without end": (
        "while True: os.write(1, b'{}\\n' * 10000)",
        "printed more than 100000 lines in one turn",
    ),
    "prints much without end": (
        "while True: os.write(1, b'\"' + b'x' * 9999997 + b'\"\\n')",
        "printed more than 64 MiB in one turn",
    ),
    "prints errors without end": (
        "while True: os.write(2, b'x' * 65536)",
        "did not give an event with type='result' within 2 seconds; its last events: none",
    ),
    "says nothing and reads nothing": (
        "time.sleep(1000)",
        "did not give an event with type='result' within 2 seconds",
    ),
}


@pytest.mark.parametrize(("source", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_named(source: str, message: str, opened: Opened, tmp_path: Path) -> None:
    session = opened(f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n{source}")
    with pytest.raises(SessionError, match=rf"(?s)^claude .*{message}") as error:
        session.prompt("go on", timeout=30 if "without end" in message or "more than" in message else 2)
    assert len(str(error.value)) < 5000
    assert not alive(int((tmp_path / "pid").read_text()))


def test_memory_is_bounded(opened: Opened) -> None:
    tracemalloc.start()
    try:
        session = opened("while True: os.write(1, b'x' * 65536)")
        with pytest.raises(SessionError):
            session.prompt("go on")
        assert tracemalloc.get_traced_memory()[1] < 3 * MAX_LINE
    finally:
        tracemalloc.stop()


def test_fields_of_new_types(opened: Opened) -> None:
    lines = "".join(f"{json.dumps(event)}\n" for event in STRANGE)
    with opened(f"sys.stdin.readline(); sys.stdout.write('not JSON\\n' + {lines!r}); sys.stdout.flush()") as session:
        run = session.prompt("go on")
        assert run.answer == "{'a': 1}"
        assert run.stops
        assert session.end().exit_code == 0


@pytest.mark.parametrize("request_", ["x", {"subtype": ["can_use_tool"]}, {"subtype": "of the future"}])
def test_a_question_of_a_new_kind_is_refused_and_told(request_: object, opened: Opened, tmp_path: Path) -> None:
    question = json.dumps({"type": "control_request", "request_id": "1", "request": request_})
    answer = tmp_path / "answer"
    session = opened(
        f"sys.stdin.readline(); print({question!r}, flush=True)\n"
        f"open({str(answer)!r}, 'w').write(sys.stdin.readline()); print(json.dumps({{'type': 'result'}}), flush=True)"
    )
    complaints: list[str] = []
    session._complain = complaints.append
    session.prompt("go on")
    assert json.loads(answer.read_text())["response"]["subtype"] == "error"
    assert "no answer was given" in complaints[0]


def test_a_session_that_is_left_open_is_ended_with_the_test(pytester: pytest.Pytester, tmp_path: Path) -> None:
    program = pytester.path / "program"
    program.write_text(f'#!/bin/sh\necho $$ > {tmp_path}/pid\nread line\necho \'{{"type": "result"}}\'\nsleep 1000\n')
    program.chmod(0o755)
    pytester.makepyfile("def test_it(claude_client):\n    claude_client().session().prompt('go on')\n")
    pytester.runpytest_subprocess(f"--taskie-client={program}").assert_outcomes(passed=1)
    assert not alive(int((tmp_path / "pid").read_text()))
