"""What a hook in a room can do to everything outside of it: nothing. And what a check that is ended leaves: nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Callable

import pytest

from pytest_taskie.check._lab import Lab
from pytest_taskie.check._room import Ground, Room, RoomError, ground
from pytest_taskie.check._situations import Situation
from pytest_taskie.check._subjects import Subject

Run = Callable[[str], "tuple[int, str, str]"]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own, with a file."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "precious").write_text("mine")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def run(the_ground: Ground, tmp_path: Path) -> Run:
    """A command as a hook of a project with one file, which it may see."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "file").write_text("mine")

    def run(command: str) -> tuple[int, str, str]:
        subject = Subject("Stop", command, root=tmp_path / "project")
        end = Lab(the_ground, subject, seconds=10.0).perform(Situation("Stop")).end
        return end.code, end.out, end.err

    return run


def test_it_changes_its_copy_and_not_the_project(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("cat file; echo changed > file; cat file; rm -rf ./*; ls -A")
    assert (out, code) == ("minechanged\n", 0)
    assert (tmp_path / "project" / "file").read_text() == "mine"


def test_it_cannot_write_elsewhere(run: Run, home: Path, tmp_path: Path) -> None:
    code, _, err = run(f"rm -f {home}/precious; echo x > {home}/new; touch /usr/x /etc/x; echo $HOME; exit 3")
    assert code == 3
    assert "Read-only file system" in err or "No such file" in err  # the user's own temporary files are not even shown
    assert sorted(path.name for path in home.iterdir()) == ["precious"]
    assert (home / "precious").read_text() == "mine"


def test_it_cannot_make_anything_writable_again(run: Run) -> None:
    code, out, err = run("grep CapEff /proc/self/status; mount -o remount,bind,rw /; touch /etc/x")
    assert out.split() == ["CapEff:", "0" * 16], err
    assert code != 0
    assert not Path("/etc/x").exists()


def test_its_home_is_not_the_users(run: Run, home: Path) -> None:
    _, out, _ = run('echo x > "$HOME/dropped"; cat "$HOME/precious"; echo "$HOME"')
    assert out.strip() != str(home)
    assert not (home / "dropped").exists()


def test_it_gets_none_of_the_users_tokens(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", "secret")
    assert "secret" not in run("env")[1]


def test_it_reaches_no_network(run: Run) -> None:
    program = "import socket; socket.create_connection(('192.0.2.1', 80), 3)"
    code, _, err = run(f'python3 -c "{program}"')
    assert code == 1
    assert "Network is unreachable" in err


def test_it_reaches_no_socket_of_the_machine(run: Run) -> None:
    assert run("ls -A /run /var/run")[1].replace("\n", "") in ("", "/run:/var/run:")


def test_it_sees_no_process_and_ends_none(run: Run) -> None:
    code, _, err = run(f"kill -9 {os.getpid()}; kill -9 $PPID; kill -9 1; kill -9 $CLAUDE_PID; sleep 0.1; exit 4")
    assert code == 4
    assert "No such process" in err


def test_it_cannot_set_the_clock(run: Run) -> None:
    before = time.time()
    code, _, err = run("date -s '2001-01-01'; exit $?")
    assert code == 1
    assert "not permitted" in err
    assert time.time() >= before


def test_it_finds_no_terminal(run: Run) -> None:
    code, out, _ = run("if (exec < /dev/tty) 2>/dev/null; then echo asked; fi; exit 0")
    assert (code, out) == (0, "")


def test_it_cannot_fill_the_disk(run: Run) -> None:
    program = "head -c 120000000 /dev/zero > $n 2>/dev/null || { rm -f 1; echo full: $n; exit 5; }"
    assert run(f"for n in 1 2 3 4 5; do {program}; done")[:2] == (5, "full: 4\n")


def test_it_cannot_start_processes_without_end(run: Run) -> None:
    with pytest.raises(RoomError, match="more than 400 processes"):
        run("n=0; while [ $n -lt 600 ]; do sleep 5 & n=$((n+1)); done; sleep 5")


@pytest.mark.parametrize(
    "command",
    [
        "rm -rf $PWD; exit 7",
        "setsid sh -c 'sleep 200' & exit 7",
        "(trap '' TERM HUP; sleep 200) & exit 7",
        "kill -9 $$",
    ],
    ids=["its-directory", "a-daemon", "deaf", "itself"],
)
def test_what_it_does_to_itself_ends_with_the_room(command: str, run: Run) -> None:
    mark = str(os.getpid() * 1000 + 200)  # seconds that nobody else sleeps
    assert run(command.replace("200", mark))[0] in (7, -9)
    assert not any(mark in line for line in all_commands())


def all_commands() -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                found.append((entry / "cmdline").read_text(errors="replace").replace("\0", " "))
            except OSError:
                continue
    return found


def test_a_room_that_breaks_says_so(the_ground: Ground) -> None:
    with Room(the_ground, []) as room:
        room._box.kill()
        run = {"argv": ["sleep", "20"], "env": dict(os.environ), "cwd": "/", "stdin": ""}
        with pytest.raises(RoomError, match="ended with -9"):
            room.run([run], 20.0)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_check_prints_what_it_has_and_leaves_nothing(number: int, tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    mark = f"sleep {os.getpid() * 1000 + number}"
    slow = [{"type": "command", "command": f"{mark}; exit {n}"} for n in range(4)]
    broken = {"type": "command", "command": 'echo \'{"decision": "block"}\''}
    hooks = {"PreToolUse": [{"hooks": [broken]}], "Stop": [{"hooks": slow}]}
    (tmp_path / "hooks.json").write_text(json.dumps({"hooks": hooks}))
    code = "import sys; from pytest_taskie.check.command import main; sys.exit(main(sys.argv[1:]))"
    words = [sys.executable, "-c", code, str(tmp_path / "hooks.json"), "--rule", "hangs", "--rule", "phantom-variable"]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    process = subprocess.Popen(words, stdout=subprocess.PIPE, env=environment, text=True)
    deadline = time.monotonic() + 60
    while not any(mark in line for line in all_commands()) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(number)
    out, _ = process.communicate(timeout=60)
    assert "interrupted after" in out
    assert process.returncode == 2
    assert list((tmp_path / "tmp").iterdir()) == []
    assert not any(mark in line for line in all_commands())


def test_a_killed_checks_folder_is_removed_by_the_next(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    code = (
        "import sys, time; from pytest_taskie.check._room import ground\n"
        "with ground() as there: print('ready', flush=True); time.sleep({})"
    )
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    words = [sys.executable, "-c"]
    with subprocess.Popen([*words, code.format(100)], stdout=subprocess.PIPE, env=environment, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.kill()
    assert list((tmp_path / "tmp").iterdir())
    subprocess.run([*words, code.format(0)], env=environment, check=True, capture_output=True)
    assert list((tmp_path / "tmp").iterdir()) == []


def test_where_nothing_keeps_rooms_apart_a_copy_is_used_and_all_processes_end(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "file").write_text("mine")
    mark = str(os.getpid() * 1000 + 300)
    command = f"echo changed > file; cat file; (setsid sleep {mark} >/dev/null 2>&1 &); exit 0"
    with ground(confined=False) as there:
        end = Lab(there, Subject("Stop", command, root=tmp_path / "project")).perform(Situation("Stop")).end
    assert (end.code, end.out) == (0, "changed\n")
    assert (tmp_path / "project" / "file").read_text() == "mine"
    assert not any(mark in line for line in all_commands())
