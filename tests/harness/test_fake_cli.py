"""fake_cli: any program on the project's PATH, with answers by its arguments."""

from __future__ import annotations

import json
import re
import subprocess
from typing import Any

import pytest

from pytest_taskie import Fakes, Project, RunHook


@pytest.mark.parametrize("name", ["gh", "curl", "npm", "osascript", "notify-send", "uv"])
def test_any_program(name: str, run_hook: RunHook, fake_cli: Fakes) -> None:
    fake = fake_cli(name).answers("--version", stdout="9.9\n")
    assert run_hook(command=f"command -v {name}").stdout == f"{fake.path}\n"
    assert run_hook(command=[name, "--version"]).stdout == "9.9\n"


def test_an_answer_has_output_errors_and_an_exit_code(run_hook: RunHook, fake_cli: Fakes) -> None:
    gh = fake_cli("gh")
    gh.answers("pr", "view", "7", stdout={"state": "OPEN"})
    gh.answers("pr", "merge", "7", stdout="text as it is", stderr="not mergeable\n", exits=4)
    seen = run_hook(command="gh pr view 7")
    assert (json.loads(seen.stdout), seen.stderr, seen.exit_code) == ({"state": "OPEN"}, "", 0)
    seen = run_hook(command="gh pr merge 7")
    assert (seen.stdout, seen.stderr, seen.exit_code) == ("text as it is", "not mergeable\n", 4)


@pytest.mark.parametrize(
    ("words", "takes", "leaves"),
    [
        ((), "", "a"),
        ((...,), "", None),
        ((...,), "a b c", None),
        (("a", ...), "a", "b a"),
        (("a", ...), "a b c", ""),
        ((..., "z"), "a b z", "z a"),
        ((..., "--json", re.compile("[a-z,]+"), ...), "pr view --json state,title 7", "pr view --json 7"),
        ((re.compile("HTTPS?://.*", re.IGNORECASE),), "https://example.org", "xhttps://example.org"),
        (("*",), "'*'", "a"),
    ],
)
def test_arguments_by_words_and_patterns(
    words: tuple[Any, ...], takes: str, leaves: str | None, run_hook: RunHook, fake_cli: Fakes
) -> None:
    fake = fake_cli("prog").answers(*words, stdout="taken")
    if leaves is not None:
        assert run_hook(command=f"prog {leaves}").exit_code == 1
        fake.lenient = True  # that call was unscripted on purpose
    assert run_hook(command=f"prog {takes}").stdout == "taken"


def test_the_first_that_is_not_used_up_answers(run_hook: RunHook, fake_cli: Fakes) -> None:
    gh = fake_cli("gh")
    gh.answers("run", "view", ..., stdout="queued", times=2)
    gh.answers("run", "view", ..., stdout="done")
    gh.answers(..., stdout="whatever", times=None)
    said = [run_hook(command=f"gh {words}").stdout for words in ("run view 1", "x", *["run view 1"] * 4)]
    assert said == ["queued", "whatever", "queued", "done", "whatever", "whatever"]


def test_an_answer_for_any_number_of_calls_needs_none(fake_cli: Fakes) -> None:
    gh = fake_cli("gh").answers("pr", times=None)
    assert gh.complaints() == []


def test_calls_show_what_arrived(run_hook: RunHook, fake_cli: Fakes, project: Project) -> None:
    notify = fake_cli("notify-send").answers(...)
    run_hook(command=["notify-send", "-u", "low", "it's done"], env={"MINE": "x"})
    [call] = notify.calls
    assert (call.argv, call.cwd, call.env["MINE"]) == (("-u", "low", "it's done"), project.path, "x")
    assert (call.pid > 0, call.stdin) == (True, "")
    assert str(call) == "notify-send -u low 'it'\"'\"'s done'"


def test_it_leaves_stdin_to_the_hook(run_hook: RunHook, fake_cli: Fakes) -> None:
    """As the real programs do: the hook may read its event after it has called them."""
    fake_cli("gh").answers("auth", "status")
    assert run_hook(command="gh auth status; cat", stdin="the event").stdout == "the event"


def test_one_that_reads_stdin_shows_it(run_hook: RunHook, fake_cli: Fakes) -> None:
    curl = fake_cli("curl", reads_stdin=True).answers("-d", "@-", ...)
    assert run_hook(command="curl -d @- http://localhost/; cat", stdin="the event").stdout == ""
    assert curl.calls[0].stdin == "the event"


def test_delay(run_hook: RunHook, fake_cli: Fakes) -> None:
    fake_cli("uv").answers("sync", delay=0.4)
    assert run_hook(command="uv sync").duration >= 0.4


def test_it_becomes_a_script(run_hook: RunHook, fake_cli: Fakes, project: Project) -> None:
    npm = fake_cli("npm")
    npm.answers("run", ..., runs='echo "$@" > ran; exit 3').answers("test", runs="echo tested")
    assert run_hook(command="npm run build").exit_code == 3
    assert (project.path / "ran").read_text() == "run build\n"
    assert run_hook(command="npm test").stdout == "tested\n"


def test_what_the_script_did_not_foresee_fails_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import re

        def test_it(run_hook, fake_cli):
            gh = fake_cli("gh")
            gh.answers("pr", "view", re.compile("[0-9]+"), ..., times=3).answers("issue list")
            assert run_hook(command="gh pr view 7").exit_code == 0
            seen = run_hook(command="gh issue list")
            assert (seen.exit_code, seen.stderr) == (1, "gh: nobody scripted this call\\n")
        """
    )
    outcome = pytester.runpytest()
    outcome.assert_outcomes(passed=1, errors=1)
    outcome.stdout.fnmatch_lines(
        [
            "- unscripted call: gh issue list",
            "- never fetched from gh: gh pr view '[[]0-9[]]+' ... (2 times)",
            "  its last call: gh issue list",
            "- never fetched from gh: gh 'issue list'",
        ]
    )


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("claude", "use the fixture fake_claude"),
        ("codex", "use the fixture fake_codex"),
        ("", "is not a program's name"),
        ("../gh", "is not a program's name"),
        ("..", "is not a program's name"),
    ],
)
def test_names_that_are_refused(name: str, why: str, fake_cli: Fakes) -> None:
    with pytest.raises(ValueError, match=why):
        fake_cli(name)


def test_one_fake_for_a_name(fake_cli: Fakes) -> None:
    fake_cli("gh")
    with pytest.raises(ValueError, match="gh: this test has a fake gh already"):
        fake_cli("gh")


@pytest.mark.parametrize("word", [5, None, b"pr", re.compile(b"pr")])
def test_words_that_are_refused(word: Any, fake_cli: Fakes) -> None:
    with pytest.raises(TypeError, match="is not an argument: give a string, a compiled pattern, or"):
        fake_cli("gh").answers("pr", word)


def test_in_process(fake_cli: Fakes) -> None:
    pytest.importorskip("pytest_subprocess")
    gh = fake_cli("gh").answers("pr", ..., stdout=[1], exits=2).in_process()
    done = subprocess.run(["gh", "pr", "list"], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("[1]\n", 2)
    assert [call.argv for call in gh.calls] == [("pr", "list")]


def test_a_call_that_still_waits_ends_with_the_test(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import subprocess

        started = []

        def test_it(project, fake_cli):
            gh = fake_cli("gh").answers(times=None).holds()
            started.append(subprocess.Popen(["gh"], env=project.env))
            gh.wait_for_calls()

        def test_afterwards():
            assert started[0].wait(20) == 1
        """
    )
    pytester.runpytest("-p", "no:randomly").assert_outcomes(passed=2)


def test_remove_takes_it_off_path(run_hook: RunHook, fake_cli: Fakes) -> None:
    gh = fake_cli("gh")
    gh.remove()
    assert run_hook(command="command -v gh").stdout != f"{gh.path}\n"
