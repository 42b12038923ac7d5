"""Ends of a hook that nobody meant: by its exit code and the words of the shell or interpreter on stderr."""

from __future__ import annotations

import re
from pathlib import Path

# Only where it is the first thing said: a hook may well pass on what the tests that it ran have printed.
ACCIDENTS = {
    "the shell's own syntax error": re.compile(
        r"[^\n]*?: (?:line )?\d+: (?:[^\n]*: )?(?:syntax error|unexpected EOF)", re.IGNORECASE
    ),
    # What ends dash with 2, and bash too where it is about a number: an option or an expansion that only bash has, an
    # unset variable under `set -u`, a file that cannot be made.
    "an error of the shell's own": re.compile(
        r"[^\n:]*: (?:line )?\d+: (?:[^\s:]+: )?(?:bad substitution$|illegal option -|illegal number: |"
        r"parameter not set|bad fd number|arithmetic expression: |can't shift|cannot create |is read only|can't cd to |"
        r"[^\n:]*: (?:numeric argument required|invalid option))",
        re.IGNORECASE | re.MULTILINE,
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
# In what a shell says of a line of a script: bash shows them as they are or spells them, dash the former.
IN_SCRIPT = re.compile(r"[^\n:]*: (?:line )?\d+: [^\n]*(?:\r|\\r)")
SAVE = "save the script with LF line ends"
CRLF = f"a carriage return ends the line that names its interpreter (CRLF), which no system finds; {SAVE}"
CRLF_LINES = f"carriage returns end the script's lines (CRLF), which the shell takes for parts of its words; {SAVE}"


def accident(exit_code: int, stderr: str) -> str | None:
    """Why an exit code was not chosen by the hook's author; None if it may have been."""
    if exit_code != 2:
        return None
    said = stderr.lstrip()
    name = next((name for name, words in ACCIDENTS.items() if words.match(said)), None)
    return f"{name}: {CRLF_LINES}" if name and IN_SCRIPT.match(said) else name


def carriage_return(stderr: str) -> str | None:
    """What carriage returns have to do with an end: an interpreter, or a command, was looked for by a name with one."""
    if not CARRIAGE_RETURN.search(stderr):
        return None
    return CRLF_LINES if IN_SCRIPT.match(stderr.lstrip()) and "bad interpreter" not in stderr else CRLF


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
