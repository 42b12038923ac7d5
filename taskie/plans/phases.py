"""The state machine of a plan, as data: phases, review kinds, their files, prompts, messages and targets.

The only module with the names of phases: the hook, the command line, the demo, the documentation's diagram and the
tests read this table. A new phase is a row here and the text of its action.
"""

from __future__ import annotations

from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

FOR_VERDICT = (
    '{"type":"object","properties":{"verdict":{"type":"string","enum":["PASS","FAIL"]}},"required":["verdict"]}'
)


class Review(Value):
    """One kind of review. `{plan}` is the plan's directory, `{task}` the current task, `{n}` the iteration.

    `resumed_by` is the action that finishes what is to be reviewed, if it was left half done. `targets` are the
    phases that a passed review leads to: without and with `tdd`. `block` is what the design says to the agent, word
    for word; `feedback` says it in a client, where it stands in front of a person.
    """

    phase: str
    post: str
    stage: str
    title: str
    subject: str
    reads: str
    performs: str
    fixes: str
    place: str
    finally_: str
    needs: str
    resumed_by: str
    targets: tuple[str, ...]

    def file(self, iteration: int, task: str | None = None) -> str:
        return f"{self.subject.format(task=task)}-review-{iteration}.md"

    def post_file(self, iteration: int, task: str | None = None) -> str:
        return f"{self.subject.format(task=task)}-post-review-{iteration}.md"

    @property
    def with_article(self) -> str:
        return f"{'An' if self.title[0] in 'aeiou' else 'A'} {self.title}"

    def prompt(self, *, plan: str, root: str, iteration: int, task: str | None, task_files: Sequence[str]) -> str:
        reads = self.reads.format(plan=plan, task=task, task_files=" ".join(f"{plan}/{name}" for name in task_files))
        performs = self.performs.format(action=f"{root}/actions/{self.phase}.md")
        return (
            f"Read the ground rules in {root}/ground-rules.md, then read {reads}. {performs}. "
            f"Write your review to {plan}/{self.file(iteration, task)}. Be very critical."
        )

    def block(self, *, plan: str, root: str, iteration: int, task: str | None) -> str:
        name = plan.rpartition("/")[2]
        return (
            f"{self.with_article} (iteration {iteration}) has been written to {plan}/{self.file(iteration, task)} "
            f"by an independent reviewer. Read this review file and perform the {self.post} action: "
            f"{self.fixes}, then create {plan}/{self.post_file(iteration, task)} documenting your fixes. "
            "AFTER completing all post-review work and writing the post-review file, update state.json atomically "
            "(read current file, modify only phase and next_phase, write complete JSON back): "
            f'set phase to "{self.post}", set next_phase to "{self.phase}". Keep all other fields (max_reviews, '
            "current_task, phase_iteration, review_model, consecutive_clean) unchanged. Write via temp file then "
            f'mv to prevent corruption. (This does it in one step: "{root}/bin/taskie" state set --plan {name} '
            f"phase={self.post} next_phase={self.phase}) {self.finally_} "
            "(To stop the review loop, set next_phase to null in state.json.)"
        )

    def feedback(self, *, plan: str, root: str, iteration: int, task: str | None, passed: str, push: bool) -> str:
        """`passed`: how it passed, "" if it did not."""
        name = plan.rpartition("/")[2]
        action = f"perform the {self.post} action ({root}/actions/{self.post}.md)"
        if passed:
            found = f"found nothing that blocks ({passed})"
            todo = f"{action}: look at its remarks, if it has any, and follow those that you agree with"
            wrote = "each remark and what you did about it, or that there was none"
        else:
            found = "found issues"
            todo = f"{action}: address each issue in {self.place}, or say why not"
            wrote = "each issue and what you did about it"
        return (
            f"{self.title.capitalize()} {iteration}, by an independent reviewer, {found}: "
            f"{plan}/{self.file(iteration, task)}\n"
            f"1. Read it and {todo}.\n"
            f"2. Write {plan}/{self.post_file(iteration, task)}: {wrote}.\n"
            f'3. Record it: "{root}/bin/taskie" state set --plan {name} phase={self.post} next_phase={self.phase}\n'
            f"4. Commit{', push to remote' if push else ''} and stop: the next review follows.\n"
            "The user can leave the loop with /taskie:stop."
        )


# What a review must have before it: nothing, the files of all tasks, or the file of the current one.
NOTHING, ALL_TASKS, ONE_TASK = "nothing", "all-tasks", "one-task"

# The phases that code, rather than the table alone, has something to say about.
NEW_PLAN, CREATE_TASKS, CONTINUE_TASK, COMPLETE = "new-plan", "create-tasks", "continue-task", "complete"
TASKS_REVIEW, TASK_REVIEW = "tasks-review", "code-review"
LAST_REVIEW = "all-code-review"  # where the review of a task leads instead when no task is left

REVIEWS: Mapping[str, Review] = {
    review.phase: review
    for review in (
        Review(
            phase="plan-review",
            post="post-plan-review",
            stage="Plan review",
            title="plan review",
            subject="plan",
            reads="{plan}/plan.md",
            performs="Perform the plan review action described in {action}",
            fixes="address all issues in plan.md",
            place="plan.md",
            finally_="Push to remote.",
            needs=NOTHING,
            resumed_by=NEW_PLAN,
            targets=(CREATE_TASKS, CREATE_TASKS),
        ),
        Review(
            phase=TASKS_REVIEW,
            post="post-tasks-review",
            stage="Task review",
            title="tasks review",
            subject="tasks",
            reads="{plan}/tasks.md and the task files: {task_files}",
            performs="Perform the tasks review action described in {action}",
            fixes="address all issues in tasks.md and task files",
            place="tasks.md and the task files",
            finally_="Push to remote.",
            needs=ALL_TASKS,
            resumed_by=CREATE_TASKS,
            targets=("complete-task", "complete-task-tdd"),
        ),
        Review(
            phase=TASK_REVIEW,
            post="post-code-review",
            stage="Implementation",
            title="code review",
            subject="task-{task}",
            reads="the plan in {plan}/plan.md, then read {plan}/task-{task}.md",
            performs="Now perform the code review action described in {action} for this task",
            fixes="address all issues, update the code",
            place="the code and its tests",
            finally_="Update tasks.md and push to remote.",
            needs=ONE_TASK,
            resumed_by=CONTINUE_TASK,
            targets=("complete-task", "complete-task-tdd"),
        ),
        Review(
            phase=LAST_REVIEW,
            post="post-all-code-review",
            stage="Final review",
            title="all-code review",
            subject="all-code",
            reads="{plan}/plan.md, {plan}/tasks.md, and the task files: {task_files}",
            performs="Perform the all-code-review action described in {action}",
            fixes="address all issues across all tasks",
            place="the code of all tasks",
            finally_="Update tasks.md and push to remote.",
            needs=ALL_TASKS,
            resumed_by=CONTINUE_TASK,
            targets=(COMPLETE, COMPLETE),
        ),
    )
}
POST_REVIEWS: Mapping[str, Review] = {review.post: review for review in REVIEWS.values()}


def target(review: Review, *, tdd: bool, tasks_remain: bool) -> str:
    """Where a passed (or skipped) review leads."""
    if review.needs == ONE_TASK and not tasks_remain:
        return LAST_REVIEW
    return review.targets[tdd]


def completing(tdd: bool) -> str:
    """The phase that implements the next task and has it reviewed."""
    return REVIEWS[TASK_REVIEW].targets[tdd]


class Phase(Value):
    """One phase. `next` are the phases that may be announced from it; `after` others that it may follow unannounced.
    If it begins the review cycle of the first of `next`, `begins` are the other fields that it sets.
    """

    stage: str
    next: tuple[str, ...]
    after: tuple[str, ...] = ()
    begins: Mapping[str, Any] | None = None


def _with_posts(*reviews: str) -> tuple[str, ...]:
    return (*reviews, *(REVIEWS[name].post for name in reviews))


def _targets(review: Review) -> tuple[str, ...]:
    """Where a review may lead; the last one back to work, if there is a task that is not finished."""
    work = REVIEWS[TASK_REVIEW].targets if review.phase == LAST_REVIEW else ()
    return tuple(dict.fromkeys((*review.targets, target(review, tdd=False, tasks_remain=False), *work)))


# The phases that implement a task: those that nothing follows, those that a review follows (each without and with
# `tdd`), and the one that finishes what was begun.
ALONE = ("next-task", "next-task-tdd")
_COMPLETING = REVIEWS[TASK_REVIEW].targets
WORK = (*ALONE, *_COMPLETING, CONTINUE_TASK)
_IMPLEMENT = Phase(
    "Implementation",
    ("code-review",),
    (CREATE_TASKS, *WORK, *_with_posts("tasks-review", "code-review", LAST_REVIEW), COMPLETE),
)

_ALL = (NEW_PLAN, CREATE_TASKS, *WORK, *REVIEWS, *POST_REVIEWS, COMPLETE)

# Besides these transitions, any phase may end with no next one: every command can be run alone, at any time.
PHASES: Mapping[str, Phase] = {
    NEW_PLAN: Phase("Planning", ("plan-review",), _ALL, {"current_task": None}),
    CREATE_TASKS: Phase(
        "Task creation", ("tasks-review",), (NEW_PLAN, *_with_posts("tasks-review")), {"current_task": None}
    ),
    **dict.fromkeys(WORK, _IMPLEMENT),
    **{name: _IMPLEMENT.replace(begins={"tdd": tdd}) for tdd, name in zip((False, True), _COMPLETING)},
    # It leaves what is announced as it is.
    CONTINUE_TASK: _IMPLEMENT.replace(
        next=(TASK_REVIEW, LAST_REVIEW, *(REVIEWS[name].post for name in (TASK_REVIEW, LAST_REVIEW)), *_COMPLETING)
    ),
    **{review.phase: Phase(review.stage, (review.post, *_targets(review))) for review in REVIEWS.values()},
    **{review.post: Phase(review.stage, (review.phase, *_targets(review))) for review in REVIEWS.values()},
    COMPLETE: Phase("Complete", ()),
}
# The phases whose actions begin a review cycle.
CYCLES = tuple(name for name, phase in PHASES.items() if phase.begins is not None)


def leading_to(phase: str) -> tuple[str, ...]:
    """The phases that this one may follow."""
    return tuple(name for name in PHASES if phase in PHASES[name].next or name in PHASES[phase].after)
