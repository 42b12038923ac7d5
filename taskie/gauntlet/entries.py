"""From changed files to gates: which entry points they touch, and which jobs that makes. Pure."""

from __future__ import annotations

import re
from functools import lru_cache

from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from taskie.gauntlet.config import EntryPoint, Gates
    from taskie.gauntlet.kinds import Gate

_WILD = re.compile(r"[*?\[]")


class Job(Value):
    """One gate for one entry. `directory` is where a check runs, `files` what has changed there. `key` is its name in
    the record, `shown` its name for people."""

    kind: str
    entry: str
    directory: str
    gate: Gate
    files: tuple[str, ...]
    slot: int
    key: str
    shown: str


def jobs(
    config: Gates,
    files: Iterable[str],
    open_gates: Collection[str],
    in_ci: bool,
    is_file: Callable[[str], bool] = lambda path: True,
) -> list[Job]:
    """Every gate that these files call for, and every open one: a failure is cleared by a run and by nothing else.

    Those that may change files come first. `is_file`: whether a changed file is still there.
    """
    files = list(files)
    found: dict[str, Job] = {}
    for entry in config.entry_points:
        gates = [(kind, config.gates[kind].get(name)) for kind, names in entry.gates.items() for name in names]
        here = [(kind, gate) for kind, gate in gates if gate and (gate.run_in_ci if in_ci else gate.run_locally)]
        for label, directory, touched in _parts(entry, files, open_gates):
            for kind, gate in here:
                for slot in gate.slots:
                    key = f"{kind}:{label}:{gate.name}" + (f"@{slot}" if slot else "")
                    shown = f"{kind} {gate.name}" + ("" if label == "." else f" ({label})")
                    shown += f" @{slot}" if slot and slot > 1 else ""
                    waking = _waking(gate, entry, touched, is_file)
                    if waking or key in open_gates:
                        found.setdefault(key, Job(kind, label, directory, gate, waking, slot or 1, key, shown))
    return sorted(found.values(), key=lambda job: not getattr(job.gate, "alone", False))


def _waking(gate: Gate, entry: EntryPoint, touched: tuple[str, ...], is_file: Callable[[str], bool]) -> tuple[str, ...]:
    """Those of the entry's changed files that the gate is for."""
    patterns = getattr(gate, "glob", ())
    if patterns:
        touched = tuple(file for file in touched if _named(file, entry, patterns, anywhere=True))
    if getattr(gate, "names_files", False):
        touched = tuple(file for file in touched if is_file(file))
    return touched


def _parts(
    entry: EntryPoint, files: list[str], open_gates: Collection[str]
) -> Iterable[tuple[str, str, tuple[str, ...]]]:
    """(label, directory, changed files) of each part of the project that the entry stands for."""
    path = entry.path
    kept = [file for file in files if not _named(file, entry, entry.exclude)] if entry.exclude else files
    if path == ".":
        yield ".", ".", tuple(kept)
    elif path.endswith("/*") and not _WILD.search(path[:-2]):
        parent = path[:-1]
        below: dict[str, list[str]] = {}
        for file in kept:
            name, slash, _ = file[len(parent) :].partition("/")
            if file.startswith(parent) and slash:
                below.setdefault(parent + name, []).append(file)
        for key in open_gates:
            label = key.split(":", 2)[1]
            if label.startswith(parent) and "/" not in label[len(parent) :]:
                below.setdefault(label, [])
        for label in sorted(below):
            yield label, label, tuple(below[label])
    elif _WILD.search(path):
        yield path, ".", tuple(file for file in kept if matches(path, file))
    else:
        yield path, path, tuple(file for file in kept if matches(path, file))


def _named(file: str, entry: EntryPoint, patterns: Iterable[str], *, anywhere: bool = False) -> bool:
    """Whether a pattern names it, from the project's root or the entry's directory. `anywhere`: one without a slash
    names files in every directory."""
    fixed = entry.path.rstrip("*").rstrip("/")
    inner = file[len(fixed) + 1 :] if fixed not in ("", ".") and file.startswith(fixed + "/") else file
    for pattern in patterns:
        if anywhere and "/" not in pattern and _WILD.search(pattern):
            pattern = f"**/{pattern}"
        if matches(pattern, file) or matches(pattern, inner):
            return True
    return False


def matches(pattern: str, path: str) -> bool:
    """Whether a glob with `**`, or a plain path of a file or a directory above it, names this file."""
    if pattern == ".":
        return True
    if not _WILD.search(pattern):
        return path == pattern or path.startswith(pattern + "/")
    return _compiled(pattern).fullmatch(path) is not None


@lru_cache(maxsize=1000)
def _compiled(pattern: str) -> re.Pattern[str]:
    at, out = 0, []
    while at < len(pattern):
        rest = pattern[at:]
        if rest.startswith("**/"):
            out.append("(?:.*/)?")
            at += 3
        elif rest.startswith("**"):
            out.append(".*")
            at += 2
        elif rest[0] in "*?":
            out.append("[^/]*" if rest[0] == "*" else "[^/]")
            at += 1
        elif rest[0] == "[" and (group := re.match(r"\[!?\]?[^\]/]*\]", rest)):
            inner = group[0][1:-1].replace("\\", "\\\\")
            out.append("[" + ("^" + inner[1:] if inner.startswith("!") else inner) + "]")
            at += len(group[0])
        else:
            out.append(re.escape(rest[0]))
            at += 1
    try:
        return re.compile("".join(out), re.DOTALL)
    except re.error:
        return re.compile(re.escape(pattern))
