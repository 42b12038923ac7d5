"""What a review costs is recorded, shown and bounded, and the record is never in the way, whatever lies there."""

from __future__ import annotations

import calendar
import json
import os
import signal
import stat
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from support import HOOK

from faults.conftest import CheckedHook, Reviewer
from faults.test_read_only import CONFINED
from pytest_taskie import Events, FakeCli, HookResult, Plan, Project, RunHook, assert_approved, assert_blocked
from taskie.plans import journal

pytestmark = pytest.mark.state

USAGE = {
    "input_tokens": 10,
    "output_tokens": 20,
    "cache_read_input_tokens": 30,
    "cache_creation_input_tokens": 40,
    "server_tool_use": {"web_search_requests": 0},
}

HUGE = "9" * 5000


def result(verdict: str = "FAIL", **fields: Any) -> dict[str, Any]:
    """What the real client prints at its end."""
    price = {"duration_ms": 41000, "num_turns": 7, "total_cost_usd": 0.37, "usage": USAGE}
    said = {"type": "result", "subtype": "success", "is_error": False, "result": "done"}
    return {**said, "structured_output": {"verdict": verdict}, **price, **fields}


@pytest.fixture
def due(plan: Plan) -> Plan:
    plan.state.write(next_phase="plan-review")
    return plan


@pytest.fixture
def record(plan: Plan) -> Path:
    return plan.path / "reviews.jsonl"


def entries(record: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in record.read_text().splitlines()]


def again(plan: Plan) -> None:
    """The agent has answered."""
    now = plan.state.read()
    plan.state.write(**{**now, "phase": now["next_phase"], "next_phase": now["phase"]})


class TestWhatIsRecorded:
    def test_one_line_with_everything(
        self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli, record: Path, events: Events
    ) -> None:
        fake_claude.outputs(result())
        assert_blocked(checked_hook(events.stop(session_id="the agent's")))
        (entry,) = entries(record)
        assert entry.pop("at")[10] == "T"
        assert 0 <= entry.pop("seconds") < 60
        assert entry == {
            "review": "plan-review",
            "task": None,
            "iteration": 1,
            "limit": 8,
            "model": "opus",
            "verdict": "FAIL",
            "problem": None,
            "turns": 7,
            "cost_usd": 0.37,
            "tokens": {"input": 10, "output": 20, "cache_read": 30, "cache_write": 40},
            "file": "plan-review-1.md",
            "session": "the agent's",
            "findings": None,
        }

    def test_a_task_is_named_where_the_review_is_about_one(
        self, checked_hook: CheckedHook, plan: Plan, fake_claude: FakeCli, record: Path
    ) -> None:
        fake_claude.reviews("FAIL", "FAIL")
        plan.state.write(phase="complete-task", next_phase="code-review", current_task="1")
        assert_blocked(checked_hook())
        plan.state.write(next_phase="plan-review", current_task="1")
        assert_blocked(checked_hook())
        assert [(entry["task"], entry["file"]) for entry in entries(record)] == [
            ("1", "task-1-review-1.md"),
            (None, "plan-review-1.md"),
        ]

    def test_a_scripts_call_leaves_the_review_alone(
        self, run_hook: RunHook, due: Plan, fake_claude: FakeCli, record: Path
    ) -> None:
        fake_claude.outputs(result())
        done = run_hook()
        assert_blocked(done)
        assert done.system_message == "Plan review 1 of at most 8 (opus): FAIL."
        assert not record.exists()

    def test_a_stop_without_a_review_leaves_none(self, checked_hook: CheckedHook, plan: Plan, record: Path) -> None:
        plan.state.write(next_phase=None)
        assert_approved(checked_hook())
        assert not record.exists()


class TestWhatIsSaid:
    def test_cost_of_the_review_and_of_the_plan(
        self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli
    ) -> None:
        fake_claude.outputs(result(), result("PASS", total_cost_usd=1.004), result("PASS", total_cost_usd=1000))
        said = []
        for _ in range(3):
            said.append(checked_hook().system_message)
            again(due)
        assert said == [
            "Plan review 1 of at most 8 (opus): FAIL, 0 s, $0.37 (plan so far $0.37).",
            "Plan review 2 of at most 8 (sonnet): PASS, 1 of 2 in a row, 0 s, $1.00 (plan so far $1.37).",
            "Plan review passed. Run /taskie:continue-plan to proceed. Next phase: create-tasks. "
            "This review: 0 s, $1,000.00 (plan so far $1,001.37).",
        ]

    def test_a_review_that_fails_costs_too(self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli) -> None:
        fake_claude.outputs(result(), result(is_error=True, total_cost_usd=2.6)).exits(0, 1)
        checked_hook()
        again(due)
        before = due.state.read()
        done = checked_hook()
        assert_approved(done, r"^Review failed: .* It has cost \$2\.60 \(plan so far \$2\.97\)\. The state is")
        assert due.state.read() == before, "it does not count towards max_reviews"

    @pytest.mark.parametrize("cost", [None, 0, "much"])
    def test_a_review_that_fails_and_does_not_say_what_it_cost(
        self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli, cost: Any
    ) -> None:
        fake_claude.outputs(result(is_error=True, total_cost_usd=cost)).exits(1)
        assert "cost" not in (checked_hook().system_message or "cost")

    def test_a_reviewer_that_is_ended_by_its_deadline_says_nothing_of_it(
        self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli, record: Path
    ) -> None:
        fake_claude.outputs(result()).holds()
        assert "cost" not in (checked_hook(env={"TASKIE_REVIEW_TIMEOUT": "0.3"}).system_message or "cost")
        assert entries(record)[0]["cost_usd"] is None

    def test_a_script_is_not_told(self, run_hook: RunHook, due: Plan, fake_claude: FakeCli) -> None:
        fake_claude.outputs(result(is_error=True)).exits(1)
        assert "cost" not in (run_hook().system_message or "cost")

    @pytest.mark.parametrize(
        "cost",
        [None, -1, -0.01, True, "0.37", [0.37], {"usd": 0.37}, 10**30, 1e308, "1e999", "NaN", "-Infinity", HUGE, 0],
        ids=lambda cost: repr(cost)[:20],
    )
    def test_a_client_that_says_nothing_of_use(
        self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli, record: Path, cost: Any
    ) -> None:
        printed = json.dumps(result("PASS", total_cost_usd=cost))
        for bare in ("1e999", "NaN", "-Infinity", HUGE):
            printed = printed.replace(f'"{bare}"', bare)
        fake_claude.outputs(printed)
        done = checked_hook()
        assert done.system_message == "Plan review 1 of at most 8 (opus): PASS, 1 of 2 in a row, 0 s."
        assert entries(record)[0]["cost_usd"] in (None, 0)
        assert entries(record)[0]["verdict"] == "PASS"

    @pytest.mark.parametrize("field", ["num_turns", "usage"])
    @pytest.mark.parametrize(
        "value",
        [None, -1, 1.5, True, "7", [7], {"input_tokens": -1, "output_tokens": 1}, {"input_tokens": 1}],
        ids=repr,
    )
    def test_nonsense_about_turns_and_tokens(
        self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli, record: Path, field: str, value: Any
    ) -> None:
        fake_claude.outputs(result("PASS", **{field: value}))
        assert "PASS, 1 of 2 in a row" in (checked_hook().system_message or "")
        (entry,) = entries(record)
        assert entry[{"num_turns": "turns", "usage": "tokens"}[field]] is None
        assert entry["cost_usd"] == 0.37

    def test_a_client_without_a_cache(
        self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli, record: Path
    ) -> None:
        fake_claude.outputs(result(usage={"input_tokens": 3, "output_tokens": 4}))
        checked_hook()
        assert entries(record)[0]["tokens"] == {"input": 3, "output": 4, "cache_read": 0, "cache_write": 0}


class TestWhateverLiesThere:
    def spoil(self, record: Path, how: str) -> None:
        if how == "directory":
            record.mkdir()
        elif how == "FIFO":
            os.mkfifo(record)
        elif how == "link":
            record.symlink_to(record.parent / "plan.md")
        elif how == "100 MB":
            with record.open("wb") as file:
                file.truncate(100 * 1024 * 1024)
        else:
            record.touch(mode=0o444)

    @pytest.mark.parametrize("how", ["directory", "FIFO", "link", "100 MB", "read-only"])
    def test_the_review_counts_all_the_same(
        self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli, record: Path, how: str
    ) -> None:
        self.spoil(record, how)
        plan_text = (due.path / "plan.md").read_bytes()
        fake_claude.outputs(result())
        done = checked_hook(by=CONFINED) if how == "read-only" else checked_hook()
        assert_blocked(done)
        assert "(opus): FAIL, " in (done.system_message or "")
        assert "This review is not in the plan's record: reviews.jsonl " in (done.system_message or "")
        assert due.state.read()["phase_iteration"] == 1
        assert (due.path / "plan.md").read_bytes() == plan_text

    def test_money_for_nothing_is_said_too(
        self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli, record: Path
    ) -> None:
        record.mkdir()
        fake_claude.outputs(result(is_error=True)).exits(1)
        done = checked_hook()
        assert_approved(done, "This review is not in the plan's record: reviews.jsonl ")

    def test_a_line_that_was_cut(
        self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli, record: Path
    ) -> None:
        fake_claude.outputs(result(), result())
        checked_hook()
        line = record.read_bytes()
        record.write_bytes(line + line[:50])
        again(due)
        assert "(plan so far $0.74)" in (checked_hook().system_message or "")
        assert len(journal.read(str(due.path)).entries) == 2


BOUNDED = {"TASKIE_REVIEW_PLAN_BUDGET_USD": "0.5"}


class TestBudgets:
    def test_the_loop_ends_when_it_is_spent(self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli) -> None:
        fake_claude.outputs(result(), result(), result())
        assert_blocked(checked_hook(env=BOUNDED))
        again(due)
        assert_blocked(checked_hook(env=BOUNDED))
        again(due)
        before = due.state.read()
        done = checked_hook(env=BOUNDED)
        assert_approved(
            done, r"No review: this plan's reviews have cost \$0\.74, and review\.plan_budget_usd is \$0\.50\. Raise it"
        )
        assert (len(fake_claude.calls), due.state.read()) == (2, before)
        assert_blocked(checked_hook(env={"TASKIE_REVIEW_PLAN_BUDGET_USD": "0.75"}))

    def test_a_review_that_fails_counts_towards_it(
        self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli
    ) -> None:
        fake_claude.outputs(result(is_error=True, total_cost_usd=0.6)).exits(1)
        assert_approved(checked_hook(env=BOUNDED), r"It has cost \$0\.60")
        assert_approved(checked_hook(env=BOUNDED), r"No review: this plan's reviews have cost \$0\.60")
        assert len(fake_claude.calls) == 1

    def test_without_its_record_a_plan_counts_from_zero(
        self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli, record: Path, tmp_path: Path
    ) -> None:
        fake_claude.outputs(*[result(total_cost_usd=0.6)] * 2)
        assert_blocked(checked_hook(env=BOUNDED))
        again(due)
        assert_approved(checked_hook(env=BOUNDED), "No review: ")
        record.rename(tmp_path / "away")
        done = checked_hook(env=BOUNDED)
        assert_blocked(done)
        assert "(plan so far $0.60)" in (done.system_message or "")

    @pytest.mark.parametrize("name", ["max", "plan"])
    def test_none_at_all(self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli, name: str) -> None:
        done = checked_hook(env={f"TASKIE_REVIEW_{name.upper()}_BUDGET_USD": "0"})
        assert_approved(done, rf"No review: .*review\.{name}_budget_usd is \$0\.00")
        assert fake_claude.calls == []

    @pytest.mark.parametrize("value", ["-1", "inf", "nan", "ten", "[5]", "9" * 400])
    @pytest.mark.parametrize("name", ["MAX", "PLAN"])
    def test_one_that_is_none_is_said_and_lifts_no_bound(
        self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli, name: str, value: str
    ) -> None:
        variable = f"TASKIE_REVIEW_{name}_BUDGET_USD"
        done = checked_hook(env={variable: value})
        assert_approved(done, rf"No review: .*review\.{name.lower()}_budget_usd is \$0\.00")
        assert f"{variable} must be a number of US dollars" in (done.system_message or "")
        assert fake_claude.calls == []

    @pytest.mark.parametrize("how", ["directory", "FIFO", "link", "100 MB", "read-only"])
    def test_a_record_that_cannot_be_read_or_written_ends_it_too(
        self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli, record: Path, how: str
    ) -> None:
        """Who has set a bound does not want it to be lifted by a spoiled file."""
        TestWhateverLiesThere().spoil(record, how)
        before = due.state.read()
        done = checked_hook(env=BOUNDED, by=CONFINED) if how == "read-only" else checked_hook(env=BOUNDED)
        assert_approved(done, r"No review: reviews\.jsonl .*Repair that file, or move it away to count from zero")
        assert (fake_claude.calls, due.state.read()) == ([], before)

    @pytest.mark.parametrize(
        "spoiled",
        [
            b'{"at": "2026\n%s\n',
            b"%s\n\x00\xff\x00\n%s\n",
            b'%s\n{"at": "2026',
            b'{"at": "2026\n%s',
            b"[]\n",
            b'{"review": "plan-review", "cost_usd": "0.60"}\n',
            b'{"review": "plan-review", "cost_usd": -5}\n',
        ],
        ids=["cut", "binary", "cut at the end", "cut, and no end", "no object", "text", "negative"],
    )
    def test_lines_that_cannot_be_read_end_it_too(
        self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli, record: Path, spoiled: bytes
    ) -> None:
        """What they cost may be all that there was."""
        fake_claude.reviews("FAIL")
        line = json.dumps(journal.Entry(at="2026-11-17T17:30:00Z", review="plan-review", cost_usd=0.01).as_dict())
        record.write_bytes(spoiled.replace(b"%s", line.encode()))
        assert_approved(checked_hook(env=BOUNDED), r"No review: reviews\.jsonl: the cost in 1 line cannot be read, so ")
        assert fake_claude.calls == []
        assert_blocked(checked_hook())

    def test_a_review_that_did_not_say_what_it_cost_is_no_obstacle(
        self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli, record: Path
    ) -> None:
        fake_claude.reviews("FAIL")
        line = json.dumps(journal.Entry(at="2026-11-17T17:30:00Z", review="plan-review").as_dict())
        record.write_text(f'{line}\n\n{{"review": "plan-review"}}\n{line}')
        assert_blocked(checked_hook(env=BOUNDED))

    def test_what_the_client_can_bound_it_is_told(
        self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli
    ) -> None:
        fake_claude.reviews("FAIL")
        assert_blocked(checked_hook(env={"TASKIE_REVIEW_MAX_BUDGET_USD": "0.25"}))
        assert fake_claude.calls[0].flags["--max-budget-usd"] == "0.25"
        assert "Be very critical." in fake_claude.calls[0].prompt

    def test_a_client_that_cannot_is_called_again_and_that_is_said(
        self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli
    ) -> None:
        fake_claude.reviews("FAIL")
        fake_claude.rejects("--max-budget-usd")
        done = checked_hook(env={"TASKIE_REVIEW_MAX_BUDGET_USD": "0.25"})
        assert_blocked(done)
        assert ["--max-budget-usd" in call.flags for call in fake_claude.calls] == [True, False]
        assert "review.max_budget_usd does not hold: this client does not know" in (done.system_message or "")

    @pytest.mark.parametrize("code", [0, 1])
    def test_a_reviewer_that_reaches_it(
        self, checked_hook: CheckedHook, due: Plan, reviewer: Reviewer, record: Path, code: int
    ) -> None:
        said = json.dumps(result(subtype="error_max_budget_usd", is_error=bool(code), total_cost_usd=0.26))
        reviewer.runs(f"echo '# R' > '{due.path}/plan-review-1.md'; echo '{said}'; exit {code}")
        done = checked_hook(env={"TASKIE_REVIEW_MAX_BUDGET_USD": "0.25"})
        assert_approved(
            done, r"Review failed: the reviewer reached review\.max_budget_usd \(\$0\.25\) before it was done"
        )
        (entry,) = entries(record)
        assert (entry["verdict"], entry["cost_usd"], entry["file"]) == (None, 0.26, None)
        assert "max_budget_usd" in entry["problem"]


class TestAFailedReview:
    def log(self, plan: Plan) -> str:
        path = plan.path / ".review-1.log"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        return path.read_text()

    def test_an_error_of_the_api(
        self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli, record: Path, project: Project
    ) -> None:
        """The client says it on stdout, and nothing on stderr."""
        said = result(is_error=True, result="API Error: 529 Overloaded", total_cost_usd=0.02)
        fake_claude.outputs(said).exits(1)
        assert_approved(
            checked_hook(), "Review failed: the reviewer exited with code 1: API Error: 529 Overloaded; see"
        )
        (entry,) = entries(record)
        assert (entry["verdict"], entry["cost_usd"]) == (None, 0.02)
        assert entry["problem"] == "the reviewer exited with code 1: API Error: 529 Overloaded", "no path"
        log = self.log(due)
        (call,) = fake_claude.calls
        assert f", in {project.path}:\n" in log
        assert "--model opus --output-format json --json-schema '{" in log
        assert f"--print '{call.prompt}'" in log
        assert json.dumps(said) in log
        assert "with exit code 1: the reviewer exited with code 1: API Error: 529 Overloaded.\n" in log

    def test_a_reviewer_that_wrote_no_file(
        self, checked_hook: CheckedHook, due: Plan, fake_claude: FakeCli, record: Path
    ) -> None:
        fake_claude.outputs(result("PASS")).writes_nothing()
        assert_approved(checked_hook(), "the reviewer ended without writing plan-review-1.md; see ")
        assert entries(record)[0]["cost_usd"] == 0.37
        assert json.dumps(result("PASS")) in self.log(due)
        assert "with exit code 0: the reviewer ended without writing plan-review-1.md." in self.log(due)

    def test_an_argument_with_a_quote_can_be_pasted(
        self, checked_hook: CheckedHook, due: Plan, reviewer: Reviewer, project: Project, tmp_path: Path
    ) -> None:
        strange = tmp_path / "it's $HOME"
        reviewer.runs("exit 3")
        reviewer.path.rename(strange)
        checked_hook(env={"TASKIE_REVIEW_COMMAND": json.dumps([str(strange), "a'b c"])})
        command = self.log(due).split("\n")[1]
        shown = subprocess.run(["/bin/sh", "-c", f"printf '%s|' {command}"], capture_output=True, text=True, check=True)
        assert shown.stdout.startswith(f"{strange}|a'b c|--model|opus|")

    def test_a_flood_is_cut(self, checked_hook: CheckedHook, due: Plan, reviewer: Reviewer) -> None:
        flood = "head -c 3000000 /dev/zero | tr '\\0'"
        reviewer.runs(f"{flood} o; {flood} e >&2; exit 1")
        checked_hook()
        log = self.log(due)
        assert len(log) < 1 << 20
        assert "oooo" in log
        assert "eeee" in log
        assert "stdout (3000000 bytes):" in log
        assert log.endswith("\n")
        assert "with exit code 1" in log[-400:]

    def test_not_found(self, checked_hook: CheckedHook, due: Plan, record: Path) -> None:
        assert_approved(checked_hook(), "claude was not found on PATH")
        (entry,) = entries(record)
        assert (entry["verdict"], entry["cost_usd"]) == (None, None)
        assert entry["problem"].startswith("claude was not found on PATH")


class TestTheReviewThatRuns:
    @pytest.fixture
    def hook(self, project: Project, events: Events, due: Plan, fake_claude: FakeCli) -> subprocess.Popen[bytes]:
        fake_claude.reviews("FAIL").holds()
        process = subprocess.Popen(
            [str(HOOK), "--fail-open"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**project.env, "TASKIE_REVIEW_TIMEOUT": "300"},
            cwd=project.path,
        )
        assert process.stdin
        process.stdin.write(json.dumps(events.stop(session_id="the agent's")).encode() + b"\n")
        process.stdin.flush()
        fake_claude.wait_for_calls(1)
        return process

    def test_it_is_announced_until_it_ends(
        self, hook: subprocess.Popen[bytes], due: Plan, fake_claude: FakeCli
    ) -> None:
        found = journal.running(str(due.path))
        assert found
        assert (found.review, found.task, found.iteration, found.limit) == ("plan-review", None, 1, 8)
        assert (found.model, found.session) == ("opus", "the agent's")
        assert found.at < found.deadline
        fake_claude.release()
        stdout, _ = hook.communicate()
        assert b'"decision": "block"' in stdout
        assert journal.running(str(due.path)) is None
        assert not (due.path / ".review-running.json").exists()

    def test_a_signal_ends_that_too(self, hook: subprocess.Popen[bytes], due: Plan, record: Path) -> None:
        hook.send_signal(signal.SIGTERM)
        hook.communicate()
        assert not (due.path / ".review-running.json").exists()
        (entry,) = entries(record)
        assert (entry["problem"], entry["cost_usd"]) == ("interrupted", None)

    def test_its_line_says_when_it_began(
        self, hook: subprocess.Popen[bytes], due: Plan, fake_claude: FakeCli, record: Path
    ) -> None:
        """In UTC, and not when it ended: the reviewer is let go a while after that."""
        found = journal.running(str(due.path))
        assert found
        while time.time() < calendar.timegm(time.strptime(found.at, "%Y-%m-%dT%H:%M:%SZ")) + 1.1:
            time.sleep(0.05)
        fake_claude.release()
        hook.communicate()
        assert entries(record)[0]["at"] == found.at
        assert 0 <= time.time() - calendar.timegm(time.strptime(found.at, "%Y-%m-%dT%H:%M:%SZ")) < 600

    def test_after_a_kill_nothing_is_believed_and_the_next_stop_goes_on(
        self, hook: subprocess.Popen[bytes], due: Plan, record: Path, fake_claude: FakeCli, checked_hook: CheckedHook
    ) -> None:
        hook.kill()
        hook.communicate()
        assert (due.path / ".review-running.json").exists()
        assert journal.running(str(due.path)) is None
        assert not record.exists()
        fake_claude.end()
        checked_hook(env={"TASKIE_REVIEW_COMMAND": "/bin/false"})
        assert not (due.path / ".review-running.json").exists()
        assert len(entries(record)) == 1


def test_an_edit_of_the_state_does_not_lose_what_was_spent(
    checked_hook: CheckedHook, due: Plan, reviewer: Reviewer, record: Path
) -> None:
    """The edit is kept, and the review does not count; it was paid for all the same."""
    state = json.dumps({**due.state.read(), "next_phase": None})
    reviewer.runs(
        f"cd '{due.path}'; echo '# R' > plan-review-1.md; echo '{state}' > state.json; echo '{json.dumps(result())}'"
    )
    done: HookResult = checked_hook()
    assert_approved(done, "the edit is kept")
    assert [(entry["verdict"], entry["cost_usd"]) for entry in entries(record)] == [("FAIL", 0.37)]
