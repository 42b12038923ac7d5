"""Rule secrets-left: a token from the event is left in a file."""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatch

from pytest_taskie.check import _inputs
from pytest_taskie.check._lab import Lab
from pytest_taskie.check._rules import Flaw, Severity

SEVERITY: Severity = "warning"
TITLE = "a token from the event is left in a file"
WHY = """\
What people type and files that they write hold tokens. A log in the project can be committed, and one in a shared
folder can be read by everybody on the machine.
"""
EXAMPLE = """\
cat >> logs/events.jsonl
"""
FIX = """\
Keep it in the user's own folder with mode 600, leave contents out, or ignore it in git.
"""
RUNS = True


def look(lab: Lab) -> Iterator[Flaw]:
    seen = lab.hostile
    if seen is None:
        return
    for name, left in seen.files.items():
        if not left.text or _inputs.TOKEN not in left.text:
            continue
        if name.startswith("project/") and not ignored(lab, name[len("project/") :]):
            yield Flaw(f"a token from the event is in {name}, in the project", seen.situation)
            return
        if name.startswith("tmp/") and left.mode & 0o004:
            yield Flaw(f"a token from the event is in /{name}, which everybody here can read", seen.situation)
            return


def ignored(lab: Lab, name: str) -> bool:
    """Whether git is told to leave the file, or a folder that it is in, out."""
    file = lab.subject.root / ".gitignore"
    if lab.subject.plugin or not file.is_file():
        return False
    lines = [line.strip().strip("/") for line in file.read_text(encoding="utf-8", errors="replace").splitlines()]
    parts = name.split("/")
    places = ["/".join(parts[: end + 1]) for end in range(len(parts))] + parts
    return any(line and not line.startswith(("#", "!")) and fnmatch(place, line) for line in lines for place in places)
