"""What docs/autopilot.md promises of the loop and of its evidence: each sentence by its id, with the test for it."""

from __future__ import annotations

import pytest

from autopilot.promises import holds, section, unlisted

ADVANCE = "autopilot.test_advance"
AT_BASE = "autopilot.test_at_base"
BECAUSE = "autopilot.test_because"
CLAIMS = "autopilot.test_claims"
COMMIT = "autopilot.test_commit"
DOCS = "docs.test_autopilot"
EVIDENCE = "autopilot.test_evidence"
IMMUTABLE = "autopilot.test_immutable"
CHANGED = f"{IMMUTABLE}.TestTheState"
REMOVED = f"{IMMUTABLE}.TestAStateThatIsRemoved"
EARLY = f"{IMMUTABLE}.TestCodeBeforeThePlan"
SCOPE = "autopilot.test_scope"
STATE = "autopilot.test_state"
STOP = "autopilot.test_stop"
TOOL_USE = "autopilot.test_tool_use"
UNREPORTED = "autopilot.test_unreported"
VERIFYING = "autopilot.test_verifying"
CODING = "autopilot.test_requirements_of_coding"
SHIPPING = "autopilot.test_requirements_of_shipping"
# For each promise its sentence, and a test that fails where it is broken.
PROMISES = {
    "plan-first": (
        "From `init` on, Edit, Write and MultiEdit under `src/` are denied until the tasks are set",
        f"{TOOL_USE}.TestNoCodeBeforeThePlan.test_as_the_client_asks",
    ),
    "guard-fails": (
        "in Claude Code from 2.1.325 on also where the plugin's hook itself fails.",
        "client.test_autopilot.test_where_the_guard_itself_fails_nothing_is_edited",
    ),
    "never-edited": (
        "A captured regression test and the state are denied to them for good.",
        f"{TOOL_USE}.TestCapturedTests.test_as_the_client_asks",
    ),
    "no-step-skipped": (
        "An event that is not due is refused with the gate that is not met.",
        f"{ADVANCE}.TestWhatIsNoEvent.test_any_other_step_names_the_gate",
    ),
    "looked-at": (
        "That the tests pass, that the files are reported and that the commit contains them is looked at, not believed",
        f"{EVIDENCE}.TestPassed.test_without_a_run",
    ),
    "not-halfway": (
        "While a task is open the Stop hook names the one next step.",
        f"{STOP}.test_it_names_the_next_step",
    ),
    "not-halfway-once": (
        "It says so once: if nothing has moved since, the agent may go, and you are told where it stopped.",
        f"{STOP}.TestWithinATurn.test_only_once_without_progress",
    ),
    "answer-then": (
        "`then` is the step after `next`, where a fix does not lead back to the tests.",
        f"{ADVANCE}.TestTheAnswer.test_then_is_the_step_after_the_next",
    ),
    "answer-to": (
        "`to` says who decides when the loop halts: a `human`, or the `council` of reviewers.",
        f"{SHIPPING}.test_4_4_after_two_rounds_it_escalates",
    ),
    "answer-because": (
        "`because`, where there is something to say, is a list: the failing tests, a review's findings, a check's "
        "lines.",
        f"{BECAUSE}.TestTheCoder.test_a_failing_test_and_what_the_debugger_found",
    ),
    "answer-end": (
        "The last answer of all, `phase_3`, also brings `branch`, `commits` and `warnings`, for whoever finishes the "
        "branch.",
        f"{ADVANCE}.TestTheAnswer.test_the_end_brings_what_the_finish_needs",
    ),
    "exit-refused": (
        "1 refused, and then nothing has changed;",
        f"{ADVANCE}.TestWhatIsNoEvent.test_at_the_coders_step",
    ),
    "exit-usage": ("2 wrong usage.", f"{EVIDENCE}.TestTheCommand.test_without_any"),
    "exit-test": (
        "`test` exits as its command does.",
        "autopilot.test_bad_states.test_a_run_of_the_tests_beside_a_malformed_state",
    ),
    "exit-commit": (
        "`commit` exits 1 if nothing was committed; where that was a try that failed, the answer still says what comes "
        "next.",
        f"{COMMIT}.TestHooks.test_one_that_fails_once",
    ),
    "resume-anew": (
        "The task starts over, with its counters at 0.",
        f"{ADVANCE}.TestFields.test_a_halt_and_after_it",
    ),
    "own-counters": ("Each task has its own counters.", f"{ADVANCE}.TestTheAnswer.test_the_next_task"),
    "scope": (
        "A failing test is **in scope** if it lies below the directory of a changed file, or is named after a changed "
        "module (`tests/test_service.py` for `src/billing/service.py`).",
        f"{CODING}.test_2_6_in_scope_is_below_a_directory_of_a_changed_file",
    ),
    "scope-unknown": (
        "A failure whose file is unknown is in scope.",
        f"{CLAIMS}.TestTester.test_in_scope_or_unreadable",
    ),
    "scope-base": (
        "A test that fails at the task's base commit, too, is not:",
        f"{AT_BASE}.TestAtTheBase.test_what_failed_there_is_out_of_scope",
    ),
    "scope-base-bounded": (
        "when a run of the tests shows a failure in scope, they are run once more in a temporary worktree of that "
        "commit, once for each such commit and for at most 10 minutes, and nothing of it stays.",
        f"{AT_BASE}.TestAtTheBase.test_nothing_of_it_is_left",
    ),
    "scope-base-installed": (
        "Of what git ignores only what is installed is there, by links into the working tree:",
        f"{AT_BASE}.TestWhatIsInstalled.test_what_is_written_and_deleted_there_is_not_the_users",
    ),
    "scope-base-lent": (
        "each `node_modules`, with the base's copy of a package that is the repository's own, and Python environments.",
        "client.test_at_base.test_only_what_failed_there_is_out_of_scope",
    ),
    "scope-base-name": (
        "Only a test that fails there under the same name is excused.",
        f"{AT_BASE}.TestAtTheBase.test_what_the_task_has_broken_is_not",
    ),
    "scope-base-runners": (
        "Names are read from pytest and from the output of TAP, node, cargo, go, jest and vitest.",
        f"{AT_BASE}.TestAtTheBase.test_of_a_runner_that_is_not_pytest",
    ),
    "scope-base-own": (
        "Where that run used the working tree's own files, or missed one that is not committed, none is excused.",
        f"{AT_BASE}.TestAtTheBase.test_a_test_that_needs_what_is_not_committed",
    ),
    "scope-base-told": (
        "Which failures were excused is a warning to the end.",
        f"{AT_BASE}.TestAtTheBase.test_what_is_excused_is_told_to_the_end",
    ),
    "coder-why": (
        "When the coder is asked again, it is told why: the block, the answer of `advance` and `status` name the "
        "failing tests, the findings of the review, the lines of the check.",
        f"{BECAUSE}.TestTheCoder.test_the_line_of_the_pre_check",
    ),
    "tests-plan": (
        "The plan names the test command: `plan TASKS --test-command 'pytest -q'`, or a plan of the form "
        '`{"tasks": […], "test_command": "pytest -q"}`.',
        f"{EVIDENCE}.TestTheCommand.test_in_the_plan",
    ),
    "tests-first": (
        "If it names none, the first `test -- CMD…` does.",
        f"{EVIDENCE}.TestTheCommand.test_is_the_first_that_is_run",
    ),
    "tests-alone": (
        "From then on `test` alone runs it.",
        f"{EVIDENCE}.TestTheCommand.test_is_run_where_it_was_fixed",
    ),
    "tests-passed": (
        "`passed` needs a green run of this command, since the coder reported, on the tree as it is now.",
        f"{EVIDENCE}.TestPassed.test_a_run_before_the_coder_reported",
    ),
    "tests-refused": (
        "No run, a red run, a run of another command, of a part of it or in another directory, and an edit since the "
        "run: refused, with what is missing.",
        f"{EVIDENCE}.TestPassed.test_after_another_command_that_is_green",
    ),
    "tests-none": (
        "A run of pytest in which no test passed is red.",
        "autopilot.test_testing_of_pytest.test_where_nothing_is_run",
    ),
    "tests-options": (
        "`PYTEST_ADDOPTS` is taken out of the environment, and `test` says so.",
        f"{EVIDENCE}.TestPassed.test_options_of_the_environment_are_left_out_and_said",
    ),
    "tests-idle": (
        "A test command that plainly tests nothing, such as `true`, is a warning to the end.",
        f"{EVIDENCE}.TestTheCommand.test_that_tests_nothing_is_told_to_the_end",
    ),
    "tests-writing": (
        "Files of the project that the tests themselves change need a second run: if it changes the same ones, and "
        "none is the task's, it counts. They are left as they are, not committed, and a warning to the end.",
        f"{EVIDENCE}.TestPassed.test_a_file_of_the_project_that_the_tests_change_every_time",
    ),
    "tests-green": (
        "After a green run, `failed` is refused unless the event names a failure in scope.",
        f"{CLAIMS}.TestTester.test_after_a_green_run",
    ),
    "acceptance": (
        "Where the spec has some, `pass` and `skip` are refused unless `verify` has run them.",
        f"{CLAIMS}.TestAcceptanceChecksAreSeen.test_a_claim",
    ),
    "regression-test": (
        "If one was proposed and `regression` has not run it, that is a warning to the end.",
        f"{CLAIMS}.TestRegressionIsDue.test_one_that_nobody_runs_is_told_to_the_end",
    ),
    "tests-out-of-scope": (
        "A failure out of scope needs such a run as well.",
        f"{CLAIMS}.TestTester.test_out_of_scope_needs_a_run_as_well",
    ),
    "tests-word": (
        "Where the run names no failing tests, the agent's word is taken, and you are told.",
        f"{CLAIMS}.TestTester.test_out_of_scope_by_the_agents_word_alone_is_told",
    ),
    "tests-seen": (
        "Tests that the run saw fail count as failures whether the event names them or not.",
        f"{CLAIMS}.TestTester.test_one_in_scope_that_only_the_tests_named",
    ),
    "tests-before-commit": (
        "Nothing is committed that this command has not seen: a fix for the pre-check or for verification, or an edit "
        "during a review, needs another run before the commit.",
        f"{EVIDENCE}.TestBeforeACommit.test_a_fix_of_the_pre_check",
    ),
    "tests-replaced": (
        "`test --replace -- CMD…` changes the command. It is logged, and a warning to the end.",
        f"{EVIDENCE}.TestTheCommand.test_that_is_replaced_is_told_to_the_end",
    ),
    "tree": (
        "Ignored files, Python's bytecode, the spec and what Taskie's engines keep for themselves are no part of the "
        "tree.",
        f"{EVIDENCE}.TestPassed.test_what_engines_and_python_leave_is_no_edit",
    ),
    "files": (
        "What git shows as changed since the task began, and nobody has reported, is refused at `coder` and at "
        "`commit`, with its names.",
        f"{UNREPORTED}.TestAtTheCommit.test_one_that_came_after_the_coder",
    ),
    "files-not-meant": (
        "Not meant are files that were changed already when the task began and are as they were then, and new files "
        "that the tests or the acceptance checks have left.",
        f"{UNREPORTED}.TestAtTheCoder.test_nor_what_the_tests_have_left",
    ),
    "files-left-out": (
        'If somebody works beside the agent, `"left_out": […]` in the coder\'s event, or `commit --leave-out FILE`, '
        "names what is not the task's: it is left alone, and a warning to the end.",
        f"{UNREPORTED}.TestAtTheCoder.test_a_person_may_work_beside_it",
    ),
    "pre-checks": (
        "One that is reported as passed is run again.",
        f"{CLAIMS}.TestPreChecksAreSeen.test_a_claimed_pass_that_is_none",
    ),
    "pre-checks-at-commit": (
        "Where the task's files have changed since `pre_check_code`, it is run once more at the commit, and refuses it "
        "if it does not pass.",
        "autopilot.test_after_the_reviews.TestThePreCheck.test_looks_again_at_what_has_changed_since",
    ),
    "commit-hooks": (
        "`commit` runs the repository's hooks, and makes one try.",
        f"{COMMIT}.TestHooks.test_one_that_fails_twice",
    ),
    "commit-error": (
        "If it fails you see the whole error; the agent fixes it and calls it again, and the second failure stops the "
        "run.",
        f"{COMMIT}.TestHooks.test_one_that_fails_once",
    ),
    "commit-by-hand": (
        'A commit that was made without it is taken (`{"step": "commit", "result": "ok", "hash": "…"}`) if it is new, '
        "in HEAD's history, of the same form, not empty, and contains the task's files as they are in the tree and "
        "nothing that nobody has reported.",
        f"{UNREPORTED}.TestACommitByHand.test_one_without_a_file",
    ),
    "commit-by-hand-hooks": (
        "Where the repository has a `pre-commit`, `prepare-commit-msg` or `commit-msg` hook it is refused, since "
        "nobody can see whether the hook was skipped.",
        f"{UNREPORTED}.TestACommitByHand.test_one_in_a_repository_that_checks_commits",
    ),
    "commit-told": (
        "Commit hooks that have changed since the plan, and other commits since the task began, are warnings to the "
        "end.",
        f"{UNREPORTED}.TestACommitByHand.test_hooks_that_were_removed_meanwhile_do_not_help",
    ),
    "commit-foreign": (
        "So are commits after the task's own, when it ends;",
        "autopilot.test_foreign_commits.test_between_a_tasks_commit_and_the_next_task",
    ),
    "commit-of-the-log": (
        "one of the spec alone is not meant, since its log is written there.",
        "autopilot.test_foreign_commits.test_nor_is_that_of_the_specs_log",
    ),
    "commit-by-hooks": (
        "What a hook has put into the commit, and the tests have not seen, is named in a warning to the end.",
        f"{COMMIT}.TestHooks.test_what_one_puts_into_the_commit_that_no_test_has_seen_is_told",
    ),
    "spec": (
        "If it changes while its tasks are worked on, the log and a warning say so.",
        f"{BECAUSE}.TestThePerson.test_a_spec_that_changes_while_its_tasks_run",
    ),
    "no-repository": (
        "there a run of the tests in its step is enough, and files and commits are taken as reported.",
        f"{EVIDENCE}.TestPassed.test_outside_a_repository_a_run_is_enough",
    ),
    "restore": (
        "`taskie autopilot restore` puts the state and the regression tests back.",
        f"{IMMUTABLE}.TestARegressionTest.test_restore_puts_it_back",
    ),
    "copy": (
        "For that, the commands keep a copy of the state in the git directory, one for each worktree;",
        f"{CHANGED}.test_in_a_linked_worktree",
    ),
    "copy-missing": (
        "a state without one, such as another program's, is taken with a warning,",
        f"{CHANGED}.test_one_of_another_program_is_taken_and_told",
    ),
    "copy-missing-told": (
        "which `status` and the last stop tell as well.",
        f"{CHANGED}.test_one_that_was_forged_to_its_end_is_told_at_every_stop",
    ),
    "checks": (
        "`verify` runs the tables under `## Acceptance Verification` of the spec. Columns are found by their header:",
        "autopilot.test_acceptance.test_columns_by_header",
    ),
    "checks-kinds": (
        "Rows whose id begins with AV-S are smoke checks, with AV-F functional ones.",
        "autopilot.test_acceptance.test_both_tables",
    ),
    "checks-shell": (
        "The part in backticks runs under `sh -c` in the working tree's root.",
        f"{VERIFYING}.test_where_it_runs_and_with_what",
    ),
    "checks-expected": (
        "Expected is `exit N`, a `/pattern/`, or quoted text that the output must contain;",
        f"{VERIFYING}.test_expected",
    ),
    "checks-prose": (
        "anything else means exit code 0, and is logged as unchecked.",
        f"{VERIFYING}.test_prose_is_not_checked",
    ),
    "checks-server": (
        "A server that one check starts in the background is there for the next ones of its table, and is ended with "
        "its children when these are done: functional checks that need it start it in their Setup.",
        f"{VERIFYING}.test_a_server_serves_the_next_checks_and_is_gone_then",
    ),
    "checks-none": (
        "Without the section, or with `N/A` in it, there is nothing to verify.",
        "autopilot.test_acceptance.test_nothing_to_check",
    ),
    "update": (
        "`taskie autopilot update TASK STEP VALUE` changes a task's record by hand. It opens no gate;",
        f"{STATE}.TestUpdate.test_it_opens_no_gate",
    ),
    "update-done": (
        "only `status done` on the current task moves on to the next one, and that it was done by hand is a warning to "
        "the end.",
        f"{STATE}.TestUpdate.test_done_by_hand_goes_on_to_the_next_task",
    ),
    "leaving": (
        "the next stop says once what was under way.",
        f"{REMOVED}.test_the_next_stop_tells_the_person_once",
    ),
    "found-upwards": (
        "the hooks look for it from there upwards.",
        f"{TOOL_USE}.TestNoCodeBeforeThePlan.test_from_a_subdirectory",
    ),
    "installed": (
        "Without the plugin, `taskie install` adds both hooks, Stop and PreToolUse, to your own settings in this "
        "project:",
        f"{DOCS}.test_without_the_plugin",
    ),
}
# The rows of tables, but for the loop's own, which another test compares with the program's.
ROWS = {
    "| `autopilot-state.json` is changed |": f"{CHANGED}.test_a_stop_is_blocked_once_and_the_person_is_told",
    "| `autopilot-state.json` is removed |": f"{REMOVED}.test_init_says_so_and_it_stays_a_warning",
    "| a file in `tests/regression` is changed or removed |": f"{IMMUTABLE}.TestARegressionTest.test_at_every_step",
    "| a file under `src/` is changed before there is a plan, and": f"{EARLY}.test_the_plan_is_refused",
    "| `update TASK status done`;": "autopilot.test_reviewing.TestByHand.test_is_possible_and_told_to_the_end",
    "| `test` |": "autopilot.test_testing_of_pytest.test_the_record_counts_and_not_the_text",
    "| `pre-check FILE…` |": f"{BECAUSE}.TestThePerson.test_nothing_was_pre_checked",
    "| `blueprint SPEC` |": f"{CODING}.test_3_11_without_a_blueprint_it_is_skipped",
    "| `regression` |": "autopilot.test_regression.test_another_command",
    "| `commit -m MSG` |": f"{COMMIT}.test_the_users_index_survives",
    "| `restore` |": f"{CHANGED}.test_restore_puts_it_back",
    "| `verify` |": f"{VERIFYING}.test_every_kind_is_ended",
    "| `finish` |": "autopilot.test_finishing.TestTheSteps.test_follow_one_another",
    "| `autopilot-state.json` | the loop": f"{STATE}.TestInit.test_a_worktree_has_its_own",
    "| `## Autopilot Log` in the spec |": f"{SHIPPING}.test_6_6_it_is_logged_in_the_spec",
    "| `ai/.test-output` |": "autopilot.test_testing.test_the_newest_twenty_stay",
}
SECTIONS = [
    "In Claude Code",
    "By hand",
    "The loop",
    "Evidence",
    "What a shell changes",
    "The commands that do a step",
    "Acceptance checks",
    "What it leaves",
]
# Sentences that say how things are, what one may do, or what is not promised.
EXPLAINS = (
    "The agent reads the spec, plans its tasks",
    "Four things hold whatever it thinks:",
    "What a shell changes is found afterwards",
    "see [",
    "The same without a client",
    "`advance` prints what comes next",
    "After `escalate` and `stop` only",
    "After the last task comes `phase_3`",
    "`vendor` is not.",
    "A test that fails there for another reason",
    "Outside a git repository there is no tree to look at:",
    "A hook that denies tools does not see",
    "So the commands look at the content:",
    "Whoever changes both",
    "In a linked worktree a stop does not see",
    "`status` and the commands do.",
    "To leave the loop, delete",
    "The client must run in the working tree",
)


@pytest.mark.parametrize(("sentence", "test"), PROMISES.values(), ids=PROMISES)
def test_a_promise_stands_on_the_page_and_a_test_holds_it(sentence: str, test: str) -> None:
    assert holds(sentence, test)


@pytest.mark.parametrize(("row", "test"), ROWS.items(), ids=ROWS)
def test_a_row_stands_on_the_page_and_a_test_holds_it(row: str, test: str) -> None:
    assert holds(row, test)


@pytest.mark.parametrize("title", SECTIONS)
def test_every_sentence_is_listed_or_explains(title: str) -> None:
    assert unlisted(title, PROMISES, EXPLAINS) == []


@pytest.mark.parametrize("title", ["What a shell changes", "The commands that do a step", "What it leaves"])
def test_every_row_is_listed(title: str) -> None:
    rows = [line for line in section(title).splitlines() if line.startswith("| ") and "---" not in line][1:]
    assert [row for row in rows if not any(row.startswith(known) for known in ROWS)] == []
