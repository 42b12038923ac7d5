"""YAML with line numbers, and what is wrong with it. Knows no setting.

PyYAML is the one package on the hook's path that is not Python's own: only a project with gates pays for it.
"""

from __future__ import annotations

import os
import sys

from taskie.gauntlet.verdict import Invalid, Problem, Unable
from taskie.store import StoreError, read_regular
from taskie.values import Value

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

MAX_MARKS = 5000  # each could begin another level


class Document(Value):
    """A file's mapping, the YAML that it was made of, the text after the frontmatter if there is one, and the bytes.
    `offset` is the number of the line before the YAML; `first` is the line where a part of a file begins."""

    name: str
    content: dict[str, Any]
    node: Any = None
    offset: int = 0
    body: str = ""
    data: bytes = b""
    first: int | None = None

    def line(self, *path: str) -> int | None:
        """The line of a key or an item, or of the last one on the way to it that is there."""
        return self._way(path)[1]

    def part(self, *path: str) -> Document:
        """The mapping at a key, as a document with the same name: its lines are still the file's."""
        content: Any = self.content
        for step in path:
            content = content[step]
        node, line = self._way(path)
        return Document(self.name, content, node, self.offset, first=line)

    def _way(self, path: Iterable[str]) -> tuple[Any, int | None]:
        """The node at a key or an item and its line, or those of the last one on the way to it that is there."""
        node, line = self.node, self.first
        for step in path:
            kind = None if node is None else node.id
            children = {}
            if kind == "mapping":
                children = {str(key.value): (key, value) for key, value in node.value}
            elif kind == "sequence":
                children = {str(position): (item, item) for position, item in enumerate(node.value)}
            if step not in children:
                break
            key, node = children[step]
            line = key.start_mark.line + 1 + self.offset
        return node, line


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
        f"PyYAML is not installed for {sys.executable}. Install it there with `pip install PyYAML`, or set "
        "TASKIE_PYTHON to an interpreter that has it"
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
    content, node = _parse(head, name, offset)
    return Document(name, content, node, offset, body, data)


def _split(text: str) -> tuple[str, str, int]:
    """What stands between the first two `---` lines, what follows, and the line where the first part begins."""
    rows = text.splitlines(keepends=True)
    if rows and rows[0].strip() == "---":
        for number, row in enumerate(rows[1:], 1):
            if row.strip() == "---":
                return "".join(rows[1:number]), "".join(rows[number + 1 :]), 1
    return "", text, 0


def _parse(text: str, name: str, offset: int) -> tuple[dict[str, Any], Any]:
    yaml = yaml_module()
    # libyaml's binding has no limit to its recursion and would take the whole process down; pure Python raises.
    nests = sum(text.count(mark) for mark in "[{-?") > MAX_MARKS
    loader = (yaml.SafeLoader if nests else getattr(yaml, "CSafeLoader", yaml.SafeLoader))(text)
    try:
        node = loader.get_single_node()
        content = {} if node is None else loader.construct_document(node)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
        line = None if mark is None else mark.line + 1 + offset
        why = getattr(error, "problem", None) or str(error).splitlines()[0]
        raise Invalid(Problem(name, line, f"is not valid YAML: {why}")) from None
    except (ValueError, RecursionError, TypeError) as error:
        raise Invalid(Problem(name, None, f"is not valid YAML: {str(error) or type(error).__name__}")) from None
    finally:
        loader.dispose()
    if content is None:
        content = {}
    if not isinstance(content, dict) or not all(isinstance(key, str) for key in content):
        line = None if node is None else node.start_mark.line + 1 + offset
        raise Invalid(Problem(name, line, "must be a mapping of names to values"))
    return content, node


def suggestion(name: object, known: Iterable[str]) -> str:
    """What was probably meant by a name that does not exist, or what there is."""
    import difflib

    near = difflib.get_close_matches(str(name), list(known), 1, 0.5)
    return f"; did you mean {near[0]!r}?" if near else f" (known: {', '.join(known)})"
