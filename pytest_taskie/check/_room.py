"""A room in which one hook is run, from outside: what is in it, what it is asked, what it says. Knows no rule.

The room itself is another process, `_box.py`: nothing of a hook's reaches this one but text.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_taskie._environment import allowed
from pytest_taskie._path import hide, path_without_agents
from pytest_taskie._processes import end_tree
from taskie.scratch import Scratch

BOX = Path(__file__).with_name("_box.py")
START = 30.0  # seconds to make a room, on a busy machine
GRACE = 15.0  # seconds beyond a step's own time after which the room itself is not waited for


class RoomError(Exception):
    """Why no hook can be run here, or why a room broke."""


@dataclass(frozen=True)
class End:
    """How one run of a hook ended."""

    code: int
    out: str
    err: str
    seconds: float
    late: bool


@dataclass(frozen=True)
class AtOnce:
    """One or several runs at once, which processes outlived them, and which names they asked of the network."""

    ends: tuple[End, ...]
    alive: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Left:
    """A file that was made or changed in a room."""

    size: int
    mode: int
    text: str | None


@dataclass
class Ground:
    """What all rooms of one check have in common: where they are, the programs that hooks find, and what is running."""

    base: Path
    confined: bool = True
    environ: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[str]] = set()
        self._closed = False
        (self.base / "room").mkdir()
        self.programs.mkdir()
        self._path = path_without_agents(self.environ.get("PATH", os.defpath), self.programs / "path")
        self._without: dict[tuple[str, ...], str] = {}

    @property
    def programs(self) -> Path:
        return self.base / "programs"

    def path(self, without: Sequence[str] = ()) -> str:
        """The PATH of a room, on which these programs cannot be found."""
        key = tuple(sorted(without))
        with self._lock:
            if key not in self._without:
                shadows = self.programs / f"without-{len(self._without)}"
                self._without[key] = os.pathsep.join(hide(self._path.split(os.pathsep), key, shadows))
            return self._without[key]

    def has(self, program: str) -> bool:
        return shutil.which(program, path=self._path) is not None

    def variables(self) -> dict[str, str]:
        """The machine's variables that a hook gets; none is a token."""
        return allowed(self.environ)

    def probe(self) -> None:
        """Whether a room can be made; RoomError says why not."""
        try:
            Room(self, []).close()
        except RoomError as error:
            raise RoomError(
                f"hooks are run only where they can be kept from your files and the network, not here: {error}. "
                "--unconfined runs them with both: only hooks that you trust."
            ) from None

    def started(self, process: subprocess.Popen[str]) -> None:
        with self._lock:
            if self._closed:
                process.kill()
            self._running.add(process)

    def ended(self, process: subprocess.Popen[str]) -> None:
        with self._lock:
            self._running.discard(process)

    def end(self, process: subprocess.Popen[str]) -> None:
        """End a room's process and all that is in it."""
        if not self.confined:
            end_tree(process.pid)
        elif process.poll() is None:
            process.send_signal(signal.SIGTERM)  # it ends what is inside, and waits for it

    def close(self) -> None:
        """End every room that there is; none can be made any more."""
        with self._lock:
            self._closed = True
            for process in self._running:
                self.end(process)


@contextlib.contextmanager
def ground(*, confined: bool = True) -> Iterator[Ground]:
    """Where rooms can be made, for as long as this lasts. A killed check's is removed by the next."""
    if not sys.platform.startswith("linux"):
        raise RoomError(
            f"hooks can be run on Linux only, where they can be kept from everything else; not on {sys.platform}"
        )
    with Scratch(name="taskie-check-") as base:
        made = Ground(Path(base), confined)
        try:
            yield made
        finally:
            made.close()


class Room:
    """`layers` are folders from outside and the names that they have in here; an empty one is made for ''."""

    def __init__(self, ground: Ground, layers: Sequence[tuple[str, str]]) -> None:
        self._ground = ground
        # Where nothing keeps rooms apart, each has a folder of its own.
        self._own = None if ground.confined else Scratch(str(ground.base), "room-")
        self.path = Path(self._own.make()) if self._own else ground.base / "room"
        spec = {
            "room": str(self.path),
            "layers": [list(layer) for layer in layers],
            "kept": [str(ground.programs)],
            "confined": ground.confined,
        }
        self._box = subprocess.Popen(
            [sys.executable, "-I", "-S", str(BOX), json.dumps(spec)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            cwd="/",
            start_new_session=True,  # Ctrl-C is for us
            env={"LC_ALL": "C.UTF-8"},
        )
        ground.started(self._box)
        try:
            self._heard(START)
        except BaseException:
            self.close()
            raise

    @property
    def home(self) -> Path:
        return self.path / "home"

    @property
    def temporary(self) -> Path:
        return self.path / "tmp"

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        self._ask(do="write", path=path, text=text, mode=mode)

    def folders(self, *paths: str) -> None:
        self._ask(do="folders", paths=list(paths))

    def run(self, runs: Sequence[Mapping[str, Any]], timeout: float, linger: float = 0.0) -> AtOnce:
        """Run these at once: `argv`, `env`, `cwd` and `stdin` of each."""
        told = self._ask(timeout + linger + GRACE, do="run", runs=list(runs), timeout=timeout, linger=linger)
        return AtOnce(tuple(End(**end) for end in told["runs"]), tuple(told["alive"]), tuple(told["names"]))

    def changes(self) -> dict[str, Left]:
        return {name: Left(**told) for name, told in self._ask(do="changes").items()}

    def close(self) -> None:
        """End it and all that is in it."""
        self._ground.end(self._box)
        try:
            self._box.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._box.kill()
        for stream in (self._box.stdin, self._box.stdout, self._box.stderr):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._box.wait()
        self._ground.ended(self._box)
        if self._own:
            self._own.remove()

    def __enter__(self) -> Room:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _ask(self, seconds: float = START, **request: Any) -> Any:
        assert self._box.stdin is not None
        try:
            self._box.stdin.write(json.dumps(request) + "\n")
            self._box.stdin.flush()
        except OSError:
            pass  # it has ended, and says why
        return self._heard(seconds)

    def _heard(self, seconds: float) -> Any:
        assert self._box.stdout is not None
        late = threading.Timer(seconds, self._box.kill)
        late.daemon = True
        late.start()
        try:
            line = self._box.stdout.readline()
        finally:
            late.cancel()
        if not line:
            raise RoomError(self._why())
        return json.loads(line)["answer"]

    def _why(self) -> str:
        code = self._box.wait()
        assert self._box.stderr is not None
        said = self._box.stderr.read().strip().splitlines()
        return said[-1] if said else f"the room's process ended with {code}"
