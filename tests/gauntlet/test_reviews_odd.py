"""Answers that are too long, too deep or nonsense, and an agent that spoils the files: bounded, and never a way out."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie import FakeCli, assert_approved, assert_blocked

from .gates import Gauntlet
from .reviewing import FAIL, ISSUE, PASS, client


def fails(*violations: Any) -> Any:
    return {"status": "fail", "violations": list(violations)}


def prints(fake: FakeCli, tmp_path: Path, data: bytes) -> None:
    """Exactly these bytes, however many."""
    (tmp_path / "printed").write_bytes(data)
    fake.runs(f"cat {tmp_path}/printed")


def written(gauntlet: Gauntlet) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(gauntlet.violations().read_text())["violations"]
    return found


class TestManyViolations:
    def test_two_hundred(self, reviewed: Gauntlet, fake_claude: FakeCli) -> None:
        """All in the file, the heaviest in the block, and each can be answered."""
        many = [{**ISSUE, "line": n, "issue": f"issue {n}", "priority": "low"} for n in range(1, 200)]
        fake_claude.outputs(client(fails(*many, {**ISSUE, "issue": "the worst", "priority": "critical"})))
        result = reviewed.stop()
        assert_blocked(result, "200 violations")
        assert_blocked(result, r"\[critical\] code.py:1: the worst")
        assert len(result.json["reason"]) < 10_000
        assert len(written(reviewed)) == 200
        reviewed.answer(status="skipped", result="no")
        assert reviewed.stop().json["status"] == "passed_with_warnings"

    def test_more_than_anybody_reads(self, reviewed: Gauntlet, fake_claude: FakeCli, tmp_path: Path) -> None:
        many = [{**ISSUE, "issue": f"issue {n}", "priority": "low"} for n in range(30_000)]
        many.append({**ISSUE, "issue": "the worst", "priority": "critical"})
        prints(fake_claude, tmp_path, json.dumps(fails(*many)).encode())
        assert_blocked(reviewed.stop(), "200 violations")
        assert len(written(reviewed)) == 200
        assert written(reviewed)[0]["issue"] == "the worst"
        log = (reviewed.logs / "console.1.log").read_text()
        assert "29801 more were left out, of the least weight" in log


class TestLongAnswers:
    @pytest.mark.parametrize("where", ["issue", "prose before", "prose after"])
    def test_five_megabytes(self, reviewed: Gauntlet, fake_claude: FakeCli, tmp_path: Path, where: str) -> None:
        long = "x {y} " * 850_000
        answer = json.dumps(fails({**ISSUE, "issue": f"x is not used {long}"}) if where == "issue" else FAIL)
        data = {"issue": answer, "prose before": long + answer, "prose after": answer + long}[where].encode()
        assert 5_000_000 < len(data) < 6_000_000
        prints(fake_claude, tmp_path, data)
        assert_blocked(reviewed.stop(), "x is not used")
        assert reviewed.violations().stat().st_size < 10_000
        reviewed.answer(status="skipped", result="no")
        assert reviewed.stop().json["status"] == "passed_with_warnings", "the files and the record can still be read"

    def test_a_monstrous_one(self, reviewed: Gauntlet, fake_claude: FakeCli, tmp_path: Path) -> None:
        prints(fake_claude, tmp_path, json.dumps(fails({**ISSUE, "issue": "x" * 9_000_000})).encode())
        assert_approved(reviewed.stop(), "claude: its answer cannot be used: it is larger than 8 MB")

    def test_one_that_never_ends(self, reviewed: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.runs("head -c 70000000 /dev/zero; sleep 600")
        assert_approved(reviewed.stop(), "claude wrote more than 64 MB")


@pytest.mark.parametrize(
    "data",
    [
        b"\xff\xfe\x00",
        b"[" * 10_000 + b"]" * 10_000,
        b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
        b'{"status": "fail", "violations": ' + b"[" * 10_000 + b"]" * 10_000 + b"}",
        b'{"a": [' * 1_000_000,
        b"{" * 3_000_000,
        b'{"status": {"pass": 1}}',
        b'{"status": "pass"' + b" " * 100_000,
        b"null",
    ],
    ids=["bytes", "lists", "objects", "deep", "never closed", "braces", "an object", "cut", "null"],
)
def test_no_answer(reviewed: Gauntlet, fake_claude: FakeCli, tmp_path: Path, data: bytes) -> None:
    prints(fake_claude, tmp_path, data)
    result = reviewed.stop()
    assert_approved(result, "claude: its answer cannot be used: no JSON object with a status of pass or fail")
    assert result.json["status"] == "infrastructure_error"


@pytest.mark.parametrize("size", [1 << 20, 5 << 20], ids=["1 MB", "5 MB"])
@pytest.mark.parametrize("piece", ['{"a":"', '{"a":"\n', '{"a":1 ', '{"a":[', '{"a":1}'])
def test_the_search_for_an_answer_is_bounded(
    reviewed: Gauntlet, fake_claude: FakeCli, tmp_path: Path, piece: str, size: int
) -> None:
    """In the time that this process has computed: without a bound it takes minutes, and the hook has no part in it."""
    prints(fake_claude, tmp_path, (piece * (size // len(piece))).encode())
    before = time.process_time()
    assert_approved(reviewed.stop(), "its answer cannot be used: no JSON object with a status of pass or fail")
    assert time.process_time() - before < 8


class TestOddViolations:
    def test_not_utf_8(self, reviewed: Gauntlet, fake_claude: FakeCli, tmp_path: Path) -> None:
        prints(
            fake_claude,
            tmp_path,
            b'\xff\xfe thinking {"status": "fail", "violations": [{"file": "c\xff", "issue": "odd"}]}',
        )
        assert_blocked(reviewed.stop(), "odd")

    @pytest.mark.parametrize(
        ("given", "kept"),
        [
            (7, 7),
            (7.0, 7),
            ("7", 7),
            ("7-9", 7),
            (0, None),
            (-3, None),
            (10**30, None),
            (1e300, None),
            (2.5, None),
            (True, None),
            ("many", None),
            ("٣", None),
            ([7], None),
            ({}, None),
            (None, None),
        ],
    )
    def test_lines(self, reviewed: Gauntlet, fake_claude: FakeCli, given: Any, kept: int | None) -> None:
        fake_claude.outputs(client(fails({**ISSUE, "line": given})))
        assert_blocked(reviewed.stop(), "x is not used")
        assert written(reviewed)[0]["line"] == kept

    def test_fields_of_any_kind(self, reviewed: Gauntlet, fake_claude: FakeCli) -> None:
        odd = {
            "file": ["code.py"],
            "issue": {"a": 1},
            "fix": 5,
            "priority": ["high"],
            "status": "skipped",
            "result": "no",
        }
        fake_claude.outputs(client(fails(odd, "no object", 5, None, {"issue": "\ud800 alone"})))
        assert_blocked(reviewed.stop(), "2 violations")
        assert written(reviewed)[0] == {
            "file": "", "line": None, "issue": "no description", "fix": "", "priority": "medium", "status": "new",
            "result": None,
        }  # fmt: skip

    @pytest.mark.parametrize("violations", [None, {}, "many", 5, {"file": "code.py"}])
    def test_violations_that_are_no_list(self, reviewed: Gauntlet, fake_claude: FakeCli, violations: Any) -> None:
        fake_claude.outputs(client({"status": "fail", "violations": violations}))
        assert_blocked(reviewed.stop(), "failed it without naming a violation")


def spoil(path: Path, how: str) -> None:
    if how == "a directory":
        path.unlink()
        (path / "x").mkdir(parents=True)
    elif how == "a link":
        path.unlink()
        path.symlink_to("/etc/passwd")
    elif how == "unreadable":
        path.chmod(0)
    elif how == "five megabytes":
        path.write_text(json.dumps({**json.loads(path.read_text()), "more": "x" * 5_000_000}))
    elif how == "too deep":
        path.write_text("[" * 100_000)
    elif how == "deleted":
        path.unlink()
    else:
        path.write_bytes(b"\xff garbage")


@pytest.mark.parametrize(
    "how", ["a directory", "a link", "unreadable", "five megabytes", "too deep", "deleted", "garbage"]
)
def test_the_agent_spoils_the_file(reviewed: Gauntlet, fake_claude: FakeCli, how: str) -> None:
    """Nobody is asked, and what was found is still open; a fix gets past it all the same."""
    fake_claude.outputs(client(FAIL), client(PASS), client(PASS))
    reviewed.stop()
    path = reviewed.violations()
    spoil(path, how)
    assert_blocked(reviewed.stop(), "x is not used")
    assert len(fake_claude.calls) == 1
    reviewed.write("code.py", "print()\n")
    assert reviewed.stop().json["status"] == "passed"
    assert "x is not used" in fake_claude.calls[1].stdin
    reviewed.write("code.py", "print(1)\n")
    assert reviewed.stop().json["status"] == "passed"
