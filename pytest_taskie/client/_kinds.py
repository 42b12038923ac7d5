"""The table of real clients: what each is called, what npm calls it, and where its program is. Starts nothing.

A client is its row here and its module, `_NAME.py`; installing, listing, options and fixtures follow from the row.
"""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass
from pathlib import Path

Kind = str


@dataclass(frozen=True)
class ClientKind:
    """One kind of client. `packages` are tried in order; `programs` are looked for in what npm has installed."""

    kind: Kind
    title: str
    class_name: str
    package: str
    packages: tuple[str, ...]
    programs: tuple[str, ...]

    @property
    def module(self) -> str:
        return f"_{self.kind}"

    @property
    def fixture(self) -> str:
        return f"{self.kind}_client"

    def to_install(self, version: str) -> list[str]:
        """What to ask npm for: where there is one, the platform's package, a binary that does not need Node."""
        system = {"linux": "linux", "darwin": "darwin"}.get(sys.platform, sys.platform)
        machine = platform.machine().lower()
        musl = system == "linux" and any(Path("/lib").glob("ld-musl-*"))
        words = {
            "system": system,
            "machine": {"x86_64": "x64", "amd64": "x64", "aarch64": "arm64"}.get(machine, machine),
            "_musl": "-musl" if musl else "",
            "musl": "musl" if musl else "",
            "version": version,
        }
        return [package.format(**words) for package in self.packages]


CLIENTS = {
    client.kind: client
    for client in (
        ClientKind(
            "claude",
            "Claude Code",
            "ClaudeClient",
            "@anthropic-ai/claude-code",
            (
                "@anthropic-ai/claude-code-{system}-{machine}{_musl}@{version}",
                "@anthropic-ai/claude-code@{version}",
            ),
            ("@anthropic-ai/claude-code*/claude", "@anthropic-ai/claude-code*/cli.js"),
        ),
        ClientKind(
            "codex",
            "Codex",
            "CodexClient",
            "@openai/codex",
            ("@openai/codex@{version}-{system}-{machine}",),
            ("@openai/*/vendor/*/*/codex",),
        ),
        ClientKind(
            "copilot",
            "Copilot CLI",
            "CopilotClient",
            "@github/copilot",
            ("@github/copilot-{system}{musl}-{machine}@{version}",),
            ("@github/copilot-*/copilot",),
        ),
        ClientKind(
            "qwen",
            "Qwen Code",
            "QwenClient",
            "@qwen-code/qwen-code",
            ("@qwen-code/qwen-code@{version}",),
            ("@qwen-code/qwen-code/cli.js",),
        ),
        ClientKind(
            "gemini",
            "Gemini CLI",
            "GeminiClient",
            "@google/gemini-cli",
            ("@google/gemini-cli@{version}",),
            ("@google/gemini-cli/bundle/gemini.js",),
        ),
    )
}
KINDS = tuple(CLIENTS)
