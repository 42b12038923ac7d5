"""A program is run once: its environment, its streams, its deadline, and nothing of it left. Real processes."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import pytest

from core.living import descriptors
from taskie import programs
from taskie.programs import Command, Outcome

LATE = Outcome(None, "took longer than 0.05 s", "time")


class Runs:
    """Runs programs, their output in files."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.stdout = directory / "stdout"
        self.stderr = directory / "stderr"

    def __call__(
        self,
        argv: Sequence[str],
        *,
        seconds: float = 30.0,
        env: dict[str, str] | None = None,
        cwd: Path | None = None,
        whose: Literal["agent", "project"] = "agent",
    ) -> Outcome:
        """How it ended, but for how long that took."""
        with self.stdout.open("wb") as out, self.stderr.open("wb") as err:
            command = Command(
                whose,
                argv,
                cwd=str(cwd or self.directory),
                env=dict(os.environ) if env is None else env,
                stdout=out.fileno(),
                stderr=err.fileno(),
                seconds=seconds,
            )
            return programs.run(command).replace(seconds=0.0)

    def python(self, script: str, *arguments: str, seconds: float = 30.0) -> Outcome:
        return self([sys.executable, "-I", "-S", "-c", script, *arguments], seconds=seconds)


@pytest.fixture
def run(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


@pytest.mark.parametrize("code", [0, 1, 2, 127, 255])
def test_exit_code(run: Runs, code: int) -> None:
    assert run(["/bin/sh", "-c", f"exit {code}"]) == Outcome(code)


def test_death_by_a_signal(run: Runs) -> None:
    assert run(["/bin/sh", "-c", "kill -KILL $$"]) == Outcome(-9)


def test_streams_go_to_their_files(run: Runs) -> None:
    run(["/bin/sh", "-c", "echo out; echo err >&2"])
    assert run.stdout.read_text() == "out\n"
    assert run.stderr.read_text() == "err\n"


def test_stdin_is_empty(run: Runs) -> None:
    """Whatever is on ours: the event, for instance."""
    (run.directory / "event").write_text("the event\n")
    before = os.dup(0)
    with (run.directory / "event").open() as event:
        os.dup2(event.fileno(), 0)
        try:
            assert run(["/bin/sh", "-c", "cat; echo end"]).exit_code == 0
        finally:
            os.dup2(before, 0)
            os.close(before)
    assert run.stdout.read_text() == "end\n"


SHOW_ENVIRONMENT = [sys.executable, "-I", "-S", "-c", "import json, os; print(json.dumps(dict(os.environ)))"]


@pytest.mark.parametrize("before", [None, "", "0", "1"])
@pytest.mark.parametrize(("whose", "seen"), [("agent", "1"), ("project", None)])
def test_an_agents_stops_are_skipped_and_a_projects_script_never_hears_of_it(
    run: Runs, whose: Literal["agent", "project"], seen: str | None, before: str | None
) -> None:
    env = {"PATH": "/bin", "OTHER": "kept", **({} if before is None else {"TASKIE_HOOK_SKIP": before})}
    run(SHOW_ENVIRONMENT, env=env, whose=whose)
    found = json.loads(run.stdout.read_text())
    assert found.get("TASKIE_HOOK_SKIP") == seen
    assert found["OTHER"] == "kept"
    assert found["PATH"] == "/bin"


def test_nobody_runs_a_program_without_saying_whose_it_is() -> None:
    with pytest.raises(TypeError, match="needs whose"):
        Command(argv=["/bin/true"], cwd="/", env={}, stdout=1, stderr=2)  # type: ignore[call-arg]


def test_working_directory(run: Runs, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    run(["/bin/pwd"], cwd=tmp_path / "elsewhere")
    assert run.stdout.read_text().strip() == str((tmp_path / "elsewhere").resolve())


def test_own_session_and_no_terminal(run: Runs) -> None:
    run.python("import os; print(os.getsid(0) == os.getpid() == os.getpgrp())")
    assert run.stdout.read_text() == "True\n"


def test_no_descriptor_is_inherited(run: Runs) -> None:
    with (run.directory / "file").open("w") as file:
        os.set_inheritable(file.fileno(), True)
        script = "import os, sys\ntry: os.fstat(int(sys.argv[1]))\nexcept OSError: print('none')"
        run.python(script, str(file.fileno()))
    assert run.stdout.read_text() == "none\n"


def test_deadline(run: Runs) -> None:
    assert run(["/bin/sleep", "60"], seconds=0.05) == LATE


@pytest.mark.parametrize("seconds", [0.0, -1.0])
def test_deadline_that_is_over(run: Runs, seconds: float) -> None:
    assert run(["/bin/touch", "begun"], seconds=seconds) == Outcome(
        None, "was not started, for lack of time", "deadline"
    )
    assert not (run.directory / "begun").exists()


def test_no_time_is_lost_when_it_ends(run: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever waits is told, and never looks again later."""

    def sleep(_: float) -> None:
        raise AssertionError("slept")

    monkeypatch.setattr("time.sleep", sleep)
    monkeypatch.setattr(programs, "TICK", 1000.0)
    assert run(["/bin/sh", "-c", "exit 3"]) == Outcome(3)


@pytest.mark.parametrize("missing", ["waitid", "_ctypes", "both"])
def test_platform_without(run: Runs, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    if missing != "waitid":
        monkeypatch.setitem(sys.modules, "_ctypes", None)
    if missing != "_ctypes":
        monkeypatch.delattr(os, "waitid", raising=False)
    assert run(["/bin/sh", "-c", "exit 3"]) == Outcome(3)
    assert run(["/bin/sh", "-c", "kill -KILL $$"]) == Outcome(-9)
    assert run(["/bin/sleep", "60"], seconds=0.05) == LATE


@pytest.mark.parametrize("stream", ["stdout", "stderr"])
def test_flood(run: Runs, monkeypatch: pytest.MonkeyPatch, stream: str) -> None:
    monkeypatch.setattr(programs, "MAX_OUTPUT", 1 << 20)
    script = f"import sys, time; sys.{stream}.write('x' * (2 << 20)); sys.{stream}.flush(); time.sleep(60)"
    assert run.python(script) == Outcome(None, "wrote more than 1 MB", "flood")


def test_much_output_is_not_a_flood(run: Runs) -> None:
    run.python("import sys; sys.stdout.write('x' * (8 << 20)); sys.stderr.write('y' * (8 << 20))")
    assert run.stdout.stat().st_size == run.stderr.stat().st_size == 8 << 20


@pytest.mark.parametrize(
    ("argv", "why"),
    [
        (["/nonexistent/program"], "No such file"),
        (["/"], "Permission denied"),
        (["/bin/sh", "a\0b"], "null byte"),
        (["/bin/sh", "x" * (4 << 20)], "Argument list too long"),
    ],
    ids=["missing", "directory", "NUL", "too long"],
)
def test_what_cannot_be_started(run: Runs, argv: list[str], why: str) -> None:
    outcome = run(argv)
    assert outcome.exit_code is None
    assert (outcome.problem or "").startswith("could not be started (")
    assert why in (outcome.problem or "")


def test_not_executable(run: Runs) -> None:
    (run.directory / "program").write_text("#!/bin/sh\n")
    assert "Permission denied" in (run([str(run.directory / "program")]).problem or "")


def test_no_working_directory(run: Runs) -> None:
    outcome = run(["/bin/sh", "-c", ":"], cwd=run.directory / "missing")
    assert (outcome.problem or "").startswith("could not be started (")


def _program(path: Path, mode: int = 0o755) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("#!/bin/sh\n")
    path.chmod(mode)
    return str(path)


def test_program_is_the_first_on_path(tmp_path: Path) -> None:
    first, second = _program(tmp_path / "a" / "claude"), _program(tmp_path / "b" / "claude")
    assert programs.find_program("claude", f"{tmp_path}/none:{tmp_path}/a:{tmp_path}/b") == first
    assert programs.find_program("claude", f"{tmp_path}/b:{tmp_path}/a") == second
    assert programs.find_program("codex", f"{tmp_path}/a") is None
    assert programs.find_program("claude", "") is None


def test_program_must_be_executable_and_a_file(tmp_path: Path) -> None:
    _program(tmp_path / "a" / "claude", 0o644)
    (tmp_path / "b" / "claude").mkdir(parents=True)
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "claude").symlink_to("nowhere")
    good = _program(tmp_path / "d" / "claude")
    assert programs.find_program("claude", ":".join(f"{tmp_path}/{name}" for name in "abcd")) == good


@pytest.mark.parametrize("entry", ["", ".", "bin", "./bin", "../project/bin"])
def test_relative_entry_of_path_is_never_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    project = tmp_path / "project"
    _program(project / "claude")
    _program(project / "bin" / "claude")
    monkeypatch.chdir(project)
    assert programs.find_program("claude", entry) is None
    assert programs.find_program("claude", f"{entry}:{tmp_path}") is None


def test_program_by_its_path(tmp_path: Path) -> None:
    program = _program(tmp_path / "a" / "claude")
    assert programs.find_program(program, "") == program
    assert programs.find_program(str(tmp_path / "none"), str(tmp_path / "a")) is None


DEAF = """
import signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: open(sys.argv[1], "w").close())
while True:
    time.sleep(60)
"""


@pytest.mark.parametrize("grace", [0.0, 0.3])
def test_asking_comes_before_killing(run: Runs, monkeypatch: pytest.MonkeyPatch, grace: float) -> None:
    monkeypatch.setattr(programs, "GRACE", grace)
    begun = time.monotonic()
    outcome = run.python(f"import sys; print(flush=True)\n{DEAF}", str(run.directory / "asked"), seconds=1.0)
    assert outcome.cause == "time"
    assert run.stdout.read_text() == "\n", "it had begun to listen"
    assert time.monotonic() - begun >= 1.0 + grace
    if grace:
        assert (run.directory / "asked").exists()


@pytest.mark.parametrize("call", ["fork", "pipe"])
def test_no_room_for_another_process(run: Runs, monkeypatch: pytest.MonkeyPatch, call: str) -> None:
    def full() -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    before = descriptors()
    monkeypatch.setattr(os, call, full)
    why = "could not be started ([Errno 11] Resource temporarily unavailable)"
    assert run(["/bin/true"]) == Outcome(None, why, "start")
    assert descriptors() == before


def test_no_room_for_the_program_itself(run: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    monkeypatch.setattr(os, "posix_spawn", full)
    assert "temporarily unavailable" in (run(["/bin/true"]).problem or "")


def test_nothing_stays_open_and_nobody_stays_a_zombie(run: Runs) -> None:
    run(["/bin/true"])
    before, others = descriptors(), ended_children()
    run(["/bin/true"])
    run(["/nonexistent/program"])
    run(["/bin/sleep", "60"], seconds=0.05)
    assert descriptors() == before
    assert ended_children() <= others


def ended_children() -> set[int]:
    """Children of this process that nobody has waited for; other tests may have left some."""
    found = set()
    for file in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = file.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue  # it has gone
        if state == "Z" and int(parent) == os.getpid():
            found.add(int(file.parent.name))
    return found
