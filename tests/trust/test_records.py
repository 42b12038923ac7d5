"""The file that says what is trusted: how it is kept, and that one that cannot be believed counts for nothing."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Callable

import pytest

from .checkouts import Checkout, check

ASKED = "you have not trusted"


@pytest.fixture
def record(clone: Checkout) -> Path:
    """What the user's own word has made."""
    clone.trust()
    clone.message()
    assert clone.ran == ["one"]
    clone.write("changed", "")
    return clone.records[0]


def test_it_is_the_users_alone(record: Path, clone: Checkout) -> None:
    assert stat.S_IMODE(record.stat().st_mode) == 0o600
    assert stat.S_IMODE(record.parent.stat().st_mode) == 0o700
    assert [each.name for each in record.parent.iterdir()] == [record.name]
    content = json.loads(record.read_text())
    assert content["root"] == str(clone.path)
    assert list(content["engines"]) == ["gauntlet"]
    assert "command" not in record.read_text()


def is_a_link(record: Path) -> str:
    record.rename(record.parent / "aside")
    record.symlink_to("aside")
    return "is a symbolic link"


def is_writable_by_all(record: Path) -> str:
    record.chmod(0o666)
    return "can be written by others"


def is_in_a_directory_that_is_writable_by_all(record: Path) -> str:
    record.parent.chmod(0o777)
    return "can be written by others"


def is_anothers(record: Path) -> str:
    if os.geteuid():
        pytest.skip("only root can give a file away")
    os.chown(record, 12345, 12345)
    return "is not yours"


def is_a_directory(record: Path) -> str:
    record.unlink()
    record.mkdir()
    return "is not a regular file"


def is_a_pipe(record: Path) -> str:
    record.unlink()
    os.mkfifo(record, 0o600)
    return "is not a regular file"


def is_huge(record: Path) -> str:
    with record.open("r+b") as file:
        file.truncate(100 << 20)
    return "is larger than 1 MB"


def is_cut_off(record: Path) -> str:
    os.truncate(record, record.stat().st_size // 2)
    return "is spoiled"


def is_empty(record: Path) -> str:
    os.truncate(record, 0)
    return "is spoiled"


def is_a_list(record: Path) -> str:
    record.write_text("[1]")
    return "is spoiled"


def is_of_another_root(record: Path) -> str:
    record.write_text(record.read_text().replace("clone", "other"))
    return "is spoiled"


def has_other_types(record: Path) -> str:
    record.write_text(json.dumps({**json.loads(record.read_text()), "engines": {"gauntlet": 7}}))
    return "is spoiled"


def is_not_text(record: Path) -> str:
    record.write_bytes(b"\xff\xfe\0")
    return "is spoiled"


def is_deep(record: Path) -> str:
    record.write_text("[" * 100_000)
    return "is spoiled"


BAD = [
    is_a_link, is_writable_by_all, is_in_a_directory_that_is_writable_by_all, is_anothers, is_a_directory, is_a_pipe,
    is_huge, is_cut_off, is_empty, is_a_list, is_of_another_root, has_other_types, is_not_text, is_deep,
]  # fmt: skip


@pytest.mark.parametrize("spoil", BAD, ids=lambda spoil: spoil.__name__)
def test_one_that_cannot_be_believed(spoil: Callable[[Path], str], record: Path, clone: Checkout) -> None:
    why = spoil(record)
    result = clone.stop()
    assert not result.continues
    assert result.stderr == ""
    told = str(result.system_message)
    assert ASKED in told
    assert why in told
    assert "\n" not in told
    assert clone.ran == []
    assert why in clone.taskie("trust", "--show").out
    assert clone.taskie("trust", "--list").code == 0


def test_where_nothing_can_be_written(clone: Checkout, tmp_path: Path) -> None:
    """A file where the directory should be: it is asked all the same, without a word."""
    (tmp_path / "config").write_text("")
    told = clone.message(XDG_CONFIG_HOME=str(tmp_path / "config"))
    assert ASKED in told
    assert "/taskie:trust" not in told
    assert clone.ran == []


def test_a_relative_configuration_directory(clone: Checkout) -> None:
    told = clone.message(XDG_CONFIG_HOME="config")
    assert ASKED in told
    assert "no home directory" in told


def test_it_does_not_grow(record: Path, clone: Checkout) -> None:
    content = json.loads(record.read_text())
    content["engines"]["gauntlet"][:0] = [f"{number:040x}" for number in range(5000)]
    record.write_text(json.dumps(content))
    record.chmod(0o600)
    clone.write(".gauntlet/checks/test.yml", check("two"))
    clone.message()
    assert clone.ran == ["two"]
    assert len(json.loads(record.read_text())["engines"]["gauntlet"]) < 300
