"""`stop-hook.sh` on a Mac that has only Apple's Python: in a file system of its own, with the paths that a Mac has.

Nothing but the shell and what the script calls is there; the interpreters are scripts that say which one was started.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support import HOOK

STUB = "/usr/bin/python3"
TOOLS = "/Library/Developer/CommandLineTools"
XCODE = "/Applications/Xcode-beta.app/Contents/Developer"
# In a new user namespace anybody may.
CHANGING_ROOT = ["chroot"] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user", "chroot"]
NEEDED = ("chroot", "ldd", CHANGING_ROOT[0])


class Mac:
    """A directory that a process can have as its root."""

    def __init__(self, root: Path) -> None:
        self.root = root
        for name in ("sh", "env", "readlink"):
            self._copy(name)
        self.put("/plugin/hooks/stop-hook.sh", HOOK.read_text())
        self.put("/plugin/hooks/stop_hook.py", "")  # what the interpreter would be given
        (root / ".taskie" / "plans").mkdir(parents=True)  # so that the script does not answer by itself
        self.python(STUB)
        self.put("/dev/null", "")
        self.put("/usr/bin/xcode-select", "#!/bin/sh\necho 'xcode-select: error: no developer directory' >&2\nexit 2\n")

    def put(self, path: str, text: str) -> None:
        target = self.root / path[1:]
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
        target.chmod(0o755)

    def python(self, path: str) -> None:
        """An interpreter that answers with its own path, as the hook would with a message."""
        self.put(path, f"""#!/bin/sh\necho '{{"systemMessage": "{path}"}}'\n""")

    def selected(self, developer: str) -> None:
        self.put("/usr/bin/xcode-select", f"#!/bin/sh\n[ \"$*\" = -p ] && echo '{developer}'\n")

    def stop(self, **env: str) -> Any:
        done = self.run(
            "/plugin/hooks/stop-hook.sh",
            "--fail-open",
            **{"PATH": "/usr/bin:/bin:/usr/sbin:/sbin", "CLAUDE_PROJECT_DIR": "/", **env},
        )
        assert (done.returncode, done.stderr) == (0, b"")
        return json.loads(done.stdout)["systemMessage"]

    def run(self, *command: str, **env: str) -> subprocess.CompletedProcess[bytes]:
        variables = [f"{name}={value}" for name, value in env.items()]
        return subprocess.run(
            [*CHANGING_ROOT, str(self.root), "/usr/bin/env", "-i", *variables, *command],
            input=b"{}",
            capture_output=True,
            check=False,
            timeout=30,
        )

    def _copy(self, name: str) -> None:
        """A program and the libraries that it loads, each where it is."""
        program = shutil.which(name)
        assert program
        listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True, timeout=30).stdout
        for path in [program, f"/usr/bin/{name}", f"/bin/{name}", *re.findall(r"(/\S+) \(0x", listed)]:
            target = self.root / path[1:]
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(program if path.endswith(f"/{name}") else path, target)


@pytest.fixture
def mac(tmp_path: Path) -> Mac:
    absent = [name for name in NEEDED if not shutil.which(name)]
    if absent:
        pytest.skip(f"this machine has no {absent[0]}, so no process can have another root")
    made = Mac(tmp_path / "mac")
    tried = made.run("/bin/sh", "-c", "exit 0")
    if tried.returncode:
        pytest.skip(f"a process cannot have another root here: {tried.stderr.decode().strip()}")
    return made


def test_the_stub_alone_is_never_started(mac: Mac) -> None:
    assert mac.stop().startswith("Taskie found no Python")


def test_the_command_line_tools(mac: Mac) -> None:
    mac.python(f"{TOOLS}/usr/bin/python3")
    assert mac.stop() == f"{TOOLS}/usr/bin/python3"


def test_an_xcode_wherever_it_is(mac: Mac) -> None:
    mac.python(f"{XCODE}/usr/bin/python3")
    mac.selected(XCODE)
    assert mac.stop() == f"{XCODE}/usr/bin/python3"


@pytest.mark.parametrize("developer", ["", "/", "relative", f"{XCODE}"])
def test_an_xcode_without_python(mac: Mac, developer: str) -> None:
    mac.selected(developer)
    assert mac.stop().startswith("Taskie found no Python")


@pytest.mark.parametrize("other", ["/opt/homebrew/bin", "/Users/me/.pyenv/shims"])
def test_a_python_of_ones_own_comes_first(mac: Mac, other: str) -> None:
    """Theirs is old: it reads no TOML."""
    mac.python(f"{TOOLS}/usr/bin/python3")
    mac.python(f"{other}/python3")
    assert mac.stop(PATH=f"/usr/bin:/bin:{other}") == f"{other}/python3"


def test_elsewhere_the_systems_python_is_one(mac: Mac) -> None:
    (mac.root / "usr" / "bin" / "xcode-select").unlink()
    assert mac.stop() == STUB
