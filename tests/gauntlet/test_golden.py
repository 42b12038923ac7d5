"""What the agent reads when gates have failed, byte for byte."""

from __future__ import annotations

import pytest
from golden import golden

from pytest_taskie import FakeCli

from .gates import Gauntlet
from .reviewing import FAIL, client


@pytest.fixture
def checked(gauntlet: Gauntlet) -> Gauntlet:
    command = "test ! -e bad || { echo 'bad is here'; exit 1; }"
    gauntlet.check("lint", command, fix_instructions="Remove bad.")
    gauntlet.settle()
    gauntlet.write("bad", "x\n")
    return gauntlet


def test_a_check(checked: Gauntlet) -> None:
    assert checked.stop().json["reason"] == golden("gauntlet-check.block", root=checked.path)


def test_a_review(reviewed: Gauntlet, fake_claude: FakeCli) -> None:
    fake_claude.outputs(client(FAIL))
    assert reviewed.stop().json["reason"] == golden("gauntlet-review.block", root=reviewed.path)
