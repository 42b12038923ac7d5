"""What docs/machine.md promises: each sentence with the test that holds it."""

from __future__ import annotations

import re

import pytest
from support import ROOT

PAGE = " ".join((ROOT / "docs" / "machine.md").read_text(encoding="utf-8").split())
HOOK, ARRIVAL, RECORDS, COMMANDS, CLIENT, INTERRUPTED = (
    "trust/test_hook",
    "trust/test_arrival",
    "trust/test_records",
    "trust/test_commands",
    "client/test_trust",
    "client/test_interrupted",
)
# Its number, a part of the sentence, the file and the tests.
PROMISES = (
    (1, "So none of it is run, nothing is blocked and nothing is paid before you have said so,", HOOK,
     "test_its_gates_are_not_run test_a_claudex_state_blocks_nothing test_an_autopilot_state_blocks_nothing"),
    (2, "for this directory and this content.", ARRIVAL, "moved another_clone test_what_git_brings_is_asked_about"),
    (3, "Each stop shows you one line that says what is waiting:", HOOK, "test_one_line_for_all_engines"),
    (4, "the programs that they name.", ARRIVAL, "test_a_program_that_a_gate_names"),
    (5, "shows every file and command, with control characters made visible, and changes nothing", COMMANDS,
     "test_exactly_what_would_be_run"),
    (6, "asks you in a terminal; where there is none,", COMMANDS,
     "test_a_person_in_a_terminal test_a_person_who_does_not test_not_without_a_terminal"),
    (7, "or where an environment variable says that an agent runs it, it refuses", COMMANDS,
     "test_not_an_agent_in_a_terminal"),
    (8, "with the word of the last stop's message,", COMMANDS,
     "test_the_word_of_the_last_stop_alone test_the_word_is_for_what_waited_then"),
    (9, "which the model is not told", CLIENT, "test_a_clones_gates_wait_for_the_users_word"),
    (10, "every directory in which something is trusted (`--json` for programs)", COMMANDS, "test_the_list"),
    (11, "takes it back", COMMANDS, "test_untrust"),
    (12, "`taskie gauntlet init`, `taskie claudex start` and `taskie autopilot` write is trusted,", COMMANDS,
     "test_gauntlet_init test_claudex_start test_autopilot"),
    (13, "unless something that nobody has trusted was there before.", COMMANDS,
     "test_gauntlet_init_in_a_clone test_gauntlet_init_beside_a_check_that_came_along "
     "test_claudex_start_beside_a_loop_that_came_along test_autopilot_goes_on_with_what_came_along"),
    (14, "your edits, and your agent's, go on being trusted, whether committed or not.", ARRIVAL,
     "test_what_is_written_here_is_not edit_and_add edit_and_commit"),
    (15, "Gauntlet tells you when its rules have changed.", ARRIVAL, "test_a_gate_that_rewrites_its_own_rule"),
    (16, "What git brings asks again: a pull, a merge, a checkout, a rebase, a cherry-pick, `git am`, a fetched stash.",
     ARRIVAL, "pull merge checkout rebase cherry_pick am stash_from_elsewhere"),
    (17, "A commit that was not made here by `git commit` counts as somebody else's.", ARRIVAL,
     "am pull_and_amend merge_squashed"),
    (18, "A merge or a rebase that changes a rule therefore asks even where both sides are yours.", ARRIVAL,
     "test_a_merge_of_two_own_edits_asks"),
    (19, "going back to another branch does not ask.", ARRIVAL, "test_who_goes_back_is_not_asked_again"),
    (20, "A linked worktree shares the trust of its repository for the same content.", ARRIVAL,
     "test_a_worktree_with_the_same_content_needs_no_word worktree_of_their_branch"),
    (21, "Another clone, and a directory that was moved, ask again.", ARRIVAL, "another_clone moved"),
    (22, "A command that you type (`taskie gauntlet run`), or name in your own settings", HOOK,
     "test_a_run_by_hand test_an_engines_own_hook"),
    (23, "Nor does the guard of Autopilot, which only denies.", HOOK, "test_the_guard_denies_without_trust"),
    (24, "Plans need none:", HOOK, "test_a_plan_needs_no_trust"),
    (25, "set `TASKIE_TRUST=1` in the environment.", CLIENT, "test_the_users_own_variable"),
    (26, "and a value that stands there does not count.", CLIENT, "test_a_clone_cannot_trust_itself"),
    (27, "mode 0600. It holds digests, no content.", RECORDS, "test_it_is_the_users_alone"),
    (28, "counts for nothing, and the line says so.", RECORDS, "test_one_that_cannot_be_believed"),
    (29, "It cannot tell a patch that was applied without a commit,", ARRIVAL, "test_a_patch_without_a_commit"),
    (30, "Such a program, an agent's shell among them, can write the trust file itself,", COMMANDS,
     "test_a_program_that_runs_as_the_user_can_forge_it"),
    (31, "A link counts as what it leads to: both are shown, and a pull that changes either asks.", ARRIVAL,
     "test_what_is_behind_a_link test_a_link_that_leads_elsewhere_since"),
    (32, "of a `PATH` that stands there, what leads into the project is left out.", "hook/test_hostile_variables",
     "test_no_program_is_one_of_the_clone"),
    (33, "What a client gives its hook differs, measured in", INTERRUPTED,
     "test_escape_in_claude_code test_escape test_a_signal_to_a_client test_a_timeout"),
    (34, "the hook ends, and with it every reviewer and check that it has started,", INTERRUPTED,
     "test_escape_ends_a_deaf_reviewer test_the_end_of_codex_ends_a_deaf_reviewer "
     "test_the_end_of_a_client_that_leaves_its_hooks_ends_a_deaf_reviewer"),
    (36, "Until then no gate has git look at the files either:", HOOK,
     "test_no_program_of_its_git_configuration_is_run"),
    (35, "after its own SIGKILL, and when the client is gone.", "faults/test_keeper",
     "test_a_signal_to_the_whole_group_of_the_hook test_the_client_dies"),
)  # fmt: skip


@pytest.mark.parametrize(("number", "sentence", "file", "tests"), PROMISES, ids=[str(row[0]) for row in PROMISES])
def test_it_is_held(number: int, sentence: str, file: str, tests: str) -> None:
    assert sentence in PAGE
    source = (ROOT / "tests" / f"{file}.py").read_text(encoding="utf-8")
    for test in tests.split():
        assert re.search(rf"def {test}\b", source), test
