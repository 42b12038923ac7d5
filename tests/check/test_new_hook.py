"""`taskie new-hook`: what it writes passes its own test and `taskie check`."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_taskie.check import new_hook
from pytest_taskie.check._checking import check
from pytest_taskie.check._room import Ground
from pytest_taskie.check._settings import Settings
from pytest_taskie.check._subjects import read
from taskie import cli

EVERY = [(event, language) for event in new_hook.EVENTS for language in new_hook.PROGRAMS]


@pytest.mark.parametrize(("event", "language"), EVERY)
def test_it_passes_the_check(event: str, language: str, tmp_path: Path, the_ground: Ground) -> None:
    assert new_hook.main([event, "--lang", language, str(tmp_path / "new")]) == 0
    subjects, problems = read(str(tmp_path / "new"))
    seeds = {"stop.*": "touch FAILING"}
    report = check(subjects, problems, the_ground, Settings(seeds=seeds))
    assert [f"{one.rule}: {one.message}" for one in report.findings] == []
    assert (report.code, report.notes, report.checked) == (0, [], 1)


@pytest.mark.parametrize(("event", "language"), EVERY)
def test_its_test_passes_and_can_fail(event: str, language: str, pytester: pytest.Pytester) -> None:
    assert new_hook.main([event, "--lang", language, str(pytester.path)]) == 0
    pytester.runpytest_subprocess("tests", "-p", "no:randomly").assert_outcomes(passed=3 if event == "stop" else 2)
    (script,) = (file for file in (pytester.path / "hooks").iterdir() if file.suffix != ".json")
    script.write_text("")
    outcome = pytester.runpytest_subprocess("tests", "-p", "no:randomly")
    assert outcome.parseoutcomes()["failed"] == 1


def test_what_is_there_is_left_as_it_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "hooks.json").write_text("mine")
    assert cli.main(["new-hook", "stop", str(tmp_path)]) == 1
    assert "hooks.json is there already; nothing was written" in capsys.readouterr().err
    assert [file.name for file in tmp_path.rglob("*") if file.is_file()] == ["hooks.json"]
    assert (tmp_path / "hooks" / "hooks.json").read_text() == "mine"


def test_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert new_hook.main(["stopp"]) == 2
    assert new_hook.main(["stop", "--lang", "cobol"]) == 2
    capsys.readouterr()
    assert new_hook.main(["--help"]) == 0
    assert "exit codes:" in capsys.readouterr().out
