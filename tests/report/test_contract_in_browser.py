"""The page of the contract data in a real browser: it is found by an event's name, a field or an effect."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.browser import Browser

from pytest_taskie import _contract_page

LOOKS = Path(__file__).with_name("looks.js").read_text()
SHOWN = "return [...document.querySelectorAll('main section:not([hidden])')].map((each) => each.id);"

ROWS = """
const rows = [...document.querySelectorAll("main tbody tr")].filter((row) => row.checkVisibility());
return rows.map((row) => row.cells[0].textContent);
"""


@pytest.fixture
def page(browser: Browser, tmp_path: Path) -> Browser:
    (tmp_path / "page.html").write_text(_contract_page.html(), encoding="utf-8")
    browser.open(tmp_path / "page.html")
    return browser


def test_searched(page: Browser) -> None:
    everything = page.js(SHOWN)
    assert everything[: len(_contract_page.events())] == _contract_page.events()
    page.press("/", *"permissionrequest")
    assert page.js(SHOWN) == ["PermissionRequest"]
    assert page.js("return document.querySelector('output').textContent") == f"1 of {len(everything)} sections"
    page.press(*" updatedinput")
    assert page.js(ROWS) == ["hookSpecificOutput.decision.updatedInput"]
    page.js(
        "document.querySelector('input').value = ''; document.querySelector('input').dispatchEvent(new Event('input'));"
    )
    assert page.js(SHOWN) == everything
    assert (page.complaints(), page.requests()[1:]) == ([], [])


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1280])
def test_nothing_overlaps_is_cut_off_or_faint(page: Browser, width: int, dark: bool) -> None:
    page.show(width=width, dark=dark)
    found = page.js(f"{LOOKS}\nreturn [...overlaps(), ...outside(), ...faint(), ...nameless()];")
    assert found == []
