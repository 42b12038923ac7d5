"""The one main of every hook: read the event, decide, render, print, catch. Whatever happens, it ends.

Claude Code runs the hooks of one event in parallel, so there is one hook for each, and it asks the engines in turn.
"""

from __future__ import annotations

import os
import sys
import time

import taskie
from taskie.clients import CLAUDE, SENDERS
from taskie.errors import CommandError, Interrupted
from taskie.guard import Turn
from taskie.protocol import (
    APPROVE,
    AT_ONCE,
    BUDGET,
    Decision,
    Event,
    InputError,
    merge,
    parse_event,
    read_stdin,
    render,
    shown,
    takes_feedback,
    write,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from taskie.engine import Begun

    Deciding = Callable[[Event, Mapping[str, str]], Decision]

GUARDED = "PreToolUse"
LONGEST_START = 10.0  # an older process was not started for this event
# The details of a decision that no engine has taken.
SKIPPED, INVALID, ELSEWHERE, FAILED = "skipped", "invalid", "elsewhere", "failed"


def main(argv: Sequence[str] = (), only: str | None = None) -> int:
    """Taskie's hook, for every engine or for one alone; the exit code is for the client."""
    import taskie.engines as engines

    name = "Stop" if set(argv) <= {"--fail-open"} else engines.event(argv)
    deadline = time.monotonic() + (BUDGET if name == "Stop" else AT_ONCE)
    caller = os.getppid()
    client = "--fail-open" in argv
    strict = name == "Stop" and not only and not client

    def deciding(event: Event, env: Mapping[str, str]) -> Decision:
        if event.name != "Stop" or SENDERS[event.client].capped:
            return decide(event, env, deadline, only, client, caller)
        from taskie.cap import bounded

        return bounded(event, env, lambda known: decide(known, env, deadline, only, client, caller))

    return answer(deciding, name, only=only, strict=strict, client=client)


def answer(
    deciding: Deciding,
    name: str | None,
    *,
    only: str | None = None,
    strict: bool = False,
    client: bool = False,
    subject: str = "Taskie's hook",
    skippable: bool = True,
    stdout: int = 1,
) -> int:
    """One event from stdin, at most one line to stdout. Whatever goes wrong in between ends here, as an approval.

    `name`: the event that is meant, whatever the input says. `only`: an engine that answers in its own dialect.
    `strict`: input that cannot be used exits 2, for scripts; a client would take that for a block. `client`: it is
    one that calls, as in `hooks.json`. `skippable`: inside a review that Taskie has started, everything is allowed.
    """
    began = process_start()
    env = dict(os.environ)
    event = None
    try:
        try:
            if skippable and env.get("TASKIE_HOOK_SKIP"):
                decision = Decision(details=SKIPPED)
            else:
                event = _event(name, began)
                decision = deciding(event, env)
        except InputError as error:
            if strict or name not in (None, "Stop"):
                write(2, f"{error}\n")
                return 2 if strict else 0
            decision = Decision(warnings=(str(error),), details=INVALID)
        except Exception as error:
            decision = Decision(warnings=(report(error, env, subject),), details=FAILED)
        try:
            feedback = client and event is not None and takes_feedback(event, env)
            return _say(decision, event, name, only, stdout, feedback)
        except Exception as error:  # it cannot be put into words: a reason that is not a text, a dialect's bug
            decision = Decision(warnings=(report(error, env, subject),), details=FAILED)
            return _say(decision, event, name, None, stdout)
    except KeyboardInterrupt:  # somebody has started it by hand, and it waits for an event
        return Interrupted(2).end_process()
    except Interrupted as interrupted:
        return interrupted.end_process()


def _event(name: str | None, began: int) -> Event:
    """The event on stdin. One that cannot be read is one to a guard, which must not let through what it missed."""
    try:
        event = parse_event(read_stdin())
    except InputError as error:
        if name != GUARDED:
            raise
        return Event(cwd="", name=name, began=began, problem=str(error))
    return event.replace(name=name or event.name, began=began)


def process_start() -> int:
    """When this process started, in nanoseconds of the wall clock, never too early; now, if that is unknown.

    Hooks that are fired at once reach this line one after another: what one of them has written must not look
    to the next like the work of an earlier stop.
    """
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        # One tick more, since the kernel rounds down. The age is taken before the time: a pause between the two
        # makes the result later, never earlier.
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - (ticks + 1) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        age = 0.0
    now = time.time_ns()
    return now - int(age * 1e9) if 0 < age < LONGEST_START else now


def decide(
    event: Event,
    env: Mapping[str, str],
    deadline: float,
    only: str | None = None,
    client: bool = False,
    caller: int | None = None,
) -> Decision:
    """Ask each engine, or one alone, that takes the event and applies here; the first block is the decision."""
    begun: list[Begun] = []
    try:
        return _decide(event, env, deadline, only, client, caller, begun)
    finally:
        for each in begun:
            each.end()


def _decide(
    event: Event,
    env: Mapping[str, str],
    deadline: float,
    only: str | None,
    client: bool,
    caller: int | None,
    begun: list[Begun],
) -> Decision:
    import taskie.config as config
    import taskie.engines as engines
    import taskie.project as project
    import taskie.trust as trust
    import taskie.variables as variables

    cwd = _directory(event, needed=event.name == "Stop" and not only)
    places = project.places(cwd, env, event.tool_input.get("file_path") if event.name != "Stop" else None)
    env, warnings = variables.users_own(env, variables.set_by_project(env, cwd), cwd)
    decision = Decision(warnings=tuple(warnings)) if warnings else APPROVE
    applying = []
    waits = []
    # Who names an engine has said what to run; a guard that only denies runs nothing.
    asks = not only and event.name != "PreToolUse" and not trust.given(env, cwd)
    for name in [only] if only else engines.ENGINES:
        try:
            engine = engines.load(name)
            if event.name not in engine.EVENTS:
                continue
            roots = [place for place in places if engines.is_used(engine, place)]
            root = engine.detect(roots) if roots else None
            if root is None and only and roots:
                root = roots[0]  # whoever asks for one engine wants its answer
            if root is not None:
                waiting = trust.waiting(name, engine, root, env) if asks else None
                if waiting is not None:
                    waits.append(waiting)
                    continue
                if hasattr(engine, "begin"):  # not before: a repository's own configuration has git run programs
                    begun.append(engine.begin(root, env, deadline))
                applying.append((name, engine, root))
        except Exception as error:
            decision = _failed(decision, error, env, name)
    if waits and event.name == "Stop":
        decision = merge(decision, Decision(message=trust.line(waits, env)))
    for at, (name, engine, root) in enumerate(applying):
        try:
            settings = config.load(root, env)
            turn = Turn(event.stop_hook_active, settings.loop_guard == "strict", decision.progress, at > 0)
            context = project.Context(
                root, cwd, settings, env, deadline, client, len(applying) == 1, asks, begun, caller
            )
            if settings.warnings:  # at once, so that they are not lost with an engine that fails
                decision = merge(decision, Decision(warnings=settings.warnings))
            own = engine.on_event(event.replace(cwd=cwd), turn, context)
            decision = own if decision is APPROVE else merge(decision, own)
        except Exception as error:
            decision = _failed(decision, error, env, name)
        if decision.reason is not None:
            break
    return decision if applying or decision.details else decision.replace(details=ELSEWHERE)


def _failed(decision: Decision, error: Exception, env: Mapping[str, str], name: str) -> Decision:
    """An engine's own failure is a warning; the others still answer."""
    warning = report(error, env, f"Taskie's engine {name}")
    return merge(decision, Decision(warnings=(warning,), details=FAILED))


def _directory(event: Event, *, needed: bool) -> str:
    """The event's directory, or ours if it does not exist. Within a turn that is not worth a complaint."""
    try:
        here = os.getcwd()
    except OSError:
        here = ""  # somebody has removed it under us
    cwd = event.cwd or here
    if os.path.isdir(cwd):
        return cwd
    if needed and not event.stop_hook_active:
        raise InputError(f"Cannot change to project directory: {shown(cwd) or 'it is gone'}")
    return here or os.sep


def _say(
    decision: Decision, event: Event | None, name: str | None, only: str | None, stdout: int, feedback: bool = False
) -> int:
    """Notes on stderr for whoever runs it by hand, one line on stdout for the client."""
    client = event.client if event else CLAUDE
    line = render(decision, name or (event.name if event else "Stop"), feedback, client)
    notes = list(decision.warnings)
    if only and name == "Stop":
        from taskie import engines

        dialect = engines.load(only).render
        if dialect is not render and client == CLAUDE:  # Codex refuses other words
            line = dialect(decision)
            notes += [decision.message] if decision.message else []
    for line_of_note in "\n".join(notes).splitlines():
        write(2, f"taskie: {shown(line_of_note, 2000)}\n")
    if line:
        write(stdout, f"{line}\n")
    return 0


def report(error: Exception, env: Mapping[str, str], subject: str) -> str:
    """A sentence about an error; one that nobody foresaw is logged, and it says where."""
    if isinstance(error, CommandError):  # its message says all there is to say
        return f"{subject} cannot go on and blocks nothing: {shown(str(error), 1000)}."
    import traceback

    from taskie import logs
    from taskie.masking import masked
    from taskie.project import cache
    from taskie.store import timestamp

    text = masked("".join(traceback.format_exception(type(error), error, error.__traceback__)))
    if not isinstance(error, (OSError, ImportError)):  # what the system has refused is no mistake of ours
        write(2, text)
    log = os.path.join(cache(env), "hook.log")
    try:
        message = shown(masked(str(error)))
    except Exception:
        message = "its message cannot be shown"
    summary = f"{subject} failed ({type(error).__name__}: {message}) and blocks nothing."
    try:
        os.makedirs(os.path.dirname(log), exist_ok=True)
        logs.append(log, f"{timestamp()} Taskie {taskie.__version__}, Python {sys.version.split()[0]}\n{text}\n")
    except OSError:
        return summary
    return f"{summary} Details: {log}"
