"""The start of an isolated client: make a network of its own, listen in it, close Unix sockets, become the client.

Run as a program (`python -I -S _namespace.py FD COMMAND…`) by `_isolation.py`; knows nothing of clients or scripts.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import importlib
import os
import signal
import socket
import struct
import sys

CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
SIOCGIFFLAGS, SIOCSIFFLAGS, IFF_UP = 0x8913, 0x8914, 0x1
PR_SET_PDEATHSIG = 1
# Always the same: nobody else is in this network.
PORT = 8008


def unshare(flags: int) -> None:
    """`os.unshare` is there from Python 3.12 on only."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(flags) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def enter_network() -> None:
    """A network namespace; without the right to one, inside a user namespace that maps this user to itself."""
    try:
        unshare(CLONE_NEWNET)
    except PermissionError:
        uid, gid = os.getuid(), os.getgid()
        unshare(CLONE_NEWUSER | CLONE_NEWNET)
        # gid_map may be written only after setgroups is given up; not mapped to root, or the client thinks it is root.
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            with open(f"/proc/self/{name}", "w", encoding="ascii") as file:  # noqa: PTH123 - no pathlib in the child
                file.write(text)


def loopback_up() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        name = b"lo".ljust(16, b"\0")
        flags = struct.unpack("16sH", fcntl.ioctl(sock, SIOCGIFFLAGS, name + b"\0" * 24)[:18])[1]
        fcntl.ioctl(sock, SIOCSIFFLAGS, struct.pack("16sH22x", name, flags | IFF_UP))


def why_not(error: OSError) -> str:
    if error.errno == errno.ENOSPC:
        return "namespaces are switched off (user.max_user_namespaces or user.max_net_namespaces is 0)"
    if error.errno in (errno.EPERM, errno.EACCES):
        return f"this user may not make one ({error.strerror}; kernel or container settings restrict user namespaces)"
    if error.errno in (errno.ENOSYS, errno.EINVAL):
        return f"this kernel has none ({error.strerror})"
    return str(error)


def close_unix_sockets() -> None:
    """Where that is impossible the client still runs; the plugin says so once for all tests."""
    # Isolated as this process is, it does not look beside its own file. Last, so that nothing of Python's is hidden.
    sys.path.append(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120 - as above
    importlib.import_module("_sockets").close()


def main() -> None:
    link = socket.socket(fileno=int(sys.argv[1]))
    command = sys.argv[2:]
    try:
        enter_network()
        loopback_up()
        listener = socket.create_server(("127.0.0.1", PORT), backlog=64)
    except OSError as error:
        link.sendall(f"no {why_not(error)}".encode())
        raise SystemExit(1) from None
    # After the namespace, which resets it: a test process that is killed takes the client with it.
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    inode = os.stat("/proc/self/ns/net").st_ino  # noqa: PTH116 - as above
    socket.send_fds(link, [f"ok {inode}".encode()], [listener.fileno()])
    listener.close()
    link.close()
    close_unix_sockets()
    try:
        os.execvp(command[0], command)
    except OSError as error:
        sys.stderr.write(f"{command[0]} cannot be run: {error.strerror}\n")
        raise SystemExit(126) from None


if __name__ == "__main__":
    main()
