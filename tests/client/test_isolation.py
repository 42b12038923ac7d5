"""The network of its own: what can be reached from it, and that nothing of it is left."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_taskie._processes import Finished, living
from pytest_taskie.client import _isolation as isolation
from pytest_taskie.client import _namespace as namespace
from pytest_taskie.client._isolation import CannotIsolate, Program, run


def possible() -> bool:
    try:
        isolation.probe()
    except CannotIsolate:
        return False
    return True


isolated = pytest.mark.skipif(not possible(), reason="no network namespace can be made here")

LOOK = """
import errno, fcntl, json, socket, struct
up = []
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
    for _, name in socket.if_nameindex():
        flags = struct.unpack("16sH", fcntl.ioctl(sock, 0x8913, name.encode().ljust(40, b"\\0"))[:18])[1]
        up += [name] if flags & 1 else []
routes = [line for line in open("/proc/net/route").read().splitlines()[1:]]
with socket.socket() as sock:
    outside = errno.errorcode[sock.connect_ex(("192.0.2.1", 80))]
print(json.dumps({"up": up, "routes": routes, "outside": outside}))
"""
ALONE = '{"up": ["lo"], "routes": [], "outside": "ENETUNREACH"}'


def go(*command: str, timeout: float = 20, network: bool = False, stdin: bytes = b"") -> Finished:
    env = {"PATH": os.environ["PATH"]}
    return run(
        lambda url: Program(command, {**env, "URL": url}, Path("/")),
        timeout=timeout,
        serve=lambda listener: contextlib.nullcontext(),
        network=network,
        stdin=stdin,
    )


def alive(pid: int) -> bool:
    return any(pid == one for one, _, _ in living())


@isolated
def test_loopback_is_all_there_is() -> None:
    assert go(sys.executable, "-c", LOOK).stdout.strip() == ALONE


@isolated
@pytest.mark.parametrize("tells", [True, False], ids=["the system tells of an end", "one has to look"])
def test_streams_and_exit_code(tells: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not tells:
        monkeypatch.delattr(os, "pidfd_open", raising=False)
    done = go("/bin/sh", "-c", "cat; echo no >&2; exit 3", stdin=b"yes")
    assert (done.exit_code, done.stdout, done.stderr, done.timed_out) == (3, "yes", "no\n", False)
    assert go("/bin/sh", "-c", "exec sleep 100", timeout=0.2).timed_out


@pytest.mark.parametrize("network", [pytest.param(False, marks=isolated), True])
def test_whatever_was_started_ends(network: bool, tmp_path: Path) -> None:
    """A double fork in a session of its own, which nobody waits for, and which is deaf to SIGTERM."""
    child = f"trap '' TERM; echo $$ > {tmp_path}/pid; mv {tmp_path}/pid {tmp_path}/child; while :; do sleep 1; done"
    wait = f"while ! [ -e {tmp_path}/child ]; do sleep 0.02; done"
    done = go("/bin/sh", "-c", f'(setsid sh -c "{child.replace("$$", chr(92) + "$$")}" &) ; {wait}', network=network)
    assert done.exit_code == 0
    assert not alive(int((tmp_path / "child").read_text()))


@pytest.mark.parametrize("network", [pytest.param(False, marks=isolated), True])
def test_a_deadline_takes_the_children_too(network: bool, tmp_path: Path) -> None:
    done = go("/bin/sh", "-c", f"sleep 100 & echo $! > {tmp_path}/child; wait", timeout=2, network=network)
    assert done.timed_out
    assert done.duration < 10
    assert not alive(int((tmp_path / "child").read_text()))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="namespaces are Linux's")
@pytest.mark.parametrize("whose", ["self", "1"])
def test_nobody_outside_is_ever_listed_to_be_ended(whose: str) -> None:
    """Only listed here, never killed: were this wrong, the whole machine would go down with a run."""
    try:
        inode = Path(f"/proc/{whose}/ns/net").stat().st_ino
    except OSError:
        pytest.skip("another user's process tells nothing of its network")
    with pytest.raises(RuntimeError, match="nobody in it may be ended"):
        isolation.in_network(inode)


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="namespaces are Linux's")
def test_a_namespace_that_is_not_new_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The entrance says it is ready, but is still in our network."""
    killed: list[int] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: killed.append(pid))
    body = (
        "listener = socket.socket()\n"
        "socket.send_fds(link, [b'ok %d' % os.stat('/proc/self/ns/net').st_ino], [listener.fileno()])"
    )
    monkeypatch.setattr(namespace, "__file__", str(refusing(tmp_path, body)))
    with pytest.raises(CannotIsolate, match="is the one of this process"):
        go("/bin/true")
    assert killed == []


@isolated
def test_a_program_that_does_not_exist() -> None:
    done = go("/no/such/program")
    assert done.exit_code == 126
    assert "cannot be run" in done.stderr


@isolated
def test_a_killed_test_process_takes_the_client_with_it(tmp_path: Path) -> None:
    inner = f"""
import contextlib, os, signal
from pathlib import Path
from pytest_taskie.client._isolation import Program, run
os.environ["PYTEST_PID"] = str(os.getpid())
sh = "echo $$ > {tmp_path}/x; mv {tmp_path}/x {tmp_path}/child; kill -9 $PYTEST_PID; sleep 100"
run(lambda url: Program(["/bin/sh", "-c", sh], os.environ, Path("/")), timeout=60,
    serve=lambda listener: contextlib.nullcontext())
"""
    done = subprocess.run([sys.executable, "-c", inner], timeout=30, check=False)
    assert done.returncode == -9
    pid = int((tmp_path / "child").read_text())
    for _ in range(200):
        if not alive(pid):
            break
        time.sleep(0.02)
    assert not alive(pid)


def refusing(tmp_path: Path, body: str) -> Path:
    script = tmp_path / "namespace.py"
    script.write_text(f"import os, socket, sys\nlink = socket.socket(fileno=int(sys.argv[1]))\n{body}\n")
    return script


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="elsewhere the refusal comes earlier")
@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("link.sendall(b'no user namespaces are switched off')", "user namespaces are switched off"),
        ("os._exit(1)", "died"),
    ],
)
def test_a_refusal_names_the_reason_and_the_switch(
    body: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(namespace, "__file__", str(refusing(tmp_path, body)))
    with pytest.raises(CannotIsolate, match=says) as caught:
        go("/bin/true")
    assert "--taskie-client-network" in str(caught.value)


def test_other_platforms_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(CannotIsolate, match="darwin has no network namespaces"):
        go("/bin/true")


@pytest.mark.parametrize(
    ("number", "says"),
    [
        (errno.ENOSPC, "switched off"),
        (errno.EPERM, "may not make one"),
        (errno.ENOSYS, "kernel has none"),
        (errno.EIO, "error"),
    ],
)
def test_every_refusal_of_the_kernel_is_a_sentence(number: int, says: str) -> None:
    assert says in namespace.why_not(OSError(number, os.strerror(number)))


@isolated
@pytest.mark.skipif(shutil.which("unshare") is None, reason="needs unshare(1)")
def test_a_kernel_that_says_no(tmp_path: Path) -> None:
    """Really: in a user namespace whose own limit on network namespaces is zero."""
    script = (
        "import contextlib, sys\nfrom pytest_taskie.client import _isolation as isolation\n"
        "try: isolation.probe()\nexcept isolation.CannotIsolate as error: print(error)\n"
    )
    limit = f"echo 0 > /proc/sys/user/max_net_namespaces && exec {sys.executable} -c '{script}'"
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", limit],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip(f"no user namespace with limits of its own: {done.stderr[-100:]}")
    assert "namespaces are switched off" in done.stdout
    assert "--taskie-client-network" in done.stdout


def test_values_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        Program([], {}, Path("/")).cwd = Path("/x")  # type: ignore[misc]
