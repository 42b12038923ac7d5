"""Some values of a JSON object are changed in its text; every other byte stays."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest

from taskie.editing import edit_object

# text, changes, the whole text expected
CASES = {
    "value": ('{"a": 1}', {"a": 2}, '{"a": 2}'),
    "float": ('{"a": 1, "x": 1.10}', {"a": 2}, '{"a": 2, "x": 1.10}'),
    "exponent": ('{"x": 1e400, "a": 1}', {"a": 2}, '{"x": 1e400, "a": 2}'),
    "negative zero": ('{"x": -0.0, "a": 1}', {"a": 2}, '{"x": -0.0, "a": 2}'),
    "big integer": ('{"x": 123456789012345678901234567890, "a": 1}', {"a": 2}, None),
    "minified": ('{"a":1,"b":[1,2],"c":"x"}', {"c": None}, '{"a":1,"b":[1,2],"c":null}'),
    "minified, added": ('{"a":1}', {"b": 2}, '{"a":1, "b": 2}'),
    "indented": ('{\n  "a": 1,\n  "b": 2\n}\n', {"b": 3}, '{\n  "a": 1,\n  "b": 3\n}\n'),
    "indented, added": ('{\n  "a": 1\n}\n', {"b": 2, "c": 3}, '{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}\n'),
    "tabs, added": ('{\n\t"a": 1\n}', {"b": 2}, '{\n\t"a": 1,\n\t"b": 2\n}'),
    "CRLF": ('{\r\n  "a": 1,\r\n  "b": 2\r\n}\r\n', {"a": 9}, '{\r\n  "a": 9,\r\n  "b": 2\r\n}\r\n'),
    "CRLF, added": ('{\r\n  "a": 1\r\n}\r\n', {"b": 2}, '{\r\n  "a": 1,\r\n  "b": 2\r\n}\r\n'),
    "CR alone": ('{\r"a": 1\r}', {"a": 2}, '{\r"a": 2\r}'),
    "empty": ("{}", {"a": 1}, '{"a": 1}'),
    "empty, two": ("{ }", {"a": 1, "b": 2}, '{"a": 1, "b": 2 }'),
    "empty, open": ("{\n}\n", {"a": 1}, '{\n"a": 1\n}\n'),
    "blanks around": ('\n\t {"a" : 1 }\n\n', {"a": 2}, '\n\t {"a" : 2 }\n\n'),
    "comma apart": ('{"a": 1 , "b" :2 }', {"b": 3}, '{"a": 1 , "b" :3 }'),
    "comma leading": ('{"a": 1\n, "b": 2\n}', {"a": [1]}, '{"a": [1]\n, "b": 2\n}'),
    "nested": ('{"a": {"a": 1, "b": {"a": [1, {"a": 2}]}}, "b": 2}', {"b": 3}, None),
    "nested replaced": ('{"a": {"a": 1}, "b": 2}', {"a": {"b": [None, True]}}, '{"a": {"b": [null, true]}, "b": 2}'),
    "braces in text": ('{"x": "},{\\"a\\": 1", "a": 1}', {"a": 2}, '{"x": "},{\\"a\\": 1", "a": 2}'),
    "escaped key": (
        '{"\\u0061": 1, "b": "\\ud83d\\ude00"}',
        {"a": 2},
        '{"\\u0061": 2, "b": "\\ud83d\\ude00"}',
    ),
    "raw unicode": ('{"é": "😀", "a": 1}', {"a": "ü"}, '{"é": "😀", "a": "\\u00fc"}'),
    "lone surrogate": ('{"x": "\\ud800", "a": 1}', {"a": 2}, '{"x": "\\ud800", "a": 2}'),
    "key in a value": ('{"x": "a", "a": "a"}', {"a": 1}, '{"x": "a", "a": 1}'),
    "empty key": ('{"": 1, "a": 1}', {"a": 2}, '{"": 1, "a": 2}'),
    "null": ('{"a": null}', {"a": 0}, '{"a": 0}'),
    "duplicates": ('{"a": 1, "b": 0, "a": 2}', {"a": 3}, '{"a": 1, "b": 0, "a": 3}'),
    "duplicates, other": ('{"a": 1, "b": 0, "a": 2}', {"b": 3}, '{"a": 1, "b": 3, "a": 2}'),
    "duplicates, added": ('{"a": 1, "a": 2}', {"b": 3}, '{"a": 1, "a": 2, "b": 3}'),
    "nothing": ('{ "a":1.10 }\n', {}, '{ "a":1.10 }\n'),
}


@pytest.mark.parametrize("case", list(CASES.values()), ids=list(CASES))
def test_text(case: tuple[str, dict[str, Any], str | None]) -> None:
    text, changes, expected = case
    edited = edit_object(text, changes)
    assert json.loads(edited) == {**json.loads(text), **changes}
    if expected is not None:
        assert edited == expected


VALUES = ["1.10", "1e400", "-0", '"a\\"b"', '"\\u00e9"', "[1, [2], {}]", '{"a": {"b": 1.50}}', "true", "null"]
LAYOUTS = [
    (",", ":", "", ""),
    (", ", ": ", "", ""),
    (",\n  ", ": ", "\n  ", "\n"),
    (",\r\n\t", " : ", "\r\n\t", "\r\n"),
]


@pytest.mark.parametrize("layout", LAYOUTS, ids=["minified", "one line", "indented", "CRLF"])
@pytest.mark.parametrize("values", list(itertools.permutations(VALUES, 2)), ids=" ".join)
def test_other_values_keep_every_byte(values: tuple[str, str], layout: tuple[str, str, str, str]) -> None:
    comma, colon, opening, closing = layout

    def written(middle: str) -> str:
        members = [f'"x"{colon}{values[0]}', f'"a"{colon}{middle}', f'"y"{colon}{values[1]}']
        return "{" + opening + comma.join(members) + closing + "}" + closing

    for old, new in itertools.permutations([0, "text", None, [1, "}"], {"x": 1}], 2):
        assert edit_object(written(json.dumps(old)), {"a": new}) == written(json.dumps(new))


@pytest.mark.parametrize("text", ["{}", '{"z": 1.10}', '{\n  "z": 1.10\n}\n', '{\r\n"z":1.10\r\n}'])
def test_adding_is_like_changing_and_stable(text: str) -> None:
    added = edit_object(text, {"a": 1, "b": "x"})
    assert edit_object(added, {"b": "x", "a": 1}) == added
    assert json.loads(added) == {**json.loads(text), "a": 1, "b": "x"}
    assert list(json.loads(added))[-2:] == ["a", "b"]
    assert text.count("1.10") == added.count("1.10")
    assert added.replace("\r\n", "").count("\r") == 0
    assert added.endswith(text[text.rindex("}") :])
