"""What a fake's script did not foresee fails the test at its end; what the real program refuses, the fake refuses."""

from __future__ import annotations

import pytest

from pytest_taskie import FakeCli, RunHook

REVIEW = "claude -p 'Review this.' --model opus"


def test_a_call_that_nobody_scripted_fails_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        def test_it(run_hook, fake_claude):
            fake_claude.reviews("PASS")
            assert [run_hook(command={REVIEW!r}).exit_code for _ in range(2)] == [0, 1]
            assert run_hook(command={REVIEW!r}).stderr == "claude: nobody scripted this call\\n"
        """
    )
    outcome = pytester.runpytest()
    outcome.assert_outcomes(passed=1, errors=1)
    outcome.stdout.fnmatch_lines(
        [
            "*(see docs/fakes.md, 'When the script is wrong'):",
            "- unscripted call: claude -p 'Review this.' --model opus",
            "- unscripted call: claude -p 'Review this.' --model opus",
        ],
        consecutive=True,
    )


def test_a_call_of_a_fake_without_a_script_fails_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(run_hook, fake_codex): run_hook(command='codex exec x')")
    outcome = pytester.runpytest()
    outcome.assert_outcomes(passed=1, errors=1)
    outcome.stdout.fnmatch_lines(["- unscripted call: codex exec x"])


def test_a_fake_that_is_neither_scripted_nor_called_is_fine(pytester: pytest.Pytester) -> None:
    pytester.makepyfile("def test_it(fake_claude, fake_codex, fake_cli): fake_cli('gh')")
    pytester.runpytest().assert_outcomes(passed=1)


def test_answers_that_nobody_fetched_fail_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        def test_one_is_left(run_hook, fake_claude):
            fake_claude.reviews("FAIL", "PASS", None).exits(0, 3)
            run_hook(command={REVIEW!r})

        def test_never_called(fake_claude):
            fake_claude.says("Hello.")
        """
    )
    outcome = pytester.runpytest("-p", "no:randomly")
    outcome.assert_outcomes(passed=2, errors=2)
    outcome.stdout.fnmatch_lines(
        [
            "- never fetched from claude: verdict 'PASS', exit 3",
            "  its last call: claude -p 'Review this.' --model opus",
            "- never fetched from claude: verdict None, exit 3",
            "*",
            "- never fetched from claude: says 'Hello.'",
            "  its last call: there was none",
        ]
    )


def test_what_repeats_needs_no_call_but_what_is_before_it_does(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_right(fake_claude):
            fake_claude.reviews("PASS").repeats()

        def test_wrong(fake_claude):
            fake_claude.reviews("FAIL", "PASS").repeats()
        """
    )
    outcome = pytester.runpytest("-p", "no:randomly")
    outcome.assert_outcomes(passed=2, errors=1)
    outcome.stdout.fnmatch_lines(["- never fetched from claude: verdict 'FAIL'"])


def test_a_lenient_fake_never_complains(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        def test_it(run_hook, fake_claude, fake_codex, fake_cli):
            fake_claude.lenient = fake_codex.lenient = True
            fake_codex.reviews("MAYBE", "PASS")
            gh = fake_cli("gh", lenient=True).answers("never")
            assert run_hook(command="claude -p --no-such x").stdout == "VERDICT: FAIL\\n"
            assert run_hook(command="gh anything").exit_code == 0
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


def test_the_variables_of_the_original_mock_are_a_script_too(run_hook: RunHook, fake_claude: FakeCli) -> None:
    said = run_hook(command=REVIEW, env={"MOCK_CLAUDE_VERDICT": "PASS"})
    assert said.stdout == "VERDICT: PASS\n"
    assert fake_claude.complaints() == []


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("-p --no-such x", "error: unknown option '--no-such'"),
        ("-p --no-such=1 x", "error: unknown option '--no-such=1'"),
        ("-p -Z x", "error: unknown option '-Z'"),
        ("-pZ x", "error: unknown option '-Z'"),
        ("-p --print=yes x", "error: unknown option '--print=yes'"),
        ("-p x --model", "error: option '--model <model>' argument missing"),
        ("-p x -n", "error: option '-n, --name <name>' argument missing"),
        ("-p x --max-turns", "error: option '--max-turns <turns>' argument missing"),
        (
            "-p --no-such --output-format nonsense x",
            "error: option '--output-format <format>' argument 'nonsense' is invalid. "
            "Allowed choices are text, json, stream-json.",
        ),
        ("-p --max-turns 3x a", "error: option '--max-turns <turns>' argument '3x' is invalid. must be a number"),
        (
            "-p --max-budget-usd 0 x",
            "error: option '--max-budget-usd <amount>' argument '0' is invalid. "
            "--max-budget-usd must be a number greater than 0",
        ),
    ],
)
def test_it_refuses_what_claude_refuses(run_hook: RunHook, fake_claude: FakeCli, words: str, says: str) -> None:
    refused = run_hook(command=f"claude {words}")
    assert (refused.exit_code, refused.stdout, refused.stderr) == (1, "", says + "\n")
    assert fake_claude.complaints() == [], "a refused call needs no answer"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("exec --no-such x", "error: unexpected argument '--no-such' found"),
        ("--no-such exec x", "error: unexpected argument '--no-such' found"),
        ("exec --ask-for-approval never x", "error: unexpected argument '--ask-for-approval' found"),
        ("exec --sandbox -x a", "error: unexpected argument '-x' found"),
        ("exec --json=yes x", "error: unexpected value 'yes' for '--json' found; no more were expected"),
        ("exec x -m", "error: a value is required for '--model <MODEL>' but none was supplied"),
        ("exec -m --json x", "error: a value is required for '--model <MODEL>' but none was supplied"),
        ("exec a b", "error: unexpected argument 'b' found"),
        (
            "exec -s what x",
            "error: invalid value 'what' for '--sandbox <SANDBOX_MODE>'\n"
            "  [possible values: read-only, workspace-write, danger-full-access]",
        ),
        ("exec --sandbox what --no-such x", "error: unexpected argument '--no-such' found"),
    ],
)
def test_it_refuses_what_codex_refuses(run_hook: RunHook, fake_codex: FakeCli, words: str, says: str) -> None:
    refused = run_hook(command=f"codex {words}")
    assert (refused.exit_code, refused.stdout, refused.stderr) == (2, "", says + "\n")
    assert fake_codex.complaints() == []


def test_it_takes_what_claude_takes(run_hook: RunHook, fake_claude: FakeCli) -> None:
    fake_claude.says("Hi.").repeats()
    assert run_hook(command="claude -p --max-turns 0x10 --permission-mode default a").exit_code == 0
    for words in ("-p --model -x a", "-pc a", "-p --debug hooks a", "-p a --tools -x", "-nmine -p a"):
        assert run_hook(command=f"claude {words}").stdout == "Hi.\n", words
    flags = [call.flags for call in fake_claude.calls]
    assert flags[1:] == [
        {"--print": True, "--model": "-x"},
        {"--print": True, "--continue": True},
        {"--print": True, "--debug": "hooks"},
        {"--print": True, "--tools": ["-x"]},
        {"--name": "mine", "--print": True},
    ]


def test_it_takes_what_codex_takes(run_hook: RunHook, fake_codex: FakeCli) -> None:
    fake_codex.says("Hi.").repeats()
    for words in ("-m o exec x", "--search exec x", "-a never exec x", "e x", "exec -mo9 x"):
        assert run_hook(command=f"codex {words}", stdin="").stdout == "Hi.\n", words
    assert [call.prompt for call in fake_codex.calls] == ["x"] * 5
    assert [call.model for call in fake_codex.calls] == ["o", None, None, None, "o9"]
    assert run_hook(command="codex exec -i a.png x", stdin="").exit_code == 1, "a list option takes the prompt"
