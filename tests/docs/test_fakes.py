"""The page about fakes: every example of it, run as it stands, and what it says beside them."""

from __future__ import annotations

import re

import pytest
from support import ROOT, blocks

PAGE = (ROOT / "docs" / "fakes.md").read_text(encoding="utf-8")
(HOOK,) = blocks(PAGE, "sh")
EXAMPLES = blocks(PAGE, "python")


@pytest.fixture
def page(pytester: pytest.Pytester) -> pytest.Pytester:
    hook = pytester.path / "hook.sh"
    hook.write_text(HOOK)
    hook.chmod(0o755)
    pytester.makeini("[pytest]\ntaskie_hook = ./hook.sh\n")
    return pytester


@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_example(page: pytest.Pytester, number: int) -> None:
    example = EXAMPLES[number]
    if "in_process" in example:
        pytest.importorskip("pytest_subprocess")
    page.makepyfile(example)
    page.runpytest().assert_outcomes(passed=len(re.findall(r"^def test_", example, re.MULTILINE)))


def test_the_second_example_fails_if_claude_is_called(page: pytest.Pytester) -> None:
    page.makepyfile(EXAMPLES[0].replace("MERGED", "OPEN"))
    outcome = page.runpytest()
    outcome.assert_outcomes(passed=1, failed=1, errors=1)
    outcome.stdout.fnmatch_lines(["- unscripted call: claude --print --model opus 'Review the diff.*"])


def test_what_a_wrong_script_says(page: pytest.Pytester) -> None:
    """Word for word what is on the page."""
    page.makepyfile(
        """
        def test_it(run_hook, fake_cli, fake_claude):
            fake_claude.reviews("FAIL", "PASS")
            fake_cli("gh").answers(..., "state", ..., stdout="OPEN\\n")
            run_hook()
            run_hook(command="gh pr merge 7")
        """
    )
    outcome = page.runpytest()
    outcome.assert_outcomes(passed=1, errors=1)
    (shown,) = blocks(PAGE, "text")
    said = outcome.stdout.str()
    for line in shown.splitlines():
        assert line in said
