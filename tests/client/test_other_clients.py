"""Five clients, one test: what a hook is told and what becomes of its answer, in each of them.

A start of some of them takes seconds of computing: a test asks for as much as it can in one.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie import Project
from pytest_taskie._judgement import judge
from pytest_taskie.client import ScriptedClient, repeat, shell, verdict
from pytest_taskie.client._kinds import KINDS

from .test_isolation import ALONE, LOOK, alive, isolated

pytestmark = [pytest.mark.client, isolated]
TESTS_FIRST = """\
#!/bin/sh
cat > /dev/null
echo looked >&2
[ -e FAILING ] && echo '{"decision": "block", "reason": "The tests fail: fix them."}'
exit 0
"""
MORE = "echo more please >&2; exit 2"
AnyClient = type[ScriptedClient]


def test_an_agent_goes_on_until_the_hook_is_content(any_client: AnyClient, project: Project, tmp_path: Path) -> None:
    (project.path / "FAILING").touch()
    (tmp_path / "tests first.sh").write_text(TESTS_FIRST)
    events = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"]
    hooks = {"Stop": f"sh {shlex.quote(str(tmp_path / 'tests first.sh'))}", **dict.fromkeys(events, "cat > /dev/null")}
    client = any_client(hooks=hooks)
    client.agent("All done!", shell("rm FAILING"), "Now it is done.")
    run = client.prompt("Write the feature.")

    assert [stop.decision for stop in run.stops] == ["block", None]
    assert (run.exit_code, run.answer) == (0, "Now it is done.")
    assert run.feedback[0].endswith("The tests fail: fix them.")
    assert run.requests[-1].prompt == "Write the feature."
    assert not (project.path / "FAILING").exists()
    assert run.transcript

    first, second = run.stops
    assert (first.exit_code, second.exit_code) == (0, 0)
    assert first.stdout is not None
    assert json.loads(first.stdout)["decision"] == "block"
    assert second.stdout == ""
    assert (first.stderr, second.stderr) == ("looked\n", "looked\n")
    assert first.stdin is not None
    assert (first.stdin["cwd"], first.active) == (str(project.path), False)
    assert [len(run.hooks(event)) for event in ("SessionStart", "PreToolUse", "PostToolUse")] == [1, 1, 1]
    told = [run.hooks(event)[0].stdin for event in events]
    assert [one["hook_event_name"] for one in told if one] == [any_client.events.get(name, name) for name in events]
    assert run.hooks("PreToolUse")[0].stdin["tool_input"]["command"] == "rm FAILING"  # type: ignore[index]
    assert run.hooks("UserPromptSubmit")[0].stdin["prompt"] == "Write the feature."  # type: ignore[index]


def test_nothing_leaves_the_machine_and_nothing_is_left(any_client: AnyClient, tmp_path: Path) -> None:
    """What the client's tools and its hooks can reach, and what a hook has left running in a session of its own; the
    hook ends with exit 2."""
    (tmp_path / "look.py").write_text(LOOK)
    look = f"{sys.executable} {tmp_path}/look.py"
    leave = f"setsid sh -c 'echo $$ > {tmp_path}/pid; exec sleep 600' > /dev/null 2>&1 < /dev/null &"
    looks = f"{look} > {tmp_path}/hook; {leave} while [ ! -s {tmp_path}/pid ]; do :; done"
    (tmp_path / "hook.sh").write_text(f"cat > /dev/null\n[ ! -e {tmp_path}/pid ] || exit 0\n{looks}\n{MORE}\n")
    client = any_client(hooks={"Stop": f"sh {tmp_path}/hook.sh"})
    client.agent(shell(look), repeat(verdict("PASS")))
    run = client.prompt("go on")
    assert (tmp_path / "hook").read_text().strip() == ALONE
    assert run.landed(ALONE), [request.last for request in run.requests]
    assert run.answer.endswith('{"verdict": "PASS"}')
    assert not alive(int((tmp_path / "pid").read_text()))

    reading = judge(2, "", "more please\n", client=client.installation.kind, version=client.version)
    assert (run.stops[0].decision == "block") is (reading.outcome == "blocked")
    assert (run.stops[0].exit_code, run.stops[0].stderr) == (2, "more please\n")
    assert len(run.feedback) == (reading.outcome == "blocked")
    assert all(text.strip().endswith("more please") for text in run.feedback)


def test_a_client_that_is_not_installed_is_named(pytester: pytest.Pytester, monkeypatch: Any) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(pytester.path / "cache"))
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_taskie")
    pytester.makepyfile("def test_one(any_client): raise AssertionError")
    skipped = pytester.runpytest_subprocess("-rs")
    skipped.assert_outcomes(skipped=len(KINDS))
    for kind in KINDS:
        skipped.stdout.fnmatch_lines([f"*a real {kind} is not installed; `taskie client install {kind}` fetches it*"])
    pytester.runpytest_subprocess("--taskie-require-client").assert_outcomes(errors=len(KINDS))
