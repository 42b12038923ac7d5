"""Events about tools: builders by the tool's name, with its input and its answer as the client has them.

A call that is to come is PreToolUse; with the tool's answer it is PostToolUse, with an error PostToolUseFailure.
"""

from __future__ import annotations

import difflib
import os
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from typing import Any

from pytest_taskie import _contract

Json = dict[str, Any]


class ToolEvents(ABC):
    """The builders of `Events` that are about tools."""

    @abstractmethod
    def build(self, event_name: str, *, situation: object = None, agent: object = None, **fields: object) -> Json:
        """An event by the client's own name for it."""

    def pre_tool_use(self, tool_name: str = "Bash", *, agent: object = None, **tool_input: object) -> Json:
        """The agent wants to call a tool, with this input: `events.pre_tool_use("Write", file_path=…)`.

        Without any input it is an example of the tool's, as for the events below; of one that was never called the test
        has to give it.
        """
        return self.build("PreToolUse", agent=agent, tool_name=tool_name, **_called(tool_input))

    def permission_request(self, tool_name: str = "Bash", *, agent: object = None, **tool_input: object) -> Json:
        """The user is to be asked whether the agent may call a tool with this input."""
        return self.build("PermissionRequest", agent=agent, tool_name=tool_name, **_called(tool_input))

    def post_tool_use(
        self, tool_name: str = "Bash", response: object = None, *, agent: object = None, **tool_input: object
    ) -> Json:
        """The agent has called a tool, with this input and response."""
        answered: Json = {} if response is None else {"tool_response": response}
        return self.build("PostToolUse", agent=agent, tool_name=tool_name, **_called(tool_input), **answered)

    def bash(
        self,
        command: str,
        *,
        stdout: str | None = None,
        stderr: str | None = None,
        interrupted: bool = False,
        error: str | None = None,
        agent: object = None,
        **more: object,
    ) -> Json:
        """The agent wants to run a command; with what it printed: it has; with `error="Exit code 1"`: it failed."""
        given = {"command": command, **({} if "description" in more else {"description": "Run a command"}), **more}
        if error is not None:
            return self.build("PostToolUseFailure", agent=agent, tool_name="Bash", tool_input=given, error=error)
        if stdout is None and stderr is None:
            return self.pre_tool_use("Bash", agent=agent, **given)
        answer = {"stdout": stdout or "", "stderr": stderr or "", "interrupted": interrupted}
        return self.post_tool_use("Bash", {**_response("Bash"), **answer}, agent=agent, **given)

    def read(self, path: os.PathLike[str] | str, *, content: str | None = None, agent: object = None) -> Json:
        """The agent wants to read a file; with its content: it has."""
        if content is None:
            return self.pre_tool_use("Read", agent=agent, file_path=path)
        lines = content.count("\n") + 1
        file = {"filePath": os.fspath(path), "content": content, "numLines": lines, "totalLines": lines}
        answer = {**_response("Read"), "file": {**_response("Read")["file"], **file}}
        return self.post_tool_use("Read", answer, agent=agent, file_path=path)

    def write(
        self,
        path: os.PathLike[str] | str,
        content: str,
        *,
        done: bool = False,
        original: str | None = None,
        agent: object = None,
    ) -> Json:
        """The agent wants to write a file; with `done=True`, or the file's content before: it has."""
        given = {"file_path": path, "content": content}
        if not done and original is None:
            return self.pre_tool_use("Write", agent=agent, **given)
        answer = {
            "type": "create" if original is None else "update",
            "filePath": os.fspath(path),
            "content": content,
            "structuredPatch": [] if original is None else _patch(original, content),
            "originalFile": original,
        }
        return self.post_tool_use("Write", {**_response("Write"), **answer}, agent=agent, **given)

    def edit(
        self,
        path: os.PathLike[str] | str,
        old: str,
        new: str,
        *,
        replace_all: bool = False,
        done: bool = False,
        original: str | None = None,
        agent: object = None,
    ) -> Json:
        """The agent wants to replace a text in a file; with `done=True`, or the file's content before: it has."""
        given = {"file_path": path, "old_string": old, "new_string": new, "replace_all": replace_all}
        if not done and original is None:
            return self.pre_tool_use("Edit", agent=agent, **given)
        before = old if original is None else original
        answer = {
            "filePath": os.fspath(path),
            "oldString": old,
            "newString": new,
            "originalFile": before,
            "structuredPatch": _patch(before, before.replace(old, new, -1 if replace_all else 1)),
            "replaceAll": replace_all,
        }
        return self.post_tool_use("Edit", {**_response("Edit"), **answer}, agent=agent, **given)


def checked_tool(name: str) -> str:
    """The tool's name, if the client has such a tool; of an MCP server's tools it may have any."""
    data = _contract.load("claude")
    if name.startswith("mcp__") or name in data["tools"]:
        return name
    today, meant = data["program"]["renamed"].get(name), _contract.nearest(name, data["tools"])
    hint = f" It is {today!r} today." if today else f" Did you mean {meant!r}?" if meant else ""
    raise ValueError(f"The client has no tool {name!r}.{hint} It has: {', '.join(data['tools'])}, and mcp__….")


def tool_example(name: str) -> Json:
    """Input and answer as they were seen of this tool, and of the tools of MCP servers one; empty if never called."""
    data = _contract.load("claude")
    known = "mcp__" if name.startswith("mcp__") else name
    seen = {**data["tools"].get(known, {}), **data.get("answers", {}).get(known, {})}
    return {f"tool_{part}": seen[part] for part in ("input", "response") if part in seen}


def check_call(name: str, given: Mapping[str, object], wanted: Collection[str]) -> None:
    """Refuse a call that the client would not let through to any hook, and one of which only the test can know more."""
    unseen = next((field for field in ("tool_input", "tool_response") if field in wanted and field not in given), None)
    if unseen:
        what = "input" if unseen == "tool_input" else "response"
        raise ValueError(f"Nobody has seen a call of {name} with its {what}: give the {what} that you expect.")
    fields = _contract.load("claude").get("parameters", {}).get(name, {}).get("fields")
    called = given["tool_input"]
    for parameter in called if fields is not None and isinstance(called, Mapping) else ():
        if parameter not in fields:
            meant = _contract.nearest(parameter, fields)
            hint = f" Did you mean {meant!r}?" if meant else ""
            listed = f"It has: {', '.join(fields)}." if fields else "It has none."
            raise TypeError(
                f"{name} has no parameter {parameter!r}: the client refuses such a call before any hook.{hint} {listed}"
            )


def _response(tool: str) -> Json:
    found: Json = _contract.load("claude")["tools"][tool]["response"]
    return found


def _patch(before: str, after: str) -> list[Json]:
    """What changed, in hunks with three lines around."""
    old, new = before.splitlines(), after.splitlines()
    hunks = []
    for group in difflib.SequenceMatcher(None, old, new).get_grouped_opcodes(3):
        lines: list[str] = []
        for kind, i1, i2, j1, j2 in group:
            if kind == "equal":
                lines += [f" {line}" for line in old[i1:i2]]
            else:
                lines += [f"-{line}" for line in old[i1:i2]] + [f"+{line}" for line in new[j1:j2]]
        first, last = group[0], group[-1]
        hunks.append(
            {
                "oldStart": first[1] + 1,
                "oldLines": last[2] - first[1],
                "newStart": first[3] + 1,
                "newLines": last[4] - first[3],
                "lines": lines,
            }
        )
    return hunks


def _called(tool_input: Mapping[str, object]) -> Json:
    plain = {k: os.fspath(v) if isinstance(v, os.PathLike) else v for k, v in tool_input.items()}
    return {"tool_input": plain} if plain else {}
