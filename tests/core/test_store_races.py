"""Locks and writes of several processes, in an order that pipes decide."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import ROOT
from support.faulty import Faulty

from core.living import descriptors
from taskie.plans import state
from taskie.store import Lock, StoreError

pytestmark = pytest.mark.state

# Takes the lock, says so, and holds it until its stdin ends.
HOLDER = """
import sys
sys.path.insert(0, sys.argv[1])
from taskie.store import Lock
lock = Lock(sys.argv[2])
print(lock.take(), flush=True)
sys.stdin.read()
lock.release()
print("released", flush=True)
sys.stdin.close()
"""


class Holder:
    """Another process that holds the lock of a directory."""

    def __init__(self, directory: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", HOLDER, str(ROOT), str(directory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.took = self._line()

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def release(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        assert self._line() == "released"

    def end(self) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                pipe.close()
        self.process.kill()
        self.process.wait()


@pytest.fixture
def holder(tmp_path: Path) -> Iterator[Holder]:
    other = Holder(tmp_path)
    yield other
    other.end()


def test_only_one_process_holds_it(tmp_path: Path, holder: Holder) -> None:
    assert holder.took == "True"
    with Lock(str(tmp_path)) as lock:
        assert not lock.take()
        holder.release()
        assert lock.take()
        other = Holder(tmp_path)
        assert other.took == "False"
        other.end()


def test_only_one_in_this_process_too(tmp_path: Path) -> None:
    with Lock(str(tmp_path)) as first, Lock(str(tmp_path)) as second:
        assert first.take()
        assert not second.take()
        first.release()
        assert second.take()


def test_a_dead_process_holds_nothing(tmp_path: Path, holder: Holder) -> None:
    with Lock(str(tmp_path)) as lock:
        assert not lock.take()
        holder.process.kill()
        holder.process.wait()
        assert lock.take()


def test_a_child_does_not_inherit_it(tmp_path: Path) -> None:
    with Lock(str(tmp_path)) as first:
        assert first.take()
        child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", "import sys; print('up', flush=True); sys.stdin.read()"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            close_fds=False,
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"up\n"
    with Lock(str(tmp_path)) as second:
        assert second.take()
    child.communicate()


def test_patience_lasts_until_it_is_free(tmp_path: Path, holder: Holder, monkeypatch: pytest.MonkeyPatch) -> None:
    waited = threading.Event()

    def sleep(_: float) -> None:
        if not waited.is_set():
            waited.set()
            holder.release()

    monkeypatch.setattr("taskie.store.time.sleep", sleep)
    with Lock(str(tmp_path)) as lock:
        assert lock.take(patience=60)
    assert waited.is_set()


def test_patience_ends(tmp_path: Path, holder: Holder) -> None:
    with Lock(str(tmp_path)) as lock:
        assert not lock.take(patience=0.02)


def test_no_file_and_no_descriptor_stays(tmp_path: Path) -> None:
    opened = descriptors()
    with Lock(str(tmp_path)) as first, Lock(str(tmp_path)) as second:
        assert first.take()
        assert not second.take()
        assert list(tmp_path.iterdir()) == []
    assert descriptors() == opened


def test_what_cannot_be_locked(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for name in ("file", "missing"):
        with pytest.raises(StoreError, match=rf"{name} cannot be locked \("):
            Lock(str(tmp_path / name)).take()


def test_release_without_take(tmp_path: Path) -> None:
    Lock(str(tmp_path)).release()


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan"
    path.mkdir()
    (path / "state.json").write_text('{"phase": "a", "next_phase": "b", "x": 1.10}\n')
    return path


def test_a_write_waits_for_the_lock_of_the_plans(plan: Path, holder: Holder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "LOCK_PATIENCE", 0.0)
    with pytest.raises(StoreError, match=r"state\.json is being written by another process"):
        state.update(str(plan), lambda now: {"phase": "c"})
    assert state.load(str(plan)) == {"phase": "a", "next_phase": "b", "x": 1.1}
    holder.release()
    assert state.update(str(plan), lambda now: {"phase": "c"}) == {"phase": "c", "next_phase": "b", "x": 1.1}
    assert (plan / "state.json").read_text() == '{"phase": "c", "next_phase": "b", "x": 1.10}\n'


def test_the_lock_is_held_while_a_change_is_made(plan: Path) -> None:
    taken = []

    def change(now: dict[str, object]) -> dict[str, object]:
        with Lock(str(plan.parent)) as lock:
            taken.append(lock.take())
        return {"phase": "c"}

    state.update(str(plan), change)
    assert taken == [False]


def test_the_review_lease_is_another_lock(plan: Path) -> None:
    with Lock(str(plan)) as lease:
        assert lease.take()
        assert state.update(str(plan), lambda now: {"phase": "c"}) is not None


def test_no_update_is_lost(plan: Path) -> None:
    """Every process adds one, at once; each must have seen the one before it."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from taskie.plans import state; sys.stdin.read()\n"
        "for _ in range(10): state.update(sys.argv[2], lambda now: {'count': now.get('count', 0) + 1})"
    )
    gate, open_gate = os.pipe()
    command = [sys.executable, "-I", "-S", "-c", script, str(ROOT), str(plan)]
    writers = [subprocess.Popen(command, stdin=gate) for _ in range(4)]
    os.close(gate)
    os.close(open_gate)
    assert [writer.wait() for writer in writers] == [0] * 4
    assert json.loads((plan / "state.json").read_text())["count"] == 40
    assert [entry.name for entry in plan.iterdir()] == ["state.json"]


@pytest.mark.parametrize("field", state.COMPARED)
def test_an_edit_of_a_compared_field_wins(plan: Path, field: str) -> None:
    seen = state.load(str(plan))
    assert seen is not None
    (plan / "state.json").write_text(edited := json.dumps({**seen, field: "edited"}))
    assert not state.compare_and_set(str(plan), seen, {"phase": "mine"})
    assert (plan / "state.json").read_text() == edited


@pytest.mark.parametrize("field", ["max_reviews", "tdd", "unknown"])
def test_an_edit_of_another_field_is_kept_beside_ours(plan: Path, field: str) -> None:
    seen = state.load(str(plan))
    assert seen is not None
    (plan / "state.json").write_text(json.dumps({**seen, field: "edited"}))
    assert state.compare_and_set(str(plan), seen, {"phase": "mine"})
    assert state.load(str(plan)) == {**seen, field: "edited", "phase": "mine"}


def test_null_and_missing_are_the_same(plan: Path) -> None:
    seen = state.load(str(plan))
    assert seen is not None
    (plan / "state.json").write_text(json.dumps({**seen, "current_task": None}))
    assert state.compare_and_set(str(plan), seen, {"phase": "mine"})


def test_a_state_that_is_gone_or_broken_meanwhile(plan: Path) -> None:
    seen = state.load(str(plan))
    assert seen is not None
    (plan / "state.json").write_text("{")
    with pytest.raises(StoreError, match=r"state\.json: invalid JSON"):
        state.compare_and_set(str(plan), seen, {"phase": "mine"})
    assert (plan / "state.json").read_text() == "{"
    (plan / "state.json").unlink()
    assert not state.compare_and_set(str(plan), seen, {"phase": "mine"})
    assert not (plan / "state.json").exists()


@pytest.mark.parametrize("can_lock", [True, False])
def test_writers_without_a_lock(tmp_path: Path, can_lock: bool, faulty: Faulty) -> None:
    """All at once, on one file: each write is a whole one, none fails, and nothing is left."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from taskie.store import replace; sys.stdin.read()\n"
        "for n in range(25): replace(sys.argv[2], sys.argv[3].encode() * 5000)"
    )
    gate, open_gate = os.pipe()
    env = {**os.environ, **({} if can_lock else faulty(f"flock={errno.ENOLCK}@*"))}
    path = tmp_path / "state.json"
    writers = [
        subprocess.Popen([sys.executable, "-I", "-S", "-c", script, str(ROOT), str(path), name], stdin=gate, env=env)
        for name in "abcdef"
    ]
    os.close(gate)
    os.close(open_gate)
    seen = set()
    while any(writer.poll() is None for writer in writers):
        if path.exists():
            seen.add(path.read_text())
    assert [writer.returncode for writer in writers] == [0] * 6
    assert {(len(text), len(set(text))) for text in seen | {path.read_text()}} == {(5000, 1)}
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]
