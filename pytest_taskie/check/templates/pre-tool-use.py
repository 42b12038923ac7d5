"""A PreToolUse hook: denies every change of a file named .env, and leaves all else to the client.

Silence leaves the permission question as it is; "allow" would take it away.
"""

import json
import os
import sys

event = json.load(sys.stdin)
path = event.get("tool_input", {}).get("file_path", "")
if os.path.basename(path) == ".env":
    decision = {
        "hookEventName": "PreToolUse",
        "permissionDecision": "deny",
        "permissionDecisionReason": "Leave .env alone: ask the user for what you need in it.",
    }
    print(json.dumps({"hookSpecificOutput": decision}))
