"""The script with which the agent runs Codex: made of values, self-contained. Runs and writes nothing itself."""

from __future__ import annotations

from taskie.claudex.state import PLAN
from taskie.claudex.texts import prompt, title
from taskie.project import quoted
from taskie.protocol import shown, speakable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from taskie.claudex.state import Loop
    from taskie.claudex.texts import Names

TERMINATOR = "PROMPTEOF"
# What may come after `codex exec`, by the setting `[claudex] sandbox`.
SANDBOX = {"bypass": "--dangerously-bypass-approvals-and-sandbox", "workspace-write": "--sandbox workspace-write"}


def asked(loop: Loop, round_: int, names: Names) -> str:
    """The prompt as it is sent."""
    return prompt(loop, round_, names).replace("\0", "")  # bash would drop it too, with a complaint


def script(loop: Loop, round_: int, names: Names, sandbox: str) -> bytes:
    """The runner of one round. The topic goes into the prompt byte for byte: nothing in it is expanded.

    It writes nothing. It holds the prompt as well, and sends the file only if the same stands in it: it may have been
    changed since, or become a link that leads elsewhere.
    """
    text_of_prompt = asked(loop, round_, names)
    end = terminator(text_of_prompt)
    first = shown(title(loop, round_), 400)
    again = "the next stop writes it again" if loop.mode == PLAN else "start the review again"
    text = f"""\
#!/usr/bin/env bash
# {first}
# Loop {loop.review_id}. Written by Taskie, and again for each round: changes are lost.

printf '%s\\n' {quoted(first)}
cd -- {quoted(names.root)} || exit 1
PROMPT_FILE={quoted(names.prompt)}
if ! command -v codex >/dev/null 2>&1; then
    echo "codex is not installed, or not on PATH. Install it (npm install -g @openai/codex) and run this again." >&2
    exit 1
fi
# Hooks that Codex fires stay out of the loop that runs it.
export TASKIE_HOOK_SKIP=1
if [ -L "$PROMPT_FILE" ] || ! cmp -s "$PROMPT_FILE" - <<'{end}'
{text_of_prompt}{end}
then
    echo "$PROMPT_FILE is not the prompt that Taskie wrote, so it is not sent; {again}" >&2
    exit 1
fi
codex exec {SANDBOX[sandbox]} < "$PROMPT_FILE"
"""
    return encoded(text)


def terminator(text: str) -> str:
    """A word that is not a line of the text, so that no line of it can end the heredoc."""
    lines = set(text.split("\n"))
    word = TERMINATOR
    number = 0
    while word in lines:
        number += 1
        word = f"{TERMINATOR}_{number}"
    return word


def encoded(text: str) -> bytes:
    """The bytes as they came in, including those that are not UTF-8."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return speakable(text).encode("utf-8")
