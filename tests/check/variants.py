"""Our own hooks, broken on purpose and nearly broken: which rule is meant for it, and what is changed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Change = Callable[[Path], None]
SCRIPT = "hooks/stop-hook.sh"
INPUT = "INPUT=$(cat)\n"
BLOCK = '{"decision": "block", "reason": "The tests fail: mend them."}'


def entry(event: str, **changed: Any) -> Change:
    """Another value in the entry of an event's hook."""

    def change(plugin: Path) -> None:
        def put(hooks: dict[str, Any]) -> None:
            hooks[event][0]["hooks"][0].update(changed)

        edit(plugin, put)

    return change


def group(event: str, **changed: Any) -> Change:
    def change(plugin: Path) -> None:
        edit(plugin, lambda hooks: hooks[event][0].update(changed))

    return change


def renamed(event: str, new: str, **changed: Any) -> Change:
    def change(plugin: Path) -> None:
        def put(hooks: dict[str, Any]) -> None:
            hooks[new] = hooks.pop(event)
            hooks[new][0].update(changed)

        edit(plugin, put)

    return change


def edit(plugin: Path, put: Callable[[dict[str, Any]], None]) -> None:
    file = plugin / "hooks" / "hooks.json"
    document = json.loads(file.read_text())
    put(document["hooks"])
    file.write_text(json.dumps(document, indent=2))


def text(old: str, new: str) -> Change:
    def change(plugin: Path) -> None:
        file = plugin / "hooks" / "hooks.json"
        assert old in file.read_text()
        file.write_text(file.read_text().replace(old, new))

    return change


def script(lines: str, event: str = "") -> Change:
    """These lines at the script's beginning; for one event alone if it is named by its switch."""
    body = f'if [ "$1" = {event} ]; then\n{lines}\nfi' if event else lines

    def change(plugin: Path) -> None:
        file = plugin / SCRIPT
        first, rest = file.read_text().split("\n", 1)
        file.write_text(f"{first}\n{body}\n{rest}")

    return change


def both(*changes: Change) -> Change:
    def change(plugin: Path) -> None:
        for one in changes:
            one(plugin)

    return change


STOP, PRE = "--fail-open", "--pre-tool-use"
NO = '"permissionDecision": "deny", "permissionDecisionReason": "no"'
DENY = f'{{"hookSpecificOutput": {{"hookEventName": "PreToolUse", {NO}}}}}'
EXEC = 'exec \\"${CLAUDE_PLUGIN_ROOT}\\"/hooks/stop-hook.sh'
FILE = '$(printf \'%s\' "$INPUT" | sed \'s/.*file_path":"\\([^"]*\\)".*/\\1/\')'
GUARD = INPUT + "case $INPUT in *.env*) echo 'Leave .env alone.' >&2; exit 2 ;; esac; exit 0"
JQ_GUARD = (
    INPUT
    + "jq -r .tool_input.file_path <<E | grep -q env && { echo 'Leave .env alone.' >&2; exit 2; }\n$INPUT\nE\nexit 0"
)
EITHER = '[ "$tool_name" = "Task" ] || [ "$tool_name" = "Agent" ] && exit 0'
ONCE = "case $INPUT in *'\"stop_hook_active\":true'*) exit 0 ;; esac"
COUNT = 'f=$CLAUDE_PROJECT_DIR/count\nn=$(cat "$f" 2>/dev/null || echo 0)\nsleep 0.1\necho $((n + 1)) > "$f"\nexit 0'

BROKEN: list[tuple[str, Change]] = [
    ("blank-in-plugin", text(f"{EXEC} --fail-open", "exec ${CLAUDE_PLUGIN_ROOT}/hooks/stop-hook.sh --fail-open")),
    ("blank-in-plugin", text(f"{EXEC} --pre", "sh $CLAUDE_PLUGIN_ROOT/hooks/stop-hook.sh --pre")),
    ("blank-in-plugin", script("cd $CLAUDE_PLUGIN_ROOT || exit 1", STOP)),
    ("blank-in-project", script("cd $CLAUDE_PROJECT_DIR || exit 1", PRE)),
    ("blank-in-project", script("ls $CLAUDE_PROJECT_DIR >/dev/null || exit 3", STOP)),
    ("unknown-event", renamed("Stop", "Stopp")),
    ("unknown-event", renamed("PreToolUse", "preToolUse")),
    ("impossible-matcher", group("PreToolUse", matcher="edit|write")),
    ("impossible-matcher", group("PreToolUse", matcher="Edit(")),
    ("impossible-matcher", renamed("Stop", "SessionStart", matcher="init")),
    ("if-never-matches", entry("Stop", **{"if": "Bash(git *)"})),
    ("ignored-setting", entry("Stop", timeOut=5)),
    ("ignored-setting", entry("PreToolUse", once=True)),
    ("relative-command", entry("Stop", command="sh hooks/stop-hook.sh --fail-open")),
    ("relative-command", entry("PreToolUse", command="./hooks/stop-hook.sh --pre-tool-use")),
    ("configuration", entry("Stop", command=["sh", "stop-hook.sh"])),
    ("configuration", entry("Stop", command="")),
    ("configuration", text('"description"', '// our hooks\n  "description"')),
    ("subdirectory", script(f"[ -f README.md ] && echo '{BLOCK}'; exit 0", STOP)),
    ("subdirectory", script("date > seen.log; exit 0", PRE)),
    ("crash", script("exec /nowhere/at-all", STOP)),
    ("crash", script("python3 -c 'import json,sys; json.load(sys.stdin)[\"tool\"]'; exit 1", PRE)),
    ("accidental-exit-2", script("if [[ x == y ]; then", STOP)),
    ("accidental-exit-2", script("set -o pipefail", PRE)),
    ("hangs", script("while :; do sleep 1; done", STOP)),
    ("phantom-variable", script('[ "$CLAUDE_TOOL_NAME" = Bash ] && exit 0', PRE)),
    ("phantom-variable", script('echo "${CLAUDE_FILE_PATHS}" >/dev/null', PRE)),
    ("phantom-field", script("jq -r .stop_reason >/dev/null; exit 0", STOP)),
    ("phantom-field", script("python3 -c 'import json,sys; json.load(sys.stdin).get(\"tool_args\")'; exit 0", PRE)),
    ("obsolete-tool", both(group("PreToolUse", matcher="Agent"), script('[ "$tool_name" = "Task" ] && exit 2', PRE))),
    ("missing-program", script(JQ_GUARD, PRE)),
    ("misplaced-field", script(f"echo '{{{NO}}}'; exit 0", PRE)),
    ("misplaced-field", script(f"echo '{DENY}'; exit 0", STOP)),
    ("two-documents", script("echo '{\"suppressOutput\": true}'", STOP)),
    ("noise", script(f"echo checking; echo '{BLOCK}'; exit 0", STOP)),
    ("lost-output", script("echo '{\"decision\": \"block\", \"reason\": 5}'; exit 0", STOP)),
    ("forwarded-stderr", script("npx tsc >&2 || exit 2; exit 0", STOP)),
    ("block-without-reason", script("echo '{\"decision\": \"block\"}'; exit 0", STOP)),
    ("block-without-reason", script("exit 2", PRE)),
    ("grants", script("echo '{\"decision\": \"approve\"}'; exit 0", PRE)),
    ("grants", script(f"echo '{DENY.replace('deny', 'allow')}'; exit 0", PRE)),
    ("endless-stops", script(f"echo '{BLOCK}'; exit 0", STOP)),
    ("recursion", script("claude -p 'Review the diff' >/dev/null; exit 0", STOP)),
    ("lost-writes", script(COUNT, PRE)),
    ("large-event", script(INPUT + '/bin/echo "$INPUT" >/dev/null || exit 1; exit 0', PRE)),
    ("injection", script(f'{INPUT}eval "echo {FILE}" >/dev/null; exit 0', PRE)),
    ("secrets-left", script('cat >> "$CLAUDE_PROJECT_DIR/events.jsonl"; exit 0', PRE)),
    ("secrets-left", script("cat > /tmp/last-event; chmod 644 /tmp/last-event; exit 0", STOP)),
    ("litter", script("cat > $(mktemp); exit 0", PRE)),
    ("processes-left", script("sleep 300 </dev/null >/dev/null 2>&1 & exit 0", STOP)),
    ("network", script("getent hosts example.com; exit 0", PRE)),
    ("slow-start", script("sleep 3; exit 0", PRE)),
]  # fmt: skip

# What looks like it and is right.
SOUND: list[tuple[str, Change]] = [
    ("blank-in-plugin", script('cd "$CLAUDE_PLUGIN_ROOT" || exit 1', STOP)),
    ("blank-in-project", script('cd "$CLAUDE_PROJECT_DIR" || exit 1', STOP)),
    ("impossible-matcher", group("PreToolUse", matcher="^(Edit|Wri.*)$")),
    ("impossible-matcher", group("PreToolUse", matcher="mcp__memory__.*")),
    ("impossible-matcher", group("PreToolUse", matcher="Task")),
    ("if-never-matches", entry("PreToolUse", **{"if": "Write(*.py)"})),
    ("ignored-setting", entry("Stop", statusMessage="Looking")),
    ("relative-command", entry("Stop", command="cd \"$CLAUDE_PLUGIN_ROOT\" && sh hooks/stop-hook.sh --fail-open")),
    ("subdirectory", script(f'[ -f "$CLAUDE_PROJECT_DIR/README.md" ] && echo \'{BLOCK}\'; exit 0', STOP)),
    ("crash", script("python3 -c 'import json,sys; json.load(sys.stdin)[\"tool_name\"]' || exit 1; exit 0", PRE)),
    ("accidental-exit-2", script("echo 'No more of this.' >&2; exit 2", STOP)),
    ("hangs", script("cat >/dev/null; sleep 0.2", STOP)),
    ("phantom-variable", script('echo "$CLAUDE_PROJECT_DIR $CLAUDE_CODE_SESSION_ID" >/dev/null', PRE)),
    ("phantom-field", script("jq -r '.tool_result // .tool_response' >/dev/null; exit 0", PRE)),
    ("obsolete-tool", both(group("PreToolUse", matcher="Agent"), script(EITHER, PRE))),
    ("missing-program", script("command -v jq >/dev/null || { echo 'jq is missing' >&2; exit 2; }\n" + JQ_GUARD, PRE)),
    ("misplaced-field", script(f"echo '{DENY}'; exit 0", PRE)),
    ("noise", script(f"echo checking >&2; echo '{BLOCK}'; exit 0", STOP)),
    ("lost-output", script(f"echo '{BLOCK}'; exit 0", STOP)),
    ("forwarded-stderr", script("npx tsc >/dev/null 2>&1 || { echo 'tsc finds errors: run it' >&2; exit 2; }", STOP)),
    ("grants", script("echo '{}'; exit 0", PRE)),
    ("endless-stops", script(f"{INPUT}{ONCE}; echo '{BLOCK}'; exit 0", STOP)),
    ("recursion", script("claude -p --settings '{\"disableAllHooks\": true}' 'Review' >/dev/null; exit 0", STOP)),
    ("lost-writes", script('echo seen >> "$CLAUDE_PROJECT_DIR/seen.log"; exit 0', PRE)),
    ("large-event", script(GUARD, PRE)),
    ("injection", script(INPUT + "printf '%s' \"$INPUT\" >/dev/null; exit 0", PRE)),
    ("secrets-left", script('umask 077; cat >> "$HOME/events.jsonl"; exit 0', PRE)),
    ("litter", script('f=$(mktemp); trap \'rm -f "$f"\' EXIT; cat > "$f"; exit 0', PRE)),
    ("processes-left", script("sleep 0.2 & exit 0", STOP)),
    ("network", script("getent hosts localhost; exit 0", PRE)),
]  # fmt: skip
