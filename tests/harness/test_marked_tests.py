"""`pytest -m state` and `pytest -m validation` leave out no test that is about a plan's state or its files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, Union

import pytest

TESTS = Path(__file__).parents[1]
# How a test looks that is about the state machine of plans: by what its module imports, or by what it does itself.
MODULES_OF_STATE = re.compile(r"taskie\.plans\.\w")
ABOUT_STATE = re.compile(r"\bplan\.state\b|\bnext_phase\b|\bfake_claude\b.*\b(plan|checked_hook)\b", re.DOTALL)
ABOUT_VALIDATION = re.compile(r"Missing required file|Invalid filename|Nested directories|tasks\.md .* table rows")
# The real client's tests have a marker of their own, the other engines their own states.
OTHER_FOLDERS = {"autopilot", "claudex", "client", "gauntlet", "harness"}
# These look like it, and are about something else.
OTHER_SUBJECTS = {
    "cli/test_commands.py": "what a person sees",
    "core/test_imports.py": "what the hook imports",
    "docs/test_readme.py": "the README",
    "faults/test_stdin.py": "the event",
    "faults/test_unseen.py": "what the disk does not say",
    "hook/test_other_clients.py": "what other clients send and take",
    "hook/test_shell_start.py": "the shell script before Python",
    "support/test_commands.py": "how the tests run a command",
    "torture/test_parsers.py": "every parser",
}
Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]


class Written(NamedTuple):
    """A test as it is written: its name, its text, its markers."""

    name: str
    text: str
    marks: set[str]


def marks(nodes: list[ast.expr]) -> set[str]:
    """Every `pytest.mark.NAME` in these expressions."""
    return {
        found.attr
        for node in nodes
        for found in ast.walk(node)
        if isinstance(found, ast.Attribute) and isinstance(found.value, ast.Attribute) and found.value.attr == "mark"
    }


def written(source: str) -> Iterator[Written]:
    tree = ast.parse(source)
    assigned = [node for node in tree.body if isinstance(node, ast.Assign)]
    of_module = marks([node.value for node in assigned if ast.unparse(node.targets[0]) == "pytestmark"])
    groups = [(node.body, marks(node.decorator_list)) for node in tree.body if isinstance(node, ast.ClassDef)]
    for body, of_class in [(tree.body, set[str]()), *groups]:
        for node in body:
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node.name.startswith("test_"):
                yield Written(node.name, ast.unparse(node), of_module | of_class | marks(node.decorator_list))


def imports_plans(source: str) -> bool:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            names = [node.module or "", *(f"{node.module}.{alias.name}" for alias in node.names)]
            if any(MODULES_OF_STATE.match(name) for name in names):
                return True
    return False


def left_out(source: str) -> list[str]:
    """The tests that lack a marker, and which."""
    of_plans = imports_plans(source)
    found = []
    for test in written(source):
        if (of_plans or ABOUT_STATE.search(test.text)) and not test.marks & {"state", "validation"}:
            found.append(f"{test.name}: state")
        if ABOUT_VALIDATION.search(test.text) and "validation" not in test.marks:
            found.append(f"{test.name}: validation")
    return found


MODULES = [
    path.relative_to(TESTS).as_posix()
    for path in sorted(TESTS.glob("*/test_*.py"))
    if path.parent.name not in OTHER_FOLDERS
]


@pytest.mark.parametrize("module", [name for name in MODULES if name not in OTHER_SUBJECTS])
def test_every_test_has_its_marker(module: str) -> None:
    assert left_out((TESTS / module).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith("plans/")])
def test_everything_of_the_plans_is_about_their_state(module: str) -> None:
    assert all("state" in test.marks for test in written((TESTS / module).read_text(encoding="utf-8")))


def test_the_exceptions_are_still_there() -> None:
    assert set(OTHER_SUBJECTS) <= set(MODULES)


@pytest.mark.parametrize(
    ("source", "lacks"),
    [
        ("def test_it(plan): plan.state.write()", ["test_it: state"]),
        ("from taskie.plans.phases import X\ndef test_it(): X()", ["test_it: state"]),
        ("from taskie.plans import loop\nclass TestIt:\n    def test_it(self): loop", ["test_it: state"]),
        ("from taskie import plans  # as any engine\ndef test_it(): plans", []),
        ("@pytest.mark.state\ndef test_it(plan): plan.state.write()", []),
        ("pytestmark = [skip, pytest.mark.state]\ndef test_it(plan): plan.state.write()", []),
        ("pytestmark = pytest.mark.state\ndef test_it(): 'Missing required file'", ["test_it: validation"]),
        ("@pytest.mark.validation\nclass TestIt:\n    def test_it(self): 'Missing required file'", []),
        ("def test_it(): pass", []),
    ],
)
def test_a_marker_that_is_missing_is_noticed(source: str, lacks: list[str]) -> None:
    assert left_out(source) == lacks
