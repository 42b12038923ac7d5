"""What docs/gauntlet.md promises of checks, reasons, skips and `init`: each sentence with the test that holds it."""

from __future__ import annotations

import pytest
from support import ROOT
from support.promises import begins, flat

PAGE = flat((ROOT / "docs" / "gauntlet.md").read_text(encoding="utf-8"))
INIT, FILES, TELLING, SKIPS = (
    "gauntlet/test_init",
    "gauntlet/test_files",
    "gauntlet/test_telling",
    "gauntlet/test_skips",
)
DOCTOR = "setup/test_doctor_gates"
# Its number, a part of the sentence, the file and the tests.
PROMISES = (
    (1, "`init` looks for tools that the project uses: ruff, mypy, pre-commit, pytest,", INIT, "test_one"),
    (2, "(not the one that npm writes for want of a test)", INIT, "test_none"),
    (3, "It runs each once, for 120 seconds at most.", INIT, "test_twice test_one_that_does_not_end"),
    (4, "so does one that fails, and you are told that it fails now;", INIT, "test_one_that_fails_is_written_and_said"),
    (
        5,
        "one that cannot be run here or takes longer is left out,",
        INIT,
        "test_one_that_is_missing_is_left_out_and_said",
    ),
    (6, "It changes nothing that already exists.", INIT, "test_twice test_a_configuration_that_is_there_stays"),
    (7, "unless the plugin provides it.", INIT, "test_the_plugin_provides_the_hook"),
    (8, "lacks PyYAML it does all that, says so and exits 1.", INIT, "test_without_yaml_it_writes_all_and_says_that"),
    (9, "`taskie doctor` says whether the hook's Python has PyYAML,", DOCTOR, "test_an_interpreter_without_yaml"),
    (
        10,
        "whether `.gauntlet` is valid, and which gate's program or reviewer is not found.",
        DOCTOR,
        "test_what_is_wrong",
    ),
    (11, "it does not ask for a client that reviews plans.", DOCTOR, "test_the_client_of_plans_is_not_needed"),
    (
        12,
        "stands for the files that have changed in the entry and are still there,",
        FILES,
        "test_the_changed_ones_that",
    ),
    (
        13,
        "relative to where the check runs,",
        FILES,
        "test_relative_to_where_the_check_runs test_relative_to_the_entry",
    ),
    (14, "each quoted for the shell.", FILES, "test_odd_names_are_one_word_each"),
    (15, "If there is none, the check does not apply.", FILES, "test_without_a_file_of_its_own_it_does_not_apply"),
    (16, "it is run several times, and the worst exit code counts.", FILES, "test_too_many_for_one_command"),
    (17, "gets the files again that it failed on,", FILES, "test_a_failure_is_not_cleared_by_hiding_the_change"),
    (18, "until it passes or they are gone.", FILES, "test_a_failure_is_cleared_where_its_files_are_gone"),
    (
        19,
        "only changed files that match wake the check and are in `{files}`.",
        FILES,
        "test_only_what_matches_wakes_it",
    ),
    (
        20,
        "`fix` is run once when the check fails, and then the check again;",
        FILES,
        "test_once_and_then_the_check_has",
    ),
    (21, "all of it has the check's `timeout`.", FILES, "test_the_checks_time_is_for_all_of_it"),
    (22, "You are told which files it changed,", FILES, "test_what_it_fixes_passes_and_the_person_is_told"),
    (23, "and so is the agent where a gate has failed.", FILES, "test_the_agent_hears_of_it_where_another_gate_failed"),
    (24, "runs before the others and alone,", FILES, "test_the_others_judge_what_it_has_left"),
    (25, "Where `CI` is true there is no fixing:", FILES, "test_not_where_its_changes_would_be_lost"),
    (
        26,
        "In `config.yml` a review has its text in `prompt`.",
        "gauntlet/test_inline",
        "test_they_run_beside_the_others",
    ),
    (27, "is an error that names both places.", "gauntlet/test_inline", "test_the_same_name_in_two_places"),
    (28, "240 if it says nothing;", "gauntlet/test_decisions", "test_a_check_has_240_seconds_unless_it_says_otherwise"),
    (29, "It names the command of each failed check,", TELLING, "test_the_command"),
    (30, "It has 9,000 characters, which the failed gates share:", TELLING, "test_the_room_is_shared test_shares"),
    (
        31,
        "with the errors of ruff, mypy, pytest, eslint, tsc and go, one line each,",
        TELLING,
        "test_the_errors_of test_mypy",
    ),
    (32, "it says how many more there are in which log.", TELLING, "test_two_hundred_errors"),
    (33, "it shows the beginning and the end.", TELLING, "test_of_output_that_nobody_knows_both_ends"),
    (34, "it names the failing tests instead;", "gauntlet/test_pairing", "test_the_failing_tests_by_name"),
    (35, "with a name that no entry point uses exit 2.", "gauntlet/test_commands", "test_one_that_no_entry_uses"),
    (
        36,
        "on this branch of this working tree,",
        SKIPS,
        "test_another_branch_is_not_skipped test_a_worktree_has_its_own",
    ),
    (
        37,
        "until it passes, for at most 24 hours (`--hours`).",
        SKIPS,
        "test_it_ends_when_the_gate_passes test_for_a_day",
    ),
    (38, "Who, when and why is recorded.", SKIPS, "test_what_is_recorded"),
    (
        39,
        "The gate is still run, and each pass without it is",
        SKIPS,
        "test_the_gate_is_still_run test_the_stop_is_allowed",
    ),
    (40, "`taskie gauntlet unskip GATE` ends it.", SKIPS, "test_unskip"),
    (
        41,
        "`skip` asks you in a terminal, and refuses where there is none,",
        SKIPS,
        "test_without_a_terminal test_another_answer",
    ),
    (42, "where an environment variable says that an agent runs it (`CLAUDECODE=1`,", SKIPS, "test_an_agent"),
    (
        43,
        "has failed if it ran here before,",
        "gauntlet/test_hooks_time",
        "test_one_that_ran_before_and_is_cut_off_now_has_failed",
    ),
    (
        44,
        "if the gates before it have taken its time: the next stop then runs it and not what has passed.",
        "gauntlet/test_hooks_time",
        "test_an_endless_one_after_a_long_one_has_failed test_a_good_one_after_a_long_one_passes_at_the_next_stop",
    ),
    (
        45,
        "# whether it runs where CI=true, unless the project's own settings of the client say that",
        "gauntlet/test_truth",
        "test_because_a_projects_settings_say_that_this_is_ci",
    ),
)


@pytest.mark.parametrize(("number", "sentence", "file", "tests"), PROMISES, ids=[str(row[0]) for row in PROMISES])
def test_it_is_held(number: int, sentence: str, file: str, tests: str) -> None:
    assert sentence in PAGE
    for test in tests.split():
        assert begins(f"tests/{file}.py", test), test
