"""Whatever comes on stdin: exit 2 and a sentence for a script, exit 0 and a message for the client."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
from pathlib import Path

import pytest
from support import HOOK
from support.stopping import Stops

from faults.conftest import CheckedHook
from faults.snapshot import snapshot
from pytest_taskie import Events, HookResult, Plan, Project, RunHook, assert_approved
from taskie import hook

BAD = {
    "empty": (b"", "stdin was empty"),
    "blank": (b"\n\n", "stdin was empty"),
    "no JSON": (b"not json\n", "Expecting value"),
    "cut": (b'{"cwd": "/tmp", "stop_hook_ac', "Unterminated string"),
    "two documents": (b"{}\n{}\n", "Extra data"),
    "list": (b'[{"cwd": "/"}]\n', "not a JSON object"),
    "text": (b'"stop"\n', "not a JSON object"),
    "null": (b"null\n", "not a JSON object"),
    "deep": (b'{"a":' * 10_000 + b"{}" + b"}" * 10_000, "nested too deeply"),
    "deep, cut": (b"[" * 10_000, "nested too deeply"),
    "not UTF-8": (b'{"cwd": "/tmp/\xff\xfe"}\n', "not UTF-8"),
    "NaN": (b'{"cwd": NaN}', "NaN is not JSON"),
    "cwd": (b'{"cwd": 1}', "cwd is not a path"),
    "100 MB": (b'{"x": "' + b"y" * 100_000_000 + b'"}', "more than 64 MB"),
}
# What a real pipe holds, and how deep an interpreter can go that has just been started.
BY_PROCESS = ("stdin was empty", "nested too deeply", "more than 64 MB")


@pytest.mark.parametrize(("sent", "why"), list(BAD.values()), ids=list(BAD))
class TestBadInput:
    def test_for_a_script(
        self, run_hook: RunHook, events: Events, project: Project, plan: Plan, sent: bytes, why: str
    ) -> None:
        before = snapshot(project.path)
        stop = run_hook if why in BY_PROCESS else Stops(project, run_hook, events)
        result = stop(stdin=sent)
        assert result.exit_code == 2
        assert result.stdout == ""
        assert result.stderr.startswith("Invalid JSON input: ")
        assert why in result.stderr
        assert result.stderr.count("\n") == 1
        assert snapshot(project.path) == before

    def test_for_the_client(self, checked_hook: CheckedHook, plan: Plan, sent: bytes, why: str) -> None:
        result = checked_hook(stdin=sent, process=why in BY_PROCESS)
        assert_approved(result, f"^Invalid JSON input: .*{why}")
        assert result.stderr == f"taskie: {result.system_message}\n"
        assert checked_hook.changed == set()


def test_never_closed(
    run_hook: RunHook, checked_hook: CheckedHook, events: Events, project: Project, plan: Plan, endless: list[float]
) -> None:
    result = Stops(project, run_hook, events)()
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "Invalid JSON input: stdin was not closed within 5 seconds\n"
    assert_approved(checked_hook(), "^Invalid JSON input: stdin was not closed within 5 seconds$")
    assert endless == [pytest.approx(5.0, abs=0.5), pytest.approx(5.0, abs=0.5)]


def test_interrupted_from_the_keyboard(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """It ends as the signal asks, and without a traceback."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(select, "select", interrupt)
    monkeypatch.setattr(os, "kill", lambda process, number: ended.append((process, number)))
    ended: list[tuple[int, int]] = []
    before = signal.getsignal(signal.SIGINT)
    try:
        hook.main()
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended == [(os.getpid(), signal.SIGINT)]
    assert capfd.readouterr() == ("", "")


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Nobody ever writes to stdin; how long each wait for it would have been. A real wait is in the core's tests."""
    waits: list[float] = []

    def select_nothing(
        reading: list[int], writing: list[int], failing: list[int], seconds: float
    ) -> tuple[list[int], ...]:
        assert reading == [0]
        waits.append(seconds)
        return [], [], []

    monkeypatch.setattr(select, "select", select_nothing)
    return waits


def test_a_whole_event_need_not_be_closed(
    checked_hook: CheckedHook, events: Events, plan: Plan, project: Project
) -> None:
    read_end, write_end = os.pipe()
    with os.fdopen(read_end) as stdin, os.fdopen(write_end, "w") as client:
        client.write(f'{{"cwd": "{project.path}"}}\n')
        client.flush()
        result = checked_hook(stdin=stdin)
    assert_approved(result, "^Plan 'test-plan' has no state.json")
    assert result.duration < 4


def test_not_open_at_all(run_hook: RunHook, plan: Plan) -> None:
    result = run_hook(command=f"exec '{HOOK}' <&-")
    assert result.exit_code == 2
    assert result.stderr.startswith("Invalid JSON input: ")
    assert_approved(run_hook(command=f"exec '{HOOK}' --fail-open <&-"), "^Invalid JSON input: ")


MISSING = "/nonexistent/\nproject"


def test_directory_that_is_not_there(run_hook: RunHook, checked_hook: CheckedHook, events: Events, plan: Plan) -> None:
    event = {**events.stop(), "cwd": MISSING}
    result = run_hook(event)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "Cannot change to project directory: /nonexistent/\\x0aproject\n"
    assert_approved(checked_hook(event), r"^Cannot change to project directory: /nonexistent/\\x0aproject$")


@pytest.mark.parametrize(
    "cwd", [MISSING, "/dev/null", "x" * 5000, "\ud800"], ids=["missing", "file", "long", "\\ud800"]
)
def test_bad_directory_within_a_turn(run_hook: RunHook, events: Events, plan: Plan, cwd: str) -> None:
    event = {**events.stop(stop_hook_active=True), "cwd": cwd}
    result = run_hook(stdin=json.dumps(event))
    assert_approved(result)
    assert result.exit_code == 0


@pytest.mark.usefixtures("unmeasured")
def test_working_directory_is_gone(project: Project, run_hook: RunHook, plan: Plan) -> None:
    """No `cwd` in the event, and none that the process could ask for."""
    gone = project.path / "gone"
    gone.mkdir()
    command = f"cd '{gone}' && rmdir '{gone}' && exec '{HOOK}'"
    result = run_hook(command=command, stdin="{}")
    assert result.exit_code == 2
    assert "\nCannot change to project directory" in f"\n{result.stderr}"  # the shell may complain before
    gone.mkdir()
    result = run_hook(command=command + " --fail-open", stdin="{}")
    assert_approved(result, "^Cannot change to project directory")


class TestOutput:
    """The hook's own streams may be as bad; nothing of that may look like a block."""

    @pytest.fixture
    def event(self, tmp_path: Path, project: Project, plan: Plan) -> Path:
        plan.state.raw("{")  # so that there is a warning for stderr too
        (tmp_path / "event").write_text(f'{{"cwd": "{project.path}"}}\n')
        return tmp_path / "event"

    def run(self, project: Project, event: Path, redirection: str) -> HookResult:
        with event.open() as stdin:
            done = subprocess.run(
                ["/bin/sh", "-c", f'exec "$0" --fail-open {redirection}', str(HOOK)],
                stdin=stdin,
                env=project.env,
                cwd=project.path,
                capture_output=True,
                text=True,
                check=False,
            )
        return HookResult(redirection, done.returncode, done.stdout, done.stderr)

    @pytest.mark.parametrize("redirection", [">/dev/full", ">&-", ">/dev/full 2>/dev/full", ">&- 2>&-"])
    def test_stdout_that_takes_nothing(self, project: Project, event: Path, redirection: str) -> None:
        result = self.run(project, event, redirection)
        assert result.exit_code == 0, result.report()
        assert result.stdout == ""
        assert "Traceback" not in result.stderr

    @pytest.mark.parametrize("redirection", ["2>/dev/full", "2>&-"])
    def test_stderr_that_takes_nothing(self, project: Project, event: Path, redirection: str) -> None:
        result = self.run(project, event, redirection)
        assert_approved(result, r"state\.json: invalid JSON")

    def test_reader_that_went_away(self, project: Project, event: Path) -> None:
        read_end, write_end = os.pipe()
        os.close(read_end)
        with event.open() as stdin, os.fdopen(write_end, "w") as stdout:
            done = subprocess.run(
                [str(HOOK), "--fail-open"],
                stdin=stdin,
                stdout=stdout,
                stderr=subprocess.PIPE,
                env=project.env,
                cwd=project.path,
                text=True,
                check=False,
            )
        assert done.returncode == 0
        assert "Traceback" not in done.stderr
