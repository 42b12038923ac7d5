"""A state is replaced as a whole or not at all, whichever call fails, and nothing is left beside it."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from core.failing_os import FailingOs
from taskie import store

OLD = b'{"phase": "old"}\n'
NEW = b'{"phase": "new", "padding": "' + b"x" * 5000 + b'"}\n'


def _problem(path: Path) -> str | None:
    try:
        store.replace(str(path), NEW)
    except store.StoreError as problem:
        return str(problem)
    return None


@pytest.mark.parametrize("mode", ["refused", "reported", "short"])
@pytest.mark.parametrize("before", [OLD, None], ids=["replaced", "created"])
@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EIO, errno.EINTR], ids=["ENOSPC", "EIO", "EINTR"])
def test_every_call_may_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str, before: bytes | None, error: int
) -> None:
    path = tmp_path / "state.json"
    failures = 0
    for at in range(1, 50):
        if before is None:
            path.unlink(missing_ok=True)
        else:
            path.write_bytes(before)
        faulty = FailingOs(at, mode, error)
        with monkeypatch.context() as patch:
            patch.setattr(store, "os", faulty)
            problem = _problem(path)
        failures += problem is not None
        assert problem is None or problem == f"state.json cannot be written ({os.strerror(error)})"
        found = path.read_bytes() if path.exists() else None
        assert found in (before, NEW), f"call {at}, {faulty.calls[-1]}"
        assert {entry.name for entry in tmp_path.iterdir()} <= {"state.json"}, f"call {at}, {faulty.calls[-1]}"
        if not faulty.reached:
            assert found == NEW
            assert failures >= 6
            return
    pytest.fail("the run never completed")


def test_interruption_leaves_no_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(OLD)

    def interrupted(*args: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        store.replace(str(path), NEW)
    assert path.read_bytes() == OLD
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]


def test_a_write_may_take_several_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.json"
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, bytes(data)[:100]))
    store.replace(str(path), NEW)
    assert path.read_bytes() == NEW


def test_content_is_on_disk_before_it_has_the_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = FailingOs(at=1000)
    monkeypatch.setattr(store, "os", recorded)
    store.replace(str(tmp_path / "state.json"), NEW)
    assert recorded.calls.index("write") < recorded.calls.index("fsync") < recorded.calls.index("rename")


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o664, 0o400])
def test_mode_is_kept(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(OLD)
    path.chmod(mode)
    store.replace(str(path), NEW)
    assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_link_is_replaced_by_a_file_as_new_ones_are(tmp_path: Path) -> None:
    (tmp_path / "state.json").symlink_to(tmp_path / "elsewhere")
    store.replace(str(tmp_path / "state.json"), NEW)
    store.replace(str(tmp_path / "new.json"), NEW)
    assert (tmp_path / "state.json").lstat().st_mode == (tmp_path / "new.json").lstat().st_mode


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_new_file_obeys_the_umask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        store.replace(str(tmp_path / "state.json"), NEW)
        assert os.umask(mask) == mask
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "state.json").stat().st_mode) == 0o666 & ~mask


def test_file_cannot_replace_a_directory(tmp_path: Path) -> None:
    (tmp_path / "state.json").mkdir()
    with pytest.raises(store.StoreError, match=r"state\.json cannot be written"):
        store.replace(str(tmp_path / "state.json"), NEW)
    assert [entry.name for entry in tmp_path.iterdir()] == ["state.json"]


def test_no_directory(tmp_path: Path) -> None:
    with pytest.raises(store.StoreError, match=r"state\.json cannot be written \(No such file or directory\)"):
        store.replace(str(tmp_path / "missing" / "state.json"), NEW)


def test_what_a_link_points_to_is_not_written(tmp_path: Path) -> None:
    target = tmp_path / "elsewhere"
    target.write_bytes(OLD)
    (tmp_path / "state.json").symlink_to(target)
    store.replace(str(tmp_path / "state.json"), NEW)
    assert target.read_bytes() == OLD


def test_a_reader_sees_one_content_or_the_other(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(OLD)
    done = threading.Event()
    seen: set[bytes] = set()

    def read() -> None:
        while not done.is_set():
            seen.add(store.read_regular(str(path)) or b"")

    reader = threading.Thread(target=read)
    reader.start()
    try:
        for turn in range(100):
            store.replace(str(path), (OLD, NEW)[turn % 2])
    finally:
        done.set()
        reader.join()
    assert seen <= {OLD, NEW}
