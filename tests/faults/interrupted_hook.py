"""The hook with one call of `os` going wrong: `python interrupted_hook.py ROOT MODE N CALLS`, the event on stdin.

Writes the calls that were made to the file CALLS, one name a line, as they are made.
"""

from __future__ import annotations

import sys


def main(root: str, mode: str, number: str, calls: str) -> int:
    sys.path[:0] = [root, f"{root}/tests"]
    from core.failing_os import CHANGING, FailingOs

    from taskie import agent, hook, store
    from taskie.plans import reviewer

    class Noting(list[str]):
        def append(self, name: str) -> None:
            super().append(name)
            with open(calls, "a") as file:  # noqa: PTH123 - the hook has no pathlib either
                file.write(f"{name}\n")

    faulty = FailingOs(int(number), mode, counted=CHANGING)
    faulty.calls = Noting()
    for module in (agent, reviewer, store):
        module.os = faulty  # type: ignore[attr-defined]  # that is what this program is for
    return hook.main(["--fail-open"])


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
