"""A report and a browser to read it in."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import pytest
from support.browser import Browser, NoBrowser
from support.commands import Taskie

from pytest_taskie import Project


@pytest.fixture(scope="session")
def one_browser(pytestconfig: pytest.Config) -> Iterator[Browser]:
    """Started once: a page costs a moment, a browser a second."""
    try:
        started = Browser()
    except NoBrowser as error:
        if pytestconfig.getoption("--require-browser"):
            pytest.fail(f"{error} (--require-browser is given)", pytrace=False)
        pytest.skip(str(error))
    with started:
        yield started


@pytest.fixture
def browser(one_browser: Browser) -> Browser:
    one_browser.show()
    return one_browser


@pytest.fixture(autouse=True)
def in_utc(project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The times on a page are those of the machine that makes it."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "UTC")
        project.env["TZ"] = "UTC"
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def report(project: Project, taskie: Taskie) -> Callable[..., Path]:
    """Write the report of the newest plan, or of the one that is named."""

    def write(*words: str) -> Path:
        done = taskie("report", *words)
        assert (done.code, done.err) == (0, "")
        return Path(done.out.rstrip("\n"))

    return write
