"""The unified Stop hook: one event in, the engines that apply, one decision out. Whatever happens, it ends.

Claude Code runs the hooks of one event in parallel, so there is one hook, and it asks the engines in turn.
"""

from __future__ import annotations

import os
import sys
import time

from taskie import config, project
from taskie.guard import Turn
from taskie.protocol import APPROVE, Decision, InputError, merge, parse_event, read_stdin, shown, write

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from taskie.protocol import Event

# An engine is a package with MARKER and `detect(places)`, and a module `engine` with
# `on_stop(event, turn, project)`. Cheap, deterministic engines come first; the first block ends the search.
ENGINES = ("taskie.autopilot", "taskie.gauntlet", "taskie.claudex", "taskie.plans")

LONGEST_START = 10.0  # an older process is no hook that has just been started
BUDGET = 570.0  # past the client's 600 s the stop would be allowed without a word


def main(argv: Sequence[str] = ()) -> int:
    """Run the hook on this process's stdin, stdout and environment; the exit code is for the client."""
    deadline = time.monotonic() + BUDGET
    began = process_start()
    env = dict(os.environ)
    if env.get("TASKIE_HOOK_SKIP"):
        return _say(APPROVE)
    try:
        try:
            event = _located(parse_event(read_stdin())).replace(began=began)
        except InputError as error:
            return _refuse(str(error), fail_open="--fail-open" in argv)
        return _say(decide(event, env, deadline))
    except Exception as error:
        return _say(Decision(warnings=(_report(error, env),)))
    except BaseException as error:
        number = getattr(error, "number", None)  # taskie.processes.Ended, which only a review imports
        if number is None:
            raise
        from taskie.processes import end_by

        return end_by(number)


def process_start() -> int:
    """When this process started, in nanoseconds of the wall clock, never too early; now, where nobody says so.

    Hooks that are fired at once reach this line one after another: what one of them has written must not look
    to the next like the work of an earlier stop.
    """
    try:
        with open("/proc/self/stat", "rb") as file:
            ticks = int(file.read().rpartition(b")")[2].split()[19])
        # A tick more: the kernel has rounded it down. And the age before the time: what comes between makes it later.
        age = time.clock_gettime(time.CLOCK_BOOTTIME) - (ticks + 1) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError, AttributeError):
        age = 0.0
    now = time.time_ns()
    return now - int(age * 1e9) if 0 < age < LONGEST_START else now


def _located(event: Event) -> Event:
    """The event with a directory that exists. Within a turn a bad one is no reason to say anything."""
    cwd = event.cwd or _working_directory()
    if not os.path.isdir(cwd):
        if not event.stop_hook_active:
            raise InputError(f"Cannot change to project directory: {shown(cwd) or 'it is gone'}")
        cwd = _working_directory() or os.sep
    return event.replace(cwd=cwd)


def _working_directory() -> str:
    try:
        return os.getcwd()
    except OSError:
        return ""  # somebody has removed it under us


def decide(event: Event, env: Mapping[str, str], deadline: float) -> Decision:
    """Ask each engine that applies here; messages are joined, the first block is the decision."""
    where = project.places(event.cwd, env)
    said = APPROVE
    for name in ENGINES:
        try:
            root = __import__(name, fromlist=["detect"]).detect(where)
            if root is None:
                continue
            settings = config.load(root, env)
            turn = Turn(event.stop_hook_active, settings.loop_guard == "strict", said.progress)
            place = project.Project(root, event.cwd, settings, env, deadline)
            engine = __import__(f"{name}.engine", fromlist=["on_stop"])
            said = merge(said, Decision(warnings=settings.warnings))
            said = merge(said, engine.on_stop(event, turn, place))
        except Exception as error:
            said = merge(said, Decision(warnings=(_report(error, env),)))
        if said.reason is not None:
            break
    return said


def _say(decision: Decision) -> int:
    """The only place that prints: warnings for whoever runs it by hand, one line for the client."""
    for warning in decision.warnings:
        write(2, f"taskie: {shown(warning, 2000)}\n")
    write(1, decision.render() + "\n")
    return 0


def _refuse(message: str, fail_open: bool) -> int:
    """Exit 2 is for scripts; the client takes it for a block, so `hooks.json` asks for `--fail-open`."""
    if fail_open:
        return _say(Decision(warnings=(message,)))
    write(2, message + "\n")
    return 2


def _report(error: Exception, env: Mapping[str, str]) -> str:
    """Log an error that nobody foresaw; a sentence that says where."""
    import traceback

    text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    write(2, text)
    cache = env.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    log = os.path.join(cache, "taskie", "hook.log")
    summary = f"Taskie's hook failed ({type(error).__name__}: {shown(str(error))}); the stop is allowed."
    try:
        os.makedirs(os.path.dirname(log), exist_ok=True)
        with open(log, "a", encoding="utf-8", errors="replace") as file:
            file.write(
                f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime())} Python {sys.version.split()[0]}\n{text}\n"
            )
    except OSError:
        return summary
    return f"{summary} Details: {log}"
