"""What the agent is told at each step. Made of values; reads and writes nothing."""

from __future__ import annotations

from taskie.project import quoted
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MOST = 50  # files that are named
# For each step: what to do, and the word of the command line that does or reports it.
STEPS = {
    "coder": (
        "Have the coder do it, and nothing else. Report every file that changed: one that is not reported is refused.",
        """advance '{"step": "coder", "files_changed": ["src/…"]}'""",
    ),
    "tester": (
        "Run the plan's test command, first command, and report what it says, second command: passed needs a run of "
        'it on the tree as it is. A test that fails: "result": "failed" with the "failures" that it names.',
        """test -- CMD…
advance '{"step": "tester", "result": "passed"}'""",
    ),
    "debugger": (
        "Have a debugger find the cause of the failure. If it proposes a test that would have caught it, report that "
        'as "regression".',
        """advance '{"step": "debugger", "regression": {"test_file": "tests/regression/…", "test_code": "…"}}'""",
    ),
    "regression": ("Capture the regression test. This writes it, runs it once and records it.", "regression"),
    "pre_check_code": (
        "Run the pre-check on the changed files, first command, and report pass or fail, second command.",
        """pre-check FILES
advance '{"step": "pre_check_code", "result": "pass"}'""",
    ),
    "pre_check_blueprint": (
        "Check the spec against the blueprint, first command, and report pass, skip or fail, second command.",
        """blueprint SPEC
advance '{"step": "pre_check_blueprint", "result": "pass"}'""",
    ),
    "spec_reviewer": (
        "Have the agent `taskie:spec-reviewer` compare the changed files with the spec, wait for its answer, and "
        "report its status: approved, needs_implementation or needs_removal.",
        """advance '{"step": "spec_reviewer", "result": "approved"}'""",
    ),
    "code_quality": (
        "Have the agent `taskie:code-quality` judge the changed files, wait for its answer, and report its status: "
        "approved, needs_refactor or needs_discussion.",
        """advance '{"step": "code_quality", "result": "approved"}'""",
    ),
    "commit": (
        "Commit. This adds the changed files, commits them and records it. What the tests have not seen is not "
        "committed: if a file changed since they ran, run `autopilot test` first. If the commit fails, fix what it "
        "says and call it once more.",
        "commit -m 'type(scope): text'",
    ),
    "verify_smoke": ("Verify. This runs the spec's acceptance checks and records them.", "verify"),
    "verify_func": ("Verify. This runs the spec's functional checks and records them.", "verify"),
}


def finishing(command: str, step: str) -> str:
    """What is left of phase_3."""
    return (
        f"Autopilot: every task is done. What is left is phase_3, at {step}.\n\nRun the whole test suite, print the "
        f"summary and see that the branch is ready. This does all three.\n\n```sh\n{command} autopilot finish\n```\n\n"
        "It says what is in the way: fix that and run it again. Then tell the person the summary, with every warning. "
        "Do not merge or push unless they ask for it."
    )


class Known(Value):
    """What the loop knows about the step: the task's files, the spec, why the step is there, and what was found."""

    files: Sequence[str] = ()
    spec: str = ""
    why: str = ""
    because: Sequence[str] = ()
    has_command: bool = False


def instruction(command: str, label: str, step: str, known: Known) -> str:
    """The one next step: `label` names the task, `command` is how this shell calls us."""
    what, how = STEPS[step]
    if step == "tester" and known.has_command:
        how = how.replace("test -- CMD…", "test")
    files = known.files[:MOST]
    how = how.replace("FILES", " ".join(map(quoted, files))).replace("SPEC", quoted(known.spec))
    calls = "\n".join(f"{command} autopilot {line}" for line in how.split("\n"))
    changed = f"\n\nChanged so far: {', '.join(files)}" if files else ""
    return (
        f"Autopilot: {label} is not done. The next step is {step}.{_because(known)}\n\n{what}\n\n"
        f"```sh\n{calls}\n```{changed}\n\n"
        "Each command prints the step after it: go on with that one. If you cannot, say why and stop."
    )


def _because(known: Known) -> str:
    """Why it is asked again: without it the coder would have to guess."""
    if not known.because:
        return ""
    listed = "\n".join(f"- {each}" for each in known.because)
    return f"\n\nBecause {known.why}:\n{listed}"
