"""A run that has halted: it goes on with a word that only the person is told, and its spec is blocked no longer."""

from __future__ import annotations

import errno
import json
import os
import pty
import re
import select
import subprocess
import time

import pytest

from autopilot.commits import hook
from autopilot.conftest import MESSAGE, PATH, SPEC, TASKIE, Autopilot
from pytest_taskie import assert_approved
from taskie import word
from taskie.autopilot import spec

WORD = re.compile(r"\b[a-z]{8}-[a-z]{8}\b")


@pytest.fixture
def halted(loop: Autopilot) -> Autopilot:
    """A reviewer wants a person's decision."""
    loop.go_to("code_quality")
    loop.advance("code_quality", "needs_discussion")
    return loop


class TestTheWord:
    def test_is_told_to_the_person_and_not_to_the_agent(self, halted: Autopilot) -> None:
        result = halted.stop()
        assert_approved(result, r"needs a decision \(human\): .*the word [a-z]{8}-[a-z]{8}, or run `.*resume")
        output = dict(result.json or {})
        (said,) = set(WORD.findall(str(output.pop("systemMessage"))))
        assert WORD.search(json.dumps(output)) is None, "whatever else there is may reach the model"
        assert said not in halted.path.read_text()
        assert said not in halted.spec.read_text()

    def test_lets_the_run_go_on_once(self, halted: Autopilot) -> None:
        said = halted.word()
        assert halted.advance("resume", word=said)["next"] == "coder"
        assert halted.state["loop"]["word"] is None

    @pytest.mark.parametrize("given", [None, "", "bababama-bababama", 5, ["x"], "\ud800"])
    def test_is_needed(self, halted: Autopilot, given: object) -> None:
        halted.stop()
        said = halted.refused("resume", word=given)
        assert "it is in the message that the person got at the stop" in said
        assert "`taskie autopilot status`" in said

    def test_is_needed_before_any_was_told(self, halted: Autopilot) -> None:
        assert "a person was told" in halted.refused("resume")

    def test_of_an_earlier_stop_is_the_wrong_one(self, halted: Autopilot) -> None:
        first = halted.word()
        second = halted.word()
        assert first != second
        assert "this is not its word" in halted.refused("resume", word=first)
        halted.advance("resume", word=f" {second.upper()} ")

    @pytest.mark.parametrize("update", [("1", "status", "done"), ("2", "status", "done"), ("1", "tester", "pass")])
    def test_is_needed_for_an_update(self, halted: Autopilot, update: tuple[str, ...]) -> None:
        assert "a person was told" in halted.fails("update", *update)
        assert "not its word" in halted.fails("update", *update, "--word", "x")
        halted.do("update", *update, "--word", halted.word())

    def test_is_needed_for_a_new_plan(self, halted: Autopilot) -> None:
        tasks = '[{"id": 1, "name": "a"}]'
        assert "a person was told" in halted.fails("plan", tasks, "--force")
        halted.do("plan", tasks, "--force", "--word", halted.word())
        assert halted.state["step"] == "coder"

    def test_is_asked_of_nobody_else(self, loop: Autopilot) -> None:
        loop.do("update", "1", "tester", "pass")
        assert WORD.search(json.dumps(loop.stop().json)) is None
        assert "nothing to resume" in loop.refused("resume", word="x")

    def test_that_was_used_stays_a_warning_to_the_end(self, halted: Autopilot) -> None:
        halted.resume()
        halted.do("update", "1", "status", "done")
        halted.do("update", "2", "status", "done")
        warning = "task 1: halted (the reviewer wants a decision that only a person can take), and resumed"
        assert warning in halted.state["loop"]["warnings"]
        halted.finish()
        assert_approved(halted.stop(), re.escape(warning))

    def test_is_never_the_same(self) -> None:
        words = {word.new()[0] for _ in range(100)}
        assert len(words) == 100
        said, kept = word.new()
        assert word.fits(kept, said)
        assert not word.fits({**kept, "salt": "other"}, said)
        assert not word.fits(None, said)


def at_a_terminal(halted: Autopilot, **env: str) -> str:
    """What `status` prints there."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [*TASKIE, "status"], cwd=halted.root, env={**halted.project.env, **env}, stdin=slave, stdout=slave, stderr=slave
    )
    os.close(slave)
    said = b""
    until = time.monotonic() + 60
    try:
        while select.select([master], [], [], max(0.0, until - time.monotonic()))[0]:
            chunk = os.read(master, 65536)
            if not chunk:
                break
            said += chunk
    except OSError as error:  # how Linux says that the other end is closed
        if error.errno != errno.EIO:
            raise
    finally:
        os.close(master)
        process.wait(60)
    return said.decode()


class TestAPersonWhoHasLostIt:
    def test_gets_a_new_one_at_a_terminal(self, halted: Autopilot) -> None:
        (said,) = WORD.findall(at_a_terminal(halted))
        halted.advance("resume", word=said)

    def test_but_an_agent_does_not(self, halted: Autopilot) -> None:
        kept = halted.word()
        assert WORD.search(halted.do("status")) is None
        assert WORD.search(halted.do("status", "--json")) is None
        assert WORD.search(at_a_terminal(halted, CLAUDECODE="1")) is None
        halted.advance("resume", word=kept)


class TestASpecThatWasBlocked:
    @pytest.fixture
    def blocked(self, ready: Autopilot) -> Autopilot:
        """Its commit has failed until the loop stopped."""
        refusing = hook(ready, "pre-commit", "exit 1")
        for _ in range(2):
            if ready.state["step"] == "commit":
                ready.run("commit", "-m", MESSAGE)
        assert ready.state["step"] == "stop"
        assert "**Status:** blocked\nACTION REQUIRED: commit failure\n" in ready.spec.read_text()
        refusing.unlink()
        return ready

    def test_is_as_before_after_a_resume(self, blocked: Autopilot) -> None:
        blocked.resume()
        text = blocked.spec.read_text()
        assert text.startswith("# FTR-1\n\n**Status:** queued\n\nA greeting.\n")
        assert spec.ACTION not in text

    def test_is_committed_as_it_was(self, blocked: Autopilot) -> None:
        blocked.resume()
        blocked.advance("coder", files_changed=["src/app.py", SPEC])
        for step in ("tester", "pre_check_code", "pre_check_blueprint", "spec_reviewer", "code_quality"):
            blocked.advance(step, **PATH[step])
        blocked.do("commit", "-m", MESSAGE)
        text = blocked.project.git("show", f"HEAD:{SPEC}")
        assert "**Status:** queued\n" in text
        assert "ACTION REQUIRED" not in text

    def test_and_that_a_person_has_put_right_stays_so(self, blocked: Autopilot) -> None:
        text = blocked.spec.read_text().replace("**Status:** blocked", "**Status:** mine")
        blocked.spec.write_text(text)
        blocked.resume()
        assert "**Status:** mine\n\nA greeting" in blocked.spec.read_text()


@pytest.mark.parametrize(
    "text",
    [
        "# T\n\nStatus: queued\n\nx\n",
        "# T\r\n\r\nStatus: queued\r\n\r\nx\r\n",
        "**Status:** a b\nx",
        "# T\n\nx\n",
        "# T\n",
        "x\n",
        "- Status: x\n```\nStatus: y\n```\n",
        "# T\n\n> Status:  queued  \n",
    ],
)
def test_what_was_put_into_a_spec_is_taken_out_again(text: str) -> None:
    lines = text.split("\n")
    at = spec._status_line(lines)
    found = None if at is None else spec._STATUS.match(lines[at])
    blocked = spec.with_blocked_status(text)
    assert blocked != text
    assert spec.with_former_status(blocked, found[2] if found else None) == text
    assert spec.with_former_status(text, "other") == text
