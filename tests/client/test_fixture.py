"""The fixture itself: which client it takes, what it refuses, and how a test fails whose script was wrong."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Callable

import pytest

from pytest_taskie._contract import newest_measured
from pytest_taskie.client import ClaudeClient
from pytest_taskie.client._fixtures import installation
from pytest_taskie.client._installation import MANIFEST

from .test_isolation import alive, isolated

QUIET = ("-p", "no:randomly", "-p", "no:cacheprovider", "-p", "no:xdist")
USES = "def test_it(claude_client):\n    claude_client()\n"


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Callable[..., pytest.RunResult]:
    """Run one test with this plugin; in a process of its own where it changes the plugin."""
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_taskie")
    monkeypatch.setenv("XDG_CACHE_HOME", str(pytester.path / "cache"))
    monkeypatch.delenv("TASKIE_CLIENT", raising=False)

    def go(source: str, *arguments: str, alone: bool = False) -> pytest.RunResult:
        pytester.makepyfile(f"from pytest_taskie.client import *\n\n{source}")
        if alone:
            return pytester.runpytest_subprocess(*QUIET, *arguments, timeout=120)
        return pytester.runpytest_inprocess(*QUIET, *arguments)

    return go


@pytest.fixture
def program(pytester: pytest.Pytester) -> Callable[[str], str]:
    """A stand-in for the client: a shell script."""

    def write(body: str, name: str = "program") -> str:
        path = pytester.path / name
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)
        return str(path)

    return write


@pytest.fixture(scope="session")
def real(pytestconfig: pytest.Config) -> str:
    """The option that names the real client of this run; asked for before a test gets a home of its own."""
    client = installation("claude", pytestconfig)
    return f"--taskie-client={client.command[-1]}"


# Which client


def test_missing_is_skipped_with_the_command(inner: Callable[..., pytest.RunResult]) -> None:
    result = inner(USES, "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(
        ["*a real claude is not installed; `taskie client install claude` fetches it with npm*"]
    )


def test_missing_fails_where_it_is_required(inner: Callable[..., pytest.RunResult]) -> None:
    result = inner(USES, "--taskie-require-client")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*taskie client install claude*--taskie-require-client is given*"])


def test_a_version_that_is_not_there(inner: Callable[..., pytest.RunResult]) -> None:
    result = inner(USES, "--taskie-client=9.9.9", "-rs")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines(["*claude 9.9.9 is not installed; `taskie client install 9.9.9` fetches it*"])


def test_codex_has_its_own_command(inner: Callable[..., pytest.RunResult]) -> None:
    result = inner("def test_it(codex_client):\n    codex_client()\n", "-rs")
    result.stdout.fnmatch_lines(["*a real codex is not installed; `taskie client install codex` fetches it*"])


def test_never_from_path(
    inner: Callable[..., pytest.RunResult], program: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{Path(program('exit 0', 'claude')).parent}{os.pathsep}{os.environ['PATH']}")
    inner(USES).assert_outcomes(skipped=1)


@pytest.mark.parametrize("wrong", ["nonsense", "/no/such/program", "2.x", "claude@newish", "2..1"])
def test_an_option_that_names_nothing_fails(wrong: str, inner: Callable[..., pytest.RunResult]) -> None:
    result = inner(USES, f"--taskie-client={wrong}")
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines([f"*{wrong}*"])
    result.stdout.no_fnmatch_line("During handling of *")


@pytest.mark.parametrize("damage", ["a file in place of the folder", "a manifest that is none", "no program"])
def test_an_unreadable_cache_fails_and_says_so(
    damage: str, inner: Callable[..., pytest.RunResult], pytester: pytest.Pytester
) -> None:
    clients = pytester.path / "cache" / "taskie" / "clients"
    if damage.startswith("a file"):
        clients.mkdir(parents=True)
        (clients / "claude").write_text("")
    else:
        (clients / "claude" / "2.1.0").mkdir(parents=True)
        text = "{" if damage == "a manifest that is none" else '{"program": "gone"}'
        (clients / "claude" / "2.1.0" / MANIFEST).write_text(text)
    result = inner(USES)
    result.assert_outcomes(errors=1)
    says = "*XDG_CACHE_HOME*" if damage.startswith("a file") else "*taskie client install --force 2.1.0*"
    result.stdout.fnmatch_lines([says])


def test_the_newest_that_was_measured(inner: Callable[..., pytest.RunResult], pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ntaskie_client = claude@known")
    version = newest_measured("claude")
    inner(USES, "-rs").stdout.fnmatch_lines([f"*claude {version} is not installed; `taskie client install {version}`*"])


@isolated
def test_the_option_beats_the_variable_and_the_variable_the_ini(
    inner: Callable[..., pytest.RunResult],
    program: Callable[..., str],
    monkeypatch: pytest.MonkeyPatch,
    pytester: pytest.Pytester,
) -> None:
    pytester.makeini(f"[pytest]\ntaskie_client = {program('echo ini', 'zero')} codex@known")
    source = "def test_it(claude_client):\n    print(claude_client().command().stdout)\n"
    inner(source, "-s").stdout.fnmatch_lines(["*ini*"])
    monkeypatch.setenv("TASKIE_CLIENT", program("echo variable", "one"))
    inner(source, "-s").stdout.fnmatch_lines(["*variable*"])
    inner(source, "-s", f"--taskie-client={program('echo option', 'two')}").stdout.fnmatch_lines(["*option*"])


def test_no_namespace_no_client(
    inner: Callable[..., pytest.RunResult], program: Callable[..., str], pytester: pytest.Pytester
) -> None:
    pytester.makeconftest(
        "from pytest_taskie.client import _isolation as isolation\n"
        "def refuse():\n    raise isolation._refusal('user namespaces are switched off')\n"
        "isolation.probe = refuse\n"
    )
    source = "def test_it(claude_client):\n    assert claude_client().command().stdout == 'ran\\n'\n"
    client = f"--taskie-client={program('echo ran')}"
    result = inner(source, client, alone=True)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(["*none can be made here: user namespaces are switched off. --taskie-client-network*"])
    inner(source, client, "--taskie-client-network", alone=True).assert_outcomes(passed=1)


# A client that misbehaves


@isolated
def test_a_client_that_crashes(inner: Callable[..., pytest.RunResult], program: Callable[..., str]) -> None:
    source = """
def test_it(claude_client):
    client = claude_client()
    client.agent("Done.")
    run = client.prompt("go on")
    assert (run.exit_code, run.stderr, run.result, run.stops) == (3, "boom\\n", {}, ())
"""
    result = inner(source, f"--taskie-client={program('echo boom >&2; exit 3')}")
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*never fetched from the agent*", "*Done.*", "*its last request: there was none*"])


@isolated
@pytest.mark.parametrize(
    "call", ['claude_client(timeout=2).prompt("go on")', 'claude_client().prompt("go on", timeout=2)']
)
def test_a_client_that_hangs(
    call: str, inner: Callable[..., pytest.RunResult], program: Callable[..., str], tmp_path: Path
) -> None:
    source = f"""
def test_it(claude_client):
    run = {call}
    assert run.timed_out
    assert run.duration < 10
"""
    result = inner(
        source, f"--taskie-client={program(f'sleep 100 & echo $! > {tmp_path}/pid; echo waiting >&2; wait')}"
    )
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*did not end within 2 seconds and was killed*waiting*"])
    assert not alive(int((tmp_path / "pid").read_text()))


SPIED = """
import json, os, subprocess
print(json.dumps({"type": "system", "session_id": "ours"}))
with open(os.path.expanduser("~/.claude/settings.json")) as file:
    (group,) = json.load(file)["hooks"]["Stop"]
for session in ("theirs", "ours"):
    event = json.dumps({"session_id": session, "hook_event_name": "Stop", "stop_hook_active": session == "ours"})
    subprocess.run(group["hooks"][0]["command"], shell=True, input=event, text=True)
"""


@isolated
def test_the_stops_of_a_client_that_a_hook_started_are_not_those_of_the_run(
    inner: Callable[..., pytest.RunResult], program: Callable[..., str], pytester: pytest.Pytester
) -> None:
    """It has the same home, and so the same hooks: the one that records the events as well."""
    (pytester.path / "spied.py").write_text(SPIED)
    source = """
def test_it(claude_client):
    (stop,) = claude_client().prompt("go on").stops
    assert stop.stdin["session_id"] == "ours"
    assert stop.active
"""
    client = program(f"exec {sys.executable} {pytester.path}/spied.py")
    inner(source, f"--taskie-client={client}").assert_outcomes(passed=1)


def test_a_client_comes_from_its_fixture() -> None:
    with pytest.raises(TypeError, match="ClaudeClient needs a project and a program: take it from its fixture"):
        ClaudeClient()


# A script that is wrong


@pytest.mark.client
@isolated
@pytest.mark.parametrize(
    ("turns", "says"),
    [
        ('"Done.", "never"', ["*never fetched from the agent:*", "*never*"]),
        ('tool("Bash", command="true", description="x")', ["*unscripted request: the agent has no turn left after 1*"]),
    ],
    ids=["too many turns", "too few turns"],
)
def test_a_script_of_the_wrong_length(
    turns: str, says: list[str], inner: Callable[..., pytest.RunResult], real: str
) -> None:
    source = f"""
def test_it(claude_client):
    client = claude_client()
    client.agent({turns})
    client.prompt("go on")
"""
    result = inner(source, real)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(["*the script and the client did not agree*When the script is wrong*", *says])


@pytest.mark.client
@isolated
def test_a_conversation_that_nobody_scripted(inner: Callable[..., pytest.RunResult], real: str) -> None:
    source = """
def test_it(claude_client):
    client = claude_client()
    client.agent("Reviewed.", when="reviewer")
    assert client.prompt("go on").exit_code == 1
"""
    result = inner(source, real)
    result.assert_outcomes(passed=1, errors=1)
    result.stdout.fnmatch_lines(
        ["*no agent takes this conversation*", "*prompt='go on'*", "*never fetched from*reviewer*"]
    )


@pytest.mark.client
@isolated
def test_a_test_that_is_right(inner: Callable[..., pytest.RunResult], real: str) -> None:
    source = """
def test_it(claude_client):
    client = claude_client()
    client.agent("Done.")
    run = client.prompt("go on")
    assert run.answer == "Done."
    assert run.duration < 20
"""
    inner(source, real, "-W", "error").assert_outcomes(passed=1)
