"""`key: value` lines: what is read of them, and that a write changes nothing else."""

from __future__ import annotations

import pytest

from taskie.editing import edit_pairs, read_pairs

READ = {
    "plain": (b"a: 1\nb: two words\n", {"a": "1", "b": "two words"}),
    "the first wins": (b"a: 1\na: 2\n", {"a": "1"}),
    "the first wins, also if it is empty": (b"a:\na: 2\n", {"a": ""}),
    "blanks around": (b"a:  1 \r\nb:2\n", {"a": "1", "b": "2"}),
    "colons in a value": (b"a: b: c\n", {"a": "b: c"}),
    "no newline at the end": (b"a: 1", {"a": "1"}),
    "no such lines": (b"\n# x\nwords only\n: 1\na b: 1\n a: 1\n1a: 2\n\xc3\xa9: 1\n", {}),
    "binary": (b"\x00\xff\xfe\x80: 1\na: \xff\n", {"a": "\udcff"}),
    "a line separator that is none": ("a: 1\u2028b: 2\x0bc: 3\n".encode(), {"a": "1\u2028b: 2\x0bc: 3"}),
    "empty": (b"", {}),
}


@pytest.mark.parametrize(("data", "fields"), READ.values(), ids=list(READ))
def test_reading(data: bytes, fields: dict[str, str]) -> None:
    assert read_pairs(data) == fields


EDITED = {
    "changed": (b"a: 1\nb: 2\n", {"a": "3"}, b"a: 3\nb: 2\n"),
    "added": (b"a: 1\n", {"b": "2", "c": ""}, b"a: 1\nb: 2\nc: \n"),
    "added without a newline": (b"a: 1", {"b": "2"}, b"a: 1\nb: 2\n"),
    "only the first": (b"a: 1\na: 2\n", {"a": "3"}, b"a: 3\na: 2\n"),
    "other lines stay": (b"# x\n\n\xff\xfe\nb:  2 \na: 1\n", {"a": "3"}, b"# x\n\n\xff\xfe\nb:  2 \na: 3\n"),
    "from nothing": (b"", {"a": "1"}, b"a: 1\n"),
    "bytes that are no UTF-8": (b"", {"a": "\udcff"}, b"a: \xff\n"),
    "nothing": (b"a: 1\n", {}, b"a: 1\n"),
}


@pytest.mark.parametrize(("data", "changes", "expected"), EDITED.values(), ids=list(EDITED))
def test_editing(data: bytes, changes: dict[str, str], expected: bytes) -> None:
    edited = edit_pairs(data, changes)
    assert edited == expected
    assert read_pairs(edited) == {**read_pairs(data), **changes}


@pytest.mark.parametrize(("key", "value"), [("a", "1\nb: 2"), ("a", " 1"), ("a", "1\r"), ("a b", "1"), ("", "1")])
def test_what_would_not_be_read_again_is_not_written(key: str, value: str) -> None:
    with pytest.raises(ValueError, match="cannot be written as one line"):
        edit_pairs(b"", {key: value})
