"""Ends of a hook that nobody meant: by its exit code and the words of the shell or interpreter on stderr."""

from __future__ import annotations

import re
from pathlib import Path

# Only where it is the first thing said: a hook may well pass on what the tests that it ran have printed.
ACCIDENTS = {
    "the shell's own syntax error": re.compile(
        r"[^\n]*?: (?:line )?\d+: (?:[^\n]*: )?(?:syntax error|unexpected EOF)", re.IGNORECASE
    ),
    "a script that is not there": re.compile(
        r"[^\n:]*\b(?:sh|bash|dash|zsh|ksh|busybox|python[\d.]*|node|env|perl|ruby)(?:\.exe)?: [^\n]*"
        r"(?:no such file|can't open|cannot open|not found)",
        re.IGNORECASE,
    ),
    "a Python traceback": re.compile(r"Traceback \(most recent call last\):"),
    "the interpreter's refusal of its options": re.compile(r"(?:unknown|illegal|invalid|unrecognized) option", re.I),
}
CARRIAGE_RETURN = re.compile(
    r"(?:\r|\^M|\\r)'?: (?:bad interpreter|no such file|(?:command )?not found)", re.IGNORECASE
)
CRLF = (
    "a carriage return ends the line that names its interpreter (CRLF), which no system finds; "
    "save the script with LF line ends"
)


def accident(exit_code: int, stderr: str) -> str | None:
    """Why an exit code was not chosen by the hook's author; None if it may have been."""
    if exit_code != 2:
        return None
    said = stderr.lstrip()
    return next((name for name, words in ACCIDENTS.items() if words.match(said)), None)


def carriage_return(stderr: str) -> bool:
    """Whether an interpreter was looked for by a name that ends in a carriage return."""
    return bool(CARRIAGE_RETURN.search(stderr))


def crlf_script(words: list[str], folder: Path) -> str | None:
    """The script among a command's words whose interpreter line ends in a carriage return."""
    for word in words:
        try:
            with (folder / word).open("rb") as file:
                line = file.readline(300)
        except (OSError, ValueError):
            continue
        if line.startswith(b"#!") and line.endswith(b"\r\n"):
            return word
    return None
