"""Copilot CLI, Qwen Code and Gemini CLI as reviewers: how each is called, and how its answer is read.

What they make of these options is in `tests/client/test_taskie_elsewhere.py`.
"""

from __future__ import annotations

import json
import shlex
import stat
from pathlib import Path
from typing import Any

import pytest
import support

from pytest_taskie import Plan, Project, RunHook, assert_approved, assert_blocked
from taskie.plans.providers import PROVIDERS
from taskie.plans.reviewed import read
from taskie.project import plugin_root

pytestmark = pytest.mark.state

HOOK = str(Path(plugin_root()) / "hooks" / "stop-hook.sh")
NEW = ("copilot", "qwen", "gemini")
FILE = ".taskie/plans/test-plan/plan-review-1.md"
PASS = '{"verdict": "PASS"}'


class Fake:
    """A program of that name on PATH, which writes its review, and prints what it is told. It keeps what it got."""

    def __init__(self, project: Project, name: str) -> None:
        self._folder = project.home / "bin"
        self._name = name
        self._folder.mkdir(exist_ok=True)
        project.env["PATH"] = f"{self._folder}:{project.env['PATH']}"

    def prints(self, text: str, code: int = 0, writes: bool = True) -> None:
        (self._folder / "said").write_text(text)
        program = self._folder / self._name
        kept = shlex.quote(str(self._folder))
        write = f"echo '# Review' > {FILE}" if writes else ""
        program.write_text(
            f"#!/bin/sh\nprintf '%s\\0' \"$@\" > {kept}/argv\n"
            f"cp .taskie/plans/test-plan/.review-1.log.* {kept}/ 2> /dev/null\n{write}\ncat {kept}/said\nexit {code}\n"
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)

    @property
    def argv(self) -> list[str]:
        return (self._folder / "argv").read_text().split("\0")[:-1]

    @property
    def policy(self) -> str:
        return (self._folder / ".review-1.log.policy.toml").read_text()


@pytest.fixture
def configured(project: Project, plan: Plan) -> Any:
    """Reviewed by this client, with these settings."""

    def make(client: str, **settings: Any) -> Fake:
        lines = [f"{name} = {json.dumps(value)}\n" for name, value in {"models": [f"{client}:m-1"], **settings}.items()]
        support.configure(project.home, "[review]\n" + "".join(lines))
        plan.state.write(review_model=f"{client}:m-1", consecutive_clean=1)
        return Fake(project, client)

    return make


def printed(client: str, answer: str) -> str:
    """What each prints, in short, where its model ends with these words."""
    if client == "copilot":
        events = [
            {"type": "assistant.message", "data": {"content": "I look.", "toolRequests": [{"name": "view"}]}},
            {"type": "assistant.message", "data": {"content": answer, "toolRequests": []}},
            {"type": "result", "exitCode": 0, "usage": {"premiumRequests": 1}},
        ]
        return "".join(json.dumps(event) + "\n" for event in events)
    if client == "qwen":
        said = json.loads(answer.rpartition("\n")[2])
        usage = {"input_tokens": 9, "output_tokens": 2, "cache_read_input_tokens": 4, "total_tokens": 15}
        result = {"type": "result", "is_error": False, "num_turns": 3, "result": json.dumps(said), "usage": usage}
        return json.dumps([{"type": "system"}, {**result, "structured_result": said}])
    tokens = {"input": 5, "prompt": 9, "candidates": 2, "total": 11, "cached": 4}
    return json.dumps({"session_id": "s", "response": answer, "stats": {"models": {"m-1": {"tokens": tokens}}}})


@pytest.mark.parametrize("client", NEW)
def test_its_verdict_counts(client: str, configured: Any, plan: Plan, run_hook: RunHook) -> None:
    fake = configured(client)
    fake.prints(printed(client, f"Fine.\n{PASS}"))
    assert_approved(run_hook(command=[HOOK, "--fail-open"]), "Plan review passed")
    assert (plan.path / "plan-review-1.md").exists()
    assert not list(plan.path.glob(".*"))
    assert fake.argv[fake.argv.index("--model") + 1] == "m-1"
    (entry,) = [json.loads(line) for line in (plan.path / "reviews.jsonl").read_text().splitlines()]
    assert (entry["model"], entry["verdict"], entry["cost_usd"]) == (f"{client}:m-1", "PASS", None)
    tokens = {"qwen": (9, 2, 4), "gemini": (5, 2, 4)}.get(client)
    said = entry["tokens"]
    assert tokens == (said and (said["input"], said["output"], said["cache_read"]))


@pytest.mark.parametrize("client", NEW)
def test_what_it_may_do(client: str, configured: Any, project: Project, plan: Plan, run_hook: RunHook) -> None:
    """In a client little more than read; for a script, whatever its options for that allow."""
    fake = configured(client)
    fake.prints(printed(client, '{"verdict": "FAIL"}'))
    assert_blocked(run_hook(command=[HOOK, "--fail-open"]))
    freely = {"copilot": "--allow-all", "qwen": "--yolo", "gemini": "--yolo"}[client]
    assert freely not in fake.argv
    prompt = fake.argv[fake.argv.index("--prompt") + 1]
    assert "Anything else is refused" in prompt
    assert ("JSON object that fits this schema" in prompt) is (client != "qwen")
    allowed = fake.policy if client == "gemini" else "\n".join(fake.argv)
    for expected in {
        "copilot": [f"--allow-tool=write({project.path}/{FILE})"],
        "qwen": [f"--allowed-tools=write_file(/{FILE})", "default", "--safe-mode", "--no-chat-recording"],
        "gemini": ['toolName = "write_file"', 'decision = "allow"', r"plan\\-review\\-1\\.md"],
    }[client]:
        assert expected in allowed
    plan.state.write(review_model=f"{client}:m-1")
    assert_blocked(run_hook(env={"TASKIE_REVIEW_PERMISSIONS": "skip"}))
    assert freely in fake.argv
    assert "Anything else is refused" not in fake.argv[fake.argv.index("--prompt") + 1]


@pytest.mark.parametrize("client", NEW)
def test_without_a_name_it_is_the_model_that_it_is_set_to(
    client: str, configured: Any, plan: Plan, run_hook: RunHook
) -> None:
    fake = configured(client, models=[f"{client}:"])
    plan.state.write(review_model=f"{client}:")
    fake.prints(printed(client, '{"verdict": "FAIL"}'))
    assert_blocked(run_hook())
    assert "--model" not in fake.argv


@pytest.mark.parametrize("client", NEW)
def test_a_plans_budget_does_not_count_it_and_that_is_said(client: str, configured: Any, run_hook: RunHook) -> None:
    configured(client, plan_budget_usd=5).prints(printed(client, '{"verdict": "FAIL"}'))
    said = run_hook(command=[HOOK, "--fail-open"]).system_message or ""
    assert "review.plan_budget_usd does not count this review: its client does not say what it cost" in said


def test_hooks_are_kept_if_one_wants_them(configured: Any, run_hook: RunHook) -> None:
    fake = configured("qwen", hooks="keep", max_turns=7)
    fake.prints(printed("qwen", '{"verdict": "FAIL"}'))
    assert_blocked(run_hook(command=[HOOK, "--fail-open"]))
    assert "--safe-mode" not in fake.argv
    assert fake.argv[fake.argv.index("--max-session-turns") + 1] == "7"


@pytest.mark.parametrize("client", NEW)
def test_one_that_is_not_there(client: str, configured: Any, plan: Plan, run_hook: RunHook) -> None:
    configured(client)
    before = plan.state.read()
    result = run_hook(env={"PATH": "/usr/bin:/bin"})
    assert_approved(result, f"{client} was not found on PATH; install it or take its models out of review.models")
    assert plan.state == before


@pytest.mark.parametrize("client", NEW)
def test_one_that_prints_nonsense_and_fails(client: str, configured: Any, plan: Plan, run_hook: RunHook) -> None:
    fake = configured(client)
    fake.prints("nonsense", code=3)
    assert_approved(run_hook(), "Review failed: the reviewer exited with code 3")


@pytest.mark.parametrize(
    ("answer", "clean"),
    [
        (PASS, True),
        (f"Fine.\n\n```json\n{PASS}\n```\n", True),
        ('{"verdict": "FAIL"}\nOr rather:\n{"verdict": "PASS"}', True),
        ('{"verdict": "PASS"}\nOr rather:\n{"verdict": "FAIL"}', False),
        (f"{PASS} was what I wanted to say.", False),
        ('{"verdict": "PASS", "findings": [{"what": "a } in {braces}"}]}', True),
        ("PASS", False),
        ("", False),
        (f"[{PASS}", True),
        ('{"other": {"verdict": "PASS"}}', False),
        ("{" * 20_000, False),
    ],
)
@pytest.mark.parametrize("client", ["copilot", "gemini"])
def test_the_object_at_the_end_is_the_verdict(client: str, answer: str, clean: bool) -> None:
    assert read(PROVIDERS[client].document(printed(client, answer).encode())).clean is clean


@pytest.mark.parametrize("client", NEW)
@pytest.mark.parametrize(
    "output", ["", "x", "[]", "{}", "[1]", '[{"error": 1}]', '{"response": 1, "stats": {"models": []}}']
)
def test_output_of_another_kind_is_no_verdict(output: str, client: str) -> None:
    assert read(PROVIDERS[client].document(output.encode())).clean is False


@pytest.mark.parametrize(
    ("client", "output"),
    [
        ("copilot", '{"type": "session.error", "data": {"message": "quota"}}\n'),
        ("qwen", '[{"type": "result", "is_error": true, "error": {"message": "quota"}}]'),
        ("gemini", '{"error": {"type": "ApiError", "message": "quota", "code": 400}}'),
    ],
)
def test_what_went_wrong_is_told(client: str, output: str, configured: Any, run_hook: RunHook) -> None:
    fake = configured(client)
    fake.prints(output, code=1, writes=False)
    assert_approved(run_hook(), "Review failed: the reviewer exited with code 1: quota")
