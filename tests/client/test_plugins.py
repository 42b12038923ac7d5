"""How the client loads a plugin, and what its hooks and commands get."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable

import pytest

pytestmark = pytest.mark.client

Observe = Callable[[str, object], None]
Maker = Callable[..., Path]


@pytest.fixture(autouse=True)
def _has_plugins(version: tuple[int, ...]) -> None:
    if version < (2, 0, 60):
        pytest.skip("this client has no plugins")


@pytest.fixture
def plugin(tmp_path: Path) -> Maker:
    """A plugin with one Stop hook, in a folder of that name."""

    def make(hook: object, folder: str = "the plugin") -> Path:
        root = tmp_path / folder
        (root / ".claude-plugin").mkdir(parents=True)
        (root / "hooks").mkdir()
        manifest = {"name": "sample", "version": "1.0.0", "description": "x", "author": {"name": "x"}}
        (root / ".claude-plugin" / "plugin.json").write_text(json.dumps(manifest))
        entry = {"type": "command", **({"command": hook} if isinstance(hook, str) else dict(hook))}  # type: ignore[call-overload]
        (root / "hooks" / "hooks.json").write_text(json.dumps({"hooks": {"Stop": [{"hooks": [entry]}]}}))
        script = root / "hooks" / "hook.sh"
        script.write_text(
            '#!/bin/sh\ncat >/dev/null\nenv > "$CLAUDE_PROJECT_DIR/env"\necho "$#" > "$CLAUDE_PROJECT_DIR/args"\n'
        )
        script.chmod(0o755)
        return root

    return make


def ran(project: Any) -> bool:
    return bool((project.path / "env").exists())


def test_plugin_dir(claude_client: Any, plugin: Maker, project: Any, observe: Observe) -> None:
    root = plugin('"${CLAUDE_PLUGIN_ROOT}"/hooks/hook.sh')
    client = claude_client(plugin=root)
    client.agent("Done.")
    client.prompt("go on")
    assert ran(project)
    env = dict(line.partition("=")[::2] for line in (project.path / "env").read_text().splitlines())
    observe("CLAUDE_PLUGIN variables", ", ".join(sorted(name for name in env if name.startswith("CLAUDE_PLUGIN"))))
    assert env["CLAUDE_PLUGIN_ROOT"] == str(root)


@pytest.mark.parametrize(
    ("name", "hook", "runs"),
    [
        ("unquoted root with a space", "${CLAUDE_PLUGIN_ROOT}/hooks/hook.sh", False),
        ("quoted root with a space", '"${CLAUDE_PLUGIN_ROOT}/hooks/hook.sh"', True),
        ("exec form", {"command": "${CLAUDE_PLUGIN_ROOT}/hooks/hook.sh", "args": ["one"]}, True),
    ],
)
def test_spelling_of_the_command(
    name: str, hook: object, runs: bool, claude_client: Any, plugin: Maker, project: Any, version: Any, observe: Observe
) -> None:
    client = claude_client(plugin=plugin(hook))
    client.agent("Done.")
    run = client.prompt("go on")
    observe(f"plugin hook: {name}", "runs" if ran(project) else "does not run")
    assert run.exit_code == 0
    if name != "exec form" or version >= (2, 1, 197):
        assert ran(project) is runs


@pytest.mark.in_both
def test_missing_run_bit_is_silent(claude_client: Any, plugin: Maker, project: Any) -> None:
    root = plugin('"${CLAUDE_PLUGIN_ROOT}"/hooks/hook.sh')
    (root / "hooks" / "hook.sh").chmod(0o644)
    client = claude_client(plugin=root)
    client.agent("Done.")
    run = client.prompt("go on")
    assert (run.exit_code, run.feedback, ran(project)) == (0, (), False)


def test_marketplace_in_a_directory(claude_client: Any, plugin: Maker, project: Any, tmp_path: Path) -> None:
    root = plugin('"${CLAUDE_PLUGIN_ROOT}"/hooks/hook.sh', "market/sample")
    market = {"name": "local", "owner": {"name": "x"}, "plugins": [{"name": "sample", "source": "./sample"}]}
    (root.parent / ".claude-plugin").mkdir()
    (root.parent / ".claude-plugin" / "marketplace.json").write_text(json.dumps(market))
    client = claude_client()
    for arguments in (("marketplace", "add", str(root.parent)), ("install", "sample@local")):
        done = client.command("plugin", *arguments)
        assert done.exit_code == 0, done.stdout + done.stderr
    client.agent("Done.")
    client.prompt("go on")
    assert ran(project)


def test_validate(claude_client: Any, plugin: Maker, version: Any, observe: Observe) -> None:
    root = plugin("true")
    good = claude_client().command("plugin", "validate", str(root))
    (root / ".claude-plugin" / "plugin.json").write_text("{")
    bad = claude_client().command("plugin", "validate", str(root))
    observe("plugin validate", f"good: exit {good.exit_code}, broken: exit {bad.exit_code}")
    assert good.exit_code == 0
    assert bad.exit_code != 0


COMMAND = "---\ndescription: x\n---\nAll: $ARGUMENTS. Zero: $0. One: $1. Root: ${CLAUDE_PLUGIN_ROOT}.\n"


def test_a_command_and_its_arguments(claude_client: Any, plugin: Maker, version: Any, observe: Observe) -> None:
    root = plugin("true")
    (root / "commands").mkdir()
    (root / "commands" / "go.md").write_text(COMMAND)
    client = claude_client(plugin=root)
    client.agent("Done.")
    run = client.prompt('/sample:go first "second one" third')
    text = next(request for request in run.requests if request.tools)
    said = json.dumps(text.body, ensure_ascii=False)
    line = said[said.index("All: ") :].split("\\n")[0].replace(str(root), "ROOT")
    observe("arguments of a command", line.replace('\\\\\\"', '"').replace('\\"', '"'))
    assert 'All: first \\"second one\\" third.' in said
    if version >= (2, 1, 120):
        assert "Zero: first. One: second one." in said
    assert f"Root: {root}." in said


@pytest.mark.parametrize(
    ("name", "mention", "attached"),
    [
        ("quoted", '@"${CLAUDE_PLUGIN_ROOT}/rules.md"', True),
        ("unquoted with a space", "@${CLAUDE_PLUGIN_ROOT}/rules.md", False),
        ("missing", '@"${CLAUDE_PLUGIN_ROOT}/nothing.md"', False),
    ],
)
def test_a_file_that_a_command_mentions(
    name: str, mention: str, attached: bool, claude_client: Any, plugin: Maker, version: Any, observe: Observe
) -> None:
    root = plugin("true")
    (root / "rules.md").write_text("The rules of the house.")
    (root / "commands").mkdir()
    (root / "commands" / "go.md").write_text(f"---\ndescription: x\n---\nFollow {mention}\n")
    client = claude_client(plugin=root)
    client.agent("Done.")
    run = client.prompt("/sample:go")
    found = any("The rules of the house." in json.dumps(request.body) for request in run.requests)
    observe(f"@file in a command, {name}", "attached" if found else "dropped")
    assert run.exit_code == 0
    if version >= (2, 1, 120):
        assert found is attached


def test_a_skill_is_a_command(claude_client: Any, plugin: Maker, version: Any, observe: Observe) -> None:
    root = plugin("true")
    (root / "skills" / "go").mkdir(parents=True)
    (root / "skills" / "go" / "SKILL.md").write_text("---\nname: go\ndescription: x\n---\nDo the thing: $ARGUMENTS\n")
    client = claude_client(plugin=root)
    client.agent("Done.") if version >= (2, 1) else None
    run = client.prompt("/sample:go now") if version >= (2, 1) else None
    if run is not None:
        found = any("Do the thing: now" in json.dumps(request.body) for request in run.requests)
        observe("skills/x/SKILL.md as /plugin:x", found)
        assert found
