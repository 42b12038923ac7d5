"""Requirement 14: what the agent reads when it may not stop."""

from __future__ import annotations

import re

import pytest

from pytest_taskie import FakeCli

from .gates import Gauntlet
from .reviewing import FAIL, client
from .scenarios import scenario


@pytest.fixture
def reason(failing: Gauntlet) -> str:
    said = failing.stop().json
    assert said["reason"] == said["stopReason"]
    return str(said["reason"])


@scenario("R14.S1")
def test_the_console_log(failing: Gauntlet, reason: str, scenario: str) -> None:
    path = failing.logs / "console.1.log"
    assert path.is_absolute()
    assert path.exists()
    assert f"can be read in {path}" in reason
    failing.write("bad", "other")
    assert str(failing.logs / "console.2.log") in failing.stop().json["reason"]


@scenario("R14.S2")
def test_no_command_to_run_them(reason: str, scenario: str) -> None:
    assert "gauntlet run" not in reason
    assert "taskie" not in re.sub(r"/\S+", "", reason)
    assert "run again by themselves" in reason


@scenario("R14.S3")
def test_urgency(reason: str, scenario: str) -> None:
    assert "must fix this now" in reason
    assert "cannot stop until" in reason


@scenario("R14.S4")
def test_trust(reviewed: Gauntlet, fake_claude: FakeCli, scenario: str) -> None:
    fake_claude.outputs(client(FAIL))
    reason = reviewed.stop().json["reason"]
    assert "Trust level: medium" in reason
    assert "Skip a review's violation only if" in reason
    assert "code.py:1: x is not used" in reason
    assert str(reviewed.logs / "review_._quality_claude@1.1.json") in reason


@scenario("R14.S5")
def test_violations(reason: str, scenario: str) -> None:
    for words in ('"status"', '"result"', '"fixed"', '"skipped"', "JSON file"):
        assert words in reason


@scenario("R14.S6")
def test_endings(reason: str, scenario: str) -> None:
    for ending in ("Status: Passed", "Status: Passed with warnings", "Status: Retry limit exceeded"):
        assert f'"{ending}"' in reason


def test_it_is_short_enough_to_be_read_every_time(gauntlet: Gauntlet) -> None:
    for number in range(20):
        gauntlet.check(f"loud-{number}", "seq 1 5000 | sed 's/$/ something went wrong here/'; exit 1")
    reason = gauntlet.stop().json["reason"]
    assert len(reason) < 9000
    assert "more in the log" in reason
    assert "5000 something went wrong" in reason
    assert "Status: Passed" in reason
