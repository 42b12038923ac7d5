"""The task loop as one table: which step follows which result, and how often. Pure: knows no file, clock or process."""

from __future__ import annotations

from taskie.errors import CommandError
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ANY = "any"  # the result of a step that takes any, or none
LIMITS = {
    "debug_attempts": 3,
    "pre_check_loop": 3,
    "spec_review_loop": 2,
    "refactor_loop": 2,
    "verify_smoke_retry": 2,
    "verify_func_retry": 2,
    "commit_failures": 1,
}
# What must hold before the loop leaves a step, in the loop's order.
GATES = {
    "coder": "coder = done, with its files_changed",
    "tester": "tester = pass or fail_out_of_scope",
    "pre_check_code": "the pre-check of the code passes",
    "pre_check_blueprint": "the check against the blueprint passes",
    "spec_reviewer": "the spec reviewer approves",
    "code_quality": "reviewer = approved",
    "commit": "commit = a hash that git knows",
    "verify_smoke": "the smoke checks have been run",
    "verify_func": "verify = pass, warn or skip",
}
FLOW = tuple(GATES)
ASIDE = ("debugger", "regression")
HALTS = ("escalate", "stop")
NEXT_TASK, END, RESUME = "next_task", "phase_3", "resume"
STEPS = (*FLOW, *ASIDE, *HALTS, END)


class Refused(CommandError):
    """The event does not belong here, or a gate forbids it; the message names the gate."""


class Row(Value):
    """What one result of one step leads to: `next`. With a `counter` at its limit, `beyond` applies instead.

    A fix is a detour, and up to two steps wait for it to end: `then` follows the coder, in place of the tester;
    `resume_at` follows the tester or the commit that comes after, in place of its own `next`. A row sets both, or
    `keeps_waiting` what waits already. `yields_to` names the one of the two that comes in place of `next` if it waits.
    """

    next: str
    why: str
    then: str | None = None
    resume_at: str | None = None
    yields_to: str | None = None
    keeps_waiting: bool = False
    counter: str | None = None
    beyond: Row | None = None
    task: Mapping[str, str] = {}
    to: str | None = None
    warns: bool = False


def _again(step: str, counter: str, why: str, to: str) -> Row:
    """The coder fixes it and the step is repeated, up to the counter's limit."""
    times = LIMITS[counter]
    beyond = Row("escalate", f"{why}, and {times} attempts to fix it did not help", to=to)
    return Row("coder", why, then=step, counter=counter, beyond=beyond)


_SPEC = {
    "needs_implementation": "something that the spec asks for is missing",
    "needs_removal": "something was added that the spec does not ask for",
}

TABLE: dict[tuple[str, str], Row] = {
    ("coder", ANY): Row("tester", "the code is written", yields_to="then", keeps_waiting=True, task={"coder": "done"}),
    ("tester", "passed"): Row("pre_check_code", "the tests pass", yields_to="resume_at", task={"tester": "pass"}),
    ("tester", "passed_after_debugging"): Row(
        "regression", "the tests pass after debugging: keep the bug from coming back", task={"tester": "pass"}
    ),
    ("tester", "failed_in_scope"): Row(
        "debugger",
        "a test fails that belongs to the changed files",
        keeps_waiting=True,
        counter="debug_attempts",
        beyond=Row(
            "escalate",
            f"the tests still fail after {LIMITS['debug_attempts']} attempts to debug them",
            to="human",
            task={"tester": "fail"},
        ),
        task={"tester": "fail"},
    ),
    ("tester", "failed_out_of_scope"): Row(
        "pre_check_code", "no failing test belongs to the changed files", task={"tester": "fail_out_of_scope"}
    ),
    ("debugger", ANY): Row("coder", "the debugger has reported: fix the bug", keeps_waiting=True),
    ("regression", ANY): Row("pre_check_code", "the step of the regression test is over"),
    ("pre_check_code", "pass"): Row("pre_check_blueprint", "the pre-check passes"),
    ("pre_check_code", "skip"): Row("pre_check_blueprint", "there is nothing to pre-check"),
    ("pre_check_code", "fail"): _again("pre_check_code", "pre_check_loop", "the pre-check fails", "human"),
    ("pre_check_blueprint", "pass"): Row("spec_reviewer", "the blueprint is followed"),
    ("pre_check_blueprint", "skip"): Row("spec_reviewer", "there is no blueprint"),
    ("pre_check_blueprint", "fail"): _again(
        "pre_check_blueprint", "pre_check_loop", "the blueprint is not followed", "human"
    ),
    ("spec_reviewer", "approved"): Row("code_quality", "the spec is met"),
    **{
        ("spec_reviewer", result): _again("tester", "spec_review_loop", why, "council").replace(
            resume_at="spec_reviewer"
        )
        for result, why in _SPEC.items()
    },
    ("code_quality", "approved"): Row(
        "commit", "both reviews approve: commit now, do not stop here", task={"reviewer": "approved"}
    ),
    ("code_quality", "needs_refactor"): _again(
        "tester", "refactor_loop", "the code needs refactoring", "council"
    ).replace(resume_at="code_quality"),
    ("code_quality", "needs_discussion"): Row(
        "stop", "the reviewer wants a decision that only a person can take", to="human", task={"status": "blocked"}
    ),
    ("commit", "ok"): Row("verify_smoke", "the commit is made", yields_to="resume_at", task={"status": "done"}),
    ("commit", "fail"): Row(
        "commit",
        "the commit failed: see why, fix it if possible, and try once more",
        keeps_waiting=True,
        counter="commit_failures",
        beyond=Row("stop", "the commit failed twice", to="human", task={"status": "blocked"}),
    ),
    ("commit", "rework"): _again(
        "tester", "pre_check_loop", "what is to be committed is not what was reported, tested and reviewed", "human"
    ),
    ("verify_smoke", "pass"): Row("verify_func", "the smoke checks pass"),
    ("verify_smoke", "skip"): Row(NEXT_TASK, "there is nothing to verify", task={"verify": "skip"}),
    ("verify_smoke", "fail"): Row(
        "verify_smoke",
        "a smoke check fails: wait 5 s and try again",
        counter="verify_smoke_retry",
        beyond=Row(
            "verify_func",
            f"the smoke checks still fail after {LIMITS['verify_smoke_retry']} retries",
            task={"verify": "warn"},
            warns=True,
        ),
    ),
    ("verify_func", "pass"): Row(NEXT_TASK, "the functional checks pass", task={"verify": "pass"}),
    ("verify_func", "fail"): Row(
        "coder",
        "a functional check fails",
        then="commit",
        resume_at="verify_func",
        counter="verify_func_retry",
        beyond=Row(
            NEXT_TASK,
            f"the functional checks still fail after {LIMITS['verify_func_retry']} retries",
            task={"verify": "warn"},
            warns=True,
        ),
    ),
    (RESUME, ANY): Row("coder", "somebody has looked at it: the task starts over", task={"status": "in_progress"}),
}


class Position(Value):
    """Where a task is in the loop. `counters` holds a number for each name in LIMITS."""

    step: str = "coder"
    then: str | None = None
    resume_at: str | None = None
    counters: tuple[int, ...] = (0,) * len(LIMITS)


class Move(Value):
    """From one position to the next. `next` may also be NEXT_TASK, where the next task's first position follows."""

    position: Position
    next: str
    then: str | None
    why: str
    to: str | None
    task: Mapping[str, str]
    warns: bool


def results(step: str) -> list[str]:
    """What a step can end in."""
    return [result for at, result in TABLE if at == step]


def move(position: Position, step: str, result: str) -> Move:
    """Follow the table; Refused if this step is not the one at hand."""
    check(position, step)
    counters = dict(zip(LIMITS, position.counters))
    row = TABLE[step, result]
    if row.counter is not None and row.beyond is not None:
        if counters[row.counter] < LIMITS[row.counter]:
            counters[row.counter] += 1
        else:
            row = row.beyond
    then, resume_at = (position.then, position.resume_at) if row.keeps_waiting else (row.then, row.resume_at)
    at = row.next
    if row.yields_to == "then" and position.then is not None:
        at, then = position.then, None
    elif row.yields_to == "resume_at" and position.resume_at is not None:
        at = position.resume_at
    if (step, result) == ("commit", "ok"):
        counters["commit_failures"] = 0
    if step == RESUME or at == NEXT_TASK:
        counters = dict.fromkeys(LIMITS, 0)
    after = Position("coder" if at == NEXT_TASK else at, then, resume_at, tuple(counters.values()))
    follows = "coder" if at == NEXT_TASK else then
    return Move(after, at, follows, row.why, row.to, row.task, row.warns)


def check(position: Position, step: str) -> None:
    """Refused, with the gates that are not met yet, unless this step is the one at hand."""
    at = position.step
    if step == at:
        return
    if at == END:
        raise Refused("all tasks are done; what follows is phase_3")
    if at in HALTS:
        if step != RESUME:
            raise Refused(f'the loop halted at {at}: only {{"step": "resume"}} goes on, once the reason is dealt with')
        return
    if step == RESUME:
        raise Refused(f"there is nothing to resume: the step at hand is {at}")
    unmet = "; ".join(missing(position, step))
    raise Refused(f"the step at hand is {at}, not {step}" + (f". Not met yet: {unmet}" if unmet else ""))


def missing(position: Position, step: str) -> list[str]:
    """The gates between here and a later step."""
    ahead = [] if position.step in FLOW else [f"the {position.step}'s step"]
    begin = position.step if position.step in FLOW else "pre_check_code" if position.step == "regression" else "coder"
    path = FLOW[FLOW.index(begin) :]
    if begin == "coder" and position.then is not None:
        path = ("coder", *FLOW[FLOW.index(position.then) :])
    if step not in path:
        return []
    return [*ahead, *(GATES[name] for name in path[: path.index(step)])]
