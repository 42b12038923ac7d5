"""`taskie doctor`: what keeps the hook from working here, each with its remedy. Judges facts, gathers none."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from taskie import project
from taskie.clients import CLAUDE
from taskie.errors import CommandError
from taskie.plans.providers import PROVIDERS, provider_of
from taskie.protocol import BUDGET, MARGIN, shown
from taskie.setup import clients, paths, probes, settings
from taskie.setup.probes import Facts, Source
from taskie.store import LOCK_FILE
from taskie.terminal import say, steer

Level = Literal["ok", "warning", "error"]
TOO_OLD = (1, 0, 120)  # the newest that is known to refuse --json-schema
NEW_ENOUGH = (2, 0, 60)  # the oldest that is known to take it
LOCAL_FROM_BELOW = (
    2,
    1,
    325,
)  # the oldest that is known to read a repository's settings.local.json from below its root
_COLOURS: dict[Level, str] = {"ok": "\033[32m", "warning": "\033[33m", "error": "\033[31m"}


@dataclass(frozen=True)
class Finding:
    """One thing that was checked. An error: the hook cannot work until it is fixed."""

    level: Level
    about: str
    text: str
    remedy: str | None = None


def main(*, as_json: bool, plugin: bool) -> int:
    """Print the findings; 1 if the hook cannot work."""
    try:
        facts = probes.look(project.here(), os.environ, loaded=plugin)
    except OSError as error:
        raise CommandError(f"the temporary folder cannot be used ({error}). Set TMPDIR to another.") from None
    findings = [replace(each, remedy=project.typeable(each.remedy or "") or None) for each in judge(facts)]
    failed = [finding for finding in findings if finding.level == "error"]
    if as_json:
        say(json.dumps({"ok": not failed, "findings": [asdict(finding) for finding in findings]}, indent=2))
    else:
        for finding in findings:
            steer(_coloured(finding.level))
            say(f"  {finding.about:<8}  {shown(finding.text, 999)}")
            if finding.remedy:
                say(f"{'':19}-> {shown(finding.remedy, 999)}")
        say(f"The hook cannot work here. Errors to fix: {len(failed)}." if failed else "The hook can work here.")
    return 1 if failed else 0


def _coloured(level: Level) -> str:
    word = f"{level:<7}"
    if not sys.stdout.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return word
    return f"{_COLOURS[level]}{word}\033[0m"


def judge(facts: Facts) -> Iterator[Finding]:
    """Every finding, in the order in which a person would look."""
    yield Finding("ok", "python", f"taskie runs on Python {facts.python}")
    yield from _hook(facts)
    yield from _installation(facts)
    yield from _disabled(facts)
    yield from _reviewing(facts)
    yield from _gates(facts)
    if facts.untrusted:
        remedy = "`taskie trust --show` shows it; `taskie trust` lets the hook run it"
        yield Finding("warning", "trust", facts.untrusted, remedy)
    yield from _timeouts(facts)
    if facts.unlockable:
        text = f"{facts.root} cannot be locked ({facts.unlockable}): a file named {LOCK_FILE} does it instead"
        remedy = "nothing; but after a crash on another machine, others wait a quarter of an hour for its lock"
        yield Finding("warning", "locks", text, remedy)
    for warning in facts.config.warnings:
        yield Finding("warning", "config", warning, "correct it; until then the default holds")


def _reviewing(facts: Facts) -> Iterator[Finding]:
    """What plans are reviewed with. Where there are only gates, nobody needs it."""
    for finding in (*_client(facts), *_permissions(facts)):
        if finding.level == "error" and facts.gates and facts.gates.alone:
            finding = replace(
                finding, level="warning", text=f"{finding.text} (plans would need it; there is none here)"
            )
        yield finding


def _gates(facts: Facts) -> Iterator[Finding]:
    gates = facts.gates
    if gates is None:
        return
    if gates.yaml:
        remedy = "`pip install PyYAML` there, or set TASKIE_PYTHON to an interpreter that has it"
        yield Finding("error", "gauntlet", gates.yaml, remedy)
    for problem in gates.problems:
        level: Level = "warning" if problem.warning else "error"
        yield Finding(level, "gauntlet", str(problem), "correct it; `taskie gauntlet validate` checks it again")
    for gate, program in gates.missing:
        text = f"{gate} needs {program}, which is not found: it cannot be run"
        yield Finding("warning", "gauntlet", text, f"install {program}, or correct the gate")
    if not gates.yaml and not gates.problems and not gates.missing:
        yield Finding("ok", "gauntlet", f"{gates.root}/.gauntlet is valid, PyYAML and the gates' programs are found")


def _hook(facts: Facts) -> Iterator[Finding]:
    hook = facts.hook
    remedy = "install Taskie again" if hook.python else "install Python 3.9 or newer, or set TASKIE_PYTHON to one"
    if hook.problem in ("is not there", "is not executable"):
        remedy = f"chmod +x {hook.path}" if hook.problem == "is not executable" else "install Taskie again"
    if hook.problem:
        yield Finding("error", "hook", f"{hook.path} {hook.problem}", remedy)
    else:
        yield Finding("ok", "hook", f"{hook.path} answers, on Python {hook.python_version} ({hook.python})")
    if facts.env.get("TASKIE_HOOK_SKIP"):
        text = "TASKIE_HOOK_SKIP is set: the hook lets every stop pass"
        yield Finding("error", "hook", text, "unset TASKIE_HOOK_SKIP, then start the client from that shell")


def _installation(facts: Facts) -> Iterator[Finding]:
    plugin = _plugin(facts)
    installed = [(source, handler) for source in facts.sources for handler in source.handlers()]
    claude = [(source, handler) for source, handler in installed if source.client == CLAUDE]
    for source in facts.sources:
        if source.problem:
            known = source.client in (CLAUDE, "codex")
            remedy = "the client ignores such a file" if known else "until then nobody knows whether the hook is there"
            yield Finding("warning", "settings", source.problem, f"correct it: {remedy}")
    if plugin:
        yield Finding("ok", "settings", f"the plugin {plugin[0]} is enabled in {plugin[1]}")
    works = plugin or any(_unusable(handler, facts) is None for _, handler in installed)
    for source, handler in installed:
        yield from _entry(source, handler, facts, "warning" if works else "error")
    for source in facts.sources:
        missing = [event for event in clients.events(source.client) if not source.handlers(event)]
        if missing and source.handlers():
            text = f"{source.path} has the hook for Stop, but not for {' or '.join(missing)}"
            yield Finding("warning", "settings", text, f"`taskie install {_scope(source)}`")
    # The client runs the same words once, whatever files they are in.
    run = {handler["command"] for _, handler in claude if _unusable(handler, facts) is None}
    if len(run) + bool(plugin) > 1:
        text = f"the hook runs {len(run) + bool(plugin)} times at every stop"
        remedy = "keep one: `taskie uninstall`, `taskie uninstall --user` or `claude plugin uninstall taskie`"
        yield Finding("warning", "settings", text, remedy)
    yield from _twice(facts)
    if not plugin and not installed:
        text = "the hook is installed nowhere: neither in your settings nor in this project's, nor as a plugin"
        remedy = "`taskie install`, or the plugin (a `claude --plugin-dir` is not visible here)"
        yield Finding("error", "settings", text, remedy)
    elif claude and not plugin and facts.cwd != facts.root and not any(_reaches(s, facts) for s, _ in claude):
        text = f"the client reads this project's settings only if it is started in {facts.root}, not below it"
        yield Finding("warning", "settings", text, f"start it in {facts.root}, or `taskie install --user`")


def _twice(facts: Facts) -> Iterator[Finding]:
    """Clients that read another one's hooks beside their own."""
    for client in clients.OTHERS:
        also = {os.path.join(facts.root, file) for file in clients.CLIENTS[client].also}
        own = [each.path for each in facts.sources if each.client == client and each.handlers()]
        read = [each.path for each in facts.sources if each.client == CLAUDE and each.path in also and each.handlers()]
        if len(own) + len(read) > 1:
            text = f"{clients.CLIENTS[client].title} runs the hook at every stop for each of {', '.join([*own, *read])}"
            yield Finding("warning", "settings", text, f"keep one: `taskie uninstall --client {client}`, or the other")


def _reaches(source: Source, facts: Facts) -> bool:
    """Whether the client reads these settings also where it is started below the project's root."""
    return source.kind == "user" or (source.kind == "local" and _numbers(facts.client.version) >= LOCAL_FROM_BELOW)


def _numbers(version: str | None) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".")) if version else ()


def _unusable(handler: Any, facts: Facts) -> str | None:
    script = settings.script_of(handler) or ""
    if script == settings.LINK:
        script = paths.link(facts.env)
    return None if script.startswith("$") else probes.runnable(script)


def _entry(source: Source, handler: Any, facts: Facts, level: Level) -> Iterator[Finding]:
    script = settings.script_of(handler)
    problem = _unusable(handler, facts)
    if script == settings.LINK and problem:
        text = f"{source.path} has the hook, but {paths.link(facts.env)}, by which it would run for you, {problem}"
        silent = _plugin(facts) is not None or _has_own(facts)  # else it would run twice
        yield Finding("ok" if silent else level, "settings", text, None if silent else "`taskie install`")
    elif problem:
        text = f"{source.path} names {script}, which {problem}"
        yield Finding(level, "settings", text, f"`taskie install {_scope(source)}`")
    elif source.kind == "project" and script != settings.LINK:
        text = f"{source.path} names {script}: the clients of all others who share that file report an error"
        yield Finding("warning", "settings", text, "`taskie install` moves it to your own, --project makes it fit all")
    elif source.client != CLAUDE:
        text = f"the hook is installed for {clients.CLIENTS[source.client].title} in {source.path}"
        untrusted = "Codex skips it until you have trusted it: /hooks in `codex`"
        yield Finding("ok", "settings", text, untrusted if source.client == "codex" else None)
    else:
        yield Finding("ok", "settings", f"the hook is installed in {source.path}")


def _has_own(facts: Facts) -> bool:
    """Whether Claude Code runs the hook here by an entry that needs no link."""
    entries = (entry for each in facts.sources if each.client == CLAUDE for entry in each.handlers())
    return any(settings.script_of(each) != settings.LINK and _unusable(each, facts) is None for each in entries)


def _scope(source: Source) -> str:
    if source.client != CLAUDE:
        return f"--client {source.client}" + (" --project" if source.kind == "project" else "")
    return {"user": "--user", "project": "--project"}.get(source.kind, "--local")


def _plugin(facts: Facts) -> tuple[str, str] | None:
    """Its name, and what enables it."""
    enabled = None
    for source in facts.sources:
        switch = settings.enabled_plugin(source.settings)
        if switch:
            enabled = (switch[0], source.path) if switch[1] else None
    return enabled or (("taskie", "this session") if facts.loaded else None)


def _disabled(facts: Facts) -> Iterator[Finding]:
    setting = [each for each in facts.sources if each.client == CLAUDE and "disableAllHooks" in each.settings]
    if setting and setting[-1].settings["disableAllHooks"] is True:
        text = f"disableAllHooks is true in {setting[-1].path}: no hook runs at all"
        yield Finding("error", "settings", text, "remove it, or set it to false")
    for source in facts.sources:
        off = clients.switched_off(source.settings) if source.client in clients.SWITCHED else None
        if off:
            text = f"{off} in {source.path}: {clients.CLIENTS[source.client].title} runs no hook at all"
            level: Level = "error" if source.handlers() else "warning"
            yield Finding(level, "settings", text, "remove it, or set it the other way")
        if source.kind == "managed" and source.settings.get("allowManagedHooksOnly") is True:
            text = f"allowManagedHooksOnly is true in {source.path}: only hooks of your organisation run"
            yield Finding("error", "settings", text, "ask those who manage this machine to add Taskie's hook")


def _client(facts: Facts) -> Iterator[Finding]:
    for other, remedy in facts.missing.items():
        yield Finding("error", "client", f"{other}, which some of review.models are for, is not on PATH", remedy)
    if not any(provider_of(model)[0] is PROVIDERS[CLAUDE] for model in facts.config.review_models):
        return
    client = facts.client
    name = shown(client.name)
    if client.path is None:
        remedy = "install Claude Code, or set review.command in your own config.toml"
        yield Finding("error", "client", f"{name}, which reviews, is not on PATH", remedy)
    elif client.problem:
        yield Finding(
            "error", "client", f"`{client.path} --version` {client.problem}", "repair the client's installation"
        )
    elif client.version is None:
        yield Finding("ok", "client", f"{client.path} reviews; its version is not known")
    else:
        text = f"{client.path} is version {client.version}"
        numbers = _numbers(client.version)
        if numbers <= TOO_OLD:
            text += ", which is too old to review: it does not know --json-schema"
            yield Finding("error", "client", text, "claude update")
        elif numbers < NEW_ENOUGH:
            text += "; whether it knows --json-schema, which reviews need, is not known"
            yield Finding("warning", "client", text, "claude update")
        else:
            yield Finding("ok", "client", text)


def _permissions(facts: Facts) -> Iterator[Finding]:
    if facts.is_root and facts.config.review_permissions == "skip" and facts.env.get("IS_SANDBOX") != "1":
        text = "you are root, and the client refuses to review without asking for permissions as root"
        remedy = 'set review.permissions = "scoped", or IS_SANDBOX=1 if this is a container'
        yield Finding("error", "root", text, remedy)


def _timeouts(facts: Facts) -> Iterator[Finding]:
    review = facts.config.review_timeout
    if review > BUDGET:
        text = f"review.timeout is {review:g} s, but the hook ends after {BUDGET:g} s in any case"
        yield Finding("warning", "timeout", text, f"set review.timeout to {BUDGET:g} or less")
    needed = min(review, BUDGET) + MARGIN
    named = [
        (each.path, clients.seconds(each.client, handler.get("timeout", clients.CLIENTS[each.client].patience)))
        for each in facts.sources
        for handler in each.handlers()
    ]
    plugin = _plugin(facts)
    if plugin:
        named.append((f"the plugin {plugin[0]}", facts.plugin_timeout or clients.CLIENTS[CLAUDE].patience))
    for where, timeout in named:
        if isinstance(timeout, bool) or not isinstance(timeout, (int, float)):
            text = f"the hook's timeout in {where} is not a number: {shown(json.dumps(timeout))}"
            yield Finding("warning", "timeout", text, "`taskie install`")
        elif timeout < needed:
            text = f"the client ends the hook after {timeout:g} s ({where}), a review may take {review:g} s: it is lost"
            remedy = f"set review.timeout to {max(timeout - MARGIN, 1):g}, or the hook's timeout to {needed:g}"
            yield Finding("warning", "timeout", text, remedy)
