"""Mutants: what is changed and what never, which tests are asked, what is counted, and that nothing stays behind."""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from support import ROOT

from tools.torture import choosing, mutating, reaching, tests_of

PATIENCE = 20.0  # seconds; the machine may be busy


@pytest.mark.parametrize(
    ("source", "changed"),
    [
        ("x = a == b", "x = (a != b)"),
        ("x = a and b", "x = (a or b)"),
        ("x = not a", "x = (a)"),
        ("x = 7", "x = (8)"),
        ("x = True", "x = False"),
        ("x = 'word'", 'x = ""'),
        ("f(a)", "pass"),
        ("raise E", "pass"),
        ("def f():\n    return a", "def f():\n    return None"),
        ("x = a if b else c", "x = (c)"),
    ],
)
def test_a_mutant_of_each_kind(source: str, changed: str) -> None:
    found = [each.applied(source.encode()).decode() for each in mutating.mutants("m.py", source)]
    assert changed in found


@pytest.mark.parametrize("value", ["False", "[]", "''", "None", "0"])
def test_nothing_is_not_exchanged_for_nothing(value: str) -> None:
    found = mutating.mutants("m.py", f"def f():\n    return {value}")
    assert [each for each in found if each.kind == "return None"] == []


def test_what_is_for_type_checkers_or_readers_is_not_changed() -> None:
    source = '"""Words."""\nif TYPE_CHECKING:\n    x = 1\n\n\ndef f(a: "int" = None) -> "str":\n    """More."""\n'
    assert mutating.mutants("m.py", source) == []


def test_what_ends_processes_is_never_changed() -> None:
    never = {f"taskie/{name}.py" for name in ("family", "git", "keeper", "programs", "signals", "spawning")}
    never |= {"pytest_taskie/_processes.py"}
    assert all((ROOT / path).exists() for path in never)
    client = {str(path.relative_to(ROOT)) for path in (ROOT / "pytest_taskie" / "client").glob("*.py")}
    assert len(client) > 5
    assert {each.path for each in choosing.every()} & (never | client) == set()


def test_every_package_has_tests_and_every_module_a_package() -> None:
    for name, folders in tests_of.PACKAGES.items():
        assert (ROOT / name).is_dir()
        assert all((ROOT / folder).exists() for folder in folders)
        assert len(tests_of.files_of(f"{name}/any.py", root=ROOT)) > 3
    assert tests_of.package("taskie/plans/loop.py") == "taskie/plans"
    assert tests_of.package("taskie/store.py") == "taskie"


def test_the_test_files_of_a_mutant_in_order() -> None:
    """First who names the module, then who uses its words; each file once, and all of the package."""
    mutant = next(each for each in choosing.every() if each.path == "taskie/store.py" and each.where == "digest")
    names = choosing.order(mutant, ROOT)
    assert names[0].startswith("tests/core/test_store")
    assert sorted(names) == sorted(tests_of.files_of("taskie/store.py", root=ROOT))
    assert len(names) == len({*names})


def test_a_change_elsewhere_leaves_the_others_chosen(tmp_path: Path) -> None:
    for name in ("taskie", "pytest_taskie"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    before = [each.name for each in choosing.choose(40, 5, tmp_path)]
    store = tmp_path / "taskie" / "store.py"
    store.write_text("def added(a):\n    return a == 1\n\n\n" + store.read_text())
    after = [each.name for each in choosing.choose(40, 5, tmp_path)]
    assert len({*before} - {*after}) <= 1
    assert before != [each.name for each in choosing.choose(40, 6, tmp_path)]


WITH_BLOCKS = '''"""Words."""
from __future__ import annotations

def f(a):
    """More words."""
    if a: return 1
    elif a is None:
        try:
            return int("a")
        except ValueError: return 2
        finally:
            pass
    else:
        for _ in a: pass
    @staticmethod
    def inner():
        """Words alone."""
    return 3

class C:
    x = f(1); y = f(None)
'''


def test_marks_change_nothing_but_what_is_written(tmp_path: Path) -> None:
    copy, folder = tmp_path / "copy", tmp_path / "marks"
    (copy / "taskie").mkdir(parents=True)
    (copy / "taskie" / "__init__.py").touch()
    (copy / "taskie" / "m.py").write_text(WITH_BLOCKS)
    reaching.mark_copy(copy, folder)
    (folder / "now").symlink_to("7")
    code = "from taskie.m import C, f; print(C.x, C.y, f([]))"
    done = subprocess.run([sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(copy)!r}); {code}"])
    assert done.returncode == 0
    said = (folder / "7").read_text().split("\n")
    assert "taskie/m.py module 0" in said
    assert "taskie/m.py C 0" in said
    blocks = reaching.blocks("taskie/m.py", WITH_BLOCKS)
    inner = WITH_BLOCKS.index("Words alone")
    assert reaching.block_of(blocks, inner, inner + 5) not in said
    for words in ("return 1", "return 2", "return int", "for _"):
        at = WITH_BLOCKS.index(words)
        assert reaching.block_of(blocks, at, at + 4) in said, words


# A project as small as can be, with the rig in it. The map cannot see who reads a file instead of running it.
SMALL = {
    "taskie/__init__.py": "",
    "taskie/m.py": (
        "def killed(a):\n    return a == 1\n\n\ndef loose(a):\n    return a >= 1\n\n\ndef read(a):\n    return a > 1\n"
    ),
    "pytest_taskie/__init__.py": "",
    "tests/test_m.py": (
        "from pathlib import Path\nfrom taskie import m\n\n\n"
        "def test_killed():\n    assert m.killed(1)\n\n\n"
        "def test_loose():\n    assert m.loose(7)\n\n\n"
        "def test_broken():\n    assert not m.loose(2)\n\n\n"
        "def test_read():\n    assert 'return a > 1' in Path('taskie/m.py').read_text()\n"
    ),
}
RIG = """
import json, sys
from pathlib import Path
from tools.torture import asking, choosing, mutants, places, reach_map, tests_of
root = Path(sys.argv[1])
scratch = root.parent / "memory" / "scratch"
scratch.mkdir(parents=True)
places.scratch = lambda: scratch
asking.ROOT = mutants.ROOT = root
mutants.KEPT, reach_map.REACHED, mutants.SURVIVORS = root / "build/kept", root / "build/reached", root / "survivors"
mutants.LIMIT = float(sys.argv[3]) if sys.argv[3:] else 300.0
tests_of.PACKAGES = mutants.PACKAGES = choosing.PACKAGES = {"taskie": ("tests",), "pytest_taskie": ("tests",)}
choosing.CONSTANTS = 1e-9
result = mutants.run(9, 100, 1, workers=2, at=sys.argv[2] if sys.argv[2:] else None)
print(json.dumps([result.many, result.reached, result.notes]))
"""


def _small(folder: Path, **more: str) -> Path:
    for name, text in {**SMALL, **more}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "tools" / "torture", folder / "tools" / "torture", ignore=ignored)
    return folder


def _rig(folder: Path, *words: str) -> subprocess.Popen[str]:
    env = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    env["PYTHONPATH"] = str(ROOT)
    command = [sys.executable, "-c", RIG, str(folder), *words]
    return subprocess.Popen(command, cwd=folder, env=env, stdout=subprocess.PIPE, text=True)


@pytest.mark.skipif(sys.platform != "linux", reason="the torture needs Linux")
def test_what_becomes_of_each_mutant(tmp_path: Path) -> None:
    small = _small(tmp_path / "small")
    (small / "survivors").write_text("")
    said, _ = _rig(small).communicate(timeout=300)
    many, reached, notes = json.loads(said.splitlines()[-1])
    kept = {each["name"]: each for each in map(json.loads, (small / "build" / "kept").read_text().splitlines())}
    by = {name.split()[1] + " " + kept[name]["name"].split(" ", 2)[2]: each for name, each in kept.items()}
    shown = {name: (each["result"], each["by"]) for name, each in by.items()}
    assert shown["killed comparison: a == 1 -> (a != 1)"] == ("killed", "tests/test_m.py::test_killed")
    assert shown["loose comparison: a >= 1 -> (a > 1)"] == ("survived", "")
    assert shown["read comparison: a > 1 -> (a >= 1)"] == ("killed", "tests/test_m.py::test_read")
    assert (many, reached) == (len(shown), len(shown))
    assert any("survived: taskie/m.py loose comparison" in note for note in notes)
    assert not any(each["by"].endswith("test_broken") for each in kept.values())


HANGS = {
    "taskie/m.py": "def hangs(a):\n    while a < 9:\n        a = a + 1\n    return 9\n",
    "tests/test_m.py": "from taskie import m\n\n\ndef test_hangs():\n    assert m.hangs(1)\n",
}


@pytest.mark.skipif(sys.platform != "linux", reason="the torture needs Linux")
def test_a_mutant_that_hangs(tmp_path: Path) -> None:
    """Its tests are noticed to take longer than without it; where everything is slow, nothing is said about it."""
    small = _small(tmp_path / "small", **HANGS)
    said, _ = _rig(small, "taskie/m.py hangs sum: a + 1 -> (a - 1)", "10").communicate(timeout=300)
    many, reached, notes = json.loads(said.splitlines()[-1])
    undecided = next(note for note in notes if "took too long" in note)
    assert (many, reached) == (1, 1 if undecided.startswith("0 ") else 0)
    assert not any("survived: " in note for note in notes)


WAITS = """
import os, subprocess
def test_it():
    child = subprocess.Popen(["{program}", "600"], start_new_session=True)
    os.close(os.open("{ready}", os.O_WRONLY))
    child.wait()
"""


def _running(program: Path) -> list[str]:
    """The processes of this program, in whatever namespace."""
    found = []
    for line in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = line.read_bytes().split(b"\0")
        except OSError:
            continue
        if words[0] == os.fsencode(program):
            found.append(line.parent.name)
    return found


@pytest.mark.skipif(sys.platform != "linux", reason="the torture needs Linux")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT], ids=lambda number: number.name)
def test_the_rig_takes_its_tests_with_it(number: signal.Signals, tmp_path: Path) -> None:
    """Also a process that has a session of its own, and however the rig is ended."""
    program, ready, memory = tmp_path / "sleeper", tmp_path / "ready", tmp_path / "memory"
    shutil.copy(shutil.which("sleep") or "", program)
    os.mkfifo(ready)
    test = WAITS.format(program=program, ready=ready)
    small = _small(tmp_path / "small", **{"tests/test_m.py": test})
    rig = _rig(small, "taskie/m.py killed comparison: a == 1 -> (a != 1)")
    reader = os.open(ready, os.O_RDONLY | os.O_NONBLOCK)
    assert select.select([reader], [], [], 120)[0]
    os.close(reader)
    assert len(_running(program)) == 1
    rig.send_signal(number)
    assert rig.wait(PATIENCE) != 0
    assert rig.stdout
    rig.stdout.close()
    until = time.monotonic() + PATIENCE
    while _running(program) and time.monotonic() < until:
        time.sleep(0.02)
    survivors = _running(program)
    for pid in survivors:
        os.kill(int(pid), signal.SIGKILL)
    assert survivors == []
    left = [*memory.iterdir()] if memory.exists() else []
    assert left == [] or number == signal.SIGKILL
