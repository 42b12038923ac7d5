"""`taskie report`: where the page goes, what is replaced and what is not, and what is said when it cannot be made."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from support.commands import Taskie, run_process
from support.faulty import Faulty

from pytest_taskie import Plan, Project

from .parsed import parse, read

pytestmark = pytest.mark.state


def test_by_default_beside_the_project_under_the_plans_name(plan: Plan, project: Project, taskie: Taskie) -> None:
    done = taskie("report")
    path = project.path / "taskie-report-test-plan.html"
    assert (done.code, done.out, done.err) == (0, f"{path}\n", "")
    assert read(path).one("h1").text == "test-plan"


def test_a_plan_whose_directory_cannot_be_listed(plan: Plan, project: Project, faulty: Faulty) -> None:
    env = {**project.env, **faulty(f"list={errno.EIO}@/test-plan#2")}
    done = run_process(["report"], cwd=project.path, env=env)
    assert (done.code, done.err) == (0, "")
    said = read(Path(done.out.rstrip("\n"))).one("aside").text
    assert "The plan's directory cannot be listed (Input/output error)." in said


def test_where_it_is_told_to(plan: Plan, project: Project, taskie: Taskie) -> None:
    (project.path / "out").mkdir()
    assert taskie("report", "--output", "out/page.html").out == f"{project.path}/out/page.html\n"
    assert [path.name for path in (project.path / "out").iterdir()] == ["page.html"]


def test_on_stdout(plan: Plan, project: Project, taskie: Taskie) -> None:
    before = sorted(project.path.iterdir())
    done = taskie("report", "--output", "-")
    assert (done.code, done.err) == (0, "")
    assert parse(done.out).one("h1").text == "test-plan"
    assert sorted(project.path.iterdir()) == before


def test_nothing_in_the_plan_is_touched(plan: Plan, taskie: Taskie) -> None:
    plan.state.write()
    before = {path: path.stat().st_mtime_ns for path in [plan.path, *plan.path.iterdir()]}
    assert taskie("report").code == 0
    assert {path: path.stat().st_mtime_ns for path in [plan.path, *plan.path.iterdir()]} == before


def test_the_newest_or_the_one_that_is_named(make_plan: Callable[..., Plan], taskie: Taskie) -> None:
    older = make_plan("older")
    make_plan("newer")
    for path in older.path.iterdir():
        os.utime(path, (0, 0))
    assert "report-newer" in taskie("report").out
    assert "report-older" in taskie("report", "--plan", "older").out


class TestWhatIsThereAlready:
    def test_a_report_is_replaced_and_keeps_its_mode(self, plan: Plan, project: Project, taskie: Taskie) -> None:
        path = Path(taskie("report").out.strip())
        path.chmod(0o600)
        plan.write("design.md", "# Added since\n")
        assert taskie("report").code == 0
        assert "Added since" in path.read_text()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    def test_an_empty_file_is_replaced(self, plan: Plan, project: Project, taskie: Taskie) -> None:
        (project.path / "made.html").touch()
        assert taskie("report", "--output", "made.html").code == 0

    def test_anything_else_stays(self, plan: Plan, project: Project, taskie: Taskie) -> None:
        mine = project.path / "mine.html"
        mine.write_text("<h1>mine</h1>")
        done = taskie("report", "--output", "mine.html")
        assert (done.code, done.out) == (1, "")
        assert "mine.html is there and is not a report of Taskie's" in done.err
        assert mine.read_text() == "<h1>mine</h1>"

    def test_a_link_is_not_followed(self, plan: Plan, project: Project, taskie: Taskie) -> None:
        page = Path(taskie("report").out.strip())
        before = page.read_bytes()
        plan.write("design.md", "# Added since\n")
        (project.path / "link.html").symlink_to(page)
        done = taskie("report", "--output", "link.html")
        assert (done.code, done.out) == (2, "")
        assert "is not a regular file" in done.err
        assert page.read_bytes() == before

    def test_a_directory_is_said(self, plan: Plan, project: Project, taskie: Taskie) -> None:
        done = taskie("report", "--output", ".")
        assert (done.code, done.out) == (2, "")
        assert "is a directory: give --output the name of a file" in done.err

    def test_a_fifo_does_not_hang_it(self, plan: Plan, project: Project, taskie: Taskie) -> None:
        os.mkfifo(project.path / "pipe")
        assert taskie("report", "--output", "pipe").code == 2


def test_a_folder_that_is_not_there(plan: Plan, taskie: Taskie) -> None:
    done = taskie("report", "--output", "nowhere/page.html")
    assert (done.code, done.out) == (1, "")
    assert done.err == "taskie: page.html cannot be written (No such file or directory)\n"


def test_no_plans(project: Project, taskie: Taskie) -> None:
    done = taskie("report")
    assert (done.code, done.out) == (1, "")
    assert "no .taskie/plans here or above" in done.err


def test_no_such_plan(plan: Plan, taskie: Taskie) -> None:
    done = taskie("report", "--plan", "other")
    assert (done.code, done.out) == (2, "")
    assert "there is no plan 'other' (plans here: test-plan)" in done.err


class TestOpening:
    @pytest.fixture
    def opened(self, project: Project, tmp_path: Path) -> Path:
        """Where the person's browser writes down what it was asked to open."""
        program, record = tmp_path / "browse", tmp_path / "opened"
        program.write_text(f'#!/bin/sh\necho "$1" > {record}\n')
        program.chmod(0o755)
        project.env["BROWSER"] = str(program)
        return record

    def test_the_file(self, plan: Plan, project: Project, opened: Path, taskie: Taskie) -> None:
        done = taskie("report", "--open", process=True)
        assert (done.code, done.err) == (0, "")
        assert opened.read_text() == f"file://{project.path}/taskie-report-test-plan.html\n"

    def test_not_stdout(self, plan: Plan, opened: Path, taskie: Taskie) -> None:
        done = taskie("report", "--open", "--output", "-")
        assert (done.code, done.out) == (2, "")
        assert "--open needs a file" in done.err
        assert not opened.exists()

    def test_no_browser(self, plan: Plan, project: Project, taskie: Taskie) -> None:
        project.env["BROWSER"] = "/nowhere/browser"
        project.env["PATH"] = "/nowhere"
        done = taskie("report", "--open", process=True)
        assert (done.code, done.err) == (1, "taskie: no browser was found to open it with; BROWSER may name one\n")
        assert Path(done.out.strip()).exists()
