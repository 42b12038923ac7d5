"""What each setting accepts, from a file and from the environment; anything else is a warning and the default."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from taskie.config import BUDGETS, SETTINGS, Config, load

DEFAULT = Config()

# section, key, value in TOML, what it becomes
FROM_TOML = [
    ("review", "command", '["claude", "--verbose"]', ("claude", "--verbose")),
    ("review", "command", '"my claude"', ("my claude",)),
    ("review", "models", '["haiku"]', ("haiku",)),
    ("review", "models", '["a", "b", "a"]', ("a", "b", "a")),
    ("review", "models", '["codex:", "us.anthropic.claude-v1:0"]', ("codex:", "us.anthropic.claude-v1:0")),
    ("review", "models", '"opus, haiku"', ("opus", "haiku")),
    ("review", "clean_required", "1", 1),
    ("review", "max_reviews", "0", 0),
    ("review", "timeout", "0.5", 0.5),
    ("review", "timeout", "60", 60.0),
    ("review", "permissions", '"scoped"', "scoped"),
    ("review", "max_turns", "30", 30),
    ("review", "max_budget_usd", "0.5", 0.5),
    ("review", "max_budget_usd", "2", 2.0),
    ("review", "max_budget_usd", "0", 0.0),
    ("review", "plan_budget_usd", "0", 0.0),
    ("review", "plan_budget_usd", "12.50", 12.5),
    ("review", "hooks", '"keep"', "keep"),
    ("review", "findings", "true", True),
    ("review", "remember", "true", True),
    ("review", "fail_on", '"major"', ("major",)),
    ("review", "fail_on", '["minor", "minor", "blocker"]', ("minor", "minor", "blocker")),
    ("review", "push", "true", True),
    ("review", "push", '"false"', False),
    ("loop", "guard", '"strict"', "strict"),
    ("gauntlet", "insist", "0", 0),
    ("gauntlet", "rules_from", '"base"', "base"),
    ("claudex", "sandbox", '"workspace-write"', "workspace-write"),
]

FROM_ENVIRONMENT = [
    ("REVIEW_COMMAND", "my claude", ("my claude",)),
    ("REVIEW_COMMAND", '["claude", "--verbose"]', ("claude", "--verbose")),
    ("REVIEW_MODELS", "haiku", ("haiku",)),
    ("REVIEW_MODELS", "opus, sonnet,haiku", ("opus", "sonnet", "haiku")),
    ("REVIEW_MODELS", '["opus", "opus[1m]"]', ("opus", "opus[1m]")),
    ("REVIEW_CLEAN_REQUIRED", "3", 3),
    ("REVIEW_MAX_REVIEWS", "0", 0),
    ("REVIEW_TIMEOUT", "0.3", 0.3),
    ("REVIEW_TIMEOUT", "90", 90.0),
    ("REVIEW_PERMISSIONS", "scoped", "scoped"),
    ("REVIEW_MAX_TURNS", "5", 5),
    ("REVIEW_MAX_BUDGET_USD", "0.5", 0.5),
    ("REVIEW_PLAN_BUDGET_USD", "0", 0.0),
    ("REVIEW_PLAN_BUDGET_USD", "20", 20.0),
    ("REVIEW_HOOKS", "keep", "keep"),
    ("REVIEW_FINDINGS", "true", True),
    ("REVIEW_FINDINGS", "1", True),
    ("REVIEW_REMEMBER", "true", True),
    ("REVIEW_FAIL_ON", "minor, major", ("minor", "major")),
    ("REVIEW_PUSH", "1", True),
    ("REVIEW_PUSH", "false", False),
    ("LOOP_GUARD", "strict", "strict"),
    ("GAUNTLET_INSIST", "5", 5),
    ("GAUNTLET_RULES_FROM", "base", "base"),
    ("CLAUDEX_SANDBOX", "workspace-write", "workspace-write"),
]

HUGE = "9" * 400
WRONG_IN_TOML = [
    *(("review", "command", value) for value in ("1", "[]", '[""]', "[1]", "true", '""', "{}", '["a", ["b"]]')),
    *(("review", "models", value) for value in ("1", "[]", '["a", ""]', "[1]", "true", '"a,,b"', "1979-05-27")),
    *(("review", "models", value) for value in ('["--model"]', '["codex:-m"]', '["a b"]', '["a\\nb"]')),
    *(("review", "clean_required", value) for value in ("0", "-1", "1.0", "true", '"x"', "[]", "{}", '"1.5"')),
    *(("review", "max_reviews", value) for value in ("-1", "1.5", "false", '"many"', "[8]", "inf", "07:32:00")),
    *(("review", "timeout", value) for value in ("0", "-1", "inf", "nan", "true", '"soon"', "[]", "0.0", HUGE)),
    *(("review", "permissions", value) for value in ('"all"', "true", "1", '["skip"]', '""', "{}")),
    *(("review", "max_turns", value) for value in ("0", "-3", "2.0", "true", '"x"', "[]")),
    *(("review", "max_budget_usd", value) for value in ("-1", "inf", "nan", "true", '"$5"', "[]", "-0.1", HUGE)),
    *(("review", "plan_budget_usd", value) for value in ("-0.01", "inf", "-inf", "nan", "false", '"ten"', "{}", HUGE)),
    *(("review", "hooks", value) for value in ('"on"', "true", "false", "0", "[]")),
    *(("review", "findings", value) for value in ('"yes"', "1", "[true]", "{}")),
    *(("review", "remember", value) for value in ('"yes"', "1", "[true]", "{}")),
    *(("review", "fail_on", value) for value in ('"critical"', "true", "1", "[]", '["minor", 2]', '"minor,,major"')),
    *(("review", "push", value) for value in ('"on"', "1", "0", "[]", '["true"]', "{}", '""')),
    *(("loop", "guard", value) for value in ('"lax"', "true", "0", '["strict"]', '"Strict"')),
    *(("gauntlet", "insist", value) for value in ("-1", "1.5", '"often"', "true")),
    *(("gauntlet", "rules_from", value) for value in ('"main"', "true", '["base"]')),
    *(("claudex", "sandbox", value) for value in ('"none"', "true", '"read-only; true"', '["bypass"]')),
]

WRONG_IN_ENVIRONMENT = [
    ("REVIEW_MODELS", ","),
    ("REVIEW_MODELS", "a,,b"),
    ("REVIEW_MODELS", "[]"),
    ("REVIEW_MODELS", '["a", 1]'),
    ("REVIEW_MODELS", "-x"),
    ("REVIEW_COMMAND", "[1]"),
    ("REVIEW_CLEAN_REQUIRED", "0"),
    ("REVIEW_CLEAN_REQUIRED", "two"),
    ("REVIEW_MAX_REVIEWS", "-1"),
    ("REVIEW_MAX_REVIEWS", "1.5"),
    ("REVIEW_MAX_REVIEWS", "9" * 5000),
    ("REVIEW_TIMEOUT", "0"),
    ("REVIEW_TIMEOUT", "inf"),
    ("REVIEW_TIMEOUT", "nan"),
    ("REVIEW_TIMEOUT", HUGE),
    ("REVIEW_TIMEOUT", "soon"),
    ("REVIEW_PERMISSIONS", "none"),
    ("REVIEW_MAX_TURNS", "0"),
    ("REVIEW_MAX_BUDGET_USD", "-1"),
    ("REVIEW_MAX_BUDGET_USD", "$5"),
    ("REVIEW_PLAN_BUDGET_USD", "-1"),
    ("REVIEW_PLAN_BUDGET_USD", "inf"),
    ("REVIEW_HOOKS", "on"),
    ("REVIEW_FINDINGS", "maybe"),
    ("REVIEW_REMEMBER", "maybe"),
    ("REVIEW_FAIL_ON", "minor,severe"),
    ("REVIEW_PUSH", "yes"),
    ("LOOP_GUARD", "lax"),
    ("GAUNTLET_INSIST", "often"),
    ("GAUNTLET_RULES_FROM", "main"),
    ("CLAUDEX_SANDBOX", "none; true"),
]


def without(name: str) -> Config:
    """What holds where this setting is wrong: a budget is not lifted by a slip."""
    return DEFAULT.replace(**{name: 0.0}) if name in BUDGETS else DEFAULT


def user_config(home: Path, text: str) -> dict[str, str]:
    """The environment of a user with this configuration."""
    path = home / ".config" / "taskie" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return {"HOME": str(home)}


def test_defaults(tmp_path: Path) -> None:
    assert load(str(tmp_path), {"HOME": str(tmp_path)}) == Config(
        review_command=("claude",),
        review_models=("opus", "sonnet"),
        review_clean_required=2,
        review_max_reviews=8,
        review_timeout=570.0,
        review_permissions="auto",
        review_max_turns=None,
        review_max_budget_usd=None,
        review_plan_budget_usd=None,
        review_hooks="off",
        review_findings=False,
        review_remember=False,
        review_fail_on=("minor",),
        review_push=False,
        loop_guard="progress",
        gauntlet_insist=2,
        gauntlet_rules_from="worktree",
        claudex_sandbox="bypass",
    )


@pytest.mark.parametrize(("section", "key", "written", "expected"), FROM_TOML)
def test_setting_in_a_file(tmp_path: Path, section: str, key: str, written: str, expected: Any) -> None:
    env = user_config(tmp_path, f"[{section}]\n{key} = {written}\n")
    assert load(str(tmp_path / "project"), env) == DEFAULT.replace(**{f"{section}_{key}": expected})


@pytest.mark.parametrize(("name", "written", "expected"), FROM_ENVIRONMENT)
def test_setting_in_the_environment(tmp_path: Path, name: str, written: str, expected: Any) -> None:
    env = {"HOME": str(tmp_path), f"TASKIE_{name}": written}
    assert load(str(tmp_path), env) == DEFAULT.replace(**{name.lower(): expected})


@pytest.mark.parametrize("name", SETTINGS)
def test_a_default_passes_its_own_check(name: str) -> None:
    default = getattr(DEFAULT, name)
    if default is not None:
        assert SETTINGS[name](list(default) if isinstance(default, tuple) else default) == default


def test_any_model_until_a_list_is_set(tmp_path: Path) -> None:
    assert DEFAULT.allows_model("haiku")
    assert DEFAULT.replace(review_timeout=1.0).allows_model("haiku")
    for listed in ('["opus", "sonnet"]', '["fable"]'):
        found = load(str(tmp_path / "project"), user_config(tmp_path, f"[review]\nmodels = {listed}\n"))
        assert [found.allows_model(name) for name in ("haiku", *found.review_models)][:2] == [False, True]


def test_every_setting_is_covered() -> None:
    settings = set(Config.__annotations__) - {"warnings"}
    assert set(SETTINGS) == settings
    assert {f"{section}_{key}" for section, key, *_ in FROM_TOML} == settings
    assert {f"{section}_{key}" for section, key, *_ in WRONG_IN_TOML} == settings
    assert {name.lower() for name, *_ in FROM_ENVIRONMENT} == settings
    assert {name.lower() for name, *_ in WRONG_IN_ENVIRONMENT} == settings


@pytest.mark.parametrize(
    ("section", "key", "written"), WRONG_IN_TOML, ids=[f"{key}-{value[:20]}" for _, key, value in WRONG_IN_TOML]
)
def test_wrong_value_in_a_file(tmp_path: Path, section: str, key: str, written: str) -> None:
    env = user_config(tmp_path, f"[{section}]\n{key} = {written}\n")
    found = load(str(tmp_path / "project"), env)
    assert found.replace(warnings=()) == without(f"{section}_{key}")
    (warning,) = found.warnings
    path = os.path.join(tmp_path, ".config", "taskie", "config.toml")  # noqa: PTH118 - as the hook builds it
    assert warning.startswith(f"{path}: {section}.{key} must be ")
    assert warning.endswith("; taken for 0: no review" if f"{section}_{key}" in BUDGETS else "; ignored")
    assert len(warning.removeprefix(path)) < 120


@pytest.mark.parametrize(
    ("name", "written"), WRONG_IN_ENVIRONMENT, ids=[f"{name}-{value[:20]}" for name, value in WRONG_IN_ENVIRONMENT]
)
def test_wrong_value_in_the_environment(tmp_path: Path, name: str, written: str) -> None:
    found = load(str(tmp_path), {"HOME": str(tmp_path), f"TASKIE_{name}": written})
    assert found.replace(warnings=()) == without(name.lower())
    (warning,) = found.warnings
    assert warning.startswith(f"TASKIE_{name} must be ")
    assert len(warning) < 120


def test_empty_variable_is_none(tmp_path: Path) -> None:
    env = {f"TASKIE_{name}": "" for name, *_ in FROM_ENVIRONMENT}
    assert load(str(tmp_path), {"HOME": str(tmp_path), **env}) == DEFAULT


def test_wrong_values_do_not_hide_good_ones(tmp_path: Path) -> None:
    env = user_config(tmp_path, '[review]\nmax_reviews = "x"\ntimeout = 5\n[loop]\nguard = "strict"\n')
    found = load(str(tmp_path / "project"), {**env, "TASKIE_REVIEW_HOOKS": "on"})
    assert found.replace(warnings=()) == DEFAULT.replace(review_timeout=5.0, loop_guard="strict")
    assert len(found.warnings) == 2


def test_list_in_the_environment_is_json_else_words(tmp_path: Path) -> None:
    for written in (["opus"], ["a", "b"]):
        env = {"HOME": str(tmp_path), "TASKIE_REVIEW_MODELS": json.dumps(written)}
        assert load(str(tmp_path), env).review_models == tuple(written)
