"""A disk that fills between any two writes: the stop is allowed, the log says why, the state is the old or the new."""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Callable

import pytest
from core.failing_os import CHANGING, FailingOs
from faults.snapshot import snapshot
from support.faulty import Faulty

from claudex.conftest import ID, UNIFIED, Claudex
from pytest_taskie import Events, assert_approved, assert_blocked
from taskie import hook, store
from taskie.claudex import artefacts
from taskie.editing import read_pairs
from taskie.protocol import Decision, Event

SMALL_FILES = ["/bin/sh", "-c", 'ulimit -f 1; exec "$@"', "sh"]


@pytest.fixture
def decide(claudex: Claudex) -> Callable[[], Decision]:
    """The hook's decision without a process."""
    return lambda: hook.decide(Event(cwd=str(claudex.root)), claudex.project.env, time.monotonic() + 60)


def prepare_plan(claudex: Claudex) -> None:
    claudex.write_state()
    claudex.write_plan()


def prepare_round(claudex: Claudex) -> None:
    claudex.write_state(phase="reviewing")
    claudex.write_plan()
    claudex.write_findings(1)


def prepare_end(claudex: Claudex) -> None:
    claudex.write_state(phase="reviewing", round="3")
    claudex.write_plan()
    claudex.write_findings(3)


def prepare_review(claudex: Claudex) -> None:
    claudex.write_state(mode="review", phase="reviewing")


SITUATIONS = {
    "a plan": (prepare_plan, ("reviewing", "1")),
    "a round": (prepare_round, ("reviewing", "2")),
    "the end": (prepare_end, ("done", "3")),
    "a review": (prepare_review, ("done", "1")),
}


@pytest.mark.parametrize(("text", "phase"), [("", "drafting"), ("# Plan\n", "reviewing")])
def test_a_draft_that_may_not_be_read(claudex: Claudex, faulty: Faulty, text: str, phase: str) -> None:
    """Its size says whether there is one."""
    claudex.write_state()
    claudex.write_plan(text)
    claudex.process_stop(env=faulty(f"open={errno.EACCES}@/PLAN.md"))
    assert claudex.state["phase"] == phase


@pytest.mark.parametrize("mode", ["refused", "reported", "short"])
@pytest.mark.parametrize(("prepare", "expected"), SITUATIONS.values(), ids=list(SITUATIONS))
def test_the_nth_operation_fails(
    claudex: Claudex,
    decide: Callable[[], Decision],
    monkeypatch: pytest.MonkeyPatch,
    mode: str,
    prepare: Callable[[Claudex], None],
    expected: tuple[str, str],
) -> None:
    path = claudex.directory / f"{ID}.state"
    for at in range(1, 200):
        if claudex.directory.exists():
            artefacts._remove(str(claudex.directory))
        prepare(claudex)
        before = path.read_bytes()
        kept = sorted(str(content) for name, content in snapshot(claudex.root).items() if name.endswith(".md"))
        with monkeypatch.context() as patch:
            failing = FailingOs(at, mode, counted=(*CHANGING, "makedirs", "chmod"))
            for module in ("store", "claudex.artefacts"):
                patch.setattr(f"taskie.{module}.os", failing)
            said = decide()
        state = read_pairs(path.read_bytes())
        changed = path.read_bytes() != before
        assert (state["phase"], state["round"]) == expected if changed else True
        if said.reason is not None:
            assert changed, f"it blocks on what is not recorded ({failing.calls[-1]})"
        assert "hook failed" not in "".join(said.warnings), "nothing is unforeseen"
        left = {name.rpartition("/")[2] for name in snapshot(claudex.directory)}
        assert not {name for name in left if name.startswith(".")} or failing.calls[at - 1] == "unlink"
        after = snapshot(claudex.root)
        assert sorted(str(content) for name, content in after.items() if ".md" in name) == kept, "nothing is lost"
        if not failing.reached:
            assert changed
            return
    raise AssertionError("it never came to an end")


@pytest.mark.usefixtures("unmeasured")
def test_no_room_for_the_prompt(claudex: Claudex, events: Events) -> None:
    claudex.start("x" * 3000)
    claudex.write_plan()
    before = claudex.state
    result = claudex.process_stop(json.dumps(events.stop()), command=[*SMALL_FILES, *UNIFIED])
    assert_approved(result, rf"{claudex.id}-prompt\.txt cannot be written \(File too large\); loop .* stays as it was")
    assert claudex.state == before
    assert "cannot be written (File too large)" in claudex.log[-1]
    assert not claudex.runner().exists()
    assert_blocked(claudex.unified_stop(), "round 1 of 3")


def test_the_runner_is_there_before_the_state_speaks_of_it(
    claudex: Claudex, decide: Callable[[], Decision], monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare_plan(claudex)
    order: list[str] = []
    replace = store.replace

    def noted(path: str, data: bytes) -> None:
        order.append(path.rpartition(ID)[2])
        replace(path, data)

    monkeypatch.setattr(artefacts, "replace", noted)
    monkeypatch.setattr("taskie.claudex.state.replace", noted)
    assert decide().reason
    assert order == ["-prompt.txt", "-runner.sh", ".state"]


def test_a_runner_that_cannot_be_made_executable(
    claudex: Claudex, decide: Callable[[], Decision], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where the file system knows no modes: no round begins that nobody could run."""

    def refuses(path: str, mode: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted", path)

    prepare_plan(claudex)
    monkeypatch.setattr("taskie.claudex.artefacts.os.chmod", refuses)
    decision = decide()
    assert decision.reason is None
    assert "-runner.sh cannot be made executable (Operation not permitted)" in (decision.message or "")
    assert claudex.state["phase"] == "drafting"
