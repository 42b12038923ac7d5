"""`plugin_hooks(…)`: all hooks of a plugin that match an event, run as the client runs them, with one result."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any, Callable

import pytest

from pytest_taskie import (
    Events,
    Hooks,
    IgnoredHooks,
    PluginHooks,
    Project,
    assert_approved,
    assert_asked,
    assert_blocked,
    assert_context,
    assert_denied,
    assert_granted,
    assert_updated_input,
)

Make = Callable[..., Hooks]


def specific(event: str, **fields: Any) -> str:
    return prints({"hookSpecificOutput": {"hookEventName": event, **fields}})


def prints(answer: Any) -> str:
    return f"echo {shlex.quote(json.dumps(answer))}"


def permission(word: str, reason: str = "because") -> str:
    return specific("PreToolUse", permissionDecision=word, permissionDecisionReason=reason)


@pytest.fixture
def made(plugin_hooks: PluginHooks, tmp_path: Path) -> Make:
    """Write a plugin and load it: `made(Stop=["exit 2"])`."""

    def make(*, matcher: str | None = None, name: str = "plugin", **events: list[Any]) -> Hooks:
        root = tmp_path / name
        (root / "hooks").mkdir(parents=True)
        beside = {} if matcher is None else {"matcher": matcher}
        hooks = {
            event: [{**beside, "hooks": [entry if isinstance(entry, dict) else command(entry) for entry in entries]}]
            for event, entries in events.items()
        }
        (root / "hooks" / "hooks.json").write_text(json.dumps({"hooks": hooks}))
        return plugin_hooks(root)

    return make


def command(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "command", "command": text, **more}


def test_one_hook_is_read_like_run_hook(made: Make, events: Events) -> None:
    hooks = made(PreToolUse=["echo no >&2; exit 2"], matcher="Write|Edit")
    assert_denied(hooks.run(events.pre_tool_use("Write", file_path="x", content="y")), "no")


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        (["deny", "ask", "allow"], "blocked"),
        (["allow", "ask"], "asked"),
        (["allow", ""], "granted"),
        (["", ""], "allowed"),
    ],
)
def test_the_strongest_word_wins(made: Make, events: Events, words: list[str], outcome: str) -> None:
    hooks = made(PreToolUse=[permission(word) if word else f"true {n}" for n, word in enumerate(words)])
    result = hooks.run(events.bash("ls"))
    assert (result.reading.outcome, len(result.parts)) == (outcome, len(words))
    check = {"blocked": assert_denied, "asked": assert_asked, "granted": assert_granted, "allowed": assert_approved}
    check[outcome](result)


def test_contexts_are_joined(made: Make, events: Events) -> None:
    of = [specific("UserPromptSubmit", additionalContext=word) for word in ("one", "two")]
    result = made(UserPromptSubmit=of).run(events.user_prompt_submit(prompt="hi"))
    assert sorted(result.contexts) == ["one", "two"]
    assert_context(result, "one")
    assert_context(result, "two")


def test_a_changed_input(made: Make, events: Events) -> None:
    hooks = made(PreToolUse=[specific("PreToolUse", updatedInput={"command": "ls"}), "true"])
    assert_updated_input(hooks.run(events.bash("rm -r /")), {"command": "ls"})


def test_hooks_run_at_the_same_time(made: Make, tmp_path: Path) -> None:
    """Each waits for a file that only the other makes."""

    def waits(mine: str, other: str) -> str:
        return f'touch "{tmp_path}/{mine}"; until [ -e "{tmp_path}/{other}" ]; do sleep 0.01; done'

    assert_approved(made(Stop=[waits("a", "b"), waits("b", "a")]).run(timeout=20))


def test_more_hooks_than_run_at_once(made: Make, project: Project) -> None:
    result = made(Stop=[f'echo {number} >> "$CLAUDE_PROJECT_DIR/log"' for number in range(150)]).run()
    assert len(result.parts) == 150
    assert sorted(map(int, (project.path / "log").read_text().split())) == list(range(150))


def test_a_hook_that_removes_the_project(made: Make, project: Project) -> None:
    hooks = made(Stop=['rm -r "$CLAUDE_PROJECT_DIR"; exit 2'])
    assert_blocked(hooks.run())
    result = hooks.run()
    assert (result.exit_code, result.stderr.startswith("Failed to run")) == (1, True)


def test_the_same_command_runs_once(made: Make, project: Project) -> None:
    entry = 'echo x >> "$CLAUDE_PROJECT_DIR/log"'
    made(Stop=[entry, entry, command(entry, timeout=5)]).run()
    assert (project.path / "log").read_text() == "x\n"


def test_the_root_unquoted_under_a_path_with_a_blank(made: Make) -> None:
    script = "hook.sh"
    hooks = made(name="my plugin", Stop=[f"sh ${{CLAUDE_PLUGIN_ROOT}}/{script}"])
    (hooks.file.path / script).write_text("exit 0\n")
    result = hooks.run()
    assert result.parts[0].exit_code != 0
    quoted = made(name="my other", Stop=[f'sh "${{CLAUDE_PLUGIN_ROOT}}"/{script}'])
    (quoted.file.path / script).write_text("exit 0\n")
    assert_approved(quoted.run())


@pytest.mark.taskie_awkward_path
def test_an_awkward_path(made: Make) -> None:
    result = made(Stop=['echo "$CLAUDE_PLUGIN_ROOT" >&2; exit 2']).run()
    assert "it's a plugin" in result.stderr


def test_words_are_replaced_in_a_command_without_a_shell(made: Make, project: Project) -> None:
    program = project.path / "program"
    program.write_text('#!/bin/sh\nprintf "<%s>" "$@" >&2; exit 2\n')
    program.chmod(0o755)
    args = ["${CLAUDE_PLUGIN_ROOT}/x", "$CLAUDE_PLUGIN_ROOT", "${CLAUDE_PROJECT_DIR}", "a b"]
    hooks = made(name="my plugin", Stop=[command(str(program), args=args)])
    assert hooks.run().stderr == f"<{hooks.file.path}/x><$CLAUDE_PLUGIN_ROOT><{project.path}><a b>"


def test_settings_have_no_plugin_root(plugin_hooks: PluginHooks, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"hooks": {"Stop": [{"hooks": [command('sh "${CLAUDE_PLUGIN_ROOT}"/x')]}]}}))
    result = plugin_hooks(file).run()
    assert (result.exit_code, "not associated with a plugin" in result.stderr) == (1, True)


def test_a_hook_past_its_own_timeout(made: Make) -> None:
    result = made(Stop=[command("sleep 60", timeout=0.2)]).run()
    assert result.parts[0].timed_out
    assert not result.blocked


def test_a_hook_for_which_the_client_does_not_wait(made: Make) -> None:
    block = prints({"decision": "block", "reason": "too late"})
    result = made(Stop=[command(block, **{"async": True})]).run()
    assert (result.blocked, result.fault is None) == (False, False)


def test_a_program_that_is_not_there(made: Make) -> None:
    result = made(Stop=[command("no-such-program", args=[])]).run()
    assert (result.exit_code, result.stderr.startswith("Failed to run")) == (1, True)


def test_a_hook_of_another_type_is_said(made: Make, events: Events) -> None:
    hooks = made(Stop=["true", {"type": "prompt", "prompt": "Done?"}])
    with pytest.warns(IgnoredHooks, match="a hook of the type prompt needs the real client"):
        result = hooks.run()
    assert "not run, only the real client can" in result.report()
    only = made(name="only", Stop=[{"type": "http", "url": "http://127.0.0.1/"}])
    with pytest.raises(pytest.fail.Exception, match="type http needs the real client"):
        only.run()


def test_an_event_that_matches_nothing(made: Make, events: Events) -> None:
    hooks = made(PreToolUse=["true"], matcher="Wrte|Edit")
    with pytest.raises(pytest.fail.Exception, match=r"no matcher for PreToolUse matches 'Write'.*nearest is 'Wrte"):
        hooks.run(events.pre_tool_use("Write", file_path="x", content="y"))


def test_an_if_that_nobody_has_measured(made: Make, events: Events) -> None:
    hooks = made(PreToolUse=[command("true", **{"if": "Edit(src/**)"})])
    with pytest.raises(pytest.fail.Exception, match="was not measured"):
        hooks.run(events.edit("src/x", "a", "b"))


def test_an_if_that_is_against_it(made: Make, events: Events) -> None:
    hooks = made(PreToolUse=[command("true", **{"if": "Bash(git *)"})])
    assert_approved(hooks.run(events.bash("git status")))
    with pytest.raises(pytest.fail.Exception, match="the `if` of each hook"):
        hooks.run(events.bash("ls"))


def test_a_problem_in_the_file_is_a_warning_or_the_end(plugin_hooks: PluginHooks, tmp_path: Path) -> None:
    file = tmp_path / "settings.json"
    file.write_text(json.dumps({"hooks": {"Sotp": [], "Stop": [{"hooks": [command("true")]}]}}))
    with pytest.warns(IgnoredHooks, match="Is Stop meant"):
        plugin_hooks(file)
    file.write_text("// nothing")
    with pytest.raises(pytest.fail.Exception, match="The client takes no hook from"):
        plugin_hooks(file)
    with pytest.raises(pytest.fail.Exception, match="does not exist"):
        plugin_hooks(tmp_path / "none")


def test_until_allowed(made: Make, project: Project) -> None:
    count = 'n=$(cat n 2>/dev/null || echo 0); echo $((n+1)) > n; [ "$n" -lt 2 ] || exit 0; echo again >&2; exit 2'
    seen: list[str | None] = []
    stops = made(Stop=[count]).until_allowed(lambda result: seen.append(result.reason))
    assert (len(stops), stops.blocks, stops.overruled) == (3, 2, False)
    assert_blocked(stops[0], "again")
    assert_approved(stops[-1])
    assert len(seen) == 2
    assert project.transcript.read_text().count("Stop hook feedback:") == 2


def test_the_cap(made: Make, project: Project) -> None:
    hooks = made(Stop=["cat >> events; echo >> events; exit 2"])
    stops = hooks.until_allowed()
    assert (len(stops), stops.blocks, stops.overruled) == (9, 8, True)
    active = [
        json.loads(line)["stop_hook_active"] for line in (project.path / "events").read_text().split("\n") if line
    ]
    assert active == [False] + [True] * 8
    assert len(hooks.until_allowed(env={"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "2"})) == 3


def test_work_between_stops_counts_anew(made: Make, project: Project) -> None:
    def work(result: object) -> None:
        project.calls("Write", file_path="x")
        if len((project.path / "n").read_text().split()) == 12:
            (project.path / "done").touch()

    stops = made(Stop=["echo x >> n; [ ! -e done ] || exit 0; exit 2"]).until_allowed(work)
    assert (len(stops), stops.overruled) == (13, False)


def test_the_setting(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        from pytest_taskie import assert_blocked

        def test_it(plugin_hooks):
            assert_blocked(plugin_hooks().run(), "no")

        def test_the_loop(run_hook):
            once = "case $(cat) in *'\\"stop_hook_active\\":true'*) ;; *) exit 2 ;; esac"
            stops = run_hook.until_allowed(command=once)
            assert [stop.blocked for stop in stops] == [True, False]
        """
    )
    hooks = pytester.mkdir("hooks")
    (hooks / "hooks.json").write_text(json.dumps({"hooks": {"Stop": [{"hooks": [command("echo no >&2; exit 2")]}]}}))
    pytester.runpytest().assert_outcomes(failed=1, passed=1)
    pytester.makeini("[pytest]\ntaskie_plugin = .\n")
    pytester.runpytest().assert_outcomes(passed=2)


def test_the_model_is_told_whose_hook_it_is(made: Make) -> None:
    hooks = made(Stop=['[ -d "${CLAUDE_PLUGIN_ROOT}" ] && echo no >&2; exit 2'])
    root = hooks.file.path
    shown = f'[ -d "{root}" ] && echo no >&2; exit 2'
    assert hooks.run().reason == f"[{shown}]: no\n\nThis hook comes from the plugin@inline plugin."


def test_an_older_client_does_not_say_whose_hook_it_is(pytester: pytest.Pytester) -> None:
    pytester.makeini("[pytest]\ntaskie_plugin = .\ntaskie_clients = claude==2.1.213\n")
    hooks = pytester.mkdir("hooks")
    (hooks / "hooks.json").write_text(json.dumps({"hooks": {"Stop": [{"hooks": [command("echo no >&2; exit 2")]}]}}))
    pytester.makepyfile(
        """
        def test_it(plugin_hooks):
            assert plugin_hooks().run().reason == "[echo no >&2; exit 2]: no\\n"
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)
