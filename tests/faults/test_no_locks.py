"""Where the file system locks nothing, a file names the holder: everything works, and a dead one holds nothing."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import HOOK
from support.commands import PROGRAM, run_process
from support.faulty import Faulty

from faults.conftest import CheckedHook, Reviewer
from pytest_taskie import Events, Plan, Project, assert_approved, assert_blocked

pytestmark = pytest.mark.state

ERRORS = {name: getattr(errno, name) for name in ("EOPNOTSUPP", "ENOLCK", "EBADF", "ENOSYS", "EINVAL")}
REVIEWING = "^Another session is reviewing plan"
VERDICT = """echo '{"structured_output": {"verdict": "FAIL"}}'"""


@pytest.fixture
def nowhere(project: Project, faulty: Faulty) -> None:
    """No directory and no file can be locked."""
    project.env.update(faulty(f"flock={errno.EOPNOTSUPP}@*"))


@pytest.fixture
def due(plan: Plan) -> Plan:
    plan.state.write(next_phase="plan-review")
    return plan


@pytest.fixture
def locks(project: Project) -> Iterator[None]:
    yield
    assert [path for path in project.path.rglob("*.lock*") if path.name != "HEAD.lock"] == []
    assert list(project.path.rglob("*.new*")) == []


@pytest.mark.parametrize("error", list(ERRORS.values()), ids=list(ERRORS))
@pytest.mark.usefixtures("locks")
def test_a_review(checked_hook: CheckedHook, due: Plan, reviewer: Reviewer, faulty: Faulty, error: int) -> None:
    reviewer.reviews(due.path)
    assert_blocked(checked_hook(process=True, env=faulty(f"flock={error}@*")))
    assert json.loads((due.path / "state.json").read_text())["next_phase"] == "post-plan-review"
    assert (due.path / "reviews.jsonl").read_text().count("\n") == 1


@pytest.mark.usefixtures("nowhere", "locks")
def test_one_review_at_a_time(
    checked_hook: CheckedHook, due: Plan, reviewer: Reviewer, events: Events, project: Project
) -> None:
    """The reviewer itself stops in the project, while the hook waits for it."""
    said = project.home / "said"
    stop = f"echo '{json.dumps(events.stop())}' | env -u TASKIE_HOOK_SKIP '{HOOK}' --fail-open > '{said}'"
    reviewer.runs(f"{stop}; echo '# R' > '{due.path}/plan-review-1.md'; {VERDICT}")
    assert_blocked(checked_hook(process=True))
    assert reviewer.calls == 1
    assert "Another session is reviewing" in json.loads(said.read_text())["systemMessage"]


def stop_until_killed(project: Project, events: Events) -> None:
    """A stop whose hook what it runs kills."""
    killed = subprocess.run(
        [HOOK, "--fail-open"],
        input=json.dumps(events.stop()).encode(),
        cwd=project.path,
        env={**project.env, "CLAUDE_PROJECT_DIR": str(project.path)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert killed.returncode == -9


@pytest.mark.usefixtures("nowhere", "locks")
def test_a_killed_holder_holds_nothing(
    checked_hook: CheckedHook, due: Plan, reviewer: Reviewer, events: Events, project: Project
) -> None:
    reviewer.runs(f"kill -9 $(sed -n 2p '{due.path}/.taskie.lock')")
    stop_until_killed(project, events)
    assert (due.path / ".taskie.lock").exists()
    reviewer.reviews(due.path)
    assert_blocked(checked_hook(process=True))


@pytest.mark.usefixtures("locks")
def test_a_file_that_cannot_be_made_behind_its_lock(due: Plan, project: Project, faulty: Faulty) -> None:
    """The lock that stands beside the new file goes, though there is none."""
    before = (due.path / "state.json").read_bytes()
    env = {**project.env, **faulty(f"flock={errno.EOPNOTSUPP}@*", f"create={errno.ENOSPC}@/.state.json.new#2")}
    done = run_process(["state", "set", "max_reviews=3"], cwd=project.path, env=env)
    assert (done.code, done.out) == (1, "")
    assert "state.json cannot be written (No space left on device)" in done.err
    assert (due.path / "state.json").read_bytes() == before


def test_nor_can_a_file_name_its_holder(due: Plan, project: Project, faulty: Faulty) -> None:
    """The disk takes no new file; the state is as it was, and the message says why."""
    before = (due.path / "state.json").read_bytes()
    env = {**project.env, **faulty(f"flock={errno.EOPNOTSUPP}@*", f"create={errno.ENOSPC}@/.taskie.lock")}
    done = run_process(["state", "set", "max_reviews=3"], cwd=project.path, env=env)
    assert (done.code, done.out) == (1, "")
    assert "plans cannot be locked (No space left on device). Nothing was changed." in done.err
    assert "Traceback" not in done.err
    assert (due.path / "state.json").read_bytes() == before


@pytest.mark.usefixtures("nowhere")
class TestAHolderElsewhere:
    """Nobody can ask another machine, so its lock counts for as long as a hook may run."""

    @pytest.fixture
    def lock(self, due: Plan, reviewer: Reviewer) -> Path:
        reviewer.reviews(due.path)
        lock = due.path / ".taskie.lock"
        lock.write_text(f"elsewhere pid:[1]\n{os.getpid()}\n5\n")
        return lock

    def test_now(self, checked_hook: CheckedHook, lock: Path) -> None:
        checked_hook.may_leave = (lock.name,)
        assert_approved(checked_hook(process=True), REVIEWING)

    @pytest.mark.usefixtures("locks")
    def test_long_ago(self, checked_hook: CheckedHook, lock: Path) -> None:
        os.utime(lock, (0, lock.stat().st_mtime - 1000))
        assert_blocked(checked_hook(process=True))

    @pytest.mark.usefixtures("locks")
    @pytest.mark.parametrize("content", [b"", b"x", b"a\nb\nc\n", b"\0" * 1000])
    def test_nobody(self, checked_hook: CheckedHook, lock: Path, content: bytes) -> None:
        """What names no holder was being written, a moment ago at most."""
        lock.write_bytes(content)
        checked_hook.may_leave = (lock.name,)
        assert_approved(checked_hook(process=True), REVIEWING)
        os.utime(lock, (0, lock.stat().st_mtime - 10))
        assert_blocked(checked_hook(process=True))

    @pytest.mark.usefixtures("locks")
    def test_another_process_with_its_number(self, checked_hook: CheckedHook, lock: Path) -> None:
        numbers = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - Path.readlink came with Python 3.9, and gives the same
        machine = f"{os.uname().nodename} {numbers}"
        lock.write_text(f"{machine}\n{os.getpid()}\n1\n")
        assert_blocked(checked_hook(process=True))


COMMANDS = {
    "state": ("state", "set", "max_reviews=3"),
    "claudex": ("claudex", "start", "plan", "a topic"),
    "autopilot": ("autopilot", "init", "SPEC-1", "spec.md"),
    "install": ("install",),
}


@pytest.mark.parametrize("words", list(COMMANDS.values()), ids=list(COMMANDS))
@pytest.mark.usefixtures("nowhere", "locks")
def test_commands(project: Project, due: Plan, words: tuple[str, ...]) -> None:
    project.git()
    (project.path / "spec.md").write_text("# Spec\n")
    done = run_process(words, cwd=project.path, env=project.env)
    assert done.code == 0, done.err


@pytest.mark.usefixtures("nowhere", "locks")
def test_no_update_is_lost(project: Project, due: Plan) -> None:
    """Every process adds one, at once; each must have seen the one before it."""
    script = (
        "import sys; sys.path.insert(0, sys.argv[1]); from taskie.plans import state; sys.stdin.read()\n"
        "for _ in range(10): state.update(sys.argv[2], lambda now: {'count': now.get('count', 0) + 1})"
    )
    gate, open_gate = os.pipe()
    command = [sys.executable, "-I", "-S", "-c", script, str(HOOK.parents[1]), str(due.path)]
    writers = [subprocess.Popen(command, stdin=gate, env=project.env) for _ in range(4)]
    os.close(gate)
    os.close(open_gate)
    assert [writer.wait(60) for writer in writers] == [0] * 4
    assert json.loads((due.path / "state.json").read_text())["count"] == 40


class TestGates:
    """One run at a time, by a file in the log directory."""

    LOCK = "gauntlet_logs/.taskie.lock"

    @staticmethod
    def check(project: Project, command: str) -> None:
        gates = project.path / ".gauntlet"
        (gates / "checks").mkdir(parents=True)
        (gates / "checks" / "lint.yml").write_text(json.dumps({"command": command}))
        (gates / "config.yml").write_text('{"entry_points": [{"path": ".", "checks": ["lint"]}]}')
        project.git()
        (project.path / ".gitignore").write_text("gauntlet_logs/\n")
        project.git("add", "-A")
        project.git("commit", "-q", "-m", "Begin")
        (project.path / "work.txt").write_text("work\n")

    @pytest.mark.parametrize("error", list(ERRORS.values()), ids=list(ERRORS))
    @pytest.mark.usefixtures("locks")
    def test_a_run(self, checked_hook: CheckedHook, project: Project, faulty: Faulty, error: int) -> None:
        self.check(project, f"test -s {self.LOCK} && echo wrong; exit 1")
        assert_blocked(checked_hook(process=True, env=faulty(f"flock={error}@*")), "wrong")

    @pytest.mark.usefixtures("nowhere", "locks")
    def test_one_at_a_time(self, checked_hook: CheckedHook, project: Project) -> None:
        """The check itself runs the gates, while the hook waits for it."""
        said = project.home / "said"
        self.check(project, f"'{sys.executable}' '{PROGRAM}' gauntlet run > '{said}' 2>&1; echo wrong; exit 1")
        assert_blocked(checked_hook(process=True), "wrong")
        assert "Another gauntlet is already running in this project" in said.read_text()
        assert "wrong" not in said.read_text()

    @pytest.mark.usefixtures("nowhere", "locks")
    def test_a_killed_holder_holds_nothing(self, checked_hook: CheckedHook, project: Project, events: Events) -> None:
        once = project.home / "once"
        kill = f"mkdir '{once}' && kill -9 $(sed -n 2p {self.LOCK}) && sleep 60"
        self.check(project, f"{kill}; echo wrong; exit 1")
        stop_until_killed(project, events)
        assert (project.path / self.LOCK).exists()
        assert_blocked(checked_hook(process=True), "wrong")


def test_doctor_says_so(project: Project, faulty: Faulty) -> None:
    told = run_process(["doctor"], cwd=project.path, env={**project.env, **faulty(f"flock={errno.ENOLCK}@*")})
    assert f"{project.path} cannot be locked (No locks available)" in told.out
    assert "cannot be locked" not in run_process(["doctor"], cwd=project.path, env=project.env).out
