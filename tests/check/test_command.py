"""`taskie check` from outside: exit codes, formats, what is off, and input of every bad kind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Callable
from xml.etree import ElementTree

import pytest

from pytest_taskie.check import _room
from taskie import cli

BLOCK = 'echo \'{"decision": "block"}\''
Run = Callable[..., "tuple[int, str, str]"]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.chdir(tmp_path)

    def run(*words: object) -> tuple[int, str, str]:
        code = cli.main(["check", *map(str, words)])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


def plugin(folder: Path, hooks: Any) -> Path:
    """A plugin with these commands for Stop, or this whole object of hooks."""
    if isinstance(hooks, list):
        hooks = {"Stop": [{"hooks": [{"type": "command", "command": command} for command in hooks]}]}
    (folder / "hooks").mkdir(parents=True)
    (folder / "hooks" / "hooks.json").write_text(hooks if isinstance(hooks, str) else json.dumps({"hooks": hooks}))
    return folder


class TestExitCodes:
    def test_0_where_nothing_is_found(self, run: Run, tmp_path: Path) -> None:
        code, out, _ = run(plugin(tmp_path / "p", ["exit 0"]))
        assert (code, "1 hook: nothing found" in out) == (0, True)

    def test_1_for_a_warning(self, run: Run, tmp_path: Path) -> None:
        code, out, _ = run(plugin(tmp_path / "p", [BLOCK]), "--rule", "block-without-reason")
        assert code == 1
        assert "p/hooks/hooks.json:1 Stop echo" in out
        assert "warning block-without-reason: a block without a reason" in out
        assert "1 hook: 1 warning" in out

    @pytest.mark.parametrize(
        ("hooks", "words"),
        [
            ("{", "is not JSON"),
            ('{"hooks": {} /* none */}', "has comments"),
            ("[]", "does not hold a JSON object"),
        ],
    )
    def test_2_where_nothing_can_be_read(self, hooks: str, words: str, run: Run, tmp_path: Path) -> None:
        code, out, _ = run(plugin(tmp_path / "p", hooks))
        assert (code, words in out) == (2, True)

    def test_2_where_there_is_nothing(self, run: Run, tmp_path: Path) -> None:
        assert run(tmp_path)[0] == 2

    def test_2_where_a_hook_cannot_be_run_here(self, run: Run, tmp_path: Path) -> None:
        code, out, _ = run(plugin(tmp_path / "p", ["no-such-program --x"]))
        assert code == 2
        assert "it was not run: it needs the program no-such-program" in out

    def test_2_for_a_failing_seed(self, run: Run, tmp_path: Path) -> None:
        (plugin(tmp_path / "p", ["exit 0"]) / ".taskie").mkdir()
        (tmp_path / "p" / ".taskie" / "config.toml").write_text('[check.seed]\n"*" = "exit 7"\n')
        code, out, _ = run("p")
        assert (code, "the seed of Stop exit 0 ended with 7" in out) == (2, True)

    @pytest.mark.parametrize(
        "words", [["--rule", "crahs"], ["--format", "xml"], ["--client", "nobody"], ["--nonsense"]]
    )
    def test_2_for_wrong_usage(self, words: list[str], run: Run, tmp_path: Path) -> None:
        code, _, err = run(plugin(tmp_path / "p", ["exit 0"]), *words)
        assert code == 2
        assert "taskie check" in err

    def test_2_where_no_room_can_be_made(self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        broken = tmp_path / "broken.py"
        broken.write_text("import sys; sys.exit('namespaces are switched off')")
        monkeypatch.setattr(_room, "BOX", broken)
        code, _, err = run(plugin(tmp_path / "p", ["exit 0"]))
        assert code == 2
        assert "not here: namespaces are switched off. --unconfined runs them with both" in err


class TestFormats:
    @pytest.fixture
    def broken(self, tmp_path: Path) -> Path:
        return plugin(tmp_path / "p", [BLOCK + "; : 100%,\x07"])

    def test_json(self, run: Run, broken: Path) -> None:
        told = json.loads(run(broken, "--format", "json", "--rule", "block-without-reason")[1])
        (found,) = told["findings"]
        assert (found["rule"], found["severity"], found["event"]) == ("block-without-reason", "warning", "Stop")
        assert found["file"] == "p/hooks/hooks.json"
        assert found["again"].startswith("taskie try 'p/hooks/hooks.json#0' Stop")

    def test_junit(self, run: Run, broken: Path) -> None:
        suite = ElementTree.fromstring(run(broken, "--format", "junit", "--rule", "block-without-reason")[1])
        assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
        assert suite.find("testcase/failure") is not None

    def test_sarif(self, run: Run, broken: Path) -> None:
        (told,) = json.loads(run(broken, "--format", "sarif", "--rule", "block-without-reason")[1])["runs"]
        assert told["results"][0]["level"] == "warning"
        place = told["results"][0]["locations"][0]["physicalLocation"]
        assert (place["artifactLocation"]["uri"], place["region"]["startLine"]) == ("p/hooks/hooks.json", 1)
        assert [rule["id"] for rule in told["tool"]["driver"]["rules"]] == ["block-without-reason"]

    def test_github(self, run: Run, broken: Path) -> None:
        line = run(broken, "--format", "github", "--rule", "block-without-reason")[1].splitlines()[0]
        assert line.startswith("::warning file=p/hooks/hooks.json,line=1,title=block-without-reason::a block without")
        assert "%0Ataskie try" in line

    def test_a_file(self, run: Run, broken: Path, tmp_path: Path) -> None:
        _, out, _ = run(broken, "--format", "json", "--output", "r.json", "--rule", "block-without-reason")
        assert out.startswith("1 hook: 1 warning")
        assert json.loads((tmp_path / "r.json").read_text())["findings"]
        code, _, err = run(broken, "--output", "no/r.json", "--rule", "configuration")
        assert (code, "no/r.json cannot be written" in err) == (2, True)

    def test_what_a_hook_prints_does_not_steer_the_terminal(self, run: Run, tmp_path: Path) -> None:
        script = "printf '\\033]0;owned\\007\\033[31mTraceback (most recent call last):\\n' >&2; exit 3"
        code, out, _ = run(plugin(tmp_path / "p", [script]), "--rule", "crash")
        assert code == 1
        assert "\x1b" not in out
        assert "\x07" not in out


class TestOff:
    def test_a_rule_with_a_reason(self, run: Run, tmp_path: Path) -> None:
        (plugin(tmp_path / "p", [BLOCK]) / "pyproject.toml").write_text(
            '[tool.taskie.check.off]\nblock-without-reason = "a demonstration"\n'
        )
        code, out, _ = run("p", "--rule", "block-without-reason", "--rule", "configuration")
        assert (code, "block-without-reason: a block" in out) == (0, False)

    def test_for_one_hook_alone(self, run: Run, tmp_path: Path) -> None:
        (plugin(tmp_path / "p", ["exit 3", "exit 4"]) / "pyproject.toml").write_text(
            '[tool.taskie.check.off]\n"crash exit 3" = "a demonstration"\n'
        )
        code, out, _ = run("p", "--rule", "crash")
        assert code == 1
        assert "Stop exit 4" in out
        assert "Stop exit 3" not in out

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ('[check.off]\ncrash = ""\n', "must say why the rule is off"),
            ('[check.off]\ncrahs = "x"\n', "there is no rule 'crahs'; is crash meant?"),
            ('[check]\nseeed = "x"\n', "has no setting 'seeed'; is seed meant?"),
            ("[check]\nseed = 5\n", "must be a table of strings"),
            ("check = 5\n", "check must be a table"),
            ("[check", "is not valid TOML"),
        ],
    )
    def test_a_wrong_configuration_is_named(self, text: str, words: str, run: Run, tmp_path: Path) -> None:
        (plugin(tmp_path / "p", ["exit 0"]) / ".taskie").mkdir()
        (tmp_path / "p" / ".taskie" / "config.toml").write_text(text)
        code, _, err = run("p")
        assert (code, words in err) == (2, True)


class TestBadInput:
    @pytest.mark.parametrize("command", [["sh", "x"], "", None, 5, {}])
    def test_a_command_that_is_none(self, command: object, run: Run, tmp_path: Path) -> None:
        hooks = {"Stop": [{"hooks": [{"type": "command", "command": command}, {"type": "command", "command": ":"}]}]}
        code, out, _ = run(plugin(tmp_path / "p", hooks), "--rule", "configuration")
        assert (code, "error   configuration: /hooks/Stop/0/hooks/0" in out) == (1, True)

    def test_a_command_of_another_system(self, run: Run, tmp_path: Path) -> None:
        code, out, _ = run(plugin(tmp_path / "p", ["powershell.exe -File C:\\x.ps1"]))
        assert code == 2
        assert "it needs the program powershell.exe" in out

    def test_ten_thousand_hooks_are_read_and_not_run(self, run: Run, tmp_path: Path) -> None:
        code, out, _ = run(plugin(tmp_path / "p", [f'touch "$CLAUDE_TOOL_NAME" {n}' for n in range(10_000)]))
        assert "10000 hooks are more than 200: none was run, and only what can be read was checked" in out
        assert out.count("phantom-variable") == 10_000
        assert code == 1

    def test_ten_thousand_times_the_same_is_one(self, run: Run, tmp_path: Path) -> None:
        code, out, _ = run(plugin(tmp_path / "p", ["exit 3"] * 10_000), "--rule", "crash")
        assert (code, out.count("crash: it fails")) == (1, 1)
        assert "10000 hooks: 1 warning" in out

    def test_a_cycle_of_links(self, run: Run, tmp_path: Path) -> None:
        folder = plugin(tmp_path / "p", ["exit 0"])
        (folder / "loop").symlink_to(folder)
        (folder / "a").symlink_to("b")
        (folder / "b").symlink_to("a")
        assert run(folder)[0] == 0
        (tmp_path / "q" / "hooks").mkdir(parents=True)
        (tmp_path / "q" / "hooks" / "hooks.json").symlink_to("hooks.json")
        code, out, _ = run(tmp_path / "q")
        assert (code, "Too many levels of symbolic links" in out) == (2, True)


def test_for_other_clients(run: Run, tmp_path: Path) -> None:
    approve = 'echo \'{"decision": "approve"}\''
    place = plugin(tmp_path / "p", [approve])
    assert run(place, "--rule", "lost-output")[0] == 0
    code, out, _ = run(place, "--rule", "lost-output", "--client", "claude,codex")
    assert code == 1
    assert "codex >=" in out


def test_a_seed_shows_what_an_empty_project_does_not(run: Run, tmp_path: Path) -> None:
    place = plugin(tmp_path / "p", [f"if [ -e FAILING ]; then {BLOCK}; fi"])
    code, out, _ = run(place)
    assert code == 0
    assert "it did nothing at any event that was tried; give it what it looks for: [tool.taskie.check.seed]" in out
    (place / "pyproject.toml").write_text('[tool.taskie.check.seed]\nStop = "touch FAILING"\n')
    code, out, _ = run(place)
    assert "block-without-reason" in out
    assert "subdirectory: after the agent's `cd src` it no longer blocks" in out
    assert not (place / "FAILING").exists()


def test_explain(run: Run) -> None:
    code, out, _ = run("--explain", "lost-writes")
    assert (code, out.startswith("### lost-writes")) == (0, True)
    assert run("--explain", "lost-write")[2].strip().endswith("is lost-writes meant?")
