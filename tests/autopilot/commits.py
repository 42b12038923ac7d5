"""Commits of a task and what git says of them. Knows no test."""

from __future__ import annotations

import json
from pathlib import Path

from autopilot.conftest import Autopilot

MESSAGE = "feat(app): greet politely"


def commit(autopilot: Autopilot, message: str = MESSAGE) -> dict[str, object]:
    return dict(json.loads(autopilot.do("commit", "-m", message)))


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
