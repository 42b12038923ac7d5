"""The files of the rules, and the programs of the project that they name: all that a run of the gates runs."""

from __future__ import annotations

import os

from taskie.gauntlet import KINDS, MARKER
from taskie.naming import followed, programs
from taskie.store import StoreError, names_in, read_regular

FOLDER = os.path.dirname(MARKER)
MOST = 1000  # files
_PROSE = (".md",)  # prompts, which name files without running them


def rules(root: str) -> list[tuple[str, bytes]]:
    """Each file of the rules, with what stands in it. DiskError: nobody knows now."""
    names = [os.path.basename(MARKER)]
    for folder in KINDS.values():
        listed = names_in(os.path.join(root, FOLDER, folder))
        names += [f"{folder}/{name}" for name in listed if not name.startswith(".")]
    found = []
    for name in names:
        try:
            data = read_regular(os.path.realpath(os.path.join(root, FOLDER, name)))  # as a run reads it
        except StoreError as error:
            if error.passing:
                raise
            data = b"cannot be read"
        if data is not None:
            found.append((f"{FOLDER}/{name}", data))
    return found


def brought(root: str, rules_root: str | None = None) -> list[tuple[str, bytes]]:
    """The rules, and what they name in the project; `rules_root` is where rules of another commit are laid out."""
    root = os.path.realpath(root)
    files = rules(rules_root or root)
    if len(files) > MOST:
        raise StoreError(f"{FOLDER} has more than {MOST} files")
    found = dict.fromkeys(files)
    for name, data in files if rules_root is None else ():
        own, links = followed(root, name)
        found.update(dict.fromkeys([*links, (own or name, data)]))
    known = {name for name, _ in files}
    named = programs(root, [data for name, data in files if not name.endswith(_PROSE)])
    return [*found, *(each for each in named if each not in found and each[0] not in known)]
