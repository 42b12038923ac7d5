"""`taskie`, `taskie status`, `taskie stop-hook`, `taskie demo`: what a person sees, and the exit codes."""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Callable

import pytest
from support import ROOT
from support.commands import Taskie
from support.running import reviewing

from pytest_taskie import Events, FakeCli, Plan, Project
from taskie import cli, demo, stand_in


class TestHelp:
    def test_without_a_command_it_teaches(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main([]) == 2
        out = capsys.readouterr().out
        for command in ("stop-hook", "status", "state", "demo"):
            assert command in out
        assert "taskie demo" in out
        assert "Keeps a coding agent at work until its plan, its tasks and its code have passed" in " ".join(
            out.split()
        )

    @pytest.mark.parametrize(
        "words", [["status"], ["state"], ["state", "set"], ["state", "get"], ["demo"], ["stop-hook"]]
    )
    def test_each_command_explains_itself(self, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit) as ended:
            cli.main([*words, "--help"])
        assert ended.value.code == 0
        assert len(capsys.readouterr().out) > 150

    @pytest.mark.parametrize("words", [["nonsense"], ["state"], ["state", "set"], ["status", "--what"]])
    def test_wrong_usage_is_exit_2(self, words: list[str], taskie: Taskie) -> None:
        done = taskie(*words)
        assert (done.code, done.out) == (2, "")
        assert done.err

    @pytest.mark.parametrize(("word", "meant"), [("reprot", "report"), ("stat", "state"), ("zzz", None)])
    def test_an_unknown_command(self, word: str, meant: str | None, taskie: Taskie) -> None:
        said = taskie(word).err
        assert f"there is no command '{word}'." in said
        assert re.findall(r"Did you mean `\S*taskie (\w+)`\?", said) == ([meant] if meant else [])
        assert "pip install" not in said, "an installation would not help"

    def test_version(self, capsys: pytest.CaptureFixture[str]) -> None:
        with pytest.raises(SystemExit):
            cli.main(["--version"])
        assert re.fullmatch(r"taskie \d+\.\d+\.\d+\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    "words",
    [
        "status",
        "next",
        "state get",
        "state begin new-plan",
        "gauntlet list",
        "gauntlet init",
        "claudex cancel",
        "doctor",
    ],
)
def test_a_directory_that_is_gone_is_said(
    words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert cli.main(words.split()) == 1
    said = "taskie: the current directory is gone (No such file or directory): change into the repository\n"
    assert capsys.readouterr() == ("", said)


class TestCommandsOfOtherPackages:
    """Whatever is installed beside it, `taskie --help` and our own commands work."""

    @pytest.fixture
    def run(self, tmp_path: Path, project: Project) -> Callable[..., subprocess.CompletedProcess[str]]:
        def run(entry: str, text: str, *words: str) -> subprocess.CompletedProcess[str]:
            installed = tmp_path / "installed"
            info = installed / "other-1.dist-info"
            info.mkdir(parents=True)
            (info / "METADATA").write_text("Metadata-Version: 2.1\nName: other\nVersion: 1\n")
            (info / "entry_points.txt").write_text(f"[taskie.commands]\n{entry}\n")
            (installed / "other.py").write_text(text)
            env = {**project.env, "PYTHONPATH": f"{installed}{os.pathsep}{ROOT}"}
            command = [sys.executable, "-m", "taskie", *words]
            return subprocess.run(command, capture_output=True, text=True, cwd=project.path, env=env)

        return run

    @pytest.mark.parametrize(
        ("text", "listed"),
        [
            ("1 / 0", "cannot be used (ZeroDivisionError: division by zero)"),
            ("raise SystemExit(3)", "cannot be used (SystemExit: 3)"),
            ("raise ValueError('5 % of it')", "cannot be used (ValueError: 5 % of it)"),
            ("", "cannot be used (AttributeError: module 'other' has no attribute 'SUMMARY')"),
            ("SUMMARY = '100 % of it'", "100 % of it"),
        ],
    )
    def test_one_that_is_broken(
        self, run: Callable[..., subprocess.CompletedProcess[str]], text: str, listed: str
    ) -> None:
        done = run("foreign = other", text, "--help")
        assert (done.returncode, done.stderr) == (0, "")
        assert f"foreign {listed}" in " ".join(done.stdout.split())

    def test_one_that_cannot_be_run(self, run: Callable[..., subprocess.CompletedProcess[str]]) -> None:
        done = run("foreign = nowhere", "", "foreign")
        assert (done.returncode, done.stdout) == (1, "")
        wrong = "cannot be used (ModuleNotFoundError: No module named 'nowhere')"
        assert done.stderr == f"taskie: the command 'foreign' {wrong}\n"

    @pytest.mark.parametrize("name", ["status", "gauntlet"])
    def test_one_with_a_name_of_ours(self, run: Callable[..., subprocess.CompletedProcess[str]], name: str) -> None:
        done = run(f"{name} = other", "SUMMARY = 'the other one'", "--help")
        assert (done.returncode, done.stderr) == (0, "")
        assert "the other one" not in done.stdout


class TestStandardOutput:
    @pytest.mark.parametrize(
        ("words", "unbuffered"),
        [("--help", ""), *((words, each) for words in ("status", "report --output -") for each in ("", "1"))],
    )
    @pytest.mark.parametrize(
        ("where", "code", "said"),
        [
            (">/dev/full", 1, "taskie: the output cannot be written (No space left on device)\n"),
            (">&-", 0, ""),
            ("| true; exit ${PIPESTATUS[0]}", 1, ""),
        ],
    )
    def test_nobody_reads_it(
        self, project: Project, plan: Plan, words: str, unbuffered: str, where: str, code: int, said: str
    ) -> None:
        command = f"{sys.executable} -m taskie {words} {where}"
        env = {**project.env, "PYTHONPATH": str(ROOT), "PYTHONUNBUFFERED": unbuffered}
        done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, cwd=project.path, env=env)
        assert (done.returncode, done.stderr) == (code, said)


class TestStatus:
    @pytest.fixture(autouse=True)
    def in_project(self, project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(project.path)
        monkeypatch.delenv("CLAUDE_PROJECT_DIR", raising=False)

    def test_no_plans(self, capsys: pytest.CaptureFixture[str]) -> None:
        assert cli.main(["status"]) == 0
        assert "No plans here" in capsys.readouterr().out

    def test_a_table_the_newest_first(self, make_plan: Callable[..., Plan], capsys: pytest.CaptureFixture[str]) -> None:
        make_plan("a-first", state={"phase": "post-code-review", "next_phase": "code-review", "current_task": "3"}).age(
            9
        )
        make_plan("b-none").age(8)
        make_plan("c-broken").state.raw("{")
        (broken, first, none) = ("c-broken", "a-first", "b-none")
        assert cli.main(["status"]) == 0
        *lines, advice = capsys.readouterr().out.splitlines()
        assert [line.split()[0] for line in lines] == ["PLAN", broken, first, none]
        assert f"--plan {broken}`" in advice
        assert re.search(r"Implementation +post-code-review +code-review +3 +0/8 +0 +opus", lines[2])
        assert "no state.json" in lines[3]
        assert "invalid JSON" in lines[1]

    @pytest.mark.parametrize(
        ("phase", "stage"),
        [
            ("new-plan", "Planning"),
            ("post-plan-review", "Plan review"),
            ("create-tasks", "Task creation"),
            ("tasks-review", "Task review"),
            ("continue-task", "Implementation"),
            ("all-code-review", "Final review"),
            ("complete", "Complete"),
            ("else", None),
        ],
    )
    def test_json_with_the_derived_stage(
        self, phase: str, stage: str | None, plan: Plan, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        written = plan.state.write(phase=phase)
        assert cli.main(["status", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["root"] == str(project.path)
        assert told["plans"][0] == {
            "plan": "test-plan",
            "stage": stage,
            "state": written,
            "problem": None,
            "reviews": "0/8",
            "model": "opus",
            "record": {"reviews": 0, "cost_usd": 0.0, "last": None, "problem": None},
            "running": None,
        }

    def test_as_a_table(self, plan: Plan, taskie: Taskie) -> None:
        plan.state.write(phase="create-tasks", next_phase="tasks-review")
        heading, row = taskie("status").out.splitlines()[:2]
        assert heading.split() == ["PLAN", "STAGE", "PHASE", "NEXT", "TASK", "REVIEWS", "CLEAN", "MODEL"]
        assert row[heading.index("PHASE") :].split()[:3] == ["create-tasks", "tasks-review", "-"]
        assert row[heading.index("STAGE") :].startswith("Task creation ")

    def test_what_the_reviews_came_to(
        self,
        plan: Plan,
        project: Project,
        fake_claude: FakeCli,
        events: Events,
        taskie: Taskie,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        """From the stops themselves, the way a client calls the hook."""
        plan.state.write(next_phase="plan-review")
        answers = [{"structured_output": {"verdict": verdict}, "total_cost_usd": 0.7} for verdict in ("FAIL", "PASS")]
        fake_claude.outputs(*answers, "no JSON").exits(0, 0, 1)
        said = []
        for number in range(3):
            plan.state.write(phase_iteration=number, next_phase="plan-review")
            taskie("stop-hook", "--fail-open", stdin=json.dumps(events.stop()))
            assert cli.main(["status"]) == 0
            said.append(capsys.readouterr().out.splitlines()[-1])
        at = r"at 20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ"
        assert re.fullmatch(rf"test-plan: 1 review, \$0\.70; the last, plan-review 1 \(opus\) {at}: FAIL", said[0])
        assert re.fullmatch(rf"test-plan: 2 reviews, \$1\.40; the last, plan-review 2 \(opus\) {at}: PASS", said[1])
        failed = "it did not happen, the reviewer exited with code 1"
        assert re.match(rf"test-plan: 3 reviews, \$1\.40; the last, plan-review 3 \(opus\) {at}: {failed}", said[2])
        assert cli.main(["status", "--json"]) == 0
        record = json.loads(capsys.readouterr().out)["plans"][0]["record"]
        assert (record["reviews"], record["cost_usd"], record["problem"]) == (3, 1.4, None)
        assert (record["last"]["verdict"], record["last"]["model"]) == (None, "opus")

    def test_a_record_that_cannot_be_read(self, plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
        (plan.path / "reviews.jsonl").mkdir()
        assert cli.main(["status"]) == 0
        assert "test-plan: reviews.jsonl is not a regular file" in capsys.readouterr().out

    def test_the_review_that_runs(self, plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
        plan.state.write(phase="new-plan")
        with reviewing(plan.path, session="session") as announced:
            assert cli.main(["status"]) == 0
            lines = capsys.readouterr().out.splitlines()
            assert cli.main(["status", "--json"]) == 0
            (told,) = json.loads(capsys.readouterr().out)["plans"]
        said = r"test-plan: reviewing now: plan review 2 \(sonnet\), 4\d s, until \d\d:\d\d"
        assert re.fullmatch(said, lines[-1])
        assert told["running"] == announced
        assert cli.main(["status"]) == 0
        assert "reviewing now" not in capsys.readouterr().out

    @pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
    def test_it_fits_the_terminal(
        self,
        width: int,
        make_plan: Callable[..., Plan],
        capsys: pytest.CaptureFixture[str],
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        busy = {"phase": "post-all-code-review", "next_phase": "all-code-review", "current_task": "12"}
        make_plan("a-plan-with-a-rather-long-name", state=busy)
        make_plan("broken").state.raw("{" * 9)
        monkeypatch.setenv("COLUMNS", str(width))
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        assert cli.main(["status"]) == 0
        *lines, _advice = capsys.readouterr().out.splitlines()
        assert len(lines) == 3
        assert max(map(len, lines)) <= width
        assert "PHASE" in lines[0] or width < 60
        assert ("MODEL" in lines[0]) is (width > 110)

    def test_other_engines_follow(
        self, plan: Plan, project: Project, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("XDG_CONFIG_HOME", str(project.home))  # where it is written down that the loop is trusted
        plan.state.write()
        (project.path / ".claude" / "claudex").mkdir(parents=True)
        assert cli.main(["claudex", "start", "plan", "a greeting"]) == 0
        capsys.readouterr()
        assert cli.main(["status"]) == 0
        out = capsys.readouterr().out
        assert re.search(r"(?s)^PLANS\nPLAN .*test-plan .*\nCLAUDEX\nLOOP .*drafting .*a greeting", out)
        assert cli.main(["status", "--json"]) == 0
        told = json.loads(capsys.readouterr().out)
        assert told["plans"][0]["plan"] == "test-plan"
        assert told["claudex"]["loops"][0]["phase"] == "drafting"

    def test_a_field_of_the_wrong_type(self, plan: Plan, capsys: pytest.CaptureFixture[str]) -> None:
        plan.state.write(max_reviews="many")
        assert cli.main(["status"]) == 0
        assert "max_reviews must be" in capsys.readouterr().out


class TestStopHook:
    def test_is_the_same_hook(self, plan: Plan, taskie: Taskie) -> None:
        done = taskie("stop-hook", stdin="{}", process=True)
        assert done.code == 0
        assert "validated" in done.out

    def test_fails_open(self, taskie: Taskie) -> None:
        for words, code in ((["--fail-open"], 0), ([], 2)):
            done = taskie("stop-hook", *words, stdin="x")
            assert done.code == code
            assert "Invalid JSON input" in done.err


@pytest.mark.parametrize("words", [["client", "check"], ["client"]], ids=" ".join)
def test_what_needs_an_installation(words: list[str], project: Project) -> None:
    """From a clone alone; what to do is said with a path that there is."""
    start = f"import sys; sys.path.insert(0, {str(ROOT)!r}); import runpy; sys.argv = ['taskie', *{words!r}]; "
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", start + "runpy.run_module('taskie', run_name='__main__')"],
        cwd=project.path,
        env=project.env,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert f"the command 'client' needs an installation: pip install '{ROOT}'" in done.stderr


class TestDemo:
    def test_from_a_fresh_clone(self, tmp_path: Path, project: Project) -> None:
        """No installation: only the interpreter, in a copy of the files. The folder stays, since it is asked for."""
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", f"import sys; sys.path.insert(0, {str(ROOT)!r}); import runpy; "
             "sys.argv = ['taskie', 'demo', '--keep']; runpy.run_module('taskie', run_name='__main__')"],
            cwd=project.path,
            env={**project.env, "TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        rows = [line.split() for line in done.stdout.splitlines() if re.match(r"\S+-review ", line)]
        assert [(row[0], row[2], row[3], row[4], row[5]) for row in rows] == [
            ("plan-review", "1", "opus", "PASS", "block:"),
            ("plan-review", "2", "sonnet", "PASS", "approve:"),
            ("tasks-review", "1", "opus", "PASS", "block:"),
            ("tasks-review", "2", "sonnet", "PASS", "approve:"),
            ("code-review", "1", "opus", "FAIL", "block:"),
            ("code-review", "2", "sonnet", "PASS", "block:"),
            ("code-review", "3", "opus", "PASS", "approve:"),
            ("code-review", "1", "opus", "PASS", "block:"),
            ("code-review", "2", "sonnet", "PASS", "approve:"),
            ("all-code-review", "1", "opus", "PASS", "block:"),
            ("all-code-review", "2", "sonnet", "PASS", "approve:"),
        ]
        assert "\033" not in done.stdout
        (folder,) = tmp_path.glob("taskie-demo-*")
        assert str(folder) in done.stdout
        assert json.loads((folder / "project/.taskie/plans/greeting/state.json").read_text())["phase"] == "complete"

    def test_leaves_nothing_unless_asked(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        monkeypatch.setattr(demo._Demo, "play", lambda self: 11)
        assert cli.main(["demo"]) == 0
        assert "Done: 11 stops in" in capsys.readouterr().out
        assert not list(tmp_path.iterdir())

    @pytest.mark.parametrize("wrong", [{"verdict": "FAIL"}, {"exit": 1}, {"writes": False}])
    def test_ends_non_zero_if_anything_goes_wrong(
        self,
        wrong: dict[str, object],
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        capsys: pytest.CaptureFixture[str],
    ) -> None:
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        script = stand_in.script
        monkeypatch.setattr(stand_in, "script", lambda scenario, answers: script(scenario, [*answers[:1], wrong]))
        assert demo.main() == 1
        assert "the demo failed" in capsys.readouterr().err
        assert list(tmp_path.glob("taskie-demo-*")), "what went wrong can be looked at"

    def test_a_hook_that_answers_and_fails(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        hook = tmp_path / "plugin" / "hooks" / "stop-hook.sh"
        hook.parent.mkdir(parents=True)
        hook.write_text("#!/bin/sh\necho '{}'\nexit 3\n")
        hook.chmod(0o755)
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
        monkeypatch.setattr(demo, "plugin_root", lambda: str(tmp_path / "plugin"))
        assert demo.main() == 1
        assert re.search(r"the hook gave no answer \(.* returned non-zero exit status 3", capsys.readouterr().err)

    def test_colours_only_on_a_terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        class Terminal(io.StringIO):
            def isatty(self) -> bool:
                return True

        monkeypatch.delenv("NO_COLOR", raising=False)
        monkeypatch.setattr(sys, "stdout", Terminal())
        assert "\033[32mPASS" in demo._row("a", "b", "c", "d", "PASS", "e")
        monkeypatch.setitem(os.environ, "NO_COLOR", "1")
        assert "\033" not in demo._row("a", "b", "c", "d", "PASS", "e")
