"""Which tests come to a mutant, as it was measured, and which of them are asked first. Runs nothing."""

from __future__ import annotations

import collections
import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from tools.torture import reaching
from tools.torture.mutating import Mutant
from tools.torture.places import ROOT
from tools.torture.tests_of import files_of

LIMIT = 1800.0  # seconds for all tests of a package, or for a few whose time is not known
DEAR = 30.0  # seconds of the tests of a file, from which on it is not measured again for a change of it
# Tests that are asked first: so many of the quickest, of several files, and as many of files that name its words.
FEW, FEW_SECONDS, OF_A_FILE, LIKELY = 20, 8.0, 4, 3
REACHED = ROOT / "build" / "torture" / "reached.jsonl"


class Map:
    """Which test of which file comes to which block. `changed` are files that were measured as they were before: what
    is new in them comes to anything."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.seconds: dict[str, float] = {}
        self.files: set[str] = set()
        self.changed: set[str] = set()
        self.broken: set[str] = set()  # which fail here without any mutant, such as those of what a sandbox has not
        self._tests: list[str] = []
        self._of: dict[str, set[int]] = {}  # of each block
        self._counts: collections.Counter[int] = collections.Counter()
        lines = REACHED.read_text().splitlines() if REACHED.exists() else []
        for each in {each["file"]: each for each in map(json.loads, lines)}.values():
            if (root / each["file"]).exists():
                self._add(each)
                if each["digest"] != digest([root / each["file"]]):
                    self.changed.add(each["file"])

    def _add(self, each: dict[str, Any]) -> None:
        self.files.add(each["file"])
        self.seconds.update(each["tests"])
        self.broken |= set(each["broken"])
        first = len(self._tests)
        self._tests += [name for name, _ in each["tests"]]
        for block, numbers in each["blocks"].items():
            tests = [first + number for number in numbers]
            self._of.setdefault(block, set()).update(tests)
            self._counts.update(tests)

    def of(self, mutant: Mutant) -> list[str]:
        """The tests that come to it, those first that are quick and come to little else. What a module does when it is
        imported shows anywhere in it."""
        block = reaching.block_of(
            reaching.blocks(mutant.path, (self.root / mutant.path).read_text()), mutant.begin, mutant.end
        )
        found = set(self._of.get(block, ()))
        if mutant.where == "module" or block.split()[1] == "module":
            for name, numbers in self._of.items():
                if name.startswith(f"{mutant.path} "):
                    found |= numbers
        mine = set(files_of(mutant.path, root=self.root))
        cost = {self._tests[number]: self._counts[number] / 1000 for number in found}
        due = [each for each in cost if each.partition("::")[0] in mine and each not in self.broken]
        return sorted(due, key=lambda each: (cost[each] + self.seconds.get(each, 0.0), each))

    def dear(self, file: str) -> bool:
        """Whether it takes long to measure."""
        return sum(seconds for name, seconds in self.seconds.items() if name.startswith(f"{file}::")) > DEAR

    def known(self, files: Iterable[str]) -> set[str]:
        """The tests in these files that were measured."""
        return {name for name in self._tests if name.partition("::")[0] in files}

    def few(self, tests: Sequence[str], files: Sequence[str]) -> list[str]:
        """Of these, some to begin with: the quickest of several files, and those of the files that come first."""
        found = self._some(tests, OF_A_FILE)
        likely = [each for file in files[:LIKELY] for each in tests if each.partition("::")[0] == file]
        return list(dict.fromkeys([*found, *self._some(likely, FEW)]))

    def _some(self, tests: Sequence[str], of_a_file: int) -> list[str]:
        taken: collections.Counter[str] = collections.Counter()
        found: list[str] = []
        seconds = 0.0
        for each in tests:
            file = each.partition("::")[0]
            seconds += self.seconds.get(each, 0.0)
            if len(found) < FEW and taken[file] < of_a_file and (seconds < FEW_SECONDS or not found):
                taken[file] += 1
                found.append(each)
        return found

    def patience(self, tests: Sequence[str]) -> float:
        """How long they may take: on a busy machine several times as long as they took."""
        return min(LIMIT, 60 + 8 * sum(self.seconds.get(each, 1.0) for each in tests))


def digest(files: Iterable[Path]) -> str:
    whole = hashlib.blake2b(digest_size=12)
    for file in files:
        whole.update(file.read_bytes() + b"\0")
    return whole.hexdigest()
