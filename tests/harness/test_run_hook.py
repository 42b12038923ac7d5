"""run_hook: any hook in any language, with stdin, environment and working directory as the client gives them."""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie import Events, Project, RunHook, assert_approved, assert_blocked

SHELL = """#!/usr/bin/env bash
input=$(cat)
case $input in
  *'"stop_hook_active":true'*) echo '{"suppressOutput": true}' ;;
  *) echo '{"decision": "block", "reason": "from bash"}' ;;
esac
"""
NODE = """#!/usr/bin/env node
let text = "";
process.stdin.on("data", (chunk) => (text += chunk));
process.stdin.on("end", () => {
  const event = JSON.parse(text);
  const answer = event.stop_hook_active ? { suppressOutput: true } : { decision: "block", reason: "from node" };
  console.log(JSON.stringify(answer));
});
"""
PYTHON = """#!/usr/bin/env python3
import json, sys
event = json.load(sys.stdin)
answer = {"suppressOutput": True} if event["stop_hook_active"] else {"decision": "block", "reason": "from python3"}
print(json.dumps(answer))
"""
# Prints what the hook was given, as a message to the user.
TELL = """
import json, os, sys
received = {"stdin": sys.stdin.read(), "env": dict(os.environ), "cwd": os.getcwd(), "argv": sys.argv[1:]}
print(json.dumps({"systemMessage": json.dumps(received)}))
"""


def received(run_hook: RunHook, *arguments: Any, **options: Any) -> dict[str, Any]:
    """What a hook sees of its surroundings."""
    result = run_hook(*arguments, command=[sys.executable, "-c", TELL], **options)
    assert_approved(result)
    seen: dict[str, Any] = json.loads(result.system_message or "")
    return seen


@pytest.mark.parametrize(("interpreter", "text"), [("bash", SHELL), ("node", NODE), ("python3", PYTHON)])
def test_a_hook_in_any_language(
    run_hook: RunHook, events: Events, project: Project, interpreter: str, text: str
) -> None:
    if not shutil.which(interpreter, path=project.env["PATH"]):
        pytest.skip(f"no {interpreter} here")
    hook = project.path / "hook"
    hook.write_text(text)
    hook.chmod(0o755)
    assert_blocked(run_hook(command=hook), f"from {interpreter}")
    assert_approved(run_hook(events.stop(stop_hook_active=True), command=hook))


def test_the_default_event_is_a_stop_as_the_client_sends_it(run_hook: RunHook, project: Project) -> None:
    text = received(run_hook)["stdin"]
    event = json.loads(text)
    assert list(event) == [
        "session_id",
        "transcript_path",
        "cwd",
        "prompt_id",
        "permission_mode",
        "effort",
        "hook_event_name",
        "stop_hook_active",
        "last_assistant_message",
        "background_tasks",
        "session_crons",
    ]
    assert (event["hook_event_name"], event["stop_hook_active"]) == ("Stop", False)
    assert event["cwd"] == str(project.path)
    assert Path(event["transcript_path"]).is_file()
    assert text.count("\n") == 1
    assert text.endswith("\n")


def test_an_event_is_sent_exactly_as_given(run_hook: RunHook) -> None:
    assert received(run_hook, {"cwd": "/nonexistent", "n": [1]})["stdin"] == '{"cwd":"/nonexistent","n":[1]}\n'
    assert received(run_hook, {})["stdin"] == "{}\n"


@pytest.mark.parametrize("stdin", ["not json", b"not json", ""])
def test_stdin_in_place_of_an_event(run_hook: RunHook, stdin: str | bytes) -> None:
    assert received(run_hook, stdin=stdin)["stdin"] == ("not json" if stdin else "")


def test_stdin_that_stays_open(run_hook: RunHook) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"the beginning\n")
    with os.fdopen(reader) as stdin, os.fdopen(writer, "wb"):
        result = run_hook(stdin=stdin, command="read line; echo $line")
    assert result.stdout == "the beginning\n"


def test_an_event_and_stdin_are_too_much(run_hook: RunHook) -> None:
    with pytest.raises(TypeError, match="not both"):
        run_hook({}, stdin="")


def test_the_environment_is_the_clients(run_hook: RunHook, project: Project, events: Events) -> None:
    env = received(run_hook, events.stop(session_id="abc"))["env"]
    assert env["CLAUDECODE"] == "1"
    assert env["CLAUDE_PROJECT_DIR"] == str(project.path)
    assert env["CLAUDE_CODE_SESSION_ID"] == "abc"
    assert env["HOME"] == str(project.home)
    assert "CLAUDE_PLUGIN_ROOT" not in env


def test_the_test_has_the_last_word_on_the_environment(run_hook: RunHook, project: Project) -> None:
    project.env["FROM_PROJECT"] = "1"
    project.env["CLAUDE_CODE_ENTRYPOINT"] = "sdk"
    project.env["BOTH"] = "project"
    env = received(run_hook, env={"BOTH": "call", "CLAUDE_PROJECT_DIR": None, "NOT_THERE": None})["env"]
    assert (env["FROM_PROJECT"], env["CLAUDE_CODE_ENTRYPOINT"], env["BOTH"]) == ("1", "sdk", "call")
    assert "CLAUDE_PROJECT_DIR" not in env
    assert "BOTH" not in received(run_hook, env={"BOTH": None})["env"]


def test_the_working_directory_is_the_project_unless_the_agent_changed_it(run_hook: RunHook, project: Project) -> None:
    assert received(run_hook)["cwd"] == str(project.path)
    below = project.path / "src"
    below.mkdir()
    seen = received(run_hook, cwd=below)
    assert seen["cwd"] == seen["env"]["PWD"] == json.loads(seen["stdin"])["cwd"] == str(below)
    assert seen["env"]["CLAUDE_PROJECT_DIR"] == str(project.path)


def test_a_string_is_for_the_shell_and_a_list_is_not(run_hook: RunHook) -> None:
    assert run_hook(command="echo $((1 + 1)) | cat").stdout == "2\n"
    assert run_hook(command=["echo", "$((1 + 1)) | cat"]).stdout == "$((1 + 1)) | cat\n"
    assert run_hook(command="printf %s $0").stdout == "/bin/sh"


def test_the_result_knows_the_run(run_hook: RunHook, events: Events) -> None:
    result = run_hook(command="echo out; echo err >&2; exit 7")
    assert (result.exit_code, result.stdout, result.stderr) == (7, "out\n", "err\n")
    assert result.command == "echo out; echo err >&2; exit 7"
    assert 0 < result.duration < 30
    assert result.event_name == "Stop"
    assert run_hook(events.pre_tool_use("Write"), command="exit 0").event_name == "PreToolUse"
    assert run_hook({"hook_event_name": 5}, command="exit 0").event_name == "Stop"


def test_output_that_is_not_utf_8_stays_readable(run_hook: RunHook) -> None:
    assert run_hook(command=r"printf 'a\377b'").stdout == "a\ufffdb"


def test_states_are_kept_from_before_and_after(run_hook: RunHook, project: Project) -> None:
    project.make_plan("one").state.raw("1")
    result = run_hook(command="cd .taskie/plans; printf 2 > one/state.json; mkdir two; printf 3 > two/state.json")
    assert result.states_before == {"one": "1"}
    assert result.states_after == {"one": "2", "two": "3"}


def test_a_state_that_is_not_a_file_is_harmless(run_hook: RunHook, project: Project) -> None:
    os.mkfifo(project.make_plan("fifo").path / "state.json")
    (project.make_plan("folder").path / "state.json").mkdir()
    project.make_plan("large").state.raw("x" * 70_000)
    assert run_hook(command="true").states_before == {
        "fifo": "(not a regular file)",
        "folder": "(not a regular file)",
        "large": "(70000 bytes)",
    }


def test_an_unread_stdin_does_not_hang(run_hook: RunHook) -> None:
    assert run_hook({"filler": "x" * 3_000_000}, command="exit 0").exit_code == 0


def test_a_large_event_arrives_whole(run_hook: RunHook) -> None:
    assert run_hook({"filler": "x" * 3_000_000}, command="wc -c").stdout.strip() == "3000014"


def test_a_child_that_stays_behind_does_not_hang_the_test_and_is_left_alone(run_hook: RunHook) -> None:
    result = run_hook(command="sleep 60 & echo $!", timeout=30)
    child = int(result.stdout)
    try:
        assert result.duration < 20
        os.kill(child, 0)
    finally:
        os.kill(child, 9)


def test_a_child_that_keeps_a_large_stdin_unread_does_not_hang_the_test(run_hook: RunHook) -> None:
    result = run_hook({"filler": "x" * 3_000_000}, command="exec 3<&0; sleep 60 <&3 & echo $!", timeout=30)
    os.kill(int(result.stdout), 9)
    assert result.duration < 20


def test_a_hook_that_cannot_be_started(run_hook: RunHook, tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"could not be started: .*(?s:.*)command: +/no/such/hook"):
        run_hook(command=["/no/such/hook"])
    with pytest.raises(pytest.fail.Exception, match="could not be started"):
        run_hook(command="true", cwd=tmp_path / "nowhere")


def test_past_the_timeout_the_test_fails_with_what_was_printed_so_far(run_hook: RunHook) -> None:
    with pytest.raises(pytest.fail.Exception) as failure:
        run_hook(command="echo so far; echo complaint >&2; sleep 60", timeout=1.5)
    assert str(failure.value).split("\n") == [
        "The hook did not end within 1.5 s; it and its processes were killed.",
        "command:   echo so far; echo complaint >&2; sleep 60",
        "stdout so far:",
        "    so far",
        "stderr so far:",
        "    complaint",
    ]


def gone(pid: int) -> bool:
    """Whether a process ends within some seconds: a killed one stays in the table until its parent looks."""
    for _ in range(500):
        try:
            os.kill(pid, 0)
            if (
                Path("/proc/self").exists()
                and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
            ):
                return True
        except (ProcessLookupError, FileNotFoundError):
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("trap '' TERM; echo $$ >> pids; sleep 61; sleep 62", id="ignores SIGTERM"),
        pytest.param("(sleep 61 & echo $! >> pids); sleep 62", id="an orphan"),
        pytest.param("(echo $$ >> pids; sleep 61) & sleep 62 & echo $! >> pids; wait", id="children"),
        pytest.param(
            "import os, time\n"
            "if os.fork() == 0:\n"
            "    os.setsid()\n"
            "    open('pids', 'a').write(f'{os.getpid()}\\n')\n"
            "    if os.fork() == 0:\n"
            "        open('pids', 'a').write(f'{os.getpid()}\\n')\n"
            "time.sleep(63)\n",
            id="a session of its own",
        ),
    ],
)
def test_past_the_timeout_nothing_survives(run_hook: RunHook, project: Project, script: str) -> None:
    command = [sys.executable, "-c", script] if script.startswith("import") else script
    with pytest.raises(pytest.fail.Exception):
        run_hook(command=command, timeout=2)
    pids = [int(line) for line in (project.path / "pids").read_text().split()]
    assert pids
    assert all(gone(pid) for pid in pids)


def test_past_the_timeout_nothing_survives_where_there_is_no_proc(
    run_hook: RunHook, project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if not shutil.which("ps"):
        pytest.skip("no ps here")
    monkeypatch.setattr("pytest_taskie._processes.PROC", tmp_path)
    with pytest.raises(pytest.fail.Exception):
        run_hook(command="sleep 61 & echo $! > pid; wait", timeout=2)
    assert gone(int((project.path / "pid").read_text()))


def test_an_interrupted_test_leaves_no_hook_behind(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import os, signal, threading, time

        def test_it(run_hook, project):
            pid = project.path / "pid"
            # A shell that starts pytest in the background has it ignore the signal.
            signal.signal(signal.SIGINT, signal.default_int_handler)

            def interrupt():
                while not (pid.exists() and pid.read_text()):
                    time.sleep(0.01)
                os.kill(os.getpid(), signal.SIGINT)

            threading.Thread(target=interrupt).start()
            try:
                # Once the hook has read its stdin, run_hook has nothing to do but to wait.
                run_hook(command="cat > /dev/null; echo $$ > pid; exec sleep 60")
            finally:
                print("HOOK", pid.read_text())
        """
    )
    outcome = pytester.runpytest_subprocess("-s", "-p", "no:randomly")
    outcome.stdout.fnmatch_lines(["*KeyboardInterrupt*"])
    line = next(line for line in outcome.outlines if "HOOK" in line)
    assert gone(int(line.split("HOOK")[1]))
