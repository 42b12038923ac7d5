"""What `.gauntlet/` says: the configuration, its checks and its reviews. Knows files and their rules, runs nothing."""

from __future__ import annotations

import os

from taskie.gauntlet import MARKER, hashing
from taskie.gauntlet.documents import Document, Invalid, Problem, read, take
from taskie.gauntlet.rules import CHECK, CLI, ENTRY, FOLDER, NAME, REVIEW, STOP_HOOK, TOP
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

PRESETS = ("claude", "codex")


class Check(Value):
    """One check: a command of the project's own, run by the shell."""

    name: str
    command: str
    working_directory: str | None = None
    parallel: bool = True
    timeout: float | None = None
    fail_fast: bool = False
    run_in_ci: bool = True
    run_locally: bool = True
    fix_instructions: str | None = None


class Review(Value):
    """One review: what a reviewer is asked, and who is asked, how often."""

    name: str
    prompt: str
    num_reviews: int = 1
    cli_preference: tuple[str, ...] = ()
    model: str | None = None
    parallel: bool = True
    timeout: float | None = None
    fail_fast: bool = False
    run_in_ci: bool = True
    run_locally: bool = True


class EntryPoint(Value):
    """A part of the project and the gates for it: `.`, a path, `dir/*`, or a glob."""

    path: str
    exclude: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    reviews: tuple[str, ...] = ()


class Config(Value):
    """Everything in `.gauntlet/`. `digest` is of the files themselves: other rules make another verdict."""

    base_branch: str | None = None
    log_dir: str = "gauntlet_logs"
    allow_parallel: bool = True
    max_retries: int = 3
    entry_points: tuple[EntryPoint, ...] = ()
    enabled: bool | None = None
    interval: float | None = None
    preference: tuple[str, ...] = PRESETS
    commands: Mapping[str, str] = {}
    checks: Mapping[str, Check] = {}
    reviews: Mapping[str, Review] = {}
    problems: tuple[Problem, ...] = ()
    digest: str = ""
    source: Document | None = None

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if not problem.warning)

    @property
    def warnings(self) -> tuple[str, ...]:
        return tuple(str(problem) for problem in self.problems if problem.warning)


def load_settings(root: str) -> Config:
    """`config.yml` alone: enough to know whether anything is to be done at this stop. Invalid if it is no YAML."""
    document = read(os.path.join(root, MARKER), MARKER)
    if document is None:
        raise Invalid(Problem(MARKER, None, "is not there"))
    problems: list[Problem] = []
    top = take(document, (), document.content, TOP, problems)
    hook = _table(document, top, "stop_hook", STOP_HOOK, problems)
    cli = _table(document, top, "cli", CLI, problems)
    config = Config(
        entry_points=_entries(document, top.get("entry_points", []), problems),
        enabled=hook.get("enabled"),
        interval=hook.get("run_interval_minutes"),
        preference=cli.get("default_preference") or PRESETS,
        commands=cli.get("commands", {}),
        digest=_digest([document]),
        source=document,
        **{key: top[key] for key in ("base_branch", "log_dir", "allow_parallel", "max_retries") if key in top},
    )
    return config.replace(problems=tuple(problems))


def load(root: str, settings: Config | None = None) -> Config:
    """Everything, with every problem that was found on the way."""
    config = load_settings(root) if settings is None else settings
    problems = list(config.problems)
    checks: dict[str, Check] = {}
    reviews: dict[str, Review] = {}
    documents = []
    for folder, suffixes in (("checks", (".yml", ".yaml")), ("reviews", (".md",))):
        for name, path in _files(root, folder, suffixes):
            shown = f"{FOLDER}/{folder}/{os.path.basename(path)}"
            try:
                document = read(path, shown, frontmatter=folder == "reviews")
            except Invalid as error:
                problems.append(error.problem)
                continue
            if document is None:
                continue
            documents.append(document)
            if not NAME.fullmatch(name):
                problems.append(Problem(shown, None, "a gate's name has letters, digits, '_', '-' and '.' only"))
            elif folder == "checks":
                checks[name] = _check(name, document, problems)
            else:
                reviews[name] = _review(name, document, problems)
    config = config.replace(checks=checks, reviews=reviews, digest=config.digest + _digest(documents))
    _references(root, config, problems)
    return config.replace(problems=tuple(problems))


def _digest(documents: list[Document]) -> str:
    found = hashing.new()
    for document in documents:
        found.update(f"{document.name} {len(document.digest)}\0".encode())
        found.update(document.digest)
    return found.hexdigest()


def _table(
    document: Document, top: dict[str, Any], key: str, checks: Mapping[str, Any], problems: list[Problem]
) -> dict[str, Any]:
    raw = top.get(key, {})
    if not isinstance(raw, dict):
        problems.append(Problem(document.name, document.line(key), f"{key} must be a mapping"))
        return {}
    return take(document, (key,), raw, checks, problems)


def _entries(document: Document, raw: Any, problems: list[Problem]) -> tuple[EntryPoint, ...]:
    if not isinstance(raw, list):
        problems.append(Problem(document.name, document.line("entry_points"), "entry_points must be a list"))
        return ()
    found = []
    for position, item in enumerate(raw):
        at = ("entry_points", str(position))
        if not isinstance(item, dict) or "path" not in item:
            problems.append(Problem(document.name, document.line(*at), "an entry point must be a mapping with a path"))
            continue
        fields = take(document, at, item, ENTRY, problems)
        if "path" in fields:
            found.append(EntryPoint(**fields))
    return tuple(found)


def _files(root: str, folder: str, suffixes: tuple[str, ...]) -> list[tuple[str, str]]:
    directory = os.path.join(root, FOLDER, folder)
    try:
        names = sorted(os.listdir(directory))
    except OSError:
        return []  # a reference to a gate in it is reported as one that does not exist
    split = [(*os.path.splitext(name), name) for name in names if not name.startswith(".")]
    return [(stem, os.path.join(directory, name)) for stem, suffix, name in split if suffix in suffixes]


def _check(name: str, document: Document, problems: list[Problem]) -> Check:
    fields = take(document, (), document.content, CHECK, problems)
    if "command" not in document.content:
        problems.append(Problem(document.name, None, "a check needs a command"))
    return Check(name, **{"command": "false", **fields})


def _review(name: str, document: Document, problems: list[Problem]) -> Review:
    fields = take(document, (), document.content, REVIEW, problems)
    if not document.body.strip():
        problems.append(Problem(document.name, None, "a review needs a prompt after its frontmatter"))
    return Review(name, document.body.strip(), **fields)


def _references(root: str, config: Config, problems: list[Problem]) -> None:
    """Gates and reviewers that are named but not there."""
    from taskie.gauntlet.documents import unknown

    for position, entry in enumerate(config.entry_points):
        for kind, names, known in (("check", entry.checks, config.checks), ("review", entry.reviews, config.reviews)):
            for number, name in enumerate(names):
                if name not in known:
                    text = unknown(name, name, known).replace("unknown key", f"there is no {kind}", 1)
                    at = ("entry_points", str(position), f"{kind}s", str(number))
                    problems.append(Problem(MARKER, config.source.line(*at) if config.source else None, text))
    clis = {*PRESETS, *config.commands}
    wanted = [(MARKER, "cli.default_preference", config.preference)]
    wanted += [(f"{FOLDER}/reviews/{r.name}.md", "cli_preference", r.cli_preference) for r in config.reviews.values()]
    for file, key, names in wanted:
        for name in names:
            if name not in clis:
                problems.append(Problem(file, None, f"{key}: no reviewer {name!r}; give its command in cli.commands"))
    for path in (config.log_dir, *(c.working_directory for c in config.checks.values())):
        if path and not _stays_inside(root, path):
            problems.append(Problem(MARKER, None, f"{path} leads out of the project"))


def _stays_inside(root: str, path: str) -> bool:
    inside = os.path.realpath(root)
    return os.path.commonpath([inside, os.path.realpath(os.path.join(root, path))]) == inside
