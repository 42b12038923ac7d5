"""`{files}`, `glob` and `fix` of a check: which files it is about, and what it may change."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path

import pytest

from pytest_taskie import Project
from taskie.gauntlet import checks, fixing

from .gates import Gauntlet
from .test_looking import Asked

ARGUMENTS = """python3 -c 'import json, sys; print(json.dumps(sys.argv[1:])); sys.exit("bad.py" in sys.argv)' {files}"""


@pytest.fixture
def named(gauntlet: Gauntlet) -> Gauntlet:
    """A check that prints the names it is given, and fails if `bad.py` is among them."""
    gauntlet.check("lint", ARGUMENTS, glob="*.py")
    gauntlet.write("old.py", "")
    gauntlet.write("clean.py", "")
    gauntlet.settle()
    return gauntlet


def given(gauntlet: Gauntlet, check: str = "lint") -> list[str]:
    """What the check's command was given in the last run, in all its parts."""
    logs = [*gauntlet.logs.rglob(f"check_*_{check}.*.log")]
    text = max(logs, key=lambda path: path.stat().st_mtime_ns).read_text()
    return [name for line in text.splitlines() if line.startswith("[") for name in json.loads(line)]


class TestFiles:
    def test_the_changed_ones_that_match_and_are_there(self, named: Gauntlet) -> None:
        (named.path / "old.py").unlink()
        for name in ("new.py", "deep/er/new.py", "notes.txt"):
            named.write(name, "")
        assert named.stop().json["status"] == "passed"
        assert given(named) == ["deep/er/new.py", "new.py"]

    @pytest.mark.parametrize(
        "name",
        ["with space.py", "it's.py", "$(touch run).py", "ü.py", "a;touch run.py", "-rf.py", "two\nlines.py", "*.py"],
    )
    def test_odd_names_are_one_word_each(self, named: Gauntlet, name: str) -> None:
        named.write(name, "")
        assert named.stop().json["status"] == "passed"
        assert [Path(each) for each in given(named)] == [Path(name)]
        assert not (named.path / "run").exists()
        assert not given(named)[0].startswith("-")

    def test_relative_to_where_the_check_runs(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("below", ARGUMENTS, working_directory="sub")
        gauntlet.settle()
        gauntlet.write("sub/in.py", "")
        gauntlet.write("out.py", "")
        assert gauntlet.stop().json["status"] == "passed"
        assert given(gauntlet, "below") == ["../out.py", "in.py"]

    def test_relative_to_the_entry(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("lint", ARGUMENTS)
        gauntlet.configure(entry_points=[{"path": "packages/*", "checks": ["lint"]}])
        gauntlet.settle()
        gauntlet.write("packages/one/a.py", "")
        assert gauntlet.stop().json["status"] == "passed"
        assert given(gauntlet) == ["a.py"]

    @pytest.mark.parametrize("what", ["other", "deleted"])
    def test_without_a_file_of_its_own_it_does_not_apply(self, named: Gauntlet, what: str) -> None:
        if what == "other":
            named.write("notes.txt", "")
        else:
            (named.path / "old.py").unlink()
        assert named.stop().json["status"] == "no_applicable_gates"
        assert "No applicable gates" in named.run("detect").stdout

    def test_too_many_for_one_command(self, named: Gauntlet, monkeypatch: pytest.MonkeyPatch) -> None:
        """In parts, whose verdict is that of the worst; each part's output is in the log."""
        monkeypatch.setattr(checks, "LONGEST_LINE", 20)
        names = sorted(["bad.py", *(f"file{number}.py" for number in range(9))])
        for name in names:
            named.write(name, "")
        answer = named.stop().json
        assert answer["status"] == "failed"
        assert given(named) == names
        assert "({files}: the changed files): python3" in answer["reason"]
        (named.path / "bad.py").unlink()
        assert named.stop().json["status"] == "passed"

    def test_as_many_as_a_system_takes(self, named: Gauntlet) -> None:
        folder = "d" * 200
        names = sorted(f"{folder}/{'f' * 200}{number}.py" for number in range(700))
        for name in names:
            named.write(name, "")
        assert named.stop().json["status"] == "passed"
        assert given(named) == names

    def test_the_reason_names_the_command_with_its_files(self, named: Gauntlet) -> None:
        named.write("bad.py", "")
        named.write("a file.py", "")
        reason = named.stop().json["reason"]
        assert f"Its command: {ARGUMENTS.replace('{files}', shlex.join(['a file.py', 'bad.py']))}\n" in reason

    @pytest.mark.parametrize("how", ["commit", "move the base"])
    def test_a_failure_is_not_cleared_by_hiding_the_change(self, named: Gauntlet, how: str) -> None:
        """The check still gets the files that it failed on."""
        named.write("bad.py", "")
        assert named.stop().json["status"] == "failed"
        named.commit()
        if how == "move the base":
            named.project.git("branch", "-f", "main")
        for name in ("notes.txt", "more.txt"):
            named.write(name, "")
            assert named.stop().json["status"] == "failed"
            assert given(named) == ["bad.py"]
            named.commit()
            if how == "move the base":
                named.project.git("branch", "-f", "main")

    def test_a_failure_is_cleared_where_its_files_are_gone(self, named: Gauntlet) -> None:
        named.write("bad.py", "")
        assert named.stop().json["status"] == "failed"
        (named.path / "bad.py").unlink()
        answer = named.stop().json
        assert answer["status"] in ("passed", "no_changes"), answer
        assert named.stop().json["decision"] == "approve"


class TestGlob:
    @pytest.mark.parametrize(
        ("glob", "name", "runs"),
        [
            ("*.py", "a.py", True),
            ("*.py", "src/deep/a.py", True),
            ("*.py", "a.pyc", False),
            ("src/*.py", "src/a.py", True),
            ("src/*.py", "src/deep/a.py", False),
            ("src/**/*.py", "src/deep/a.py", True),
            ("src", "src/deep/a.txt", True),
            (["*.js", "*.ts"], "web/a.ts", True),
            (["*.js", "*.ts"], "web/a.css", False),
        ],
    )
    def test_only_what_matches_wakes_it(self, gauntlet: Gauntlet, glob: object, name: str, runs: bool) -> None:
        gauntlet.check("lint", "exit 1", glob=glob)
        gauntlet.settle()
        gauntlet.write(name, "")
        assert gauntlet.stop().json["status"] == ("failed" if runs else "no_applicable_gates")

    def test_a_deleted_file_wakes_a_check_that_names_no_files(self, named: Gauntlet) -> None:
        named.check("lint", "test -e old.py", glob="*.py")
        named.settle()
        (named.path / "old.py").unlink()
        assert named.stop().json["status"] == "failed"

    @pytest.mark.parametrize("glob", [3, "../x", "/etc/*", [4], ""])
    def test_a_bad_one(self, gauntlet: Gauntlet, glob: object) -> None:
        gauntlet.check("lint", "true", glob=glob)
        done = gauntlet.run("validate")
        assert done.exit_code == 1
        assert ".gauntlet/checks/lint.yml:1: glob must be" in done.stdout


class TestFix:
    @pytest.fixture
    def fixable(self, gauntlet: Gauntlet) -> Gauntlet:
        """A check that no file may have the word `bad` in it, and a fix that replaces it."""
        gauntlet.check(
            "lint", "! grep -rl bad src", fix="grep -rl bad src | xargs sed -i.old s/bad/good/; rm -f src/*.old"
        )
        gauntlet.write("src/was.txt", "fine\n")
        gauntlet.settle()
        return gauntlet

    def test_what_it_fixes_passes_and_the_person_is_told(self, fixable: Gauntlet) -> None:
        fixable.write("src/new.txt", "bad\n")
        fixable.write("src/was.txt", "bad too\n")
        fixable.write("src/other.txt", "fine\n")
        answer = fixable.stop().json
        assert answer["status"] == "passed"
        assert "check lint: its fix changed src/new.txt, src/was.txt" in answer["systemMessage"]
        assert (fixable.path / "src/was.txt").read_text() == "good too\n"

    def test_the_unified_hook_tells_it_too(self, fixable: Gauntlet) -> None:
        fixable.write("src/new.txt", "bad\n")
        assert "check lint: its fix changed src/new.txt" in fixable.unified_stop().json["systemMessage"]

    def test_it_is_not_run_where_the_check_passes(self, gauntlet: Gauntlet, tmp_path: Path) -> None:
        gauntlet.check("lint", "true", fix=f"touch {tmp_path}/fixed")
        assert gauntlet.stop().json["status"] == "passed"
        assert not (tmp_path / "fixed").exists()

    def test_once_and_then_the_check_has_failed(self, gauntlet: Gauntlet, tmp_path: Path) -> None:
        gauntlet.check(
            "lint", f"echo check >> {tmp_path}/runs; false", fix=f"echo fix >> {tmp_path}/runs; echo x > made"
        )
        answer = gauntlet.stop().json
        assert answer["status"] == "failed"
        assert (tmp_path / "runs").read_text() == "check\nfix\ncheck\n"
        assert "check:.:lint: its fix changed made. Read them again before you edit them." in answer["reason"]
        assert "exit code 1, after its fix changed 1 file" in answer["reason"]

    def test_the_agent_hears_of_it_where_another_gate_failed(self, fixable: Gauntlet) -> None:
        fixable.check("other", "false")
        fixable.write("src/new.txt", "bad\n")
        reason = fixable.stop().json["reason"]
        assert "check:.:lint: its fix changed src/new.txt. Read them again" in reason
        assert "check:.:lint: exit code" not in reason

    def test_the_errors_are_those_that_are_left(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("lint", "cat errors; ! test -s errors", fix="echo 'b.py:2:2: left' > errors")
        gauntlet.write("errors", "a.py:1:1: fixed\nb.py:2:2: left\n")
        reason = gauntlet.stop().json["reason"]
        assert "1 error:\n    b.py:2:2: left\n" in reason
        log = (gauntlet.logs / "check_._lint.1.log").read_text()
        assert "a.py:1:1: fixed" in log
        assert "\n$ echo 'b.py:2:2: left' > errors\n" in log

    def test_the_others_judge_what_it_has_left(self, fixable: Gauntlet) -> None:
        """It runs before them, and nothing runs beside it."""
        fixable.configure(entry_points=[{"path": ".", "checks": ["after", "lint"]}])
        fixable.check("after", "! grep -r bad src")
        fixable.configure(entry_points=[{"path": ".", "checks": ["after", "lint"]}])
        fixable.write("src/new.txt", "bad\n")
        assert fixable.stop().json["status"] == "passed"

    def test_with_files(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("lint", "! grep -l bad {files}", fix="sed -i.old s/bad/good/ {files}; rm -f *.old", glob="*.txt")
        gauntlet.settle()
        gauntlet.write("a b.txt", "bad\n")
        answer = gauntlet.stop().json
        assert answer["status"] == "passed"
        assert "its fix changed a b.txt" in answer["systemMessage"]

    def test_not_where_its_changes_would_be_lost(self, fixable: Gauntlet) -> None:
        """In CI a check must not be green for a fix that nobody commits."""
        fixable.write("src/new.txt", "bad\n")
        assert fixable.run(env={"CI": "true"}).exit_code == 1
        assert (fixable.path / "src/new.txt").read_text() == "bad\n"

    @pytest.mark.parametrize("fix", ["false", "no-such-program", "kill -9 $$"])
    def test_a_fix_that_fails(self, gauntlet: Gauntlet, fix: str) -> None:
        gauntlet.check("lint", "echo wrong; exit 4", fix=fix)
        answer = gauntlet.stop().json
        assert answer["status"] == "failed"
        assert "exit code 4" in answer["reason"]

    def test_the_checks_time_is_for_all_of_it(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("lint", "echo wrong; exit 3", fix="sleep 30", timeout=0.5)
        answer = gauntlet.stop().json
        assert answer["status"] == "failed"
        assert "check:.:lint: exit code 3; its fix took longer than 0." in answer["reason"]
        assert "    wrong\n" in answer["reason"]

    def test_a_git_that_takes_its_time_is_waited_for(self, fixable: Gauntlet, project: Project, tmp_path: Path) -> None:
        asked = Asked(tmp_path, project, 'case "$1" in status) sleep 0.3 ;; esac')
        fixable.write("src/new.txt", "bad\n")
        assert "check lint: its fix changed src/new.txt" in fixable.stop(env=asked.env).json["systemMessage"]

    def test_a_git_that_hangs_is_ended(
        self, gauntlet: Gauntlet, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Nobody knows then what the fix has changed; the stop goes on."""
        monkeypatch.setattr(fixing, "SECONDS", 0.5)
        hangs = tmp_path / "hangs"
        asked = Asked(tmp_path, project, f"[ ! -e {hangs} ] || {{ echo $$ >> {hangs}; exec sleep 60; }}")
        command = f"cat {hangs} >> {tmp_path}/hung; rm -f {hangs}; test -e fixed"
        gauntlet.check("lint", command, fix=f"touch fixed {hangs}")
        answer = gauntlet.stop(env=asked.env).json
        assert answer["status"] == "passed"
        assert "check lint: its fix changed files that git could not be asked about" in answer["systemMessage"]
        numbers = (tmp_path / "hung").read_text().split()
        assert numbers
        for number in numbers:
            with pytest.raises(ProcessLookupError):
                os.kill(int(number), 0)

    def test_files_in_the_fix_alone(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("lint", "true", fix="sed {files}")
        done = gauntlet.run("validate")
        assert done.exit_code == 1
        assert "fix has {files}, but command has not" in done.stdout
