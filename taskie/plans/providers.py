"""Whose program reviews: for each provider its program, its options, and how its answer is read. Starts nothing."""

from __future__ import annotations

from taskie.plans.reviewed import printed
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

    from taskie.config import Config


MAX_BUDGET = "--max-budget-usd"


class Question(Value):
    """What a reviewer is asked. `model` is without the provider's name; `schema` is what it answers with."""

    config: Config
    model: str
    prompt: str
    schema: str


class Provider(Value):
    """One provider's client.

    `command`: the program and what always comes first. `arguments`: what follows, without the options that this
    client has refused. `document`: what it printed, in the form of Claude Code's result. An option in `droppable` is
    ours alone and can be missed; without `needed` there is no verdict.
    """

    command: Callable[[Config], tuple[str, ...]]
    arguments: Callable[[Question, Collection[str]], list[str]]
    document: Callable[[bytes], dict[str, Any]]
    droppable: tuple[str, ...]
    needed: str


def _claude(asked: Question, without: Collection[str]) -> list[str]:
    """`--print` and the prompt come last: list options swallow what follows."""
    config = asked.config
    argv = ["--model", asked.model, "--output-format", "json", "--json-schema", asked.schema]
    if config.review_permissions == "scoped":
        argv += ["--permission-mode", "dontAsk", "--tools", "Read,Grep,Glob,Write"]
        # Rules for writing are spelled Edit; Write(path) never matches.
        argv += ["--allowedTools", "Read,Grep,Glob,Edit(.taskie/**)"]
    else:
        argv += ["--dangerously-skip-permissions"]
    if config.review_max_turns:
        argv += ["--max-turns", str(config.review_max_turns)]
    if config.review_max_budget_usd and MAX_BUDGET not in without:
        argv += [MAX_BUDGET, str(config.review_max_budget_usd)]
    if config.review_hooks == "off" and "--settings" not in without:
        argv += ["--settings", '{"disableAllHooks":true}']
    if "--no-session-persistence" not in without:
        argv += ["--no-session-persistence"]
    return [*argv, "--print", asked.prompt]


CLAUDE = "claude"
PROVIDERS: Mapping[str, Provider] = {
    CLAUDE: Provider(
        command=lambda config: config.review_command,
        arguments=_claude,
        document=printed,
        droppable=("--settings", "--no-session-persistence", MAX_BUDGET),
        needed="--json-schema",
    ),
}


def provider_of(model: str) -> tuple[Provider, str]:
    """Who has this model, and what they call it. A name without a known provider before its colon is Claude's."""
    name, colon, rest = model.partition(":")
    if colon and name in PROVIDERS:
        return PROVIDERS[name], rest
    return PROVIDERS[CLAUDE], model
