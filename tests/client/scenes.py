"""How each event is brought about in a session, and how one sees from the outside whether it went its way.

Knows what a client does with tools, models, compactions and worktrees; not what a hook may say.
"""

from __future__ import annotations

from typing import Any, Callable

from pytest_taskie.client import McpServer, api_error, elicit, tool

from .stage import Seen, Stage

HELPER = {"description": "help", "subagent_type": "general-purpose", "run_in_background": False}
MODELS = ("claude-sonnet-4-5", "claude-haiku-4-5")
Scene = Callable[[Stage, int, str], Seen]


def bash(command: str) -> Any:
    return tool("Bash", command=command, description="x")


def tool_call(stage: Stage, number: int, kind: str) -> Seen:
    file = stage.path / f"made-{number}"
    seen = stage.prompt(f"row {number}", tool("Write", file_path=file, content="x"))
    seen.happened = file.exists()
    seen.deferred = seen.run.result.get("stop_reason") == "tool_deferred"
    seen.ended = len(seen.requests) < 2
    return seen


def guarded_call(stage: Stage, number: int, kind: str) -> Seen:
    """Of a tool that is allowed; what a hook grants it has to grant to one that is not."""
    if kind not in ("allow", "approve"):
        return tool_call(stage, number, kind)
    seen = stage.prompt(f"row {number}", bash(f"touch made-{number}"))
    seen.happened = (stage.path / f"made-{number}").exists()
    seen.granted, seen.asked = seen.happened and not seen.asked, False
    return seen


def permission(stage: Stage, number: int, kind: str) -> Seen:
    """The person says yes, but later than the hook."""
    file = stage.path / f"made-{number}"
    stage.session.permit(after="PermissionRequest")
    seen = stage.prompt(f"row {number}", bash(f"touch {file.name}"))
    decided = any(event.get("type") == "control_cancel_request" for event in seen.run.events)
    seen.happened = file.exists()
    seen.granted = decided and seen.happened
    seen.interrupted = decided and len(seen.requests) < 2
    seen.asked = False
    return seen


def failing_call(stage: Stage, number: int, kind: str) -> Seen:
    seen = stage.prompt(f"row {number}", bash("exit 3"))
    seen.happened = "Exit code 3" in seen.news
    seen.ended = len(seen.requests) < 2
    return seen


def a_prompt(stage: Stage, number: int, kind: str) -> Seen:
    seen = stage.prompt(f"row {number}")
    seen.happened = bool(seen.requests)
    return seen


def a_command(stage: Stage, number: int, kind: str) -> Seen:
    seen = stage.prompt(f"/hello {number}")
    seen.happened = bool(seen.requests) and f"Say hello to {number}." in seen.told
    return seen


def a_stop(stage: Stage, number: int, kind: str) -> Seen:
    seen = stage.prompt(f"row {number}")
    seen.happened = len(seen.requests) == 1
    seen.continued = not seen.happened and "Stop hook feedback" not in seen.news
    return seen


def a_subagents_stop(stage: Stage, number: int, kind: str) -> Seen:
    seen = _subagent(stage, number)
    seen.happened = len(seen.requests) == 1
    seen.continued = not seen.happened and "hook feedback" not in seen.told
    # It is said beside a block, which it beats.
    seen.stopped = seen.happened and kind == "continue-false"
    return seen


def a_subagents_start(stage: Stage, number: int, kind: str) -> Seen:
    seen = _subagent(stage, number)
    seen.happened = bool(seen.requests)
    return seen


def _subagent(stage: Stage, number: int) -> Seen:
    """What is seen is the subagent's side of it."""
    ask = f"You are helper {number}."
    seen = stage.prompt(f"row {number}", tool("Agent", prompt=ask, **HELPER))
    seen.requests = [request for request in seen.requests if ask in request.prompt]
    seen.told = "\n".join(text for request in seen.requests for text in request.told)
    return seen


def a_model(event: str) -> Scene:
    def switch(stage: Stage, number: int, kind: str) -> Seen:
        other, wanted = MODELS[number % 2], MODELS[(number + 1) % 2]
        with stage.silent(event):
            stage.session.switch_model(other)
        reply = stage.session.switch_model(wanted)
        seen = stage.prompt(f"row {number}")
        seen.happened = seen.requests[-1].model.startswith(wanted)
        seen.error = reply.error
        return seen

    return switch


def a_worktree(stage: Stage, number: int, kind: str) -> Seen:
    enter = tool("EnterWorktree", name=f"tree-{number}")
    leave = tool("ExitWorktree", action="remove", discard_changes=True)
    inside, after = (stage.folder / f"{when}-{number}" for when in ("inside", "after"))
    seen = stage.prompt(f"row {number}", enter, bash(f"pwd > {inside}"), leave, bash(f"pwd > {after}"))
    where, at_last = inside.read_text().strip(), after.read_text().strip()
    seen.happened = where != str(stage.path) and at_last == str(stage.path)
    seen.extra = where
    return seen


def a_question(stage: Stage, number: int, kind: str) -> Seen:
    """Of an MCP server, to the person, who says red."""
    before = len(stage.server.calls)
    stage.session.elicits("accept", colour="red")
    seen = stage.prompt(f"row {number}", tool("mcp__asks__ask"))
    (call,) = stage.server.calls[before:]
    seen.extra = dict(call.elicited or {})
    asked = any(event.get("request", {}).get("subtype") == "elicitation" for event in seen.run.events)
    seen.happened = seen.extra.get("action") == "accept"
    seen.granted = seen.happened and not asked
    return seen


def a_notice(stage: Stage, number: int, kind: str) -> Seen:
    """That somebody is asked is told the person, too."""
    seen = a_question(stage, number, kind)
    stage.spoken("Notification")
    seen.told = stage.prompt("and then?").told
    return seen


def a_task(stage: Stage, number: int, kind: str) -> Seen:
    subject = f"Task number {number}."
    create = tool("TaskCreate", subject=subject, description="To do", activeForm="Doing")
    seen = stage.prompt(f"row {number}", create, tool("TaskList"))
    seen.ended = len(seen.requests) < 3
    later = stage.prompt("which?", tool("TaskList")) if seen.ended else seen
    seen.happened = subject in later.requests[-1].last
    return seen


def a_finished_task(stage: Stage, number: int, kind: str) -> Seen:
    with stage.silent("TaskCompleted"):
        create = tool("TaskCreate", subject="Task", description="To do", activeForm="Doing")
        made = stage.prompt("make one", create).requests[-1].last.split("#")[1].split()[0]
    done = tool("TaskUpdate", taskId=made, status="completed")
    seen = stage.prompt(f"row {number}", done, tool("TaskGet", taskId=made))
    seen.ended = len(seen.requests) < 3
    later = stage.prompt("which?", tool("TaskGet", taskId=made)) if seen.ended else seen
    seen.happened = "completed" in later.requests[-1].last
    return seen


def a_compaction(event: str) -> Scene:
    def compact(stage: Stage, number: int, kind: str) -> Seen:
        """What the model is told is what it is asked for the summary; of PostCompact, what it is told afterwards."""
        with stage.silent(event):
            stage.prompt("something to forget")
        seen = stage.prompt("/compact", "<summary>All of it.</summary>")
        after = stage.prompt(f"row {number}")
        seen.happened = bool(seen.requests) and "something to forget" not in after.told
        seen.told = after.told if event == "InstructionsLoaded" else seen.told if event == "PreCompact" else ""
        return seen

    return compact


def a_new_session(stage: Stage, number: int, kind: str) -> Seen:
    """/clear ends a session and starts another."""
    stage.prompt("/clear")
    seen = stage.prompt(f"row {number}")
    seen.happened = f"row {number - 1}\n" not in seen.told and bool(seen.requests)
    return seen


def a_directory(stage: Stage, number: int, kind: str) -> Seen:
    more = stage.path / f"more-{number}"
    more.mkdir()
    reply = stage.session.control("register_repo_root", directory=str(more))
    stage.spoken("DirectoryAdded")
    seen = stage.prompt(f"row {number}")
    seen.happened = reply.error is None
    return seen


def another_folder(stage: Stage, number: int, kind: str) -> Seen:
    (stage.path / "sub").mkdir(exist_ok=True)
    where = stage.folder / f"where-{number}"
    seen = stage.prompt(f"row {number}", bash("cd sub"), bash(f"pwd > {where}; cd .."))
    stage.spoken("CwdChanged")
    seen.happened = where.read_text().strip() == str(stage.path / "sub")
    seen.told = stage.prompt("and then?").told
    return seen


def another_file(stage: Stage, number: int, kind: str) -> Seen:
    watched = stage.path / "watched.txt"
    before = len(watched.read_text())
    seen = stage.prompt(f"row {number}", bash(f"echo x >> watched.txt; {stage.waits('FileChanged')}"))
    seen.happened = len(watched.read_text()) == before + 2
    seen.ended = len(seen.requests) < 2
    seen.told = stage.prompt("and then?").told
    return seen


def other_settings(stage: Stage, number: int, kind: str) -> Seen:
    """They are in force if the hook that they bring is run at the next call."""
    proof = stage.folder / f"in-force-{number}"
    settings = stage.path / ".claude" / "settings.local.json"
    hook = f'{{"matcher":"Bash","hooks":[{{"type":"command","command":"touch {proof}"}}]}}'
    text = f'{{"hooks":{{"PostToolUse":[{hook}]}}}}'
    change = stage.folder / f"change-{number}.sh"
    change.write_text(f"printf %s '{text}' > {settings}; {stage.waits('ConfigChange')}\n")
    seen = stage.prompt(f"row {number}", bash(f"sh {change}"))
    stage.prompt("and then?", bash("true"))
    seen.happened = proof.exists()
    return seen


def a_message(stage: Stage, number: int, kind: str) -> Seen:
    seen = stage.prompt(f"row {number}", f"Said {number}.")
    seen.happened = seen.run.answer == f"Said {number}."
    seen.told = stage.prompt("and then?").told
    return seen


def a_failure(stage: Stage, number: int, kind: str) -> Seen:
    """An error is not always the first one: the client tries some requests again in another form."""
    seen = stage.prompt(f"row {number}", *[api_error(400)] * 9)
    seen.happened = bool(seen.run.result.get("is_error"))
    seen.told = stage.prompt("and now?").told
    return seen


def a_refusal(stage: Stage, number: int, kind: str) -> Seen:
    """By auto mode, whose check needs a server that is not there."""
    seen = stage.prompt(f"row {number}", bash("curl http://127.0.0.1/x | sh"))
    seen.happened = "denied" in seen.news.lower() or "unavailable" in seen.news.lower()
    return seen


SCENES: dict[str, Scene] = {
    "PreToolUse": guarded_call,
    "PostToolUse": tool_call,
    "PostToolUseFailure": failing_call,
    "PostToolBatch": tool_call,
    "Notification": a_notice,
    "UserPromptSubmit": a_prompt,
    "UserPromptExpansion": a_command,
    "SessionStart": a_new_session,
    "SessionEnd": a_new_session,
    "Stop": a_stop,
    "StopFailure": a_failure,
    "SubagentStart": a_subagents_start,
    "SubagentStop": a_subagents_stop,
    "PreCompact": a_compaction("PreCompact"),
    "PostCompact": a_compaction("PostCompact"),
    "PreModelSwitch": a_model("PreModelSwitch"),
    "PostModelSwitch": a_model("PostModelSwitch"),
    "PermissionRequest": permission,
    "PermissionDenied": a_refusal,
    "TaskCreated": a_task,
    "TaskCompleted": a_finished_task,
    "Elicitation": a_question,
    "ElicitationResult": a_question,
    "ConfigChange": other_settings,
    "WorktreeCreate": a_worktree,
    "WorktreeRemove": a_worktree,
    "InstructionsLoaded": a_compaction("InstructionsLoaded"),
    "CwdChanged": another_folder,
    "FileChanged": another_file,
    "DirectoryAdded": a_directory,
    "MessageDisplay": a_message,
}
# Tools that the client may use without a question.
TOOLS = "Write,Agent,TaskCreate,TaskUpdate,TaskList,TaskGet,EnterWorktree,ExitWorktree,mcp__asks"
# Where Bash is one of them: a hook that grants something grants it to Bash.
ASKS_FOR_BASH = ("PreToolUse", "PermissionRequest", "PermissionDenied")


def prepare(stage: Stage, server: McpServer) -> None:
    """What the scenes need in the project, and the server that asks."""
    server.tool("ask", elicit("Which colour?", colour="string"))
    server.tool("tell", "secret")
    stage.server = server
    commands = stage.path / ".claude" / "commands"
    commands.mkdir(parents=True)
    (commands / "hello.md").write_text("Say hello to $ARGUMENTS.")
    (stage.path / "CLAUDE.md").write_text("Be brief.\n")
    (stage.path / "watched.txt").write_text("x\n")
