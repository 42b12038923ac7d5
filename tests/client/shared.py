"""One real client for the rows of many tests: to start it costs ten times as much as a prompt in a running session.

Knows how to give each row a hook with words of its own and a prompt of its own; not what is expected of any row.
"""

from __future__ import annotations

import dataclasses
import itertools
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_taskie.client import ClaudeClient, Session, Turn, repeat
from pytest_taskie.client._hook_runs import Json
from pytest_taskie.client._runs import Run, parse_lines, system_messages
from pytest_taskie.client._scripted import Bench

from .outputs import Output

# So many prompts of one session: each request repeats all before it.
AT_ONCE = 25
# Before, nothing in the transcript shows that all of a stop has been written there. What can be known from it alone
# has a run of its own then.
FIRST_WITH_SUMMARY = (2, 1, 290)
TOLD_IN_TRANSCRIPT = ('"continue"', '"systemMessage"')
SECONDS = 20.0
# Words that would make every later request as long.
LONG = 10_000
HOOK = """\
{head}cd {folder} && cat stdout && cat stderr >&2 && exit "$(cat code)"
"""


class SharedClient:
    """Sessions of one client whose hook prints what the row at hand says. Each row gets the `Run` of its own prompt."""

    _client: ClaudeClient

    def __init__(
        self,
        bench: Bench,
        event: str,
        head: str,
        args: Sequence[str] = (),
        entry: Mapping[str, Any] | None = None,
    ) -> None:
        self._class: type[ClaudeClient] = type("ClaudeClient", (ClaudeClient,), {"_bench": bench})
        self._args = args
        self._bench, self._event, self._head = bench, event, head
        self._entry = dict(entry or {})
        # One that was given by its path counts as the newest.
        installation = bench.installation
        self._older = bool(installation.version) and installation.numbers < FIRST_WITH_SUMMARY
        self._folders = itertools.count()
        self._turns: Iterator[Turn] = iter(())
        self._session: Session | None = None
        self._folder = Path()
        self._prompts = self._told = 0

    def run(self, output: Output, prompt: str, *turns: Turn) -> Run:
        """One prompt, at which the hook prints this; the model says these, and the last of them again and again."""
        # What a hook says late comes at another prompt, or after the end.
        late = ('"async"', *(TOLD_IN_TRANSCRIPT if self._older and self._event == "Stop" else ()))
        alone = any(word in output.stdout for word in late)
        if alone:
            self.end()
        if self._session is None:
            self._make_client()
        for name, text in (("stdout", output.stdout), ("stderr", output.stderr), ("code", str(output.exit_code))):
            (self._folder / name).write_bytes(text.encode())
        self._turns = itertools.chain(turns, itertools.repeat(turns[-1]))
        if alone:
            return self._client.prompt(prompt)
        # Nobody goes on with a session in which something went wrong.
        session, self._session = self._session or self._client.session(), None
        run = session.prompt(prompt)
        self._session = session
        new = self._written(run)
        self._told += len(new)
        self._prompts += 1
        if self._prompts >= AT_ONCE or len(output.stdout) > LONG:
            self.end()
        return dataclasses.replace(run, transcript=new, system_messages=tuple(system_messages(new, run.events)))

    def _written(self, run: Run) -> list[Json]:
        """What the client adds to its transcript at this prompt; it may still be writing about the last stop."""
        until = time.monotonic() + SECONDS
        while True:
            files = self._client._transcripts(self._folder / "home", str(run.result["session_id"]))
            new = [entry for file in files for entry in parse_lines(file.read_text(encoding="utf-8"))][self._told :]
            stops = sum(1 for entry in new if entry.get("subtype") == "stop_hook_summary")
            if self._older or stops >= len(run.stops) or time.monotonic() > until:
                return new
            time.sleep(0.01)

    @property
    def command(self) -> str:
        """What stands in the settings for the hook of the newest session."""
        return shlex.quote(str(self._folder / "hook.sh"))

    def end(self) -> None:
        """Let the client end, as it does when nobody says anything more."""
        session, self._session = self._session, None
        if session is not None:
            assert session.end().exit_code == 0

    def close(self) -> list[str]:
        """End everything; what the clients had to complain about."""
        self.end()
        for client in self._bench.clients:
            client.close()
        return [complaint for client in self._bench.clients for complaint in client.complaints()]

    def _make_client(self) -> None:
        self._folder = self._bench.scratch / f"client-{next(self._folders)}"
        self._folder.mkdir()
        hook = self._folder / "hook.sh"
        hook.write_text(HOOK.format(head=self._head, folder=shlex.quote(str(self._folder))), encoding="utf-8")
        hook.chmod(0o755)
        # A home of its own: in another's the hooks of the session before would be run too.
        home = {"HOME": str(self._folder / "home")}
        hooks = {self._event: {"command": self.command, **self._entry}}
        self._client = self._class(hooks=hooks, args=self._args, env=home)
        self._client.agent(repeat(lambda _: next(self._turns)))
        self._prompts = self._told = 0


class Staying:
    """A client that stays for all prompts of a test, each the first of a conversation of its own."""

    def __init__(self, client: ClaudeClient) -> None:
        self._client = client
        self._session: Session | None = None

    def prompt(self, text: str) -> Run:
        if self._session is None:
            self._session = self._client.session()
        else:
            self._session.prompt("/clear")
        return self._session.prompt(text)
