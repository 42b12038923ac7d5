"""A client that misbehaves, from a user's test file: `prompt` and `terminal` tell what it did, and nothing breaks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .test_isolation import isolated
from .test_stream_faults import STRANGE

pytestmark = [pytest.mark.client, isolated]
RESULT = '{"type": "result", "result": "Done."}'
PROMPT = """
import re
from pathlib import Path

def test_it(claude_client):
    client = claude_client(timeout=5)
    client.agent("Never asked.")
    run = client.prompt("go on")
    print("exit", run.exit_code, "answer", run.answer, "events", len(run.events))
    # Not ru_maxrss, which begins with what the process was that started this one.
    most = int(re.search("VmHWM:\\s*([0-9]+)", Path("/proc/self/status").read_text())[1]) // 1024
    print("memory", most < 600, most)
    assert run.answer == "Done.", run.exit_code
"""
TERMINAL = """
def test_it(claude_client):
    with claude_client(timeout=20).terminal("go on") as terminal:
        terminal.wait_for("never", timeout=1)
"""
# The program, how many tests pass, and what a person reads.
PROMPTED = {
    "ends in the middle of a line": (
        'sys.stdout.write(\'{"type": "resu\'); sys.exit(3)',
        0,
        ["exit 3 answer  events 0"],
    ),
    "sends fields of new types": (
        f"print({chr(10).join(map(json.dumps, STRANGE))!r})",
        0,
        ["exit 0 answer {'a': 1} *"],
    ),
    "sends a line that is too deep": (f"print('{{\"a\":' * 100000 + '1' + '}}' * 100000 + '\\n' + {RESULT!r})", 1, []),
    "names a session that no file can have": (
        f"""print(json.dumps({{'session_id': 'a' * 5000}}) + '\\n' + {RESULT!r})""",
        1,
        [],
    ),
    "names a session that is a path": (f"""print('{{"session_id": "../../x"}}\\n' + {RESULT!r})""", 1, []),
    "prints a line of 80 MiB": (
        "sys.stdout.write('x' * (80 << 20))",
        0,
        ["- claude * printed more than 64 MiB on stdout; of what it printed the middle is left out"],
    ),
    "prints 80 MiB of lines": (
        "sys.stdout.write('{}\\n' * (27 << 20))",
        0,
        ["- claude * printed more than 64 MiB on stdout; of what it printed the middle is left out"],
    ),
    "complains on 80 MiB": (
        "sys.stderr.write('x' * (80 << 20))",
        0,
        ["- claude * printed more than 64 MiB on stderr; of what it printed the middle is left out"],
    ),
}


def program(folder: Path, source: str) -> Path:
    path = folder / "program"
    path.write_text(f"#!/usr/bin/env python3\nimport json, os, sys\n{source}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(("source", "passed", "words"), PROMPTED.values(), ids=PROMPTED)
def test_prompted(source: str, passed: int, words: list[str], pytester: pytest.Pytester) -> None:
    pytester.makepyfile(PROMPT)
    outcome = pytester.runpytest_subprocess(f"--taskie-client={program(pytester.path, source)}", "-rP", timeout=100)
    # Whatever it does, it did not ask for what was scripted.
    outcome.assert_outcomes(passed=passed, failed=1 - passed, errors=1)
    outcome.stdout.fnmatch_lines(["memory True *"])
    for line in words:
        outcome.stdout.fnmatch_lines([line])
    assert outcome.stdout.str().count("Traceback") == 0
    if not passed:
        outcome.stdout.fnmatch_lines(["test_prompted.py:*: AssertionError"])


@pytest.mark.parametrize(
    "source", ["while True: os.write(1, b'x' * 65536)", "while True: os.write(1, b'\\x1b[1;1H\\n')"]
)
def test_in_a_terminal(source: str, pytester: pytest.Pytester) -> None:
    pytester.makepyfile(TERMINAL)
    outcome = pytester.runpytest_subprocess(f"--taskie-client={program(pytester.path, source)}", timeout=60)
    outcome.assert_outcomes(failed=1)
    outcome.stdout.fnmatch_lines(
        ["E *SessionError: a test waited for 'never' on the screen, and the client did not show*"]
    )
