"""A project may have its own fixtures under the plugin's names: the plugin's other fixtures work as before."""

from __future__ import annotations

import inspect

import pytest

from pytest_taskie import _plugin
from pytest_taskie.client import _fixtures

OWN = """
import pytest

@pytest.fixture
def {name}():
    return {{"mine": True}}
"""
USES = """
from pytest_taskie import assert_blocked

def test_it({name}, run_hook, fake_claude, fake_codex{others}):
    assert {name} == {{"mine": True}}
    fake_claude.says("One.")
    fake_codex.says("Two.")
    assert_blocked(run_hook(command="claude -p x >&2; codex exec x >&2; exit 2"))
    assert len(fake_claude.calls) == len(fake_codex.calls) == 1
"""
NAMES = ("project", "plan", "events", "make_plan", "make_state")


@pytest.mark.parametrize("name", NAMES)
def test_a_fixture_of_the_projects_own(pytester: pytest.Pytester, name: str) -> None:
    pytester.makeconftest(OWN.format(name=name))
    others = "".join(f", {other}" for other in NAMES if other != name)
    pytester.makepyfile(USES.format(name=name, others=others))
    pytester.runpytest().assert_outcomes(passed=1)


def test_the_plan_is_in_the_project_of_the_hook(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(OWN.format(name="project"))
    pytester.makepyfile(
        """
        def test_it(run_hook, plan, make_plan, events):
            other = make_plan("other")
            assert run_hook(command="pwd").stdout.strip() == str(plan.path.parents[2]) == str(other.path.parents[2])
            assert events.stop()["cwd"] == str(plan.path.parents[2])
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


def test_every_fixture_depends_on_private_ones_and_pytests_own() -> None:
    allowed = {"pytestconfig", "request", "tmp_path", "tmp_path_factory"}
    fixtures = [value for module in (_plugin, _fixtures) for value in vars(module).values() if is_fixture(value)]
    assert len(fixtures) >= 12
    for fixture in fixtures:
        names = set(inspect.signature(inspect.unwrap(getattr(fixture, "__wrapped__", fixture))).parameters)
        assert {name for name in names if not name.startswith("_taskie_")} <= allowed


def is_fixture(value: object) -> bool:
    return type(value).__name__ == "FixtureFunctionDefinition" or hasattr(value, "_pytestfixturefunction")
