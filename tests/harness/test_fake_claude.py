"""fake_claude: an executable on the project's PATH that reviews as scripted, in the real client's shape."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie import FakeCli, HookResult, Plan, Project, RunHook

SCHEMA = '{"type":"object"}'
PROMPT = "Review. Write your review to .taskie/plans/test-plan/plan-review-1.md. Be very critical."
FLAGS = ("--model", "opus", "--output-format", "json", "--json-schema", SCHEMA, "--print")


@pytest.fixture
def review(run_hook: RunHook) -> Any:
    """Call the fake as a hook would, and give the hook's result: stdout is what claude printed."""

    def call(*arguments: str, stdin: str = "", **options: Any) -> HookResult:
        return run_hook(command=["claude", *(arguments or (*FLAGS, PROMPT))], stdin=stdin, **options)

    return call


def verdict(result: HookResult) -> Any:
    return json.loads(result.stdout)["structured_output"]["verdict"]


def test_not_requested_it_is_not_there(run_hook: RunHook) -> None:
    assert run_hook(command="command -v claude").exit_code == 127


def test_requested_it_is_found_first(run_hook: RunHook, fake_claude: FakeCli) -> None:
    assert run_hook(command="command -v claude").stdout.strip() == str(fake_claude.path)


def test_it_reviews_in_the_clients_shape(review: Any, fake_claude: FakeCli, plan: Plan) -> None:
    fake_claude.reviews("FAIL")
    result = review()
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    assert document["structured_output"] == {"verdict": "FAIL"}
    assert json.loads(document["result"]) == {"verdict": "FAIL"}
    assert (document["type"], document["subtype"], document["is_error"]) == ("result", "success", False)
    assert document["session_id"]
    assert "VERDICT: FAIL" in (plan.path / "plan-review-1.md").read_text()


def test_one_verdict_per_call(review: Any, fake_claude: FakeCli, plan: Plan) -> None:
    fake_claude.reviews("FAIL", "PASS", "FAIL")
    assert [verdict(review()) for _ in range(3)] == ["FAIL", "PASS", "FAIL"]


def test_the_last_answer_repeats_if_it_is_told_to(review: Any, fake_claude: FakeCli, plan: Plan) -> None:
    fake_claude.reviews("FAIL", "PASS").repeats()
    assert [verdict(review()) for _ in range(4)] == ["FAIL", "PASS", "PASS", "PASS"]


def test_a_new_script_is_for_the_calls_from_now_on(review: Any, fake_claude: FakeCli, plan: Plan) -> None:
    fake_claude.reviews("FAIL")
    assert verdict(review()) == "FAIL"
    fake_claude.reviews("PASS", "FAIL")
    assert [verdict(review()) for _ in range(2)] == ["PASS", "FAIL"]


def test_all_else_goes_on_where_it_stands(review: Any, fake_claude: FakeCli, plan: Plan) -> None:
    fake_claude.reviews("FAIL", "PASS", "FAIL")
    assert verdict(review()) == "FAIL"
    fake_claude.exits(3)
    results = [review() for _ in range(2)]
    assert [(verdict(result), result.exit_code) for result in results] == [("PASS", 3), ("FAIL", 3)]


@pytest.mark.parametrize("word", ["MAYBE", "pass", "", 1])
def test_what_is_no_verdict_is_refused(fake_claude: FakeCli, word: Any) -> None:
    with pytest.raises(ValueError, match=f"claude: {word!r} is not a verdict: PASS, FAIL, or None"):
        fake_claude.reviews("PASS", word)
    assert fake_claude.calls == []


def test_a_lenient_fake_gives_any_verdict(review: Any, fake_claude: FakeCli, plan: Plan) -> None:
    fake_claude.lenient = True
    fake_claude.reviews("MAYBE", "PASS", "nobody fetches this one")
    assert [verdict(review()) for _ in range(2)] == ["MAYBE", "PASS"]


def test_the_review_file_is_the_one_that_the_prompt_names(review: Any, fake_claude: FakeCli, plan: Plan) -> None:
    fake_claude.reviews("PASS")
    review(*FLAGS, "Read task-3.md. Write your review to .taskie/plans/test-plan/task-3-review-12.md. Be critical.")
    assert "VERDICT: PASS" in (plan.path / "task-3-review-12.md").read_text()
    assert len(list(plan.path.glob("*review*"))) == 1


def test_a_prompt_that_names_no_file_writes_none(review: Any, fake_claude: FakeCli, project: Project) -> None:
    fake_claude.reviews("FAIL")
    assert review(*FLAGS, "Say hello.").exit_code == 0
    assert list(project.path.iterdir()) == []


def test_like_the_client_it_does_not_overwrite_a_file_it_has_not_read(
    review: Any, fake_claude: FakeCli, plan: Plan
) -> None:
    fake_claude.reviews("FAIL")
    plan.write("plan-review-1.md", "of an earlier cycle")
    assert verdict(review()) == "FAIL"
    assert (plan.path / "plan-review-1.md").read_text() == "of an earlier cycle"


def test_plain_shape(review: Any, fake_claude: FakeCli, plan: Plan) -> None:
    fake_claude.reviews("PASS", shape="plain")
    document = json.loads(review().stdout)
    assert document["result"] == {"verdict": "PASS"}
    assert "structured_output" not in document


def test_no_verdict(review: Any, fake_claude: FakeCli, plan: Plan) -> None:
    fake_claude.reviews(None)
    document = json.loads(review().stdout)
    assert "structured_output" not in document
    assert isinstance(document["result"], str)
    assert (plan.path / "plan-review-1.md").exists()


def test_without_a_schema_there_is_no_structured_output(review: Any, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL")
    document = json.loads(review("-p", "--output-format", "json", "hello").stdout)
    assert document["result"] == "VERDICT: FAIL"
    assert "structured_output" not in document


def test_without_an_output_format_it_prints_text(review: Any, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL")
    assert review("-p", "hello").stdout == "VERDICT: FAIL\n"


def test_exits_changes_the_exit_code_and_nothing_else(review: Any, fake_claude: FakeCli, plan: Plan) -> None:
    fake_claude.reviews("PASS").exits(1, 0)
    result = review()
    assert result.exit_code == 1
    assert result.stderr
    assert json.loads(result.stdout)["is_error"] is True
    assert verdict(result) == "PASS"
    assert (plan.path / "plan-review-1.md").exists()
    assert review().exit_code == 0


def test_delays(review: Any, fake_claude: FakeCli, plan: Plan) -> None:
    fake_claude.delays(0.4, 0)
    assert review().duration >= 0.4
    assert verdict(review()) == "FAIL"


def test_writes_nothing(review: Any, fake_claude: FakeCli, plan: Plan) -> None:
    fake_claude.writes_nothing()
    assert verdict(review()) == "FAIL"
    assert not (plan.path / "plan-review-1.md").exists()


def test_says(review: Any, fake_claude: FakeCli) -> None:
    fake_claude.says("I forgot.", "Sorry.")
    documents = [json.loads(review().stdout) for _ in range(2)]
    assert [document["result"] for document in documents] == ["I forgot.", "Sorry."]
    assert "structured_output" not in documents[0]


def test_outputs(review: Any, fake_claude: FakeCli) -> None:
    fake_claude.outputs({"result": 5}, "not json", [1])
    assert [review().stdout for _ in range(3)] == ['{"result": 5}\n', "not json", "[1]\n"]


def test_the_last_word_on_the_output_wins(review: Any, fake_claude: FakeCli) -> None:
    fake_claude.outputs("x").says("y")
    assert json.loads(review().stdout)["result"] == "y"
    fake_claude.outputs("x")
    assert review().stdout == "x"
    fake_claude.reviews("PASS")
    assert verdict(review()) == "PASS"


def test_rejects_like_a_client_that_is_too_old(review: Any, fake_claude: FakeCli, plan: Plan) -> None:
    fake_claude.reviews("FAIL", "PASS").rejects("--settings")
    rejected = review("--settings", "{}", *FLAGS, PROMPT)
    assert (rejected.exit_code, rejected.stdout) == (1, "")
    assert rejected.stderr == "error: unknown option '--settings'\n"
    assert [verdict(review()), verdict(review())] == ["FAIL", "PASS"]
    assert len(fake_claude.calls) == 3


def test_like_the_client_it_needs_a_prompt(review: Any, fake_claude: FakeCli) -> None:
    swallowed = review("--print", "--allowedTools", "Read", "Review this.")
    assert swallowed.exit_code == 1
    assert "Input must be provided" in swallowed.stderr
    assert fake_claude.calls[0].prompt == ""
    assert fake_claude.calls[0].flags["--allowedTools"] == ["Read", "Review this."]


def test_runs_becomes_a_script_once_the_call_is_noted(review: Any, fake_claude: FakeCli) -> None:
    fake_claude.runs("echo $$ $#; exit 4")
    result = review("a", "b")
    assert result.exit_code == 4
    assert result.stdout == f"{fake_claude.calls[0].pid} 2\n"
    fake_claude.runs(f"#!{sys.executable}\nprint('python')")
    assert review().stdout == "python\n"


def test_calls_show_what_arrived(review: Any, fake_claude: FakeCli, project: Project) -> None:
    fake_claude.reviews("FAIL")
    review(*FLAGS, "--dangerously-skip-permissions", PROMPT, env={"MY_VARIABLE": "x"})
    [call] = fake_claude.calls
    assert call.argv == (*FLAGS, "--dangerously-skip-permissions", PROMPT)
    assert call.model == "opus"
    assert call.prompt == PROMPT
    assert call.flags == {
        "--model": "opus",
        "--output-format": "json",
        "--json-schema": SCHEMA,
        "--print": True,
        "--dangerously-skip-permissions": True,
    }
    assert call.cwd == project.path
    assert call.env["MY_VARIABLE"] == "x"
    assert call.stdin == ""
    assert call.pid > 0


def test_flags_are_taken_apart_as_the_client_does(review: Any, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL")
    review("-p", "--model=sonnet", "--add-dir", "a", "b", "--max-turns", "3", "the prompt", "--verbose", "--", "-x")
    [call] = fake_claude.calls
    assert call.flags == {
        "--print": True,
        "--model": "sonnet",
        "--add-dir": ["a", "b"],
        "--max-turns": "3",
        "--verbose": True,
    }
    assert call.prompt == "the prompt"


def test_an_unread_stdin_becomes_part_of_the_prompt(review: Any, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL")
    review("-p", "Review.", stdin='{"hook_event_name": "Stop"}')
    [call] = fake_claude.calls
    assert call.stdin == '{"hook_event_name": "Stop"}'
    assert call.prompt == 'Review.\n{"hook_event_name": "Stop"}'


def test_an_open_stdin_costs_time_as_with_the_client(run_hook: RunHook, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL")
    reader, writer = os.pipe()
    with os.fdopen(reader) as stdin, os.fdopen(writer):
        result = run_hook(command="claude -p hello", stdin=stdin)
    assert result.exit_code == 0
    assert 2.9 < result.duration < 20


def test_a_closed_stdin_is_an_empty_one(run_hook: RunHook, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL")
    assert run_hook(command="claude -p hello <&-").exit_code == 0
    assert fake_claude.calls[0].stdin == ""


def test_calls_at_the_same_time_are_all_kept(project: Project, fake_claude: FakeCli) -> None:
    fake_claude.says(*(f"V{n}" for n in range(8))).holds()
    arguments = [str(fake_claude.path), *FLAGS, "hello"]
    running = [
        subprocess.Popen(arguments, env=project.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    assert len(fake_claude.wait_for_calls(8)) == 8
    fake_claude.release()
    printed = [process.communicate()[0] for process in running]
    assert sorted(json.loads(text)["result"] for text in printed) == [f"V{n}" for n in range(8)]
    assert {call.pid for call in fake_claude.calls} == {process.pid for process in running}


def test_holds_until_released(review: Any, fake_claude: FakeCli, plan: Plan) -> None:
    fake_claude.reviews("FAIL").holds()
    with ThreadPoolExecutor(1) as pool:
        hook = pool.submit(review)
        fake_claude.wait_for_calls()
        assert not (plan.path / "plan-review-1.md").exists()
        assert not hook.done()
        fake_claude.release()
        assert verdict(hook.result(30)) == "FAIL"


def test_waiting_for_a_call_that_never_comes(fake_claude: FakeCli) -> None:
    with pytest.raises(AssertionError, match=r"claude was called 0 times in 0\.01 s, not 2"):
        fake_claude.wait_for_calls(2, timeout=0.01)


def test_remove_takes_it_off_path(run_hook: RunHook, fake_claude: FakeCli, project: Project) -> None:
    fake_claude.remove()
    assert run_hook(command="command -v claude").exit_code == 127
    assert str(fake_claude.bin) not in project.env["PATH"]
    fake_claude.remove()


def test_nothing_scripted_is_a_mistake(fake_claude: FakeCli) -> None:
    with pytest.raises(TypeError, match="claude: say at least one verdict"):
        fake_claude.reviews()


def test_a_fake_that_was_left_behind_ends_with_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_it(run_hook, fake_claude):
            fake_claude.delays(1000)
            run_hook(command="claude -p hello > /dev/null < /dev/null & echo")
            print("PID", fake_claude.wait_for_calls()[0].pid)
        """
    )
    outcome = pytester.runpytest("-s")
    outcome.assert_outcomes(passed=1)
    pid = int(next(line for line in outcome.outlines if "PID" in line).split("PID")[1])
    until = time.monotonic() + 20
    while time.monotonic() < until:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            break
        time.sleep(0.01)
    else:
        os.kill(pid, 9)
        pytest.fail("the fake outlived its test")


@pytest.mark.parametrize("environment", [{}, {"MOCK_CLAUDE_VERDICT": "PASS"}])
def test_the_variables_of_the_original_mock(
    review: Any, fake_claude: FakeCli, plan: Plan, tmp_path: Path, environment: dict[str, str]
) -> None:
    log = tmp_path / "log"
    (tmp_path / "reviews").mkdir()
    (tmp_path / "reviews" / "mine.md").write_text("overwritten, as the original does")
    result = review(
        env={
            "MOCK_CLAUDE_EXIT_CODE": "3",
            "MOCK_CLAUDE_DELAY": "0.2",
            "MOCK_CLAUDE_LOG": str(log),
            "MOCK_CLAUDE_REVIEW_DIR": str(tmp_path / "reviews"),
            "MOCK_CLAUDE_REVIEW_FILE": "mine.md",
            **environment,
        }
    )
    expected = environment.get("MOCK_CLAUDE_VERDICT", "FAIL")
    assert result.exit_code == 3
    assert result.duration >= 0.2
    assert log.read_text() == " ".join((*FLAGS, PROMPT)) + "\n"
    assert verdict(result) == expected
    assert f"VERDICT: {expected}" in (tmp_path / "reviews" / "mine.md").read_text()
    assert not (plan.path / "plan-review-1.md").exists()


def test_an_empty_review_dir_writes_nothing(review: Any, fake_claude: FakeCli, plan: Plan) -> None:
    review(env={"MOCK_CLAUDE_REVIEW_DIR": ""})
    assert not (plan.path / "plan-review-1.md").exists()


def test_the_variables_win_over_the_script(review: Any, fake_claude: FakeCli, plan: Plan) -> None:
    fake_claude.reviews("FAIL")
    assert verdict(review(env={"MOCK_CLAUDE_VERDICT": "PASS"})) == "PASS"


def test_it_counts_in_its_name(review: Any, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL")
    review()
    assert repr(fake_claude) == "<fake claude, called 1 times>"
