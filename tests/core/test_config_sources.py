"""Where settings come from, and which source wins. What a project may decide is in `test_config_tightens`."""

from __future__ import annotations

import itertools
import os
from pathlib import Path
from typing import Any

import pytest

from core.test_config_values import FROM_TOML
from taskie import config
from taskie.config import Config, load

DEFAULT = Config()
SOURCES = ["user", "pyproject", "project", "environment"]  # the later wins


class Sources:
    """A user, a project, and what each of them configures."""

    def __init__(self, directory: Path) -> None:
        self.root = directory / "project"
        self.user = directory / "home" / ".config" / "taskie" / "config.toml"
        self.project = self.root / ".taskie" / "config.toml"
        self.pyproject = self.root / "pyproject.toml"
        self.env = {"HOME": str(directory / "home")}
        for path in (self.user, self.project):
            path.parent.mkdir(parents=True)

    def set(self, source: str, section: str, key: str, value: int | str) -> None:
        written = f'"{value}"' if isinstance(value, str) else value
        if source == "environment":
            self.env[f"TASKIE_{section}_{key}".upper()] = str(value)
        elif source == "pyproject":
            self.pyproject.write_text(f"[tool.taskie.{section}]\n{key} = {written}\n")
        else:
            (self.user if source == "user" else self.project).write_text(f"[{section}]\n{key} = {written}\n")

    def load(self) -> Config:
        return load(str(self.root), self.env)


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    return Sources(tmp_path)


@pytest.mark.parametrize("source", SOURCES)
def test_each_source_alone(sources: Sources, source: str) -> None:
    sources.set(source, "review", "max_reviews", 3)
    assert sources.load() == DEFAULT.replace(review_max_reviews=3)


@pytest.mark.parametrize(("section", "key", "written", "expected"), FROM_TOML)
def test_every_setting_in_your_file(sources: Sources, section: str, key: str, written: str, expected: Any) -> None:
    sources.user.write_text(f"[{section}]\n{key} = {written}\n")
    assert sources.load() == DEFAULT.replace(**{f"{section}_{key}": expected})


@pytest.mark.parametrize(("weaker", "stronger"), list(itertools.combinations(SOURCES, 2)))
def test_precedence(sources: Sources, weaker: str, stronger: str) -> None:
    sources.set(weaker, "review", "max_reviews", 4)
    sources.set(stronger, "review", "max_reviews", 3)
    assert sources.load() == DEFAULT.replace(review_max_reviews=3)


def test_both_files_of_a_project_are_measured_by_yours(sources: Sources) -> None:
    sources.set("user", "review", "max_reviews", 5)
    sources.set("pyproject", "review", "max_reviews", 3)
    sources.set("project", "review", "max_reviews", 4)
    assert sources.load() == DEFAULT.replace(review_max_reviews=4)


def test_sources_add_up(sources: Sources) -> None:
    sources.set("user", "review", "max_reviews", 3)
    sources.set("pyproject", "review", "clean_required", 3)
    sources.set("project", "loop", "guard", "strict")
    sources.set("environment", "review", "timeout", 7)
    assert sources.load() == DEFAULT.replace(
        review_max_reviews=3, review_clean_required=3, loop_guard="strict", review_timeout=7.0
    )


def test_a_wrong_value_does_not_beat_a_weaker_good_one(sources: Sources) -> None:
    sources.set("user", "review", "max_reviews", 3)
    sources.set("environment", "review", "max_reviews", "many")
    found = sources.load()
    assert found.review_max_reviews == 3
    assert len(found.warnings) == 1


@pytest.mark.parametrize("source", ["user", "environment"])
def test_a_user_can(sources: Sources, source: str) -> None:
    sources.set(source, "review", "command", "mine")
    assert sources.load() == DEFAULT.replace(review_command=("mine",))


def test_xdg_directory(sources: Sources, tmp_path: Path) -> None:
    sources.set("user", "review", "max_reviews", 3)
    other = tmp_path / "xdg" / "taskie" / "config.toml"
    other.parent.mkdir(parents=True)
    other.write_text("[review]\nmax_reviews = 4\n")
    sources.env["XDG_CONFIG_HOME"] = str(tmp_path / "xdg")
    assert sources.load().review_max_reviews == 4


BROKEN = {
    "no TOML": b"[review\n",
    "duplicate": b"[review]\ntimeout = 1\ntimeout = 2\n",
    "not UTF-8": b"# \xff tool.taskie\n",
    "too deep": b"a = " + b"[" * 5000 + b"]" * 5000,
    "NUL": b"a = \0",
}


@pytest.mark.parametrize("source", ["user", "project", "pyproject"])
@pytest.mark.parametrize("content", list(BROKEN.values()), ids=list(BROKEN))
def test_file_that_is_not_toml(sources: Sources, source: str, content: bytes) -> None:
    path: Path = getattr(sources, source)
    path.write_bytes(b"# tool.taskie\n" + content)
    sources.set("environment", "review", "max_reviews", 3)
    found = sources.load()
    assert found.replace(warnings=()) == DEFAULT.replace(review_max_reviews=3)
    (warning,) = found.warnings
    assert warning.startswith(f"{path}: is not valid TOML (")
    assert warning.endswith("; its settings are not used")


@pytest.mark.parametrize("source", ["user", "project", "pyproject"])
def test_file_that_cannot_be_read(sources: Sources, source: str) -> None:
    path: Path = getattr(sources, source)
    for make, why in ((os.mkfifo, "is not a regular file"), (os.mkdir, "is not a regular file"), (_huge, "is larger")):
        make(path)
        found = sources.load()
        assert found.replace(warnings=()) == DEFAULT
        (warning,) = found.warnings
        assert warning.startswith(f"{path}: {path.name} {why}")
        if path.is_dir():
            path.rmdir()
        else:
            path.unlink()


def _huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(100 << 20)


def test_link_is_followed(sources: Sources, tmp_path: Path) -> None:
    (tmp_path / "dotfiles.toml").write_text("[review]\nmax_reviews = 3\n")
    sources.user.symlink_to(tmp_path / "dotfiles.toml")
    assert sources.load() == DEFAULT.replace(review_max_reviews=3)


def test_endless_link(sources: Sources) -> None:
    sources.user.symlink_to(sources.user)
    found = sources.load()
    assert found.replace(warnings=()) == DEFAULT


def test_unknown_setting_is_named(sources: Sources) -> None:
    sources.set("project", "review", "max_review", 3)
    found = sources.load()
    assert found.replace(warnings=()) == DEFAULT
    (warning,) = found.warnings
    assert "[review] has no setting 'max_review'" in warning
    assert "max_reviews" in warning


@pytest.mark.parametrize("section", ["autopilot", "review_max", "loop_", "rev", "_", "''"])
def test_sections_of_others_are_theirs(sources: Sources, section: str) -> None:
    sources.project.write_text(f"[{section}]\nmax_reviews = 1\nmax_turns = 2\nreviews = 3\n")
    assert sources.load() == DEFAULT


@pytest.mark.parametrize("written", ["review = 1", "review = []", 'review = "x"'])
def test_section_that_is_not_a_table(sources: Sources, written: str) -> None:
    sources.project.write_text(written)
    found = sources.load()
    assert found.replace(warnings=()) == DEFAULT
    assert found.warnings == (f"{sources.project}: review must be a table; ignored",)


def test_pyproject_of_somebody_else_is_not_parsed(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    def parser() -> None:
        raise AssertionError("parsed")

    monkeypatch.setattr(config, "_toml_parser", parser)
    sources.pyproject.write_text("[tool.ruff]\nline-length = 120\n[broken")
    assert sources.load() == DEFAULT


@pytest.mark.parametrize("written", ["tool.taskie = 1", "[tool]\n# tool.taskie\n", "tool = 1 # tool.taskie"])
def test_pyproject_without_our_table(sources: Sources, written: str) -> None:
    sources.pyproject.write_text(written)
    assert sources.load().replace(warnings=()) == DEFAULT


def test_tables_of_the_file_itself_do_not_count_in_pyproject(sources: Sources) -> None:
    sources.pyproject.write_text("[review]\nmax_reviews = 3\n[tool.taskie.loop]\nguard = 'strict'\n")
    assert sources.load() == DEFAULT.replace(loop_guard="strict")


def test_no_parser(sources: Sources, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(config, "_toml_parser", lambda: None)
    sources.set("user", "review", "max_reviews", 3)
    found = sources.load()
    assert found.replace(warnings=()) == DEFAULT
    assert found.warnings == (
        f"{sources.user}: reading TOML needs Python 3.11, or `pip install tomli`; its settings are not used",
    )


def test_empty_files(sources: Sources) -> None:
    for path in (sources.user, sources.project, sources.pyproject):
        path.touch()
    assert sources.load() == DEFAULT


@pytest.mark.parametrize("name", ["HOME", "XDG_CONFIG_HOME"])
def test_without_a_home_a_clone_cannot_pose_as_the_user(
    sources: Sources, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(sources.root)
    for folder in ("~/.config/taskie", "~/taskie"):
        Path(folder).mkdir(parents=True)
        Path(folder, "config.toml").write_text('[review]\ncommand = "theirs"\n')
    sources.env[name] = "~"  # as Python has it for a user whom the system does not know
    assert sources.load() == DEFAULT
