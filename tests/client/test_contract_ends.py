"""What ends in Codex, Copilot CLI, Qwen Code and Gemini CLI: blocks, a hook's time, and runs where something is broken.

In print mode, as a user starts it. What is found is compared with the contract data.
"""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Callable

import pytest

from pytest_taskie._judgement import judge
from pytest_taskie._processes import Finished
from pytest_taskie.client import ScriptedClient, api_error, repeat, shell
from pytest_taskie.client._scripted import Environment

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
# What is not JSON, nor TOML; each client's hooks, and its configuration where that is another file.
BROKEN = '{"hooks": {"Stop": ['
SPOILED = {
    "codex": [".codex/hooks.json", ".codex/config.toml"],
    "copilot": [".copilot/hooks/harness.json", ".copilot/config.json"],
    "qwen": [".qwen/settings.json"],
    "gemini": [".gemini/settings.json"],
}
# By a setting of the project's; Codex is bounded by the fixture's, Copilot CLI by nothing.
ONCE = {"gemini": (".gemini/settings.json", {"general": {"maxAttempts": 1}})}
# It tries seven times, and for more than a minute: so it is told something final then.
PATIENT = "qwen"


def script(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return f"sh {shlex.quote(str(path))}"


@others
def test_a_hook_that_blocks_for_ever(any_client: AnyClient, tmp_path: Path, finds: Finds) -> None:
    kind = any_client._bench.installation.kind  # type: ignore[union-attr]  # the fixture's class has one
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
    kind = any_client._bench.installation.kind  # type: ignore[union-attr]  # the fixture's class has one
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
    kind = any_client._bench.installation.kind  # type: ignore[union-attr]  # the fixture's class has one
    for at, name in enumerate(SPOILED[kind]):
        ran = tmp_path / f"ran-{at}"
        spoiled, done, asked = start_with_spoiled(any_client, name, f"touch {shlex.quote(str(ran))}")
        said = done.stdout + done.stderr
        found = {"exit_code": done.exit_code, "named": spoiled.name in said, "goes_on": asked}
        found["kept"] = spoiled.read_text(encoding="utf-8") == BROKEN
        if at == 0:
            assert not ran.exists()
            finds("exits", "settings that are not JSON", **found)
        if name == SPOILED[kind][-1]:
            finds("exits", "a broken configuration", file=f"~/{name}", hooks_run=ran.exists(), **found)


def start_with_spoiled(any_client: AnyClient, name: str, hook: str) -> tuple[Path, Finished, bool]:
    """The file, what the client said of it, and whether it asked its model all the same."""

    class Spoiled(any_client):  # type: ignore[misc, valid-type]  # the fixture's class
        def _prepare(self, url: str, env: Environment) -> None:
            super()._prepare(url, env)
            (Path(env["HOME"]) / name).write_text(BROKEN, encoding="utf-8")

    client = Spoiled(hooks={"Stop": hook})
    environment = client._environment()
    home = Path(environment["HOME"])
    client._write_hooks(home, client._make_records())
    client.agent(repeat("Done."))
    return home / name, client._start("go on", [], environment, None, None), bool(client.requests)


@others
def test_a_model_that_fails(any_client: AnyClient, tmp_path: Path, finds: Finds) -> None:
    client = any_client(hooks={"Stop": f"touch {shlex.quote(str(tmp_path))}/stopped"})
    kind = client.installation.kind
    if kind in ONCE:
        name, settings = ONCE[kind]
        (client.project.path / name).parent.mkdir()
        (client.project.path / name).write_text(json.dumps(settings), encoding="utf-8")
    wrong, failing = api_error(400, "no such thing"), api_error(500, "no such thing")
    client.agent(repeat(wrong), when="fail with 400")
    client.agent(*([failing, repeat(wrong)] if kind == PATIENT else [repeat(failing)]), when="fail with 500")
    of_400, of_500 = client.prompt("fail with 400"), client.prompt("fail with 500")
    assert not (tmp_path / "stopped").exists()
    said = "no such thing" in of_400.stdout + of_400.stderr
    finds("exits", "the model answers 400", exit_code=of_400.exit_code, requests=len(of_400.requests), named=said)
    again = {} if kind in ("codex", *ONCE) else {"tried_again": len(of_500.requests) > 1}
    ended = {} if kind == PATIENT else {"exit_code": of_500.exit_code}
    finds("exits", "the model answers 500", **again, **ended)
