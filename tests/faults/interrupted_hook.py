"""Hooks with one call of `os` going wrong: `python interrupted_hook.py TESTS MODE EVENT CALLS OUT ERR`.

For each number N on stdin one hook, in a process of its own, whose N-th call goes wrong; then a line on stdout says
how it ended. The files: the event it reads, the calls it made, one name a line, as they are made, and its output.
Forking costs a tenth of an interpreter's start.
"""

from __future__ import annotations

import os
import sys

ANEW = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def main(mode: str, event: str, calls: str, out: str, err: str) -> None:
    from core.failing_os import CHANGING, FailingOs

    from taskie import hook, programs, store
    from taskie.plans import journal, review_log, reviewer, running

    class Noting(list[str]):
        def append(self, name: str) -> None:
            super().append(name)
            with open(calls, "a") as file:  # noqa: PTH123 - the hook has no pathlib either
                file.write(f"{name}\n")

    def run(number: int) -> None:
        for fd, path, flags in ((0, event, os.O_RDONLY), (1, out, ANEW), (2, err, ANEW)):
            os.dup2(os.open(path, flags), fd)
        faulty = FailingOs(number, mode, counted=CHANGING)
        faulty.calls = Noting()
        for module in (programs, reviewer, review_log, running, journal, store):
            module.os = faulty  # type: ignore[attr-defined]  # that is what this program is for
        os._exit(hook.main(["--fail-open"]))

    for line in sys.stdin:
        child = os.fork()
        if not child:
            run(int(line))
        status = os.waitpid(child, 0)[1]
        print(-os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status), flush=True)


if __name__ == "__main__":
    sys.path[:0] = [os.path.dirname(sys.argv[1]), sys.argv[1]]  # noqa: PTH120
    main(*sys.argv[2:])
