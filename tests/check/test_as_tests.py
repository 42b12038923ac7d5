"""`pytest --taskie-check PATH`: a test for each hook and rule."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_taskie.check._rules import RULES

HOOKS = {
    "Stop": [{"hooks": [{"type": "command", "command": 'echo \'{"decision": "block"}\''}]}],
    "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "exit 0"}]}],
}
FEW = "block-without-reason or crash or configuration"


@pytest.fixture
def project(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_taskie")
    pytester.mkdir("hooks").joinpath("hooks.json").write_text(json.dumps({"hooks": HOOKS}))
    pytester.makepyfile("def test_of_the_project(): pass")
    return pytester


def test_one_for_each_hook_and_rule(project: pytest.Pytester) -> None:
    listed = project.runpytest("--taskie-check", ".", "--collect-only", "-q").outlines
    tests = [line for line in listed if "::" in line]
    assert len(tests) == 2 * (len(RULES) - 1)
    assert sum(line.endswith("::block-without-reason") for line in tests) == 2


def test_they_can_be_selected_and_fail_with_the_finding(project: pytest.Pytester) -> None:
    result = project.runpytest("--taskie-check", ".", "-k", FEW)
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["warning: block-without-reason: a block without a reason*", "see it: taskie try *"])


def test_beside_the_projects_own(project: pytest.Pytester) -> None:
    words = ["--taskie-check", "hooks/hooks.json", "-k", "of_the_project or grants"]
    project.runpytest("test_beside_the_projects_own.py", *words).assert_outcomes(passed=3)
    project.runpytest(*words).assert_outcomes(passed=2)


def test_in_parallel(project: pytest.Pytester) -> None:
    project.runpytest_subprocess("--taskie-check", ".", "-k", FEW, "-n", "2").assert_outcomes(passed=3, failed=1)


def test_what_is_off_is_skipped_with_its_reason(project: pytest.Pytester) -> None:
    project.makepyprojecttoml('[tool.taskie.check.off]\nblock-without-reason = "a demonstration"\n')
    result = project.runpytest("--taskie-check", ".", "-k", FEW, "-rs")
    result.assert_outcomes(passed=2, skipped=2)
    result.stdout.fnmatch_lines(["*off: a demonstration*"])


def test_a_hook_that_cannot_be_run_fails(project: pytest.Pytester) -> None:
    hooks = {"Stop": [{"hooks": [{"type": "command", "command": "no-such-program"}]}]}
    Path("hooks/hooks.json").write_text(json.dumps({"hooks": hooks}))
    result = project.runpytest("--taskie-check", ".", "-k", "crash")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*was not run: it needs the program no-such-program*"])


def test_a_file_that_cannot_be_read_is_a_failure(project: pytest.Pytester) -> None:
    Path("hooks/hooks.json").write_text("{")
    result = project.runpytest("--taskie-check", ".")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["error: configuration: *is not JSON*"])


def test_a_path_that_is_not_there(project: pytest.Pytester) -> None:
    result = project.runpytest("--taskie-check", "nowhere")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--taskie-check: *nowhere is not there*"])
