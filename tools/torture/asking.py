"""A copy of the project in a sandbox, in which tests are asked about a change. Knows no mutants, only bytes."""

from __future__ import annotations

import ctypes
import json
import os
import py_compile
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import cache_from_source
from pathlib import Path

from tools.torture import asked, reaching
from tools.torture.places import ROOT

PR_SET_PDEATHSIG = 1
IGNORED = (".venv*", ".git", "__pycache__", "build", "dist", ".mypy_cache", ".ruff_cache", "*.egg-info")
PACKAGES = ("taskie", "pytest_taskie")


@dataclass(frozen=True)
class Answer:
    """`code` is pytest's, None if it took too long; then the tests that failed, in order, and their last words."""

    code: int | None
    failed: tuple[str, ...]
    words: str

    @property
    def noticed(self) -> bool:
        return self.code not in (0, 5)  # 5: no test was left


def sandbox() -> list[str]:
    """No network but loopback, and processes of its own that end with it; empty if this machine does not allow it."""
    words = ["unshare", "--net", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if os.geteuid() != 0:
        words.insert(1, "--map-root-user")
    if shutil.which("unshare") and subprocess.run([*words, "true"], check=False, capture_output=True).returncode == 0:
        return words
    return []


def end_with(parent: int) -> None:
    """From now on, this process is killed when its parent ends, however that ends. For Linux."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def copy(source: Path, to: Path) -> None:
    shutil.copytree(source, to, ignore=shutil.ignore_patterns(*IGNORED), symlinks=True)


class Copy:
    """One copy, and whoever asks there. Not for two at once."""

    def __init__(self, source: Path, folder: Path, words: Sequence[str]) -> None:
        self.folder, self._words, self._changes = folder, words, 0
        copy(source, folder)

    def mark(self, marks: Path) -> None:
        reaching.mark_copy(self.folder, marks)

    @contextmanager
    def changed(self, texts: Mapping[str, bytes]) -> Iterator[None]:
        """Files with other contents for a while. Python knows what it has compiled by time and size: each has its own
        time, and nothing that was compiled meanwhile stays."""
        before = {path: ((self.folder / path).read_bytes(), (self.folder / path).stat()) for path in texts}
        self._changes += 1
        try:
            for path, text in texts.items():
                (self.folder / path).write_bytes(text)
                os.utime(self.folder / path, (1_000_000_000 + self._changes,) * 2)
            yield
        finally:
            for path, (text, was) in before.items():
                file = self.folder / path
                file.write_bytes(text)
                os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))
                Path(cache_from_source(str(file))).unlink(missing_ok=True)
                py_compile.compile(str(file))

    def ask(
        self,
        files: Sequence[str],
        seconds: float,
        *,
        tests: Sequence[str] | None = None,
        whole: Sequence[str] = (),
        without: Sequence[str] = (),
        marks: Path | None = None,
        to_the_end: bool = False,
    ) -> Answer:
        """What these tests say, or all of these files; up to the first that fails."""
        temporary = self.folder.with_name(f"{self.folder.name}-tmp")
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        said, told = temporary.with_name(f"{temporary.name}-said"), temporary.with_name(f"{temporary.name}-told")
        said = marks / reaching.TESTS if marks else said
        said.unlink(missing_ok=True)
        what = {"said": str(said), "tests": tests, "whole": [*whole], "without": [*without]}
        told.write_text(json.dumps({**what, "marks": str(marks) if marks else None}))
        env = {**os.environ, "PYTHONPATH": str(self.folder), "TMPDIR": str(temporary), asked.VARIABLE: str(told)}
        pytest = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider"]
        pytest += ["-p", "tools.torture.asked", *([] if to_the_end else ["-x"]), *files]
        log = self.folder.with_name(f"{self.folder.name}.log")
        with log.open("wb") as out:
            code = self._run(pytest, env, out.fileno(), seconds)
        shutil.rmtree(temporary, ignore_errors=True)
        lines = said.read_text().splitlines() if said.exists() else []
        failed = [name for _, name, _, passed in map(json.loads, lines) if not passed]
        return Answer(code, tuple(failed), log.read_text(errors="replace")[-4000:])

    def _run(self, words: Sequence[str], env: Mapping[str, str], out: int, seconds: float) -> int | None:
        """In the sandbox, this copy also stands where the project does: what is started without our environment
        finds the project as it is installed."""
        there = " && ".join(f'mount --bind "{self.folder / name}" "{ROOT / name}"' for name in PACKAGES)
        up = f'ip link set lo up 2>/dev/null; {there} || exit 70; exec "$@"' if self._words else 'exec "$@"'
        polite = [] if os.nice(0) > 0 else ["nice"]
        parent = os.getpid()
        process = subprocess.Popen(
            [*polite, *self._words, "sh", "-c", up, "sh", *words],
            cwd=self.folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=(lambda: end_with(parent)) if sys.platform == "linux" else None,
        )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)  # unshare, too, which takes all of the sandbox with it
            process.wait()
        if code == 70:
            raise RuntimeError(f"the sandbox has no place for {self.folder}")
        return code
