"""The process between the hook and its programs: what it holds, who may signal it, and what is done without it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from core.living import is_alive, noted
from support import ROOT
from support.killing import Place

from faults.test_escapes import interrupted

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="survivors are found by /proc")

# A hook on a system that lacks something.
DRIVER = """
import builtins, os, sys
sys.path.insert(0, sys.argv[1])

def hidden(call):
    def refuse(path=".", *rest, **named):
        if isinstance(path, str) and path.startswith(("/proc", "/dev/fd")):
            raise FileNotFoundError(2, "No such file or directory", path)
        return call(path, *rest, **named)
    return refuse

def full(*_, **__):
    raise BlockingIOError(11, "Resource temporarily unavailable")

if "subreaper" in sys.argv:
    sys.modules["_ctypes"] = None
if "/proc" in sys.argv:
    os.listdir, os.open, builtins.open = hidden(os.listdir), hidden(os.open), hidden(open)
if "waitid" in sys.argv:
    del os.waitid
if "pidfd" in sys.argv:
    del os.pidfd_open
if "fork" in sys.argv:
    os.fork = full
if "processes" in sys.argv:
    os.posix_spawn = full
from taskie.hook import main
sys.exit(main(["--fail-open"]))
"""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path / "place", "review")
    yield made
    made.clean_up()


@pytest.fixture
def checks(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path / "place", "checks")
    yield made
    made.clean_up()


def without(*what: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", DRIVER, str(ROOT), *what]


def parent_of(number: int) -> int | None:
    """None if it has ended meanwhile."""
    with contextlib.suppress(OSError):
        return int(Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[1])
    return None


def all_are_watched(place: Place, hook: subprocess.Popen[bytes]) -> bool:
    """Whether beside each child of the hook that has noted itself there is one that heeds no SIGTERM."""
    children = {number for number in place.survivors() if parent_of(number) == hook.pid}
    programs = children & set(noted(place.notes))
    others = children - programs
    return bool(programs) and len(others) == len(programs) and all(map(heeds_no_sigterm, others))


def heeds_no_sigterm(number: int) -> bool:
    with contextlib.suppress(OSError):
        ignored = Path(f"/proc/{number}/status").read_text().partition("SigIgn:")[2].split()[0]
        return bool(int(ignored, 16) >> (signal.SIGTERM - 1) & 1)
    return False


def keeper_of(place: Place, hook: subprocess.Popen[bytes]) -> int:
    """The only child of the hook."""
    (number,) = (number for number in place.survivors() if parent_of(number) == hook.pid)
    return number


def waits(place: Place, command: list[str] | None = None, kind: str = "setsid") -> subprocess.Popen[bytes]:
    """A hook whose reviewer, and a child of that, run."""
    os.mkfifo(place.ready)
    place.breeds(kind)
    hook = place.start_hook(*(command or ()))
    place.ready.read_bytes()
    return hook


def test_it_holds_nothing_of_the_hook(place: Place) -> None:
    hook = waits(place)
    keeper = keeper_of(place, hook)
    held = [str(path.readlink()) for path in Path(f"/proc/{keeper}/fd").iterdir()]
    assert len(held) == 4  # orders, reports, and both ends of the one that wakes it
    assert all(name.startswith("pipe:") for name in held)
    own = {str(Path(f"/proc/{hook.pid}/fd/{fd}").readlink()) for fd in (1, 2)}
    assert own.isdisjoint(held)
    assert os.getsid(keeper) == keeper
    interrupted(hook)


def test_a_signal_to_the_whole_group_of_the_hook(place: Place) -> None:
    hook = waits(place)
    os.killpg(hook.pid, signal.SIGKILL)
    hook.communicate()
    assert place.left() == {}


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP], ids=lambda number: number.name)
def test_it_does_not_listen_to_others(place: Place, number: signal.Signals) -> None:
    os.mkfifo(place.ready)
    verdict = json.dumps({"structured_output": {"verdict": "FAIL"}})
    review = place.project / ".taskie" / "plans" / "killed" / "plan-review-1.md"
    place.has_program(
        f"echo $$ >> '{place.notes}'; read x < '{place.ready}'; echo '# R' > '{review}'; echo '{verdict}'"
    )
    hook = place.start_hook()
    with place.ready.open("w") as go:
        os.kill(keeper_of(place, hook), number)
        go.write("go\n")
    out, err = hook.communicate(timeout=30)
    assert json.loads(out)["decision"] == "block", err


@pytest.mark.parametrize("kind", ["setsid", "deaf", "double fork", "many"])
def test_it_is_killed_itself(place: Place, kind: str) -> None:
    hook = waits(place, kind=kind)
    os.kill(keeper_of(place, hook), signal.SIGKILL)
    out, err = hook.communicate(timeout=30)
    assert place.survivors() == {}
    assert "Review failed" in json.loads(out)["systemMessage"]
    assert b"Traceback" not in err


def test_a_check_whose_keeper_is_killed_has_failed(checks: Place) -> None:
    hook = waits(checks)
    while len(keepers := [n for n in checks.survivors() if parent_of(n) == hook.pid]) < 2:
        time.sleep(0.01)
    for keeper in keepers:
        os.kill(keeper, signal.SIGKILL)
    out, err = hook.communicate(timeout=30)
    assert checks.survivors() == {}
    assert "2 of 2 gates failed" in json.loads(out)["reason"], err


def test_it_is_stopped(place: Place) -> None:
    hook = waits(place)
    os.kill(keeper_of(place, hook), signal.SIGSTOP)
    interrupted(hook)
    assert place.left() == {}


def test_deaf_checks_side_by_side_are_ended_side_by_side(checks: Place) -> None:
    """One after another they would outlive the hook, which has 1.45 seconds."""
    hook = waits(checks, kind="deaf")
    while sum(parent_of(number) == hook.pid for number in checks.survivors()) < 2:
        time.sleep(0.01)
    hook.terminate()
    begun_ = time.monotonic()
    hook.communicate()
    assert time.monotonic() - begun_ < 1.4
    assert hook.returncode == -signal.SIGTERM
    assert checks.survivors() == {}


CLIENT = """
import subprocess, sys
with open(sys.argv[1]) as event:
    print(subprocess.Popen(sys.argv[2:], stdin=event, stdout=subprocess.PIPE).pid, flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize("what", ["review", "checks", "git"])
def test_the_client_dies(tmp_path: Path, what: str) -> None:
    place = Place(tmp_path / "place", "review" if what == "review" else "checks")
    os.mkfifo(place.ready)
    place.breeds("setsid")
    if what == "git":
        git = place.folder / "bin" / "git"
        git.write_text(f"#!/bin/sh\necho $$ >> '{place.notes}'\necho > '{place.ready}'\nexec sleep 600\n")
        git.chmod(0o755)
    place.start_hook("/bin/true").communicate()  # it writes the event
    hook = [str(ROOT / "hooks" / "stop-hook.sh"), "--fail-open"]
    client = subprocess.Popen(
        [sys.executable, "-c", CLIENT, str(place.folder / "event"), *hook],
        env=place.env,
        cwd=place.project,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert client.stdout is not None
        number = int(client.stdout.readline())
        place.ready.read_bytes()
        assert is_alive(number)
        client.kill()
        client.communicate()
        assert place.left() == {}
    finally:
        place.clean_up()


# Without a subreaper by parent links, groups and marks, without /proc by `ps`, which shows no marks.
FOUND = [
    *[(lack, kind) for lack in ("subreaper", "subreaper waitid") for kind in ("deaf", "setsid", "double fork")],
    *[("/proc", kind) for kind in ("deaf", "bare setsid", "daemon", "chain")],
    *[("subreaper /proc", kind) for kind in ("deaf", "nohup", "thread")],
    ("pidfd", "daemon"),
]


@pytest.mark.parametrize("ending", ["normal", "sigterm", "sigkill"])
@pytest.mark.parametrize(("lack", "kind"), FOUND)
def test_a_system_that_lacks_something(place: Place, kind: str, lack: str, ending: str) -> None:
    os.mkfifo(place.ready)
    place.breeds(kind, "ends" if ending == "normal" else "waits")
    hook = place.start_hook(*without(*lack.split()))
    place.ready.read_bytes()
    if ending == "sigterm":
        interrupted(hook)
    elif ending == "sigkill":
        hook.kill()
    hook.communicate()
    assert place.left() == {}


@pytest.mark.parametrize("what", ["fork", "processes"])
def test_no_room_for_another_process(place: Place, what: str) -> None:
    place.breeds("setsid")
    out, err = place.start_hook(*without(what)).communicate(timeout=30)
    assert "could not be started ([Errno 11] Resource temporarily unavailable)" in json.loads(out)["systemMessage"]
    assert b"Traceback" not in err
    assert noted(place.notes) == []


def test_no_second_reviewer_beside_the_first(place: Place) -> None:
    """Though the hook is interrupted, its lock is not free before its reviewer is gone."""
    hook = waits(place, kind="deaf")
    first = noted(place.notes)
    hook.terminate()
    overlapping = []
    place.ready.unlink()
    place.has_program(f"echo $$ >> '{place.folder}/second'; exit 1")
    while not (place.folder / "second").exists():
        alive_before = [number for number in first if is_alive(number)]
        out, _ = place.start_hook().communicate(timeout=30)
        if (place.folder / "second").exists():
            overlapping = alive_before and [number for number in first if is_alive(number)]
        else:
            assert "Another session is reviewing" in json.loads(out)["systemMessage"]
    hook.communicate()
    assert overlapping == []


def test_a_lock_of_a_killed_hook_is_free_at_once(checks: Place) -> None:
    hook = waits(checks)
    hook.kill()
    hook.communicate()
    checks.has_program("exit 1")
    out, _ = checks.start_hook().communicate(timeout=30)
    assert "2 of 2 gates failed" in json.loads(out)["reason"]
    assert checks.left() == {}


def test_a_program_may_clean_up_when_the_hook_is_killed(place: Place) -> None:
    """As git removes its locks, which would be in the user's way."""
    os.mkfifo(place.ready)
    lock = place.folder / "lock"
    waiting = f"touch {lock}; echo > {place.ready}; while :; do sleep 0.01; done"
    place.has_program(f"trap 'rm {lock}; exit 1' TERM; {waiting}")
    hook = place.start_hook()
    place.ready.read_bytes()
    hook.kill()
    hook.communicate()
    assert place.left() == {}
    assert not lock.exists()


def test_git_is_ended_by_a_signal(checks: Place) -> None:
    """Which it would outlive else, in a session of its own."""
    git = checks.folder / "bin" / "git"
    os.mkfifo(checks.ready)
    git.write_text(f"#!/bin/sh\necho $$ >> '{checks.notes}'\necho > '{checks.ready}'\nexec sleep 600\n")
    git.chmod(0o755)
    hook = checks.start_hook()
    checks.ready.read_bytes()
    hook.terminate()
    hook.communicate(timeout=30)
    assert checks.survivors() == {}


@pytest.mark.parametrize("lack", ["", "pidfd"])
def test_a_git_that_takes_long_is_ended_when_the_hook_is_killed(checks: Place, lack: str) -> None:
    """It has no keeper; once it takes long, somebody watches."""
    git = checks.folder / "bin" / "git"
    git.write_text(f"#!/bin/sh\necho $$ >> '{checks.notes}'\ntrap '' TERM\nsleep 600 &\nwait; wait\n")
    git.chmod(0o755)
    hook = checks.start_hook(*(without(lack) if lack else ()))
    while not all_are_watched(checks, hook):
        time.sleep(0.01)
    hook.kill()
    hook.communicate()
    assert checks.left() == {}


def test_a_git_that_took_long_and_ended_leaves_nobody(checks: Place) -> None:
    git = checks.folder / "bin" / "git"
    real = shutil.which("git")
    git.write_text(
        f'#!/bin/sh\n[ -e {checks.folder}/slept ] || {{ : > {checks.folder}/slept; sleep 1.5; }}\nexec {real} "$@"\n'
    )
    git.chmod(0o755)
    checks.has_program("exit 1")
    out, _ = checks.start_hook().communicate(timeout=30)
    assert "2 of 2 gates failed" in json.loads(out)["reason"]
    assert checks.left() == {}


# A signal that comes when git has been started, and whoever has started it does not know yet.
AT_ONCE = """
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
from taskie import git
from taskie.errors import Interrupted
from taskie.gauntlet.changes import Looking
start = git.start
def started(*arguments):
    child = start(*arguments)
    print(child.pid, flush=True)
    os.kill(os.getpid(), signal.SIGTERM)
    return child
git.start = started
try:
    Looking(sys.argv[2], os.environ, time.monotonic() + 60)
except Interrupted:
    print("interrupted")
"""


def test_git_is_ended_by_a_signal_at_its_start(checks: Place) -> None:
    git = checks.folder / "bin" / "git"
    git.write_text("#!/bin/sh\nexec sleep 600\n")
    git.chmod(0o755)
    env = {**os.environ, "PATH": f"{git.parent}:{os.environ['PATH']}"}
    command = [sys.executable, "-I", "-S", "-c", AT_ONCE, str(ROOT), str(checks.folder)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, timeout=30)
    pid, said = done.stdout.split()
    assert said == "interrupted"
    assert not Path(f"/proc/{pid}").exists()


# A program of a few words, whose keeper is not told, or cannot tell, that it has ended.
UNHEARD = """
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
from taskie import keeper, programs
if sys.argv[2] == "not told":
    signal.set_wakeup_fd = lambda *_, **__: -1
else:
    tell = keeper._Keeper._report
    keeper._Keeper._report = lambda self, line: None if line.startswith(sys.argv[2]) else tell(self, line)
nowhere = os.open(os.devnull, os.O_WRONLY)
began = time.monotonic()
outcome = programs.run(programs.Command("project", ["/bin/sleep", "0.3"], "/", {}, nowhere, nowhere, seconds=25.0))
print(outcome.exit_code, outcome.problem, time.monotonic() - began < 20)
"""


@pytest.mark.parametrize(("what", "code"), [("not told", 0), ("ended", -9), ("gone", 0), ("started", 0)])
def test_an_end_of_which_nobody_hears(what: str, code: int) -> None:
    """Nobody waits for it until all time is over. How it was is not made up: what nobody knows did not pass."""
    done = subprocess.run([sys.executable, "-c", UNHEARD, str(ROOT), what], capture_output=True, text=True, check=False)
    assert done.stdout == f"{code} None True\n", done.stderr
