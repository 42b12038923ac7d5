"""The terminal in which a client is shown: what a person would read on its screen, however it was drawn."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TERMINAL = Path(__file__).with_name("terminal.py")
DRAWN = {
    "at once": "my-plan · review 2",
    "with a movement for a space": "my-plan\x1b[1C·\x1b[Creview\x1b[10;17H\r\x1b[9A\x1b[17C2",
    "over what stood there": "my-plan · review 1 and more\x1b[H\x1b[17C2\x1b[K",
    "with colours and a title": "\x1b]0;a title\x07\x1b[2mmy-plan\x1b[22m · \x1b[38;5;1mreview 2\x1b[0m",
    "after the screen was cleared": "x\ny\x1b[2J\x1b[Hmy-plan · review 2",
    "from the end": "\x1b[40;11Hreview 2\x1b7\x1b[40;1Hmy-plan ·\x1b8!\x1b[D\x1b[X",
}


@pytest.mark.parametrize("sent", DRAWN.values(), ids=DRAWN)
def test_what_stands_on_the_screen(tmp_path: Path, sent: str) -> None:
    (tmp_path / "there").touch()
    program = f"import sys; sys.stdout.buffer.write({sent.encode()!r}); sys.stdout.flush(); sys.stdin.read()"
    command = [
        sys.executable,
        str(TERMINAL),
        str(tmp_path / "there"),
        "my-plan · review 2",
        "20",
        sys.executable,
        "-c",
        program,
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, timeout=30)
    assert done.stdout.strip() == "my-plan · review 2"
