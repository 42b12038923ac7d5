"""A program is started as `subprocess` would start it: with nothing of ours but what it is given."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from support import ROOT

from taskie import spawning


@pytest.fixture(params=["posix_spawn", "no posix_spawn", "no setsid"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With what this system has, and as on one that lacks it."""

    def without_setsid(*_: Any, **__: Any) -> int:
        raise NotImplementedError

    if request.param == "no posix_spawn":
        monkeypatch.delattr(os, "posix_spawn")
    elif request.param == "no setsid":
        monkeypatch.setattr(os, "posix_spawn", without_setsid)


class Runs:
    """Starts a shell's script and waits for it."""

    def __init__(self, folder: Path) -> None:
        self.out = folder / "out"
        self.cwd = folder

    def __call__(self, *argv: str, stdin: int | None = None, env: dict[str, str] | None = None) -> int:
        with self.out.open("wb") as out:
            child = spawning.start(argv, str(self.cwd), env or {"PATH": os.environ["PATH"]}, stdin, *[out.fileno()] * 2)
        while (code := child.poll()) is None:
            time.sleep(0.005)
        assert child.poll() == code, "it stays what it was"
        return code

    def shell(self, script: str, **given: Any) -> str:
        assert self("/bin/sh", "-c", script, **given) == 0
        return self.out.read_text().strip()


@pytest.fixture
def runs(tmp_path: Path, way: None) -> Runs:
    return Runs(tmp_path)


def test_where_it_runs_and_where_we_stay(runs: Runs, tmp_path: Path) -> None:
    before = Path.cwd()
    assert runs.shell("pwd -P") == str(tmp_path.resolve())
    assert Path.cwd() == before
    runs.cwd = tmp_path / "gone"
    with pytest.raises(OSError, match="gone"):
        runs("/bin/true")
    assert Path.cwd() == before


def test_what_it_reads(runs: Runs, tmp_path: Path) -> None:
    assert runs.shell("cat") == ""
    (tmp_path / "in").write_text("given")
    with (tmp_path / "in").open() as file:
        assert runs.shell("cat", stdin=file.fileno()) == "given"
        assert not file.closed
        os.fstat(file.fileno())


def test_only_its_own_environment(runs: Runs) -> None:
    assert "ONLY=this" in runs.shell("env", env={"ONLY": "this"}).splitlines()
    assert "HOME=" not in runs.out.read_text()


def test_it_has_a_session_of_its_own(runs: Runs) -> None:
    script = "import os; print(os.getsid(0) == os.getpid() == os.getpgid(0))"
    assert runs(os.path.realpath(sys.executable), "-I", "-S", "-c", script) == 0
    assert runs.out.read_text().strip() == "True"


def test_signals_that_python_ignores_are_not_ignored(runs: Runs) -> None:
    script = "import signal; print([signal.getsignal(s).name for s in (signal.SIGTERM, signal.SIGHUP)])"
    assert runs(os.path.realpath(sys.executable), "-I", "-S", "-c", script) == 0
    assert runs.out.read_text().strip() == "['SIG_DFL', 'SIG_DFL']"
    ignored = runs.shell("grep SigIgn /proc/self/status || echo SigIgn: 0").split()[1]
    assert int(ignored, 16) & (1 << 12 | 1 << 24) == 0  # SIGPIPE, SIGXFSZ


def test_no_descriptor_but_its_three(runs: Runs, tmp_path: Path) -> None:
    with (tmp_path / "secret").open("w") as file:
        os.set_inheritable(file.fileno(), True)  # as a client may leave one open to us
        runs.shell("exec ls /dev/fd/")
    numbers = runs.out.read_text().split()
    assert set(numbers) - {"3"} == {"0", "1", "2"}, "3 is that of the listing"


def test_nothing_stays_open_here(runs: Runs, tmp_path: Path) -> None:
    runs.shell(":")
    before = sorted(path.name for path in Path("/dev/fd").iterdir())
    runs.shell(":")
    with pytest.raises(OSError, match="nothing"):
        runs(str(tmp_path / "nothing"))
    assert sorted(path.name for path in Path("/dev/fd").iterdir()) == before


@pytest.mark.parametrize(("script", "code"), [("exit 0", 0), ("exit 7", 7), ("kill -9 $$", -9), ("kill -15 $$", -15)])
def test_how_it_ends(runs: Runs, script: str, code: int) -> None:
    assert runs("/bin/sh", "-c", script) == code


def test_a_name_without_a_folder_is_looked_up(runs: Runs) -> None:
    assert runs("sh", "-c", "exit 3") == 3


@pytest.mark.parametrize("content", [b"", b"#!/nonexistent/shell\n", b"\x7fELF\0\0"], ids=["empty", "shebang", "ELF"])
def test_what_cannot_be_started_is_an_error(runs: Runs, tmp_path: Path, content: bytes) -> None:
    program = tmp_path / "program"
    program.write_bytes(content)
    program.chmod(0o755)
    with pytest.raises(OSError, match=r"program|shell|Exec format|No such file"):
        runs(str(program))
    program.chmod(0o644)
    with pytest.raises(PermissionError):
        runs(str(program))


def test_a_null_byte_is_an_error(runs: Runs) -> None:
    with pytest.raises(ValueError, match="null"):
        runs("/bin/sh", "-c", "exit\0")


def test_where_we_are_may_be_gone(runs: Runs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert runs.shell("pwd -P") == str(tmp_path.resolve())
    real = os.open

    def refuses(path: Any, *rest: Any) -> int:
        if path == ".":
            raise FileNotFoundError(2, "gone", ".")
        return real(path, *rest)

    monkeypatch.setattr(os, "open", refuses)
    assert runs.shell("pwd -P") == str(tmp_path.resolve())


CLOSED = """
import os, sys, time
sys.path.insert(0, sys.argv[1])
from taskie import spawning
for fd in (0, 1, 2):
    os.close(fd)
out = os.open(sys.argv[2], os.O_RDWR | os.O_CREAT)
err = os.open(sys.argv[2] + ".err", os.O_RDWR | os.O_CREAT)
child = spawning.start(["/bin/sh", "-c", "cat; echo out; echo err >&2"], "/", os.environ, None, out, err)
while child.poll() is None:
    time.sleep(0.005)
os._exit(0)
"""


def test_our_files_may_have_the_first_numbers(tmp_path: Path) -> None:
    """A client can start a hook with its standard streams closed."""
    out = tmp_path / "out"
    subprocess.run([sys.executable, "-I", "-S", "-c", CLOSED, str(ROOT), str(out)], check=True, timeout=30)
    assert (out.read_text(), Path(f"{out}.err").read_text()) == ("out\n", "err\n")
