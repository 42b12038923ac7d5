"""A session is interrupted while a Stop hook runs: what the hook gets, and that no reviewer of ours is left."""

from __future__ import annotations

import dataclasses
import json
import shlex
import sys
from pathlib import Path
from typing import Any, Callable, Union

import pytest

from client.test_loop import works
from pytest_taskie import FakeCli, Plan, Project
from pytest_taskie.client import shell
from pytest_taskie.client._claude import ANSWERED, TRUSTED
from pytest_taskie.client._screen import Screen
from taskie.project import plugin_root

pytestmark = [pytest.mark.client, pytest.mark.state]

ROOT = Path(plugin_root())
HOOK = shlex.join([str(ROOT / "hooks" / "stop-hook.sh"), "--fail-open"])
HERE = Path(__file__).parent
SECONDS = 60
SOON = 10.0  # seconds; measured were less than two, on an idle machine
Notes = dict[str, float]
Client = Callable[..., Any]
HookCommand = Union[str, dict[str, Any]]


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return tmp_path / "notes"


@pytest.fixture
def deaf(notes: Path) -> str:
    """The command of a program that only SIGKILL ends."""
    return f"exec {shlex.join([sys.executable, '-I', '-S', str(HERE / 'deaf.py'), str(notes)])}"


def interrupted(client: Any, notes: Path, how: str, until: str = "-", seconds: float = 0) -> None:
    """From now on the client is interrupted in its first Stop hook, and the end waited for, or so many seconds."""
    after = str(seconds) if seconds else "-"
    before = (sys.executable, str(HERE / "interrupter.py"), str(notes), how, until, str(SECONDS), after)
    client.installation = dataclasses.replace(client.installation, command=(*before, *client.installation.command))


def read(notes: Path) -> Notes:
    """When each note was made first, in their order, without the number."""
    found: Notes = {}
    for line in notes.read_text().splitlines()[1:] if notes.exists() else ():
        what, when = line.split()
        found.setdefault(what, float(when))
    return found


def in_a_terminal(client: Any, project: Project, *args: str, **settings: object) -> None:
    """The interactive client, as one who trusts this project has it."""
    (project.home / ".claude").mkdir(exist_ok=True)
    (project.home / ".claude" / "settings.json").write_text(json.dumps(settings))
    known = {**ANSWERED, "projects": {str(project.path): TRUSTED}}
    (project.home / ".claude.json").write_text(json.dumps(known))
    done = client.command(*args, "--", "go on", env={"TERM": "xterm-256color"}, timeout=SECONDS + 20)
    screen = Screen()
    screen.draw(done.stdout)
    print(screen)  # which says what went wrong


def test_escape_in_claude_code(claude_client: Client, project: Project, notes: Path, deaf: str) -> None:
    client = claude_client()
    client.agent("Done.")
    interrupted(client, notes, "Esc")
    in_a_terminal(client, project, hooks={"Stop": [{"hooks": [{"type": "command", "command": deaf}]}]})
    got = read(notes)
    assert list(got) == ["interrupted", "SIGTERM", "gone"]
    assert got["gone"] - got["SIGTERM"] < SOON


# What a hook gets that its client has started itself: time to end by itself, none, or not even word of it.
ASKED, KILLED, LEFT, TOLD_ALONE = ["SIGTERM", "gone"], ["gone"], ["orphaned"], ["SIGTERM"]
NOTHING: list[str] = []
FREE = ["--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust"]
SIGNALS = {
    "claude": {"SIGINT": ASKED, "SIGTERM": ASKED, "SIGHUP": ASKED},
    "codex": {"SIGINT": KILLED, "SIGTERM": LEFT, "SIGHUP": LEFT},
    "copilot": dict.fromkeys(["SIGINT", "SIGTERM", "SIGHUP"], LEFT),
    "qwen": dict.fromkeys(["SIGINT", "SIGTERM", "SIGHUP"], KILLED),
    "gemini": dict.fromkeys(["SIGINT", "SIGTERM", "SIGHUP"], LEFT),
}
# Two seconds in the client's own words; and what follows.
TIMEOUTS = {
    "claude": ({"timeout": 2}, ASKED),
    "codex": ({"timeout": 2}, KILLED),
    "copilot": ({"timeoutSec": 2}, ASKED),
    "qwen": ({"timeout": 2}, ASKED),
    "gemini": ({"timeout": 2000}, TOLD_ALONE),
}
# How each is begun in a terminal, the keys that a person presses, and what follows.
TERMINALS = {
    "codex": (
        ["--dangerously-bypass-approvals-and-sandbox", "--dangerously-bypass-hook-trust", "go on"],
        "Esc",
        KILLED,
    ),
    "copilot": (
        ["--allow-all-tools", "--allow-all-paths", "--disable-builtin-mcps", "-i", "go on"],
        "Esc Esc",
        NOTHING,
    ),
    "qwen": (["--yolo", "-i", "go on"], "Esc", ASKED),
    "gemini": (["--yolo", "-m", "gemini-2.5-pro", "-i", "go on"], "Esc", NOTHING),
}
LONG_ENOUGH = 8  # seconds from the interruption on, after which one that has not killed its hook lets it run on


def wait_for(fate: list[str]) -> dict[str, Any]:
    """Where nothing more is to come, the wait for it has an end."""
    return {"until": "orphaned"} if fate and fate[-1] != "SIGTERM" else {"seconds": LONG_ENOUGH}


def bare(client: Client, command: HookCommand) -> Any:
    """With a hook that is its own child."""
    kind = client._bench.installation.kind  # type: ignore[attr-defined]  # the fixture's class
    made = client(hooks={"Stop": command}, **({} if kind == "claude" else {"wrap_hooks": False}))
    made.agent("Done.")
    return made


@pytest.mark.parametrize(
    ("any_client", "how", "fate"),
    [(kind, how, fate) for kind, of in SIGNALS.items() for how, fate in of.items()],
    indirect=["any_client"],
)
def test_a_signal_to_a_client(any_client: Client, how: str, fate: list[str], notes: Path, deaf: str) -> None:
    client = bare(any_client, deaf)
    interrupted(client, notes, how, **wait_for(fate))
    client.prompt("go on")
    assert list(read(notes)) == ["interrupted", *fate]


@pytest.mark.parametrize(
    ("any_client", "limit", "fate"),
    [(kind, *row) for kind, row in TIMEOUTS.items()],
    ids=list(TIMEOUTS),
    indirect=["any_client"],
)
def test_a_timeout(any_client: Client, limit: dict[str, int], fate: list[str], notes: Path, deaf: str) -> None:
    client = bare(any_client, {"command": deaf, **limit})
    interrupted(client, notes, "SIGCONT", **wait_for(fate))  # which means nothing to a process that runs
    client.prompt("go on")
    assert list(read(notes)) == ["interrupted", *fate]


@pytest.mark.parametrize(
    ("any_client", "words", "keys", "fate"),
    [(kind, *row) for kind, row in TERMINALS.items()],
    ids=list(TERMINALS),
    indirect=["any_client"],
)
def test_escape(any_client: Client, words: list[str], keys: str, fate: list[str], notes: Path, deaf: str) -> None:
    client = bare(any_client, deaf)
    client._write_hooks(client.project.home, client._make_records())  # as a prompt does
    interrupted(client, notes, keys, **wait_for(fate))
    done = client.command(*words, env={"TERM": "xterm-256color"}, timeout=SECONDS + 60)
    screen = Screen()
    screen.draw(done.stdout)
    print(screen)
    assert list(read(notes)) == ["interrupted", *fate]


@pytest.fixture
def reviewed(plan: Plan, fake_claude: FakeCli, deaf: str) -> Plan:
    """A plan whose reviewer is deaf."""
    fake_claude.runs(deaf)
    plan.state.write(next_phase="plan-review")
    return plan


def test_escape_ends_a_deaf_reviewer(claude_client: Client, project: Project, reviewed: Plan, notes: Path) -> None:
    client = claude_client()
    client.agent(works(reviewed), "Done.")
    interrupted(client, notes, "Esc")
    # In the mode that the client would choose it asks its server about the command, and this one has no such server.
    allowed = ("--permission-mode", "default", "--allowedTools", "Bash(touch:*)")
    in_a_terminal(client, project, "--plugin-dir", str(ROOT), *allowed)
    got = read(notes)
    assert list(got) == ["interrupted", "SIGTERM", "gone"]
    assert got["gone"] - got["interrupted"] < SOON


@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_the_end_of_codex_ends_a_deaf_reviewer(how: str, codex_client: Client, reviewed: Plan, notes: Path) -> None:
    client = codex_client(hooks={"Stop": HOOK}, wrap_hooks=False)
    client.agent("Done.")
    interrupted(client, notes, how)
    client.prompt("go on")
    got = read(notes)
    assert list(got) == ["interrupted", "SIGTERM", "gone"]
    assert got["gone"] - got["interrupted"] < SOON


@pytest.mark.parametrize("any_client", ["copilot", "gemini"], indirect=True)
def test_the_end_of_a_client_that_leaves_its_hooks_ends_a_deaf_reviewer(
    any_client: Client, reviewed: Plan, notes: Path
) -> None:
    client = any_client(hooks={"Stop": HOOK}, wrap_hooks=False)
    client.agent(shell(f"touch {reviewed.path}/plan.md"), "Done.")
    interrupted(client, notes, "SIGTERM")
    client.prompt("go on")
    got = read(notes)
    assert list(got) == ["interrupted", "SIGTERM", "gone"]
    assert got["gone"] - got["interrupted"] < SOON
