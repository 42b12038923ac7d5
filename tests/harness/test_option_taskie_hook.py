"""--taskie-hook and the ini setting taskie_hook."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_taskie import RunHook

ROOT = Path(__file__).parents[2]
TEST = """
from pytest_taskie import assert_blocked

def test_it(run_hook):
    assert_blocked(run_hook(), "^from the {}$")
"""


def hook(pytester: pytest.Pytester, name: str, where: str) -> None:
    path = pytester.path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"""#!/bin/sh\necho '{{"decision": "block", "reason": "from the {where}"}}'\n""")
    path.chmod(0o755)


def test_the_ini_file_names_a_hook_relative_to_the_root(pytester: pytest.Pytester) -> None:
    hook(pytester, "hooks/mine.sh", "ini file")
    pytester.makeini("[pytest]\ntaskie_hook = hooks/mine.sh\n")
    pytester.makepyfile(TEST.format("ini file"))
    pytester.runpytest().assert_outcomes(passed=1)


def test_the_command_line_wins(pytester: pytest.Pytester) -> None:
    hook(pytester, "hooks/mine.sh", "ini file")
    hook(pytester, "other.sh", "command line")
    pytester.makeini("[pytest]\ntaskie_hook = hooks/mine.sh\n")
    pytester.makepyfile(TEST.format("command line"))
    pytester.runpytest("--taskie-hook=sh other.sh").assert_outcomes(passed=1)


def test_the_command_of_a_plugins_hooks_json_works_as_it_is(pytester: pytest.Pytester) -> None:
    hook(pytester, "my hooks/mine.sh", "plugin")
    pytester.makeini("[pytest]\n")  # the root is here, whatever lies above
    pytester.makepyfile(TEST.format("plugin"))
    pytester.runpytest('--taskie-hook="${CLAUDE_PLUGIN_ROOT}/my hooks/mine.sh"').assert_outcomes(passed=1)


def test_a_root_with_a_space(pytester: pytest.Pytester) -> None:
    pytester.mkdir("a b")
    hook(pytester, "a b/mine.sh", "root")
    pytester.path.joinpath("a b", "pytest.ini").write_text("[pytest]\ntaskie_hook = sh mine.sh\n")
    pytester.path.joinpath("a b", "test_it.py").write_text(TEST.format("root"))
    pytester.runpytest("a b").assert_outcomes(passed=1)


def test_it_is_a_command_for_the_shell(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(run_hook): assert run_hook().stdout == 'a\\nb\\n'")
    pytester.runpytest("--taskie-hook=echo a; echo b").assert_outcomes(passed=1)


def test_a_command_of_the_test_wins(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(run_hook): assert run_hook(command='echo mine').stdout == 'mine\\n'")
    pytester.runpytest("--taskie-hook=echo other").assert_outcomes(passed=1)


def test_a_command_of_the_test_is_taken_as_it_is(pytester: pytest.Pytester) -> None:
    """So a path that is relative to pytest's root leads nowhere: the command runs in the empty project."""
    hook(pytester, "mine.sh", "root")
    pytester.makepyfile(
        """
        def test_it(run_hook, pytestconfig, project):
            assert run_hook(command="sh mine.sh").exit_code != 0
            assert run_hook(command=f"sh '{pytestconfig.rootpath}/mine.sh'").blocked
            assert run_hook(command="pwd").stdout.strip() == str(project.path)
        """
    )
    pytester.makeini("[pytest]\n")
    pytester.runpytest().assert_outcomes(passed=1)


def test_taskie_tests_its_own_hook(run_hook: RunHook) -> None:
    result = run_hook()
    assert result.command == str(ROOT / "hooks" / "stop-hook.sh")
    assert result == {"suppressOutput": True}


# A hook of the project's own that no test should pass: it fails.
FAILS = """
from pytest_taskie import assert_approved

def test_it(run_hook, events):
    assert_approved(run_hook(events.stop(stop_hook_active=True)))
"""
WRITE = [
    "*[[]pytest[]]",
    "*taskie_hook = hooks/stop.sh",
    "*[[]tool.pytest.ini_options[]]",
    '*taskie_hook = "hooks/stop.sh"',
]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("pytest.ini", "[pytest]\n"),
        ("pytest.ini", "[pytest]\ntaskie_hook =\n"),
        ("pytest.ini", "[pytest]\ntaskie_hok = hooks/stop.sh\n"),
        ("tox.ini", "[pytest]\ntaskie-hook = hooks/stop.sh\n"),
        ("pyproject.toml", '[tool.pytest.ini_options]\ntakie_hook = "hooks/stop.sh"\n'),
    ],
)
def test_without_it_no_other_hook_is_run(pytester: pytest.Pytester, file: str, text: str) -> None:
    """The default would be somebody else's hook, and the test green."""
    pytester.path.joinpath(file).write_text(text)
    pytester.makepyfile(FAILS)
    # Old versions of pytest warn of an unknown setting, and pytest's own settings may make that an error.
    outcome = pytester.runpytest("-p", "no:randomly", "-W", "default")
    outcome.assert_outcomes(failed=1)
    outcome.stdout.fnmatch_lines(["*run_hook() does not know your hook: taskie_hook is not set*", *WRITE])
    outcome.stdout.no_fnmatch_line("*_running.py*")
    misspelt = [name for name in ("taskie_hok", "taskie-hook", "takie_hook") if name in text]
    # Where CI is set, pytest repeats the whole message in its summary.
    asked = dict.fromkeys(line for line in outcome.outlines if "is that meant to be taskie_hook?" in line)
    assert list(asked) == [f"{pytester.path / file} sets {name}: is that meant to be taskie_hook?" for name in misspelt]


def test_without_it_a_test_may_still_give_a_command(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(run_hook): assert run_hook(command='echo mine').stdout == 'mine\\n'")
    pytester.runpytest().assert_outcomes(passed=1)


def test_a_file_that_is_not_there_is_not_approved(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ntaskie_hook = hooks/stpo.sh\n")
    pytester.makepyfile(FAILS)
    outcome = pytester.runpytest()
    outcome.assert_outcomes(failed=1)
    outcome.stdout.fnmatch_lines(["*approved only by accident: exit code 127*"])


def test_blanks_are_not_a_command(pytester: pytest.Pytester) -> None:
    """The shell would run them, say nothing and exit 0: an approval by nobody."""
    pytester.makepyfile("def test_it(run_hook): run_hook()")
    result = pytester.runpytest("--taskie-hook= ")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*run_hook() does not know your hook*"])


def test_a_list_is_not_a_command(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml("[tool.pytest.ini_options]\ntaskie_hook = ['sh', 'mine.sh']")
    pytester.makepyfile("def test_it(run_hook): run_hook()")
    result = pytester.runpytest()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: taskie_hook must be a string, one shell command, not *'mine.sh'*"])
