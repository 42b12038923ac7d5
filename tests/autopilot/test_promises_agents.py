"""What docs/autopilot.md promises of agents, halts and finishing: each sentence by its id, with the test for it."""

from __future__ import annotations

import pytest

from autopilot.promises import holds, unlisted

REVIEWING = "autopilot.test_reviewing"
AFTER = "autopilot.test_after_the_reviews"
HALTED = "autopilot.test_halted"
FINISHING = "autopilot.test_finishing"
WORKTREE = "autopilot.test_worktree"
AGENTS = "plugin.test_agents"
CLIENT = "client.test_autopilot"
# For each promise its sentence, and the test that fails where it is broken.
PROMISES = {
    "agents-five": (
        "The plugin ships five agents, and `/taskie:autopilot` dispatches them by name",
        f"{AGENTS}.TestEach.test_is_given_what_the_command_gives_it",
    ),
    "agents-read-only": (
        "The two reviewers can read files and nothing else.",
        f"{AGENTS}.TestAReviewer.test_can_only_read",
    ),
    "agents-json": (
        "Each ends its answer in a block of JSON.",
        f"{AGENTS}.TestEach.test_ends_in_a_structured_answer",
    ),
    "review-recorded": (
        "When a reviewer whose step is at hand stops, the SubagentStop hook records its answer, with the fingerprint "
        "of the working tree.",
        f"{CLIENT}.test_a_task_whose_reviews_are_recorded",
    ),
    "review-contradicted": (
        "A result that contradicts the record is refused.",
        f"{REVIEWING}.TestARecord.test_is_not_contradicted",
    ),
    "review-stands": (
        "An answer that is no approval stands, whatever is edited and whoever is asked again, until the coder has been "
        "at work.",
        f"{REVIEWING}.TestARecord.test_holds_against_an_edit_and_against_a_second_opinion",
    ),
    "review-findings": (
        "Its findings are told to the coder.",
        f"{REVIEWING}.TestARecord.test_brings_its_findings_to_the_coder",
    ),
    "review-of-other-files": (
        "An approval of files that have changed since counts as none.",
        f"{REVIEWING}.TestARecord.test_of_files_that_have_changed_since_is_none",
    ),
    "review-at-commit": (
        "At the commit, by hand or not, that is refused with their names: put them back, or report `rework`, and the "
        "reviews come again.",
        f"{AFTER}.TestAnApproval.test_of_other_files_is_none_for_a_commit_by_hand",
    ),
    "review-past": (
        "A fix that the loop leads past a review, such as one for verification, is not asked for.",
        f"{AFTER}.TestAnApproval.test_is_not_asked_for_again_where_the_loop_leads_past_it",
    ),
    "review-hook": (
        "What a commit hook has changed is a warning to the end instead.",
        f"{AFTER}.TestAnApproval.test_a_hook_that_fixes_files_and_fails_is_told",
    ),
    "review-in-prose": (
        "An answer in prose is asked for once more, as JSON; after that the reviewer may go, and nothing is recorded.",
        f"{REVIEWING}.TestNothingIsRecorded.test_of_an_answer_that_no_program_can_read",
    ),
    "review-of-another-agent": (
        "The answer of another agent, or at another step, is not recorded; the log says so.",
        f"{REVIEWING}.TestNothingIsRecorded.test_while_another_step_is_at_hand",
    ),
    "review-by-hand": (
        "It stays a warning to the end: in `taskie autopilot status`, in the summary and in the message of the last "
        "stop.",
        f"{REVIEWING}.TestByHand.test_is_possible_and_told_to_the_end",
    ),
    "review-prompt": (
        "The reviewers are told to go by the files alone.",
        f"{AGENTS}.TestAReviewer.test_is_told_to_go_by_the_files",
    ),
    "review-id": (
        "The log names the id under which the client keeps the reviewer's transcript",
        f"{CLIENT}.test_a_task_whose_reviews_are_recorded",
    ),
    "word-for-the-person": (
        "The message of the stop, which the client shows to you and not to the model, has a word.",
        f"{CLIENT}.test_the_word_of_a_halted_run_never_reaches_the_model",
    ),
    "word-needed": (
        "`resume` needs it, and so do `update` and `plan` while the run is halted; without it they are refused and "
        "nothing changes.",
        f"{HALTED}.TestTheWord.test_is_needed_for_an_update",
    ),
    "word-anew": (
        "Each stop gives a new word, and the one before no longer counts.",
        f"{HALTED}.TestTheWord.test_of_an_earlier_stop_is_the_wrong_one",
    ),
    "word-digest": (
        "The state keeps only a salted digest of it.",
        f"{HALTED}.TestTheWord.test_is_told_to_the_person_and_not_to_the_agent",
    ),
    "word-lost": (
        "If you have lost it, `taskie autopilot status` shows a new one in a terminal, but not inside the client.",
        f"{HALTED}.TestAPersonWhoHasLostIt.test_but_an_agent_does_not",
    ),
    "word-told": (
        "So whoever has resumed it, a run that was halted says so to the end, as a warning.",
        f"{HALTED}.TestTheWord.test_that_was_used_stays_a_warning_to_the_end",
    ),
    "spec-unblocked": (
        "A spec that a failing commit has set to `blocked` gets its former status back with `resume`, and loses its "
        "`ACTION REQUIRED` line.",
        f"{HALTED}.TestASpecThatWasBlocked.test_is_committed_as_it_was",
    ),
    "worktree": (
        "begins in a git worktree of its own, `.worktrees/SPEC_ID`, on a new branch `autopilot/SPEC_ID`.",
        f"{WORKTREE}.test_it_is_ready_to_work_in",
    ),
    "worktree-refuses": (
        "It refuses where the directory or the branch is there already, and where the spec is not committed.",
        f"{WORKTREE}.test_an_existing_branch_or_directory_is_left_alone",
    ),
    "worktree-apart": (
        "The working tree that you are in does not change.",
        f"{WORKTREE}.test_the_project_itself_does_not_see_it",
    ),
    "finish-red": (
        "exit 1: fix it and finish again; after 3 red runs it goes on with a warning",
        f"{FINISHING}.TestARedSuite.test_is_told_and_bounded",
    ),
    "finish-summary": (
        "prints the tasks with their commits, commits after the last task, and every warning",
        f"{FINISHING}.TestTheSteps.test_the_summary_has_tasks_commits_and_warnings",
    ),
    "finish-dirty": (
        "exit 1, with the files; the second time it goes on with a warning",
        f"{FINISHING}.TestFilesThatAreNotCommitted.test_are_named_and_then_a_warning",
    ),
    "finish-changed": (
        "Files that change after the tests have passed bring it back to `final_test`.",
        f"{FINISHING}.TestARedSuite.test_an_edit_after_it_was_green_runs_it_again",
    ),
    "finish-changed-later": (
        "Where that happens when phase_3 is done, `status` and the message of each stop say so, and the next `finish` "
        "begins again.",
        "autopilot.test_after_the_end.TestWhatChangesAfterIt.test_status_and_the_stop_say_so",
    ),
    "finish-held": (
        "While a step is left, the Stop hook names it, as it names every other step",
        f"{FINISHING}.TestAtAStop.test_what_is_left_is_named",
    ),
    "finish-nothing-to-run": (
        "without a test command there is nothing to hold the agent for, and it may go.",
        f"{FINISHING}.TestAtAStop.test_without_a_test_command_the_agent_may_go",
    ),
    "finish-no-merge": (
        "Nothing is ever merged or pushed: that is yours to do.",
        f"{FINISHING}.TestTheSteps.test_nothing_is_merged_or_pushed",
    ),
    "guard-fails": (
        "in Claude Code from 2.1.325 on also where the plugin's hook itself fails.",
        f"{CLIENT}.test_where_the_guard_itself_fails_nothing_is_edited",
    ),
    "update-told": (
        "that it was done by hand is a warning to the end.",
        f"{REVIEWING}.TestByHand.test_is_possible_and_told_to_the_end",
    ),
}


@pytest.mark.parametrize(("sentence", "test"), PROMISES.values(), ids=PROMISES)
def test_a_promise_stands_on_the_page_and_a_test_holds_it(sentence: str, test: str) -> None:
    assert holds(sentence, test)


@pytest.mark.parametrize("title", ["The agents", "When it halts", "Finishing"])
def test_every_sentence_of_these_sections_is_listed_or_explains(title: str) -> None:
    assert unlisted(title, PROMISES, EXPLAINS) == []


# Sentences that say how things are, what one may do, or what is not promised.
EXPLAINS = (
    "`taskie:coder`, `taskie:tester`",
    "From then on",
    "`approved` without such a record is possible",
    "What this does not see",
    "what the agent wrote into the reviewer's prompt",
    "Nor does it see who runs the hook",
    "an agent that starts it with an event of its own making",
    "a forged answer has none",
    "Clients before 2.1 do not say",
    "At `escalate` and `stop` a person decides.",
    "Tell the agent the word",
    "An agent that reads its own transcript",
    "`taskie autopilot init SPEC_ID SPEC_PATH --worktree`",
    "After the last task, `taskie autopilot finish` takes",
)
