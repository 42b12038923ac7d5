"""Where the agent lives: a project, the hook at its stops, a reviewer that is asked for real. Knows no test.

Commands and the hook run in this process, the reviewer is a program. What was reviewed is what that program was asked
for, and not what anybody says about it.
"""

from __future__ import annotations

import hashlib
import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from support.commands import Taskie

from following.agent import Agent, Commit, DeadEnd, MakeDirectory, Move, Moves, Run, Stop, Tasks, Write
from pytest_taskie import Events, HookResult, Project

CONTINUE = "/taskie:continue-plan"
MOST_TURNS = 30


@dataclass(frozen=True)
class Story:
    """What is to be done, in which order that must happen, and what the reviewer objects to at first."""

    tasks: Tasks
    order: Sequence[str]
    fails: Sequence[str]

    @property
    def chapters(self) -> list[str]:
        """The turns of an undisturbed life."""
        return ["new-plan", "create-tasks", *(f"task-{task}" for task in self.order), "all-code-review", "complete"]

    @property
    def reviewed(self) -> list[str]:
        """What is reviewed, in order: each subject until two reviews in a row find nothing."""
        subjects = ("plan", "tasks", *(f"task-{task}" for task in self.order), "all-code")
        found: list[str] = []
        for subject in subjects:
            in_a_row = number = 0
            while in_a_row < 2:
                number += 1
                found.append(f"{subject}-review-{number}.md")
                in_a_row = 0 if found[-1] in self.fails else in_a_row + 1
        return found


# Whoever takes the first pending row takes the wrong one: the second task needs the third.
STORY = Story(
    {"1": ("-", 2), "2": ("3", 1), "3": ("-", 1)},
    ("1", "3", "2"),
    ("plan-review-1.md", "task-1-review-1.md", "all-code-review-1.md"),
)
SHORT_STORY = Story({"1": ("2", 1), "2": ("-", 1)}, ("2", "1"), ("task-2-review-1.md",))
REVIEWER = r"""#!/bin/sh
# A reviewer that is quicker than an interpreter. Like the real one, it spares a file that is already there.
for prompt; do :; done
file=${{prompt##*Write your review to }}
file=${{file%%.md*}}.md
name=${{file##*/}}
echo "$name" >> {log}
{interlude}
case " {fails} " in *" $name "*) verdict=FAIL ;; *) verdict=PASS ;; esac
[ -e "$file" ] || echo "# Review $(wc -l < {log}): $verdict" > "$file"
echo '{{"type": "result", "is_error": false, "result": "", "structured_output": {{"verdict": "'$verdict'"}}}}'
"""
Hook = Callable[..., HookResult]


def written_by(move: Move) -> str | None:
    """What a move changes, for people; None for one that only looks, or stops."""
    if isinstance(move, Run):
        return None if move.words[0] == "next" else " ".join(move.words)
    if isinstance(move, Commit):
        return f"commit {move.message!r}"
    if isinstance(move, (MakeDirectory, Write)):
        return f"{type(move).__name__.lower()} {move.path.strip('/').rpartition('/')[2]}"
    return None


@dataclass(frozen=True)
class Point:
    """A moment before a write or a stop: what lay on disk, and what the agent was about to do."""

    chapter: str
    about: str
    copy: Path
    asked: tuple[str, ...]
    active: bool  # a block has come before in this turn
    session: str
    is_write: bool


@dataclass
class World:
    """One project with its agent. `asked`: the review files that the reviewer was asked to write, in order."""

    project: Project
    taskie: Taskie
    hook: Hook
    story: Story = STORY
    asked: list[str] = field(default_factory=list)
    session: str = field(default_factory=lambda: str(uuid.uuid4()))
    active: bool = False
    turns: int = 0  # that have ended
    point: Callable[[World, str, bool], None] = lambda *_: None
    seen: set[tuple[str | None, ...]] = field(default_factory=set)
    answered_twice: list[str] = field(default_factory=list)
    unrecorded: set[str] = field(default_factory=set)  # reviews whose hook was killed before it could say so

    def __post_init__(self) -> None:
        self.agent = Agent(self.project.path, self.story.tasks)
        self.log = self.project.path.parent / "asked"
        self.reviewer()

    def reviewer(self, interlude: str = "") -> None:
        """Put the reviewer on the project's PATH."""
        program = self.project.path.parent / "bin" / "claude"
        program.parent.mkdir(exist_ok=True)
        program.write_text(REVIEWER.format(log=self.log, fails=" ".join(self.story.fails), interlude=interlude))
        program.chmod(0o755)
        if str(program.parent) not in self.project.env["PATH"].split(":"):
            self.project.env["PATH"] = f"{program.parent}:{self.project.env['PATH']}"

    # Turns.

    def live(self, *prompts: str) -> None:
        """These prompts one after the other, then `continue-plan` until the plan is complete."""
        for turn in range(MOST_TURNS):
            if self.is_complete():
                return
            self.turn(prompts[turn] if turn < len(prompts) else CONTINUE)
        raise DeadEnd(f"not complete after {MOST_TURNS} turns: {self.agent.state()}")

    def turn(self, prompt: str) -> None:
        """One prompt, up to the stop that the hook allows."""
        self.active = False
        self.note("user", f"<command-message>taskie</command-message>\n<command-name>{prompt}</command-name>")
        self.play(self.agent.turn(prompt))
        self.turns += 1

    def stop_here(self) -> None:
        """The agent stops where nobody has told it to, and does as the hook says; then there is a new turn.

        It may have said that the work is there to be reviewed, and not have done all of it.
        """
        result = self.stop(in_the_middle=True)
        if result is not None:
            asks_for_answer = "-post-review-" in result
            # What is wrong with the plan's files is no news to an agent that has not written them all yet.
            self.play(self.agent.obeying(result) if asks_for_answer else self.agent.turn(CONTINUE))

    def play(self, moves: Moves) -> None:
        reply: str | None = None
        while True:
            move = next(moves) if reply is None else moves.send(reply)
            if isinstance(move, Stop):
                self.point(self, "stop", False)
                reply = self.stop()
                if reply is None:
                    moves.close()
                    return
            else:
                reply = self.perform(move)

    def perform(self, move: Move) -> str:
        """One move of the agent; what comes back from it."""
        self.note("assistant", [{"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": str(move)}}])
        about = written_by(move)
        if about is not None:
            self.point(self, about, True)
        if isinstance(move, Run):
            done = self.taskie(*move.words)
            if done.code:
                raise DeadEnd(f"taskie {' '.join(move.words)} is refused: {done.err}")
            if about is None:
                self.look_for_a_circle(done.out)
            return done.out
        if isinstance(move, Commit):
            self.project.git("add", "--all")
            committed = self.project.git("commit", "--allow-empty", "--message", move.message)
            return committed.partition("]")[0].split()[-1]
        if isinstance(move, MakeDirectory):
            (self.project.path / move.path).mkdir(parents=True)
        if isinstance(move, Write):
            if "-post-review-" in move.path and (self.project.path / move.path).exists():
                self.answered_twice.append(move.path)
            (self.project.path / move.path).write_text(move.text, encoding="utf-8")
        return ""

    def stop(self, *, in_the_middle: bool = False) -> str | None:
        """The Stop event as the client sends it; the feedback, if the turn goes on."""
        events = Events(cwd=self.project.path, session_id=self.session, transcript_path=self.transcript)
        before = self.plan_files()
        result = self.hook(events.stop(stop_hook_active=self.active))
        assert (result.fault, result.exit_code) == (None, 0), result.report()
        self.look_at_the_reviews(before, in_the_middle)
        reading = result.reading
        if result.approved:
            return None
        self.active = True
        return reading.reason or reading.context

    # Evidence.

    def look_at_the_reviews(self, before: dict[str, str], in_the_middle: bool) -> None:
        """Of which subject a review was asked for, and what became of the reviews that lay there."""
        for name in self.told()[len(self.asked) :]:
            subject = name.rpartition("-review-")[0]
            self.asked.append(name)
            unfinished = self.unfinished(subject)
            assert not unfinished or (in_the_middle and name in self.story.fails), (
                f"{name} was asked for, but {unfinished}"
            )
            answer = name.replace("-review-", "-post-review-")
            kept = name not in before or answer in before or name in self.unrecorded
            assert kept, f"{name} was not answered yet, and is overwritten"

    def told(self) -> list[str]:
        """The review files that the reviewer says it was asked for."""
        return self.log.read_text().split() if self.log.exists() else []

    def unfinished(self, subject: str) -> str | None:
        """What a reviewer of this subject would miss."""
        if "## Overview" not in self.agent.read("plan.md"):
            return "there is only half a plan"
        if subject != "plan" and any(not self.agent.read(f"task-{task}.md") for task in self.story.tasks):
            return "not all tasks are written"
        tasks = (
            list(self.story.tasks) if subject == "all-code" else [subject[5:]] if subject.startswith("task-") else []
        )
        for task in tasks:
            if "**Status**: pending" in self.agent.read(f"task-{task}.md"):
                return f"task {task} is not implemented"
        return None

    def look_for_a_circle(self, answer: str) -> None:
        step = json.loads(answer)
        here = (step["action"], step["task"], self.digest())
        assert here not in self.seen, f"{step['action']} for the second time, and nothing has changed: {step['why']}"
        self.seen.add(here)

    def digest(self) -> str:
        """What lies on disk, but for git's own."""
        found = hashlib.sha256()
        for path in sorted((*self.project.path.glob("*.py"), *self.agent.path.glob("*"))):
            found.update(f"{path}\0".encode() + path.read_bytes())
        return found.hexdigest()

    def plan_files(self) -> dict[str, str]:
        return {path.name: path.read_text() for path in self.agent.path.glob("*.md")}

    def is_complete(self) -> bool:
        state = self.agent.state()
        return state.get("phase") == "complete" and state.get("next_phase") is None

    def check(self, *again: str) -> None:
        """A plan that has come to its end as it should: no review too many or too few, but those asked for again."""
        asked = list(self.asked)
        for name in again:
            asked.remove(name)
        assert asked == self.story.reviewed
        assert self.is_complete()
        assert not self.answered_twice
        assert self.agent.rows() == dict.fromkeys(self.story.tasks, "done")
        for name in self.asked:
            assert name in self.plan_files(), f"{name} is lost"
        files = self.plan_files()
        for name, following in zip(self.story.reviewed, self.story.reviewed[1:]):
            subject = name.rpartition("-review-")[0]
            answer = name.replace("-review-", "-post-review-")
            assert answer in files or not following.startswith(f"{subject}-review-"), f"{name} has no answer"

    # Sessions.

    @property
    def transcript(self) -> Path:
        return self.project.transcript.with_name(f"{self.session}.jsonl")

    def note(self, role: str, content: object) -> None:
        """The client keeps what is said and done."""
        with self.transcript.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"type": role, "message": {"role": role, "content": content}}) + "\n")

    def new_session(self) -> None:
        self.session = str(uuid.uuid4())
        self.active = False
