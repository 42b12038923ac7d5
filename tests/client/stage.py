"""A session of the real client in which the hook of every event says what a row of a table says, once.

Knows how to give a hook its words and to keep what the client then did, prompt by prompt; not what any of it means.
"""

from __future__ import annotations

import json
import shlex
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_taskie.client import ClaudeClient, McpServer, repeat
from pytest_taskie.client._request import Request, text_of
from pytest_taskie.client._runs import Run

SECONDS = 10.0
STRICT = "-strict"

# A hook speaks once: the folder with its words is gone then, which also says that it was run. It starts no program that
# it does not need: it is run thousands of times.
HOOK = """\
#!/bin/sh
read -r _
cd {folder} || exit 1
if [ -e "now/$1" ] && mv "now/$1" "said/$1.$$" 2> /dev/null; then
    cd "said/$1.$$"
    [ ! -s seconds ] || sleep "$(cat seconds)"
    [ ! -s stdout ] || cat stdout
    [ ! -s stderr ] || cat stderr >&2
    read -r code < code
    exit "$code"
fi
if [ "$1" = WorktreeCreate ]; then mkdir "tree.$$" && echo "{folder}/tree.$$"; fi
"""


@dataclass
class Seen:
    """What the client did after a hook had spoken: `happened` says whether what the event is about did.

    `told` is all that the model knows at the end, `news` what it was told after the prompt.
    """

    run: Run
    requests: list[Request] = field(default_factory=list)
    told: str = ""
    news: str = ""
    happened: bool = False
    granted: bool = False
    asked: bool = False
    continued: bool = False
    deferred: bool = False
    ended: bool = False
    stopped: bool = False
    interrupted: bool = False
    error: str | None = None
    extra: Any = None


class Stage:
    """One session: `says` gives an event's hook its words, `prompt` lets the client go on and keeps what it did."""

    def __init__(self, client: ClaudeClient, folder: Path) -> None:
        self.client = client
        self.folder = folder
        self.path = Path(client.project.path)
        self.turns: list[Any] = []
        self.session: Any = None
        self.server: McpServer
        self._stops = 0
        self._asked = 0
        client.agent(repeat(self._answer))

    def _answer(self, request: Request) -> Any:
        return self.turns.pop(0) if self.turns else "Done."

    @contextmanager
    def opens(self, *args: str) -> Iterator[None]:
        """The session, with these arguments."""
        self._stops = 0
        with self.client.session(args=args) as self.session:
            self._asked = 0
            self.session.permit()
            yield

    def says(self, event: str, stdout: str, stderr: str, code: int, seconds: float = 0) -> None:
        """The next time that this event's hook is run it says this."""
        words = {"stdout": stdout, "stderr": stderr, "code": f"{code}\n", "seconds": str(seconds or "")}
        (self.folder / "next").mkdir()
        for name, text in words.items():
            (self.folder / "next" / name).write_bytes(text.encode())
        (self.folder / "next").rename(self.folder / "now" / event)

    def spoken(self, event: str) -> bool:
        """Whether its hook has been run, within some seconds: of a few events the client does not wait for the hook."""
        until = time.monotonic() + SECONDS
        while (self.folder / "now" / event).exists():
            if time.monotonic() > until:
                return False
            time.sleep(0.01)
        return True

    def withdraws(self, event: str) -> bool:
        """Take the words of a hook back; whether they were still unsaid."""
        there = self.folder / "now" / event
        return there.exists() and bool(there.rename(self.folder / f"withdrawn-{time.monotonic_ns()}"))

    @contextmanager
    def silent(self, event: str) -> Iterator[None]:
        """Meanwhile its hook says nothing."""
        names = [name for name in (event, f"{event}{STRICT}") if (self.folder / "now" / name).exists()]
        for name in names:
            (self.folder / "now" / name).rename(self.folder / name)
        yield
        for name in names:
            (self.folder / name).rename(self.folder / "now" / name)

    def waits(self, event: str) -> str:
        """A command that ends once the event's hook has spoken."""
        there = shlex.quote(str(self.folder / "now" / event))
        return f"n=0; while [ -e {there} ] && [ $n -lt 100 ]; do sleep 0.05; n=$((n+1)); done"

    def prompt(self, text: str, *turns: Any) -> Seen:
        """Say something; these are the model's turns, and it says Done. after them."""
        self.turns = [*turns]
        return self.looks(self.session.prompt(text), text)

    def looks(self, run: Run, text: str) -> Seen:
        """What can be seen of a run."""
        requests = [request for request in run.requests if request.tools]
        stops = sum("hook_stopped_continuation" in json.dumps(entry.get("attachment", "")) for entry in run.transcript)
        asked = len(self.session.asked) if self.session else 0
        seen = Seen(run, requests, told(requests), news(requests, text))
        seen.stopped, seen.asked = stops > self._stops, asked > self._asked
        self._stops, self._asked = stops, asked
        return seen


def news(requests: Sequence[Request], prompt: str) -> str:
    """What the model was told with the prompt and after it."""
    texts = [text_of(message) for request in requests[-1:] for message in request.messages]
    start = max((number for number, text in enumerate(texts) if prompt in text), default=0)
    return "\n".join(texts[start:])


def told(requests: Sequence[Request]) -> str:
    """Everything that the model was told in these requests, with what it knew before."""
    texts = [text_of(message) for request in requests[-1:] for message in request.messages]
    return "\n".join([*(request.system for request in requests[-1:]), *texts])


def hook_settings(folder: Path, events: Iterable[str]) -> dict[str, Any]:
    """The settings of a client in which these events have such a hook, and another one that must not fail."""
    for name in ("now", "said"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    hook = folder / "hook.sh"
    hook.write_text(HOOK.format(folder=shlex.quote(str(folder))))
    hook.chmod(0o755)
    groups: dict[str, Any] = {}
    for event in events:
        lines = {event: {}, f"{event}{STRICT}": {"onFailure": "block"}}
        if event == "WorktreeCreate":  # one of two that say nothing would fail
            del lines[f"{event}{STRICT}"]
        entries = [{"type": "command", "command": command(folder, name), **more} for name, more in lines.items()]
        group: dict[str, Any] = {"hooks": entries}
        if event == "FileChanged":  # which has to be told the files
            group["matcher"] = "watched.txt"
        groups[event] = [group]
    return {"hooks": groups}


def command(folder: Path, event: str) -> str:
    return f"{shlex.quote(str(folder / 'hook.sh'))} {event}"
