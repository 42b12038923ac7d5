"""What a disk does not give for a moment is neither new nor trusted: it is said, and nothing is run or written down."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest
from support.faulty import Faulty

from .checkouts import Checkout

EIO = errno.EIO


def records(clone: Checkout) -> dict[str, bytes]:
    folder = Path(clone.env["HOME"], ".config", "taskie", "trusted")
    return {path.name: path.read_bytes() for path in folder.glob("*.json")}


@pytest.mark.parametrize("call", ["open", "read"])
@pytest.mark.parametrize("name", [".gauntlet/config.yml", ".gauntlet/checks/test.yml", "tool.sh"])
def test_gates(clone: Checkout, faulty: Faulty, name: str, call: str) -> None:
    clone.write("tool.sh", "#!/bin/sh\necho tool >>ran\n", 0o755)
    clone.write(".gauntlet/checks/test.yml", '{"command": "./tool.sh"}')
    clone.trust()
    clone.write("work.txt", "work\n")
    before = records(clone)
    said = clone.message(**faulty(f"{call}={EIO}@/{name}#1"))
    assert f"{name.rpartition('/')[2]} cannot be read (Input/output error)" in said
    assert "you have not trusted" not in said
    assert clone.ran == []
    assert records(clone) == before
    assert "Status: Passed" in clone.message()
    assert clone.ran == ["tool"]


@pytest.mark.parametrize(
    "fault", ["list={}@/.gauntlet/checks#1", *(f"stat={{}}@/tool.sh#{number}" for number in (1, 3))]
)
def test_what_cannot_be_seen_is_not_taken_for_missing(clone: Checkout, faulty: Faulty, fault: str) -> None:
    """Else a program that nobody has trusted would be run."""
    clone.write("tool.sh", "#!/bin/sh\necho tool >>ran\n", 0o755)
    clone.write(".gauntlet/checks/test.yml", '{"command": "./tool.sh"}')
    clone.trust()
    clone.commit("tool.sh", "#!/bin/sh\necho another >>ran\n")
    clone.path.joinpath("tool.sh").chmod(0o755)
    clone.write("work.txt", "work\n")
    said = clone.message(**faulty(fault.format(EIO)))
    assert "cannot be read (Input/output error)" in said
    assert clone.ran == []


@pytest.mark.parametrize("call", ["open", "read"])
def test_loops(clone: Checkout, faulty: Faulty, call: str) -> None:
    shutil.rmtree(clone.path / ".gauntlet")
    assert clone.taskie("claudex", "start", "plan", "a topic").code == 0
    before = records(clone)
    assert before
    (state,) = (clone.path / ".claude" / "claudex").glob("*.state")
    said = clone.message(**faulty(f"{call}={EIO}@/{state.name}#1"))
    assert f"{state.name} cannot be read (Input/output error)" in said
    assert "you have not trusted" not in said
    assert records(clone) == before
    assert "a topic" in clone.stop().stdout


def test_a_loop_is_not_begun_beside_one_that_cannot_be_read(clone: Checkout, faulty: Faulty) -> None:
    """It would not be trusted, and nobody would know why."""
    shutil.rmtree(clone.path / ".gauntlet")
    start = ("claudex", "start", "plan", "a topic")
    assert clone.taskie(*start).code == 0
    assert clone.taskie("claudex", "cancel").code == 0
    (old,) = (clone.path / ".claude" / "claudex").glob("*.state")
    for number in range(1, 4):
        done = clone.taskie(*start, **faulty(f"read={EIO}@/{old.name}#{number}"))
        if done.code == 0:
            assert "a topic" in clone.stop().stdout
            assert clone.taskie("claudex", "cancel").code == 0
        else:
            assert f"{old.name} cannot be read (Input/output error)" in done.err
