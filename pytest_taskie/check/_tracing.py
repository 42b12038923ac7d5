"""Which fields of its event a hook asks for: notes that Python, Node and jq take in a room. Changes no answer."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from pytest_taskie.check._room import Left

NOTES = "fields-asked"
PYTHON = """\
import json, os
notes = os.path.join(os.environ.get("HOME", "/tmp"), "{notes}")
def note(word):
    with open(notes, "a") as file:
        file.write(word + "\\n")
class Event(dict):
    where = ""
    def get(self, key, default=None):
        self._asked(key)
        return dict.get(self, key, default)
    def __getitem__(self, key):
        self._asked(key)
        return dict.__getitem__(self, key)
    def __contains__(self, key):
        self._asked(key)
        return dict.__contains__(self, key)
    def _asked(self, key):
        if isinstance(key, str):
            note(self.where + key)
def event(value):
    if isinstance(value, dict) and "hook_event_name" in value and "session_id" in value:
        value = Event(value)
    return value
loads, load = json.loads, json.load
json.loads = lambda *a, **k: event(loads(*a, **k))
json.load = lambda *a, **k: event(load(*a, **k))
"""
NODE = """\
const fs = require("fs"), path = require("path");
const notes = path.join(process.env.HOME || "/tmp", "{notes}");
const parse = JSON.parse;
JSON.parse = function (...given) {{
  const value = parse.apply(this, given);
  if (!value || typeof value !== "object" || !value.hook_event_name || !value.session_id) return value;
  const note = (key) => {{ if (typeof key === "string") fs.appendFileSync(notes, key + "\\n"); }};
  return new Proxy(value, {{
    get(target, key) {{ note(key); return Reflect.get(target, key); }},
    has(target, key) {{ note(key); return Reflect.has(target, key); }},
  }});
}};
"""
JQ = """\
#!/bin/sh
for word in "$@"; do printf 'jq %s\\n' "$word" >> "${{HOME:-/tmp}}/{notes}"; done
PATH=${{PATH#*:}} exec jq "$@"
"""


def programs(folder: Path) -> dict[str, tuple[str, int]]:
    """What is put into the folder."""
    texts = {"sitecustomize.py": (PYTHON, 0o644), "trace.js": (NODE, 0o644), "jq": (JQ, 0o755)}
    return {
        name: (text.replace("{notes}", NOTES) if name.endswith(".py") else text.format(notes=NOTES), mode)
        for name, (text, mode) in texts.items()
    }


def variables(folder: Path) -> dict[str, str]:
    blank = " " in str(folder)
    return {"PYTHONPATH": str(folder), **({} if blank else {"NODE_OPTIONS": f"--require={folder / 'trace.js'}"})}


def asked(files: Mapping[str, Left]) -> list[str]:
    """The event's fields that were asked for, in their order."""
    notes = next((left.text for name, left in files.items() if name == f"home/{NOTES}"), None) or ""
    found: dict[str, None] = {}
    for line in notes.splitlines():
        if line.startswith("jq "):
            for name in re.findall(r"(?:^|[\s(|,\[?/])\.([A-Za-z_]\w*)", line[3:]):
                found[name] = None
        else:
            found[line] = None
    return list(found)
