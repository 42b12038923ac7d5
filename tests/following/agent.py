"""An agent that does what Taskie says and nothing else: one turn is a generator of its moves. Knows no hook, no client.

What to do comes from the product: from `taskie next`, from the texts in `actions/`, from the feedback of a stop. The
agent knows only how a sentence of these texts is carried out; their order, and every state command, are the texts' own.
It reads the project's files itself, and leaves every change to whoever drives it.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, Union

from support import ROOT

PLAN = "greeting"
Tasks = Mapping[str, tuple[str, int]]  # what each task needs before it, and how many subtasks it has
PLAN_TEXTS = (
    "# Greeting\n\n## Original Prompt\n\nGreet everybody.\n",
    "\n## Clarifications\n\nNone.\n\n## Overview\n\nA function for each greeting.\n",
)
COMMAND = re.compile(r"`taskie (state [^`]+)`")
POST_REVIEW = re.compile(r"(?:[\w./-]*/)?((plan|tasks|task-([\w-]+?)|all-code)-post-review-(\d+)\.md)")
IN_ONE_STEP = re.compile(r"bin/taskie[\"']? (state set(?: --plan \S+)?(?: \w+=[\w-]+)+)")
REPAIR = re.compile(r"`taskie (state repair[^`]*)`")
ROW_TO_FINISH = re.compile(r"Task ([\w-]+) has passed its reviews: set its row to done")


@dataclass(frozen=True)
class Write:
    """The agent writes a file, below the project's root."""

    path: str
    text: str


@dataclass(frozen=True)
class MakeDirectory:
    """The agent makes a directory, below the project's root."""

    path: str


@dataclass(frozen=True)
class Run:
    """The agent runs `taskie`; what it prints comes back."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Commit:
    """The agent commits everything; the commit's hash comes back."""

    message: str


@dataclass(frozen=True)
class Stop:
    """The agent stops; the feedback of the hook comes back, if the turn goes on."""

    says: str


Move = Union[Write, MakeDirectory, Run, Commit, Stop]
Moves = Generator[Move, str, None]


class DeadEnd(AssertionError):
    """What the product says cannot be followed."""


class Agent:
    """One agent in one project."""

    def __init__(self, project: Path, tasks: Tasks) -> None:
        self.project = project
        self.tasks = tasks
        self.path = project / ".taskie" / "plans" / PLAN

    def turn(self, prompt: str) -> Moves:
        """What it does on a slash command, up to the stop that is allowed."""
        command, _, words = prompt.removeprefix("/taskie:").partition(" ")
        if command == "continue-plan":
            yield from self.carry_on()
        else:
            text = (ROOT / "actions" / f"{command}.md").read_text(encoding="utf-8")
            yield from self.carry_out(command, text, words or None, "")
        yield from self.until_allowed(Stop("Done."))

    def until_allowed(self, stop: Stop) -> Moves:
        while True:
            feedback = yield stop
            yield from self.obey(feedback)

    def obeying(self, feedback: str) -> Moves:
        """What it does on the feedback of a stop, up to the stop that is allowed."""
        yield from self.obey(feedback)
        yield from self.until_allowed(Stop("Done."))

    def carry_on(self) -> Moves:
        """What `continue-plan` says."""
        answer = yield Run(("next", "--json"))
        step = json.loads(answer)
        yield from self.finish_rows(step["why"])
        if step["action"] == "stop":
            return
        if step["action"] == "complete":
            (command,) = COMMAND.findall(steps_of((ROOT / "actions" / "continue-plan.md").read_text(encoding="utf-8")))
            if self.state().get("phase") != "complete" or self.state().get("next_phase") is not None:
                yield Run(filled(command, None))
            return
        if step["action"] == "ask" and (repair := REPAIR.search(step["why"])):
            yield Run(tuple(shlex.split(repair[1])))
            yield from self.carry_on()
            return
        if step["file"] is None:
            raise DeadEnd(f"nobody but the user can go on: {step}")
        text = Path(step["file"]).read_text(encoding="utf-8")
        yield from self.carry_out(step["action"], text, step["task"], step["why"])

    def carry_out(self, action: str, text: str, task: str | None, why: str) -> Moves:
        """An action, sentence by sentence in the order in which they stand there."""
        steps = steps_of(text)
        found = sorted(
            (
                (match.start(), carries_out, match)
                for phrase, carries_out in SENTENCES
                for match in phrase.finditer(steps)
            ),
            key=lambda at: at[0],
        )
        job = Job(action, steps, task, why)
        if action not in ACTIONS or {carries_out.__name__ for _, carries_out, _ in found} != ACTIONS[action]:
            raise DeadEnd(f"the agent does not understand {action}: {[match[0] for *_, match in found]}")
        for _, carries_out, match in found:
            yield from carries_out(self, job, match)

    def obey(self, feedback: str) -> Moves:
        """What the feedback of a stop asks for."""
        named = POST_REVIEW.search(feedback)
        if named is None:
            raise DeadEnd(f"feedback that asks for nothing: {feedback}")
        yield from self.address(named)
        (command,) = IN_ONE_STEP.findall(feedback)
        yield Run(tuple(shlex.split(command)))
        yield Commit("Answer a review")

    # What the sentences of the actions mean.

    def state_command(self, job: Job, match: re.Match[str]) -> Moves:
        """A command as it stands there; of two, the one whose condition holds."""
        if job.commands is None:
            job.commands = state_commands(job.steps, self.state().get("next_phase"))
        if match[1] in job.commands:
            yield Run(filled(match[1], job.task))

    def choose(self, job: Job, _match: re.Match[str]) -> Moves:
        """The task that was named, else one in progress, else the first pending one whose prerequisites are done."""
        done = {task for task, status in self.rows().items() if status == "done"}
        free = [task for task in self.rows() if task not in done and self.tasks[task][0] in {"-", *done}]
        begun = [task for task in free if self.rows()[task] == "in-progress"]
        if not (job.task or free):
            raise DeadEnd(f"{job.action}, but there is no task: {job.why}")
        job.task = job.task or (begun or free)[0]
        yield from ()

    def begin_row(self, job: Job, _match: re.Match[str]) -> Moves:
        yield from self.set_row(job, "in-progress")

    def finish_row(self, job: Job, _match: re.Match[str]) -> Moves:
        yield from self.set_row(job, "done")

    def set_row(self, job: Job, status: str) -> Moves:
        assert job.task is not None, f"{job.action}: which task?"
        table = self.read("tasks.md")
        yield from self.write(
            "tasks.md", re.sub(rf"^\| {job.task} \| [\w-]+ ", f"| {job.task} | {status} ", table, flags=re.M)
        )

    def finish_rows(self, why: str) -> Moves:
        """`taskie next` may say that a row was forgotten."""
        for match in ROW_TO_FINISH.finditer(why):
            yield from self.set_row(Job("next", "", match[1], why), "done")

    def implement(self, job: Job, _match: re.Match[str]) -> Moves:
        """Each subtask: the code, its status, a commit, the commit's hash; those that are done already are left."""
        task = job.task = job.task or self.state()["current_task"]
        for number in range(1, self.tasks[task][1] + 1):
            name = f"task_{task}_{number}"
            if not (self.project / f"{name}.py").exists():
                yield Write(f"{name}.py", f"def {name}() -> str:\n    return 'Hello'\n")
            yield from self.write(f"task-{task}.md", self.subtask(task, number, "Status", "done"))
            if not re.search(
                rf"### Subtask {task}\.{number}\b.*?commit hash\*\*: \w", self.read(f"task-{task}.md"), re.S
            ):
                hash_ = yield Commit(f"Implement {name}")
                yield from self.write(f"task-{task}.md", self.subtask(task, number, "Git commit hash", hash_.strip()))

    def subtask(self, task: str, number: int, field: str, value: str) -> str:
        """The task's file with one field of one subtask changed."""
        pattern = rf"(### Subtask {task}\.{number}\b.*?- \*\*{field}\*\*:)[^\n]*"
        return re.sub(pattern, lambda found: f"{found[1]} {value}", self.read(f"task-{task}.md"), count=1, flags=re.S)

    def make_directory(self, _job: Job, _match: re.Match[str]) -> Moves:
        if not self.path.exists():
            yield MakeDirectory(self.name(""))

    def write_plan(self, *_: object) -> Moves:
        """In two steps, as agents write long texts; half a plan is continued."""
        for length in range(1, len(PLAN_TEXTS) + 1):
            if not self.read("plan.md").startswith("".join(PLAN_TEXTS[:length])):
                yield Write(self.name("plan.md"), "".join(PLAN_TEXTS[:length]))

    def write_tasks(self, _job: Job, _match: re.Match[str]) -> Moves:
        head = "| Id | Status | Priority | Prerequisites | Description |\n|----|----|----|----|----|\n"
        rows = (f"| {task} | pending | high | {needs} | Greeting {task} |\n" for task, (needs, _) in self.tasks.items())
        if not self.rows():
            yield Write(self.name("tasks.md"), head + "".join(rows))
        for task, (_, subtasks) in self.tasks.items():
            parts = (
                f"\n### Subtask {task}.{n}: Greet\n- **Status**: pending\n- **Git commit hash**:\n"
                for n in range(1, subtasks + 1)
            )
            if not (self.path / f"task-{task}.md").exists():
                yield Write(self.name(f"task-{task}.md"), f"# Task {task}: Greet\n" + "".join(parts))

    def answer(self, job: Job, _match: re.Match[str]) -> Moves:
        """The post-review of the review that was named, or else of the newest."""
        subject = {"post-code-review": f"task-{job.task}"}.get(job.action, job.action[5:].removesuffix("-review"))
        named = re.search(rf"\b{subject}-review-(\d+)\.md", job.why)
        newest = max(self.path.glob(f"{subject}-review-*.md"), key=lambda path: path.stat().st_mtime_ns)
        number = named[1] if named else newest.stem.rpartition("-")[2]
        file = POST_REVIEW.fullmatch(f"{subject}-post-review-{number}.md")
        assert file, subject
        yield from self.address(file)

    def address(self, post: re.Match[str]) -> Moves:
        """What a review found is dealt with in its subject, and its answer written."""
        name, subject, task, number = post.groups()
        if "FAIL" in self.read(f"{subject}-review-{number}.md"):
            if subject == "plan":
                yield from self.write_plan()  # if somebody had only half of it reviewed
                addressed = f"\nReview {number} is addressed.\n"
                if addressed not in self.read("plan.md"):
                    yield Write(self.name("plan.md"), self.read("plan.md") + addressed)
            else:
                code = f"task_{task or next(iter(self.tasks))}_1.py"
                comment = f"# {subject}: review {number} is addressed.\n"
                text = (self.project / code).read_text(encoding="utf-8")
                if comment not in text:
                    yield Write(code, text + comment)
        yield Write(self.name(name), f"# Answer to review {number}\n")

    def commit(self, job: Job, _match: re.Match[str]) -> Moves:
        yield Commit(job.action)

    # The project as it lies there.

    def name(self, file: str) -> str:
        return f".taskie/plans/{PLAN}/{file}"

    def read(self, file: str) -> str:
        path = self.path / file
        return path.read_text(encoding="utf-8") if path.exists() else ""

    def write(self, file: str, text: str) -> Moves:
        """A file of the plan, unless it says so already."""
        if self.read(file) != text:
            yield Write(self.name(file), text)

    def rows(self) -> dict[str, str]:
        """The status of every task."""
        return dict(re.findall(r"^\| (\d+) \| ([\w-]+) ", self.read("tasks.md"), re.M))

    def state(self) -> dict[str, Any]:
        """What `state.json` says; nothing, if it cannot be read."""
        try:
            found = json.loads(self.read("state.json") or "{}")
        except ValueError:
            return {}
        return found if isinstance(found, dict) else {}


def steps_of(text: str) -> str:
    """The numbered steps of an action, as one line."""
    return " ".join(re.split(r"\n(?=1\. )", text, maxsplit=1)[1].split())


def state_commands(text: str, next_phase: object) -> list[str]:
    """The state commands in an action's text; where there are two, the one whose condition holds."""
    commands = COMMAND.findall(text)
    condition = re.search(r"If `next_phase` is `\"([a-z-]+)\"`", text)
    return [commands[next_phase != condition[1]]] if condition else commands


def filled(command: str, task: str | None) -> tuple[str, ...]:
    """A command with its placeholders filled in."""
    words = command.replace("{plan-id}", PLAN)
    if "{id}" in words:
        assert task is not None, f"{command}: which task?"
        words = words.replace("{id}", task)
    return tuple(shlex.split(words))


@dataclass
class Job:
    """An action that is being carried out."""

    action: str
    steps: str
    task: str | None
    why: str
    commands: list[str] | None = None  # those of its state commands whose condition held when it came to the first


CarriesOut = Callable[[Agent, Job, "re.Match[str]"], Moves]
SENTENCES: list[tuple[re.Pattern[str], CarriesOut]] = [
    (COMMAND, Agent.state_command),
    (re.compile(r"create `\.taskie/plans/\{plan-id\}/`"), Agent.make_directory),
    (re.compile(r"Write `plan\.md`"), Agent.write_plan),
    (re.compile(r"Write `tasks\.md`"), Agent.write_tasks),
    (re.compile(r"Take the task that"), Agent.choose),
    (re.compile(r"Set its status to `in-progress`"), Agent.begin_row),
    (re.compile(r"Implement (?:its|the) subtasks|Implement what is left"), Agent.implement),
    (re.compile(r"[Ss]et the task's status to `done`"), Agent.finish_row),
    (re.compile(r"Write `[\w{}-]+-post-review-\{n\}\.md`"), Agent.answer),
    (re.compile(r"\bCommit,"), Agent.commit),
]
# Which sentences the agent must find in an action: one that it overlooks would prove nothing.
_TASK = {"choose", "begin_row", "implement", "finish_row", "state_command"}
_ANSWER = {"answer", "state_command", "commit"}
ACTIONS = {
    "new-plan": {"make_directory", "write_plan", "state_command", "commit"},
    "create-tasks": {"write_tasks", "state_command", "commit"},
    "complete-task": _TASK,
    "complete-task-tdd": _TASK,
    "continue-task": {"implement", "finish_row", "state_command"},
    **dict.fromkeys(("post-plan-review", "post-tasks-review", "post-code-review", "post-all-code-review"), _ANSWER),
}
