"""What is committed is what the pre-check and the reviewers have seen, whoever commits it."""

from __future__ import annotations

import json

import pytest

from autopilot.commits import MESSAGE, head, hook
from autopilot.conftest import PATH, Autopilot, verification

OTHER = "print('hello, whoever you are')\n"
NOT_REVIEWED = "src/app.py has changed since taskie:{agent} approved it"


@pytest.fixture
def reviewed(loop: Autopilot) -> Autopilot:
    """At the commit; both agents have approved."""
    loop.go_to("spec_reviewer")
    for step in ("spec_reviewer", "code_quality"):
        approve(loop, step)
    return loop


def approve(loop: Autopilot, step: str) -> None:
    loop.review(step, "approved")
    loop.advance(step, "approved")


def edit(loop: Autopilot, text: str = OTHER) -> None:
    """An edit that the tests have seen, and nobody else."""
    loop.write("src/app.py", text)
    loop.do("test")


class TestAnApproval:
    def test_of_what_is_committed_needs_no_warning(self, reviewed: Autopilot) -> None:
        reviewed.do("commit", "-m", MESSAGE)
        assert reviewed.state["loop"]["warnings"] == []

    def test_of_other_files_is_none_at_the_commit(self, reviewed: Autopilot) -> None:
        before = head(reviewed)
        edit(reviewed)
        said = reviewed.fails("commit", "-m", MESSAGE)
        for agent in ("spec-reviewer", "code-quality"):
            assert NOT_REVIEWED.format(agent=agent) in said
        assert head(reviewed) == before

    def test_the_way_on_is_to_put_it_back(self, reviewed: Autopilot) -> None:
        was = (reviewed.root / "src/app.py").read_text()
        edit(reviewed)
        assert "Put it back" in reviewed.fails("commit", "-m", MESSAGE)
        edit(reviewed, was)
        reviewed.do("commit", "-m", MESSAGE)

    def test_or_to_have_it_reviewed(self, reviewed: Autopilot) -> None:
        edit(reviewed)
        assert '{"step": "commit", "result": "rework"}' in reviewed.fails("commit", "-m", MESSAGE)
        reviewed.advance("commit", "rework")
        for step in ("coder", "tester", "pre_check_code", "pre_check_blueprint"):
            reviewed.advance(step, **PATH[step])
        for step in ("spec_reviewer", "code_quality"):
            approve(reviewed, step)
        reviewed.do("commit", "-m", MESSAGE)
        assert reviewed.state["loop"]["warnings"] == []

    def test_of_other_files_is_none_for_a_commit_by_hand(self, reviewed: Autopilot) -> None:
        edit(reviewed)
        made = reviewed.commit_by_hand()
        assert NOT_REVIEWED.format(agent="code-quality") in reviewed.refused("commit", "ok", hash=made)

    def test_of_the_first_reviewer_does_not_cover_an_edit_before_the_second(self, loop: Autopilot) -> None:
        loop.go_to("spec_reviewer")
        approve(loop, "spec_reviewer")
        edit(loop)
        approve(loop, "code_quality")
        said = loop.fails("commit", "-m", MESSAGE)
        assert NOT_REVIEWED.format(agent="spec-reviewer") in said
        assert "code-quality" not in said

    def test_is_not_asked_for_again_where_the_loop_leads_past_it(self, loop: Autopilot) -> None:
        """A fix for the second reviewer, or for verification, is the coder's."""
        verification(loop, functional="| AV-F1 | x | - | `grep -q whoever src/app.py` | exit 0 |\n")
        loop.go_to("spec_reviewer")
        approve(loop, "spec_reviewer")
        loop.review("code_quality", "needs_refactor", "src/app.py:1: rude")
        loop.advance("code_quality", "needs_refactor")
        loop.write("src/app.py", "print('good day')\n")
        for step in ("coder", "tester"):
            loop.advance(step, **PATH[step])
        approve(loop, "code_quality")
        loop.do("commit", "-m", MESSAGE)
        assert json.loads(loop.do("verify", "--wait", "0"))["next"] == "coder"
        loop.write("src/app.py", OTHER)
        loop.advance("coder", **PATH["coder"])
        loop.do("test")
        loop.do("commit", "-m", MESSAGE)

    def test_is_not_lost_by_what_the_tests_leave(self, reviewed: Autopilot) -> None:
        reviewed.suite("echo x > left.txt")
        reviewed.do("test")
        reviewed.do("commit", "-m", MESSAGE)

    def test_a_hook_that_fixes_files_and_fails_is_told(self, reviewed: Autopilot) -> None:
        hook(reviewed, "pre-commit", "grep -q tidy src/app.py || { echo '# tidy' >> src/app.py; exit 1; }")
        assert reviewed.run("commit", "-m", MESSAGE).returncode == 1
        reviewed.do("test")
        reviewed.do("commit", "-m", MESSAGE)
        warning = "task 1: a commit hook has changed what the reviewers have seen: src/app.py"
        assert warning in reviewed.state["loop"]["warnings"]


class TestThePreCheck:
    BAD = "x = 1  # TODO: greet\n"

    def test_looks_again_at_what_has_changed_since(self, loop: Autopilot) -> None:
        loop.go_to("commit")
        edit(loop, self.BAD)
        before = head(loop)
        said = loop.fails("commit", "-m", MESSAGE)
        assert "src/app.py:1" in said
        assert "TODO" in said
        assert head(loop) == before
        edit(loop)
        loop.do("commit", "-m", MESSAGE)

    def test_also_for_a_commit_by_hand(self, loop: Autopilot) -> None:
        loop.go_to("commit")
        edit(loop, self.BAD)
        assert "TODO" in loop.refused("commit", "ok", hash=loop.commit_by_hand())

    def test_does_not_run_twice_for_the_same_files(self, loop: Autopilot) -> None:
        loop.write("scripts/pre-review-check.py", "open('.git/runs', 'a').write('x')\n")
        loop.advance("coder", files_changed=["src/app.py", "scripts/pre-review-check.py"])
        for step in ("tester", "pre_check_code", "pre_check_blueprint", "spec_reviewer", "code_quality"):
            loop.advance(step, **PATH[step])
        runs = (loop.root / ".git/runs").read_text()
        loop.do("commit", "-m", MESSAGE)
        assert (loop.root / ".git/runs").read_text() == runs
