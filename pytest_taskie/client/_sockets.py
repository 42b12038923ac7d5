"""Close Unix stream sockets to this process and all that it starts, by a seccomp filter. Knows no client.

A network namespace keeps out the network and abstract sockets, but not a socket that is a file: the container
runtime's, an ssh-agent's, the message bus's. All of these are streams. Pairs stay open, since nothing outside is at
their other end; datagram sockets too, since the C library looks up interfaces with one.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

PR_SET_SECCOMP, PR_SET_NO_NEW_PRIVS, SECCOMP_MODE_FILTER = 22, 38, 2
# Of each architecture: its number for the kernel, and the system calls socket and io_uring_setup.
ARCHITECTURES = {"x86_64": (0xC000003E, 41, 425), "aarch64": (0xC00000B7, 198, 425)}
X32 = 0x40000000
ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000, 0x80000000
LOAD, AND, EQUAL, AT_LEAST, RETURN = 0x20, 0x54, 0x15, 0x35, 0x06
AF_UNIX, SOCK_STREAM, SOCK_SEQPACKET, TYPE = 1, 1, 5, 0xF
# Where the filter finds what it looks at; of an argument the lower half, which is all that the kernel looks at too.
NUMBER, ARCHITECTURE, FAMILY, KIND = 0, 4, 16, 24


def program(machine: str) -> bytes:
    """The filter for one architecture, in the kernel's own instructions."""
    architecture, socket, io_uring_setup = ARCHITECTURES[machine]
    lines: list[tuple[int, int, str, str]] = [
        (LOAD, ARCHITECTURE, "", ""),
        # Another architecture's calls have other numbers, so nothing can be told about them.
        (EQUAL, architecture, "", "kill"),
        (LOAD, NUMBER, "", ""),
        (AT_LEAST, X32, "missing", ""),
        # It opens sockets without a system call that could be seen here.
        (EQUAL, io_uring_setup, "missing", ""),
        (EQUAL, socket, "", "allow"),
        (LOAD, FAMILY, "", ""),
        (EQUAL, AF_UNIX, "", "allow"),
        (LOAD, KIND, "", ""),
        (AND, TYPE, "", ""),
        (EQUAL, SOCK_STREAM, "refuse", ""),
        (EQUAL, SOCK_SEQPACKET, "refuse", "allow"),
    ]
    ends = {"allow": ALLOW, "refuse": REFUSE | errno.EACCES, "missing": REFUSE | errno.ENOSYS, "kill": KILL}
    at = {name: len(lines) + number for number, name in enumerate(ends)}
    code = b""
    for here, (operation, value, then, otherwise) in enumerate(lines):
        jumps = [at[name] - here - 1 if name else 0 for name in (then, otherwise)]
        code += struct.pack("=HBBI", operation, *jumps, value)
    return code + b"".join(struct.pack("=HBBI", RETURN, 0, 0, value) for value in ends.values())


def close() -> str | None:
    """Close them for good, for this process and its children; or why that cannot be done here."""
    machine = os.uname().machine
    if not sys.platform.startswith("linux") or machine not in ARCHITECTURES or ctypes.sizeof(ctypes.c_void_p) != 8:
        return f"there is no filter for {sys.platform} on {machine}"
    code = program(machine)
    buffer = ctypes.create_string_buffer(code, len(code))
    instructions = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    words = [ctypes.c_ulong(0)] * 2
    # Without it only root may set a filter: a program that changes its user would run under somebody else's rules.
    for call in (
        (PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), ctypes.c_ulong(0), *words),
        (PR_SET_SECCOMP, ctypes.c_ulong(SECCOMP_MODE_FILTER), ctypes.c_char_p(instructions), *words),
    ):
        if libc.prctl(*call) != 0:
            return f"the kernel refuses a filter ({os.strerror(ctypes.get_errno())})"
    return None


def why_open() -> str | None:
    """Why they stay open in a client on this machine; asked of a process of its own, which the answer binds."""
    import subprocess

    asked = subprocess.run([sys.executable, "-I", "-S", __file__], capture_output=True, text=True, check=False)
    return asked.stdout or (asked.stderr.strip()[-200:] if asked.returncode else None)


if __name__ == "__main__":
    sys.stdout.write(close() or "")
