"""What a reason holds: the command, the errors as tools print them, as many as there is room for."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pytest_taskie import FakeCli
from taskie.gauntlet import telling
from taskie.gauntlet.errors_found import errors_in
from taskie.gauntlet.telling import MAX_REASON, reason, shares
from taskie.gauntlet.verdict import GateResult, RunResult

from .gates import Gauntlet

PRINTED = Path(__file__).with_name("printed")
RUFF = f"{sys.executable} -m ruff check --isolated --no-cache"
# The output of the real tools: eslint 10.15.0, tsc 7.0.2. Go's is in its documented format.
PARSED = {
    "eslint": [
        "src/b.js:1:5: error  'unused' is assigned a value but never used  no-unused-vars",
        "src/b.js:2:5: error  'a' is not defined  no-undef",
        "src/b.js:2:15: error  Unexpected 'debugger' statement  no-debugger",
        "src/c.js:1:14: error  Parsing error: Unexpected token ;",
    ],
    "tsc": [
        "src/a.ts(1,7): error TS2322: Type 'string' is not assignable to type 'number'.",
        "src/a.ts(2,40): error TS2322: Type 'string' is not assignable to type 'number'.",
        "src/a.ts(3,3): error TS2345: Argument of type 'number' is not assignable to parameter of type 'string'.",
    ],
    "tsc-pretty": [
        "src/a.ts:1:7 - error TS2322: Type 'string' is not assignable to type 'number'.",
        "src/a.ts:2:40 - error TS2322: Type 'string' is not assignable to type 'number'.",
        "src/a.ts:3:3 - error TS2345: Argument of type 'number' is not assignable to parameter of type 'string'.",
    ],
    "go-build": [
        "./cart.go:7:2: undefined: total",
        './cart.go:9:12: cannot use "three" (untyped string constant) as int value in assignment',
    ],
    "go-vet": ["vet: ./cart.go:7:2: undefined: total"],
    "go-test": [
        "--- FAIL: TestTotal (0.00s) cart_test.go:11: got 3, want 4 cart_test.go:14: empty cart is not free",
        "--- FAIL: TestNames (0.00s)",
        "--- FAIL: TestNames/empty (0.00s) cart_test.go:22: no error",
    ],
}


def told(gauntlet: Gauntlet, command: str, **fields: object) -> str:
    gauntlet.check("lint", command, **fields)
    return str(gauntlet.stop().json["reason"])


class TestRealTools:
    @pytest.mark.parametrize("style", ["full", "concise"])
    def test_sixteen_errors_of_ruff(self, gauntlet: Gauntlet, style: str) -> None:
        names = [f"module_{number}" for number in range(16)]
        gauntlet.write("code.py", "".join(f"import {name}\n" for name in names))
        reason = told(gauntlet, f"{RUFF} --select F --output-format {style} .")
        assert "16 errors:" in reason
        for line, name in enumerate(names, 1):
            assert f"    code.py:{line}:8: F401 [*] `{name}` imported but unused" in reason

    def test_mypy(self, gauntlet: Gauntlet) -> None:
        gauntlet.write("code.py", 'x: int = "a"\n\n\ndef f() -> str:\n    return 1\n')
        reason = told(gauntlet, f"{sys.executable} -m mypy --cache-dir=/dev/null --config-file= code.py")
        assert "2 errors:" in reason
        assert "    code.py:1: error: Incompatible types in assignment" in reason
        assert '    code.py:5: error: Incompatible return value type (got "int", expected "str")' in reason

    def test_pytest_names_the_test_the_line_and_the_whole_message(self, gauntlet: Gauntlet) -> None:
        message = "a message that is longer than the summary of a terminal is wide, so that pytest cuts it off there"
        gauntlet.write("test_it.py", f"def test_it():\n    assert False, {message!r}\n")
        reason = told(gauntlet, f"{sys.executable} -m pytest -q -p no:cacheprovider -p no:pytest_taskie test_it.py")
        assert "1 error:" in reason
        assert "    FAILED test_it.py::test_it - AssertionError: a message that" in reason
        assert f"    test_it.py:2: AssertionError: {message} assert False" in reason

    @pytest.mark.parametrize(
        ("code", "cause"),
        [
            ("import no_such_module\n", "test_it.py:1: ModuleNotFoundError: No module named 'no_such_module'"),
            ("def broken(:\n", "SyntaxError: invalid syntax"),
            ("1 / 0\n", "test_it.py:1: ZeroDivisionError: division by zero"),
        ],
        ids=["import", "syntax", "raised"],
    )
    def test_pytest_says_why_a_file_cannot_be_collected(self, gauntlet: Gauntlet, code: str, cause: str) -> None:
        gauntlet.write("test_it.py", code)
        reason = told(gauntlet, f"{sys.executable} -m pytest -q -p no:cacheprovider -p no:pytest_taskie test_it.py")
        assert "    ERROR test_it.py" in reason
        assert cause in reason


def test_as_many_violations_as_there_is_room_for(reviewed: Gauntlet, fake_claude: FakeCli) -> None:
    """The heaviest first; how many more are in the file is said once, and how many were dropped."""
    issues = [
        {"file": "code.py", "line": n, "issue": f"issue {n} in more than a few words", "priority": "low"}
        for n in range(1, 260)
    ]
    issues[250]["priority"] = "critical"
    fake_claude.outputs({"status": "fail", "violations": issues})
    reason = str(reviewed.stop().json["reason"])
    assert (
        "200 violations, 59 more were left out, of the least weight\nViolations:\n    [critical] code.py:251:" in reason
    )
    named = reason.count("code.py:")
    assert 100 < named < 200
    assert f"… and {200 - named} more: read the file named below.\nAnswer in {reviewed.violations()}" in reason
    assert reason.count("… and") == 1
    assert MAX_REASON - 200 < len(reason) <= MAX_REASON


@pytest.mark.parametrize("tool", PARSED)
def test_the_errors_of(tool: str, gauntlet: Gauntlet) -> None:
    text = (PRINTED / f"{tool}.txt").read_text().replace("/project", str(gauntlet.path))
    (gauntlet.path.parent / "printed").write_text(text)
    reason = told(gauntlet, f"cat '{gauntlet.path.parent}/printed'; exit 1")
    lines = "".join(f"    {line}\n" for line in PARSED[tool])
    assert f"{len(PARSED[tool])} error{'s' * (len(PARSED[tool]) > 1)}:\n{lines}All of it: " in reason


def test_what_is_no_error() -> None:
    text = "12:30:45: started\nINFO 2024-01-01 12:30:45: done\nERROR the server is down\nall of src/ is fine\n"
    assert errors_in(text, "/project") == []


def test_two_hundred_errors(gauntlet: Gauntlet) -> None:
    gauntlet.write("code.py", "".join(f"import module_{number}\n" for number in range(200)))
    reason = told(gauntlet, f"{RUFF} --select F --output-format concise .")
    named = reason.count("imported but unused")
    assert "200 errors:" in reason
    assert 80 < named < 200
    more = f"… and {200 - named} more: read the log named below."
    assert f"{more}\nAll of it: {gauntlet.logs}/check_._lint.1.log" in reason
    assert MAX_REASON - 200 < len(reason) <= MAX_REASON


def test_the_command(gauntlet: Gauntlet) -> None:
    gauntlet.write("sub/file", "")
    reason = told(gauntlet, "echo no; exit 3", working_directory="sub")
    assert "check:.:lint: exit code 3\nIts command, in sub: echo no; exit 3\n" in reason
    assert "run it yourself until it exits with 0" in reason
    assert "gauntlet run" not in reason


def test_a_review_has_no_command() -> None:
    failed = GateResult("review:.:quality@1", "failed", "1 violation", tail=("x",), violations=({"file": "x"},))
    assert "run it yourself" not in reason(RunResult("failed", "1 gate failed", gates=(failed,)))


def test_of_output_that_nobody_knows_both_ends(gauntlet: Gauntlet) -> None:
    reason = told(gauntlet, "seq 1 9000 | sed 's/^/line /'; exit 1")
    assert "\n    line 1\n    line 2\n" in reason
    assert "    line 8999\n    line 9000\n" in reason
    assert " lines left out …\n" in reason
    assert "    line 4500\n" not in reason
    assert MAX_REASON - 200 < len(reason) <= MAX_REASON


def test_the_room_is_shared(gauntlet: Gauntlet) -> None:
    """Who needs little leaves the rest to the others."""
    gauntlet.check("short", "echo short; exit 1")
    gauntlet.check("long", "seq 1 3000 | sed 's/^/long /'; exit 1")
    gauntlet.check("longer", "seq 1 9000 | sed 's/^/longer /'; exit 1")
    reason = gauntlet.stop().json["reason"]
    assert "    short\n" in reason
    assert abs(reason.count("    long ") * 14 - reason.count("    longer ") * 16) < 300
    assert MAX_REASON - 300 < len(reason) <= MAX_REASON


@pytest.mark.parametrize(
    ("wanted", "room", "given"),
    [([], 9, []), ([5, 5], 20, [5, 5]), ([100, 5, 100], 65, [30, 5, 30]), ([7], 3, [3]), ([3, 3], -1, [0, 0])],
)
def test_shares(wanted: list[int], room: int, given: list[int]) -> None:
    assert shares(wanted, room) == given


def test_a_gate_is_left_out_only_where_it_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    gates = tuple(GateResult(f"check:.:{name}", "failed", "exit code 1") for name in ("one", "two"))
    result = RunResult("failed", "2 gates failed", gates=gates)
    with monkeypatch.context() as none:
        none.setattr(telling, "MAX_GATES", 0)
        around = len(reason(result).replace("… and 2 more in the log.\n\n", "")) + 2
    fits = around + sum(telling._told(gate).least + 2 for gate in gates)
    for limit, left_out in ((fits, False), (fits - 1, True)):
        monkeypatch.setattr(telling, "MAX_REASON", limit)
        assert ("… and 1 more in the log." in reason(result)) is left_out
        assert ("check:.:two" not in reason(result)) is left_out


def test_long_advice_and_a_long_command_leave_room(gauntlet: Gauntlet) -> None:
    for number in range(8):
        command = f"false || {{ : {'x' * 3000}; echo failed; false; }}"
        gauntlet.check(f"check-{number}", command, fix_instructions="y" * 5000)
    reason = gauntlet.stop().json["reason"]
    assert len(reason) <= MAX_REASON
    assert "check:.:check-0: exit code 1" in reason
    assert "Status: Passed" in reason
    assert "more in the log." in reason
