"""Each way in which rules change: what git brings asks again, what is written here does not."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Callable

import pytest

from taskie import arrival

from .checkouts import CONFIG, Checkout, check

RULE = ".gauntlet/checks/test.yml"
Way = Callable[[Checkout, Checkout], "Checkout | None"]


def upstream(theirs: Checkout, text: str = "two", branch: str = "") -> None:
    """Somebody else changes the rule, and the user has not got it yet."""
    if branch:
        theirs.git("checkout", "-q", "-b", branch)
    theirs.commit(RULE, check(text), "another rule")


def fetched(theirs: Checkout, mine: Checkout) -> None:
    upstream(theirs)
    mine.git("fetch", "-q")


def pull(theirs: Checkout, mine: Checkout) -> None:
    upstream(theirs)
    mine.git("pull", "-q", "--ff-only")


def pull_and_merge(theirs: Checkout, mine: Checkout) -> None:
    upstream(theirs)
    mine.commit("mine", "mine")
    mine.git("pull", "-q", "--no-rebase", "--no-edit")


def pull_and_merge_both_sides_in_one_file(theirs: Checkout, mine: Checkout) -> None:
    """Neither side has the content that git makes of the two."""
    theirs.commit(".gauntlet/config.yml", CONFIG + "max_retries: 2\n")
    mine.commit(".gauntlet/config.yml", "# mine\n" + CONFIG)
    mine.git("pull", "-q", "--no-rebase", "--no-edit")


def pull_and_rebase(theirs: Checkout, mine: Checkout) -> None:
    upstream(theirs)
    mine.commit("mine", "mine")
    mine.git("pull", "-q", "--rebase")


def pull_and_amend(theirs: Checkout, mine: Checkout) -> None:
    pull(theirs, mine)
    mine.git("commit", "-q", "--amend", "-m", "as if it were mine")


def pull_and_touch(theirs: Checkout, mine: Checkout) -> None:
    """Somebody writes to the file that git has brought, before anybody was asked about it."""
    pull(theirs, mine)
    mine.write(RULE, check("two") + "# formatted\n")


def pull_and_commit_over_it(theirs: Checkout, mine: Checkout) -> None:
    pull(theirs, mine)
    mine.commit("other", "other")


def pull_a_new_rule(theirs: Checkout, mine: Checkout) -> None:
    theirs.commit(".gauntlet/checks/more.yml", check("more"))
    mine.git("pull", "-q")


def checkout(theirs: Checkout, mine: Checkout) -> None:
    upstream(theirs, branch="feature")
    mine.git("fetch", "-q")
    mine.git("checkout", "-q", "feature")


def switch(theirs: Checkout, mine: Checkout) -> None:
    upstream(theirs, branch="feature")
    mine.git("fetch", "-q")
    mine.git("switch", "-q", "feature")


def checkout_of_the_file_alone(theirs: Checkout, mine: Checkout) -> None:
    fetched(theirs, mine)
    mine.git("checkout", "-q", "origin/main", "--", RULE)


def restored_from_there_and_committed(theirs: Checkout, mine: Checkout) -> None:
    fetched(theirs, mine)
    mine.git("restore", "--source=origin/main", RULE)
    mine.git("commit", "-q", "-a", "-m", "as if it were mine")


def reset(theirs: Checkout, mine: Checkout) -> None:
    fetched(theirs, mine)
    mine.git("reset", "-q", "--hard", "origin/main")


def merge(theirs: Checkout, mine: Checkout) -> None:
    fetched(theirs, mine)
    mine.git("merge", "-q", "--no-ff", "--no-edit", "origin/main")


def merge_squashed(theirs: Checkout, mine: Checkout) -> None:
    fetched(theirs, mine)
    mine.git("merge", "-q", "--squash", "origin/main")
    mine.git("commit", "-q", "-m", "as if it were mine")


def merge_of_a_url(theirs: Checkout, mine: Checkout) -> None:
    """No branch here ever has it."""
    upstream(theirs)
    mine.git("fetch", "-q", str(theirs.path), "main")
    mine.git("checkout", "-q", "FETCH_HEAD", "--", RULE)


def rebase(theirs: Checkout, mine: Checkout) -> None:
    fetched(theirs, mine)
    mine.commit("mine", "mine")
    mine.git("rebase", "-q", "origin/main")


def cherry_pick(theirs: Checkout, mine: Checkout) -> None:
    fetched(theirs, mine)
    mine.commit("mine", "mine")
    mine.git("cherry-pick", "origin/main")


def am(theirs: Checkout, mine: Checkout) -> None:
    upstream(theirs)
    (mine.path / "patch").write_text(theirs.git("format-patch", "--stdout", "-1"))
    mine.git("am", "-q", "patch")


def stash_from_elsewhere(theirs: Checkout, mine: Checkout) -> None:
    theirs.write(RULE, check("two"))
    theirs.git("stash", "-q")
    mine.git("fetch", "-q", str(theirs.path), "refs/stash")
    mine.git("stash", "apply", "-q", "FETCH_HEAD")


def worktree_of_their_branch(theirs: Checkout, mine: Checkout) -> Checkout:
    fetched(theirs, mine)
    mine.git("worktree", "add", "-q", "--detach", "../linked", "origin/main")
    return mine.at(mine.path.parent / "linked")


def another_clone(theirs: Checkout, mine: Checkout) -> Checkout:
    mine.git("clone", "-q", str(theirs.path), str(mine.path.parent / "second"))
    return mine.at(mine.path.parent / "second")


def a_copy_that_claims_to_be_a_worktree(theirs: Checkout, mine: Checkout) -> Checkout:
    """An archive with a `.git` file that points into the user's repository."""
    mine.git("worktree", "add", "-q", "--detach", "../linked")
    forged = another_clone(theirs, mine)
    forged.git("-c", "core.bare=false", "status")
    link = (mine.path.parent / "linked" / ".git").read_text()
    (forged.path / ".git").rename(forged.path.parent / "aside")
    (forged.path / ".git").write_text(link)
    return forged


def moved(theirs: Checkout, mine: Checkout) -> Checkout:
    mine.path.rename(mine.path.parent / "elsewhere")
    return mine.at(mine.path.parent / "elsewhere")


ASK = [
    pull, pull_and_merge, pull_and_merge_both_sides_in_one_file, pull_and_rebase, pull_and_amend, pull_and_touch,
    pull_and_commit_over_it, pull_a_new_rule, checkout, switch, checkout_of_the_file_alone,
    restored_from_there_and_committed, reset, merge, merge_squashed, merge_of_a_url, rebase, cherry_pick, am,
    stash_from_elsewhere, worktree_of_their_branch, another_clone, a_copy_that_claims_to_be_a_worktree, moved,
]  # fmt: skip


def edit(theirs: Checkout, mine: Checkout) -> None:
    mine.write(RULE, check("two"))


def edit_and_add(theirs: Checkout, mine: Checkout) -> None:
    edit(theirs, mine)
    mine.git("add", "-A")


def edit_and_commit(theirs: Checkout, mine: Checkout) -> None:
    mine.commit(RULE, check("two"))


def edit_commit_and_amend(theirs: Checkout, mine: Checkout) -> None:
    mine.commit(RULE, check("three"))
    mine.write(RULE, check("two"))
    mine.git("commit", "-q", "-a", "--amend", "-m", "better")


def a_new_rule(theirs: Checkout, mine: Checkout) -> None:
    mine.write(".gauntlet/checks/test.yml", check("two"))
    mine.write(".gauntlet/checks/unused.yml", check("unused"))


def stash_and_pop(theirs: Checkout, mine: Checkout) -> None:
    edit(theirs, mine)
    mine.git("stash", "-q")
    mine.git("stash", "pop", "-q")


def stash_and_apply(theirs: Checkout, mine: Checkout) -> None:
    edit(theirs, mine)
    mine.git("stash", "-q")
    mine.git("stash", "apply", "-q")


def an_own_branch(theirs: Checkout, mine: Checkout) -> None:
    mine.git("switch", "-q", "-c", "own")
    mine.commit(RULE, check("two"))
    mine.git("switch", "-q", "main")
    mine.git("switch", "-q", "own")


def merge_of_an_own_branch(theirs: Checkout, mine: Checkout) -> None:
    an_own_branch(theirs, mine)
    mine.git("switch", "-q", "main")
    mine.git("merge", "-q", "--no-ff", "--no-edit", "own")


def edit_after_a_pull_of_something_else(theirs: Checkout, mine: Checkout) -> None:
    theirs.commit("other", "other")
    mine.git("pull", "-q")
    edit(theirs, mine)


def edit_in_a_worktree(theirs: Checkout, mine: Checkout) -> Checkout:
    mine.git("worktree", "add", "-q", "--detach", "../linked")
    linked = mine.at(mine.path.parent / "linked")
    linked.write(RULE, check("two"))
    return linked


def push_and_pull(theirs: Checkout, mine: Checkout) -> None:
    """The user's own commit is in the remote's branch, too."""
    mine.commit(RULE, check("two"))
    mine.git("push", "-q", "origin", "main:mine")
    mine.git("fetch", "-q")


OWN = [
    edit, edit_and_add, edit_and_commit, edit_commit_and_amend, a_new_rule, stash_and_pop, stash_and_apply,
    an_own_branch, merge_of_an_own_branch, edit_after_a_pull_of_something_else, edit_in_a_worktree, push_and_pull,
]  # fmt: skip


@pytest.fixture
def trusted(clone: Checkout) -> Checkout:
    """The clone, after the user has looked at it."""
    clone.trust()
    clone.message()
    assert clone.ran == ["one"]
    return clone


@pytest.mark.parametrize("way", ASK, ids=lambda way: way.__name__)
def test_what_git_brings_is_asked_about(way: Way, theirs: Checkout, trusted: Checkout) -> None:
    here = way(theirs, trusted) or trusted
    told = here.message()
    assert "you have not trusted" in told
    assert here.ran == []
    here.trust()
    assert "you have not trusted" not in here.message()


@pytest.mark.parametrize("way", OWN, ids=lambda way: way.__name__)
def test_what_is_written_here_is_not(way: Way, theirs: Checkout, trusted: Checkout) -> None:
    here = way(theirs, trusted) or trusted
    assert "you have not trusted" not in here.message()
    assert here.ran == ["two"]


def test_a_worktree_with_the_same_content_needs_no_word(trusted: Checkout, tmp_path: Path) -> None:
    trusted.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    linked = trusted.at(tmp_path / "linked")
    linked.write("changed", "")
    assert "you have not trusted" not in linked.message()
    assert linked.ran == ["one"]
    assert len(linked.records) == 1
    trusted.taskie("untrust")
    assert "you have not trusted" in linked.message()


def test_who_goes_back_is_not_asked_again(theirs: Checkout, trusted: Checkout) -> None:
    checkout(theirs, trusted)
    trusted.trust()
    trusted.git("switch", "-q", "main")
    assert "you have not trusted" not in trusted.message()


def test_a_program_that_a_gate_names(theirs: Checkout, clone: Checkout) -> None:
    theirs.write("run.sh", "echo old >> ran\n", 0o755)
    theirs.commit(RULE, "command: ./run.sh\n")
    clone.git("pull", "-q")
    clone.trust()
    clone.message()
    assert clone.ran == ["old"]
    theirs.write("run.sh", "echo evil >> ran\n", 0o755)
    theirs.git("commit", "-q", "-a", "-m", "evil")
    clone.git("pull", "-q")
    assert "gauntlet (run.sh)" in clone.message()
    assert clone.ran == []


def link(here: Checkout, name: str, target: str) -> None:
    path = here.path / name
    path.unlink(missing_ok=True)
    path.symlink_to(target)


# What stands behind a link, the link, where it leads, and the rule.
BEHIND = {
    "a rule": ("ci/test.yml", RULE, "../../ci/test.yml", None),
    "a program": ("ci/run.sh", "run.sh", "ci/run.sh", "command: ./run.sh\n"),
    "a directory": ("ci/run.sh", "tools", "ci", "command: tools/run.sh\n"),
    "two links": ("ci/run.sh", "tools", "./more/../more", "command: tools/run.sh\n"),
}


def says(file: str, text: str) -> str:
    return check(text) if file.endswith(".yml") else f"#!/bin/sh\necho {text} >> ran\n"


@pytest.mark.parametrize("who", ["theirs", "mine"])
@pytest.mark.parametrize("what", BEHIND)
def test_what_is_behind_a_link(what: str, who: str, theirs: Checkout, clone: Checkout) -> None:
    """Whoever has made the link: what it leads to is what would be run, so that is shown, trusted, and asked about."""
    file, name, target, rule = BEHIND[what]
    theirs.write(file, says(file, "old"), 0o755)
    if what == "two links":
        link(theirs, "more", "ci")
    if rule:
        theirs.write(RULE, rule)
    theirs.git("add", "-A")
    theirs.git("commit", "-q", "-m", "its file")
    linked = theirs if who == "theirs" else clone
    clone.git("pull", "-q")
    link(linked, name, target)
    linked.git("add", "-A")
    linked.git("commit", "-q", "-m", "its link")
    clone.git("pull", "-q", "--no-rebase", "--no-edit")
    assert "echo old" in clone.taskie("trust", "--show").out
    clone.trust()
    assert "you have not trusted" not in clone.message()
    assert clone.ran == ["old"]
    clone.write(file, says(file, "own"), 0o755)
    assert "you have not trusted" not in clone.message()
    assert clone.ran == ["own"]
    clone.git("checkout", "-q", "--", file)
    theirs.write(file, says(file, "evil"), 0o755)
    theirs.git("commit", "-q", "-a", "-m", "evil")
    clone.git("pull", "-q", "--no-rebase", "--no-edit")
    assert "you have not trusted" in clone.message()
    assert clone.ran == []


def test_a_link_that_leads_elsewhere_since(theirs: Checkout, clone: Checkout) -> None:
    """To a program that the user has written, and that is no gate's."""
    theirs.write("ci/run.sh", says("run.sh", "old"), 0o755)
    link(theirs, "tools", "ci")
    theirs.commit(RULE, "command: tools/run.sh\n")
    clone.git("pull", "-q")
    clone.trust()
    clone.message()
    assert clone.ran == ["old"]
    clone.write("danger/run.sh", says("run.sh", "evil"), 0o755)
    clone.git("add", "-A")
    clone.git("commit", "-q", "-m", "mine")
    link(theirs, "tools", "danger")
    theirs.git("commit", "-q", "-a", "-m", "evil")
    clone.git("pull", "-q", "--no-rebase", "--no-edit")
    assert "you have not trusted" in clone.message()
    assert clone.ran == []


def test_a_pull_while_a_gate_runs(theirs: Checkout, clone: Checkout) -> None:
    """The run goes on with what it has read; the next stop asks."""
    theirs.commit(RULE, 'command: "git pull -q; echo one >> ran"\n')
    clone.git("pull", "-q")
    clone.trust()
    theirs.commit(RULE, check("two"))
    assert "you have not trusted" not in clone.message()
    assert clone.ran == ["one"]
    assert "you have not trusted" in clone.message()
    assert clone.ran == []


def test_a_gate_that_rewrites_its_own_rule(theirs: Checkout, clone: Checkout) -> None:
    """Written here, and by what was trusted; the gauntlet itself says that the rules have changed."""
    theirs.commit(RULE, f"command: echo '# more' >> {RULE}; echo one >> ran\n")
    clone.git("pull", "-q")
    clone.trust()
    clone.message()
    assert clone.ran == ["one"]
    assert "THE RULES HAVE CHANGED" in clone.message()
    assert clone.ran == ["one"]


def test_a_merge_of_two_own_edits_asks(trusted: Checkout) -> None:
    """git has made the content out of both, and nobody has written it."""
    lines = "".join(f"# {number}\n" for number in range(9))
    trusted.commit(RULE, check("two") + lines)
    trusted.git("switch", "-q", "-c", "own")
    trusted.commit(RULE, check("two") + lines + "# more\n")
    trusted.git("switch", "-q", "main")
    trusted.commit(RULE, "# first\n" + check("two") + lines)
    trusted.git("merge", "-q", "--no-edit", "own")
    assert "you have not trusted" in trusted.message()


def test_a_patch_without_a_commit(theirs: Checkout, trusted: Checkout) -> None:
    """It looks like an edit, and the page says so."""
    upstream(theirs)
    (trusted.path / "patch").write_text(theirs.git("diff", "HEAD~", "HEAD"))
    trusted.git("apply", "patch")
    assert "you have not trusted" not in trusted.message()
    assert trusted.ran == ["two"]


@pytest.mark.parametrize(("seconds", "asked"), [("0.3", False), ("60", True)], ids=["slow", "hangs"])
def test_a_git_that_takes_its_time(
    clone: Checkout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: str, asked: bool
) -> None:
    """It is waited for, and ended where it never answers: then nobody knows where the rule is from."""
    monkeypatch.setattr(arrival, "SECONDS", 3.0)
    clone.trust()
    clone.commit(RULE, check("two"))
    files = [(RULE, check("two").encode())]
    program = tmp_path / "bin" / "git"
    program.parent.mkdir()
    program.write_text(
        f'#!/bin/sh\ncase "$*" in *hash-object*) echo $$ > {tmp_path}/pid; exec {tmp_path}/wait "$@" ;; esac\n'
        f'exec {shutil.which("git")} "$@"\n'
    )
    wait = tmp_path / "wait"
    wait.write_text(f'#!/bin/sh\nsleep {seconds}\nexec {shutil.which("git")} "$@"\n')
    for each in (program, wait):
        each.chmod(0o755)
    env = {**clone.env, "PATH": f"{program.parent}:{clone.env['PATH']}"}
    assert arrival.came_by_git(str(clone.path), files, env, lambda _, data: b"one" in data) is asked
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)
