"""The simulation of rules for a review loop keeps the order that the documentation takes from it."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest
from support import ROOT

PAPERS = ("2603.26130", "2509.01494", "2606.13685", "2606.26185", "2506.07962", "2504.07164")


def simulation(*words: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.rules", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def columns(table: str) -> dict[str, tuple[float, float]]:
    """Of each rule: the defects that it leaves, and its reviews."""
    found = re.findall(r"^(\S.*?)\s{2,}([\d.]+)\s+\d+%\s+([\d.]+)\s+\d+%$", table, re.MULTILINE)
    return {name: (float(left), float(reviews)) for name, left, reviews in found}


def documented(heading: str) -> list[str]:
    """The names in the list after these words."""
    text = (ROOT / "docs" / "decisions.md").read_text()
    after = text.partition(heading)[2].lstrip(":\n")
    return re.findall(r"^\d\. (.*)$", after.partition("\n\n")[0], re.MULTILINE)


@pytest.fixture(scope="module")
def rules() -> dict[str, tuple[float, float]]:
    return columns(simulation("--seed", "1"))


@pytest.mark.parametrize(
    ("heading", "column"), [("From the most defects left to the fewest", 0), ("from the most reviews to the fewest", 1)]
)
def test_the_documented_order(heading: str, column: int, rules: dict[str, tuple[float, float]]) -> None:
    names = documented(heading)
    assert len(names) >= 4
    values = [rules[name][column] for name in names]
    assert values == sorted(values, reverse=True)
    assert len(set(values)) == len(values)


def test_what_the_saving_costs(rules: dict[str, tuple[float, float]]) -> None:
    for cheaper in ("alternate + rising threshold", "alternate + evidence"):
        assert rules[cheaper][0] > rules["two passes, models alternate"][0]


def test_every_rule_is_there(rules: dict[str, tuple[float, float]]) -> None:
    assert len(rules) == 9


def test_a_seed_gives_the_same_each_time() -> None:
    few = ("--runs", "50", "--seed", "7")
    assert simulation(*few) == simulation(*few) != simulation("--runs", "50", "--seed", "8")


def test_a_reviewer_without_noise_needs_fewer_reviews() -> None:
    quiet, loud = (columns(simulation("--runs", "300", "--wrong", wrong)) for wrong in ("0.1", "1"))
    assert all(quiet[name][1] < loud[name][1] for name in quiet)


def test_the_help_names_its_sources() -> None:
    text = simulation("--help")
    for paper in PAPERS:
        assert f"arXiv {paper}" in text
