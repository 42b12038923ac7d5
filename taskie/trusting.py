"""`taskie trust` and `untrust`: what a person is shown of what the hook would run here, and what they say to it."""

from __future__ import annotations

import json
import os
import sys
from typing import TYPE_CHECKING, Any

from taskie import engines, project, trust, word
from taskie.errors import USAGE_ERROR, CommandError
from taskie.gauntlet.skipping import AGENTS
from taskie.protocol import shown
from taskie.store import StoreError
from taskie.terminal import say
from taskie.trust import Trusted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from taskie.engine import Engine

    Brought = Sequence[tuple[str, bytes]]


def command(path: str | None, show: bool, listed: bool, as_json: bool, word: str | None) -> int:
    """Trust what is brought here, after a question in a terminal or with the word that the hook told."""
    if listed:
        return _list(as_json)
    if as_json:
        raise CommandError("--json goes with --list", USAGE_ERROR)
    found = _found(path)
    if not found:
        say("Nothing here that the hook would run.")
        return 0
    if show:
        return _show(found)
    new = {root: files for root in found if (files := _unknown(root, found[root]))}
    if not new:
        say("All of it is trusted already; `taskie trust --show` shows it.")
        return 0
    _consent(new, word)
    for root in new:
        trust.add(root, os.environ, found[root])
        say(f"Trusted in {shown(root, 400)}: {', '.join(found[root])}. `taskie untrust` takes it back.")
    return 0


def untrust(path: str | None) -> int:
    """Forget what is trusted here."""
    roots = list(dict.fromkeys([*_found(path), *project.places(_directory(path), os.environ)]))
    gone = [root for root in roots if trust.forget(root, os.environ)]
    for root in gone:
        say(f"Nothing is trusted any more in {shown(root, 400)}.")
    if not gone:
        say("Nothing was trusted here.")
    return 0


def waits(cwd: str, env: Mapping[str, str]) -> str | None:
    """What the hook would not run here at the next stop, in a sentence; None if there is nothing. Writes nothing."""
    if trust.given(env, cwd):
        return None
    found = []
    for name, engine, root in _applying(project.places(cwd, env)):
        try:
            new = _new(name, root, engine.brings(root, env), env)
        except StoreError as error:
            found.append(f"{name} ({shown(str(error), 200)})")
            continue
        if new:
            more = f" and {len(new) - 3} more" if len(new) > 3 else ""
            found.append(f"{name} ({', '.join(shown(file, 60) for file, _ in new[:3])}{more})")
    return f"the hook runs nothing of this before you trust it: {'; '.join(found)}" if found else None


def _new(name: str, root: str, brought: Brought, env: Mapping[str, str]) -> Brought:
    """What of this nobody has trusted. What the user has written here since the hook takes as theirs."""
    record = Trusted(root, env)
    new = record.unknown(name, brought) if brought else []
    if new and record.knows(name):
        from taskie.arrival import came_by_git

        if not came_by_git(root, new, env, lambda file, data: not record.unknown(name, [(file, data)])):
            return []
    return new


def _applying(places: list[str]) -> Iterator[tuple[str, Engine, str]]:
    """The engines that apply in these places, each with its root."""
    for name in engines.ENGINES:
        engine = engines.load(name)
        roots = [place for place in places if engines.is_used(engine, place)]
        root = engine.detect(roots) if roots else None
        if root is not None:
            yield name, engine, root


def _directory(path: str | None) -> str:
    directory = os.path.realpath(path) if path is not None else project.here()
    if not os.path.isdir(directory):
        raise CommandError(f"{shown(path or '')} is not a directory", USAGE_ERROR)
    return directory


def _found(path: str | None) -> dict[str, dict[str, Brought]]:
    """What the engines that apply in a directory bring, by root and engine. The hook looks in the same places."""
    places = project.places(_directory(path), {} if path is not None else os.environ)
    found: dict[str, dict[str, Brought]] = {}
    for name, engine, root in _applying(places):
        if brought := engine.brings(root, os.environ, whole=True):
            found.setdefault(root, {})[name] = brought
    return found


def _unknown(root: str, brought: dict[str, Brought]) -> dict[str, Brought]:
    record = Trusted(root, os.environ)
    return {name: new for name in brought if (new := record.unknown(name, brought[name]))}


def _consent(new: dict[str, dict[str, Brought]], given: str | None) -> None:
    """CommandError, unless a person says yes: in a terminal, or by the word that the hook told them."""
    if given is not None:
        for root in new:
            kept = Trusted(root, os.environ).word
            if not word.fits(kept, given):
                raise CommandError("this is not the word: it is in the message that the person got at the last stop")
            # The hook does not look at the base commit before it has to, so there may be more by now, and not less.
            if kept is None or kept["of"] != _waiting_now(root):
                raise CommandError("what waits has changed since that word was told; the next stop tells another")
        return
    agent = next((name for name in AGENTS if os.environ.get(name)), None)
    if agent or not (sys.stdin and sys.stdin.isatty()):
        why = f"{agent} says that an agent runs this" if agent else "there is no terminal to ask in"
        raise CommandError(
            f"only a person may trust what a repository brings, and {why}: run `taskie trust` in a terminal of your "
            "own, or give the word that the hook told at the last stop (`taskie trust --word WORD`)"
        )
    for line in _summary(new):
        say(line)
    say("Let the hook run this whenever an agent stops here? [y/N] ", end="", flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise CommandError("nothing was trusted; `taskie trust --show` shows what it is")


def _waiting_now(root: str) -> str:
    brought = {}
    for name in engines.ENGINES:
        engine = engines.load(name)
        if engines.is_used(engine, root) and engine.detect([root]) == root:
            brought[name] = engine.brings(root, os.environ)
    return trust.summary(_unknown(root, brought))


def _summary(new: dict[str, dict[str, Brought]]) -> Iterator[str]:
    for root, brought in new.items():
        yield f"In {shown(root, 400)}:"
        for name, files in brought.items():
            yield from (f"  {name}: {shown(file, 400)} ({len(data)} bytes)" for file, data in files)


def _show(found: dict[str, dict[str, Brought]]) -> int:
    for root, brought in found.items():
        record = Trusted(root, os.environ)
        if record.problem:
            say(f"{visible(record.problem)}. So nothing is trusted here.")
        for name, files in brought.items():
            new = record.unknown(name, files)
            for file, data in files:
                known = "new" if (file, data) in new else "trusted"
                say(f"== {name}: {shown(os.path.join(root, file), 1000)} ({known})")
                if b"\0" in data:
                    say(f"({len(data)} bytes that are not text)")
                else:
                    for line in data.decode("utf-8", "surrogateescape").rstrip("\n").split("\n"):
                        say(f"  {visible(line)}")
    return 0


def visible(line: str) -> str:
    """A line as it is, with every character that a terminal would obey, or hide, as an escape."""
    return "".join(c if c.isprintable() else f"\\x{ord(c):02x}" if ord(c) < 256 else f"\\u{{{ord(c):x}}}" for c in line)


def _list(as_json: bool) -> int:
    """Every root in which something is trusted."""
    rows: list[dict[str, Any]] = []
    directory = trust.folder(os.environ)
    try:
        names = sorted(name for name in os.listdir(directory) if name.endswith(".json") and not name.startswith("."))
    except OSError:
        names = []
    for name in names:
        path = os.path.join(directory, name)
        try:
            content = trust.read(path) or {}
        except StoreError as error:
            rows.append({"record": path, "problem": str(error)})
            continue
        trusted = {each: len(marks) for each, marks in content.get("engines", {}).items() if marks}
        root = str(content.get("root"))
        if trusted:
            rows.append({"record": path, "root": root, "exists": os.path.isdir(root), "engines": trusted})
    if as_json:
        say(json.dumps({"trusted": rows}, indent=2))
        return 0
    for row in rows:
        if "problem" in row:
            say(f"{visible(str(row['problem']))}, so it counts for nothing")
        else:
            gone = "" if row["exists"] else " (no longer there)"
            say(f"{visible(str(row['root']))}{gone}: {', '.join(row['engines'])}")
    if not rows:
        say("Nothing is trusted anywhere.")
    return 0
