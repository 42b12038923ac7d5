"""Random inputs for every parser, in process: no exception but the documented ones, no wrong exit code, an answer.

At least half of what is generated passes the first check and reaches a decision; how many is counted.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import Callable

from tools.torture import places
from tools.torture.chance import Chance
from tools.torture.parsers import FUZZERS
from tools.torture.results import Failure, Result
from tools.torture.room import Room

SLOW = 2.0  # seconds that no input may take; a machine under load is given three tries
ENOUGH = 0.5
BATCH = 250


def _name(fuzzer: str, seed: int, number: int) -> str:
    return f"{fuzzer}:{seed}:{number}"


def again(name: str) -> str:
    return f"python -m tools.torture --only fuzz --at {name}"


def one(fuzzer: Callable[[Chance, Room], bool], name: str, room: Room) -> tuple[bool, Failure | None]:
    """One input: whether it reached a decision, and what was wrong."""
    for patience in (2, 1, 0):
        began = time.perf_counter()
        try:
            reached = fuzzer(Chance(name), room)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{Path(where.filename).name}:{where.lineno}"
            kind = "wrong answer" if isinstance(error, AssertionError) else "exception"
            fuzzed = name.partition(":")[0]
            what = f"{fuzzed}: {type(error).__name__} in {place}: {str(error)[:200]}"
            return True, Failure(f"{kind} ({fuzzed}, {type(error).__name__}, {place})", what, again(name))
        took = time.perf_counter() - began
        if took < SLOW:
            return reached, None
        if not patience:
            return reached, Failure("slow", f"{name} took {took:.1f} s", again(name))
    raise AssertionError


_room: Room


def _begin(scratch: str) -> None:
    global _room
    devnull = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 2):
        os.dup2(devnull, fd)
    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 - for the life of the worker
    _room = Room(Path(scratch) / f"room-{os.getpid()}")


def _batch(job: tuple[str, int, int, int, float]) -> tuple[str, int, int, list[Failure]]:
    name, seed, first, many, until = job
    tried = reached = 0
    failures: list[Failure] = []
    for number in range(first, first + many):
        if time.time() > until:
            break
        tried += 1
        came, failure = one(FUZZERS[name].check, _name(name, seed, number), _room)
        reached += came
        if failure:
            failures.append(failure)
    return name, tried, reached, failures


def run(inputs: int, seconds: float, seed: int, *, workers: int = 2, at: str | None = None) -> Result:
    began = time.time()
    scratch = places.scratch()
    result = Result("fuzz")
    counts: dict[str, list[int]] = {name: [0, 0] for name in FUZZERS}
    try:
        if at:
            FUZZERS[at.partition(":")[0]].check(Chance(at), Room(scratch / "room"))
            return Result("fuzz", 1, 1)
        weights = sum(each.weight for each in FUZZERS.values())
        jobs = [
            (name, seed, first, min(BATCH, inputs * each.weight // weights + 1 - first), began + seconds)
            for name, each in FUZZERS.items()
            for first in range(0, inputs * each.weight // weights + 1, BATCH)
        ]
        Chance(seed).shuffle(jobs)
        with multiprocessing.get_context("fork").Pool(workers, _begin, (str(scratch),)) as pool:
            for name, tried, reached, failures in pool.imap_unordered(_batch, jobs):
                counts[name][0] += tried
                counts[name][1] += reached
                result.failures += failures
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    result.many = sum(tried for tried, _ in counts.values())
    result.reached = sum(reached for _, reached in counts.values())
    result.notes = [_shares(counts)]
    for name, (tried, reached) in counts.items():
        if tried > BATCH and reached < ENOUGH * tried:
            what = f"only {reached} of {tried} inputs reached a decision"
            result.failures.append(Failure("refused too early", f"{name}: {what}", again(_name(name, seed, 0))))
    return result


def _shares(counts: dict[str, list[int]]) -> str:
    each: Sequence[str] = [
        f"{name} {tried:,} ({100 * reached // tried if tried else 0} %)" for name, (tried, reached) in counts.items()
    ]
    return f"inputs of each parser, and how many of them reached a decision: {', '.join(each)}"
