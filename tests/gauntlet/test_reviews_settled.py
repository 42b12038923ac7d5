"""Issues that were skipped with a reason: settled for the reviewer, found again by their place, told to the person."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_taskie import FakeCli, assert_blocked
from taskie.gauntlet.reviewed import MAX_DIFF, Since

from .gates import Gauntlet
from .reviewing import PASS, client

CODE = "".join(f"value_{number} = {number}\n" for number in range(1, 41))


def issue(line: int | None, text: str = "x is not used", priority: str = "medium", file: str = "code.py") -> Any:
    return {"file": file, "line": line, "issue": text, "fix": "", "priority": priority}


def fails(*violations: Any) -> Any:
    return client({"status": "fail", "violations": list(violations)})


@pytest.mark.parametrize("size", [MAX_DIFF - 1, MAX_DIFF, MAX_DIFF + 1])
def test_only_a_diff_that_is_too_long_is_cut(size: int) -> None:
    diff = "+" * size
    assert Since(diff).diff == (diff if size <= MAX_DIFF else f"{diff[:-1]}\n\nThe diff is cut here.\n")


@pytest.fixture
def long(reviewed: Gauntlet) -> Gauntlet:
    """Forty lines to be reviewed."""
    reviewed.write("code.py", CODE)
    return reviewed


def skip(gauntlet: Gauntlet, result: object = "used by a plugin") -> Any:
    """Every violation of the newest file is skipped; then the hook is asked."""
    gauntlet.answer(status="skipped", result=result)
    return gauntlet.stop()


class TestG23TheReviewer:
    def test_is_shown_what_is_settled(self, long: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs(fails(issue(20)), client(PASS))
        long.stop()
        assert skip(long).json["status"] == "passed_with_warnings"
        long.write("code.py", CODE + "more = 1\n")
        assert long.stop().json["status"] == "passed_with_warnings"
        asked = fake_claude.calls[1].stdin
        before, _, after = asked.partition("These are settled")
        assert "x is not used" not in before
        assert "x is not used" in after
        assert "used by a plugin" in after

    @pytest.mark.parametrize(
        ("again", "expected"),
        [
            (issue(20, "nobody reads this value"), "passed_with_warnings"),
            (issue(23, "nobody reads this value"), "passed_with_warnings"),
            (issue(17, "nobody reads this value", "low"), "passed_with_warnings"),
            (issue(38, "x is not used"), "passed_with_warnings"),
            (issue(24, "nobody reads this value"), "failed"),
            (issue(16, "nobody reads this value"), "failed"),
            (issue(None, "nobody reads this value"), "failed"),
            (issue(20, "this leaks the password", "critical"), "failed"),
            (issue(20, "x is not used", "critical"), "failed"),
            (issue(38, "x is not used", "high"), "failed"),
            (issue(20, "x is not used", "low"), "passed_with_warnings"),
            (issue(20, "nobody reads this value", file="other.py"), "failed"),
        ],
        ids=[
            "same line",
            "3 below",
            "3 above",
            "same words",
            "4 below",
            "4 above",
            "no line",
            "heavier",
            "heavier in the same words",
            "the same, elsewhere",
            "lighter in the same words",
            "other file",
        ],
    )
    def test_says_it_again_in_other_words(
        self, long: Gauntlet, fake_claude: FakeCli, again: Any, expected: str
    ) -> None:
        fake_claude.outputs(fails(issue(20)), fails(again))
        long.stop()
        skip(long)
        long.write("code.py", CODE + "more = 1\n")
        assert long.stop().json["status"] == expected

    def test_heavier_in_the_same_words_it_is_open_again(self, long: Gauntlet, fake_claude: FakeCli) -> None:
        """The reason that was given for the lighter one is no answer to it."""
        fake_claude.outputs(fails(issue(20)), fails(issue(20, priority="critical")), client(PASS))
        long.stop()
        skip(long)
        long.write("code.py", CODE + "more = 1\n")
        assert "[critical] code.py:20: x is not used" in long.stop().json["reason"]
        [written] = json.loads(long.violations().read_text())["violations"]
        assert (written["priority"], written["status"], written["result"]) == ("critical", "new", None)
        assert_blocked(long.stop(active=True), "x is not used")
        assert len(fake_claude.calls) == 2
        long.write("code.py", CODE + "more = 2\n")
        assert long.stop().json["status"] == "passed"
        assert "These are settled" not in fake_claude.calls[2].stdin

    def test_heavier_in_the_same_words_it_can_be_skipped_too(self, long: Gauntlet, fake_claude: FakeCli) -> None:
        critical = fails(issue(20, priority="critical"))
        fake_claude.outputs(fails(issue(20)), critical, critical)
        long.stop()
        skip(long)
        long.write("code.py", CODE + "more = 1\n")
        long.stop()
        result = skip(long, "it is a constant of the protocol")
        assert result.json["status"] == "passed_with_warnings"
        assert "[critical] code.py:20: x is not used (skipped: it is a constant" in result.json["systemMessage"]
        long.write("code.py", CODE + "more = 2\n")
        assert long.stop().json["status"] == "passed_with_warnings"

    def test_the_lines_have_moved(self, long: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs(fails(issue(20)), fails(issue(31, "nobody reads this value")))
        long.stop()
        skip(long)
        long.write("code.py", "import os\n" * 10 + CODE)
        assert long.stop().json["status"] == "passed_with_warnings"

    def test_each_settles_one(self, long: Gauntlet, fake_claude: FakeCli) -> None:
        """A second issue at the same place is a new one."""
        fake_claude.outputs(fails(issue(20)), fails(issue(20, "nobody reads it"), issue(20, "it is 20 and not 21")))
        long.stop()
        skip(long)
        long.write("code.py", CODE + "more = 1\n")
        result = long.stop()
        assert_blocked(result, "it is 20 and not 21")
        assert "nobody reads it" not in result.json["reason"]

    def test_of_a_whole_file(self, long: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs(fails(issue(None, "it is too long")), fails(issue(None, "split this file")))
        long.stop()
        skip(long)
        long.write("code.py", CODE + "more = 1\n")
        assert long.stop().json["status"] == "passed_with_warnings"

    @pytest.mark.parametrize("file", ["../outside.py", "/etc/passwd", "no\0file", "", "code.py/x"])
    def test_a_place_that_is_none(self, long: Gauntlet, fake_claude: FakeCli, file: str) -> None:
        fake_claude.outputs(fails(issue(20, file=file)), fails(issue(20, file=file)))
        long.stop()
        assert skip(long).json["status"] == "passed_with_warnings"
        long.write("code.py", CODE + "more = 1\n")
        assert long.stop().json["status"] == "passed_with_warnings"


class TestG23ThePerson:
    def test_is_told_each_with_its_reason(self, long: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs(fails(issue(7), issue(20, "the key is logged", "critical")))
        long.stop()
        message = skip(long).json["systemMessage"]
        first = "[critical] code.py:20: the key is logged (skipped: used by a plugin)"
        second = "[medium] code.py:7: x is not used (skipped: used by a plugin)"
        assert f"2 issues were skipped with a reason: {first}; {second}. Status: Passed with warnings" in message

    def test_is_told_the_heaviest_first_whenever_it_was_skipped(self, long: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs(fails(issue(7)), fails(issue(20, "the key is logged", "critical")))
        long.stop()
        skip(long)
        long.write("code.py", CODE + "more = 1\n")
        long.stop()
        message = skip(long).json["systemMessage"]
        assert 0 < message.index("the key is logged") < message.index("x is not used")

    def test_is_told_of_the_rest_where_it_is(self, long: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs(fails(*(issue(number, f"issue {number}") for number in range(1, 21))))
        long.stop()
        message = skip(long).json["systemMessage"]
        assert message.count("(skipped: used by a plugin)") == 5
        _, more, path = message.partition("… and 15 more in ")
        assert more
        written = json.loads((long.path / path.split(". Status")[0]).read_text())
        assert len(written["violations"]) == 20

    def test_a_long_and_strange_reason(self, long: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs(fails(issue(1, "i" * 5000)))
        long.stop()
        message = skip(long, "because\n\x1b[31m" + "r" * 5000).json["systemMessage"]
        assert len(message) < 1000
        assert "\x1b" not in message
        assert "because\\x0a" in message
