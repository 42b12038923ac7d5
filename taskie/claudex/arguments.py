"""The words of `taskie claudex`: what may be said, and which function does it. Imports the engine when it is called."""

from __future__ import annotations

import argparse

from taskie.claudex.state import DEFAULT_ROUNDS, PLAN, REVIEW, number


def add_commands(claudex: argparse.ArgumentParser) -> None:
    """Add every command of the engine to its parser."""
    verbs = claudex.add_subparsers(metavar="COMMAND", required=True)

    def add(name: str, summary: str, description: str) -> argparse.ArgumentParser:
        return verbs.add_parser(name, help=summary, description=description)

    hook = add(
        "stop-hook",
        "this engine's Stop hook alone",
        'Reads the hook event on stdin, prints {"decision":"approve"} or a block, and exits 0 whatever happens. The '
        "unified hook, `taskie stop-hook`, runs this engine too: only one of the two belongs in a client's settings.",
    )
    hook.set_defaults(run=_stop_hook)

    start = add(
        "start",
        "begin a loop: `start plan TOPIC` or `start review`",
        "Begins a loop in this project. `plan`: the agent writes PLAN.md, Codex reviews it round by round. `review`: "
        "Codex reviews the current diff once. Exit 1 if a loop is already active here.",
    )
    modes = start.add_subparsers(metavar="plan|review", required=True)
    plan = modes.add_parser("plan", help="a plan, reviewed round by round", description="Begins a plan's loop.")
    plan.add_argument("topic", nargs="*", help="what the plan is for")
    plan.add_argument(
        "--rounds", type=_rounds, default=DEFAULT_ROUNDS, metavar="N", help="at most so many (default: 3)"
    )
    plan.add_argument("--topic-file", metavar="FILE", help="read the topic from a file, - for stdin: no quoting needed")
    plan.set_defaults(run=_start_plan)
    review = modes.add_parser("review", help="the current diff, once", description="Begins a review of the diff.")
    review.add_argument("topic", nargs="*", help="what the change is for, if Codex should know")
    review.set_defaults(run=_start_review)

    done = add(
        "mark-done",
        "the findings are not material: end the loop",
        "Ends a loop with decision_signal=no-material-findings, in one atomic write. An id that is malformed or "
        "unknown exits 2 and changes nothing.",
    )
    done.add_argument("review_id", metavar="ID", help="as the block names it: YYYYMMDD-HHMMSS-xxxxxx")
    done.add_argument("--root", metavar="DIR", help="the project (default: found from the current directory)")
    done.set_defaults(run=_mark_done)

    cancel = add("cancel", "end the active loop", "Ends the active loop without a result. Its findings stay.")
    cancel.set_defaults(run=_cancel)
    rollback = add(
        "rollback",
        "remove everything that loops have left here",
        "Removes states, runners, prompts, findings and reviews of every loop here. The log and PLAN.md stay.",
    )
    rollback.set_defaults(run=_rollback)
    status = add(
        "status",
        "where every loop stands, and what each round has found",
        "Shows each loop with its mode, phase and round, the newest first (* is active), and how many findings of "
        "which severity each round has brought.",
    )
    status.add_argument("--json", action="store_true", help="for programs: a JSON object")
    status.set_defaults(run=_status)


def _rounds(text: str) -> int:
    found = number(text, 0)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number from 1 on")
    return found


def _stop_hook(_: argparse.Namespace) -> int:
    from taskie.claudex import hook

    return hook.main()


def _start_plan(options: argparse.Namespace) -> int:
    from taskie.claudex import commands

    return commands.start(PLAN, commands.read_topic(options.topic, options.topic_file), options.rounds)


def _start_review(options: argparse.Namespace) -> int:
    from taskie.claudex import commands

    return commands.start(REVIEW, " ".join(options.topic), 1)


def _mark_done(options: argparse.Namespace) -> int:
    from taskie.claudex import commands

    return commands.mark_done(options.review_id, options.root)


def _cancel(_: argparse.Namespace) -> int:
    from taskie.claudex import commands

    return commands.cancel()


def _rollback(_: argparse.Namespace) -> int:
    from taskie.claudex import commands

    return commands.rollback()


def _status(options: argparse.Namespace) -> int:
    from taskie.claudex import commands

    return commands.status(as_json=options.json)
