"""A program: a room for hooks, and whoever runs them in it, one line of JSON for each request and each answer.

The room is a file system in memory. All else can be read and not written; what a hook changes in a folder that is shown
to it stays in the room. There is no network but loopback, no process but the room's own, and all of it is gone when our
stdin ends. Knows nothing of clients and rules. What is wrong in this file can write where it must not, so it is not a
file to try changes in.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

NEW_USER, NEW_NET, NEW_MOUNTS, NEW_PIDS, NEW_IPC = 0x10000000, 0x40000000, 0x00020000, 0x20000000, 0x08000000
MS_NOSUID, MS_NODEV, MS_BIND, MS_REC, MS_PRIVATE = 2, 4, 4096, 16384, 1 << 18
PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 24, 36, 38
CAPABILITIES = 64  # more than any kernel has
MOUNT_SETATTR, AT_FDCWD, AT_RECURSIVE, ATTR_RDONLY = 442, -100, 0x8000, 1
SIZE, FILES = "384m", "100k"  # of the room; a hook that fills it is told that the disk is full
LOOK = 0.25  # seconds between two looks at how many processes there are
LARGEST_FILE, PROCESSES, SECONDS = 128 << 20, 400, 120
SHOWN = 2 << 20  # of what a hook prints, and of a file that it leaves
# Not shown from outside: the sockets of programs that would do for a hook what it cannot do itself.
EMPTY = ("/run", "/dev/shm", "/var/tmp")
HEAVY = ("node_modules", ".venv", "venv", ".git", "target")


class Attributes(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "namespace"))


class Confinement:
    """The mounts. Each step fails with an OSError that names it."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._room: str = spec["room"]
        self._layers: list[list[str]] = spec["layers"]
        self._kept: list[str] = spec["kept"]

    def leave(self) -> None:
        """Leave user, network, processes and mounts behind; the next child is the first process."""
        user, group = os.getuid(), os.getgid()
        flags = NEW_USER | NEW_NET | NEW_MOUNTS | NEW_PIDS | NEW_IPC
        self._did(self._libc.unshare(flags), "namespaces")
        for name, text in (("setgroups", "deny"), ("uid_map", f"{user} {user} 1"), ("gid_map", f"{group} {group} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:
                file.write(text)

    def furnish(self) -> None:
        """Everything read-only, the room in memory, the folders that hooks see laid over the true ones."""
        self._mount(None, "/", None, MS_REC | MS_PRIVATE)
        self._mount("tmpfs", self._room, "tmpfs", MS_NOSUID | MS_NODEV, f"size={SIZE},nr_inodes={FILES},mode=700")
        for name in ("tmp", "home", ".layers"):
            os.mkdir(f"{self._room}/{name}")
        os.chmod(f"{self._room}/tmp", 0o1777)
        for number, (source, name) in enumerate(self._layers):
            self._lay(number, source, f"{self._room}/{name}")
        self._attributes("/", AT_RECURSIVE, ATTR_RDONLY, 0)
        self._attributes(self._room, AT_RECURSIVE, 0, ATTR_RDONLY)
        for hidden in EMPTY:
            if os.path.isdir(hidden):
                self._mount("tmpfs", hidden, "tmpfs", MS_NOSUID | MS_NODEV, "size=16m,mode=1777")
        held = {path: os.open(path, os.O_PATH) for path in (self._room, *self._kept)}
        self._mount(f"{self._room}/tmp", "/tmp", None, MS_BIND)
        for path, there in held.items():
            os.makedirs(path, exist_ok=True)
            self._mount(f"/proc/self/fd/{there}", path, None, MS_BIND | MS_REC)
            os.close(there)
        self._resolve_here()
        with contextlib.suppress(OSError):  # else the outer one, which names processes that nobody here can reach
            self._mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV)

    def _lay(self, number: int, source: str, at: str) -> None:
        """The folder as it is, and what is changed in it kept apart. Where that cannot be, a copy."""
        own = f"{self._room}/.layers/{number}"
        for path in (at, own, f"{own}/changed", f"{own}/work"):
            os.mkdir(path)
        if not source:
            return
        there = os.open(source, os.O_PATH | os.O_DIRECTORY)
        layers = f"lowerdir=/proc/self/fd/{there},upperdir={own}/changed,workdir={own}/work,userxattr"
        try:
            self._mount("overlay", at, "overlay", MS_NOSUID | MS_NODEV, layers)
        except OSError:
            copy(source, at)
        os.close(there)

    def _resolve_here(self) -> None:
        """Names are asked of us."""
        file = os.path.realpath("/etc/resolv.conf")
        ours = f"{self._room}/.layers/resolv.conf"
        with open(ours, "w", encoding="ascii") as out:
            out.write("nameserver 127.0.0.1\noptions timeout:1 attempts:1\n")
        with contextlib.suppress(OSError):
            os.makedirs(os.path.dirname(file), exist_ok=True)
            if not os.path.exists(file):
                open(file, "w", encoding="ascii").close()
            self._mount(ours, file, None, MS_BIND)

    def _mount(self, source: str | None, at: str, kind: str | None, flags: int, options: str | None = None) -> None:
        words = [None if word is None else os.fsencode(word) for word in (source, at, kind)]
        self._did(self._libc.mount(*words, flags, None if options is None else os.fsencode(options)), f"mount {at}")

    def _attributes(self, path: str, flags: int, added: int, removed: int) -> None:
        wanted = Attributes(added, removed, 0, 0)
        size = ctypes.sizeof(wanted)
        done = self._libc.syscall(MOUNT_SETATTR, AT_FDCWD, os.fsencode(path), flags, ctypes.byref(wanted), size)
        self._did(done, "mount_setattr")

    def _did(self, result: int, what: str) -> None:
        if result != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"{what}: {os.strerror(number)}")


def copy(source: str, at: str) -> None:
    """What is large and only read stays where it is."""
    import shutil

    def left_out(folder: str, names: list[str]) -> set[str]:
        return {name for name in names if name in HEAVY}

    shutil.copytree(source, at, symlinks=True, dirs_exist_ok=True, ignore=left_out)
    for name in HEAVY:
        if os.path.isdir(f"{source}/{name}"):
            os.symlink(f"{source}/{name}", f"{at}/{name}")


class Inside:
    """Runs hooks here, and knows what they have left."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self._room: str = spec["room"]
        self._confined: bool = spec["confined"]
        self._layers = [f"{self._room}/{name}" for _, name in spec["layers"]]
        self._names: socket.socket | None = None
        self._asked: list[str] = []
        if self._confined:
            self._names = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self._names.bind(("127.0.0.1", 53))

    def write(self, path: str, text: str, mode: int = 0o644) -> None:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)
        os.chmod(path, mode)

    def folders(self, paths: list[str]) -> None:
        for path in paths:
            os.makedirs(path, exist_ok=True)

    def run(self, runs: list[dict[str, Any]], timeout: float, linger: float = 0.0) -> dict[str, Any]:
        """Run these at once. Past the time each is ended; who lives on after `linger` seconds is named."""
        self._asked.clear()
        others = set(self._others())
        began = [self._start(number, run) for number, run in enumerate(runs)]
        deadline = time.monotonic() + timeout
        waiting = {one.there: one for one in began}
        while waiting:
            left = deadline - time.monotonic()
            if left <= 0:
                for one in waiting.values():
                    one.end()
            feeding = {one.pipe: one for one in began if one.pipe is not None}
            watched: list[Any] = [0, *waiting, *([self._names] if self._names else [])]
            readable, writable, _ = select.select(watched, list(feeding), [], min(left, LOOK) if left > 0 else LOOK)
            if self._confined and sum(name.isdigit() for name in os.listdir("/proc")) > PROCESSES:
                sys.exit(f"a hook has started more than {PROCESSES} processes")  # and all of them end with us
            if 0 in readable:
                sys.exit(0)  # nobody wants to know any more, and all here end with us
            if self._names in readable:
                self._answer()
            for pipe in writable:
                feeding[pipe].feed()
            for there in [there for there in readable if there in waiting]:
                waiting.pop(there).reap()
        alive = self._still_alive(others, linger)
        return {"runs": [one.finished() for one in began], "alive": alive, "names": list(dict.fromkeys(self._asked))}

    def changes(self) -> dict[str, dict[str, Any]]:
        """The files that were made or changed in the room: of a layer what differs from below, else all."""
        found: dict[str, dict[str, Any]] = {}
        roots = [(f"{self._room}/home", "home"), (f"{self._room}/tmp", "tmp")]
        for number, layer in enumerate(self._layers):
            own = f"{self._room}/.layers/{number}/changed"
            name = os.path.basename(layer)
            roots.append((own if self._confined and os.path.ismount(layer) else layer, f"layer {number} {name}"))
        for root, name in roots:
            for folder, below, files in os.walk(root):
                below[:] = [one for one in below if not (name == "tmp" and self._room.startswith(f"{folder}/{one}"))]
                for file in files:
                    path = os.path.join(folder, file)
                    found[f"{name}/{os.path.relpath(path, root)}"] = described(path)
                    if len(found) > 500:
                        return found
        return found

    def _start(self, number: int, run: dict[str, Any]) -> HookChild:
        out, err = (open(f"{self._room}/.{name}{number}", "w+b") for name in ("out", "err"))  # noqa: SIM115 - HookChild closes
        given, pipe = os.pipe()
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                if self._confined:
                    powerless()
                become(run, (given, out.fileno(), err.fileno()))
            os._exit(126)
        os.close(given)
        os.set_blocking(pipe, False)
        text: str = run["stdin"]
        return HookChild(child, pipe, text.encode("utf-8", "surrogatepass"), out, err)

    def _others(self) -> Iterator[int]:
        """Who lives here besides us, where that can be told."""
        if self._confined and os.getpid() == 1:
            for name in os.listdir("/proc"):
                if name.isdigit() and name != "1" and state(int(name)) not in "ZX":
                    yield int(name)

    def _still_alive(self, before: set[int], linger: float) -> list[str]:
        until = time.monotonic() + linger
        while True:
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            alive = [number for number in self._others() if number not in before]
            if not alive or time.monotonic() >= until:
                return [called(number) for number in alive]
            if select.select([self._names] if self._names else [], [], [], 0.02)[0]:
                self._answer()

    def _answer(self) -> None:
        """Nobody has such a name: a hook that asks goes on at once."""
        assert self._names is not None
        asked, who = self._names.recvfrom(4096)
        labels, at = [], 12
        while at < len(asked) and asked[at]:
            labels.append(asked[at + 1 : at + 1 + asked[at]].decode("ascii", "replace"))
            at += 1 + asked[at]
        self._asked.append(".".join(labels))
        with contextlib.suppress(OSError):
            self._names.sendto(asked[:2] + b"\x81\x83" + asked[4:], who)


class HookChild:
    """One hook that runs."""

    def __init__(self, child: int, pipe: int, text: bytes, out: Any, err: Any) -> None:
        self._child, self.pipe, self._text, self._files = child, pipe, text, (out, err)
        self.there = os.pidfd_open(child)
        self._began, self._seconds, self._code, self._ended = time.monotonic(), 0.0, 0, False

    def feed(self) -> None:
        with contextlib.suppress(BlockingIOError):
            try:
                self._text = self._text[os.write(self.pipe, self._text[:65536]) :]
            except BrokenPipeError:
                self._text = b""
        if not self._text:
            self._close()

    def _close(self) -> None:
        if self.pipe is not None:
            os.close(self.pipe)
            self.pipe = None  # type: ignore[assignment]  # closed

    def end(self) -> None:
        self._ended = True
        with contextlib.suppress(OSError):
            os.killpg(self._child, signal.SIGKILL)

    def reap(self) -> None:
        self._seconds = time.monotonic() - self._began
        _, status = os.waitpid(self._child, 0)
        self._code = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
        os.close(self.there)
        self._close()

    def finished(self) -> dict[str, Any]:
        texts = []
        for file in self._files:
            file.seek(0)
            texts.append(file.read(SHOWN).decode("utf-8", "replace"))
            file.close()
        return {"code": self._code, "out": texts[0], "err": texts[1], "seconds": self._seconds, "late": self._ended}


def powerless() -> None:
    """In the child: as root of this room's users, a hook could make everything writable again."""
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(CAPABILITIES):
        if libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break  # there are no more
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        os._exit(126)


def become(run: dict[str, Any], streams: tuple[int, int, int]) -> None:
    """In the child: the hook's own process."""
    os.setsid()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    for limit, most in (
        (resource.RLIMIT_FSIZE, LARGEST_FILE),
        (resource.RLIMIT_CPU, SECONDS),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(limit, (most, most))
    for number in (signal.SIGPIPE, signal.SIGINT):
        signal.signal(number, signal.SIG_DFL)
    os.chdir(run["cwd"])
    argv: list[str] = run["argv"]
    try:
        os.execvpe(argv[0], argv, run["env"])
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
        os._exit(127 if isinstance(error, FileNotFoundError) else 126)


def state(number: int) -> str:
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return "X"


def called(number: int) -> str:
    with contextlib.suppress(OSError), open(f"/proc/{number}/cmdline", "rb") as file:
        return file.read(300).rstrip(b"\0").replace(b"\0", b" ").decode("utf-8", "replace")
    return "?"


def described(path: str) -> dict[str, Any]:
    """What a file is: its size, who may read it, and its text."""
    found = os.lstat(path)
    told: dict[str, Any] = {"size": found.st_size, "mode": found.st_mode & 0o777, "text": None}
    with contextlib.suppress(OSError, ValueError):
        if os.path.isfile(path) and not os.path.islink(path):
            with open(path, "rb") as file:
                told["text"] = file.read(SHOWN).decode("utf-8")
    return told


def serve(room: Inside) -> None:
    # One byte at a time: what is not a whole line must stay where `run` can see that the stream has ended.
    line = b""
    while byte := os.read(0, 1 << 20):
        line += byte
        if not line.endswith(b"\n"):
            continue
        request = json.loads(line)
        line = b""
        answer = getattr(room, request.pop("do"))(**request)
        say({"answer": answer})


def say(what: dict[str, Any]) -> None:
    text = json.dumps(what).encode() + b"\n"
    while text:
        text = text[os.write(1, text) :]


def main() -> None:
    spec = json.loads(sys.argv[1])
    if spec["confined"]:
        sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "client"))
        namespace = importlib.import_module("_namespace")
        confinement = Confinement(spec)
        try:
            confinement.leave()
        except OSError as error:
            sys.exit(namespace.why_not(error))
        first = os.fork()
        if first:  # outside of the room's processes: it only waits for their first
            signal.signal(signal.SIGTERM, lambda number, frame: os.kill(first, signal.SIGKILL))
            os.close(0)
            os.close(1)
            sys.exit(os.waitstatus_to_exitcode(os.waitpid(first, 0)[1]))
        ctypes.CDLL(None).prctl(namespace.PR_SET_PDEATHSIG, signal.SIGKILL)
        try:
            namespace.loopback_up()
            confinement.furnish()
        except OSError as error:
            sys.exit(str(error))
    else:
        with contextlib.suppress(OSError, AttributeError):  # who loses its parent stays a descendant of ours
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        for name in ("tmp", "home"):
            os.mkdir(f"{spec['room']}/{name}")
        for source, name in spec["layers"]:
            at = f"{spec['room']}/{name}"
            os.mkdir(at)
            if source:
                copy(source, at)
    room = Inside(spec)
    say({"answer": "ready"})
    serve(room)


if __name__ == "__main__":
    main()
