"""The whole loop in the real Claude Code, with the real Codex as its reviewer: nothing is faked but the models."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie import FakeCli, Project
from pytest_taskie.client import ClaudeClient, tool
from pytest_taskie.client._codex import CONFIG
from pytest_taskie.client._fixtures import clients, installation
from pytest_taskie.client._responses import RESPONSES
from pytest_taskie.client._server import MESSAGES
from taskie.editing import read_pairs
from taskie.project import plugin_root

pytestmark = pytest.mark.client

ROOT = Path(plugin_root())
TASKIE = shlex.quote(str(ROOT / "bin" / "taskie"))
Client = Callable[..., Any]
CLEAN = "No substantive findings.\n"


class ClaudeWithCodex(ClaudeClient):
    """Claude Code whose script also speaks to a Codex that the agent starts: the same network, the same address."""

    dialects = {**MESSAGES, **RESPONSES}  # noqa: RUF012 - as in the class that it extends

    def _prepare(self, url: str, env: Mapping[str, str]) -> None:
        home = Path(env["HOME"]) / ".codex"
        home.mkdir(parents=True, exist_ok=True)
        (home / "config.toml").write_text(CONFIG.format(url=url), encoding="utf-8")

    def _address(self, url: str) -> Mapping[str, str]:
        return {**super()._address(url), "OPENAI_API_KEY": "dummy"}


@pytest.fixture
def client(request: pytest.FixtureRequest, project: Project, tmp_path: Path) -> Iterator[type[ClaudeClient]]:
    """Claude Code as `claude_client` makes it, with the real `codex` on PATH."""
    program = tmp_path / "codex-bin" / "codex"
    program.parent.mkdir()
    command = shlex.join(installation("codex", request.config).command)
    program.write_text(f'#!/bin/sh\nexec {command} "$@"\n')
    program.chmod(0o755)
    project.env["PATH"] = f"{project.env['PATH']}:{program.parent}"
    project.git()
    yield from clients("claude", ClaudeWithCodex, request)


class Loop:
    """What the loop has left in the project."""

    def __init__(self, project: Project) -> None:
        self.root = project.path
        self.directory = project.path / ".claude" / "claudex"

    @property
    def id(self) -> str:
        (state,) = self.directory.glob("*.state")
        return state.name[:22]

    @property
    def state(self) -> dict[str, str]:
        return read_pairs((self.directory / f"{self.id}.state").read_bytes())

    def findings(self, round_: int) -> str:
        return (self.directory / self.id / f"findings-round-{round_}.md").read_text()

    @property
    def log(self) -> str:
        return (self.directory / "log").read_text()


@pytest.fixture
def loop(project: Project) -> Loop:
    return Loop(project)


def commands(text: str) -> list[str]:
    """The commands in a block's code blocks: the runner, then mark-done."""
    return [command.strip() for command in re.findall(r"```sh\n(.*?)```", text, re.DOTALL)]


def follow(number: int) -> Callable[[Any], Any]:
    """The agent runs a command that the block has just told it; the first is the runner."""
    return lambda request: tool("Bash", command=told(request, number))


def told(request: Any, number: int) -> str:
    """The newest block in the conversation, and one of its commands."""
    texts = [text for message in request.messages for text in _texts(message) if "## Claudex" in text]
    return commands(texts[-1])[number]


def _texts(message: Mapping[str, Any]) -> list[str]:
    content = message.get("content", "")
    if isinstance(content, str):
        return [content]
    return [str(block.get("text", "")) for block in content if isinstance(block, Mapping)]


def findings(text: str) -> Callable[[Any], Any]:
    """Codex writes its findings to the file that its prompt names."""

    def write(request: Any) -> Any:
        asked = request.prompt.partition("Write your findings to this file")[2]  # before it, those of earlier rounds
        path = next(line for line in asked.splitlines() if re.search(r"/findings-round-\d+\.md$", line))
        return tool("exec_command", cmd=f"printf %s {shlex.quote(text)} > {shlex.quote(path)}")

    return write


def test_a_plan_survives(client: Client, loop: Loop) -> None:
    topic = "a greeting that costs $(nothing) and isn't `free`"
    start = f"{TASKIE} claudex start plan --topic-file - <<'CLAUDEX_TOPIC'\n{topic}\nCLAUDEX_TOPIC"
    revised = "# Plan\n\n1. Greet, with tests.\n\n## Changelog\n\n### Round 1\n- Tests added.\n"
    claude = client(plugin=ROOT, timeout=120)
    claude.agent(
        tool("Bash", command=start),
        tool("Bash", command="printf '# Plan\\n\\n1. Greet.\\n' > PLAN.md"),
        "The plan is written.",
        follow(0),
        tool("Bash", command=f"printf %s {shlex.quote(revised)} > PLAN.md"),
        "Revised.",
        follow(0),
        "Nothing is left.",
    )
    claude.agent(findings("## High\n- no tests\n\n## Medium\n\n## Low\n- a name\n"), "Found two.", when="round 1 of 3")
    claude.agent(findings(CLEAN), "Found nothing.", when="round 2 of 3")
    run = claude.prompt(f"/taskie:claudex-plan {topic}")

    assert [stop.decision for stop in run.stops] == ["block", "block", None]
    assert [stop.active for stop in run.stops] == [False, True, True]
    assert (loop.state["phase"], loop.state["decision_signal"], loop.state["round"]) == (
        *("done", "no-material-findings"),
        "2",
    )
    assert loop.state["session_id"] == run.stops[0].stdin["session_id"]
    assert "- no tests" in loop.findings(1)
    assert loop.findings(2) == CLEAN
    assert "## Changelog" in (loop.root / "PLAN.md").read_text()
    assert sorted(path.name for path in loop.directory.iterdir()) == [".gitignore", loop.id, f"{loop.id}.state", "log"]
    assert f'"{ROOT}/bin/taskie" claudex start plan --topic-file -' in run.requests[0].prompt, (
        "the command has expanded"
    )
    asked = [request for request in claude.requests if request.path.endswith("/responses")]
    assert asked, "the real Codex has asked its model"
    assert topic in asked[0].prompt
    assert "senior engineer" in asked[0].prompt
    assert "security and data integrity" in asked[-1].prompt
    (summary,) = [message for message in run.system_messages if "no-material-findings after round 2" in message]
    assert "| security and data integrity |" in summary
    assert str(loop.directory / loop.id / "findings-round-1.md") in asked[-1].prompt


def test_an_agent_that_does_not_run_the_reviewer_is_let_go(client: Client, loop: Loop) -> None:
    claude = client(plugin=ROOT)
    claude.agent(
        tool("Bash", command=f"{TASKIE} claudex start plan x && echo '# Plan' > PLAN.md"),
        "Written.",
        "I would rather not.",
    )
    run = claude.prompt("go on")
    assert [stop.decision for stop in run.stops] == ["block", None]
    assert (loop.state["phase"], loop.state["round"]) == ("reviewing", "1")
    assert any("the review of round 1 has not been run" in message for message in run.system_messages)


def test_more_rounds_than_the_clients_cap_of_blocks(client: Client, loop: Loop) -> None:
    """Each round runs the reviewer, a tool call: so the client's cap is never reached, and the rounds end it."""
    rounds = 10
    claude = client(plugin=ROOT, timeout=240)
    begin = tool("Bash", command=f"{TASKIE} claudex start plan x --rounds {rounds} && echo '# Plan' > PLAN.md")
    claude.agent(begin, "Written.", *(turn for _ in range(rounds) for turn in (follow(0), "Revised.")))
    turns = [turn for _ in range(rounds) for turn in (findings("## High\n- again\n"), "Found one.")]
    claude.agent(*turns, when="adversarial reviewer of a plan")
    run = claude.prompt("go on")
    assert [stop.decision for stop in run.stops] == ["block"] * rounds + [None]
    assert (loop.state["phase"], loop.state["decision_signal"]) == ("done", "max-reached")


def test_the_diff_is_reviewed(client: Client, loop: Loop) -> None:
    claude = client(plugin=ROOT, timeout=120)
    claude.agent(tool("Bash", command=f"{TASKIE} claudex start review"), "Started.", follow(0), "Here is what it says.")

    def review(request: Any) -> Any:
        paths = [line for line in request.prompt.splitlines() if re.search(r"/reviews/[a-z-]+-[0-9a-f-]+\.md$", line)]
        assert len(paths) == 2
        return tool("exec_command", cmd="; ".join(f"echo {CLEAN.strip()} > {shlex.quote(path)}" for path in paths))

    claude.agent(review, "Written.", when="adversarial reviewer of a change")
    run = claude.prompt("/taskie:claudex-review")
    assert [stop.decision for stop in run.stops] == ["block", None]
    assert (loop.root / "reviews" / f"review-{loop.id}.md").read_text() == CLEAN
    assert (loop.root / "reviews" / f"proposed-fixes-{loop.id}.md").exists()
    assert any("the review is in reviews" in message for message in run.system_messages)


class TestWithAFakeCodex:
    """The real Claude Code, and a script in the place of Codex: what a person is told in it."""

    @pytest.fixture(autouse=True)
    def repository(self, project: Project) -> None:
        project.git()

    def test_nothing_substantive_ends_the_loop(self, claude_client: Client, fake_codex: FakeCli, loop: Loop) -> None:
        fake_codex.runs("printf 'No substantive findings.' > \"$(echo .claude/claudex/*/)findings-round-1.md\"")
        claude = claude_client(plugin=ROOT)
        begin = tool("Bash", command=f"{TASKIE} claudex start plan x && echo '# Plan' > PLAN.md")
        claude.agent(begin, "Written.", follow(0), "Nothing was found.")
        run = claude.prompt("go on")
        assert [stop.decision for stop in run.stops] == ["block", None]
        assert (loop.state["phase"], loop.state["decision_signal"]) == ("done", "no-material-findings")
        (summary,) = [message for message in run.system_messages if "no-material-findings after round 1" in message]
        assert "| senior engineer |" in summary
        assert "says the agent" not in summary
        assert len(fake_codex.calls) == 1

    def test_an_agent_that_claims_a_review_which_it_did_not_run(self, claude_client: Client, loop: Loop) -> None:
        claude = claude_client(plugin=ROOT)
        begin = tool("Bash", command=f"{TASKIE} claudex start plan x && echo '# Plan' > PLAN.md")
        claude.agent(begin, "Written.", follow(1), "Done.")
        run = claude.prompt("go on")
        assert [stop.decision for stop in run.stops] == ["block", None]
        assert (loop.state["phase"], loop.state["decision_signal"]) == ("done", "no-material-findings")
        assert any("the review of round 1 was never run" in message for message in run.system_messages)

    def test_another_session_is_told_and_takes_over(self, claude_client: Client, loop: Loop) -> None:
        claude = claude_client(plugin=ROOT)
        start, take = (tool("Bash", command=f"{TASKIE} claudex {words}") for words in ("start plan x", "continue"))
        claude.agent(start, "Started.", "Later.", "Hello.", take, "It is mine.", "Later.")
        first = claude.prompt("go on")
        owner = loop.state["session_id"]
        assert owner == first.stops[0].stdin["session_id"]
        second = claude.prompt("hello")
        assert second.stops[0].stdin["session_id"] != owner
        assert any("`/taskie:claudex-continue` takes it over" in message for message in second.system_messages)
        third = claude.prompt("/taskie:claudex-continue")
        assert [stop.decision for stop in third.stops] == ["block", None]
        assert loop.state["session_id"] == third.stops[0].stdin["session_id"] != owner
