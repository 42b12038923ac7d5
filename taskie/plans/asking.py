"""What a reviewer is asked about a plan: the prompt, the schema of the answer, what it may run. Reads, runs nothing."""

from __future__ import annotations

from taskie.denials import denied
from taskie.plans import MARKER, files
from taskie.plans.phases import FOR_VERDICT, LAST_REVIEW, ONE_TASK
from taskie.plans.providers import Question, provider_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from taskie.config import Config
    from taskie.plans.files import PlanDirectory
    from taskie.plans.loop import Due
    from taskie.project import Context


def question(context: Context, root: str, plan: PlanDirectory, due: Due, iteration: int) -> Question:
    """For the review that is due. `root` is where our own files are; the reviewer runs in the project's."""
    config = context.config
    directory, task = f"{MARKER}/{plan.name}", due.state.current_task
    provider, model = provider_of(due.state.review_model)
    asked = Question(
        config=config,
        provider=provider,
        model=model,
        prompt=due.review.prompt(plan=directory, root=root, iteration=iteration, task=task, task_files=due.task_files),
        schema=FOR_VERDICT,
        root=context.root,
        file=f"{directory}/{due.review.file(iteration, task)}",
        scoped=is_scoped(config, client=context.client),
    )
    if asked.scoped:
        commands, lost = _commands(plan, due)
        asked = asked.replace(commands=commands, lost=lost, denied=denied(context.root))
    if config.review_findings:
        from taskie.plans import findings

        fail_on = findings.severity(config.review_fail_on, iteration)
        asked = asked.replace(prompt=asked.prompt + findings.ASKED, schema=findings.FOR_FINDINGS, fail_on=fail_on)
        if config.review_remember:
            from taskie.plans.answered import rejected

            settled = findings.settled(rejected(plan.path, due.review.phase, task))
            asked = asked.replace(prompt=asked.prompt + settled)
    return asked


def is_scoped(config: Config, *, client: bool) -> bool:
    """Nobody who uses a client has agreed to a reviewer that may do anything; a script gets the call that the design
    fixes."""
    return client if config.review_permissions == "auto" else config.review_permissions == "scoped"


def _commands(plan: PlanDirectory, due: Due) -> tuple[tuple[str, ...], bool]:
    """The must-run commands of what is reviewed, and whether there are any that cannot be allowed. The tasks themselves
    are reviewed before anything can be run."""
    names: tuple[str, ...] = ()
    if due.review.needs == ONE_TASK:
        names = (f"task-{due.state.current_task}.md",)
    elif due.review.phase == LAST_REVIEW:
        names = due.task_files
    if not names:
        return (), False
    from taskie.plans.must_run import is_lost, plain_commands

    texts = [files.read_text(plan.file(name)) for name in names]
    return plain_commands(texts), is_lost(texts)
