"""A repository made to do harm, really cloned: what it brings is not followed, and leads nothing of ours elsewhere."""

from __future__ import annotations

from pathlib import Path

import pytest
from faults.snapshot import snapshot

from claudex.conftest import ID, Claudex
from pytest_taskie import FakeCli, HookResult, assert_approved, assert_blocked
from taskie.editing import edit_pairs

STATE = f".claude/claudex/{ID}.state"


class Hostile:
    """The repository and its clone, beside each other; and what is the user's own."""

    def __init__(self, claudex: Claudex, tmp_path: Path) -> None:
        self.claudex = claudex
        self.source = tmp_path / "source"
        self.clone = tmp_path / "clone"
        self.victim = tmp_path / "victim"
        self.victim.mkdir()
        for name in ("authorized_keys", f"review-{ID}.md", f"{ID}-runner.sh", "window.state", "log", ".gitignore"):
            (self.victim / name).write_text("mine\n")
        self.before = snapshot(self.victim)
        self.source.mkdir()
        (self.source / "PLAN.md").write_text("# Plan\n")

    def state(self, root: object, folder: str = ".claude/claudex", **fields: str) -> None:
        loop = {
            "mode": "plan", "phase": "drafting", "topic": '"ssh-ed25519 AAAA evil"', "round": "1", "max_rounds": "3",
            "review_id": ID, "repo_root": str(root), "session_id": "", "decision_signal": "none", **fields,
        }  # fmt: skip
        path = self.source / folder / f"{ID}.state"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(edit_pairs(b"", loop))

    def link(self, name: str, target: str) -> None:
        path = self.source / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    def cloned(self) -> Path:
        git = self.claudex.project.git
        git("init", "-q", "-b", "main", str(self.source))
        git("-C", str(self.source), "add", "-fA")
        who = ("-c", "user.name=x", "-c", "user.email=x@example.com")
        git("-C", str(self.source), *who, "commit", "-q", "-m", "Harmless")
        git("clone", "-q", str(self.source), str(self.clone))
        return self.clone

    def stop(self) -> HookResult:
        """The first stop of a session in the clone, at the plugin's own hook."""
        return self.claudex.process_unified_stop(cwd=self.clone, env={"CLAUDE_PROJECT_DIR": str(self.clone)})

    def assert_unharmed(self) -> None:
        assert snapshot(self.victim) == self.before


@pytest.fixture
def hostile(claudex: Claudex, tmp_path: Path) -> Hostile:
    return Hostile(claudex, tmp_path)


@pytest.mark.parametrize("mode", ["plan", "review"])
@pytest.mark.parametrize("root", [".", "the clone's own"])
def test_its_loop_is_not_followed(hostile: Hostile, fake_codex: FakeCli, root: str, mode: str) -> None:
    phase = "drafting" if mode == "plan" else "reviewing"
    hostile.state(hostile.clone if root != "." else root, mode=mode, phase=phase)
    hostile.link(f".claude/claudex/{ID}-prompt.txt", "../../../victim/authorized_keys")
    clone = hostile.cloned()
    result = hostile.stop()
    assert_approved(result, "not an absolute path, so nobody follows" if root == "." else f"git tracks {STATE}")
    assert not list(clone.rglob("*-runner.sh"))
    assert (clone / STATE).read_bytes() == (hostile.source / STATE).read_bytes()
    assert fake_codex.calls == []
    hostile.assert_unharmed()


def test_a_person_takes_it_over_all_the_same(hostile: Hostile, fake_codex: FakeCli) -> None:
    """The links that came with it are replaced, not written through."""
    fake_codex.reviews("FAIL")
    hostile.state(hostile.clone)
    hostile.link(f".claude/claudex/{ID}-prompt.txt", "../../../victim/authorized_keys")
    hostile.link(f".claude/claudex/{ID}-runner.sh", f"../../../victim/{ID}-runner.sh")
    clone = hostile.cloned()
    hostile.claudex.project.git("-C", str(clone), "rm", "-q", "--cached", STATE)
    assert_blocked(hostile.stop(), "round 1 of 3")
    hostile.claudex.directory = clone / ".claude" / "claudex"
    assert hostile.claudex.run_runner(ID).returncode == 0
    assert "ssh-ed25519 AAAA evil" in fake_codex.calls[0].stdin
    hostile.assert_unharmed()


@pytest.mark.parametrize("link", ["reviews", ".claude/claudex/" + ID])
def test_a_rollback_follows_no_link(hostile: Hostile, link: str) -> None:
    hostile.state(hostile.clone)
    hostile.link(link, "../victim" if link == "reviews" else "../../../victim")
    clone = hostile.cloned()
    assert hostile.claudex.run("rollback", cwd=clone).returncode == 0
    assert not (clone / STATE).exists()
    hostile.assert_unharmed()


@pytest.mark.parametrize(("link", "target"), [(".claude", "../victim/.."), (".claude/claudex", "../../victim")])
def test_its_directory_is_a_link(hostile: Hostile, link: str, target: str) -> None:
    """To where there is something that ends like a state, which a stop would remove, and a log."""
    if link == ".claude":
        (hostile.victim.parent / "claudex").symlink_to(hostile.victim)
    hostile.link(link, target)
    clone = hostile.cloned()
    assert (clone / ".claude/claudex/window.state").is_file()
    assert_approved(hostile.stop(), f"git tracks the link {clone / link}, so no loop is followed through it")
    hostile.assert_unharmed()
    done = hostile.claudex.run("rollback", cwd=clone)
    assert done.returncode == 1
    assert f"a link leads from .claude/claudex to {hostile.victim}: nothing is removed there" in done.stderr
    hostile.assert_unharmed()


@pytest.mark.parametrize(("link", "target"), [(".claude", "../victim/.."), (".claude/claudex", "../../victim")])
@pytest.mark.parametrize(
    "words", [("start", "plan", "x"), ("start", "review"), ("continue",), ("mark-done", ID), ("cancel",)]
)
def test_no_command_writes_through_its_link(hostile: Hostile, words: tuple[str, ...], link: str, target: str) -> None:
    if link == ".claude":
        (hostile.victim.parent / "claudex").symlink_to(hostile.victim)
    hostile.link(link, target)
    clone = hostile.cloned()
    loop = {"mode": "plan", "phase": "drafting", "round": "1", "max_rounds": "3", "repo_root": str(clone)}
    if words[0] != "start":
        (hostile.victim / f"{ID}.state").write_bytes(edit_pairs(b"", {**loop, "review_id": ID, "session_id": ""}))
    hostile.before = snapshot(hostile.victim)
    done = hostile.claudex.run(*words, cwd=clone)
    assert done.returncode == 1, done.stdout
    assert f"git tracks the link {clone / link}" in done.stderr
    hostile.assert_unharmed()
