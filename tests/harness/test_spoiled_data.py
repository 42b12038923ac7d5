"""Contract data that are spoiled, of a newer format or not there, from a user's test file: it is said what to do."""

from __future__ import annotations

import pytest

CONFTEST = """
from pathlib import Path
from pytest_taskie import _contract
_contract.FOLDER = Path(__file__).parent / "data"
"""
TESTS = """
from pytest_taskie import judge

def test_hook(run_hook):
    run_hook(command="exit 2").blocked

def test_event(events):
    events.stop()

def test_tool(events):
    events.bash("ls")

def test_fake(fake_claude):
    pass
"""
HEAD = '"format": 1, "client": "claude", "from": "2.1.326", "outputs": {}'
DATA = {
    "newer": (
        '{"format": 2, "client": "claude"}',
        "*has format 2, and this * reads format 1: install a newer pytest-taskie",
    ),
    "cut off": ('{"format": 1', "*claude-2.1.326.json cannot be read: *; install pytest-taskie again"),
    "without events": (f"{{{HEAD}}}", "*ContractError: the contract data have no events of claude: install * again"),
    "with an event that is none": (
        f'{{{HEAD}, "events": {{"Stop": 5}}}}',
        "*is spoiled: events.Stop does not say what is sent; install pytest-taskie again",
    ),
    "with tools that are none": (f'{{{HEAD}, "tools": []}}', "*is spoiled: tools is not an object; install *"),
    "with parameters that are none": (f'{{{HEAD}, "parameters": 5}}', "*is spoiled: parameters is not an object; *"),
    "not there": (None, "*there are no contract data in */data: install pytest-taskie again"),
}


@pytest.mark.parametrize(("text", "says"), DATA.values(), ids=DATA)
def test_it_is_said(text: str | None, says: str, pytester: pytest.Pytester) -> None:
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)
    pytester.mkdir("data")
    if text is not None:
        (pytester.path / "data" / "claude-2.1.326.json").write_text(text)
    outcome = pytester.runpytest_subprocess("-p", "no:randomly")
    outcome.assert_outcomes(passed=1, failed=3)
    assert outcome.stdout.str().count("ContractError: ") >= 3
    outcome.stdout.fnmatch_lines([f"E {says}"] * 3)
