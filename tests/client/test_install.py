"""`taskie install` into the real clients: there the hook fires, after `taskie uninstall` it does not."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie import Plan, Project
from pytest_taskie.client import ClaudeClient, tool
from taskie.project import plugin_root
from taskie.setup import doctor

pytestmark = pytest.mark.client

ROOT = Path(plugin_root())
Client = Callable[..., Any]
Taskie = Callable[..., str]
# The hook's own words about a plan that has lost its plan.md.
BLOCK = "Missing required file: plan.md"


@pytest.fixture
def plan(plan: Plan) -> Plan:
    """A plan that the hook blocks on by itself, without a review."""
    plan.remove("plan.md")
    return plan


BLANK = "a path with a blank"


def places(*of: tuple[str, str]) -> pytest.MarkDecorator:
    """Each scope once, from the one place or from the other."""
    return pytest.mark.parametrize(("scope", "taskie"), of, indirect=["taskie"])


@pytest.fixture(params=[BLANK])
def taskie(request: pytest.FixtureRequest, project: Project, tmp_path: Path) -> Taskie:
    """The command, of this repository or of a copy elsewhere; it must succeed."""
    place = ROOT
    if request.param != "plain":
        place = tmp_path / "it's a copy"
        for name in ("taskie", "hooks", "codex", "actions"):
            shutil.copytree(ROOT / name, place / name, ignore=shutil.ignore_patterns("__pycache__"))

    def run(*words: str, env: Mapping[str, str] | None = None) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "taskie", *words],
            cwd=project.path,
            env={**project.env, "PYTHONPATH": str(place), **(env or {})},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run


def works(client: Any) -> list[object]:
    """What makes the plan this session's; Codex's transcripts are not read."""
    work = tool("Bash", command="touch -c .taskie/plans/test-plan/plan.md", description="work")
    return [work] if isinstance(client, ClaudeClient) else []


def feedback(client: Any) -> list[str]:
    """What the model is told when it stops, if anything."""
    client.agent(*works(client), "Done.", "Still done.", when="go on")
    return list(client.prompt("go on").feedback)


def not_blocked(client: Any) -> bool:
    client.agent(*works(client), "Done.", when="and now")
    return list(client.prompt("and now").feedback) == []


@places(("--local", BLANK), ("--project", "plain"), ("--user", BLANK))
def test_claude_fires_the_hook(scope: str, taskie: Taskie, claude_client: Client, plan: Plan, project: Project) -> None:
    name = "settings.local.json" if scope == "--local" else "settings.json"
    settings = (project.home if scope == "--user" else project.path) / ".claude" / name
    settings.parent.mkdir(exist_ok=True)
    settings.write_text('{"env": {"A": "b"}}\n')
    taskie("install", scope)
    client = claude_client()
    (said,) = feedback(client)
    assert BLOCK in said
    taskie("uninstall", scope)
    assert not_blocked(client)
    assert json.loads(settings.read_text())["env"] == {"A": "b"}


class TestATeam:
    """One person installs and commits; another, with another home, clones and works."""

    @pytest.fixture
    def commit(self, project: Project, tmp_path: Path) -> Callable[[str], None]:
        """What the lead's `.claude` becomes, as the project of the other person."""
        lead = tmp_path / "lead"
        git = ["git", "-c", "user.name=Lead", "-c", "user.email=lead@example.org"]

        def commit(*words: str) -> None:
            (lead / "home").mkdir(parents=True)
            (lead / "project").mkdir()
            env = {**project.env, "HOME": str(lead / "home"), "PYTHONPATH": str(ROOT)}
            for command in (
                ["git", "init", "-q"],
                [sys.executable, "-m", "taskie", *words],
                [*git, "add", "-A"],
                [*git, "commit", "-qm", "Use Taskie"],
            ):
                subprocess.run(command, cwd=lead / "project", env=env, capture_output=True, check=True, timeout=60)
            project.git("pull", "-q", str(lead / "project"))

        return commit

    @pytest.mark.parametrize("taskie", ["plain"], indirect=True)
    def test_is_silent_for_whoever_has_no_taskie(
        self,
        commit: Callable[..., None],
        taskie: Taskie,
        claude_client: Client,
        plan: Plan,
        project: Project,
        version: tuple[int, ...],
    ) -> None:
        commit("install", "--project")
        assert (project.path / ".claude" / "settings.json").exists()
        client = claude_client()
        client.agent(*works(client), "Done.", when="go on")
        run = client.prompt("go on")
        assert list(run.feedback) == []
        silent = (0, "", "") if version >= (2, 1) else (None, None, None)
        assert [(stop.exit_code, stop.stdout, stop.stderr) for stop in run.stops] == [silent]
        taskie("install")
        assert project.git("status", "--porcelain", ".claude") == "", "the team's file fits this person too"
        client.agent(*works(client), "Done.", "Still done.", when="once more")
        (said,) = client.prompt("once more").feedback
        assert BLOCK in said
        taskie("uninstall", "--user")
        assert not_blocked(client)

    @pytest.mark.parametrize("taskie", ["plain"], indirect=True)
    def test_knows_nothing_of_ones_own(
        self,
        commit: Callable[..., None],
        taskie: Taskie,
        claude_client: Client,
        plan: Plan,
        project: Project,
        version: tuple[int, ...],
    ) -> None:
        """A settings.local.json that somebody has committed all the same, with a path that is not on this machine."""
        commit("install")
        settings = project.path / ".claude" / "settings.local.json"
        settings.write_text(settings.read_text().replace(str(ROOT), "/home/lead/taskie"))
        client = claude_client()
        client.agent("Done.", when="begin")
        (stop,) = client.prompt("begin").stops
        assert stop.exit_code == (127 if version >= (2, 1) else None), "so such an error would be seen above"
        taskie("install")
        (said,) = feedback(client)
        assert BLOCK in said


@pytest.mark.parametrize("taskie", ["plain"], indirect=True)
def test_claude_asks_before_an_edit(taskie: Taskie, claude_client: Client, project: Project) -> None:
    """Autopilot's other hook: no code before the plan."""
    taskie("install")
    taskie("autopilot", "init", "FTR-1", "spec.md")
    write = tool("Write", file_path=str(project.path / "src" / "a.py"), content="x = 1\n")
    client = claude_client()
    client.agent(write, "I see.", when="first")
    client.prompt("first")
    assert not (project.path / "src").exists()
    taskie("uninstall")
    client.agent(write, "Done.", when="second")
    client.prompt("second")
    assert (project.path / "src" / "a.py").exists()


def test_claude_with_a_configuration_elsewhere(
    taskie: Taskie, claude_client: Client, plan: Plan, project: Project
) -> None:
    elsewhere = {"CLAUDE_CONFIG_DIR": str(project.home / "else where")}
    taskie("install", "--user", env=elsewhere)
    client = claude_client(env=elsewhere)
    (said,) = feedback(client)
    assert BLOCK in said
    taskie("uninstall", "--user", env=elsewhere)
    assert not_blocked(client)


@pytest.mark.parametrize("taskie", ["plain"], indirect=True)
def test_claude_reads_what_was_there_before_us(
    taskie: Taskie, claude_client: Client, plan: Plan, project: Project, version: tuple[int, ...]
) -> None:
    """Another hook for the same event, a byte order mark (which clients before 2.1 cannot read): both stay."""
    mark = project.path / "other-hook-ran"
    other = {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": f"touch {mark}"}]}]}}
    settings = project.path / ".claude" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(("\ufeff" if version >= (2, 1) else "") + json.dumps(other))
    taskie("install")
    (said,) = feedback(claude_client())
    assert BLOCK in said
    assert mark.exists()


@pytest.mark.parametrize("taskie", ["plain"], indirect=True)
@pytest.mark.parametrize("scope", ["--local", "--project"])
def test_claude_reads_the_projects_settings_where_it_is_started(
    scope: str, taskie: Taskie, claude_client: Client, plan: Plan, project: Project, version: tuple[int, ...]
) -> None:
    """Not below, except local ones in newer clients: this is what `taskie install` and `taskie doctor` tell."""
    project.git()
    below = project.path / "src"
    below.mkdir()
    taskie("install", scope)
    client = claude_client()
    read = scope == "--local" and version >= doctor.LOCAL_FROM_BELOW
    client.agent(*works(client), "Done.", *(["Still done."] if read else []))
    assert len(client.prompt("go on", cwd=below).feedback) == int(read)


@pytest.fixture
def codex_home(project: Project) -> Path:
    """A home for Codex whose hooks are what `taskie install` makes of them: the client writes its own elsewhere."""
    home = project.home / "codex home"
    home.mkdir()
    (home / "config.toml").symlink_to(project.home / ".codex" / "config.toml")
    return home


@places(("--user", BLANK), ("--project", "plain"))
def test_codex_fires_the_hook(
    scope: str, taskie: Taskie, codex_client: Client, codex_home: Path, plan: Plan, project: Project
) -> None:
    elsewhere = {"CODEX_HOME": str(codex_home)}
    assert "open /hooks and trust" in taskie("install", "--client", "codex", scope, env=elsewhere)
    client = codex_client(env=elsewhere)
    (said,) = feedback(client)
    assert BLOCK in said
    taskie("uninstall", "--client", "codex", scope, env=elsewhere)
    assert not_blocked(client)


@pytest.mark.parametrize("scope", ["--user", "--project"])
@pytest.mark.parametrize("taskie", ["plain"], indirect=True)
def test_codex_skips_the_hook_until_it_is_trusted(
    scope: str, taskie: Taskie, codex_client: Client, codex_home: Path, plan: Plan
) -> None:
    elsewhere = {"CODEX_HOME": str(codex_home)}
    said = taskie("install", "--client", "codex", scope, env=elsewhere)
    assert ("and the project itself" in said) == (scope == "--project")
    assert not_blocked(codex_client(env=elsewhere, trust_hooks=False))


@places(("--user", "plain"), ("--project", BLANK))
def test_codex_knows_the_commands(scope: str, taskie: Taskie, codex_client: Client, codex_home: Path) -> None:
    elsewhere = {"CODEX_HOME": str(codex_home)}
    taskie("install", "--client", "codex", scope, env=elsewhere)
    client = codex_client(env=elsewhere)
    client.agent("Understood.", when="a garden")
    told = json.dumps(client.prompt("$taskie-new-plan a garden").requests[0].body)
    assert "actions/new-plan.md" in told
    assert "what follows $taskie-new-plan in their message" in told
    assert "TASKIE_ROOT" not in told
    client.agent("Understood.", when="the loop")
    told = json.dumps(client.prompt("$taskie-stop the loop").requests[0].body)
    assert r"/bin/taskie\" stop`" in told
    client.agent("Hello.", when="hello")
    unasked = json.dumps(client.prompt("hello").requests[0].body)
    assert "taskie-new-plan" not in unasked, "the person calls the commands, the model does not choose them"
