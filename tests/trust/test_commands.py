"""`taskie trust`, `untrust`, and the commands that trust what they write themselves."""

from __future__ import annotations

import errno
import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.commands import PROGRAM
from support.faulty import Faulty

from .checkouts import CONFIG, Checkout, check
from .test_hook import claudex_state

RULE = ".gauntlet/checks/test.yml"
ASKED = "you have not trusted"


def typed(here: Checkout, answer: str, **env: str) -> tuple[int, str]:
    """`taskie trust` in a terminal of its own, where this is typed."""
    main, side = pty.openpty()
    command = [sys.executable, str(PROGRAM), "trust"]
    given = {**here.env, **env}
    with subprocess.Popen(command, cwd=here.path, env=given, stdin=side, stdout=side, stderr=side) as process:
        os.close(side)
        os.write(main, answer.encode())
        shown = b""
        try:
            while chunk := os.read(main, 65536):
                shown += chunk
        except OSError:
            pass  # the other side is closed
        code = process.wait(30)
    os.close(main)
    return code, shown.decode()


def word(here: Checkout) -> str:
    return here.message().rpartition("/taskie:trust ")[2].split()[0]


class TestWhoMaySayYes:
    def test_a_person_in_a_terminal(self, clone: Checkout) -> None:
        code, shown = typed(clone, "y\n")
        assert code == 0, shown
        assert RULE in shown
        assert ASKED not in clone.message()
        assert clone.ran == ["one"]

    @pytest.mark.parametrize("answer", ["n\n", "\n", "\x04"])
    def test_a_person_who_does_not(self, clone: Checkout, answer: str) -> None:
        code, shown = typed(clone, answer)
        assert (code, "nothing was trusted" in shown) == (1, True)
        assert ASKED in clone.message()

    def test_not_without_a_terminal(self, clone: Checkout) -> None:
        done = clone.taskie("trust")
        assert done.code == 1
        assert "there is no terminal to ask in" in done.err
        assert ASKED in clone.message()

    def test_not_an_agent_in_a_terminal(self, clone: Checkout) -> None:
        code, shown = typed(clone, "y\n", CLAUDECODE="1")
        assert (code, "CLAUDECODE says that an agent runs this" in shown) == (1, True)
        assert ASKED in clone.message()

    def test_the_word_of_the_last_stop_alone(self, clone: Checkout) -> None:
        first = word(clone)
        second = word(clone)
        assert first not in clone.records[0].read_text()
        assert clone.taskie("trust", "--word", first).code == 1
        assert clone.taskie("trust", "--word", "bababababa").code == 1
        assert clone.taskie("trust", "--word", second, CLAUDECODE="1").code == 0
        assert ASKED not in clone.message()

    def test_the_word_is_for_what_waited_then(self, theirs: Checkout, clone: Checkout) -> None:
        told = word(clone)
        theirs.commit(RULE, check("worse"))
        clone.git("pull", "-q")
        done = clone.taskie("trust", "--word", told)
        assert done.code == 1
        assert "has changed since" in done.err
        clone.message()
        assert clone.ran == []


class TestLooking:
    def test_exactly_what_would_be_run(self, theirs: Checkout, clone: Checkout) -> None:
        theirs.write("run.sh", "#!/bin/sh\necho \x1b[2Khidden \u202e\n", 0o755)
        theirs.commit(RULE, "command: ./run.sh\n")
        clone.git("pull", "-q")
        shown = clone.taskie("trust", "--show")
        assert shown.code == 0
        assert f"== gauntlet: {clone.path}/{RULE} (new)\n  command: ./run.sh\n" in shown.out
        assert f"== gauntlet: {clone.path}/run.sh (new)\n  #!/bin/sh\n" in shown.out
        assert "  echo \\x1b[2Khidden \\u{202e}\n" in shown.out
        assert "\x1b" not in shown.out
        assert clone.records == []
        clone.trust()
        assert f"{RULE} (trusted)" in clone.taskie("trust", "--show").out

    def test_of_many_files_the_first_three_are_named(self, theirs: Checkout, clone: Checkout) -> None:
        for name in ("more", "other", "third"):
            theirs.write(f".gauntlet/checks/{name}.yml", check(name))
        theirs.commit("README", "", "more rules")
        clone.git("pull", "-q")
        for said in (clone.message(), clone.taskie("status").out):
            assert re.search(r"gauntlet \([^,()]+, [^,()]+, [^,()]+ and 2 more\)", said), said

    def test_the_list(self, clone: Checkout, tmp_path: Path) -> None:
        assert clone.taskie("trust", "--list").out == "Nothing is trusted anywhere.\n"
        clone.message()
        assert clone.taskie("trust", "--list").out == "Nothing is trusted anywhere.\n", "a word is no trust"
        clone.trust()
        assert clone.taskie("trust", "--list").out == f"{clone.path}: gauntlet\n"
        (row,) = json.loads(clone.taskie("trust", "--list", "--json").out)["trusted"]
        assert (row["root"], row["exists"], row["engines"]) == (str(clone.path), True, {"gauntlet": 2})
        clone.path.rename(tmp_path / "moved")
        moved = clone.at(tmp_path / "moved")
        assert moved.taskie("trust", "--list").out == f"{clone.path} (no longer there): gauntlet\n"

    def test_untrust(self, clone: Checkout) -> None:
        done = clone.taskie("untrust")
        assert (done.code, done.out) == (0, "Nothing was trusted here.\n")
        clone.trust()
        done = clone.taskie("untrust")
        assert (done.code, done.out) == (0, f"Nothing is trusted any more in {clone.path}.\n")
        assert ASKED in clone.message()
        assert clone.ran == []

    def test_another_directory(self, clone: Checkout, theirs: Checkout) -> None:
        assert f"{clone.path}/{RULE}" in theirs.taskie("trust", "--show", str(clone.path)).out
        clone.trust()
        assert theirs.taskie("untrust", str(clone.path)).out == f"Nothing is trusted any more in {clone.path}.\n"
        assert theirs.taskie("trust", "--show", "nowhere").code == 2

    def test_where_there_is_nothing(self, clone: Checkout, tmp_path: Path) -> None:
        assert clone.at(tmp_path / "empty").taskie("trust").out == "Nothing here that the hook would run.\n"


class TestOwnCommands:
    """What they write is trusted; what was there before is not."""

    @pytest.fixture
    def own(self, theirs: Checkout, tmp_path: Path) -> Checkout:
        own = theirs.at(tmp_path / "own")
        own.git("init", "-q", "-b", "main")
        own.commit(".gitignore", "ran\n")
        return own

    def test_gauntlet_init(self, own: Checkout) -> None:
        assert own.taskie("gauntlet", "init").code == 0
        own.write(".gauntlet/config.yml", CONFIG.replace("before", "main"))
        own.write(RULE, check("own"))
        own.write("changed", "")
        assert ASKED not in own.message()
        assert own.ran == ["own"]

    def test_gauntlet_init_in_a_clone(self, clone: Checkout) -> None:
        done = clone.taskie("gauntlet", "init")
        assert "What was there already is not trusted" in done.out
        assert ASKED in clone.message()
        assert clone.ran == []

    def test_gauntlet_init_beside_a_check_that_came_along(self, theirs: Checkout, tmp_path: Path) -> None:
        theirs.git("rm", "-q", ".gauntlet/config.yml")
        theirs.git("commit", "-q", "-m", "a check without a configuration")
        theirs.git("clone", "-q", str(theirs.path), str(tmp_path / "clone"))
        clone = theirs.at(tmp_path / "clone")
        assert "What was there already is not trusted" in clone.taskie("gauntlet", "init").out
        assert ASKED in clone.message()

    def test_claudex_start(self, own: Checkout) -> None:
        assert own.taskie("claudex", "start", "plan", "something").code == 0
        result = own.stop()
        assert result.continues
        assert ASKED not in str(result.system_message)

    def test_claudex_start_beside_a_loop_that_came_along(self, own: Checkout) -> None:
        own.write(".claude/claudex/20990101-000000-aaaaaa.state", claudex_state(Path("/elsewhere")))
        assert own.taskie("claudex", "start", "plan", "something").code == 0
        told = own.message()
        assert ASKED in told
        assert "20990101-000000-aaaaaa.state" in told

    def test_autopilot(self, own: Checkout) -> None:
        assert own.taskie("autopilot", "init", "spec", "spec.md").code == 0
        assert own.taskie("autopilot", "plan", '[{"id": 1, "name": "a"}]', "--test-command", "true").code == 0
        result = own.stop()
        assert result.continues
        assert ASKED not in str(result.system_message)

    def test_autopilot_goes_on_with_what_came_along(self, own: Checkout, tmp_path: Path) -> None:
        assert own.taskie("autopilot", "init", "spec", "spec.md").code == 0
        own.git("add", "-A")
        own.git("commit", "-q", "-m", "a state")
        own.git("clone", "-q", str(own.path), str(tmp_path / "again"))
        clone = own.at(tmp_path / "again")
        assert clone.taskie("autopilot", "plan", '[{"id": 1, "name": "a"}]').code == 0
        assert ASKED in clone.message()
        assert clone.taskie("autopilot", "init", "spec", "spec.md", "--force").code == 0
        assert ASKED not in clone.message(), "all of it is written here"


def test_a_program_that_runs_as_the_user_can_forge_it(clone: Checkout) -> None:
    """Nothing prevents that, and the page does not say that anything did."""
    forge = (
        f"import sys; sys.path.insert(0, {str(PROGRAM.parents[1])!r})\n"
        "import os\nfrom taskie import gauntlet, trust\n"
        "trust.add('.', os.environ, {'gauntlet': gauntlet.brings('.', os.environ)})\n"
    )
    subprocess.run([sys.executable, "-c", forge], cwd=clone.path, env=clone.env, check=True)
    assert ASKED not in clone.message()
    assert clone.ran == ["one"]


class TestWhoElseSaysSo:
    """Whoever asks where things stand hears that something waits, and how to look at it."""

    def test_doctor(self, clone: Checkout) -> None:
        said = clone.taskie("doctor").out
        assert "the hook runs nothing of this before you trust it: gauntlet (.gauntlet/config.yml" in said
        assert "taskie trust --show" in said
        assert records(clone) == []
        clone.trust()
        assert "before you trust it" not in clone.taskie("doctor").out

    def test_status(self, clone: Checkout) -> None:
        said = clone.taskie("status").out
        assert "TRUST: the hook runs nothing of this before you trust it: gauntlet (.gauntlet/config.yml" in said
        assert "taskie trust --show" in said.splitlines()[-1]
        assert "gauntlet (" in json.loads(clone.taskie("status", "--json").out)["trust"]
        assert records(clone) == []
        clone.trust()
        assert "TRUST" not in clone.taskie("status").out
        assert "trust" not in json.loads(clone.taskie("status", "--json").out)

    def test_what_the_user_writes_does_not_wait(self, clone: Checkout) -> None:
        clone.trust()
        clone.write(".gauntlet/checks/test.yml", check("mine"))
        assert "TRUST" not in clone.taskie("status").out

    def test_with_everything_trusted(self, clone: Checkout) -> None:
        assert "TRUST" not in clone.taskie("status", TASKIE_TRUST="1").out

    def test_what_cannot_be_read(self, clone: Checkout, faulty: Faulty) -> None:
        said = clone.taskie("status", **faulty(f"read={errno.EIO}@/checks/test.yml")).out
        assert "gauntlet (test.yml cannot be read (Input/output error))" in said


def records(clone: Checkout) -> list[Path]:
    return list(Path(clone.env["HOME"], ".config", "taskie").rglob("*.json"))
