"""Logs are for their owner alone, bounded, and hold no secret: of every log that a hook leaves, seen from outside."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import pytest
from support import ROOT
from support.commands import Taskie

from pytest_taskie import FakeCli, HookResult, Project, RunHook
from taskie import logs
from taskie.claudex import UNTOLD
from taskie.masking import MASK, masked

Failing = Callable[[str], HookResult]
# Put together here, so that nobody who scans this repository takes them for real ones.
SECRETS = {
    "anthropic": "sk-" + "ant-api03-AbCdEf0123456789_-xyz",
    "openai": "sk-" + "proj-AbCdEf0123456789AbCdEf",
    "github": "ghp_" + "AbCdEf0123456789AbCdEf0123456789abcd",
    "github, fine-grained": "github_" + "pat_11ABCDEFG0123456789_abcdefghij",
    "aws": "AKIA" + "ABCDEFGHIJ234567",
    "slack": "xoxb-" + "123456789012-abcdefghij",
    "npm": "npm_" + "AbCdEf0123456789AbCdEf0123456789abcd",
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl",
}
NAMED = {
    "bearer": ("Authorization: Bearer ", "abc.def-123456"),
    "basic": ("Authorization: Basic ", "dXNlcjpwYXNz"),
    "password": ("password=", "hunter2hunter2"),
    "quoted": ('"password": "', "correct-horse"),
    "a variable": ("AWS_SECRET_ACCESS_KEY=", "wJalrXUtnFEMI/K7MDENG"),
    "a token": ("NPM_TOKEN=", "abcdefgh-1234"),
    "a url": ("https://", "me:hunter2hunter2"),
}
PEM = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nEFAASCBKcwggSjAgEAAoIBAQ==\n-----END PRIVATE KEY-----"
PLAIN = [
    "all 12 tests pass",
    '{"usage": {"input_tokens": 1234567, "output_tokens": 98765}}',
    "Unexpected token } in JSON at position 12",
    "https://example.org/a?b=c",
    "the key to success",
    "git@github.com:owner/name.git",
    "desk-bound-and-tired-of-waiting",
]
SAID = "\n".join([*SECRETS.values(), *(f"{name}{value}@x" for name, value in NAMED.values()), PEM, "the end"])
HIDDEN = [*SECRETS.values(), *(value for _, value in NAMED.values()), "MIIEvQIBADANBgkqhkiG9w0BAQ", "EFAASCBKcw"]


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def leaks(path: Path) -> list[str]:
    """Which secrets are in a log that has something to say."""
    text = path.read_text()
    assert "the end" in text
    assert MASK in text
    return [secret for secret in HIDDEN if secret in text]


@pytest.fixture(autouse=True)
def _open_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.mark.parametrize("kind", [*SECRETS, "private key"])
def test_a_token_is_masked(kind: str) -> None:
    secret = SECRETS.get(kind, PEM)
    assert masked(f"before {secret} after") == f"before {MASK} after"


@pytest.mark.parametrize("kind", NAMED)
def test_what_a_secret_is_for_stays(kind: str) -> None:
    name, value = NAMED[kind]
    assert masked(f"before {name}{value}@x after").startswith(f"before {name}{MASK}")
    assert value not in masked(f"{name}{value}") or kind == "a url"


@pytest.mark.parametrize("text", PLAIN)
def test_what_is_none_stays(text: str) -> None:
    assert masked(text) == text


class TestTheHooksOwn:
    """`hook.log`, of a hook that fails: its engine raises, as one does that has a bug."""

    @pytest.fixture
    def failing(self, project: Project, run_hook: RunHook, tmp_path: Path) -> Failing:
        script = tmp_path / "failing.py"
        script.write_text(
            f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
            "import taskie\n"
            "def decide(event, turn=None):\n    raise RuntimeError(event.fields['said'])\n"
            "taskie.run(decide)\n"
        )

        def fail(said: str) -> HookResult:
            return run_hook(
                command=[sys.executable, script], stdin=json.dumps({"cwd": str(project.path), "said": said})
            )

        return fail

    def test_is_its_owners_alone_and_holds_no_secret(self, failing: Failing, project: Project) -> None:
        result = failing(SAID)
        log = project.home / ".cache" / "taskie" / "hook.log"
        assert mode(log) == 0o600
        assert leaks(log) == []
        assert [secret for secret in HIDDEN if secret in result.stdout + result.stderr] == []

    def test_is_bounded_and_one_older_is_kept(self, failing: Failing, project: Project) -> None:
        log = project.home / ".cache" / "taskie" / "hook.log"
        for number in range(12):
            failing(f"number {number} " + "x " * (100 << 10))
            assert log.stat().st_size <= logs.LIMIT
        assert "number 11 " in log.read_text()
        assert {path.name for path in log.parent.iterdir()} == {"hook.log", "hook.log.1"}
        assert mode(log.with_suffix(".log.1")) == mode(log) == 0o600

    def test_one_of_an_older_version_is_closed(self, failing: Failing, project: Project) -> None:
        log = project.home / ".cache" / "taskie" / "hook.log"
        log.parent.mkdir(parents=True)
        log.write_text("older\n")
        log.chmod(0o644)
        failing("now")
        assert log.read_text().startswith("older\n")
        assert mode(log) == 0o600


class TestClaudex:
    @pytest.fixture
    def log(self, project: Project) -> Path:
        folder = project.path / ".claude" / "claudex"
        folder.mkdir(parents=True)
        return folder / "log"

    def stop(self, project: Project, run_hook: RunHook, log: Path, topic: str = "x") -> HookResult:
        fields = {
            "mode": "plan",
            "phase": "drafting",
            "topic": json.dumps(topic),
            "round": "1",
            "max_rounds": "3",
            "review_id": "20260426-094523-abc123",
            "repo_root": str(project.path),
        }
        state = log.parent / "20260426-094523-abc123.state"
        state.write_text("".join(f"{name}: {value}\n" for name, value in fields.items()))
        return run_hook(command=[ROOT / "hooks" / "stop-hook.sh", "--fail-open"])

    def test_its_log_is_its_owners_alone(self, project: Project, run_hook: RunHook, log: Path) -> None:
        assert not self.stop(project, run_hook, log).approved
        assert "BLOCK" in log.read_text()
        assert mode(log) == 0o600

    def test_it_is_bounded(self, project: Project, run_hook: RunHook, log: Path) -> None:
        log.write_text("[then] APPROVE: of old\n" * (logs.LIMIT // 23))
        self.stop(project, run_hook, log)
        assert log.stat().st_size < logs.LIMIT // 8
        assert "BLOCK" in log.read_text()
        assert (log.parent / "log.1").stat().st_size <= logs.LIMIT

    def test_what_the_person_has_not_been_told_outlives_the_rotation(
        self, taskie: Taskie, run_hook: RunHook, log: Path
    ) -> None:
        log.write_text("[then] APPROVE: of old\n" * (logs.LIMIT // 23) + f"[then] {UNTOLD}: loop 7 was cut short\n")
        taskie("claudex", "rollback", process=True)
        assert log.stat().st_size < logs.LIMIT // 8
        result = run_hook(command=[ROOT / "hooks" / "stop-hook.sh", "--fail-open"])
        assert "loop 7 was cut short" in (result.system_message or "")


@pytest.mark.state
def test_of_a_review_that_failed(project: Project, fake_claude: FakeCli, run_hook: RunHook) -> None:
    plan = project.make_plan(state={"phase": "new-plan", "next_phase": "plan-review"})
    said = project.path / "said"
    said.write_text(SAID)
    fake_claude.runs(f"cat {said}; cat {said} >&2; exit 3")
    assert run_hook(command=[ROOT / "hooks" / "stop-hook.sh", "--fail-open"]).approved
    log = plan.path / ".review-1.log"
    assert mode(log) == 0o600
    assert leaks(log) == []


def test_of_a_gate(project: Project, run_hook: RunHook) -> None:
    said = project.home / "said"
    said.write_text(SAID)
    folder = project.path / ".gauntlet"
    (folder / "checks").mkdir(parents=True)
    (folder / "config.yml").write_text('{"base_branch": "main", "entry_points": [{"path": ".", "checks": ["t"]}]}')
    (folder / "checks" / "t.yml").write_text(json.dumps({"command": f"cat {said}; exit 1"}))
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "Base")
    project.git("checkout", "-q", "-b", "work")
    (project.path / "a.txt").write_text("changed")
    result = run_hook(command=[ROOT / "hooks" / "stop-hook.sh", "--fail-open"])
    assert result.blocked or result.continues, result.report()
    written = {path.name: path for path in (project.path / "gauntlet_logs").iterdir() if path.is_file()}
    assert {name: oct(mode(path)) for name, path in written.items() if mode(path) != 0o600} == {}
    (log,) = (path for name, path in written.items() if name.startswith("check_"))
    assert leaks(log) == []
    assert [secret for secret in HIDDEN if secret in result.stdout] == []
    assert [secret for name in written for secret in HIDDEN if secret in written[name].read_text()] == []
