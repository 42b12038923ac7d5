"""Many answers of a hook in one running client, and what became of each. Knows no client's contract.

Each row has a prompt of its own; the hook of the event at hand prints the row once, and every event's hook keeps what
it was told. Where the running client asks no hook about tools, their rows follow each other in print mode.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pytest_taskie.client import ScriptedClient, Turn, repeat, shell
from pytest_taskie.client._request import Request, text_of

from .answer_rows import ANSWERS, ENOUGH, NEVER_ENDS, Answer
from .conversing import CONVERSATIONS, Conversation

Json = dict[str, Any]
Row = tuple[int, Answer]
TOOLS = ("PreToolUse", "PostToolUse")
# A file for each payload; the answer once, where there is one for this event.
HOOK = """\
#!/bin/sh
cd {folder}
cat > "told/$$-{event}.json"
[ -e {event}.on ] || exit 0
rm {event}.on
cat stdout; cat stderr >&2
read -r code < code
[ "$code" -ge 0 ] || kill "$code" $$
exit "$code"
"""


@dataclass(frozen=True)
class Seen:
    """What the client did with one answer. `told` is what its model was told next, None if it was asked no more."""

    event: str
    answer: Answer
    fired: bool
    prompt: str | None
    told: str | None
    made: bool
    changed: bool
    asked: bool
    refused: bool

    @property
    def effect(self) -> str:
        """As one who does not know the hook sees it."""
        effect = self._effect()
        return "refused" if effect == "allowed" and self.refused else effect

    def _effect(self) -> str:
        if self.event == "UserPromptSubmit":
            return "blocked" if self.prompt is None else "context" if self.heard(self.prompt) else "allowed"
        if self.event == "Stop" and self.answer.kind == "continue-false":
            return "stopped" if self.told is None else "blocked" if ENOUGH in self.told else "allowed"
        if self.event == "Stop":
            return "allowed" if self.told is None else "blocked"
        if self.asked:
            return "asked"
        if self.told is None:
            return "stopped"
        if self.event == "PreToolUse" and not self.made:
            return "blocked"
        if not self.heard(self.told):
            return "allowed"
        return "context" if self.answer.kind in ("context", "text") or self.event == "PreToolUse" else "blocked"

    def heard(self, text: str) -> bool:
        """Whether what the hook has said is in it."""
        said = (self.answer.stdout.strip(), self.answer.stderr.strip(), "more please", "No reason provided")
        return any(words in text for words in said if words)


class Answering:
    """One client in which the rows are tried: `seen()` gives them one by one."""

    def __init__(self, client: ScriptedClient, folder: Path) -> None:
        self.client, self.folder = client, folder
        (folder / "told").mkdir()
        self._next: Callable[[], Turn] = str
        client.agent(repeat(self._answer))

    def seen(self) -> Iterator[Seen]:
        kind = CONVERSATIONS[self.client.installation.kind]
        conversation = kind(self.client, self.hooked())
        for event in ANSWERS:
            answers = [one for one in ANSWERS[event] if (self.client.installation.kind, one.name) not in NEVER_ENDS]
            if event not in TOOLS or kind.asks_about_tools:
                for number, answer in enumerate(answers):
                    seen = self._prompted(conversation, event, number, answer)
                    # A command of a tool that is ended by a signal, as happens on a busy machine, is another event.
                    yield seen if seen.fired else self._prompted(conversation, event, number + 100, answer)
        conversation.end()
        if not kind.asks_about_tools:
            for event in TOOLS:
                yield from self._printed(event, list(enumerate(ANSWERS[event])))

    def hooked(self) -> dict[str, str]:
        """The environment of a client whose home has the hooks."""
        environment = self.client._environment()
        home = Path(environment["HOME"])
        groups = {}
        for event in (*ANSWERS, "SessionStart", "SessionEnd"):
            path = self.folder / f"{event}.sh"
            path.write_text(HOOK.format(folder=shlex.quote(str(self.folder)), event=event), encoding="utf-8")
            entry = {"type": "command", "command": f"exec sh {shlex.quote(str(path))}"}
            groups[self.client.events.get(event, event)] = [{"hooks": [entry]}]
        self.client._write_groups(home, groups)  # type: ignore[attr-defined]  # of those that are spied on
        return environment

    def told(self) -> dict[str, list[Json]]:
        """The payloads of each event."""
        found: dict[str, list[Json]] = {}
        for file in sorted((self.folder / "told").iterdir(), key=lambda file: file.stat().st_mtime_ns):
            event, payload = file.stem.partition("-")[2], file.read_text(encoding="utf-8")
            # Of a client that has ended meanwhile its last hook may have heard nothing.
            found.setdefault(event, []).extend([json.loads(payload)] if payload else [])
        return found

    def _answer(self, request: Request) -> Turn:
        return self._next() if request.tools else "Nothing."

    def _prompted(self, conversation: Conversation, event: str, number: int, answer: Answer) -> Seen:
        self._lay(event, answer)
        calls = [shell(f"touch made-{event}-{number}")] if event in TOOLS else []
        self._next = lambda: calls.pop() if calls else f"Said {len(self.client.requests)}."
        before, asked = len(self.client.requests), conversation.asked
        said = conversation.prompt(f"please {event}-{number}")
        told = _told(self.client.requests[max(before - 1, 0) :], before)
        return self._look(
            event, number, answer, told, *self._done(event), conversation.asked > asked, conversation.refused(said)
        )

    def _printed(self, event: str, rows: list[Row]) -> Iterator[Seen]:
        """The rows of a tool's event as calls that follow each other; after one that ends the turn another run."""
        while rows:
            begun: list[Row] = []
            ended: list[tuple[bool, bool]] = []

            self._next = partial(self._call, event, rows, begun, ended)
            before = len(self.client.requests)
            self.client._start("please", [], self.hooked(), None, None)
            told = _told(self.client.requests[before:], 0)
            if len(ended) < len(begun):
                ended.append(self._done(event))
            for at, ((number, answer), end) in enumerate(zip(begun, ended)):
                yield self._look(event, number, answer, told[at:], *end, False, False)
            rows = rows[len(begun) :]

    def _call(self, event: str, rows: list[Row], begun: list[Row], ended: list[tuple[bool, bool]]) -> Turn:
        """The next row, once the one before is done with."""
        if begun:
            ended.append(self._done(event))
        if len(begun) == len(rows):
            return "Done."
        begun.append(rows[len(begun)])
        number, answer = begun[-1]
        self._lay(event, answer)
        return shell(f"touch made-{event}-{number}")

    def _lay(self, event: str, answer: Answer) -> None:
        for name, text in (("stdout", answer.stdout), ("stderr", answer.stderr), ("code", f"{answer.exit_code}\n")):
            (self.folder / name).write_bytes(text.encode())
        (self.folder / f"{event}.on").touch()

    def _done(self, event: str) -> tuple[bool, bool]:
        """Whether the hook has answered, and whether another command was run than the one that was asked for."""
        unanswered, changed = self.folder / f"{event}.on", self.client.project.path / "changed"
        found = not unanswered.exists(), changed.exists()
        unanswered.unlink(missing_ok=True)
        changed.unlink(missing_ok=True)
        return found

    def _look(
        self,
        event: str,
        number: int,
        answer: Answer,
        told: Sequence[str],
        fired: bool,
        changed: bool,
        asked: bool,
        refused: bool,
    ) -> Seen:
        made = changed or (self.client.project.path / f"made-{event}-{number}").exists()
        first, second = [*told, None, None][:2]
        return Seen(event, answer, fired, first, second, made, changed, asked, refused)


def _told(requests: Sequence[Request], known: int) -> list[str]:
    """What is new in each request; of the first one nothing is `known` if it begins a conversation."""
    asked = [request for request in requests if request.tools]
    befores = [0, *(len(request.messages) for request in asked)]
    news = ["\n".join(map(text_of, request.messages[at:])) for at, request in zip(befores, asked)]
    return news[1 if known else 0 :]
