// A PreToolUse hook: denies every change of a file named .env, and leaves all else to the client.
// Silence leaves the permission question as it is; "allow" would take it away.
const path = require("path");

let text = "";
process.stdin.on("data", (part) => (text += part));
process.stdin.on("end", () => {
  const event = JSON.parse(text);
  const file = (event.tool_input || {}).file_path || "";
  if (path.basename(file) === ".env") {
    const decision = {
      hookEventName: "PreToolUse",
      permissionDecision: "deny",
      permissionDecisionReason: "Leave .env alone: ask the user for what you need in it.",
    };
    console.log(JSON.stringify({ hookSpecificOutput: decision }));
  }
});
