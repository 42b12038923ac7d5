"""The table of phases: it hangs together, and no other module repeats a name of it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import taskie
from taskie.plans.phases import COMPLETE, CYCLES, NEW_PLAN, PHASES, POST_REVIEWS, REVIEWS, leading_to
from taskie.plans.structure import violations

pytestmark = pytest.mark.state

PACKAGE = Path(taskie.__file__).parent
MODULES = [*sorted((PACKAGE / "plans").glob("*.py")), PACKAGE / "demo.py", PACKAGE / "stand_in.py"]
NAMES = {*PHASES} - {COMPLETE}  # which is also a word


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_the_table_names_phases(module: Path) -> None:
    written = {node.value for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.Constant)}
    assert written & NAMES == (NAMES if module.name == "phases.py" else set())


@pytest.mark.parametrize("name", PHASES)
def test_every_phase_can_be_reached_and_leads_to_another(name: str) -> None:
    phase = PHASES[name]
    assert {*phase.next, *phase.after} <= {*PHASES}
    assert phase.next or name == COMPLETE
    assert {*leading_to(name)} - {name}


def test_each_review_has_a_way_in() -> None:
    began = {PHASES[cycle].next[0] for cycle in CYCLES}
    led_to = {to for review in REVIEWS.values() for to in PHASES[review.phase].next}
    assert {*REVIEWS} <= began | led_to
    assert {*POST_REVIEWS} <= led_to
    assert NEW_PLAN in CYCLES


@pytest.mark.parametrize("review", REVIEWS.values(), ids=list(REVIEWS))
def test_the_files_of_a_review_are_files_of_a_plan(review: object) -> None:
    names = [getattr(review, kind)(3, "a-1") for kind in ("file", "post_file")]
    assert violations(["plan.md", "tasks.md", *names], False, "| Id |\n") == []
