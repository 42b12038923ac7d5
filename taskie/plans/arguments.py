"""The words of `taskie next`, `stop`, `limit` and `state`: what may be said, and which function does it."""

from __future__ import annotations

import argparse

from taskie.plans.phases import CYCLES


def add_commands(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add every command of the engine; they stand at the top level."""
    next_ = commands.add_parser(
        "next",
        help="what comes next for a plan, and why: what continue-plan follows",
        description="Says which action comes next for the newest plan, or that the agent should just stop, that all is "
        "done, or that the user must decide. Changes nothing. Decided from state.json, else from the plan's files.",
    )
    next_.add_argument("--json", dest="as_json", action="store_true", help="for programs: a JSON object")
    next_.set_defaults(run="taskie.plans.next_command:run")

    stop = commands.add_parser(
        "stop",
        help="leave the review loop of a plan",
        description="Leaves the review loop: no review starts when the agent stops. The plan and its reviews stay, and "
        "what was next is named, with the command that takes it up again.",
    )
    stop.set_defaults(run="taskie.plans.steering:stop")
    limit = commands.add_parser(
        "limit",
        help="how many reviews each cycle of a plan may have",
        description="Sets how many reviews each cycle of the plan may have; 0 passes over every cycle without one. "
        "Without a number it says what holds. review.max_reviews in the configuration is for new plans.",
    )
    limit.add_argument("number", nargs="?", type=_count, metavar="N", help="a whole number, 0 or more")
    limit.set_defaults(run="taskie.plans.steering:limit")

    description = "Reads or changes a plan's state.json."
    state = commands.add_parser("state", help="read or change a plan's state.json", description=description)
    verbs = state.add_subparsers(metavar="get|set|begin|repair", required=True)
    get = verbs.add_parser(
        "get",
        help="print the state, or what a jq filter selects of it",
        description="Prints the state as JSON, or the first result of a jq filter. Plain paths such as .phase need no "
        "jq.",
    )
    get.add_argument(
        "filter_", nargs="?", default=".", metavar="filter", help="such as .next_phase (default: everything)"
    )
    get.add_argument("-r", "--raw", action="store_true", help="print a text without its quotes")
    get.set_defaults(run="taskie.plans.commands:state_get")
    set_ = verbs.add_parser(
        "set",
        help="change fields, checked and atomically",
        description="Changes the named fields and prints the new state; every other field stays as it is. A phase that "
        "does not exist, or that cannot follow the present one, is refused. "
        "Example: taskie state set phase=post-plan-review next_phase=plan-review",
    )
    set_.add_argument("fields", nargs="+", metavar="FIELD=VALUE", help="null empties a field that can be empty")
    set_.add_argument("--force", action="store_true", help="allow a transition that the table of phases does not have")
    set_.set_defaults(run="taskie.plans.commands:state_set")
    begin = verbs.add_parser(
        "begin",
        help="begin the review cycle that an action leads to",
        description="Records that an action is done and that its reviews come next. The counters restart at zero, with "
        "the first of review.models; a new state also takes max_reviews from the configuration. Prints the new state; "
        "the next stop runs the first review. Example: taskie state begin complete-task 2",
    )
    begin.add_argument("cycle", choices=CYCLES, metavar="ACTION", help=f"one of {', '.join(CYCLES)}")
    begin.add_argument("task", nargs="?", metavar="TASK", help="the id of the task, for an action that is about one")
    begin.set_defaults(run="taskie.plans.commands:state_begin")
    repair = verbs.add_parser(
        "repair",
        help="rebuild a state that cannot be used",
        description="Rebuilds a state.json that is spoiled or missing from the plan's files and its journal, and says "
        "what it has concluded and why. In doubt a review is repeated rather than left out. The old file is kept "
        "beside the new one. A state that can be used is left alone.",
    )
    repair.set_defaults(run="taskie.plans.commands:state_repair")
    for parser in (next_, stop, limit, get, set_, begin, repair):
        parser.add_argument("--plan", metavar="ID", help="which plan (default: the one that was modified last)")


def _count(text: str) -> int:
    number = int(text) if text.isdecimal() and text.isascii() and len(text) < 10 else -1
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 0 or more")
    return number
