"""Small projects, each before one command that writes. Knows how to make them, not what is done to them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Callable

from taskie.autopilot import REVIEWERS
from tools.torture import places
from tools.torture.place import Place

SPEC = "ai/features/FTR-1.md"


@dataclass(frozen=True)
class Scene:
    """What to make, and the command. `hook`: it answers a client, whatever happens. `typed`: in a terminal."""

    make: Callable[[Place], None]
    command: Callable[[Place], Sequence[str]]
    hook: bool = False
    event: Mapping[str, Any] | None = None
    typed: bytes | None = None
    git: bool = False


def _plan(place: Place) -> None:
    place.project.make_plan(state={})


def _plan_again(place: Place) -> None:
    """A review of an earlier cycle has the name that the new one will have."""
    plan = place.project.make_plan(state={})
    plan.write("plan-review-1.md", "# An earlier review\n\nVERDICT: FAIL\n")


def _plan_code(place: Place) -> None:
    fields = {"phase": "complete-task", "next_phase": "code-review", "current_task": "1"}
    place.project.make_plan(state=fields, tasks={"1": "done", "2": "pending"})


def _spoiled(place: Place) -> None:
    plan = place.project.make_plan(state={})
    plan.state.raw('{"phase": ')


def _gates(place: Place, lint: str = "echo wrong; exit 1") -> None:
    place.repository()
    place.write(".gitignore", "gauntlet_logs/\n")
    entry = {"path": ".", "checks": ["lint", "fine"], "reviews": ["look"]}
    settings = {"entry_points": [entry], "stop_hook": {"run_interval_minutes": 0}}
    place.write(".gauntlet/config.yml", json.dumps(settings))
    place.write(".gauntlet/checks/lint.yml", json.dumps({"command": lint}))
    place.write(".gauntlet/checks/fine.yml", json.dumps({"command": "true"}))
    place.write(".gauntlet/reviews/look.md", "---\n{}\n---\nLook for mistakes.\n")
    place.write("code.py", "x = 1\n")
    place.commit()
    place.project.git("checkout", "-q", "-b", "work")
    place.pack()
    place.write("code.py", "x = 2\n")


def _gates_that_pass(place: Place) -> None:
    """So that the review is run, too."""
    _gates(place, "echo right")


def _gates_not_trusted(place: Place) -> None:
    _gates(place)
    del place.env["TASKIE_TRUST"]


def _gates_trusted(place: Place) -> None:
    _gates_not_trusted(place)
    done = places.run(place.taskie("trust"), cwd=place.path, env=place.env, typed=b"y\n")
    assert done.code == 0, done


def _gates_skipped(place: Place) -> None:
    _gates_ran(place)
    words = ("gauntlet", "skip", "lint", "--reason", "a flaky server")
    done = places.run(place.taskie(*words), cwd=place.path, env=place.env, typed=b"y\n")
    assert done.code == 0, done


def _gates_ran(place: Place) -> None:
    _gates(place)
    place.do("gauntlet", "run", code=1)


def _makefile(place: Place) -> None:
    place.repository()
    place.write("Makefile", "test:\n\ttrue\n")
    place.commit()
    place.pack()


def _loop(place: Place) -> None:
    place.do("claudex", "start", "plan", "--", "a greeting")


def _draft(place: Place) -> None:
    _loop(place)
    place.write("PLAN.md", "# Plan\n\nGreet.\n")


def _findings(place: Place) -> None:
    """In its second round."""
    _draft(place)
    done = places.run(place.hook, cwd=place.path, env=place.env, stdin=place.event())
    assert "block" in done.answer, done
    (state,) = (place.path / ".claude" / "claudex").glob("*.state")
    place.write(f".claude/claudex/{state.stem}/findings-round-1.md", "## High\n- wrong\n")


def _spec(place: Place) -> None:
    place.repository()
    place.write(SPEC, "# FTR-1\n\n**Status:** queued\n\nA greeting.\n")
    place.write("src/app.py", "print('hello')\n")
    place.write("mine.txt", "old\n")
    place.write(".gitignore", "/autopilot-state.json\n")
    place.commit()
    place.project.git("checkout", "-q", "-b", "feature/greet")
    place.pack()


def _begun(place: Place) -> None:
    _spec(place)
    place.do("autopilot", "init", "FTR-1", SPEC)


def _planned(place: Place) -> None:
    """With something of the user's own that is staged, and something that is not."""
    _spec(place)
    place.write("mine.txt", "staged\n")
    place.project.git("add", "mine.txt")
    place.write("mine.txt", "changed again\n")
    place.write("untracked.txt", "not ours\n")
    place.do("autopilot", "init", "FTR-1", SPEC)
    place.do("autopilot", "plan", '[{"id": 1, "name": "first"}]', "--test-command", "sh -c 'exit 0'")
    place.write("src/app.py", "print('hello, please')\n")


def _advance(place: Place, step: str, **fields: Any) -> None:
    place.do("autopilot", "advance", json.dumps({"step": step, **fields}))


def _coded(place: Place) -> None:
    _planned(place)
    _advance(place, "coder", files_changed=["src/app.py"])


def _regression(place: Place) -> None:
    _coded(place)
    place.do("autopilot", "test")
    _advance(place, "tester", result="failed", failures=["src/test_app.py::test_it"])
    proposed = {"test_file": "tests/regression/test_bug.py", "test_code": "def test_bug():\n    pass\n"}
    _advance(place, "debugger", regression=proposed)
    _advance(place, "coder", files_changed=["src/app.py"])
    place.do("autopilot", "test")
    _advance(place, "tester", result="passed")


def _before_review(place: Place) -> None:
    _coded(place)
    place.do("autopilot", "test")
    _advance(place, "tester", result="passed")
    _advance(place, "pre_check_code", result="pass")
    _advance(place, "pre_check_blueprint", result="skip")


def _reviewed(place: Place) -> None:
    _before_review(place)
    _advance(place, "spec_reviewer", result="approved")
    _advance(place, "code_quality", result="approved")


def _committed(place: Place) -> None:
    _reviewed(place)
    place.do("autopilot", "commit", "-m", "feat(app): greet")


def _over(place: Place) -> None:
    _committed(place)
    place.do("autopilot", "verify", "--wait", "0")


def _removed(place: Place) -> None:
    _coded(place)
    (place.path / "autopilot-state.json").unlink()


def _settings(place: Place) -> None:
    place.repository()
    place.write(".claude/settings.local.json", '{"permissions": {"allow": ["Bash(ls)"]}}\n')


def _installed(place: Place) -> None:
    _settings(place)
    place.do("install", "--local")


def _installed_in_codex(place: Place) -> None:
    _codex(place)
    place.do("install", "--client", "codex")


def _codex(place: Place) -> None:
    folder = place.project.home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text('model = "gpt-5"\n')


def _command(*words: str) -> Callable[[Place], Sequence[str]]:
    return lambda place: place.taskie(*words)


def _hook(place: Place) -> Sequence[str]:
    return place.hook


def _hook_of(event: str) -> Callable[[Place], Sequence[str]]:
    return lambda place: [place.hook[0], event]


def _mark_done(place: Place) -> Sequence[str]:
    (state,) = (place.path / ".claude" / "claudex").glob("*.state")
    return place.taskie("claudex", "mark-done", state.stem)


STOP: Mapping[str, Any] = {}
ANSWERED: Mapping[str, Any] = {
    "hook_event_name": "SubagentStop",
    "agent_type": REVIEWERS["spec_reviewer"],
    "agent_id": "a1",
    "last_assistant_message": '{"status": "approved"}',
}
EDITS: Mapping[str, Any] = {
    "hook_event_name": "PreToolUse",
    "tool_name": "Write",
    "tool_input": {"file_path": "src/new.py", "content": ""},
}
SCENES: dict[str, Scene] = {
    "plan-stop": Scene(_plan, _hook, True, STOP),
    "plan-stop-again": Scene(_plan_again, _hook, True, STOP),
    "plan-stop-code": Scene(_plan_code, _hook, True, STOP),
    "gauntlet-stop": Scene(_gates, _hook, True, STOP, git=True),
    "gauntlet-stop-review": Scene(_gates_that_pass, _hook, True, STOP, git=True),
    "gauntlet-stop-open": Scene(_gates_ran, _hook, True, STOP, git=True),
    "claudex-stop": Scene(_draft, _hook, True, STOP),
    "claudex-stop-round": Scene(_findings, _hook, True, STOP),
    "gauntlet-stop-waiting": Scene(_gates_not_trusted, _hook, True, STOP, git=True),
    "autopilot-stop": Scene(_coded, _hook, True, STOP, git=True),
    "autopilot-subagent-stop": Scene(_before_review, _hook_of("--subagent-stop"), True, ANSWERED, git=True),
    "autopilot-pre-tool-use": Scene(_begun, _hook_of("--pre-tool-use"), True, EDITS, git=True),
    "trust": Scene(_gates_not_trusted, _command("trust"), typed=b"y\n", git=True),
    "untrust": Scene(_gates_trusted, _command("untrust"), git=True),
    "state-set": Scene(_plan, _command("state", "set", "max_reviews=5")),
    "state-begin": Scene(_plan, _command("state", "begin", "new-plan")),
    "state-repair": Scene(_spoiled, _command("state", "repair")),
    "stop": Scene(_plan, _command("stop")),
    "limit": Scene(_plan, _command("limit", "9")),
    "report": Scene(_plan_again, _command("report")),
    "claudex-start": Scene(lambda place: None, _command("claudex", "start", "plan", "--", "a greeting")),
    "claudex-start-review": Scene(_gates, _command("claudex", "start", "review"), git=True),
    "claudex-continue": Scene(_draft, _command("claudex", "continue")),
    "claudex-mark-done": Scene(_findings, _mark_done),
    "claudex-cancel": Scene(_draft, _command("claudex", "cancel")),
    "claudex-rollback": Scene(_findings, _command("claudex", "rollback")),
    "gauntlet-run": Scene(_gates, _command("gauntlet", "run"), git=True),
    "gauntlet-clean": Scene(_gates_ran, _command("gauntlet", "clean"), git=True),
    "gauntlet-skip": Scene(
        _gates_ran, _command("gauntlet", "skip", "lint", "--reason", "a flaky server"), typed=b"y\n", git=True
    ),
    "gauntlet-unskip": Scene(_gates_skipped, _command("gauntlet", "unskip", "lint"), git=True),
    "gauntlet-check": Scene(_gates, _command("gauntlet", "check"), git=True),
    "gauntlet-review": Scene(_gates, _command("gauntlet", "review"), git=True),
    "gauntlet-init": Scene(_makefile, _command("gauntlet", "init"), git=True),
    "autopilot-init": Scene(_spec, _command("autopilot", "init", "FTR-1", SPEC), git=True),
    "autopilot-init-worktree": Scene(_spec, _command("autopilot", "init", "--worktree", "FTR-1", SPEC), git=True),
    "autopilot-plan": Scene(_begun, _command("autopilot", "plan", '[{"id": 1, "name": "first"}]'), git=True),
    "autopilot-advance": Scene(
        _planned,
        _command("autopilot", "advance", '{"step": "coder", "files_changed": ["src/app.py"]}'),
        git=True,
    ),
    "autopilot-update": Scene(_coded, _command("autopilot", "update", "1", "tester", "pass"), git=True),
    "autopilot-test": Scene(_coded, _command("autopilot", "test"), git=True),
    "autopilot-regression": Scene(_regression, _command("autopilot", "regression", "--", "true"), git=True),
    "autopilot-commit": Scene(_reviewed, _command("autopilot", "commit", "-m", "feat(app): greet"), git=True),
    "autopilot-verify": Scene(_committed, _command("autopilot", "verify", "--wait", "0"), git=True),
    "autopilot-finish": Scene(_over, _command("autopilot", "finish"), git=True),
    "autopilot-restore": Scene(_removed, _command("autopilot", "restore"), git=True),
    "install": Scene(_settings, _command("install", "--local")),
    "install-codex": Scene(_codex, _command("install", "--client", "codex")),
    "install-project": Scene(_settings, _command("install", "--project")),
    "install-user": Scene(_settings, _command("install", "--user")),
    "uninstall": Scene(_installed, _command("uninstall", "--local")),
    "uninstall-codex": Scene(_installed_in_codex, _command("uninstall", "--client", "codex")),
}
