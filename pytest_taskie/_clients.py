"""The ini setting `taskie_clients`: for which clients a result is judged, and how to name them together."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from pytest_taskie._contract import Contract, ContractError, clients, contract, contracts

ONE = re.compile(r"([A-Za-z][\w-]*?)\s*(?:(>=|==)\s*(\S.*))?")


def supported(setting: str | Iterable[str]) -> tuple[Contract, ...]:
    """`claude>=2.0, codex`: every version range from 2.0 on, the newest first, and the newest Codex."""
    lines = [setting] if isinstance(setting, str) else setting
    found: dict[Contract, None] = {}
    for part in (part.strip() for line in lines for part in re.split(r"[,\n]", line)):
        if part:
            found.update(dict.fromkeys(_ranges(part)))
    return tuple(found)


def together(said: Iterable[tuple[Contract, str]]) -> list[tuple[str, str]]:
    """What is said of each, once: ranges of which the same is said, and that follow each other, have one name."""
    groups: dict[str, list[Contract]] = {}
    for one, text in said:
        same = groups.setdefault(text, [])
        if same and (same[-1].client, same[-1].first) == (one.client, one.before):
            same[-1] = replace(same[-1], first=one.first)
        else:
            same.append(one)
    return [(" and ".join(one.name for one in same), text) for text, same in groups.items()]


def _ranges(part: str) -> list[Contract]:
    match = ONE.fullmatch(part)
    if match is None:
        raise ContractError(
            f"{part!r} does not name a client: write claude, claude>=2.0 or claude==2.1.197 "
            f"(known are {', '.join(clients())})"
        )
    name, sign, version = match.groups()
    return contracts(name, version) if sign == ">=" else [contract(name, version)]
