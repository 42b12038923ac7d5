"""The contract data: what is stored is what the contract suite expects, and what `judge` says where nothing is."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from client.effect_rows import rows
from client.event_outputs import ENDING
from client.outputs import Output
from client.scenes import SCENES
from client.test_rows import ROWS

from pytest_taskie import judge
from pytest_taskie._contract import EFFECTS, FOLDER, ContractError, clients, contract, contracts, load, numbers
from pytest_taskie.client._installation import version_numbers

ROOT = Path(__file__).parents[2]
FILES = sorted(FOLDER.glob("*.json"))
PAGE = (ROOT / "docs" / "client-versions.md").read_text(encoding="utf-8")
# Those that the page has a column for, the newest first.
VERSIONS = tuple(re.findall(r"[0-9.]+", PAGE.partition("| contract suite |")[2].partition("\n")[0]))


def said(output: Output, event: str, version: str) -> str:
    """The outcome; with the tools allowed, as they are in the suite, a permission makes no difference."""
    outcome = judge(output.exit_code, output.stdout, output.stderr, event, version=version).outcome
    return "allowed" if outcome == "granted" else outcome


# Before 2.1 the event does not say what the subagent has said, so that nobody could tell the rows apart.
MEASURED = [(event, version) for event in ROWS for version in VERSIONS if event != "SubagentStop" or version > "2.1"]


@pytest.mark.parametrize(("event", "version"), MEASURED)
def test_judge_says_what_the_contract_suite_expects_of_each_version(event: str, version: str) -> None:
    measured = numbers(version)
    assert measured
    wrong = {}
    for output in ROWS[event]:
        expected = output.expected(version_numbers(version))
        outcome = said(output, event, version)
        if outcome == "unknown" and version != VERSIONS[0]:
            continue
        # Before 2.1 the end of a turn leaves no trace, by which the suite would know it from a stop that is allowed.
        same = {expected, "stopped"} if measured < (2, 1) and '"continue"' in output.stdout else {expected}
        if outcome not in same:
            wrong[output.name] = (outcome, expected)
    assert wrong == {}


@pytest.mark.parametrize("version", VERSIONS)
def test_few_rows_of_the_suite_are_unknown(version: str) -> None:
    unknown = {
        f"{event}: {output.name}"
        for event, rows in ROWS.items()
        for output in rows
        if (event, version) in MEASURED and said(output, event, version) == "unknown"
    }
    # Whether an approval grants anything was not asked of older clients.
    assert {name for name in unknown if "allow" not in name and "approve" not in name} == set()
    assert unknown == set() or version != VERSIONS[0]


@pytest.mark.parametrize("output", ENDING, ids=lambda output: output.name)
@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse", "UserPromptSubmit"])
def test_the_end_of_a_turn(output: Output, event: str) -> None:
    assert said(output, event, "2.1.326") == "stopped"
    goes_on = event == "PreToolUse" and "block" in output.stdout
    assert said(output, event, "2.1.197") == ("blocked" if goes_on else "stopped")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_each_row_says_how_it_is_known(path: Path) -> None:
    stored = json.loads(path.read_text())
    assert path.name == f"{stored['client']}-{stored['from']}.json"
    for event, output in stored["outputs"].items():
        for name, row in [*output["kinds"].items(), *output["fields"].items()]:
            where = f"{event} {name}"
            assert row["known"] in ("observed", "schema", "reported"), where
            assert ("held" in row) == (row["known"] == "observed"), where
            if "held" in row:
                assert (ROOT / row["held"].split("::")[0]).is_file(), where
        assert {row["effect"] for row in output["kinds"].values()} <= EFFECTS


SEEN = "2.1.326"
EVENTS = [*SCENES, "Setup", "TeammateIdle"]
LIKE_NOTHING = {"context": "allowed", "refused": "allowed", "ignored": "allowed"}


def kinds(event: str) -> dict[str, Any]:
    found: dict[str, Any] = load("claude", SEEN)["outputs"][event]["kinds"]
    return found


def test_every_event_is_asked() -> None:
    assert set(EVENTS) == set(load("claude", SEEN)["program"]["events"])


@pytest.mark.parametrize("event", EVENTS)
def test_judge_says_of_every_row_what_was_observed(event: str) -> None:
    wrong = {}
    for row in rows(event):
        if row.kind not in kinds(event):
            continue
        effect = kinds(event)[row.kind]["effect"]
        entry = {"onFailure": "block"} if row.strict else {}
        reading = judge(row.exit_code, row.stdout, row.stderr, event, version=SEEN, entry=entry)
        lands = effect in ("context", "continued") or (effect == "blocked" and bool(reading.context))
        if (reading.outcome, bool(reading.context)) != (LIKE_NOTHING.get(effect, effect), lands):
            wrong[row.kind] = (effect, reading.sentence)
    assert wrong == {}


@pytest.mark.parametrize("event", EVENTS)
def test_an_observed_row_names_the_test_that_holds_it(event: str) -> None:
    """By its id; the test is there, and this row is one of those that it plays."""
    played = {row.kind for row in rows(event)}
    for name, row in kinds(event).items():
        if row["known"] != "observed":
            continue
        path, _, test = row["held"].partition("::")
        function, _, parameter = test.partition("[")
        assert f"def {function}(" in (ROOT / path).read_text(), row
        if path.endswith("test_effects.py"):
            assert name in played, name
            assert parameter in ("", f"{event}]"), row


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_nothing_was_observed_in_a_range_of_which_no_version_was_measured(path: Path) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    assert data["measured"] or '"observed"' not in path.read_text(encoding="utf-8")


SECTIONS = ("handlers", "switches", "environment", "exits", "limits", "signals", "parameters", "answers")


@pytest.mark.parametrize("section", SECTIONS)
def test_so_does_each_row_of_the_other_sections(section: str) -> None:
    found = load("claude", SEEN)[section]
    assert found
    for name, row in found.items():
        assert row["known"] in ("observed", "schema", "reported"), name
        assert ("held" in row) == (row["known"] == "observed"), name
        path, _, test = row.get("held", "").partition("::")
        assert not path or f"def {test.partition('[')[0]}(" in (ROOT / path).read_text(), name


@pytest.mark.parametrize("event", SCENES)
def test_every_row_that_is_played_is_in_the_data(event: str) -> None:
    observed = {name for name, row in kinds(event).items() if row["known"] == "observed"}
    assert {row.kind for row in rows(event)} <= observed


@pytest.mark.parametrize(
    ("event", "code", "entry"), [("Setup", 1, {}), ("SessionStart", 1, {"onFailure": "block"}), ("TeammateIdle", 1, {})]
)
def test_what_nobody_has_seen_is_not_known(event: str, code: int, entry: dict[str, str]) -> None:
    reading = judge(code, "", "x", event, version=SEEN, entry=entry)
    assert reading.outcome == "unknown"
    assert reading.sentence.startswith("unknown: not measured; run it in claude_client")


@pytest.mark.parametrize(
    ("version", "first"),
    [
        (None, "2.1.326"),
        ("newest", "2.1.326"),
        (" Latest\n", "2.1.326"),
        ("", "2.1.326"),
        ("9.9.9", "2.1.326"),
        ("2.1.326", "2.1.326"),
        ("2.1.326-beta.1", "2.1.326"),
        ("2.1.325 (Claude Code)", "2.1.295"),
        (f"2.1.325 ({'x' * 190}", "2.1.295"),
        ("v2.1.197", "2.1.163"),
        ("claude 2.1.197", "2.1.163"),
        ("2.1.197.5", "2.1.163"),
        ("2.1.99", "2.1.90"),
        ("2.1", "2.0.60"),
        ("2", "1.0.120"),
    ],
)
def test_the_greatest_start_that_is_not_newer(version: str | None, first: str) -> None:
    assert contract("claude", version).first == first


@pytest.mark.parametrize(
    "version",
    [
        "two",
        "2.x",
        "2..1",
        "2.1.",
        "-1",
        chr(0x662),
        "\x00",
        "9" * 5000,
        "2" * 200,
        f"2.1.325 ({'x' * 191}",
        [2, 1],
        object(),
        b"2.1",
        True,
    ],
)
def test_what_is_not_a_version_is_said_to_be_none(version: Any) -> None:
    with pytest.raises(ContractError, match=r"is not a version: write one such as 2\.1\.197") as failure:
        judge(0, "", "", version=version)
    assert len(str(failure.value)) < 200


def test_a_client_older_than_all_that_was_measured() -> None:
    with pytest.raises(ContractError, match=r"nothing was measured of claude 1\.0\.2: the oldest is 1\.0\.120"):
        judge(0, "", "", version="1.0.2")


@pytest.mark.parametrize(
    ("client", "says"),
    [
        ("amp", r"is not a client that was measured \(claude, codex, copilot, gemini, qwen\)$"),
        ("claud", "is claude meant?"),
        ("", "not a"),
    ],
)
def test_a_client_that_is_not_known(client: str, says: str) -> None:
    with pytest.raises(ContractError, match=says.replace("?", r"\?")):
        judge(0, "", "", client=client)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "cannot be read"),
        ('{"format": 1', "cannot be read"),
        ("\x00\xff", "cannot be read"),
        ("[" * 100_000, "cannot be read"),
        ("[]", "does not hold an object"),
        ("{}", "its format is null"),
        ('{"format": 2}', "has format 2, and this pytest-taskie reads format 1: install a newer pytest-taskie"),
        ('{"format": "1"}', 'its format is "1"'),
        ('{"format": 1, "client": "codex", "from": "1.0.0"}', "about another client"),
        ('{"format": 1, "client": "x", "from": "1.0.0"}', "outputs is not an object"),
        ('{"format": 1, "client": "x", "from": "1.0.0", "outputs": {"Stop": []}}', "Stop.kinds does not hold rows"),
        ('{"format": 1, "client": "x", "from": "1.0.0", "outputs": {"Stop": {"kinds": {"a": 1}}}}', "hold rows"),
        ('{"format": 1, "client": "x", "from": "1.0.0", "outputs": {}, "limits": 5}', "limits is not an object"),
        (
            '{"format": 1, "client": "x", "from": "1.0.0", "outputs": {"Stop": {"kinds": {"text": {"effect": "no"}}}}}',
            'kinds.text has the effect "no"',
        ),
    ],
)
def test_a_spoiled_file_is_named(text: str, says: str, tmp_path: Path) -> None:
    file = tmp_path / "x-1.0.0.json"
    file.write_text(text, encoding="latin-1")
    with pytest.raises(ContractError) as failure:
        contract("x", folder=tmp_path)
    assert str(failure.value).startswith(str(file))
    assert says in str(failure.value)


def test_other_files_beside_the_data_do_not_count(tmp_path: Path) -> None:
    for name in ("README.md", "x-1.0.0.json~", "x-new.json", ".x-1.0.0.json"):
        (tmp_path / name).write_text("")
    (tmp_path / "x-1.0.0.json").write_text('{"format": 1, "client": "x", "from": "1.0.0", "outputs": {}}')
    assert clients(tmp_path) == ["x"]
    assert contract("x", folder=tmp_path).first == "1.0.0"


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(ContractError, match="the contract data cannot be listed"):
        contract(folder=tmp_path / "none")


def test_the_ranges_from_a_version_on() -> None:
    found = contracts("claude", "2.1.200")
    assert [one.name for one in found] == [
        "claude >=2.1.326",
        "claude >=2.1.295, <2.1.326",
        "claude >=2.1.251, <2.1.295",
        "claude >=2.1.213, <2.1.251",
        "claude >=2.1.163, <2.1.213",
    ]


@pytest.mark.parametrize(
    ("stdout", "event", "client", "why"),
    [
        ("", "PreCompact", "codex", "the data of codex >=0.169.0 have no event PreCompact"),
        ("", "PretoolUse", "claude", "have no event PretoolUse; is PreToolUse meant?"),
        ("", "Nonsense", "claude", "have no event Nonsense)"),
        ('{"continue": false}', "Setup", "claude", "no row for continue-false at Setup in claude >=2.1.326"),
    ],
)
def test_what_was_not_measured_is_not_guessed(stdout: str, event: str, client: str, why: str) -> None:
    reading = judge(0, stdout, "", event, client=client)
    assert reading.outcome == "unknown"
    assert reading.sentence.startswith(f"unknown: not measured; run it in {client}_client")
    assert why in reading.sentence
    assert (reading.reason, reading.decision, reading.context) == (None, None, None)


CODEX = [
    ("", "allowed"),
    ('{"suppressOutput": true}', "allowed"),
    ('{"systemMessage": "for the person", "suppressOutput": true}', "allowed"),
    ('{"decision":"block","reason":"more please"}', "blocked"),
    ('{"decision":"block","reason":"more please","systemMessage":"for the person"}', "blocked"),
    ('{"decision":"block","reason":"more please","systemMessage":null}', "blocked"),
    ('{"decision":"approve"}', "lost"),
    ('{"decision":"block"}', "lost"),
    ('{"decision":"block","reason":""}', "lost"),
    ('{"decision":"block","reason":"more please","extra":1}', "lost"),
    ('noise\n{"decision":"block","reason":"more please"}', "lost"),
]


@pytest.mark.parametrize(("stdout", "expected"), CODEX)
def test_codex_at_a_stop(stdout: str, expected: str) -> None:
    reading = judge(0, stdout, "", client="codex")
    assert reading.outcome == ("allowed" if expected == "lost" else expected)
    assert ("lost" in str(reading.fault)) == (expected == "lost")


def test_codex_wants_words_with_exit_2() -> None:
    assert judge(2, "", "more please", client="codex").reason == "more please"
    silent = judge(2, "", "", client="codex")
    assert (silent.outcome, silent.fault) == ("allowed", "block lost: Codex wants the reason on stderr beside exit 2")
