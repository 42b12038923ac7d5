"""The README's examples, run as they stand."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import support
from support import ROOT
from support.commands import Taskie

from docs.diagram import mermaid
from pytest_taskie import FakeCli, Project, RunHook, assert_approved, assert_blocked
from pytest_taskie.client._kinds import CLIENTS
from taskie.config import SETTINGS, Config, load
from taskie.plans.phases import ONE_TASK, REVIEWS
from taskie.stand_in import AGENTS

README = (ROOT / "README.md").read_text()


def blocks(language: str) -> list[str]:
    return support.blocks(README, language)


def test_it_opens_with_the_two_commands() -> None:
    assert [block.strip() for block in blocks("console")[:2]] == ["python3 -m taskie demo", "make test"]
    assert re.search(r"^test:", (ROOT / "Makefile").read_text(), re.MULTILINE)


def section(name: str) -> str:
    return README.partition(f"\n## {name}\n")[2].partition("\n## ")[0]


class TestWhatItCosts:
    def test_is_said_before_how_to_start(self) -> None:
        assert 0 < README.index("## What it costs") < README.index("## Use it") < README.index("/taskie:new-plan")

    def test_follows_from_the_table_of_phases_and_the_defaults(self) -> None:
        cycles = sum(10 if review.needs == ONE_TASK else 1 for review in REVIEWS.values())
        clean, most = Config().review_clean_required, Config().review_max_reviews
        text = " ".join(section("What it costs").split())
        assert f"A plan of ten tasks has {cycles} cycles: {cycles * clean} to {cycles * most} reviews" in text
        assert f"after {({2: 'two', 3: 'three'})[clean]} clean ones in a row, or at its limit of {most}," in text


class TestWhatItDoesToAProject:
    def test_is_said_at_use_it(self) -> None:
        named = re.findall(r"^- \*\*(\w+)", section("Use it"), re.MULTILINE)
        assert named == ["Commits", "Pushes", "Permissions", "Without", "Clones"]

    def test_it_commits(self) -> None:
        answers = [review.post for review in REVIEWS.values()]
        for action in ("new-plan", "create-tasks", "complete-task", "complete-task-tdd", *answers):
            assert re.search(r"\bcommit\b", (ROOT / "actions" / f"{action}.md").read_text(), re.IGNORECASE), action


def test_nothing_is_promised_of_an_index() -> None:
    """No package index has us: what is typed must work from a clone."""
    pages = [README, *(path.read_text() for path in (ROOT / "docs").glob("*.md"))]
    assert not re.search(r"(?:pip|pipx|uv tool) install '?pytest-taskie", "".join(pages))
    (lines,) = [block.splitlines() for block in blocks("console") if "pipx install" in block]
    assert [line.rpartition(" ")[::2] for line in lines] == [
        ("pipx install", "."),
        ("uv tool install", "."),
        ("pip install", "."),
    ]


def test_the_first_test(pytester: pytest.Pytester) -> None:
    hook = pytester.mkdir("hooks") / "stop.sh"
    hook.write_text(
        """#!/bin/sh
        event=$(cat)
        case $event in *'"stop_hook_active": true'* | *'"stop_hook_active":true'*) exit 0 ;; esac
        [ -s build.log ] && printf '{"decision": "block", "reason": "%s"}' "$(cat build.log)"
        """
    )
    hook.chmod(0o755)
    (example,) = blocks("python")
    pytester.makepyfile(example)
    (ini,) = blocks("ini")
    pytester.makefile(".ini", pytest=ini)
    pytester.runpytest_subprocess().assert_outcomes(passed=2)
    hook.write_text("#!/bin/sh\ncat >/dev/null\n")
    pytester.runpytest_inprocess().assert_outcomes(passed=1, failed=1)


def test_every_fixture_is_in_the_table() -> None:
    sources = [ROOT / "pytest_taskie" / name for name in ("_plugin.py", "client/_fixtures.py")]
    defined = re.findall(r"^@pytest\.fixture.*\ndef ([a-z]\w*)", "".join(map(Path.read_text, sources)), re.MULTILINE)
    defined += [client.fixture for client in CLIENTS.values()]
    cells = re.findall(
        r"^\| (`\w+`(?:, `\w+`)*) \|", README.partition("| fixture |")[2].partition("\n\n")[0], re.MULTILINE
    )
    assert sorted(defined) == sorted(re.findall(r"\w+", " ".join(cells)))
    assert {f"fake_{agent}" for agent in AGENTS} <= set(defined)


def test_the_picture_is_drawn_from_the_table() -> None:
    assert [block.strip() for block in blocks("mermaid")] == [mermaid()]
    drawn = subprocess.run(
        [sys.executable, "-m", "tests.docs.diagram"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=30
    )
    assert drawn.stdout.strip() == mermaid()


def test_what_a_project_can_do_is_said_of_every_setting() -> None:
    """That it can, and nothing else, is in `tests/core/test_config_tightens.py`."""
    table = README.partition("| a project can |")[2].partition("\n\n")[0]
    named = [name for cell in re.findall(r"^\| (`.+?`) \|", table, re.MULTILINE) for name in re.findall(r"\w+", cell)]
    assert sorted(named) == sorted(key.partition("_")[2] for key in SETTINGS)


def test_the_configuration_shows_the_defaults(tmp_path: Path) -> None:
    (toml,) = blocks("toml")
    mine = tmp_path / ".config" / "taskie" / "config.toml"
    mine.parent.mkdir(parents=True)
    mine.write_text(toml)
    assert load(str(tmp_path / "project"), {"HOME": str(tmp_path)}) == Config()
    section, shown = "", []
    for line in toml.splitlines():
        section = line.strip("[]") if line.startswith("[") else section
        if " = " in line:
            shown.append(f"{section}_{line.removeprefix('# ').split(' = ')[0]}")
    assert set(shown) == set(SETTINGS)
    mine.write_text(toml.replace("# max_turns", "max_turns"))
    assert load(str(tmp_path / "project"), {"HOME": str(tmp_path)}) == Config(review_max_turns=40)


def test_a_plan_by_hand(project: Project, run_hook: RunHook, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL")
    (commands,) = [block for block in blocks("console") if "mkdir" in block]
    script = commands.replace("taskie state", f"{sys.executable} -m taskie state")
    done = subprocess.run(
        ["sh", "-e", "-c", script],
        cwd=project.path,
        env={**project.env, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
        timeout=30,
    )
    assert '"next_phase": "plan-review"' in done.stdout
    client = [str(support.HOOK), "--fail-open"]
    assert_approved(run_hook(command=client), "A plan review is due")
    project.calls("Read", file_path=".taskie/plans/my-plan/plan.md")
    assert_approved(run_hook(command=client), "A plan review is due")
    project.calls("Edit", file_path=".taskie/plans/my-plan/plan.md", old_string="My", new_string="Our")
    assert_blocked(run_hook(command=client), "plan-review-1.md")
    assert len(fake_claude.calls) == 1


@pytest.mark.parametrize("line", [line for block in blocks("console") for line in block.splitlines() if "  " in line])
def test_commands_that_are_listed_exist(line: str, taskie: Taskie) -> None:
    words = line.split("  ")[0].split()
    assert words[0] == "taskie"
    verbs = [word for word in words[1:] if word.isalpha() and word.islower()]
    assert taskie(*verbs, "--help").code == 0


def test_the_commands_in_the_table_exist() -> None:
    named = set(re.findall(r"/taskie:([a-z-]+)", README))
    actions = {path.stem for path in (ROOT / "actions").glob("*.md")}
    skills = {path.name for path in (ROOT / "skills").iterdir()}
    assert named <= skills
    assert skills - actions <= named, "every command of another engine is in the table"
    answers = {name for name in actions if name.startswith("post-")}
    assert actions - answers <= named, "every command that a person starts is in the table"


def test_without_the_plugin_every_command_that_a_stop_names_has_another(taskie: Taskie) -> None:
    hook = (ROOT / "taskie" / "plans").glob("*.py")
    named = {name for path in hook for name in re.findall(r"/taskie:([a-z-]+)", path.read_text())} - {"new-plan"}
    text = README.partition("### Without the plugin")[2].partition("\n### ")[0]
    instead = dict(re.findall(r"`taskie (\w+)(?: N)?`\s+for\s+`/taskie:([a-z-]+)", text))
    instead.update({command: name for name, command in re.findall(r"`/taskie:([a-z-]+)`,[^;`]*`taskie (\w+)`", text)})
    assert named == set(instead.values())
    for command in instead:
        assert taskie(command, "--help").code == 0
