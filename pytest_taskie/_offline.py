"""The start of a hook that is to have no network: a network with loopback alone, then the hook.

Run as a program (`python -I -S _offline.py COMMAND…`); knows nothing of hooks.
"""

from __future__ import annotations

import functools
import importlib
import os
import subprocess
import sys

CANNOT = 97
SECONDS = 60.0  # to find out; a busy machine takes one


@functools.cache
def why_not() -> str | None:
    """Why no such network can be made here; None where one can. Asked once."""
    command = [*entrance(), "/bin/sh", "-c", ":"]
    try:
        asked = subprocess.run(command, capture_output=True, text=True, check=False, timeout=SECONDS)
    except subprocess.TimeoutExpired:
        return f"no answer within {SECONDS:g} seconds"
    return (asked.stderr.strip() or f"exit code {asked.returncode}") if asked.returncode else None


def entrance() -> list[str]:
    """What stands before a command that is to have no network."""
    return [sys.executable, "-I", "-S", __file__]


def main() -> None:
    # Isolated as this process is, it does not look there by itself. Last, so that nothing of Python's is hidden.
    sys.path.append(os.path.join(os.path.dirname(__file__), "client"))
    namespace = importlib.import_module("_namespace")
    if not sys.platform.startswith("linux"):
        sys.exit(f"{sys.platform} has no network namespaces")
    try:
        namespace.enter_network()
        namespace.loopback_up()
    except OSError as error:
        sys.stderr.write(namespace.why_not(error) + "\n")
        sys.exit(CANNOT)
    try:
        os.execvp(sys.argv[1], sys.argv[1:])
    except OSError as error:
        sys.stderr.write(f"{sys.argv[1]} cannot be run: {error.strerror}\n")
        sys.exit(127 if isinstance(error, FileNotFoundError) else 126)


if __name__ == "__main__":
    main()
