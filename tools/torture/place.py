"""One project at one path, the product beside it, a reviewer on the PATH. Knows no scene."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from pytest_taskie._path import path_without_agents
from pytest_taskie._workspace import Project

# A reviewer: writes the file that it was asked for, or answers a gate's question, and needs no interpreter.
REVIEWER = """#!/bin/sh
asked="$*$(cat)"
case $asked in
*"Write your review to "*)
    rest=${asked#*Write your review to }
    printf '# Review\\n\\n1. A name.\\n\\nVERDICT: FAIL\\n' >"${rest%%.md*}.md"
    answer='{"verdict": "FAIL"}' ;;
*) answer='{"status": "pass", "violations": []}' ;;
esac
echo '{"type": "result", "subtype": "success", "is_error": false, "result": "done", "structured_output": '"$answer"'}'
"""


class Place:
    """One project at one path, the product beside it, and a reviewer on the PATH."""

    def __init__(self, root: Path, product: Path) -> None:
        self.product = product
        self.root = root
        programs = root.parent / "programs"
        if not programs.exists():
            programs.mkdir(parents=True)
            (programs / "claude").write_text(REVIEWER)
            (programs / "claude").chmod(0o755)
            links = root.parent / "links"
            (programs / "path").write_text(path_without_agents("/usr/local/bin:/usr/bin:/bin", links, python="tests"))
        self.project = Project(root, f"{programs}:{(programs / 'path').read_text()}")
        self.path = self.project.path
        self.env = {
            **{name: value for name, value in self.project.env.items() if name != "PYTHONDONTWRITEBYTECODE"},
            "CLAUDE_PROJECT_DIR": str(self.path),
            "CLAUDE_CODE_SESSION_ID": self.project.session_id,
            "TASKIE_TRUST": "1",
            "CI": "",
            "LC_ALL": "C.UTF-8",
        }

    def taskie(self, *words: str) -> list[str]:
        return [sys.executable, "-I", "-S", str(self.product / "bin" / "taskie"), *words]

    @property
    def hook(self) -> list[str]:
        return [str(self.product / "hooks" / "stop-hook.sh"), "--fail-open"]

    def event(self, **fields: Any) -> bytes:
        event = {
            "session_id": self.project.session_id,
            "transcript_path": str(self.project.transcript),
            "cwd": str(self.path),
            "permission_mode": "default",
            "hook_event_name": "Stop",
            "stop_hook_active": False,
            "last_assistant_message": "Done.",
            **fields,
        }
        return json.dumps(event).encode() + b"\n"

    def do(self, *words: str, code: int | None = 0) -> str:
        """A command on the way there, which must succeed."""
        done = subprocess.run(
            self.taskie(*words), cwd=self.path, env=self.env, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        if code is not None and done.returncode != code:
            raise RuntimeError(f"taskie {' '.join(words)} ended with {done.returncode}: {done.stderr}{done.stdout}")
        return done.stdout

    def write(self, name: str, text: str) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(text)

    def commit(self, message: str = "Work") -> None:
        self.project.git("add", "-A")
        self.project.git("commit", "-q", "-m", message)

    def repository(self) -> None:
        """With few files, since it is copied thousands of times."""
        self.project.git()
        self.project.git("config", "maintenance.auto", "false")
        self.project.git("config", "gc.auto", "0")
        shutil.rmtree(self.path / ".git" / "hooks", ignore_errors=True)

    def pack(self) -> None:
        self.project.git("repack", "-a", "-d", "-q")
