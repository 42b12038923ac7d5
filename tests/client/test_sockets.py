"""Unix sockets of the machine: from inside a client nobody who listens at a path can be reached."""

from __future__ import annotations

import contextlib
import os
import platform
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie.client import _sockets, tool
from pytest_taskie.client._isolation import CannotIsolate, Program, probe, run

CALL = """
import socket, sys
try:
    caller = socket.socket(socket.AF_UNIX, getattr(socket, sys.argv[2]))
    caller.connect(sys.argv[1])
    print(caller.recv(100).decode())
except OSError as error:
    print(type(error).__name__)
"""


def possible() -> bool:
    try:
        probe()
    except CannotIsolate:
        return False
    return platform.machine() in _sockets.ARCHITECTURES


closed = pytest.mark.skipif(not possible(), reason="no namespace, or no filter for this machine")


@pytest.fixture(params=["SOCK_STREAM", "SOCK_SEQPACKET"])
def call(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A command that calls a service of this machine and prints what that says."""
    path = tmp_path / "service"
    with socket.socket(socket.AF_UNIX, getattr(socket, request.param)) as service:
        service.bind(str(path))
        service.listen()

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    caller, _ = service.accept()
                    with caller:
                        caller.sendall(b"reply from outside")

        threading.Thread(target=serve, daemon=True).start()
        (tmp_path / "call.py").write_text(CALL)
        yield f"{sys.executable} {tmp_path}/call.py {path} {request.param}"
        service.shutdown(socket.SHUT_RDWR)


def go(*command: str) -> str:
    program = Program(command, {"PATH": os.environ["PATH"]}, Path("/"))
    return run(lambda url: program, timeout=30, serve=lambda listener: contextlib.nullcontext()).stdout


def test_the_service_answers_whoever_is_outside(call: str) -> None:
    done = subprocess.run(call, shell=True, capture_output=True, text=True, check=True)
    assert done.stdout == "reply from outside\n"


@closed
def test_not_from_the_namespace(call: str) -> None:
    assert go("/bin/sh", "-c", call) == "PermissionError\n"


@closed
@pytest.mark.client
@pytest.mark.parametrize("kind", ["claude_client", "codex_client"])
def test_not_from_a_client(kind: str, call: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    client: Any = request.getfixturevalue(kind)(hooks={"Stop": f"{call} > {tmp_path}/hook"})
    client.agent("Done.")
    assert client.prompt("go on").answer == "Done."
    assert (tmp_path / "hook").read_text() == "PermissionError\n"


@closed
@pytest.mark.client
def test_not_from_a_tool(call: str, claude_client: Any) -> None:
    client = claude_client()
    client.agent(tool("Bash", command=call, description="x"), "Done.")
    assert "PermissionError" in [request for request in client.prompt("go on").requests if request.tools][1].last


@closed
@pytest.mark.parametrize(
    "works",
    [
        "a, b = socket.socketpair(); a.sendall(b'x'); b.recv(1)",
        "socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)",
        "socket.create_server(('127.0.0.1', 0))",
        "socket.if_nametoindex('lo')",
        "subprocess.run(['/bin/true'], check=True, capture_output=True)",
        "asyncio.run(asyncio.sleep(0))",
        "multiprocessing.get_context('fork').Pipe()",
    ],
)
def test_what_stays_open(works: str) -> None:
    script = f"import asyncio, multiprocessing, socket, subprocess; {works}; print('works')"
    assert go(sys.executable, "-c", script) == "works\n"


@closed
@pytest.mark.skipif(platform.machine() != "x86_64", reason="the other way to number system calls is this machine's")
@pytest.mark.parametrize(
    ("number", "arguments"),
    [
        pytest.param(0x40000000 + 41, (1, 1, 0), id="x32"),
        pytest.param(425, (1, 0), id="io_uring"),
        pytest.param(41, (1 | 1 << 32, 1 | 1 << 35, 0), id="upper-halves"),
        pytest.param(41, (1, 1 | 0o2004000, 0), id="flags"),
    ],
)
def test_no_way_around(number: int, arguments: tuple[int, ...]) -> None:
    longs = ", ".join(f"ctypes.c_long({value})" for value in (number, *arguments))
    script = (
        "import ctypes, errno; libc = ctypes.CDLL(None, use_errno=True); "
        f"made = libc.syscall({longs}); print(made, errno.errorcode[ctypes.get_errno()])"
    )
    assert go(sys.executable, "-c", script) in ("-1 EACCES\n", "-1 ENOSYS\n")


@pytest.mark.parametrize(
    ("system", "machine"), [("darwin", "arm64"), ("linux", "riscv64"), ("linux", "i686"), ("linux", "armv7l")]
)
def test_elsewhere_it_says_so(system: str, machine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(os, "uname", lambda: os.uname_result(("", "", "", "", machine)))
    assert _sockets.close() == f"there is no filter for {system} on {machine}"


USES = "import pytest\n@pytest.mark.skip\ndef test_it({}): pass\n"
REFUSED = "taskie: clients can reach the Unix sockets of this machine: *no filter*"


@pytest.mark.parametrize(("fixture", "said"), [("claude_client", True), ("codex_client", True), ("run_hook", False)])
def test_a_run_in_which_they_stay_open_says_so(
    fixture: str, said: bool, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_sockets, "why_open", lambda: "no filter here")
    pytester.makepyfile(USES.format(fixture))
    output = pytester.runpytest_inprocess().stdout
    if said:
        output.fnmatch_lines([REFUSED])
    else:
        output.no_fnmatch_line(REFUSED)


@closed
def test_a_run_in_which_they_are_closed_says_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(USES.format("claude_client"))
    pytester.runpytest_inprocess().stdout.no_fnmatch_line("taskie: clients*")


@closed
def test_a_kernel_that_refuses_says_why() -> None:
    """Really: a filter that is there already forbids another."""
    refusing = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import _sockets\n"
        # prctl itself is what this filter refuses, from now on.
        "_sockets.ARCHITECTURES = {m: (a, 157 if m == 'x86_64' else 167, u) "
        "for m, (a, _, u) in _sockets.ARCHITECTURES.items()}\n"
        "_sockets.FAMILY, _sockets.AF_UNIX, _sockets.SOCK_STREAM = 16, 38, 1\n"
        "_sockets.close(); print(_sockets.close())"
    )
    folder = str(Path(_sockets.__file__).parent)
    done = subprocess.run([sys.executable, "-c", refusing, folder], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("the kernel refuses a filter (")
