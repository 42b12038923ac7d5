"""The contract data for people: `taskie client contract`, one event as text and everything as a page."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie import _contract, _contract_page
from pytest_taskie.client import command

NEWEST = _contract.load("claude")


class Cards(HTMLParser):
    """The text of each section's cells, by the section's name."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.cards: dict[str, list[str]] = {}
        self._in_cell = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "section":
            self.cards[str(dict(attrs)["id"])] = []
        elif tag == "td":
            self._in_cell = True
            [*self.cards.values()][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._in_cell = self._in_cell and tag != "td"

    def handle_data(self, data: str) -> None:
        if self._in_cell:
            [*self.cards.values()][-1][-1] += data


def test_the_page_has_every_event_field_and_kind_of_answer() -> None:
    cards = Cards(_contract_page.html()).cards
    for name, event in NEWEST["events"].items():
        assert {*event["fields"]} <= {*cards[name]}, name
        kinds = NEWEST["outputs"].get(name, {}).get("kinds", {})
        assert [cell for cell in cards[name] if cell in _contract.EFFECTS] == [row["effect"] for row in kinds.values()]
    assert {*NEWEST["tools"]} <= {*cards["Tools"]}
    assert {*NEWEST["handlers"]} <= {*cards["Kinds-of-hooks"]}
    assert "<td><code>session_id</code></td>" in _contract_page.html()


def test_every_part_of_a_kind_has_words() -> None:
    outputs = [output for client in _contract.clients() for output in _contract.load(client)["outputs"].values()]
    kinds = {kind for output in outputs for kind in output.get("kinds", {})}
    parts = {part for kind in kinds for name in kind.split("+") for part in _contract.PARTS.get(name, (name,))}
    assert [part for part in sorted(parts) if part not in _contract_page.OUTPUT and "=" not in part] == []
    assert _contract_page.meaning("continue-false+exit-2") == '"continue": false, exit 2'
    assert _contract_page.meaning("nothing+object") == "an object that decides nothing"
    assert _contract_page.meaning("exit-1+onFailure=block").endswith(", onFailure: block")


def test_what_an_older_version_did_stands_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Three files, of which the two older ones agree."""
    for first, effect in (("1.0.0", "refused"), ("1.5.0", "refused"), ("2.0.0", "blocked")):
        put(tmp_path, first, {"Stop": {"kinds": {"block": {"effect": effect, "known": "observed"}}}})
    monkeypatch.setattr(_contract, "FOLDER", tmp_path)
    _contract.forget()
    try:
        assert command.main(["contract", "STOP"]) == 0
        assert '  "decision": "block"  blocked  refused before 2.0.0\n' in capsys.readouterr().out
    finally:
        _contract.forget()


def put(folder: Path, first: str, outputs: dict[str, Any]) -> None:
    data = {"format": 1, "client": "claude", "from": first, "measured": [first], "outputs": outputs}
    (folder / f"claude-{first}.json").write_text(json.dumps(data))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["contract"]) == 0
    assert capsys.readouterr().out.split() == _contract_page.events()
    assert command.main(["contract", "--client", "codex", "Stop"]) == 0
    assert capsys.readouterr().out.startswith("Stop in codex ")
    assert command.main(["contract", "--html", str(tmp_path / "page.html")]) == 0
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == _contract_page.html()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["PreTool"], "claude has no event 'PreTool'; is PreToolUse meant?\nIt has: "),
        (["\x1b[31m"], "claude has no event '\\x1b[31m'"),
        (["--html", "/nowhere/page.html"], "/nowhere/page.html cannot be written: No such file"),
    ],
)
def test_what_it_cannot_do(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["contract", *words]) == 1
    assert capsys.readouterr().err.startswith(f"taskie client: {says}")
