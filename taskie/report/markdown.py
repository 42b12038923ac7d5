"""Markdown to HTML, as much of it as reviews use. Knows no plan.

Everything is escaped and no link is live: a review is written by a model, and may quote whatever it has read. The time
is linear in the text's length, whatever the text.
"""

from __future__ import annotations

import re
from html import escape

DEEPEST = 6  # levels of a nested list

_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*([\w.+#-]{0,30})")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?$")
_RULE = re.compile(r" {0,3}(?:-[ \t]*){3,}$| {0,3}(?:\*[ \t]*){3,}$| {0,3}(?:_[ \t]*){3,}$")
_ITEM = re.compile(r"([ \t]*)(?:([-*+])|(\d{1,9})[.)])[ \t]+(.*)")
_BOX = re.compile(r"\[([ xX])\][ \t]+")
_CELL_END = re.compile(r"(?<!\\)\|")
_INLINE = re.compile(
    r"(?P<ticks>`+)(?P<code>[^`\n]{1,2000})(?P=ticks)"
    r"|\*\*(?P<bold>[^*\n]{1,2000})\*\*"
    r"|(?<![\w*])\*(?P<italic>[^*\s][^*\n]{0,1000})\*(?![\w*])"
    r"|(?<!\w)_(?P<underlined>[^_\s][^_\n]{0,1000})_(?!\w)"
    r"|\[(?P<words>[^\[\]\n]{1,500})\]\((?P<target>[^()\s]{1,1000})\)"
)
# Controls, and what would reorder the text around it; a lone surrogate cannot be written at all.
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ufff9-\uffff\ud800-\udfff]"
)


def plain(text: str) -> str:
    """Any text, fit for HTML: what cannot be seen is spelled out."""
    return escape(_UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def render(text: str, top: int = 4) -> str:
    """The text as HTML; its first level of headings is `top`."""
    return "\n".join(_Renderer(text, top).blocks())


def inline(text: str) -> str:
    """One paragraph's words."""
    parts = []
    done = 0
    for found in _INLINE.finditer(text):
        parts += [plain(text[done : found.start()]), _span(found)]
        done = found.end()
    return "".join(parts) + plain(text[done:])


def _span(found: re.Match[str]) -> str:
    if found["code"] is not None:
        return f"<code>{plain(found['code'].strip() or found['code'])}</code>"
    if found["bold"] is not None:
        return f"<strong>{_nested(found['bold'])}</strong>"
    if found["words"] is not None:
        return f'{plain(found["words"])} <span class="target">({plain(found["target"])})</span>'
    return f"<em>{_nested(found['italic'] or found['underlined'])}</em>"


def _nested(text: str) -> str:
    """Code inside of emphasis, and nothing deeper."""
    pieces = re.split(r"`([^`\n]{1,500})`", text)
    return "".join(f"<code>{plain(piece)}</code>" if index % 2 else plain(piece) for index, piece in enumerate(pieces))


class _Renderer:
    """Line by line; each block takes its own lines."""

    def __init__(self, text: str, top: int) -> None:
        self._lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._at = 0
        self._top = top
        self._above: list[int] = []  # the levels of the headings that the next one may stand under

    def blocks(self) -> list[str]:
        out = []
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if not line.strip():
                self._at += 1
            elif _FENCE.match(line):
                out.append(self._fence())
            elif (heading := _HEADING.match(line)) is not None:
                self._at += 1
                level = self._level(len(heading[1]))
                out.append(f"<h{level}>{inline((heading[2] or '').rstrip(' #'))}</h{level}>")
            elif _RULE.match(line):
                self._at += 1
                out.append("<hr>")
            elif _ITEM.match(line):
                out.append(self._list())
            elif line.lstrip().startswith(">"):
                out.append(self._quote())
            elif self._begins_table():
                out.append(self._table())
            else:
                out.append(self._paragraph())
        return out

    def _level(self, written: int) -> int:
        """Without the gaps that a writer leaves: whoever hears the page would look for what is missing."""
        while self._above and self._above[-1] >= written:
            self._above.pop()
        self._above.append(written)
        return min(6, self._top + len(self._above) - 1)

    def _take(self) -> str:
        self._at += 1
        return self._lines[self._at - 1]

    def _more(self) -> bool:
        return self._at < len(self._lines) and bool(self._lines[self._at].strip())

    def _fence(self) -> str:
        opening = _FENCE.match(self._take())
        assert opening
        closing = re.compile(rf"[ \t]*{opening[1][0]}{{{len(opening[1])},}}[ \t]*$")
        body = []
        while self._at < len(self._lines):
            line = self._take()
            if closing.match(line):
                break
            body.append(line)
        return _code("\n".join(body))

    def _quote(self) -> str:
        body = []
        while self._more() and self._lines[self._at].lstrip().startswith(">"):
            body.append(self._take().lstrip(" \t>"))
        return f"<blockquote><p>{inline(chr(10).join(body))}</p></blockquote>"

    def _paragraph(self) -> str:
        body = [self._take()]
        while self._more() and not self._begins_block():
            body.append(self._take())
        return f"<p>{inline(chr(10).join(line.strip() for line in body))}</p>"

    def _begins_block(self) -> bool:
        line = self._lines[self._at]
        return bool(
            _FENCE.match(line)
            or _HEADING.match(line)
            or _ITEM.match(line)
            or line.lstrip().startswith(">")
            or self._begins_table()
        )

    def _begins_table(self) -> bool:
        if "|" not in self._lines[self._at] or self._at + 1 >= len(self._lines):
            return False
        rule = self._lines[self._at + 1]
        return "|" in rule and "-" in rule and not rule.strip("|-: \t")

    def _table(self) -> str:
        rows = [_cells(self._take())]
        self._at += 1  # the rule below the heading
        while self._more() and "|" in self._lines[self._at]:
            rows.append(_cells(self._take()))
        head = "".join(f'<th scope="col">{inline(cell)}</th>' for cell in rows[0])
        body = "".join(f"<tr>{''.join(f'<td>{inline(cell)}</td>' for cell in row)}</tr>" for row in rows[1:])
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        return f'<div class="scrolls" tabindex="0" role="group" aria-label="Table">{table}</div>'

    def _list(self) -> str:
        """Items by their indentation; what is indented below one belongs to it."""
        out: list[str] = []
        opened: list[tuple[int, str]] = []  # indentation, tag
        while self._at < len(self._lines):
            line = self._lines[self._at]
            item = _ITEM.match(line)
            if item is None:
                if not self._goes_on(opened[0][0]):
                    break
                continuation = self._take()
                if not continuation.strip():
                    continue
                if _FENCE.match(continuation.lstrip()):
                    self._at -= 1
                    out.append(self._indented_fence())
                else:
                    out.append(f"\n{inline(continuation.strip())}")
                continue
            self._at += 1
            depth = len(item[1].expandtabs(4))
            tag = "ol" if item[3] else "ul"
            while len(opened) > 1 and depth < opened[-1][0]:
                out.append(f"</li></{opened.pop()[1]}>")
            if opened and depth <= opened[-1][0] + 1 and opened[-1][1] != tag:
                out.append(f"</li></{opened.pop()[1]}>")  # numbers after dots: another list
            if not opened or (depth > opened[-1][0] + 1 and len(opened) < DEEPEST):
                start = f' start="{int(item[3])}"' if item[3] and item[3] != "1" else ""
                out.append(f"<{tag}{start}>")
                opened.append((depth, tag))
            else:
                out.append("</li>")
            out.append(f"<li>{_boxed(item[4])}")
        out += [f"</li></{tag}>" for _, tag in reversed(opened)]
        return "".join(out)

    def _goes_on(self, outermost: int) -> bool:
        """Whether a line that is not an item still belongs to the list: it, or the next with words, is indented."""
        at = self._at
        if not self._lines[at].strip():
            at += 1
            if at >= len(self._lines) or not self._lines[at].strip():
                return False
            return self._lines[at].startswith(" " * (outermost + 2)) or _ITEM.match(self._lines[at]) is not None
        indented = self._lines[at].startswith((" " * (outermost + 2), "\t"))
        return indented or (
            bool(self._lines[at - 1].strip()) and not self._begins_block() and not _RULE.match(self._lines[at])
        )

    def _indented_fence(self) -> str:
        indent = len(self._lines[self._at]) - len(self._lines[self._at].lstrip())
        self._lines[self._at] = self._lines[self._at].lstrip()
        before = self._at
        rendered = self._fence()
        if not indent:
            return rendered
        inner = self._lines[before + 1 : self._at]
        if inner and _FENCE.match(inner[-1].lstrip()):
            inner = inner[:-1]
        return _code("\n".join(line[indent:] if not line[:indent].strip() else line for line in inner))


def _boxed(words: str) -> str:
    box = _BOX.match(words)
    if not box:
        return inline(words)
    mark, said = ("☐", "open") if box[1] == " " else ("☑", "done")
    return f'<span role="img" aria-label="{said}">{mark}</span> {inline(words[box.end() :])}'


def _code(text: str) -> str:
    return f'<pre tabindex="0"><code>{plain(text)}</code></pre>'


def _cells(line: str) -> list[str]:
    line = line.strip()
    parts = _CELL_END.split(line[1:] if line.startswith("|") else line)
    return [part.replace("\\|", "|").strip() for part in (parts[:-1] if not parts[-1].strip() else parts)]
