"""`taskie watch`: on a terminal one line that follows the plan, in a pipe one line for each change."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Callable

import pytest
from support.commands import PROGRAM, Taskie
from support.running import FILE, reviewing

from pytest_taskie import Plan, Project

pytestmark = pytest.mark.state

SECONDS = 30  # for a change to be seen, on a busy machine
ENDED_BY_CTRL_C = 130
WAITING = {"phase": "plan-review", "next_phase": "post-plan-review", "phase_iteration": 2}


def record(plan: Plan, **fields: object) -> None:
    usual: dict[str, object] = {"at": "2026-11-17T17:30:00Z", "review": "plan-review", "iteration": 2, "model": "opus"}
    with (plan.path / "reviews.jsonl").open("a") as file:
        file.write(json.dumps({**usual, "verdict": "FAIL", "seconds": 41.2, "cost_usd": 0.37, **fields}) + "\n")


class TestOnce:
    def test_a_review_that_runs(self, plan: Plan, taskie: Taskie) -> None:
        with reviewing(plan.path):
            said = taskie("watch", "--once").out
        time_of_day = r"\d\d:\d\d"
        assert re.fullmatch(
            rf"test-plan: reviewing: plan review 2 of at most 8 \(sonnet\), since {time_of_day} \(4\d s\), "
            rf"until {time_of_day} \(8 min (?:\d+ s )?left\)\n",
            said,
        ), said

    def test_none_runs(self, plan: Plan, taskie: Taskie) -> None:
        plan.state.write(**WAITING)
        record(plan)
        last = "last: plan review 2: FAIL, 41 s, $0.37"
        assert taskie("watch", "--once").out == f"test-plan: the agent answers plan review 2 ({last})\n"

    def test_a_review_that_was_killed_does_not_run(self, plan: Plan, taskie: Taskie) -> None:
        with reviewing(plan.path):
            left = (plan.path / FILE).read_text()
        (plan.path / FILE).write_text(left)
        assert "reviewing" not in taskie("watch", "--once").out

    @pytest.mark.parametrize(
        ("state", "said"),
        [
            ({"phase": "new-plan", "next_phase": "plan-review"}, "the agent's next stop starts plan review 1"),
            (
                {"phase": "complete-task", "next_phase": "code-review", "current_task": "3", "phase_iteration": 1},
                "the agent's next stop starts code review 2 for task 3",
            ),
            ({"next_phase": "plan-review", "max_reviews": 0}, "the next stop skips plan review 1"),
            ({"phase": "plan-review", "next_phase": "create-tasks"}, "next is create-tasks"),
            ({"phase": "complete", "next_phase": None}, "complete"),
            ({"phase": "plan-review", "next_phase": None}, "nothing is announced"),
            ({"phase": "new-plan", "next_phase": "\u202e<b>"}, "next is \\x202e<b>"),
        ],
    )
    def test_what_it_waits_for(self, plan: Plan, taskie: Taskie, state: dict[str, object], said: str) -> None:
        plan.state.write(**state)
        assert taskie("watch", "--once").out == f"test-plan: {said}\n"

    @pytest.mark.parametrize(
        ("limit", "budget", "held"),
        [
            (1, None, "at the limit of 1 review (/taskie:limit 5 allows 4 more)"),
            (2, 0.3, "the plan's budget is spent"),
            (1, 0.3, "at the limit of 1 review (/taskie:limit 5 allows 4 more)"),
            (2, 0.4, None),
            (2, None, None),
            (0, 0.3, None),
        ],
    )
    def test_an_announced_review_that_will_not_start(
        self, plan: Plan, project: Project, taskie: Taskie, limit: int, budget: float | None, held: str | None
    ) -> None:
        """Nothing that shows the plan may promise it."""
        plan.state.write(phase="post-plan-review", next_phase="plan-review", phase_iteration=1, max_reviews=limit)
        record(plan)
        if budget is not None:
            (project.path / ".taskie" / "config.toml").write_text(f"[review]\nplan_budget_usd = {budget}\n")
        told = [taskie(*words).out for words in (["watch", "--once"], ["status"], ["report", "--output", "-"])]
        line = taskie("statusline", stdin="{}").out
        verb = "starts" if limit else "skips"
        if held is None:
            assert all(f"next stop {verb} plan review 2" in said for said in (told[0], told[2]))
            assert not any("o plan review 2:" in said for said in told)
            assert "limit" not in line
            assert "budget" not in line
        else:
            assert f"test-plan: no plan review 2: {held} (last" in told[0]
            assert f"test-plan: no plan review 2: {held}\n" in told[1]
            assert f"No plan review 2: {held.replace(chr(39), '&#x27;')}." in told[2]
            assert f" · {held} · " in line

    def test_no_state_and_a_spoiled_one(self, plan: Plan, taskie: Taskie) -> None:
        assert taskie("watch", "--once").out == "test-plan: no state.json\n"
        plan.state.raw("{")
        assert "state.json: invalid JSON" in taskie("watch", "--once").out


@pytest.mark.parametrize("words", [[], ["--once"]])
class TestNothingToWatch:
    def test_no_plans(self, project: Project, taskie: Taskie, words: list[str]) -> None:
        done = taskie("watch", *words)
        assert (done.code, done.out) == (1, "")
        assert "no .taskie/plans here or above" in done.err

    def test_no_such_plan(self, plan: Plan, taskie: Taskie, words: list[str]) -> None:
        done = taskie("watch", "--plan", "other", *words)
        assert (done.code, done.out) == (2, "")
        assert "there is no plan 'other'" in done.err


class Watching:
    """`taskie watch` in a process of its own; `until` waits for what it shows."""

    def __init__(self, project: Project, stack: ExitStack, words: tuple[str, ...], terminal: int | None) -> None:
        self.shown = ""
        command = [sys.executable, str(PROGRAM), "watch", *words]
        self._main, side = pty.openpty() if terminal else os.pipe()
        if terminal:
            self.resize(terminal)
        self.process = subprocess.Popen(
            command,
            cwd=project.path,
            env=project.env,
            stdin=subprocess.DEVNULL,
            stdout=side,
            stderr=subprocess.PIPE,
            # Whoever runs the tests in the background has this signal ignored.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        os.close(side)
        stack.callback(os.close, self._main)
        stack.enter_context(self.process)
        stack.callback(self.process.kill)

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self._main, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def until(self, pattern: str) -> re.Match[str]:
        by = time.monotonic() + SECONDS
        while not (found := re.search(pattern, self.shown)):
            left = by - time.monotonic()
            assert left > 0, f"{pattern!r} is not in {self.shown!r}"
            if select.select([self._main], [], [], left)[0]:
                self.shown += os.read(self._main, 65536).decode()
        return found

    def forget(self) -> None:
        self.shown = ""

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """Its exit code, and what it says of errors."""
        self.process.send_signal(number)
        return self.left()

    def left(self) -> tuple[int, str]:
        _, err = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, err.decode()


@pytest.fixture
def watch(project: Project) -> Iterator[Callable[..., Watching]]:
    with ExitStack() as stack:
        yield lambda *words, terminal=None: Watching(project, stack, words, terminal)


class TestInAPipe:
    def test_a_line_for_each_change(self, plan: Plan, watch: Callable[..., Watching]) -> None:
        plan.state.write(phase="new-plan", next_phase="plan-review")
        watching = watch()
        watching.until(r"^\d\d:\d\d:\d\d test-plan: the agent's next stop starts plan review 1\n$")
        with reviewing(plan.path):
            watching.until(r"\n\d\d:\d\d:\d\d test-plan: reviewing: plan review 2 of at most 8 \(sonnet\), since .*\n$")
        record(plan)
        plan.state.write(**WAITING)
        watching.until(r"test-plan: the agent answers plan review 2 \(last: plan review 2: FAIL, 41 s, \$0\.37\)\n$")
        assert watching.end() == (ENDED_BY_CTRL_C, "")
        assert "\r" not in watching.shown
        assert "\x1b" not in watching.shown

    def test_no_line_without_a_change(self, plan: Plan, watch: Callable[..., Watching]) -> None:
        """Though the review's time goes on."""
        with reviewing(plan.path):
            watching = watch("--plan", plan.path.name)
            watching.until(r"reviewing: .*\n$")
            time.sleep(2.5)  # not for an order: several looks must pass in which nothing changes
        watching.until(r"no state\.json\n$")
        assert watching.shown.count("\n") == 2, watching.shown

    def test_the_newest_is_followed(
        self, plan: Plan, make_plan: Callable[..., Plan], watch: Callable[..., Watching]
    ) -> None:
        watching = watch()
        watching.until("test-plan: ")
        make_plan("another", state=WAITING)
        watching.until("another: the agent answers plan review 2\n$")

    def test_a_plan_that_vanishes(self, plan: Plan, watch: Callable[..., Watching]) -> None:
        watching = watch("--plan", plan.path.name)
        watching.until("test-plan: ")
        plan.path.rename(plan.path.parents[2] / "away")
        assert watching.left() == (1, "taskie: the plan 'test-plan' is gone\n")

    def test_nothing_is_touched(self, plan: Plan, watch: Callable[..., Watching]) -> None:
        plan.state.write()

        def traces() -> dict[Path, int]:
            return {path: path.stat().st_mtime_ns for path in [plan.path, *plan.path.rglob("*")]}

        before = traces()
        watching = watch()
        watching.until("test-plan: ")
        assert watching.end()[0] == ENDED_BY_CTRL_C
        assert traces() == before


class TestOnATerminal:
    def test_one_line_that_is_kept_up_to_date(self, plan: Plan, watch: Callable[..., Watching]) -> None:
        with reviewing(plan.path, began=5):
            watching = watch(terminal=120)
            first = watching.until(r"\r(test-plan: reviewing: [^\r\n]*\((\d+) s\)[^\r\n]*)\x1b\[K")
            watching.forget()
            later = watching.until(r"\r(test-plan: reviewing: [^\r\n]*\((\d+) s\)[^\r\n]*)\x1b\[K")
            assert int(later[2]) > int(first[2])
            assert "\n" not in watching.shown
        watching.until(r"\rtest-plan: no state\.json\x1b\[K")
        assert watching.end() == (ENDED_BY_CTRL_C, "")
        watching.until(r"\r\n$")

    @pytest.mark.parametrize("columns", [20, 60])
    def test_it_never_wraps(self, project: Project, watch: Callable[..., Watching], columns: int) -> None:
        plan = project.make_plan("名前" * 9)
        with reviewing(plan.path):
            watching = watch(terminal=columns)
            line = watching.until(r"\r([^\r\n]*…)\x1b\[K")[1]
        wide = sum(2 if ord(letter) > 0x2E80 else 1 for letter in line)
        assert columns - 3 <= wide < columns

    def test_a_terminal_that_changes_its_width(self, plan: Plan, watch: Callable[..., Watching]) -> None:
        with reviewing(plan.path):
            watching = watch(terminal=30)
            watching.until(r"…\x1b\[K")
            watching.resize(150)
            watching.until(r"left\)\x1b\[K")
