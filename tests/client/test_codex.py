"""Codex: its Stop hooks, and the outputs that both clients take."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie._judgement import judge
from pytest_taskie.client import api_error, repeat, tool, verdict

pytestmark = pytest.mark.client
ALWAYS = "#!/bin/sh\ncat >/dev/null\n"
BLOCK = '{"decision":"block","reason":"more please"}'


def saying(text: str) -> str:
    return f"cat <<'END'\n{text}\nEND"


def test_block(codex_client: Any, hook_file: Any) -> None:
    client = codex_client(hooks={"Stop": hook_file(saying(BLOCK))})
    client.agent(tool("exec_command", cmd="echo ran > made.txt"), "Done.", "Done again.")
    run = client.prompt("go on")
    assert (client.project.path / "made.txt").exists()
    assert [stop.decision for stop in run.stops] == ["block", None]
    assert [stop.active for stop in run.stops] == [False, True]
    assert run.feedback == ("more please",)
    assert (run.exit_code, run.answer) == (0, "Done again.")
    assert run.transcript


def test_event(codex_client: Any, hook_file: Any, tmp_path: Path, project: Any) -> None:
    client = codex_client(hooks={"Stop": hook_file(f"cat > {tmp_path}/stdin", head="#!/bin/sh\n")})
    client.agent("Done.")
    client.prompt("go on")
    event = json.loads((tmp_path / "stdin").read_text())
    assert set(event) >= {"session_id", "turn_id", "model", "cwd", "hook_event_name", "stop_hook_active"}
    assert event["cwd"] == str(project.path)


@pytest.mark.parametrize(
    ("output", "blocks"),
    [
        ("", False),
        ('{"suppressOutput": true}', False),
        ('{"systemMessage": "for the person"}', False),
        ('{"systemMessage": "for the person", "suppressOutput": true}', False),
        (BLOCK, True),
        ('{"decision":"block","reason":"more please","systemMessage":"for the person"}', True),
        ('{"decision":"approve"}', False),
        ('{"decision":"block"}', False),
        ('{"decision":"block","reason":""}', False),
        ('{"decision":"block","reason":"more please","extra":1}', False),
        ('{"decision":"block","reason":"more please","systemMessage":null}', True),
        (f"noise\n{BLOCK}", False),
        (f"{BLOCK}\nnoise", False),
    ],
)
def test_output(
    output: str, blocks: bool, codex_client: Any, hook_file: Any, record_property: Callable[..., None]
) -> None:
    client = codex_client(hooks={"Stop": hook_file(saying(output) if output else ":")})
    client.agent("Done.", repeat("Done again."))
    run = client.prompt("go on")
    record_property(f"codex: {output or 'nothing'}", str(run.stops[0].decision))
    assert run.exit_code == 0
    assert (run.stops[0].decision == "block") is blocks
    reading = judge(0, f"{output}\n" if output else "", "", client="codex")
    assert reading.outcome == ("blocked" if blocks else "allowed")


@pytest.mark.parametrize(
    ("exit_code", "words", "blocks"), [(1, "more please", False), (2, "more please", True), (2, "", False)]
)
def test_exit(exit_code: int, words: str, blocks: bool, codex_client: Any, hook_file: Any) -> None:
    client = codex_client(hooks={"Stop": hook_file(f"printf %s '{words}' >&2; exit {exit_code}")})
    client.agent("Done.", repeat("Done again."))
    run = client.prompt("go on")
    assert (run.stops[0].decision == "block") is blocks
    reading = judge(exit_code, "", words, client="codex")
    assert reading.outcome == ("blocked" if blocks else "allowed")
    assert run.feedback == ((reading.reason,) if blocks else ())


def test_there_is_no_cap(codex_client: Any, hook_file: Any, tmp_path: Path) -> None:
    count = tmp_path / "count"
    hook = hook_file(f"echo x >> {count}; [ $(wc -l < {count}) -gt 10 ] || {saying(BLOCK)}", head=ALWAYS)
    client = codex_client(hooks={"Stop": hook})
    client.agent(*["Done."] * 11)
    assert [stop.decision for stop in client.prompt("go on").stops] == ["block"] * 10 + [None]


def test_untrusted_hooks_are_skipped(codex_client: Any, hook_file: Any, tmp_path: Path) -> None:
    client = codex_client(hooks={"Stop": hook_file(f"touch {tmp_path}/ran")}, trust_hooks=False)
    client.agent("Done.")
    run = client.prompt("go on")
    assert run.exit_code == 0
    assert not (tmp_path / "ran").exists()


def test_structured_output_is_the_answer(codex_client: Any, tmp_path: Path) -> None:
    client = codex_client()
    client.agent(verdict("PASS"))
    assert json.loads(client.prompt("review it").answer) == {"verdict": "PASS"}


def test_api_error(codex_client: Any) -> None:
    client = codex_client()
    client.agent(repeat(api_error(500)))
    assert client.prompt("go on").exit_code != 0


def test_conversations_are_told_apart(codex_client: Any, hook_file: Any, tmp_path: Path) -> None:
    review = f"echo 'You are the reviewer.' | codex exec --skip-git-repo-check - > {tmp_path}/said 2>/dev/null"
    client = codex_client(hooks={"Stop": hook_file(f'[ -n "$INNER" ] || {{ export INNER=1; {review}; }}', head=ALWAYS)})
    client.agent("Done.")
    client.agent("Reviewed.", when="You are the reviewer.")
    client.prompt("go on")
    assert "Reviewed." in (tmp_path / "said").read_text()
