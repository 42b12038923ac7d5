"""`taskie new-hook`: a hook and its test, from which an author goes on. Writes three files, and none that is there.

Flaw by `taskie` through the entry point group `taskie.commands`: SUMMARY is its line in the help, `main` runs it.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from taskie.terminal import say
from taskie.usage import Parser

SUMMARY = "a hook and its test, to go on from"
DONE, FAILED = 0, 1
TEMPLATES = Path(__file__).with_name("templates")
PROGRAMS = {"bash": ("bash", ".sh"), "python": ("python3", ".py"), "node": ("node", ".js")}
EVENTS = {"stop": ("Stop", None), "pre-tool-use": ("PreToolUse", "Write|Edit")}
DESCRIPTION = """\
Writes a hook that works, its test, and the file that names it, and says how to go on. It passes `taskie check`.
"""
EXAMPLES = """\
examples:
  taskie new-hook stop                              hooks/stop.sh, tests/test_stop.py, hooks/hooks.json
  taskie new-hook pre-tool-use --lang python
  taskie new-hook stop --lang node plugins/guard    in another folder, which is made

exit codes: 0 written, 1 a file was there already or cannot be written, 2 wrong usage
"""


def main(argv: Sequence[str]) -> int:
    """Write them."""
    try:
        arguments = _parser().parse_intermixed_args(argv)
    except SystemExit as ended:
        return int(ended.code or 0)
    files = wanted(arguments.event, arguments.lang)
    there = [name for name in files if (arguments.folder / name).exists()]
    if there:
        say(f"taskie new-hook: {arguments.folder / there[0]} is there already; nothing was written", file=sys.stderr)
        return FAILED
    for name, text in files.items():
        file = arguments.folder / name
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with file.open("x", encoding="utf-8") as out:
                out.write(text)
            if file.suffix == ".sh":
                file.chmod(0o755)
        except OSError as error:
            say(f"taskie new-hook: {file} cannot be written: {error.strerror}", file=sys.stderr)
            return FAILED
        say(str(file))
    root = arguments.folder
    say("", f"Try it:     taskie try {root / 'hooks' / 'hooks.json'}#0 {EVENTS[arguments.event][0]}")
    say(f"Test it:    pytest {root / 'tests'}", f"Check it:   taskie check {root}")
    return DONE


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = Parser(prog="taskie new-hook", description=DESCRIPTION, epilog=EXAMPLES, formatter_class=raw)
    parser.add_argument("event", choices=EVENTS, help="the event that it is for")
    parser.add_argument("folder", nargs="?", type=Path, default=Path(), help="the plugin's folder (default: here)")
    parser.add_argument("--lang", choices=PROGRAMS, default="bash", help="default: bash")
    return parser


def wanted(event: str, language: str) -> Mapping[str, str]:
    """The files by name: the hook, its test, and the configuration."""
    program, ending = PROGRAMS[language]
    script = f"{event}{ending}"
    name, matcher = EVENTS[event]
    test = (TEMPLATES / f"test_{event}.py.txt").read_text(encoding="utf-8")
    command = f'{program} "${{CLAUDE_PLUGIN_ROOT}}"/hooks/{script}'
    group = {
        **({"matcher": matcher} if matcher else {}),
        "hooks": [{"type": "command", "command": command, "timeout": 30}],
    }
    return {
        f"hooks/{script}": (TEMPLATES / script).read_text(encoding="utf-8"),
        f"tests/test_{event.replace('-', '_')}.py": test.replace("{program}", program).replace("{script}", script),
        "hooks/hooks.json": json.dumps({"hooks": {name: [group]}}, indent=2) + "\n",
    }
