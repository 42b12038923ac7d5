"""Bash, Glob and Grep and their answers, as Claude Code 2.1.327 gives them. Knows commands and patterns; no hook.

Glob and Grep sort by time; files of the same moment are in no order that anybody knows.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_taskie._environment import session_files
from pytest_taskie._processes import run_to_end
from pytest_taskie.simulated._refusing import NotMeasuredHere
from pytest_taskie.simulated._tools import ToolAnswer

Json = Mapping[str, Any]
# Of these nobody expects a word, and the client says so in the answer.
SILENT = {
    *("mv", "cp", "rm", "mkdir", "rmdir", "chmod", "chown", "chgrp", "touch", "ln"),
    *("cd", "export", "unset", "wait"),
}
# Their exit code 1 is an answer and no failure.
ANSWERING = {"grep", "rg", "find", "diff", "test", "["}
SEPARATORS = re.compile(r"&&|\|\||[;|\n]")
NOTHING = "(Bash completed with no output)"
DEFAULT_SECONDS = 120.0
LONGEST = 20_000


@dataclass(frozen=True)
class Surroundings:
    """Where commands run."""

    project: Path
    home: Path
    session: str
    env: Mapping[str, str]
    entrance: Sequence[str]


def bash(given: Json, cwd: Path, at: Surroundings) -> ToolAnswer:
    """Run a command where the shell is now; where it ends is where the next one begins, unless it has left the
    project."""
    if given.get("run_in_background") or given.get("dangerouslyDisableSandbox"):
        raise NotMeasuredHere("a command in the background, or without its sandbox")
    seconds = float(given.get("timeout", DEFAULT_SECONDS * 1000)) / 1000
    there = Path(at.env.get("TMPDIR", "/tmp"), f"shell-cwd-{at.session}")
    sourced = "".join(f". {shlex.quote(str(file))}; " for file in session_files(at.home, at.session))
    script = f'exec 2>&1; {sourced}eval "$1" </dev/null && pwd -P >"$2"'
    there.unlink(missing_ok=True)
    done = run_to_end(
        [*at.entrance, "/bin/bash", "-c", script, "/bin/bash", given["command"], str(there)],
        stdin=b"",
        env={**at.env, "PWD": str(cwd)},
        cwd=str(cwd),
        timeout=seconds,
    )
    told = re.sub(r"^(\s*\n)+", "", done.stdout).rstrip()
    if len(told) > LONGEST:
        raise NotMeasuredHere("a command that prints so much")
    ended = Path(there.read_text(encoding="utf-8").rstrip("\n")) if there.exists() else cwd
    if done.timed_out:
        if told:
            raise NotMeasuredHere("a command that prints and then does not end in time")
        return ToolAnswer(f"Exit code 143\nCommand timed out after {int(seconds)}s", error=True)
    if done.exit_code:
        return _failed(given["command"], done.exit_code, told)
    stray = ""
    if ended != cwd and ended != at.project and at.project not in ended.parents:
        stray = f"\nShell cwd was reset to {at.project}"
    response = {
        "stdout": told,
        "stderr": stray,
        "interrupted": False,
        "isImage": False,
        "noOutputExpected": _silent(given["command"]),
    }
    text = "\n".join(filter(None, (told, stray.strip()))) or NOTHING
    return ToolAnswer(text, response, cwd=ended if ended != cwd else None)


def _failed(command: str, code: int, told: str) -> ToolAnswer:
    if code < 0:
        if code != -9 or told:
            raise NotMeasuredHere(f"a shell that ends by signal {-code}")
        code = 1
    last = _programs(command)[-1:]
    if code == 1 and last and last[0] in ANSWERING:
        if last[0] != "grep" or len(_programs(command)) > 1 or told:
            raise NotMeasuredHere(f"{last[0]} that ends with 1")
        response = {
            "stdout": "",
            "stderr": "",
            "interrupted": False,
            "isImage": False,
            "returnCodeInterpretation": "No matches found",
            "noOutputExpected": False,
        }
        return ToolAnswer(NOTHING, response)
    return ToolAnswer("\n".join(filter(None, (f"Exit code {code}", told))), error=True)


def _programs(command: str) -> list[str]:
    return [words[0] for part in SEPARATORS.split(command) if (words := part.split())]


def _silent(command: str) -> bool:
    programs = _programs(command)
    return bool(programs) and ">" not in command and all(program in SILENT for program in programs)


def glob(given: Json, cwd: Path) -> ToolAnswer:
    """Files by a pattern, the oldest first; without a slash it holds at every depth."""
    root = _where(given, {"pattern", "path"}, "Glob", cwd)
    found = sorted(_files(root, given["pattern"]), key=lambda path: path.stat().st_mtime_ns)
    names = [os.path.relpath(path, cwd) for path in found]
    response = {
        "filenames": names,
        "durationMs": 1,
        "numFiles": len(names),
        "truncated": False,
        "totalMatches": len(names),
        "countIsComplete": True,
    }
    return ToolAnswer("\n".join(names) or "No files found", response)


def grep(given: Json, cwd: Path) -> ToolAnswer:
    """Lines, files or counts by a pattern of plain characters."""
    root = _where(given, {"pattern", "path", "glob", "output_mode", "-n"}, "Grep", cwd)
    if not re.fullmatch(r"[\w .,:/@-]+", given["pattern"]):
        raise NotMeasuredHere(f"Grep with the pattern {given['pattern']!r}")
    hits: dict[Path, list[tuple[int, str]]] = {}
    for path in sorted(_files(root, given.get("glob", "*"))):
        try:
            lines = path.read_text(encoding="utf-8").split("\n")
        except (OSError, UnicodeDecodeError):
            continue
        if matching := [(number, line) for number, line in enumerate(lines, 1) if given["pattern"] in line]:
            hits[path] = matching
    mode = given.get("output_mode", "files_with_matches")
    if mode == "content":
        told = [f"{os.path.relpath(p, cwd)}:{n}:{line}" for p, of in hits.items() for n, line in of]
        content = "\n".join(told)
        counts = {"numLines": len(told), "totalLines": len(told)}
        response = {"mode": mode, "numFiles": 0, "filenames": [], "content": content, **counts}
        return ToolAnswer(content or "No matches found", response)
    if mode == "files_with_matches":
        newest = sorted(hits, key=lambda path: -path.stat().st_mtime_ns)
        names = [os.path.relpath(path, cwd) for path in newest]
        head = f"Found {len(names)} file{'s' if len(names) > 1 else ''}"
        response = {"mode": mode, "filenames": names, "numFiles": len(names), "totalFiles": len(names)}
        return ToolAnswer("\n".join([head, *names]) if names else "No files found", response)
    raise NotMeasuredHere(f"Grep with output_mode {mode!r}")


def _where(given: Json, known: set[str], name: str, cwd: Path) -> Path:
    if set(given) - known:
        raise NotMeasuredHere(f"{name} with {', '.join(sorted(set(given) - known))}")
    root = cwd / str(given.get("path", ""))
    if not root.is_dir() or any((one / ".gitignore").exists() for one in (root, cwd, cwd.parent)):
        raise NotMeasuredHere(f"{name} in {root}, which is not a directory or has a .gitignore")
    return root


def _files(root: Path, pattern: str) -> Iterator[Path]:
    if not re.fullmatch(r"[\w.*?/-]+", pattern) or pattern.startswith(("/", ".")):
        raise NotMeasuredHere(f"the pattern {pattern!r}")
    wanted = re.compile(_glob_regex(pattern))
    for folder, folders, files in os.walk(root):
        folders[:] = [one for one in folders if one != ".git"]
        for file in files:
            path = Path(folder) / file
            if wanted.fullmatch(path.relative_to(root).as_posix()) and not path.is_symlink():
                yield path


def _glob_regex(pattern: str) -> str:
    anywhere = "" if "/" in pattern else "(?:.*/)?"
    parts = re.split(r"(\*\*/|\*|\?)", pattern)
    meant = {"**/": "(?:.*/)?", "*": "[^/]*", "?": "[^/]"}
    return anywhere + "".join(meant.get(part, re.escape(part)) for part in parts)
