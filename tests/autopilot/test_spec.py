"""The spec file: one line in its log for each step, its status, and every other byte as it was."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from faults.snapshot import written

from autopilot.conftest import Autopilot
from taskie.autopilot import spec

LINES = ["#1 now task 1/1: a", "#2 now task 1/1: b"]
BULLETS = "- #1 now task 1/1: a\n- #2 now task 1/1: b\n"


class TestTheLog:
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("", f"## Autopilot Log\n\n{BULLETS}"),
            ("# Spec\n", f"# Spec\n\n## Autopilot Log\n\n{BULLETS}"),
            ("# Spec", f"# Spec\n\n## Autopilot Log\n\n{BULLETS}"),
            ("# Spec\n\n\n\n", f"# Spec\n\n## Autopilot Log\n\n{BULLETS}"),
            ("## Autopilot Log\n", f"## Autopilot Log\n\n{BULLETS}"),
            ("## Autopilot Log", f"## Autopilot Log\n\n{BULLETS}"),
            ("## Autopilot Log\n\nmine\n", f"## Autopilot Log\n\nmine\n{BULLETS}"),
            ("## Autopilot Log\n\nmine\n\n## Next\n\nx\n", f"## Autopilot Log\n\nmine\n{BULLETS}\n## Next\n\nx\n"),
            ("### autopilot log ###\n\n# Next\n", f"### autopilot log ###\n\n{BULLETS}\n# Next\n"),
            ("```\n## Autopilot Log\n```\n", f"```\n## Autopilot Log\n```\n\n## Autopilot Log\n\n{BULLETS}"),
            ("# A\r\nb\n## Autopilot Log\n", "# A\r\nb\n## Autopilot Log\n\r\n" + BULLETS.replace("\n", "\r\n")),
            ("# A\r\n## Autopilot Log", f"# A\n## Autopilot Log\n\n{BULLETS}".replace("\n", "\r\n")),
            ("```a```\n\n## Autopilot Log\n", f"```a```\n\n## Autopilot Log\n\n{BULLETS}"),
            ("# A\r\n", f"# A\n\n## Autopilot Log\n\n{BULLETS}".replace("\n", "\r\n")),
        ],
    )
    def test_where_its_lines_go(self, before: str, after: str) -> None:
        assert spec.with_log(before, LINES) == after

    def test_what_is_there_is_not_written_again(self) -> None:
        once = spec.with_log("# Spec\n", LINES)
        assert spec.with_log(once, LINES) == once
        assert spec.with_log(once, [*LINES, "#3 c"]) == f"{once}- #3 c\n"

    def test_what_is_missing_at_the_end_is_added(self) -> None:
        """A process may have ended before it could write."""
        assert spec.with_log(spec.with_log("# Spec\n", LINES[:1]), LINES) == spec.with_log("# Spec\n", LINES)

    def test_a_line_that_somebody_removed_stays_away(self) -> None:
        text = spec.with_log("# Spec\n", LINES).replace("- #1 now task 1/1: a\n", "")
        assert spec.with_log(text, LINES) == text

    def test_nothing_to_say(self) -> None:
        assert spec.with_log("# Spec", []) == "# Spec"


class TestTheStatus:
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ("# A\n\nStatus: queued\n", "# A\n\nStatus: blocked\nACTION REQUIRED: commit failure\n"),
            ("**Status:** in progress  \n", "**Status:** blocked  \nACTION REQUIRED: commit failure\n"),
            ("**Status**: x\ny", "**Status**: blocked\nACTION REQUIRED: commit failure\ny"),
            ("- Status:\n", "- Status: blocked\nACTION REQUIRED: commit failure\n"),
            ("status: a\nStatus: b\n", "status: blocked\nACTION REQUIRED: commit failure\nStatus: b\n"),
            ("# A\n\nx\n", "# A\n\nStatus: blocked\nACTION REQUIRED: commit failure\n\nx\n"),
            ("x\n", "Status: blocked\nACTION REQUIRED: commit failure\n\nx\n"),
            ("```\nStatus: 200\n```\nStatus: b", f"```\nStatus: 200\n```\nStatus: blocked\n{spec.ACTION}"),
            ("# A\r\nStatus: b\nc\n", f"# A\r\nStatus: blocked\n{spec.ACTION}\r\nc\n"),
            ("x\nIts Status: b\n", "Status: blocked\nACTION REQUIRED: commit failure\n\nx\nIts Status: b\n"),
            ("# A\r\nStatus: b\r\n", "# A\r\nStatus: blocked\r\nACTION REQUIRED: commit failure\r\n"),
        ],
    )
    def test_blocked(self, before: str, after: str) -> None:
        assert spec.with_blocked_status(before) == after
        assert spec.with_blocked_status(after) == after


def test_one_line_for_each_step(autopilot: Autopilot) -> None:
    autopilot.begin("first", "second")
    autopilot.go_to("spec_reviewer")
    autopilot.advance("spec_reviewer", "needs_removal")
    texts = [re.sub(r"^- #\d+ \S+Z ", "", line) for line in autopilot.log]
    assert texts == [
        "task 1/2: planned 2 tasks",
        "task 1/2: coder -> tester: the code is written",
        "task 1/2: tester passed -> pre_check_code: the tests pass",
        "task 1/2: pre_check_code pass -> pre_check_blueprint: the pre-check passes",
        "task 1/2: pre_check_blueprint skip -> spec_reviewer: there is no blueprint",
        "task 1/2: spec_reviewer needs_removal -> coder: something was added that the spec does not ask for",
    ]
    assert [line.split()[1] for line in autopilot.log] == [f"#{number}" for number in range(1, 7)]
    assert [line[2:] for line in autopilot.log] == autopilot.state["log"]


def test_the_state_keeps_the_last_thousand_lines(autopilot: Autopilot) -> None:
    autopilot.begin("first")
    autopilot.change(log=[f"#{number} x" for number in range(1000)])
    autopilot.advance("coder", files_changed=["src/app.py"])
    log = autopilot.state["log"]
    assert (len(log), log[0]) == (1000, "#1 x")
    assert "coder -> tester" in log[-1]


@pytest.mark.parametrize(
    ("result", "to"), [("needs_refactor", "escalate (council)"), ("needs_discussion", "stop (human)")]
)
def test_a_halt_says_to_whom_and_why(autopilot: Autopilot, result: str, to: str) -> None:
    autopilot.begin("first")
    autopilot.go_to("code_quality")
    while autopilot.advance("code_quality", result)["next"] == "coder":
        autopilot.advance("coder", files_changed=[])
        autopilot.advance("tester", "passed")
    assert re.search(rf"code_quality {result} -> {re.escape(to)}: \w+ \w+", autopilot.log[-1])


def test_the_rest_of_the_spec_stays_byte_for_byte(autopilot: Autopilot) -> None:
    before = b"# FTR-1\r\n\r\nStatus: x\r\n\xff\xfe latin\r\n\r\n"
    autopilot.spec.write_bytes(before)
    autopilot.begin("first")
    autopilot.advance("coder", files_changed=["src/app.py"])
    after = autopilot.spec.read_bytes()
    assert after.startswith(before.rstrip(b"\r\n"))
    assert after.count(b"\r\n") == after.count(b"\n")


def test_without_news_it_is_not_written(autopilot: Autopilot) -> None:
    autopilot.begin("first")
    before = written(autopilot.spec)
    autopilot.do("update", "1", "tester", "pass")
    assert written(autopilot.spec) == before


class TestASpecThatCannotBeWritten:
    def test_missing(self, autopilot: Autopilot) -> None:
        autopilot.spec.unlink()
        autopilot.begin("first")
        assert autopilot.advance("coder", files_changed=["src/app.py"])["next"] == "tester"
        assert not autopilot.spec.exists()
        assert len(autopilot.state["log"]) == 2

    def test_outside_of_the_tree(self, autopilot: Autopilot, tmp_path: Path) -> None:
        outside = tmp_path / "spec.md"
        outside.write_text("# Spec\n")
        for path in (str(outside), "../spec.md", "link.md"):
            (autopilot.root / "link.md").unlink(missing_ok=True)
            (autopilot.root / "link.md").symlink_to(outside)
            autopilot.do("init", "FTR-1", path, "--force")
            done = autopilot.run("plan", '[{"id": 1, "name": "a"}]')
            assert done.returncode == 0
            assert "is outside" in done.stderr
            assert outside.read_text() == "# Spec\n"

    def test_lines_that_are_not_text(self, autopilot: Autopilot) -> None:
        autopilot.begin("first")
        autopilot.change(log=["#1 \ud800"])
        done = autopilot.run("advance", '{"step": "coder", "files_changed": []}')
        assert json.loads(done.stdout)["next"] == "tester"
        assert "the Autopilot Log could not be written to the spec" in done.stderr

    def test_a_directory(self, autopilot: Autopilot) -> None:
        autopilot.do("init", "FTR-1", "src")
        done = autopilot.run("plan", '[{"id": 1, "name": "a"}]')
        assert done.returncode == 0
        assert "the Autopilot Log could not be written to the spec: src" in done.stderr


def test_lines_that_an_earlier_process_could_not_write(autopilot: Autopilot) -> None:
    autopilot.begin("first")
    text = autopilot.spec.read_text()
    autopilot.advance("coder", files_changed=["src/app.py"])
    autopilot.spec.write_text(text)
    autopilot.advance("tester", "passed")
    assert len(autopilot.log) == 3


def test_sections() -> None:
    text = ["# A", "## B", "x", "### C", "y", "## D", "z"]
    found = spec.section(text, "b")
    assert found is not None
    assert list(found.lines) == ["x", "### C", "y"]
    assert spec.section(text, "E") is None
