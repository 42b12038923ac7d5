"""How gates run: side by side, one after another, and no further once one with `fail_fast` has failed."""

from __future__ import annotations

from pathlib import Path

from pytest_taskie import assert_blocked

from .gates import Gauntlet

# Two that need each other: each ends only when the other has begun.
MEET = "touch {mine}; while [ ! -e {other} ]; do sleep 0.01; done"


def meet(gauntlet: Gauntlet, tmp_path: Path, **fields: object) -> None:
    for mine, other in (("a", "b"), ("b", "a")):
        gauntlet.check(mine, MEET.format(mine=tmp_path / mine, other=tmp_path / other), timeout=60, **fields)


def test_side_by_side(gauntlet: Gauntlet, tmp_path: Path) -> None:
    meet(gauntlet, tmp_path)
    assert gauntlet.stop().json["status"] == "passed"


def test_a_parallel_and_a_sequential_one(gauntlet: Gauntlet, tmp_path: Path) -> None:
    meet(gauntlet, tmp_path)
    command = MEET.format(mine=tmp_path / "b", other=tmp_path / "a")
    gauntlet.check("b", command, timeout=60, parallel=False)
    assert gauntlet.stop().json["status"] == "passed"


def order(gauntlet: Gauntlet, tmp_path: Path, **fields: object) -> list[str]:
    for name in "abc":
        note = tmp_path / "order"
        gauntlet.check(name, f"echo +{name} >> {note}; echo -{name} >> {note}", **fields)
    assert gauntlet.stop().json["status"] == "passed"
    return (tmp_path / "order").read_text().split()


def test_one_after_another(gauntlet: Gauntlet, tmp_path: Path) -> None:
    assert order(gauntlet, tmp_path, parallel=False) == ["+a", "-a", "+b", "-b", "+c", "-c"]


def test_allow_parallel_is_for_all(gauntlet: Gauntlet, tmp_path: Path) -> None:
    gauntlet.configure(allow_parallel=False)
    assert order(gauntlet, tmp_path) == ["+a", "-a", "+b", "-b", "+c", "-c"]


def test_fail_fast(gauntlet: Gauntlet, tmp_path: Path) -> None:
    gauntlet.check("a", "false", parallel=False, fail_fast=True)
    gauntlet.check("b", f"touch {tmp_path}/b", parallel=False)
    assert_blocked(gauntlet.stop(), "1 of 2 gates failed: check a")
    assert not (tmp_path / "b").exists()
    assert "[SKIP] check b" in (gauntlet.logs / "console.1.log").read_text()
    gauntlet.check("a", "true", parallel=False, fail_fast=True)
    assert gauntlet.stop().json["status"] == "passed"
    assert (tmp_path / "b").exists(), "what was not run then is run now"


def test_without_fail_fast_all_are_run(gauntlet: Gauntlet, tmp_path: Path) -> None:
    gauntlet.check("a", "false", parallel=False)
    gauntlet.check("b", f"touch {tmp_path}/b; false", parallel=False)
    assert_blocked(gauntlet.stop(), "2 of 2 gates failed: check a, check b")
