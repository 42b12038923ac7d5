"""The project is found from where the agent is now: up to the repository's root, and where the client started."""

from __future__ import annotations

from pathlib import Path

import pytest

from taskie import plans
from taskie.project import find, places, plugin_root


def found(cwd: Path, **env: str) -> Path | None:
    """The root of the project with plans, as the hook finds it."""
    root = find(plans.MARKER, places(str(cwd), env))
    return None if root is None else Path(root)


def make_plans(root: Path) -> Path:
    (root / ".taskie" / "plans").mkdir(parents=True)
    return root


@pytest.fixture
def top(tmp_path: Path) -> Path:
    """A physical directory outside any repository: so its own parents must not count either."""
    return tmp_path.resolve()


@pytest.fixture
def repository(top: Path) -> Path:
    (top / "repository" / ".git").mkdir(parents=True)
    (top / "repository" / "src" / "deep").mkdir(parents=True)
    return top / "repository"


def test_root_of_the_repository(repository: Path) -> None:
    make_plans(repository)
    assert found(repository) == repository
    assert found(repository / "src" / "deep") == repository


def test_nearest_directory_wins(repository: Path) -> None:
    make_plans(repository)
    make_plans(repository / "src")
    assert found(repository / "src" / "deep") == repository / "src"
    assert found(repository) == repository


def test_search_ends_at_the_root_of_the_repository(repository: Path, top: Path) -> None:
    make_plans(top)
    assert found(repository / "src") is None
    assert places(str(repository / "src"), {}) == [str(repository / "src"), str(repository)]


def test_inner_repository_is_its_own(repository: Path) -> None:
    make_plans(repository)
    (repository / "src" / ".git").mkdir()
    assert found(repository / "src" / "deep") is None


@pytest.mark.parametrize("content", ["gitdir: /elsewhere/.git/worktrees/tree\n", ""])
def test_worktree_has_a_file_in_place_of_the_directory(repository: Path, top: Path, content: str) -> None:
    make_plans(top)
    tree = top / "tree"
    (tree / "src").mkdir(parents=True)
    (tree / ".git").write_text(content)
    assert found(tree / "src") is None
    make_plans(tree)
    assert found(tree / "src") == tree


def test_outside_a_repository_only_the_directory_itself(top: Path) -> None:
    make_plans(top)
    (top / "src").mkdir()
    assert found(top) == top
    assert found(top / "src") is None


def test_path_through_a_link_is_physical(repository: Path, top: Path) -> None:
    make_plans(repository)
    (top / "link").symlink_to(repository / "src" / "deep")
    assert found(top / "link") == repository
    make_plans(top)
    assert found(top / "link") == repository


def test_link_out_of_the_repository(repository: Path, top: Path) -> None:
    make_plans(repository)
    (top / "outside").mkdir()
    (repository / "link").symlink_to(top / "outside")
    assert found(repository / "link") is None


def test_where_the_client_started(repository: Path, top: Path) -> None:
    make_plans(repository)
    (top / "elsewhere").mkdir()
    assert found(top / "elsewhere", CLAUDE_PROJECT_DIR=str(repository)) == repository


def test_what_is_near_beats_where_the_client_started(repository: Path, top: Path) -> None:
    make_plans(repository)
    other = make_plans(top / "other")
    assert found(other, CLAUDE_PROJECT_DIR=str(repository)) == other
    assert places(str(other), {"CLAUDE_PROJECT_DIR": str(repository)}) == [str(other), str(repository)]


@pytest.mark.parametrize("started", ["", ".", "repository", "/nonexistent/project"])
def test_start_that_is_not_a_directory(
    repository: Path, top: Path, monkeypatch: pytest.MonkeyPatch, started: str
) -> None:
    make_plans(repository)
    monkeypatch.chdir(top)
    (top / "elsewhere").mkdir()
    assert found(top / "elsewhere", CLAUDE_PROJECT_DIR=started) is None


def test_start_through_a_link_is_not_a_second_directory(repository: Path, top: Path) -> None:
    (top / "link").symlink_to(repository)
    assert places(str(repository), {"CLAUDE_PROJECT_DIR": str(top / "link")}) == [str(repository)]


@pytest.mark.parametrize("kind", ["directory", "file", "link", "dangling"])
def test_marker_of_any_kind(top: Path, kind: str) -> None:
    (top / ".taskie").mkdir()
    marker = top / plans.MARKER
    if kind == "directory":
        marker.mkdir()
    elif kind == "file":
        marker.touch()
    else:
        marker.symlink_to(top if kind == "link" else "nowhere")
    assert find(plans.MARKER, [str(top)]) == str(top)


def test_our_own_files() -> None:
    root = Path(plugin_root())
    assert (root / "hooks" / "stop-hook.sh").is_file()
    assert (root / "ground-rules.md").is_file()
