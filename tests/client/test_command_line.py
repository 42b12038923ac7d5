"""`taskie client`: what it prints, and its exit codes. npm and the suite are stand-ins."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Callable

import pytest

from pytest_taskie.client.installation import MANIFEST, NoSuchVersion
from taskie import client


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Put a client into an otherwise empty cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def put(version: str, kind: str = "claude") -> Path:
        folder = tmp_path / "taskie" / "clients" / kind / version
        folder.mkdir(parents=True)
        (folder / kind).write_text("#!/bin/sh\n")
        (folder / kind).chmod(0o755)
        (folder / MANIFEST).write_text(json.dumps({"program": kind}))
        return folder / kind

    return put


SUITE = """
import pytest

@pytest.mark.parametrize("row", ["same", "differs"])
def test_row(row, record_property, pytestconfig):
    (version,) = pytestconfig.getoption("--taskie-client")
    record_property(f"contract: {row}", version if row == "differs" else "yes")
    assert row == "same" or version != "2.0.0" or not FAILS

def test_none(): pytest.skip("no such thing")

pytestmark = pytest.mark.client
FAILS = """


@pytest.fixture
def suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[bool], None]:
    """A contract suite of three tests, in which every version is another."""
    monkeypatch.setattr(client, "SUITE", tmp_path / "repo" / "tests" / "client")
    monkeypatch.setattr(client, "CONTRACT", ("rows",))
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_taskie")

    def write(fails: bool) -> None:
        client.SUITE.mkdir(parents=True)
        (client.SUITE / "test_rows.py").write_text(SUITE + repr(fails))

    return write


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    assert client.main(["--help"]) == 0
    said = capsys.readouterr().out
    assert "taskie client install 2.1.197" in said
    assert "taskie client check" in said


@pytest.mark.parametrize("argv", [[], ["nonsense"], ["list", "--nonsense"], ["check", "--jobs", "many"]])
def test_usage(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert client.main(argv) == 2
    assert "usage: taskie client" in capsys.readouterr().err


def test_list(cached: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert client.main(["list"]) == 0
    assert "`taskie client install` fetches the newest Claude Code" in capsys.readouterr().out
    programs = [cached("2.1.9"), cached("2.1.10"), cached("0.1.0", "codex")]
    assert client.main(["list"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["claude", "2.1.10", str(programs[1])],
        ["claude", "2.1.9", str(programs[0])],
        ["codex", "0.1.0", str(programs[2])],
    ]


def test_list_of_a_damaged_cache(cached: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    (cached("2.1.9").parent / MANIFEST).write_text("{")
    assert client.main(["list"]) == 1
    assert "install --force 2.1.9" in capsys.readouterr().err


def test_install(
    cached: Callable[..., Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = cached("2.1.9")
    assert client.main(["install", "2.1.9"]) == 0
    assert capsys.readouterr().out == f"claude 2.1.9: {program}\n"

    def unknown(*arguments: str) -> str:
        raise NoSuchVersion("npm says no")

    monkeypatch.setattr("pytest_taskie.client.installation._npm", unknown)
    assert client.main(["install", "9.9.9", "nonsense", "2.1.9"]) == 1
    said = capsys.readouterr()
    assert "npm has no claude 9.9.9" in said.err
    assert "'nonsense' names no client" in said.err
    assert "claude 2.1.9" in said.out


def test_check_prints_what_differs(
    cached: Callable[..., Path], suite: Callable[[bool], None], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cached("2.0.0")
    cached("2.1.0")
    suite(False)
    page = tmp_path / "page.md"
    assert client.main(["check", "--jobs", "1", "--markdown", str(page)]) == 0
    said = capsys.readouterr().out
    assert said.splitlines() == [
        "| contract suite | 2.1.0 | 2.0.0 |",
        "| --- | --- | --- |",
        "| passed | 2 | 2 |",
        "| failed | 0 | 0 |",
        "| does not apply | 1 | 1 |",
        "",
        "| what differs | 2.1.0 | 2.0.0 |",
        "| --- | --- | --- |",
        "| differs | 2.1.0 | 2.0.0 |",
        "",
        "1 rows are the same in all of them.",
    ]
    assert said in page.read_text()


def test_check_fails_with_the_suite(
    cached: Callable[..., Path], suite: Callable[[bool], None], capsys: pytest.CaptureFixture[str]
) -> None:
    cached("2.0.0")
    suite(True)
    assert client.main(["check", "2.0.0", "--jobs", "1"]) == 1
    said = capsys.readouterr()
    assert "test_row[differs]" in said.err
    assert "| failed | 1 |" in said.out


def test_check_needs_something_to_check(
    cached: Callable[..., Path], suite: Callable[[bool], None], capsys: pytest.CaptureFixture[str]
) -> None:
    assert client.main(["check"]) == 1
    assert "clone of Taskie's repository" in capsys.readouterr().err
    suite(False)
    for argv, says in (
        ([], "no version is installed"),
        (["2.1.0"], "is not installed"),
        (["codex"], "about Claude Code"),
    ):
        assert client.main(["check", *argv]) == 1
        assert says in capsys.readouterr().err


def test_a_suite_that_does_not_run(
    cached: Callable[..., Path],
    suite: Callable[[bool], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cached("2.0.0")
    suite(False)
    monkeypatch.setattr(client, "CHECK_TIMEOUT", 0.05)
    assert client.main(["check", "--jobs", "1"]) == 1
    assert "the contract suite did not run" in capsys.readouterr().err
