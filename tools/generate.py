"""Writes the files that follow from a table kept elsewhere: `make generate`.

Knows which files those are and what makes each, not what is in them.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Callable

from tools import clients_page, commands, contract_page, hooks

ROOT = Path(__file__).resolve().parent.parent
# Each file by its path from the repository's root, and what makes its text. One that is generated only in part is
# read and changed by its function, which gets the root. Add a file here; a test compares them all.
FILES: list[tuple[str, Callable[[Path], str]]] = [
    *commands.files(),
    ("hooks/stop-hook.sh", hooks.stop_hook),
    ("hooks/hooks.json", hooks.hooks_json),
    ("docs/contract.md", contract_page.page),
    ("docs/clients.md", clients_page.page),
]
# Every file in these folders must be generated.
FOLDERS = ("skills", "codex/prompts")


def stray(root: Path) -> list[str]:
    """Files in the generated folders that no table knows."""
    known = {path for path, _ in FILES}
    there = (path for folder in FOLDERS for path in (root / folder).rglob("*") if not path.is_dir())
    return sorted(str(path.relative_to(root)) for path in there if str(path.relative_to(root)) not in known)


def outdated(root: Path) -> dict[str, bytes]:
    """What is missing or differs, with what it should be."""
    wanted = {path: make(root).encode() for path, make in FILES}
    return {
        path: data for path, data in wanted.items() if not (root / path).is_file() or (root / path).read_bytes() != data
    }


def main(root: Path = ROOT) -> int:
    for path, data in outdated(root).items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(data)  # in place, so that a program stays one
        print(f"wrote {path}")
    unknown = stray(root)
    for path in unknown:
        print(f"{path} is not in the table: add it to tools/commands.py, or remove it.", file=sys.stderr)
    return 1 if unknown else 0


if __name__ == "__main__":
    sys.exit(main())
