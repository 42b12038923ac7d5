"""Which options the agents' command lines have, as their own `--help` lists them, and values. Data, and nothing else.

tests/client/test_fakes.py compares it with the real clients: Claude Code 2.1.326 and Codex 0.169.0, or newer ones.
"""

from __future__ import annotations

CLAUDE = """
--add-dir <directories...>
--agent <agent>
--agents <json-or-file>
--allow-dangerously-skip-permissions
--allowedTools, --allowed-tools <tools...>
--append-system-prompt <prompt>
--autocompact <auto|tokens>
--ax-screen-reader
--bg, --background
--bare
--betas <betas...>
--brief
--chrome
--cloud [description|session_id|url]
-c, --continue
--dangerously-skip-permissions
-d, --debug [filter]
--debug-file <path>
--desktop
--disable-slash-commands
--disallowedTools, --disallowed-tools <tools...>
--effort <level>
--environment <environment_id>
--exclude-dynamic-system-prompt-sections
--fallback-model <model>
--file <specs...>
--fork-session
--forward-subagent-text
--from-pr [value]
-h, --help
--ide
--include-hook-events
--include-partial-messages
--input-format <format>
--json-schema <schema>
--max-budget-usd <amount>
--mcp-config <configs...>
--model <model>
-n, --name <name>
--no-chrome
--no-session-persistence
--output-format <format>
--permission-mode <mode>
--permission-prompts <target>
--plugin-dir <path>
--plugin-url <url>
-p, --print
--prompt-suggestions [value]
--remote-control [name]
--remote-control-session-name-prefix <prefix>
--replay-user-messages
--restricted
-r, --resume [value]
--safe-mode
--session-id <uuid>
--setting-sources <sources>
--settings <file-or-json>
--strict-mcp-config
--system-prompt <prompt>
--system-prompt-snapshot <on|off>
--teleport [session]
--tmux
--tools <tools...>
--verbose
-v, --version
-w, --worktree [name]
"""

# These work, but are not in the help. Each was tried: what has no value that it needs is told so, and is thus known.
CLAUDE_HIDDEN = """
--append-system-prompt-file <file>
--channels <servers...>
--max-thinking-tokens <tokens>
--max-turns <turns>
--permission-prompt-tool <tool>
--prefill <text>
--system-prompt-file <file>
--task-budget <tokens>
--teammate-mode <mode>
--thinking <mode>
-d2e, --debug-to-stderr
--enable-auth-status
--init
--init-only
--maintenance
"""

# The only values that an option takes.
CLAUDE_CHOICES = {
    "--input-format": ("text", "stream-json"),
    "--output-format": ("text", "json", "stream-json"),
    "--permission-mode": ("acceptEdits", "auto", "bypassPermissions", "manual", "dontAsk", "plan"),
    "--permission-prompts": ("host", "none"),
    "--prompt-suggestions": ("true", "false", "1", "0", "yes", "no", "on", "off"),
    "--system-prompt-snapshot": ("on", "off"),
    "--teammate-mode": ("auto", "tmux", "iterm2", "in-process"),
    "--thinking": ("enabled", "adaptive", "disabled"),
}
# Taken as well, though no message lists it.
CLAUDE_UNLISTED = {"--permission-mode": ("default",)}
# Numbers: whether they are above 0, whether they are whole, and what is said of another value.
CLAUDE_NUMBERS = {
    "--max-budget-usd": (True, False, "--max-budget-usd must be a number greater than 0"),
    "--max-thinking-tokens": (False, False, "must be a number"),
    "--max-turns": (False, False, "must be a number"),
    "--task-budget": (True, True, "--task-budget must be a positive integer"),
}
CODEX_CHOICES = {
    "--ask-for-approval": ("on-request", "never"),
    "--color": ("always", "never", "auto"),
    "--cyber-access-program": ("standard", "daybreak_blue", "daybreak_red"),
    "--sandbox": ("read-only", "workspace-write", "danger-full-access"),
}

# Before the word `exec`.
CODEX = """
-c, --config <key=value>
--enable <FEATURE>
--disable <FEATURE>
--remote <ADDR>
--remote-auth-token-env <ENV_VAR>
--strict-config
-i, --image <FILE>...
-m, --model <MODEL>
--oss
--local-provider <OSS_PROVIDER>
-p, --profile <CONFIG_PROFILE_V2>
-s, --sandbox <SANDBOX_MODE>
--approve-for-me
--dangerously-bypass-approvals-and-sandbox
--dangerously-bypass-hook-trust
-C, --cd <DIR>
--worktree
--add-dir <DIR>
-a, --ask-for-approval <APPROVAL_POLICY>
--search
--no-alt-screen
--no-daemon
-h, --help
-V, --version
"""

CODEX_EXEC = """
-c, --config <key=value>
--enable <FEATURE>
--disable <FEATURE>
--strict-config
-i, --image <FILE>...
-m, --model <MODEL>
--oss
--local-provider <OSS_PROVIDER>
-p, --profile <CONFIG_PROFILE_V2>
-s, --sandbox <SANDBOX_MODE>
--approve-for-me
--dangerously-bypass-approvals-and-sandbox
--dangerously-bypass-hook-trust
-C, --cd <DIR>
--worktree
--add-dir <DIR>
--thread-source <SOURCE>
--cyber-access-program <PROGRAM>
--skip-git-repo-check
--trust
--ephemeral
--ignore-user-config
--ignore-rules
--output-schema <FILE>
--color <COLOR>
--json
-o, --output-last-message <FILE>
-h, --help
-V, --version
"""
