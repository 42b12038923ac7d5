#!/bin/bash
# A Stop hook: sends the agent back to work, once in a turn, while the project has a file named FAILING.
# It prints one JSON object, or nothing, and always ends with 0: exit 2 would block.
input=$(cat)
case $input in
    *'"stop_hook_active":true'*) exit 0 ;; # it was sent back in this turn already
esac
if [ -e "$CLAUDE_PROJECT_DIR/FAILING" ]; then
    printf '%s\n' '{"decision": "block", "reason": "FAILING is still there: make the tests pass, then remove it."}'
fi
exit 0
