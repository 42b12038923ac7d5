"""The state machine of a plan, as data: phases, review kinds, their files, prompts, messages and targets.

The hook, the command line, the documentation's diagram and the tests read this table; none repeats it.
"""

from __future__ import annotations

from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

FOR_VERDICT = (
    '{"type":"object","properties":{"verdict":{"type":"string","enum":["PASS","FAIL"]}},"required":["verdict"]}'
)


class Review(Value):
    """One kind of review. `{plan}` is the plan's directory, `{task}` the current task, `{n}` the iteration.

    `resumed_by` is the action that finishes what is to be reviewed, if it was left half done.
    """

    phase: str
    post: str
    title: str
    subject: str
    reads: str
    performs: str
    fixes: str
    finally_: str
    needs: str
    resumed_by: str
    targets: tuple[str, ...]

    def file(self, iteration: int, task: str | None = None) -> str:
        return f"{self.subject.format(task=task)}-review-{iteration}.md"

    def post_file(self, iteration: int, task: str | None = None) -> str:
        return f"{self.subject.format(task=task)}-post-review-{iteration}.md"

    def prompt(self, *, plan: str, root: str, iteration: int, task: str | None, task_files: list[str]) -> str:
        reads = self.reads.format(plan=plan, task=task, task_files=" ".join(f"{plan}/{name}" for name in task_files))
        performs = self.performs.format(action=f"{root}/actions/{self.phase}.md")
        return (
            f"Read the ground rules in {root}/ground-rules.md, then read {reads}. {performs}. "
            f"Write your review to {plan}/{self.file(iteration, task)}. Be very critical."
        )

    def block(self, *, plan: str, root: str, iteration: int, task: str | None) -> str:
        name = plan.rpartition("/")[2]
        article = "An" if self.title[0] in "aeiou" else "A"
        return (
            f"{article} {self.title} (iteration {iteration}) has been written to {plan}/{self.file(iteration, task)} "
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


# What a review must have before it: nothing, the files of all tasks, or the file of the current one.
NOTHING, ALL_TASKS, ONE_TASK = "nothing", "all-tasks", "one-task"

# Targets are (the plain one, its TDD twin), or the same twice. A code review goes on to LAST_REVIEW instead
# when no task is pending.
REVIEWS: Mapping[str, Review] = {
    review.phase: review
    for review in (
        Review(
            phase="plan-review",
            post="post-plan-review",
            title="plan review",
            subject="plan",
            reads="{plan}/plan.md",
            performs="Perform the plan review action described in {action}",
            fixes="address all issues in plan.md",
            finally_="Push to remote.",
            needs=NOTHING,
            resumed_by="new-plan",
            targets=("create-tasks", "create-tasks"),
        ),
        Review(
            phase="tasks-review",
            post="post-tasks-review",
            title="tasks review",
            subject="tasks",
            reads="{plan}/tasks.md and the task files: {task_files}",
            performs="Perform the tasks review action described in {action}",
            fixes="address all issues in tasks.md and task files",
            finally_="Push to remote.",
            needs=ALL_TASKS,
            resumed_by="create-tasks",
            targets=("complete-task", "complete-task-tdd"),
        ),
        Review(
            phase="code-review",
            post="post-code-review",
            title="code review",
            subject="task-{task}",
            reads="the plan in {plan}/plan.md, then read {plan}/task-{task}.md",
            performs="Now perform the code review action described in {action} for this task",
            fixes="address all issues, update the code",
            finally_="Update tasks.md and push to remote.",
            needs=ONE_TASK,
            resumed_by="continue-task",
            targets=("complete-task", "complete-task-tdd"),
        ),
        Review(
            phase="all-code-review",
            post="post-all-code-review",
            title="all-code review",
            subject="all-code",
            reads="{plan}/plan.md, {plan}/tasks.md, and the task files: {task_files}",
            performs="Perform the all-code-review action described in {action}",
            fixes="address all issues across all tasks",
            finally_="Update tasks.md and push to remote.",
            needs=ALL_TASKS,
            resumed_by="continue-task",
            targets=("complete", "complete"),
        ),
    )
}
POST_REVIEWS: Mapping[str, Review] = {review.post: review for review in REVIEWS.values()}
LAST_REVIEW = "all-code-review"


def target(review: Review, *, tdd: bool, tasks_remain: bool) -> str:
    """Where a passed (or skipped) review leads."""
    if review.needs == ONE_TASK and not tasks_remain:
        return LAST_REVIEW
    return review.targets[tdd]


class Phase(Value):
    """One phase. `next` are the phases that may be announced from it; `after` those that may lead to it."""

    stage: str
    next: tuple[str, ...]
    after: tuple[str, ...] = ()


# The phases that implement a task.
WORK = ("next-task", "next-task-tdd", "complete-task", "complete-task-tdd", "continue-task")
_BUILD = (*WORK, "code-review", "post-code-review")
_TASKS = ("create-tasks", "tasks-review", "post-tasks-review")
_FINAL = ("all-code-review", "post-all-code-review", "complete")
_IMPLEMENT = Phase("Implementation", ("code-review",), (*_TASKS, *_BUILD, *_FINAL))

# Besides these, any phase may end with no next one: every command can be run alone, at any time.
PHASES: Mapping[str, Phase] = {
    "new-plan": Phase("Planning", ("plan-review",), ("plan-review", "post-plan-review")),
    "plan-review": Phase("Plan review", ("post-plan-review", "create-tasks"), ("new-plan", "post-plan-review")),
    "post-plan-review": Phase("Plan review", ("plan-review", "create-tasks"), ("plan-review",)),
    "create-tasks": Phase(
        "Task creation",
        ("tasks-review",),
        ("new-plan", "plan-review", "post-plan-review", "tasks-review", "post-tasks-review"),
    ),
    "tasks-review": Phase(
        "Task review",
        ("post-tasks-review", "complete-task", "complete-task-tdd"),
        ("create-tasks", "post-tasks-review"),
    ),
    "post-tasks-review": Phase(
        "Task review", ("tasks-review", "complete-task", "complete-task-tdd"), ("tasks-review",)
    ),
    **dict.fromkeys(WORK, _IMPLEMENT),
    "continue-task": _IMPLEMENT.replace(next=("code-review", "all-code-review", "complete-task", "complete-task-tdd")),
    "code-review": Phase(
        "Implementation",
        ("post-code-review", "complete-task", "complete-task-tdd", "all-code-review"),
        (*WORK, "post-code-review"),
    ),
    "post-code-review": Phase(
        "Implementation",
        ("code-review", "complete-task", "complete-task-tdd", "all-code-review"),
        ("code-review",),
    ),
    "all-code-review": Phase(
        "Final review",
        ("post-all-code-review", "complete"),
        ("code-review", "post-code-review", "post-all-code-review"),
    ),
    "post-all-code-review": Phase("Final review", ("all-code-review", "complete"), ("all-code-review",)),
    "complete": Phase("Complete", (), ("all-code-review", "post-all-code-review")),
}
