"""`taskie client`: what it prints, and its exit codes. npm and the suite are stand-ins."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Callable

import pytest

from pytest_taskie import _contract
from pytest_taskie.client import command
from pytest_taskie.client._installation import MANIFEST, NoSuchVersion
from taskie import cli

from . import check

ROOT = Path(__file__).parents[2]


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
    monkeypatch.setattr(command, "_check", check.main)  # rather than a fresh copy of it, without these changes
    monkeypatch.setattr(check, "SUITE", tmp_path / "repo" / "tests" / "client")
    monkeypatch.setattr(check, "CONTRACT", ("rows",))
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_taskie")

    def write(fails: bool) -> None:
        check.SUITE.mkdir(parents=True, exist_ok=True)
        (check.SUITE / "test_rows.py").write_text(SUITE + repr(fails))

    return write


def test_help_teaches(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["--help"]) == 0
    said = capsys.readouterr().out
    assert "taskie client install 2.1.197" in said
    assert "taskie client check" in said


@pytest.mark.parametrize("argv", [[], ["nonsense"], ["list", "--nonsense"], ["check", "--jobs", "many"]])
def test_usage(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(argv) == 2
    assert "usage: taskie client" in capsys.readouterr().err


@pytest.mark.parametrize("argv", [["client", "list"], ["client", "--help"], ["client", "nonsense"]])
def test_taskie_has_the_command(
    argv: list[str], cached: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    """Through its entry point: `taskie` itself knows nothing of clients."""
    assert cli.main(argv) == command.main(argv[1:])
    said = capsys.readouterr()
    for text in (said.out, said.err):
        assert text[: len(text) // 2] == text[len(text) // 2 :]
    assert "taskie client install" in said.out or "usage: taskie client" in said.err


def test_taskie_without_an_installation_says_what_to_install() -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r}); from taskie import cli; sys.exit(cli.main(['client', 'list']))"
    )
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"pip install '{ROOT}'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_list(cached: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["list"]) == 0
    assert "`taskie client install` fetches the newest Claude Code" in capsys.readouterr().out
    programs = [cached("2.1.9"), cached("2.1.10"), cached("0.1.0", "codex")]
    assert command.main(["list"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines == [
        ["claude", "2.1.10", str(programs[1])],
        ["claude", "2.1.9", str(programs[0])],
        ["codex", "0.1.0", str(programs[2])],
    ]


def test_list_of_a_damaged_cache(cached: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    (cached("2.1.9").parent / MANIFEST).write_text("{")
    assert command.main(["list"]) == 1
    assert "install --force 2.1.9" in capsys.readouterr().err


def test_check_of_what_is_new(
    cached: Callable[..., Path],
    suite: Callable[[bool], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    suite(False)
    for version in ("2.1.0", "2.0.0"):
        cached(version)
    monkeypatch.setattr(check, "_drifted", lambda *_: False)
    monkeypatch.setattr(_contract, "measured", lambda client: ["2.0.0"])
    assert command.main(["check", "--new", "--jobs", "1"]) == 0
    assert "| contract suite | 2.1.0 |\n" in capsys.readouterr().out
    assert command.main(["check", "2.0.0", "--new"]) == 0
    assert capsys.readouterr().out == "The contract data were measured in every one of them.\n"


def test_install(
    cached: Callable[..., Path], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    program = cached("2.1.9")
    assert command.main(["install", "2.1.9"]) == 0
    assert capsys.readouterr().out == f"claude 2.1.9: {program}\n"

    def unknown(*arguments: str) -> str:
        raise NoSuchVersion("npm says no")

    monkeypatch.setattr("pytest_taskie.client._installation._npm", unknown)
    assert command.main(["install", "9.9.9", "nonsense", "2.1.9"]) == 1
    said = capsys.readouterr()
    assert "npm has no claude 9.9.9" in said.err
    assert "'nonsense' does not name a client" in said.err
    assert "claude 2.1.9" in said.out


def test_check_prints_what_differs(
    cached: Callable[..., Path], suite: Callable[[bool], None], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cached("2.0.0")
    cached("2.1.0")
    suite(False)
    page = tmp_path / "page.md"
    assert command.main(["check", "--jobs", "1", "--markdown", str(page)]) == 0
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
    written = page.read_text()
    assert "| contract suite | 2.1.0 | 2.0.0 |\n" in written
    assert "| differs | 2.1.0 | 2.0.0 |\n" in written


def test_check_runs_nothing_again_whose_results_are_kept(
    cached: Callable[..., Path], suite: Callable[[bool], None], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Only the files of --only: what the others did stays. Another version is run as ever."""
    cached("2.0.0")
    suite(False)
    check = ["check", "--jobs", "1", "--keep", str(tmp_path / "kept")]
    assert command.main(check) == 0
    passed = "| passed | 2 |\n"
    assert passed in capsys.readouterr().out
    suite(True)
    assert command.main(check) == 0
    said = capsys.readouterr()
    assert passed in said.out
    assert "kept: 2 passed" in said.err
    cached("2.1.0")
    assert command.main(check) == 0
    assert "claude 2.1.0 … 2 passed" in capsys.readouterr().err
    assert command.main([*check, "2.0.0", "--only", "rows"]) == 1
    assert "| failed | 1 |" in capsys.readouterr().out
    suite(False)
    assert command.main([*check, "2.0.0", "--only", "rows"]) == 0
    assert passed in capsys.readouterr().out


@pytest.mark.parametrize("option", ["--keep", "--markdown"])
def test_a_place_that_cannot_be_written_is_said_before_anything_runs(
    option: str, cached: Callable[..., Path], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cached("2.0.0")
    (tmp_path / "file").touch()
    assert command.main(["check", option, str(tmp_path / "file" / "x")]) == 1
    said = capsys.readouterr().err
    assert said.startswith(f"taskie client: {tmp_path / 'file' / 'x'} cannot be written: ")
    assert "claude 2.0.0" not in said


def test_results_that_are_none_are_named(
    cached: Callable[..., Path], suite: Callable[[bool], None], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cached("2.0.0")
    suite(False)
    (tmp_path / "2.0.0.xml").write_text("<testsuites")
    assert command.main(["check", "--keep", str(tmp_path)]) == 1
    assert "2.0.0.xml does not hold the results of a run" in capsys.readouterr().err
    assert (tmp_path / "2.0.0.xml").read_text() == "<testsuites"


def test_check_fails_with_the_suite(
    cached: Callable[..., Path], suite: Callable[[bool], None], capsys: pytest.CaptureFixture[str]
) -> None:
    cached("2.0.0")
    suite(True)
    assert command.main(["check", "2.0.0", "--jobs", "1"]) == 1
    said = capsys.readouterr()
    assert "test_row[differs]" in said.err
    assert "| failed | 1 |" in said.out


def test_check_needs_a_clone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(command, "CHECK", tmp_path / "check.py")
    assert command.main(["check"]) == 1
    assert "clone of Taskie's repository" in capsys.readouterr().err


def test_check_in_a_clone(cached: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["check", "codex@0.1.0"]) == 1
    assert "codex 0.1.0 is not installed" in capsys.readouterr().err


def test_check_needs_something_to_check(
    cached: Callable[..., Path], suite: Callable[[bool], None], capsys: pytest.CaptureFixture[str]
) -> None:
    suite(False)
    for argv, says in (
        ([], "no version is installed"),
        (["2.1.0"], "is not installed"),
        (["codex"], "a real codex is not installed"),
    ):
        assert command.main(["check", *argv]) == 1
        assert says in capsys.readouterr().err


def test_a_suite_that_does_not_run(
    cached: Callable[..., Path],
    suite: Callable[[bool], None],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cached("2.0.0")
    suite(False)
    monkeypatch.setattr(check, "CHECK_TIMEOUT", 0.05)
    assert command.main(["check", "--jobs", "1"]) == 1
    assert "the contract suite did not run" in capsys.readouterr().err
