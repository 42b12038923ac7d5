"""The record of a plan's reviews: what is appended can be read, whatever lies there, and nothing raises."""

from __future__ import annotations

import fcntl
import json
import multiprocessing
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from core.failing_os import FailingOs
from core.living import descriptors
from support import ROOT

from taskie.plans import journal
from taskie.plans.journal import Entry, append, read
from taskie.plans.running import Announced, Running, running

pytestmark = pytest.mark.state

TOKENS = {"input": 10, "output": 20, "cache_read": 30, "cache_write": 40}
FULL = Entry(
    at="2026-11-17T17:30:00Z",
    review="code-review",
    task="3",
    iteration=2,
    limit=8,
    model="sonnet",
    verdict="FAIL",
    seconds=41.2,
    turns=7,
    cost_usd=0.37,
    tokens=TOKENS,
    file="task-3-review-2.md",
    session="a session",
    findings=({"severity": "high", "file": "a.py", "line": 3, "what": "wrong", "evidence": "x"},),
)
BARE = Entry(at="2026-11-17T17:30:00Z", review="plan-review", problem="the reviewer exited with code 1")
FIELDS = {
    *("at", "review", "task", "iteration", "limit", "model", "verdict", "problem", "seconds", "turns", "cost_usd"),
    *("tokens", "file", "session", "findings"),
}


@pytest.fixture
def plan(tmp_path: Path) -> str:
    return str(tmp_path)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "reviews.jsonl"


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


class TestEntries:
    def test_nothing_yet(self, plan: str) -> None:
        assert read(plan) == journal.Journal()

    def test_what_is_appended_can_be_read(self, plan: str) -> None:
        assert [append(plan, entry) for entry in (FULL, BARE, FULL)] == [None] * 3
        found = read(plan)
        assert found.entries == (FULL, BARE, FULL)
        assert (found.problem, found.spent, found.folded) == (None, 0.74, 0)

    def test_every_field_is_always_there(self, plan: str, file: Path) -> None:
        append(plan, BARE)
        append(plan, FULL)
        assert [set(line) for line in lines(file)] == [FIELDS, FIELDS]
        assert lines(file)[0]["cost_usd"] is None
        assert lines(file)[1]["tokens"] == TOKENS

    def test_long_texts_are_cut(self, plan: str, file: Path) -> None:
        flood = FULL.replace(problem="x" * 10**6, session="y\n" * 10**6, findings=({"what": "z" * 1000},) * 1000)
        assert append(plan, flood) is None
        assert file.stat().st_size <= journal.MAX_ENTRY
        (found,) = read(plan).entries
        assert found.findings
        assert 0 < len(found.findings) < 1000

    def test_what_is_no_json_is_a_problem(self, plan: str, file: Path) -> None:
        append(plan, FULL)
        before = file.read_bytes()
        for wrong in (float("nan"), object()):
            assert "reviews.jsonl cannot be written" in (append(plan, FULL.replace(cost_usd=wrong)) or "")
        assert file.read_bytes() == before


class TestWhateverLiesThere:
    @pytest.mark.parametrize(
        "cut", [b'{"at": "2026', b"{", b'{"tokens": {}', b"\xff\xfe\x00", b'{"at": 1}', b"[]", b"7", b"[" * 100_000]
    )
    def test_a_broken_line_costs_that_line_alone(self, plan: str, file: Path, cut: bytes) -> None:
        append(plan, FULL)
        with file.open("ab") as stream:
            stream.write(cut)  # without an end, as a crash leaves it
        found = read(plan)
        assert found.entries == (FULL,)
        assert found.problem is None, "it may still be being written"
        assert append(plan, BARE) is None
        found = read(plan)
        assert found.entries == (FULL, BARE)
        assert found.problem == "reviews.jsonl: 1 line cannot be read"
        assert found.spent == 0.37

    @pytest.mark.parametrize("cost", [-1, True, "0.3", [1], {"usd": 1}, None, 10**12, 1e308, "1e999"])
    def test_a_cost_that_is_none(self, plan: str, file: Path, cost: Any) -> None:
        line = json.dumps({**FULL.as_dict(), "cost_usd": cost}).replace('"1e999"', "1e999")
        file.write_text(line + "\n")
        append(plan, FULL)
        found = read(plan)
        assert (found.spent, found.problem) == (0.37, None)
        assert found.entries[0] == FULL.replace(cost_usd=None)

    @pytest.mark.parametrize("field", sorted(FIELDS - {"review"}))
    @pytest.mark.parametrize("value", [-1, True, 1.5, "text", [1], {"a": 1}], ids=repr)
    def test_a_field_of_another_type_is_as_if_it_were_not_there(
        self, plan: str, file: Path, field: str, value: Any
    ) -> None:
        file.write_text(json.dumps({**FULL.as_dict(), field: value}) + "\n")
        (entry,) = read(plan).entries
        default = {"at": "", "iteration": 0, "limit": 0}.get(field)
        assert getattr(entry, field) in (default, value)
        assert entry == FULL.replace(**{field: getattr(entry, field)})

    def test_a_directory(self, plan: str, file: Path) -> None:
        file.mkdir()
        assert append(plan, FULL) == "reviews.jsonl cannot be written (Is a directory)"
        assert read(plan).problem == "reviews.jsonl is not a regular file"

    def test_a_link_is_not_followed(self, plan: str, file: Path, tmp_path: Path) -> None:
        elsewhere = tmp_path / "elsewhere"
        elsewhere.write_text("kept")
        file.symlink_to(elsewhere)
        assert append(plan, FULL) == "reviews.jsonl is a symbolic link"
        assert read(plan).problem == "reviews.jsonl is a symbolic link"
        assert elsewhere.read_text() == "kept"

    def test_a_fifo_hangs_nobody(self, plan: str, file: Path) -> None:
        os.mkfifo(file)
        assert append(plan, FULL) == "reviews.jsonl is not a regular file"
        assert read(plan).problem == "reviews.jsonl is not a regular file"

    def test_a_file_of_100_mb_is_neither_read_nor_written(self, plan: str, file: Path) -> None:
        with file.open("wb") as stream:
            stream.truncate(100 * 1024 * 1024)
        assert append(plan, FULL) == "reviews.jsonl is larger than 8 MB; move it away"
        assert read(plan).problem == "reviews.jsonl is larger than 8 MB"
        assert file.stat().st_size == 100 * 1024 * 1024

    def test_no_directory(self, plan: str) -> None:
        assert append(f"{plan}/gone", FULL) == "reviews.jsonl cannot be written (No such file or directory)"
        assert read(f"{plan}/gone") == journal.Journal()


class TestSpent:
    """The hook's quick way to the sum finds what reading every line finds."""

    LINE = json.dumps(FULL.replace(findings=None).as_dict())
    NONE = json.dumps(BARE.as_dict())

    @pytest.mark.parametrize(
        "text",
        [
            "",
            f"{LINE}\n{LINE}\n{NONE}\n",
            f"{LINE}\n{LINE}",
            f"{LINE}\n{LINE[:-3]}",
            f"{LINE}\n{LINE[:-3]}\n{LINE}\n",
            f"{LINE}\n{LINE.replace(' ', '')}\n",
            LINE.replace("0.37", "1e999") + "\n",
            LINE.replace("0.37", "NaN") + "\n",
            LINE.replace("0.37", "-1") + "\n",
            LINE.replace("0.37", "true") + "\n",
            LINE.replace("0.37", '"0.37"') + "\n",
            LINE.replace("0.37", "1e2") + "\n",
            LINE.replace('"findings": null', '"findings": [{"cost_usd": 5}]') + "\n",
            LINE.replace('"session": "a session"', '"session": {"cost_usd": 5}') + "\n",
            LINE.replace("a session", '\\"cost_usd\\": 7, ') + "\n",
            f'{{"folded": 9, "at": null, "cost_usd": 4.5}}\n{LINE}\n',
            f'{{"folded": true, "at": null, "cost_usd": 4.5}}\n[]\n\xff\n{LINE}\n',
        ],
    )
    def test_it_agrees(self, plan: str, file: Path, text: str) -> None:
        file.write_text(text)
        assert journal.spent(plan) == read(plan).spent

    def test_a_file_that_cannot_be_read(self, plan: str, file: Path) -> None:
        assert journal.spent(plan) == 0
        file.mkdir()
        assert journal.spent(plan) is None


class TestBound:
    @pytest.fixture(autouse=True)
    def small(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(journal, "MAX", 4096)

    def test_the_oldest_are_folded_and_still_counted(self, plan: str, file: Path) -> None:
        for number in range(200):
            assert append(plan, FULL.replace(iteration=number, findings=None)) is None
            assert file.stat().st_size <= 4096
            found = read(plan)
            assert (found.folded + len(found.entries), found.problem) == (number + 1, None)
            assert found.spent == round(0.37 * (number + 1), 6)
            assert [entry.iteration for entry in found.entries] == list(range(found.folded, number + 1))
        assert [path.name for path in Path(plan).iterdir()] == ["reviews.jsonl"]
        assert sum("folded" in line for line in lines(file)) == 1

    def test_what_another_version_wrote_is_kept(self, plan: str, file: Path) -> None:
        file.write_text(json.dumps({**FULL.as_dict(), "findings": None, "new": "field"}) + "\n" + " " * 4000 + "\n")
        append(plan, FULL)
        assert [line.get("new") for line in lines(file)] == [None, "field", None]
        assert read(plan).folded == 0

    @pytest.mark.parametrize("mode", ["refused", "short"])
    def test_every_call_may_fail(self, plan: str, file: Path, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
        """Where the line fits, and where the older ones are folded."""
        opened = descriptors()
        for many in (1, 10):
            before = (json.dumps(FULL.replace(findings=None).as_dict()) + "\n").encode() * many
            for at in range(1, 40):
                file.write_bytes(before)
                faulty = FailingOs(at, mode)
                with monkeypatch.context() as patch:
                    patch.setattr(journal, "os", faulty)
                    patch.setattr("taskie.store.os", faulty)
                    problem = append(plan, BARE)
                assert descriptors() == opened, faulty.calls[-1]
                found = read(plan)
                total = found.folded + len(found.entries)
                assert (total, found.spent) in ((many, round(0.37 * many, 6)), (many + 1, round(0.37 * many, 6)))
                assert found.problem is None, faulty.calls[-1]
                assert file.read_bytes().endswith(b"\n"), "half a line"
                assert problem or total == many + 1
                if not faulty.reached:
                    break
            else:
                pytest.fail("the run never completed")


def _append_many(plan: str, session: str) -> None:
    for number in range(30):
        assert append(plan, FULL.replace(session=session, iteration=number)) is None


class TestSeveralAtOnce:
    @pytest.mark.parametrize("bound", [journal.MAX, 16384])
    def test_no_line_is_lost_or_torn(self, plan: str, bound: int, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(journal, "MAX", bound)
        monkeypatch.setattr(journal, "PATIENCE", 60.0)
        fork = multiprocessing.get_context("fork")
        writers = [fork.Process(target=_append_many, args=(plan, str(number))) for number in range(4)]
        problems = set()
        for writer in writers:
            writer.start()
        while any(writer.is_alive() for writer in writers):
            problems.add(read(plan).problem)
        for writer in writers:
            writer.join()
            assert writer.exitcode == 0
        found = read(plan)
        assert found.folded + len(found.entries) == 120
        assert found.spent == round(0.37 * 120, 6)
        assert problems == {None}
        for number in range(4):
            order = [entry.iteration for entry in found.entries if entry.session == str(number)]
            assert order == sorted(order)

    def test_a_file_that_was_replaced_meanwhile_is_opened_again(
        self, plan: str, file: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        append(plan, FULL)
        lock = fcntl.flock

        def too_late(fd: int, how: int) -> None:
            monkeypatch.setattr(fcntl, "flock", lock)
            file.rename(f"{plan}/old")
            append(plan, FULL)
            lock(fd, how)

        monkeypatch.setattr(fcntl, "flock", too_late)
        assert append(plan, BARE) is None
        assert read(plan).entries == (FULL, BARE)

    def test_a_writer_that_never_ends_is_not_waited_for(self, plan: str, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(journal, "PATIENCE", 0.05)
        append(plan, FULL)
        fd = journal._open_locked(f"{plan}/reviews.jsonl")
        opened = descriptors()
        try:
            assert append(plan, FULL) == "reviews.jsonl is being written by another process"
            assert descriptors() == opened, "each try opens the file again"
        finally:
            os.close(fd)
        assert append(plan, FULL) is None


NOW = Running("code-review", "3", 2, 8, "sonnet", "2026-11-17T17:30:00Z", "2026-11-17T17:39:30Z", "a session")
HOLDER = """
import sys
sys.path.insert(0, sys.argv[1])
from taskie.plans.running import Announced, Running
with Announced(sys.argv[2], Running("plan-review", None, 1, 8, "opus", "a", "b")):
    print("announced", flush=True)
    sys.stdin.read()
"""


class TestRunning:
    def test_while_it_runs(self, plan: str) -> None:
        assert running(plan) is None
        with Announced(plan, NOW):
            assert running(plan) == NOW
        assert running(plan) is None
        assert list(Path(plan).iterdir()) == []

    def test_whoever_is_killed_leaves_no_lie(self, plan: str) -> None:
        command = [sys.executable, "-c", HOLDER, str(ROOT), plan]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
            assert holder.stdout
            assert holder.stdout.readline() == b"announced\n"
            found = running(plan)
            assert found
            assert (found.review, found.task, found.model) == ("plan-review", None, "opus")
            holder.kill()
        assert [path.name for path in Path(plan).iterdir()] == [".review-running.json"]
        assert running(plan) is None
        with Announced(plan, NOW):
            assert running(plan) == NOW
        assert list(Path(plan).iterdir()) == []

    def test_a_program_that_it_starts_does_not_hold_it(self, plan: str, tmp_path: Path) -> None:
        other = tmp_path / "other"
        other.mkdir()
        with Announced(plan, NOW):
            os.link(tmp_path / ".review-running.json", other / ".review-running.json")
            assert running(str(other)) == NOW
            program = subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False)
        try:
            assert running(str(other)) is None
        finally:
            program.communicate()

    @pytest.mark.parametrize("kind", ["fifo", "directory", "link", "text"])
    def test_whatever_lies_there(self, plan: str, tmp_path: Path, kind: str) -> None:
        path = tmp_path / ".review-running.json"
        if kind == "fifo":
            os.mkfifo(path)
        elif kind == "directory":
            path.mkdir()
        elif kind == "link":
            path.symlink_to("/nowhere")
        else:
            path.write_text("{")
        assert running(plan) is None
        with Announced(plan, NOW):
            assert running(plan) == (None if kind == "directory" else NOW)
        assert running(plan) is None

    @pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"review": 7}', '{"review": "x", "task": 4}'])
    def test_a_locked_file_with_something_else_in_it(self, plan: str, tmp_path: Path, text: str) -> None:
        with Announced(plan, NOW):
            (tmp_path / ".review-running.json").write_text(text)
            assert running(plan) is None

    def test_a_plan_that_cannot_be_written_is_no_obstacle(self, plan: str) -> None:
        with Announced(f"{plan}/gone", NOW):
            assert running(f"{plan}/gone") is None

    def test_readers_are_in_nobodys_way(self, plan: str) -> None:
        done = threading.Event()
        seen: set[Running | None] = set()

        def look() -> None:
            while not done.is_set():
                seen.add(running(plan))

        reader = threading.Thread(target=look)
        reader.start()
        try:
            for _ in range(200):
                with Announced(plan, NOW):
                    assert running(plan) == NOW
        finally:
            done.set()
            reader.join()
        assert seen <= {None, NOW}
