"""Many hooks at once, hooks in a storm of signals, hooks that are killed. Counts what is left, and who."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from tools.torture import places
from tools.torture.place import Place
from tools.torture.results import Failure, Result
from tools.torture.scenes import SCENES
from tools.torture.stage import Stage

# What a client or a terminal sends; a process that is not ready for one ends by it, which is as good as any other end.
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCONT, signal.SIGWINCH, signal.SIGPIPE)
WAIT = 2.0  # seconds after which nobody may be left
# Notes when it begins and ends, so that two at a time show; and has a child, as every real one has.
BUSY = """#!/bin/sh
echo "begin $$" >>"$TORTURE_NOTES"
(sleep {seconds}) &
wait
cat >/dev/null
asked="$*"
{writes}
echo "end $$" >>"$TORTURE_NOTES"
"""
WRITES = """rest=${asked#*Write your review to }
printf '# Review\\n\\nVERDICT: FAIL\\n' >"${rest%%.md*}.md"
echo '{"type": "result", "is_error": false, "structured_output": {"verdict": "FAIL"}}'"""


@dataclass
class Started:
    """A hook that runs."""

    place: Place
    process: subprocess.Popen[bytes]
    out: Path


def _start(place: Place, number: int, notes: Path) -> Started:
    out = place.root / f"out-{number}"
    event = place.root / "event"
    event.write_bytes(place.event())
    env = {**place.env, "TORTURE_NOTES": str(notes)}
    with event.open("rb") as stdin, out.open("wb") as stdout, (place.root / f"err-{number}").open("wb") as stderr:
        process = subprocess.Popen(
            place.hook, cwd=place.path, env=env, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
        )
    return Started(place, process, out)


def _busy(place: Place, seconds: float) -> None:
    """The reviewer, and the check of the gates, take so long."""
    program = place.root.parent / "programs" / "claude"
    program.write_text(BUSY.replace("{seconds}", f"{seconds:g}").replace("{writes}", WRITES))


def _make(scratch: Path, name: str, scene: str, seconds: float) -> Place:
    place = Place(scratch / name / "scene", scratch / "product")
    SCENES[scene].make(place)
    _busy(place, seconds)
    if scene.startswith("gauntlet"):
        check = BUSY.replace("{seconds}", f"{seconds:g}").replace("{writes}", "exit 1")
        (place.path / "check.sh").write_text(check.replace("cat >/dev/null\n", ""))
        place.write(".gauntlet/checks/lint.yml", json.dumps({"command": "sh check.sh"}))
        place.commit()
        place.project.git("branch", "-f", "main")
        place.write("code.py", "x = 3\n")
    return place


def _overlap(notes: Path) -> tuple[int, int]:
    """How many began, and how many were at it at once."""
    began = most = now = 0
    for line in notes.read_text().splitlines() if notes.exists() else []:
        now += 1 if line.startswith("begin") else -1
        began += line.startswith("begin")
        most = max(most, now)
    return began, most


def concurrency(seconds: float, seed: int) -> Result:
    """64 stops at once on one plan, 64 on 8 plans, 32 on gates: one review each, never two at a time."""
    result = Result("concurrency")
    again = f"python -m tools.torture --only concurrency --seed {seed}"
    scratch = places.scratch()
    places.adopt_orphans()
    try:
        places.copy_product(scratch / "product")
        for title, scene, many, hooks in (
            ("one plan", "plan-stop", 1, 64),
            ("8 plans", "plan-stop", 8, 8),
            ("gates", "gauntlet-stop", 1, 32),
        ):
            rooms = [_make(scratch, f"{title}-{number}".replace(" ", "-"), scene, 1.0) for number in range(many)]
            notes = {place.root: place.root / "notes" for place in rooms}
            started = [_start(place, number, notes[place.root]) for number in range(hooks) for place in rooms]
            result.many += len(started)
            for each in started:
                code = each.process.wait(120)
                text = each.out.read_text()
                result.reached += 1
                if code != 0 or not _is_object(text):
                    result.failures.append(Failure("answer", f"{title}: exit {code}, {text[:200]!r}", again))
            for place in rooms:
                began, most = _overlap(notes[place.root])
                if most > 1:
                    result.failures.append(Failure("two at once", f"{title}: {most} ran at the same time", again))
                if scene == "plan-stop" and began != 1:
                    result.failures.append(Failure("reviews", f"{title}: {began} reviews of one stop", again))
                if scene == "plan-stop":
                    state = json.loads((place.path / ".taskie/plans/test-plan/state.json").read_text())
                    if state["phase_iteration"] != 1:
                        result.failures.append(
                            Failure("state", f"{title}: iteration {state['phase_iteration']}", again)
                        )
            result.notes.append(
                f"{title}: {len(started)} stops, {sum(_overlap(each)[0] for each in notes.values())} runs"
            )
    finally:
        places.end_orphans()
        shutil.rmtree(scratch, ignore_errors=True)
    return result


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except ValueError:
        return False


def storms(seconds: float, seed: int, many: int = 60) -> Result:
    """Signals at random moments, in bursts, at the hook's start, in its review, at its end; then the next stop."""
    result = Result("storms")
    chance = random.Random(seed)
    scratch = places.scratch()
    places.adopt_orphans()
    until = time.monotonic() + seconds
    try:
        places.copy_product(scratch / "product")
        for scene in ("plan-stop", "plan-stop-again", "gauntlet-stop-review", "claudex-stop"):
            base = scratch / scene
            base.mkdir()
            stage = Stage(scene, base, scratch / "product", Path("/nowhere"))
            for number in range(many // 4):
                if time.monotonic() > until:
                    break
                stage.reset()
                started = _start(stage.place, number, stage.root / "notes")
                sent = []
                for _ in range(chance.randrange(1, 6)):
                    time.sleep(chance.random() * 0.05)
                    sent.append(chance.choice(SIGNALS))
                    if started.process.poll() is None:
                        started.process.send_signal(sent[-1])
                result.many += 1
                result.reached += started.process.poll() is None or started.process.returncode != 0
                what = f"{scene} {number}: {', '.join(each.name for each in sent)}"
                again = f"python -m tools.torture --only storms --seed {seed}"
                try:
                    started.process.wait(20)
                except subprocess.TimeoutExpired:
                    started.process.kill()
                    started.process.wait()
                    result.failures.append(Failure("hung", what, again))
                time.sleep(0.1)
                for name in places.end_orphans():
                    result.failures.append(Failure("survivor", f"{what}: {name}", again))
                for path in stage.root.glob("*-[0-9]*"):
                    path.unlink()
                (stage.root / "event").unlink()
                wrong = list(stage.judged(stage.run()))
                result.failures += [Failure(kind, f"{what}: {text}", again) for kind, text in wrong]
    finally:
        places.end_orphans()
        shutil.rmtree(scratch, ignore_errors=True)
    return result


def kills(seconds: float, seed: int, many: int = 100) -> Result:
    """SIGKILL of the hook at a random moment of a review or a check; who is there two seconds later?"""
    result = Result("kills")
    chance = random.Random(seed)
    scratch = places.scratch()
    places.adopt_orphans()
    again = f"python -m tools.torture --only kills --seed {seed}"
    until = time.monotonic() + seconds
    try:
        places.copy_product(scratch / "product")
        batch = 10
        for first in range(0, many, batch):
            if time.monotonic() > until:
                break
            scenes = ["plan-stop" if number % 2 else "gauntlet-stop" for number in range(batch)]
            rooms = [_make(scratch, f"{first + number}", scene, 30.0) for number, scene in enumerate(scenes)]
            started = [_start(place, 0, place.root / "notes") for place in rooms]
            moments = sorted((time.monotonic() + 0.05 + chance.random() * 1.5, number) for number in range(batch))
            for moment, number in moments:
                time.sleep(max(0.0, moment - time.monotonic()))
                started[number].process.kill()
                started[number].process.wait()
            time.sleep(WAIT)
            for place, scene in zip(rooms, scenes):
                left = _left(place)
                if left:
                    result.failures.append(Failure("survivors", f"{scene}: {', '.join(left)}", again))
            result.many += batch
            result.reached += sum((place.root / "notes").exists() for place in rooms)
            places.end_orphans()
            for place in rooms:
                shutil.rmtree(place.root.parent, ignore_errors=True)
    finally:
        places.end_orphans()
        shutil.rmtree(scratch, ignore_errors=True)
    result.notes.append(f"{result.reached} of {result.many} were killed after the reviewer or the check had begun")
    return result


def _left(place: Place) -> list[str]:
    """What runs in a project, of all that comes from us: its names."""
    found = []
    for pid in places.descendants(os.getpid()):
        try:
            inside = os.readlink(f"/proc/{pid}/cwd").startswith(str(place.root))
            if inside and places.is_alive(pid):
                found.append(Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ").strip()[:80])
        except OSError:
            continue  # gone since
    return found
