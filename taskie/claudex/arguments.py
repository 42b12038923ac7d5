"""The command line of `taskie claudex`: its arguments, and the function behind each command."""

from __future__ import annotations

import argparse

from taskie.claudex.state import DEFAULT_ROUNDS, number


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add every command of the engine."""

    def add(name: str, summary: str, description: str, function: str = "") -> argparse.ArgumentParser:
        parser = commands.add_parser(name, help=summary, description=description)
        parser.set_defaults(run=f"taskie.claudex.commands:{function or name.replace('-', '_')}")
        return parser

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
        "--rounds", type=_rounds, default=DEFAULT_ROUNDS, metavar="N", help="at most N rounds (default: 3)"
    )
    plan.add_argument("--topic-file", metavar="FILE", help="read the topic from a file, - for stdin")
    plan.add_argument("--from-draft", action="store_true", help="review the PLAN.md that is there already, as it is")
    plan.set_defaults(run="taskie.claudex.commands:start_plan")
    review = modes.add_parser("review", help="the current diff, once", description="Begins a review of the diff.")
    review.add_argument("topic", nargs="*", help="what the change is for, if Codex should know")
    review.set_defaults(run="taskie.claudex.commands:start_review")

    on = add(
        "continue",
        "take a loop over from another session",
        "Makes the active loop this session's, and says where it stands. Exit 1 if none is active here.",
        "continue_loop",
    )
    on.add_argument("review_id", metavar="ID", nargs="?", help="another one than the newest that is active")
    on.add_argument("--from-draft", action="store_true", help="review the PLAN.md from before the loop, as it is")

    done = add(
        "mark-done",
        "the findings are not material: end the loop",
        "Ends a loop with decision_signal=no-material-findings, in one atomic write. If the round's findings say "
        "otherwise, or there are none, that is kept beside it and told to the user. An id that is malformed or unknown "
        "exits 2 and changes nothing.",
    )
    done.add_argument("review_id", metavar="ID", help="as the block names it: YYYYMMDD-HHMMSS-xxxxxx")
    for parser in (on, done):
        parser.add_argument("--root", metavar="DIR", help="the project (default: found from the current directory)")

    add("cancel", "end the active loop", "Ends the active loop without a result. Its findings stay.")
    add(
        "rollback",
        "remove everything that loops have left here",
        "Removes states, runners, prompts, findings and reviews of every loop here. The log and PLAN.md stay.",
    )


def _rounds(text: str) -> int:
    rounds = number(text, 0)
    if not rounds:
        raise argparse.ArgumentTypeError(f"must be a whole number, 1 or more, not {text!r}")
    return rounds
