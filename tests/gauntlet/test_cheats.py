"""What an agent that wants to be done can try: each row of the page's table, from a real block on."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pytest_taskie import Events, HookResult, Project, RunHook, assert_approved, assert_blocked
from taskie.project import plugin_root

from .gates import ROOT, Gauntlet

PAGE = (ROOT / "docs" / "gauntlet.md").read_text(encoding="utf-8")
SECTION = PAGE[PAGE.index("## What an agent can try") :]
ROWS = re.findall(r"^\| ([^|]+) \| `(.+)` \| (withstood|announced: |passes: )(.*) \|$", SECTION, re.MULTILINE)
HOOK = [str(Path(plugin_root()) / "hooks" / "stop-hook.sh"), "--fail-open"]


@pytest.fixture
def cheated(empty: Gauntlet, repositories: Path) -> Gauntlet:
    """The check is a script of the project's own, and has failed."""
    empty.write("lint.sh", "#!/bin/sh\ntest ! -e bad || { echo 'bad is here'; exit 1; }\n").chmod(0o755)
    empty.write(".gauntlet/checks/lint.yml", "command: ./lint.sh\n")
    empty.write(
        ".gauntlet/config.yml",
        "base_branch: main\nstop_hook: {run_interval_minutes: 0}\nentry_points:\n  - {path: ., checks: [lint]}\n",
    )
    empty.begin(repositories / "cheated")
    empty.write("bad", "x\n")
    return empty


def sh(gauntlet: Gauntlet, command: str) -> None:
    folder = gauntlet.path.parent / "bin"
    folder.mkdir(exist_ok=True)
    program = folder / "taskie"
    program.write_text(f"#!/bin/sh\nPYTHONPATH='{ROOT}' exec '{sys.executable}' -m taskie \"$@\"\n")
    program.chmod(0o755)
    env = {**gauntlet.project.env, "PATH": f"{folder}:{gauntlet.project.env['PATH']}"}
    subprocess.run(["sh", "-e", "-c", command], cwd=gauntlet.path, env=env, check=True)


def test_the_table_is_there() -> None:
    assert len(ROWS) >= 25
    assert SECTION.count("\n| ") == len(ROWS) + 1, "a row that is not understood is not tested"


@pytest.mark.parametrize(("what", "command", "comes", "text"), ROWS, ids=[row[0].replace(" ", "-") for row in ROWS])
def test_a_cheat(
    cheated: Gauntlet, run_hook: RunHook, events: Events, what: str, command: str, comes: str, text: str
) -> None:
    """At the hook as the client calls it."""
    env = {"CLAUDE_PROJECT_DIR": str(cheated.path)}

    def stop(active: bool = True) -> HookResult:
        return run_hook(events.stop(stop_hook_active=active), command=HOOK, env=env)

    assert_blocked(stop(active=False), "bad is here")
    sh(cheated, command)
    result = stop()
    if comes == "withstood":
        assert_blocked(result)
        assert (cheated.path / "bad").exists()
    elif comes == "announced: ":
        assert_approved(result, re.escape(text))
    else:
        assert_approved(result, "1 gate passed")


@pytest.mark.parametrize("command", [row[1] for row in ROWS if row[2] == "withstood"])
def test_nobody_is_trapped(cheated: Gauntlet, command: str) -> None:
    """Whatever it tries, again and again, it is let go in the end, and the person knows what is open."""
    assert_blocked(cheated.stop())
    for _ in range(8):
        sh(cheated, f"{{ {command}; }} || true")
        result = cheated.unified_stop(active=True)
        if "suppressOutput" in result.json:
            break
    assert_approved(result)
    assert "lint" in result.json["systemMessage"] or "not to be believed" in result.json["systemMessage"]


class TestG17TheRules:
    def test_a_change_is_in_message_and_reason(self, cheated: Gauntlet) -> None:
        assert_blocked(cheated.stop())
        sh(cheated, "echo 'command: ./lint.sh --strict' > .gauntlet/checks/lint.yml")
        sh(cheated, "echo 'command: \"true\"' > .gauntlet/checks/other.yml")
        result = cheated.unified_stop(active=True)
        said = (
            "THE RULES HAVE CHANGED since the last verdict: .gauntlet/checks/lint.yml (changed), "
            ".gauntlet/checks/other.yml (new)."
        )
        assert_blocked(result, re.escape(said))
        assert said in result.json["systemMessage"]

    def test_a_change_is_told_until_a_pass(self, cheated: Gauntlet) -> None:
        """Not only by the first verdict after it, which may be a block that nobody reads."""
        assert_blocked(cheated.stop())
        sh(cheated, "echo 'fail_fast: true' >> .gauntlet/checks/lint.yml")
        assert_blocked(cheated.stop(active=True), "THE RULES HAVE CHANGED")
        (cheated.path / "bad").unlink()
        assert_approved(cheated.stop(active=True), "THE RULES HAVE CHANGED")
        cheated.write("good", "")
        passed = cheated.stop()
        assert passed.json["status"] == "passed"
        assert "systemMessage" not in passed.json

    @pytest.mark.parametrize("how", ["setting", "key"])
    def test_from_the_base(self, cheated: Gauntlet, project: Project, how: str) -> None:
        env = {"TASKIE_GAUNTLET_RULES_FROM": "base"} if how == "setting" else {}
        if how == "key":
            (cheated.path / "bad").rename(cheated.path.parent / "kept")
            sh(cheated, "echo 'rules_from: base' >> .gauntlet/config.yml")
            cheated.settle()
            (cheated.path.parent / "kept").rename(cheated.path / "bad")
        assert_blocked(cheated.stop(env=env), "bad is here")
        sh(cheated, "echo 'command: \"true\"' > .gauntlet/checks/lint.yml; echo 'a: [' > .gauntlet/config.yml")
        result = cheated.stop(active=True, env=env)
        assert_blocked(result, "bad is here")
        assert "The rules are those of commit" in result.json["systemMessage"]
        sh(cheated, "git add -A; git commit -qm 'Other rules'; rm -rf .gauntlet")
        cheated.write("bad", "other\n")
        assert_blocked(cheated.stop(active=True, env=env), "bad is here")
        assert not list((cheated.path / ".git" / "taskie").glob("rules-*")), "nothing stays behind"

    def test_from_the_base_that_says_so_before_any_verdict(self, cheated: Gauntlet) -> None:
        """Whoever takes the line out of the working tree before the first stop changes nothing."""
        (cheated.path / "bad").unlink()
        sh(cheated, "echo 'rules_from: base' >> .gauntlet/config.yml")
        cheated.settle()
        cheated.write("bad", "")
        sh(cheated, "sed -i /rules_from/d .gauntlet/config.yml; echo 'command: \"true\"' > .gauntlet/checks/lint.yml")
        assert_blocked(cheated.stop(), "bad is here")

    def test_a_base_without_rules(self, cheated: Gauntlet, project: Project) -> None:
        project.git("checkout", "-q", "--orphan", "bare")
        project.git("commit", "-q", "--allow-empty", "-m", "Nothing")
        project.git("branch", "-f", "main", "bare")
        assert_blocked(cheated.stop(env={"TASKIE_GAUNTLET_RULES_FROM": "base"}), "bad is here")


class TestBesideAutopilot:
    """It is asked first, and its block ends the search: the gates hear of the turn when it lets go."""

    @pytest.fixture
    def planned(self, cheated: Gauntlet) -> Gauntlet:
        sh(cheated, 'taskie autopilot init F s.md && taskie autopilot plan \'[{"id": 1, "name": "a"}]\'')
        return cheated

    def test_a_red_tree_that_no_gate_has_seen(self, planned: Gauntlet) -> None:
        assert_blocked(planned.unified_stop(), "Autopilot")
        assert_blocked(planned.unified_stop(active=True), "bad is here")

    def test_each_turn_has_its_repetitions(self, planned: Gauntlet) -> None:
        for _ in range(3):
            assert_blocked(planned.unified_stop(), "Autopilot")
            for _ in range(2):
                assert_blocked(planned.unified_stop(active=True), "GAUNTLET FAILED")
            last = planned.unified_stop(active=True)
            if "suppressOutput" not in last.json:  # the first turn's first answer was a run, and no repetition
                last = planned.unified_stop(active=True)
            assert_approved(last, "Failures are still open: check:.:lint")


class TestWhatGitOverlooks:
    def test_a_change_that_git_was_told_to_overlook(self, cheated: Gauntlet, project: Project) -> None:
        """From the first stop on, and after a pass, whose record must not answer for it."""
        cheated.write("lint.sh", "#!/bin/sh\ngrep -q right code\n")
        cheated.write("code", "right\n")
        cheated.settle()
        for flag in ("--assume-unchanged", "--skip-worktree"):
            assert cheated.stop().json["status"] in ("no_changes", "passed")
            project.git("update-index", flag, "code")
            cheated.write("code", "wrong\n")
            assert_blocked(cheated.stop(), "lint")
            cheated.write("code", "right\n")
            assert cheated.stop().json["status"] == "passed"
            project.git("update-index", flag.replace("--", "--no-"), "code")

    def test_the_repositorys_own_exclude_file(self, cheated: Gauntlet) -> None:
        (cheated.path / "bad").unlink()
        cheated.settle()
        sh(cheated, "mkdir -p .git/info; echo bad > .git/info/exclude; echo x > bad")
        assert_approved(cheated.unified_stop(), r"git overlooks what .git/info/exclude names \(1 pattern\)")
        assert cheated.unified_stop().json == {"suppressOutput": True}, "it is told once"
        sh(cheated, "git config core.excludesFile .git/more")
        assert_approved(cheated.unified_stop(), r"THE RULES HAVE CHANGED.*\.git/config \(new\)")
        sh(cheated, "echo worse >> .git/info/exclude")
        assert_approved(cheated.unified_stop(), r"THE RULES HAVE CHANGED.*\.git/info/exclude \(changed\)")


class TestG16TheRecord:
    def ledger(self, gauntlet: Gauntlet) -> Path:
        (path,) = (gauntlet.path / ".git" / "taskie" / "gauntlet").glob("*.json")
        return path

    def test_it_is_out_of_the_tree(self, cheated: Gauntlet, project: Project) -> None:
        assert_blocked(cheated.stop())
        assert self.ledger(cheated).exists()
        secret = project.home / ".local" / "state" / "taskie" / "seal"
        assert (secret.stat().st_mode & 0o777, len(secret.read_bytes())) == (0o600, 32)

    @pytest.mark.parametrize("spoiled", ["edited", "not JSON", "a list", "a directory", "another user's", "empty"])
    def test_that_is_not_ours(self, cheated: Gauntlet, project: Project, spoiled: str) -> None:
        (cheated.path / "bad").unlink()
        cheated.write("good", "")
        assert cheated.stop().json["status"] == "passed"
        path = self.ledger(cheated)
        text = path.read_text()
        if spoiled == "edited":
            content = json.loads(text)
            content["content"]["message"] = "2 gates passed"
            path.write_text(json.dumps(content))
        elif spoiled == "a directory":
            path.unlink()
            path.mkdir()
        elif spoiled == "another user's":
            (project.home / ".local" / "state" / "taskie" / "seal").write_bytes(b"x" * 32)
        else:
            path.write_text({"not JSON": text[:40], "a list": "[]", "empty": ""}[spoiled])
        result = cheated.stop()
        assert result.json["status"] == "passed"
        assert "passed already" not in result.json["message"], "every gate has to pass again"
        assert "is not believed" in result.json["systemMessage"]

    def test_of_another_repository(self, cheated: Gauntlet, project: Project, tmp_path: Path) -> None:
        """A green record is copied from a clone that is green."""
        clone = tmp_path / "clone"
        project.git("clone", "-q", str(cheated.path), str(clone))
        subprocess.run(
            [sys.executable, "-m", "taskie", "gauntlet", "run"],
            cwd=clone,
            env={**project.env, "PYTHONPATH": str(ROOT)},
            check=True,
            stdout=subprocess.DEVNULL,
        )
        assert_blocked(cheated.stop())
        (theirs,) = (clone / ".git" / "taskie" / "gauntlet").glob("*.json")
        self.ledger(cheated).write_bytes(theirs.read_bytes())
        result = cheated.stop(active=True)
        assert_blocked(result, "bad is here")
        assert "was not written by Taskie for this working tree" in result.json["systemMessage"]

    def test_of_a_commit_that_is_gone(self, cheated: Gauntlet, project: Project) -> None:
        cheated.commit()
        assert_blocked(cheated.stop())
        project.git("reset", "-q", "--soft", "main")
        project.git("reflog", "expire", "--expire=now", "--all")
        project.git("gc", "-q", "--prune=now")
        assert_blocked(cheated.stop(), "bad is here")
        (cheated.path / "bad").unlink()
        assert cheated.stop().json["status"] == "passed"

    def test_from_the_future(self, cheated: Gauntlet, monkeypatch: pytest.MonkeyPatch) -> None:
        """The clock was set back by a day: that says nothing about the interval, and the verdict stands."""
        sh(cheated, "sed -i 's/minutes: 0/minutes: 10/' .gauntlet/config.yml")
        (cheated.path / "bad").unlink()
        assert cheated.stop().json["status"] == "passed"
        cheated.write("bad", "")
        assert cheated.stop().json["status"] == "interval_not_elapsed"
        now = time.time
        monkeypatch.setattr(time, "time", lambda: now() - 86400)
        assert_blocked(cheated.stop(), "bad is here")
        assert_blocked(cheated.stop(active=True), "NOTHING HAS CHANGED")

    def test_that_cannot_be_written(self, cheated: Gauntlet) -> None:
        """One block, which the first stop of a turn may always make; no second one that nobody would remember."""
        (cheated.path / ".git" / "taskie").write_text("in the way")
        assert_blocked(cheated.stop(), "bad is here")
        result = cheated.stop(active=True)
        assert_approved(result, "nothing can be recorded")


class TestG16Worktrees:
    def test_they_share_what_has_passed(self, cheated: Gauntlet, project: Project, tmp_path: Path) -> None:
        (cheated.path / "bad").unlink()
        cheated.write("lint.sh", f"#!/bin/sh\necho x >> {tmp_path}/runs\n")
        cheated.commit()
        assert cheated.stop().json["status"] == "passed"
        other = tmp_path / "other"
        project.git("worktree", "add", "-q", "-b", "second", str(other))
        result = cheated.stop(cwd=str(other), env={"CLAUDE_PROJECT_DIR": str(other)})
        assert result.json["status"] == "passed"
        assert "in another worktree" in result.json["message"]
        assert (tmp_path / "runs").read_text() == "x\n"
        (other / "more").write_text("")
        assert "1 gate passed" in cheated.stop(cwd=str(other), env={"CLAUDE_PROJECT_DIR": str(other)}).json["message"]

    def test_a_failure_is_the_worktrees_own(self, cheated: Gauntlet, project: Project, tmp_path: Path) -> None:
        cheated.commit()
        other = tmp_path / "other"
        project.git("worktree", "add", "-q", "-b", "second", str(other))
        env = {"CLAUDE_PROJECT_DIR": str(other)}
        assert_blocked(cheated.stop(cwd=str(other), env=env), "bad is here")
        (other / "bad").unlink()
        assert cheated.stop(cwd=str(other), env=env, active=True).json["status"] == "passed"
        assert_blocked(cheated.stop(), "bad is here")

    def test_both_at_once(self, cheated: Gauntlet, project: Project, tmp_path: Path) -> None:
        """Neither waits for the other, and neither loses its record."""
        cheated.commit()
        other = tmp_path / "other"
        project.git("worktree", "add", "-q", "-b", "second", str(other))
        (other / "bad").unlink()
        pipe = tmp_path / "meet"
        cheated.write("lint.sh", f"#!/bin/sh\necho here > {pipe}\ntest ! -e bad\n")
        (other / "lint.sh").write_text(f"#!/bin/sh\ncat {pipe}\ntest ! -e bad\n")
        subprocess.run(["mkfifo", str(pipe)], check=True)
        env = {**project.env, "PYTHONPATH": str(ROOT)}
        words = [sys.executable, "-m", "taskie", "gauntlet", "run", "--timeout", "60"]
        both = [subprocess.Popen(words, cwd=at, env=env, stdout=subprocess.DEVNULL) for at in (cheated.path, other)]
        assert [each.wait(90) for each in both] == [1, 0]
        assert len(list((cheated.path / ".git" / "taskie" / "gauntlet").glob("*.json"))) == 2
        assert_blocked(cheated.stop(active=True), "NOTHING HAS CHANGED")


def test_an_interval_does_not_hold_after_nothing_was_proven(cheated: Gauntlet) -> None:
    sh(cheated, "sed -i 's/minutes: 0/minutes: 10/' .gauntlet/config.yml")
    sh(cheated, "echo 'command: no-such-program' > .gauntlet/checks/lint.yml")
    assert cheated.stop().json["status"] == "infrastructure_error"
    sh(cheated, "echo 'command: ./lint.sh' > .gauntlet/checks/lint.yml")
    assert_blocked(cheated.stop())


class TestG18WhatCannotBeRun:
    @pytest.mark.parametrize("how", ["chmod -x lint.sh", "rm lint.sh"])
    def test_a_program_of_the_projects_own_has_failed(self, cheated: Gauntlet, how: str) -> None:
        """Before any verdict: git has it, so it is not this machine that lacks it."""
        sh(cheated, how)
        assert_blocked(cheated.stop(), "Its program is the project's own, and cannot be run now")

    @pytest.mark.parametrize(
        "command",
        [
            "./lint.sh",
            "bash lint.sh",
            "A=1 ./lint.sh -x",
            "exec ./lint.sh",
            "cd . && ./lint.sh",
            "cd .. && project/lint.sh",
        ],
    )
    @pytest.mark.parametrize(
        "how",
        ["rm lint.sh", "git rm -qf lint.sh", "git mv lint.sh x; git commit -qm x", "git rm -qf lint.sh; mkdir lint.sh"],
    )
    def test_whatever_its_command_and_whatever_git_was_told(self, gauntlet: Gauntlet, command: str, how: str) -> None:
        gauntlet.write("lint.sh", "#!/bin/sh\nexit 0\n")
        (gauntlet.path / "lint.sh").chmod(0o755)
        gauntlet.check("lint", command)
        gauntlet.settle()
        gauntlet.write("work", "x\n")
        sh(gauntlet, how)
        assert_blocked(gauntlet.stop())

    def test_a_tool_that_this_machine_lacks_has_not(self, gauntlet: Gauntlet) -> None:
        """Though it is to look at files of the project's own."""
        gauntlet.write("tests/test_it.py", "x\n")
        gauntlet.check("lint", "no-such-tool tests/test_it.py tests")
        gauntlet.settle()
        gauntlet.write("work", "x\n")
        assert gauntlet.stop().json["status"] == "infrastructure_error"

    def test_one_that_ran_before_has_failed(self, cheated: Gauntlet, tmp_path: Path) -> None:
        program = tmp_path / "linter"
        program.write_text("#!/bin/sh\nexit 0\n")
        program.chmod(0o755)
        sh(cheated, f"echo 'command: {program}' > .gauntlet/checks/lint.yml")
        assert cheated.stop().json["status"] == "passed"
        program.unlink()
        cheated.write("more", "")
        assert_blocked(cheated.stop(), "It ran before, and cannot be run now")

    def test_one_that_this_machine_lacks_says_nothing(self, cheated: Gauntlet, tmp_path: Path) -> None:
        sh(cheated, f"echo 'command: {tmp_path}/linter' > .gauntlet/checks/lint.yml")
        assert cheated.stop().json["status"] == "infrastructure_error"


def test_g18_a_directory_that_is_gone_has_no_gates(cheated: Gauntlet) -> None:
    """To delete what fails is a way to fix it, and everybody can see it."""
    cheated.write(
        ".gauntlet/config.yml",
        "stop_hook: {run_interval_minutes: 0}\nentry_points:\n  - {path: 'packages/*', checks: [lint]}\n",
    )
    cheated.write(".gauntlet/checks/lint.yml", "command: test ! -e bad\n")
    cheated.settle()
    cheated.write("packages/one/bad", "")
    assert_blocked(cheated.stop())
    sh(cheated, "rm -r packages")
    result = cheated.stop(active=True)
    assert_approved(result, "check:packages/one:lint had failed, and its directory is gone")
