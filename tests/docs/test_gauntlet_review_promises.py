"""What docs/gauntlet.md promises of reviews: each sentence with the tests that hold it."""

from __future__ import annotations

import pytest
from support import ROOT
from support.promises import begins, flat

PAGE = flat((ROOT / "docs" / "gauntlet.md").read_text(encoding="utf-8"))
REVIEWS, DUE, REVIEWERS, VERIFIED, SETTLED, ODD, BUILT_IN = (
    f"gauntlet/test_{name}.py"
    for name in (
        "reviews",
        "reviews_due",
        "reviewers",
        "reviews_verified",
        "reviews_settled",
        "reviews_odd",
        "reviews_built_in",
    )
)
TELLING = "gauntlet/test_telling.py"
# A part of the sentence, the file, the tests.
PROMISES = (
    ("run with read access only, without hooks and without a session.", REVIEWS, "test_claude test_codex"),
    ("fences and prose around it do not matter.", REVIEWS, "test_every_shape"),
    ("An answer may have 8 MB,", ODD, "test_five_megabytes test_a_monstrous_one"),
    ("of its violations the 200 of the most weight count.", ODD, "test_two_hundred test_more_than_anybody_reads"),
    ("Five reviews need no prompt of yours.", BUILT_IN, "test_they_need_no_file test_they_block"),
    ("takes the place of a built-in review.", BUILT_IN, "test_a_file_of_the_same_name_wins"),
    ("it only says how the built-in one is run.", BUILT_IN, "test_a_file_without_a_prompt_says_how"),
    ("reviews begin when every check of the run has ended.", DUE, "test_a_review_begins_when_every_check_has_ended"),
    ("After a failing check no reviewer is asked,", DUE, "test_after_a_failing_check_nobody_is_asked"),
    ("A review is asked again if its prompt, its model", DUE, "test_another_prompt test_another_model"),
    ("or its diff is another than when it passed.", DUE, "test_a_change_inside test_the_other_side_of_the_diff"),
    (
        "whatever else changes, whether it is committed by now,",
        DUE,
        "test_a_change_elsewhere test_a_commit_beside_it",
    ),
    ("and what the branch is called, does not matter.", DUE, "test_the_same_diff_is_not_paid_for_again"),
    ("whether the change is yours or came in by a merge,", DUE, "test_a_change_inside test_the_base_moves"),
    ("or if the rules are.", DUE, "test_another_command test_git_overlooks_more"),
    ("a change that every entry point excludes runs nothing.", DUE, "test_a_change_elsewhere"),
    ("By hand (`taskie gauntlet run`) everything that applies runs.", DUE, "test_by_hand_everything_is_run"),
    ("the first that is installed is asked.", REVIEWS, "test_one_that_is_installed_is_chosen"),
    ("the next one is asked within the same run,", REVIEWERS, "test_instead_of_an_answer test_an_exit_code"),
    ("and you are told in a line.", REVIEWERS, "test_instead_of_an_answer"),
    ("its time is over,", REVIEWERS, "test_its_own_time_is_over"),
    ("is asked last for 10 minutes, or for 60", REVIEWERS, "test_how_long test_meanwhile_it_is_asked_last"),
    ("That holds for all your projects.", REVIEWERS, "test_how_long"),
    ("Only when nobody is left is nothing proven.", REVIEWERS, "test_nobody_is_left test_but_it_is_asked"),
    ("names as many of them as there is room for,", TELLING, "test_as_many_violations_as_there_is_room_for"),
    ("the heaviest first, and says how many more are in the file.", TELLING, "test_as_many_violations_as_there_is"),
    ("it is open, and the block names it with its file.", VERIFIED, "test_the_violations_are_told"),
    ("when the diff or an answer is another, or in the next turn.", VERIFIED, "test_it_is_not_asked test_it_is_asked"),
    (
        "It sees what it found, what the agent says about it, and what has changed",
        VERIFIED,
        "test_what_has_changed_since",
    ),
    ("open, is noted in the log and does not count;", VERIFIED, "test_outside_of_the_fix"),
    ("Everything else counts.", VERIFIED, "test_still_there_in_other_words_at_another_place"),
    ("that issue stays open.", VERIFIED, "test_where_nothing_has_changed test_each_in_a_file_without_a_change"),
    ("if it is critical or high, you are told.", VERIFIED, "test_a_heavy_one_outside_is_told"),
    ("it is settled on this branch,", REVIEWS, "test_skipped_is_carried_on_for_this_branch"),
    ("and on one that starts from here.", DUE, "test_what_is_settled_stays_settled_on_a_branch_from_there"),
    ("The reviewer sees it as settled, with the reason.", SETTLED, "test_is_shown_what_is_settled"),
    ("at most three lines from where that code is now,", SETTLED, "test_says_it_again test_the_lines_have_moved"),
    (
        "unless it is of a higher priority.",
        SETTLED,
        "test_says_it_again_in_other_words test_heavier_in_the_same_words_it_is_open_again",
    ),
    ("told each skipped issue with its priority, place and reason,", SETTLED, "test_is_told_each_with_its_reason"),
    ("the most important first;", SETTLED, "test_is_told_the_heaviest_first_whenever_it_was_skipped"),
    ("of more than five, where the others are.", SETTLED, "test_is_told_of_the_rest_where_it_is"),
    ("`skipped` without a `result`, no answer,", REVIEWS, "test_skipped_without_a_reason test_nobody_touched_it"),
    ("or a file that was emptied, deleted or spoiled:", ODD, "test_the_agent_spoils_the_file"),
    ("Nobody is asked again until the diff or the answer", DUE, "test_a_failed_review_is_not_asked_for_a_change"),
)


@pytest.mark.parametrize(("sentence", "file", "tests"), PROMISES, ids=[f"R{n}" for n in range(1, len(PROMISES) + 1)])
def test_it_is_held(sentence: str, file: str, tests: str) -> None:
    assert sentence in PAGE
    for test in tests.split():
        assert begins(f"tests/{file}", test), test
