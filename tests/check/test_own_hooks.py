"""Our own plugin passes; broken on purpose, each variant is found by the rule that is meant for it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_taskie.check._checking import check, of_problems
from pytest_taskie.check._lab import Lab, Preparation
from pytest_taskie.check._room import Ground
from pytest_taskie.check._rules import RULES, Flaw
from pytest_taskie.check._settings import settings
from pytest_taskie.check._subjects import read

from .conftest import ROOT
from .variants import BROKEN, SOUND, Change

Finds = Callable[..., list[Flaw]]
OF_FILES = ("configuration", "unknown-event", "impossible-matcher")


def named(variants: list[tuple[str, Change]]) -> list[str]:
    seen: Counter[str] = Counter()
    names = []
    for rule, _ in variants:
        seen[rule] += 1
        names.append(f"{rule}-{seen[rule]}")
    return names


def found(finds: Finds, rule: str, plugin: Path) -> list[str]:
    of_file = [one.message for one in of_problems(read(str(plugin))[1]) if one.rule == rule] if rule in OF_FILES else []
    return of_file + [one.message for one in finds(rule, plugin, seconds=2.0 if rule == "hangs" else 20.0)]


@pytest.mark.parametrize(("rule", "change"), BROKEN, ids=named(BROKEN))
def test_a_broken_variant_is_found_by_its_rule(rule: str, change: Change, own: Path, finds: Finds) -> None:
    change(own)
    assert found(finds, rule, own)


@pytest.mark.parametrize(("rule", "change"), SOUND, ids=named(SOUND))
def test_what_looks_like_it_and_is_right_is_not(rule: str, change: Change, own: Path, finds: Finds) -> None:
    change(own)
    assert found(finds, rule, own) == []


def test_there_are_forty_and_every_rule_has_one() -> None:
    assert len(BROKEN) >= 40
    assert {rule for rule, _ in BROKEN} == set(RULES)


def test_our_own_plugin_passes_with_no_finding_and_no_exception(the_ground: Ground) -> None:
    subjects, problems = read(str(ROOT))
    assert len(subjects) == 3
    report = check(subjects, problems, the_ground, settings(ROOT))
    assert (report.findings, report.off, report.code) == ([], [], 0)
    assert not any(note.unchecked for note in report.notes)


def test_a_hooks_own_interpreter_may_be_missing(tmp_path: Path, finds: Finds) -> None:
    (tmp_path / "it.py").write_text("import json, sys\nsys.exit(2 if 'rm' in sys.stdin.read() else 0)\n")
    words = {"event": "PreToolUse", "matcher": "Bash"}
    assert finds("missing-program", f"bash -c 'exec python3 \"{tmp_path}/it.py\"'", **words) == []
    guard = "jq -r .tool_input.command | grep -q rm && { echo no >&2; exit 2; }; exit 0"
    assert finds("missing-program", guard, **words)


def test_the_pace_is_that_in_a_prepared_project(the_ground: Ground) -> None:
    ((subject,), _) = read("[ -e LARGE ] && sleep 0.5; exit 0", event="PreToolUse", matcher="Bash")
    lab = Lab(the_ground, subject, Preparation(seed="touch LARGE"))
    own, _ = lab.pace(lab.ordinary[0].situation, 1)
    assert own >= 0.5
