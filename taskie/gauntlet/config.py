"""What `.gauntlet/` says, and when the hook runs its gates. Knows files and their rules, runs nothing."""

from __future__ import annotations

import os

from taskie.gauntlet import KINDS, MARKER
from taskie.gauntlet.documents import Document, read, suggestion
from taskie.gauntlet.rules import ENTRY, FOLDER, NAME, STOP_HOOK, TOP, minutes, take
from taskie.gauntlet.verdict import Invalid, Problem
from taskie.project import is_inside
from taskie.store import StoreError, mode_of
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from taskie.gauntlet.kinds import Gate, GateKind

PRESETS = ("claude", "codex")
GLOBAL = (".config", "agent-gauntlet", "config.yml")
ENABLED = "GAUNTLET_STOP_HOOK_ENABLED"
INTERVAL = "GAUNTLET_STOP_HOOK_INTERVAL_MINUTES"
DEFAULT_INTERVAL = 10.0
_YES = ("1", "true", "yes", "on")
NO = ("0", "false", "no", "off")


class EntryPoint(Value):
    """A part of the project and the names of its gates by kind. The path is `.`, a path, `dir/*`, or a glob."""

    path: str
    exclude: tuple[str, ...]
    gates: Mapping[str, tuple[str, ...]]


class Gates(Value):
    """Everything in `.gauntlet/`; `gates` by kind and name, none before `load`; `inline` those that
    `config.yml` itself describes, by folder and name.

    `rules` are the files themselves: other rules make another verdict.
    """

    base_branch: str | None = None
    log_dir: str = "gauntlet_logs"
    allow_parallel: bool = True
    max_retries: int = 3
    entry_points: tuple[EntryPoint, ...] = ()
    enabled: bool | None = None
    interval: float | None = None
    preference: tuple[str, ...] = PRESETS
    commands: Mapping[str, str] = {}
    gates: Mapping[str, Mapping[str, Any]] = {}
    inline: Mapping[str, Mapping[str, Document]] = {}
    problems: tuple[Problem, ...] = ()
    source: Document | None = None
    rules: bytes = b""

    def checked(self) -> Gates:
        """Itself. Invalid if anything in it is wrong beyond a warning."""
        errors = [problem for problem in self.problems if not problem.warning]
        if errors:
            raise Invalid(*errors)
        return self


class HookSettings(Value):
    """Whether the hook runs the gates, and how many minutes it lets pass between two runs that did not fail."""

    enabled: bool = True
    interval: float = DEFAULT_INTERVAL
    warnings: tuple[str, ...] = ()


def load_settings(root: str) -> Gates:
    """`config.yml` alone: enough to know whether anything is to be done at this stop. Invalid if it is not YAML."""
    document = read(os.path.join(root, MARKER), MARKER)
    if document is None:
        raise Invalid(Problem(MARKER, None, "is not there"))
    problems: list[Problem] = []
    top = take(document, document.content, TOP, problems)
    hook, cli = top.get("stop_hook", {}), top.get("cli", {})
    entries = []
    for position, item in enumerate(top.get("entry_points", [])):
        at = ("entry_points", str(position))
        if not isinstance(item, dict) or "path" not in item:
            problems.append(Problem(document.name, document.line(*at), "an entry point must be a mapping with a path"))
            continue
        fields = take(document, item, ENTRY, problems, at)
        if "path" in fields:
            gates = {kind: fields.get(folder, ()) for kind, folder in KINDS.items()}
            entries.append(EntryPoint(fields["path"], fields.get("exclude", ()), gates))
    return Gates(
        entry_points=tuple(entries),
        enabled=hook.get("enabled"),
        interval=hook.get("run_interval_minutes"),
        preference=cli.get("default_preference") or PRESETS,
        commands=cli.get("commands", {}),
        inline={
            folder: {name: document.part(folder, name) for name in top[folder]}
            for folder in KINDS.values()
            if folder in top
        },
        problems=tuple(problems),
        source=document,
        **{key: top[key] for key in ("base_branch", "log_dir", "allow_parallel", "max_retries") if key in top},
    )


def load(root: str, settings: Gates | None = None) -> Gates:
    """Everything, with every problem that was found on the way."""
    settings = settings or load_settings(root)
    problems = list(settings.problems)
    documents = [settings.source] if settings.source else []
    gates: dict[str, dict[str, Gate]] = {kind: {} for kind in KINDS}
    modules: dict[str, GateKind] = {}
    for kind, folder in KINDS.items():
        module = modules[kind] = __import__(f"{__package__}.{folder}", fromlist=["gate"])
        places: dict[str, str] = {}
        described = [*_in_files(root, folder, module, problems), *_inline(settings, folder, module)]
        for name, place, document in described:
            documents.append(document)
            if name in places:
                text = f"{kind} {name!r} is in {places[name]}, too; keep one of the two"
                problems.append(Problem(document.name, document.line(), text))
            elif NAME.fullmatch(name):
                gates[kind][name] = module.gate(name, document, root, settings, problems)
            else:
                problems.append(Problem(place, None, "a gate's name has letters, digits, '_', '-' and '.' only"))
            places[name] = place
    for position, entry in enumerate(settings.entry_points):
        for kind, names in entry.gates.items():
            for number, name in enumerate(names):
                if name in gates[kind]:
                    continue
                built_in = modules[kind].built_in()
                if name in built_in:
                    gates[kind][name] = built_in[name]
                else:
                    at = ("entry_points", str(position), KINDS[kind], str(number))
                    text = f"there is no {kind} {name!r}{suggestion(name, [*gates[kind], *built_in])}"
                    problems.append(Problem(MARKER, documents[0].line(*at), text))
    if settings.preference != PRESETS:
        problems += unknown_reviewers(settings, MARKER, "cli.default_preference", settings.preference)
    log_dir = os.path.join(root, settings.log_dir)
    if os.path.realpath(log_dir) != log_dir and not is_inside(root, log_dir):  # a link is all that can lead it out
        problems.append(Problem(MARKER, None, f"{settings.log_dir} leads out of the project"))
    rules = b"".join(f"{each.name} {len(each.data)}\0".encode() + each.data for each in documents)
    return settings.replace(gates=gates, problems=tuple(problems), rules=rules)


def _in_files(root: str, folder: str, module: GateKind, problems: list[Problem]) -> Iterator[tuple[str, str, Document]]:
    """Name, place and content of each gate that has a file."""
    directory = os.path.join(root, FOLDER, folder)
    try:
        files = sorted(os.listdir(directory))
    except OSError:
        files = []  # a reference to a gate in it is reported as one that does not exist
    for file in files:
        name, suffix = os.path.splitext(file)
        if suffix not in module.SUFFIXES or file.startswith("."):
            continue
        place = f"{FOLDER}/{folder}/{file}"
        try:
            document = read(os.path.join(directory, file), place, frontmatter=module.FRONTMATTER)
        except Invalid as error:
            problems += error.problems
            continue
        if document is not None:
            yield name, place, document


def _inline(settings: Gates, folder: str, module: GateKind) -> Iterator[tuple[str, str, Document]]:
    """Name, place and content of each gate in `config.yml` itself, where `prompt` is what a file has after its head."""
    for name, document in settings.inline.get(folder, {}).items():
        place = f"{MARKER}:{document.line()}"
        if module.FRONTMATTER:
            prompt = document.content.get("prompt")
            content = {key: value for key, value in document.content.items() if key != "prompt"}
            document = document.replace(content=content, body=prompt if isinstance(prompt, str) else "")
        yield name, place, document


def unknown_reviewers(settings: Gates, file: str, key: str, names: Iterable[str]) -> list[Problem]:
    """Reviewers that nobody knows how to call."""
    unknown = [name for name in names if name not in PRESETS and name not in settings.commands]
    return [Problem(file, None, f"{key}: no reviewer {name!r}; give its command in cli.commands") for name in unknown]


def _is_there(path: str, warnings: list[str]) -> bool:
    try:
        return bool(mode_of(path))
    except StoreError as error:
        warnings.append(f"{error}; its settings are not used")
        return False


def hook_settings(config: Gates, env: Mapping[str, str]) -> HookSettings:
    """Environment over project over the user's global file, field by field."""
    warnings: list[str] = []
    chosen: dict[str, Any] = {}
    home = os.path.join(env.get("HOME") or os.path.expanduser("~"), *GLOBAL)
    if (config.enabled is None or config.interval is None) and _is_there(home, warnings):
        chosen.update(_global(home, warnings))
    if config.enabled is not None:
        chosen["enabled"] = config.enabled
    if config.interval is not None:
        chosen["run_interval_minutes"] = config.interval
    switch = env.get(ENABLED, "").strip().lower()
    if switch in _YES + NO:
        chosen["enabled"] = switch in _YES
    elif switch:
        warnings.append(f"{ENABLED} must be true or false; ignored")
    given = env.get(INTERVAL, "").strip()
    if given:
        try:
            chosen["run_interval_minutes"] = minutes(float(given))
        except ValueError:
            warnings.append(f"{INTERVAL} must be a number of minutes, 0 or more; ignored")
    interval = chosen.get("run_interval_minutes", DEFAULT_INTERVAL)
    return HookSettings(chosen.get("enabled", True), interval, tuple(warnings))


def _global(path: str, warnings: list[str]) -> dict[str, Any]:
    problems: list[Problem] = []
    try:
        document = read(path, path)
        if document is None:
            return {}
        raw = document.content.get("stop_hook", {})
        taken = take(document, {"stop_hook": raw}, {"stop_hook": STOP_HOOK}, problems)
    except Invalid as error:
        warnings.append(f"{error}; the defaults are used")
        return {}
    warnings += [f"{problem}; ignored" for problem in problems]
    return dict(taken.get("stop_hook", {}))
