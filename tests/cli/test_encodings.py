"""Whatever a text holds and whatever stdout can encode: it is printed, escaped where it must be."""

from __future__ import annotations

import pytest
from support.commands import Taskie

from pytest_taskie import Plan, Project

pytestmark = pytest.mark.state


@pytest.mark.parametrize(
    ("encoding", "printed"),
    [("utf-8", "é…\\ud800\n"), ("latin-1", "\ufffd\\u2026\\ud800\n"), ("ascii", "\\xe9\\u2026\\ud800\n")],
)
def test_a_text_that_stdout_cannot_encode(
    project: Project, plan: Plan, taskie: Taskie, encoding: str, printed: str
) -> None:
    plan.state.write(note="é…\ud800")
    project.env["PYTHONIOENCODING"] = encoding
    done = taskie("state", "get", "-r", ".note", process=True)
    assert (done.code, done.err) == (0, "")
    assert done.out == printed


@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_a_locale_without_letters(project: Project, plan: Plan, taskie: Taskie, locale: str) -> None:
    plan.state.write(note="é\ud800")
    project.env.update(LC_ALL=locale, PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    done = taskie("state", "get", "-r", ".note", process=True)
    assert (done.code, done.err) == (0, "")
    assert "\\ud800" in done.out


@pytest.mark.parametrize("command", ["gauntlet", "claudex", "autopilot", ""])
def test_a_directory_that_no_disk_has(project: Project, plan: Plan, taskie: Taskie, command: str) -> None:
    words = [command, "stop-hook"] if command else ["stop-hook", "--fail-open"]
    done = taskie(*words, stdin='{"cwd": "\\ud800", "stop_hook_active": false}', process=True)
    assert done.code == 0
    assert "Traceback" not in done.err
