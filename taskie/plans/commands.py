"""`taskie status` and `taskie state`: a plan's state for people and scripts. Not on the hook's path."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from typing import TYPE_CHECKING, Any

from taskie import config, project
from taskie.engine import Status, Table
from taskie.errors import USAGE_ERROR, CommandError
from taskie.plans import MARKER, answered, files, glance, journal, state, transitions
from taskie.plans.phases import ONE_TASK, PHASES, REVIEWS
from taskie.protocol import parse_json, shown
from taskie.store import StoreError, mode_of
from taskie.terminal import say

if TYPE_CHECKING:
    from collections.abc import Mapping

NEEDED = 5  # columns of the table that a narrow terminal keeps: plan, stage, phase, next, task
REVIEWING = "a review never changes state.json: the hook that started it does"
_PATH = re.compile(r"\.|(?:\.[A-Za-z_][A-Za-z0-9_]*)+")


def root_here() -> str | None:
    return project.find(MARKER, project.places(project.here(), os.environ))


def find_plan(wanted: str | None) -> str:
    """The directory of the wanted plan, or of the newest."""
    root = root_here()
    if root is None:
        raise CommandError(f"no {MARKER} here or above, up to the repository's root. Create a plan first.")
    plans = os.path.join(root, MARKER)
    name = wanted if wanted is not None else files.newest_plan(plans)
    if name is None:
        raise CommandError(f"{plans} holds no plan yet.")
    if name not in files.plan_directories(plans):
        known = ", ".join(shown(each) for each in files.plan_directories(plans)) or "none"
        raise CommandError(f"there is no plan {shown(name)!r} (plans here: {known})", USAGE_ERROR)
    return os.path.join(plans, name)


def state_get(filter_: str, *, raw: bool, plan: str | None) -> int:
    """Print the first result of the filter."""
    path = find_plan(plan)
    try:
        found = state.load(path)
    except StoreError as error:
        raise CommandError(f"{path}: {error}. Fix it by hand; nothing was changed.") from None
    if found is None:
        raise CommandError(f"{path} has no state.json")
    value = _select(found, filter_)
    if raw and isinstance(value, str) and not sys.stdout.isatty():
        print(value)  # to a program, byte for byte
    else:
        say(value if raw and isinstance(value, str) else json.dumps(value, indent=2))
    return 0


def _select(value: Any, filter_: str) -> Any:
    if _PATH.fullmatch(filter_):
        for name in filter_.split(".")[1:]:
            if name and value is not None:
                if not isinstance(value, dict):
                    raise CommandError(f"{filter_}: there is no field {name!r} in {json.dumps(value)}", USAGE_ERROR)
                value = value.get(name)
        return value
    try:
        import jq
    except ImportError:
        raise CommandError(
            f"the filter {filter_!r} needs jq: `pip install jq` (a plain path such as .phase does not)",
            USAGE_ERROR,
        ) from None
    try:
        return jq.compile(filter_).input_value(value).first()
    except StopIteration:
        return None
    except ValueError as error:
        raise CommandError(f"{filter_}: {error}", USAGE_ERROR) from None


def state_set(fields: list[str], *, force: bool, plan: str | None) -> int:
    """Change the fields in one checked, atomic write and print the new state."""
    wanted = dict(_field(text) for text in fields)
    return _write(find_plan(plan), wanted, force=force)


def state_begin(cycle: str, task: str | None, *, plan: str | None) -> int:
    """Begin the review cycle that an action leads to, in one checked, atomic write, and print the new state."""
    review = REVIEWS[PHASES[cycle].next[0]]
    if (review.needs == ONE_TASK) != (task is not None):
        wrong = "needs the id of its task" if task is None else "is not about one task"
        raise CommandError(f"{cycle} {wrong}: see `taskie state begin --help`", USAGE_ERROR)
    if task is not None:
        _field(f"current_task={task}")
    path = find_plan(plan)
    return _write(path, transitions.begin(cycle, task, settings(path)))


def state_repair(*, plan: str | None) -> int:
    """Rebuild a state that cannot be used, or is missing, from the plan's files; print what was concluded and why."""
    from taskie.plans import journal, repair
    from taskie.plans.tasks import survey

    path = find_plan(plan)
    configured = settings(path)
    try:
        raw = state.load(path)
        if raw is not None:
            state.interpret(raw, configured)
            say(f"{os.path.join(path, state.FILE)} can be used as it is. Nothing was changed.")
            return 0
        trouble = f"There is no {state.FILE}"
    except (StoreError, state.BadField) as error:
        trouble = str(error)
    found = files.contents(files.PlanDirectory(os.path.basename(path), path, path))
    standing = survey(found.tasks or "", found.regular, lambda name: files.read_text(os.path.join(path, name)))
    spoiled = files.read_text(os.path.join(path, state.FILE))
    entries = journal.read(path).entries
    names = sorted(found.regular, key=lambda name: files.written_at(os.path.join(path, name)) or 0)
    rebuilt = repair.rebuild(repair.Evidence(names, standing, entries, spoiled), configured)
    kept = _replace_state(path, rebuilt.fields)
    for line in (f"{shown(trouble, 300)}.", *repair.describe(rebuilt)):
        say(line)
    if kept:
        say(f"The old one is kept as {kept}.")
    say(json.dumps(rebuilt.fields, indent=2))
    return 0


def _replace_state(path: str, fields: Mapping[str, Any]) -> str | None:
    if os.environ.get("TASKIE_HOOK_SKIP"):
        raise CommandError(REVIEWING)
    try:
        return state.rewrite(path, fields)
    except StoreError as error:
        raise CommandError(f"{path}: {error}. Nothing was changed.") from None


def _write(path: str, wanted: dict[str, Any], *, force: bool = False) -> int:
    if os.environ.get("TASKIE_HOOK_SKIP"):
        raise CommandError(REVIEWING)
    configured = settings(path)
    for warning in configured.warnings:
        say(f"taskie: {shown(warning, 2000)}", file=sys.stderr)
    model = wanted.get("review_model")
    if model is not None and not configured.allows_model(model):
        listed = ", ".join(configured.review_models)
        raise CommandError(f"review_model must be one of review.models ({listed}), not {shown(model)!r}", USAGE_ERROR)

    def change(now: dict[str, Any]) -> dict[str, Any]:
        try:
            return transitions.changes(now, wanted, configured, force=force)
        except transitions.TransitionRefused as error:
            raise CommandError(f"{error} Nothing was changed.") from None

    creates = force or "phase" in wanted  # an action says all that there is to know
    try:
        if not creates and not mode_of(os.path.join(path, state.FILE)):
            raise CommandError(f"{path} has no {state.FILE}; the first action of the plan creates it, with its phase")
        written = state.update(path, change, replaces_spoiled=creates)
    except StoreError as error:
        raise CommandError(f"{path}: {error}. Nothing was changed. `taskie state repair` rebuilds it.") from None
    say(json.dumps(written, indent=2))
    return 0


def settings(plan: str) -> config.Config:
    """The settings that hold for a plan: those of its project."""
    return config.load(os.path.dirname(os.path.dirname(os.path.dirname(plan))), os.environ)


def _field(text: str) -> tuple[str, Any]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise CommandError(f"{shown(text)!r} is not of the form FIELD=VALUE", USAGE_ERROR)
    parsed: Any
    try:
        parsed = parse_json(value)
    except ValueError:
        parsed = value
    if name in state.FIELDS:
        if name in ("current_task", "phase", "next_phase", "review_model") and value != "null":
            parsed = value
        fits, expected = state.FIELDS[name]
        if parsed is None and name not in ("current_task", "phase_iteration", "next_phase"):
            raise CommandError(f"{name} must be {expected}", USAGE_ERROR)
        if parsed is not None and not fits(parsed):
            raise CommandError(f"{name} must be {expected}, not {shown(value)!r}", USAGE_ERROR)
        if name in ("phase", "next_phase") and parsed is not None and parsed not in PHASES:
            raise CommandError(f"{name} must be one of {', '.join(PHASES)}, not {shown(value)!r}", USAGE_ERROR)
    return name, parsed


def status(cwd: str, env: Mapping[str, str]) -> Status:
    """Every plan, the newest first."""
    root = project.find(MARKER, project.places(cwd, env))
    plans = os.path.join(root, MARKER) if root else None
    rows = [_row(plans, name) for name in files.plan_directories(plans)] if plans else []
    newest = files.newest_plan(plans) if plans else None
    rows.sort(key=lambda row: (row["plan"] != newest, row["plan"]))
    nothing = f"No plans here ({MARKER} is not in this directory, nor above it up to the repository's root)."
    now = time.time()
    told = []
    for row in rows:
        path = os.path.join(plans or "", row["plan"])
        row["record"] = _record(path)
        found = glance.look(path)
        running = found.running
        row["running"] = running.as_dict() if running else None
        held = glance.waits_for(found) if found.held else ""
        lines = [_told(row["record"]), f"reviewing now: {glance.runs(running, now)}" if running else held]
        told += [f"{shown(row['plan'], 40)}: {line}" for line in lines if line]
    findings = answered.count(os.path.join(plans or "", row["plan"]) for row in rows)
    told += [answered.summary(findings)] if findings["findings"] else []
    return Status({"root": root, "plans": rows, "findings": findings}, [_table(rows) if rows else nothing, *told])


def _record(path: str) -> dict[str, Any]:
    """What the plan's reviews have come to."""
    kept = journal.read(path)
    last = kept.entries[-1].as_dict() if kept.entries else None
    number = kept.folded + len(kept.entries)
    return {"reviews": number, "cost_usd": kept.spent, "last": last, "problem": kept.problem}


def _told(record: Mapping[str, Any]) -> str:
    """5 reviews, $1.12; the last, plan review 2 (sonnet) at 2026-11-17T17:30:00Z: FAIL"""
    number, cost, last, problem = (record[name] for name in ("reviews", "cost_usd", "last", "problem"))
    parts = []
    if number:
        parts.append(f"{number} review{'s' * (number > 1)}" + (f", ${cost:,.2f}" if cost else ""))
    if last:
        of = f" of task {shown(last['task'], 24)}" if last["task"] else ""
        which = f"{shown(last['review'], 24)} {last['iteration']}{of} ({shown(last['model'] or 'unknown', 40)})"
        came = last["verdict"] or f"it did not happen, {shown(last['problem'] or 'nobody knows why', 200)}"
        parts.append(f"the last, {which} at {shown(last['at'], 24)}: {came}")
    return "; ".join([*parts, *([problem] if problem else [])])


def _row(plans: str, name: str) -> dict[str, Any]:
    row: dict[str, Any] = {"plan": name, "stage": None, "state": None, "problem": None}
    try:
        raw = state.load(os.path.join(plans, name))
        if raw is None:
            row["problem"] = "no state.json"
            return row
        row["state"] = raw
        current = state.interpret(raw, settings(os.path.join(plans, name)))
    except (StoreError, state.BadField) as error:
        row["problem"] = str(error)
        return row
    row["stage"] = PHASES[current.phase].stage if current.phase and current.phase in PHASES else None
    row["reviews"] = f"{current.phase_iteration or 0}/{current.max_reviews}"
    row["model"] = current.review_model
    return row


def _table(rows: list[dict[str, Any]]) -> Table:
    lines = [["PLAN", "STAGE", "PHASE", "NEXT", "TASK", "REVIEWS", "CLEAN", "MODEL"]]
    for row in rows:
        fields = row["state"] or {}
        if row["problem"]:
            lines.append([shown(row["plan"], 40), shown(row["problem"], 60)])
            continue
        cells = [fields.get(name) for name in ("phase", "next_phase", "current_task")]
        rest = [row["reviews"], fields.get("consecutive_clean", 0), row["model"]]
        shown_cells = ["-" if cell is None else shown(str(cell), 24) for cell in (row["stage"], *cells, *rest)]
        lines.append([shown(row["plan"], 40), *shown_cells])
    return Table(lines, NEEDED)
