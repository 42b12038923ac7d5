"""The report in a real browser: what a person sees on a phone and on a desk, in the dark and in the light."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support.browser import ENTER, SPACE, TAB, Browser

from pytest_taskie import Project

from . import samples

pytestmark = pytest.mark.state

Report = Callable[..., Path]
LOOKS = Path(__file__).with_name("looks.js").read_text()
SCREENS = [(width, dark) for width in (360, 1280) for dark in (False, True)]


def complaints(browser: Browser, *names: str) -> list[str]:
    """What these functions of looks.js find."""
    found: list[str] = browser.js(f"{LOOKS}\nreturn [{', '.join(f'...{name}()' for name in names)}];")
    return found


def open_all(browser: Browser) -> None:
    browser.js("document.querySelectorAll('details').forEach((each) => { each.open = true; })")


@pytest.fixture
def page(project: Project, report: Report) -> Path:
    samples.in_the_middle(project)
    return report()


@pytest.mark.parametrize(("width", "dark"), SCREENS)
class TestOnAScreen:
    @pytest.mark.parametrize("opened", [False, True], ids=["closed", "opened"])
    def test_nothing_overlaps_is_cut_off_or_faint(
        self, browser: Browser, page: Path, width: int, dark: bool, opened: bool
    ) -> None:
        browser.show(width=width, dark=dark)
        browser.open(page)
        if opened:
            open_all(browser)
        assert len(browser.js(f"{LOOKS}\nreturn texts().map((each) => each.what)")) > 100
        assert complaints(browser, "overlaps", "outside", "faint", "nameless") == []

    def test_it_is_as_dark_as_the_person_likes(self, browser: Browser, page: Path, width: int, dark: bool) -> None:
        browser.show(width=width, dark=dark)
        browser.open(page)
        red, *_ = browser.js(f"{LOOKS}\nreturn parts(getComputedStyle(document.body).backgroundColor)")
        assert (red < 64) is dark

    def test_it_asks_nobody_and_complains_about_nothing(
        self, browser: Browser, page: Path, width: int, dark: bool
    ) -> None:
        browser.show(width=width, dark=dark)
        browser.open(page)
        open_all(browser)
        assert browser.complaints() == []
        own = ("chrome:", "data:")  # the browser's own first page, which may still be loading
        assert [url for url in browser.requests() if not url.startswith(own)] == [page.as_uri()]


def test_the_measuring_notices(browser: Browser, page: Path, tmp_path: Path) -> None:
    """A page that does everything wrong, so that none of the above is true by accident."""
    wrong = (
        "<p style='position:absolute;left:0;top:0;margin:0'>one and the same place</p>"
        "<p style='position:absolute;left:9px;top:4px;margin:0'>one and the same place</p>"
        "<p style='color:#999;width:500vw;white-space:nowrap'>faint</p><a href='#x'></a>"
    )
    (tmp_path / "wrong.html").write_text(f"<!DOCTYPE html><body style='background:#fff'>{wrong}")
    browser.open(tmp_path / "wrong.html")
    for name in ("overlaps", "outside", "faint", "nameless"):
        assert complaints(browser, name), name


class TestWhatIsClosed:
    def is_open(self, browser: Browser, number: int) -> bool:
        return bool(browser.js(f"return document.getElementById('review-{number}').closest('details').open"))

    def test_opens_by_a_click(self, browser: Browser, page: Path) -> None:
        browser.open(page)
        assert not self.is_open(browser, 13)
        browser.click("details.review > summary")
        assert self.is_open(browser, 13)
        assert "drops the title when the name is empty" in browser.js("return document.body.innerText")

    @pytest.mark.parametrize("key", [ENTER, SPACE])
    def test_opens_by_a_key(self, browser: Browser, page: Path, key: str) -> None:
        browser.open(page)
        browser.js("document.querySelector('#reviews').scrollIntoView()")
        browser.js("document.querySelector('#findings').tabIndex = -1; document.querySelector('#findings').focus()")
        for _ in range(40):
            browser.press(TAB)
            if browser.js("return document.activeElement.matches('details.review > summary')"):
                break
        browser.press(key)
        assert self.is_open(browser, 13)

    def test_opens_by_a_mark_in_the_timeline(self, browser: Browser, page: Path) -> None:
        browser.open(page)
        browser.click(".timeline a[href='#review-7'] .glyph")
        assert self.is_open(browser, 7)
        assert browser.js("return location.hash") == "#review-7"
        top, height = browser.js(
            "const box = document.getElementById('review-7').closest('details').querySelector('summary');"
            "const rect = box.getBoundingClientRect(); return [rect.top, innerHeight]"
        )
        bar = browser.js("return document.querySelector('nav').getBoundingClientRect().bottom")
        assert bar <= top < height / 2, "what was asked for is in sight, below the navigation"

    def test_opens_by_a_mark_in_a_table(self, browser: Browser, page: Path) -> None:
        browser.open(page)
        browser.click("table.cycles a[href='#review-3']")
        assert self.is_open(browser, 3)

    def test_opens_by_the_name_of_a_task(self, browser: Browser, page: Path) -> None:
        browser.open(page)
        browser.click("table.tasks a[href='#task-3']")
        assert browser.js("return document.getElementById('task-3').closest('details').open")

    def test_all_of_it_is_reached_by_the_keyboard(self, browser: Browser, page: Path) -> None:
        browser.open(page)
        reached = set()
        for _ in range(150):
            browser.press(TAB)
            reached.add(
                browser.js("return document.activeElement.getAttribute('href') || document.activeElement.tagName")
            )
        assert {"#main", "#timeline", "#reviews", "#review-1", "#review-13", "SUMMARY"} <= reached


def test_every_section_is_a_click_away(browser: Browser, page: Path) -> None:
    browser.open(page)
    links = browser.js("return [...document.querySelectorAll('nav a')].map((each) => each.getAttribute('href'))")
    assert links == [
        "#timeline",
        "#cycles",
        "#models",
        "#spending",
        "#tasks",
        "#findings",
        "#reviews",
        "#documents",
    ]
    for link in links:
        browser.click(f"nav a[href='{link}']")
        assert browser.js("return location.hash") == link


def test_it_can_be_read_without_script(browser: Browser, page: Path) -> None:
    browser.devtools("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.open(page)
    finally:
        browser.devtools("Emulation.setScriptExecutionDisabled", value=False)
    told = browser.js("return document.body.innerText")
    for words in ("three-greetings", "67 %", "$6.41", "29 min 32 s", "Fall back when a language is unknown"):
        assert words in told


@pytest.mark.parametrize("how", ["without a journal", "complete", "empty"])
@pytest.mark.parametrize("width", [360, 1280])
def test_other_plans(browser: Browser, project: Project, report: Report, how: str, width: int) -> None:
    if how == "empty":
        (project.path / ".taskie" / "plans" / "empty").mkdir(parents=True)
        page = report("--plan", "empty")
    else:
        plan = samples.in_the_middle(project)
        if how == "complete":
            plan.state.write(phase="complete", next_phase=None)
        else:
            (plan.path / "reviews.jsonl").unlink()
        page = report()
    browser.show(width=width)
    browser.open(page)
    assert complaints(browser, "overlaps", "outside", "faint", "nameless") == []
    assert browser.complaints() == []
