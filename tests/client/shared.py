"""One real client for the rows of many tests: to start it costs ten times as much as a prompt in a running session.

Knows how to give each row a hook with words of its own and a prompt of its own; not what is expected of any row.
"""

from __future__ import annotations

import dataclasses
import itertools
import shlex
from collections.abc import Iterator
from pathlib import Path

from pytest_taskie.client import ClaudeClient, Session, Turn, repeat
from pytest_taskie.client._runs import Run, system_messages
from pytest_taskie.client._scripted import Bench

from .outputs import Output

# So many prompts of one session: each request repeats all before it.
AT_ONCE = 25
# Words that would make every later request as long.
LONG = 10_000
HOOK = """\
{head}cd {folder} && cat stdout && cat stderr >&2 && exit "$(cat code)"
"""


class SharedClient:
    """Sessions of one client whose hook prints what the row at hand says. Each row gets the `Run` of its own prompt."""

    def __init__(self, bench: Bench, event: str, head: str) -> None:
        self._class: type[ClaudeClient] = type("ClaudeClient", (ClaudeClient,), {"_bench": bench})
        self._bench, self._event, self._head = bench, event, head
        self._folders = itertools.count()
        self._turns: Iterator[Turn] = iter(())
        self._session: Session | None = None
        self._folder = Path()
        self._prompts = self._told = 0

    def run(self, output: Output, prompt: str, *turns: Turn) -> Run:
        """One prompt, at which the hook prints this; the model says these, and the last of them again and again."""
        session = self._session or self._start()
        for name, text in (("stdout", output.stdout), ("stderr", output.stderr), ("code", str(output.exit_code))):
            (self._folder / name).write_bytes(text.encode())
        self._turns = itertools.chain(turns, itertools.repeat(turns[-1]))
        self._session = None  # unless all goes well
        run = session.prompt(prompt)
        self._session = session
        new = run.transcript[self._told :]
        self._told += len(new)
        self._prompts += 1
        # What is answered late would be told at another row's prompt.
        if self._prompts >= AT_ONCE or len(output.stdout) > LONG or '"async"' in output.stdout:
            self.end()
        told = tuple(system_messages(new, run.events))
        return dataclasses.replace(run, transcript=new, system_messages=told)

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

    def _start(self) -> Session:
        self._folder = self._bench.scratch / f"session-{next(self._folders)}"
        self._folder.mkdir()
        hook = self._folder / "hook.sh"
        hook.write_text(HOOK.format(head=self._head, folder=shlex.quote(str(self._folder))), encoding="utf-8")
        hook.chmod(0o755)
        # A home of its own: in another's the hooks of the session before would be run too.
        client = self._class(hooks={self._event: self.command}, env={"HOME": str(self._folder / "home")})
        client.agent(repeat(lambda _: next(self._turns)))
        self._prompts = self._told = 0
        return client.session()
