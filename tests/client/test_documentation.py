"""docs/real-client.md: every example of it, run as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_taskie.client._fixtures import installation
from pytest_taskie.client._kinds import CLIENTS, KINDS

from .test_isolation import isolated

pytestmark = [pytest.mark.client, isolated]
PAGE = (Path(__file__).parents[2] / "docs" / "real-client.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


EXAMPLES = blocks("python")


@pytest.fixture(scope="session")
def chosen(pytestconfig: pytest.Config) -> list[str]:
    """The options that name this run's clients; asked for before a test gets a home of its own."""
    return [f"--taskie-client={kind}={installation(kind, pytestconfig).command[-1]}" for kind in KINDS]


def name_of(example: str) -> str:
    return str(re.findall(r"def (test_\w+)", example)[0])


@pytest.mark.parametrize("example", EXAMPLES, ids=name_of)
def test_example(
    example: str,
    chosen: list[str],
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    version: tuple[int, ...],
) -> None:
    if version < (2, 1):
        pytest.skip("the page is about clients that are not so old")
    monkeypatch.setenv("PYTEST_PLUGINS", "pytest_taskie")
    hook = pytester.mkdir("hooks") / "tests-first.sh"
    hook.write_text(blocks("sh")[0])
    hook.chmod(0o755)
    pytester.makepyfile(example)
    result = pytester.runpytest_inprocess("-p", "no:randomly", "-p", "no:xdist", "--taskie-require-client", *chosen)
    times = len(CLIENTS) if "any_client" in example else 1
    result.assert_outcomes(passed=times * len(re.findall(r"^def test_", example, re.MULTILINE)))


def test_every_public_name_is_there() -> None:
    from pytest_taskie import client

    for name in client.__all__:
        assert re.search(rf"\b{name}\(" if name.islower() else rf"\b{name}\b", PAGE), name
