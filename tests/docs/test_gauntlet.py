"""The examples of docs/gauntlet.md, run as they stand."""

from __future__ import annotations

import json
import re
import shlex

import pytest
from support import ROOT
from support.commands import Ran, run_here

from pytest_taskie import FakeCli, Project

TEXT = (ROOT / "docs" / "gauntlet.md").read_text()
NAMED = re.compile(r"`((?:\.gauntlet|~)/[^`]+)`[^`\n]*:\n\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = [
    line
    for block in re.findall(r"^```console\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]


@pytest.fixture
def documented(project: Project, fake_claude: FakeCli, fake_codex: FakeCli) -> Project:
    """A project with the configuration of the page, and a change in each part."""
    answer = {"status": "pass", "violations": []}
    fake_claude.outputs({"structured_output": answer}).repeats()
    fake_codex.outputs(answer).repeats()
    project.git("commit", "-q", "--allow-empty", "-m", "Begin")
    for name, text in NAMED.findall(TEXT):
        path = project.home / name[2:] if name.startswith("~") else project.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("python3 -m pytest -q", "exit 0").replace("ruff format --check", "ls"))
    for name in ("src/app.py", "packages/one/file"):
        (project.path / name).parent.mkdir(parents=True)
        (project.path / name).write_text("1\n")
    (project.path / ".gitignore").write_text("gauntlet_logs/\n")
    return project


def run(project: Project, line: str, given: str = "") -> Ran:
    words = shlex.split(line)
    assert words[0] == "taskie"
    return run_here(words[1:], cwd=project.path, env=project.env, stdin=given.encode())


def test_the_files_are_all_there() -> None:
    names = [name for name, _ in NAMED.findall(TEXT)]
    blocks = re.findall(r"^```(\w+)$", TEXT, re.MULTILINE)
    assert len(names) == len([block for block in blocks if block in ("yaml", "markdown")]) == 5


def test_the_configuration_is_valid(documented: Project) -> None:
    done = run(documented, "taskie gauntlet validate")
    assert (done.out, done.code) == ("Valid.\n", 0)


@pytest.mark.parametrize("line", COMMANDS)
def test_every_command(documented: Project, line: str) -> None:
    done = run(documented, line)
    assert done.code == 0, done.out + done.err
    assert done.out


def test_a_run_has_every_gate(documented: Project) -> None:
    told = run(documented, "taskie gauntlet run").out
    for gate in ("check:.:tests", "check:.:format", "check:packages/one:lint", "review:src/**/*.py:quality@2"):
        assert f"PASS  {gate}" in told


def test_the_answer_to_a_violation(documented: Project, fake_claude: FakeCli) -> None:
    (block,) = re.findall(r"^```json\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    example = json.loads(block)
    found = [
        {key: value for key, value in each.items() if key not in ("status", "result")} for each in example["violations"]
    ]
    fake_claude.outputs({"structured_output": {"status": "fail", "violations": found}})
    assert json.loads(run(documented, "taskie gauntlet stop-hook", "{}").out)["status"] == "failed"
    (written,) = (documented.path / "gauntlet_logs").glob("review_*claude@1.1.json")
    assert {**json.loads(written.read_text()), "violations": 0} == {**example, "violations": 0}
    written.write_text(block)
    again = json.loads(run(documented, "taskie gauntlet stop-hook", '{"stop_hook_active": true}').out)
    assert again["status"] == "passed_with_warnings"


def test_the_statuses_are_all_there() -> None:
    source = (ROOT / "taskie" / "gauntlet" / "verdict.py").read_text()
    (literal,) = re.findall(r"GauntletStatus = Literal\[(.*?)\]", source, re.DOTALL)
    table = "".join(line for line in TEXT.splitlines(keepends=True) if line.startswith("|"))
    assert set(re.findall(r'"(\w+)"', literal)) == set(re.findall(r"`(\w+)`", table)) - {"systemMessage"}
