"""A page as a program reads it: elements, attributes and texts, strict about what is open and what is closed."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path

VOID = {"meta", "br", "hr", "img", "input", "link"}
CLOSED_AT_ONCE = {"rect", "line", "circle", "path", "use"}


@dataclass
class Element:
    """One element, with everything in it."""

    tag: str
    attributes: dict[str, str | None] = field(default_factory=dict)
    inside: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(each if isinstance(each, str) else each.text for each in self.inside)

    def all(self, tag: str = "", **attributes: str) -> list[Element]:
        """Every such element in this one; `class_` is one of its classes."""
        found = []
        for each in self.inside:
            if isinstance(each, Element):
                if each.fits(tag, attributes):
                    found.append(each)
                found += each.all(tag, **attributes)
        return found

    def fits(self, tag: str, attributes: dict[str, str]) -> bool:
        return (not tag or tag == self.tag) and all(
            value in (self.attributes.get("class") or "").split()
            if name == "class_"
            else self.attributes.get(name) == value
            for name, value in attributes.items()
        )

    def one(self, tag: str = "", **attributes: str) -> Element:
        (found,) = self.all(tag, **attributes)
        return found


class _Strict(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("")
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice: {names}"
        element = Element(tag, dict(attrs))
        self.open[-1].inside.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in CLOSED_AT_ONCE, f"<{tag}/> is only an element's beginning in HTML"
        self.open[-1].inside.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].inside.append(data)


def parse(text: str) -> Element:
    """The page's root; AssertionError where an element is not closed as it should be."""
    reader = _Strict()
    reader.feed(text)
    reader.close()
    assert reader.open == [reader.root], f"<{reader.open[-1].tag}> is never closed"
    return reader.root


def read(path: Path) -> Element:
    return parse(path.read_text(encoding="utf-8"))
