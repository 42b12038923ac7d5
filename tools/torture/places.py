"""Where the torture happens: a copy of the product, projects in memory, processes that are ours to end."""

from __future__ import annotations

import ctypes
import os
import pty
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PRODUCT = ("taskie", "pytest_taskie", "hooks", "bin", "actions", "agents", "codex", "personas", "skills")
PR_SET_CHILD_SUBREAPER = 36
SECONDS = 40.0  # for one command; none needs a tenth of it


def scratch() -> Path:
    """A directory in memory, if there is one: no disk is to be tortured."""
    memory = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="torture-", dir=memory if os.access(memory, os.W_OK) else None))


def copy_product(to: Path) -> Path:
    """The code as it is now: a fault while Python compiles must not reach the working tree."""
    for name in PRODUCT:
        shutil.copytree(ROOT / name, to / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "ground-rules.md", to)
    shutil.copytree(ROOT / ".claude-plugin", to / ".claude-plugin")
    subprocess.run([sys.executable, "-m", "compileall", "-q", str(to / "taskie")], check=True)
    return to


def adopt_orphans() -> None:
    """From now on what a killed process leaves behind becomes a child of this process, which can end it."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def children() -> list[int]:
    found = []
    for thread in Path("/proc/self/task").iterdir():
        found += [int(pid) for pid in (thread / "children").read_text().split()]
    return found


def descendants(pid: int) -> list[int]:
    """Everything below a process now."""
    parents: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                text = Path("/proc", name, "stat").read_text()
            except OSError:
                continue
            parents.setdefault(int(text.rpartition(")")[2].split()[1]), []).append(int(name))
    found, due = [], [pid]
    while due:
        below = parents.get(due.pop(), [])
        found += below
        due += below
    return found


def is_alive(pid: int) -> bool:
    try:
        return Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def end_orphans() -> list[str]:
    """End what is still there of our own offspring; its names. A process that we did not start is safe."""
    names: dict[int, str] = {}  # a process that was killed may be seen once more before it has gone
    for _ in range(200):
        left = children()
        if not left:
            break
        for pid in left:
            if is_alive(pid):
                try:
                    names[pid] = Path("/proc", str(pid), "comm").read_text().strip()
                    os.kill(pid, signal.SIGKILL)
                except OSError:
                    pass
        for pid in left:
            try:
                os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:
                pass
        time.sleep(0.002)
    return list(names.values())


@dataclass(frozen=True)
class Ended:
    """How a command ended. `survivors`: what it had started and left running."""

    code: int
    out: str
    err: str
    hung: bool = False
    survivors: tuple[str, ...] = ()

    @property
    def answer(self) -> str:
        """The kind of answer, without its words."""
        text = self.out.strip()
        if text.startswith("{") and text.endswith("}"):
            block = '"decision": "block"' in text or "additionalContext" in text or '"deny"' in text
            return f"exit {self.code}, {'block' if block else 'object'}"
        return f"exit {self.code}"


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdin: bytes = b"",
    typed: bytes | None = None,
    seconds: float = SECONDS,
) -> Ended:
    """A command in a session of its own, its streams in files, so that nobody who is left can hold us up."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given.write(stdin)
        given.seek(0)
        main, side = pty.openpty() if typed is not None else (-1, -1)
        if typed is not None:
            os.write(main, typed)
        process = subprocess.Popen(
            list(argv),
            cwd=cwd,
            env=dict(env),
            stdin=given if typed is None else side,
            stdout=out if typed is None else side,
            stderr=err if typed is None else side,
            start_new_session=True,
        )
        hung = False
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            hung = True
            process.kill()
            code = process.wait()
        for fd in (main, side):
            if fd >= 0:
                os.close(fd)
        survivors = end_orphans()
        out.seek(0)
        err.seek(0)
        texts = [stream.read().decode("utf-8", "replace") for stream in (out, err)]
        return Ended(code, texts[0], texts[1], hung, tuple(survivors))


_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")
_NUMBER = re.compile(r"\d+")
# What git keeps for itself and what changes with every run.
_GITS = re.compile(r"project/\.git/(?!taskie/)|.*__pycache__/")


def plain(name: str) -> str:
    """A file's name without what differs from run to run."""
    return _NUMBER.sub("0", _ID.sub("ID", name))


def files(root: Path) -> dict[str, bytes]:
    """Every file below a directory but git's own: its bytes, or where a link leads."""
    found: dict[str, bytes] = {}
    due = [str(root)]
    start = len(str(root)) + 1
    while due:
        with os.scandir(due.pop()) as entries:
            for entry in entries:
                name = entry.path[start:]
                if _GITS.match(name + "/"):
                    continue
                if entry.is_dir(follow_symlinks=False):
                    due.append(entry.path)
                elif entry.is_symlink():
                    found[name] = b"-> " + os.fsencode(os.readlink(entry.path))
                elif entry.is_file(follow_symlinks=False):
                    with open(entry.path, "rb") as file:
                        found[name] = file.read()
                else:
                    found[name] = b"(special)"
    return found


def copy(source: str, to: str) -> None:
    """A tree with its modes and times: much faster than shutil, which counts."""
    os.mkdir(to)
    with os.scandir(source) as entries:
        for entry in entries:
            target = f"{to}/{entry.name}"
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), target)
            elif entry.is_dir():
                copy(entry.path, target)
            else:
                info = entry.stat()
                with open(entry.path, "rb") as file, open(target, "wb") as copied:
                    copied.write(file.read())
                os.chmod(target, stat.S_IMODE(info.st_mode))
                os.utime(target, ns=(info.st_atime_ns, info.st_mtime_ns))
    info = os.stat(source)
    os.chmod(to, stat.S_IMODE(info.st_mode))
    os.utime(to, ns=(info.st_atime_ns, info.st_mtime_ns))
