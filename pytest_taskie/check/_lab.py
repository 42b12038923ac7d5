"""One hook and the rooms that it is run in: what it does in each situation, found out once. Knows no rule."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pytest_taskie._contract import Contract, contract
from pytest_taskie._environment import of_client, of_plugin
from pytest_taskie._events import Events
from pytest_taskie._judgement import Reading
from pytest_taskie._results import HookResult
from pytest_taskie._transcript import Transcript
from pytest_taskie.check import _agents, _inputs, _tracing
from pytest_taskie.check._room import AtOnce, End, Ground, Left, Room, RoomError
from pytest_taskie.check._situations import PROJECT, Situation
from pytest_taskie.check._subjects import Subject

SECONDS = 20.0  # for one run; no hook that a person waits for takes as long
SETTING_UP = 60.0
LINGER = 5.0  # what has not ended by then will not end soon
SUB = "src"  # the folder into which the agent goes
NOTHING = (".git", "__pycache__")  # what programs write for themselves where a hook only looks
ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "GIT_CONFIG_NOSYSTEM": "1"}


@dataclass(frozen=True)
class Preparation:
    """What is done in each room before the hook is run: commands for a shell, of the user's."""

    install: str = ""
    seed: str = ""


@dataclass(frozen=True)
class Performance:
    """What a hook did in a situation."""

    situation: Situation
    steps: tuple[AtOnce, ...]
    results: tuple[HookResult, ...]
    files: Mapping[str, Left] = field(default_factory=dict)

    @property
    def first(self) -> HookResult:
        return self.results[0]

    @property
    def reading(self) -> Reading:
        return self.results[0].reading

    @property
    def end(self) -> End:
        return self.steps[0].ends[0]

    @property
    def blocked(self) -> bool:
        return self.reading.outcome in ("blocked", "asked")

    @property
    def effect(self) -> tuple[object, ...]:
        """What the client makes of it, without the words that differ from run to run."""
        reading = self.reading
        return reading.outcome, bool(reading.context), bool(reading.updated_input), reading.accident

    @property
    def silent(self) -> bool:
        """Nothing was said, decided or written."""
        end, reading = self.end, self.reading
        said = reading.context or reading.system_message or end.err.strip() or end.code
        return reading.outcome == "allowed" and not said and not self.files and not self.steps[0].names


class Lab:
    """`lab.perform(situation)`. The same situation is run once; what is asked of two rules costs one."""

    def __init__(
        self,
        ground: Ground,
        subject: Subject,
        preparation: Preparation = Preparation(),
        contracts: Sequence[Contract] = (),
        *,
        seconds: float = SECONDS,
    ) -> None:
        self.ground, self.subject = ground, subject
        self.contracts = tuple(contracts) or (contract(),)
        self._preparation, self._seconds = preparation, seconds
        self._lock = threading.Lock()
        self._known: dict[str, Performance] = {}
        self._session = str(uuid.uuid4())

    def perform(self, situation: Situation, *, fresh: bool = False) -> Performance:
        """Run the hook so; `fresh`: once more, whatever is known."""
        with self._lock:
            if fresh or situation.key not in self._known:
                self._known[situation.key] = self._perform(situation)
            return self._known[situation.key]

    @cached_property
    def ordinary(self) -> list[Performance]:
        """What it does at everyday events."""
        return [self.perform(one) for one in _inputs.ordinary(self.subject) if self.can_build(one)]

    @property
    def waited_for(self) -> bool:
        """Whether the client, and the person before it, wait for the hook."""
        entry = self.subject.entry
        said = any(one.end.out.lstrip().startswith('{"async": true') for one in self.ordinary)
        return not (entry.get("async") or entry.get("asyncRewake") or said)

    @cached_property
    def refused(self) -> Performance | None:
        """An event that it refuses, sought among those that guards refuse; None if there is none."""
        found = next((one for one in self.ordinary if one.blocked), None)
        if found is not None:
            return found
        wanted = [one for one in _inputs.refusable(self.subject) if self.can_build(one)]
        # Many runs in one room, and the one that was refused once more in a room of its own.
        for situation in self._first_refused(wanted):
            again = self.perform(situation)
            if again.blocked:
                return again
        return None

    @cached_property
    def telling(self) -> Performance | None:
        """What shows best whether the hook still works: a refusal, else what it says, changes or leaves somewhere."""
        if self.refused is not None:
            return self.refused
        return next((one for one in self.ordinary if not one.silent), self.ordinary[0] if self.ordinary else None)

    @property
    def sees_nothing(self) -> bool:
        """In no situation has it done anything that could be told from a hook that does nothing."""
        return self.refused is None and all(one.silent for one in self.ordinary)

    def can_build(self, situation: Situation) -> bool:
        try:
            self.event(situation, self.ground.base, 0)
        except (ValueError, TypeError):
            return False
        return True

    def event(self, situation: Situation, project: Path, number: int, transcript: str = "/t.jsonl") -> dict[str, Any]:
        where = project / SUB if situation.subdirectory else project
        events = Events(cwd=where, session_id=self._session, transcript_path=transcript)
        fields = _here(dict(situation.fields), str(project))
        if situation.stops > 1 and number:
            fields["stop_hook_active"] = True
        event = events.build(situation.event, **fields)
        if number and "tool_use_id" in event:
            event["tool_use_id"] = f"toolu_{number:024d}"
        elif number and situation.stops == 1:
            # What no two calls of one agent's are is of another session.
            event["session_id"] = str(uuid.uuid5(uuid.UUID(self._session), str(number)))
        return event

    def in_turn(self, situations: Sequence[Situation]) -> Performance:
        """Several events in one room, one after the other."""
        first = situations[0]
        with self._room(first) as room:
            here = _Here(self, room, first)
            here.prepare()
            before = room.changes()
            built = [here.run(one, number) for number, one in enumerate(situations)]
            steps = tuple(room.run([run], self._limit()) for _, run in built)
            results = tuple(self.result(one, step.ends[0]) for one, step in zip(situations, steps))
            files = {name: left for name, left in room.changes().items() if before.get(name) != left}
            return Performance(first, steps, results, here.own(files))

    @cached_property
    def hostile(self) -> Performance | None:
        """An ordinary event with a token in it, and with commands where text is expected."""
        wanted = [one for base in self.ordinary[:1] for one in _inputs.hostile(base.situation) if self.can_build(one)]
        return self.in_turn(wanted) if wanted else None

    def outliving(self, situation: Situation, seconds: float) -> tuple[str, ...]:
        """Which processes are still there so long after the hook."""
        with self._room(situation) as room:
            here = _Here(self, room, situation)
            here.prepare()
            step = room.run([here.run(situation, 0)[1]], self._limit(), seconds)
            # Who wants the network may wait for it alone, and here there is none.
            return () if any("." in name for name in step.names) else step.alive

    def pace(self, situation: Situation, runs: int = 5) -> tuple[float, float]:
        """The quickest of a few runs, and the quickest of as many of a hook that does nothing, in turn with them."""
        with self._room(situation) as room:
            here = _Here(self, room, situation)
            here.prepare()
            taken = []
            for number in range(runs):
                run = here.run(situation, number)[1]
                empty = {**run, "argv": ["/bin/sh", "-c", ":"]}
                taken.append([room.run([one], self._limit()).ends[0].seconds for one in (run, empty)])
        return min(own for own, _ in taken), min(nothing for _, nothing in taken)

    @cached_property
    def cannot_run(self) -> str | None:
        """What the hook needs and this machine, or a machine without network, does not have."""
        return next((why for one in self.ordinary if (why := self._lacks(one))), None)

    def _lacks(self, performance: Performance) -> str | None:
        end = performance.end
        names = [name for name in performance.steps[0].names if "." in name]
        if names and (end.code or end.late):
            return f"the network ({names[0]})"
        if end.code in (0, 2):
            return None
        missing = re.search(r"(?:^|[:\s])([\w.+-]+): (?:command )?not found", end.err)
        if missing and end.code == 127 and not self.ground.has(missing[1]):
            return f"the program {missing[1]}"
        module = re.search(r"No module named '?([\w.]+)|Cannot find (?:module|package) '([^./'][^']*)'", end.err)
        if module:
            return f"the module {module[1] or module[2]}"
        return None

    def _first_refused(self, wanted: Sequence[Situation]) -> list[Situation]:
        found: list[Situation] = []
        if not wanted:
            return found
        with self._room(wanted[0]) as room:
            here = _Here(self, room, wanted[0])
            here.prepare()
            for start in range(0, len(wanted), 4):
                group = wanted[start : start + 4]
                runs = [here.run(one, 0) for one in group]
                step = room.run([run for _, run in runs], self._seconds)
                found += [
                    one
                    for one, end in zip(group, step.ends)
                    if self.result(one, end).reading.outcome in ("blocked", "asked")
                ]
                if found:
                    return found
        return found

    def result(self, situation: Situation, end: End, room: str = "") -> HookResult:
        subject = self.subject
        return HookResult(
            subject.command, end.code, end.out, end.err, end.seconds, situation.event,
            entry=subject.entry, plugin=subject.plugin, timed_out=end.late, contracts=self.contracts,
        )  # fmt: skip

    def _perform(self, situation: Situation) -> Performance:
        with self._room(situation) as room:
            here = _Here(self, room, situation)
            here.prepare()
            before = room.changes()
            if situation.times > 1:  # one alone, after which an interpreter has its caches, as everywhere
                room.run([here.run(situation, situation.times)[1]], self._limit())
            steps: list[AtOnce] = []
            results: list[HookResult] = []
            for number in range(situation.stops):
                built = [here.run(situation, number + index) for index in range(situation.times)]
                here.tell(built[0][0])
                linger = LINGER if situation.times == situation.stops == 1 else 0.0
                step = room.run([run for _, run in built], self._limit(), linger)
                steps.append(step)
                results += [self.result(situation, end) for end in step.ends]
                if situation.stops > 1:
                    if not (results[-1].blocked or results[-1].continues):
                        break
                    here.told(built[0][0], results[-1])
            files = {name: left for name, left in room.changes().items() if before.get(name) != left}
            return Performance(situation, tuple(steps), tuple(results), here.own(files))

    def _limit(self) -> float:
        limit = self.subject.entry.get("timeout")
        if isinstance(limit, (int, float)) and not isinstance(limit, bool) and limit > 0:
            return min(self._seconds, float(limit))
        return self._seconds

    def _room(self, situation: Situation) -> Room:
        subject = self.subject
        project = "" if subject.plugin else str(subject.root)
        layers = [(project or str(template(self.ground)), "a project" if situation.blank_project else "project")]
        if subject.plugin:
            layers.append((str(subject.root), "a plugin" if situation.blank_plugin else "plugin"))
        return Room(self.ground, layers)

    @property
    def preparation(self) -> Preparation:
        return self._preparation


class _Here:
    """A room and what a client would have made in it."""

    def __init__(self, lab: Lab, room: Room, situation: Situation) -> None:
        self._lab, self._room, self._situation = lab, room, situation
        self.project = room.path / ("a project" if situation.blank_project else "project")
        self._plugin = room.path / ("a plugin" if situation.blank_plugin else "plugin")
        outside = lab.ground.base / "told" / uuid.uuid4().hex
        self._transcript = Transcript.begin(outside, self.project, lab._session)
        self._within = str(room.home / self._transcript.relative_to(outside))
        self._written = ""

    def prepare(self) -> None:
        room, lab = self._room, self._lab
        room.folders(str(self.project / SUB))
        self.tell(None)
        if self._situation.agents:
            for name, text in _agents.programs(lab.subject, self._argv()).items():
                room.write(str(room.path / "agents" / name), text, 0o755)
        if self._situation.failing:
            for name, text in _agents.failing().items():
                room.write(str(room.path / "agents" / name), text, 0o755)
        if self._situation.traced:
            for name, (text, mode) in _tracing.programs(room.path / "tracing").items():
                room.write(str(room.path / "tracing" / name), text, mode)
        event = lab.event(self._situation, self.project, 0, self._within)
        for what, script in (("install", lab.preparation.install), ("seed", lab.preparation.seed)):
            if script:
                env = self._environment(event)
                run = {"argv": ["/bin/sh", "-ec", script], "env": env, "cwd": str(self.project), "stdin": ""}
                (end,) = room.run([run], SETTING_UP).ends
                if end.code or end.late:
                    how = "did not end in time" if end.late else f"ended with {end.code}"
                    raise RoomError(f"the {what} of {lab.subject.name} {how}: {(end.err or end.out).strip()[-300:]}")

    def run(self, situation: Situation, number: int) -> tuple[dict[str, Any], dict[str, Any]]:
        """An event, and what the room is to run for it."""
        event = self._lab.event(situation, self.project, number, self._within)
        said = self._transcript.said
        if situation.event == "Stop" and "last_assistant_message" not in situation.fields:
            event["last_assistant_message"] = said
        where = str(event.get("cwd", self.project))
        text = json.dumps(event, ensure_ascii=False, separators=(",", ":")) + "\n"
        return event, {"argv": self._argv(), "env": self._environment(event), "cwd": where, "stdin": text}

    def tell(self, event: Mapping[str, Any] | None) -> None:
        """Write what the transcript says now."""
        if event is not None and event.get("hook_event_name") == "Stop":
            self._transcript.before(event)
        text = self._transcript.read_text(encoding="utf-8")
        if text != self._written:
            self._room.write(self._within, text)
            self._written = text

    def told(self, event: Mapping[str, Any], result: HookResult) -> None:
        """What the client writes after a block; then the agent says that it is done once more."""
        self._transcript.after(event, result)

    def own(self, files: Mapping[str, Left]) -> dict[str, Left]:
        """What the hook has left, without what we have put there."""
        known = self._within[len(str(self._room.path)) + 1 :]
        ours = (known, f"home/{_agents.CALLS}.lock")
        roles = {f"layer 0 {self.project.name}/": "project/", f"layer 1 {self._plugin.name}/": "plugin/"}
        found = {}
        for name, left in files.items():
            role = next((role for role in roles if name.startswith(role)), "")
            if name not in ours and not any(f"/{nothing}/" in f"/{name}" for nothing in NOTHING):
                found[roles.get(role, "") + name[len(role) :]] = left
        return found

    def _argv(self) -> list[str]:
        subject = self._lab.subject
        if subject.args is None:
            return ["/bin/sh", "-c", subject.command]
        roots = {"CLAUDE_PLUGIN_ROOT": str(self._plugin), "CLAUDE_PROJECT_DIR": str(self.project)}
        words = [subject.command, *subject.args]
        for name, root in roots.items():
            words = [word.replace(f"${{{name}}}", root) for word in words]
        return words

    def _environment(self, event: Mapping[str, Any]) -> dict[str, str]:
        room, lab, situation = self._room, self._lab, self._situation
        path = lab.ground.path(situation.without)
        given = {
            **lab.ground.variables(),
            **of_client(
                event,
                session_id=lab._session,
                project=self.project,
                home=room.home,
                temporary=room.temporary,
                where=str(event.get("cwd", self.project)),
            ),
            **ENVIRONMENT,
            "HOME": str(room.home),
            "GIT_CEILING_DIRECTORIES": str(room.path),
            "CLAUDE_PID": "1",
        }
        folders = [given["CLAUDE_CODE_CHILD_NOTES_DIR"]]
        if "CLAUDE_ENV_FILE" in given:
            folders.append(os.path.dirname(given["CLAUDE_ENV_FILE"]))  # noqa: PTH120 - a path in the room
        if lab.subject.plugin:
            given |= of_plugin(lab.subject.root, room.home)
            given["CLAUDE_PLUGIN_ROOT"] = str(self._plugin)
            folders.append(given["CLAUDE_PLUGIN_DATA"])
        if situation.agents or situation.failing:
            path = f"{room.path / 'agents'}{os.pathsep}{path}"
        if situation.traced:
            given |= _tracing.variables(room.path / "tracing")
            path = f"{room.path / 'tracing'}{os.pathsep}{path}"
        if not lab.ground.confined:
            given["TMPDIR"] = str(room.temporary)
        room.folders(*folders)
        return {**given, "PATH": path}


def _here(value: Any, project: str) -> Any:
    """With the room's project in place of its name."""
    if isinstance(value, str):
        return value.replace(PROJECT, project)
    if isinstance(value, Mapping):
        return {key: _here(one, project) for key, one in value.items()}
    return [_here(one, project) for one in value] if isinstance(value, list) else value


_MAKING = threading.Lock()


def template(ground: Ground) -> Path:
    """A small project in a repository, for the hooks of plugins. Made once."""
    folder = ground.programs / "template"
    with _MAKING:
        if folder.exists():
            return folder
        files = {
            "README.md": "# Greeting\n",
            "src/app.py": 'print("hello")\n',
            "tests/test_app.py": "def test_app():\n    assert True\n",
            ".gitignore": "build/\n",
        }
        made = folder.with_name("template.new")
        for name, text in files.items():
            (made / name).parent.mkdir(parents=True, exist_ok=True)
            (made / name).write_text(text, encoding="utf-8")
        identity = [
            "-c",
            "user.name=Somebody",
            "-c",
            "user.email=somebody@example.invalid",
            "-c",
            "init.defaultBranch=main",
        ]
        for words in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", "Begin"]):
            before = identity if words[0] == "init" else []
            with_git = ["git", *before, *words]
            env = {**ground.variables(), "HOME": str(ground.base), "GIT_CONFIG_NOSYSTEM": "1"}
            try:
                subprocess.run(with_git, cwd=made, env=env, capture_output=True, check=False, timeout=60)
            except OSError:
                break  # a project without a repository
        made.rename(folder)
        return folder
