"""Plans that somebody has prepared: whatever they hold is shown as text, within bounds, and nothing of it runs."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.browser import Browser
from support.commands import Taskie

from pytest_taskie import Plan, Project

from . import samples
from .parsed import Element, read
from .test_in_browser import complaints, open_all

pytestmark = pytest.mark.state

Report = Callable[..., Path]
PAYLOADS = (
    "<script>window.ran = 1</script>",
    '<img src=x onerror="window.ran=1">',
    "<svg onload=window.ran=1><animate onbegin=window.ran=1 attributeName=x dur=1s>",
    "</pre></code></details></main></style><iframe srcdoc='<script>parent.ran=1</script>'></iframe>",
    '"><a href="javascript:window.ran=1" autofocus onfocus=window.ran=1>x</a>',
    "[x](javascript:window.ran=1) <javascript:window.ran=1> ![](http://example.invalid/x.png)",
    "]]> --> <!-- <![CDATA[ &lt; &#60;script&#62;",
    "\u202eevil\u202c \u2066x\u2069 \ufeff \x1b[2J \x00",
    "<link rel=stylesheet href=http://example.invalid/x.css><base href=http://example.invalid/>",
    "<meta http-equiv=refresh content='0;url=http://example.invalid/'>",
    "<form action=http://example.invalid/><button autofocus>x</button></form>",
    "{{7*7}} ${window.ran=1} `${window.ran=1}`",
)
ALL = "\n\n".join(["# " + PAYLOADS[0], *PAYLOADS, *(f"- {each}\n  > {each}" for each in PAYLOADS), *PAYLOADS])
TABLE = "| a | b |\n|---|---|\n" + "".join(f"| {each} | `{each}` |\n" for each in PAYLOADS)
# What the page itself is made of; nothing of a plan's becomes an element or an attribute.
TAGS = """
    html head meta title style body a svg defs symbol circle path rect header p h1 ol li span dl div dt dd nav ul main
    section h2 figure text line g use figcaption table thead tr th tbody td details summary time article h3 h4 h5 h6
    code pre hr blockquote em strong aside footer
"""


def check(page: Element) -> None:
    """Only our own elements, no live attribute, no link out of the page."""
    for element in page.all():
        assert element.tag in TAGS.split(), element
        for name, value in element.attributes.items():
            assert not name.startswith("on"), (element.tag, name)
            if name in ("href", "src", "action", "srcdoc"):
                assert (value or "").startswith("#"), (element.tag, name, value)
    assert len(page.all("style")) == 1
    assert len(page.all("meta")) == 6


def hostile(project: Project, name: str = "<img src=x onerror=window.ran=1>") -> Path:
    """A plan in which everything that can be chosen is chosen badly."""
    plan = project.path / ".taskie" / "plans" / name
    plan.mkdir(parents=True)
    for file in (
        "plan.md",
        "design.md",
        "plan-review-1.md",
        "plan-post-review-1.md",
        "task-1-review-1.md",
        "task-1.md",
    ):
        (plan / file).write_text(f"{ALL}\n\n{TABLE}\n\n```\n{ALL}\n", encoding="utf-8")
    cells = [each.replace("\0", "") for each in PAYLOADS]  # with it, a file is not a text
    rows = "".join(f"| {each} | {each} | x |\n" for each in cells)
    (plan / "tasks.md").write_text(
        f"| Id | Status | What |\n|---|---|---|\n| 1 | <b>done |x|\n{rows}", encoding="utf-8"
    )
    finding = dict.fromkeys(("severity", "file", "what", "evidence"), PAYLOADS[0])
    entries = [
        samples.entry(review=each, task=each, model=each, problem=each, verdict=None, findings=[{**finding, "line": 3}])
        for each in PAYLOADS
    ]
    entries.append(samples.entry(file="plan-review-1.md"))
    samples.write_journal(plan, entries)
    (plan / "state.json").write_text(json.dumps({"phase": PAYLOADS[1], "next_phase": PAYLOADS[0], "current_task": "1"}))
    return plan


class TestHtmlEverywhere:
    def test_it_is_text(self, project: Project, report: Report) -> None:
        hostile(project)
        page = read(report())
        check(page)
        assert page.one("h1").text == "<img src=x onerror=window.ran=1>"
        assert page.text.count(PAYLOADS[0]) > 20
        assert PAYLOADS[1] in page.one("table", class_="tasks").text

    @pytest.mark.parametrize("policy", [True, False], ids=["with its policy", "without it"])
    @pytest.mark.parametrize("width", [360, 1280])
    def test_nothing_of_it_runs(
        self, browser: Browser, project: Project, report: Report, width: int, policy: bool
    ) -> None:
        """The policy is a second line: without it nothing runs either."""
        hostile(project)
        page = report()
        if not policy:
            text = page.read_text()
            assert text.count("Content-Security-Policy") == 1
            page.write_text(re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text))
        browser.show(width=width)
        browser.open(page)
        open_all(browser)
        browser.js("document.querySelectorAll('a, summary, [tabindex]').forEach((each) => each.focus())")
        assert browser.js("return [window.ran, window.frames.length, document.scripts.length]") == [None, 0, 0]
        assert browser.complaints() == []
        assert not [url for url in browser.requests() if url.startswith("http")]
        assert complaints(browser, "overlaps", "outside") == []

    def test_the_policy_forbids_script_and_network(self, browser: Browser, project: Project, report: Report) -> None:
        hostile(project)
        page = report()
        inside = "<script>window.ran = 1</script><img src='http://127.0.0.1:9/x.png'></body>"
        page.write_text(page.read_text().replace("</body>", inside))
        browser.open(page)
        assert browser.js("return window.ran") is None
        assert len([each for each in browser.complaints() if "Content Security Policy" in each]) == 2

    def test_the_policy_is_the_one_that_is_promised(self, plan: Plan, report: Report) -> None:
        (policy,) = read(report()).all("meta", **{"http-equiv": "Content-Security-Policy"})
        promised = ("default-src 'none'", "style-src 'unsafe-inline'", "img-src data:")
        assert (policy.attributes["content"] or "").split("; ")[:3] == list(promised)


@pytest.mark.parametrize(
    "name",
    [
        "a b",
        "\u202eevil",
        "new\nline",
        "tab\tbed",
        "-rf",
        "'\"",
        "x" * 255,
        "é" * 100,
        "%41&amp;",
        "</title><script>"[:8],
    ],
)
def test_names_of_plans(project: Project, report: Report, name: str) -> None:
    hostile(project, name)
    path = report()
    assert re.fullmatch(r"taskie-report-[\w.-]+\.html", path.name)
    page = read(path)
    check(page)
    assert "\u202e" not in page.text
    assert "\n" not in page.one("h1").text


def test_a_name_that_is_not_text(project: Project, report: Report) -> None:
    plan = hostile(project, "good")
    plan.rename(plan.with_name(os.fsdecode(b"\xff\xfe")))
    check(read(report()))


class TestInPlaceOfAFile:
    FILES = (
        "plan.md",
        "tasks.md",
        "state.json",
        "reviews.jsonl",
        "plan-review-1.md",
        "plan-post-review-1.md",
        "task-1.md",
    )

    @pytest.mark.parametrize("file", FILES)
    @pytest.mark.parametrize("what", ["link", "dangling", "directory", "fifo", "socket", "binary", "nothing"])
    def test_something_else(self, project: Project, report: Report, tmp_path: Path, file: str, what: str) -> None:
        plan = samples.in_the_middle(project)
        secret = tmp_path / "secret"
        secret.write_text("# the password\n\n| the password | the password |\n")
        path = plan.path / file
        path.unlink()
        if what == "link":
            path.symlink_to(secret)
        elif what == "dangling":
            path.symlink_to(tmp_path / "nowhere")
        elif what == "directory":
            path.mkdir()
            (path / "plan.md").write_text("x")
        elif what == "fifo":
            os.mkfifo(path)
        elif what == "socket":
            os.mknod(path, 0o140644) if os.geteuid() == 0 else path.mkdir()
        elif what == "binary":
            path.write_bytes(bytes(range(256)) * 64)
        written = report()
        page = read(written)
        check(page)
        assert "password" not in page.text
        if what in ("link", "directory", "fifo") and file.endswith(".md"):
            assert re.search(rf"{re.escape(file)} (is a symbolic link|is not a regular file)", page.text)


def test_a_file_that_nobody_may_read(project: Project, report: Report) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may read everything")
    plan = samples.in_the_middle(project)
    (plan.path / "plan-review-1.md").chmod(0)
    assert "plan-review-1.md cannot be read" in read(report()).text


class TestSize:
    def test_a_review_of_ten_megabytes(self, project: Project, report: Report) -> None:
        plan = samples.in_the_middle(project)
        (plan.path / "plan-review-1.md").write_text("<b>&amp;</b> " * 800_000)
        path = report()
        page = read(path)
        assert "The file goes on; this is its beginning." in page.text
        assert path.stat().st_size < 1_000_000

    def test_a_thousand_reviews(self, browser: Browser, project: Project, report: Report) -> None:
        """The page stays below what a browser opens at once, and can still be read on a phone."""
        plan = samples.in_the_middle(project)
        entries = []
        filler = "x" * 60_000
        for number in range(1, 1201):
            file = f"task-{number % 40}-review-{number}.md"
            (plan.path / file).write_text(f"{samples.REVIEW}\n{filler if number > 1050 else ''}")
            (plan.path / file.replace("-review-", "-post-review-")).write_text(samples.ANSWER)
            at = f"2026-11-{1 + number // 100:02}T{number % 24:02}:00:00Z"
            verdict = "FAIL" if number % 3 else "PASS"
            fields = {"review": "code-review", "task": str(number % 40), "iteration": number, "verdict": verdict}
            entries.append(samples.entry(at=at, file=file, findings=[samples.FINDING] * 3, **fields))
        samples.write_journal(plan.path, entries)
        path = report()
        assert path.stat().st_size < 24 * 1024 * 1024
        page = read(path)
        assert len(page.all("details", class_="review")) == 1000
        assert "oldest reviews are not shown" in page.one("aside").text
        assert len(page.one("svg", class_="timeline").all("a")) == 200
        assert "is not shown: this report is full" in page.text
        assert "goes on" not in page.all("details", class_="review")[0].text
        browser.show(width=360)
        browser.open(path)
        assert complaints(browser, "outside", "overlaps") == []
        assert browser.complaints() == []

    def test_more_tasks_than_a_page_has_room_for(self, project: Project, report: Report) -> None:
        plan = project.make_plan(tasks={str(number): "pending" for number in range(700)})
        page = read(report())
        assert plan.path.is_dir()
        assert len(page.one("table", class_="tasks").one("tbody").all("tr")) == 500
        assert "Only the first 500 of 700 tasks are shown." in page.one("aside").text

    def test_a_journal_of_a_hundred_megabytes(self, plan: Plan, report: Report) -> None:
        with (plan.path / "reviews.jsonl").open("wb") as file:
            file.truncate(100 * 1024 * 1024)
        assert "reviews.jsonl is larger than" in read(report()).one("aside").text


WRONG: tuple[object, ...] = ("x", 5, -1, 1.5, 1e308, 10**30, True, None, [], {}, [1], {"a": 1}, "\ud800", PAYLOADS[0])


@pytest.mark.parametrize("field", [*samples.entry(), "severity", "line"])
def test_a_journal_with_wrong_types(plan: Plan, report: Report, field: str) -> None:
    usual = samples.entry(findings=[samples.FINDING])
    if field in usual:
        entries = [{**usual, field: wrong} for wrong in WRONG]
    else:
        entries = [{**usual, "findings": [{**samples.FINDING, field: wrong}]} for wrong in WRONG]
    lines: list[object] = [*entries, {}, [], 5, None]
    (plan.path / "reviews.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in lines) + '{"half')
    page = read(report())
    check(page)
    assert page.all("details", class_="review")


def test_a_plan_that_cannot_be_listed(project: Project, taskie: Taskie, plan: Plan) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may list everything")
    plan.path.chmod(0)
    done = taskie("report", "--plan", plan.path.name)
    plan.path.chmod(0o755)
    assert done.code == 0
