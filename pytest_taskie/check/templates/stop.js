// A Stop hook: sends the agent back to work, once in a turn, while the project has a file named FAILING.
// It prints one JSON object, or nothing. Exit 2 would block, so whatever goes wrong here ends with another code.
const fs = require("fs");
const path = require("path");

let text = "";
process.stdin.on("data", (part) => (text += part));
process.stdin.on("end", () => {
  const event = JSON.parse(text);
  const failing = path.join(process.env.CLAUDE_PROJECT_DIR, "FAILING");
  if (!event.stop_hook_active && fs.existsSync(failing)) {
    const reason = "FAILING is still there: make the tests pass, then remove it.";
    console.log(JSON.stringify({ decision: "block", reason }));
  }
});
