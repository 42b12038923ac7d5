"""One review: who is asked, what, and what the answer means beside what the agent said about the last one."""

from __future__ import annotations

import json
import os
import re

from taskie.agent import find_program
from taskie.gauntlet import answers, logs
from taskie.gauntlet.lanes import Attempt, Ended
from taskie.gauntlet.outcome import GateResult, Unable
from taskie.protocol import shown
from taskie.store import StoreError, replace
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from taskie.gauntlet.answers import Violation
    from taskie.gauntlet.config import Config, Review
    from taskie.gauntlet.entries import Job

_UNKNOWN_OPTION = re.compile(r"unknown option '?(--[a-z-]+)")
_DROPPABLE = ("--settings", "--no-session-persistence", "--json-schema")
ANSWER = """\
Answer with one JSON object and nothing else:
{"status": "pass" or "fail", "violations": [{"file": "path", "line": 1, "issue": "what is wrong", \
"fix": "how to mend it", "priority": "critical" or "high" or "medium" or "low"}]}
"pass" means that nothing has to be changed. Read files if you need to; change nothing.
"""


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


def reviewer_for(review: Review, config: Config, slot: int, path: str) -> str:
    """Whose turn it is in this slot, of those that are installed. Unable if none is."""
    preference = review.cli_preference or config.preference
    there = [name for name in preference if name in config.commands or find_program(name, path)]
    if not there:
        raise Unable(f"no reviewer is installed: {', '.join(preference)} not found on PATH")
    return there[(slot - 1) % len(there)]


def argv_for(who: str, review: Review, config: Config, path: str, leave_out: Sequence[str]) -> list[str]:
    """The command line. The presets can read and change nothing, fire no hooks, and leave no session behind."""
    if who in config.commands:
        return ["/bin/sh", "-c", config.commands[who]]
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


def question(review: Review, earlier: Earlier, diff: str) -> str:
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
    """A review in one run."""

    def __init__(
        self, job: Job, review: Review, who: str, config: Config, root: str, log_dir: str, number: int,
        env: Mapping[str, str], earlier: Earlier, diff: Callable[[], str], done: Callable[[GateResult], None],
    ) -> None:  # fmt: skip
        self.job = job
        self.parallel = review.parallel
        self.file = os.path.join(log_dir, f"{logs.name_of(job, who)}.{number}.json")
        self._review = review
        self._who = who
        self._config = config
        self._root = root
        self._log_dir = log_dir
        self._env = {**env, "TASKIE_HOOK_SKIP": "1"}
        self._earlier = earlier
        self._diff = diff
        self._done = done
        self._open: list[int] = []
        self._leave_out: list[str] = []

    def decided(self, tree: str) -> GateResult | None:
        """The verdict where nobody has to be asked: on the same tree, when something is still unanswered, or when
        everything was skipped with a reason."""
        earlier = self._earlier
        if not earlier.violations or earlier.tree != tree:
            return None
        if earlier.of("new"):
            return self._failed(earlier.of("new", "fixed"), "nothing has changed since it failed")
        return None if earlier.of("fixed") else self._passed()

    def attempt(self) -> Attempt:
        asked = question(self._review, self._earlier, self._diff()).encode("utf-8", "replace")
        given = logs.nameless(self._log_dir, asked)
        said = logs.nameless(self._log_dir)
        complained = logs.create(self.file[: -len("json")] + "log")
        self._open = [given, said, complained]
        argv = argv_for(self._who, self._review, self._config, self._env.get("PATH", ""), self._leave_out)
        return Attempt(argv, self._root, self._env, said, complained, given, self._review.timeout)

    def conclude(self, ended: Ended) -> bool:
        if not self._open:
            self._done(self._unable(ended.unstarted or ended.problem or "could not be started"))
            return True
        _, said, complained = self._open
        output = os.pread(said, min(os.fstat(said).st_size, logs.TAIL * 8), 0)
        lines = logs.tail(complained)
        unknown = _UNKNOWN_OPTION.search(" ".join(lines)) if ended.exit_code else None
        logs.shorten(complained)
        for fd in self._open:
            os.close(fd)
        self._open = []
        if unknown and unknown[1] in _DROPPABLE and unknown[1] not in self._leave_out:
            self._leave_out.append(unknown[1])  # an older client: ask again without it
            return False
        self._done(self._judged(ended, output, lines).replace(seconds=ended.seconds))
        return True

    def _judged(self, ended: Ended, output: bytes, lines: tuple[str, ...]) -> GateResult:
        detail = f": {shown(lines[-1], 300)}" if lines else ""
        if ended.unstarted or ended.problem:
            return self._unable(f"{self._who} {ended.unstarted or ended.problem}")
        if ended.exit_code:
            return self._unable(f"{self._who} ended with exit code {ended.exit_code}{detail}")
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
        return GateResult(self.job.key, "passed", summary, log=self.file, carried=tuple(carried))

    def _failed(self, violations: list[Violation], why: str) -> GateResult:
        carried = self._earlier.accepted
        self._write("fail", [*violations, *({**violation, "status": "skipped"} for violation in carried)])
        count = f"{len(violations)} violation{'s' * (len(violations) != 1)}"
        return GateResult(
            self.job.key,
            "failed",
            f"{count}, {why}" if why else count,
            log=self.file,
            tail=tuple(_line(violation) for violation in violations[:20]),
            violations=tuple(violations),
            carried=tuple(carried),
        )

    def _unable(self, why: str) -> GateResult:
        return GateResult(self.job.key, "unable", why, carried=self._earlier.carried)

    def _write(self, status: str, violations: list[Violation]) -> None:
        content = {"gate": self.job.key, "cli": self._who, "status": status, "violations": violations}
        try:
            replace(self.file, (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode("utf-8", "replace"))
        except StoreError as error:
            raise Unable(str(error)) from None


def _line(violation: Violation) -> str:
    place = violation["file"] + (f":{violation['line']}" if violation["line"] else "")
    fix = f" Fix: {violation['fix']}" if violation["fix"] else ""
    return f"[{violation['priority']}] {place}: {violation['issue']}{fix}"[:500]
