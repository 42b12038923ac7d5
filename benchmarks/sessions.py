"""What a simulated session costs beside the runs of its hooks and tools. Timings are no tests: nothing fails here."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from benchmarks.timing import ratio
from pytest_taskie import Project
from pytest_taskie._offline import NoNetwork, entrance
from pytest_taskie._processes import run_to_end
from pytest_taskie.client import tool
from pytest_taskie.simulated import SimulatedClient
from pytest_taskie.simulated._client import Stage

COMMAND = "true"
TURNS = 20


def measure(base: Path) -> None:
    """A prompt with two stops and a tool, its five hooks in the shell, and in Python."""
    try:
        way = entrance()
    except NoNetwork:
        way = []
    python = f"{sys.executable} -I -S -c"
    for name, allow, block in (
        ("sh", "cat >/dev/null", "case $(cat) in *'\"stop_hook_active\":true'*) ;; *) exit 2 ;; esac"),
        (
            "Python",
            f"{python} 'import json, sys; json.load(sys.stdin)'",
            f"{python} 'import json, sys; sys.exit(0 if json.load(sys.stdin)[\"stop_hook_active\"] else 2)'",
        ),
    ):
        stage = Stage(Project(base / name, os.environ["PATH"]), way)
        kind: type[SimulatedClient] = type("Simulated", (SimulatedClient,), {"_stage": stage})
        hooks = {"PreToolUse": f"{allow} # 1", "PostToolUse": f"{allow} # 2", "PostToolBatch": allow, "Stop": block}

        def session(kind: type[SimulatedClient] = kind, hooks: dict[str, str] = hooks) -> None:
            client = kind(hooks=hooks)
            client.agent(tool("Bash", command=COMMAND), "Done.", "Done again.")
            assert [stop.decision for stop in client.prompt("go").stops] == ["block", None]

        def alone(hooks: dict[str, str] = hooks, stage: Stage = stage) -> None:
            for command in (*hooks.values(), hooks["Stop"], COMMAND):
                argv = [*way, "/bin/sh", "-c", command]
                at = stage.project
                stdin = b'{"stop_hook_active": true}'
                run_to_end(argv, stdin=stdin, env=at.env, cwd=str(at.path), timeout=60)

        ratio(f"a simulated prompt, hooks in {name} / their runs alone", 1.5, session, alone, rounds=TURNS)
