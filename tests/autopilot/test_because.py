"""What is told: to the coder why it is asked again, to the person what changed, to other engines that something has."""

from __future__ import annotations

import sys
import time
from types import ModuleType

import pytest

from autopilot.commits import commit
from autopilot.conftest import BLUEPRINT, PATH, SPEC, Autopilot, verification, verify
from taskie import engines as registry
from taskie import hook
from taskie.guard import Turn
from taskie.project import Context
from taskie.protocol import Decision, Event


def because(autopilot: Autopilot) -> str:
    """Why the block says that the coder is asked again; `advance` and `status` say the same."""
    state = autopilot.state
    reason = autopilot.stop().reason or ""
    assert f"The next step is coder.\n\nBecause {state['loop']['why']}:\n- " in reason
    listed = reason.partition(":\n- ")[2].partition("\n\n")[0]
    for line in listed.split("\n- "):
        assert f"  {line}\n" in autopilot.do("status")
    return listed


class TestTheCoder:
    def test_at_first_there_is_nothing_to_say(self, loop: Autopilot) -> None:
        assert "Because" not in (loop.stop().reason or "")
        assert "because" not in loop.do("status")
        assert "because" not in loop.advance("coder", **PATH["coder"])

    def test_a_failing_test_and_what_the_debugger_found(self, loop: Autopilot) -> None:
        loop.go_to("tester")
        loop.red("src/test_app.py::test_it", "lib/x.py::test_b")
        said = loop.advance("tester", "failed", failures=["src/test_app.py::test_it"])
        log = loop.state["loop"]["tested"]["log"]
        assert said["because"] == ["src/test_app.py::test_it", f"Full output: {log}"]
        assert "- src/test_app.py::test_it\n" in (loop.stop().reason or ""), "the debugger needs it, too"
        loop.advance("debugger", findings=["off by one in greet()"])
        told = because(loop)
        assert "src/test_app.py::test_it" in told
        assert "off by one in greet()" in told
        loop.advance("coder", files_changed=[])
        assert loop.state["loop"]["because"] == []

    def test_the_line_of_the_pre_check(self, loop: Autopilot) -> None:
        loop.write("src/app.py", "x = 1  # TODO: fix\n")
        loop.go_to("pre_check_code")
        loop.advance("pre_check_code", "fail")
        assert "src/app.py:1: [TODO]" in because(loop)

    def test_the_line_of_the_blueprint(self, autopilot: Autopilot) -> None:
        autopilot.write(f"{BLUEPRINT}/domain-map.md", "# Domains\n")
        autopilot.begin("first")
        autopilot.go_to("pre_check_blueprint")
        autopilot.advance("pre_check_blueprint", "fail")
        assert "Blueprint Reference" in because(autopilot)

    @pytest.mark.parametrize(
        ("step", "result"), [("spec_reviewer", "needs_implementation"), ("code_quality", "needs_refactor")]
    )
    def test_the_finding_of_a_review(self, loop: Autopilot, step: str, result: str) -> None:
        loop.go_to(step)
        assert loop.review(step, result, "src/app.py:1: greets nobody").exit_code == 0
        loop.advance(step, result)
        assert because(loop) == "src/app.py:1: greets nobody"

    def test_the_check_that_failed(self, loop: Autopilot) -> None:
        verification(loop, "", "| AV-F1 | it greets | - | `false` | exit 0 |\n")
        loop.go_to("commit")
        commit(loop)
        verify(loop)
        assert because(loop) == "FAIL: AV-F1 it greets: exit code 1, expected 0"

    def test_what_is_told_is_bounded_and_stays_in_its_line(self, loop: Autopilot) -> None:
        loop.go_to("tester")
        loop.advance("tester", "failed", failures=[f"src/x{n}\n## {'y' * 900}" for n in range(90)])
        kept = loop.state["loop"]["because"]
        assert len(kept) == 40
        assert all(len(each) <= 500 and "\n" not in each for each in kept)


class TestThePerson:
    def test_a_spec_that_changes_while_its_tasks_run(self, loop: Autopilot) -> None:
        loop.spec.write_text(loop.spec.read_text().replace("A greeting.", "A farewell."))
        loop.advance("coder", **PATH["coder"])
        warning = f"the spec {SPEC} was changed while its tasks are worked on"
        assert loop.state["loop"]["warnings"] == [f"task 1: {warning}"]
        assert any(f"warning: {warning}" in line for line in loop.log)
        loop.advance("tester", "passed")
        assert len(loop.state["loop"]["warnings"]) == 1, "a change is told once"

    def test_a_spec_that_is_removed(self, loop: Autopilot) -> None:
        loop.spec.unlink()
        loop.advance("coder", **PATH["coder"])
        assert "was removed while its tasks are worked on" in loop.state["loop"]["warnings"][0]

    def test_what_we_write_into_it_is_no_change(self, loop: Autopilot) -> None:
        hook = loop.write(".git/hooks/pre-commit", "#!/bin/sh\nexit 1\n")
        hook.chmod(0o755)
        loop.go_to("commit")
        for _ in range(2):
            loop.run("commit", "-m", "feat(app): greet")
        assert "ACTION REQUIRED" in loop.spec.read_text()
        loop.resume()
        assert not [each for each in loop.state["loop"]["warnings"] if "the spec" in each]

    def test_nothing_was_pre_checked(self, loop: Autopilot) -> None:
        loop.write("src/app.js", "// TODO: x\n")
        assert loop.do("pre-check", "src/app.js").startswith("SKIP: nothing was checked")
        assert loop.do("pre-check", "src/app.js", "src/app.py") == "PASS: 1 file(s) checked\n"
        loop.write("scripts/pre-review-check.py", "")
        assert loop.do("pre-check", "src/app.js") == "PASS: 0 file(s) checked\n", "the project's own was run"


class TestOtherEngines:
    """What has moved since Autopilot last told is progress for whoever is asked after it in the same stop."""

    @pytest.fixture(autouse=True)
    def other(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def on_event(_: Event, turn: Turn, __: Context) -> Decision:
            return Decision("the tree is red") if turn.may_block() else Decision(message="not asked")

        engine = ModuleType("engine_after_autopilot")
        fields = {"MARKER": "src", "TRACES": (), "EVENTS": {"Stop": ""}, "detect": lambda roots: roots[0]}
        vars(engine).update(fields, on_event=on_event)
        monkeypatch.setitem(sys.modules, engine.__name__, engine)
        monkeypatch.setattr(registry, "ENGINES", {"autopilot": registry.ENGINES["autopilot"], "other": engine.__name__})
        monkeypatch.setattr(registry, "FILES", {**registry.FILES, "other": ()}, raising=False)

    def stop(self, autopilot: Autopilot) -> str | None:
        event = Event(cwd=str(autopilot.root), stop_hook_active=True)
        return hook.decide(event, autopilot.project.env, time.monotonic() + 60).reason

    def test_at_the_end(self, loop: Autopilot) -> None:
        for number in (1, 2):
            loop.do("update", str(number), "status", "done")
        loop.without_command()
        assert self.stop(loop) == "the tree is red"
        assert self.stop(loop) is None, "nothing has moved since"

    def test_at_a_halt(self, loop: Autopilot) -> None:
        loop.go_to("code_quality")
        loop.advance("code_quality", "needs_discussion")
        assert self.stop(loop) == "the tree is red"
        assert self.stop(loop) is None
        loop.resume()
