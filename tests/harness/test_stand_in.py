"""The program behind the fakes, where a test in one process sees more than one from outside."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from taskie import scenario, stand_in


def test_it_needs_no_test_framework_and_little_else(tmp_path: Path) -> None:
    """`taskie demo` uses it in a fresh clone, with whatever Python there is."""
    (tmp_path / "taskie").mkdir()
    for name in ("__init__", "agent_options", "agent_values", "scenario", "stand_in"):
        (tmp_path / "taskie" / f"{name}.py").write_text(Path(stand_in.__file__).with_name(f"{name}.py").read_text())
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from taskie import stand_in\n"
        "stand_in.install('bin', 'scenario')\n"
        "stand_in.script('scenario', [{'verdict': 'PASS', 'shape': 'plain'}])\n"
    )
    subprocess.run([sys.executable, "-I", "-S", "-c", code, str(tmp_path)], cwd=tmp_path, check=True)
    printed = subprocess.run(
        ["bin/claude", "-p", "x"], cwd=tmp_path, check=True, stdin=subprocess.DEVNULL, capture_output=True
    )
    assert json.loads(printed.stdout)["result"] == {"verdict": "PASS"}
    assert stand_in.calls(str(tmp_path / "scenario"))[0]["argv"] == ["-p", "x"]


def test_names_with_spaces_and_quotes(tmp_path: Path) -> None:
    folder = tmp_path / 'it\'s a "place" $HOME'
    program = stand_in.install(str(folder / "bin"), str(folder / "scenario"))
    done = subprocess.run([program, "-p", "a b", "$c"], stdin=subprocess.DEVNULL, check=True, capture_output=True)
    assert done.stdout == b"VERDICT: FAIL\n"
    assert stand_in.calls(str(folder / "scenario"))[0]["argv"] == ["-p", "a b", "$c"]


def test_main_prints_and_returns_the_exit_code(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    stand_in.script(str(tmp_path), [{"says": "Hello.", "exit": 3}])
    assert stand_in.main([str(tmp_path), "claude", "-p", "x"]) == 3
    assert capfd.readouterr() == ("Hello.\n", "claude: ends with 3, as scripted\n")


def test_main_becomes_another_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    became: list[object] = []
    monkeypatch.setattr(os, "execv", lambda *arguments: became.extend(arguments))
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    stand_in.script(str(tmp_path), [{"runs": "/some/program"}])
    stand_in.main([str(tmp_path), "claude", "x"])
    assert became == ["/some/program", ["/some/program", "x"]]


@pytest.mark.parametrize(
    ("name", "argv", "scripted", "printed"),
    [
        ("claude", ["-p", "x"], {"outputs": [1]}, "[1]\n"),
        ("claude", ["-p", "x"], {"outputs": "as it is"}, "as it is"),
        ("claude", ["-p", "x"], {"verdict": None}, "The review is written.\n"),
        ("claude", ["-p", "--json-schema", "{}", "x"], {"verdict": "PASS"}, '{"verdict": "PASS"}\n'),
        ("codex", ["exec", "-o", "last", "x"], {"says": "Good."}, "Good.\n"),
        ("codex", ["exec", "x"], {"outputs": {"a": 1}}, '{"a": 1}\n'),
    ],
)
def test_what_it_prints(tmp_path: Path, name: str, argv: list[str], scripted: dict[str, object], printed: str) -> None:
    stand_in.script(str(tmp_path), [scripted])
    reply = stand_in.answer(str(tmp_path), name, argv, "", {}, str(tmp_path))
    assert (reply.stdout, reply.exit_code) == (printed, 0)
    assert (tmp_path / "last").exists() == ("-o" in argv)


def test_the_log_of_the_original_mock_gets_a_line_for_each_call(tmp_path: Path) -> None:
    for word in ("one", "two"):
        stand_in.answer(str(tmp_path), "claude", ["-p", word], "", {"MOCK_CLAUDE_LOG": "log"}, str(tmp_path))
    assert (tmp_path / "log").read_text() == "-p one\n-p two\n"


def test_a_wait_ends_with_the_scenario(tmp_path: Path) -> None:
    stand_in.script(str(tmp_path), [{"delay": 1000}])
    (tmp_path / "hold").touch()
    (tmp_path / "ended").touch()
    with pytest.raises(SystemExit):
        stand_in.answer(str(tmp_path), "claude", ["x"], "", {}, str(tmp_path))


def test_calls_and_answers_are_counted_apart(tmp_path: Path) -> None:
    stand_in.script(str(tmp_path), [{"says": "one"}, {"says": "two"}], ["--new"])
    arguments: tuple[list[str], ...] = (["x"], ["--new", "x"], [], ["x"])
    replies = [stand_in.answer(str(tmp_path), "claude", argv, "", {}, str(tmp_path)) for argv in arguments]
    assert [reply.stdout for reply in replies] == ["one\n", "", "", "two\n"]
    assert [call["argv"] for call in stand_in.calls(str(tmp_path))] == list(arguments)
    assert not list(tmp_path.glob(".call*"))


def test_calls_at_the_same_time_lose_none(tmp_path: Path) -> None:
    """Threads write at the same instant more often than processes do."""

    def call(number: int) -> None:
        stand_in.answer(str(tmp_path), "claude", [f"{number}"], "", {}, str(tmp_path))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(call, range(200)))
    noted = stand_in.calls(str(tmp_path))
    assert sorted(int(call["argv"][0]) for call in noted) == list(range(200))
    assert len(list(tmp_path.glob("answer-*"))) == 200


@pytest.mark.parametrize("module", ["taskie.stand_in", "taskie.scenario"])
def test_it_starts_with_few_imports(tmp_path: Path, module: str) -> None:
    program = Path(stand_in.install(str(tmp_path / "bin"), str(tmp_path / "scenario"), "claude", module=module))
    scenario.write(str(tmp_path / "scenario"), {"lenient": True})
    program.write_text(program.read_text().replace(" -I -S ", " -I -S -X importtime "))
    listed = subprocess.run([program, "-p", "x"], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    imported = {line.rpartition("|")[2].strip() for line in listed.stderr.splitlines()}
    assert {"json", module} <= imported
    assert not imported & {
        "argparse",
        "contextlib",
        "dataclasses",
        "pathlib",
        "shlex",
        "subprocess",
        "tempfile",
        "typing",
        "uuid",
    }


def test_it_is_compiled_once_and_not_at_each_start(tmp_path: Path) -> None:
    """A script is compiled at each start; that took longer than all the rest of a fake's own work."""
    program = Path(stand_in.install(str(tmp_path / "bin"), str(tmp_path / "scenario")))
    program.write_text(program.read_text().replace(" -I -S ", " -I -S -v "))
    arguments = [str(program), "-p", "x"]
    subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    again = subprocess.run(arguments, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)
    for module in (stand_in, scenario):
        assert f"matches {module.__file__}" in again.stderr
