"""From changed files to gates: which entry points they touch, and which jobs that makes. Pure."""

from __future__ import annotations

import os
import re

from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Literal, Union

    from taskie.gauntlet.config import Check, Config, EntryPoint, Review

    Gate = Union[Check, Review]

_WILD = re.compile(r"[*?\[]")


class Job(Value):
    """One gate for one entry. `directory` is where a check runs, `files` what has changed there."""

    kind: Literal["check", "review"]
    entry: str
    directory: str
    gate: Gate
    files: tuple[str, ...]
    slot: int = 1

    @property
    def key(self) -> str:
        return job_key(self.kind, self.entry, self.gate.name, self.slot)

    @property
    def shown(self) -> str:
        place = "" if self.entry == "." else f" ({self.entry})"
        return f"{self.kind} {self.gate.name}{place}" + (f" @{self.slot}" if self.slot > 1 else "")


def job_key(kind: str, entry: str, name: str, slot: int = 1) -> str:
    return f"{kind}:{entry}:{name}" + (f"@{slot}" if kind == "review" else "")


def jobs(config: Config, files: Iterable[str], open_gates: Collection[str], env: Mapping[str, str]) -> list[Job]:
    """Every gate that these files call for, and every open one: a failure is cleared by a run and by nothing else."""
    files = list(files)
    found: dict[str, Job] = {}
    for entry in config.entry_points:
        for label, directory, touched in _places(entry, files, open_gates):
            for job in _gates(config, entry, label, directory, touched):
                if (touched or job.key in open_gates) and _runs_here(job.gate, env):
                    found.setdefault(job.key, job)
    return list(found.values())


def _runs_here(gate: Gate, env: Mapping[str, str]) -> bool:
    in_ci = env.get("CI", "").lower() in ("1", "true", "yes")
    return gate.run_in_ci if in_ci else gate.run_locally


def _gates(config: Config, entry: EntryPoint, label: str, directory: str, touched: tuple[str, ...]) -> Iterable[Job]:
    for name in entry.checks:
        if name in config.checks:
            yield Job("check", label, directory, config.checks[name], touched)
    for name in entry.reviews:
        if name in config.reviews:
            review = config.reviews[name]
            for slot in range(1, review.num_reviews + 1):
                yield Job("review", label, directory, review, touched, slot)


def _places(
    entry: EntryPoint, files: list[str], open_gates: Collection[str]
) -> Iterable[tuple[str, str, tuple[str, ...]]]:
    """(label, directory, changed files) of each place that the entry stands for."""
    path = entry.path
    kept = [file for file in files if not _excluded(file, entry)]
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


def _excluded(file: str, entry: EntryPoint) -> bool:
    fixed = entry.path.rstrip("*").rstrip("/")
    inner = file[len(fixed) + 1 :] if fixed not in ("", ".") and file.startswith(fixed + "/") else file
    return any(matches(pattern, file) or matches(pattern, inner) for pattern in entry.exclude)


def matches(pattern: str, path: str) -> bool:
    """Whether a glob with `**`, or a plain path of a file or a directory above it, names this file."""
    if pattern == ".":
        return True
    if not _WILD.search(pattern):
        return path == pattern or path.startswith(pattern + "/")
    return _compiled(pattern).fullmatch(path) is not None


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


def directory_of(root: str, job: Job) -> str:
    """Where a check runs: its own `working_directory`, else that of its entry."""
    own = getattr(job.gate, "working_directory", None)
    return os.path.join(root, own or job.directory)
