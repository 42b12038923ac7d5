"""The fields of hookSpecificOutput that change something: how a hook says each, and how one sees that it was used."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

from pytest_taskie.client import tool

from .effect_rows import PLACE, WORDS, answer, elicited, say
from .scenes import Scene, a_new_session, a_question, a_refusal, another_file, bash, permission
from .stage import Seen, Stage

FINDS = {"stdout": "hidden", "stderr": "", "interrupted": False, "isImage": False}


@dataclass(frozen=True)
class Field:
    """One field; `used` plays it and says whether the client has used it. `as_text`: in a form that is not taken."""

    name: str
    stdout: str
    used: Callable[[Stage, int], bool]
    as_text: bool = False


def of(event: str, name: str, value: Any, used: Callable[[Stage, int], bool], **more: Any) -> Field:
    return Field(name, say(event, {name: value}, **more), used)


def _other_file(stage: Stage, number: int) -> bool:
    stage.prompt(f"row {number}", tool("Write", file_path=stage.path / f"asked-{number}", content="x"))
    return _place(stage, number, "given").exists() and not (stage.path / f"asked-{number}").exists()


def _place(stage: Stage, number: int, name: str) -> Path:
    return stage.folder / f"place-{number}" / name


def _hides(stage: Stage, number: int) -> bool:
    news = stage.prompt(f"row {number}", bash("echo secret")).news
    return "hidden" in news and "secret" not in news


def _hides_mcp(stage: Stage, number: int) -> bool:
    news = stage.prompt(f"row {number}", tool("mcp__asks__tell")).news
    return "hidden" in news and "secret" not in news


def _other_command(stage: Stage, number: int) -> bool:
    permission(stage, number, "allow")
    return _place(stage, number, "given").exists()


def _asked_once(stage: Stage, number: int) -> bool:
    permission(stage, number, "allow")
    return not stage.prompt("and again", bash("date")).asked


def _told(stage: Stage, number: int) -> bool:
    return f"{WORDS} ({number}.)" in permission(stage, number, "deny").news


def _prompt_hidden(event: str) -> Callable[[Stage, int], bool]:
    def used(stage: Stage, number: int) -> bool:
        """Without the field one reads it again."""
        hidden = stage.prompt(f"/hello unsaid-{number}").run.answer
        stage.says(event, say(decision="block", reason=WORDS), "", 0)
        shown = stage.prompt(f"/hello unsaid-{number}").run.answer
        return [f"unsaid-{number}" in text for text in (hidden, shown)] == [False, True] and WORDS in hidden

    return used


def _title(stage: Stage, number: int) -> bool:
    stage.prompt(f"row {number}")
    return f"{WORDS} ({number}.)" in json.dumps(
        [e for e in stage.prompt("and then?").run.transcript if "itle" in str(e)]
    )


def _title_of_a_new_session(stage: Stage, number: int) -> bool:
    entries = a_new_session(stage, number, "").run.transcript
    return f"{WORDS} ({number}.)" in json.dumps([entry for entry in entries if "itle" in str(entry)])


def _content(stage: Stage, number: int) -> bool:
    return bool(a_question(stage, number, "").extra.get("content") == {"colour": "blue"})


def _displayed(stage: Stage, number: int) -> bool:
    return stage.prompt(f"row {number}", f"Said {number}.").run.answer == f"{WORDS} ({number}.)"


def _told_to_try_again(stage: Stage, number: int) -> bool:
    told = [a_refusal(stage, number + more, "").news for more in (0, 100)]
    return ["you may retry" in text for text in told] == [True, False]


def _watched(scene: Scene) -> Callable[[Stage, int], bool]:
    def used(stage: Stage, number: int) -> bool:
        """A change of the file is an event then."""
        file = _place(stage, number, "watched.txt")
        file.write_text("x")
        scene(stage, number, "")
        stage.says("FileChanged", "", "", 0)
        stage.prompt("change it", bash(f"echo x >> {file}; {stage.waits('FileChanged')}"))
        return not stage.withdraws("FileChanged")

    return used


def _down(stage: Stage, number: int, kind: str) -> Seen:
    """And stay there: going back is a change, too, at which the hook names no paths."""
    (stage.path / "down").mkdir()
    return stage.prompt(f"row {number}", bash("cd down"))


RULE = {"type": "addRules", "rules": [{"toolName": "Bash", "ruleContent": "date"}], "behavior": "allow"}
FIELDS: dict[str, list[Field]] = {
    "PreToolUse": [
        of("PreToolUse", "updatedInput", {"file_path": f"{PLACE}/given", "content": "x"}, _other_file),
    ],
    "PostToolUse": [
        of("PostToolUse", "updatedToolOutput", FINDS, _hides),
        Field("updatedToolOutput", say("PostToolUse", {"updatedToolOutput": "hidden"}), _hides, as_text=True),
        of("PostToolUse", "updatedMCPToolOutput", "hidden", _hides_mcp),
    ],
    "PermissionRequest": [
        Field("decision.message", answer("deny", message=WORDS), _told),
        Field(
            "decision.updatedInput",
            answer("allow", updatedInput={"command": f"touch {PLACE}/given", "description": "x"}),
            _other_command,
        ),
        Field(
            "decision.updatedPermissions",
            answer("allow", updatedPermissions=[{**RULE, "destination": "session"}]),
            _asked_once,
        ),
    ],
    "UserPromptSubmit": [
        of("UserPromptSubmit", "sessionTitle", WORDS, _title),
        of(
            "UserPromptSubmit",
            "suppressOriginalPrompt",
            True,
            _prompt_hidden("UserPromptSubmit"),
            decision="block",
            reason=WORDS,
        ),
    ],
    "UserPromptExpansion": [
        of(
            "UserPromptExpansion",
            "suppressOriginalPrompt",
            True,
            _prompt_hidden("UserPromptExpansion"),
            decision="block",
            reason=WORDS,
        ),
    ],
    "SessionStart": [
        of("SessionStart", "sessionTitle", WORDS, _title_of_a_new_session),
        of("SessionStart", "watchPaths", [f"{PLACE}/watched.txt"], _watched(a_new_session)),
    ],
    "Elicitation": [Field("content", elicited("Elicitation", "accept", colour="blue"), _content)],
    "ElicitationResult": [Field("content", elicited("ElicitationResult", "accept", colour="blue"), _content)],
    "CwdChanged": [of("CwdChanged", "watchPaths", [f"{PLACE}/watched.txt"], _watched(_down))],
    "FileChanged": [of("FileChanged", "watchPaths", [f"{PLACE}/watched.txt"], _watched(another_file))],
    "MessageDisplay": [of("MessageDisplay", "displayContent", WORDS, _displayed)],
    "PermissionDenied": [of("PermissionDenied", "retry", True, _told_to_try_again)],
}
# What a row of a kind shows of fields besides.
SHOWN = {
    "context": ("additionalContext",),
    "deny": ("permissionDecision", "permissionDecisionReason"),
    "decline": ("action",),
    "deny+interrupt": ("decision", "decision.behavior", "decision.interrupt"),
}
