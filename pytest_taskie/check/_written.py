"""A finding as a test that fails until it is fixed. Writes one file."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from pytest_taskie.check._rules import Flaw
from pytest_taskie.check._settings import SettingsError
from taskie.protocol import harmless
from taskie.terminal import say

HEAD = '''\
"""What `taskie check` has found. Each test fails until it is fixed, and stays as a guard."""

from pathlib import Path

from pytest_taskie.check import found

HERE = Path(__file__).resolve().parent
'''
TEST = '''

def test_{name}():
    """{said}

    {again}
    """
    assert found({place}, {rule!r}{event}) == []
'''


def write(file: Path, findings: Sequence[Flaw]) -> None:
    """A test for each; a file that is there already is not touched."""
    wanted = [one for one in findings if one.subject and one.subject.event]
    if not wanted:
        say("taskie check: there is nothing to write a test of")
        return
    names: dict[str, int] = {}
    parts = [HEAD]
    for one in wanted:
        assert one.subject is not None
        name = re.sub(r"\W+", "_", f"{one.subject.name}_{one.rule}").strip("_").lower()
        names[name] = names.get(name, 0) + 1
        again = f"See it: {one.again}" if one.again else "It is read, and needs no run."
        parts.append(
            TEST.format(
                name=name + (f"_{names[name]}" if names[name] > 1 else ""),
                said=_quoted(f"{one.message[:1].upper()}{one.message[1:]}."),
                again=_quoted(again),
                place=_place(one, file),
                rule=one.rule,
                event="" if one.subject.file else f", event={one.subject.event!r}, matcher={one.subject.matcher!r}",
            )
        )
    try:
        with file.open("x", encoding="utf-8") as out:
            out.write("".join(parts))
    except OSError as error:
        raise SettingsError(f"{file} cannot be written: {error.strerror}; name another with --write-test") from None
    say(f"{file}: {len(wanted)} test{'' if len(wanted) == 1 else 's'} that fail now")


def _place(one: Flaw, file: Path) -> str:
    """The hook, named from the test's own folder, so that a clone finds it."""
    subject = one.subject
    assert subject is not None
    if subject.file is None:
        return repr(subject.command)
    relative = os.path.relpath(subject.file, file.resolve().parent)
    spelled = relative.replace("{", "{{").replace("}", "}}").replace("\\", "\\\\").replace('"', '\\"')
    return f'f"{{HERE}}/{spelled}#{subject.number}"'


def _quoted(words: str) -> str:
    """Safe inside a docstring."""
    return harmless(" ".join(words.split())).replace("\\", "\\\\").replace('"""', "'''")
