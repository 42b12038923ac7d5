"""The N-th call of every command that writes is failed, or its process killed. Chooses the points, and counts."""

from __future__ import annotations

import collections
import multiprocessing
import os
import random
import re
import shutil
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from tools.torture import places
from tools.torture.results import Failure, Result
from tools.torture.scenes import SCENES
from tools.torture.stage import CHANGE, CLOSE, SPAWN, WRITE, Point, Seen, Stage, compiled

NEAR = 8  # how far from a point its failure is looked for when it is to be shown again
UNSEEN = (
    "raw system calls, stdio's own reads and writes (git's), static programs, the loader and mmap are not seen by the "
    "shim; waiting is killed, never failed"
)
_stages: dict[str, Stage] = {}
_base: Path
_product: Path
_shim: Path


def _begin(scratch: str) -> None:
    """A worker: it has a directory of its own, and adopts whatever its commands leave behind."""
    global _base, _product, _shim
    places.adopt_orphans()
    _base = Path(scratch) / f"worker-{os.getpid()}"
    _base.mkdir()
    _product, _shim = Path(scratch) / "product", Path(scratch) / "shim.so"


def _stage(name: str) -> Stage:
    """A scene, made once: they share one path, and each is put back there for every point."""
    if name not in _stages:
        _stages[name] = Stage(name, _base, _product, _shim)
    return _stages[name]


def _enumerate(name: str) -> list[Point]:
    return _stage(name).points()


def _try(job: tuple[str, list[Point], float]) -> list[Seen]:
    name, points, until = job
    seen = []
    for point in points:
        if time.time() > until:
            break
        try:
            seen.append(_stage(name).try_(point))
        except Exception as error:
            failure = Failure("torture itself", f"{type(error).__name__}: {error}", point.again)
            seen.append(Seen(point, True, "", (failure,)))
            _stages.pop(name, None)
            shutil.rmtree(_base / f"template-{name}", ignore_errors=True)
    return seen


def choose(points: Sequence[Point], most: int, chance: random.Random) -> list[Point]:
    """Half of them where the project is written to, a quarter where it is read and looked at, and a quarter elsewhere,
    which is Python's own start for the most part. What one of the three does not need is the others'."""
    changing = WRITE | CHANGE | CLOSE | SPAWN
    groups: list[list[Point]] = [[], [], []]
    for point in points:
        groups[2 if not point.inside else 0 if point.kind & changing else 1].append(point)
    found: list[Point] = []
    for group, share in zip(groups, (most // 2, most // 4, most - most // 2 - most // 4)):
        chance.shuffle(group)
        found += group[:share]
    taken = set(found)
    rest = [point for group in groups for point in group if point not in taken] if len(found) < most else []
    return sorted(found + rest[: most - len(found)], key=lambda point: (point.number, point.fault))


def run(
    points: int, seconds: float, seed: int, *, workers: int = 2, only: Iterable[str] = (), at: str | None = None
) -> Result:
    """Sweep as many points as asked for, in as much time as there is."""
    began = time.time()
    chance = random.Random(seed)
    scratch = places.scratch()
    names = [name for name in SCENES if not only or name in only]
    try:
        places.copy_product(scratch / "product")
        compiled(scratch)
        if at:
            _begin(str(scratch))
            seen = _near(Point.parse(at))
            return _result(seen, len(seen), {}, began)
        with multiprocessing.get_context("fork").Pool(workers, _begin, (str(scratch),)) as pool:
            every = dict(zip(names, pool.map(_enumerate, names, chunksize=1)))
            share = -(-points // max(len(names), 1))
            chosen: dict[str, list[Point]] = {}
            spare = points
            for done, (name, found) in enumerate(sorted(every.items(), key=lambda item: len(item[1]))):
                share = -(-spare // (len(names) - done))  # what a small scene does not need is the others'
                chosen[name] = choose(found, share, chance)
                spare -= len(chosen[name])
            until = began + seconds
            jobs = [
                (name, chosen[name][at_ : at_ + 40], until) for name in names for at_ in range(0, len(chosen[name]), 40)
            ]
            chance.shuffle(jobs)  # time may run out: then every scene has had some
            jobs = _grouped(jobs)
            seen = []
            for some in pool.imap_unordered(_try, jobs):
                seen += some
                for failure in (failure for each in some for failure in each.failures):  # it may take an hour
                    print(f"{failure.kind}: {failure.again}", file=sys.stderr, flush=True)
                print(f"sweep: {len(seen):,} tried in {time.time() - began:.0f} s", file=sys.stderr, flush=True)
        return _result(seen, sum(map(len, every.values())), every, began)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _near(point: Point) -> list[Seen]:
    """The point, and its neighbours until one fails: a run takes not always the same number of calls to get there."""
    stage = _stage(point.scene)
    seen: list[Seen] = []
    for away in sorted(range(-NEAR, NEAR + 1), key=abs):
        seen.append(stage.try_(replace(point, number=max(1, point.number + away))))
        if seen[-1].failures:
            break
    return seen


def _grouped(jobs: list[tuple[str, list[Point], float]]) -> list[tuple[str, list[Point], float]]:
    """Round after round over the scenes; a scene costs about a second to make."""
    waiting: dict[str, collections.deque[tuple[str, list[Point], float]]] = {}
    for job in jobs:
        waiting.setdefault(job[0], collections.deque()).append(job)
    found = []
    while waiting:
        for name in list(waiting):
            found.append(waiting[name].popleft())
            if not waiting[name]:
                del waiting[name]
    return found


def _result(seen: Sequence[Seen], there: int, every: dict[str, list[Point]], began: float) -> Result:
    reached = [each for each in seen if each.fired]
    result = Result("sweep", len(seen), len(reached), seconds=time.time() - began)
    result.failures = [failure for each in reached for failure in each.failures]
    inside = sum(each.point.inside for each in reached)
    children = sum(not re.match(r"(?:sh|stop-hook\.sh|python\S*): ", each.where) for each in reached)
    kinds = collections.Counter(each.point.fault for each in reached)
    result.notes = [
        f"{there:,} points in {len(every) or 1} commands; {there - len(seen):,} were not tried, and "
        f"{len(seen) - len(reached):,} were tried and not reached, since a run takes not always the same way",
        f"of those reached {inside:,} are about the project's files, {children:,} in programs that the command starts "
        f"(git, reviewer, check); {', '.join(f'{number} {name}' for name, number in sorted(kinds.items()))}",
        f"{sum(bool(each.theirs) for each in seen)} times a git that was killed has left a lock or an object of its "
        "own: the rest of that point is not judged",
        UNSEEN,
    ]
    return result
