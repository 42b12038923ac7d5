"""One command, hit by one fault at its N-th call; then: is everything whole, and does the next run put it right?

Knows faults and what whole means, not how the scenes are made nor which points are chosen.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tools.torture import places
from tools.torture.place import Place
from tools.torture.places import Ended
from tools.torture.results import Failure
from tools.torture.scenes import SCENES, Scene

READ, STAT, WRITE, CLOSE, SPAWN, WAIT, CHANGE = 1, 2, 4, 8, 16, 32, 64  # as in shim.c
EIO, EAGAIN, ENOSPC, SIGKILL = 5, 11, 28, 9
# What programs that we only start keep for themselves: a git that is killed leaves its lock, a shell half a line.
THEIRS = re.compile(r"project/\.git/.*(?:\.lock|tmp_\w+)$")
# A log may be cut anywhere; a review is the reviewer's own write.
TORN_ALLOWED = re.compile(r"\.log$|\.jsonl$|-review-\d+\.md$|/\.test-output/|/claudex/log$|/hook\.log$")
# What is ours to write, whenever there is a reason; a file that is not is the user's.
OURS = re.compile(r"project/(?:gauntlet_logs|\.git|\.claude/claudex|autopilot-state|ai/)|.*/state\.json$")
# What is there after a fault although a run without one leaves nothing of the kind.
TOLD = re.compile(
    r"home/\.cache/taskie/hook\.log|project/gauntlet_logs/|project/ai/\.test-output/|.*/claudex/log$"
    # of a review that failed, or that a failing disk did not remove: until the next review of that number
    r"|project/\.taskie/plans/[^/]+/\.review-\d+\.log$"
    r"|home/\.cache/taskie/reviewers\.json$"  # that a reviewer has failed
)
# What a round of Claudex writes anew, from the state alone, before the state says that it has begun: no work of anybody
# is in it, and the next run writes it once more. That it is whole is judged all the same.
MADE = re.compile(r"project/\.claude/claudex/\d{8}-\d{6}-[0-9a-f]{6}-(?:runner\.sh|prompt\.txt)$")
# What git checks out, and a failing disk keeps half of. The command must have said so.
CHECKED_OUT = re.compile(r"project/(\.worktrees/[^/]+)/(?!autopilot-state\.json)")
# A check that the fault itself has killed is a failed check, and the same tree gets the same verdict once more.
KILLED = "was ended by signal 9"
# The shell or Python has failed before our first line, as hooks/stop-hook.sh says that it may: nothing of ours has run.
BEFORE_US = re.compile(
    r"(?m)^(?:Python path configuration:|Fatal Python error: |\S+: can't open file '\S+/stop_hook\.py'"
    r"|\S+: \d+: cannot open \S+/stop-hook\.sh)"
)
SCRIPT_OPENED = re.compile(r"stop-hook\.sh: open(?:64)?\(\S+/hooks/stop-hook\.sh, ")
# Python asks of each script that it runs whether it is an archive, and says so if the disk fails just then.
LOOKED = re.compile(r"(?ms)^Failed checking if argv\[0\] is an import path entry\n.*?^OSError: [^\n]*\n?")
# By which Python's `tempfile` sees whether a folder can be written to; where the disk does not let it, it stays.
TRIAL = re.compile(r"tmp/[a-z0-9_]{8}$")


@dataclass(frozen=True)
class Fault:
    """`error` 0: the process is killed. `always`: every call that fits, from this one on."""

    error: int
    kinds: int
    always: bool = False


FAULTS = {
    "kill": Fault(0, READ | STAT | WRITE | CHANGE | CLOSE | SPAWN | WAIT),
    "EIO": Fault(EIO, READ | STAT | WRITE | CHANGE | CLOSE),
    "EIO+": Fault(EIO, READ | STAT | WRITE | CHANGE | CLOSE, True),
    "ENOSPC": Fault(ENOSPC, WRITE),
    "ENOSPC+": Fault(ENOSPC, WRITE, True),
    "EAGAIN": Fault(EAGAIN, SPAWN),
    "EAGAIN+": Fault(EAGAIN, SPAWN, True),
}


@dataclass(frozen=True)
class Point:
    """`inside`: the call is about the project or the home, and so is what a lasting fault fails."""

    scene: str
    fault: str
    number: int
    inside: bool
    kind: int = 0

    @property
    def name(self) -> str:
        return f"{self.scene}:{self.fault}:{self.number}{'' if self.inside else ':out'}"

    @property
    def again(self) -> str:
        return f"python -m tools.torture --only sweep --at {self.name}"

    @staticmethod
    def parse(text: str) -> Point:
        scene, fault, number, *rest = text.split(":")
        return Point(scene, fault, int(number), not rest)


class Control(ctypes.Structure):
    """As in shim.c."""

    _fields_ = (
        ("count", ctypes.c_uint64),
        ("target", ctypes.c_uint64),
        ("signal", ctypes.c_int32),
        ("error", ctypes.c_int32),
        ("always", ctypes.c_int32),
        ("kinds", ctypes.c_int32),
        ("inside", ctypes.c_int32),
        ("fired", ctypes.c_int32),
        ("pid", ctypes.c_int32),
        ("root", ctypes.c_char * 512),
        ("log", ctypes.c_char * 512),
        ("what", ctypes.c_char * 512),
    )


def compiled(to: Path) -> Path:
    """The shim. gcc is all that it needs."""
    if shutil.which("gcc") is None:
        raise SystemExit("torture: the sweep needs gcc: apt-get install gcc libc6-dev")
    shim = to / "shim.so"
    source = Path(__file__).with_name("shim.c")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", "-o", str(shim), str(source), "-ldl"], check=True)
    return shim


@dataclass(frozen=True)
class Seen:
    """One point, run: whether the fault came to pass, where, and what was wrong afterwards."""

    point: Point
    fired: bool
    where: str
    failures: tuple[Failure, ...] = ()
    survivors: int = 0
    theirs: str = ""


class Stage:
    """One scene at one path: made once, put back as it was for each point."""

    def __init__(self, name: str, base: Path, product: Path, shim: Path) -> None:
        self.name = name
        self.scene: Scene = SCENES[name]
        self.root = base / "scene"
        self.template = base / f"template-{name}"
        self.control = base / "control"
        self.log = base / "calls"
        self.shim = shim
        shutil.rmtree(self.root, ignore_errors=True)
        self.place = Place(self.root, product)
        self.scene.make(self.place)
        self.argv = list(self.scene.command(self.place))
        self.stdin = b"" if self.scene.event is None else self.place.event(**self.scene.event)
        places.copy(str(self.root), str(self.template))
        self.before = places.files(self.root)
        self._learn()

    def _learn(self) -> None:
        """What the command does when nothing fails: once, and once more."""
        self.reset()
        self.clean = [self.run()]
        self.after = [places.files(self.root)]
        self.git = [self.repository()]
        self.clean.append(self.run())
        self.after.append(places.files(self.root))
        self.git.append(self.repository())
        self.answers = {ended.answer for ended in self.clean}
        names = [{places.plain(name) for name in files} for files in (self.before, *self.after)]
        self.known = names[0] | names[1] | names[2]
        self.stay = {name for name in self.before if all(files.get(name) == self.before[name] for files in self.after)}
        self.written = {
            name: self.after[0][name] for name in self.after[0] if self.after[0][name] != self.before.get(name)
        }

    def reset(self) -> None:
        shutil.rmtree(self.root)
        places.copy(str(self.template), str(self.root))

    def run(self, control: Control | None = None) -> Ended:
        env = dict(self.place.env)
        if control is not None:
            self.control.write_bytes(bytes(control))
            env.update(LD_PRELOAD=str(self.shim), TORTURE=str(self.control))
        return places.run(self.argv, cwd=self.place.path, env=env, stdin=self.stdin, typed=self.scene.typed)

    def repository(self) -> str:
        """What git says of the project: which commits there are, and what is staged."""
        if not self.scene.git:
            return ""
        said = []
        for words in (("log", "--format=%s", "HEAD"), ("diff", "--cached")):
            done = subprocess.run(
                ["git", *words], cwd=self.place.path, env=self.place.env, capture_output=True, text=True, check=False
            )
            said.append(places.plain(done.stdout) if done.returncode == 0 else f"{words[0]}: {done.stderr}")
        return "\n--\n".join(said)

    def calls(self) -> list[tuple[int, int, bool, str]]:
        """Every call of a run: its number, its kind, whether it is about the project, and whose it is."""
        self.reset()
        self.log.unlink(missing_ok=True)
        control = Control(root=os.fsencode(self.root), log=os.fsencode(self.log))
        self.run(control)
        found = []
        for line in self.log.read_text(errors="replace").splitlines():
            fields = line.split("\t")
            if len(fields) >= 5 and fields[0].isdigit():
                found.append((int(fields[0]), int(fields[1]), fields[2] == "1", f"{fields[3]} {fields[4]}"))
        return found

    def points(self) -> list[Point]:
        found = []
        for number, kind, inside, _ in self.calls():
            for name, fault in FAULTS.items():
                if fault.kinds & kind:
                    found.append(Point(self.name, name, number, inside, kind))
        return found

    def try_(self, point: Point) -> Seen:
        """The fault, then the same command once more without it."""
        fault = FAULTS[point.fault]
        self.reset()
        control = Control(
            target=point.number,
            signal=0 if fault.error else SIGKILL,
            error=fault.error,
            always=int(fault.always),
            kinds=fault.kinds,
            inside=int(point.inside),
            root=os.fsencode(self.root),
        )
        ended = self.run(control)
        with self.control.open("rb") as file:
            result = Control.from_buffer_copy(file.read())
        where = result.what.decode("utf-8", "replace").replace(str(self.root), "…")
        if not result.fired:
            return Seen(point, False, where)
        wrong = [*self._itself(point, ended, where), *self._corrupt(ended)]
        torn = self._vanished()
        following = self.run()
        theirs = self._left_by_git() if fault.always or not fault.error else ""
        # As git leaves it to everybody whose git is killed, or is not let remove it: nothing of ours can be asked then.
        if theirs:
            wrong = [each for each in wrong if each[0] in ("corrupt", "exit", "hung")]
            torn = []
        else:
            wrong += self.judged(following, ended)
        failures = tuple(Failure(kind, f"{where}: {what}", point.again) for kind, what in (*wrong, *torn))
        return Seen(point, True, where, failures, len(ended.survivors), theirs)

    def judged(self, following: Ended, before: Ended | None = None) -> Iterator[tuple[str, str]]:
        """Everything that is looked at once the next run has ended."""
        if before is None or KILLED not in before.out or following.answer != before.answer:
            yield from self._next(following)
        yield from self._left()

    def _itself(self, point: Point, ended: Ended, where: str) -> Iterator[tuple[str, str]]:
        """How the command that was hit ended. Without a disk under Python itself only a hook has to answer."""
        if ended.hung:
            yield "hung", f"no end within {places.SECONDS:g} s"
        if ended.code == -SIGKILL or (not point.inside and self._before_us(point, ended, where)):
            return
        said = LOOKED.sub("", ended.err) + ended.out
        if self.scene.hook and ended.code != 0:
            yield "exit", f"the hook ended with {ended.code}: {ended.err.strip()[-200:]}"
        elif "Traceback (most recent" in said and (point.inside or self.scene.hook):
            yield "traceback", said.strip()[-500:]

    def _before_us(self, point: Point, ended: Ended, where: str) -> bool:
        """Whether the shell or Python itself could not begin. If all fails from then on, it cannot even say so."""
        code = 2 if SCRIPT_OPENED.match(where) else 1
        mute = FAULTS[point.fault].always and (ended.code, ended.out, ended.err) == (code, "", "")
        return mute or BEFORE_US.search(ended.err) is not None

    def _corrupt(self, ended: Ended) -> Iterator[tuple[str, str]]:
        """Each file is the old one, or a new one that is whole."""
        now = places.files(self.root)
        for name, new in self.written.items():
            text = now.get(name)
            if text is None or text in (new, self.before.get(name)) or TORN_ALLOWED.search(name):
                continue
            out = CHECKED_OUT.match(name)
            if out and ended.code == 1 and f"{out[1]} is not whole" in ended.err:
                continue
            if _is_json(new) and not _is_json(text):
                yield "corrupt", f"{name} is not JSON any more: {text[:80]!r}"
            elif len(text) < len(new) and new.startswith(text):
                yield "corrupt", f"{name} is cut after {len(text)} of {len(new)} bytes"

    def _vanished(self) -> list[tuple[str, str]]:
        """As long as no state has changed, whatever was there is there, under its own name or another."""
        now = places.files(self.root)
        states = [name for name in self.before if re.search(r"state\.json$|\.state$|settings\S*\.json$", name)]
        if not states or any(now.get(name) != self.before[name] for name in states):
            return []
        there = set(now.values())
        return [
            ("lost", f"{name} is gone, and its text is nowhere")
            for name, text in self.before.items()
            if name in self.after[0]
            and text
            and text not in there
            and name not in states
            and not MADE.match(name)
            and not _appended(text, now.get(name))
        ]

    def _next(self, ended: Ended) -> Iterator[tuple[str, str]]:
        if ended.hung or ended.answer not in self.answers or "Traceback (most recent" in ended.err:
            expected = " or ".join(sorted(self.answers))
            said = (ended.err + ended.out).strip()[-300:]
            yield "next run fails", f"{ended.answer}, not {expected}: {said}"

    def _left(self) -> Iterator[tuple[str, str]]:
        """After the next run: nothing that was not there before, nothing of the user's gone, git as it should be."""
        now = places.files(self.root)
        for name in sorted(now):
            trial = TRIAL.match(name) and now[name] in (b"", b"blat")
            if places.plain(name) not in self.known and not TOLD.match(name) and not trial:
                yield "leftover", name
        for name in sorted(self.stay):
            if (
                now.get(name) != self.before[name]
                and not OURS.match(name)
                and not _appended(self.before[name], now.get(name))
            ):
                yield "lost", f"{name} is {'gone' if name not in now else 'changed'}"
        said = self.repository()
        if said not in self.git:
            yield "repository", said[-300:]

    def _left_by_git(self) -> str:
        for folder, _, names in os.walk(self.place.path / ".git"):
            for name in names:
                path = os.path.relpath(os.path.join(folder, name), self.root)
                if THEIRS.match(path):
                    return path
        return ""


def _appended(before: bytes, now: bytes | None) -> bool:
    return now is not None and now.startswith(before)


def _is_json(data: bytes) -> bool:
    try:
        json.loads(data)
    except ValueError:
        return False
    return True
