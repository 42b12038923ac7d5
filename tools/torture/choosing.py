"""Which mutants are tried, and which test files are likely to notice one. Runs nothing."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from tools.torture.asking import PACKAGES as SOURCES
from tools.torture.mutating import Mutant, mutants, parses
from tools.torture.places import ROOT
from tools.torture.tests_of import PACKAGES, files_of, package

CONSTANTS = 0.25  # half of all mutants are constants, most of them words: so many are enough
# What ends processes and makes namespaces is never changed, nor what it is told by: a mutant could end those of others.
NEVER = re.compile(r"pytest_taskie/client/|taskie/(?:programs|spawning|signals|scenario|stand_in)\.py|taskie/_plugin/")
ENDS = re.compile(r"\b(?:kill|killpg|terminate|send_signal|pidfd_send_signal|prctl|unshare)\(|PR_SET_|CLONE_NEW")


def every(root: Path = ROOT) -> list[Mutant]:
    found = []
    for top in SOURCES:
        for file in sorted((root / top).rglob("*.py")):
            path = str(file.relative_to(root))
            text = file.read_text()
            if not NEVER.search(path) and not ENDS.search(text):
                found += mutants(path, text)
    return found


def choose(many: int, seed: int, root: Path = ROOT) -> list[Mutant]:
    """The same number of each package: a small one counts as much as a big one. In the order in which they are run.

    Each has its lot from its name: a change elsewhere leaves the others chosen."""
    groups: dict[str, list[tuple[float, Mutant]]] = {name: [] for name in PACKAGES}
    for each in {each.name: each for each in every(root)}.values():
        lot = _lot(seed, each.name)
        if each.kind == "constant":
            lot /= CONSTANTS
        groups[package(each.path)].append((lot, each))
    for group in groups.values():
        group.sort(key=lambda pair: pair[0])
    chosen: list[Mutant] = []
    for number in range(max(map(len, groups.values()))):
        if len(chosen) >= many:
            break
        due = [group[number][1] for group in groups.values() if number < len(group)]
        chosen += [each for each in due if parses(each, (root / each.path).read_bytes())]
    return chosen[:many]


def _lot(seed: int, name: str) -> float:
    digest = hashlib.blake2b(f"{seed} {name}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") / 2**64


def order(mutant: Mutant, root: Path) -> list[str]:
    """The test files that name the module, then the others of its package, those first that use its words most."""
    module = Path(mutant.path).stem.lstrip("_")
    dotted = mutant.path[: -len(".py")].replace("/", ".")
    package_name = re.escape(dotted.rpartition(".")[0])
    imported = re.compile(rf"{re.escape(dotted)}\b|from {package_name} import [^\n]*\b{module}\b")
    named = {module, *mutant.where.split("."), *re.findall(r"[a-z][a-z_]{3,}", mutant.old)} - {"module", "__init__"}
    words = re.compile("|".join(rf"\b{word}\b" for word in sorted(named)))
    found = []
    for name in files_of(mutant.path, root=root):
        text = (root / name).read_text()
        is_first = module in Path(name).stem or bool(imported.search(text))
        found.append((not is_first, -len(words.findall(text)), name))
    return [name for _, _, name in sorted(found)]
