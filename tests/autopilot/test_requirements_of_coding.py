"""The task loop's requirements, line by line, until the reviews; each test carries its number.

S state tracking · 1 coder · 2 tester · 2_5 regression capture · 3 pre-check.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from autopilot.conftest import (
    BLUEPRINT,
    PATH,
    REGRESSION,
    SPEC,
    Autopilot,
    fail_in_scope,
)

# State tracking


def test_s_1_every_step_is_written_to_the_state_in_the_worktrees_root(loop: Autopilot) -> None:
    seen = [loop.path.read_bytes()]
    for step, event in PATH.items():
        loop.advance(step, **event)
        seen.append(loop.path.read_bytes())
    assert len(set(seen)) == len(PATH) + 1


def test_s_2_the_state_is_initialised_before_the_loop(autopilot: Autopilot) -> None:
    autopilot.refused("coder", files_changed=[])
    autopilot.do("init", "FTR-1", SPEC)
    assert autopilot.state["plan_exists"] is False


def test_s_3_the_plan_sets_the_tasks(loop: Autopilot) -> None:
    assert (loop.state["plan_exists"], [task["name"] for task in loop.state["tasks"]]) == (True, ["first", "second"])


def test_s_4_a_result_changes_the_current_task_alone(loop: Autopilot) -> None:
    other = loop.state["tasks"][1]
    loop.go_to("commit")
    assert loop.task["reviewer"] == "approved"
    assert loop.state["tasks"][1] == other


def test_s_6_what_only_commands_may_write_is_compared_with_its_copy(loop: Autopilot) -> None:
    loop.path.write_text(loop.path.read_text().replace('"step": "coder"', '"step": "commit"'))
    assert "changed by something else" in loop.fails("commit", "-m", "feat(app): greet")


def test_s_5_the_hook_reads_the_state(autopilot: Autopilot) -> None:
    autopilot.do("init", "FTR-1", SPEC)
    assert autopilot.tool("Write", "src/app.py").blocked
    autopilot.do("plan", '[{"id": 1, "name": "a"}]')
    assert not autopilot.tool("Write", "src/app.py").blocked


# Step 1: coder


def test_1_1_its_output_is_the_changed_files(loop: Autopilot) -> None:
    loop.advance("coder", files_changed=["src/app.py", "src/b.py"])
    assert loop.state["files_changed"] == ["src/app.py", "src/b.py"]


def test_1_2_the_tester_is_next(loop: Autopilot) -> None:
    assert loop.advance("coder", files_changed=["src/app.py"])["next"] == "tester"


def test_1_3_gate_the_coder_is_done(loop: Autopilot) -> None:
    assert "coder = done" in loop.refused("tester", "passed")
    loop.advance("coder", files_changed=["src/app.py"])
    assert loop.task["coder"] == "done"


def test_1_4_gate_the_list_is_captured(loop: Autopilot) -> None:
    assert "files_changed" in loop.refused("coder", "done")
    assert loop.task["coder"] == "pending"


def test_1_5_gate_what_nobody_has_reported_is_refused(loop: Autopilot) -> None:
    loop.write("src/forgotten.py", "x = 1\n")
    assert "src/forgotten.py" in loop.refused("coder", files_changed=["src/app.py"])


def test_1_6_it_is_told_why_it_is_asked_again(loop: Autopilot) -> None:
    loop.go_to("tester")
    loop.red("src/test_app.py::test_it")
    loop.advance("tester", "failed", failures=["src/test_app.py::test_it"])
    loop.advance("debugger", findings=["off by one"])
    reason = loop.stop().reason or ""
    assert "- src/test_app.py::test_it\n" in reason
    assert "- off by one\n" in reason


# Step 2: tester


def test_2_1_the_wrapper_is_short_and_keeps_everything(loop: Autopilot) -> None:
    said = loop.do("test", "--", "sh", "-c", "seq 1 1000; echo '=== 15 passed, 2 warnings in 1.50s ==='")
    first, last = said.splitlines()
    assert first.startswith("PASS: 15 tests passed, 2 warnings (")
    log = Path(last.partition("Full output: ")[2])
    assert log.parent == loop.root / "ai" / ".test-output"
    assert log.read_text().startswith("1\n2\n3\n")


def test_2_2_passed_leads_to_the_pre_check(loop: Autopilot) -> None:
    loop.go_to("tester")
    assert loop.advance("tester", "passed")["next"] == "pre_check_code"


def test_2_3_in_scope_leads_to_the_debugger_the_coder_and_the_tester_again(loop: Autopilot) -> None:
    loop.go_to("tester")
    assert loop.advance("tester", "failed", failures=["src/test_app.py::test_it"])["next"] == "debugger"
    assert loop.advance("debugger")["next"] == "coder"
    assert loop.advance("coder", files_changed=[])["next"] == "tester"


def test_2_4_after_three_attempts_it_escalates(loop: Autopilot) -> None:
    loop.go_to("tester")
    for _ in range(3):
        fail_in_scope(loop)
    assert loop.advance("tester", "failed")["next"] == "escalate"


def test_2_5_out_of_scope_is_logged_and_leads_on(loop: Autopilot) -> None:
    loop.go_to("tester")
    loop.red("lib/test_x.py::test")
    assert loop.advance("tester", "failed", failures=["lib/test_x.py::test"])["next"] == "pre_check_code"
    assert loop.log[-1].endswith("out-of-scope failure: lib/test_x.py::test")


@pytest.mark.parametrize(("path", "next_"), [("src/sub/test_x.py", "debugger"), ("srcs/test_x.py", "pre_check_code")])
def test_2_6_in_scope_is_below_a_directory_of_a_changed_file(loop: Autopilot, path: str, next_: str) -> None:
    loop.go_to("tester")
    loop.red(path)
    assert loop.advance("tester", "failed", failures=[path])["next"] == next_


def test_2_7_gate_the_tests_pass_or_fail_elsewhere(loop: Autopilot) -> None:
    loop.go_to("tester")
    assert "tester = pass or fail_out_of_scope" in loop.refused("pre_check_code", "pass")
    loop.red("lib/test_x.py")
    loop.advance("tester", "failed", failures=["lib/test_x.py"])
    assert loop.task["tester"] == "fail_out_of_scope"


def test_2_8_gate_a_failure_in_scope_is_debugged_or_escalated(loop: Autopilot) -> None:
    loop.go_to("tester")
    loop.advance("tester", "failed")
    for step in ("tester", "pre_check_code", "commit"):
        assert "the step at hand is debugger" in loop.refused(step, "passed")


def test_2_9_gate_passed_is_a_run_on_the_present_tree(loop: Autopilot) -> None:
    loop.go_to("tester")
    assert "was not run" in loop.refused("tester", "passed")
    loop.do("test")
    loop.write("src/app.py", "x = 2\n")
    assert "have changed" in loop.refused("tester", "passed")


def test_2_10_what_fails_at_the_base_commit_is_out_of_scope(loop: Autopilot) -> None:
    broken = "echo 'FAILED src/test_app.py::test_it - x'; exit 1"
    loop.do("plan", '[{"id": 1, "name": "a"}]', "--force", "--test-command", f'sh -c "{broken}"')
    loop.go_to("tester")
    loop.run("test")
    assert loop.advance("tester", "failed", failures=["src/test_app.py::test_it"])["next"] == "pre_check_code"


# Step 2.5: regression capture


def test_2_5_1_it_is_due_after_debugging_and_a_pass(loop: Autopilot) -> None:
    loop.go_to("tester")
    fail_in_scope(loop, regression=REGRESSION)
    assert loop.advance("tester", "passed")["next"] == "regression"


def test_2_5_2_it_is_the_last_debuggers_test(loop: Autopilot) -> None:
    loop.go_to("tester")
    fail_in_scope(loop, regression={**REGRESSION, "test_file": "tests/regression/test_first.py"})
    fail_in_scope(loop, regression=REGRESSION)
    loop.advance("tester", "passed")
    loop.do("regression", "--", "true")
    assert [path.name for path in (loop.root / "tests" / "regression").glob("*.py")] == ["test_bug.py"]


def test_2_5_3_no_other_file_is_modified(loop: Autopilot) -> None:
    loop.go_to("tester")
    fail_in_scope(loop, regression=REGRESSION)
    loop.advance("tester", "passed")
    loop.do("regression", "--", "true")
    changed = loop.project.git("status", "--porcelain", "--untracked-files=all").splitlines()
    own = (SPEC, "autopilot-state.json", "src/app.py")
    assert [line for line in changed if not line.endswith(own)] == ["?? tests/regression/test_bug.py"]


def test_2_5_4_it_is_run_once(loop: Autopilot) -> None:
    loop.go_to("tester")
    code = "def test_bug():\n    with open('ai/runs', 'a') as file:\n        file.write('x')\n"
    fail_in_scope(loop, regression={**REGRESSION, "test_code": code, "test_name": "test_bug"})
    loop.advance("tester", "passed")
    loop.do("regression")
    assert (loop.root / "ai" / "runs").read_text() == "x"


def test_2_5_5_never_without_a_debug_loop(loop: Autopilot) -> None:
    loop.go_to("tester")
    assert loop.advance("tester", "passed", regression=REGRESSION)["next"] == "pre_check_code"


def test_2_5_6_the_pre_check_follows(loop: Autopilot) -> None:
    loop.go_to("tester")
    fail_in_scope(loop, regression=REGRESSION)
    loop.advance("tester", "passed")
    assert json.loads(loop.do("regression", "--", "true"))["next"] == "pre_check_code"


def test_2_5_7_it_lies_in_its_directory_and_cannot_be_changed(loop: Autopilot) -> None:
    loop.go_to("tester")
    fail_in_scope(loop, regression=REGRESSION)
    loop.advance("tester", "passed")
    loop.do("regression", "--", "true")
    assert loop.tool("Edit", "tests/regression/test_bug.py").blocked


def test_2_5_8_without_a_proposal_it_is_skipped(loop: Autopilot) -> None:
    loop.go_to("tester")
    fail_in_scope(loop)
    assert loop.advance("tester", "passed")["next"] == "pre_check_code"


# Step 3: pre-check


def test_3_1_the_projects_own_script_is_run(loop: Autopilot) -> None:
    loop.write("scripts/pre-review-check.py", "import sys\nprint('checked', *sys.argv[1:])\nsys.exit(1)\n")
    done = loop.run("pre-check", "src/app.py")
    assert (done.returncode, done.stdout) == (1, "checked src/app.py\n")


@pytest.mark.parametrize("comment", ["# TODO", "# FIXME", "#todo", "x = 1  # fixme: later"])
def test_3_2_todo_and_fixme(loop: Autopilot, comment: str) -> None:
    loop.write("src/app.py", f"{comment}\n")
    assert loop.run("pre-check", "src/app.py").stdout.startswith("src/app.py:1: [TODO]")
    assert loop.run("pre-check", "app.py", cwd=loop.root / "src").stdout.startswith("src/app.py:1: [TODO]")


@pytest.mark.parametrize("handler", ["except:", "except Exception:", "except Exception as error:"])
def test_3_3_swallowed_exceptions(loop: Autopilot, handler: str) -> None:
    loop.write("src/app.py", f"try:\n    x = 1\n{handler}\n    pass\n")
    assert loop.run("pre-check", "src/app.py").stdout.startswith("src/app.py:3: [EXCEPT]")
    loop.write("src/app.py", f"try:\n    x = 1\n{handler}\n    raise\n")
    assert loop.run("pre-check", "src/app.py").returncode == 0


@pytest.mark.parametrize(("name", "limit"), [("src/app.py", 400), ("tests/app.py", 600), ("src/test_app.py", 600)])
def test_3_4_files_that_are_too_long(loop: Autopilot, name: str, limit: int) -> None:
    loop.write(name, "x = 1\n" * limit)
    assert loop.run("pre-check", name).returncode == 0
    loop.write(name, "x = 1\n" * (limit + 1))
    assert "[LOC]" in loop.run("pre-check", name).stdout


@pytest.mark.parametrize("result", ["pass", "skip"])
def test_3_5_pass_or_skip_leads_to_the_blueprint(loop: Autopilot, result: str) -> None:
    loop.go_to("pre_check_code")
    assert loop.advance("pre_check_code", result)["next"] == "pre_check_blueprint"


def test_3_6_fail_leads_to_the_coder_and_the_pre_check_again(loop: Autopilot) -> None:
    loop.go_to("pre_check_code")
    assert loop.advance("pre_check_code", "fail")["next"] == "coder"
    assert loop.advance("coder", files_changed=[])["next"] == "pre_check_code"


@pytest.mark.parametrize(
    ("spec", "rules", "said"),
    [
        ("## Blueprint Reference\n\nx\n\nmoney: float\n", "money: int\n", "float"),
        ("## Blueprint Reference\n\nsrc/shared/a.py\n", "api -> domains -> shared\n", "src/shared/a.py:1"),
        ("## Blueprint Reference\n\nDomain: nowhere\n", "", "nowhere"),
        ("# FTR-1\n", "", "Blueprint Reference"),
    ],
    ids=["3_7 types", "3_8 imports", "3_9 domains", "3_10 reference"],
)
def test_3_7_to_10_what_the_blueprint_catches(loop: Autopilot, spec: str, rules: str, said: str) -> None:
    loop.write(SPEC, spec)
    loop.write("src/shared/a.py", "import api.views\n")
    loop.write(f"{BLUEPRINT}/cross-cutting.md", rules)
    loop.write(f"{BLUEPRINT}/domain-map.md", "billing\n")
    done = loop.run("blueprint", SPEC)
    assert done.returncode == 1
    assert said in done.stdout


def test_3_11_without_a_blueprint_it_is_skipped(loop: Autopilot) -> None:
    assert loop.do("blueprint", SPEC).startswith("SKIP")
    loop.go_to("pre_check_blueprint")
    assert loop.advance("pre_check_blueprint", "skip")["next"] == "spec_reviewer"


def test_3_12_pass_leads_to_the_spec_reviewer(loop: Autopilot) -> None:
    loop.write(SPEC, "## Blueprint Reference\n\nx\n")
    loop.write(f"{BLUEPRINT}/cross-cutting.md", "")
    assert loop.do("blueprint", SPEC).startswith("PASS")
    assert loop.do("blueprint", loop.spec.name, cwd=loop.spec.parent).startswith("PASS")
    loop.advance("coder", files_changed=["src/app.py", f"{BLUEPRINT}/cross-cutting.md"])
    loop.advance("tester", "passed")
    loop.advance("pre_check_code", "pass")
    assert loop.advance("pre_check_blueprint", "pass")["next"] == "spec_reviewer"


def test_3_13_fail_leads_to_the_coder_and_the_blueprint_again(loop: Autopilot) -> None:
    loop.go_to("pre_check_blueprint")
    assert loop.advance("pre_check_blueprint", "fail")["next"] == "coder"
    assert loop.advance("coder", files_changed=[])["next"] == "pre_check_blueprint"
