"""A network with loopback alone, made once for each test process, and how a command enters it. Knows no hook.

As a program it makes such a network, and keeps it until its stdin ends.
"""

from __future__ import annotations

import functools
import importlib
import os
import shutil
import subprocess
import sys
import threading

MADE = "made\n"
SECONDS = 60.0  # to make it, or to enter it; a busy machine takes one
CLOSED = "its network cannot be entered"


class NoNetwork(Exception):
    """Why no such network can be made here."""


def entrance() -> list[str]:
    """What stands before a command that is to have loopback alone; costs it a millisecond or two."""
    made = _made()
    if isinstance(made, str):
        raise NoNetwork(made)
    return list(made)


def why_not() -> str | None:
    """Why no such network can be made here; None where one can. Found out once."""
    made = _made()
    return made if isinstance(made, str) else None


@functools.cache
def _made() -> str | tuple[str, ...]:
    """The entrance to a network that lasts as long as this process, or why there is none."""
    if not sys.platform.startswith("linux"):
        return f"{sys.platform} has no network namespaces"
    nsenter = shutil.which("nsenter")
    if nsenter is None:
        return "nsenter, a program of util-linux, is not on PATH"
    program = [sys.executable, "-I", "-S", __file__]
    with subprocess.Popen(
        program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd="/"
    ) as maker:
        assert maker.stdout is not None
        late = threading.Timer(SECONDS, maker.kill)
        late.start()
        said = maker.stdout.readline()
        late.cancel()
        if said != MADE:
            return said.strip() or "the program that makes it has said nothing"
        way = [nsenter, *_namespaces(maker.pid), "--"]
    try:
        nothing = [*way, "/bin/sh", "-c", ":"]
        tried = subprocess.run(nothing, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"it was not entered within {SECONDS:g} seconds"
    return tried.stderr.strip() or CLOSED if tried.returncode else tuple(way)


def _namespaces(maker: int) -> list[str]:
    """Options that name the maker's namespaces by files that we hold open: with them they outlive the maker."""
    found = []
    for kind in ("user", "net"):
        theirs = os.open(f"/proc/{maker}/ns/{kind}", os.O_RDONLY)
        if os.path.samestat(os.fstat(theirs), os.stat(f"/proc/self/ns/{kind}")):
            os.close(theirs)
        else:
            found.append(f"--{kind}=/proc/{os.getpid()}/fd/{theirs}")
    # In a namespace of its own a user is nobody else than before.
    return [*found, "--preserve-credentials"] if len(found) > 1 else found


def main() -> None:
    # Isolated as this process is, it does not look there by itself. Last, so that nothing of Python's is hidden.
    sys.path.append(os.path.join(os.path.dirname(__file__), "client"))
    namespace = importlib.import_module("_namespace")
    try:
        namespace.enter_network()
        namespace.loopback_up()
    except OSError as error:
        sys.exit(namespace.why_not(error))
    sys.stdout.write(MADE)
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
