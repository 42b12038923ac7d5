"""What a test runner records for whoever started it: the names of the variables, the schema, and its one reader.

A gate's check, and `taskie autopilot test`, name a file in TASKIE_TESTS_RESULT. Every run of a test runner appends one
line to it, a JSON object:

    exit_code  whole number   the runner's own; 0 all passed, 5 there were no tests, anything else is a failure
    counts     object         passed, failed, errors (in set-up, tear-down or collection) and warnings: whole numbers
    ids        list of texts  the failing tests, as the runner takes them on its command line
    failed     list of texts  the same tests for people to read, such as `ID: the first line of what went wrong`
    tree       text           TASKIE_TESTS_TREE as it was at the start, empty if it was not set: what the result is of
    root       text           the directory that the ids are relative to; optional, else the command's own

More fields are allowed. A line that does not keep to this is ignored, and the runner's output is read instead. The
runner removes both variables from its environment: what the tests themselves start is not the run that was asked for.
"""

from __future__ import annotations

from taskie.protocol import parse_json
from taskie.store import StoreError, read_regular
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

RESULT = "TASKIE_TESTS_RESULT"
TREE = "TASKIE_TESTS_TREE"
MAX_RECORD = 64 * 1024 * 1024


class RecordedRun(Value):
    """One line of the file."""

    exit_code: int
    passed: int
    failures: int
    warnings: int
    ids: tuple[str, ...]
    failed: tuple[str, ...]
    tree: str = ""
    root: str = ""


def read(path: str) -> Iterator[RecordedRun]:
    """The runs that were recorded in this file."""
    try:
        data = read_regular(path, MAX_RECORD) or b""
    except StoreError:
        return
    for line in data.splitlines():
        try:
            raw = parse_json(line)
            counts = raw["counts"]
            yield RecordedRun(
                exit_code=int(raw["exit_code"]),
                passed=int(counts["passed"]),
                failures=int(counts["failed"]) + int(counts["errors"]),
                warnings=int(counts["warnings"]),
                ids=tuple(map(str, raw["ids"])),
                failed=tuple(map(str, raw["failed"])),
                tree=str(raw["tree"]),
                root=str(raw.get("root") or ""),
            )
        except (ValueError, TypeError, KeyError):
            continue  # cut off, or somebody else's
