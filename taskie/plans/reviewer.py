"""One run of the reviewer: the file it must write, the verdict it gives. Knows no state, and no provider's options."""

from __future__ import annotations

import os
import re

from taskie.denials import SOURCES, UNKNOWN
from taskie.errors import Interrupted
from taskie.plans.calling import MAX_BUDGET
from taskie.plans.files import is_written
from taskie.plans.review_log import ReviewLog
from taskie.plans.reviewed import Reviewed, read
from taskie.programs import Command, find_program
from taskie.protocol import shown
from taskie.store import StoreError, remove, replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from taskie.config import Config
    from taskie.plans.providers import Question
    from taskie.plans.review_file import ReviewFile
    from taskie.programs import Outcome, Programs
    from taskie.project import Context

_UNKNOWN_OPTION = rb"(?:unknown option|unexpected argument) '?(--[a-z-]+)"


class ReviewFailed(Exception):
    """The review did not succeed; the message says why and what to do, and `why` only that, without the `log` of this
    machine. `price`: what it has cost nevertheless."""

    def __init__(self, why: str, price: Reviewed | None = None, log: str | None = None) -> None:
        super().__init__(f"{why}; see {log}" if log else why)
        self.why = why
        self.price = price or Reviewed(clean=False)


def review(context: Context, file: ReviewFile, iteration: int, asked: Question, programs: Programs) -> Reviewed:
    """Have the file written, completely. ReviewFailed: nothing changed. An earlier one is still beside it."""
    provider = asked.provider
    first, *rest = provider.command(context.config)
    program = find_program(first, context.env.get("PATH", ""))
    if program is None:
        raise ReviewFailed(f"{shown(first)} was not found on PATH; {provider.missing}")
    plan = os.path.dirname(file.path)
    log = os.path.join(plan, f".review-{iteration}.log")
    warnings: tuple[str, ...] = ()
    if os.path.isdir(log) and not os.path.islink(log):
        warnings = (f"{log} is a directory and in the way of a log; remove it",)
        log = os.path.join(plan, f".review-{iteration}.other.log")
    try:
        file.set_aside()
    except StoreError as error:
        raise ReviewFailed(str(error)) from None
    try:
        with _ReadFile(log, asked) as beside:
            reviewed = _run(context, [program, *rest], asked, beside, file, log, programs)
    except BaseException as error:
        file.restore()
        if isinstance(error, StoreError):
            raise ReviewFailed(str(error)) from None
        raise
    file.complete()
    remove(log)
    return reviewed.replace(warnings=(*reviewed.warnings, *warnings))


def _run(
    context: Context,
    command: list[str],
    asked: Question,
    beside: str,
    file: ReviewFile,
    path: str,
    programs: Programs,
) -> Reviewed:
    """What the review came to. A client too old for an option that only we add is called again without it."""
    provider, seconds = asked.provider, context.config.review_timeout
    without: list[str] = []
    while True:
        argv = command + provider.arguments(asked, without, beside)
        with ReviewLog(path, argv, context.root) as log:
            run = Command("agent", argv, context.root, context.env, log.stdout, log.stderr, seconds=seconds)
            try:
                outcome = programs.run(run, context.deadline)
            except Interrupted as interrupted:
                log.end(f"Interrupted, by signal {interrupted.number}, before the reviewer was done.")
                raise
            said, complained = log.read()
            unknown = re.search(_UNKNOWN_OPTION, complained)
            option = unknown[1].decode() if unknown and outcome.exit_code else None
            if option in provider.droppable and option not in without:
                without.append(option)
                continue
            document = provider.document(said)
            why = (
                f"this client is too old: it does not know {option}; update it"
                if option and option == provider.needed
                else None
            )
            why = why or _problem(outcome, document, complained, asked.config)
            if why is None and not is_written(file.path):
                why = f"the reviewer ended without writing {file.name}"
            if why is None:
                reviewed = read(document, asked.fail_on)
                return reviewed.replace(warnings=tuple(_unbounded(asked, argv, reviewed.cost, without)))
            code = "" if outcome.exit_code is None else f", with exit code {outcome.exit_code}"
            log.end(f"After {outcome.seconds:.1f} s{code}: {why}.")
            raise ReviewFailed(why, read(document), path)


def _problem(outcome: Outcome, answer: dict[str, Any], complained: bytes, config: Config) -> str | None:
    """Why this is not a review, in words."""
    if answer.get("subtype") == "error_max_budget_usd":
        bound = f" (${config.review_max_budget_usd:,.2f})" if config.review_max_budget_usd else ""
        return f"the reviewer reached review.max_budget_usd{bound} before it was done; raise it, or drop it"
    if outcome.problem is None and outcome.exit_code == 0 and answer.get("is_error") is not True:
        return None
    why = f"the reviewer {outcome.problem}" if outcome.problem else f"the reviewer exited with code {outcome.exit_code}"
    result = answer.get("result")
    lines = complained.decode("utf-8", "replace").strip().splitlines()
    detail = result if isinstance(result, str) and result else lines[-1] if lines else ""
    if b"root/sudo" in complained:
        detail += ' (as root: IS_SANDBOX=1 in a container, or review.permissions = "scoped")'
    return f"{why}{': ' + shown(detail, 300) if detail else ''}"


def _unbounded(asked: Question, argv: list[str], cost: float | None, without: list[str]) -> Iterator[str]:
    """That a bound which somebody relies on does not hold."""
    config = asked.config
    if SOURCES in without:
        yield UNKNOWN
    if config.review_max_budget_usd is not None and MAX_BUDGET not in argv:
        yield f"review.max_budget_usd does not hold: this client does not know {MAX_BUDGET}"
    if config.review_plan_budget_usd is not None and cost is None:
        yield "review.plan_budget_usd does not count this review: its client does not say what it cost"


class _ReadFile:
    """The file from which a client reads what it does not take as an argument: the schema, or its permissions."""

    def __init__(self, log: str, asked: Question) -> None:
        self._text = asked.provider.reads(asked) if asked.provider.reads else None
        self._path = "" if self._text is None else log + asked.provider.name

    def __enter__(self) -> str:
        if self._text is not None:
            replace(self._path, self._text.encode())
        return self._path

    def __exit__(self, *_: object) -> None:
        if self._path:
            remove(self._path)
