"""What a report says about a plan, read from the page that the command has written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from support.running import reviewing

from pytest_taskie import Plan, Project
from taskie.config import SEVERITIES
from taskie.plans.phases import PHASES
from taskie.report import reading
from taskie.store import read_beginning

from . import samples
from .parsed import Element, read

pytestmark = pytest.mark.state

Report = Callable[..., Path]


def numbers(page: Element) -> dict[str, str]:
    tiles = page.one("dl", class_="numbers").all("div")
    return {tile.one("dt").text: tile.one("span", class_="number").text for tile in tiles}


def rows(page: Element, table: str) -> list[list[str]]:
    body = page.one("table", class_=table).one("tbody")
    return [[cell.text for cell in row.inside if isinstance(cell, Element)] for row in body.all("tr")]


class TestAPlanInTheMiddle:
    @pytest.fixture
    def page(self, project: Project, report: Report) -> Element:
        samples.in_the_middle(project)
        return read(report())

    def test_it_says_which_plan_where_it_stands_and_what_is_next(self, page: Element) -> None:
        assert page.one("h1").text == "three-greetings"
        assert page.one("head").one("title").text.startswith("three-greetings")
        assert page.one("p", class_="now").text == "The agent answers code review 1 for task 3."
        assert page.one("li", **{"aria-current": "step"}).text == "Implementation"

    def test_the_stages_are_the_tables(self, page: Element) -> None:
        stages = [step.all("span")[0].text for step in page.one("ol", class_="stages").all("li")]
        assert set(stages) == {phase.stage for phase in PHASES.values()}
        done = [step.all("span")[0].text for step in page.one("ol", class_="stages").all("li", class_="done")]
        assert done == ["Planning", "Plan review", "Task creation", "Task review"]

    def test_the_five_numbers(self, page: Element) -> None:
        assert numbers(page) == {
            "Reviews": "13",
            "Pass rate": "67 %",
            "Review time": "29 min 32 s",
            "Cost": "$6.41",
            "Tasks done": "2 of 4",
        }

    def test_each_number_says_what_it_counts(self, page: Element) -> None:
        assert [more.text for more in page.one("dl", class_="numbers").all("span", class_="more")] == [
            "8 passed, 4 failed, 1 without a verdict",
            "of those with a verdict",
            "2 min 16 s each",
            "of the reviews",
            "2 to do",
        ]

    def test_every_cycle_with_its_verdicts_time_and_cost(self, page: Element) -> None:
        assert [(row[0], row[2], row[3]) for row in rows(page, "cycles")] == [
            ("Plan", "5 min 59 s", "$1.50"),
            ("Tasks", "2 min 15 s", "$0.61"),
            ("Task 1", "9 min 4 s", "$2.31"),
            ("Task 2", "9 min 7 s", "$1.06"),
            ("Task 3", "3 min 7 s", "$0.93"),
        ]
        strips = page.one("table", class_="cycles").all("td", class_="strip")
        shapes = [[use.attributes["href"] for use in strip.all("use")] for strip in strips]
        assert shapes[0] == ["#fail", "#fail", "#pass", "#pass"]
        assert shapes[3] == ["#pass", "#none", "#pass"]

    def test_every_model(self, page: Element) -> None:
        assert rows(page, "models") == [
            ["opus", "opus: 4 passed, 3 failed4 passed, 3 failed", "2 min 31 s", "$5.19"],
            ["sonnet", "sonnet: 4 passed, 1 failed, 1 without4 passed, 1 failed, 1 without", "2 min", "$1.22"],
        ]

    def test_every_task_with_its_state(self, page: Element) -> None:
        table = page.one("table", class_="tasks")
        assert [state.attributes["class"] for state in table.all("span", class_="state")] == [
            "state done",
            "state done",
            "state begun",
            "state ahead",
        ]
        body = table.one("tbody").all("tr")
        links = [row.all("a")[0] for row in body]
        assert [link.text for link in links] == list(samples.HEADINGS.values())
        third = page.one("div", id=(links[2].attributes["href"] or "").lstrip("#"))
        assert third.one("p", class_="file").text == "task-3.md"
        assert table.one("tr", **{"aria-current": "true"}).all("th")[0].text == "3"
        marks = [[mark.attributes["aria-label"] or "" for mark in row.all("a", class_="mark")] for row in body]
        assert [len(each) for each in marks] == [3, 3, 1, 0]
        assert all(f"Task {task}: " in said for task, each in enumerate(marks, 1) for said in each)

    def test_the_timeline_has_every_review_and_leads_to_it(self, page: Element) -> None:
        drawn = page.one("svg", class_="timeline")
        links = [link.attributes["href"] for link in drawn.all("a")]
        assert links == [f"#review-{number}" for number in range(1, 14)]
        assert drawn.all("a")[0].attributes["aria-label"] == "Plan: Plan review 1, FAIL, opus, 2 min 8 s, $0.61"
        assert [text.text for text in drawn.all("text", class_="lane")] == [
            "Plan",
            "Tasks",
            "Task 1",
            "Task 2",
            "Task 3",
        ]
        assert [text.text for text in drawn.all("text", class_="axis")] == ["16 Nov, 09:02", "17 Nov, 09:34"]
        (pause,) = drawn.all("g", class_="pause")
        assert pause.text == "21 h 38 min without a review"

    def test_later_is_further_to_the_right_and_longer_is_longer(self, page: Element) -> None:
        bars = page.one("svg", class_="timeline").all("rect", class_="took")
        starts = [float((bar.attributes["x"] or "").rstrip("%")) for bar in bars]
        widths = [float((bar.attributes["width"] or "").rstrip("%")) for bar in bars]
        assert starts == sorted(starts)
        seconds = [row[6] for row in samples.HELD]
        assert sorted(range(13), key=lambda n: widths[n]) == sorted(range(13), key=lambda n: seconds[n])
        assert starts[-1] + widths[-1] == pytest.approx(100, abs=0.1)

    def test_every_review_with_its_text_and_its_answer(self, page: Element) -> None:
        reviews = page.all("details", class_="review")
        assert len(reviews) == 13
        newest, oldest = reviews[0], reviews[-1]
        assert newest.one("summary").text == "Code review 1FAILTask 3opus · 3 min 7 s · $0.9317 Nov 2026, 09:31"
        assert "Review of task 3" in newest.text
        assert "has not answered it yet" in newest.text
        assert oldest.one("div", class_="body").attributes["id"] == "review-1"
        assert oldest.one("article", class_="answer").all("li")[1].text.startswith("Point 2: rejected")
        assert "Review 1 of at most 8, 7 turns, 63,600 tokens" in oldest.text

    def test_a_review_that_did_not_happen_says_why(self, page: Element) -> None:
        (failed,) = [each for each in page.all("details", class_="review") if "did not happen" in each.text]
        assert failed.one("p", class_="problem").text == "The reviewer did not answer within 300 seconds"

    def test_findings_the_gravest_first(self, page: Element) -> None:
        found = page.one("section", id="findings")
        assert [badge.text for badge in found.all("span", class_="severity")] == ["major"] * 4 + ["minor"] * 4
        first = found.all("li")[0]
        assert first.one("code").text == "greeting/core.py:41"
        assert first.one("a").attributes["href"] == "#review-1"
        assert "An unknown language raises KeyError" in first.text
        assert "greet('Ada', 'xx')" in first.text

    def test_every_link_leads_somewhere_on_the_page(self, page: Element) -> None:
        ids = [each.attributes["id"] for each in page.all() if "id" in each.attributes]
        assert len(ids) == len(set(ids))
        targets = {str(link.attributes["href"]) for tag in ("a", "use") for link in page.all(tag)}
        assert targets <= {f"#{id_}" for id_ in ids}

    def test_headings_leave_out_no_level(self, page: Element) -> None:
        levels = [int(each.tag[1]) for each in page.all() if re.fullmatch(r"h[1-6]", each.tag)]
        assert levels[0] == 1
        assert levels.count(1) == 1
        assert all(after <= before + 1 for before, after in zip(levels, levels[1:]))

    def test_pictures_have_names_or_are_hidden_from_who_cannot_see_them(self, page: Element) -> None:
        for svg in page.all("svg"):
            named = svg.attributes.get("aria-label") or svg.all("title") or svg.attributes.get("overflow")
            assert named or svg.attributes.get("aria-hidden") == "true", svg.attributes

    def test_landmarks(self, page: Element) -> None:
        for landmark in ("header", "nav", "main", "footer"):
            page.one(landmark)
        assert page.one("html").attributes["lang"] == "en"
        assert all("aria-labelledby" in section.attributes for section in page.all("section"))


class TestAPlanWithout:
    def test_a_journal(self, project: Project, report: Report) -> None:
        plan = samples.in_the_middle(project)
        (plan.path / "reviews.jsonl").unlink()
        page = read(report())
        assert numbers(page) == {
            "Reviews": "12",
            "Pass rate": "unknown",
            "Review time": "unknown",
            "Cost": "unknown",
            "Tasks done": "2 of 4",
        }
        assert "There is no journal of the reviews" in page.one("aside").text
        assert {row[0] for row in rows(page, "cycles")} == {"Task 1", "Task 2", "Task 3", "Plan", "Tasks"}
        assert len(page.all("article", class_="answer")) == 11
        assert page.all("span", class_="verdict")[0].text == "not recorded"

    def test_a_state(self, project: Project, report: Report) -> None:
        plan = samples.in_the_middle(project)
        plan.state.path.unlink()
        page = read(report())
        assert "no state.json" in page.one("aside").text
        assert page.all("li", **{"aria-current": "step"}) == []
        assert numbers(page)["Reviews"] == "13"

    @pytest.mark.parametrize("spoiled", ["{", "[]", '{"phase": 5, "next_phase": [], "max_reviews": "x"}', "\0", ""])
    def test_a_state_that_can_be_used(self, project: Project, report: Report, spoiled: str) -> None:
        plan = samples.in_the_middle(project)
        plan.state.raw(spoiled)
        page = read(report())
        assert page.all("li", **{"aria-current": "step"}) == []
        assert numbers(page)["Reviews"] == "13"

    def test_anything_but_its_directory(self, project: Project, report: Report) -> None:
        (project.path / ".taskie" / "plans" / "empty").mkdir(parents=True)
        page = read(report("--plan", "empty"))
        assert numbers(page)["Reviews"] == "0"
        assert numbers(page)["Tasks done"] == "none yet"
        assert "No review has been held yet" in page.one("main").text

    def test_reviews_of_its_own_kind(self, plan: Plan, report: Report) -> None:
        plan.write("design.md", "# Design\n")
        plan.write("design-review-1.md", "By hand.\n")
        page = read(report())
        assert [row[0] for row in rows(page, "cycles")] == ["Design"]
        assert page.one("details", class_="review").one("h3").text == "Design review 1"


def test_a_complete_plan(project: Project, report: Report) -> None:
    tasks = {"1": "done", "2": "completed"}
    plan = project.make_plan("old", tasks=tasks, state={"phase": "complete", "next_phase": None})
    samples.write_journal(plan.path, [samples.entry(review="all-code-review", iteration=n) for n in (1, 2)])
    page = read(report())
    assert page.one("p", class_="now").text == "Complete."
    assert page.one("li", **{"aria-current": "step"}).text == "Complete"
    assert numbers(page)["Tasks done"] == "2 of 2"
    assert [row[0] for row in rows(page, "cycles")] == ["All code"]


def test_a_review_that_runs_now(plan: Plan, report: Report) -> None:
    with reviewing(plan.path, at="1970-01-01T00:00:00Z", deadline="2026-11-17T17:40:00Z"):
        now = read(report()).one("p", class_="now")
    assert re.fullmatch(r"Reviewing now: plan review 2 \(sonnet\), \d+ days, until 17:40\.", now.text)
    assert "running" in (now.attributes["class"] or "")
    assert "Reviewing" not in read(report()).one("p", class_="now").text


def test_a_file_that_a_later_review_has_replaced_is_shown_once(plan: Plan, report: Report) -> None:
    """A second cycle counts from 1 again, and writes over the files of the first."""
    plan.write("plan-review-1.md", "The second.\n")
    moments = ("2026-11-16T09:00:00Z", "2026-11-17T09:00:00Z")
    samples.write_journal(plan.path, [samples.entry(at=at, file="plan-review-1.md") for at in moments])
    newer, older = read(report()).all("details", class_="review")
    assert "The second." in newer.text
    assert "The second." not in older.text
    assert "a later review has replaced it" in older.text


def test_what_the_journal_has_folded_is_counted(plan: Plan, report: Report) -> None:
    samples.write_journal(plan.path, [{"folded": 1200, "at": None, "cost_usd": 100.5}, samples.entry()])
    page = read(report())
    assert numbers(page)["Cost"] == "$100.87"
    assert "The 1,200 oldest reviews are no longer in the journal" in page.one("aside").text


def test_the_task_of_a_review_that_is_about_none(plan: Plan, report: Report) -> None:
    samples.write_journal(plan.path, [samples.entry(review="all-code-review", task="2")])
    assert [row[0] for row in rows(read(report()), "cycles")] == ["All code"]


def test_every_severity_of_ours_has_its_rank(plan: Plan, report: Report) -> None:
    """As the reviewers are asked for them, and counted as one says it."""
    asked = [*SEVERITIES, *SEVERITIES]
    findings = [{**samples.FINDING, "severity": severity} for severity in asked]
    (plan.path / "reviews.jsonl").write_text(json.dumps(samples.entry(verdict="FAIL", findings=findings)) + "\n")
    found = read(report()).one("section", id="findings")
    badges = found.all("span", class_="severity")
    assert [badge.text for badge in badges[::2]] == list(reversed(SEVERITIES))
    high = {badge.text for badge in badges if "high" in str(badge.attributes["class"]).split()}
    assert high == {"blocker", "major"}
    assert found.all("p", class_="more")[0].text == "2 blockers, 2 major, 2 minor, 2 notes"


def test_a_file_keeps_its_name_at_the_beginning_of_a_sentence(plan: Plan, report: Report) -> None:
    plan.state.raw("{")
    assert read(report()).one("p", class_="now").text.startswith("state.json: invalid JSON")


def test_a_file_that_vanishes_while_the_report_is_made(
    plan: Plan, report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_late(path: str, limit: int) -> tuple[bytes, bool] | None:
        if path.endswith("plan-review-1.md"):
            Path(path).unlink()
        return read_beginning(path, limit)

    plan.write("plan-review-1.md", "Wrong.\n")
    samples.write_journal(plan.path, [samples.entry(file="plan-review-1.md")])
    monkeypatch.setattr(reading, "read_beginning", too_late)
    assert "plan-review-1.md is gone" in read(report()).one("details", class_="review").text


@pytest.mark.parametrize(
    ("iteration", "limit", "said"), [(2, 8, "Review 2 of at most 8, "), (2, None, ""), (None, 8, "")]
)
def test_the_number_of_a_review_is_said_with_its_limit(
    plan: Plan, report: Report, iteration: int | None, limit: int | None, said: str
) -> None:
    """An entry of another version may lack either."""
    samples.write_journal(plan.path, [samples.entry(iteration=iteration, limit=limit)])
    more = read(report()).one("details", class_="review").all("p", class_="more")[0]
    assert more.text == f"{said}7 turns, 63,600 tokens"


@pytest.mark.parametrize("many", [1, 2])
def test_what_was_spent_is_drawn_from_the_second_review_on(plan: Plan, report: Report, many: int) -> None:
    samples.write_journal(plan.path, [samples.entry(iteration=number + 1) for number in range(many)])
    assert len(read(report()).all("figure", class_="spent")) == many - 1


def test_the_timeline_has_the_newest_two_hundred(plan: Plan, report: Report) -> None:
    samples.write_journal(plan.path, [samples.entry(iteration=number + 1) for number in range(201)])
    drawn = read(report()).one("svg", class_="timeline")
    links = [link.attributes["href"] for link in drawn.all("a")]
    assert links == [f"#review-{number}" for number in range(2, 202)]


def test_too_many_lanes_are_one_for_all_tasks(plan: Plan, report: Report) -> None:
    plans = [samples.entry()]
    tasks = [samples.entry(review="code-review", task=str(number)) for number in range(1, 60)]
    samples.write_journal(plan.path, [*plans, *tasks])
    lanes = read(report()).one("svg", class_="timeline").all("text", class_="lane")
    assert sorted(lane.text for lane in lanes) == ["Plan", "Tasks, one by one"]


def test_between_two_long_reviews_is_the_time_from_the_end_of_one_to_the_beginning_of_the_other(
    plan: Plan, report: Report
) -> None:
    moments = ("09:00", "09:50", "12:00")
    samples.write_journal(plan.path, [samples.entry(at=f"2026-11-16T{at}:00Z", seconds=2400.0) for at in moments])
    drawn = read(report()).one("svg", class_="timeline")
    assert [pause.one("title").text for pause in drawn.all("g", class_="pause")] == ["1 h 30 min without a review"]


def test_an_empty_file_is_said_to_be_empty(plan: Plan, report: Report) -> None:
    plan.write("plan-review-1.md", "\n")
    samples.write_journal(plan.path, [samples.entry(file="plan-review-1.md")])
    assert "The file is empty." in read(report()).one("details", class_="review").text
