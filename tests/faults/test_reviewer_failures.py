"""A reviewer that fails costs the user nothing but the deadline: no process stays, the state is untouched."""

from __future__ import annotations

import json
import re

import pytest
from core.living import is_alive, noted, survivors
from support.clocks import Clock

from faults.conftest import CheckedHook, Reviewer
from pytest_taskie import FakeCli, HookResult, Plan, Project, assert_approved, assert_blocked

pytestmark = pytest.mark.state

LOG = ".taskie/plans/test-plan/.review-1.log"
REVIEW = ".taskie/plans/test-plan/plan-review-1.md"
SOON = {"TASKIE_REVIEW_TIMEOUT": "2"}


@pytest.fixture
def due(plan: Plan) -> Plan:
    plan.state.write(next_phase="plan-review", mine=1.10)
    return plan


def failed(checked_hook: CheckedHook, why: str, env: dict[str, str] | None = None) -> HookResult:
    """One stop whose review fails like this; the log stays, everything else is as it was."""
    result = checked_hook(env=env)
    assert_approved(result, f"^Review failed: {why}")
    assert "The state is unchanged, so the next stop tries again." in (result.system_message or "")
    assert "Review failed: " in result.stderr
    assert checked_hook.changed <= {LOG}
    return result


@pytest.fixture
def clock(reviewer: Reviewer, monkeypatch: pytest.MonkeyPatch) -> Clock:
    """Three seconds have passed as soon as the reviewer and its three processes are there."""
    return Clock(monkeypatch, lambda: len(noted(reviewer.notes)) == 4, leap=3.0)


@pytest.mark.usefixtures("clock")
def test_hangs(checked_hook: CheckedHook, due: Plan, reviewer: Reviewer) -> None:
    reviewer.breeds("wait", "fork", "session", "daemon", first="echo 'still thinking' >&2")
    failed(checked_hook, "the reviewer took longer than .* s: still thinking; see .*/.review-1.log", SOON)
    assert len(noted(reviewer.notes)) == 4
    assert survivors(reviewer.notes) == []
    log = (due.path / ".review-1.log").read_text()
    assert "\nstderr:\nstill thinking\n" in log
    assert re.search(r"\nAfter [\d.]+ s: the reviewer took longer than ", log)


def test_hangs_and_ignores_sigterm(checked_hook: CheckedHook, due: Plan, reviewer: Reviewer, clock: Clock) -> None:
    reviewer.breeds("deaf", "deaf-fork", "deaf-session", "deaf-daemon")
    failed(checked_hook, "the reviewer took longer than .* s", SOON)
    assert survivors(reviewer.notes) == []


def test_ends_well_but_leaves_processes(
    checked_hook: CheckedHook, due: Plan, reviewer: Reviewer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are ended too, and the review counts."""
    Clock(monkeypatch, lambda: len(noted(reviewer.notes)) == 4 and not is_alive(noted(reviewer.notes)[-1]))
    verdict = json.dumps({"structured_output": {"verdict": "FAIL"}})
    reviewer.breeds("0", "fork", "deaf-session", "daemon", first=f"echo '# R' > '{REVIEW}'; echo '{verdict}'")
    assert_blocked(checked_hook())
    assert len(noted(reviewer.notes)) == 4
    assert survivors(reviewer.notes) == []
    assert due.state.read()["phase_iteration"] == 1


def test_fails_and_leaves_processes(checked_hook: CheckedHook, due: Plan, reviewer: Reviewer) -> None:
    reviewer.breeds("3", "fork", "session", "daemon")
    failed(checked_hook, "the reviewer exited with code 3; see ")
    assert survivors(reviewer.notes) == []


def test_floods_stdout(checked_hook: CheckedHook, due: Plan, reviewer: Reviewer) -> None:
    reviewer.runs(f"echo '# R' > '{REVIEW}'; head -c 70000000 /dev/zero; exec sleep 600")
    failed(checked_hook, "the reviewer wrote more than 64 MB; see ")


def test_floods_stderr(checked_hook: CheckedHook, due: Plan, reviewer: Reviewer) -> None:
    reviewer.runs(f"echo '# R' > '{REVIEW}'; head -c 70000000 /dev/zero >&2; exec sleep 600")
    result = failed(checked_hook, "the reviewer wrote more than 64 MB")
    assert (due.path / ".review-1.log").stat().st_size <= 1 << 20
    assert len(result.stdout) < 2000


@pytest.mark.parametrize("code", [1, 2, 126, 255])
def test_exit_code(checked_hook: CheckedHook, due: Plan, reviewer: Reviewer, code: int) -> None:
    reviewer.runs(f"echo '# R' > '{REVIEW}'; echo 'no credit' >&2; exit {code}")
    failed(checked_hook, f"the reviewer exited with code {code}: no credit; see ")
    assert "\nstderr:\nno credit\n" in (due.path / ".review-1.log").read_text()


@pytest.mark.parametrize("name", ["KILL", "SEGV", "TERM"])
def test_killed(checked_hook: CheckedHook, due: Plan, reviewer: Reviewer, name: str) -> None:
    reviewer.runs(f"echo '# R' > '{REVIEW}'; kill -{name} $$")
    failed(checked_hook, "the reviewer exited with code -[0-9]+; see ")


def test_error_of_the_client(checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli) -> None:
    fake_claude.outputs({"type": "result", "subtype": "success", "is_error": True, "result": "Credit \x1b[1m is low"})
    failed(checked_hook, r"the reviewer exited with code 0: Credit \\x1b\[1m is low; see ")


def test_not_there(checked_hook: CheckedHook, due: Plan) -> None:
    failed(checked_hook, "claude was not found on PATH; install it or set review.command")
    assert checked_hook.changed == set()


@pytest.mark.parametrize("mode", [0o644, 0o000])
def test_not_executable(checked_hook: CheckedHook, due: Plan, reviewer: Reviewer, mode: int) -> None:
    reviewer.runs(":")
    reviewer.path.chmod(mode)
    failed(checked_hook, "claude was not found on PATH")


@pytest.mark.parametrize("content", [b"", b"#!/nonexistent/shell\n", b"\x7fELF\0\0"], ids=["empty", "shebang", "ELF"])
def test_cannot_be_started(checked_hook: CheckedHook, due: Plan, reviewer: Reviewer, content: bytes) -> None:
    reviewer.path.write_bytes(content)
    reviewer.path.chmod(0o755)
    failed(checked_hook, r"the reviewer could not be started \(")


def test_a_program_of_the_project_is_never_run(
    checked_hook: CheckedHook, due: Plan, project: Project, reviewer: Reviewer
) -> None:
    reviewer.runs(f"touch '{project.home}/ran'")
    (project.path / "claude").write_bytes(reviewer.path.read_bytes())
    (project.path / "claude").chmod(0o755)
    path = project.env["PATH"].replace(str(reviewer.path.parent), ".:")
    failed(checked_hook, "claude was not found on PATH", {"PATH": path})
    assert not (project.home / "ran").exists()


def test_stdin_and_environment(checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli, project: Project) -> None:
    fake_claude.reviews("FAIL")
    assert_blocked(checked_hook())
    (call,) = fake_claude.calls
    assert call.stdin == ""
    assert call.env["TASKIE_HOOK_SKIP"] == "1"
    assert call.cwd == project.path


def test_a_failed_review_is_tried_again(checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli) -> None:
    fake_claude.exits(1, 0)
    failed(checked_hook, "the reviewer exited with code 1")
    assert_blocked(checked_hook())
    assert due.state.read()["phase_iteration"] == 1
    assert not (due.path / ".review-1.log").exists()


def test_log_is_never_written_through_a_link(
    checked_hook: CheckedHook, due: Plan, reviewer: Reviewer, project: Project
) -> None:
    (project.home / "precious").write_text("mine")
    (due.path / ".review-1.log").symlink_to(project.home / "precious")
    reviewer.runs("echo spoiled >&2; exit 1")
    failed(checked_hook, "the reviewer exited with code 1: spoiled")
    assert (project.home / "precious").read_text() == "mine"
    assert not (due.path / ".review-1.log").is_symlink()


def test_a_directory_in_the_place_of_the_log(checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli) -> None:
    (due.path / ".review-1.log").mkdir()
    (due.path / ".review-1.log" / "mine").touch()
    fake_claude.exits(1, 0)
    assert_approved(checked_hook(), r"^Review failed: .*; see .*/\.review-1\.other\.log\. ")
    assert "with exit code 1" in (due.path / ".review-1.other.log").read_text()
    done = checked_hook()
    assert_blocked(done)
    assert ".review-1.log is a directory and in the way of a log; remove it" in (done.system_message or "")
    assert not (due.path / ".review-1.other.log").exists()
    assert (due.path / ".review-1.log" / "mine").exists()


def test_log_that_cannot_be_written(checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli) -> None:
    for name in (".review-1.log", ".review-1.other.log"):
        (due.path / name).mkdir()
    failed(checked_hook, r".*\.log cannot be written \(")
    assert fake_claude.calls == []
