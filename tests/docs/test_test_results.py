"""The table and the example of docs/test-results.md, held against the reader."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from taskie import recorded
from taskie.recorded import RecordedRun

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "test-results.md").read_text()
EXAMPLE = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)[0]
FIELDS = re.findall(r"^\| `(\w+)` \|", TEXT, re.MULTILINE)
COMPLETE: dict[str, Any] = {
    "exit_code": 0,
    "counts": {"passed": 1, "failed": 2, "errors": 3, "warnings": 4},
    "ids": ["a"],
    "failed": ["a: b"],
    "tree": "",
}


def test_the_example(tmp_path: Path) -> None:
    env = {**os.environ, recorded.RESULT: str(tmp_path / "result"), recorded.TREE: "this tree"}
    done = subprocess.run([sys.executable, "-c", EXAMPLE], cwd=tmp_path, env=env, check=False)
    assert done.returncode == 1
    assert list(recorded.read(str(tmp_path / "result"))) == [
        RecordedRun(1, 2, 1, 0, ("sums.t:7",), ("sums.t:7: expected 3, got 2",), "this tree", str(tmp_path.resolve()))
    ]


def read(tmp_path: Path, record: Any) -> list[RecordedRun]:
    (tmp_path / "result").write_text(json.dumps(record) + "\n")
    return list(recorded.read(str(tmp_path / "result")))


def test_what_is_complete_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, {**COMPLETE, "more": 1}) == [RecordedRun(0, 1, 5, 4, ("a",), ("a: b",))]


@pytest.mark.parametrize("field", [field for field in FIELDS if field != "root"])
def test_what_lacks_a_field_is_ignored(tmp_path: Path, field: str) -> None:
    assert field in COMPLETE
    assert read(tmp_path, {name: value for name, value in COMPLETE.items() if name != field}) == []


def test_every_field_is_on_the_page_and_in_the_docstring() -> None:
    assert [*COMPLETE, "root"] == FIELDS
    assert all(re.search(rf"^    {field} ", recorded.__doc__ or "", re.MULTILINE) for field in FIELDS)
