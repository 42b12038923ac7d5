"""`commit`: the task's files and nothing else, one commit, seen by git; the user's index survives whatever happens."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from core.living import is_alive

from autopilot.commits import MESSAGE, commit, committed, entries, failed, head, hook, only
from autopilot.conftest import PATH, TASKIE, Autopilot, by_hand
from taskie.autopilot import committing


def test_exactly_the_tasks_files_in_exactly_one_commit(ready: Autopilot) -> None:
    before = head(ready)
    assert commit(ready)["next"] == "verify_smoke"
    assert committed(ready) == ["M\tsrc/app.py", "A\tsrc/new.py"]
    assert ready.project.git("rev-list", f"{before}..HEAD").split() == [head(ready)]
    assert ready.project.git("log", "-1", "--format=%s").strip() == MESSAGE
    assert (ready.task["commit"], ready.task["status"]) == (head(ready), "done")


def test_the_users_index_survives(ready: Autopilot) -> None:
    staged = ready.project.git("diff", "--cached", "mine.txt")
    commit(ready)
    assert ready.project.git("diff", "--cached", "--name-only").split() == ["mine.txt"]
    assert ready.project.git("diff", "--cached", "mine.txt") == staged
    assert (ready.root / "mine.txt").read_text() == "changed again\n"
    assert "?? untracked.txt" in ready.project.git("status", "--porcelain")


def test_a_head_that_git_cannot_read_after_the_commit(
    ready: Autopilot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """git then goes by an empty tree, so that everything would be staged as deleted."""
    real, unborn = shutil.which("git"), "refs/heads/none"
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\n[ "$1" = reset ] || exec {real} "$@"\nwas=$({real} symbolic-ref HEAD)\n'
        f'{real} symbolic-ref HEAD {unborn}\n{real} "$@"\ncode=$?\n{real} symbolic-ref HEAD "$was"\nexit $code\n'
    )
    program.chmod(0o755)
    monkeypatch.setitem(ready.project.env, "PATH", f"{program.parent}:{ready.project.env['PATH']}")
    commit(ready)
    assert ready.project.git("diff", "--cached", "--name-only").split() == ["mine.txt"]


def test_a_git_that_takes_its_time(ready: Autopilot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\n[ "$1" = write-tree ] && sleep 0.3\nexec {shutil.which("git")} "$@"\n')
    program.chmod(0o755)
    monkeypatch.setitem(ready.project.env, "PATH", f"{program.parent}:{ready.project.env['PATH']}")
    commit(ready)


@pytest.mark.parametrize("verb", ["rev-parse", "log"])
def test_a_git_that_fails_right_after_the_commit(
    ready: Autopilot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """It has not said that there is no commit: the next try finds it, and the index does not undo it."""
    program, made = tmp_path / "bin" / "git", tmp_path / "made"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\n[ -e {made} ] && [ "$1" = {verb} ] && {{ rm {made}; kill -9 $$; }}\n'
        f'[ "$1" = commit ] && touch {made}\nexec {shutil.which("git")} "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setitem(ready.project.env, "PATH", f"{program.parent}:{ready.project.env['PATH']}")
    failed = ready.run("commit", "-m", "feat(app): greet")
    assert (failed.returncode, "run this again" in failed.stderr) == (1, True), failed.stderr
    assert not made.exists()
    commit(ready)
    assert ready.project.git("log", "--format=%s").splitlines()[:2] == ["feat(app): greet", "More"]
    assert ready.project.git("diff", "--cached", "--name-only").split() == ["mine.txt"]


@pytest.mark.parametrize(
    "message",
    ["", "greet", "feat: greet", "feat(): greet", "feat(app) greet", "feat(app):greet", "feat(app): ", "Feat(app): x",
     "(app): x", "feat(a(b)): x", "feat(a\nb): x", " feat(app): x", "feat(app):  x", "-m feat(app): x"],
)  # fmt: skip
def test_a_message_of_another_form(ready: Autopilot, message: str) -> None:
    before = head(ready)
    assert "type(scope): text" in ready.fails("commit", f"--message={message}")
    assert head(ready) == before


@pytest.mark.parametrize("message", ["fix(a-b/c.d): x", "feat(api)!: x", "docs(diary): x\n\nA body.\n\n# of any form"])
def test_messages_that_are_good(ready: Autopilot, message: str) -> None:
    commit(ready, message)
    assert ready.project.git("log", "-1", "--format=%B").strip() == message


@pytest.mark.parametrize("step", [step for step in PATH if step != "coder"])
def test_before_its_gates_hold(autopilot: Autopilot, step: str) -> None:
    autopilot.begin("first")
    autopilot.go_to(step)
    autopilot.write("src/app.py", "x = 1\n")
    before = head(autopilot)
    assert f"the step at hand is {step}, not commit" in autopilot.fails("commit", "-m", MESSAGE)
    assert head(autopilot) == before


def test_nothing_to_commit(ready: Autopilot) -> None:
    ready.project.git("checkout", "-q", "src/app.py")
    (ready.root / "src" / "new.py").unlink()
    ready.do("test")
    said = ready.run("commit", "-m", MESSAGE)
    assert said.returncode == 1
    assert "nothing to commit" in said.stderr
    assert ready.state["step"] == "commit"
    assert ready.state["loop"]["commit_failures"] == 0


def test_no_repository(autopilot: Autopilot, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    autopilot.do("init", "FTR-1", "spec.md", cwd=plain)
    autopilot.do("plan", '[{"id": 1, "name": "a"}]', cwd=plain)
    for step, event in PATH.items():
        if step == "tester":
            autopilot.do("test", "--", "true", cwd=plain)
        autopilot.do("advance", json.dumps({"step": step, **event}), cwd=plain)
    done = autopilot.run("commit", "-m", MESSAGE, cwd=plain)
    assert done.returncode == 1
    assert "not in a git repository" in done.stderr


class TestHooks:
    def test_one_that_fails_once(self, ready: Autopilot) -> None:
        """The error is shown in full, the agent fixes it, and the second try is its own call."""
        complaint = 'i=0; while [ $i -lt 60 ]; do i=$((i+1)); echo "not formatted $i"; done'
        hook(ready, "pre-commit", f"[ -e .git/tried ] || {{ touch .git/tried; {complaint}; exit 1; }}")
        before = head(ready)
        said = failed(ready)
        assert (said["next"], head(ready)) == ("commit", before)
        for number in (1, 30, 60):
            assert f"\n  not formatted {number}\n" in str(said["said"])
        assert "not formatted 60" in said["because"][-1]  # type: ignore[index]
        assert "- not formatted 60\n" in (ready.stop().reason or "")
        assert ready.state["loop"]["commit_failures"] == 1
        assert commit(ready)["next"] == "verify_smoke"
        assert "**Status:** queued\n" in ready.spec.read_text()
        assert committed(ready) == ["M\tsrc/app.py", "A\tsrc/new.py"]
        assert ready.state["loop"]["commit_failures"] == 0

    def test_one_that_fixes_files_and_fails(self, ready: Autopilot) -> None:
        hook(ready, "pre-commit", "grep -q tidy src/new.py || { echo '# tidy' >> src/new.py; exit 1; }")
        assert failed(ready)["next"] == "commit"
        assert "files have changed since the tests ran" in ready.fails("commit", "-m", MESSAGE)
        commit(ready)
        assert ready.project.git("show", "HEAD:src/new.py") == "x = 1\n# tidy\n"

    def test_one_that_formats_and_adds(self, ready: Autopilot) -> None:
        hook(ready, "pre-commit", "echo '# tidy' >> src/new.py; git add src/new.py")
        commit(ready)
        assert ready.project.git("show", "HEAD:src/new.py") == "x = 1\n# tidy\n"
        assert ready.project.git("status", "--porcelain", "src") == ""
        assert ready.project.git("status", "--porcelain", "mine.txt") == "MM mine.txt\n"

    def test_one_that_adds_more(self, ready: Autopilot) -> None:
        """What it adds is in the commit, so it must be in the index; what the user has staged of it, stays."""
        hook(ready, "pre-commit", "echo made > list.txt; git add list.txt theirs.txt mine.txt")
        ready.write("theirs.txt", "changed\n")
        only(ready, "src/app.py", "src/new.py")
        staged = ready.project.git("ls-files", "--stage", "mine.txt")
        commit(ready)
        assert committed(ready) == ["A\tlist.txt", "M\tmine.txt", "M\tsrc/app.py", "A\tsrc/new.py", "M\ttheirs.txt"]
        assert ready.project.git("status", "--porcelain", "list.txt", "theirs.txt") == ""
        assert ready.project.git("ls-files", "--stage", "mine.txt") == staged

    @pytest.mark.parametrize(
        ("script", "files"),
        [
            ("echo '# tidy' >> src/new.py; git add src/new.py", "src/new.py"),
            ("echo made > list.txt; git add list.txt", "list.txt"),
            ("git rm -q -f --cached src/new.py", "src/new.py"),
        ],
    )
    def test_what_one_puts_into_the_commit_that_no_test_has_seen_is_told(
        self, ready: Autopilot, script: str, files: str
    ) -> None:
        hook(ready, "pre-commit", script)
        ready.do("test")
        done = ready.run("commit", "-m", MESSAGE)
        assert json.loads(done.stdout)["next"] == "verify_smoke"
        warning = f"the commit is not what the tests have seen; a hook has changed {files}"
        assert warning in done.stderr
        assert f"task 1: {warning}" in ready.state["loop"]["warnings"]

    def test_one_that_changes_nothing_is_not(self, ready: Autopilot) -> None:
        hook(ready, "pre-commit", "exit 0")
        commit(ready)
        assert ready.state["loop"]["warnings"] == [
            *by_hand(1),
            "task 1: the repository's commit hooks have changed since the task began: pre-commit",
        ]

    def test_one_that_fails_twice(self, ready: Autopilot) -> None:
        before, untouched = head(ready), (ready.root / ".git" / "index").read_bytes()
        path = hook(ready, "pre-commit", "echo x >> .git/tries; echo 'never'; exit 1")
        assert failed(ready)["next"] == "commit"
        assert (ready.root / ".git" / "tries").read_text() == "x\n"
        assert "blocked" not in ready.spec.read_text()
        said = failed(ready)
        assert (said["next"], said["to"]) == ("stop", "human")
        assert (ready.root / ".git" / "tries").read_text() == "x\nx\n"
        assert head(ready) == before
        assert (ready.root / ".git" / "index").read_bytes() == untouched
        assert (ready.task["status"], ready.state["current_task"]) == ("blocked", 1)
        text = ready.spec.read_text()
        assert "**Status:** blocked\nACTION REQUIRED: commit failure\n" in text
        assert "never" in ready.log[-1]
        path.unlink()
        assert ready.resume()["next"] == "coder"
        assert ready.task["reviewer"] == "pending"

    def test_one_that_hangs_with_a_child(self, ready: Autopilot) -> None:
        """It is ended when we are told to end, and the index is as before."""
        untouched = entries(ready)
        pids = ready.root / ".git" / "pids"
        hook(ready, "pre-commit", f"sleep 600 & echo $! $$ > '{pids}.part'; mv '{pids}.part' '{pids}'; wait")
        process = subprocess.Popen([*TASKIE, "commit", "-m", MESSAGE], cwd=ready.root, env=ready.project.env)
        until = time.monotonic() + 30
        while not pids.exists():
            assert time.monotonic() < until
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) != 0
        assert not any(is_alive(int(pid)) for pid in pids.read_text().split())
        assert entries(ready) == untouched
        assert ready.state["step"] == "commit"
        (ready.root / ".git" / "hooks" / "pre-commit").unlink()
        assert commit(ready)["next"] == "verify_smoke"

    def test_one_sees_what_a_commit_by_hand_would_show_it(self, ready: Autopilot) -> None:
        script = (
            "git diff --cached --name-only -- '*.py' > .git/seen; echo \"$LC_ALL|$GIT_LITERAL_PATHSPECS\" >> .git/seen"
        )
        hook(ready, "pre-commit", script)
        ready.do("commit", "-m", MESSAGE, env={"LC_ALL": "C.UTF-8"})
        assert (ready.root / ".git" / "seen").read_text() == "src/app.py\nsrc/new.py\nC.UTF-8|\n"

    def test_one_that_fails_after_the_commit(self, ready: Autopilot) -> None:
        hook(ready, "post-commit", "exit 1")
        assert commit(ready)["next"] == "verify_smoke"

    def test_one_that_commits_something_else(self, ready: Autopilot) -> None:
        """Which of the two is the task's is for the agent to say."""
        script = "[ -e .git/again ] || { touch .git/again; git commit -q --allow-empty -m other; }"
        hook(ready, "post-commit", script)
        assert "HEAD has moved, but not by this commit" in str(failed(ready)["said"])
        assert "report it with" in ready.fails("commit", "-m", MESSAGE)
        assert ready.task["commit"] is None


def test_a_lock_of_somebody_else(ready: Autopilot) -> None:
    ready.write(".git/index.lock", "")
    said = failed(ready)
    assert said["next"] == "commit"
    assert "index.lock" in str(said["said"])
    assert failed(ready)["next"] == "stop"
    assert (ready.root / ".git" / "index.lock").exists()


def test_a_commit_of_somebody_else_in_between(ready: Autopilot, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays: the task's files are staged again, on top of it, and the person is told."""
    stage = committing._stage

    def staged(*arguments: Any) -> bool:
        differs = stage(*arguments)
        if not (ready.root / "other.txt").exists():
            ready.write("other.txt", "theirs\n")
            ready.project.git("add", "other.txt")
            ready.project.git("commit", "-q", "-m", "other", "other.txt")
        return differs

    monkeypatch.setattr(committing, "_stage", staged)
    said: list[str] = []
    committing.commit(str(ready.root), MESSAGE, ready.project.env, said.append)
    assert said == ["HEAD has moved meanwhile"]
    other = head(ready)
    commit(ready)
    assert committed(ready) == ["M\tsrc/app.py", "A\tsrc/new.py"]
    assert ready.project.git("log", "-1", "--skip=1", "--format=%s").strip() == "other"
    assert ready.state["loop"]["warnings"] == [
        *by_hand(1),
        f"task 1: besides the task's own commit there are others since it began: {other[:12]}",
    ]


class TestALockAfterTheCommit:
    """The commit is made: then the index waits for whoever has the lock, for a while."""

    def test_that_goes(self, ready: Autopilot, monkeypatch: pytest.MonkeyPatch) -> None:
        lock = ready.root / ".git" / "index.lock"
        hook(ready, "post-commit", f"touch '{lock}'")
        clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: lock.unlink())
        monkeypatch.setattr(committing, "time", clock)
        committing.commit(str(ready.root), MESSAGE, ready.project.env, pytest.fail)
        assert ready.project.git("diff", "--cached", "--name-only").split() == ["mine.txt"]

    def test_that_stays(self, ready: Autopilot, monkeypatch: pytest.MonkeyPatch) -> None:
        hook(ready, "post-commit", "touch .git/index.lock")
        monkeypatch.setattr(committing, "PATIENCE", 0.0)
        said: list[str] = []
        answer = committing.commit(str(ready.root), MESSAGE, ready.project.env, said.append)
        assert answer["next"] == "verify_smoke"
        assert "the commit is made, but git's index does not know it yet" in said[-1]
        assert "index.lock" in said[-1]
        assert said[-1].endswith("run git reset -- 'src/app.py' 'src/new.py'")


@pytest.mark.parametrize("name", ["MERGE_HEAD", "CHERRY_PICK_HEAD"])
def test_in_the_middle_of_a_merge(ready: Autopilot, name: str) -> None:
    """Its result would be lost."""
    ready.project.git("update-ref", name, "HEAD")
    assert f"under way ({name}): finish it first" in str(failed(ready)["said"])


def test_a_repository_that_is_broken(ready: Autopilot) -> None:
    ready.write(".git/index", "x")
    assert "index file smaller than expected" in ready.fails("commit", "-m", MESSAGE)


def test_a_commit_that_nobody_lived_to_record(ready: Autopilot) -> None:
    """The process ends after git's commit and before the state's write: the next one finds it."""
    hook(ready, "commit-msg", 'echo "Signed-off-by: x" >> "$1"')
    hook(ready, "post-commit", "kill -9 $(ps -o ppid= -p $(ps -o ppid= -p $PPID))")
    process = subprocess.run([*TASKIE, "commit", "-m", MESSAGE], cwd=ready.root, env=ready.project.env, check=False)
    assert process.returncode == -signal.SIGKILL
    made = head(ready)
    assert ready.state["step"] == "commit"
    (ready.root / ".git" / "hooks" / "post-commit").unlink()
    assert commit(ready)["next"] == "verify_smoke"
    assert head(ready) == made == ready.task["commit"]
    assert ready.project.git("diff", "--cached", "--name-only").split() == ["mine.txt"]


def test_the_first_of_a_repository_that_nobody_lived_to_record(ready: Autopilot) -> None:
    ready.project.git("checkout", "-q", "--orphan", "fresh")
    ready.project.git("commit", "-q", "-m", MESSAGE)
    made = head(ready)
    ready.change(loop={**ready.state["loop"], "attempt": {"head": None, "message": MESSAGE}})
    assert commit(ready)["next"] == "verify_smoke"
    assert head(ready) == made == ready.task["commit"]


@pytest.mark.parametrize("messages", [["chore(x): something else"], ["chore(x): something else", MESSAGE]])
def test_somebody_elses_commit_is_not_taken_for_it(ready: Autopilot, messages: list[str]) -> None:
    state = ready.state
    state["loop"]["attempt"] = {"head": head(ready), "message": MESSAGE}
    ready.change(**state)
    for message in messages:
        ready.project.git("commit", "-q", "--allow-empty", "-m", message)
    commit(ready)
    assert committed(ready) == ["M\tsrc/app.py", "A\tsrc/new.py"]


def test_a_second_commit_after_a_verification(ready: Autopilot) -> None:
    commit(ready)
    first = head(ready)
    ready.advance("verify_smoke", "pass")
    ready.advance("verify_func", "fail")
    ready.write("src/app.py", "print('fixed')\n")
    ready.advance("coder", files_changed=["src/app.py"])
    assert commit(ready, "fix(app): correct")["next"] == "verify_func"
    assert committed(ready) == ["M\tsrc/app.py"]
    assert ready.state["loop"]["commits"] == [{"task": 1, "hash": first}, {"task": 1, "hash": head(ready)}]


def test_a_verification_that_no_change_helps_does_not_block(ready: Autopilot) -> None:
    """What fails is the machine, say: without a commit the loop would stay here, and verification never blocks."""
    commit(ready)
    made = head(ready)
    ready.advance("verify_smoke", "pass")
    for _ in range(2):
        assert ready.advance("verify_func", "fail")["next"] == "coder"
        ready.advance("coder", files_changed=[])
        assert commit(ready, "fix(app): correct")["next"] == "verify_func"
        assert "nothing to commit" in ready.log[-1]
    assert ready.advance("verify_func", "fail")["next"] == "next_task"
    assert (head(ready), ready.task["commit"], ready.task["verify"]) == (made, made, "warn")
    assert len(ready.state["loop"]["commits"]) == 1


def test_a_verification_needs_a_new_commit_for_a_change(ready: Autopilot) -> None:
    commit(ready)
    ready.advance("verify_smoke", "pass")
    ready.advance("verify_func", "fail")
    ready.write("src/app.py", "print('fixed')\n")
    ready.advance("coder", files_changed=["src/app.py"])
    assert "make a new one" in ready.refused("commit", "ok", hash=head(ready))


def test_a_repository_that_git_will_not_read_is_not_a_missing_one(ready: Autopilot) -> None:
    """Of another user, say: a hash that nobody can look up is not believed, and the reason is git's own."""
    ready.write("src/app.py", "print('changed')\n")
    env = {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}
    assert "dubious ownership" in ready.fails("commit", "-m", MESSAGE, env=env)
    event = json.dumps({"step": "commit", "result": "ok", "hash": "deadbeef"})
    assert "dubious ownership" in ready.fails("advance", event, env=env)
