"""Reviews: who is asked, what, and what the answer means beside what the agent said about the last one."""

from __future__ import annotations

import json
import os
import re

from taskie import logs
from taskie.gauntlet import answers
from taskie.gauntlet.config import unknown_reviewers
from taskie.gauntlet.record import name_of
from taskie.gauntlet.rules import GATE, name_rule, take, whole_rule
from taskie.gauntlet.verdict import GateResult, Problem, Unable
from taskie.programs import Command, find_program
from taskie.protocol import shown
from taskie.store import StoreError, replace
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from taskie.gauntlet.answers import Violation
    from taskie.gauntlet.config import Gates
    from taskie.gauntlet.documents import Document
    from taskie.gauntlet.entries import Job
    from taskie.gauntlet.kinds import RunContext
    from taskie.gauntlet.rules import Rules
    from taskie.programs import Outcome

RULES: Rules = {
    "num_reviews": lambda value: whole_rule(value, 1, 20),
    "cli_preference": [name_rule],
    "model": name_rule,
    **GATE,
}
SUFFIXES = (".md",)
FRONTMATTER = True
_UNKNOWN_OPTION = re.compile(r"unknown option '?(--[a-z-]+)")
_DROPPABLE = ("--settings", "--no-session-persistence", "--json-schema")
ANSWER = """\
Answer with one JSON object and nothing else:
{"status": "pass" or "fail", "violations": [{"file": "path", "line": 1, "issue": "what is wrong", \
"fix": "how to fix it", "priority": "critical" or "high" or "medium" or "low"}]}
"pass" means that nothing has to be changed. Read files if you need to; change nothing.
"""


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

    def begin(self, job: Job, run: RunContext) -> ReviewRun | GateResult:
        review = ReviewRun(job, self, run)
        return review.decided() or review

    def described(self, gates: Gates) -> str:
        return f"{self.num_reviews} x {', '.join(self.cli_preference or gates.preference)}"


def gate(name: str, document: Document, root: str, settings: Gates, problems: list[Problem]) -> ReviewGate:
    fields = take(document, document.content, RULES, problems)
    if not document.body.strip():
        problems.append(Problem(document.name, document.line(), "a review needs a prompt"))
    problems += unknown_reviewers(settings, document.name, "cli_preference", fields.get("cli_preference", ()))
    return ReviewGate(name, document.body.strip(), **fields)


class Earlier(Value):
    """What is known of this review: violations with the agent's answers, those it skipped for good, and the tree."""

    violations: tuple[Violation, ...] = ()
    carried: tuple[Violation, ...] = ()
    tree: str | None = None

    def of(self, *statuses: str) -> list[Violation]:
        return [violation for violation in self.violations if violation["status"] in statuses]

    @property
    def accepted(self) -> list[Violation]:
        """Skipped with a reason, now or before: carried over, never shown to the reviewer."""
        return [*self.carried, *answers.without(self.of("skipped"), self.carried)]


def reviewer_for(review: ReviewGate, gates: Gates, slot: int, path: str) -> str:
    """Whose turn it is in this slot, of those that are installed. Unable if none is."""
    preference = review.cli_preference or gates.preference
    there = [name for name in preference if name in gates.commands or find_program(name, path)]
    if not there:
        raise Unable(f"no reviewer is installed: {', '.join(preference)} not found on PATH")
    return there[(slot - 1) % len(there)]


def argv_for(who: str, review: ReviewGate, gates: Gates, path: str, leave_out: Sequence[str]) -> list[str]:
    """The command line. The presets can read and change nothing, fire no hooks, and leave no session behind."""
    if who in gates.commands:
        return ["/bin/sh", "-c", gates.commands[who]]
    program = find_program(who, path) or who
    model = ["--model", review.model] if review.model else []
    if who == "codex":
        return [program, "exec", *model, "--sandbox", "read-only", "--skip-git-repo-check", "--color", "never", "-"]
    options = [
        ("--json-schema", answers.SCHEMA),
        ("--permission-mode", "dontAsk"),
        ("--tools", "Read,Grep,Glob"),
        ("--allowedTools", "Read,Grep,Glob"),
        ("--settings", '{"disableAllHooks":true}'),
        ("--no-session-persistence",),
    ]
    chosen = [word for option in options if option[0] not in leave_out for word in option]
    # `--print` comes last: options that take lists swallow what follows them.
    return [program, "--output-format", "json", *model, *chosen, "--print"]


def question(review: ReviewGate, earlier: Earlier, diff: str) -> str:
    """Everything that the reviewer reads."""
    parts = [review.prompt, ANSWER]
    if shown_again := earlier.of("new", "fixed"):
        listed = json.dumps(
            [{k: v[k] for k in ("file", "line", "issue", "status", "result")} for v in shown_again], indent=1
        )
        parts.append(
            "An earlier review found these violations. Report each one again that is still there, word for word, "
            f"and new ones only if they matter:\n{listed}\n"
        )
    parts.append(f"The changes:\n\n{diff or '(no difference from the base; look at the files themselves)'}\n")
    return "\n\n".join(parts)


class ReviewRun:
    """A review in one run. Unable if no reviewer is installed."""

    def __init__(self, job: Job, review: ReviewGate, run: RunContext) -> None:
        self.job = job
        self._review = review
        self._run = run
        self._who = reviewer_for(review, run.gates, job.slot, run.env.get("PATH", ""))
        self._file = os.path.join(run.log_dir, f"{name_of(job, self._who)}.{run.number}.json")
        self._open: list[int] = []
        self._leave_out: list[str] = []
        last = run.before.gates.get(job.key, {})
        edited = answers.read_files(run.log_dir).get(job.key, ("", []))[1]
        carried = tuple(run.before.carried.get(job.key, ()))
        known: list[Violation] = []
        if last.get("status") != "passed":
            known = [answers.clean(each) for each in last.get("violations", edited) if isinstance(each, dict)]
            known = answers.answered(answers.without(known, carried), edited)
        self._earlier = Earlier(tuple(known), carried, last.get("tree"))

    def decided(self) -> GateResult | None:
        """On the same tree nobody has to be asked when something is still unanswered, or when everything was skipped
        with a reason."""
        earlier = self._earlier
        if not earlier.violations or earlier.tree != self._run.tree:
            return None
        if earlier.of("new"):
            return self._failed(earlier.of("new", "fixed"), "nothing has changed since it failed")
        return None if earlier.of("fixed") else self._passed()

    def command(self) -> Command:
        run = self._run
        asked = question(self._review, self._earlier, run.patch(self.job.files)).encode("utf-8", "replace")
        given = logs.nameless(run.log_dir, asked)
        printed = logs.nameless(run.log_dir)
        complaints = logs.create(self._file[: -len("json")] + "log")
        self._open = [given, printed, complaints]
        argv = argv_for(self._who, self._review, run.gates, run.env.get("PATH", ""), self._leave_out)
        return Command("agent", argv, run.root, run.env, printed, complaints, given, self._review.timeout)

    def result(self, outcome: Outcome) -> GateResult | None:
        _, printed, complaints = self._open
        output = os.pread(printed, min(os.fstat(printed).st_size, logs.TAIL * 8), 0)
        lines = logs.tail(complaints)
        unknown = _UNKNOWN_OPTION.search(" ".join(lines)) if outcome.exit_code else None
        logs.shorten(complaints)
        for fd in self._open:
            os.close(fd)
        if unknown and unknown[1] in _DROPPABLE and unknown[1] not in self._leave_out:
            self._leave_out.append(unknown[1])  # an older client: ask again without it
            return None
        return self._judged(outcome, output, lines).replace(seconds=outcome.seconds)

    def _judged(self, outcome: Outcome, output: bytes, lines: tuple[str, ...]) -> GateResult:
        detail = f": {shown(lines[-1], 300)}" if lines else ""
        if outcome.problem:
            return self._unable(f"{self._who} {outcome.problem}")
        if outcome.exit_code:
            return self._unable(f"{self._who} ended with exit code {outcome.exit_code}{detail}")
        try:
            passes, violations = answers.verdict(output)
        except Unable as error:
            return self._unable(f"{self._who}: {error}")
        left = answers.without(violations, self._earlier.accepted)
        return self._passed() if passes or not left else self._failed(left, "")

    def _passed(self) -> GateResult:
        carried = self._earlier.accepted
        self._write("pass", [{**violation, "status": "skipped"} for violation in carried])
        summary = f"passed, {len(carried)} skipped with a reason" if carried else "passed"
        return GateResult(self.job.key, "passed", summary, log=self._file, carried=tuple(carried))

    def _failed(self, violations: list[Violation], why: str) -> GateResult:
        carried = self._earlier.accepted
        self._write("fail", [*violations, *({**violation, "status": "skipped"} for violation in carried)])
        count = f"{len(violations)} violation{'s' * (len(violations) != 1)}"
        return GateResult(
            self.job.key,
            "failed",
            f"{count}, {why}" if why else count,
            log=self._file,
            tail=tuple(_line(violation) for violation in violations[:20]),
            violations=tuple(violations),
            carried=tuple(carried),
        )

    def _unable(self, why: str) -> GateResult:
        return GateResult(self.job.key, "unable", why, carried=self._earlier.carried)

    def _write(self, status: str, violations: list[Violation]) -> None:
        content = {"gate": self.job.key, "cli": self._who, "status": status, "violations": violations}
        try:
            replace(self._file, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "replace"))
        except StoreError as error:
            raise Unable(str(error)) from None


def _line(violation: Violation) -> str:
    where = violation["file"] + (f":{violation['line']}" if violation["line"] else "")
    fix = f" Fix: {violation['fix']}" if violation["fix"] else ""
    return f"[{violation['priority']}] {where}: {violation['issue']}{fix}"[:500]
