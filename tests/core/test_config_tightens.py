"""What a project may make of your settings: tighter, never looser. Every setting, in both directions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from core.test_config_sources import DEFAULT, Sources
from taskie.config import SETTINGS, load

# Of each setting, values from the loosest to the tightest; None is to say nothing.
ORDERED: dict[str, list[Any]] = {
    "review_models": [["opus", "sonnet", "haiku"], None, ["sonnet", "opus"], ["opus"]],
    "review_clean_required": [1, None, 3],
    "review_max_reviews": [20, None, 3, 1],
    "review_timeout": [571, None, 60, 0.5],
    "review_permissions": ["skip", "auto", "scoped"],
    "review_max_turns": [None, 40, 1],
    "review_max_budget_usd": [None, 40, 0.5, 0],
    "review_plan_budget_usd": [None, 40, 0.5, 0],
    "review_hooks": ["off", "keep"],
    "review_findings": [False, True],
    "review_remember": [True, False],
    "review_fail_on": ["blocker", ["minor", "major"], None, ["minor", "note"], "note"],
    "review_push": [True, False],
    "loop_guard": ["progress", "strict"],
    "gauntlet_insist": [3, None, 1, 0],
    "gauntlet_rules_from": ["worktree", "base"],
    "claudex_sandbox": ["bypass", "workspace-write"],
}
# Values of which a project can have none but the one that you have.
YOURS: dict[str, list[Any]] = {"review_command": ["claude", "mine", ["claude", "--verbose"]]}
# Neither is as tight as the other.
APART = [("review_models", ["opus"], ["sonnet"]), ("review_fail_on", ["minor", "major"], ["major", "minor"])]
# 0 switches reviews off, and what is off is not bounded more tightly.
OFF = [("review_max_reviews", 8, 0), ("review_max_reviews", 0, 1)]

UP = [(key, *pair) for key, row in ORDERED.items() for pair in zip(row, row[1:])]
REFUSED = [
    *((key, tight, loose) for key, loose, tight in UP),
    *APART,
    *((key, theirs, yours) for key, yours, theirs in APART),
    *OFF,
    *((key, yours, theirs) for key, row in YOURS.items() for yours in row for theirs in row if yours != theirs),
]
PLACES = ["project", "pyproject", "settings.json", "settings.local.json"]


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    return Sources(tmp_path)


def write(sources: Sources, place: str, key: str, value: Any) -> Path:
    """Set it there, and say where that is."""
    section, _, name = key.partition("_")
    if place.startswith("settings"):
        path = sources.root / ".claude" / place
        path.parent.mkdir(exist_ok=True)
        variable = f"TASKIE_{key.upper()}"
        text = value if isinstance(value, str) else json.dumps(value)
        path.write_text(json.dumps({"env": {variable: text}}))
        sources.env[variable] = text  # as the client does
    else:
        path = getattr(sources, place)
        prefix = "tool.taskie." if place == "pyproject" else ""
        path.write_text(f"[{prefix}{section}]\n{name} = {json.dumps(value)}\n")
    return path


def test_every_setting_has_a_direction() -> None:
    assert sorted([*ORDERED, *YOURS]) == sorted(SETTINGS)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("key", "yours", "theirs"), [row for row in UP if row[2] is not None])
def test_a_project_can_tighten(sources: Sources, place: str, key: str, yours: Any, theirs: Any) -> None:
    if yours is not None:
        write(sources, "user", key, yours)
    write(sources, place, key, theirs)
    assert sources.load() == DEFAULT.replace(**{key: SETTINGS[key](theirs)})


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize(("key", "yours", "theirs"), [row for row in REFUSED if row[2] is not None])
def test_a_project_cannot_loosen(sources: Sources, place: str, key: str, yours: Any, theirs: Any) -> None:
    held = getattr(DEFAULT, key)
    if yours is not None:
        write(sources, "user", key, yours)
        held = SETTINGS[key](yours)
    path = write(sources, place, key, theirs)
    found = sources.load()
    assert found.replace(warnings=()) == DEFAULT.replace(**{key: held})
    name = f"TASKIE_{key.upper()}" if place.startswith("settings") else key.replace("_", ".", 1)
    assert found.warnings == (
        f"{path}: {name} is only taken from your own configuration, since it would loosen yours; ignored",
    )


@pytest.mark.parametrize(("key", "yours", "theirs"), [row for row in REFUSED if row[2] is not None])
def test_you_can_do_both_by_a_variable(sources: Sources, key: str, yours: Any, theirs: Any) -> None:
    if yours is not None:
        write(sources, "user", key, yours)
    sources.env[f"TASKIE_{key.upper()}"] = theirs if isinstance(theirs, str) else json.dumps(theirs)
    assert sources.load() == DEFAULT.replace(**{key: SETTINGS[key](theirs)})


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("key", ["review_max_budget_usd", "review_plan_budget_usd"])
def test_a_budget_that_nobody_understands_is_the_tightest(sources: Sources, place: str, key: str) -> None:
    write(sources, "user", key, 5)
    write(sources, place, key, "many")
    found = sources.load()
    assert found.replace(warnings=()) == DEFAULT.replace(**{key: 0.0})
    assert len(found.warnings) == 1


class TestTheProgramThatReviews:
    """A path in the project is whatever was cloned, whoever names it."""

    @pytest.mark.parametrize("place", ["user", "environment"])
    @pytest.mark.parametrize("path", ["./evil", "bin/evil", "{root}/evil", "{root}/sub/../evil", "{link}/evil"])
    def test_is_not_in_the_project(
        self, sources: Sources, place: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(sources.root)
        (tmp_path / "link").symlink_to(sources.root)
        sources.set(place, "review", "command", path.format(root=sources.root, link=tmp_path / "link"))
        found = sources.load()
        assert found.replace(warnings=()) == DEFAULT
        where = sources.user if place == "user" else "TASKIE_REVIEW_COMMAND"
        (warning,) = found.warnings
        assert warning.startswith(str(where))
        assert warning.endswith("must be a name on PATH or an absolute path outside the project; ignored")

    def test_is_not_below_the_directory_that_the_kernel_calls_ours(
        self, sources: Sources, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.chdir(sources.root)
        sources.set("environment", "review", "command", "/proc/self/cwd/evil")
        assert sources.load().replace(warnings=()) == DEFAULT

    def test_is_not_elsewhere_in_the_repository_or_where_the_client_was_started(
        self, sources: Sources, tmp_path: Path
    ) -> None:
        (sources.root / ".git").mkdir()
        (sources.root / "sub").mkdir()
        sources.set("environment", "review", "command", str(sources.root / "evil"))
        assert load(str(sources.root / "sub"), sources.env).replace(warnings=()) == DEFAULT
        sources.set("environment", "review", "command", str(tmp_path / "other" / "evil"))
        (tmp_path / "other").mkdir()
        sources.env["CLAUDE_PROJECT_DIR"] = str(tmp_path / "other")
        assert sources.load().replace(warnings=()) == DEFAULT

    def test_of_two_the_good_one_is_taken(self, sources: Sources) -> None:
        sources.set("user", "review", "command", "/opt/mine")
        sources.set("environment", "review", "command", "./evil")
        assert sources.load().review_command == ("/opt/mine",)
