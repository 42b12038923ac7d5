"""A disk that fails: what cannot be read is said to be so, never to be missing; what is written counts as written."""

from __future__ import annotations

import errno
import json
import sys

import pytest
from support.commands import PROGRAM, run_process
from support.faulty import Faulty

from faults.conftest import CheckedHook, Reviewer
from pytest_taskie import Plan, Project, assert_approved, assert_blocked
from tools.torture import places
from tools.torture.places import Ended

pytestmark = pytest.mark.state

EIO = errno.EIO
INVITING = ("Missing", "missing", "not written", "Write the plan", "write the plan", "has no state.json", "is gone")
HERE = "/.taskie/plans/test-plan"


@pytest.mark.parametrize("call", ["open", "read", "list", "stat"])
@pytest.mark.parametrize("name", [HERE, f"{HERE}/tasks.md", f"{HERE}/state.json"])
def test_a_plan_that_cannot_be_read(
    checked_hook: CheckedHook, plan: Plan, faulty: Faulty, name: str, call: str
) -> None:
    plan.state.write(phase="complete", next_phase=None)
    plan.write("tasks.md", "| Id | Status |\n|---|---|\n| 1 | done |\n")
    result = checked_hook(process=True, env=faulty(f"{call}={EIO}@{name}"))
    assert not [word for word in INVITING if word in result.stdout], result.stdout
    assert checked_hook.changed == set()


def test_a_directory_that_cannot_be_listed_is_told(checked_hook: CheckedHook, plan: Plan, faulty: Faulty) -> None:
    plan.state.write(phase="complete", next_phase=None)
    result = checked_hook(process=True, env=faulty(f"list={EIO}@{HERE}#2"))
    assert_approved(result, f"{HERE} cannot be listed \\(Input/output error\\)")


@pytest.mark.parametrize("call", ["open", "read"])
def test_a_draft_that_cannot_be_read_is_not_asked_for(
    checked_hook: CheckedHook, project: Project, faulty: Faulty, call: str
) -> None:
    project.git()
    assert run_process(["claudex", "start", "plan", "a topic"], cwd=project.path, env=project.env).code == 0
    (project.path / "PLAN.md").write_text("# The user's\n")
    result = checked_hook(process=True, env=faulty(f"{call}={EIO}@/PLAN.md"))
    assert_approved(result, r"PLAN\.md cannot be read \(Input/output error\)")
    assert_blocked(checked_hook(process=True))


CLAUDEX = {
    "status": ("claudex", "status"),
    "continue": ("claudex", "continue"),
    "start": ("claudex", "start", "plan", "another topic"),
    "cancel": ("claudex", "cancel"),
    "overview": ("status",),
    "the hook": (),
}


@pytest.mark.parametrize("fault", ["open", "read", "stat", "list"])
@pytest.mark.parametrize("words", list(CLAUDEX.values()), ids=list(CLAUDEX))
def test_a_loop_that_cannot_be_read_is_not_taken_for_none(
    checked_hook: CheckedHook, project: Project, faulty: Faulty, words: tuple[str, ...], fault: str
) -> None:
    """Else one more would be begun beside it, and a stop be silent that has a review to run."""
    project.git()
    assert run_process(["claudex", "start", "plan", "a topic"], cwd=project.path, env=project.env).code == 0
    folder = project.path / ".claude" / "claudex"
    (state,) = folder.glob("*.state")
    before = state.read_bytes()
    failing = faulty(f"{fault}={EIO}@{folder if fault == 'list' else state}")
    if words:
        done = run_process(words, cwd=project.path, env={**project.env, **failing})
        said = done.out + done.err
    else:
        said = checked_hook(process=True, env=failing).stdout
    assert "cannot be read (Input/output error)" in said
    assert list(folder.glob("*.state")) == [state]
    assert state.read_bytes() == before


@pytest.mark.parametrize("name", ["autopilot-state.json", ".claude/claudex", ".taskie/plans", ".gauntlet/config.yml"])
def test_an_engine_that_cannot_be_seen_is_not_taken_for_none(project: Project, faulty: Faulty, name: str) -> None:
    path = project.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.mkdir()
    done = run_process(["status"], cwd=project.path, env={**project.env, **faulty(f"stat={EIO}@{path}")})
    assert f"{path} cannot be read (Input/output error)" in done.out + done.err


@pytest.mark.parametrize("number", range(1, 5))
@pytest.mark.parametrize(
    ("words", "name"),
    [(("autopilot", "init", "S", "spec.md"), "autopilot-state.json"), (("gauntlet", "init"), ".gauntlet/config.yml")],
    ids=["autopilot", "gauntlet"],
)
def test_what_is_there_is_not_begun_anew_because_it_cannot_be_seen_for_a_moment(
    project: Project, faulty: Faulty, words: tuple[str, ...], name: str, number: int
) -> None:
    project.git()
    (project.path / "spec.md").write_text("# Spec\n")
    path = project.path / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"entry_points": []}\n')
    run_process(words, cwd=project.path, env={**project.env, **faulty(f"stat={EIO}@/project/{name}#{number}")})
    assert path.read_text() == '{"entry_points": []}\n'


def test_a_state_that_was_put_aside_is_not_replaced_because_it_cannot_be_seen(
    project: Project, plan: Plan, faulty: Faulty
) -> None:
    (plan.path / "state.json").write_text("{ the second")
    aside = plan.path / "state.json.spoiled-1"
    aside.write_text("{ the first")
    failing = {**project.env, **faulty(f"stat={EIO}@{aside}")}
    done = run_process(["state", "begin", "new-plan"], cwd=project.path, env=failing)
    assert aside.read_text() == "{ the first"
    assert "cannot be read (Input/output error)" in done.err
    assert (plan.path / "state.json").read_text() == "{ the second"


def test_a_file_beside_a_loop_is_not_replaced_because_it_cannot_be_seen(project: Project, faulty: Faulty) -> None:
    for words in (["start", "plan", "a topic"], ["cancel"]):
        assert run_process(["claudex", *words], cwd=project.path, env=project.env).code == 0
    ignored = project.path / ".claude" / "claudex" / ".gitignore"
    ignored.write_text("# of my own\n")
    failing = {**project.env, **faulty(f"stat={EIO}@{ignored}#1")}
    done = run_process(["claudex", "start", "plan", "another"], cwd=project.path, env=failing)
    assert ignored.read_text() == "# of my own\n"
    assert "cannot be read (Input/output error)" in done.err


def test_findings_that_were_put_aside_are_not_replaced_because_they_cannot_be_seen(
    project: Project, faulty: Faulty, checked_hook: CheckedHook
) -> None:
    assert run_process(["claudex", "start", "plan", "a topic"], cwd=project.path, env=project.env).code == 0
    (state,) = (project.path / ".claude" / "claudex").glob("*.state")
    findings = state.with_suffix("") / "findings-round-1.md"
    findings.parent.mkdir(exist_ok=True)
    findings.write_text("the second\n")
    aside = findings.with_name(f"{findings.name}.old-1")
    aside.write_text("the first\n")
    (project.path / "PLAN.md").write_text("# Plan\n")
    result = checked_hook(process=True, env=faulty(f"stat={EIO}@{aside}"))
    assert aside.read_text() == "the first\n"
    assert "cannot be read (Input/output error)" in result.stdout
    assert findings.read_text() == "the second\n"


@pytest.mark.parametrize("call", ["open", "read"])
def test_a_state_that_cannot_be_read_now_is_not_taken_for_a_spoiled_one(
    project: Project, plan: Plan, faulty: Faulty, call: str
) -> None:
    plan.state.write(max_reviews=5)
    before = (plan.path / "state.json").read_bytes()
    done = run_process(
        ["state", "begin", "new-plan"],
        cwd=project.path,
        env={**project.env, **faulty(f"{call}={EIO}@{HERE}/state.json")},
    )
    assert done.code == 1, done
    assert "state.json cannot be read (Input/output error)" in done.err
    assert [path.name for path in plan.path.glob("state.json*")] == ["state.json"]
    assert (plan.path / "state.json").read_bytes() == before


CLOSED = {
    "state set": ("state", "set", "max_reviews=3"),
    "state get": ("state", "get"),
    "next": ("next",),
    "status": ("status",),
    "claudex": ("claudex", "start", "plan", "a topic"),
    "autopilot": ("autopilot", "init", "SPEC-1", "spec.md"),
    "install": ("install",),
}


@pytest.mark.parametrize("words", list(CLOSED.values()), ids=list(CLOSED))
@pytest.mark.parametrize(
    "end", ["state.json", "state.json.new", ".state", ".state.new", "/plans", "/claudex", "spec.md",
            "settings.local.json", "settings.local.json.new", "/.claude"]
)  # fmt: skip
def test_closing_fails(project: Project, plan: Plan, faulty: Faulty, words: tuple[str, ...], end: str) -> None:
    """Over a network it may, and what was synchronised is there."""
    plan.state.write()
    project.git()
    (project.path / "spec.md").write_text("# Spec\n")
    done = run_process(words, cwd=project.path, env={**project.env, **faulty(f"close={EIO}@{end}")})
    assert (done.code, "Traceback" in done.err, "Nothing was changed" in done.err) == (0, False, False), done.err
    if words[:2] == ("state", "set"):
        assert json.loads((plan.path / "state.json").read_text())["max_reviews"] == 3


# Also of what the reviewer wrote into, which has no name any more, and of pipes, whose names end like this.
AT_A_REVIEW = (
    "state.json", ".state.json.new", "/test-plan", "/plans", "/.review-1.log", "/.review-1.log.out (deleted)",
    "/reviews.jsonl", "/.review-running.json", "]",
)  # fmt: skip


@pytest.mark.parametrize("end", AT_A_REVIEW)
def test_closing_fails_at_a_stop(
    checked_hook: CheckedHook, plan: Plan, reviewer: Reviewer, faulty: Faulty, end: str
) -> None:
    plan.state.write(next_phase="plan-review")
    reviewer.reviews(plan.path)
    assert_blocked(checked_hook(process=True, env=faulty(f"close={EIO}@{end}")))
    assert plan.state.read()["next_phase"] == "post-plan-review"


def test_a_reviewer_whose_answer_cannot_be_read(
    checked_hook: CheckedHook, plan: Plan, reviewer: Reviewer, faulty: Faulty
) -> None:
    plan.state.write(next_phase="plan-review")
    reviewer.reviews(plan.path)
    result = checked_hook(process=True, env=faulty(f"read={EIO}@.out (deleted)"))
    assert_approved(result, r"Review failed: what the reviewer said cannot be read \(Input/output error\)")
    assert_blocked(checked_hook(process=True))


@pytest.mark.parametrize("end", ["/console.1.log", "/check_._lint.1.log", "/gauntlet_logs"])
def test_closing_fails_at_a_stop_with_gates(
    checked_hook: CheckedHook, project: Project, faulty: Faulty, end: str
) -> None:
    failing_gate(project)
    result = checked_hook(process=True, env={"TASKIE_TRUST": "1", **faulty(f"close={EIO}@{end}")})
    assert_blocked(result, "check:.:lint: exit code 1")


def test_a_verdict_that_cannot_be_read_for_a_moment_is_not_replaced(project: Project, faulty: Faulty) -> None:
    failing_gate(project)

    def gauntlet(word: str, **env: str) -> int:
        return run_process(["gauntlet", word], cwd=project.path, env={**project.env, **env}).code

    assert gauntlet("run") == 1
    (record,) = (project.path / ".git" / "taskie" / "gauntlet").glob("*.json")
    gates = json.loads(record.read_text())["content"]["gates"]
    assert gauntlet("clean", **faulty(f"read={EIO}@/{record.name}")) == 0
    assert json.loads(record.read_text())["content"]["gates"] == gates


@pytest.mark.parametrize("call", ["open", "read"])
@pytest.mark.parametrize("number", range(1, 5))
def test_a_seal_that_cannot_be_read_for_a_moment(project: Project, faulty: Faulty, number: int, call: str) -> None:
    """A verdict that was sealed without it would be a forgery ever after."""
    failing_gate(project)

    def gauntlet(*words: str, **env: str) -> str:
        done = run_process(["gauntlet", *words], cwd=project.path, env={**project.env, **env})
        return done.out + done.err

    gauntlet("run")
    gauntlet("run", **faulty(f"{call}={EIO}@/taskie/seal#{number}"))
    assert "not believed" not in gauntlet("run")


def test_skips_that_cannot_be_read_for_a_moment_are_not_forgotten(project: Project, faulty: Faulty) -> None:
    failing_gate(project)
    env = {**project.env, **faulty()}

    def taskie(*words: str, **more: str) -> Ended:
        argv = [sys.executable, str(PROGRAM), "gauntlet", *words]
        return places.run(argv, cwd=project.path, env={**env, **more}, typed=b"y\n")

    (project.path / ".gauntlet" / "checks" / "other.yml").write_text('{"command": "exit 1"}')
    entry = '{"entry_points": [{"path": ".", "checks": ["lint", "other"]}]}'
    (project.path / ".gauntlet" / "config.yml").write_text(entry)
    taskie("run")
    assert taskie("skip", "lint", "--reason", "a flaky server").code == 0
    (record,) = (project.path / ".git" / "taskie" / "gauntlet").glob("*.skips")
    for number in range(1, 4):
        taskie("skip", "other", "--reason", "another", **faulty(f"read={EIO}@/{record.name}#{number}"))
        kept = json.loads(record.read_text())["content"]["skips"]
        assert "check:.:lint" in [each["gate"] for each in kept]


@pytest.mark.parametrize("fault", ["stat={}@/project/.", "stat={}@/work.txt"])
@pytest.mark.parametrize("number", range(1, 3))
def test_a_gate_is_not_passed_over_for_what_cannot_be_seen_for_a_moment(
    checked_hook: CheckedHook, project: Project, faulty: Faulty, fault: str, number: int
) -> None:
    failing_gate(project)
    (project.path / ".gauntlet" / "checks" / "lint.yml").write_text('{"command": "echo wrong {files}; exit 1"}')
    first = checked_hook(process=True, env=faulty(f"{fault.format(EIO)}#{number}"))
    assert "GAUNTLET FAILED" in first.stdout or "cannot be read (Input/output error)" in first.stdout
    assert_blocked(checked_hook(process=True), "wrong")


def failing_gate(project: Project) -> None:
    gates = project.path / ".gauntlet"
    (gates / "checks").mkdir(parents=True)
    (gates / "checks" / "lint.yml").write_text('{"command": "echo wrong; exit 1"}')
    (gates / "config.yml").write_text('{"entry_points": [{"path": ".", "checks": ["lint"]}]}')
    project.git()
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "Begin")
    (project.path / "work.txt").write_text("work\n")


@pytest.mark.parametrize("number", range(23, 30))  # while it writes
def test_a_repository_that_cannot_be_seen_for_a_moment(project: Project, faulty: Faulty, number: int) -> None:
    """Without one there is no copy of the state, by which a later command knows that nobody else has changed it."""
    project.git()
    (project.path / "spec.md").write_text("# Spec\n")

    def taskie(*words: str, **env: str) -> int:
        return run_process(["autopilot", *words], cwd=project.path, env={**project.env, **env}).code

    assert taskie("init", "SPEC-1", "spec.md") == 0
    taskie("plan", '[{"id": 1, "name": "first"}]', **faulty(f"stat={EIO}@/.git#{number}"))
    assert taskie("plan", '[{"id": 1, "name": "first"}]') == 0


def test_an_engine_whose_files_the_disk_does_not_show(checked_hook: CheckedHook, plan: Plan, faulty: Faulty) -> None:
    """Python takes a folder without them for a package that is empty; the other engines answer."""
    plan.state.write(phase="complete", next_phase=None)
    (plan.path / "nested").mkdir()
    (plan.path / "nested" / "file.md").touch()
    result = checked_hook(process=True, env=faulty(f"stat={EIO}@/taskie/claudex/__init__.py"))
    assert_blocked(result, "nested")
    assert "engine claudex failed (ImportError: taskie.claudex cannot be read)" in result.stderr


def test_a_worktree_for_which_there_was_no_room_at_first(project: Project, faulty: Faulty) -> None:
    """Half a `.gitignore` would show the whole of it to the project's own git, for good."""
    project.git()
    (project.path / "spec.md").write_text("# Spec\n")
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "Begin")
    words = ["autopilot", "init", "--worktree", "SPEC-1", "spec.md"]
    full = faulty(f"write={errno.ENOSPC}@/.worktrees/.gitignore", f"write={errno.ENOSPC}@/..gitignore.new")
    assert run_process(words, cwd=project.path, env={**project.env, **full}).code == 1
    assert run_process(words, cwd=project.path, env=project.env).code == 0
    assert project.git("status", "--porcelain") == ""


def test_half_a_worktree_is_told(project: Project, faulty: Faulty) -> None:
    """What git can neither finish nor remove would else be gone on with, as the next command proposes."""
    project.git()
    (project.path / "spec.md").write_text("# Spec\n")
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "Begin")
    place = project.path / ".worktrees" / "SPEC-1"
    failing = faulty(f"write={EIO}@{place}/spec.md", f"unlink={EIO}@{place}/spec.md")
    words = ["autopilot", "init", "--worktree", "SPEC-1", "spec.md"]
    done = run_process(words, cwd=project.path, env={**project.env, **failing})
    assert done.code == 1, done
    assert (place / "spec.md").read_bytes() == b""
    assert f"{place} is not whole: remove it with `git worktree remove --force --force '{place}'`" in done.err


@pytest.mark.parametrize("number", [1, 2])
def test_trust_that_cannot_be_read_for_a_moment_is_not_replaced(project: Project, faulty: Faulty, number: int) -> None:
    """What a loop brings is added to what is trusted here, and never stands in for it."""
    project.git()

    def start(**env: str) -> int:
        words = ["claudex", "start", "plan", "a topic"]
        return run_process(words, cwd=project.path, env={**project.env, **env}).code

    assert start() == 0
    (record,) = (project.home / ".config" / "taskie" / "trusted").glob("*.json")
    before = set(json.loads(record.read_text())["engines"]["claudex"])
    assert run_process(["claudex", "cancel"], cwd=project.path, env=project.env).code == 0
    assert start(**faulty(f"read={EIO}@/{record.name}#{number}")) == 0
    assert before <= set(json.loads(record.read_text())["engines"]["claudex"])


@pytest.mark.parametrize("number", range(1, 10))
def test_that_a_state_cannot_be_read_is_nothing_to_trust(project: Project, faulty: Faulty, number: int) -> None:
    project.git()

    def update(**env: str) -> None:
        words = ["autopilot", "update", "1", "tester", "pass"]
        run_process(words, cwd=project.path, env={**project.env, **env})

    for words in (["init", "SPEC-1", "spec.md"], ["plan", '[{"id": 1, "name": "first"}]']):
        assert run_process(["autopilot", *words], cwd=project.path, env=project.env).code == 0
    (record,) = (project.home / ".config" / "taskie" / "trusted").glob("*.json")
    before = record.read_bytes()
    update(**faulty(f"read={EIO}@/project/autopilot-state.json#{number}"))
    update()
    assert record.read_bytes() == before
