"""`taskie next`: reads a plan, asks git which task was touched last, prints the step that `routing` decides on."""

from __future__ import annotations

import json
import os
import time

from taskie import project
from taskie.git import Git, GitError, split_paths
from taskie.plans import MARKER, commands, files, loop, routing, state
from taskie.plans.phases import COMPLETE
from taskie.plans.recording import budget_message
from taskie.plans.state import BadField, is_plan_id, is_task_id
from taskie.plans.tasks import Task, survey
from taskie.protocol import shown
from taskie.store import StoreError
from taskie.terminal import say

GIT_SECONDS = 5.0  # a file that was never committed makes git walk the whole history

_LEADS = {routing.STOP: "Just stop", COMPLETE: "Complete", routing.ASK: "Ask the user"}


def run(*, as_json: bool, plan: str | None) -> int:
    """Print what comes next for the newest plan, or for the named one."""
    root = commands.root_here()
    if plan is None and (root is None or files.newest_plan(os.path.join(root, MARKER)) is None):
        _print(routing.new_plan(), None, as_json)
        return 0
    path = commands.find_plan(plan)
    _print(_step(path), os.path.basename(path), as_json)
    return 0


def _step(plan: str) -> routing.NextStep:
    current = None
    trouble = routing.Found.trouble
    settings = commands.settings(plan)
    try:
        raw = state.load(plan)
        current = None if raw is None else state.interpret(raw, settings)
    except StoreError as error:
        trouble = str(error)
    except BadField as error:
        return routing.unusable(str(error))
    contents = files.contents(files.PlanDirectory(os.path.basename(plan), plan, plan))
    tasks = _text(plan, "tasks.md")
    task = current.current_task if current else None
    answered = False
    if current is not None:
        owed = loop.awaited(current)
        answered = owed is not None and files.is_answered(plan, owed, current.phase_iteration, task)
    standing = survey(tasks or "", contents.regular, lambda name: _text(plan, name) or "")
    step = routing.route(
        routing.Found(
            state=current,
            trouble=trouble,
            plan_text=_text(plan, "plan.md"),
            tasks_text=tasks,
            task_text=_text(plan, f"task-{task}.md") if task else None,
            standing=standing,
            answered=answered,
            was_reviewed=any("-review-" in name for name in contents.regular),
            # Where the state names a task, git has nothing to add.
            touched=() if task else _touched(plan, standing.open()),
        )
    )
    if step.action == routing.STOP and not is_plan_id(os.path.basename(plan)):
        return routing.misnamed(os.path.basename(plan))
    if step.action == routing.STOP and current is not None and current.max_reviews:
        exhausted = budget_message(plan, settings)
        return step.replace(why=f"The user must decide: {exhausted}") if exhausted else step
    return step


def _text(plan: str, name: str) -> str | None:
    """The text of a file of the plan; None if there is none. A link or a directory of that name is not one."""
    path = os.path.join(plan, name)
    return None if files.written_at(path) is None else files.read_text(path)


def _touched(plan: str, tasks: list[Task]) -> tuple[str, ...]:
    """Those of the tasks whose files changed in the newest commit that changed any of them; none without git."""
    ids = {f"task-{task.id}.md": task.id for task in tasks if is_task_id(task.id)}
    if not ids:
        return ()
    env = {**os.environ, "GIT_NO_LAZY_FETCH": "1"}
    # A repository's own settings must not start a program of its choice.
    asked = ["--no-pager", "-c", "log.showSignature=false", "log", "-1", "--no-merges"]
    try:
        git = Git(plan, env, time.monotonic() + GIT_SECONDS)
        listed = git(*asked, "--format=", "--name-only", "--relative", "-z", "--", *ids)
    except GitError:
        return ()  # no git, no repository, no commit, or no answer in time
    return tuple(ids[name] for name in split_paths(listed) if name in ids)


def _print(step: routing.NextStep, plan: str | None, as_json: bool) -> None:
    file = os.path.join(project.plugin_root(), step.file) if step.file else None
    if as_json:
        answer = {"action": step.action, "file": file, "task": step.task, "plan": plan, "why": step.why}
        say(json.dumps(answer, indent=2))
        return
    about = f"Plan {shown(plan)}: " if plan else ""
    for_task = f" for task {step.task}" if step.task else ""
    lead = _LEADS.get(step.action) or f"Carry out {step.action}{for_task}, as {file} says"
    say(project.typeable(f"{about}{lead}. {step.why}"))
