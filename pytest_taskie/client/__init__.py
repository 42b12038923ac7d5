"""The real client in a test: the words of scripts, and the types of what comes back. Imported when they are used."""

from __future__ import annotations

from typing import TYPE_CHECKING

__all__ = [
    "ClaudeClient",
    "CodexClient",
    "HookRun",
    "HttpHook",
    "McpServer",
    "Request",
    "Run",
    "ScriptedClient",
    "Session",
    "SessionError",
    "Stop",
    "Terminal",
    "Turn",
    "api_error",
    "delay",
    "elicit",
    "repeat",
    "shell",
    "structured",
    "tool",
    "verdict",
]

if TYPE_CHECKING:
    from pytest_taskie.client._claude import ClaudeClient
    from pytest_taskie.client._codex import CodexClient
    from pytest_taskie.client._held import SessionError
    from pytest_taskie.client._hook_runs import HookRun
    from pytest_taskie.client._http_hook import HttpHook
    from pytest_taskie.client._mcp import McpServer, elicit
    from pytest_taskie.client._request import Request
    from pytest_taskie.client._runs import Run, Stop
    from pytest_taskie.client._script import Turn, api_error, delay, repeat, shell, structured, tool, verdict
    from pytest_taskie.client._scripted import ScriptedClient
    from pytest_taskie.client._session import Session
    from pytest_taskie.client._terminal import Terminal
else:
    from pytest_taskie import _lazy

    _MODULES = {
        "_claude": ("ClaudeClient",),
        "_codex": ("CodexClient",),
        "_held": ("SessionError",),
        "_hook_runs": ("HookRun",),
        "_http_hook": ("HttpHook",),
        "_mcp": ("McpServer", "elicit"),
        "_request": ("Request",),
        "_runs": ("Run", "Stop"),
        "_script": ("Turn", "api_error", "delay", "repeat", "shell", "structured", "tool", "verdict"),
        "_scripted": ("ScriptedClient",),
        "_session": ("Session",),
        "_terminal": ("Terminal",),
    }
    __getattr__ = _lazy(__name__, _MODULES)
