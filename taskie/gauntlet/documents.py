"""YAML with line numbers, and what is wrong with it. Knows no setting.

PyYAML is the one package on the hook's path that is not Python's own: only a project with gates pays for it.
"""

from __future__ import annotations

import os
import sys

from taskie.gauntlet.outcome import Unable
from taskie.store import StoreError, read_regular
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    Check = Callable[[Any], Any]


class Problem(Value):
    """One thing that is wrong in a file, where a person finds it. A warning leaves the rest usable."""

    file: str
    line: int | None
    text: str
    warning: bool = False

    def __str__(self) -> str:
        where = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{where}: {self.text}"


class Document(Value):
    """A file's mapping, the line of every key in it, and the text after the frontmatter if there is one."""

    name: str
    content: dict[str, Any]
    lines: Mapping[tuple[str, ...], int]
    body: str = ""
    digest: bytes = b""

    def line(self, *path: str) -> int | None:
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)


class Invalid(Exception):
    """A file cannot be used at all; `problem` says where and why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def yaml_module() -> Any:
    """PyYAML, also where the hook's interpreter runs without its site directory."""
    try:
        return __import__("yaml")
    except ImportError:
        pass
    if sys.flags.no_site:
        # Its own directory is enough most of the time; the whole of `site` runs every .pth file there is.
        version = "python{}.{}".format(*sys.version_info)
        beside = os.path.join(os.path.dirname(os.path.dirname(sys.executable)), "lib", version, "site-packages")
        if os.path.isdir(os.path.join(beside, "yaml")):
            sys.path.append(beside)
        else:
            import site

            site.main()
        try:
            return __import__("yaml")
        except ImportError:
            pass
    raise Unable(
        f"PyYAML is not installed for {sys.executable}. Install it there with `pip install PyYAML`, or install "
        "`pytest-taskie[gauntlet]` and set TASKIE_PYTHON to that interpreter"
    )


def read(path: str, name: str, *, frontmatter: bool = False) -> Document | None:
    """The document in a file, None if there is no such file. Invalid says which line is wrong."""
    try:
        data = read_regular(os.path.realpath(path))  # a link inside the project is its owner's business
        if data is None:
            return None
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Invalid(Problem(name, None, "is not UTF-8")) from None
    except (StoreError, OSError) as error:
        raise Invalid(Problem(name, None, str(error))) from None
    head, body, offset = _split(text) if frontmatter else (text, "", 0)
    content, lines = _parse(head, name, offset)
    return Document(name, content, lines, body, data)


def _split(text: str) -> tuple[str, str, int]:
    """What stands between the first two `---` lines, what follows, and the line where the first part begins."""
    rows = text.splitlines(keepends=True)
    if rows and rows[0].strip() == "---":
        for number, row in enumerate(rows[1:], 1):
            if row.strip() == "---":
                return "".join(rows[1:number]), "".join(rows[number + 1 :]), 1
    return "", text, 0


def _parse(text: str, name: str, offset: int) -> tuple[dict[str, Any], dict[tuple[str, ...], int]]:
    yaml = yaml_module()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)(text)
    try:
        node = loader.get_single_node()
        content = {} if node is None else loader.construct_document(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        line = None if mark is None else mark.line + 1 + offset
        said = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise Invalid(Problem(name, line, f"is no valid YAML: {said}")) from None
    except (ValueError, RecursionError, TypeError) as error:
        raise Invalid(Problem(name, None, f"is no valid YAML: {str(error) or type(error).__name__}")) from None
    finally:
        loader.dispose()
    if content is None:
        content = {}
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        line = None if node is None else node.start_mark.line + 1 + offset
        raise Invalid(Problem(name, line, "must be a mapping of names to values"))
    lines: dict[tuple[str, ...], int] = {}
    if node is not None:
        _lines(node, (), lines, offset + 1)
    return content, lines


def _lines(node: Any, path: tuple[str, ...], found: dict[tuple[str, ...], int], offset: int) -> None:
    if len(path) > 4:
        return  # nothing of ours lies deeper
    if node.id == "mapping":
        for key, value in node.value:
            here = (*path, str(key.value))
            found[here] = key.start_mark.line + offset
            _lines(value, here, found, offset)
    elif node.id == "sequence":
        for number, item in enumerate(node.value):
            here = (*path, str(number))
            found[here] = item.start_mark.line + offset
            _lines(item, here, found, offset)


def take(
    document: Document,
    at: tuple[str, ...],
    raw: Mapping[str, Any],
    checks: Mapping[str, Check],
    problems: list[Problem],
) -> dict[str, Any]:
    """The known keys with values that they may have; every other is a problem with its line."""
    taken = {}
    for key, value in raw.items():
        line = document.line(*at, str(key))
        check = checks.get(key)
        if check is None:
            problems.append(Problem(document.name, line, unknown(".".join((*at, str(key))), key, checks), warning=True))
            continue
        if value is None:
            continue  # `timeout:` with nothing after it is as good as not there
        try:
            taken[key] = check(value)
        except ValueError as error:
            problems.append(Problem(document.name, line, f"{'.'.join((*at, key))} must be {error}"))
    return taken


def unknown(shown: str, key: object, known: Iterable[str]) -> str:
    """A sentence about a key that does not exist, with the one that was probably meant."""
    import difflib

    near = difflib.get_close_matches(str(key), list(known), 1, 0.5)
    return f"unknown key {shown!r}" + (f"; did you mean {near[0]!r}?" if near else f" (known: {', '.join(known)})")
