"""`python -m benchmarks.ways`: how long each way through the code is, from the event to the answer.

Each way is driven once in a process of its own under `sys.setprofile`. Counted are the functions of `taskie` that ran
(each once; no lambdas, comprehensions or class bodies, and nothing that runs while a module is imported), the modules
they are in, and how often one call was followed by a call in another module. `taskie.values` is left out of the
changes: nearly every value would make two. Nothing fails here: the numbers are for whoever compares two states of the
code. `--calls` lists every call; a directory is measured in place of this one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

ROOT = Path(__file__).resolve().parent.parent
SPEC = "ai/features/FTR-1.md"
ADVANCE = ["autopilot", "advance", '{"step": "coder", "files_changed": ["src/app.py"]}']

# Prints one JSON line on descriptor 3. Only the code of functions has flag 1.
DRIVER = """
import json, os, sys
root, entry, *words = sys.argv[1:]
sys.path.insert(0, root)
inside = os.path.join(root, "taskie") + os.sep
calls = []
importing = 0
def note(frame, what, _):
    global importing
    code = frame.f_code
    if what not in ("call", "return") or not code.co_filename.startswith(inside):
        return
    if code.co_name == "<module>":
        importing += 1 if what == "call" else -1
    elif what == "call" and not importing and code.co_flags & 1 and code.co_name[0] != "<":
        calls.append((code.co_filename[len(inside):], code.co_name, code.co_firstlineno))
if entry == "hook":
    try:
        from taskie.hook import main
    except ImportError:
        from taskie.stop import main
    words = ["--fail-open"]
else:
    from taskie.cli import main
sys.setprofile(note)
main(words)
sys.setprofile(None)
on_the_way = [file for file, _, _ in calls if file != "values.py"]
changes = sum(one != other for one, other in zip(on_the_way, on_the_way[1:]))
os.write(3, json.dumps([len(set(calls)), len({file for file, _, _ in calls}), changes, calls]).encode())
"""


class Way:
    """One project, one event or command in it."""

    def __init__(self, name: str, base: Path) -> None:
        self.name = name
        self.path = base / name.replace(" ", "-")
        self.path.mkdir()
        self.env = {"PATH": f"{self.path}/bin:/usr/bin:/bin", "HOME": str(base), "CLAUDE_PROJECT_DIR": str(self.path)}
        self.env["TASKIE_TRUST"] = "1"

    def write(self, name: str, text: str) -> None:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def run(self, *argv: str) -> None:
        subprocess.run(argv, cwd=self.path, env=self.env, capture_output=True, check=True, timeout=60)

    def git(self, *words: str) -> None:
        self.run("git", "-c", "user.name=Nobody", "-c", "user.email=nobody@example.invalid", *words)

    def repository(self) -> None:
        """On the branch `work`, with everything so far committed on `main`."""
        self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "Begin")
        self.git("checkout", "-q", "-b", "work")

    def measure(self, root: Path, entry: str = "hook", words: Sequence[str] = ()) -> None:
        event = json.dumps({"hook_event_name": "Stop", "cwd": str(self.path), "stop_hook_active": False}) + "\n"
        to_us, from_it = os.pipe()
        argv = [
            "/bin/sh",
            "-c",
            f'exec "$@" 3>&{from_it}',
            "sh",
            sys.executable,
            "-c",
            DRIVER,
            str(root),
            entry,
            *words,
        ]
        done = subprocess.run(
            argv, cwd=self.path, env=self.env, input=event.encode(), capture_output=True, check=True,
            timeout=60, pass_fds=[from_it],
        )  # fmt: skip
        os.close(from_it)
        with os.fdopen(to_us, "rb") as file:
            functions, modules, changes, calls = json.loads(file.read())
        print(f"{self.name:<28} {functions:9} {modules:7} {changes:17}", flush=True)
        if "--calls" in sys.argv:
            print(*calls, done.stdout.decode(), done.stderr.decode(), sep="\n")


def main(root: Path = ROOT) -> None:
    print(f"{'way':<28} functions modules changes of module")
    with tempfile.TemporaryDirectory(prefix="taskie-ways-") as folder:
        base = Path(folder)

        way = Way("plans one review", base)
        way.write(
            "bin/claude", '#!/bin/sh\nprintf "VERDICT: FAIL\\\\n" > .taskie/plans/p/plan-review-1.md; echo "{}"\n'
        )
        (way.path / "bin/claude").chmod(0o755)
        way.write(".taskie/plans/p/plan.md", "# Plan\n")
        way.write(".taskie/plans/p/tasks.md", "| Id | Status |\n|---|---|\n| 1 | pending |\n")
        fresh = {
            "phase": "new-plan", "next_phase": "plan-review", "phase_iteration": 0, "max_reviews": 8,
            "review_model": "opus", "consecutive_clean": 0, "tdd": False,
        }  # fmt: skip
        way.write(".taskie/plans/p/state.json", json.dumps(fresh))
        way.measure(root)

        way = Way("gauntlet one failing check", base)
        way.write(".gitignore", "gauntlet_logs/\n")
        way.write(".gauntlet/config.yml", 'entry_points: [{path: ".", checks: [lint]}]\n')
        way.write(".gauntlet/checks/lint.yml", "command: echo bad; exit 1\n")
        way.repository()
        way.write("bad", "x\n")
        way.measure(root)

        way = Way("autopilot stop", base)
        way.write(SPEC, "# FTR-1\n")
        way.repository()
        taskie = [sys.executable, str(root / "bin" / "taskie"), "autopilot"]
        way.run(*taskie, "init", "FTR-1", SPEC)
        way.run(*taskie, "plan", '[{"id": 1, "name": "first"}]')
        way.measure(root)
        way.name = "autopilot advance"
        way.measure(root, "cli", ADVANCE)

        Way("no engine", base).measure(root)


if __name__ == "__main__":
    main(*(Path(word) for word in sys.argv[1:] if word != "--calls"))
