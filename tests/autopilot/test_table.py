"""The table of the task loop: every row, every counter at its limit and one beyond, and every path that there is."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

import pytest

from taskie.autopilot import table
from taskie.autopilot.table import (
    ANY,
    END,
    FLOW,
    HALTS,
    LIMITS,
    NEXT_TASK,
    RESUME,
    STEPS,
    Move,
    Position,
    Refused,
    move,
)

# A shorthand for one event: "tester passed", "coder".
Path = list[str]


def follow(path: Path) -> Move:
    position = Position()
    for event in path:
        step, _, result = event.partition(" ")
        moved = move(position, step, result or ANY)
        position = moved.position
    return moved


TO_TESTER = ["coder"]
TO_CHECK = [*TO_TESTER, "tester passed"]
TO_BLUEPRINT = [*TO_CHECK, "pre_check_code pass"]
TO_SPEC = [*TO_BLUEPRINT, "pre_check_blueprint pass"]
TO_QUALITY = [*TO_SPEC, "spec_reviewer approved"]
TO_COMMIT = [*TO_QUALITY, "code_quality approved"]
TO_SMOKE = [*TO_COMMIT, "commit ok"]
TO_FUNC = [*TO_SMOKE, "verify_smoke pass"]

# The rows: where we are, the event, what comes next and what after that.
ROWS = [
    ([], "coder", "tester", None),
    (TO_TESTER, "tester passed", "pre_check_code", None),
    (TO_TESTER, "tester passed_after_debugging", "regression", None),
    (TO_TESTER, "tester failed_in_scope", "debugger", None),
    (TO_TESTER, "tester failed_out_of_scope", "pre_check_code", None),
    ([*TO_TESTER, "tester failed_in_scope"], "debugger", "coder", None),
    ([*TO_TESTER, "tester failed_in_scope", "debugger"], "coder", "tester", None),
    ([*TO_TESTER, "tester passed_after_debugging"], "regression", "pre_check_code", None),
    (TO_CHECK, "pre_check_code pass", "pre_check_blueprint", None),
    (TO_CHECK, "pre_check_code skip", "pre_check_blueprint", None),
    (TO_CHECK, "pre_check_code fail", "coder", "pre_check_code"),
    ([*TO_CHECK, "pre_check_code fail"], "coder", "pre_check_code", None),
    (TO_BLUEPRINT, "pre_check_blueprint pass", "spec_reviewer", None),
    (TO_BLUEPRINT, "pre_check_blueprint skip", "spec_reviewer", None),
    (TO_BLUEPRINT, "pre_check_blueprint fail", "coder", "pre_check_blueprint"),
    ([*TO_BLUEPRINT, "pre_check_blueprint fail"], "coder", "pre_check_blueprint", None),
    (TO_SPEC, "spec_reviewer approved", "code_quality", None),
    (TO_SPEC, "spec_reviewer needs_implementation", "coder", "tester"),
    (TO_SPEC, "spec_reviewer needs_removal", "coder", "tester"),
    ([*TO_SPEC, "spec_reviewer needs_removal"], "coder", "tester", None),
    ([*TO_SPEC, "spec_reviewer needs_removal", "coder"], "tester passed", "spec_reviewer", None),
    (TO_QUALITY, "code_quality approved", "commit", None),
    (TO_QUALITY, "code_quality needs_refactor", "coder", "tester"),
    ([*TO_QUALITY, "code_quality needs_refactor"], "coder", "tester", None),
    ([*TO_QUALITY, "code_quality needs_refactor", "coder"], "tester passed", "code_quality", None),
    (TO_QUALITY, "code_quality needs_discussion", "stop", None),
    (TO_COMMIT, "commit ok", "verify_smoke", None),
    (TO_COMMIT, "commit fail", "commit", None),
    ([*TO_COMMIT, "commit fail"], "commit ok", "verify_smoke", None),
    ([*TO_COMMIT, "commit fail"], "commit fail", "stop", None),
    (TO_COMMIT, "commit rework", "coder", "tester"),
    (TO_SMOKE, "verify_smoke pass", "verify_func", None),
    (TO_SMOKE, "verify_smoke skip", NEXT_TASK, "coder"),
    (TO_SMOKE, "verify_smoke fail", "verify_smoke", None),
    (TO_FUNC, "verify_func pass", NEXT_TASK, "coder"),
    (TO_FUNC, "verify_func fail", "coder", "commit"),
    ([*TO_FUNC, "verify_func fail"], "coder", "commit", None),
    ([*TO_FUNC, "verify_func fail", "coder"], "commit ok", "verify_func", None),
    ([*TO_QUALITY, "code_quality needs_discussion"], "resume", "coder", None),
]


@pytest.mark.parametrize(("path", "event", "next_", "then"), ROWS, ids=[f"{row[1]} -> {row[2]}" for row in ROWS])
def test_a_row(path: Path, event: str, next_: str, then: str | None) -> None:
    moved = follow([*path, event])
    assert (moved.next, moved.then) == (next_, then)
    assert moved.why


def test_every_row_of_the_table_is_here() -> None:
    assert {tuple([*event.split(), ANY][:2]) for _, event, _, _ in ROWS} == set(table.TABLE)


# A counter: what leads to the step that counts, one round of it, the event that counts, and where one more leads.
LOOPS = {
    "debug_attempts": (TO_TESTER, ["debugger", "coder"], "tester failed_in_scope", "debugger", "escalate", "human"),
    "pre_check_loop": (TO_CHECK, ["coder"], "pre_check_code fail", "coder", "escalate", "human"),
    "pre_check_loop of the blueprint": (
        TO_BLUEPRINT,
        ["coder"],
        "pre_check_blueprint fail",
        "coder",
        "escalate",
        "human",
    ),
    "spec_review_loop": (
        TO_SPEC,
        ["coder", "tester passed"],
        "spec_reviewer needs_implementation",
        "coder",
        "escalate",
        "council",
    ),
    "spec_review_loop of removals": (
        TO_SPEC,
        ["coder", "tester passed"],
        "spec_reviewer needs_removal",
        "coder",
        "escalate",
        "council",
    ),
    "pre_check_loop of the commit": (
        TO_COMMIT,
        ["coder", *TO_COMMIT[1:]],
        "commit rework",
        "coder",
        "escalate",
        "human",
    ),
    "refactor_loop": (
        TO_QUALITY,
        ["coder", "tester passed"],
        "code_quality needs_refactor",
        "coder",
        "escalate",
        "council",
    ),
    "verify_smoke_retry": (TO_SMOKE, [], "verify_smoke fail", "verify_smoke", "verify_func", None),
    "verify_func_retry": (TO_FUNC, ["coder", "commit ok"], "verify_func fail", "coder", NEXT_TASK, None),
    "commit_failures": (TO_COMMIT, [], "commit fail", "commit", "stop", "human"),
}


@pytest.mark.parametrize("name", LOOPS)
def test_a_counter_at_its_limit_and_one_beyond(name: str) -> None:
    path, round_, event, again, beyond, to = LOOPS[name]
    limit = LIMITS[name.partition(" ")[0]]
    at_limit = follow([*path, *([event, *round_] * limit)][: len(path) + limit * (1 + len(round_)) - len(round_)])
    assert (at_limit.next, at_limit.to) == (again, None)
    one_beyond = follow([*path, *([event, *round_] * limit), event])
    assert (one_beyond.next, one_beyond.to) == (beyond, to)
    assert one_beyond.warns is (beyond in ("verify_func", NEXT_TASK))


def test_the_limits() -> None:
    assert LIMITS == {
        "debug_attempts": 3,
        "pre_check_loop": 3,
        "spec_review_loop": 2,
        "refactor_loop": 2,
        "verify_smoke_retry": 2,
        "verify_func_retry": 2,
        "commit_failures": 1,
    }


def test_tests_that_still_fail_are_marked_so() -> None:
    moved = follow([*TO_TESTER, *(["tester failed_in_scope", "debugger", "coder"] * 3), "tester failed_in_scope"])
    assert (moved.next, moved.task) == ("escalate", {"tester": "fail"})


def test_both_pre_checks_share_their_counter() -> None:
    path = [*TO_CHECK, *(["pre_check_code fail", "coder"] * 3), "pre_check_code pass", "pre_check_blueprint fail"]
    assert follow(path).next == "escalate"


def test_both_verdicts_of_the_spec_reviewer_share_their_counter() -> None:
    fix = ["coder", "tester passed"]
    path = [*TO_SPEC, "spec_reviewer needs_removal", *fix, "spec_reviewer needs_implementation", *fix]
    assert follow([*path, "spec_reviewer needs_removal"]).next == "escalate"


def test_a_test_that_fails_after_a_refactoring_still_leads_back_to_the_review() -> None:
    path = [*TO_QUALITY, "code_quality needs_refactor", "coder", "tester failed_in_scope", "debugger", "coder"]
    assert follow([*path, "tester passed"]).next == "code_quality"


@pytest.mark.parametrize("result", ["failed_out_of_scope", "passed_after_debugging"])
def test_what_else_follows_a_refactoring_goes_through_every_check_again(result: str) -> None:
    path = [*TO_QUALITY, "code_quality needs_refactor", "coder", f"tester {result}"]
    path += ["regression"] if result == "passed_after_debugging" else []
    path += ["pre_check_code pass", "pre_check_blueprint pass", "spec_reviewer approved"]
    assert follow(path).next == "code_quality"
    assert follow([*path, "code_quality needs_refactor", "coder", "tester passed"]).next == "code_quality"


def test_a_failed_commit_after_a_verification_still_leads_back_to_it() -> None:
    assert follow([*TO_FUNC, "verify_func fail", "coder", "commit fail", "commit ok"]).next == "verify_func"


def test_each_commit_has_its_own_second_attempt() -> None:
    path = [*TO_COMMIT, "commit fail", "commit ok", "verify_smoke pass", "verify_func fail", "coder", "commit fail"]
    assert follow(path).next == "commit"


@pytest.mark.parametrize("halt", [[*TO_QUALITY, "code_quality needs_discussion"], [*TO_COMMIT, *["commit fail"] * 2]])
def test_resuming_starts_the_task_over(halt: Path) -> None:
    moved = follow([*halt, "resume"])
    assert moved.position == Position()


@pytest.mark.parametrize("path", [[*TO_SMOKE, "verify_smoke skip"], [*TO_FUNC, "verify_func pass"]])
def test_the_next_task_begins_with_nothing_counted(path: Path) -> None:
    counted = [*TO_TESTER, "tester failed_in_scope", "debugger"]
    assert follow([*counted, *path]).position == Position()


class TestWhatIsRefused:
    @pytest.mark.parametrize("at", [*FLOW, "debugger", "regression"])
    def test_any_other_step(self, at: str) -> None:
        for step in (*FLOW, "debugger", "regression", RESUME):
            if step == at:
                continue
            with pytest.raises(Refused, match=rf"the step at hand is {at}"):
                table.check(Position(at), step)

    @pytest.mark.parametrize("halt", HALTS)
    def test_anything_but_resume_at_a_halt(self, halt: str) -> None:
        for step in (*FLOW, "debugger", "regression"):
            with pytest.raises(Refused, match=r"only .* goes on"):
                table.check(Position(halt), step)
        table.check(Position(halt), RESUME)

    def test_everything_at_the_end(self) -> None:
        for step in (*FLOW, "debugger", "regression", RESUME):
            with pytest.raises(Refused, match="all tasks are done"):
                table.check(Position(END), step)

    def test_the_gates_between_here_and_there_are_named(self) -> None:
        with pytest.raises(Refused) as refused:
            table.check(Position("tester"), "commit")
        said = str(refused.value)
        assert "tester = pass or fail_out_of_scope" in said
        assert "reviewer = approved" in said
        assert "coder = done" not in said
        assert "a hash that git knows" not in said

    def test_a_pending_step_is_the_next_gate(self) -> None:
        assert table.missing(Position("coder", then="commit"), "commit") == ["coder = done, with its files_changed"]

    def test_from_the_debugger_all_is_ahead(self) -> None:
        unmet = table.missing(Position("debugger"), "pre_check_code")
        assert unmet == [
            "the debugger's step",
            "coder = done, with its files_changed",
            "tester = pass or fail_out_of_scope",
        ]

    def test_from_the_regression_only_what_follows_it(self) -> None:
        unmet = table.missing(Position("regression"), "pre_check_blueprint")
        assert unmet == ["the regression's step", "the pre-check of the code passes"]


# What each gate accepts. Written again, apart from the table: it is what the table is judged by.
OPENS = {
    "coder": {ANY},
    "tester": {"passed", "passed_after_debugging", "failed_out_of_scope"},
    "pre_check_code": {"pass", "skip"},
    "pre_check_blueprint": {"pass", "skip"},
    "spec_reviewer": {"approved"},
    "code_quality": {"approved"},
}


def explore() -> Iterator[tuple[Position, frozenset[str], str, str, Move]]:
    """Every position that can be reached, with the gates that are open there, and every event from it.

    A gate is open if the last result of its step in this task opens it. The coder's closes when the coder is asked
    again; where the tests are asked again, and where the loop starts over, so do theirs.
    """
    start: tuple[Position, frozenset[str]] = (Position(), frozenset())
    seen = {start}
    queue = deque([start])
    while queue:
        position, gates = queue.popleft()
        step = RESUME if position.step in HALTS else position.step
        for result in table.results(step):
            moved = move(position, step, result)
            yield position, gates, step, result, moved
            after = set(gates)
            if step in OPENS:
                after.discard(step)
                after |= {step} & {step if result in OPENS[step] else ""}
            if moved.next == "coder":
                after.discard("coder")
                if moved.then is None or moved.then == "tester":
                    after.discard("tester")
            if step == RESUME or moved.next == NEXT_TASK:
                after.clear()
            state = (moved.position, frozenset(after))
            if state not in seen:
                seen.add(state)
                queue.append(state)


class TestEveryPath:
    def test_none_commits_with_a_gate_unmet(self) -> None:
        commits = 0
        for position, gates, step, _, _ in explore():
            if step == "commit":
                commits += 1
                assert gates == set(OPENS), position
        assert commits > 100

    def test_only_a_commit_leads_to_the_verification_and_only_that_to_the_next_task(self) -> None:
        for _, _, step, result, moved in explore():
            if moved.next in ("verify_smoke", "verify_func"):
                assert (step, result) == ("commit", "ok") or step == "verify_smoke"
            if moved.next == NEXT_TASK:
                assert step in ("verify_smoke", "verify_func")

    def test_none_is_without_a_way_out(self) -> None:
        """From everywhere the next task can be reached."""
        leads: dict[Position, set[Position]] = {}
        ends = set()
        for position, _, _, _, moved in explore():
            leads.setdefault(moved.position, set()).add(position)
            if moved.next == NEXT_TASK:
                ends.add(position)
        reached, queue = set(ends), list(ends)
        while queue:
            for position in leads.get(queue.pop(), set()) - reached:
                reached.add(position)
                queue.append(position)
        assert reached == {position for position, *_ in explore()}

    def test_none_goes_on_for_ever_without_somebody_who_resumes(self) -> None:
        """Without `resume` every path ends: the counters see to it."""
        graph: dict[Position, set[Position]] = {}
        for position, _, step, _, moved in explore():
            if step != RESUME and moved.next != NEXT_TASK:
                graph.setdefault(position, set()).add(moved.position)
        done: set[Position] = set()
        for start in graph:
            path: list[tuple[Position, Iterator[Position]]] = [(start, iter(graph[start]))]
            on_path = {start}
            while path and start not in done:
                try:
                    following = next(path[-1][1])
                except StopIteration:
                    on_path.discard(path[-1][0])
                    done.add(path.pop()[0])
                    continue
                assert following not in on_path, "a circle"
                if following in graph and following not in done:
                    path.append((following, iter(graph[following])))
                    on_path.add(following)

    def test_no_counter_is_ever_beyond_its_limit(self) -> None:
        for _, _, _, _, moved in explore():
            assert all(count <= limit for count, limit in zip(moved.position.counters, LIMITS.values()))

    def test_every_step_is_reached(self) -> None:
        assert {moved.position.step for *_, moved in explore()} == set(STEPS) - {END}

    def test_whoever_halts_says_to_whom(self) -> None:
        for *_, moved in explore():
            assert (moved.to in ("human", "council")) is (moved.next in HALTS)
