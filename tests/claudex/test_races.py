"""Many processes at once: exactly one wins. They all exist before the first may go on; nobody sleeps."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from claudex.conftest import HOOK, ID, ROOT, TASKIE, UNIFIED, Claudex
from pytest_taskie import Events
from taskie.claudex import state
from taskie.store import Lock, StoreError

SWAP = """
import sys
sys.path.insert(0, sys.argv[1])
from taskie.claudex import state
sys.stdin.read()
won = state.swap(sys.argv[2], sys.argv[3], {"phase": "drafting"}, {"phase": "reviewing", "session_id": sys.argv[4]})
print(sys.argv[4] if won else "lost")
"""


def at_once(commands: list[list[str]], content: bytes, cwd: Path, env: dict[str, str]) -> list[str]:
    """Start all of them on stdins that are open, then let every one read to its end."""
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd, env=env, close_fds=True)
        for command in commands
    ]
    for process in processes:
        assert process.stdin
        process.stdin.write(content)
        process.stdin.close()
        process.stdin = None
    outputs = [process.communicate(timeout=120)[0].decode() for process in processes]
    assert {process.returncode for process in processes} == {0}
    return outputs


def fire_sixteen(claudex: Claudex, command: list[str], content: str) -> None:
    """From `drafting`: one announces round 1, and nobody else says or does anything."""
    claudex.write_state()
    claudex.write_plan()
    outputs = at_once([command] * 16, content.encode(), claudex.root, claudex.project.env)
    reasons = [json.loads(output).get("reason", "") for output in outputs]
    assert sum("round 1 of 3" in reason for reason in reasons) == 1
    assert sum(bool(reason) for reason in reasons) == 1
    assert claudex.says("phase", "round") == ("reviewing", "1")
    assert sum("BLOCK" in line for line in claudex.log) == 1
    assert len(claudex.log) == 16
    left = sorted(path.name for path in claudex.directory.iterdir())
    assert left == [ID, f"{ID}-prompt.txt", f"{ID}-runner.sh", f"{ID}.state", "log"]


@pytest.mark.parametrize("run", range(3))
def test_sixteen_hooks_from_drafting(claudex: Claudex, events: Events, run: int) -> None:
    fire_sixteen(claudex, UNIFIED, json.dumps(events.stop()))


@pytest.mark.parametrize("event", ["{}", '{"stop_hook_active": false}', '{"stop_hook_active": true}'])
def test_sixteen_of_the_engines_own_hook(claudex: Claudex, event: str) -> None:
    fire_sixteen(claudex, HOOK, event)


def test_sixteen_hooks_at_a_review(claudex: Claudex, events: Events) -> None:
    """The loop is done as soon as it is announced: nobody may take that for the end, and remove the runner."""
    claudex.write_state(mode="review", phase="reviewing")
    outputs = at_once([UNIFIED] * 16, json.dumps(events.stop()).encode(), claudex.root, claudex.project.env)
    assert sum("review starting" in output for output in outputs) == 1
    assert not [output for output in outputs if "was not run" in output]
    assert claudex.runner(ID).exists()
    assert "the review was not run" in claudex.process_unified_stop().stdout


def test_the_next_stop_is_none_of_them(claudex: Claudex) -> None:
    """The rule that keeps hooks apart that were fired at once must not hold up those that follow."""
    claudex.write_state()
    claudex.write_plan()
    for round_ in (1, 2, 3):
        assert f"round {round_} of 3" in (claudex.process_stop().reason or "")


def test_a_clock_that_is_ahead(claudex: Claudex) -> None:
    """A file system with a clock of its own must not make every state look as if it had just changed."""
    path = claudex.write_state()
    claudex.write_plan()
    tomorrow = time.time() + 86400
    os.utime(path, (tomorrow, tomorrow))
    assert "round 1 of 3" in (claudex.client_stop().reason or "")


def test_forty_processes_swap_one_state(claudex: Claudex) -> None:
    claudex.write_state()
    commands = [
        [sys.executable, "-I", "-S", "-c", SWAP, str(ROOT), str(claudex.directory), ID, str(number)]
        for number in range(40)
    ]
    outputs = [output.strip() for output in at_once(commands, b"", claudex.root, claudex.project.env)]
    winners = [output for output in outputs if output != "lost"]
    assert len(winners) == 1
    assert claudex.says("phase", "session_id") == ("reviewing", winners[0])
    assert [path.name for path in claudex.directory.iterdir()] == [f"{ID}.state"]


def test_eight_starts_at_once(claudex: Claudex) -> None:
    words = ["claudex", "start", "plan", "--topic-file", "-"]
    processes = [
        subprocess.Popen(
            [*TASKIE, *words], stdin=subprocess.PIPE, stderr=subprocess.PIPE, cwd=claudex.root, env=claudex.project.env
        )
        for _ in range(8)
    ]
    for process in processes:
        assert process.stdin
        process.stdin.write(b"topic")
        process.stdin.close()
        process.stdin = None
    errors = [process.communicate(timeout=60)[1] for process in processes]
    assert Counter(process.returncode for process in processes) == {0: 1, 1: 7}
    assert sum(b"already active" in error for error in errors) == 7
    assert len(claudex.ids) == 1


class TestSwap:
    def test_what_was_seen_must_still_hold(self, claudex: Claudex) -> None:
        path = claudex.write_state()
        before = path.read_bytes()
        made: list[bool] = []
        for seen in ({"phase": "reviewing"}, {"phase": "drafting", "unknown": ""}):
            assert not state.swap(str(claudex.directory), ID, seen, {"phase": "done"}, lambda: made.append(True))
        assert (path.read_bytes(), made) == (before, [])

    def test_a_state_that_is_gone(self, claudex: Claudex) -> None:
        claudex.directory.mkdir(parents=True)
        assert not state.swap(str(claudex.directory), ID, {}, {"phase": "done"})
        assert list(claudex.directory.iterdir()) == []

    def test_the_lock_is_held_until_it_is_written(self, claudex: Claudex) -> None:
        claudex.write_state()
        taken = []

        def before() -> None:
            with Lock(str(claudex.directory)) as lock:
                taken.append(lock.take())

        assert state.swap(str(claudex.directory), ID, {}, {"phase": "done"}, before)
        assert taken == [False]

    def test_a_lock_that_is_never_free(self, claudex: Claudex, monkeypatch: pytest.MonkeyPatch) -> None:
        path = claudex.write_state()
        before = path.read_bytes()
        monkeypatch.setattr(state, "LOCK_PATIENCE", 0.0)
        with Lock(str(claudex.directory)) as lock:
            assert lock.take()
            with pytest.raises(StoreError, match="is being written by another process"):
                state.swap(str(claudex.directory), ID, {}, {"phase": "done"})
        assert path.read_bytes() == before

    def test_nobody_waits_longer_than_ten_seconds_for_it(
        self, claudex: Claudex, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """By a clock that only goes on while somebody sleeps."""
        claudex.write_state()
        slept: list[float] = []
        monkeypatch.setattr(time, "sleep", slept.append)
        monkeypatch.setattr(time, "monotonic", lambda: sum(slept))
        with Lock(str(claudex.directory)) as lock:
            assert lock.take()
            with pytest.raises(StoreError, match="is being written by another process"):
                state.swap(str(claudex.directory), ID, {}, {"phase": "done"})
        assert sum(slept) == pytest.approx(10, abs=0.1)

    def test_a_value_that_is_not_one_line(self, claudex: Claudex) -> None:
        path = claudex.write_state()
        before = path.read_bytes()
        with pytest.raises(ValueError, match="one line"):
            state.swap(str(claudex.directory), ID, {}, {"phase": "a\nphase: b"})
        assert path.read_bytes() == before
        assert os.listdir(claudex.directory) == [path.name]  # noqa: PTH208 - names are enough
