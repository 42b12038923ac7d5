"""What the README promises and no other test holds, from where its reader starts: a clone, a terminal, a project."""

from __future__ import annotations

import ast
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT
from support.commands import Taskie

from pytest_taskie import Plan, Project, _contract
from pytest_taskie.client._isolation import CannotIsolate, Program, probe, run

README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_demo_needs_no_network_and_no_key(tmp_path: Path) -> None:
    try:
        probe()
    except CannotIsolate as error:
        pytest.skip(str(error))
    env = {"PATH": os.defpath, "HOME": str(tmp_path), "TMPDIR": str(tmp_path)}
    done = run(
        lambda _: Program((sys.executable, "-m", "taskie", "demo"), env, ROOT),
        timeout=120,
        serve=lambda _: contextlib.nullcontext(),
    )
    assert done.exit_code == 0, done.stdout + done.stderr
    assert "Done: 11 stops in" in done.stdout


class TestMakeTest:
    def test_sets_up_whatever_it_uses(self, tmp_path: Path) -> None:
        """Where nothing is there yet: Python makes an environment, an index fills it, and pytest runs in it."""
        for name in ("Makefile", "pyproject.toml"):
            shutil.copy(ROOT / name, tmp_path)
        made = subprocess.run(
            ["make", "--dry-run", "test"],
            cwd=tmp_path,
            env={"PATH": os.environ["PATH"]},
            capture_output=True,
            text=True,
            check=False,
        )
        assert made.returncode == 0, made.stderr
        assert [re.sub(r" -.*", "", line) for line in made.stdout.splitlines()] == [
            "python3",
            ".venv/bin/python",
            "touch .venv/ready",
            ".venv/bin/python",
        ]
        assert "-m venv .venv" in made.stdout
        assert "-m pip install" in made.stdout
        assert "-m pytest" in made.stdout.splitlines()[-1]


@pytest.mark.parametrize("folder", ["taskie", "pytest_taskie", "hooks", "bin"])
def test_every_file_is_python_3_9(folder: str) -> None:
    """The syntax; that it runs there, too, is seen where the tests are run on 3.9."""
    assert re.search(r'^requires-python = ">=3\.9"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    for path in sorted((ROOT / folder).rglob("*")):
        if path.suffix == ".py" or (path.is_file() and path.read_bytes().startswith(b"#!/usr/bin/env python3")):
            ast.parse(path.read_text(encoding="utf-8"), str(path), feature_version=(3, 9))


@pytest.mark.parametrize("pattern", ["actions/*.md", "agents/*.md", "skills/*", "codex/*", "personas/*.md", "*.md"])
def test_no_text_of_ours_tells_an_agent_to_push(pattern: str) -> None:
    """What an agent reads from the plugin. `ground-rules.md` is among the last."""
    paths = [path for path in ROOT.glob(pattern) if path.name == "ground-rules.md" or pattern != "*.md"]
    texts = [file for path in paths for file in (path.rglob("*.md") if path.is_dir() else [path])]
    assert texts
    for file in texts:
        for line in file.read_text(encoding="utf-8").splitlines():
            assert not re.search(r"\bpush(?! only if (?:you were asked|they ask))", line, re.IGNORECASE), (file, line)


def test_a_tree_without_git_has_what_an_installation_needs() -> None:
    """What it is built from is in the tree itself, and nothing is asked of git: an archive will do as well."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'^version = "[\d.]+"$', text, re.MULTILINE)
    assert "dynamic" not in text
    assert re.findall(r'^requires = \["(\w+)', text, re.MULTILINE) == ["hatchling"], "no plugin that asks git"
    assert re.search(r'^\[project\.scripts\]\ntaskie = "taskie\.cli:main"$', text, re.MULTILINE)
    included = re.findall(r'^"([^"]+)" = "taskie/_plugin/', text, re.MULTILINE)
    assert {"hooks", "bin", "skills", "actions", ".claude-plugin"} <= set(included)
    assert [name for name in included if not (ROOT / name).exists()] == []


@pytest.mark.state
def test_who_reads_a_state_while_it_is_set_reads_a_whole_one(taskie: Taskie, plan: Plan) -> None:
    before = plan.state.write(phase="plan-review", next_phase="post-plan-review")
    with plan.state.path.open() as reader:
        assert taskie("state", "set", "phase=post-plan-review", "next_phase=plan-review").code == 0
        assert json.load(reader) == before
    assert plan.state.read()["phase"] == "post-plan-review"


@pytest.mark.state
@pytest.mark.parametrize("scope", ["--local", "--project", "--user"])
def test_uninstalling_leaves_the_plans(scope: str, taskie: Taskie, plan: Plan, project: Project) -> None:
    plan.state.write()

    def kept() -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in (project.path / ".taskie").rglob("*") if path.is_file()}

    before = kept()
    assert taskie("install", scope).code == 0
    assert taskie("uninstall", scope).code == 0
    assert kept() == before
    assert str(plan.path / "plan.md") in before


def test_the_page_of_versions_is_what_was_measured() -> None:
    """As `taskie client check --markdown` writes it: its own words around a table with every version's numbers."""
    text = (ROOT / "docs" / "client-versions.md").read_text(encoding="utf-8")
    assert "Measured, not read: `taskie client check --markdown docs/client-versions.md` ran" in text
    (passed,) = re.findall(r"^\| passed \|(.*)\|$", text, re.MULTILINE)
    (failed,) = re.findall(r"^\| failed \|(.*)\|$", text, re.MULTILINE)
    versions = re.findall(r"[0-9.]+", text.partition("| contract suite |")[2].partition("\n")[0])
    assert len(passed.split("|")) == len(versions) >= 6
    assert versions[0] == _contract.newest_measured("claude")
    assert {*versions} <= {*_contract.measured("claude")}
    assert set(failed.replace("|", " ").split()) == {"0"}


def test_the_license() -> None:
    assert (ROOT / "LICENSE").read_text(encoding="utf-8").startswith("MIT License")
    assert '\nlicense = "MIT"\n' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_every_file_that_is_named_or_linked_is_there() -> None:
    linked = re.findall(r"\]\(([^)#]+)", README)
    named = re.findall(r"`([A-Z]+\.md|ground-rules\.md)`", README)
    assert {"docs/costs.md", "docs/own-hook.md"} <= set(linked)
    assert {"CONTRIBUTING.md", "CHANGELOG.md", "ground-rules.md"} <= set(named)
    assert [name for name in (*linked, *named) if not (ROOT / name).is_file()] == []


def test_every_section_that_is_linked_is_there() -> None:
    headings = re.findall(r"^#+ (.*)$", README, re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}
    assert set(re.findall(r"\]\(#([^)]+)\)", README)) <= anchors
