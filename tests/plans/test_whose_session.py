"""D19: which sessions take part in a plan's loop, by what their transcripts show."""

from __future__ import annotations

import json
from typing import Any, Callable

import pytest
from support import HOOK

from pytest_taskie import Events, FakeCli, Plan, Project, RunHook, assert_approved, assert_blocked
from taskie.plans import session
from taskie.plans.session import COMMANDS

pytestmark = pytest.mark.state

CLIENT = [str(HOOK), "--fail-open"]
DUE = r"^A plan review is due in \.taskie/plans/test-plan; /taskie:continue-plan takes it up here\.$"
Does = Callable[[Project], None]


def calls(tool: str, **arguments: Any) -> Does:
    return lambda project: project.calls(tool, **arguments)


def types(command: str, arguments: str = "") -> Does:
    """A slash command, as the client records it."""
    name = command.lstrip("/")
    text = f"<command-message>{name}</command-message>\n<command-name>{command}</command-name>"
    return lambda project: project.asks(text + (f"\n<command-args>{arguments}</command-args>"))


def prints(text: str) -> Does:
    """What a tool printed."""
    return lambda project: project.transcript.add(
        "user", [{"type": "tool_result", "tool_use_id": "1", "content": text}]
    )


def says(role: str, text: str) -> Does:
    return lambda project: project.transcript.add(role, text if role == "user" else [{"type": "text", "text": text}])


def both(*deeds: Does) -> Does:
    def do(project: Project) -> None:
        for deed in deeds:
            deed(project)

    return do


IN = ".taskie/plans/test-plan"
OTHER = ".taskie/plans/other"
DEEDS = [
    f"echo '# Plan' > {IN}/plan.md",
    f"cat >> {IN}/plan.md <<'EOF'\nmore\nEOF",
    f"cd {IN} && echo more >> plan.md",
    "cd .taskie/plans && mv test-plan/plan.md test-plan/old.md",
    f"P={IN}; printf '%s' x > \"$P/plan.md\"",
    f"for f in {IN}/*.md; do touch $f; done",
    f"sed -i s/a/b/ {IN}/plan.md",
    f"cat notes | tee {IN}/plan.md",
    f"mkdir -p {IN}",
    f"git add {IN} && git commit -m plan",
    f"git -C /x rm {IN}/plan.md",
    f"find {IN} -name '*.md' -delete",
    f"python3 - <<'EOF'\nopen('{IN}/plan.md', 'w')\nEOF",
]
LOOKS = [
    f"ls {IN}",
    f"cat {IN}/plan.md",
    f"cat {IN}/*.md | grep -c x; make test",
    "cd .taskie/plans && cat test-plan/plan.md",
    f"grep -E 'a|b;c' {IN}/plan.md 2>/dev/null",
    f"head -5 {IN}/plan.md > /tmp/copy",
    f"LC_ALL=C sed -n 1,5p {IN}/plan.md 2>&1",
    f"git log --oneline -- {IN} && git diff {IN}",
    f"find {IN} -name '*.md'",
    f"for f in {IN}/*.md; do head -1 $f; done",
    f"cat > README.md <<'EOF'\nrm -r {IN}\nEOF",
    f"taskie status {IN}",
]
RELATED: dict[str, Does] = {
    "writes a file": calls("Write", file_path=f"/somewhere/{IN}/plan.md", content="# Plan"),
    "several edits": calls("MultiEdit", file_path=f"/x/{IN}/plan.md", edits=[{"old_string": "a", "new_string": "b"}]),
    **{command: calls("Bash", command=command) for command in DEEDS},
    "our command for it": calls("Bash", command='"/opt/taskie/bin/taskie" state set --plan test-plan phase=new-plan'),
    "our command, quoted": calls("Bash", command="'/opt/taskie/bin/taskie' state get --plan='test-plan' .phase"),
    "our command": calls("Bash", command="/opt/taskie/bin/taskie next --json"),
    "our module": calls("Bash", command="python3 -m taskie state begin new-plan"),
    "types a command": types("/taskie:continue-plan"),
    "types a command with words": types("/taskie:new-plan", "a login page"),
    "the model types it": calls("Skill", skill="taskie:continue-plan", args="please"),
    "types a command, then reads it": both(types("/taskie:continue-plan"), calls("Read", file_path=f"{IN}/plan.md")),
    "and then another": both(
        types("/taskie:continue-plan"),
        calls("Read", file_path=f"{IN}/plan.md"),
        calls("Read", file_path=f"{OTHER}/plan.md"),
    ),
    "back from another plan": both(calls("Read", file_path=f"{OTHER}/plan.md"), types("/taskie:continue-plan")),
    "before another plan": both(
        calls("Write", file_path=f"{IN}/plan.md", content=""), calls("Write", file_path=f"{OTHER}/plan.md", content="")
    ),
}
UNRELATED: dict[str, Does] = {
    "nothing": both(),
    "reads a file": calls("Read", file_path=f"/somewhere/{IN}/plan.md"),
    "searches it": calls("Grep", pattern="x", path=f"/somewhere/{IN}"),
    "lists it": calls("Glob", pattern=f"{IN}/**"),
    "has it read": calls("Task", prompt=f"Look at {IN}.", subagent_type="Explore"),
    **{command: calls("Bash", command=command, description=f"Write {IN}") for command in LOOKS},
    "a command for another plan, then reads this one": both(
        types("/taskie:continue-plan"),
        calls("Edit", file_path=f"{OTHER}/plan.md", old_string="a", new_string="b"),
        calls("Read", file_path=f"{IN}/plan.md"),
    ),
    "the person mentions it": says("user", f"What is {IN}? Is it for /taskie:continue-plan?"),
    "the person quotes a command": says("user", "Why <command-name>/taskie:continue-plan</command-name>?"),
    "the agent mentions it": says("assistant", f"I see {IN}, use /taskie:continue-plan."),
    "a tool prints it": prints(f"{IN}/plan.md\n<command-name>/taskie:continue-plan</command-name>"),
    "it is written into another file": calls("Write", file_path="/x/README.md", content=f"See {IN}/plan.md"),
    "it is edited in another file": calls("Edit", file_path="/x/README.md", old_string="x", new_string=IN),
    "a longer name": calls("Read", file_path="/x/.taskie/plans/test-plan-2/plan.md"),
    "another suffix": calls("Read", file_path="/x/.taskie/plans/test-plan.old/plan.md"),
    "the id is an ordinary word": calls("Grep", pattern="test-plan", path="/x/src"),
    "the id beside our name": calls("Bash", command="grep -r test-plan ~/src/taskie"),
    "the id is a source file": calls("Read", file_path="/x/src/test-plan.py"),
    "another plan": calls("Read", file_path="/x/.taskie/plans/other/plan.md"),
    "looks at all plans": calls("Bash", command="ls .taskie/plans"),
    "our command for another plan": calls("Bash", command="/opt/bin/taskie state get --plan other .phase"),
    "a command for another plan": both(
        types("/taskie:continue-plan"), calls("Read", file_path=".taskie/plans/other/plan.md")
    ),
    "another command": types("/compact"),
    "looks only": types("/taskie:status"),
    "changes the limit": types("/taskie:limit", "12"),
    "our word elsewhere": calls("Bash", command="pip install pytest-taskie && taskie status"),
}


@pytest.fixture
def due(project: Project, plan: Plan) -> Plan:
    """A plan whose review is due, in a session that has only just begun."""
    plan.state.write()
    project.transcript.write_text("")
    project.asks("What does this repository do?")
    project.says("Done.")
    return plan


@pytest.mark.parametrize("deed", RELATED.values(), ids=list(RELATED))
def test_a_session_that_did_something_goes_on(
    deed: Does, project: Project, due: Plan, run_hook: RunHook, fake_claude: FakeCli
) -> None:
    fake_claude.reviews("FAIL")
    deed(project)
    project.says("Done.")
    assert_blocked(run_hook())
    assert len(fake_claude.calls) == 1


@pytest.mark.parametrize("deed", UNRELATED.values(), ids=list(UNRELATED))
def test_a_session_that_did_nothing_is_left_alone(
    deed: Does, project: Project, due: Plan, run_hook: RunHook, fake_claude: FakeCli
) -> None:
    before = due.state.read()
    deed(project)
    project.says("Done.")
    result = run_hook()
    assert_approved(result, DUE)
    assert fake_claude.calls == []
    assert due.state == before


@pytest.mark.parametrize("command", sorted(COMMANDS - {"complete"}))
def test_every_command_of_the_loop_takes_part(
    command: str, project: Project, due: Plan, run_hook: RunHook, fake_claude: FakeCli
) -> None:
    fake_claude.reviews("FAIL")
    types(f"/taskie:{command}")(project)
    assert_blocked(run_hook())


def test_as_the_client_calls_it(project: Project, due: Plan, run_hook: RunHook, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL")
    result = run_hook(command=CLIENT)
    assert_approved(result, DUE)
    assert fake_claude.calls == []
    types("/taskie:continue-plan")(project)
    assert_blocked(run_hook(command=CLIENT))


@pytest.mark.validation
def test_the_structure_of_a_plan_does_not_block_it_either(
    project: Project, due: Plan, run_hook: RunHook, fake_claude: FakeCli
) -> None:
    due.state.write(next_phase=None)
    due.remove("plan.md")
    assert_approved(
        run_hook(), r"^Plan 'test-plan': Missing required file: plan\.md; /taskie:continue-plan takes it up"
    )
    project.calls("Edit", file_path=due.path / "tasks.md", old_string="a", new_string="b")
    assert_blocked(run_hook(), r"Missing required file: plan\.md$")


def test_a_review_that_nobody_wants_is_not_skipped_for_it(
    project: Project, due: Plan, run_hook: RunHook, fake_claude: FakeCli
) -> None:
    before = due.state.write(max_reviews=0)
    assert_approved(run_hook(), "^Plan 'test-plan' is unfinished; /taskie:continue-plan takes it up here.$")
    assert due.state == before


def test_in_a_turn_that_another_hook_has_blocked(
    project: Project, due: Plan, run_hook: RunHook, events: Events, fake_claude: FakeCli
) -> None:
    before = due.state.write(phase="post-plan-review", next_phase="plan-review", phase_iteration=1)
    assert_approved(run_hook(events.stop(stop_hook_active=True)), DUE)
    assert due.state == before
    assert fake_claude.calls == []


def test_another_plan_than_the_newest_is_the_sessions_own(
    project: Project, make_plan: Callable[..., Plan], run_hook: RunHook, fake_claude: FakeCli
) -> None:
    """Two sessions in one project are normal: each has its own plan reviewed, whichever was touched last."""
    mine, theirs = make_plan("mine", state={}), make_plan("theirs", state={})
    mine.age(60)
    project.transcript.write_text("")
    project.asks("go on")
    project.calls("Edit", file_path=f"{mine.path}/plan.md", old_string="a", new_string="b")
    project.says("Done.")
    before = theirs.state.read()
    fake_claude.reviews("FAIL", "FAIL")
    assert_blocked(run_hook(command=CLIENT), "plans/mine/plan-review-1.md")
    assert theirs.state == before
    # Also where nothing is due in the newest one.
    mine.state.write()
    mine.age(60)
    theirs.state.write(phase="complete", next_phase=None)
    assert_blocked(run_hook(command=CLIENT), "plans/mine/plan-review-1.md")


@pytest.mark.parametrize("of", ["another client", "another client's event", "nobody"])
def test_what_cannot_be_known_is_as_before(
    of: str, project: Project, due: Plan, run_hook: RunHook, events: Events, fake_claude: FakeCli
) -> None:
    fake_claude.reviews("FAIL")
    event = events.stop()
    if of == "another client":
        item = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}
        project.transcript.write_text(json.dumps({"type": "response_item", "payload": item}) + "\n")
    elif of == "another client's event":
        event["turn_id"] = "1"
    else:
        del event["transcript_path"]
    assert_blocked(run_hook(event))
    assert len(fake_claude.calls) == 1


class TestTheClientIsBehind:
    """The client writes what happened a moment later than the hook may look."""

    @pytest.mark.parametrize("did", [False, True])
    def test_it_waits_for_the_last_words(
        self,
        did: bool,
        project: Project,
        due: Plan,
        run_hook: RunHook,
        events: Events,
        fake_claude: FakeCli,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        fake_claude.reviews("FAIL").repeats()
        project.asks("go on")
        early = project.transcript.read_text()
        if did:
            project.calls("Write", file_path=due.path / "plan.md", content="# Plan")
        project.says("All is well.")
        late = project.transcript.read_text()
        project.transcript.write_text(early)
        waited = []

        def wait(seconds: float) -> None:
            waited.append(seconds)
            project.transcript.write_text(late)

        monkeypatch.setattr("taskie.plans.session.time.sleep", wait)
        result = run_hook(events.stop(last_assistant_message="All is well."))
        assert_blocked(result) if did else assert_approved(result, DUE)
        assert len(waited) == 1

    def test_but_not_for_ever(
        self,
        project: Project,
        due: Plan,
        run_hook: RunHook,
        events: Events,
        fake_claude: FakeCli,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(session, "LONGEST_LAG", 0.1)
        assert_approved(run_hook(events.stop(last_assistant_message="These words never come.")), DUE)

    @pytest.mark.parametrize("words", [None, "Done.\n", "I look.\n\nDone."])
    def test_nor_without_need(
        self,
        words: str | None,
        project: Project,
        due: Plan,
        run_hook: RunHook,
        events: Events,
        fake_claude: FakeCli,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Old clients do not say the last words; others join those of several messages."""
        monkeypatch.setattr("taskie.plans.session.time.sleep", lambda seconds: pytest.fail("it waits"))
        event = events.stop()
        del event["last_assistant_message"]
        assert_approved(run_hook({**event, **({"last_assistant_message": words} if words else {})}), DUE)
