"""What docs/gauntlet.md promises of verdicts, budgets and records: each sentence with the test that holds it."""

from __future__ import annotations

import pytest
from support import ROOT
from support.promises import begins, flat

PAGE = flat((ROOT / "docs" / "gauntlet.md").read_text(encoding="utf-8"))
DECISIONS, CHEATS, TRUTH, STATUS, COMMANDS, FOUR, CLIENT = (
    "gauntlet/test_decisions.py",
    "gauntlet/test_cheats.py",
    "gauntlet/test_truth.py",
    "gauntlet/test_scenarios_status.py",
    "gauntlet/test_commands.py",
    "hook/test_all_four.py",
    "client/test_gauntlet.py",
)
# A part of the sentence, the file, the tests.
PROMISES = (
    ("It may stop when they pass.", DECISIONS, "test_after_a_pass_another_tree_is_run"),
    ("A verdict belongs to the content of the files,", TRUTH, "test_every_change_is_seen test_staging_is_not_a_change"),
    ("a failure is cleared only by a run: not by committing,", TRUTH, "test_committed test_with_an_empty_diff"),
    ("answered from the record, with the same block, twice in a turn;", DECISIONS, "test_nothing_changed"),
    ("and you are told which gates it left open.", CLIENT, "test_stopping_again_does_not_help"),
    (
        "a gate may fail on four trees in a row,",
        DECISIONS,
        "test_three_retries_are_four_trees",
    ),
    ("minutes between two runs that did not fail; default 10", DECISIONS, "test_not_after_a_failure"),
    ("and cost the agent no retry.", DECISIONS, "test_what_costs_nothing"),
    ("makes every budget whole again, even after the retry limit.", COMMANDS, "test_the_limit"),
    ("A gate that has failed is open until it passes, `clean` or not.", CHEATS, "test_a_cheat"),
    ("now or earlier on the same files, here or in another worktree", CHEATS, "test_they_share_what_has_passed"),
    ("new files in a new turn start over", DECISIONS, "test_another_tree_starts_anew"),
    ("or a hook that is not ours has blocked and no run is on record here", DECISIONS, "test_never_asked_before"),
    ("the lock of a dead process is taken over at once", TRUTH, "test_that_nobody_holds test_of_a_living_process"),
    ("always one line, always exit 0", STATUS, "test_structure"),
    ("Every approval that is not a pass says so in `systemMessage`,", TRUTH, "test_every_approval_that_is_not_a_pass"),
    ("has nothing to say where there was nothing to run.", FOUR, "test_with_nothing_to_do_nobody_speaks"),
    ("It takes 570 seconds at most,", DECISIONS, "test_over_it_nothing_is_proven test_alone_it_has_all_of_it"),
    ("and 290 where other engines have something to do", DECISIONS, "test_its_share_beside_other_engines"),
    (
        "whatever else has blocked in the turn: another engine",
        CLIENT,
        "test_autopilot test_the_plans_loop",
    ),
    ("or a Stop hook of your own.", CLIENT, "test_a_stop_hook_of_the_users_own"),
    ("A turn that changes nothing, a run by hand and a commit cost nothing;", DECISIONS, "test_what_costs_nothing"),
    ("has its whole budget, whatever others have spent;", DECISIONS, "test_a_first_failure_has_its_full_budget"),
    ("those that are left begin again.", DECISIONS, "test_fewer_open_gates_are_progress"),
    ("**Our own files are no change**", FOUR, "test_the_files_of_one_are_no_change_for_another"),
    (
        "if it was open, if it ran before, or if git has its program, or had it in the base.",
        CHEATS,
        "test_a_program_of_the_projects_own_has",
    ),
    ("says nothing about the agent's work, and is an", CHEATS, "test_one_that_this_machine_lacks_says_nothing"),
    ("the interval does not hold: nothing was proven.", CHEATS, "test_an_interval_does_not_hold_after_nothing"),
    ("is `insist` in `[gauntlet]` of Taskie's own configuration.", DECISIONS, "test_how_often_is_a_setting"),
    ("Each of these commands is run by our tests,", CHEATS, "test_a_cheat test_the_table_is_there"),
    ("it may go, and you read this.", CHEATS, "test_nobody_is_trapped"),
    ("A file that git was told to overlook still counts as changed;", CHEATS, "test_a_change_that_git_was_told"),
    ("told that it hides something, and told again when it changes.", CHEATS, "test_the_repositorys_own_exclude_file"),
    ("(`.git/taskie/gauntlet`, shared by all worktrees)", CHEATS, "test_it_is_out_of_the_tree test_both_at_once"),
    ("a seal whose secret is yours (`~/.local/state/taskie/seal`).", CHEATS, "test_it_is_out_of_the_tree"),
    ("It shows edits and copies.", CHEATS, "test_that_is_not_ours test_of_another_repository"),
    ("then no change of theirs has any effect before it is merged.", CHEATS, "test_from_the_base"),
)


@pytest.mark.parametrize(("sentence", "file", "tests"), PROMISES, ids=[f"V{n}" for n in range(1, len(PROMISES) + 1)])
def test_it_is_held(sentence: str, file: str, tests: str) -> None:
    assert sentence in PAGE
    for test in tests.split():
        assert begins(f"tests/{file}", test), test
