"""--taskie-hook and the ini setting taskie_hook."""

from __future__ import annotations

import pytest

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


def test_a_root_with_a_blank(pytester: pytest.Pytester) -> None:
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


def test_the_default_is_taskies_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_it(run_hook):
            result = run_hook()
            assert result.command.endswith("/hooks/stop-hook.sh")
            assert result == {"suppressOutput": True}
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)
