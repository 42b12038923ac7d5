"""A process that is killed while it writes: the next one that writes there leaves nothing of it behind."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from support import HOOK
from support.commands import PROGRAM
from support.faulty import Faulty

from faults.conftest import Reviewer
from pytest_taskie import Events, Plan, Project
from taskie import store

pytestmark = pytest.mark.state

OURS = ("*.new", "*.new.*", "*.lock", "*.broom", "*.next", "*.replaced", "*.md.old", "*.[0-9]*.[0-9a-f]*", "seal.*")
KILLED = ("create", "write", "fsync", "rename")
# A command, and the files that it writes: the ends of their temporary names.
COMMANDS = {
    "state set": (("state", "set", "max_reviews=3"), ("/.state.json.new",)),
    "claudex start": (("claudex", "start", "plan", "a topic"), (".state.new", "-prompt.txt.new", "/..gitignore.new")),
    "what it trusts": (("claudex", "start", "plan", "a topic"), (".json.new",)),
    "autopilot init": (
        ("autopilot", "init", "SPEC-1", "spec.md"),
        ("/.autopilot-state.json.new", "/.autopilot-state.json.next.new", "/.spec.md.new"),
    ),
    "install": (("install",), ("/.settings.local.json.new",)),
    "gauntlet run": (("gauntlet", "run"), ("/..execution_state.new", ".json.new", "/.seal.new")),
}


class Killing:
    """Runs our programs, some of which are killed."""

    def __init__(self, project: Project, faulty: Faulty) -> None:
        self._project = project
        self._faulty = faulty

    def run(self, argv: Sequence[str | Path], *faults: str, stdin: str = "") -> int:
        done = subprocess.run(
            argv,
            input=stdin.encode(),
            cwd=self._project.path,
            env={**self._project.env, "CI": "", **self._faulty(*faults)},
            capture_output=True,
            timeout=60,
            check=False,
        )
        return done.returncode

    @property
    def left(self) -> set[str]:
        places = (self._project.path, self._project.home)
        return {str(path) for place in places for pattern in OURS for path in place.rglob(pattern)}


@pytest.fixture
def killing(project: Project, faulty: Faulty) -> Killing:
    return Killing(project, faulty)


@pytest.fixture
def everything(project: Project, plan: Plan) -> None:
    plan.state.write(next_phase="plan-review")
    (project.path / "spec.md").write_text("# Spec\n")
    checks = project.path / ".gauntlet" / "checks"
    checks.mkdir(parents=True)
    (checks / "passes.yml").write_text('{"command": "true"}')
    (project.path / ".gauntlet" / "config.yml").write_text('{"entry_points": [{"path": ".", "checks": ["passes"]}]}')
    project.git()
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "Begin")
    (project.path / "work.txt").write_text("work\n")


def fault(call: str, temporary: str) -> str:
    """The process is killed at this call, while it writes this file."""
    target = temporary[: -len(".new")].replace("/.", "/", 1)
    return f"{call}=-9@{target if call == 'rename' else temporary}"


@pytest.mark.parametrize("call", KILLED)
@pytest.mark.parametrize("name", list(COMMANDS))
@pytest.mark.usefixtures("everything")
def test_the_next_one_sweeps(killing: Killing, name: str, call: str) -> None:
    words, files = COMMANDS[name]
    argv = [sys.executable, str(PROGRAM), *words]
    before = killing.left
    ends = [killing.run(argv, fault(call, file)) for file in files]
    assert -9 in ends, "nobody was killed"
    killing.run(argv)
    assert killing.left == before


@pytest.mark.parametrize("call", KILLED)
def test_the_next_stop_sweeps(killing: Killing, plan: Plan, reviewer: Reviewer, events: Events, call: str) -> None:
    plan.state.write(next_phase="plan-review")
    reviewer.reviews(plan.path)
    stop = json.dumps(events.stop())
    assert killing.run([HOOK, "--fail-open"], fault(call, "/.state.json.new"), stdin=stop) == -9
    assert killing.run([HOOK, "--fail-open"], stdin=stop) == 0
    assert plan.state.read()["next_phase"] == "post-plan-review"
    assert killing.left == set()


@pytest.mark.parametrize("name", [".review-running.json", ".plan-review-1.md.replaced"])
def test_the_next_stop_sweeps_what_a_review_has_left(
    killing: Killing, plan: Plan, reviewer: Reviewer, events: Events, name: str
) -> None:
    """Also if no review is due any more: it was killed when all was done but this."""
    plan.state.write(next_phase="plan-review")
    plan.write("plan-review-1.md", "# Of an earlier cycle\n")
    reviewer.reviews(plan.path)
    stop = json.dumps(events.stop())
    assert killing.run([HOOK, "--fail-open"], f"unlink=-9@/{name}", stdin=stop) == -9
    assert (plan.path / name).exists()
    assert plan.state.read()["next_phase"] == "post-plan-review"
    assert killing.run([HOOK, "--fail-open"], stdin=stop) == 0
    assert not (plan.path / name).exists()


@pytest.mark.usefixtures("everything")
def test_what_is_left_is_no_change_of_the_task(killing: Killing, project: Project) -> None:
    """Else the same command would be refused from now on, for a file that nobody has changed."""
    taskie = [sys.executable, str(PROGRAM), "autopilot"]
    done = [*taskie, "advance", '{"step": "coder", "files_changed": ["work.txt"]}']
    assert killing.run([*taskie, "init", "SPEC-1", "spec.md"]) == 0
    assert killing.run([*taskie, "plan", '[{"id": 1, "name": "first"}]', "--test-command", "true"]) == 0
    (project.path / "work.txt").write_text("more work\n")
    assert killing.run(done, fault("fsync", "/.autopilot-state.json.new")) == -9
    assert killing.run(done, fault("fsync", "/.spec.md.new")) == -9
    killing.run(done)
    assert killing.left == set()
    assert killing.run([*taskie, "test"]) == 0


@pytest.mark.parametrize(
    "fault", ["rename=-9@/project/autopilot-state.json", f"rename={errno.EIO}@/project/autopilot-state.json"]
)
@pytest.mark.parametrize("then", ["the next commit", "a commit that is refused"])
def test_the_index_of_a_commit(killing: Killing, project: Project, fault: str, then: str) -> None:
    """Neither in the folder for temporary files, where nobody would look for it, nor in the repository."""
    taskie = [sys.executable, str(PROGRAM), "autopilot"]
    commit = [*taskie, "commit", "-m", "feat(work): do it"]
    due_for_commit(killing, project)
    places = (project.home.parent / "tmp", project.path / ".git" / "taskie")

    def left() -> set[Path]:
        return {path for place in places for path in place.rglob("*index*")}

    stuck = f"unlink={errno.EIO}@/autopilot-state.json.index"  # by which a disk keeps what nobody is to have
    assert killing.run(commit, fault, stuck) != 0
    assert left() != set()
    if then == "the next commit":
        assert killing.run(commit) == 0
    else:
        assert killing.run([*commit[:-1], "no form at all"]) == 1
    assert left() == set()


@pytest.mark.parametrize("words", [("doctor",), ("gauntlet", "init")], ids=" ".join)
def test_the_folder_in_which_the_hook_is_tried(killing: Killing, project: Project, words: tuple[str, ...]) -> None:
    project.git()
    (project.path / "Makefile").write_text("test:\n\ttrue\n")
    folder = project.home.parent / "tmp"
    assert killing.run([sys.executable, str(PROGRAM), *words], "create=-9@/stop_hook.py") == -9
    assert list(folder.iterdir()) != []
    killing.run([sys.executable, str(PROGRAM), *words])
    assert list(folder.iterdir()) == []


@pytest.mark.usefixtures("everything")
def test_the_rules_of_the_base(killing: Killing, project: Project) -> None:
    (project.path / ".gauntlet" / "config.yml").write_text(
        "rules_from: base\nentry_points: [{path: ., checks: [passes]}]\n"
    )
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "From the base")
    project.git("checkout", "-q", "-b", "work")
    (project.path / "work.txt").write_text("more work\n")
    argv = [sys.executable, str(PROGRAM), "gauntlet", "run"]
    folder = project.path / ".git" / "taskie"
    assert killing.run(argv, "create=-9@/checks/passes.yml") == -9
    assert list(folder.glob("rules-*")) != []
    assert killing.run(argv) == 0
    assert list(folder.glob("rules-*")) == []


def due_for_commit(killing: Killing, project: Project) -> None:
    (project.path / "spec.md").write_text("# Spec\n")
    project.git()
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "Begin")
    project.git("checkout", "-q", "-b", "work")
    taskie = [sys.executable, str(PROGRAM), "autopilot"]
    assert killing.run([*taskie, "init", "SPEC-1", "spec.md"]) == 0
    assert killing.run([*taskie, "plan", '[{"id": 1, "name": "first"}]', "--test-command", "true"]) == 0
    (project.path / "work.txt").write_text("work\n")
    for event in (
        {"step": "coder", "files_changed": ["work.txt"]},
        {"step": "tester", "result": "passed"},
        {"step": "pre_check_code", "result": "pass"},
        {"step": "pre_check_blueprint", "result": "skip"},
        {"step": "spec_reviewer", "result": "approved"},
        {"step": "code_quality", "result": "approved"},
    ):
        if event["step"] == "tester":
            assert killing.run([*taskie, "test"]) == 0
        assert killing.run([*taskie, "advance", json.dumps(event)]) == 0


def test_the_link_of_a_team(killing: Killing, project: Project) -> None:
    project.git()
    install = [sys.executable, str(PROGRAM), "install", "--project"]
    folder = project.home / ".config" / "taskie"
    assert killing.run(install, "rename=-9@/taskie/hook") == -9
    assert len(list(folder.iterdir())) == 1
    assert killing.run(install) == 0
    assert [path.name for path in folder.iterdir()] == ["hook"]


class TestTheTemporaryFile:
    """It always has the same name. Whether its writer lives is what the lock on it says."""

    @pytest.fixture
    def state(self, tmp_path: Path) -> Path:
        state = tmp_path / "state.json"
        state.write_text("old")
        return state

    def test_of_a_living_writer_is_waited_for(self, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        other = state.with_name(".state.json.new").open("w")
        fcntl.flock(other, fcntl.LOCK_EX)

        def sleep(_: float) -> None:
            if not other.closed:
                other.write("the other's")
                other.flush()
                state.with_name(".state.json.new").rename(state)
                other.close()

        monkeypatch.setattr("taskie.store.time.sleep", sleep)
        store.replace(str(state), b"ours")
        assert state.read_text() == "ours"
        assert [path.name for path in state.parent.iterdir()] == ["state.json"]

    def test_of_one_that_does_not_end(self, state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(store, "PATIENCE", 0.0)
        with state.with_name(".state.json.new").open("w") as other:
            fcntl.flock(other, fcntl.LOCK_EX)
            with pytest.raises(store.StoreError, match="another process is writing"):
                store.replace(str(state), b"ours")
        assert state.read_text() == "old"

    @pytest.mark.parametrize("kind", ["file", "link", "FIFO"])
    def test_whatever_is_in_the_way(self, state: Path, tmp_path: Path, kind: str) -> None:
        """A clone may bring one, and it is nobody's."""
        (elsewhere := tmp_path / "elsewhere").write_text("mine")
        way = state.with_name(".state.json.new")
        if kind == "file":
            way.touch()
        elif kind == "link":
            way.symlink_to(elsewhere)
        else:
            os.mkfifo(way)
        store.replace(str(state), b"ours")
        assert state.read_text() == "ours"
        assert elsewhere.read_text() == "mine"
        assert not os.path.lexists(way)

    def test_a_directory_in_the_way_is_an_error(self, state: Path) -> None:
        state.with_name(".state.json.new").mkdir()
        with pytest.raises(store.StoreError, match=r"state\.json cannot be written"):
            store.replace(str(state), b"ours")
        assert state.read_text() == "old"
