"""Bad input of every kind: always one JSON line and exit 0, no lock left, a status that tells the truth."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from core.living import is_alive, wait_until_gone

from pytest_taskie import HookResult, Project, RunHook, assert_approved, assert_blocked
from taskie import programs

from .clocks import Clock
from .gates import HOOK, ROOT, Gauntlet

CONFINED = ROOT / "tests" / "faults" / "confined.py"


def answered(result: HookResult, status: str, message: str = "") -> None:
    assert result.exit_code == 0
    assert result.stdout.count("\n") == 1
    assert result.json["status"] == status
    assert message in result.json["message"]


class TestTheConfiguration:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("entry_points: [\n", "config.yml:2: is not valid YAML"),
            ("a: 1\n\tb: 2\n", "config.yml:2: is not valid YAML"),
            ("- a list\n", "config.yml:1: must be a mapping"),
            ("a: &a [*a, *b]\n", "config.yml:1: is not valid YAML"),
            pytest.param("a: " + "[" * 100_000, "config.yml: is not valid YAML", id="deep"),
            pytest.param("- " * 100_000, "config.yml: is not valid YAML", id="deep list"),
            ("max_retries: many\n", "config.yml:1: max_retries must be a whole number"),
            ("log_dir: ../outside\n", "config.yml:1: log_dir must be a path inside the project"),
            ("log_dir: /var/log\n", "log_dir must be a path inside the project"),
            ("log_dir: .git\n", "log_dir must be a directory of its own"),
            ("base_branch: --upload-pack=x\n", "base_branch must be a branch"),
            ("entry_points:\n  - path: ../x\n", "config.yml:2: entry_points.0.path must be a path inside"),
            ("entry_points:\n  - checks: [a]\n", "config.yml:2: an entry point must be a mapping with a path"),
            ("entry_points: {path: x}\n", "entry_points must be a list"),
            ("stop_hook: 5\n", "stop_hook must be a mapping"),
            (
                "entry_points:\n- path: .\n  checks:\n  - lint\n  - lynt\n",
                "config.yml:5: there is no check 'lynt'; did",
            ),
        ],
    )
    def test_wrong(self, failing: Gauntlet, text: str, message: str) -> None:
        failing.write(".gauntlet/config.yml", text)
        answered(failing.stop(), "error", message)
        assert failing.files() == []
        done = failing.run("validate")
        assert done.exit_code == 1
        assert message in done.stdout

    def test_not_utf8(self, failing: Gauntlet) -> None:
        (failing.path / ".gauntlet" / "config.yml").write_bytes(b"\xff\xfe\x00")
        answered(failing.stop(), "error", "is not UTF-8")

    def test_a_directory_in_its_place(self, failing: Gauntlet) -> None:
        (failing.path / ".gauntlet" / "config.yml").unlink()
        (failing.path / ".gauntlet" / "config.yml").mkdir()
        answered(failing.stop(), "error", "config.yml")

    def test_empty(self, gauntlet: Gauntlet) -> None:
        gauntlet.write(".gauntlet/config.yml", "")
        gauntlet.write("file", "")
        answered(gauntlet.stop(), "no_applicable_gates")

    def test_an_unknown_key_is_a_warning_with_the_nearest(self, failing: Gauntlet) -> None:
        failing.configure(max_retrys=1, stop_hook={"enable": False})
        result = failing.stop()
        assert_blocked(result, "bad is here")
        assert "unknown key 'max_retrys'; did you mean 'max_retries'?" in result.stderr
        assert "unknown key 'stop_hook.enable'; did you mean 'enabled'?" in result.stderr
        assert failing.run("validate").exit_code == 0

    @pytest.mark.parametrize(
        ("name", "text", "message"),
        [
            ("checks/lint.yml", "comand: x\n", "lint.yml: a check needs a command"),
            ("checks/lint.yml", "command: true\n", 'lint.yml:1: command must be a text, in quotes: "true"'),
            ("checks/lint.yml", "command: x\ntimeout: -1\n", "lint.yml:2: timeout must be"),
            ("checks/lint.yml", "command: x\nworking_directory: ../..\n", "lint.yml:2: working_directory must be"),
            ("reviews/r.md", "---\nnum_reviews: 0\n---\nx", "r.md:2: num_reviews must be a whole number"),
            ("reviews/r.md", "---\n---\n", "r.md: a review needs a prompt"),
            ("reviews/r.md", "---\ncli_preference: [nobody]\n---\nx", "no reviewer 'nobody'"),
            ("checks/a b.yml", "command: x\n", "a gate's name has letters"),
        ],
    )
    def test_a_gate(self, failing: Gauntlet, name: str, text: str, message: str) -> None:
        failing.write(f".gauntlet/{name}", text)
        answered(failing.stop(), "error", message)
        assert message in failing.run("validate").stdout

    def test_a_link_out_of_the_project(self, failing: Gauntlet, tmp_path: Path) -> None:
        (tmp_path / "elsewhere").mkdir()
        failing.logs.symlink_to(tmp_path / "elsewhere")
        answered(failing.stop(), "error", "gauntlet_logs leads out of the project")
        assert list((tmp_path / "elsewhere").iterdir()) == []

    def test_no_pyyaml(self, failing: Gauntlet, tmp_path: Path) -> None:
        (tmp_path / "none").mkdir()
        (tmp_path / "none" / "yaml.py").write_text("raise ImportError\n")
        result = failing.process_stop({"PYTHONPATH": f"{tmp_path / 'none'}:{failing.env['PYTHONPATH']}"})
        answered(result, "infrastructure_error", "pip install PyYAML")
        assert_approved(result, "TASKIE_PYTHON")

    def test_the_unified_hook_switches_site_on(self, failing: Gauntlet, run_hook: RunHook) -> None:
        assert_blocked(run_hook(command=[ROOT / "hooks" / "stop-hook.sh", "--fail-open"]), "bad is here")


class TestACheck:
    def test_that_does_not_exist(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("lint", "no-such-program")
        answered(gauntlet.stop(), "infrastructure_error", "its program was not found")

    def test_that_cannot_be_executed(self, gauntlet: Gauntlet) -> None:
        gauntlet.write("tool", "")
        gauntlet.check("lint", "./tool")
        answered(gauntlet.stop(), "infrastructure_error", "cannot be executed")

    def test_a_missing_one_does_not_hide_a_failure(self, failing: Gauntlet) -> None:
        failing.check("other", "no-such-program")
        assert_blocked(failing.stop(), "bad is here")

    def test_whose_directory_is_gone(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("lint", "true", working_directory="gone")
        answered(gauntlet.stop(), "infrastructure_error", "does not exist")

    def test_that_floods_its_output(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("flood", "yes something")
        assert_blocked(gauntlet.stop(), f"wrote more than {programs.MAX_OUTPUT >> 20} MB")
        log = gauntlet.logs / "check_._flood.1.log"
        assert log.stat().st_size < 2 << 20
        assert "of which these are the last" in log.read_text(errors="replace")[:100]

    def test_that_writes_no_text(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("binary", r"printf '\377\0\033[31mred\033[0m\tend\ud800\n'; exit 1")
        result = gauntlet.stop()
        assert_blocked(result, "red")
        assert "\x1b" not in result.json["reason"]

    def test_over_its_time_is_a_failed_check(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("slow", "sleep 60", timeout=0.3)
        assert_blocked(gauntlet.stop(), "took longer than 0.3 s")

    def test_over_the_time_of_the_run(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("slow", "sleep 60")
        done = gauntlet.run("run", "--timeout", "0.5")
        assert done.exit_code == 1
        assert "Status: Infrastructure error" in done.stdout

    @pytest.mark.parametrize("how", ["&", "& trap '' TERM;", "& disown 2>/dev/null;"])
    def test_its_children_die_with_it(self, gauntlet: Gauntlet, tmp_path: Path, how: str) -> None:
        notes = tmp_path / "pids"
        child = f"{sys.executable} -c 'import os, time; os.setsid(); print(os.getpid(), flush=True); time.sleep(60)'"
        gauntlet.check("forks", f"{child} > {notes} {how} while [ ! -s {notes} ]; do :; done; true")
        answered(gauntlet.stop(), "passed")
        (pid,) = notes.read_text().split()
        assert not is_alive(int(pid))

    def test_that_ignores_signals(self, gauntlet: Gauntlet, tmp_path: Path, clock: Clock) -> None:
        """Its time is over when it is ready, and the grace when it has heard the first signal."""
        ready, heard = tmp_path / "ready", tmp_path / "heard"
        clock.passes(100, ready, heard)
        traps = f"trap 'touch {heard}' TERM; trap '' INT HUP; echo $$ > {tmp_path}/pid; touch {ready}"
        gauntlet.check("deaf", f"{traps}; while :; do sleep 0.1; done", timeout=60)
        assert_blocked(gauntlet.stop(), "took longer than 60 s")
        assert heard.exists()
        wait_until_gone(int((tmp_path / "pid").read_text()))

    def test_ended_by_a_signal(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("dies", "kill -KILL $$")
        assert_blocked(gauntlet.stop(), "was ended by signal 9")

    def test_with_a_strange_entry(self, gauntlet: Gauntlet) -> None:
        gauntlet.check("lint", "false")
        gauntlet.configure(entry_points=[{"path": "a b; touch x/$(id)", "checks": ["lint"]}])
        gauntlet.write("a b; touch x/$(id)/file", "")
        answered(gauntlet.stop(), "failed")
        assert len([name for name in gauntlet.files() if name.startswith("check_")]) == 1


class TestTheLogs:
    def test_a_file_in_their_place(self, failing: Gauntlet) -> None:
        failing.write("gauntlet_logs", "")
        answered(failing.stop(), "infrastructure_error", "gauntlet_logs cannot be made (File exists)")

    def test_read_only(self, failing: Gauntlet, run_hook: RunHook) -> None:
        failing.logs.mkdir(mode=0o555)
        try:
            result = run_hook(command=[sys.executable, CONFINED, *HOOK], env=failing.env)
        finally:
            failing.logs.chmod(0o755)
        answered(result, "infrastructure_error", "cannot be written")
        assert failing.files() == []

    @pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"gates": 5, "carried": [], "status": 7}', "\x00"])
    def test_a_broken_record(self, failing: Gauntlet, text: str) -> None:
        failing.logs.mkdir()
        (failing.logs / ".execution_state").write_text(text)
        answered(failing.stop(), "failed")
        assert failing.state["status"] == "failed"

    def test_a_link_in_place_of_a_log(self, failing: Gauntlet, tmp_path: Path) -> None:
        victim = tmp_path / "victim"
        victim.write_text("mine")
        failing.logs.mkdir()
        (failing.logs / "console.1.log").symlink_to(victim)
        (failing.logs / "check_._lint.2.log").symlink_to(victim)
        answered(failing.stop(), "failed")
        assert victim.read_text() == "mine"

    def test_archiving_leaves_strange_files_alone(self, passing: Gauntlet) -> None:
        passing.logs.mkdir()
        (passing.logs / "notes.txt").write_text("mine")
        (passing.logs / "previous").mkdir()
        (passing.logs / "previous" / "notes.txt").write_text("mine too")
        answered(passing.stop(), "passed")
        assert (passing.logs / "notes.txt").read_text() == "mine"
        assert (passing.logs / "previous" / "notes.txt").read_text() == "mine too"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_leaves_neither_lock_nor_process(
    gauntlet: Gauntlet, project: Project, tmp_path: Path, number: signal.Signals
) -> None:
    gauntlet.check("slow", f"echo $$ > {tmp_path}/pid.new; mv {tmp_path}/pid.new {tmp_path}/pid; sleep 60")
    hook = subprocess.Popen(
        HOOK, cwd=gauntlet.path, env={**project.env, **gauntlet.env}, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert hook.stdin
    hook.stdin.write(b"{}\n")
    hook.stdin.close()
    until = time.monotonic() + 30
    while not (tmp_path / "pid").exists() and time.monotonic() < until:
        assert hook.poll() is None
        time.sleep(0.01)
    assert ".gauntlet-run.lock" in gauntlet.files()
    os.kill(hook.pid, number)
    assert hook.wait(30) == -number
    assert hook.stdout
    hook.stdout.close()
    assert ".gauntlet-run.lock" not in gauntlet.files()
    assert not is_alive(int((tmp_path / "pid").read_text()))
    gauntlet.check("slow", "true")
    answered(gauntlet.stop(), "passed")
