"""A Stop hook: sends the agent back to work, once in a turn, while the project has a file named FAILING.

It prints one JSON object, or nothing. Exit 2 would block, so whatever goes wrong here ends with another code.
"""

import json
import os
import sys

event = json.load(sys.stdin)
failing = os.path.join(os.environ["CLAUDE_PROJECT_DIR"], "FAILING")
if not event.get("stop_hook_active") and os.path.exists(failing):
    reason = "FAILING is still there: make the tests pass, then remove it."
    print(json.dumps({"decision": "block", "reason": reason}))
