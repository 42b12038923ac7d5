"""Which files a run is about, in repositories of every kind."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from pytest_taskie import Project, assert_approved

from .gates import Gauntlet


def gates(gauntlet: Gauntlet) -> list[str]:
    """What a run would run now."""
    done = gauntlet.run("detect")
    assert done.exit_code == 0, done
    return [line.split()[0] for line in done.stdout.splitlines() if line.startswith(("check:", "review:"))]


@pytest.fixture
def parts(empty: Gauntlet, repositories: Path) -> Gauntlet:
    """Gates for every kind of entry point, and nothing changed."""
    empty.check("lint", "true")
    entries = [
        {"path": "src", "checks": ["lint"], "exclude": ["src/generated", "*.md"]},
        {"path": "packages/*", "checks": ["lint"]},
        {"path": "docs/**/*.rst", "checks": ["lint"]},
    ]
    empty.configure(entry_points=entries)
    for name in ("src/a", "packages/one/x", "packages/two/x", "docs/deep/page.rst", "packages/README"):
        empty.write(name, "1\n")
    empty.begin(repositories / "parts")
    return empty


class TestEntryPoints:
    @pytest.mark.parametrize(
        ("changed", "expected"),
        [
            ("src/a", ["check:src:lint"]),
            ("src/new/b", ["check:src:lint"]),
            ("srcs/b", []),
            ("src/generated/b", []),
            ("src/notes.md", []),
            ("packages/two/x", ["check:packages/two:lint"]),
            ("packages/README", []),
            ("docs/deep/page.rst", ["check:docs/**/*.rst:lint"]),
            ("docs/page.rst", ["check:docs/**/*.rst:lint"]),
            ("docs/page.txt", []),
        ],
    )
    def test_a_changed_file(self, parts: Gauntlet, changed: str, expected: list[str]) -> None:
        parts.write(changed, "2\n")
        assert gates(parts) == expected

    @pytest.mark.parametrize(("changed", "count"), [("packages/two/x", 1), ("docs/page.txt", 0)])
    def test_a_commit_is_the_same_change(self, parts: Gauntlet, changed: str, count: int) -> None:
        assert gates(parts) == []
        parts.write(changed, "2\n")
        before = gates(parts)
        assert len(before) == count
        parts.commit()
        assert gates(parts) == before

    def test_a_check_runs_in_its_entry(self, parts: Gauntlet) -> None:
        parts.check("lint", "pwd; exit 1")
        parts.settle()
        parts.write("packages/one/x", "2\n")
        parts.write("packages/two/x", "2\n")
        parts.stop()
        for name in ("one", "two"):
            log = parts.logs / f"check_packages_{name}_lint.1.log"
            assert log.read_text().strip() == str(parts.path / "packages" / name)

    def test_or_where_it_says(self, gauntlet: Gauntlet) -> None:
        gauntlet.write("tools/x", "")
        gauntlet.check("lint", "pwd; exit 1", working_directory="tools")
        gauntlet.stop()
        assert (gauntlet.logs / "check_._lint.1.log").read_text().strip() == str(gauntlet.path / "tools")


class TestChanges:
    def test_deleted(self, parts: Gauntlet) -> None:
        (parts.path / "src" / "a").unlink()
        assert gates(parts) == ["check:src:lint"]

    def test_renamed(self, parts: Gauntlet, project: Project) -> None:
        project.git("mv", "src/a", "packages/one/a")
        assert gates(parts) == ["check:src:lint", "check:packages/one:lint"]

    def test_staged_and_taken_back_in_the_tree(self, parts: Gauntlet, project: Project) -> None:
        parts.write("src/a", "2\n")
        project.git("add", "-A")
        assert gates(parts) == ["check:src:lint"]

    def test_ignored(self, parts: Gauntlet) -> None:
        parts.write(".git/info/exclude", "src/secret\n")
        parts.write("src/secret", "")
        assert gates(parts) == []

    def test_submodules_are_left_alone(self, parts: Gauntlet, project: Project, tmp_path: Path) -> None:
        other = tmp_path / "other"
        for words in (["init", "-q", str(other)], ["-C", str(other), "commit", "-q", "--allow-empty", "-m", "x"]):
            subprocess.run(
                ["git", "-c", "user.name=x", "-c", "user.email=x@example.invalid", *words], env=project.env, check=True
            )
        project.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "src/sub")
        parts.settle()
        parts.write("src/sub/file", "dirty")
        assert gates(parts) == []
        assert parts.stop().json["status"] == "no_changes"

    def test_a_worktree(self, failing: Gauntlet, project: Project, tmp_path: Path) -> None:
        (failing.path / "bad").unlink()
        project.git("worktree", "add", "-q", "-b", "beside", str(tmp_path / "beside"))
        (tmp_path / "beside" / "bad").write_text("")
        result = failing.stop(cwd=str(tmp_path / "beside"))
        assert result.json["status"] == "failed"
        assert (tmp_path / "beside" / "gauntlet_logs" / "console.1.log").exists()


class TestG11TheBase:
    def test_the_configured_one(self, parts: Gauntlet, project: Project) -> None:
        parts.write("src/a", "2\n")
        parts.commit()
        project.git("branch", "develop")
        assert gates(parts) == ["check:src:lint"]
        parts.configure(base_branch="develop")
        assert gates(parts) == []

    def test_origin(self, parts: Gauntlet, project: Project, tmp_path: Path) -> None:
        project.git("clone", "-q", "--bare", ".", str(tmp_path / "origin.git"))
        project.git("remote", "add", "origin", str(tmp_path / "origin.git"))
        project.git("fetch", "-q", "origin")
        parts.write("src/a", "2\n")
        parts.commit()
        project.git("branch", "-f", "main")
        assert gates(parts) == ["check:src:lint"], "origin/main comes before main"

    def test_none_at_all(self, parts: Gauntlet, project: Project) -> None:
        project.git("branch", "-D", "main")
        assert len(gates(parts)) == 4, "everything counts as changed"

    def test_unrelated_history(self, parts: Gauntlet, project: Project) -> None:
        project.git("checkout", "-q", "--orphan", "fresh")
        parts.write("src/a", "2\n")
        parts.commit()
        assert gates(parts) == ["check:src:lint"]

    def test_committing_on_main_does_not_evade_the_gates(self, failing: Gauntlet, project: Project) -> None:
        project.git("checkout", "-q", "main")
        failing.commit()
        assert failing.stop().json["status"] == "failed"

    def test_on_main_changes_count_from_the_last_run(self, gauntlet: Gauntlet, project: Project) -> None:
        gauntlet.check("lint", "test ! -e bad")
        gauntlet.settle()
        project.git("checkout", "-q", "main")
        gauntlet.write("good", "")
        gauntlet.commit()
        assert gauntlet.stop().json["status"] == "passed"
        gauntlet.write("bad", "")
        gauntlet.commit()
        assert gauntlet.stop().json["status"] == "failed"


class TestOddRepositories:
    def test_no_commit_yet(self, project: Project, failing: Gauntlet) -> None:
        shutil.rmtree(failing.path / ".git")
        project.git()
        result = failing.stop()
        assert result.json["status"] == "failed"
        assert "commit" not in failing.state

    def test_detached(self, failing: Gauntlet, project: Project) -> None:
        project.git("checkout", "-q", "--detach")
        assert failing.stop().json["status"] == "failed"
        assert failing.state["branch"] == "HEAD"

    def test_none(self, failing: Gauntlet) -> None:
        shutil.rmtree(failing.path / ".git")
        result = failing.stop()
        assert_approved(result, "not in a usable git repository")
        assert result.json["status"] == "infrastructure_error"
        assert failing.files() == []

    def test_a_file_in_its_place(self, failing: Gauntlet) -> None:
        shutil.rmtree(failing.path / ".git")
        failing.write(".git", "nonsense\n")
        assert failing.stop().json["status"] == "infrastructure_error"

    def test_bare(self, failing: Gauntlet, project: Project) -> None:
        project.git("config", "core.bare", "true")
        assert failing.stop().json["status"] == "infrastructure_error"

    def test_the_project_is_a_part_of_it(self, project: Project, gauntlet: Gauntlet) -> None:
        gauntlet.write("part/.gauntlet/config.yml", 'entry_points: [{path: "src", checks: [lint]}]')
        gauntlet.write("part/.gauntlet/checks/lint.yml", "command: 'false'")
        gauntlet.settle()
        gauntlet.write("src/x", "")
        assert gauntlet.stop(cwd=str(gauntlet.path / "part")).json["status"] == "no_changes"
        gauntlet.write("part/src/x", "")
        assert gauntlet.stop(cwd=str(gauntlet.path / "part")).json["status"] == "failed"
