"""Gates in `config.yml` itself, beside those with a file of their own."""

from __future__ import annotations

import pytest

from pytest_taskie import FakeCli

from .gates import Gauntlet
from .reviewing import FAIL, client

CONFIG = """\
stop_hook: {run_interval_minutes: 0}
checks:
  lint:
    command: echo inline; exit 1
    fix_instructions: Remove it.
reviews:
  quality:
    prompt: Look for races.
    cli_preference: [claude]
entry_points:
  - path: "."
    checks: [lint, filed]
    reviews: [quality]
"""


@pytest.fixture
def inline(gauntlet: Gauntlet) -> Gauntlet:
    gauntlet.write(".gauntlet/checks/filed.yml", "command: 'true'\n")
    gauntlet.write(".gauntlet/config.yml", CONFIG)
    gauntlet.settle()
    gauntlet.write("new", "")
    return gauntlet


def test_they_run_beside_the_others(inline: Gauntlet, fake_claude: FakeCli) -> None:
    fake_claude.outputs(client(FAIL))
    assert inline.run("validate").stdout == "Valid.\n"
    listed = inline.run("list").stdout
    for gate in ("check   lint", "check   filed", "review  quality"):
        assert gate in listed
    reason = inline.run("check").stdout
    assert "FAIL  check:.:lint" in reason
    assert "PASS  check:.:filed" in reason
    assert inline.run("review").exit_code == 1
    assert "Look for races." in fake_claude.calls[0].stdin


def test_a_change_of_one_is_another_verdict(inline: Gauntlet, fake_claude: FakeCli) -> None:
    fake_claude.outputs(client({"status": "pass", "violations": []}))
    inline.write(".gauntlet/config.yml", CONFIG.replace("exit 1", "exit 0"))
    assert inline.stop().json["status"] == "passed"
    inline.write(".gauntlet/config.yml", CONFIG)
    assert inline.stop().json["status"] == "failed"


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("command: echo", "comand: echo", "config.yml:4: unknown key 'comand'; did you mean 'command'?"),
        ("    command: echo inline; exit 1\n", "", "config.yml:3: a check needs a command"),
        ("    prompt: Look for races.\n", "", "config.yml:7: a review needs a prompt"),
        ("prompt: Look for races.", "prompt: 3", "config.yml:7: a review needs a prompt"),
        ("[claude]", "[nobody]", "config.yml: cli_preference: no reviewer 'nobody'"),
        ("command: echo inline; exit 1", "command: [x]", "config.yml:4: command must be a text"),
        ("  lint:\n", "  'li nt':\n", "config.yml:2: checks must be names of letters, digits"),
        (
            "checks:\n  lint:\n    command",
            "checks:\n  - lint\nx:\n    command",
            "config.yml:2: checks must be a mapping",
        ),
    ],
)
def test_what_is_wrong_has_its_line(inline: Gauntlet, old: str, new: str, told: str) -> None:
    assert old in CONFIG
    inline.write(".gauntlet/config.yml", CONFIG.replace(old, new))
    done = inline.run("validate")
    assert (done.exit_code, f".gauntlet/{told}" in done.stdout) == (1, True), done.stdout


@pytest.mark.parametrize(
    ("file", "text", "told"),
    [
        ("checks/lint.yml", "command: 'true'\n", "config.yml:3: check 'lint' is in .gauntlet/checks/lint.yml"),
        ("reviews/quality.md", "Look.\n", "config.yml:7: review 'quality' is in .gauntlet/reviews/quality.md"),
        (
            "checks/filed.yaml",
            "command: 'true'\n",
            "checks/filed.yml: check 'filed' is in .gauntlet/checks/filed.yaml",
        ),
    ],
)
def test_the_same_name_in_two_places(inline: Gauntlet, file: str, text: str, told: str) -> None:
    inline.write(f".gauntlet/{file}", text)
    done = inline.run("validate")
    assert done.exit_code == 1
    assert f"error: .gauntlet/{told}, too; keep one of the two\n" in done.stdout
    assert inline.stop().json["status"] == "error"
