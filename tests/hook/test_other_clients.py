"""Events of other clients than Claude Code: what each calls things, how it is answered, and that its turns end."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie import HookResult, Plan, Project, RunHook
from taskie.project import plugin_root

ROOT = plugin_root()
HOOK = f"{ROOT}/hooks/stop-hook.sh"
# As each client sends them, in short: see `tests/client/test_taskie_elsewhere.py`.
STOPS: dict[str, dict[str, Any]] = {
    "codex": {"hook_event_name": "Stop", "turn_id": "t"},
    "copilot": {"hook_event_name": "Stop", "timestamp": "2026-11-18T20:03:55.887Z", "stop_reason": "end_turn"},
    "qwen": {"hook_event_name": "Stop", "timestamp": "2026-11-18T20:04:02.124Z", "permission_mode": "yolo"},
    "gemini": {"hook_event_name": "AfterAgent", "timestamp": "2026-11-18T20:03:57.222Z", "prompt_response": "Done."},
}
UNCAPPED = ["codex", "gemini"]
WRITES: dict[str, dict[str, Any]] = {
    "copilot": {"hook_event_name": "PreToolUse", "timestamp": "t", "tool_name": "Write"},
    "qwen": {"hook_event_name": "PreToolUse", "timestamp": "t", "permission_mode": "yolo", "tool_name": "write_file"},
    "gemini": {"hook_event_name": "BeforeTool", "timestamp": "t", "tool_name": "write_file"},
}
EDITS = {"copilot": "Edit", "qwen": "edit", "gemini": "replace"}


def stop(client: str, project: Project, *, active: bool = False) -> dict[str, Any]:
    return {"session_id": "s-1", "cwd": str(project.path), "stop_hook_active": active, **STOPS[client]}


def assert_blocked(result: HookResult, reason: str = "") -> None:
    """Without a judge: it would ask what Claude Code makes of it."""
    assert result.json["decision"] == "block", result
    assert reason in result.json["reason"]


def assert_approved(result: HookResult, message: str = "") -> None:
    assert "decision" not in result.json, result
    assert message in result.json.get("systemMessage", "")


def unreviewable(plan: Plan) -> None:
    """What the hook blocks on by itself, without a review."""
    plan.remove("plan.md")


@pytest.mark.parametrize("client", STOPS)
def test_a_stop_is_blocked_with_what_all_take(client: str, project: Project, plan: Plan, run_hook: RunHook) -> None:
    unreviewable(plan)
    result = run_hook(stop(client, project), command=f"{HOOK} --fail-open")
    assert_blocked(result, "Missing required file: plan.md")
    assert set(result.json) == {"decision", "reason"}
    assert_approved(run_hook(stop(client, project, active=True), command=f"{HOOK} --fail-open"))


@pytest.mark.parametrize("client", STOPS)
@pytest.mark.parametrize("engine", ["gauntlet", "claudex", "autopilot"])
def test_no_dialect_of_an_engines_own(engine: str, client: str, project: Project, run_hook: RunHook) -> None:
    result = run_hook(
        stop(client, project), command=f"{sys.executable} -m taskie {engine} stop-hook", env={"PYTHONPATH": ROOT}
    )
    assert set(result.json) <= {"suppressOutput", "systemMessage"}


class TestATurnEnds:
    """In clients that let a hook block for ever, the hook itself stops to."""

    @pytest.mark.parametrize("client", STOPS)
    def test_after_the_same_reason_eight_times(
        self, client: str, project: Project, plan: Plan, run_hook: RunHook
    ) -> None:
        """A client that never says that it was blocked before, nor which turn it is."""
        unreviewable(plan)
        command = f"{HOOK} --fail-open"
        event = {**stop(client, project), **({"turn_id": None} if client == "codex" else {})}
        for _ in range(8):
            assert_blocked(run_hook(event, command=command))
        ninth = run_hook(event, command=command)
        if client in UNCAPPED:
            assert_approved(ninth, "Not blocked again, after 8 times for the same reason in a row: Plan")
            assert_blocked(run_hook(event, command=command))  # the next turn begins anew
        else:
            assert_blocked(ninth)  # the client ends it

    @pytest.mark.parametrize("client", UNCAPPED)
    def test_a_stop_in_the_turn_that_was_blocked_is_one_after_a_block(
        self, client: str, project: Project, plan: Plan, run_hook: RunHook
    ) -> None:
        """Gemini CLI says so only until the agent uses a tool, but it sends the turn's prompt."""
        unreviewable(plan)
        of_a_turn = {"codex": "turn_id", "gemini": "prompt"}[client]

        def stops(turn: str) -> HookResult:
            return run_hook({**stop(client, project), of_a_turn: turn}, command=f"{HOOK} --fail-open")

        assert_blocked(stops("one"))
        assert_approved(stops("one"), "Missing required file: plan.md")
        assert_blocked(stops("one"))
        assert_blocked(stops("two"))

    @pytest.mark.parametrize("client", UNCAPPED)
    def test_each_session_is_counted_for_itself(
        self, client: str, project: Project, plan: Plan, run_hook: RunHook
    ) -> None:
        unreviewable(plan)
        for number in range(10):
            event = {**stop(client, project), "session_id": f"s-{number}"}
            assert_blocked(run_hook(event, command=f"{HOOK} --fail-open"))

    @pytest.mark.parametrize("client", UNCAPPED)
    def test_what_cannot_be_counted_is_not_blocked(
        self, client: str, project: Project, plan: Plan, run_hook: RunHook, tmp_path: Path
    ) -> None:
        unreviewable(plan)
        (tmp_path / "file").touch()
        env = {"XDG_CACHE_HOME": str(tmp_path / "file")}
        result = run_hook(stop(client, project), command=f"{HOOK} --fail-open", env=env)
        assert_approved(result, "Missing required file: plan.md")
        assert "The stop is allowed" in result.json["systemMessage"]

    def test_after_a_hundred_for_different_reasons(self, project: Project) -> None:
        from taskie.cap import bounded
        from taskie.protocol import Decision, parse_event

        event = parse_event(json.dumps(stop("gemini", project, active=True)).encode())
        env = {"XDG_CACHE_HOME": str(project.home / "cache")}
        decisions = (Decision(reason=f"reason {number}") for number in range(102))
        said = [bounded(event, env, lambda _: next(decisions)) for _ in range(102)]
        assert [each.reason is None for each in said] == [False] * 100 + [True, False]
        assert said[100].message == "Not blocked again, after 100 times in a row: reason 100"


class TestATool:
    """Autopilot denies code before the plan, whatever the client calls its tools."""

    @pytest.fixture
    def guarded(self, project: Project) -> Project:
        command = [sys.executable, "-m", "taskie", "autopilot", "init", "FTR-1", "spec.md"]
        subprocess.run(command, cwd=project.path, env={**project.env, "PYTHONPATH": ROOT}, check=True, timeout=60)
        return project

    @pytest.mark.parametrize("client", WRITES)
    @pytest.mark.parametrize("edits", [False, True], ids=["writes", "edits"])
    def test_is_denied_in_the_clients_own_words(
        self, edits: bool, client: str, guarded: Project, run_hook: RunHook
    ) -> None:
        file = str(guarded.path / "src" / "a.py")
        given = {"path": file} if client == "copilot" else {"file_path": file}
        event = {"session_id": "s", "cwd": str(guarded.path), **WRITES[client], "tool_input": given}
        if edits:
            event["tool_name"] = EDITS[client]
        said = run_hook(event, command=f"{HOOK} --pre-tool-use").json
        if client == "gemini":
            assert set(said) == {"decision", "reason"}
            assert (said["decision"], "no plan yet" in said["reason"]) == ("deny", True)
        else:
            (specific,) = said.values()
            assert specific["permissionDecision"] == "deny"

    @pytest.mark.parametrize("client", WRITES)
    def test_that_only_reads_is_let_through(self, client: str, guarded: Project, run_hook: RunHook) -> None:
        event = {"session_id": "s", "cwd": str(guarded.path), **WRITES[client], "tool_name": "read_file"}
        assert run_hook(event, command=f"{HOOK} --pre-tool-use").stdout == ""


def test_a_hook_that_is_started_in_the_projects_root(project: Project, plan: Plan, run_hook: RunHook) -> None:
    """Copilot CLI does so, wherever the agent is: the shell must not say that there is nothing."""
    unreviewable(plan)
    root = project.path.parent
    event = stop("copilot", project)
    env = {"CLAUDE_PROJECT_DIR": str(root), "COPILOT_PROJECT_DIR": str(root)}
    assert_blocked(run_hook(event, command=f"cd {root} && {HOOK} --fail-open", env=env), "Missing required file")


def test_a_qwen_transcript_is_no_proof_that_a_session_did_nothing(
    project: Project, plan: Plan, run_hook: RunHook
) -> None:
    unreviewable(plan)
    said = {"type": "user", "message": {"role": "user", "parts": [{"text": "go on"}]}}
    project.transcript.write_text(json.dumps(said) + "\n")
    event = {**stop("qwen", project), "transcript_path": str(project.transcript)}
    assert_blocked(run_hook(event, command=f"{HOOK} --fail-open"), "Missing required file")
