"""A program that keeps a client's session in stream-json: it says what it was told to, and answers what it is asked.

    python3 host.py STEPS PROGRAM [ARGUMENT…]

STEPS is a JSON list: {"say": TEXT} is a prompt, whose end is awaited; {"ask": {…}} a control request, whose answer is
awaited; {"until": FILE} waits for a file. Every permission is granted, every elicitation accepted. Prints all that the
client said.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

SECONDS = 50.0


def main() -> int:
    steps, command = json.loads(sys.argv[1]), sys.argv[2:]
    client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert client.stdin
    assert client.stdout
    for number, step in enumerate(steps):
        if "until" in step:
            _wait(step["until"])
            continue
        if "say" in step:
            _send(client.stdin, {"type": "user", "message": {"role": "user", "content": step["say"]}})
        else:
            _send(client.stdin, {"type": "control_request", "request_id": str(number), "request": step["ask"]})
        for line in client.stdout:
            sys.stdout.buffer.write(line)
            said = json.loads(line)
            if said["type"] == "control_request":
                answer = {"subtype": "success", "request_id": said["request_id"], "response": _answer(said["request"])}
                _send(client.stdin, {"type": "control_response", "response": answer})
            elif said["type"] == ("result" if "say" in step else "control_response"):
                break
    client.stdin.close()
    sys.stdout.buffer.write(client.stdout.read())
    return client.wait()


def _answer(request: Mapping[str, Any]) -> Mapping[str, Any]:
    if request["subtype"] == "can_use_tool":
        return {"behavior": "allow", "updatedInput": request["input"]}
    if request["subtype"] == "elicitation":
        return {"action": "accept", "content": {"colour": "red"}}
    return {}


def _wait(file: str) -> None:
    until = time.monotonic() + SECONDS
    while not Path(file).exists() and time.monotonic() < until:
        time.sleep(0.02)


def _send(stdin: IO[bytes], message: Mapping[str, Any]) -> None:
    stdin.write(json.dumps(message).encode() + b"\n")
    stdin.flush()


if __name__ == "__main__":
    sys.exit(main())
