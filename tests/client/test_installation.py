"""The cache of clients and how npm fills it. npm is a stand-in here: nothing is fetched."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie import Fakes
from pytest_taskie._contract import newest_measured
from pytest_taskie.client import _installation as installation
from pytest_taskie.client._installation import (
    ClientError,
    ClientMissing,
    NoSuchVersion,
    Wanted,
    cache_root,
    find,
    install,
    installed,
    parse_wanted,
)
from pytest_taskie.client._kinds import KINDS

# Makes the package that it is asked for: a program for a platform's package, a script for the other.
NPM = """#!/bin/sh
echo "$*" >> {log}
if [ "$1" = view ]; then echo 3.1.0; exit 0; fi
prefix=$3; package=$5
{body}
name=${{package%@*}}
mkdir -p "$prefix/node_modules/$name"
case $package in
  *claude-code@*) echo x > "$prefix/node_modules/$name/cli.js" ;;
  *github*) p="$prefix/node_modules/$name/copilot" ;;
  *qwen*) echo x > "$prefix/node_modules/$name/cli.js" ;;
  *gemini*) mkdir "$prefix/node_modules/$name/bundle"; echo x > "$prefix/node_modules/$name/bundle/gemini.js" ;;
  *openai*) mkdir -p "$prefix/node_modules/$name/vendor/x/bin"; p="$prefix/node_modules/$name/vendor/x/bin/codex" ;;
  *) p="$prefix/node_modules/$name/claude" ;;
esac
[ -z "$p" ] || {{ echo '#!/bin/sh' > "$p"; chmod +x "$p"; }}
"""


@pytest.fixture
def npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """An npm on PATH that makes what it is asked for; `body` runs before."""

    def make(body: str = "") -> Path:
        log = tmp_path / "npm.log"
        program = tmp_path / "bin" / "npm"
        program.parent.mkdir(exist_ok=True)
        program.write_text(NPM.format(log=log, body=body))
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
        return log

    return make


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("2.1.197", Wanted("claude", "2.1.197")),
        ("claude@2.1.197", Wanted("claude", "2.1.197")),
        ("claude", Wanted("claude")),
        ("latest", Wanted("claude")),
        ("known", Wanted("claude", newest_measured("claude"))),
        ("codex@known", Wanted("codex", "0.169.0")),
        ("codex", Wanted("codex")),
        ("copilot@1.0.102", Wanted("copilot", "1.0.102")),
        ("copilot@known", Wanted("copilot", "1.0.102")),
        ("qwen@known", Wanted("qwen", "0.24.4")),
        ("gemini@known", Wanted("gemini", "0.61.0")),
        ("gemini=/x/y", Wanted("gemini", path=Path("/x/y"))),
        ("codex@0.166.0", Wanted("codex", "0.166.0")),
        ("0.1.0-beta.2", Wanted("claude", "0.1.0-beta.2")),
        ("./claude", Wanted("claude", path=Path("claude"))),
        ("codex=/x/y", Wanted("codex", path=Path("/x/y"))),
    ],
)
def test_what_can_be_wanted(text: str, wanted: Wanted) -> None:
    assert parse_wanted(text) == wanted


@pytest.mark.parametrize("text", ["nonsense", "2.1", "..", "codex@", "2.1.0/../../x"])
def test_what_cannot(text: str) -> None:
    if text in ("codex@", "2.1.0/../../x"):
        # The newest Codex; and a path, which never becomes part of the cache.
        assert parse_wanted(text).version is None
    else:
        with pytest.raises(ClientError, match="does not name a client"):
            parse_wanted(text)


def test_where_the_cache_is() -> None:
    assert cache_root({"HOME": "/h"}) == Path("/h/.cache/taskie/clients")
    assert cache_root({"HOME": "/h", "XDG_CACHE_HOME": "/c"}) == Path("/c/taskie/clients")
    assert cache_root({"HOME": "/h", "XDG_CACHE_HOME": "relative"}) == Path("/h/.cache/taskie/clients")


def test_the_platforms_package_comes_first(npm: Callable[..., Path], tmp_path: Path) -> None:
    log = npm()
    client = install(parse_wanted("2.1.197"), tmp_path / "cache")
    assert client.version == "2.1.197"
    assert Path(client.command[0]).name == "claude"
    (line,) = log.read_text().splitlines()
    assert "--ignore-scripts" in line
    assert find(Wanted("claude"), tmp_path / "cache") == client


def test_then_the_script(npm: Callable[..., Path], tmp_path: Path) -> None:
    npm('case $package in *claude-code-*) echo "npm error code ETARGET" >&2; exit 1 ;; esac')
    client = install(parse_wanted("1.0.120"), tmp_path)
    assert [Path(part).name for part in client.command] == ["node", "cli.js"]


def test_the_newest(npm: Callable[..., Path], tmp_path: Path) -> None:
    npm()
    assert install(parse_wanted("claude"), tmp_path).version == "3.1.0"
    assert install(parse_wanted("codex"), tmp_path).version == "3.1.0"


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_a_package_and_a_program(kind: str, npm: Callable[..., Path], tmp_path: Path) -> None:
    log = npm()
    client = install(Wanted(kind, "1.2.3"), tmp_path / "cache")
    assert client.command[-1].startswith(str(tmp_path / "cache" / kind / "1.2.3"))
    assert "1.2.3" in log.read_text()
    assert [one.name for one in installed(kind, tmp_path / "cache")] == [f"{kind} 1.2.3"]


def test_versions_order_by_number(npm: Callable[..., Path], tmp_path: Path) -> None:
    npm()
    for version in ("2.1.9", "2.1.10", "1.9.0"):
        install(parse_wanted(version), tmp_path)
    assert [client.version for client in installed("claude", tmp_path)] == ["2.1.10", "2.1.9", "1.9.0"]
    assert find(Wanted("claude"), tmp_path).version == "2.1.10"


def test_there_already(npm: Callable[..., Path], tmp_path: Path) -> None:
    log = npm()
    first = install(parse_wanted("2.1.9"), tmp_path)
    assert install(parse_wanted("2.1.9"), tmp_path) == first
    assert len(log.read_text().splitlines()) == 1
    assert install(parse_wanted("2.1.9"), tmp_path, force=True) == first
    assert len(log.read_text().splitlines()) == 2


def test_a_version_that_npm_does_not_know(fake_cli: Fakes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In process, since it is about arguments and a second try: each package is asked for once, in its own folder."""
    pytest.importorskip("pytest_subprocess")
    missing: dict[str, Any] = {"stderr": "npm error code ETARGET\nnpm error No matching version\n", "exits": 1}
    package = "@anthropic-ai/claude-code"
    npm = fake_cli("npm")
    npm.answers("install", "--prefix", ..., re.compile(f"{package}-.*@9\\.9\\.9"), ..., "--loglevel=error", **missing)
    npm.answers("install", "--prefix", ..., f"{package}@9.9.9", ..., "--loglevel=error", **missing)
    monkeypatch.setenv("PATH", str(npm.in_process().bin))
    with pytest.raises(NoSuchVersion, match=r"npm has no claude 9\.9\.9 for this platform"):
        install(parse_wanted("9.9.9"), tmp_path)
    assert ["--ignore-scripts" in call.argv for call in npm.calls] == [True, True]
    assert installed("claude", tmp_path) == []


@pytest.mark.parametrize("body", ["echo 'npm error code ENETUNREACH' >&2; exit 1", "exit 7"])
def test_npm_fails(body: str, npm: Callable[..., Path], tmp_path: Path) -> None:
    npm(body)
    with pytest.raises(ClientError, match="npm failed with exit code"):
        install(parse_wanted("2.1.9"), tmp_path)


def test_a_failure_leaves_nothing(npm: Callable[..., Path], tmp_path: Path) -> None:
    """Broken off in the middle: the folder that npm was filling is gone, and no version is there."""
    npm('mkdir -p "$prefix/node_modules/half"; exit 1')
    with pytest.raises(ClientError):
        install(parse_wanted("2.1.9"), tmp_path / "cache")
    assert list((tmp_path / "cache" / "claude").iterdir()) == []


def test_a_package_without_a_program(npm: Callable[..., Path], tmp_path: Path) -> None:
    npm("exit 0")
    with pytest.raises(ClientError, match="no known program is in it"):
        install(parse_wanted("2.1.9"), tmp_path)


def test_npm_hangs(npm: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(installation, "INSTALL_TIMEOUT", 0.3)
    # Its child keeps the pipe: unless both are ended, whoever waits for the output waits for the child.
    npm("echo; sleep 30 & wait")
    began = time.monotonic()
    with pytest.raises(ClientError, match=r"did not finish within 0\.3 seconds"):
        install(parse_wanted("2.1.9"), tmp_path)
    assert time.monotonic() - began < 20


def test_no_npm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ClientError, match="npm is not on PATH"):
        install(parse_wanted("2.1.9"), tmp_path)


def test_a_path_is_not_installed(tmp_path: Path) -> None:
    with pytest.raises(ClientError, match="is a path"):
        install(parse_wanted("/x/claude"), tmp_path)


def test_a_cache_that_cannot_be_written(npm: Callable[..., Path], tmp_path: Path) -> None:
    npm()
    (tmp_path / "cache").write_text("")
    with pytest.raises(ClientError, match="set XDG_CACHE_HOME"):
        install(parse_wanted("2.1.9"), tmp_path / "cache")


def test_nothing_there(tmp_path: Path) -> None:
    assert installed("claude", tmp_path) == []
    with pytest.raises(ClientMissing, match="taskie client install claude"):
        find(Wanted("claude"), tmp_path)
    with pytest.raises(ClientMissing, match=r"taskie client install codex@0\.1\.0"):
        find(Wanted("codex", "0.1.0"), tmp_path)


@pytest.mark.parametrize("manifest", ["{", "[]", '{"program": 5}', "{}", '{"program": "gone"}', None])
def test_a_damaged_client(manifest: Any, tmp_path: Path) -> None:
    folder = tmp_path / "claude" / "2.1.9"
    folder.mkdir(parents=True)
    if manifest is not None:
        (folder / installation.MANIFEST).write_text(manifest)
    with pytest.raises(ClientError, match=r"taskie client install --force 2\.1\.9"):
        find(Wanted("claude", "2.1.9"), tmp_path)


def test_a_program_without_its_run_bit(tmp_path: Path) -> None:
    folder = tmp_path / "claude" / "2.1.9"
    folder.mkdir(parents=True)
    (folder / "claude").write_text("x")
    (folder / installation.MANIFEST).write_text(json.dumps({"program": "claude"}))
    with pytest.raises(ClientError, match="cannot be run"):
        find(Wanted("claude", "2.1.9"), tmp_path)


def test_a_program_by_its_path(tmp_path: Path) -> None:
    program = tmp_path / "claude"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    client = find(Wanted("claude", path=program))
    assert (client.version, client.command) == (None, (str(program),))
    assert str(program) in client.name
