"""Which client has sent an event, and what is its own in it: names, how a tool is denied, whether a turn has an end.

Knows no file and no engine. Where each client is installed is in `taskie.setup`.
"""

from __future__ import annotations

from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

CLAUDE = "claude"


class Sender(Value):
    """One client. `events` and `tools`: what it calls those that have another name in Claude Code; `path`: what it
    calls the file that a tool writes. `plain`: a tool is denied like a stop, by a `decision`. `capped`: it ends a turn
    by itself that a hook blocks again and again."""

    events: Mapping[str, str] = {}
    tools: Mapping[str, str] = {}
    path: str = "file_path"
    plain: bool = False
    capped: bool = True


SENDERS = {
    CLAUDE: Sender(),
    "codex": Sender(capped=False),
    "copilot": Sender(path="path"),
    "qwen": Sender(tools={"write_file": "Write", "edit": "Edit"}),
    "gemini": Sender(
        events={"AfterAgent": "Stop", "BeforeTool": "PreToolUse"},
        tools={"write_file": "Write", "replace": "Edit"},
        plain=True,
        capped=False,
    ),
}


def sender(fields: Mapping[str, object]) -> str:
    """The client whose event this is. Its variables say less: a client that another one starts inherits them."""
    if "turn_id" in fields:
        return "codex"
    if fields.get("hook_event_name") in tuple(SENDERS["gemini"].events):  # it may be a list, which no mapping looks up
        return "gemini"
    if "timestamp" in fields:  # Claude Code sends none
        return "qwen" if "permission_mode" in fields else "copilot"
    return CLAUDE
