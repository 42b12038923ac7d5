"""How many findings of each severity a reviewer has written, in whatever Markdown. Text in, numbers out."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SEVERITIES = ("high", "medium", "low")
_SAME = {"critical": "high"}  # a heading that was not asked for, but means one that was
_WITHOUT_HASHES = 2  # the level of a heading in bold: what `##` would be
_NAMED = r"[\W_]*(?:\d+[.)] *)?(?:severity: *)?[\W_]*(?P<severity>critical|high|medium|low)"
_KIND = r"(?:[- ](?:severity|priority|risk|impact))?(?: (?:findings?|issues?|problems?|concerns?))?"
_HEADING = re.compile(rf"{_NAMED}{_KIND}[\W_]*(?:\d+)?[\W_]*", re.IGNORECASE)
_TITLED = re.compile(rf"{_NAMED}{_KIND}[*_]*(?::|\]|\)| +[-\u2013\u2014] )[*_: ]*(?P<title>.*\w.*)", re.IGNORECASE)
_EARLIER = "earlier findings"  # the heading under which a reviewer says what became of them: they are not open
_ITEM = re.compile(r"(?P<bullet>[-*+]|[0-9]{1,4}[.)])[ \t]+(?=\S)")
_NOTHING = re.compile(
    r"[\W_]*(?:none|nothing|n/?a|no (?:(?:substantive|material|high|medium|low|severity|other|further|new) ){0,3}"
    r"(?:findings?|issues?|problems?|concerns?))(?: (?:found|identified|here|of substance))?[\W_]*",
    re.IGNORECASE,
)
_LONGEST = 200  # characters of a heading or of a line that says "none"


class _Section:
    """What stands under one heading: sub-headings, or else the items of the kind that comes first."""

    def __init__(self, severity: str, level: int) -> None:
        self.severity = severity
        self.level = level
        self.titles = self.items = self.others = 0
        self.numbered: bool | None = None
        self.text = False

    def add_item(self, numbered: bool) -> None:
        if self.numbered is None:
            self.numbered = numbered
        if self.titles or numbered is not self.numbered:
            self.others += 1  # a part of the finding above it, or one of its own: nobody can tell
        else:
            self.items += 1

    def total(self) -> tuple[int, bool]:
        """How many, and whether there may be more."""
        counted = self.titles + self.items
        return (counted, self.others > 0) if counted else (int(self.text), self.text)


def count(text: str) -> tuple[dict[str, int], set[str]]:
    """How many findings each severity has, and of which severities there may be more than that.

    A finding is a bullet, a number or a sub-heading; an indented item belongs to the one above. A section with text
    in which nothing can be counted holds at least one.
    """
    counts = dict.fromkeys(SEVERITIES, 0)
    least = set()
    for section in _sections(text):
        number, more = section.total()
        counts[section.severity] += number
        if more:
            least.add(section.severity)
    return counts, least


def _sections(text: str) -> list[_Section]:
    section: _Section | None = None
    earlier = False
    found: list[_Section] = []
    for line in _lines(text):
        hashes = len(line) - len(line.lstrip("#"))
        item = _ITEM.match(line)
        named = None if item else _named(line)
        if hashes and (named is None or not named[1]):
            earlier = _EARLIER in line.lower() or (earlier and named is None and hashes > _WITHOUT_HASHES)
        if earlier:
            section = None
            continue
        if named is not None and (hashes or named[1] == "" or line.startswith(("*", "_", "["))):
            # One with a title is a finding, and the headings below it are its parts.
            section = _Section(named[0], len(line) if named[1] else hashes or _WITHOUT_HASHES)
            section.titles = int(named[1] != "" and not _says_nothing(named[1]))
            found.append(section)
        elif hashes and section is not None and hashes > section.level:
            section.titles += 1
        elif hashes:
            section = None
        elif item is not None and section is None:
            named = _named(line[item.end() :])  # `- [High] …`, without any heading
            if named is not None and named[1]:
                found.append(_Section(named[0], 0))
                found[-1].titles = 1
        elif section is not None and not _says_nothing(line):
            if item is not None and not _says_nothing(line[item.end() :]):
                section.add_item(item["bullet"][0].isdigit())
            section.text = True
    return found


def _lines(text: str) -> Iterator[str]:
    """The lines that are not code, where `# …` is a comment. A fence that is not closed is none."""
    fenced = False
    held: list[str] = []
    for line in text.splitlines():
        fence = line.lstrip()[:3] in ("```", "~~~")
        if fence and line.strip("`~ \t").lower() not in ("markdown", "md"):
            fenced = not fenced
            held = []
            yield "code"
        elif fenced:
            held.append(line)
        else:
            yield line
    if fenced:
        yield from held


def _named(line: str) -> tuple[str, str] | None:
    """The severity that a line begins with, and the title after it; None if it is not such a line."""
    if len(line) > _LONGEST:
        return None
    whole = _HEADING.fullmatch(line)
    match = whole or _TITLED.fullmatch(line)
    if match is None:
        return None
    severity = match["severity"].lower()
    return _SAME.get(severity, severity), "" if whole else match["title"]


def _says_nothing(line: str) -> bool:
    """Whether a line is blank, a rule, or the word that there is nothing."""
    return len(line) <= _LONGEST and (_NOTHING.fullmatch(line) is not None or not any(map(str.isalnum, line)))
