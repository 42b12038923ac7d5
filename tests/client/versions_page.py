"""docs/client-versions.md: what the contract suite saw in several versions, for people. Runs nothing.

A row that is the same wherever it was asked is only counted. One with short values is a line of a table; of one with
long values it is told what each version changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from pytest_taskie.client._installation import version_numbers

HEAD = """\
# What differs between versions of Claude Code

Measured, not read: `taskie client check --markdown docs/client-versions.md` ran the contract suite in each of these
clients and wrote this page. It has the rows that differ; a dash: the version was not asked, since it has no such thing.
All that the newest of them does: [contract.md](contract.md).

"""
OUTCOMES = """\
For a Stop hook's output the words mean: *allowed*, the turn ends; *blocked*, the model is told the reason and goes on;
*continued*, it goes on without an error notice; *stopped*, the turn ends by the hook's wish.
"""
OTHERS = """\
*Allowed*: the tool call or the prompt goes its way; *blocked*: it does not, or the model is told the reason; *asked*:
it is left to the user.
"""
NOT_ASKED = "-"
# The title of a section, the names of its rows, and what is said before it. The first that fits counts.
SECTIONS = (
    ("What becomes of a Stop hook's output", r"output: ", OUTCOMES),
    ("What becomes of the output of other hooks", r"[A-Z][A-Za-z]+(, .+)?: ", OTHERS),
    ("Blocks, turns and time", r"(blocks|contexts) |outcome of|timeout|times |stop_hook_active|the sign|a Stop's", ""),
    ("Events, entries and answers", r"(events|kinds|fields) of|stdin|prompt_id|last_|mcp_server|headers", ""),
    ("What surrounds a hook", r"CLAUDE|cwd|shell of|a hook's|fires|Stop when", ""),
    ("Plugins and commands", r"plugin|@file|arguments|skills|an unknown|a command", ""),
    ("A client that a hook starts, and everything else", r"", ""),
)
WIDEST = 24
Rows = Mapping[str, Sequence[str]]


def page(versions: Sequence[str], counts: Iterable[Sequence[str]], rows: Rows) -> str:
    """The whole page. `rows`: by its name, what each of the versions did, in the order of the versions."""
    differing = {name: values for name, values in sorted(rows.items()) if len({*values} - {NOT_ASKED}) > 1}
    same = [values for name, values in rows.items() if name not in differing]
    lines = [*table(["contract suite", *versions], counts), ""]
    for title, fits, words in SECTIONS:
        own = [name for name in differing if re.match(fits, name)]
        found = {name: differing.pop(name) for name in own}
        lines += [f"## {title}", "", *([words] if words else []), *_section(versions, found)] if found else []
    some = sum(NOT_ASKED in values for values in same)
    lines.append(f"{len(same) - some} rows are the same in all of them, and {some} in all of those that were asked.")
    return HEAD + "\n".join(lines) + "\n"


def _section(versions: Sequence[str], rows: Rows) -> list[str]:
    long = {name for name, values in rows.items() if max(map(len, values)) > WIDEST}
    short = [[name.removeprefix("output: "), *values] for name, values in rows.items() if name not in long]
    lines = [*table(["", *versions], short), ""] if short else []
    for name in (name for name in rows if name in long):
        lines += [f"**{name}**", "", *_changes(versions, rows[name]), ""]
    return lines


def _changes(versions: Sequence[str], values: Sequence[str]) -> list[str]:
    """From the oldest version on: what it was, and what each has made of it; in a list, which names came and went."""
    lines: list[str] = []
    was: str | None = None
    for version, value in sorted(zip(versions, values), key=lambda pair: version_numbers(pair[0])):
        if value not in (was, NOT_ASKED):
            lines.append(f"- {version}: {_change(was, value)}")
            was = value
    return lines


def _change(was: str | None, value: str) -> str:
    before, now = (_names(text) for text in (was or "", value))
    if was is None or not before or not now or not {*before} & {*now}:
        return value
    came = [f"+ {name}" for name in now if name not in before]
    return ", ".join([*came, *(f"without {name}" for name in before if name not in now)]) or value


def _names(text: str) -> list[str]:
    """A list of names; nothing if there are other words in it."""
    names = text.split(", ")
    return names if all(re.fullmatch(r"\w+", name) for name in names) else []


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    def line(cells: Iterable[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"

    return [line(head), line("---" for _ in head), *(line(row) for row in rows)]
