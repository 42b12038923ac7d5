"""Random mutants of both packages, each in a copy inside a sandbox: do the tests of the touched package notice?

What was found is kept in a file, so that a run that was cut goes on where it was.
"""

from __future__ import annotations

import collections
import json
import multiprocessing
import os
import random
import re
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from tools.torture import places
from tools.torture.mutating import Mutant, mutants, parses
from tools.torture.places import ROOT
from tools.torture.results import Failure, Result

FLOOR, FLOOR_OF_EACH = 0.94, 0.90
LIMIT = 900.0  # seconds for the tests of one mutant; who takes longer may hang, or the machine may be busy
CONSTANTS = 0.25  # half of all mutants are constants, most of them words: so many are enough
KEPT = ROOT / "build" / "torture" / "mutants.jsonl"
SURVIVORS = Path(__file__).with_name("survivors.txt")
# What ends processes and makes namespaces is never changed, nor what it is told by: a mutant could end those of others.
NEVER = re.compile(r"pytest_taskie/client/|taskie/(?:programs|spawning|signals|scenario|stand_in)\.py|taskie/_plugin/")
ENDS = re.compile(r"\b(?:kill|killpg|terminate|send_signal|pidfd_send_signal|prctl|unshare)\(|PR_SET_|CLONE_NEW")
# The tests of each package: its own folder first, then those that drive it from outside.
TESTS: dict[str, tuple[str, ...]] = {
    "taskie/plans": ("tests/plans", "tests/cli", "tests/faults", "tests/acceptance"),
    "taskie/gauntlet": ("tests/gauntlet",),
    "taskie/claudex": ("tests/claudex",),
    "taskie/autopilot": ("tests/autopilot",),
    "taskie/setup": ("tests/setup", "tests/gauntlet/test_init.py"),
    "taskie/report": ("tests/report",),
    "taskie": (
        *("tests/core", "tests/hook", "tests/cli", "tests/trust", "tests/faults"),
        "tests/gauntlet/test_repository.py",
    ),
    "pytest_taskie": ("tests/harness",),
}


def package(path: str) -> str:
    return next(name for name in sorted(TESTS, key=len, reverse=True) if path.startswith(f"{name}/"))


def every() -> list[Mutant]:
    found = []
    for top in ("taskie", "pytest_taskie"):
        for file in sorted((ROOT / top).rglob("*.py")):
            path = str(file.relative_to(ROOT))
            text = file.read_text()
            if not NEVER.search(path) and not ENDS.search(text):
                found += mutants(path, text)
    return found


def choose(many: int, chance: random.Random) -> list[Mutant]:
    """The same number of each package: a small one counts as much as a big one. In the order in which they are run."""
    groups: dict[str, list[Mutant]] = {name: [] for name in TESTS}
    for each in {each.name: each for each in every()}.values():
        if each.kind != "constant" or chance.random() < CONSTANTS:
            groups[package(each.path)].append(each)
    chosen: list[Mutant] = []
    for group in groups.values():
        chance.shuffle(group)
    for number in range(max(map(len, groups.values()))):
        if len(chosen) >= many:
            break
        due = [group[number] for group in groups.values() if number < len(group)]
        chosen += [each for each in due if parses(each, (ROOT / each.path).read_bytes())]
    return chosen[:many]


def order(mutant: Mutant, folder: Path) -> list[list[str]]:
    """The test files that name the module, then the others of its package, those first that use its words most."""
    module = Path(mutant.path).stem.lstrip("_")
    dotted = mutant.path[: -len(".py")].replace("/", ".")
    package_name = re.escape(dotted.rpartition(".")[0])
    imported = re.compile(rf"{re.escape(dotted)}\b|from {package_name} import [^\n]*\b{module}\b")
    words = re.compile("|".join(rf"\b{word}\b" for word in {module, *mutant.where.split(".")} - {"module", "__init__"}))
    first, others = [], []
    for file in _test_files(package(mutant.path), folder):
        text = file.read_text()
        name = str(file.relative_to(folder))
        if module in file.stem or imported.search(text):
            first.append(name)
        else:
            others.append((-len(words.findall(text)), name))
    return [names for names in (first, [name for _, name in sorted(others)]) if names]


def _test_files(package_name: str, folder: Path) -> list[Path]:
    places = [folder / place for place in TESTS[package_name]]
    return [file for place in places for file in (sorted(place.rglob("test_*.py")) if place.is_dir() else [place])]


def sandbox() -> list[str]:
    """No network but loopback, and processes of its own that end with it; empty if this machine does not allow it."""
    words = ["unshare", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if os.geteuid() != 0:
        words.insert(1, "--map-root-user")
    if shutil.which("unshare") and subprocess.run([*words, "true"], check=False, capture_output=True).returncode == 0:
        return words
    return []


def _copy(to: Path) -> None:
    ignored = shutil.ignore_patterns(
        ".venv*", ".git", "__pycache__", "build", "dist", ".mypy_cache", ".ruff_cache", "*.egg-info"
    )
    shutil.copytree(ROOT, to, ignore=ignored, symlinks=True)


_folder: Path
_sandbox: list[str]
_broken: list[str] = []  # tests that fail here without any mutant, such as those of what a sandbox does not have


def _begin(scratch: str, words: list[str]) -> None:
    global _folder, _sandbox
    _folder = Path(scratch) / f"copy-{os.getpid()}"
    _sandbox = words
    _copy(_folder)


def _test(names: Sequence[str], seconds: float, deselected: Sequence[str] = ()) -> tuple[int | None, str]:
    """The exit code of these tests, None if they took too long; and their last words."""
    temporary = _folder.with_name(f"{_folder.name}-tmp")
    temporary.mkdir(exist_ok=True)
    pytest = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", *names]
    pytest += [f"--deselect={each}" for each in deselected]
    up = 'ip link set lo up 2>/dev/null; exec "$@"' if _sandbox else 'exec "$@"'
    env = {**os.environ, "PYTHONPATH": str(_folder), "TMPDIR": str(temporary), "PYTHONDONTWRITEBYTECODE": "1"}
    log = _folder.with_name(f"{_folder.name}.log")
    with log.open("wb") as out:
        process = subprocess.Popen(
            ["nice", *_sandbox, "sh", "-c", up, "sh", *pytest],
            cwd=_folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code: int | None = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()  # unshare, which takes everything in the sandbox with it
            process.wait()
            code = None
    shutil.rmtree(temporary, ignore_errors=True)
    return code, log.read_text(errors="replace")[-4000:]


def _try(job: tuple[Mutant, float]) -> dict[str, object]:
    mutant, until = job
    said: dict[str, object] = {"name": mutant.name, "path": mutant.path, "line": mutant.line}
    if time.time() > until:
        return {**said, "result": "no time"}
    began = time.time()
    result, by = "survived", ""
    for names in order(mutant, _folder):
        by = _killed_by(mutant, names)
        if by:
            result = "killed"
            break
    return {**said, "result": result, "by": by, "seconds": round(time.time() - began, 1)}


def _killed_by(mutant: Mutant, names: Sequence[str]) -> str:
    """The test that notices it, and that passes without it; empty if there is none."""
    file = _folder / mutant.path
    source = file.read_bytes()
    while True:
        try:
            file.write_bytes(mutant.applied(source))
            code, words = _test(names, LIMIT, _broken)
        finally:
            file.write_bytes(source)
        if code in (0, 5):
            return ""
        if code is None:
            return "time"
        failed = failed_test(words)
        if failed is None or code in (2, 3, 4):  # the tests themselves cannot be imported any more
            return f"exit {code}"
        if _test([failed], LIMIT)[0] in (0, 5):
            return failed
        if failed in _broken:
            return ""
        _broken.append(failed)


def failed_test(words: str) -> str | None:
    """The test that pytest says has failed: the last one named, for a test that runs pytest shows that one's, too."""
    named = re.findall(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", words, re.MULTILINE)
    return named[-1] if named else None


def excused() -> dict[str, str]:
    """The survivors that change nothing that anybody can see, and why."""
    lines = SURVIVORS.read_text().splitlines() if SURVIVORS.exists() else []
    pairs = (line.split(" | ", 1) for line in lines if " | " in line and not line.startswith("#"))
    return {name.strip(): word.strip() for name, word in pairs}


def run(many: int, seconds: float, seed: int, *, workers: int = 2, at: str | None = None) -> Result:
    result = Result("mutants")
    scratch = places.scratch()
    words = sandbox()
    chosen = [each for each in every() if each.name == at][:1] if at else choose(many, random.Random(seed))
    known = {} if at else _known()
    until = time.time() + seconds
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    try:
        with multiprocessing.get_context("fork").Pool(workers, _begin, (str(scratch), words)) as pool:
            jobs = [(each, until) for each in chosen if each.name not in known]
            for said in pool.imap_unordered(_try, jobs):
                if said["result"] != "no time":
                    known[str(said["name"])] = said
                    with KEPT.open("a") as file:
                        file.write(json.dumps(said) + "\n")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    tried = {each.name: known[each.name] for each in chosen if each.name in known}
    _count(result, tried, words)
    result.notes += [f"{len(chosen) - len(tried)} of {len(chosen)} were not tried: the time was over"] * (
        len(tried) < len(chosen)
    )
    return result


def _known() -> dict[str, dict[str, object]]:
    lines = KEPT.read_text().splitlines() if KEPT.exists() else []
    return {each["name"]: each for each in map(json.loads, lines)}


def _count(result: Result, tried: dict[str, dict[str, object]], words: Sequence[str]) -> None:
    """Scores over those that change anything visible."""
    equivalent = excused()
    scores: dict[str, collections.Counter[str]] = {}
    for name, said in tried.items():
        of = scores.setdefault(package(str(said["path"])), collections.Counter())
        how = "equivalent" if said["result"] == "survived" and name in equivalent else str(said["result"])
        how = "undecided" if said.get("by") == "time" else how
        of[how] += 1
        if how == "survived":
            again = f"python -m tools.torture --only mutants --at {shlex.quote(name)}"
            result.notes.append(f"survived: {name} (line {said['line']}; again: {again})")
    result.many = len(tried)
    result.reached = sum(of["killed"] + of["survived"] for of in scores.values())
    killed = sum(of["killed"] for of in scores.values())
    parts = []
    for name, of in sorted(scores.items()):
        visible = of["killed"] + of["survived"]
        parts.append(f"{name} {of['killed']} of {visible}")
        if visible >= 10 and of["killed"] < FLOOR_OF_EACH * visible:
            what = f"{name}: {of['killed']} of {visible} killed, at least {FLOOR_OF_EACH:.0%} are due"
            result.failures.append(Failure("below the floor", what, "python -m tools.torture --only mutants"))
    if result.reached >= 10 and killed < FLOOR * result.reached:
        what = f"{killed} of {result.reached} killed, at least {FLOOR:.0%} are due"
        result.failures.append(Failure("below the floor", what, "python -m tools.torture --only mutants"))
    late = sum(of["undecided"] for of in scores.values())
    result.notes.insert(0, f"{late} took longer than {LIMIT:g} s, which a busy machine does, too: they are not counted")
    result.notes.insert(0, f"killed of those that change anything visible: {', '.join(parts)}")
    if not words:
        result.notes.insert(1, "without a sandbox: this machine does not let us make one")
