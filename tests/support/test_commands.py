"""A command in the tests' own process does what it does in one of its own, and leaves nothing of itself."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from core.living import descriptors

from pytest_taskie import Plan
from support.commands import Taskie


@pytest.mark.parametrize(
    ("words", "stdin"),
    [
        (["state", "get", ".phase"], ""),
        (["state", "set", "phase=nonsense"], ""),
        (["--version"], ""),
        (["no-such-command"], ""),
        (["stop-hook"], "{}"),
        (["stop-hook"], "no JSON"),
    ],
    ids=" ".join,
)
def test_the_same_as_a_process(words: list[str], stdin: str, taskie: Taskie, plan: Plan) -> None:
    plan.state.write(next_phase=None)
    assert taskie(*words, stdin=stdin) == taskie(*words, stdin=stdin, process=True)


def test_nothing_stays(taskie: Taskie, plan: Plan, capfd: pytest.CaptureFixture[str]) -> None:
    before = dict(os.environ), Path.cwd(), descriptors(), signal.getsignal(signal.SIGALRM)
    assert "validated" in taskie("stop-hook", stdin="{}").out
    assert (dict(os.environ), Path.cwd(), descriptors(), signal.getsignal(signal.SIGALRM)) == before
    print("ours")
    assert capfd.readouterr() == ("ours\n", "")
