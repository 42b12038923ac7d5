"""Whose program reviews: for each provider its program, its options, and how its answer is read. Starts nothing."""

from __future__ import annotations

import json

from taskie.denials import SOURCES
from taskie.plans.reviewed import printed
from taskie.protocol import parse_json
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

    from taskie.config import Config


MAX_BUDGET = "--max-budget-usd"


class Question(Value):
    """What a reviewer is asked.

    `model` is as its provider calls it. `file` is the review's, from the root, and `schema` what is answered beside
    it. `scoped`: it may do little more than read, write that file, and run these `commands`; some were `lost`, since no
    rule can allow exactly those. `denied`: rules by which the project denies something. `fail_on`: with findings, the
    least severity that fails.
    """

    config: Config
    provider: Provider
    model: str
    prompt: str
    schema: str
    file: str
    scoped: bool
    commands: tuple[str, ...] = ()
    lost: bool = False
    denied: tuple[str, ...] = ()
    fail_on: str | None = None


class Provider(Value):
    """One provider's client.

    `command`: the program and what always comes first; `missing`: what to do if it is not there. `arguments`: what
    follows, without the options that this client has refused, and with the file that holds the schema, which is
    written only for those who `read_schema`. `document`: what it printed, in the form of Claude Code's result. An
    option in `droppable` is ours alone and can be missed; without `needed` there is no verdict.
    """

    command: Callable[[Config], tuple[str, ...]]
    missing: str
    arguments: Callable[[Question, Collection[str], str], list[str]]
    document: Callable[[bytes], dict[str, Any]]
    droppable: tuple[str, ...]
    needed: str
    read_schema: bool = False


# The client itself knows which commands only read, git's among them, and lets those through: a rule `Bash(git log:*)`
# would let `git log --output=FILE` through as well.
_READING = "Read,Grep,Glob"


def _claude(asked: Question, without: Collection[str], _: str) -> list[str]:
    """`--print` and the prompt come last: list options swallow what follows."""
    config, prompt = asked.config, asked.prompt
    argv = ["--model", asked.model, "--output-format", "json", "--json-schema", asked.schema]
    if asked.scoped:
        # Rules for writing are spelled Edit; Write(path) never matches.
        rules = [_READING, f"Edit(/{asked.file})", *(f"Bash({command})" for command in asked.commands)]
        argv += ["--permission-mode", "dontAsk", "--tools", f"{_READING},Write,Edit,Bash"]
        argv += ["--allowedTools", ",".join(rules)]
        if asked.denied:
            argv += ["--disallowedTools", ",".join(asked.denied)]
        if SOURCES not in without:
            argv += [SOURCES, "user"]  # or the project's own settings could allow it everything
        prompt += _bounds(asked.commands, asked.lost)
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
    return [*argv, "--print", prompt]


def _bounds(commands: Collection[str], lost: bool) -> str:
    """Without this a faithful reviewer takes what it may not do for the work's fault."""
    listed = ", ".join(f"`{command}`" for command in commands)
    also = f", and run exactly these commands, each on its own: {listed}" if commands else ""
    some = " Some must-run commands are not allowed, since they are more than plain words." if lost else ""
    return (
        " You may write that file and no other, read all files, read git (`git log`, `git diff`, `git show`, "
        f"`git status`, `git blame`){also}. Anything else is refused.{some} A must-run command that is refused is "
        "not an issue: say in the review that it was not run."
    )


def _codex(asked: Question, without: Collection[str], schema_file: str) -> list[str]:
    """Its sandbox lets commands write in the project and in temporary directories, not in `.git`; it has no network."""
    config = asked.config
    argv = ["--model", asked.model] if asked.model else []
    if asked.scoped:
        argv += ["--sandbox", "workspace-write"]
    else:
        argv += ["--dangerously-bypass-approvals-and-sandbox"]
    if config.review_hooks == "off":
        argv += ["--config", "features.hooks=false"]
    argv += [option for option in ("--ephemeral", "--skip-git-repo-check") if option not in without]
    return [*argv, "--json", "--output-schema", schema_file, asked.prompt]


def _codex_document(output: bytes) -> dict[str, Any]:
    """Codex prints one event a line; its last message is the answer."""
    document: dict[str, Any] = {}
    for line in output.splitlines():
        event = printed(line)
        item = event.get("item")
        if isinstance(item, dict) and item.get("type") == "agent_message":
            document["result"] = item.get("text")
        elif event.get("type") == "turn.completed":
            document["usage"] = _codex_usage(event.get("usage"))
        elif event.get("type") in ("turn.failed", "error"):
            error = event.get("error")
            said = error.get("message") if isinstance(error, dict) else event.get("message")
            document.update(is_error=event["type"] == "turn.failed", result=said)
    return document


def _codex_usage(usage: object) -> dict[str, Any] | None:
    """Codex counts what came from the cache as input too; Claude Code does not."""
    if not isinstance(usage, dict):
        return None
    cached, all_input = usage.get("cached_input_tokens"), usage.get("input_tokens")
    uncached = all_input - cached if type(all_input) is int and type(cached) is int else all_input
    return {
        "input_tokens": uncached,
        "output_tokens": usage.get("output_tokens"),
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": usage.get("cache_write_input_tokens"),
    }


def closed(schema: str) -> str:
    """The schema as strict interfaces want it: nothing but what it names."""
    return json.dumps({**parse_json(schema), "additionalProperties": False})


CLAUDE = "claude"
PROVIDERS: Mapping[str, Provider] = {
    CLAUDE: Provider(
        command=lambda config: config.review_command,
        missing="install it or set review.command",
        arguments=_claude,
        document=printed,
        droppable=("--settings", "--no-session-persistence", MAX_BUDGET, SOURCES),
        needed="--json-schema",
    ),
    "codex": Provider(
        command=lambda _: ("codex", "exec"),
        missing="install it or take its models out of review.models",
        arguments=_codex,
        document=_codex_document,
        droppable=("--ephemeral",),
        needed="--output-schema",
        read_schema=True,
    ),
}


def provider_of(model: str) -> tuple[Provider, str]:
    """Who has this model, and what they call it. A name without a known provider before its colon is Claude's."""
    name, colon, rest = model.partition(":")
    if colon and name in PROVIDERS:
        return PROVIDERS[name], rest
    return PROVIDERS[CLAUDE], model
