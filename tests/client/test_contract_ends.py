"""What ends in Codex, Copilot CLI, Qwen Code and Gemini CLI: endless blocks, a hook past its time, spoiled settings.

In print mode, as a user starts it. What is found is compared with the contract data.
"""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Callable

import pytest

from pytest_taskie._judgement import judge
from pytest_taskie.client import ScriptedClient, repeat, shell

from .test_contracts import others
from .test_isolation import isolated

pytestmark = [pytest.mark.client, isolated]
AnyClient = type[ScriptedClient]
Finds = Callable[..., None]
# So often a hook blocks that somebody else has to stop, and with so much on stderr beside its first block.
ENOUGH = {"codex": 40, "copilot": 40, "qwen": 40, "gemini": 40}
FLOOD = 10_000_000
NO_LOOP = '{"unproductive_state_analysis": "It goes on.", "unproductive_state_confidence": 0.0}'
FOR_EVER = """\
#!/bin/sh
cat > /dev/null
echo x >> {folder}/stops
n=$(wc -l < {folder}/stops)
[ "$n" -le {enough} ] || exit 0
[ "$n" -gt 1 ] || head -c {flood} /dev/zero | tr '\\0' x >&2
echo "{{\\"decision\\": \\"block\\", \\"reason\\": \\"more please, $n\\"}}"
"""
# It hears SIGTERM and stays; it ends by itself after as long as the longest wait here.
DEAF = """\
#!/bin/sh
[ ! -e {folder}/began ] || exit 0
trap 'echo SIGTERM >> {folder}/heard' TERM
echo $$ > {folder}/began
for _ in $(seq 100); do sleep 0.1; done
echo end >> {folder}/heard
"""
LATE = """\
#!/bin/sh
echo '{"decision": "block", "reason": "more please"}'
exec sleep 30
"""
# A file of its own: Gemini CLI runs no command with a substitution in it.
LOOK = """\
#!/bin/sh
touch {folder}/called
for _ in $(seq 60); do kill -0 "$(cat {folder}/began)" 2> /dev/null || {{ echo it is dead; exit 0; }}; sleep 0.1; done
echo it lives
"""
# In what a second of `timeout` is written.
SECOND = {"gemini": 1000}
SPOILED = {
    "codex": ".codex/hooks.json",
    "copilot": ".copilot/hooks/taskie.json",
    "qwen": ".qwen/settings.json",
    "gemini": ".gemini/settings.json",
}


def script(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return f"sh {shlex.quote(str(path))}"


@others
def test_a_hook_that_blocks_for_ever(any_client: AnyClient, tmp_path: Path, finds: Finds) -> None:
    kind = any_client._bench.installation.kind  # type: ignore[union-attr]
    enough = ENOUGH[kind]
    hook = FOR_EVER.format(folder=shlex.quote(str(tmp_path)), enough=enough, flood=FLOOD)
    client = any_client(hooks={"Stop": script(tmp_path, "hook.sh", hook)}, wrap_hooks=False)  # type: ignore[call-arg]
    client.agent(repeat(lambda _: f"Said {len(client.requests)}."))
    # After thirty turns Gemini CLI asks a model, with the newest of them, whether this is a loop.
    client.agent(repeat(NO_LOOP), when="more please", toolless=True)
    run = client.prompt("go on")
    stops = len((tmp_path / "stops").read_text().split())
    requests = [request for request in run.requests if request.tools]
    # The first block was beside a flood on stderr.
    assert "more please, 1" in requests[1].last
    finds("limits", "stderr beside a block", at_least=FLOOD)
    # Where the hook itself has let go nobody else has.
    finds("limits", "cap", value=None if stops > enough else len(requests) - 1)
    finds("exits", "blocked for ever", exit_code=run.exit_code)


@others
def test_a_hook_past_its_time(any_client: AnyClient, tmp_path: Path, finds: Finds) -> None:
    kind = any_client._bench.installation.kind  # type: ignore[union-attr]
    limit = {"timeout": SECOND.get(kind, 1)}
    deaf = script(tmp_path, "deaf.sh", DEAF.format(folder=shlex.quote(str(tmp_path))))
    hooks = {
        "PreToolUse": {"command": f"exec {deaf}", **limit},
        "Stop": {"command": f"exec {script(tmp_path, 'late.sh', LATE)}", **limit},
    }
    client = any_client(hooks=hooks, wrap_hooks=False)  # type: ignore[call-arg]
    look = script(tmp_path, "look.sh", LOOK.format(folder=shlex.quote(str(tmp_path))))
    # Where the first call is denied, the second looks.
    client.agent(shell(f"touch made; {look}"), shell(look), repeat("Done."))
    run = client.prompt("go on")
    requests = [request for request in run.requests if request.tools]
    made = (client.project.path / "made").exists()
    heard = (tmp_path / "heard").read_text().split() if (tmp_path / "heard").exists() else []
    assert (tmp_path / "called").exists()
    alive = any("it lives" in request.last for request in requests)
    order = [*dict.fromkeys(heard)]
    if "end" in order:
        order = [*order[: order.index("end")], "nothing more: the client waits for its end"]
    elif not alive:
        order.append("SIGKILL")
    finds("signals", "timeout", order=order)
    finds("switches", "timeout", unit="milliseconds" if kind in SECOND else "seconds")
    finds("switches", "timeout", before_a_tool="allowed" if made else "blocked")
    finds("switches", "timeout", at_a_stop="blocked" if len(requests) > 3 else "allowed")
    outcome = judge(0, "", "", client=kind, version=client.version, timed_out=True).outcome
    assert outcome == ("blocked" if len(requests) > 3 else "allowed")


@others
def test_settings_that_the_client_cannot_read(any_client: AnyClient, tmp_path: Path, finds: Finds) -> None:
    client = any_client(hooks={"Stop": f"touch {shlex.quote(str(tmp_path))}/ran"})
    kind = client.installation.kind
    environment = client._environment()
    client._write_hooks(Path(environment["HOME"]), client._make_records())
    spoiled = Path(environment["HOME"]) / SPOILED[kind]
    spoiled.write_text('{"hooks": {"Stop": [', encoding="utf-8")
    client.agent(repeat("Done."))
    done = client._start("go on", [], environment, None, None)
    assert not (tmp_path / "ran").exists()
    said = done.stdout + done.stderr
    finds("exits", "settings that are not JSON", exit_code=done.exit_code, named=spoiled.name in said)
    finds("exits", "settings that are not JSON", goes_on=bool(client.requests), kept=spoiled.exists())
