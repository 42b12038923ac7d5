"""Markdown as reviews use it, and as nobody should: shown, escaped, and never live."""

from __future__ import annotations

import signal

import pytest

from taskie.report.markdown import plain, render

from .parsed import parse


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("# One", "<h4>One</h4>"),
        ("###### Six ##", "<h4>Six</h4>"),
        ("# a\n### b\n## c\n# d", "<h4>a</h4>\n<h5>b</h5>\n<h5>c</h5>\n<h4>d</h4>"),
        ("#hash", "<p>#hash</p>"),
        ("one\ntwo\n\nthree", "<p>one\ntwo</p>\n<p>three</p>"),
        ("one\r\ntwo\rthree", "<p>one\ntwo\nthree</p>"),
        ("- a\n- b", "<ul><li>a</li><li>b</li></ul>"),
        ("- a\n  - b\n- c", "<ul><li>a<ul><li>b</li></ul></li><li>c</li></ul>"),
        ("3. a\n4. b", '<ol start="3"><li>a</li><li>b</li></ol>'),
        ("1. a\n2. b", "<ol><li>a</li><li>b</li></ol>"),
        ("- a\n 1. b", "<ul><li>a</li></ul><ol><li>b</li></ol>"),
        ("- a\n1. b", "<ul><li>a</li></ul><ol><li>b</li></ol>"),
        ("- a\n  goes on\n\nafter", "<ul><li>a\ngoes on</li></ul>\n<p>after</p>"),
        ("- [x] a", '<ul><li><span role="img" aria-label="done">☑</span> a</li></ul>'),
        ("- [ ] a", '<ul><li><span role="img" aria-label="open">☐</span> a</li></ul>'),
        ("> a\n> b", "<blockquote><p>a\nb</p></blockquote>"),
        ("---", "<hr>"),
        ("```py\n<b>\n```", '<pre tabindex="0"><code>&lt;b&gt;</code></pre>'),
        ("```\nnever closed", '<pre tabindex="0"><code>never closed</code></pre>'),
        (
            "- a\n  ```\n  x\n    y\n  ```\n- b",
            '<ul><li>a<pre tabindex="0"><code>x\n  y</code></pre></li><li>b</li></ul>',
        ),
        ("`<i>` **b** *i* _u_", "<p><code>&lt;i&gt;</code> <strong>b</strong> <em>i</em> <em>u</em></p>"),
        ("**a `b` c**", "<p><strong>a <code>b</code> c</strong></p>"),
        ("snake_case_name 2*3*4", "<p>snake_case_name 2*3*4</p>"),
        ("[a](javascript:alert)", '<p>a <span class="target">(javascript:alert)</span></p>'),
        ("![a](http://x/y.png)", '<p>!a <span class="target">(http://x/y.png)</span></p>'),
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
        ("]]> --> </style>", "<p>]]&gt; --&gt; &lt;/style&gt;</p>"),
        ("", ""),
    ],
)
def test_what_it_becomes(text: str, html: str) -> None:
    assert render(text) == html


def test_a_table() -> None:
    page = parse(render("before\n| a | b |\n|---|:-:|\n| 1 | `x \\| y` |\n\nafter"))
    assert [cell.text for cell in page.all("th")] == ["a", "b"]
    assert [cell.text for cell in page.all("td")] == ["1", "x | y"]
    assert [paragraph.text for paragraph in page.all("p")] == ["before", "after"]


@pytest.mark.parametrize("unseen", ["\u202e", "\u2066", "\u200f", "\ufeff", "\x1b", "\x00", "\ud800", "\x85", "\uffff"])
def test_what_cannot_be_seen_is_spelled_out(unseen: str) -> None:
    assert plain(f"a{unseen}b") == f"a\\u{ord(unseen):04x}b"
    assert unseen not in render(f"# a{unseen}b\n- {unseen}\n```\n{unseen}\n```\n`{unseen}`")


def test_other_alphabets_stay() -> None:
    text = "שלום مرحبا 你好 👩‍💻 é"
    assert plain(text) == text


HOSTILE = ("[", "*", "`", "_", "a*b ", "| - ", "> ", "- ", "[a", "`a", "**a", "_a ", "#", "* * ", "[a](", "~~~", "1. ")


@pytest.mark.parametrize("piece", HOSTILE)
class TestRepeatedWithoutEnd:
    @pytest.mark.parametrize("end", ["", "\n", "\n\n", "\n  "])
    def test_it_is_well_formed(self, piece: str, end: str) -> None:
        parse(f"<div>{render((piece + end) * 200)}</div>")

    def test_it_ends(self, piece: str) -> None:
        """Here a pattern that looks again and again at what it has seen takes minutes, and a good one a second."""

        def overtime(*_: object) -> None:
            pytest.fail("it takes longer than its length asks for")

        before = signal.signal(signal.SIGALRM, overtime)
        signal.alarm(60)
        try:
            assert render(piece * (500_000 // len(piece)) + "\n" + f"{piece}\n" * 10_000)
        finally:
            signal.alarm(0)
            signal.signal(signal.SIGALRM, before)


def test_every_depth_is_closed() -> None:
    text = "\n".join(" " * indent + "- x" for indent in [*range(0, 60, 2), *range(58, -1, -3)])
    page = parse(render(text))
    assert len(page.all("li")) == 50
