"""Who is asked when a reviewer fails: the next in the list within the same run, and the failed one last for a while."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie import FakeCli, assert_approved, assert_blocked

from .gates import Gauntlet
from .reviewing import FAIL, PASS, USELESS, client

LIMITED = {"is_error": True, "result": "API Error: 429 rate_limit_error"}
BUSY = 60 * 60
FAILED = 10 * 60


@pytest.fixture
def both(gauntlet: Gauntlet) -> Gauntlet:
    """A review for which claude is asked first, then codex."""
    gauntlet.review("quality", cli_preference=["claude", "codex"])
    gauntlet.settle()
    gauntlet.write("code.py", "x = 1\n")
    return gauntlet


def cool_downs(gauntlet: Gauntlet) -> Path:
    return gauntlet.project.home / ".cache" / "taskie" / "reviewers.json"


def seconds_left(gauntlet: Gauntlet) -> dict[str, float]:
    found: dict[str, float] = json.loads(cool_downs(gauntlet).read_text())
    return {name: until - time.time() for name, until in found.items()}


class TestG21TheNextOneIsAsked:
    @pytest.mark.parametrize("shape", [*USELESS, "limited"])
    def test_instead_of_an_answer(self, both: Gauntlet, fake_claude: FakeCli, fake_codex: FakeCli, shape: str) -> None:
        fake_claude.outputs(LIMITED if shape == "limited" else USELESS[shape])
        fake_codex.outputs(json.dumps(FAIL))
        result = both.stop()
        assert_blocked(result, "x is not used")
        assert "codex was asked instead" in result.json["systemMessage"]
        assert (len(fake_claude.calls), len(fake_codex.calls)) == (1, 1)
        assert json.loads(both.violations().read_text())["cli"] == "codex"
        assert "codex was asked instead" in (both.logs / "console.1.log").read_text()

    def test_an_exit_code(self, both: Gauntlet, fake_claude: FakeCli, fake_codex: FakeCli) -> None:
        fake_claude.outputs(client(PASS)).exits(1)
        fake_codex.outputs(json.dumps(PASS))
        assert both.stop().json["status"] == "passed"
        assert len(fake_codex.calls) == 1

    def test_its_own_time_is_over(self, both: Gauntlet, fake_claude: FakeCli, fake_codex: FakeCli) -> None:
        fake_claude.delays(60).repeats()
        both.review("quality", cli_preference=["claude", "codex"], timeout=0.2)
        fake_codex.delays(60).repeats()
        result = both.stop()
        assert_approved(result, r"claude took longer than 0\.2 s; codex took longer than 0\.2 s")
        assert result.json["status"] == "infrastructure_error"

    def test_the_same_question(self, both: Gauntlet, fake_claude: FakeCli, fake_codex: FakeCli) -> None:
        fake_claude.outputs("")
        fake_codex.outputs(json.dumps(PASS))
        both.stop()
        assert fake_claude.calls[0].stdin == fake_codex.calls[0].stdin

    def test_nobody_is_left(self, both: Gauntlet, fake_claude: FakeCli, fake_codex: FakeCli) -> None:
        fake_claude.outputs(LIMITED)
        fake_codex.outputs("Fine.")
        result = both.stop()
        assert result.json["status"] == "infrastructure_error"
        assert_approved(result, "nothing is proven: review quality: claude: it reports an error: API Error: 429")
        assert_approved(result, "codex: its answer cannot be used")
        assert (len(fake_claude.calls), len(fake_codex.calls)) == (1, 1)

    def test_a_client_says_it_on_stdout(self, both: Gauntlet, fake_claude: FakeCli) -> None:
        fake_claude.outputs(LIMITED).runs(f"echo '{json.dumps(LIMITED)}'; exit 1")
        assert_approved(both.stop(), "claude ended with exit code 1: API Error: 429")

    def test_every_slot_has_its_own(self, gauntlet: Gauntlet, fake_claude: FakeCli, fake_codex: FakeCli) -> None:
        gauntlet.configure(allow_parallel=False)
        gauntlet.review("quality", num_reviews=2, cli_preference=["claude", "codex"])
        fake_claude.outputs(client(PASS), client(PASS))
        fake_codex.outputs("")
        assert gauntlet.stop().json["status"] == "passed"
        assert (len(fake_claude.calls), len(fake_codex.calls)) == (2, 1)


class TestG21ACoolDown:
    @pytest.mark.parametrize(
        ("said", "seconds"),
        [
            ("429 Too Many Requests", BUSY),
            ("Overloaded", BUSY),
            ("You have hit your usage limit", BUSY),
            ("HTTP 503", BUSY),
            ("a bug at line 4290", FAILED),
        ],
    )
    def test_how_long(
        self, both: Gauntlet, fake_claude: FakeCli, fake_codex: FakeCli, said: str, seconds: float
    ) -> None:
        fake_claude.outputs({"is_error": True, "result": said})
        fake_codex.outputs(json.dumps(PASS))
        result = both.stop()
        assert f"claude is asked last for {seconds / 60:.0f} min" in result.stderr
        assert seconds_left(both) == {"claude": pytest.approx(seconds, abs=30)}

    def test_meanwhile_it_is_asked_last(self, both: Gauntlet, fake_claude: FakeCli, fake_codex: FakeCli) -> None:
        fake_claude.outputs(LIMITED)
        fake_codex.outputs(json.dumps(PASS), json.dumps(PASS))
        both.stop()
        both.write("code.py", "x = 2\n")
        assert both.stop().json["status"] == "passed"
        assert (len(fake_claude.calls), len(fake_codex.calls)) == (1, 2)
        log = (both.logs / "previous" / "console.1.log").read_text()
        assert re.search(r"claude is asked last until \d\d:\d\d, since it failed", log)

    def test_but_it_is_asked(self, both: Gauntlet, fake_claude: FakeCli, fake_codex: FakeCli) -> None:
        """If the others fail it is better than nobody."""
        fake_claude.outputs(LIMITED, client(PASS))
        fake_codex.outputs(json.dumps(PASS), "")
        both.stop()
        both.write("code.py", "x = 2\n")
        assert both.stop().json["status"] == "passed"
        assert (len(fake_claude.calls), len(fake_codex.calls)) == (2, 2)
        assert set(seconds_left(both)) == {"codex"}, "who has answered no longer cools down"

    def test_all_cool_down(self, both: Gauntlet, fake_claude: FakeCli, fake_codex: FakeCli) -> None:
        """The one whose time is over first is asked first."""
        now = time.time()
        cool_downs(both).parent.mkdir(parents=True)
        cool_downs(both).write_text(json.dumps({"claude": now + 600, "codex": now + 300}))
        fake_codex.outputs(json.dumps(PASS))
        assert both.stop().json["status"] == "passed"
        assert (len(fake_claude.calls), len(fake_codex.calls)) == (0, 1)

    @pytest.mark.parametrize(
        "content",
        ["", "[]", '{"claude": "soon"}', '{"claude": 1e300}', '{"claude": 1}', "{" * 100_000, "{}"],
        ids=["empty", "a list", "a word", "a far time", "a past time", "too deep", "an empty object"],
    )
    def test_a_spoiled_file(self, both: Gauntlet, fake_claude: FakeCli, content: str) -> None:
        cool_downs(both).parent.mkdir(parents=True)
        cool_downs(both).write_text(content)
        fake_claude.outputs(client(PASS))
        assert both.stop().json["status"] == "passed"
        assert len(fake_claude.calls) == 1

    def test_a_file_that_cannot_be_written(self, both: Gauntlet, fake_claude: FakeCli, fake_codex: FakeCli) -> None:
        cool_downs(both).mkdir(parents=True)
        fake_claude.outputs(LIMITED)
        fake_codex.outputs(json.dumps(PASS))
        assert both.stop().json["status"] == "passed"

    def test_a_projects_own_command_cools_down_in_it_alone(self, gauntlet: Gauntlet) -> None:
        commands: dict[str, Any] = {"mine": "echo 429; exit 1", "yours": f"echo '{json.dumps(PASS)}'"}
        gauntlet.configure(cli={"default_preference": ["mine", "yours"], "commands": commands})
        gauntlet.review("quality")
        assert gauntlet.stop().json["status"] == "passed"
        assert list(seconds_left(gauntlet)) == [f"mine {gauntlet.path}"]
