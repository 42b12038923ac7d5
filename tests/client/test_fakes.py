"""The fakes refuse what the real clients refuse: their options are the clients' own, and so are their words."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie import FakeCli, Fakes
from pytest_taskie.client import repeat
from pytest_taskie.client._fixtures import installation
from taskie import agent_options, stand_in
from taskie.agent_values import Option

pytestmark = pytest.mark.client

Observe = Callable[[str, object], None]
MEASURED = {"claude": (2, 1, 326), "codex": (0, 169, 0)}
# The left column of a `--help`, which says what an option is called and takes.
LISTED = re.compile(r"^ {2,6}(-\S(?:.*?\S)?)(?:  .*)?$", re.MULTILINE)


def listed(page: str) -> set[str]:
    options = page.partition("\nOptions:")[2].partition("\nCommands:")[0]
    return set(LISTED.findall(options))


def told(stored: str) -> set[str]:
    return {line for line in stored.splitlines() if line}


def compare(kind: str, page: str, stored: str, config: pytest.Config, observe: Observe, what: str) -> None:
    """An older client than the one that was measured may differ; a newer one shows that it does."""
    real, ours = listed(page), told(stored)
    observe(f"options of {what} that its fake does not know", ", ".join(sorted(real - ours)) or "none")
    observe(f"options that only the fake of {what} knows", ", ".join(sorted(ours - real)) or "none")
    assert len(real) > 20
    chosen = installation(kind, config)
    if not chosen.version or chosen.numbers >= MEASURED[kind]:
        assert real == ours


def test_claude_has_the_options_of_its_fake(claude_client: Any, pytestconfig: pytest.Config, observe: Observe) -> None:
    page = claude_client().command("--help").stdout
    compare("claude", page, agent_options.CLAUDE, pytestconfig, observe, "claude")


@pytest.mark.parametrize(
    ("words", "stored"), [(("--help",), agent_options.CODEX), (("exec", "--help"), agent_options.CODEX_EXEC)]
)
def test_codex_has_the_options_of_its_fake(
    words: tuple[str, ...], stored: str, codex_client: Any, pytestconfig: pytest.Config, observe: Observe
) -> None:
    page = codex_client().command(*words).stdout
    compare("codex", page, stored, pytestconfig, observe, " ".join(["codex", *words[:-1]]))


def test_claude_has_options_that_it_does_not_list(claude_client: Any, version: Any) -> None:
    """The first option that it does not know is the last of these: it knows all before."""
    some = {"--thinking": "enabled", "--teammate-mode": "auto"}
    words = [
        word
        for known in map(Option, sorted(told(agent_options.CLAUDE_HIDDEN)))
        for word in (known.names[0], *([some.get(known.name, "1")] if known.takes else ()))
    ]
    done = claude_client().command("-p", *words, "--no-such")
    if version >= MEASURED["claude"]:
        assert error(done.stderr) == ["error: unknown option '--no-such'"]


REFUSED = {
    "claude": [
        *("-p --no-such x", "-p -Z x", "-pZ x", "-p --print=yes x", "-p x --model", "-p --no-such=1 x"),
        *(f"-p {option} nonsense x" for option in (*agent_options.CLAUDE_CHOICES, *agent_options.CLAUDE_NUMBERS)),
        *("-p --output-format= x", "-p --max-turns 3x a", "-p --max-budget-usd 0 x", "-p --task-budget 1.5 x"),
        "-p --no-such --output-format nonsense x",
        "-p --no-such x --model",
    ],
    "codex": [
        "exec --no-such x",
        "--no-such exec x",
        "exec -Z x",
        "exec --ask-for-approval never x",
        "exec --sandbox -x a",
        "exec --json=yes x",
        "exec x -m",
        "exec -m --json x",
        "exec a b",
        *(f"exec {option} nonsense x" for option in agent_options.CODEX_CHOICES if option != "--ask-for-approval"),
        *(f"{option} nonsense exec x" for option in ("--ask-for-approval", "-s")),
        "exec --sandbox=Read-only x",
        "exec --no-such --sandbox nonsense x",
        "exec --sandbox nonsense --no-such x",
    ],
}
TAKEN = {
    "claude": [
        *("-p a b", "-p --model -x a", "-p --debug hooks a", "-nmine -p a"),
        "-p --max-turns 1.5 --max-thinking-tokens -5 --permission-mode plan --thinking disabled --output-format json a",
        "-p --max-turns= --max-thinking-tokens 0x10 --permission-mode default --task-budget 5.0 --max-budget-usd 1e3 a",
    ],
    "codex": ["-m o exec {} x", "-a never exec {} x", "e {} x", "exec {} -mo9 x"],
}


def faked(name: str, words: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    program = stand_in.install(str(tmp_path / "bin"), str(tmp_path / "scenario"), name)
    return subprocess.run(
        [program, *words.split()], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False
    )


def error(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("error: ")]


@pytest.mark.parametrize("words", REFUSED["claude"])
def test_claude_refuses_as_its_fake_does(words: str, claude_client: Any, tmp_path: Path) -> None:
    real, fake = claude_client().command(*words.split()), faked("claude", words, tmp_path)
    assert (fake.returncode, error(fake.stderr)) == (real.exit_code, error(real.stderr))
    assert len(error(real.stderr)) == 1


@pytest.mark.parametrize("words", REFUSED["codex"])
def test_codex_refuses_as_its_fake_does(words: str, codex_client: Any, tmp_path: Path) -> None:
    real, fake = codex_client().command(*words.split()), faked("codex", words, tmp_path)
    assert (fake.returncode, error(fake.stderr)) == (real.exit_code, error(real.stderr))
    assert len(error(real.stderr)) == 1


@pytest.mark.parametrize("words", TAKEN["claude"])
def test_claude_takes_what_its_fake_takes(words: str, claude_client: Any, tmp_path: Path) -> None:
    client = claude_client()
    client.agent(repeat("Hi."))
    assert client.command(*words.split()).exit_code == faked("claude", words, tmp_path).returncode == 0


@pytest.mark.parametrize("words", TAKEN["codex"])
def test_codex_takes_what_its_fake_takes(words: str, codex_client: Any, tmp_path: Path) -> None:
    words = words.format("--skip-git-repo-check")
    client = codex_client()
    client.agent(repeat("Hi."))
    assert client.command(*words.split()).exit_code == faked("codex", words, tmp_path).returncode == 0


def test_a_hook_in_the_real_client_finds_them(
    claude_client: Any, hook_file: Any, fake_cli: Fakes, fake_codex: FakeCli
) -> None:
    gh = fake_cli("gh").answers("pr", "list")
    fake_codex.says("Fine.")
    client = claude_client(hooks={"Stop": hook_file("gh pr list; codex exec 'Review it.' < /dev/null")})
    client.agent("Done.")
    client.prompt("go on")
    assert [call.argv for call in (*gh.calls, *fake_codex.calls)] == [("pr", "list"), ("exec", "Review it.")]


def test_claude_without_a_prompt(claude_client: Any, tmp_path: Path) -> None:
    real, fake = claude_client().command("-p"), faked("claude", "-p", tmp_path)
    assert (fake.returncode, fake.stderr) == (real.exit_code, real.stderr)


def test_codex_without_a_prompt(codex_client: Any, tmp_path: Path) -> None:
    words = "exec --skip-git-repo-check"
    real, fake = codex_client().command(*words.split()), faked("codex", words, tmp_path)
    assert fake.returncode == real.exit_code
    assert real.stderr.endswith(fake.stderr), "before it stands a warning about its home"
