"""Give a client its prompts one after another: the next when the last has its result. Runs beside the client.

`python feeder.py PROMPTS COMMAND…`: a file with one prompt on each line; the client's output goes through.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path


def main() -> int:
    prompts = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    client = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert client.stdin
    assert client.stdout
    for prompt in prompts:
        message = {"type": "user", "message": {"role": "user", "content": prompt}}
        client.stdin.write(json.dumps(message).encode() + b"\n")
        client.stdin.flush()
        for line in client.stdout:
            sys.stdout.buffer.write(line)
            if json.loads(line).get("type") == "result":
                break
        else:
            break  # it has ended
    client.stdin.close()
    sys.stdout.buffer.write(client.stdout.read())
    return client.wait()


if __name__ == "__main__":
    sys.exit(main())
