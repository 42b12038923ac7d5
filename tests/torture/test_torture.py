"""The torture's own parts, as far as they are quick: that it can fail, that it forgets no command."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from support import ROOT

from taskie import cli
from taskie.engines import ENGINES
from tools.torture import places, written
from tools.torture.__main__ import PARTS
from tools.torture.results import Failure, Result, table
from tools.torture.scenes import SCENES
from tools.torture.stage import MADE, Point


def torture(*words: str) -> subprocess.CompletedProcess[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    return subprocess.run(
        [sys.executable, "-m", "tools.torture", *words],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


def test_a_failure_names_the_command_that_shows_it_again() -> None:
    point = Point("plan-stop", "EIO+", 12, False)
    assert point.again.endswith("--at plan-stop:EIO+:12:out")
    assert Point.parse(point.name) == point


def test_the_table_counts_failures_by_kind() -> None:
    failures = [Failure("lost", "a", "x"), Failure("lost", "b", "x"), Failure("hung", "c", "x")]
    assert "| sweep | 1,200 | 1,000 | 3: 2 lost, 1 hung | 7 |" in table([Result("sweep", 1200, 1000, failures, 7.2)])


def test_the_last_run_has_numbers_in_each_row() -> None:
    _, _, rest = written.PAGE.read_text(encoding="utf-8").partition(written.BEGIN)
    head, _, *rows = rest.partition(written.END)[0].splitlines()
    cells = [row.strip("| ").split(" | ") for row in rows]
    assert {len(row) for row in cells} == {len(head.strip("| ").split(" | "))}
    for part, tried, reached, *_ in cells:
        assert part in PARTS
        assert 0 < int(reached.replace(",", "")) <= int(tried.replace(",", ""))


def test_a_few_inputs_of_every_fuzzer() -> None:
    done = torture("--only", "fuzz", "--inputs", "300", "--seconds", "60")
    assert "| fuzz | 3" in done.stdout, done.stderr


CARELESS = """
import os
name = ".taskie/plans/test-plan/state.json"
text = open(name).read().replace("8", "5")
open(name, "w").close()
with open(name + ".new", "w") as file:
    file.write(text)
os.rename(name + ".new", name)
"""
# In place of a command that the torture knows stands one that is careless.
SWEEP = """
import sys
from tools.torture import scenes, sweep
scene, program = scenes.SCENES["state-set"], sys.argv[1]
command = [sys.executable, "-I", "-S", program]
scenes.SCENES["state-set"] = scenes.Scene(scene.make, lambda place: command)
result = sweep.run(60, 60, 1, only=("state-set",))
print(result.reached, result.kinds)
"""
LEAVING = """
from pathlib import Path
from tools.torture import places, written
from tools.torture.__main__ import PARTS
places.adopt_orphans()
ended = places.run(["sh", "-c", "sleep 60 & sleep 60 & exit 3"], cwd=Path("/"), env={"PATH": "/usr/bin:/bin"})
print(ended.code, len(ended.survivors), len(places.children()))
"""


def script(text: str, *words: str) -> str:
    """Apart from pytest: a process with threads must not fork."""
    done = subprocess.run(
        [sys.executable, "-c", text, *words], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="LD_PRELOAD")
@pytest.mark.skipif(not shutil.which("gcc") and "CI" not in os.environ, reason="needs gcc, to make system calls fail")
class TestTheSweep:
    def test_finds_a_state_that_is_cut(self, tmp_path: Path) -> None:
        program = tmp_path / "careless.py"
        program.write_text(CARELESS)
        said = script(SWEEP, str(program))
        assert int(said.split()[0]) > 40
        assert " corrupt" in said
        assert " traceback" in said

    def test_ends_what_a_command_leaves_running(self) -> None:
        assert script(LEAVING) == "3 2 0\n"


def test_a_name_without_what_differs_from_run_to_run() -> None:
    assert places.plain("a/.state.json.1234.ab12") == places.plain("a/.state.json.9.ab7")
    assert places.plain("a/.state.json.1.x") != places.plain("a/state.json")


# What changes nothing, and the demo, which works in a folder of its own.
NO_SCENE = {
    "autopilot blueprint", "autopilot pre-check", "autopilot status", "claudex status", "demo", "doctor",
    "gauntlet detect", "gauntlet list", "gauntlet status", "gauntlet validate", "next", "state get", "status",
    "statusline", "watch",
}  # fmt: skip
HOOKS = ("stop-hook", "subagent-stop", "pre-tool-use")


def _commands(parser: argparse.ArgumentParser, words: str = "") -> list[str]:
    below = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    found = [_commands(inner, f"{words} {word}") for each in below for word, inner in each.choices.items()]
    return [leaf for leaves in found for leaf in leaves] or [words.strip()]


def test_every_command_that_writes_has_a_scene(tmp_path: Path) -> None:
    loops = tmp_path / ".claude" / "claudex"
    loops.mkdir(parents=True)
    (loops / "20260101-000000-abcdef.state").touch()
    place = SimpleNamespace(path=tmp_path, hook=["hook"], taskie=lambda *words: words)
    shown = {" ".join(scene.command(place)) + " " for scene in SCENES.values()}  # type: ignore[arg-type]
    known = {leaf for words in ([], *([name] for name in ENGINES)) for leaf in _commands(cli._parser(words)[0])}
    commands = {each for each in known if not each.endswith(HOOKS) and each not in ENGINES}
    missing = {each for each in commands if not any(words.startswith(f"{each} ") for words in shown)}
    assert missing == NO_SCENE


@pytest.mark.parametrize(
    ("name", "fits"),
    [
        ("project/.claude/claudex/20260101-000000-abcdef-runner.sh", True),
        ("project/.claude/claudex/20260101-000000-abcdef.state", False),
        ("project/.claude/claudex/20260101-000000-abcdef/findings-round-1.md", False),
        ("project/.claude/claudex/mine-prompt.txt", False),
    ],
)
def test_what_is_written_anew_is_known_by_its_whole_name(name: str, fits: bool) -> None:
    assert bool(MADE.match(name)) is fits
