"""What surrounds a hook in the real client and in `run_hook`: the same variables, to the same effect."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie import Events, Project, RunHook
from pytest_taskie._transcript import VERSION
from pytest_taskie.client import tool
from pytest_taskie.client._installation import version_numbers

pytestmark = pytest.mark.client

Observe = Callable[[str, object], None]
COMPARED = version_numbers(VERSION)
NAMES = ("Setup", "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "CwdChanged", "Stop", "SessionEnd")
# What the scripted client is given to be scripted, and what `run_hook` marks its processes with.
OURS = {
    *("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "DISABLE_AUTOUPDATER"),
    *("IS_SANDBOX", "NO_PROXY", "no_proxy", "PYTEST_TASKIE_RUN"),
}
# Of one session, of one process; everything else has the same value in both.
OWN = {
    *("CLAUDE_CODE_CHILD_NOTES_DIR", "CLAUDE_CODE_SESSION_ID", "CLAUDE_PID", "CLAUDE_EFFORT", "CLAUDE_ENV_FILE"),
    *("PATH", "PWD"),
}


def variables(text: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in text.split("\0") if pair)


def make_plugin(root: Path, hooks: dict[str, str]) -> Path:
    (root / ".claude-plugin").mkdir(parents=True)
    (root / ".claude-plugin" / "plugin.json").write_text('{"name": "mine", "version": "1.0.0"}')
    (root / "hooks").mkdir()
    groups = {name: [{"hooks": [{"type": "command", "command": line}]}] for name, line in hooks.items()}
    (root / "hooks" / "hooks.json").write_text(json.dumps({"hooks": groups}))
    return root


@pytest.mark.parametrize("of", ["settings", "plugin"])
def test_the_environment_of_each_event(
    of: str,
    claude_client: Any,
    project: Project,
    run_hook: RunHook,
    tmp_path: Path,
    version: Any,
    observe: Observe,
    measures: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (project.path / "sub").mkdir()
    (tmp_path / "seen").mkdir()
    hooks = {name: f"env -0 > {tmp_path}/seen/{name}; cat > {tmp_path}/{name}" for name in NAMES}
    root = tmp_path / "large repository" / "plugins" / "mine"
    if of == "plugin":
        client = claude_client(plugin=make_plugin(root, hooks), args=["--init"])
        monkeypatch.setattr(run_hook, "_root", tmp_path / "large repository")
        monkeypatch.setattr(run_hook, "_plugin", "plugins/mine")
    else:
        client = claude_client(hooks=hooks, args=["--init"])
    if version < COMPARED:
        pytest.skip("the variables are those of a newer client")
    client.agent(tool("Bash", command="cd sub", description="x"), "Done.")
    client.prompt("go on")
    seen = {path.name: variables(path.read_text()) for path in (tmp_path / "seen").iterdir()}
    # A plugin's hook of CwdChanged does not run in every turn.
    assert set(NAMES) - set(seen) <= ({"CwdChanged"} if of == "plugin" else set())
    for name, theirs in seen.items():
        sent = json.loads((tmp_path / name).read_text())
        mine = variables(run_hook({**sent, "session_id": project.session_id}, command="env -0").stdout)
        names = sorted(set(theirs) - OURS - set(project.env))
        observe(f"variables of {name}, {of}", ", ".join(names))
        if name != "CwdChanged":  # which is not run in every turn
            measures("environment", f"{name}, {of}", names=names)
        assert set(mine) - OURS == set(theirs) - OURS, name
        notes = mine["CLAUDE_CODE_CHILD_NOTES_DIR"]
        assert notes == theirs["CLAUDE_CODE_CHILD_NOTES_DIR"].replace(sent["session_id"], project.session_id), name
        assert Path(notes).is_dir()
        same = set(mine) - OURS - OWN
        assert {key: mine[key] for key in same} == {key: theirs[key] for key in same}, name


def test_the_file_for_variables(
    claude_client: Any, project: Project, run_hook: RunHook, events: Events, tmp_path: Path, version: Any
) -> None:
    """The same hook in both: the same file beforehand, and what it writes there reaches the agent's commands alike."""
    if version < COMPARED:
        pytest.skip("what an older client does with it was not asked")
    hook = tmp_path / "hook.sh"
    hook.write_text(
        'basename "$CLAUDE_ENV_FILE" > found; test -e "$CLAUDE_ENV_FILE" >> found; echo "$?" >> found\n'
        'test -d "$(dirname "$CLAUDE_ENV_FILE")" ; echo "$?" >> found\n'
        'echo \'export EXPORTED="a b"\' >> "$CLAUDE_ENV_FILE"\n'
        'echo PLAIN=c >> "$CLAUDE_ENV_FILE"\n'
    )
    command = f"sh {hook}"
    ask = 'echo "$EXPORTED|$PLAIN"; env | grep -E "^(EXPORTED|PLAIN)=" | sort'
    later = f'echo "[$EXPORTED]" > {tmp_path}/later'
    client = claude_client(hooks={"SessionStart": command, "Stop": later})
    client.agent(tool("Bash", command=f"{{ {ask}; }} > said", description="x"), "Done.")
    client.prompt("go on")
    theirs = [(project.path / name).read_text() for name in ("found", "said")]
    theirs[0] = theirs[0].replace("hook-1", "hook-0")  # ours is the second one there: the first one listens
    assert (tmp_path / "later").read_text() == "[]\n", "it does not reach hooks"
    (project.path / "found").unlink()
    run_hook(events.session_start(), command=command)
    assert [(project.path / "found").read_text(), project.bash(ask)] == theirs


def test_the_plugins_data(
    claude_client: Any, project: Project, run_hook: RunHook, tmp_path: Path, version: Any
) -> None:
    if version < (2, 1, 120):
        pytest.skip("an older client has no such directory")
    say = 'echo "$CLAUDE_PLUGIN_DATA"; test -d "$CLAUDE_PLUGIN_DATA"; echo $?'
    client = claude_client(plugin=make_plugin(tmp_path / "mine", {"Stop": f"({say}) > {tmp_path}/said"}))
    client.agent("Done.")
    client.prompt("go on")
    where, there = (tmp_path / "said").read_text().split()
    assert where == str(project.home / ".claude" / "plugins" / "data" / "mine-inline")
    assert there == "0"
