"""The examples and tables of docs/autopilot.md, held against the program."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
import support
from support import ROOT

from pytest_taskie import Events, Project
from taskie.autopilot import acceptance, verifying
from taskie.autopilot.table import FLOW, LIMITS, TABLE

PAGE = (ROOT / "docs" / "autopilot.md").read_text()


def blocks(language: str) -> list[str]:
    return support.blocks(PAGE, language)


@pytest.fixture
def repository(project: Project) -> Project:
    for name, text in {"src/app.py": "print('bye')\n", "ai/features/FTR-1.md": "# FTR-1\n"}.items():
        path = project.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "Begin")
    (project.path / "src" / "app.py").write_text("print('hello')\n")
    return project


def run(project: Project, script: str, stdin: str = "") -> str:
    return subprocess.run(
        ["sh", "-e", "-c", re.sub(r"\btaskie (?=autopilot|install)", f"{sys.executable} -m taskie ", script)],
        cwd=project.path,
        env={**project.env, "PYTHONPATH": str(ROOT)},
        input=stdin,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    ).stdout


def test_by_hand(repository: Project) -> None:
    (script,) = blocks("console")
    said = run(repository, script)
    assert json.loads(blocks("json")[0]) in [
        json.loads(line) for line in said.splitlines() if line.startswith('{"next')
    ]
    assert '{"next": "phase_3"' in said
    assert repository.git("log", "-1", "--format=%s").strip() == "feat(app): greet"


def test_the_checks_pass(repository: Project) -> None:
    (tables,) = blocks("markdown")
    found = acceptance.checks(tables)
    assert found is not None
    assert [check.id for check in found[0]] == ["AV-S1"]
    assert [check.id for check in found[1]] == ["AV-F1", "AV-F2"]
    for checks in found:
        done = verifying.run_checks(checks, cwd=str(repository.path), env=repository.env)
        assert [(each.passed, each.unchecked) for each in done] == [(True, False)] * len(checks), done


def test_without_the_plugin(repository: Project, events: Events) -> None:
    (installing,) = blocks("sh")
    run(repository, f"{installing}taskie autopilot init FTR-1 ai/features/FTR-1.md")
    settings = json.loads((repository.path / ".claude" / "settings.local.json").read_text())
    (group,) = settings["hooks"]["PreToolUse"]
    assert "Write" in group["matcher"].split("|")
    event = json.dumps(events.pre_tool_use("Write", file_path="src/app.py"))
    assert "deny" in run(repository, group["hooks"][0]["command"], event)


def test_every_result_is_in_the_table() -> None:
    rows = re.findall(r"^\| (.*?) \| (.*?) \| (.*?) \|$", PAGE.partition("## The loop")[2], re.MULTILINE)
    told = " ".join(f"{step}: {result}" for step, result, _ in rows)
    named = {"passed_after_debugging": "passed", "failed_in_scope": "failed", "failed_out_of_scope": "failed"}
    for step, result in TABLE:
        if step in FLOW and result != "any":
            assert f"`{step}`" in told
            assert f"`{named.get(result, result)}`" in told
    for step, counter in (
        ("tester", "debug_attempts"),
        ("either pre-check", "pre_check_loop"),
        ("spec_reviewer", "spec_review_loop"),
        ("code_quality", "refactor_loop"),
        ("verify_smoke", "verify_smoke_retry"),
        ("verify_func", "verify_func_retry"),
    ):
        assert any(step in row[0] and f" {LIMITS[counter]} times" in row[2] for row in rows), counter


def test_the_command_exists() -> None:
    assert set(re.findall(r"/taskie:([a-z-]+)", PAGE)) == {"autopilot"}
    assert (ROOT / "skills" / "autopilot" / "SKILL.md").is_file()
