"""Only a regular file of a reasonable size is read; nothing hangs, nothing is followed."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from core.failing_os import FailingOs
from core.living import descriptors
from taskie import store


def test_content(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(b"x" * (3 << 20))
    assert store.read_regular(str(path)) == b"x" * (3 << 20)


def test_empty_is_not_missing(tmp_path: Path) -> None:
    (tmp_path / "state.json").touch()
    assert store.read_regular(str(tmp_path / "state.json")) == b""
    assert store.read_regular(str(tmp_path / "other.json")) is None


def test_link_is_refused_even_to_a_good_file(tmp_path: Path) -> None:
    (tmp_path / "good.json").write_bytes(b"{}")
    (tmp_path / "state.json").symlink_to("good.json")
    with pytest.raises(store.StoreError, match=r"^state\.json is a symbolic link$"):
        store.read_regular(str(tmp_path / "state.json"))


def test_dangling_link_is_not_missing(tmp_path: Path) -> None:
    (tmp_path / "state.json").symlink_to("nowhere")
    with pytest.raises(store.StoreError, match="is a symbolic link"):
        store.read_regular(str(tmp_path / "state.json"))


def test_directory(tmp_path: Path) -> None:
    (tmp_path / "state.json").mkdir()
    with pytest.raises(store.StoreError, match=r"^state\.json is not a regular file$"):
        store.read_regular(str(tmp_path / "state.json"))


def test_fifo_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "state.json")
    with pytest.raises(store.StoreError, match=r"^state\.json is not a regular file$"):
        store.read_regular(str(tmp_path / "state.json"))


def test_socket(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # a socket's path may have 100 characters only
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("state.json")
        with pytest.raises(store.StoreError, match=r"^state\.json cannot be read \("):
            store.read_regular("state.json")


def test_device() -> None:
    with pytest.raises(store.StoreError, match=r"^zero is not a regular file$"):
        store.read_regular("/dev/zero")


def test_limit(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    with path.open("wb") as file:
        file.truncate(store.MAX_STATE)
    assert len(store.read_regular(str(path)) or b"") == store.MAX_STATE
    with path.open("wb") as file:
        file.truncate(store.MAX_STATE + 1)
    with pytest.raises(store.StoreError, match=r"^state\.json is larger than 4 MB$"):
        store.read_regular(str(path))


def test_path_through_a_file(tmp_path: Path) -> None:
    (tmp_path / "plan").touch()
    with pytest.raises(store.StoreError, match=r"state\.json cannot be read \(Not a directory\)"):
        store.read_regular(str(tmp_path / "plan" / "state.json"))


def test_every_call_may_fail(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(b"{}")
    opened = descriptors()
    for at in range(1, 20):
        faulty = FailingOs(at, error=errno.EIO)
        with monkeypatch.context() as patch:
            patch.setattr(store, "os", faulty)
            outcome = _read(path)
        assert descriptors() == opened
        if not faulty.reached:
            assert outcome == b"{}"
            assert at > 4
            return
        assert outcome == "state.json cannot be read (Input/output error)" or faulty.calls[-1] == "close"
    pytest.fail("the run never completed")


def _read(path: Path) -> bytes | str | None:
    try:
        return store.read_regular(str(path))
    except (store.StoreError, OSError) as problem:
        return str(problem)
