"""Reviews: what a reviewer is asked, and what the answer means beside what the agent said about the last one."""

from __future__ import annotations

import json
import os
import time

from taskie import logs
from taskie.denials import SOURCES, UNKNOWN
from taskie.gauntlet import answers, settled
from taskie.gauntlet.config import unknown_reviewers
from taskie.gauntlet.record import name_of
from taskie.gauntlet.reviewed import Kept
from taskie.gauntlet.reviewers import CoolDowns, argv_for, in_turn, minutes_of_rest, unknown_option
from taskie.gauntlet.rules import GATE, name_rule, take, whole_rule
from taskie.gauntlet.verdict import GateResult, Problem, Unable
from taskie.programs import Command
from taskie.protocol import shown
from taskie.store import StoreError, close, digest, read_beginning, replace
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from taskie.gauntlet.answers import ReviewAnswer
    from taskie.gauntlet.config import Gates
    from taskie.gauntlet.documents import Document
    from taskie.gauntlet.entries import Job
    from taskie.gauntlet.kinds import RunContext
    from taskie.gauntlet.reviewed import Since
    from taskie.gauntlet.rules import Rules
    from taskie.gauntlet.settled import Violation
    from taskie.gauntlet.verdict import GateStatus
    from taskie.programs import Outcome

RULES: Rules = {
    "num_reviews": lambda value: whole_rule(value, 1, 20),
    "cli_preference": [name_rule],
    "model": name_rule,
    **GATE,
}
SUFFIXES = (".md",)
FRONTMATTER = True
MAX_SOURCE = 2 << 20  # bytes of a file in which a settled issue is looked for


class ReviewGate(Value):
    """One review: what a reviewer is asked, and who is asked, how often."""

    name: str
    prompt: str
    num_reviews: int = 1
    cli_preference: tuple[str, ...] = ()
    model: str | None = None
    parallel: bool = True
    timeout: float | None = None
    fail_fast: bool = False
    run_in_ci: bool = True
    run_locally: bool = True

    @property
    def slots(self) -> Sequence[int]:
        return range(1, self.num_reviews + 1)

    def about(self, job: Job, run: RunContext) -> str:
        """Its prompt, its diff, and what is settled. Whatever else is in the tree, the answer would be the same."""
        return about(self, job, run, run.before.carried.get(job.key, ()))

    def begin(self, job: Job, run: RunContext) -> ReviewRun | GateResult:
        review = ReviewRun(job, self, run)
        decided = review.decided()
        if decided is None and review.missing:
            return review.unable(review.missing)
        return decided or review

    def described(self, gates: Gates) -> str:
        return f"{self.num_reviews} x {', '.join(self.cli_preference or gates.preference)}"


def built_in() -> Mapping[str, ReviewGate]:
    from taskie.gauntlet.prompts import BUILT_IN

    return {name: ReviewGate(name, prompt.strip()) for name, prompt in BUILT_IN.items()}


def gate(name: str, document: Document, root: str, settings: Gates, problems: list[Problem]) -> ReviewGate:
    """A file without a prompt of its own says how a built-in review of its name is run."""
    fields = take(document, document.content, RULES, problems)
    prompt = document.body.strip()
    if not prompt and (known := built_in().get(name)):
        prompt = known.prompt
    if not prompt:
        problems.append(Problem(document.name, document.line(), "a review needs a prompt"))
    problems += unknown_reviewers(settings, document.name, "cli_preference", fields.get("cli_preference", ()))
    return ReviewGate(name, prompt, **fields)


def about(review: ReviewGate, job: Job, run: RunContext, accepted: Sequence[Violation]) -> str:
    known = sorted((*settled.identity(each), str(each.get("line"))) for each in accepted)
    parts = (review.prompt, review.model, run.coverage.difference(job), known)
    return digest(repr(parts).encode("utf-8", "surrogatepass"))


class Earlier(Value):
    """What is known of this review: violations with the agent's answers, those it skipped for good, what the last
    verdict was about, the tree that the reviewer saw, and why nobody could be asked since."""

    violations: tuple[Violation, ...] = ()
    carried: tuple[Violation, ...] = ()
    about: str | None = None
    reviewed: str | None = None
    unasked: Mapping[str, str] | None = None

    def of(self, *statuses: str) -> list[Violation]:
        return [violation for violation in self.violations if violation["status"] in statuses]

    @property
    def accepted(self) -> list[Violation]:
        """Skipped with a reason, now or before: carried over, and settled for the reviewer."""
        return [*self.carried, *settled.without(self.of("skipped"), self.carried)]


def earlier_of(job: Job, run: RunContext) -> Earlier:
    last = run.before.gates.get(job.key, {})
    edited = answers.read_files(run.log_dir).get(job.key, ("", []))[1]
    carried = tuple(run.before.carried.get(job.key, ()))
    if last.get("status") == "passed":
        return Earlier(carried=carried)
    known = [answers.clean(each) for each in last.get("violations", edited) if isinstance(each, dict)]
    known = answers.answered(settled.without(known, carried), edited)
    return Earlier(tuple(known), carried, last.get("about"), last.get("reviewed"), last.get("unasked"))


class ReviewRun:
    """A review in one run. `missing`: why nobody can be asked."""

    def __init__(self, job: Job, review: ReviewGate, run: RunContext) -> None:
        self.job = job
        self._review = review
        self._run = run
        preference = review.cli_preference or run.gates.preference
        self._rests = CoolDowns(run.env, run.root, run.gates)
        cooling = self._rests.of(preference)
        there = in_turn(preference, job.slot, run.gates, run.env.get("PATH", ""), cooling)
        self.missing = "" if there else f"no reviewer is installed: {', '.join(preference)} not found on PATH"
        self._asked, *self._left = there or preference
        self._open: list[int] = []
        self._leave_out: list[str] = []
        self._failures: list[str] = []
        self._notes = [f"{who} is asked last until {_clock(cooling[who])}, since it failed" for who in cooling]
        self._warnings: list[str] = []
        self._since: Since | None = None
        self._reviewed: str | None = None
        self._earlier = earlier_of(job, run)

    @property
    def _file(self) -> str:
        return os.path.join(self._run.log_dir, f"{name_of(self.job, self._asked)}.{self._run.number}.json")

    def decided(self) -> GateResult | None:
        """On the same diff nobody has to be asked when something is still unanswered, or when everything was skipped
        with a reason. Who could not be asked is not asked the same again in one turn."""
        earlier = self._earlier
        if earlier.violations and earlier.unasked and self._run.active and earlier.unasked["of"] == self._question:
            return self.unable(earlier.unasked["why"])
        if not earlier.violations or earlier.about != self._review.about(self.job, self._run):
            return None
        if earlier.of("new"):
            self._reviewed = earlier.reviewed
            return self._failed(earlier.of("new", "fixed"), "nothing has changed since it failed")
        return None if earlier.of("fixed") else self._passed()

    def command(self) -> Command:
        from taskie.gauntlet.questions import question

        run = self._run
        if self._reviewed is None:
            kept = Kept(run.root, run.env, run.deadline, run.log_dir)
            self._reviewed = kept.keep(run.since, self.job.files)
            self._since = kept.since(self._earlier.reviewed, self._reviewed) if self._earlier.violations else None
        diff = run.patch(self.job.files) if self._since is None else self._since.diff
        verified = self._earlier.of("new", "fixed")
        text = question(self._review.prompt, verified, self._earlier.accepted, diff, since=self._since is not None)
        given = logs.nameless(run.log_dir, text.encode("utf-8", "replace"))
        printed = logs.nameless(run.log_dir)
        complaints = logs.create(self._file[: -len("json")] + "log")
        self._open = [given, printed, complaints]
        argv = argv_for(self._asked, self._review, run.gates, run.env.get("PATH", ""), run.root, self._leave_out)
        return Command("agent", argv, run.root, run.env, printed, complaints, given, self._review.timeout)

    def result(self, outcome: Outcome) -> GateResult | None:
        """None while there is somebody left to be asked, or the same one in another way."""
        _, printed, complaints = self._open
        output = os.pread(printed, min(os.fstat(printed).st_size, answers.MAX_ANSWER + 1), 0)
        lines = logs.tail(complaints)
        logs.settle(complaints)
        for fd in self._open:
            close(fd)
        option = unknown_option(lines, self._leave_out) if outcome.exit_code else None
        if option:
            self._leave_out.append(option)  # an older client: ask again without it
            self._warnings += [UNKNOWN] if option == SOURCES else []
            return None
        try:
            answer = self._answer(outcome, output, lines)
        except Unable as error:
            return self._next(outcome, str(error))
        self._rests.note(self._asked, 0)
        return self._judged(answer).replace(seconds=outcome.seconds)

    def _answer(self, outcome: Outcome, output: bytes, lines: tuple[str, ...]) -> ReviewAnswer:
        if outcome.problem:
            raise Unable(f"{self._asked} {outcome.problem}")
        if outcome.exit_code:
            said = lines[-1] if lines else answers.complaint(output)
            detail = f": {shown(said, 300)}" if said else ""
            raise Unable(f"{self._asked} ended with exit code {outcome.exit_code}{detail}")
        try:
            return answers.verdict(output, self._run.root)
        except Unable as error:
            raise Unable(f"{self._asked}: {error}") from None

    def _next(self, outcome: Outcome, why: str) -> GateResult | None:
        """The next reviewer's turn; with none left, or no time, nothing is known."""
        self._failures.append(why)
        if outcome.cause == "deadline":
            return self.unable("; ".join(self._failures))
        rest = minutes_of_rest(why)
        self._rests.note(self._asked, rest)
        if not self._left:
            return self.unable("; ".join(self._failures))
        failed, self._asked = self._asked, self._left.pop(0)
        self._leave_out = []
        self._warnings.append(f"{why}; {self._asked} was asked instead, and {failed} is asked last for {rest} min")
        return None

    def _judged(self, answer: ReviewAnswer) -> GateResult:
        """What is settled does not count; nor, when a fix is verified, a new issue that is clearly outside of it."""
        left = settled.unsettled(answer.violations, self._earlier.accepted, self._lines_of)
        why = ""
        if self._since is not None and not answer.passes:
            outside = self._since.outside(left, self._earlier.of("new", "fixed"), settled.WINDOW)
            left = [each for each in left if each not in outside]
            self._note_outside(outside)
            if still := self._untouched(left):
                left += still
                why = f"in the file of {len(still)} of them nothing has changed"
        if answer.dropped:
            dropped = f"{answer.dropped} more were left out, of the least weight"
            self._notes.append(dropped)
            why = "; ".join(filter(None, (why, dropped)))
        return self._passed() if answer.passes or not left else self._failed(left, why)

    def _untouched(self, reported: list[Violation]) -> list[Violation]:
        """Those that a reviewer who fails the gate does not name, and in whose file nothing has changed."""
        unreported = settled.unreported(self._earlier.of("new", "fixed"), reported)
        return [
            {**each, "status": "new", "result": None}
            for each in unreported
            if self._since is not None and not self._since.touches(each["file"])
        ]

    def _note_outside(self, outside: list[Violation]) -> None:
        self._notes += [f"not counted, since it is outside of what has changed: {_line(each)}" for each in outside]
        if heavy := [each for each in outside if each["priority"] in ("critical", "high")]:
            told = "; ".join(shown(_line(each), 200) for each in heavy[:3])
            self._warnings.append(f"{self.job.shown} found more outside of what has changed: {told}")

    def _lines_of(self, file: str) -> list[str]:
        """Of a file of the project's; none of anything else."""
        path = os.path.join(self._run.root, file)
        if not file or os.path.isabs(file) or ".." in file.split("/") or "\0" in file:
            return []
        try:
            found = read_beginning(path, MAX_SOURCE)
        except StoreError:
            return []
        return found[0].decode("utf-8", "replace").splitlines() if found else []

    def _passed(self) -> GateResult:
        carried = self._settled()
        self._write("pass", [{**violation, "status": "skipped"} for violation in carried])
        summary = f"passed, {len(carried)} skipped with a reason" if carried else "passed"
        return self._result("passed", summary, log=self._file, carried=tuple(carried))

    def _failed(self, violations: list[Violation], why: str) -> GateResult:
        carried = settled.without(self._settled(), violations)  # what weighs more now is open again
        self._write("fail", [*violations, *({**violation, "status": "skipped"} for violation in carried)])
        count = f"{len(violations)} violation{'s' * (len(violations) != 1)}"
        return self._result(
            "failed",
            f"{count}, {why}" if why else count,
            log=self._file,
            tail=tuple(_line(violation) for violation in settled.by_weight(violations)),
            violations=tuple(violations),
            carried=tuple(carried),
            reviewed=self._reviewed,
        )

    def _settled(self) -> list[Violation]:
        return [settled.anchored(violation, self._lines_of) for violation in self._earlier.accepted]

    @property
    def _question(self) -> str:
        """A digest of what would be asked: the diff, and the agent's answers."""
        answered = [(*settled.identity(each), each["status"], each["result"]) for each in self._earlier.violations]
        parts = (self._review.about(self.job, self._run), answered)
        return digest(repr(parts).encode("utf-8", "surrogatepass"))

    def unable(self, why: str) -> GateResult:
        """Nobody can be asked. What was found before is still open, and so is what the agent has to answer."""
        earlier = self._earlier
        if not earlier.violations:
            return self._result("unable", why, carried=earlier.carried)
        known = [*earlier.violations, *({**violation, "status": "skipped"} for violation in earlier.carried)]
        self._write("fail", known)
        return self._result(
            "failed",
            f"It failed before, and cannot be run now: {why}",
            log=self._file,
            tail=tuple(_line(violation) for violation in settled.by_weight(earlier.of("new", "fixed"))),
            violations=earlier.violations,
            carried=earlier.carried,
            about=earlier.about,
            reviewed=earlier.reviewed,
            unasked={"of": self._question, "why": why},
        )

    def _result(self, status: GateStatus, summary: str, **fields: Any) -> GateResult:
        fields.setdefault("about", about(self._review, self.job, self._run, fields["carried"]))
        notes, warnings = tuple(self._notes), tuple(self._warnings)
        return GateResult(self.job.key, status, summary, notes=notes, warnings=warnings, **fields)

    def _write(self, status: str, violations: list[Violation]) -> None:
        content = {"gate": self.job.key, "cli": self._asked, "status": status, "violations": violations}
        try:
            text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
            replace(self._file, text.encode("utf-8", "replace"), private=True)
        except StoreError as error:
            raise Unable(str(error)) from None


def _line(violation: Violation) -> str:
    fix = f" Fix: {violation['fix']}" if violation["fix"] else ""
    return f"[{violation['priority']}] {settled.place(violation)}: {violation['issue']}{fix}"[:500]


def _clock(when: float) -> str:
    return time.strftime("%H:%M", time.localtime(when))
