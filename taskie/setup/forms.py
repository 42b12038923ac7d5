"""What a client's commands look like, as files below its folder: each form makes them of one generated prompt.

`codex/prompts` has the prompts, whose arguments are `$ARGUMENTS`. Writes nothing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Callable

_FRONT = re.compile(r"---\r?\n(.*?)^---\r?\n", re.DOTALL | re.MULTILINE)
_DESCRIPTION = re.compile(r"^description: *(.+?)\s*$", re.MULTILINE)
# The commands are for the person to call, not for the model to choose: see the skills of the Claude Code plugin.
_POLICY = "policy:\n  allow_implicit_invocation: false\n"


@dataclass(frozen=True)
class Prompt:
    """One command: its file's name without the extension (`taskie-new-plan`), what it is for, its body, all of it."""

    name: str
    description: str
    body: str
    text: str

    @property
    def short(self) -> str:
        return self.name.partition("taskie-")[2] or self.name


@dataclass(frozen=True)
class Form:
    """`files`: what a prompt becomes, by paths below the client's folder; `places`: patterns of all such paths, also of
    earlier versions, the deeper ones first. `in_user` are made in the user's own folder only."""

    files: Callable[[Prompt], Mapping[str, str]]
    places: tuple[str, ...]
    in_user: Callable[[Prompt], Mapping[str, str]] = lambda _: {}


def read(name: str, text: str) -> Prompt:
    front = _FRONT.match(text)
    described = _DESCRIPTION.search(front[1]) if front else None
    description = described[1].strip("\"'") if described else name
    return Prompt(name, description, text[front.end() :] if front else text, text)


def _skill(prompt: Prompt, description: str, body: str) -> dict[str, str]:
    text = f"---\nname: {prompt.name}\ndescription: {_quoted(description)}\n---\n{body}"
    return {os.path.join("skills", prompt.name, "SKILL.md"): text}


def _codex(prompt: Prompt) -> dict[str, str]:
    """Its text is passed on as it is: Codex has no $ARGUMENTS."""
    body = prompt.body.replace("$ARGUMENTS", f"what follows ${prompt.name} in their message.")
    policy = {os.path.join("skills", prompt.name, "agents", "openai.yaml"): _POLICY}
    return {**_skill(prompt, prompt.description, body), **policy}


def _of_codex_before_skills(prompt: Prompt) -> dict[str, str]:
    return {os.path.join("prompts", f"{prompt.name}.md"): prompt.text}


def _skills(prompt: Prompt) -> dict[str, str]:
    """Copilot CLI. In `-p` it is the model that takes up a skill, so the description says who is to ask for it."""
    body = prompt.body.replace("$ARGUMENTS", f"what follows /{prompt.name} in their message.")
    return _skill(prompt, f"Only when the user says /{prompt.name}: {prompt.description}", body)


def _markdown(prompt: Prompt) -> dict[str, str]:
    body = prompt.body.replace("$ARGUMENTS", "{{args}}")
    text = f"---\ndescription: {_quoted(prompt.description)}\n---\n{body}"
    return {os.path.join("commands", "taskie", f"{prompt.short}.md"): text}


def _toml(prompt: Prompt) -> dict[str, str]:
    body = prompt.body.replace("$ARGUMENTS", "{{args}}").strip()
    text = f"description = {_quoted(prompt.description)}\nprompt = {_quoted(body)}\n"
    return {os.path.join("commands", "taskie", f"{prompt.short}.toml"): text}


def _quoted(text: str) -> str:
    """JSON's texts are texts in YAML and in TOML too."""
    return json.dumps(text, ensure_ascii=False)


_SKILL = os.path.join("skills", "*", "SKILL.md")
# Codex reads `prompts/NAME.md` up to 0.116 and `skills/NAME/SKILL.md` since.
CODEX = Form(
    _codex,
    (os.path.join("prompts", "*"), os.path.join("skills", "*", "agents", "openai.yaml"), _SKILL),
    in_user=_of_codex_before_skills,
)
SKILLS = Form(_skills, (_SKILL,))
QWEN = Form(_markdown, (os.path.join("commands", "taskie", "*.md"),))
GEMINI = Form(_toml, (os.path.join("commands", "taskie", "*.toml"),))
