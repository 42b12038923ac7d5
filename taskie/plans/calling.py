"""How each provider's client is called for a review: its options. Knows no answer, and starts nothing.

Each function gets the question, the options that this client has refused, and the path of the file that is written
for it, if its provider has one.
"""

from __future__ import annotations

import json
import os
import re

from taskie.denials import SOURCES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection

    from taskie.plans.providers import Question

MAX_BUDGET = "--max-budget-usd"
NO_RECORDING = "--no-chat-recording"

# The client itself knows which commands only read, git's among them, and lets those through: a rule `Bash(git log:*)`
# would let `git log --output=FILE` through as well.
_READING = "Read,Grep,Glob"


def claude(asked: Question, without: Collection[str], _: str) -> list[str]:
    """`--print` and the prompt come last: list options swallow what follows."""
    config, prompt = asked.config, asked.prompt
    argv = ["--model", asked.model, "--output-format", "json", "--json-schema", asked.schema]
    if asked.scoped:
        # Rules for writing are spelled Edit; Write(path) never matches.
        rules = [_READING, f"Edit(/{asked.file})", *(f"Bash({command})" for command in asked.commands)]
        argv += ["--permission-mode", "dontAsk", "--tools", f"{_READING},Write,Edit,Bash"]
        argv += ["--allowedTools", ",".join(rules)]
        if asked.denied:
            argv += ["--disallowedTools", ",".join(asked.denied)]
        if SOURCES not in without:
            argv += [SOURCES, "user"]  # or the project's own settings could allow it everything
        prompt += _bounds(asked.commands, asked.lost)
    else:
        argv += ["--dangerously-skip-permissions"]
    if config.review_max_turns:
        argv += ["--max-turns", str(config.review_max_turns)]
    if config.review_max_budget_usd and MAX_BUDGET not in without:
        argv += [MAX_BUDGET, str(config.review_max_budget_usd)]
    if config.review_hooks == "off" and "--settings" not in without:
        argv += ["--settings", '{"disableAllHooks":true}']
    if "--no-session-persistence" not in without:
        argv += ["--no-session-persistence"]
    return [*argv, "--print", prompt]


def _bounds(commands: Collection[str], lost: bool) -> str:
    """Without this a faithful reviewer takes what it may not do for the work's fault."""
    listed = ", ".join(f"`{command}`" for command in commands)
    also = f", and run exactly these commands, each on its own: {listed}" if commands else ""
    some = " Some must-run commands are not allowed, since they are more than plain words." if lost else ""
    return (
        " You may write that file and no other, read all files, read git (`git log`, `git diff`, `git show`, "
        f"`git status`, `git blame`){also}. Anything else is refused.{some} A must-run command that is refused is "
        "not an issue: say in the review that it was not run."
    )


def codex(asked: Question, without: Collection[str], schema_file: str) -> list[str]:
    """Its sandbox lets commands write in the project and in temporary directories, not in `.git`; it has no network."""
    config = asked.config
    argv = ["--model", asked.model] if asked.model else []
    if asked.scoped:
        argv += ["--sandbox", "workspace-write"]
    else:
        argv += ["--dangerously-bypass-approvals-and-sandbox"]
    if config.review_hooks == "off":
        argv += ["--config", "features.hooks=false"]
    argv += [option for option in ("--ephemeral", "--skip-git-repo-check") if option not in without]
    return [*argv, "--json", "--output-schema", schema_file, asked.prompt]


def copilot(asked: Question, without: Collection[str], _: str) -> list[str]:
    """It lets commands that only read through by itself, and no rule of its allows exactly one with its arguments. It
    has no switch for hooks, and keeps its sessions."""
    argv = ["--model", asked.model] if asked.model else []
    if asked.scoped:
        # A relative path would match the end of any other.
        argv += [f"--allow-tool=write({os.path.join(asked.root, asked.file)})"]
        asked = asked.replace(commands=(), lost=asked.lost or bool(asked.commands))
    else:
        argv += ["--allow-all"]
    argv += [option for option in ("--no-ask-user", "--no-auto-update") if option not in without]
    return [*argv, "--output-format", "json", "--prompt", _in_words(asked)]


def qwen(asked: Question, without: Collection[str], _: str) -> list[str]:
    """Its only switch for hooks takes its context files, extensions and MCP servers too."""
    config, prompt = asked.config, asked.prompt
    argv = ["--model", asked.model] if asked.model else []
    if asked.scoped:
        # Without a rule for it, the tool itself is taken away. Those that only read are let through by the client.
        commands = ("git status", *(command for command in asked.commands if "," not in command))
        rules = [f"{tool}(/{asked.file})" for tool in ("edit", "write_file")]
        rules += [f"run_shell_command({command})" for command in commands]
        argv += ["--approval-mode", "default", *(f"--allowed-tools={rule}" for rule in rules)]
        prompt += _bounds(asked.commands, asked.lost)
    else:
        argv += ["--yolo"]
    if config.review_max_turns:
        argv += ["--max-session-turns", str(config.review_max_turns)]
    if config.review_hooks == "off" and "--safe-mode" not in without:
        argv += ["--safe-mode"]
    argv += [option for option in (NO_RECORDING,) if option not in without]
    return [*argv, "--output-format", "json", "--json-schema", asked.schema, "--prompt", prompt]


def gemini(asked: Question, _: Collection[str], policy: str) -> list[str]:
    """Its rules are in a file. It has no switch for hooks, and keeps its sessions."""
    argv = ["--model", asked.model] if asked.model else []
    argv += ["--approval-mode", "default", "--policy", policy] if asked.scoped else ["--yolo"]
    return [*argv, "--output-format", "json", "--prompt", _in_words(asked)]


def policy(asked: Question) -> str:
    """What a scoped Gemini CLI may do besides reading, by patterns for an argument as a whole: write the one file, look
    at git without an option that writes, run the must-run commands. It takes no pattern with a repeated group."""
    paths = (asked.file, f"./{asked.file}", f"{asked.root}/{asked.file}")
    git = "git (?:blame|diff|log|show|status)"
    allowed = [("write_file", "file_path", _pattern(path)) for path in paths]
    commands = (git, git + r" [\w ./:@^~=,+%-]*", *map(_pattern, asked.commands))
    allowed += [("run_shell_command", "command", command) for command in commands]
    rules = [_rule(*each, "allow", 900) for each in allowed]
    return "\n".join([*rules, _rule("run_shell_command", "command", r"git [^\x00]* --ou[^\x00]*", "deny", 950)])


def _rule(tool: str, name: str, pattern: str, decision: str, priority: int) -> str:
    """JSON's texts are texts in TOML, too. Between NULs stands each argument."""
    pattern = json.dumps(f'\\x00"{name}":"{pattern}"\\x00', ensure_ascii=False)
    head = f"[[rule]]\ntoolName = {json.dumps(tool)}\nargsPattern = {pattern}\n"
    return f"{head}decision = {json.dumps(decision)}\npriority = {priority}\n"


def _pattern(text: str) -> str:
    """A pattern for this text as it stands in JSON."""
    return re.escape(json.dumps(text, ensure_ascii=False)[1:-1])


def _in_words(asked: Question) -> str:
    """For a client that takes no schema."""
    bounds = _bounds(asked.commands, asked.lost) if asked.scoped else ""
    return (
        f"{asked.prompt}{bounds}\n\nEnd your answer with one JSON object that fits this schema, and with nothing after "
        f"it: {asked.schema}"
    )
