"""`taskie doctor`: each finding with its remedy, and exit 1 exactly if the hook cannot work."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taskie.config import Config
from taskie.setup import paths, settings
from taskie.setup.doctor import Finding, judge
from taskie.setup.probes import Client, Facts, Hook, Source

SCRIPT = paths.script()


def handler(**fields: Any) -> dict[str, Any]:
    return {"type": "command", "command": f"exec {SCRIPT} --fail-open", "timeout": 600, **fields}


def source(kind: str = "user", *, problem: str | None = None, hook: Any = None, **says: Any) -> Source:
    if hook is not None:
        before_tools = {**hook, "command": str(hook.get("command")).replace("--fail-open", "--pre-tool-use")}
        says["hooks"] = {"Stop": [{"hooks": [hook]}], "PreToolUse": [{"hooks": [before_tools]}]}
    if kind == "codex":
        return Source("user", f"/{kind}/hooks.json", says, problem, client=kind)
    return Source(kind, f"/{kind}/settings.json", says, problem)


GOOD = Facts(
    python="3.12.1 (/usr/bin/python3)",
    cwd="/project",
    root="/project",
    sources=[source(hook=handler())],
    hook=Hook(SCRIPT, None, "/usr/bin/python3", "3.12.1"),
    plugin_timeout=600,
    client=Client("claude", "/bin/claude", "2.1.197"),
    config=Config(),
    is_root=False,
    env={},
)


def troubles(facts: Facts) -> list[Finding]:
    found = [finding for finding in judge(facts) if finding.level != "ok"]
    for finding in found:
        assert finding.remedy, finding
    return found


def trouble(facts: Facts) -> tuple[str, str, str]:
    (found,) = troubles(facts)
    return found.level, found.text, found.remedy or ""


class TestJudgement:
    def test_all_is_well(self) -> None:
        assert troubles(GOOD) == []
        assert [finding.about for finding in judge(GOOD)] == ["python", "hook", "settings", "client"]

    @pytest.mark.parametrize(
        ("problem", "python", "remedy"),
        [
            ("is not there", None, "install Taskie again"),
            ("is not executable", None, "chmod +x"),
            ("answers: Taskie found no Python", None, "install Python 3.9 or newer"),
            ("answers 'x', which is not JSON", "/usr/bin/python3", "install Taskie again"),
        ],
    )
    def test_hook(self, problem: str, python: str | None, remedy: str) -> None:
        level, text, told = trouble(replace(GOOD, hook=Hook(SCRIPT, problem, python)))
        assert level == "error"
        assert text == f"{SCRIPT} {problem}"
        assert remedy in told

    def test_the_hook_is_switched_off_here(self) -> None:
        level, text, _ = trouble(replace(GOOD, env={"TASKIE_HOOK_SKIP": "1"}))
        assert level == "error"
        assert "TASKIE_HOOK_SKIP is set" in text

    def test_installed_nowhere(self) -> None:
        level, text, remedy = trouble(replace(GOOD, sources=[source()]))
        assert level == "error"
        assert "installed nowhere" in text
        assert "taskie install" in remedy

    @pytest.mark.parametrize("kind", ["user", "project", "local"])
    def test_the_plugin_is_enough(self, kind: str) -> None:
        assert troubles(replace(GOOD, sources=[source(kind, enabledPlugins={"taskie@here": True})])) == []

    def test_the_plugin_of_the_session_that_asks_is_enough(self) -> None:
        facts = replace(GOOD, sources=[source()], loaded=True)
        assert troubles(facts) == []
        assert "the plugin taskie is enabled in this session" in [finding.text for finding in judge(facts)]

    def test_a_plugin_that_is_switched_off_later_is_not(self) -> None:
        on, off = {"taskie@here": True}, {"taskie@here": False}
        facts = replace(GOOD, sources=[source(enabledPlugins=on), source("project", enabledPlugins=off)])
        assert "installed nowhere" in trouble(facts)[1]
        facts = replace(GOOD, sources=[source(enabledPlugins=off), source("project", enabledPlugins=on)])
        assert troubles(facts) == []

    @pytest.mark.parametrize(("kind", "option"), [("user", "--user"), ("local", "--local")])
    def test_an_event_of_an_engine_is_missing(self, kind: str, option: str) -> None:
        installed = source(kind, hook=handler())
        del installed.settings["hooks"]["PreToolUse"]
        text = f"{installed.path} has the hook for Stop, but not for PreToolUse"
        assert trouble(replace(GOOD, sources=[installed])) == ("warning", text, f"`taskie install {option}`")

    def test_twice(self) -> None:
        facts = replace(GOOD, sources=[source(hook=handler(), enabledPlugins={"taskie@here": True})])
        level, text, _ = trouble(facts)
        assert (level, "runs 2 times" in text) == ("warning", True)

    def test_the_same_command_in_two_files_runs_once(self) -> None:
        assert troubles(replace(GOOD, sources=[source(hook=handler()), source("local", hook=handler())])) == []

    @pytest.mark.parametrize(("kind", "option"), [("user", "--user"), ("project", "--project"), ("codex", "codex")])
    def test_a_script_that_is_gone(self, kind: str, option: str) -> None:
        gone = handler(command="exec /gone/hooks/stop-hook.sh --fail-open")
        level, text, remedy = trouble(replace(GOOD, sources=[source(kind, hook=gone)]))
        assert level == "error"
        assert "names /gone/hooks/stop-hook.sh, which is not there" in text
        assert remedy.startswith("`taskie install ")
        assert option in remedy

    def test_a_script_that_is_gone_beside_one_that_works(self) -> None:
        gone = handler(command="exec /gone/hooks/stop-hook.sh --fail-open")
        levels = {f.level for f in troubles(replace(GOOD, sources=[*GOOD.sources, source("project", hook=gone)]))}
        assert levels == {"warning"}

    def test_a_path_of_this_machine_in_the_teams_settings(self) -> None:
        facts = replace(GOOD, sources=[source("project", hook=handler())])
        level, text, remedy = trouble(facts)
        assert level == "warning"
        assert f"/project/settings.json names {SCRIPT}: the clients of all others" in text
        assert remedy.startswith("`taskie install` moves it")

    @pytest.mark.parametrize(
        ("linked", "plugin", "level"), [(True, False, None), (False, False, "error"), (False, True, None)]
    )
    def test_the_teams_own_entry(self, linked: bool, plugin: bool, level: str | None, tmp_path: Path) -> None:
        """Without a link of one's own it is silent, which is what somebody with the plugin wants."""
        shared = source("project", hook=handler(command=settings.PORTABLE % "--fail-open"))
        facts = replace(GOOD, sources=[shared], env={"HOME": str(tmp_path)}, loaded=plugin)
        if linked:
            link = Path(paths.link(facts.env))
            link.parent.mkdir(parents=True)
            link.symlink_to(SCRIPT)
        found = troubles(facts)
        assert [(each.level, each.remedy) for each in found] == ([(level, "`taskie install`")] if level else [])

    def test_the_teams_own_entry_beside_ones_own(self, tmp_path: Path) -> None:
        shared = source("project", hook=handler(command=settings.PORTABLE % "--fail-open"))
        facts = replace(GOOD, sources=[*GOOD.sources, shared], env={"HOME": str(tmp_path)})
        assert troubles(facts) == [], "with a link it would run twice, and `taskie install` makes none"
        link = Path(paths.link(facts.env))
        link.parent.mkdir(parents=True)
        link.symlink_to(SCRIPT)
        assert "runs 2 times" in trouble(facts)[1]

    def test_the_teams_own_entry_beside_one_that_is_gone(self, tmp_path: Path) -> None:
        """Nothing runs it, so both have a remedy."""
        shared = source("project", hook=handler(command=settings.PORTABLE % "--fail-open"))
        gone = source(hook=handler(command="exec /gone/hooks/stop-hook.sh --fail-open"))
        found = troubles(replace(GOOD, sources=[gone, shared], env={"HOME": str(tmp_path)}))
        assert [each.remedy for each in found] == ["`taskie install --user`", "`taskie install`"]

    def test_below_the_root_the_projects_settings_are_not_read(self) -> None:
        facts = replace(GOOD, cwd="/project/src", sources=[source("local", hook=handler())])
        level, text, _ = trouble(facts)
        assert (level, "only if it is started in /project" in text) == ("warning", True)
        assert troubles(replace(facts, sources=GOOD.sources)) == []
        assert troubles(replace(facts, client=replace(GOOD.client, version="2.1.325"))) == []

    def test_settings_that_cannot_be_read(self) -> None:
        facts = replace(GOOD, sources=[*GOOD.sources, source("project", problem="settings.json is not valid JSON")])
        assert trouble(facts)[:2] == ("warning", "settings.json is not valid JSON")

    def test_codex_alone_is_an_installation_too(self) -> None:
        facts = replace(GOOD, sources=[source("codex", hook=handler())])
        assert troubles(facts) == []
        assert any("/hooks" in (finding.remedy or "") for finding in judge(facts))

    @pytest.mark.parametrize(
        ("first", "second", "disabled"),
        [
            ({"disableAllHooks": True}, {}, True),
            ({}, {"disableAllHooks": True}, True),
            ({"disableAllHooks": True}, {"disableAllHooks": False}, False),
            ({"disableAllHooks": False}, {"disableAllHooks": True}, True),
            ({"disableAllHooks": "yes"}, {}, False),
        ],
    )
    def test_disable_all_hooks(self, first: dict[str, Any], second: dict[str, Any], disabled: bool) -> None:
        sources = [source(hook=handler(), **first), source("project", **second), source("codex", disableAllHooks=True)]
        found = troubles(replace(GOOD, sources=sources))
        assert [finding.level for finding in found] == ["error"] * disabled
        assert all("disableAllHooks is true in" in finding.text for finding in found)

    @pytest.mark.parametrize(("kind", "levels"), [("managed", ["error"]), ("user", []), ("project", [])])
    def test_allow_managed_hooks_only(self, kind: str, levels: list[str]) -> None:
        """The client heeds it in the managed settings only."""
        sources = [*GOOD.sources, source(kind, allowManagedHooksOnly=True)]
        assert [finding.level for finding in troubles(replace(GOOD, sources=sources))] == levels

    @pytest.mark.parametrize(
        ("version", "level"),
        [
            ("1.0.120", "error"),
            ("0.9", "error"),
            ("1.0.121", "warning"),
            ("2.0.59", "warning"),
            ("2.0.60", None),
            ("2.1.197", None),
            ("10.0.0", None),
            (None, None),
        ],
    )
    def test_version(self, version: str | None, level: str | None) -> None:
        found = troubles(replace(GOOD, client=Client("claude", "/bin/claude", version)))
        assert [finding.level for finding in found] == ([level] if level else [])
        assert all("--json-schema" in finding.text for finding in found)

    @pytest.mark.parametrize(
        ("client", "text"),
        [
            (Client("claude", None), "claude, which reviews, is not on PATH"),
            (Client("claude", "/bin/claude", problem="took too long"), "`/bin/claude --version` took too long"),
        ],
    )
    def test_no_client(self, client: Client, text: str) -> None:
        assert trouble(replace(GOOD, client=client))[:2] == ("error", text)

    @pytest.mark.parametrize(
        ("permissions", "env", "levels"),
        [("skip", {}, ["error"]), ("skip", {"IS_SANDBOX": "1"}, []), ("scoped", {}, []), ("skip", None, [])],
    )
    def test_root(self, permissions: str, env: dict[str, str] | None, levels: list[str]) -> None:
        config = Config(review_permissions=permissions)
        facts = replace(GOOD, is_root=env is not None, env=env or {}, config=config)
        assert [finding.level for finding in troubles(facts)] == levels

    @pytest.mark.parametrize(
        ("timeout", "review", "expected"),
        [
            (600, 570.0, None),
            (599, 570.0, "set review.timeout to 569, or the hook's timeout to 600"),
            (60, 30.0, None),
            (60, 31.0, "set review.timeout to 30, or the hook's timeout to 61"),
            (10, 5.0, "set review.timeout to 1, or the hook's timeout to 35"),
            (600, 900.0, "set review.timeout to 570 or less"),
            ("600", 570.0, "`taskie install`"),
            (True, 570.0, "`taskie install`"),
        ],
    )
    def test_timeouts(self, timeout: object, review: float, expected: str | None) -> None:
        facts = replace(GOOD, sources=[source(hook=handler(timeout=timeout))], config=Config(review_timeout=review))
        assert [(f.level, f.remedy) for f in troubles(facts)] == ([("warning", expected)] if expected else [])

    def test_a_hook_without_a_timeout_has_the_clients(self) -> None:
        bare = {"type": "command", "command": f"exec {SCRIPT} --fail-open"}
        assert troubles(replace(GOOD, sources=[source(hook=bare)])) == []

    def test_the_plugins_timeout(self) -> None:
        facts = replace(GOOD, sources=[source(enabledPlugins={"taskie@a": True})], plugin_timeout=100)
        assert "the client ends the hook after 100 s (the plugin taskie@a)" in trouble(facts)[1]

    def test_configuration(self) -> None:
        facts = replace(GOOD, config=Config(warnings=("review.models must be a list; ignored", "another")))
        assert [(f.level, f.text) for f in troubles(facts)] == [
            ("warning", "review.models must be a list; ignored"),
            ("warning", "another"),
        ]
