"""Whose program reviews: for each provider its program, its options, and how its answer is read. Starts nothing."""

from __future__ import annotations

import json

from taskie.denials import SOURCES
from taskie.plans import calling, documents
from taskie.plans.calling import MAX_BUDGET
from taskie.plans.reviewed import printed
from taskie.protocol import parse_json
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping
    from typing import Any

    from taskie.config import Config


class Question(Value):
    """What a reviewer is asked.

    `model` is as its provider calls it. `file` is the review's, from the `root`, and `schema` what is answered beside
    it. `scoped`: it may do little more than read, write that file, and run these `commands`; some were `lost`, since no
    rule can allow exactly those. `denied`: rules by which the project denies something. `fail_on`: with findings, the
    least severity that fails.
    """

    config: Config
    provider: Provider
    model: str
    prompt: str
    schema: str
    root: str
    file: str
    scoped: bool
    commands: tuple[str, ...] = ()
    lost: bool = False
    denied: tuple[str, ...] = ()
    fail_on: str | None = None


class Provider(Value):
    """One provider's client.

    `command`: the program and what always comes first; `missing`: what to do if it is not there. `arguments`: what
    follows, without the options that this client has refused, and with the path of the file that it reads: `reads` is
    what that holds, `name` its end. `document`: what it printed, in the form of Claude Code's result. An option in
    `droppable` is ours alone and can be missed; without `needed`, if it is not None, there is no verdict.
    """

    command: Callable[[Config], tuple[str, ...]]
    missing: str
    arguments: Callable[[Question, Collection[str], str], list[str]]
    document: Callable[[bytes], dict[str, Any]]
    droppable: tuple[str, ...]
    needed: str | None = None
    reads: Callable[[Question], str | None] | None = None
    name: str = ""


def _schema(asked: Question) -> str:
    return closed(asked.schema)


def _policy(asked: Question) -> str | None:
    return calling.policy(asked) if asked.scoped else None


def closed(schema: str) -> str:
    """The schema as strict interfaces want it: nothing but what it names."""
    return json.dumps({**parse_json(schema), "additionalProperties": False})


def _program(*words: str) -> Callable[[Config], tuple[str, ...]]:
    return lambda _: words


CLAUDE = "claude"
TAKE_OUT = "install it or take its models out of review.models"
PROVIDERS: Mapping[str, Provider] = {
    CLAUDE: Provider(
        command=lambda config: config.review_command,
        missing="install it or set review.command",
        arguments=calling.claude,
        document=printed,
        droppable=("--settings", "--no-session-persistence", MAX_BUDGET, SOURCES),
        needed="--json-schema",
    ),
    "codex": Provider(
        command=_program("codex", "exec"),
        missing=TAKE_OUT,
        arguments=calling.codex,
        document=documents.codex,
        droppable=("--ephemeral",),
        needed="--output-schema",
        reads=_schema,
        name=".schema",
    ),
    "copilot": Provider(
        command=_program("copilot"),
        missing=TAKE_OUT,
        arguments=calling.copilot,
        document=documents.copilot,
        droppable=("--no-ask-user", "--no-auto-update"),
    ),
    "qwen": Provider(
        command=_program("qwen"),
        missing=TAKE_OUT,
        arguments=calling.qwen,
        document=documents.qwen,
        droppable=("--safe-mode", calling.NO_RECORDING),
        needed="--json-schema",
    ),
    "gemini": Provider(
        command=_program("gemini"),
        missing=TAKE_OUT,
        arguments=calling.gemini,
        document=documents.gemini,
        droppable=(),
        reads=_policy,
        name=".policy.toml",
    ),
}


def provider_of(model: str) -> tuple[Provider, str]:
    """Who has this model, and what they call it. A name without a known provider before its colon is Claude's."""
    name, colon, rest = model.partition(":")
    if colon and name in PROVIDERS:
        return PROVIDERS[name], rest
    return PROVIDERS[CLAUDE], model
