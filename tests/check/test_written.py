"""`--write-test` and `--fix`: what they write, and that they write nothing else."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Callable

import pytest

from taskie import cli

HOOKS = {
    "PreToolUse": [{"hooks": [{"type": "command", "command": "sh ${CLAUDE_PLUGIN_ROOT}/hooks/ö.sh"}]}],
    "Stop": [{"hooks": [{"type": "command", "command": 'sh "${CLAUDE_PLUGIN_ROOT}"/hooks/stop.sh'}]}],
}
RULES = ["--rule", "blank-in-plugin", "--rule", "block-without-reason"]


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "p"
    (folder / "hooks").mkdir(parents=True)
    (folder / "hooks" / "hooks.json").write_text(json.dumps({"hooks": HOOKS}, indent=1, ensure_ascii=False))
    (folder / "hooks" / "ö.sh").write_text("exit 0\n")
    (folder / "hooks" / "stop.sh").write_text('echo \'{"decision": "block"}\'\n')
    monkeypatch.chdir(folder)
    return folder


def texts(folder: Path) -> dict[str, str]:
    return {file.name: file.read_text() for file in (folder / "hooks").iterdir()}


class TestFix:
    def test_it_shows_the_change_and_asks(self, plugin: Path, capsys: pytest.CaptureFixture[str]) -> None:
        before = texts(plugin)
        assert cli.main(["check", "--fix", *RULES]) == 1
        out = capsys.readouterr().out
        assert '-      "command": "sh ${CLAUDE_PLUGIN_ROOT}/hooks/ö.sh"' in out
        assert '+      "command": "sh \\"${CLAUDE_PLUGIN_ROOT}\\"/hooks/ö.sh"' in out
        assert "nothing was changed; --fix --yes does it" in out
        assert texts(plugin) == before

    @pytest.mark.parametrize(("answer", "changed"), [("y\n", True), ("n\n", False), ("\n", False)])
    def test_the_answer_counts(self, answer: str, changed: bool, plugin: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        before = texts(plugin)
        terminal = io.StringIO(answer)
        terminal.isatty = lambda: True  # type: ignore[method-assign]  # a person is there
        monkeypatch.setattr("sys.stdin", terminal)
        cli.main(["check", "--fix", *RULES])
        assert (texts(plugin) != before) is changed

    def test_what_it_changes_is_right_and_nothing_else(self, plugin: Path) -> None:
        before = (plugin / "hooks" / "hooks.json").read_text()
        cli.main(["check", "--fix", "--yes", *RULES])
        after = (plugin / "hooks" / "hooks.json").read_text()
        assert after == before.replace("${CLAUDE_PLUGIN_ROOT}/hooks/ö", '\\"${CLAUDE_PLUGIN_ROOT}\\"/hooks/ö')
        assert '"reason": "TODO: say what to do"' in (plugin / "hooks" / "stop.sh").read_text()
        assert cli.main(["check", *RULES]) == 0

    def test_there_is_nothing_to_fix(self, plugin: Path, capsys: pytest.CaptureFixture[str]) -> None:
        cli.main(["check", "--fix", "--yes", "--rule", "crash"])
        assert "nothing here can be fixed mechanically" in capsys.readouterr().out


class TestWriteTest:
    @pytest.fixture
    def write(self, plugin: Path, pytester: pytest.Pytester) -> Callable[[], Path]:
        def write() -> Path:
            file = pytester.path / "test_found.py"
            cli.main(["check", str(plugin), "--write-test", str(file), *RULES])
            return file

        return write

    def test_they_fail_now_and_pass_when_it_is_fixed(
        self, write: Callable[[], Path], plugin: Path, pytester: pytest.Pytester
    ) -> None:
        write()
        outcome = pytester.runpytest_subprocess("-p", "no:randomly")
        outcome.assert_outcomes(failed=2)
        outcome.stdout.fnmatch_lines(["*test_pretooluse_ö_sh_blank_in_plugin*", "*a block without a reason*"])
        cli.main(["check", str(plugin), "--fix", "--yes", *RULES])
        pytester.runpytest_subprocess("-p", "no:randomly").assert_outcomes(passed=2)

    def test_a_file_that_is_there_stays(
        self, write: Callable[[], Path], pytester: pytest.Pytester, capsys: pytest.CaptureFixture[str]
    ) -> None:
        (pytester.path / "test_found.py").write_text("mine")
        write()
        assert (pytester.path / "test_found.py").read_text() == "mine"
        assert "name another with --write-test" in capsys.readouterr().err
