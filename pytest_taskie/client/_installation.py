"""Real clients on this machine: the cache they live in, and how npm fills it.

Knows npm, package names and files. Runs no client and knows nothing of pytest.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_taskie._contract import ContractError, newest_measured
from pytest_taskie.client._kinds import CLIENTS, KINDS, Kind

MANIFEST = "taskie-client.json"
INSTALL_TIMEOUT = 900.0
VERSION = re.compile(r"\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?")


class ClientError(Exception):
    """A sentence for the person who wants a client: what is wrong, and what to do."""


class ClientMissing(ClientError):
    """The client is not installed; the message has the command that installs it."""


class NoSuchVersion(ClientError):
    """npm does not have this version."""


@dataclass(frozen=True)
class Wanted:
    """What somebody asked for: a kind, and a version, a path, or (None) the newest there is."""

    kind: Kind
    version: str | None = None
    path: Path | None = None

    @property
    def spelled(self) -> str:
        if self.kind == "claude" and self.version:
            return self.version
        return f"{self.kind}@{self.version}" if self.version else self.kind


@dataclass(frozen=True)
class Installation:
    """One client. `command` starts it; a version is None for a program that was given by its path."""

    kind: Kind
    version: str | None
    command: tuple[str, ...]

    @property
    def name(self) -> str:
        return f"{self.kind} {self.version or self.command[-1]}"

    @property
    def numbers(self) -> tuple[int, ...]:
        return version_numbers(self.version or "0.0.0")


def version_numbers(version: str) -> tuple[int, ...]:
    """The part of a version that orders: `2.1.10` comes after `2.1.9`."""
    return tuple(int(n) for n in re.findall(r"\d+", version.split("-")[0])[:3])


def parse_wanted(text: str) -> Wanted:
    """`2.1.197`, `codex@0.166.0`, `codex`, `codex@known`, `/a/program`, `codex=/a/program`; a bare one is claude's.

    `known` is the newest version that the contract data were measured in.
    """
    kind, rest = "claude", text.strip()
    prefix = re.match(rf"({'|'.join(KINDS)})(?:[@=]|$)", rest)
    if prefix:
        kind, rest = prefix[1], rest[prefix.end() :]
    if rest in ("", "latest"):
        return Wanted(kind)
    if rest == "known":
        try:
            return Wanted(kind, version=newest_measured(kind))
        except ContractError as error:
            raise ClientError(str(error)) from None
    if VERSION.fullmatch(rest):
        return Wanted(kind, version=rest)
    if os.sep in rest or rest.startswith("~"):
        return Wanted(kind, path=Path(rest).expanduser())
    raise ClientError(
        f"{text!r} does not name a client: give a version (2.1.197, codex@0.166.0, claude@known) or a path "
        "with a slash (./claude)"
    )


def cache_root(env: Mapping[str, str] | None = None) -> Path:
    """The folder that holds `claude/VERSION`, `codex/VERSION` and so on. A relative XDG_CACHE_HOME does not count."""
    environ = os.environ if env is None else env
    base = environ.get("XDG_CACHE_HOME", "")
    home = Path(environ["HOME"]) if environ.get("HOME") else Path("~").expanduser()
    return (Path(base) if base.startswith("/") else home / ".cache") / "taskie" / "clients"


def installed(kind: Kind, root: Path | None = None) -> list[Installation]:
    """Every client of that kind in the cache, the newest first."""
    folder = (root or cache_root()) / kind
    try:
        names = [entry.name for entry in os.scandir(folder) if VERSION.fullmatch(entry.name)]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unreadable(folder, error) from None
    found = [_load(kind, folder / name) for name in names]
    return sorted(found, key=lambda client: client.numbers, reverse=True)


def find(wanted: Wanted, root: Path | None = None) -> Installation:
    """The client that was asked for, from the cache or its path; never from PATH."""
    if wanted.path is not None:
        return _at_path(wanted.kind, wanted.path)
    if wanted.version is not None:
        folder = (root or cache_root()) / wanted.kind / wanted.version
        if not folder.is_dir():
            raise _missing(wanted)
        return _load(wanted.kind, folder)
    there = installed(wanted.kind, root)
    if not there:
        raise _missing(wanted)
    return there[0]


def install(wanted: Wanted, root: Path | None = None, *, force: bool = False) -> Installation:
    """Fetch one client with npm into the cache. A half-made one is never seen: it is renamed into place."""
    if wanted.path is not None:
        raise ClientError(f"{wanted.path} is a path: only versions are installed, from npm")
    version = wanted.version or newest(wanted.kind)
    folder = (root or cache_root()) / wanted.kind
    target = folder / version
    if target.is_dir() and not force:
        return _load(wanted.kind, target)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        work = Path(tempfile.mkdtemp(prefix=f".{version}-", dir=folder))
    except OSError as error:
        raise _unreadable(folder, error) from None
    try:
        program = _fetch(wanted.kind, version, work)
        manifest = {"kind": wanted.kind, "version": version, "program": str(program.relative_to(work))}
        (work / MANIFEST).write_text(json.dumps(manifest) + "\n", encoding="utf-8")
        work.chmod(0o755)
        _put_in_place(work, target, force)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return _load(wanted.kind, target)


def newest(kind: Kind) -> str:
    """The version that npm calls the latest."""
    package = CLIENTS[kind].package
    version = _npm("view", package, "dist-tags.latest").strip().strip('"')
    if not VERSION.fullmatch(version):
        raise ClientError(f"npm does not know the latest version of {package}: it printed {version!r}")
    return version


def _fetch(kind: Kind, version: str, work: Path) -> Path:
    missing: NoSuchVersion | None = None
    for package in CLIENTS[kind].to_install(version):
        try:
            _npm("install", "--prefix", str(work), "--no-save", package)
        except NoSuchVersion as error:
            missing = error
            continue
        return _program(kind, work, package)
    raise NoSuchVersion(f"npm has no {kind} {version} for this platform ({missing})")


def _program(kind: Kind, work: Path, package: str) -> Path:
    for pattern in CLIENTS[kind].programs:
        for found in sorted((work / "node_modules").glob(pattern)):
            if found.is_file():
                return found
    raise ClientError(f"{package} was installed, but no known program is in it")


def _put_in_place(work: Path, target: Path, force: bool) -> None:
    if force and target.is_dir():
        # Aside first, then away: a run that has the old one open keeps it, and no name is ever half there.
        with tempfile.TemporaryDirectory(prefix=".replaced-", dir=target.parent) as aside:
            target.rename(Path(aside) / "client")
            work.rename(target)
        return
    try:
        work.rename(target)
    except OSError:
        # Somebody else was faster, with the same version.
        if not target.is_dir():
            raise


def _npm(*args: str) -> str:
    npm = shutil.which("npm")
    if npm is None:
        raise ClientError("npm is not on PATH: install Node.js (https://nodejs.org), which brings it")
    quiet = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
    return _run_npm([npm, *args, *quiet])


def _run_npm(argv: Sequence[str]) -> str:
    try:
        code, out, err = run_group(argv, INSTALL_TIMEOUT)
    except subprocess.TimeoutExpired:
        raise ClientError(f"npm did not finish within {INSTALL_TIMEOUT:g} seconds") from None
    if code == 0:
        return out
    lines = [line for line in err[:2000].splitlines() if line.strip()] or ["nothing"]
    if re.search(r"\b(ETARGET|E404|EBADPLATFORM|No matching version)\b", err):
        raise NoSuchVersion(lines[min(1, len(lines) - 1)])
    raise ClientError(f"npm failed with exit code {code}; it printed:\n" + "\n".join(lines))


def run_group(argv: Sequence[str], timeout: float, cwd: Path | None = None) -> tuple[int, str, str]:
    """Run a command to its end: its exit code and output. On a timeout or an interrupt, end its whole process group."""
    process = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
        cwd=cwd,
    )
    try:
        out, err = process.communicate(timeout=timeout)
    except BaseException:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    return process.returncode, out, err


def _load(kind: Kind, folder: Path) -> Installation:
    again = f"`taskie client install --force {Wanted(kind, folder.name).spelled}` installs it again"
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        program = folder / str(manifest["program"])
    except OSError as error:
        raise ClientError(f"the cached client in {folder} cannot be read ({error.strerror}); {again}") from None
    except (ValueError, TypeError, KeyError):
        raise ClientError(f"{folder / MANIFEST} is damaged; {again}") from None
    return Installation(kind, folder.name, _command(program, again))


def _at_path(kind: Kind, path: Path) -> Installation:
    return Installation(kind, None, _command(path.absolute(), "give the path of a program that can be run"))


def _command(program: Path, otherwise: str) -> tuple[str, ...]:
    if not program.is_file():
        raise ClientError(f"{program} is not a program; {otherwise}")
    if program.suffix in (".js", ".mjs", ".cjs"):
        node = shutil.which("node")
        if node is None:
            raise ClientError(f"{program} needs Node.js, and `node` is not on PATH")
        return (node, str(program))
    if not os.access(program, os.X_OK):
        raise ClientError(f"{program} cannot be run; {otherwise}")
    return (str(program),)


def _missing(wanted: Wanted) -> ClientMissing:
    what = f"{wanted.kind} {wanted.version}" if wanted.version else f"a real {wanted.kind}"
    return ClientMissing(f"{what} is not installed; `taskie client install {wanted.spelled}` fetches it with npm")


def _unreadable(folder: Path, error: OSError) -> ClientError:
    return ClientError(
        f"the cache {folder} cannot be used ({error.strerror}); fix that, or set XDG_CACHE_HOME to another folder"
    )
