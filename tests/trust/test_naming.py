"""Which programs of a project its commands name, however they are spelled, and what is on the way to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from taskie.naming import programs

SCRIPT = b"#!/bin/sh\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project with a program at several places, data beside it, and something outside."""
    root = tmp_path / "project"
    for name in ("run.sh", "ci/run.sh", "ci/deep/run.sh", "packages/one/run.sh", "with blank.sh"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(SCRIPT)
    (root / "data.txt").write_text("no program\n")
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "run.sh").write_bytes(SCRIPT)
    return root


def named(root: Path, *commands: str) -> list[str]:
    """The names alone, each with its link's target if it is one."""
    found = programs(str(root), [command.encode() for command in commands])
    return sorted(name if data == SCRIPT else f"{name} -> {data.decode()}" for name, data in found)


@pytest.mark.parametrize(
    ("command", "found"),
    [
        ("./run.sh", ["run.sh"]),
        ("sh run.sh -v", ["run.sh"]),
        ("command: 'with blank.sh' x", ["with blank.sh"]),
        ("x=$(./run.sh);(ci/run.sh)>data.txt", ["ci/run.sh", "run.sh"]),
        ("cd ci && ./run.sh", ["ci/run.sh", "run.sh"]),
        ("path: packages/*, command: ./run.sh", ["packages/one/run.sh", "run.sh"]),
        ("ci/../run.sh ./ci//run.sh", ["ci/run.sh", "run.sh"]),
        ("/bin/sh {root}/run.sh {root}/../outside/run.sh", ["run.sh"]),
        ("data.txt ../outside/run.sh no/such.sh", []),
    ],
)
def test_the_words_of_a_command(root: Path, command: str, found: list[str]) -> None:
    assert named(root, command.format(root=root)) == found


@pytest.mark.parametrize(
    ("links", "command", "found"),
    [
        ({"a": "run.sh"}, "./a", ["a -> run.sh", "run.sh"]),
        ({"a": "./b", "b": "ci/run.sh"}, "./a", ["a -> ./b", "b -> ci/run.sh", "ci/run.sh"]),
        ({"a": "ci/deep"}, "a/run.sh", ["a -> ci/deep", "ci/deep/run.sh"]),
        # As the system goes, and not as it reads: the directory above is that of the link's target.
        ({"a": "ci/deep"}, "a/../run.sh", ["a -> ci/deep", "ci/run.sh"]),
        ({"a": "{root}/ci"}, "a/run.sh", ["a -> {root}/ci", "ci/run.sh"]),
        ({"a": "../outside/run.sh"}, "./a", ["a", "a -> ../outside/run.sh"]),
        ({"a": "../outside", "../outside/b": "{root}/ci"}, "a/b/run.sh", ["a -> ../outside", "ci/run.sh"]),
        ({"a": "a", "b": "a/run.sh", "c": "gone"}, "a b c a/run.sh", []),
    ],
    ids=["file", "two", "directory", "above", "absolute", "outside", "there and back", "loop"],
)
def test_links_on_the_way(root: Path, links: dict[str, str], command: str, found: list[str]) -> None:
    for name, target in links.items():
        (root / name).symlink_to(target.format(root=root))
    assert named(root, command) == [each.format(root=root) for each in found]
