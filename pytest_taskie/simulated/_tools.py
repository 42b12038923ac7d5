"""Write, Edit, Read and their answers, as Claude Code 2.1.327 gives them. Knows files; no hook and no turn.

What a tool refuses before any hook, and what it answers, was compared with the client's own by
`tests/client/test_simulated.py`.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_taskie._contract import load
from pytest_taskie.simulated._refusing import NotMeasuredHere

Json = Mapping[str, Any]
CURRENT = " (file state is current in your context — no need to Read it back)"
NO_NEWLINE = "\\ No newline at end of file"
PYTHON: Mapping[str, Any] = {"string": str, "number": (int, float), "boolean": bool, "array": list, "object": dict}
# Read shows these as something else than their text.
NOT_TEXT = {".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf", ".ipynb", ".svg"}
LONGEST = 20_000


@dataclass(frozen=True)
class ToolAnswer:
    """What a call came to: what the model reads, and what PostToolUse gets. `cwd`: the shell has gone there."""

    text: str
    response: Any = None
    error: bool = False
    cwd: Path | None = None


def usage_error(text: str) -> ToolAnswer:
    """A call that the client refuses before any hook."""
    return ToolAnswer(f"<tool_use_error>{text}</tool_use_error>", error=True)


def wrong_parameters(name: str, given: Json) -> ToolAnswer | None:
    """The refusal of a call whose parameters are not the tool's."""
    parameters = load("claude")["parameters"].get(name)
    if parameters is None:
        raise NotMeasuredHere(f"a call of {name}")
    wrong = [f"The required parameter `{one}` is missing" for one in parameters["required"] if one not in given]
    wrong += [f"An unexpected parameter `{one}` was provided" for one in given if one not in parameters["fields"]]
    for one, value in given.items():
        kind = parameters["fields"].get(one)
        if kind in PYTHON and (not isinstance(value, PYTHON[kind]) or (kind == "number" and isinstance(value, bool))):
            raise NotMeasuredHere(f"{name} with {one} = {value!r}")
    if not wrong:
        return None
    issues = "issue" if len(wrong) == 1 else "issues"
    listed = "\n".join(wrong)
    return usage_error(f"InputValidationError: {name} failed due to the following {issues}:\n{listed}")


class FileTools:
    """The file tools in one session, which remembers what the model has seen of which file."""

    def __init__(self) -> None:
        self._seen: dict[Path, str] = {}
        self._read: set[Path] = set()

    def refusal(self, name: str, given: Json, cwd: Path) -> ToolAnswer | None:
        """What the client finds before it asks any hook; it looks at edits alone."""
        if name != "Edit":
            return None
        path, old, new = cwd / given["file_path"], given["old_string"], given["new_string"]
        if old == new:
            return usage_error("No changes to make: old_string and new_string are exactly the same.")
        if not os.path.lexists(path):
            if old == "":
                return None
            return usage_error(_missing(path, cwd))
        if old == "":
            raise NotMeasuredHere("Edit with an empty old_string, of a file that exists")
        content = self._content(path)
        count = content.count(old)
        if count == 0:
            return usage_error(f"String to replace not found in file.\nString: {old}")
        if count > 1 and not given.get("replace_all"):
            return usage_error(
                f"Found {count} matches of the string to replace, but replace_all is false. To replace all "
                "occurrences, set replace_all to true. To replace only one occurrence, please provide more context to "
                f"uniquely identify the instance.\nString: {old}"
            )
        return None

    def write(self, given: Json, cwd: Path) -> ToolAnswer:
        """Write a file; directories are made."""
        path, content = cwd / given["file_path"], given["content"]
        before = self._content(path) if os.path.lexists(path) else None
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode())
        self._seen[path] = content
        response = {
            "type": "create" if before is None else "update",
            "filePath": given["file_path"],
            "content": content,
            "structuredPatch": [] if before is None else patch(before, content),
            "originalFile": before,
            "userModified": False,
        }
        if before is None:
            return ToolAnswer(f"File created successfully at: {given['file_path']}{CURRENT}", response)
        return ToolAnswer(f"The file {given['file_path']} has been updated successfully.{CURRENT}", response)

    def edit(self, given: Json, cwd: Path) -> ToolAnswer:
        """Replace a text in a file, once or everywhere."""
        path, old, new = cwd / given["file_path"], given["old_string"], given["new_string"]
        everywhere = bool(given.get("replace_all"))
        before = self._content(path) if os.path.lexists(path) else ""
        after = before.replace(old, new, -1 if everywhere else 1) if old else new
        seen = path in self._seen or not os.path.lexists(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(after.encode())
        if seen:
            self._seen[path] = after
        response = {
            "filePath": given["file_path"],
            "oldString": old,
            "newString": new,
            "originalFile": before,
            "structuredPatch": patch(before, after),
            "userModified": False,
            "replaceAll": everywhere,
            **({} if seen else {"contentNotInModelContext": True}),
        }
        done = "has been updated successfully."
        if everywhere:
            done = "has been updated. All occurrences were successfully replaced."
        return ToolAnswer(f"The file {given['file_path']} {done}{CURRENT if seen else ''}", response)

    def read(self, given: Json, cwd: Path) -> ToolAnswer:
        """Read a text file, or some of its lines, with their numbers."""
        path = cwd / given["file_path"]
        if set(given) - {"file_path", "offset", "limit"} or path.suffix.lower() in NOT_TEXT:
            raise NotMeasuredHere(f"Read of {dict(given)}")
        if path.is_dir():
            return ToolAnswer(f"EISDIR: illegal operation on a directory, read '{path}'", error=True)
        if not os.path.lexists(path):
            return ToolAnswer(_missing(path, cwd), error=True)
        content = self._content(path)
        if path in self._read:
            raise NotMeasuredHere(f"a second Read of {path.name}")
        lines = content.split("\n")
        start = int(given.get("offset", 1))
        if not 1 <= start <= len(lines):
            raise NotMeasuredHere(f"Read from line {start} of {len(lines)}")
        shown = lines[start - 1 :][: int(given["limit"])] if "limit" in given else lines[start - 1 :]
        self._read.add(path)
        if not {"offset", "limit"} & given.keys():
            self._seen[path] = content
        file = {
            "filePath": given["file_path"],
            "content": "\n".join(shown) if shown != lines else content,
            "numLines": len(shown),
            "startLine": start,
            "totalLines": len(lines),
        }
        text = "\n".join(f"{number}\t{line}" for number, line in enumerate(shown, start))
        if not content:
            text = "<system-reminder>Warning: the file exists but the contents are empty.</system-reminder>"
        return ToolAnswer(text, {"type": "text", "file": file})

    def _content(self, path: Path) -> str:
        try:
            content = path.read_bytes().decode()
        except (OSError, UnicodeDecodeError) as error:
            raise NotMeasuredHere(f"a file that cannot be read as text ({error})") from None
        if len(content) > LONGEST or "\r" in content:
            raise NotMeasuredHere(f"{path.name}: a file of {len(content)} characters, or with carriage returns")
        if self._seen.get(path, content) != content:
            raise NotMeasuredHere(f"{path.name} was changed since the model has seen it")
        return content


def _missing(path: Path, cwd: Path) -> str:
    if path.parent.is_dir() and any(one.stem == path.stem for one in path.parent.iterdir()):
        raise NotMeasuredHere(f"{path.name} does not exist, but a file with a similar name does")
    return f"File does not exist. Note: your current working directory is {cwd}."


def patch(before: str, after: str) -> list[dict[str, Any]]:
    """What changed, in hunks with three lines around; a last line without its end is marked."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    hunks = []
    for group in difflib.SequenceMatcher(None, old, new, autojunk=False).get_grouped_opcodes(3):
        lines: list[str] = []
        for kind, i1, i2, j1, j2 in group:
            if kind == "equal":
                lines += _marked(" ", old[i1:i2])
            else:
                lines += _marked("-", old[i1:i2]) + _marked("+", new[j1:j2])
        first, last = group[0], group[-1]
        counts = last[2] - first[1], last[4] - first[3]
        starts = first[1] + 1, first[3] + 1
        hunks.append(
            {
                "oldStart": starts[0],
                "oldLines": counts[0],
                "newStart": starts[1],
                "newLines": counts[1],
                "lines": lines,
            }
        )
    return hunks


def _marked(mark: str, lines: list[str]) -> list[str]:
    found = []
    for line in lines:
        found.append(mark + line.rstrip("\n"))
        if not line.endswith("\n"):
            found.append(NO_NEWLINE)
    return found
