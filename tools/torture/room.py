"""A worker's own directory, and the hook as a function in it: an event in, a decision out. Makes no input."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pytest_taskie._judgement import judge
from taskie import hook
from taskie.plans import reviewed, reviewer
from tools.torture.chance import Chance


class Room:
    """A worker's own directory, with a project of every engine, and the hook as a function."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "home"
        self.home.mkdir(parents=True)
        self.env = {"HOME": str(self.home), "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"}
        self.transcript = self.home / "transcript.jsonl"
        self.outcome: reviewed.Reviewed | None = None
        setattr(reviewer, "review", self._review)  # noqa: B010 - it takes any arguments, which mypy would not have
        os.environ.clear()
        os.environ.update(self.env)

    def project(self, name: str) -> Path:
        path = self.root / name
        if not path.exists():
            path.mkdir()
        return path

    def _review(self, *_: object) -> reviewed.Reviewed:
        """In place of a program that writes a review."""
        if self.outcome is None:
            raise reviewer.ReviewFailed("there is none", reviewed.Reviewed(False), None)
        return self.outcome

    def hook(self, argv: Sequence[str], data: bytes, cwd: Path, only: str | None = None) -> tuple[int, str, str]:
        """Exit code and streams."""
        said: dict[int, list[str]] = {1: [], 2: []}
        os.chdir(cwd)
        with (
            patch.object(hook, "read_stdin", lambda: data),
            patch.object(hook, "write", lambda fd, text: said[fd].append(text)),
        ):
            code = hook.main(argv, only)
        return code, "".join(said[1]), "".join(said[2])

    def answer(self, argv: Sequence[str], data: bytes, cwd: Path, *, only: str | None = None) -> dict[str, Any]:
        """What the hook says to a client; it must be one line that a client can read, with exit 0 and no traceback."""
        code, out, err = self.hook(argv, data, cwd, only)
        assert code == 0, f"exit {code}: {err[-300:]}"
        assert "Traceback" not in err, err[-400:]
        assert out.count("\n") <= 1, out
        if not out:
            return {}
        out.encode("utf-8")  # a lone surrogate would not do
        document: dict[str, Any] = json.loads(out)
        reading = judge(0, out, err, "PreToolUse" if "--pre-tool-use" in argv else "Stop")
        assert only or reading.fault is None, reading.fault
        return document


def must_speak(error: Exception) -> None:
    assert str(error) or error.args, "an error without a word"


def stop(chance: Chance, cwd: Path) -> dict[str, Any]:
    event = {
        "session_id": "s",
        "cwd": str(cwd),
        "hook_event_name": "Stop",
        "stop_hook_active": chance.is_(0.3),
        "last_assistant_message": "Done.",
    }
    if chance.is_(0.3):
        event["transcript_path"] = chance.pick("/nowhere", str(cwd), None)
    return event


def blocks(document: Mapping[str, Any]) -> bool:
    return document.get("decision") == "block" or "hookSpecificOutput" in document
