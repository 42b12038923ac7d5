"""Who may import whom, imports inside functions included: command line, hook -> engines -> core, never back."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from taskie import engines

ROOT = Path(__file__).parents[2]
ENGINES = set(engines.ENGINES.values())
PEOPLE = {"taskie.cli", "taskie.__main__", "taskie.setup", "taskie.demo", "taskie.overview"}
PEOPLE |= {"taskie.report", "taskie.statusline", "taskie.watch", "taskie.trusting"}
HOOK = {"taskie.hook", "taskie.own_hook"}
COMMAND = re.compile(r"(taskie(?:\.\w+)+):\w+")  # a function that the command line calls by its name


def modules() -> dict[str, Path]:
    found = {}
    for package in ("taskie", "pytest_taskie"):
        for path in (ROOT / package).rglob("*.py"):
            name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
            found[name.removesuffix(".__init__")] = path
    return found


MODULES = modules()


def arrows(name: str, path: Path) -> Iterator[str]:
    """The modules of ours that this one imports anywhere, or names as the home of a command."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in list(ast.walk(tree)):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body.clear()  # not there at run time
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{name} has a relative import, which this does not follow"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in MODULES else str(node.module)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and COMMAND.fullmatch(node.value):
            yield node.value.partition(":")[0]


ARROWS = {
    name: {target for target in arrows(name, path) if target in MODULES and target != name}
    for name, path in MODULES.items()
}


def part(name: str) -> str:
    """The engine or the module at the top that a module belongs to."""
    return ".".join(name.split(".")[:2])


def crossing(sources: set[str], targets: set[str]) -> list[str]:
    return [
        f"{name} -> {target}"
        for name, found in ARROWS.items()
        for target in found
        if part(name) in sources and part(target) in targets
    ]


CORE = {part(name) for name in MODULES if name.startswith("taskie.")} - ENGINES - PEOPLE - HOOK


def test_there_is_something_to_look_at() -> None:
    assert "taskie.protocol" in ARROWS["taskie.hook"]
    assert "taskie.plans.commands" in ARROWS["taskie.plans.arguments"], "a command's home counts"
    assert "taskie.setup.install" in ARROWS["taskie.cli"] | ARROWS["taskie.setup.gauntlet"]
    assert {"taskie.errors", "taskie.store", "taskie.config"} <= CORE


def test_the_core_knows_no_engine_nor_what_is_above() -> None:
    assert crossing(CORE, ENGINES | PEOPLE | HOOK) == []


@pytest.mark.parametrize("engine", sorted(ENGINES))
def test_no_engine_knows_another_nor_the_hook(engine: str) -> None:
    above = (PEOPLE - {"taskie.setup"}) | HOOK
    assert crossing({engine}, (ENGINES - {engine}) | above) == []


def test_only_the_words_of_an_engine_name_what_is_for_people() -> None:
    named = {arrow.split(" -> ")[0] for arrow in crossing(ENGINES, {"taskie.setup"})}
    assert named <= {f"{engine}.arguments" for engine in ENGINES}


def test_nobody_imports_the_command_line() -> None:
    importers = {name for name, found in ARROWS.items() if "taskie.cli" in found}
    assert importers == {"taskie.__main__"}


def test_only_what_is_for_people_imports_the_hook() -> None:
    importers = {part(name) for name, found in ARROWS.items() if found & HOOK}
    assert importers <= PEOPLE | HOOK


def test_taskie_never_imports_its_harness() -> None:
    assert [name for name in MODULES if name.startswith("taskie.") and "pytest_taskie" in str(ARROWS[name])] == []


def test_errors_are_at_the_bottom() -> None:
    assert ARROWS["taskie.errors"] == set()


def test_no_circles() -> None:
    """Whoever is imported from within a function counts too: only its package may import back."""
    left = {name: {t for t in found if not name.startswith(f"{t}.")} for name, found in ARROWS.items()}
    while free := {name for name, found in left.items() if not found & left.keys()}:
        left = {name: found for name, found in left.items() if name not in free}
    assert left == {}


def modules_with(pattern: str) -> set[str]:
    return {
        name
        for name, path in MODULES.items()
        if name.startswith("taskie") and re.search(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)
    }


def test_programs_are_run_in_one_way() -> None:
    """git asks its questions itself; the demo and doctor's probes play the client, which is not ours."""
    allowed = {"taskie.family", "taskie.spawning", "taskie.demo", "taskie.setup.probes"}
    assert modules_with(r"^\s*(import subprocess|from subprocess)") <= allowed
    ours = {"taskie.keeper", "taskie.watchman"}
    assert modules_with(r"\bos\.(posix_spawn|fork|system|popen)\b") == {"taskie.spawning", *ours}
    assert {name for name, found in ARROWS.items() if "taskie.spawning" in found} == {"taskie.git", *ours}


def test_whatever_happens_is_caught_in_one_place() -> None:
    """The hook, and what it offers to authors; the command line, status and status line go on where something fails. So
    does a run of gates: the others' verdicts must not be lost with one of them."""
    allowed = {"taskie.hook", "taskie.own_hook", "taskie.cli", "taskie.overview", "taskie.statusline"}
    allowed.add("taskie.gauntlet.running")
    assert modules_with(r"^\s*except Exception\b") <= allowed


def test_what_an_event_leads_to_prints_nothing() -> None:
    of_commands = {"commands", "next_command", "steering", "skipping", "blueprint", "pre_check", "testing", "verifying"}
    of_commands |= {"terminal"}  # which prints for them
    printing = {name for name in modules_with(r"\bprint\(|import say\b") if part(name) not in PEOPLE}
    assert {name.rpartition(".")[2] for name in printing} <= of_commands
