"""When a review is paid for: after the checks, and only if its prompt or its diff is another than at its last pass."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_taskie import FakeCli, assert_approved, assert_blocked
from taskie.gauntlet.checks import CheckRun
from taskie.gauntlet.verdict import GateResult
from taskie.programs import Outcome

from .gates import Gauntlet
from .reviewing import FAIL, PASS, client


def status(gauntlet: Gauntlet) -> str:
    return str(gauntlet.stop().json["status"])


class TestG20ChecksComeFirst:
    def test_a_review_begins_when_every_check_has_ended(self, gauntlet: Gauntlet, tmp_path: Path) -> None:
        order = tmp_path / "order"
        gauntlet.configure(cli={"commands": {"mine": f"echo review >> {order}; echo '{json.dumps(PASS)}'"}})
        gauntlet.review("quality", cli_preference=["mine"])
        for name in "abc":
            gauntlet.check(name, f"echo check >> {order}", parallel=name != "c")
        assert status(gauntlet) == "passed"
        assert order.read_text().split() == ["check", "check", "check", "review"]

    def test_after_a_failing_check_nobody_is_asked(self, reviewed: Gauntlet, fake_claude: FakeCli) -> None:
        reviewed.check("lint", "test ! -e bad")
        reviewed.write("bad", "x\n")
        fake_claude.outputs(client(FAIL))
        result = reviewed.stop()
        assert_blocked(result, "1 of 2 gates failed: check lint; not run because of that: review quality")
        assert fake_claude.calls == []
        assert set(reviewed.state["gates"]) == {"check:.:lint"}, "neither passed nor failed"
        log = (reviewed.logs / "console.1.log").read_text()
        assert "[SKIP] review quality: not run, because check lint failed" in log
        (reviewed.path / "bad").unlink()
        assert_blocked(reviewed.stop(), "x is not used")

    def test_an_open_review_stays_open(self, reviewed: Gauntlet, fake_claude: FakeCli) -> None:
        reviewed.check("lint", "test ! -e bad")
        fake_claude.outputs(client(FAIL), client(PASS))
        assert status(reviewed) == "failed"
        reviewed.write("code.py", "print()\n")
        bad = reviewed.write("bad", "x\n")
        assert_blocked(reviewed.stop(), "1 of 2 gates failed: check lint")
        assert reviewed.state["gates"]["review:.:quality@1"]["status"] == "failed"
        assert len(fake_claude.calls) == 1
        bad.unlink()
        assert status(reviewed) == "passed"
        assert "x is not used" in fake_claude.calls[1].stdin

    def test_a_check_that_cannot_be_run_has_not_failed(self, reviewed: Gauntlet, fake_claude: FakeCli) -> None:
        reviewed.check("lint", "no-such-program")
        fake_claude.outputs(client(FAIL))
        assert_blocked(reviewed.stop(), "x is not used")


@pytest.fixture
def parts(gauntlet: Gauntlet, fake_claude: FakeCli, tmp_path: Path) -> Gauntlet:
    """A check and a review of `src`, which have passed on one changed file. The check leaves a line for each run."""
    gauntlet.check("lint", f"echo run >> {tmp_path}/checks")
    gauntlet.review("quality", cli_preference=["claude"])
    gauntlet.configure(entry_points=[{"path": "src", "exclude": ["notes"], "checks": ["lint"], "reviews": ["quality"]}])
    gauntlet.write("src/old.py", "1\n")
    gauntlet.write("README", "1\n")
    gauntlet.settle()
    gauntlet.write("src/code.py", "x = 1\n")
    fake_claude.outputs(client(PASS)).repeats()
    assert status(gauntlet) == "passed"
    return gauntlet


class TestG20OnlyWhatAnEntryCoversWakesIt:
    def runs(self, tmp_path: Path, fake_claude: FakeCli) -> tuple[int, int]:
        return len((tmp_path / "checks").read_text().split()), len(fake_claude.calls)

    @pytest.mark.parametrize("name", ["README", "other/new.py", "src/notes/1.md"])
    def test_a_change_elsewhere(self, parts: Gauntlet, fake_claude: FakeCli, tmp_path: Path, name: str) -> None:
        parts.write(name, "2\n")
        result = parts.stop()
        assert result.json["status"] == "passed"
        assert "nothing that they cover has changed since, so nothing was run" in result.json["message"]
        assert self.runs(tmp_path, fake_claude) == (1, 1)

    def test_a_commit_beside_it(self, parts: Gauntlet, fake_claude: FakeCli, tmp_path: Path) -> None:
        parts.write("README", "2\n")
        parts.commit()
        assert status(parts) == "passed"
        assert self.runs(tmp_path, fake_claude) == (1, 1)

    @pytest.mark.parametrize("how", ["edit", "new", "mode", "delete", "a file that was unchanged"])
    def test_a_change_inside(self, parts: Gauntlet, fake_claude: FakeCli, tmp_path: Path, how: str) -> None:
        if how == "edit":
            parts.write("src/code.py", "x = 2\n")
        elif how == "new":
            parts.write("src/more.bin", "\0")
        elif how == "mode":
            (parts.path / "src/code.py").chmod(0o755)
        elif how == "delete":
            (parts.path / "src/old.py").unlink()
        else:
            parts.write("src/old.py", "2\n")
        assert status(parts) == "passed"
        assert self.runs(tmp_path, fake_claude) == (2, 2)

    def test_back_to_what_passed(self, parts: Gauntlet, fake_claude: FakeCli, tmp_path: Path) -> None:
        """Only the last pass counts: it is a record, not a history."""
        parts.write("src/code.py", "x = 2\n")
        assert status(parts) == "passed"
        parts.write("src/code.py", "x = 1\n")
        assert status(parts) == "passed"
        assert self.runs(tmp_path, fake_claude) == (3, 3)

    def test_the_base_moves(self, parts: Gauntlet, fake_claude: FakeCli, tmp_path: Path) -> None:
        """What came in by a merge is no part of the review's diff, but the check has never seen it."""
        parts.commit()
        parts.project.git("checkout", "-q", "main")
        parts.write("src/old.py", "3\n")
        parts.commit()
        parts.project.git("checkout", "-q", "work")
        parts.project.git("merge", "-q", "--no-edit", "main")
        assert status(parts) == "passed"
        assert self.runs(tmp_path, fake_claude) == (2, 1)

    def test_the_other_side_of_the_diff(self, parts: Gauntlet, fake_claude: FakeCli, tmp_path: Path) -> None:
        """The file is as it was, but what it differs from is another: another diff, and the same files to check."""
        parts.write("src/old.py", "2\n")
        parts.commit()
        assert status(parts) == "passed"
        before = self.runs(tmp_path, fake_claude)
        parts.project.git("checkout", "-q", "main")
        parts.write("src/old.py", "3\n")
        parts.commit()
        parts.project.git("checkout", "-q", "work")
        parts.project.git("merge", "-q", "--no-edit", "-X", "ours", "main")
        assert (parts.path / "src/old.py").read_text() == "2\n"
        parts.write("README", "2\n")
        assert status(parts) == "passed"
        assert self.runs(tmp_path, fake_claude) == (before[0], before[1] + 1)

    def test_another_prompt(self, parts: Gauntlet, fake_claude: FakeCli, tmp_path: Path) -> None:
        """Under other rules every check is run, for what they may have let out."""
        parts.write(".gauntlet/reviews/quality.md", "Look for races.\n")
        assert status(parts) == "passed"
        assert self.runs(tmp_path, fake_claude) == (2, 2)

    def test_another_model(self, parts: Gauntlet, fake_claude: FakeCli, tmp_path: Path) -> None:
        parts.review("quality", cli_preference=["claude"], model="opus")
        assert status(parts) == "passed"
        assert fake_claude.calls[1].model == "opus"

    def test_git_overlooks_more(self, parts: Gauntlet, fake_claude: FakeCli, tmp_path: Path) -> None:
        parts.write(".git/info/exclude", "bad.py\n")
        parts.write("src/bad.py", "1\n")
        assert status(parts) == "passed"
        assert self.runs(tmp_path, fake_claude) == (2, 1)

    def test_another_command(self, parts: Gauntlet, fake_claude: FakeCli, tmp_path: Path) -> None:
        parts.check("lint", f"echo more >> {tmp_path}/checks")
        assert status(parts) == "passed"
        assert self.runs(tmp_path, fake_claude) == (2, 1)

    def test_by_hand_everything_is_run(self, parts: Gauntlet, fake_claude: FakeCli, tmp_path: Path) -> None:
        assert parts.run("run").exit_code == 0
        assert self.runs(tmp_path, fake_claude) == (2, 2)

    def test_below_the_repositorys_root(self, gauntlet: Gauntlet, fake_claude: FakeCli) -> None:
        sub = gauntlet.path / "sub"
        (gauntlet.path / ".gauntlet").rename(gauntlet.path / "unused")
        gauntlet.write("sub/.gauntlet/config.yml", "entry_points: [{path: src, reviews: [quality]}]")
        gauntlet.write("sub/.gauntlet/reviews/quality.md", "Look.\n")
        gauntlet.settle()
        gauntlet.write("sub/src/code.py", "x = 1\n")
        fake_claude.outputs(client(PASS), client(PASS))
        env = {"GAUNTLET_STOP_HOOK_INTERVAL_MINUTES": "0"}
        assert gauntlet.stop(cwd=str(sub), env=env).json["status"] == "passed"
        gauntlet.write("sub/README", "2\n")
        gauntlet.write("README", "2\n")
        assert gauntlet.stop(cwd=str(sub), env=env).json["status"] == "passed"
        assert len(fake_claude.calls) == 1
        gauntlet.write("sub/src/code.py", "x = 2\n")
        assert gauntlet.stop(cwd=str(sub), env=env).json["status"] == "passed"
        assert len(fake_claude.calls) == 2


def test_a_failed_review_is_not_asked_for_a_change_elsewhere(gauntlet: Gauntlet, fake_claude: FakeCli) -> None:
    gauntlet.review("quality", cli_preference=["claude"])
    gauntlet.configure(entry_points=[{"path": "src", "reviews": ["quality"]}])
    gauntlet.settle()
    gauntlet.write("src/code.py", "x = 1\n")
    fake_claude.outputs(client(FAIL))
    assert status(gauntlet) == "failed"
    gauntlet.write("README", "2\n")
    assert_blocked(gauntlet.stop(), "x is not used")
    assert len(fake_claude.calls) == 1


def test_a_check_that_changes_files(gauntlet: Gauntlet, fake_claude: FakeCli) -> None:
    """The reviewer sees what the checks have left, and that is what its verdict is about."""
    gauntlet.check("format", "printf 'x = 1\\n' > code.py")
    gauntlet.review("quality", cli_preference=["claude"])
    gauntlet.settle()
    gauntlet.write("code.py", "x=1\n")
    fake_claude.outputs(client(PASS))
    assert status(gauntlet) == "passed"
    assert "+x = 1" in fake_claude.calls[0].stdin
    assert status(gauntlet) == "passed"
    assert len(fake_claude.calls) == 1


def test_an_error_is_one_gates_matter(reviewed: Gauntlet, fake_claude: FakeCli) -> None:
    """One review's log cannot be written, since there is a directory in its place: the other's verdict counts."""
    reviewed.check("lint", "mkdir -p 'gauntlet_logs/review_._quality_claude@1.1.log/x'")
    reviewed.review("safety", cli_preference=["claude"])
    fake_claude.outputs(client(FAIL)).repeats()
    result = reviewed.stop()
    assert_blocked(result, "1 of 3 gates failed: review safety")
    assert_blocked(result, "Not proven: .*cannot be written")
    reviewed.check("lint", "true")
    fake_claude.outputs(client(PASS))
    reviewed.write("code.py", "print()\n")
    assert status(reviewed) == "passed"
    reviewed.write("code.py", "print(1)\n")
    assert status(reviewed) == "passed", "what is in the way of the logs is moved and replaced like a log"
    reviewed.write("code.py", "print(2)\n")
    assert_approved(reviewed.stop())
    assert reviewed.files() == [".execution_state", "previous"]


def test_an_exception_is_one_gates_matter(failing: Gauntlet, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake of ours in one gate: the other's failure blocks, and the log says where the mistake is."""
    failing.check("broken", "true")
    result = CheckRun.result

    def raises(self: CheckRun, outcome: Outcome) -> GateResult | None:
        if self.job.gate.name == "broken":
            raise ZeroDivisionError("it was 0")
        return result(self, outcome)

    monkeypatch.setattr(CheckRun, "result", raises)
    told = failing.stop()
    assert_blocked(told, "1 of 2 gates failed: check lint")
    assert_blocked(told, r"Not proven: an error of Taskie's own \(ZeroDivisionError: it was 0\)")
    assert "in raises" in (failing.logs / "console.1.log").read_text()


class TestG20AnotherBranch:
    """What a reviewer has passed is about a prompt and a diff, whatever the branch is called."""

    @pytest.mark.parametrize("how", ["checkout -q -b feature", "branch -m renamed"])
    @pytest.mark.parametrize("committed", [True, False])
    def test_the_same_diff_is_not_paid_for_again(
        self, reviewed: Gauntlet, fake_claude: FakeCli, how: str, committed: bool
    ) -> None:
        fake_claude.outputs(client(PASS))
        assert status(reviewed) == "passed"
        reviewed.project.git(*how.split())
        if committed:
            reviewed.commit()
        assert status(reviewed) == "passed"
        assert len(fake_claude.calls) == 1
        assert reviewed.state["branch"] == how.split()[-1]
        assert "Auto-clean" not in reviewed.stop().stderr, "it was said once"

    def test_another_diff_is(self, reviewed: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs(client(PASS), client(FAIL))
        assert status(reviewed) == "passed"
        reviewed.project.git("checkout", "-q", "-b", "feature")
        reviewed.write("code.py", "x = 2\n")
        assert status(reviewed) == "failed"

    def test_another_prompt_is(self, reviewed: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs(client(PASS), client(FAIL))
        assert status(reviewed) == "passed"
        reviewed.project.git("checkout", "-q", "-b", "feature")
        reviewed.write(".gauntlet/reviews/quality.md", "---\ncli_preference: [claude]\n---\nLook again.\n")
        assert status(reviewed) == "failed"

    def test_a_failed_one_is_open(self, reviewed: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs(client(FAIL))
        assert status(reviewed) == "failed"
        reviewed.project.git("checkout", "-q", "-b", "feature")
        assert status(reviewed) == "failed"

    def test_a_check_is_run_again(self, parts: Gauntlet, fake_claude: FakeCli, tmp_path: Path) -> None:
        before = len((tmp_path / "checks").read_text().split())
        asked = len(fake_claude.calls)
        parts.project.git("checkout", "-q", "-b", "feature")
        assert status(parts) == "passed"
        assert len((tmp_path / "checks").read_text().split()) == before + 1
        assert len(fake_claude.calls) == asked

    @pytest.mark.parametrize("then", ["nothing", "commit", "change", "commit a change"])
    def test_what_is_settled_stays_settled_on_a_branch_from_there(
        self, reviewed: Gauntlet, fake_claude: FakeCli, then: str
    ) -> None:
        fake_claude.outputs(*[client(FAIL)] * (2 if "change" in then else 1))
        assert status(reviewed) == "failed"
        reviewed.answer(status="skipped", result="used by a plugin")
        assert status(reviewed) == "passed_with_warnings"
        reviewed.project.git("checkout", "-q", "-b", "feature")
        if "change" in then:
            reviewed.write("code.py", "x = 2\n")
        if "commit" in then:
            reviewed.commit()
        assert status(reviewed) == "passed_with_warnings"
        assert len(fake_claude.calls) == (2 if "change" in then else 1)
