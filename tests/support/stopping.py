"""Stops of the hook without its process. Knows no test."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_taskie import Events, HookResult, Project, RunHook
from support import HOOK
from support.commands import run_here


class Stops(RunHook):
    """Runs the hook as `run_hook` does, but in this process: an interpreter's start costs ten times a stop.

    What the process adds (the shell's start, the isolated interpreter, real pipes) is not tried then. So a stop gets
    a process where the test names a command or an open file, and in another thread: a process has only one working
    directory, one environment and one stdin. `process` asks for one.
    """

    def __init__(self, project: Project, run_hook: RunHook, events: Events, *words: str) -> None:
        self.process = run_hook
        self._project = project
        self._events = events
        self._words = words

    def __call__(
        self,
        event: Mapping[str, Any] | None = None,
        *,
        command: Any = None,
        stdin: Any = None,
        env: Mapping[str, str | None] | None = None,
        cwd: os.PathLike[str] | str | None = None,
        timeout: float = 60.0,
        entry: Mapping[str, Any] | None = None,
    ) -> HookResult:
        here = threading.current_thread() is threading.main_thread() and command is None and entry is None
        if not here or not isinstance(stdin, (str, bytes, type(None))):
            if command is None and self._words:
                command = [HOOK, *self._words]
            return self.process(event, command=command, stdin=stdin, env=env, cwd=cwd, timeout=timeout, entry=entry)
        where = Path(cwd or self._project.path)
        if stdin is None:
            stdin = json.dumps(self._events.stop(cwd=str(where)) if event is None else event, ensure_ascii=False) + "\n"
        given = {"CLAUDECODE": "1", "CLAUDE_PROJECT_DIR": str(self._project.path), "PWD": str(where)}
        wanted = {**given, **self._project.env, **(env or {})}
        before = self._project.states()
        begun = time.perf_counter()
        done = run_here(
            ["stop-hook", *self._words],
            cwd=where,
            env={name: value for name, value in wanted.items() if value is not None},
            stdin=stdin if isinstance(stdin, bytes) else stdin.encode("utf-8", "surrogatepass"),
        )
        return HookResult(
            " ".join(("taskie stop-hook", *self._words)),
            done.code,
            done.out,
            done.err,
            time.perf_counter() - begun,
            "Stop",
            before,
            self._project.states(),
        )
