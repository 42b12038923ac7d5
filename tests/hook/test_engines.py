"""The contract of an engine: who keeps it, who derives from the registry, and what one that breaks it can do."""

from __future__ import annotations

import inspect
import json
import os
import shutil
import subprocess
import sys
import time
from argparse import ArgumentParser, _SubParsersAction
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Callable, ClassVar

import pytest

from pytest_taskie import Plan, Project, RunHook, assert_approved, assert_blocked
from taskie import autopilot, claudex, cli, engines, gauntlet, hook, plans
from taskie.engine import Status
from taskie.project import Context
from taskie.protocol import Decision, Event
from taskie.setup import install, settings

if TYPE_CHECKING:
    from taskie.engine import Engine

ROOT = Path(__file__).parents[2]
HOOK = str(ROOT / "hooks" / "stop-hook.sh")
# mypy holds each package against the Protocol here.
KNOWN: list[Engine] = [autopilot, gauntlet, claudex, plans]


def test_every_engine_is_held_against_the_protocol() -> None:
    assert [engines.load(name) for name in engines.ENGINES] == KNOWN


def test_no_marker_is_another_ones() -> None:
    markers = [engine.MARKER for engine in KNOWN]
    assert len(set(markers)) == len(markers)


class TestDerived:
    def test_the_shell_looks_for_their_markers(self) -> None:
        script = Path(HOOK).read_text()
        for event in engines.events():
            assert f"    {engines.switch(event)}) markers='{' '.join(engines.markers(event))}' ;;\n" in script

    def test_the_plugin_and_install_have_their_events_and_matchers(self) -> None:
        manifest = json.loads((ROOT / "hooks" / "hooks.json").read_text())["hooks"]
        assert {event: groups[0].get("matcher", "") for event, groups in manifest.items()} == engines.events()
        own = {event for event, matcher in engines.events().items() if matcher.startswith("taskie:")}
        assert own == {"SubagentStop"}, "of the plugin's own agents, which only the plugin has"
        assert set(install.hooks("claude")) == set(settings.SWITCHES) == set(engines.events()) - own

    @pytest.mark.parametrize("name", [name for name in engines.ENGINES if engines.load(name).SUMMARY])
    def test_the_command_line_has_their_hooks_and_their_status(
        self, name: str, capsys: pytest.CaptureFixture[str]
    ) -> None:
        with pytest.raises(SystemExit):
            cli.main(["--help"])
        assert engines.load(name).SUMMARY[:40] in capsys.readouterr().out.replace("\n" + " " * 24, " ")
        verbs = commands_of(commands_of(cli._parser([name])[0])[name])
        for event in engines.load(name).EVENTS:
            assert ("stop-hook" if event == "Stop" else engines.switch(event)[2:]) in verbs
        assert "status" in verbs


@pytest.mark.parametrize("event", ["Stop", "PreToolUse", "SubagentStop"])
def test_a_switch_names_its_event(event: str) -> None:
    assert engines.event([engines.switch(event)]) == event
    assert engines.event([]) == "Stop"


def commands_of(parser: ArgumentParser) -> dict[str, ArgumentParser]:
    found = [action for action in parser._actions if isinstance(action, _SubParsersAction)]
    return dict(found[0].choices) if found else {}


def leaves(parser: ArgumentParser, words: str) -> list[tuple[str, ArgumentParser]]:
    below = commands_of(parser)
    if not below:
        return [(words, parser)]
    return [leaf for word, each in below.items() for leaf in leaves(each, f"{words} {word}".strip())]


LEAVES = [leaf for words in ([], *([name] for name in engines.ENGINES)) for leaf in leaves(cli._parser(words)[0], "")]


@pytest.mark.parametrize(("words", "parser"), [pytest.param(*leaf, id=leaf[0]) for leaf in dict(LEAVES).items()])
def test_every_command_names_a_function_that_takes_its_options(words: str, parser: ArgumentParser) -> None:
    run = parser.get_default("run")
    if run is None:
        assert words in engines.ENGINES, "it was not asked for"
        return
    module, _, function = run.partition(":")
    options = {action.dest for action in parser._actions if action.dest != "help"} | set(parser._defaults) - {"run"}
    inspect.signature(getattr(import_module(module), function)).bind(**dict.fromkeys(options))


FIFTH = """
from taskie.protocol import Decision, render as render

MARKER = ".fifth"
EVENTS = {"Stop": "", "PreToolUse": "NotebookEdit"}
TRACES = ()
SUMMARY = "a fifth engine"


def detect(roots):
    return roots[0]


def brings(root, env, whole=False):
    return ()


def on_event(event, turn, context):
    return Decision(reason=f"fifth on {event.name}") if turn.may_block() else Decision(message="enough")


def status(cwd, env):
    from taskie.engine import Status

    return Status({"stands": "here"}, ["It stands here."])


def add_commands(commands):
    commands.add_parser("hello").set_defaults(run="taskie.fifth:hello")


def hello():
    print("hello")
    return 0
"""


def test_a_fifth_engine_is_a_package_and_a_line(tmp_path: Path, project: Project) -> None:
    """Added to a copy, it stops, says where it stands and has its command; removed, nothing of it is left."""
    copy = tmp_path / "copy"
    for part in ("taskie", "hooks", "tools", "actions", "skills", "codex"):
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("__pycache__"))
    (project.path / ".fifth").touch()
    registry = copy / "taskie" / "engines.py"
    without = registry.read_text()

    def run(*command: str, stdin: str = "") -> str:
        env = {**project.env, "PYTHONPATH": str(copy), "CLAUDE_PROJECT_DIR": str(project.path)}
        return subprocess.run(
            command, cwd=project.path, env=env, input=stdin, capture_output=True, text=True, check=True, timeout=60
        ).stdout

    def hook_says(switch: str, **event: Any) -> Any:
        stdin = json.dumps({"cwd": str(project.path), "stop_hook_active": False, **event})
        return json.loads(run(str(copy / "hooks" / "stop-hook.sh"), switch, stdin=stdin) or "null")

    def generate() -> None:
        run(sys.executable, "-m", "tools.generate")

    taskie = (sys.executable, "-m", "taskie")
    assert hook_says("--fail-open") == {"suppressOutput": True}
    (copy / "taskie" / "fifth").mkdir()
    (copy / "taskie" / "fifth" / "__init__.py").write_text(FIFTH)
    registry.write_text(without.replace("}\n", '    "fifth": "taskie.fifth",\n}\n', 1))
    generate()
    assert hook_says("--fail-open") == {"decision": "block", "reason": "fifth on Stop"}
    assert hook_says("--fail-open", stop_hook_active=True) == {"systemMessage": "enough", "suppressOutput": True}
    tool = hook_says("--pre-tool-use", tool_name="NotebookEdit", tool_input={})
    assert tool["hookSpecificOutput"]["permissionDecisionReason"] == "fifth on PreToolUse"
    manifest = json.loads((copy / "hooks" / "hooks.json").read_text())
    assert manifest["hooks"]["PreToolUse"][0]["matcher"] == "Edit|Write|MultiEdit|NotebookEdit"
    assert run(*taskie, "status") == "FIFTH\nIt stands here.\n"
    assert json.loads(run(*taskie, "status", "--json"))["fifth"] == {"stands": "here"}
    assert run(*taskie, "fifth", "status") == "It stands here.\n"
    assert run(*taskie, "fifth", "hello") == "hello\n"
    assert json.loads(run(*taskie, "fifth", "stop-hook", stdin="{}"))["reason"] == "fifth on Stop"

    registry.write_text(without)
    shutil.rmtree(copy / "taskie" / "fifth")
    generate()
    assert hook_says("--fail-open") == {"suppressOutput": True}
    assert run(*taskie, "status").startswith("No plans here")
    assert (copy / "hooks" / "stop-hook.sh").read_bytes() == Path(HOOK).read_bytes()


class Broken(ModuleType):
    """An engine that keeps the contract but for one name."""

    MARKER = ""  # everywhere
    EVENTS: ClassVar = {"Stop": ""}
    TRACES = ()
    SUMMARY = "a broken engine"

    def __init__(self, where: str) -> None:
        super().__init__("broken")
        self._where = where

    def _may(self, name: str) -> None:
        if name == self._where:
            raise RuntimeError(f"unforeseen in {name}")

    def detect(self, roots: list[str]) -> str | None:
        self._may("detect")
        return roots[0]

    def brings(self, *_: object) -> list[tuple[str, bytes]]:
        self._may("brings")
        return []

    def on_event(self, *_: object) -> Decision:
        self._may("on_event")
        return Decision()

    def status(self, *_: object) -> Status:
        self._may("status")
        return Status({}, ["It stands here."])

    def add_commands(self, commands: Any) -> None:
        self._may("add_commands")


Register = Callable[[str], None]
WHERE = ["import", "detect", "brings", "on_event", "status", "add_commands"]


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch, plan: Plan, project: Project) -> Register:
    """Register one engine that raises there, before all others, in a project that has a plan."""

    def register(where: str) -> None:
        if where != "import":
            monkeypatch.setitem(sys.modules, "broken", Broken(where))
        monkeypatch.setattr(engines, "ENGINES", {"broken": "broken", **engines.ENGINES})
        monkeypatch.chdir(project.path)
        for name in ("CLAUDE_PROJECT_DIR", "XDG_CACHE_HOME"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("HOME", str(project.path))

    return register


@pytest.mark.parametrize("where", WHERE)
class TestOneThatRaises:
    def test_does_not_keep_the_others_from_their_answer(
        self, where: str, broken: Register, plan: Plan, project: Project
    ) -> None:
        broken(where)
        (plan.path / "nested").mkdir()
        (plan.path / "nested" / "file.md").touch()
        decision = hook.decide(Event(cwd=str(project.path)), os.environ, time.monotonic() + 9)
        assert "nested" in str(decision.reason)
        named = [warning for warning in decision.warnings if "broken" in warning]
        assert len(named) == (where in ("import", "detect", "brings", "on_event"))
        log = project.path / ".cache" / "taskie" / "hook.log"
        assert (log.exists() and "Traceback" in log.read_text()) == bool(named)

    def test_is_named_once_by_status(self, where: str, broken: Register, capsys: pytest.CaptureFixture[str]) -> None:
        broken(where)
        assert cli.main(["status"]) == 0
        out = capsys.readouterr().out
        faulty = where in ("import", "status")
        assert out.count("Taskie's engine broken failed") == faulty
        assert ("It stands here." in out) != faulty
        assert "test-plan" in out
        assert cli.main(["status", "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        assert ("problem" in said["broken"]) == faulty
        assert [row["plan"] for row in said["plans"]] == ["test-plan"]

    def test_is_named_by_its_commands_only(
        self, where: str, broken: Register, capsys: pytest.CaptureFixture[str]
    ) -> None:
        broken(where)
        assert cli.main(["state", "get", ".phase"]) == 1, "the plan has no state yet"
        assert "broken" not in capsys.readouterr().err
        if where in ("import", "add_commands"):
            assert cli.main(["broken", "x"]) == 1
            assert capsys.readouterr().err.count("taskie: Taskie's engine broken failed") == 1


@pytest.mark.parametrize("switch", ["--fail-open", "--pre-tool-use"])
def test_a_bug_is_logged_and_said_whatever_the_event(
    switch: str, broken: Register, capfd: pytest.CaptureFixture[str], project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken("on_event")
    monkeypatch.setattr(Broken, "EVENTS", {"Stop": "", "PreToolUse": ""})
    monkeypatch.setattr(hook, "read_stdin", lambda: json.dumps({"cwd": str(project.path)}).encode())
    assert hook.main([switch]) == 0
    said = json.loads(capfd.readouterr().out)
    assert "Taskie's engine broken failed (RuntimeError: unforeseen in on_event)" in said["systemMessage"]
    assert "decision" not in said
    assert "hookSpecificOutput" not in said
    assert "RuntimeError: unforeseen" in (project.path / ".cache" / "taskie" / "hook.log").read_text()


def test_an_engine_is_not_asked_about_an_event_that_it_does_not_take(
    monkeypatch: pytest.MonkeyPatch, project: Project
) -> None:
    engine = Broken("nowhere")
    monkeypatch.setattr(engine, "on_event", lambda *_: Decision(reason="asked"))
    monkeypatch.setitem(sys.modules, "one", engine)
    monkeypatch.setattr(engines, "ENGINES", {"one": "one"})
    for name, reason in {"Stop": "asked", "PreToolUse": None}.items():
        event = Event(cwd=str(project.path), name=name)
        assert hook.decide(event, {"HOME": "/"}, time.monotonic() + 9).reason == reason


@pytest.mark.parametrize("only", [name for name in engines.ENGINES if engines.load(name).SUMMARY])
def test_the_hook_of_one_engine_answers_whatever_fails(
    only: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], project: Project
) -> None:
    """Outside of the engine, where only the outermost frame can catch it."""

    def unforeseen(*_: object) -> list[str]:
        raise RuntimeError("unforeseen")

    monkeypatch.setenv("HOME", str(project.path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("taskie.project.places", unforeseen)
    monkeypatch.setattr(hook, "read_stdin", lambda: json.dumps({"cwd": str(project.path)}).encode())
    assert hook.main(only=only) == 0
    said = json.loads(capfd.readouterr().out)
    assert said.get("decision") in (None, "approve")
    assert said.get("status") == ("error" if only == "gauntlet" else None), "in its own dialect"
    assert "unforeseen" in (project.path / ".cache" / "taskie" / "hook.log").read_text()


@pytest.mark.parametrize("event", engines.events())
def test_our_time_ends_before_the_clients(
    event: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], project: Project
) -> None:
    """For each event, as hooks.json has it: past its limit the client goes on without an answer."""
    engine = Broken("nowhere")
    given: list[float] = []

    def on_event(_: object, __: object, context: Context) -> Decision:
        given.append(context.deadline)
        return Decision()

    monkeypatch.setattr(engine, "on_event", on_event)
    monkeypatch.setattr(Broken, "EVENTS", engines.events())
    monkeypatch.setitem(sys.modules, "one", engine)
    switch = engines.switch(event)
    monkeypatch.setattr(engines, "ENGINES", {"one": "one"})
    monkeypatch.setattr(hook, "read_stdin", lambda: json.dumps({"cwd": str(project.path)}).encode())
    manifest = json.loads((ROOT / "hooks" / "hooks.json").read_text())["hooks"]
    limit = manifest[event][0]["hooks"][0]["timeout"]
    began = time.monotonic()
    assert hook.main([switch]) == 0
    assert 0 < given[0] - began <= limit - 9


def test_a_warning_about_the_settings_is_not_lost_with_an_engine_that_fails(broken: Register, project: Project) -> None:
    broken("on_event")
    (project.path / ".taskie" / "config.toml").write_text("[loop]\nguard = 5\n")
    warnings = hook.decide(Event(cwd=str(project.path)), os.environ, time.monotonic() + 9).warnings
    assert "loop.guard must be" in warnings[0]
    assert "Taskie's engine broken failed" in warnings[1]


def test_two_with_one_marker_are_both_asked(monkeypatch: pytest.MonkeyPatch, project: Project) -> None:
    for name in ("one", "two"):
        engine = Broken("nowhere")
        monkeypatch.setattr(engine, "on_event", lambda *_, name=name: Decision(message=name))
        monkeypatch.setitem(sys.modules, name, engine)
    monkeypatch.setattr(engines, "ENGINES", {"one": "one", "two": "two"})
    decision = hook.decide(Event(cwd=str(project.path)), {"HOME": "/"}, time.monotonic() + 9)
    assert decision.message == "one\ntwo"


@pytest.mark.parametrize("kind", ["file", "directory", "dangling"])
@pytest.mark.parametrize("marker", engines.markers("Stop"))
def test_a_marker_of_any_kind_traps_nobody(marker: str, kind: str, project: Project, run_hook: RunHook) -> None:
    path = project.path / marker
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "dangling":
        path.symlink_to("nowhere")
    else:
        path.mkdir() if kind == "directory" else path.touch()
    result = run_hook(command=[HOOK, "--fail-open"])
    assert_approved(result)
    assert "Traceback" not in result.stderr


def test_a_configuration_that_changes_between_two_stops(plan: Plan, project: Project, run_hook: RunHook) -> None:
    """The guard of the second stop is the one that holds then."""
    (plan.path / "nested").mkdir()
    (plan.path / "nested" / "file.md").touch()
    config = project.path / ".taskie" / "config.toml"
    config.write_text("[loop]\nguard = 'strict'\n")
    assert_blocked(run_hook())
    config.write_text("[loop]\nguard = 5\n")
    result = run_hook()
    assert_blocked(result)
    assert "loop.guard must be" in str(result.system_message)
    config.unlink()
    config.mkdir()
    result = run_hook()
    assert_blocked(result)
    assert "its settings are not used" in str(result.system_message)
