"""Commits of a task and what git says of them. Knows no test."""

from __future__ import annotations

import json
from pathlib import Path

from autopilot.conftest import Autopilot

MESSAGE = "feat(app): greet politely"


def commit(autopilot: Autopilot, message: str = MESSAGE) -> dict[str, object]:
    """Commit what the tests have just seen."""
    autopilot.do("test")
    return dict(json.loads(autopilot.do("commit", "-m", message)))


def failed(autopilot: Autopilot) -> dict[str, object]:
    """A commit that must fail; what comes next."""
    done = autopilot.run("commit", "-m", MESSAGE)
    assert done.returncode == 1
    return {**json.loads(done.stdout), "said": done.stderr}


def only(autopilot: Autopilot, *files: str) -> None:
    """These are the task's files, and whatever else has changed is not."""
    listed = autopilot.project.git("status", "--porcelain", "-z", "--untracked-files=all", "--no-renames")
    others = {entry[3:].rstrip("/") for entry in listed.split("\0") if entry} - {*files}
    autopilot.change(files_changed=list(files), loop={**autopilot.state["loop"], "left_out": sorted(others)})


def head(autopilot: Autopilot) -> str:
    return autopilot.project.git("rev-parse", "HEAD").strip()


def committed(autopilot: Autopilot) -> list[str]:
    return autopilot.project.git("show", "--name-status", "--format=", "HEAD").splitlines()


def entries(autopilot: Autopilot) -> str:
    return autopilot.project.git("ls-files", "--stage")


def hook(autopilot: Autopilot, name: str, script: str) -> Path:
    path = autopilot.root / ".git" / "hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path
