"""A `state.json` that is not a readable JSON object: a warning that names it, no review, never a block."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Callable

import pytest

from faults.conftest import CheckedHook
from pytest_taskie import Events, FakeCli, Plan, assert_approved, assert_blocked, make_state
from taskie.protocol import Decision

pytestmark = pytest.mark.state

DUE = json.dumps(make_state(next_phase="plan-review"), indent=2) + "\n"


def _directory(path: Path) -> None:
    path.mkdir()
    (path / "state.json").write_text(DUE)


def _fifo(path: Path) -> None:
    os.mkfifo(path)


def _link_out_of_the_plan(path: Path) -> None:
    outside = path.parents[3] / "outside.json"
    outside.write_text(DUE)
    path.symlink_to(outside)


def _link_within_the_plan(path: Path) -> None:
    (path.parent / "other.json").write_text(DUE)
    path.symlink_to("other.json")


def _dangling_link(path: Path) -> None:
    path.symlink_to(path.parents[3] / "nowhere.json")


def _sparse(path: Path) -> None:
    with path.open("w") as file:
        file.write(DUE)
        file.truncate(100 << 20)


FILES: dict[str, tuple[Callable[[Path], Any], str]] = {
    "directory": (_directory, "state.json is not a regular file"),
    "FIFO": (_fifo, "state.json is not a regular file"),
    "link out of the plan": (_link_out_of_the_plan, "state.json is a symbolic link"),
    "link within the plan": (_link_within_the_plan, "state.json is a symbolic link"),
    "dangling link": (_dangling_link, "state.json is a symbolic link"),
    "100 MB": (_sparse, "state.json is larger than 4 MB"),
}

CONTENTS = {
    "empty": b"",
    "blank": b" \n",
    "text": b"phase: plan-review\n",
    "list": b"[" + DUE.encode() + b"]",
    "text value": json.dumps(DUE).encode(),
    "number": b"1",
    "null": b"null",
    "two documents": DUE.encode() * 2,
    "trailing comma": DUE.encode().replace(b"\n}", b",\n}"),
    "comment": b"// state\n" + DUE.encode(),
    "single quotes": DUE.encode().replace(b'"', b"'"),
    "NaN": DUE.encode().replace(b"8", b"NaN"),
    "not UTF-8": DUE.encode().replace(b"opus", b"op\xff"),
    "UTF-16": DUE.encode("utf-16"),
    "NULs": b"\0" * 500,
    "10,000 levels": b'{"a":' * 10_000 + b"1" + b"}" * 10_000,
    "conflict": b"<<<<<<< HEAD\n" + DUE.encode() + b"=======\n",
}


@pytest.mark.parametrize(("make", "why"), list(FILES.values()), ids=list(FILES))
def test_no_regular_file(
    checked_hook: CheckedHook, plan: Plan, fake_claude: FakeCli, make: Callable[[Path], None], why: str
) -> None:
    make(plan.path / "state.json")
    result = checked_hook(process=make is _fifo)
    assert_approved(result, f"(?s:.*)Plan 'test-plan': {why}; no review until it is fixed: /taskie:continue-plan")
    assert why in result.stderr
    assert checked_hook.changed == set()
    assert fake_claude.calls == []


@pytest.mark.parametrize("content", list(CONTENTS.values()), ids=list(CONTENTS))
def test_no_json_object(plan: Plan, fake_claude: FakeCli, decide: Callable[..., Decision], content: bytes) -> None:
    plan.state.raw(content)
    for active in (False, True):
        said = decide(active=active)
        assert said.reason is None
        (warning,) = said.warnings
        assert warning.startswith("Plan 'test-plan': state.json: invalid JSON (")
        assert warning.endswith("; no review until it is fixed")
    assert plan.state.path.read_bytes() == content
    assert fake_claude.calls == []


@pytest.mark.parametrize("content", ["", "{", "[]", '{"phase": '])
def test_no_json_object_as_it_is_printed(
    checked_hook: CheckedHook, plan: Plan, fake_claude: FakeCli, content: str
) -> None:
    plan.state.raw(content)
    result = checked_hook(process=content == "{")
    assert_approved(result, r"^Plan 'test-plan': state\.json: invalid JSON")
    assert result.stderr.startswith("taskie: Plan 'test-plan': state.json: invalid JSON (")
    assert checked_hook.changed == set()
    assert fake_claude.calls == []


def test_truncated_at_every_byte(plan: Plan, fake_claude: FakeCli, decide: Callable[..., Decision]) -> None:
    fake_claude.reviews("FAIL")
    whole = DUE.encode()
    for length in range(len(whole.rstrip())):
        plan.state.raw(whole[:length])
        said = decide()
        assert said.reason is None, length
        assert "state.json: invalid JSON (" in " ".join(said.warnings), length
        assert plan.state.path.read_bytes() == whole[:length]
    assert fake_claude.calls == []
    plan.state.raw(whole.rstrip())
    assert decide().reason is not None
    assert len(fake_claude.calls) == 1


@pytest.mark.validation
def test_what_is_wrong_with_the_plan_is_still_said(checked_hook: CheckedHook, plan: Plan) -> None:
    plan.state.raw("{")
    plan.remove("plan.md")
    result = checked_hook()
    assert_blocked(result, "Missing required file: plan.md")
    assert "state.json: invalid JSON" in (result.system_message or "")
    assert checked_hook.changed == set()


@pytest.mark.validation
def test_within_a_turn(checked_hook: CheckedHook, plan: Plan, events: Events) -> None:
    plan.state.raw("{")
    plan.remove("plan.md")
    result = checked_hook(events.stop(stop_hook_active=True))
    assert_approved(result, r"state\.json: invalid JSON(?s:.*)Missing required file: plan\.md")


@pytest.mark.parametrize("depth", [100, 500, 900, 950, 970, 980, 985, 990, 995])
def test_deep_values_of_others_are_kept_or_refused(
    checked_hook: CheckedHook, plan: Plan, fake_claude: FakeCli, depth: int
) -> None:
    """Near the interpreter's limit one step may read what another cannot; never does it end in an error."""
    fake_claude.reviews("FAIL").repeats()
    text = DUE.replace("{", '{\n  "deep": ' + "[" * depth + "1.10" + "]" * depth + ",", 1)
    plan.state.raw(text)
    result = checked_hook(process=True)
    assert "hook failed" not in (result.system_message or "")
    if result.continues:
        assert "[" * depth + "1.10" + "]" * depth in plan.state.path.read_text()
        assert '"phase_iteration": 1' in plan.state.path.read_text()
    else:
        assert "state.json: invalid JSON (nested too deeply)" in (result.system_message or "")
        assert plan.state.path.read_text() == text
