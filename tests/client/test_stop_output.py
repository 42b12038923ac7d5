"""What the client makes of a Stop hook's output, row by row, and that `judge` says the same of every row."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie._judgement import judge
from pytest_taskie.client import ClaudeClient, repeat
from pytest_taskie.client._runs import FEEDBACK, Run, system_messages

from .outputs import ALLOWED, BLOCKED, LOST, OTHERS, Output
from .prompts import SESSIONS, prompts

pytestmark = pytest.mark.client

TABLES = {"allowed": ALLOWED, "blocked": BLOCKED, "lost": LOST, "others": OTHERS}
Version = tuple[int, ...]


def effect(run: Run, entries: Sequence[Any]) -> str:
    """What the client did after the first stop; the entries are those of its transcript since the prompt before."""
    agents = [request for request in run.requests if request.tools]
    if any("hook_stopped_continuation" in str(entry.get("attachment")) for entry in entries):
        return "stopped"
    if len(agents) == 1:
        return "allowed"
    return "continued" if run.stops[0].context is not None else "blocked"


@pytest.mark.parametrize("name", TABLES)
def test_output(
    name: str,
    claude_client: type[ClaudeClient],
    hook_file: Callable[..., str],
    tmp_path: Path,
    version: Version,
    observe: Callable[[str, object], None],
    measures: Callable[..., None],
) -> None:
    """One session for all of them: each prompt's stop is another row's."""
    command = hook_file(f"cd {tmp_path}; cat stdout; cat stderr >&2; exit $(cat code)")
    client = claude_client(hooks={"Stop": command}, env={"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "0"}, timeout=120)
    client.agent(repeat("Done."))
    wrong, before = {}, 0
    with prompts(client, version) as prompt:
        for output in sorted(TABLES[name], key=late):
            for part, text in (("stdout", output.stdout), ("stderr", output.stderr), ("code", str(output.exit_code))):
                (tmp_path / part).write_bytes(text.encode())
            run = prompt("go on")
            entries = run.transcript[before:]
            before = len(run.transcript) if version >= SESSIONS else 0
            found = effect(run, entries)
            observe(f"output: {output.name}", found)
            if output.name == f"exit {output.exit_code}":
                measures("exits", str(output.exit_code), at="Stop", effect=found)
            why = [*differs(output, run, found, version), *judged(output, run, entries, command, version)]
            wrong.update({output.name: why} if why else {})
    assert wrong == {}


def late(output: Output) -> tuple[bool, int]:
    """What comes last: a long reason, which is in every later request, and a hook that ends in a later turn."""
    return waits_for_nobody(output), len(output.stdout)


def waits_for_nobody(output: Output) -> bool:
    return '"async"' in output.stdout


def differs(output: Output, run: Run, found: str, version: Version) -> list[str]:
    """How the run is not what the table says, or not what a run should be."""
    goes_on = found in ("blocked", "continued")
    checks = {
        f"{found}, not {output.expected(version)}": found == output.expected(version),
        f"exit code {run.exit_code}": run.exit_code in (0, None),
        f"stops {run.stops}": waits_for_nobody(output) or run.stops[0].decision == ("block" if goes_on else None),
        # The end of a turn beats what another field says.
        f"feedback {run.feedback}": found == "stopped" or bool(run.feedback) == goes_on,
    }
    return [why for why, right in checks.items() if not right]


def judged(output: Output, run: Run, entries: Sequence[Any], command: str, version: Version) -> list[str]:
    """How `judge` says otherwise, where it is about this client."""
    if output.expected(version) != output.effect:
        return []
    reading = judge(output.exit_code, output.stdout, output.stderr, "Stop", command)
    checks = {f"judge says {reading.outcome}": reading.outcome == output.effect}
    if output.effect == "blocked":
        told = f"{FEEDBACK}{'- ' if version < (2,) else ''}{reading.reason}"
        heard = any(request.last.startswith(told) for request in run.requests)
        checks[f"the feedback is not {told[:300]!r}"] = run.feedback == (told,) and heard
    if version >= (2, 1):
        said = system_messages(entries, run.events)
        checks[f"the user reads {said}"] = said == ([reading.system_message] if reading.system_message else [])
    return [why for why, right in checks.items() if not right]
