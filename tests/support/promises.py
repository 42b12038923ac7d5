"""What a page promises and which tests hold it: a page's sentences, a list of them, and where the two disagree.

A list is a text file, one entry after another; a sentence may be wrapped anywhere:

    an-id: The sentence, word for word as the page has it.
        tests/folder/test_file.py::TestClass::test_that_fails_without_it

An entry without tests has `promises nothing: why` in their place. Lines that begin with `#` are comments.
"""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import takewhile
from pathlib import Path

from support import ROOT

FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# A sentence ends where the next begins: with a capital, with code, or with something that stands out.
BETWEEN_SENTENCES = re.compile(r"""(?<=[.?:])\s+(?=[A-Z])|(?<=[.?])\s+(?=[`*"\[(])""")
NOTHING = "promises nothing:"


def flat(text: str) -> str:
    return " ".join(text.split())


def section(page: str, title: str) -> str:
    """A section's prose and tables, without examples."""
    return FENCED.sub("", page).partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def units(page: str) -> list[str]:
    """The page's sentences, the rows of its tables and the explained lines of its examples, each on one line."""
    found = [unit for language, block in FENCED.findall(page) for unit in explained(language, block)]
    for paragraph in re.split(r"\n\s*\n", FENCED.sub("\n\n", page)):
        lines = paragraph.strip().splitlines()
        if lines and lines[0].startswith("|"):
            found += lines[2:]
        elif lines and not lines[0].startswith("#"):
            for item in re.split(r"^(?:- |\d+\. )", "\n".join(lines), flags=re.MULTILINE):
                found += BETWEEN_SENTENCES.split(flat(item)) if item.strip() else []
    return found


def explained(language: str, block: str) -> list[str]:
    """The lines of an example that say something besides what one types: `taskie next    what comes next`."""
    if language == "console":
        return [flat(line) for line in block.splitlines() if re.search(r"\S {2,}\S", line)]
    if language == "toml":
        return [flat(line) for line in block.splitlines() if re.search(r"\S +# ", line)]
    return []


@cache
def tests_of(file: str) -> frozenset[str]:
    """The names of a file's tests and test classes, as pytest writes them: `test_x`, `TestY`, `TestY::test_z`."""
    path = ROOT / file
    return frozenset(named(ast.parse(path.read_text(encoding="utf-8")), "")) if path.is_file() else frozenset()


def named(node: ast.Module | ast.ClassDef, above: str) -> Iterator[str]:
    for inner in node.body:
        if isinstance(inner, ast.ClassDef) and inner.name.startswith("Test"):
            yield above + inner.name
            yield from named(inner, f"{above}{inner.name}::")
        elif isinstance(inner, ast.FunctionDef) and inner.name.startswith("test_"):
            yield above + inner.name


def exists(test: str) -> bool:
    """Whether there is such a test: `tests/plans/test_x.py::TestY::test_z`."""
    file, _, name = test.partition("::")
    return name in tests_of(file)


def begins(file: str, start: str) -> bool:
    """Whether the file has a test whose name begins so, in a class or not."""
    return any(name.rpartition("::")[2].startswith(start) for name in tests_of(file))


@dataclass(frozen=True)
class Entry:
    """A sentence with its id and its tests, or why it needs none."""

    id: str
    sentence: str
    where: str
    tests: tuple[str, ...]
    nothing: str

    def problems(self, page: str, said: Sequence[str]) -> list[str]:
        """What is wrong with it, each with what to do."""
        found = [] if self.sentence in said else [self.gone(page, said)]
        if not self.tests and not self.nothing:
            found.append(f"{self.where} names no test. Add a line with one, or with `{NOTHING} why`.")
        if self.tests and self.nothing:
            found.append(f"{self.where} names tests and says `{NOTHING}`. Keep one of the two.")
        return found + [self.missing(test) for test in self.tests if not exists(test)]

    def gone(self, page: str, said: Sequence[str]) -> str:
        return (
            f"{self.where} has a sentence that is not in {page}:\n    {self.sentence}\n"
            f"{nearest(self.sentence, said, 'The nearest that is there')}"
            "If it was changed: see that the tests of the entry hold the new words, then put these into the entry. "
            "If it was removed: remove the entry."
        )

    def missing(self, test: str) -> str:
        file = test.partition("::")[0]
        return (
            f"{self.where} names a test that does not exist:\n    {test}\n"
            f"{nearest(test, [f'{file}::{name}' for name in tests_of(file)], 'The nearest that exists')}"
            "If it was renamed: put its new name into the entry. If it is gone: name another that fails without the "
            "sentence, or write one."
        )


def read(file: Path) -> list[Entry]:
    """The entries of a list."""
    found: list[Entry] = []
    lines = file.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if not line or line.startswith("#") or (line.startswith(" ") and found):
            continue
        begun = re.match(r"([a-z][a-z0-9-]*): ", line)
        assert begun, f"{relative(file)}:{number} belongs to no entry; one begins with `an-id: `: {line}"
        parts: dict[str, list[str]] = {"tests/": [], NOTHING: [], "": [line[begun.end() :]]}
        for more in takewhile(lambda each: each.startswith(" "), lines[number:]):
            parts[next(kind for kind in parts if more.strip().startswith(kind))].append(more.strip())
        nothing = " ".join(parts[NOTHING])[len(NOTHING) :].strip()
        where = f"{relative(file)}:{number} ({begun[1]})"
        found.append(Entry(begun[1], flat(" ".join(parts[""])), where, tuple(parts["tests/"]), nothing))
    return found


def relative(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def unlisted(said: Iterable[str], entries: Sequence[Entry], page: str, lists: str) -> list[str]:
    """For each sentence of a page that is in no list, what to do."""
    known = {entry.sentence for entry in entries}
    return [
        f"{page} says something that is in no list:\n    {sentence}\n"
        f"{nearest(sentence, known, 'The nearest that is listed')}"
        f"If it is new: add an entry to {lists}, with a test that fails without it\n"
        f"    some-id: {sentence}\n        tests/folder/test_file.py::test_name\n"
        f"or, if nothing in it can be broken, with `        {NOTHING} why`."
        for sentence in said
        if sentence not in known
    ]


def nearest(text: str, among: Iterable[str], words: str) -> str:
    close = difflib.get_close_matches(text, list(among), n=1, cutoff=0.6)
    return f"{words}:\n    {close[0]}\n" if close else ""
