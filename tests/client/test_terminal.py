"""The real client in a terminal: keys in, and what a person reads on the screen, however it was drawn."""

from __future__ import annotations

import dataclasses
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Callable

import pytest
from support import ROOT

from pytest_taskie import FakeCli, Plan
from pytest_taskie.client import ClaudeClient, SessionError, Terminal, tool
from pytest_taskie.client._screen import Screen

from .test_isolation import alive, isolated

pytestmark = pytest.mark.client
DRAWN = {
    "at once": "my-plan · review 2",
    "with a movement for a space": "my-plan\x1b[1C·\x1b[Creview\x1b[10;17H\r\x1b[9A\x1b[17C2",
    "over what stood there": "my-plan · review 1 and more\x1b[H\x1b[17C2\x1b[K",
    "with colours and a title": "\x1b]0;a title\x07\x1b[2mmy-plan\x1b[22m · \x1b[38;5;1mreview 2\x1b[0m",
    "after the screen was cleared": "x\ny\x1b[2J\x1b[Hmy-plan · review 2",
    "from the end": "\x1b[40;11Hreview 2\x1b7\x1b[40;1Hmy-plan ·\x1b8!\x1b[D\x1b[X",
}
BLOCK_ONCE = """cat | grep -q '"stop_hook_active":true' || echo '{"decision": "block", "reason": "The tests fail."}'"""
Program = Callable[[str], Terminal]


@pytest.mark.parametrize("sent", DRAWN.values(), ids=DRAWN)
@pytest.mark.parametrize("size", [1, 1000])
def test_what_stands_on_the_screen(sent: str, size: int) -> None:
    screen = Screen()
    for start in range(0, len(sent), size):
        screen.draw(sent[start : start + size])
    assert str(screen).strip() == "my-plan · review 2"


@pytest.mark.parametrize("control", "ABCDEFGHJKXdm")
def test_a_number_of_any_length(control: str) -> None:
    screen = Screen()
    screen.draw(f"\x1b[{'9' * 5000}{control}\x1b[Hseen")
    assert "seen" in str(screen)


def test_a_picture_has_the_same_text_in_its_colours() -> None:
    screen = Screen()
    screen.draw("\x1b[31mred <&>\x1b[0m plain \x1b[38;5;208m表\x1b[38;2;1;2;3mmixed\x1b[39m\x1b[2;5Hbelow")
    drawn = ET.fromstring(screen.picture())
    texts = [(text.get("fill"), text.text) for text in drawn.iter("{http://www.w3.org/2000/svg}text")]
    assert texts == [
        ("#cd3131", "red <&>"),
        ("#e5e5e5", "plain"),
        ("#ff8700", "表"),
        ("#010203", "mixed"),
        ("#e5e5e5", "below"),
    ]


@pytest.mark.parametrize("sent", ["\x1b]0;" + "x" * 10**6, "\x1b[" + "1;" * 10**5 + "m", "\x1b[99999999999999999999C"])
def test_a_sequence_without_end_is_given_up(sent: str) -> None:
    screen = Screen()
    for start in range(0, len(sent), 65536):
        screen.draw(sent[start : start + 65536])
    screen.draw("\x1b\\\x1b[H\x1b[2Jmy-plan")
    assert str(screen).strip() == "my-plan"


def enter(terminal: Terminal, text: str) -> None:
    """As a person does, who reads what stands there before pressing the key."""
    terminal.type(text)
    terminal.wait_for(text)
    assert text in terminal.screen
    terminal.press("Enter")


@isolated
def test_a_person_talks_to_it_and_sees_what_a_hook_says(claude_client: type[ClaudeClient]) -> None:
    client = claude_client(hooks={"Stop": BLOCK_ONCE})
    client.agent("Done.", "Done again.", "Third.", "Fourth.")
    with client.terminal("go on") as terminal:
        screen = terminal.wait_for(re.compile(r"Done again\.(?s:.*) done "))
        assert "Ran 1 stop hook" in screen
        assert "The tests fail." in screen
        enter(terminal, "what else?")
        terminal.wait_for(re.compile(r"Fourth\.(?s:.*) done "))
        assert "Fourth." in terminal.picture()
        enter(terminal, "/exit")
        assert "claude --resume" in terminal.wait_for_end()
    assert [request.last for request in client.requests if request.tools][2].endswith("what else?")


@isolated
def test_what_a_person_sees_of_our_own_plugin(
    claude_client: type[ClaudeClient], plan: Plan, fake_claude: FakeCli
) -> None:
    """A review fails: the person sees that, and that the agent goes on."""
    fake_claude.reviews("FAIL")
    plan.state.write(next_phase="plan-review")
    client = claude_client(plugin=ROOT)
    # In the mode that the client would choose it asks its server about the command, and this one has no such server.
    look = tool("Bash", command=f"touch {plan.path}/plan.md", description="work")
    client.agent(look, "The work is done.", "I go on.")
    with client.terminal("go on", args=["--permission-mode", "default"]) as terminal:
        terminal.wait_for("I go on.")
        screen = terminal.screen
    assert "FAIL" in screen, screen


@pytest.fixture
def program(claude_client: type[ClaudeClient], tmp_path: Path) -> Program:
    """A terminal with a program in place of the client."""

    def start(source: str) -> Terminal:
        noted = f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))"
        (tmp_path / "program.py").write_text(f"import os, sys, time\n{noted}\n{source}\n")
        client = claude_client(timeout=20)
        command = (sys.executable, "-I", "-S", str(tmp_path / "program.py"))
        client.installation = dataclasses.replace(client.installation, command=command)
        return client.terminal()

    return start


@isolated
def test_it_is_a_terminal_of_the_programs_own(program: Program) -> None:
    # Where a script has started the tests in the background, SIGINT is ignored.
    source = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    source += "print(os.get_terminal_size(), os.ttyname(0) == os.ttyname(2), os.tcgetpgrp(0) == os.getpgrp())\ninput()"
    with program(source) as terminal:
        terminal.wait_for("os.terminal_size(columns=120, lines=40) True True")
        terminal.press("Ctrl+C")
        assert "KeyboardInterrupt" in terminal.wait_for_end()


FAULTS = {
    "prints without end": (
        "while True: os.write(1, b'never\\r\\n' * 1000)",
        "did not show it within 2 seconds:.*never",
    ),
    "draws without end": ("while True: os.write(1, b'\\x1b]0;' + b'x' * 10000)", "did not show it within 2 seconds"),
    "shows nothing": ("time.sleep(1000)", "did not show it within 2 seconds"),
    "ends": ("print('the last words')", "ended:.*the last words"),
}


@isolated
@pytest.mark.parametrize(("source", "message"), FAULTS.values(), ids=FAULTS)
def test_a_fault_is_named_and_everything_ended(source: str, message: str, program: Program, tmp_path: Path) -> None:
    terminal = program(source)
    with pytest.raises(SessionError, match=rf"(?s)a test waited for 'it' on the screen, and the client {message}"):
        terminal.wait_for("it", timeout=2)
    assert not alive(int((tmp_path / "pid").read_text()))
    with pytest.raises(SessionError, match="has ended"):
        terminal.press("Enter")


@isolated
def test_a_key_that_does_not_exist(program: Program) -> None:
    with program("input()") as terminal, pytest.raises(ValueError, match="no key 'Return' here; there are: Enter, Esc"):
        terminal.press("Return")
