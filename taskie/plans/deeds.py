"""Whether a shell command does something where a plan is, or only looks there. Knows words, runs nothing.

A guess, since no shell is asked: what is not known to look only is a deed.
"""

from __future__ import annotations

import re

from taskie.plans import MARKER

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LONGEST = 20_000


def _words(text: str) -> frozenset[str]:
    """Rather than a pattern, which takes longer to compile than all the rest of this module."""
    return frozenset(text.split())


_LOOKING = _words(
    "[ ag awk basename bat cat cmp column cut diff dirname du echo egrep fd fgrep file find grep head jq less ls"
    " md5sum more nl od printf pwd readlink realpath rg sed sha256sum sort stat tail test tr tree true type uniq"
    " wc which xxd yq"
)
_WRITING = {"find": ("-delete", "-exec", "-ok", "-fprint"), "sed": ("-i", "--in-place"), "yq": ("-i",)}
_GIT_LOOKING = _words("blame cat-file diff grep log ls-files ls-tree rev-parse shortlog show status")
_BEFORE = _words("! ( { } ) builtin command do done else env esac exec fi if nice sudo then time until while")
_QUOTED = re.compile(r"'[^']*'|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
_HEREDOC = re.compile(r"<<-?\s*[\"']?(\w+)")
_APART = re.compile(r"[;&|\n]+(?!>)")
_INTO = re.compile(r"(?<![0-9&])[0-9]?>{1,2}\|?\s*([^\s<>&]+)")


def acts_on(command: str, mentions: Callable[[str], bool]) -> bool:
    """Whether this command, which mentions a plan, does more than look. `mentions`: whether a part of it does."""
    there = False  # the parts that follow are about the plan, too: by `cd`, a loop or a variable
    for part in _parts(command[:LONGEST]):
        words = part.split()
        while words and (words[0] in _BEFORE or _is_assignment(words[0])):
            there = there or MARKER in words[0]
            del words[0]
        if not words:
            continue
        if words[0] in ("cd", "pushd", "for"):
            there = there or MARKER in part
            continue
        here = mentions(part)
        targets = [target.strip("\"'") for target in _INTO.findall(part)]
        if any(mentions(target) or (there and not target.startswith("/")) for target in targets):
            return True
        if (here or there) and not _looks(words):
            return True
    return False


def _looks(words: list[str]) -> bool:
    program = words[0].strip("\"'(").rpartition("/")[2]
    if program == "git":
        verbs = [word for word in words[1:] if not word.startswith("-")]
        return any(verb in _GIT_LOOKING for verb in verbs[:2])  # the first may be the value of -C
    if program == "taskie":
        return True  # what it does to a plan is in its own words, which the session's rules know
    writes = any(word.startswith(_WRITING.get(program, ())) for word in words[1:])
    return program in _LOOKING and not writes


def _is_assignment(word: str) -> bool:
    name, sign, _ = word.partition("=")
    return bool(sign) and name.replace("_", "a").isalnum()


def _parts(command: str) -> Iterator[str]:
    """The simple commands of it. What is quoted keeps its place, but separates nothing."""
    plain = _QUOTED.sub(lambda quoted: re.sub(r"[;&|<>\n]", " ", quoted[0]), _without_documents(command))
    return (part.strip() for part in _APART.split(plain))


def _without_documents(command: str) -> str:
    """Without the here-documents that are only copied: those mention anything. A program's is what it does."""
    lines = iter(command.split("\n"))
    kept: list[str] = []
    for line in lines:
        kept.append(line)
        if document := _HEREDOC.search(line):
            body = " ".join(_until(lines, document[1]))
            if not re.search(r"\b(?:cat|tee)\b", line):
                kept[-1] += " " + re.sub(r"[;&|<>\"']", " ", body)
    return "\n".join(kept)


def _until(lines: Iterator[str], end: str) -> Iterator[str]:
    for line in lines:
        if line.strip() == end:
            return
        yield line
