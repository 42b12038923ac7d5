"""fake_codex: `codex exec` with its prompt on stdin, scripted like fake_claude."""

from __future__ import annotations

import json

from pytest_taskie import FakeCli, Plan, Project, RunHook


def test_not_requested_it_is_not_there(run_hook: RunHook) -> None:
    assert run_hook(command="command -v codex").exit_code == 127


def test_the_prompt_comes_on_stdin(run_hook: RunHook, fake_codex: FakeCli) -> None:
    fake_codex.reviews("FAIL")
    command = "codex exec -m o9 --dangerously-bypass-approvals-and-sandbox"
    result = run_hook(command=command, stdin="Review this.\n")
    assert (result.exit_code, result.stdout) == (0, "VERDICT: FAIL\n")
    [call] = fake_codex.calls
    assert call.prompt == "Review this.\n"
    assert call.model == "o9"
    assert call.flags["--dangerously-bypass-approvals-and-sandbox"] is True


def test_the_prompt_as_a_word(run_hook: RunHook, fake_codex: FakeCli) -> None:
    fake_codex.reviews("FAIL", "FAIL")
    run_hook(command=["codex", "exec", "Review this."], stdin="")
    run_hook(command=["codex", "exec", "-"], stdin="From stdin.")
    assert [call.prompt for call in fake_codex.calls] == ["Review this.", "From stdin."]


def test_it_says_and_exits_as_scripted(run_hook: RunHook, fake_codex: FakeCli) -> None:
    fake_codex.says("APPROVED", "CHANGES").exits(0, 5)
    results = [run_hook(command="codex exec", stdin="x") for _ in range(2)]
    assert [(result.stdout, result.exit_code) for result in results] == [("APPROVED\n", 0), ("CHANGES\n", 5)]


def test_it_writes_its_last_message(run_hook: RunHook, fake_codex: FakeCli, project: Project) -> None:
    fake_codex.outputs("the last words")
    run_hook(command="codex exec -o last.txt", stdin="x")
    assert (project.path / "last.txt").read_text() == "the last words"


def test_it_prints_events(run_hook: RunHook, fake_codex: FakeCli, project: Project) -> None:
    fake_codex.reviews("PASS")
    result = run_hook(command="codex exec --json --output-schema schema.json -o last.txt", stdin="x")
    events = [json.loads(line) for line in result.stdout.splitlines()]
    assert [event["type"] for event in events] == ["thread.started", "turn.started", "item.completed", "turn.completed"]
    assert json.loads(events[2]["item"]["text"]) == {"verdict": "PASS"}
    assert json.loads((project.path / "last.txt").read_text()) == {"verdict": "PASS"}


def test_it_refuses_an_option_as_codex_does(run_hook: RunHook, fake_codex: FakeCli) -> None:
    fake_codex.rejects("--ephemeral")
    result = run_hook(command="codex exec --ephemeral", stdin="x")
    assert (result.exit_code, result.stderr) == (2, "error: unexpected argument '--ephemeral' found\n")


def test_it_may_overwrite_a_review(run_hook: RunHook, fake_codex: FakeCli, plan: Plan) -> None:
    fake_codex.reviews("FAIL")
    plan.write("plan-review-1.md", "old")
    run_hook(command="codex exec", stdin="Write your review to .taskie/plans/test-plan/plan-review-1.md.")
    assert "VERDICT: FAIL" in (plan.path / "plan-review-1.md").read_text()


def test_both_fakes_side_by_side(run_hook: RunHook, fake_codex: FakeCli, fake_claude: FakeCli) -> None:
    fake_claude.says("One.")
    fake_codex.says("Two.")
    run_hook(command="claude -p one; codex exec two", stdin="")
    assert [len(fake_claude.calls), len(fake_codex.calls)] == [1, 1]
    fake_claude.remove()
    assert run_hook(command="command -v codex").exit_code == 0
