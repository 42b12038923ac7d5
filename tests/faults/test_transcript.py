"""A transcript that is not what it should be: the loop is as it would be without one, and the stop never hangs."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import pytest

from faults.conftest import CheckedHook
from pytest_taskie import Events, FakeCli, Plan, Project, assert_approved, assert_blocked
from taskie import transcript

pytestmark = pytest.mark.state

LINE = json.dumps({"type": "assistant", "message": {"role": "assistant", "content": "Done. " * 1500}}) + "\n"
LAST = json.dumps({"type": "assistant", "message": {"role": "assistant", "content": "Done."}}) + "\n"
CALL = {"type": "tool_use", "name": "Edit", "input": {"file_path": ".taskie/plans/test-plan/plan.md"}}
DID = json.dumps({"type": "assistant", "message": {"role": "assistant", "content": [CALL]}}) + "\n"
SOON = 10.0  # seconds for a whole stop on a machine that is busy; reading may take 2 of them


def _large(path: Path, megabytes: int, first: str = "") -> None:
    with path.open("w") as file:
        file.write(first)
        block = LINE * 100
        for _ in range((megabytes << 20) // len(block)):
            file.write(block)
        file.write(LAST)


def _sparse(path: Path) -> None:
    path.touch()
    os.truncate(path, 200 << 20)


def _none(path: Path) -> None:
    pass


UNKNOWN: dict[str, Callable[[Path], object]] = {
    "missing": _none,
    "empty": lambda path: path.write_text(""),
    "a directory": lambda path: path.mkdir(),
    "a FIFO": lambda path: os.mkfifo(path),
    "a dangling link": lambda path: path.symlink_to("nowhere"),
    "a link to itself": lambda path: path.symlink_to(path),
    "a device": lambda path: path.symlink_to("/dev/zero"),
    "binary": lambda path: path.write_bytes(os.urandom(1 << 20)),
    "200 MB without a line": _sparse,
    "text": lambda path: path.write_text("What does this do?\n" * 100),
    "JSON, not messages": lambda path: path.write_text('{"role": 1}\n["role"]\n"role"\n{"type": "user"}\n'),
    "wrong types": lambda path: path.write_text('{"type": "user", "message": "role"}\n' * 3),
    "nested too deeply": lambda path: path.write_text('{"role":' * 10_000 + "\n"),
    "a line over the limit": lambda path: path.write_text(LINE + "x" * (17 << 20) + "\n" + LINE),
}


@pytest.fixture
def due(project: Project, plan: Plan) -> Plan:
    plan.state.write()
    project.transcript.unlink()
    return plan


@pytest.mark.parametrize("make", UNKNOWN.values(), ids=list(UNKNOWN))
def test_unknown(
    make: Callable[[Path], object], checked_hook: CheckedHook, project: Project, due: Plan, fake_claude: FakeCli
) -> None:
    fake_claude.reviews("FAIL")
    make(project.transcript)
    begun = time.monotonic()
    assert_blocked(checked_hook(process=make in (UNKNOWN["a FIFO"], UNKNOWN["a device"])))
    assert time.monotonic() - begun < SOON
    assert len(fake_claude.calls) == 1


@pytest.mark.parametrize("path", [None, 5, "", "a\0b", "relative.jsonl", "\ud800", ["x"]])
def test_a_path_that_is_none(
    path: object, checked_hook: CheckedHook, events: Events, due: Plan, fake_claude: FakeCli
) -> None:
    fake_claude.reviews("FAIL")
    assert_blocked(checked_hook(stdin=json.dumps({**events.stop(), "transcript_path": path})))


@pytest.mark.parametrize("did", [False, True])
def test_200_mb(
    did: bool,
    checked_hook: CheckedHook,
    project: Project,
    due: Plan,
    fake_claude: FakeCli,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However long the machine takes for it: that its time is bounded is another test, `test_no_time_left`."""
    fake_claude.reviews("FAIL").repeats()
    monkeypatch.setattr(transcript.acts, "__defaults__", (3600.0,))
    _large(project.transcript, 200, DID if did else "")
    read = []
    pread = os.pread
    monkeypatch.setattr(os, "pread", lambda fd, size, at: read.append(size) or pread(fd, size, at))  # type: ignore[func-returns-value]
    result = checked_hook()
    if did:
        assert_blocked(result)
    else:
        assert_approved(result, "^A plan review is due in ")
        assert fake_claude.calls == []
    size = project.transcript.stat().st_size
    assert size <= sum(read) < size + (32 << 20), "once, and its end once more"
    assert max(read) == transcript.PIECE


def test_a_link_to_one(
    checked_hook: CheckedHook, project: Project, due: Plan, tmp_path: Path, fake_claude: FakeCli
) -> None:
    (tmp_path / "elsewhere").write_text(LAST)
    project.transcript.symlink_to(tmp_path / "elsewhere")
    assert_approved(checked_hook(), "^A plan review is due in ")


@pytest.mark.parametrize("kind", ["binary", "half a line"])
def test_what_else_is_in_it_does_not_matter(
    kind: str, checked_hook: CheckedHook, project: Project, due: Plan, fake_claude: FakeCli
) -> None:
    fake_claude.reviews("FAIL")
    rubbish = os.urandom(50_000).replace(b"taskie", b"") if kind == "binary" else DID.encode()[:-40]
    project.transcript.write_bytes(LAST.encode() + rubbish)
    assert_approved(checked_hook(), "^A plan review is due in ")
    project.transcript.write_bytes(DID.encode() + LAST.encode() + rubbish)
    assert_blocked(checked_hook())


class TestWhileItIsRead:
    """It is read in pieces: what happens between two of them can be arranged without a race."""

    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        path = tmp_path / "transcript.jsonl"
        _large(path, 5, DID)
        with path.open("a") as file:
            file.write(DID)
        return path

    @pytest.fixture
    def reading(self, path: Path) -> Iterator[transcript.Act]:
        """Begun, so that the last piece is read and the first is not."""
        reading = transcript.acts(str(path), "taskie")
        assert "test-plan" in next(reading).text
        return reading

    def test_gone(self, path: Path, reading: Iterator[transcript.Act]) -> None:
        path.unlink()
        assert len(list(reading)) == 1

    def test_cut(self, path: Path, reading: Iterator[transcript.Act]) -> None:
        os.truncate(path, 10)
        with pytest.raises(transcript.Unreadable):
            list(reading)

    def test_longer(self, path: Path, reading: Iterator[transcript.Act]) -> None:
        with path.open("a") as file:
            file.write(DID * 100)
        assert len(list(reading)) == 1

    def test_no_time_left(self, path: Path) -> None:
        with pytest.raises(transcript.Unreadable):
            list(transcript.acts(str(path), "taskie", patience=0))


@pytest.mark.parametrize("piece", [7, 64, 1 << 20])
def test_every_line_is_seen_once_wherever_the_pieces_end(
    piece: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(transcript, "PIECE", piece)
    path = tmp_path / "transcript.jsonl"
    names = [f".taskie/plans/{number}/plan.md" for number in range(50)]
    path.write_text("\n".join(DID.strip().replace(".taskie/plans/test-plan/plan.md", name) for name in names))
    assert [act.text for act in transcript.acts(str(path), "taskie")] == names[::-1]
