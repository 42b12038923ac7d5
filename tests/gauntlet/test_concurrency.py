"""Two stops at once: one runs the gates, the other says so and lets go."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

from pytest_taskie import Project

from .gates import HOOK, Gauntlet


def test_two_stops(gauntlet: Gauntlet, project: Project, tmp_path: Path) -> None:
    begun, go = tmp_path / "begun", tmp_path / "go"
    gauntlet.check("waits", f"touch {begun}; while [ ! -e {go} ]; do sleep 0.01; done", timeout=30)
    first = subprocess.Popen(
        HOOK, cwd=gauntlet.path, env={**project.env, **gauntlet.env}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        assert first.stdin
        first.stdin.write(b"{}\n")
        first.stdin.flush()
        until = time.monotonic() + 30
        while not begun.exists():
            assert first.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)
        assert gauntlet.stop().json["status"] == "lock_exists"
        assert gauntlet.run().exit_code == 1
        assert json.loads(gauntlet.run("status", "--json").stdout)["running"] is True
    finally:
        go.touch()
        said, _ = first.communicate(timeout=30)
    assert json.loads(said)["status"] == "passed"
    assert gauntlet.files() == [".execution_state", "previous"]


def test_a_burst_leaves_one_failure_and_no_lock(gauntlet: Gauntlet, project: Project, tmp_path: Path) -> None:
    gauntlet.check("count", f"echo x >> {tmp_path}/runs; exit 1")
    env = {**project.env, **gauntlet.env}
    hooks = [
        subprocess.Popen(HOOK, cwd=gauntlet.path, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(6)
    ]
    for hook in hooks:  # all of them before the first answer is awaited: none may wait for its stdin
        assert hook.stdin
        hook.stdin.write(b"{}\n")
        hook.stdin.close()
        hook.stdin = None
    statuses = [json.loads(hook.communicate(timeout=60)[0])["status"] for hook in hooks]
    runs = (tmp_path / "runs").read_text().count("x")
    assert set(statuses) <= {"failed", "lock_exists"}, "one tree is one failure, however often it is run"
    assert 1 <= runs <= statuses.count("failed"), "the others answer from the record, or meet the lock"
    assert len([name for name in gauntlet.files() if name.startswith("console")]) == runs
    assert ".gauntlet-run.lock" not in gauntlet.files()
