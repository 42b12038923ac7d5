"""Reviews that need no prompt of the project's."""

from __future__ import annotations

import pytest

from pytest_taskie import FakeCli, assert_blocked

from .gates import Gauntlet
from .reviewing import FAIL, PASS, client

# A word of each that the others do not have: what it is about.
ABOUT = {
    "correctness": "off-by-one",
    "security": "injection",
    "error-handling": "swallowed",
    "tests": "could each fail at all",
    "test-integrity": "assertion that was removed",
}


@pytest.fixture
def plain(gauntlet: Gauntlet) -> Gauntlet:
    gauntlet.configure(entry_points=[{"path": ".", "reviews": list(ABOUT)}])
    gauntlet.settle()
    gauntlet.write("code.py", "x = 1\n")
    return gauntlet


def test_they_need_no_file(plain: Gauntlet, fake_claude: FakeCli) -> None:
    assert not (plain.path / ".gauntlet" / "reviews").exists()
    fake_claude.outputs(*[client(PASS)] * 5)
    assert plain.stop().json["message"] == "5 gates passed"
    asked = [call.stdin for call in fake_claude.calls]
    assert len(asked) == 5
    for words in ABOUT.values():
        assert sum(words in each for each in asked) == 1
    for each in asked:
        assert '"status": "pass" or "fail"' in each
        assert "+x = 1" in each


def test_they_block(plain: Gauntlet, fake_claude: FakeCli) -> None:
    fake_claude.outputs(*[client(FAIL)] * 5)
    assert_blocked(plain.stop(), "5 of 5 gates failed: .*review test-integrity")
    assert "review:.:test-integrity@1" in plain.state["gates"]


def test_the_commands_know_them(plain: Gauntlet, fake_claude: FakeCli) -> None:
    assert plain.run("validate").stdout == "Valid.\n"
    listed = plain.run("list").stdout
    for name in ABOUT:
        assert f"  review  {name:<20} 1 x claude, codex\n" in listed
    assert "unused" not in listed
    fake_claude.outputs(client(PASS))
    assert plain.run("review", "security").exit_code == 0
    assert len(fake_claude.calls) == 1


def test_only_those_that_are_named(reviewed: Gauntlet) -> None:
    assert "security" not in reviewed.run("list").stdout
    assert reviewed.run("review", "security").exit_code == 2


def test_a_file_of_the_same_name_wins(plain: Gauntlet, fake_claude: FakeCli) -> None:
    plain.write(".gauntlet/reviews/security.md", "Look at the locks.\n")
    fake_claude.outputs(client(PASS))
    plain.run("review", "security")
    (call,) = fake_claude.calls
    assert call.stdin.startswith("Look at the locks.")
    assert "injection" not in call.stdin


def test_a_file_without_a_prompt_says_how(plain: Gauntlet, fake_claude: FakeCli, fake_codex: FakeCli) -> None:
    plain.write(".gauntlet/reviews/security.md", "---\ncli_preference: [codex]\nnum_reviews: 2\n---\n")
    fake_codex.outputs(PASS, PASS)
    assert plain.run("review", "security").exit_code == 0
    assert [("injection" in call.stdin) for call in fake_codex.calls] == [True, True]
    assert fake_claude.calls == []


def test_another_name_is_a_mistake(plain: Gauntlet) -> None:
    plain.configure(entry_points=[{"path": ".", "reviews": ["secrity"], "checks": ["security"]}])
    done = plain.run("validate")
    assert done.exit_code == 1
    assert "there is no review 'secrity'; did you mean 'security'?" in done.stdout
    assert "there is no check 'security'" in done.stdout


def test_no_prompt_and_no_built_in_one(plain: Gauntlet) -> None:
    plain.write(".gauntlet/reviews/mine.md", "---\nnum_reviews: 2\n---\n")
    assert "mine.md: a review needs a prompt" in plain.run("validate").stdout
