"""What the agent is told to do, and what Codex is asked, byte for byte: one story for each mode."""

from __future__ import annotations

import pytest
from golden import PLUGIN, golden

from claudex.conftest import Claudex
from pytest_taskie import FakeCli

TOPIC = "a greeting, in `Markdown`"


def asked(claudex: Claudex, codex: FakeCli) -> str:
    """Run the runner; the prompt that reached Codex."""
    claudex.run_runner()
    return codex.calls[-1].stdin


def test_a_plan(claudex: Claudex, fake_codex: FakeCli) -> None:
    fake_codex.reviews("FAIL", "FAIL", "FAIL")
    claudex.start(TOPIC, "--rounds", "4")
    here = {"id": claudex.id, "root": claudex.root, "max_rounds": 4}
    assert claudex.stop().reason == golden("claudex-draft.block", topic=TOPIC, **here)

    claudex.write_plan()
    personas = ["senior engineer", "security and data integrity", "operations", "operations"]
    for number, persona in enumerate(personas, 1):
        block = golden("claudex-plan.block", plugin=PLUGIN, n=number, persona=persona, options="", **here)
        assert claudex.stop().reason == block
        if number <= 3:
            prompt = golden(f"claudex-plan-{number}.prompt", topic=TOPIC, **here)
            assert asked(claudex, fake_codex) == prompt


def test_a_plan_with_earlier_findings(claudex: Claudex, fake_codex: FakeCli) -> None:
    fake_codex.reviews("FAIL")
    claudex.begin_round(3)
    prompt = golden("claudex-plan-earlier.prompt", id=claudex.id, root=claudex.root, topic="a greeting", max_rounds=3)
    assert asked(claudex, fake_codex) == prompt


def test_a_plan_that_is_older_than_the_loop(claudex: Claudex) -> None:
    claudex.write_plan()
    claudex.start(TOPIC)
    block = golden("claudex-old-draft.block", plugin=PLUGIN, id=claudex.id, root=claudex.root, topic=TOPIC)
    assert claudex.stop().reason == block


def test_a_plan_for_an_agent_below_the_root(claudex: Claudex) -> None:
    claudex.start()
    claudex.write_plan()
    below = claudex.root / "src"
    below.mkdir()

    reason = claudex.client_stop(cwd=below).reason

    here = {"id": claudex.id, "root": claudex.root, "options": f" --root '{claudex.root}'"}
    assert reason == golden("claudex-plan.block", plugin=PLUGIN, n=1, persona="senior engineer", max_rounds=3, **here)


@pytest.mark.parametrize("topic", [None, TOPIC])
def test_a_diff(topic: str | None, claudex: Claudex, fake_codex: FakeCli) -> None:
    fake_codex.reviews("FAIL")
    claudex.run("start", "review", *([topic] if topic else []))
    here = {"id": claudex.id, "root": claudex.root}

    assert claudex.stop().reason == golden("claudex-diff.block", **here)
    if topic:
        assert asked(claudex, fake_codex) == golden("claudex-diff-topic.prompt", topic=topic, **here)
    else:
        assert asked(claudex, fake_codex) == golden("claudex-diff.prompt", **here)
