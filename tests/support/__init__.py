"""What tests of several folders share: where the plugin is, its command line, the blocks of a page. Knows no test."""

from __future__ import annotations

import re
from pathlib import Path

from taskie.project import plugin_root

ROOT = Path(plugin_root())
HOOK = ROOT / "hooks" / "stop-hook.sh"


def configure(home: Path, toml: str) -> Path:
    """Write the user's own configuration; what a project may set itself is little."""
    path = home / ".config" / "taskie" / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(toml)
    return path


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of a Markdown page in this language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
