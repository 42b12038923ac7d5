"""The slash commands in the real client: they expand, and they lead from nothing to `complete`."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie import Plan, Project
from pytest_taskie.client import repeat, tool, verdict
from taskie.plans.phases import REVIEWS, Review
from taskie.project import plugin_root

from .shared import Staying

pytestmark = pytest.mark.client

ROOT = Path(plugin_root())
ACTIONS = sorted(path.stem for path in (ROOT / "actions").glob("*.md"))
PARTS = ("hooks", "taskie", "actions", "skills", "personas", "bin", ".claude-plugin", "ground-rules.md")
Client = Callable[..., Any]
Ask = Callable[..., str]
ASKS = {
    "plan-review": "plan review action",
    "tasks-review": "tasks review action",
    "code-review": "code review action",
    "all-code-review": "all-code-review action",
}
FRESH = ["phase_iteration=0", "review_model=opus", "consecutive_clean=0"]


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The plugin in a path with a space."""
    root = tmp_path / "my plugins" / "taskie"
    root.mkdir(parents=True)
    for part in PARTS:
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, root / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / part, root / part)
    return root


def told(run: Any) -> str:
    """Everything that the model was told."""
    return "\n".join(json.dumps(request.body, ensure_ascii=False) for request in run.requests)


def test_every_command_expands_from_a_marketplace(claude_client: Client, copy: Path, plan: Plan) -> None:
    client = claude_client()
    for words in (["marketplace", "add", str(copy)], ["install", "taskie@taskie"]):
        done = client.command("plugin", *words)
        assert done.exit_code == 0, done.stdout + done.stderr
    staying = Staying(client)
    for name in ACTIONS:
        client.agent("Understood.", when=re.compile(f"taskie:{name}</command-name>"))
        run = staying.prompt(f"/taskie:{name} with 'these' $WORDS")
        text = told(run)
        for file in ("ground-rules.md", f"actions/{name}.md"):
            for line in (ROOT / file).read_text().splitlines():
                assert json.dumps(line, ensure_ascii=False)[1:-1] in text, f"{name}: {file} did not reach the model"
        assert "with 'these' $WORDS" in text
        assert str(copy / "bin" / "taskie") in text
        assert [stop.decision for stop in run.stops] == [None], "the hook fires"
        assert "has no state.json" in (run.stops[0].stdout or "")


BOOKKEEPING = {
    "add-task": "state set current_task=2",
    "claudex-status": "claudex status",
    "autopilot": "autopilot status",
}


@pytest.mark.parametrize("allowed", [True, False], ids=["allowed", "without-allowed-tools"])
@pytest.mark.parametrize("name", BOOKKEEPING)
def test_our_own_bookkeeping_asks_nobody(
    name: str, allowed: bool, claude_client: Client, copy: Path, plan: Plan, version: tuple[int, ...]
) -> None:
    """In the default permission mode, as our texts spell the call, also after a block; anything else still asks."""
    if version < (2, 1):
        pytest.skip("this client has no commands from skills")
    plan.state.write(phase="next-task", next_phase=None, current_task="1")
    skill = copy / "skills" / name / "SKILL.md"
    if not allowed:
        skill.write_text(re.sub("^allowed-tools: .*\n", "", skill.read_text(), flags=re.MULTILINE))
    command = copy / "bin" / "taskie"
    calls = [f'"{command}" {BOOKKEEPING[name]}', f"'{command}' {BOOKKEEPING[name]}", f'"{command}" doctor']
    calls += [f'"{command}" autopilot test', "make test"]  # programs of the project, with our help or without
    block = """grep -q '"stop_hook_active":false' && echo '{"decision": "block", "reason": "go on"}'"""
    client = claude_client(plugin=copy, tools=None, hooks={"Stop": block})
    first, *others = [tool("Bash", command=call) for call in calls]
    client.agent(first, "Done.", *others, "Done again.")
    run = client.prompt(f"/taskie:{name} x")
    denied = [denial["tool_input"]["command"] for denial in run.result["permission_denials"]]
    assert denied == (calls[2:] if allowed else calls)
    assert plan.state.read()["current_task"] == ("2" if allowed and name == "add-task" else "1")


@pytest.mark.long
def test_the_readmes_way_in_and_out(claude_client: Client, copy: Path, plan: Plan) -> None:
    """Its lines as they stand, in a clone; `git pull` there is an update, since the plugin runs from it. Plans stay."""
    plans = {path: path.read_bytes() for path in plan.path.iterdir()}
    page = (ROOT / "README.md").read_text()
    block_in, block_out = re.findall(r"^```console\n((?:claude plugin .*\n)+)^```$", page, re.MULTILINE)
    client = claude_client(tools=None)

    def run(block: str) -> None:
        for line in block.splitlines():
            done = client.command(*line.split()[1:], cwd=copy)
            assert done.exit_code == 0, done.stdout + done.stderr

    def status(name: str) -> Any:
        client.agent("Understood.", when=name)
        return client.prompt(f"/taskie:status {name}")

    run(block_in)
    assert "line by line as it is" in told(status("first"))
    skill = copy / "skills" / "status" / "SKILL.md"
    skill.write_text(skill.read_text().replace("line by line as it is", "in the words of a newer version"))
    run_again = status("second")
    assert "in the words of a newer version" in told(run_again)
    assert len(run_again.stops) == 1
    run(block_out)
    client.agent("Understood.", when="third")
    assert not client.prompt("third").stops
    assert {path: path.read_bytes() for path in plan.path.iterdir()} == plans


class TestWithThePluginAlone:
    """What a person does to the loop: as our texts spell the call, in the default permission mode, asking nobody."""

    @pytest.fixture
    def client(self, claude_client: Client, copy: Path, version: tuple[int, ...]) -> Any:
        if version < (2, 1):
            pytest.skip("this client has no commands from skills")
        client = claude_client(tools=None, env={"PATH": without_taskie(os.environ["PATH"])})
        for words in (["marketplace", "add", str(copy)], ["install", "taskie@taskie"]):
            done = client.command("plugin", *words)
            assert done.exit_code == 0, done.stdout + done.stderr
        return client

    @pytest.fixture
    def ask(self, client: Any, copy: Path) -> Callable[..., str]:
        """The agent carries out the call that the command's text has, and ends its turn: what the call answers."""
        staying = Staying(client)
        # A reviewer, which nobody may ask here, would find none left.
        turns: list[Any] = ["Understood."]
        client.agent(repeat(lambda _: turns.pop(0)))
        asked = json.dumps(staying.prompt("/taskie:status where are you").requests[0].body)
        # The plugin's place as this client spells it; one of them ends it with a slash of its own.
        (root,) = re.findall(r'`\\"([^`"]*)/bin/taskie\\" status', asked)

        def ask(name: str, words: str = "") -> str:
            text = (copy / "skills" / name / "SKILL.md").read_text()
            spelled = re.search(f'`("[^`]*/bin/taskie" {name}[^`]*)`', text)
            assert spelled
            command = spelled[1].replace("${CLAUDE_PLUGIN_ROOT}", root)
            turns[:] = [tool("Bash", command=command.replace(" N", f" {words}")), "That is all."]
            run = staying.prompt(f"/taskie:{name} {words}".rstrip())
            assert turns == []
            assert json.dumps(command)[1:-1] in json.dumps(run.requests[0].body), "the model was not told this call"
            assert run.result["permission_denials"] == []
            assert [stop.decision for stop in run.stops] == [None]
            return str(run.requests[-1].last)

        return ask

    def test_without_a_plan(self, ask: Ask, project: Project) -> None:
        said = ask("doctor")
        assert "the plugin taskie@taskie is enabled in" in said
        assert "The hook can" in said, "also with an exit code of 1"
        assert "/taskie:new-plan begins one" in ask("status")
        assert "no review loop to leave" in ask("stop")
        assert "/taskie:new-plan begins one" in ask("limit", "3")

    def test_with_a_plan(self, ask: Ask, plan: Plan) -> None:
        """At first a review is due: the stop of the one who says stop is not caught."""
        before = plan.state.write()
        assert "the review loop is left" in ask("stop")
        assert plan.state.read() == {**before, "next_phase": None}

        plan.state.write(phase="complete", next_phase=None)
        assert "test-plan" in ask("status")
        assert "at most 3 reviews" in ask("limit", "3")
        assert plan.state.read()["max_reviews"] == 3

    def test_without_a_state(self, ask: Ask, plan: Plan) -> None:
        for state, left in (("{", "no loop to leave"), (None, "in no review loop")):
            if state:
                (plan.path / "state.json").write_text(state)
            else:
                plan.remove("state.json")
            assert "state.json" in ask("status")
            assert "The hook can" in ask("doctor")
            assert left in ask("stop")
            assert "state.json" in ask("limit", "3")


def without_taskie(path: str) -> str:
    return os.pathsep.join(each for each in path.split(os.pathsep) if not (Path(each) / "taskie").exists())


class Story:
    """A plan in the real client: the agent's moves, and what is asked after each."""

    def __init__(self, client: Any, project: Project) -> None:
        self.client = client
        self.staying = Staying(client)
        self.plan = Plan(project.path / ".taskie" / "plans" / "greeting")

    def write(self, name: str, text: str) -> Any:
        return tool("Write", file_path=self.plan.path / name, content=text)

    def taskie(self, *words: str) -> Any:
        return tool("Bash", command=shlex.join([str(ROOT / "bin" / "taskie"), *words]))

    def set(self, *fields: str) -> Any:
        return self.taskie("state", "set", *fields)

    def table(self, *statuses: str) -> Any:
        rows = "".join(f"| {n} | {status} | Task {n} |\\n" for n, status in enumerate(statuses, 1))
        text = f"| Id | Status | Description |\\n|----|----|----|\\n{rows}"
        return tool("Bash", command=f"printf '{text}' > {shlex.quote(str(self.plan.path / 'tasks.md'))}")

    def reviews(self, phase: str, *verdicts: str, task: str = "1", first: int = 1) -> None:
        turns: list[Any] = []
        for number, word in enumerate(verdicts, first):
            turns += [self.write(REVIEWS[phase].file(number, task), f"# Review {number}"), verdict(word)]
        subject = REVIEWS[phase].subject.format(task=task)
        self.client.agent(*turns, when=re.compile(f"{ASKS[phase]} .*/{subject}-review-"))

    def answer(self, review: Review, number: int = 1, task: str = "1") -> list[Any]:
        written = self.write(review.post_file(number, task), "# Fixed")
        return [written, self.set(f"phase={review.post}", f"next_phase={review.phase}"), "Answered."]

    def run(self, prompt: str, *turns: Any) -> Any:
        command, _, words = prompt.partition(" ")
        args = rf"\s*<command-args>{re.escape(words)}<" if words else ""
        self.client.agent(*turns, when=re.compile(f"{command[1:]}</command-name>{args}"))
        return self.staying.prompt(prompt)

    def asked_next(self, run: Any) -> dict[str, Any]:
        """What `taskie next --json` told the agent in this run."""
        for request in run.requests:
            if '"why"' in request.last:
                found: dict[str, Any] = json.loads(request.last[request.last.index("{") : request.last.rindex("}") + 1])
                return found
        raise AssertionError("taskie next was not asked")

    def state(self, *fields: str) -> tuple[Any, ...]:
        read = self.plan.state.read()
        return tuple(read[field] for field in fields or ("phase", "next_phase"))

    def make_plan(self) -> list[Any]:
        return [
            self.write("plan.md", "# Greeting\n\n## Overview\n\nGreets.\n"),
            self.set("--plan", "greeting", "phase=new-plan"),
        ]

    def make_tasks(self) -> list[Any]:
        files = [
            self.write(f"task-{n}.md", f"# Task {n}\n\n### Subtask {n}.1\n- **Status**: pending\n") for n in (1, 2)
        ]
        start = self.set("phase=create-tasks", "next_phase=tasks-review", "current_task=null", *FRESH)
        return [self.table("pending", "pending"), *files, start]

    def do_task(self, number: int, variant: str) -> list[Any]:
        done = tool("Bash", command=f"sed -i s/pending/done/ {shlex.quote(str(self.plan.path / f'task-{number}.md'))}")
        table = self.table(*(["done", "pending"] if number == 1 else ["done", "done"]))
        tdd = "true" if variant.endswith("-tdd") else "false"
        end = self.set(f"phase={variant}", "next_phase=code-review", f"current_task={number}", *FRESH, f"tdd={tdd}")
        return [done, table, end]


@pytest.mark.long
def test_from_nothing_to_complete(claude_client: Client, project: Project) -> None:
    story = Story(claude_client(plugin=ROOT, timeout=120), project)
    ask = story.taskie("next", "--json")
    story.reviews("plan-review", "PASS", "PASS")
    run = story.run(
        "/taskie:new-plan a greeting", *story.make_plan(), "Planned.", *story.answer(REVIEWS["plan-review"])
    )
    assert [stop.decision for stop in run.stops] == ["block", None]
    assert story.state() == ("plan-review", "create-tasks")

    story.reviews("tasks-review", "PASS", "PASS")
    tasks = [ask, *story.make_tasks(), "Tasks are there.", *story.answer(REVIEWS["tasks-review"])]
    run = story.run("/taskie:continue-plan one", *tasks)
    assert story.asked_next(run)["action"] == "create-tasks"
    assert story.state("phase", "next_phase", "consecutive_clean") == ("tasks-review", "complete-task", 2)

    first_task(story, "complete-task")
    run = second_task(story, "complete-task")
    asked = story.asked_next(run)
    assert (asked["action"], asked["task"]) == ("complete-task", "2")
    assert story.state("phase", "next_phase", "phase_iteration") == ("code-review", "all-code-review", 0)

    story.reviews("all-code-review", "FAIL", "PASS", "PASS")
    last = REVIEWS["all-code-review"]
    run = story.run("/taskie:continue-plan three", ask, "Stopping.", *story.answer(last, 1), *story.answer(last, 2))
    assert story.asked_next(run)["action"] == "stop"
    assert [stop.decision for stop in run.stops] == ["block", "block", None]
    assert f"perform the {last.post} action" in run.feedback[0]
    assert story.state() == ("all-code-review", "complete")
    assert story.state("phase_iteration", "consecutive_clean") == (3, 2)

    run = story.run("/taskie:continue-plan four", ask, story.set("phase=complete", "next_phase=null"), "All done.")
    assert story.asked_next(run)["action"] == "complete"
    assert story.state() == ("complete", None)


def first_task(story: Story, variant: str) -> None:
    story.reviews("code-review", "PASS", "PASS")
    story.run(f"/taskie:{variant} 1", *story.do_task(1, variant), "Done.", *story.answer(REVIEWS["code-review"]))
    assert story.state("phase", "next_phase", "tdd") == ("code-review", variant, variant.endswith("-tdd"))


def second_task(story: Story, variant: str) -> Any:
    story.reviews("code-review", "PASS", "PASS", task="2")
    answer = story.answer(REVIEWS["code-review"], task="2")
    ask = story.taskie("next", "--json")
    return story.run("/taskie:continue-plan two", ask, *story.do_task(2, variant), "Done.", *answer)


@pytest.mark.long
def test_what_was_begun_with_tests_goes_on_with_tests(claude_client: Client, project: Project) -> None:
    """Nothing differs before the first task, and nothing after the last."""
    story = Story(claude_client(plugin=ROOT, timeout=120), project)
    project.make_plan("greeting", state={"phase": "tasks-review", "next_phase": "complete-task"})
    first_task(story, "complete-task-tdd")
    run = second_task(story, "complete-task-tdd")
    asked = story.asked_next(run)
    assert (asked["action"], asked["task"]) == ("complete-task-tdd", "2")
    assert story.state("phase", "next_phase", "tdd") == ("code-review", "all-code-review", True)
