"""After a fix the reviewer verifies: it sees what it found, what the agent says, and what has changed since."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_taskie import FakeCli, assert_approved, assert_blocked
from taskie.gauntlet.ledger import Ledger

from .gates import Gauntlet
from .reviewing import PASS, client

LINES = [f"value_{number} = {number}" for number in range(1, 101)]


def text(**changed: str) -> str:
    """A hundred lines, some of them changed: `line_7="…"`."""
    lines = list(LINES)
    for name, line in changed.items():
        lines[int(name.removeprefix("line_")) - 1] = line
    return "".join(f"{line}\n" for line in lines)


def issue(line: int | None, words: str, priority: str = "medium", file: str = "code.py") -> Any:
    return {"file": file, "line": line, "issue": words, "fix": "", "priority": priority}


def fails(*violations: Any) -> Any:
    return client({"status": "fail", "violations": list(violations)})


@pytest.fixture
def found(reviewed: Gauntlet, fake_claude: FakeCli) -> Gauntlet:
    """A review of two files has found something in line 10 of one."""
    reviewed.write("code.py", text())
    reviewed.write("other.py", text())
    fake_claude.outputs(fails(issue(10, "ten is wrong")))
    assert_blocked(reviewed.stop(), "ten is wrong")
    return reviewed


def again(gauntlet: Gauntlet, fake_claude: FakeCli, *violations: Any) -> Any:
    """The agent changes line 10 and says so; the reviewer answers with these."""
    fake_claude.outputs(fails(*violations) if violations else client(PASS))
    gauntlet.write("code.py", text(line_10="value_10 = ten()"))
    gauntlet.answer(status="fixed", result="computed now")
    return gauntlet.stop()


class TestG22TheQuestion:
    def test_what_has_changed_since(self, found: Gauntlet, fake_claude: FakeCli) -> None:
        assert again(found, fake_claude).json["status"] == "passed"
        first, second = (call.stdin for call in fake_claude.calls)
        assert "+value_1 = 1\n" in first
        assert "This has been reviewed before" not in first
        assert "ten is wrong" in second
        assert "computed now" in second
        assert "-value_10 = 10\n+value_10 = ten()\n" in second
        assert "value_50" not in second, "what has not changed since"
        assert "other.py" not in second

    def test_after_a_commit_too(self, found: Gauntlet, fake_claude: FakeCli) -> None:
        found.commit()
        found.write("code.py", text(line_10="value_10 = ten()"))
        found.commit()
        fake_claude.outputs(client(PASS))
        assert found.stop().json["status"] == "passed"
        assert "-value_10 = 10\n+value_10 = ten()\n" in fake_claude.calls[1].stdin
        assert "value_50" not in fake_claude.calls[1].stdin

    def test_a_file_that_was_not_changed_before(self, found: Gauntlet, fake_claude: FakeCli) -> None:
        found.write(".gitignore", "gauntlet_logs/\nmore/\n")
        fake_claude.outputs(client(PASS))
        assert found.stop().json["status"] == "passed"
        assert " gauntlet_logs/\n+more/\n" in fake_claude.calls[1].stdin

    def test_only_the_answer_is_new(self, found: Gauntlet, fake_claude: FakeCli) -> None:
        found.answer(status="fixed", result="it always was")
        fake_claude.outputs(client(PASS))
        assert found.stop().json["status"] == "passed"
        assert "(nothing; look at the files themselves)" in fake_claude.calls[1].stdin

    @pytest.mark.parametrize("how", ["remove", "garbage"])
    def test_what_was_seen_is_gone(self, found: Gauntlet, fake_claude: FakeCli, how: str) -> None:
        """Then everything is shown again."""
        kept = found.logs / ".reviewed"
        for path in [each for each in kept.rglob("*") if each.is_file()]:
            path.chmod(0o600)
            path.unlink() if how == "remove" else path.write_bytes(b"garbage")
        assert again(found, fake_claude).json["status"] == "passed"
        assert "+value_50 = 50\n" in fake_claude.calls[1].stdin
        assert "ten is wrong" in fake_claude.calls[1].stdin

    @pytest.mark.parametrize("named", [None, 7, "", "HEAD", "--output=stolen"])
    def test_what_was_seen_has_no_name(self, found: Gauntlet, fake_claude: FakeCli, named: object) -> None:
        """Nothing could be kept, or another version wrote the record: git is not asked about that."""
        ledger = Ledger(str(found.path / ".git"), str(found.path), {**found.project.env, **found.env})
        known = ledger.read()
        assert known is not None
        [gate] = known["gates"].values()
        gate["reviewed"] = named
        ledger.write(known)
        assert again(found, fake_claude).json["status"] == "passed"
        assert "+value_50 = 50\n" in fake_claude.calls[1].stdin
        assert not (found.path / "stolen").exists()

    def test_after_a_pass_it_is_asked_anew(self, found: Gauntlet, fake_claude: FakeCli) -> None:
        again(found, fake_claude)
        assert not (found.logs / ".reviewed").exists()
        found.write("code.py", text(line_10="value_10 = 10.0"))
        fake_claude.outputs(client(PASS))
        found.stop()
        assert "+value_50 = 50\n" in fake_claude.calls[2].stdin
        assert "ten is wrong" not in fake_claude.calls[2].stdin

    def test_the_repository_is_left_alone(self, found: Gauntlet, fake_claude: FakeCli) -> None:
        before = sorted(found.path.joinpath(".git").rglob("*"))
        again(found, fake_claude, issue(10, "ten is wrong"))
        assert sorted(found.path.joinpath(".git").rglob("*")) == before

    @pytest.mark.parametrize("name", ["na me.py", "ünï.py", 'quo"te.py', "-dash.py", "new\nline.py", "*.py"])
    def test_any_name(self, found: Gauntlet, fake_claude: FakeCli, name: str) -> None:
        fake_claude.outputs(fails(issue(10, "ten is wrong")), fails(issue(10, "ten is wrong")))
        found.write(name, text())
        found.stop()
        found.write(name, text(line_30="thirty"))
        found.stop()
        assert "-value_30 = 30\n+thirty\n" in fake_claude.calls[-1].stdin
        assert "value_50" not in fake_claude.calls[-1].stdin


class TestG22TheAnswer:
    def test_still_there(self, found: Gauntlet, fake_claude: FakeCli) -> None:
        assert_blocked(again(found, fake_claude, issue(10, "ten is wrong")), "ten is wrong")

    def test_still_there_in_other_words(self, found: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs(fails(issue(12, "10 is not right")))
        found.answer(status="fixed", result="no, I have not")
        found.write("other.py", text(line_90="ninety"))
        assert_blocked(found.stop(), "10 is not right")

    def test_brought_in_by_the_fix(self, found: Gauntlet, fake_claude: FakeCli) -> None:
        assert_blocked(again(found, fake_claude, issue(10, "ten is not defined")), "ten is not defined")

    @pytest.mark.parametrize(
        "words",
        [
            issue(None, "the tenth value is not right"),
            issue(16, "the tenth value is not right"),
            issue(60, "the tenth value is not right"),
            issue(None, "the tenth value is not right", file=""),
            issue(None, "the tenth value is not right", file="other.py"),
        ],
        ids=["no line", "6 below", "far away", "no file", "another file without a line"],
    )
    @pytest.mark.parametrize("change", ["nothing", "beside it", "elsewhere", "no answer"])
    def test_still_there_in_other_words_at_another_place(
        self, found: Gauntlet, fake_claude: FakeCli, words: Any, change: str
    ) -> None:
        """A reviewer that fails it does not say that what it found before is gone."""
        fake_claude.outputs(fails(words))
        if change != "no answer":
            found.answer(status="fixed", result="done")
        if change == "beside it":
            found.write("code.py", text(line_35="thirty_five"))
        elif change != "nothing":
            found.write("other.py", text(line_90="ninety"))
        assert_blocked(found.stop(), "the tenth value is not right")
        assert found.state["gates"]["review:.:quality@1"]["status"] == "failed"
        assert_blocked(found.stop(active=True))

    @pytest.mark.parametrize("change", ["nothing", "elsewhere"])
    def test_where_nothing_has_changed_it_stays_open(self, found: Gauntlet, fake_claude: FakeCli, change: str) -> None:
        """Though the reviewer speaks of something else, and fails it for that."""
        fake_claude.outputs(fails(issue(50, "fifty is odd", file="other.py")))
        found.answer(status="fixed", result="done")
        if change == "elsewhere":
            found.write("other.py", text(line_90="ninety"))
        result = found.stop()
        assert_blocked(result, "1 violation, in the file of 1 of them nothing has changed")
        assert "ten is wrong" in result.json["reason"]
        assert "fifty" not in result.json["reason"]
        [written] = json.loads(found.violations().read_text())["violations"]
        assert (written["issue"], written["status"], written["result"]) == ("ten is wrong", "new", None)

    def test_each_in_a_file_without_a_change_stays_open(self, reviewed: Gauntlet, fake_claude: FakeCli) -> None:
        """One that is said in other words stands for one of those before."""
        reviewed.write("code.py", text())
        first = fails(issue(10, "ten is wrong"), issue(80, "eighty is wrong"))
        fake_claude.outputs(first, fails(issue(14, "the tenth value is not right")))
        reviewed.stop()
        reviewed.answer(status="fixed", result="done")
        result = reviewed.stop()
        assert_blocked(result, "the tenth value is not right")
        assert "eighty is wrong" in result.json["reason"]
        assert "ten is wrong" not in result.json["reason"]

    def test_outside_of_the_fix(self, found: Gauntlet, fake_claude: FakeCli) -> None:
        """It had its chance: a list that grows with every look is never done."""
        other = issue(10, "ten is odd", file="other.py")
        result = again(found, fake_claude, other)
        assert result.json["status"] == "passed"
        log = (found.logs / "previous" / "console.2.log").read_text()
        assert f"not counted, since it is outside of what has changed: [medium] {other['file']}:{other['line']}" in log

    def test_a_heavy_one_outside_is_told(self, found: Gauntlet, fake_claude: FakeCli) -> None:
        result = again(found, fake_claude, issue(60, "the key is logged", "critical", "other.py"))
        assert_approved(result)
        assert "outside of what has changed: [critical] other.py:60: the key is logged" in result.stderr

    def test_beside_one_that_is_still_there(self, found: Gauntlet, fake_claude: FakeCli) -> None:
        result = again(found, fake_claude, issue(10, "ten is wrong"), issue(60, "sixty is odd", file="other.py"))
        assert_blocked(result, "1 violation")
        assert "sixty" not in result.json["reason"]

    def test_failed_without_a_violation(self, found: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs(client({"status": "fail", "violations": []}))
        found.write("code.py", text(line_10="value_10 = ten()"))
        assert_blocked(found.stop(), "failed it without naming a violation")

    def test_absolute_and_dotted_paths(self, found: Gauntlet, fake_claude: FakeCli) -> None:
        result = again(
            found, fake_claude, issue(10, "one", file=f"{found.path}/code.py"), issue(10, "two", file="./code.py")
        )
        assert_blocked(result, "2 violations")
        files = {each["file"] for each in json.loads(found.violations().read_text())["violations"]}
        assert files == {"code.py"}


def test_below_the_repositorys_root(gauntlet: Gauntlet, fake_claude: FakeCli) -> None:
    (gauntlet.path / ".gauntlet").rename(gauntlet.path / "unused")
    gauntlet.write("sub/.gauntlet/config.yml", "entry_points: [{path: src, reviews: [security]}]")
    gauntlet.settle()
    gauntlet.write("sub/src/code.py", text())
    gauntlet.write("sub/src/other.py", text())
    fake_claude.outputs(
        fails(issue(10, "ten is wrong", file="src/code.py")), fails(issue(60, "odd", file="src/other.py"))
    )
    where = str(gauntlet.path / "sub")
    assert_blocked(gauntlet.stop(cwd=where), "ten is wrong")
    gauntlet.write("sub/src/code.py", text(line_10="value_10 = ten()"))
    assert gauntlet.stop(cwd=where).json["status"] == "passed", "what is outside of the fix does not count"
    asked = fake_claude.calls[1].stdin
    assert "--- a/src/code.py\n+++ b/src/code.py\n" in asked
    assert "-value_10 = 10\n+value_10 = ten()\n" in asked
    assert "value_50" not in asked


def test_no_reviewer_is_left(found: Gauntlet, fake_claude: FakeCli) -> None:
    """What was found is open, whoever could be asked."""
    fake_claude.remove()
    assert_blocked(found.stop(), "ten is wrong")


def test_the_reviewer_fails_when_it_should_verify(found: Gauntlet, fake_claude: FakeCli) -> None:
    """What it had found is still open, and is verified as soon as it can be asked again."""
    fake_claude.outputs("", client(PASS))
    found.check("lint", "true")
    found.write("code.py", text(line_10="value_10 = ten()"))
    assert_blocked(found.stop(), "cannot be run now: claude: its answer cannot be used")
    found.violations().unlink()
    found.write("code.py", text(line_10="value_10 = ten(10)"))
    assert found.stop().json["status"] == "passed"
    assert "ten is wrong" in fake_claude.calls[2].stdin
    assert "-value_10 = 10\n+value_10 = ten(10)\n" in fake_claude.calls[2].stdin


class TestNobodyCanBeAsked:
    """What was found is still open, and told with the file in which it is answered."""

    @pytest.fixture
    def down(self, found: Gauntlet) -> Gauntlet:
        """The agent has changed something, and the reviewer is not to be had."""
        found.write("code.py", text(line_10="value_10 = ten()"))
        found.answer(status="fixed", result="computed now")
        return found

    def test_the_violations_are_told(self, down: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs("")
        told = down.stop(active=True).json["reason"]
        assert "It failed before, and cannot be run now: claude: its answer cannot be used" in told
        assert "[medium] code.py:10: ten is wrong" in told
        assert f"Answer in {down.violations()}" in told
        [written] = json.loads(down.violations().read_text())["violations"]
        assert (written["status"], written["result"]) == ("fixed", "computed now")

    def test_no_reviewer_is_installed(self, down: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.remove()
        told = down.stop(active=True).json["reason"]
        assert "cannot be run now: no reviewer is installed" in told
        assert "[medium] code.py:10: ten is wrong" in told

    def test_it_is_not_asked_the_same_again_in_a_turn(self, down: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs("")
        for _ in range(3):
            assert_blocked(down.stop(active=True), "ten is wrong")
        assert down.stop(active=True).json["status"] == "stop_hook_active"
        assert len(fake_claude.calls) == 2

    @pytest.mark.parametrize("what", ["a turn", "an answer", "a change"])
    def test_it_is_asked_again_after(self, down: Gauntlet, fake_claude: FakeCli, what: str) -> None:
        fake_claude.outputs("", "", client(PASS))
        assert_blocked(down.stop(active=True), "cannot be run now")
        assert_blocked(down.stop(active=True), "cannot be run now")
        assert len(fake_claude.calls) == 2
        if what == "an answer":
            down.answer(status="fixed", result="computed in ten()")
        elif what == "a change":
            down.write("code.py", text(line_10="value_10 = ten(10)"))
        assert_blocked(down.stop(active=what != "a turn"), "cannot be run now")
        assert len(fake_claude.calls) == 3
        assert down.stop().json["status"] == "passed"
        assert "ten is wrong" in fake_claude.calls[3].stdin
        assert "-value_10 = 10\n+value_10 = ten(" in fake_claude.calls[3].stdin, "since it was last seen"

    def test_everything_was_skipped(self, down: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs("")
        down.answer(status="skipped", result="a matter of taste")
        assert_blocked(down.stop(active=True), "cannot be run now")
        fake_claude.outputs(client(PASS))
        assert down.stop().json["status"] == "passed_with_warnings"


def test_a_reviewer_that_is_down_does_not_hold_the_agent_for_ever(found: Gauntlet, fake_claude: FakeCli) -> None:
    """It blocks as often as any other failure, and the count is kept though nobody could be asked."""
    fake_claude.outputs("", "", "")
    told = []
    for number in range(5):
        found.write("code.py", text(line_10=f"value_10 = ten({number})"))
        told.append(found.stop(active=True).json["status"])
    assert told == ["failed", "failed", "retry_limit_exceeded", "retry_limit_exceeded", "retry_limit_exceeded"]
