#!/bin/bash
# A PreToolUse hook: denies every change of a file named .env, and leaves all else to the client.
# Silence leaves the permission question as it is; "allow" would take it away.
input=$(cat)
path=$(printf '%s' "$input" | sed -n 's/.*"file_path":"\([^"]*\)".*/\1/p')
case $path in
    .env | */.env)
        printf '%s%s\n' '{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", ' \
            '"permissionDecisionReason": "Leave .env alone: ask the user for what you need in it."}}'
        ;;
esac
exit 0
