"""Random mutants of both packages, each in a copy inside a sandbox: do the tests of the touched package notice?

First those are asked that come to the changed lines, which says nearly everything in seconds. Who is not noticed by
them is asked again beside the others of its package, and only what all of its tests let pass has survived. What was
found is kept in a file, so that a run that was cut goes on where it was.
"""

from __future__ import annotations

import collections
import json
import multiprocessing
import os
import shlex
import shutil
import signal
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tools.torture import asking, places, reach_map, reaching
from tools.torture.asking import Copy
from tools.torture.choosing import choose, every, order
from tools.torture.mutating import Mutant
from tools.torture.places import ROOT
from tools.torture.reach_map import LIMIT, Map, digest
from tools.torture.results import Failure, Result
from tools.torture.tests_of import PACKAGES, files_of, package, support_of

FLOOR, FLOOR_OF_EACH = 0.94, 0.90
MANY_SECONDS = 60.0  # of tests that come to a mutant, from which on it is asked about together with others
KEPT = ROOT / "build" / "torture" / "mutants.jsonl"
SURVIVORS = Path(__file__).with_name("survivors.txt")

Said = dict[str, Any]


# What each of the processes has that try mutants.
_root: Path
_copy: Copy
_marked: Copy | None = None
_map: Map | None = None
_words: list[str]


def _begin(scratch: str, words: list[str], parent: int) -> None:
    global _root, _copy, _words
    asking.end_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent says when it is over
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _root, _words = Path(scratch) / "original", words
    _copy = Copy(_root, Path(scratch) / f"copy-{os.getpid()}", words)


def _measure(job: tuple[tuple[str, ...], float]) -> list[Said]:
    """Where the tests of these files come to, and which of them fail here without any mutant."""
    global _marked
    files, until = job
    if time.time() > until:
        return []
    marks = _copy.folder.with_name(f"{_copy.folder.name}-marks")
    if _marked is None:
        _marked = Copy(_root, _copy.folder.with_name(f"{_copy.folder.name}-marked"), _words)
        _marked.mark(marks)
    for old in [*marks.iterdir()] if marks.exists() else []:
        old.unlink()
    answer = _marked.ask(files, LIMIT, marks=marks, to_the_end=True)
    if answer.code not in (0, 1, 5):
        raise RuntimeError(f"without any mutant: {answer.words}")
    reached = reaching.read(marks)
    broken = set()
    if reached.failed:
        broken = {*_copy.ask(files, LIMIT, tests=sorted(reached.failed), to_the_end=True).failed}
    found = []
    for file in files:
        mine = sorted(name for name in reached.seconds if name.partition("::")[0] == file)
        number = {name: at for at, name in enumerate(mine)}
        here = {
            block: sorted(number[name] for name in tests if name in number) for block, tests in reached.tests.items()
        }
        found.append(
            {
                "file": file,
                "digest": digest([_root / file]),
                "tests": [[name, reached.seconds[name]] for name in mine],
                "broken": sorted(broken & {*mine}),
                "blocks": {block: numbers for block, numbers in here.items() if numbers},
            }
        )
    return found


def _try(job: tuple[Mutant, float, bool]) -> Said:
    """Ask who comes to it: a few, then the others, if they are not so many that it is cheaper to ask about several
    mutants at once. `alone`: there will be no others."""
    global _map
    mutant, until, alone = job
    if time.time() > until:
        return {**_named(mutant), "result": "no time"}
    _map = _map or Map(_root)
    began = time.time()
    due = _map.of(mutant)
    files = order(mutant, _root)
    few = _map.few(due, files)
    rest = sorted(set(due) - set(few))
    new = [name for name in files if name in _map.changed]
    unknown = [name for name in files if name not in _map.files] if alone else []
    by = _noticed([mutant], few)
    if not by and (alone or sum(_map.seconds[each] for each in rest) < MANY_SECONDS):
        by = _noticed([mutant], rest, [*unknown, *new])
        few = due
    said = {**_named(mutant), "result": "killed" if by else "unnoticed", "by": by}
    asked = {"asked": len(few), "of": len(due), "seconds": round(time.time() - began, 1)}
    return {**said, **asked, "tests": _tests_of(mutant.path, _root)}


def _named(mutant: Mutant) -> Said:
    return {"name": mutant.name, "path": mutant.path, "line": mutant.line}


def _noticed(changes: Sequence[Mutant], tests: Sequence[str], whole: Sequence[str] = ()) -> str:
    """The test that notices them, and that passes without them; empty if there is none."""
    assert _map is not None
    files = list(dict.fromkeys([each.partition("::")[0] for each in tests] + [*whole]))
    if not files:
        return ""
    seconds = LIMIT if whole else _map.patience(tests)
    known = _map.known({*whole} & _map.changed) - {*tests}
    while True:
        without = sorted(_map.broken | known)
        with _copy.changed(texts(changes, _root)):
            answer = _copy.ask(files, seconds, tests=tests, whole=whole, without=without)
        if not answer.noticed:
            return ""
        if answer.code is None:  # nothing of ours, if they pass without it in a third of the time
            began = time.monotonic()
            calm = _copy.ask(files, seconds, tests=tests, whole=whole, without=without)
            return "hangs" if not calm.noticed and time.monotonic() - began < seconds / 3 else "time"
        if not answer.failed:  # the tests themselves cannot be imported any more
            calm = _copy.ask(files, seconds, tests=tests, whole=whole, without=without)
            if calm.code not in (0, 1, 5):
                raise RuntimeError(f"without any mutant, too: {calm.words}")
            return f"exit {answer.code}"
        failed = answer.failed[-1]
        if not _copy.ask([failed.partition("::")[0]], LIMIT, tests=[failed]).noticed:
            return failed
        _map.broken.add(failed)


def texts(changes: Sequence[Mutant], root: Path) -> dict[str, bytes]:
    """The files with all of these changes, which do not overlap."""
    found: dict[str, bytes] = {}
    for each in sorted(changes, key=lambda each: -each.begin):
        found[each.path] = each.applied(found.get(each.path) or (root / each.path).read_bytes())
    return found


def apart(changes: Iterable[Mutant]) -> list[list[Mutant]]:
    """Groups of which none has two changes of the same bytes."""
    groups: list[list[Mutant]] = []
    for each in changes:
        for group in groups:
            if all(each.path != o.path or each.end <= o.begin or o.end <= each.begin for o in group):
                group.append(each)
                break
        else:
            groups.append([each])
    return groups


def _last(job: tuple[list[Mutant], float]) -> list[Said]:
    """All tests of the package, once for all that nobody has noticed. Whatever fails is asked about each alone."""
    global _map
    changes, until = job
    if time.time() > until:
        return []
    _map = _map or Map(_root)
    files = files_of(*[each.path for each in changes], root=_root)
    with _copy.changed(texts(changes, _root)):
        answer = _copy.ask(
            files, max(1.0, min(LIMIT, until - time.time())), without=sorted(_map.broken), to_the_end=True
        )
    if answer.code is None and time.time() > until:
        return []
    if len(changes) > 1 and answer.code not in (0, 1, 5):  # no test could say anything
        half = len(changes) // 2
        return [said for part in (changes[:half], changes[half:]) for said in _last((part, until))]
    found = []
    for each in changes:
        if answer.code is None:
            by = "time"
        elif answer.noticed and not answer.failed:
            by = f"exit {answer.code}"
        else:
            by = _noticed([each], answer.failed) if answer.failed else ""
        said = {**_named(each), "result": "killed" if by else "survived", "by": by}
        found.append({**said, "tests": _tests_of(each.path, _root)})
    return found


def _tests_of(path: str, root: Path) -> str:
    """What the answer is worth as long as: a survivor is asked again where these have changed."""
    return digest([root / name for name in files_of(path, root=root)] + support_of(root))


def excused() -> dict[str, str]:
    """The survivors that change nothing that anybody can see, and why."""
    lines = SURVIVORS.read_text().splitlines() if SURVIVORS.exists() else []
    pairs = (line.split(" | ", 1) for line in lines if " | " in line and not line.startswith("#"))
    return {name.strip(): word.strip() for name, word in pairs}


def run(many: int, seconds: float, seed: int, *, workers: int = 2, at: str | None = None) -> Result:
    result = Result("mutants")
    scratch = places.scratch()
    words = asking.sandbox()
    until = time.time() + seconds
    KEPT.parent.mkdir(parents=True, exist_ok=True)
    before = signal.signal(signal.SIGTERM, _stop)  # so that the copies go, too
    try:
        root = scratch / "original"
        asking.copy(ROOT, root)
        chosen = [each for each in every(root) if each.name == at][:1] if at else choose(many, seed, root)
        before_now = {} if at else _kept(chosen)
        known = {name: said for name, said in before_now.items() if _holds(said, root)}
        with multiprocessing.get_context("fork").Pool(workers, _begin, (str(scratch), words, os.getpid())) as pool:
            due = [each for each in chosen if each.name not in known]
            if not at:
                _map_of(pool, due, root, until)
            for said in pool.imap_unordered(_try, [(each, until, bool(at)) for each in due]):
                _keep(known, said)
            left = [each for each in chosen if known.get(each.name, {}).get("result") == "unnoticed"]
            jobs = [(group, until) for group in _together(left, root)]
            for several in pool.imap_unordered(_last, jobs):
                for said in several:
                    _keep(known, said)
    finally:
        signal.signal(signal.SIGTERM, before)
        shutil.rmtree(scratch, ignore_errors=True)
    known = {**before_now, **known}  # who was not asked again has survived until then
    tried = {each.name: known[each.name] for each in chosen if each.name in known}
    _count(result, tried, words)
    result.notes += [f"{len(chosen) - len(tried)} of {len(chosen)} were not tried: the time was over"] * (
        len(tried) < len(chosen)
    )
    return result


def _stop(number: int, frame: object) -> None:
    raise SystemExit(128 + number)


def _together(left: Sequence[Mutant], root: Path) -> list[list[Mutant]]:
    """Those of one package that no list excuses; packages with few tests first, so that a run that is cut says more."""
    equivalent = excused()
    found = []
    for name in sorted(PACKAGES, key=lambda name: len(files_of(f"{name}/", root=root))):
        found += apart(each for each in left if package(each.path) == name and each.name not in equivalent)
    return found


def _map_of(pool: Any, due: Sequence[Mutant], root: Path, until: float) -> None:
    """Measure what is not known yet of the tests of these mutants."""
    known = Map(root)
    files = list(dict.fromkeys(name for each in due for name in files_of(each.path, root=root)))
    new = [name for name in files if name not in known.files or (name in known.changed and not known.dear(name))]
    parts = [(tuple(new[at : at + 6]), until) for at in range(0, len(new), 6)]
    for several in pool.imap_unordered(_measure, parts):
        with reach_map.REACHED.open("a") as file:
            file.writelines(json.dumps(each) + "\n" for each in several)


def _keep(known: dict[str, Said], said: Said) -> None:
    if said["result"] != "no time":
        known[str(said["name"])] = said
        with KEPT.open("a") as file:
            file.write(json.dumps(said) + "\n")


def _kept(chosen: Sequence[Mutant]) -> dict[str, Said]:
    """What was found before."""
    lines = KEPT.read_text().splitlines() if KEPT.exists() else []
    found = {each["name"]: each for each in map(json.loads, lines)}
    return {each.name: found[each.name] for each in chosen if each.name in found}


def _holds(said: Said, root: Path) -> bool:
    """Who was not noticed is asked again if the tests have changed since."""
    return said["result"] == "killed" or said.get("tests") == _tests_of(str(said["path"]), root)


def _count(result: Result, tried: dict[str, Said], words: Sequence[str]) -> None:
    """Scores over those that change anything visible."""
    equivalent = excused()
    scores: dict[str, collections.Counter[str]] = {}
    for name, said in tried.items():
        of = scores.setdefault(package(str(said["path"])), collections.Counter())
        how = "survived" if said["result"] == "unnoticed" else str(said["result"])
        how = "equivalent" if how == "survived" and name in equivalent else how
        how = "undecided" if said.get("by") == "time" else how
        of[how] += 1
        if how == "survived":
            again = f"python -m tools.torture --only mutants --at {shlex.quote(name)}"
            only = "" if said["result"] == "survived" else "; not every test was asked yet"
            result.notes.append(f"survived: {name} (line {said['line']}; again: {again}{only})")
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
    late, same = (sum(of[how] for of in scores.values()) for how in ("undecided", "equivalent"))
    result.notes.insert(0, f"{late} took too long, as everything did on this machine then: they are not counted")
    result.notes.insert(0, f"{same} survived that change nothing visible: tools/torture/survivors.txt says why")
    result.notes.insert(0, f"{killed} killed of those that change anything visible: {', '.join(parts)}")
    if not words:
        result.notes.insert(1, "without a sandbox: this machine does not let us make one")
