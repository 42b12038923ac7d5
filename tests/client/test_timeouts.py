"""A hook past its timeout, and whom the client kills then."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie.client import tool

pytestmark = pytest.mark.client

Observe = Callable[[str, object], None]
SH = "#!/bin/sh\n"
# For as long as the longest wait here, then it gives up by itself.
BEAT = "for _ in $(seq 300); do sleep 0.1; done"


def test_a_hook_past_its_timeout_allows_the_stop(
    claude_client: Any, hook_file: Any, version: Any, observe: Observe, keeps: Any, measures: Any
) -> None:
    block = """printf '{"decision":"block","reason":"more please"}'"""
    client = claude_client(hooks={"Stop": {"command": hook_file(f"{block}; exec sleep 30"), "timeout": 1}})
    client.agent("Done.")
    run = client.prompt("go on")
    assert run.feedback == ()
    assert run.duration < 12
    if version >= (2, 1):
        assert run.stops[0].decision is None
        observe("outcome of a hook past its timeout", run.stops[0].outcome)
    assert keeps("Stop", "timeout", "blocked" if run.feedback else "allowed") == []
    measures("switches", "timeout", unit="seconds", effect="past it the hook is ended, and the client goes its way")


WAIT = """
for _ in $(seq 60); do kill -0 $(cat {pid}) 2>/dev/null || {{ echo dead; exit 0; }}; sleep 0.1; done; echo alive
"""


@pytest.mark.parametrize("own_session", [False, True], ids=["in its group", "in its own session"])
def test_whom_a_timeout_kills(
    own_session: bool,
    claude_client: Any,
    hook_file: Any,
    tmp_path: Path,
    project: Any,
    version: Any,
    observe: Observe,
    measures: Callable[..., None],
) -> None:
    """On a tool's hook, so that the agent can look afterwards; the client runs all hooks alike."""
    child = hook_file(
        f"trap 'echo term >> {tmp_path}/child' TERM; echo $$ > {tmp_path}/child.pid; {BEAT}", "child.sh", SH
    )
    start = f"{'setsid ' if own_session else ''}{child} </dev/null >/dev/null 2>&1 &"
    beat = f"date +%s.%N > {tmp_path}/beat.part; mv {tmp_path}/beat.part {tmp_path}/beat"
    hook = f"trap 'date +%s.%N >> {tmp_path}/hook' TERM; echo $$ > {tmp_path}/hook.pid; {start}\n"
    hook += BEAT.replace("sleep 0.1", f"{beat}; sleep 0.1")
    entry = {"type": "command", "command": hook_file(hook, head=SH), "timeout": 1}
    client = claude_client(settings={"hooks": {"PostToolUse": [{"matcher": "Write", "hooks": [entry]}]}})
    client.agent(
        tool("Write", file_path=project.path / "x.md", content="x"),
        tool("Bash", command=WAIT.format(pid=tmp_path / "hook.pid").strip(), description="x"),
        tool("Bash", command=WAIT.format(pid=tmp_path / "child.pid").strip(), description="x"),
        "Done.",
    )
    run = client.prompt("go on")
    told = [request.last.strip() for request in run.requests if request.tools]
    fate = {"hook": told[2].split()[0], "child": told[3].split()[0]}
    warned = {who: (tmp_path / who).exists() for who in fate}
    name = "in its own session" if own_session else "in its group"
    ends = [f"{who}: {'SIGTERM, ' if warned[who] else ''}{end}" for who, end in fate.items()]
    observe(f"timeout: a hook and its child {name}, both deaf to SIGTERM", "; ".join(ends))
    # Measured: 2.1.120 and older kill the whole tree at once; 2.1.197 asks first, and then spares other sessions;
    # 2.1.290 spares nobody.
    polite = version >= (2, 1, 197)
    spares = own_session and (2, 1, 197) <= version < (2, 1, 290)
    assert warned == {"hook": polite, "child": polite}
    assert fate == {"hook": "dead", "child": "alive" if spares else "dead"}
    if polite and not own_session:
        # Measured on an idle machine: 1.45 seconds.
        seconds = float((tmp_path / "beat").read_text()) - float((tmp_path / "hook").read_text().split()[0])
        order = ["SIGTERM", "SIGKILL"] if seconds > 0 else ["SIGKILL"]
        measures("signals", "timeout", order=order, at_least_seconds=min(1, int(seconds)), to="the hook's group")


def test_a_killed_client_leaves_its_hook(claude_client: Any, hook_file: Any, tmp_path: Path) -> None:
    survived = tmp_path / "survived"
    hook = f"kill -9 $PPID; while kill -0 $PPID 2>/dev/null; do sleep 0.05; done; echo yes > {survived}"
    client = claude_client(hooks={"Stop": hook_file(f"sleep 0.2; {hook}")})
    program = " ".join(client.installation.command)
    # Everything ends with the program that was started; so something must outlast the client and look.
    outlast = hook_file(
        f'{program} "$@"; for _ in $(seq 100); do [ -e {survived} ] && exit 0; sleep 0.05; done; exit 1',
        "outlast.sh",
        SH,
    )
    client.installation = dataclasses.replace(client.installation, command=(outlast,))
    client.agent("Done.")
    run = client.prompt("go on")
    assert survived.exists()
    assert run.exit_code == 0
