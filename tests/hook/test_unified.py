"""The unified hook with engines of its own: their order, their messages, their errors."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Callable

import pytest

from taskie import engines as registry
from taskie import hook
from taskie.errors import CommandError
from taskie.guard import Turn
from taskie.project import Context
from taskie.protocol import Decision, Event, render

Answer = Callable[[Event, Turn, Context], Decision]


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Register these answers as engines that apply everywhere, in this order."""

    def register(*answers: Answer) -> None:
        for number, answer in enumerate(answers):
            engine = ModuleType(f"engine_{number}")
            engine.MARKER = ""  # type: ignore[attr-defined]
            engine.TRACES = ()  # type: ignore[attr-defined]
            engine.EVENTS = {"Stop": ""}  # type: ignore[attr-defined]
            engine.detect = lambda roots: roots[0]  # type: ignore[attr-defined]
            engine.brings = lambda *_: ()  # type: ignore[attr-defined]
            engine.on_event = answer  # type: ignore[attr-defined]
            monkeypatch.setitem(sys.modules, engine.__name__, engine)
        monkeypatch.setattr(registry, "ENGINES", {f"e{n}": f"engine_{n}" for n in range(len(answers))})

    return register


def decide(tmp_path: Path, *, active: bool = False) -> Decision:
    event = Event(cwd=str(tmp_path), stop_hook_active=active)
    env = {"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    return hook.decide(event, env, time.monotonic() + 9)


def test_the_first_block_ends_the_search_and_no_message_is_lost(engines: Callable[..., None], tmp_path: Path) -> None:
    def unreachable(*_: object) -> Decision:
        raise AssertionError("asked although another engine has blocked")

    engines(
        lambda *_: Decision(message="one"),
        lambda *_: Decision(reason="stay", message="two", warnings=("w",)),
        unreachable,
    )
    assert decide(tmp_path) == Decision(reason="stay", message="one\ntwo", warnings=("w",))


def test_approvals_are_merged(engines: Callable[..., None], tmp_path: Path) -> None:
    engines(lambda *_: Decision(message="one"), lambda *_: Decision(), lambda *_: Decision(message="three"))
    assert render(decide(tmp_path)) == '{"systemMessage": "one\\nthree", "suppressOutput": true}'


def test_progress_is_passed_on(engines: Callable[..., None], tmp_path: Path) -> None:
    def blocks_if_it_may(_: Event, turn: Turn, __: Context) -> Decision:
        return Decision(reason="again") if turn.may_block() else Decision()

    engines(lambda *_: Decision(), blocks_if_it_may)
    assert decide(tmp_path, active=True).reason is None
    engines(lambda *_: Decision(progress=True), blocks_if_it_may)
    assert decide(tmp_path, active=True).reason == "again"


def test_an_error_stops_neither_the_others_nor_the_stop(
    engines: Callable[..., None], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> Decision:
        raise RuntimeError("unforeseen")

    engines(broken, lambda *_: Decision(reason="stay"))
    said = decide(tmp_path)
    assert said.reason == "stay"
    assert "RuntimeError: unforeseen" in said.warnings[0]
    assert "Traceback" in capfd.readouterr().err
    assert "unforeseen" in (tmp_path / "cache" / "taskie" / "hook.log").read_text()


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), ImportError("no module"), CommandError("no disk")])
def test_what_the_system_refuses_is_told_without_a_traceback(
    engines: Callable[..., None], tmp_path: Path, capfd: pytest.CaptureFixture[str], error: Exception
) -> None:
    """Nothing of ours is to be mended; what there is to look at is in the log."""

    def broken(*_: object) -> Decision:
        raise error

    engines(broken, lambda *_: Decision(reason="stay"))
    said = decide(tmp_path)
    assert said.reason == "stay"
    assert str(error) in said.warnings[0]
    assert "Traceback" not in capfd.readouterr().err
    log = tmp_path / "cache" / "taskie" / "hook.log"
    assert log.exists() != isinstance(error, CommandError)


def test_an_error_is_said_also_where_no_log_can_be_written(engines: Callable[..., None], tmp_path: Path) -> None:
    def broken(*_: object) -> Decision:
        raise RuntimeError("unforeseen")

    engines(broken)
    (tmp_path / "cache").write_text("no directory")
    assert "unforeseen" in decide(tmp_path).warnings[0]


def test_none_applies(tmp_path: Path) -> None:
    assert render(decide(tmp_path)) == '{"suppressOutput": true}'
