"""What a kind of gate is: the contract of the modules that `KINDS` names. Knows no kind."""

from __future__ import annotations

from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Protocol

    from taskie.gauntlet.config import Gates
    from taskie.gauntlet.coverage import Coverage
    from taskie.gauntlet.documents import Document
    from taskie.gauntlet.entries import Job
    from taskie.gauntlet.record import Record
    from taskie.gauntlet.verdict import GateResult, Problem
    from taskie.programs import Command, Outcome

    class GateKind(Protocol):
        """A module for one kind. SUFFIXES are those of its files, FRONTMATTER says whether YAML is only their head."""

        SUFFIXES: tuple[str, ...]
        FRONTMATTER: bool

        def gate(self, name: str, document: Document, root: str, settings: Gates, problems: list[Problem]) -> Gate:
            """The gate that a file describes; what is wrong with it is added to `problems`."""

        def built_in(self) -> Mapping[str, Gate]:
            """The gates that need no file, unless the project has one of that name."""

    class Gate(Protocol):
        """One gate, as it is configured. It may also have `glob`, patterns of the files that it is for; `names_files`,
        if it has nothing to do where none of them is there; and `alone`, if nothing may run beside it."""

        @property
        def name(self) -> str: ...
        @property
        def parallel(self) -> bool: ...
        @property
        def fail_fast(self) -> bool: ...
        @property
        def run_in_ci(self) -> bool: ...
        @property
        def run_locally(self) -> bool: ...
        @property
        def slots(self) -> Sequence[int | None]:
            """The numbers of its jobs, each with a verdict of its own; None for a gate that never has more than one."""

        def described(self, gates: Gates) -> str:
            """What it runs, for `taskie gauntlet list` and the console log."""

        def about(self, job: Job, run: RunContext) -> str:
            """A digest of what its verdict is about: a pass holds as long as this is the same."""

        def begin(self, job: Job, run: RunContext) -> GateRun | GateResult:
            """A job of it in one run, or its verdict where no program has to be run. Unable if it cannot be asked."""

    class GateRun(Protocol):
        """A job that needs a program to be run."""

        job: Job

        def command(self) -> Command:
            """What to run. Unable if it cannot be."""

        def result(self, outcome: Outcome) -> GateResult | None:
            """What the program's end means; None if it must be run once more."""


class RunContext(Value):
    """The run that a job is a part of. `patch` is the diff of some files from the revision `since`, for whoever needs
    it; `rules` are digests of all that the verdicts depend on beside the tree; `seconds`: the time that there was at
    its beginning; `active`: a hook has blocked in this turn already."""

    root: str
    env: Mapping[str, str]
    log_dir: str
    number: int
    gates: Gates
    tree: str
    before: Record
    patch: Callable[[Sequence[str]], str]
    since: str
    coverage: Coverage
    deadline: float
    rules: Mapping[str, str]
    seconds: float
    in_ci: bool
    active: bool = False
