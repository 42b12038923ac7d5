"""Generated files: each is what its table says, nothing else is there, and `make generate` puts it right."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]

from tools import commands, generate

ROWS = (*commands.COMMANDS, *commands.STEERING, *commands.ENGINES)


@pytest.fixture
def copy(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """Freshly generated from a copy of what the generator reads."""
    in_part = [path for path, _ in generate.FILES if not path.startswith(generate.FOLDERS)]
    for source in ("actions", "tools/bodies", *in_part):
        (tmp_path / source).parent.mkdir(parents=True, exist_ok=True)
        if (generate.ROOT / source).is_dir():
            shutil.copytree(generate.ROOT / source, tmp_path / source)
        else:
            shutil.copy(generate.ROOT / source, tmp_path / source)
    assert generate.main(tmp_path) == 0
    capsys.readouterr()
    return tmp_path


def test_generating_again_changes_nothing() -> None:
    assert list(generate.outdated(generate.ROOT)) == [], "run `make generate`; the tables are in tools/"


def test_nothing_else_is_there() -> None:
    assert generate.stray(generate.ROOT) == []


def test_every_table_is_used_once() -> None:
    paths = [path for path, _ in generate.FILES]
    assert len(paths) == len(set(paths))
    bodies = {path.stem for path in (generate.ROOT / "tools" / "bodies").iterdir()}
    assert bodies == {row.name for row in (*commands.STEERING, *commands.ENGINES)}


@pytest.mark.parametrize("path", ["skills/autopilot/SKILL.md", "codex/prompts/taskie-new-plan.md"])
class TestAFileThat:
    def test_was_edited_by_hand_is_outdated(self, path: str, copy: Path) -> None:
        before = (copy / path).read_bytes()
        (copy / path).write_bytes(before + b" ")
        assert generate.outdated(copy) == {path: before}

    def test_is_missing_is_outdated(self, path: str, copy: Path) -> None:
        before = (copy / path).read_bytes()
        (copy / path).unlink()
        assert generate.outdated(copy) == {path: before}

    def test_no_table_knows_is_stray_and_stays(self, path: str, copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
        other = f"{Path(path).parent}/mine.txt"
        (copy / other).write_text("mine")
        assert generate.stray(copy) == [other]
        assert generate.main(copy) == 1
        assert f"{other} is not in the table" in capsys.readouterr().err
        assert (copy / other).read_text() == "mine"


def test_make_generate_writes_what_differs_and_keeps_its_mode(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edited, missing, right = (copy / path for path, _ in generate.FILES[:3])
    wanted = edited.read_bytes(), missing.read_bytes()
    edited.write_text("edited")
    edited.chmod(0o755)
    missing.unlink()
    missing.parent.rmdir()
    right.chmod(0o444)
    assert generate.main(copy) == 0
    assert (edited.read_bytes(), missing.read_bytes()) == wanted
    assert edited.stat().st_mode & 0o777 == 0o755
    assert capsys.readouterr().out.splitlines() == [f"wrote {path}" for path, _ in generate.FILES[:2]]
    assert generate.main(copy) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("path", [path for path, _ in generate.FILES if path.startswith(generate.FOLDERS)])
def test_the_header_is_yaml_that_says_what_the_table_says(path: str) -> None:
    """A colon or a quote in the wrong place, and the client would read another header than was meant."""
    header = yaml.safe_load((generate.ROOT / path).read_text(encoding="utf-8").split("---\n")[1])
    is_skill = path.startswith("skills/")
    name = path.split("/")[1] if is_skill else Path(path).stem[len("taskie-") :]
    (row,) = (row for row in ROWS if row.name == name)
    assert header.get("argument-hint", "") == row.hint
    reviewed = is_skill or row.keeps_state
    assert header["description"] == row.description + (row.loop if reviewed else "")
    assert header.get("disable-model-invocation", False) is is_skill


RUNS_PROGRAMS = {"test", "regression", "pre-check", "commit", "verify", "finish"}


@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
class TestOurOwnBookkeeping:
    def test_asks_nobody(self, row: commands.Command) -> None:
        """Every call of our command that the texts ask for, but those that run the project's own programs."""
        path = f"actions/{row.name}.md" if row in commands.COMMANDS else f"skills/{row.name}/SKILL.md"
        text = (generate.ROOT / path).read_text(encoding="utf-8").rpartition("\n---\n")[2]
        words = set(re.findall(r"[`/]taskie\"? ([a-z]+(?: [a-z-]+)?)", text))
        words |= {f"autopilot {verb}" for verb in re.findall(r"`autopilot ([a-z-]+)", text)}
        asked = {word for word in words if not any(f"{word} ".startswith(f"{known} ") for known in row.unasked)}
        assert words
        assert asked - {"autopilot"} == (
            {f"autopilot {verb}" for verb in RUNS_PROGRAMS} if row.name == "autopilot" else set()
        )

    def test_is_all_that_is_allowed(self, row: commands.Command) -> None:
        skill = (generate.ROOT / "skills" / row.name / "SKILL.md").read_text(encoding="utf-8")
        rules = yaml.safe_load(skill.split("---\n")[1])["allowed-tools"].split(", ")
        expected = r"""Bash\((["']?)\$\{CLAUDE_PLUGIN_ROOT\}/bin/taskie\1 ([a-z -]+):\*\)"""
        matches = [re.fullmatch(expected, rule) for rule in rules]
        assert {match and match[2] for match in matches} == set(row.unasked)
