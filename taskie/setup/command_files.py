"""Taskie's commands as files in a client's folder: written, brought up to date, removed. Knows no client's form.

Each file that we write ends in a line with the checksum of the rest: what a person has changed, or made under the same
name, is never touched.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re

from taskie import project
from taskie.errors import CommandError
from taskie.protocol import shown
from taskie.setup import forms
from taskie.setup.clients import ClientRow
from taskie.setup.forms import Form
from taskie.store import StoreError, mode_of, read_regular, replace
from taskie.terminal import say

_MARK = re.compile(rb"(?:<!--|#) written by taskie install, sha256 ([0-9a-f]{64})(?: -->)?\n\Z")
_HASHED = (".yaml", ".toml")  # where a comment begins with a number sign
EXAMPLE = "taskie-new-plan"


def commands(prompts: str, root: str, form: Form, *, in_user: bool) -> dict[str, str]:
    """What belongs in the client's folder: relative paths and their text. `root` is where the plugin's files are."""
    files: dict[str, str] = {}
    for file in _prompts(prompts):
        with open(os.path.join(prompts, file), encoding="utf-8") as source:
            text = source.read().replace("${TASKIE_ROOT}", root)
        prompt = forms.read(file.removesuffix(".md"), text)
        files.update(form.files(prompt))
        if in_user:
            files.update(form.in_user(prompt))
    return files


def stamped(path: str, text: str) -> bytes:
    """The text with its checksum in a last line, as a comment of the file's own kind."""
    data = (text if text.endswith("\n") else text + "\n").encode("utf-8")
    mark = f"written by taskie install, sha256 {hashlib.sha256(data).hexdigest()}"
    return data + (f"# {mark}\n" if path.endswith(_HASHED) else f"<!-- {mark} -->\n").encode()


def is_ours(data: bytes) -> bool:
    """Whether we wrote exactly this, in this version or another."""
    mark = _MARK.search(data)
    return mark is not None and mark[1].decode() == hashlib.sha256(data[: mark.start()]).hexdigest()


def install(folder: str, row: ClientRow, *, in_user: bool) -> None:
    """Write the commands into the client's folder, replace older ones of ours, remove those that no longer exist."""
    root = os.path.abspath(project.plugin_root())
    prompts = os.path.join(root, "codex", "prompts")
    assert row.form is not None
    wanted = commands(prompts, root, row.form, in_user=in_user)
    kept, written = [], 0
    for relative, text in wanted.items():
        path = os.path.join(folder, relative)
        data = stamped(path, text)
        present = _content(path)
        if present is not None and present != text.encode("utf-8") and not is_ours(present):
            kept.append(path)
        elif present != data:
            _write(path, data)
            written += 1
    _remove(folder, row.form, keep=set(wanted))
    names = [file.removesuffix(".md") for file in _prompts(prompts)]
    if names:
        done = "Installed" if written else "Already installed:"
        example = (EXAMPLE if EXAMPLE in names else names[0]).partition("taskie-")[2]
        place = shown(os.path.join(folder, _place(row.form)), 4096)
        say(f"{done} {len(names)} commands in {place}: type {row.typed}{example} and the like.")
    for path in kept:
        say(f"Left as it is, since it is yours: {shown(path, 4096)}. Remove it and install again to get Taskie's.")


def uninstall(folder: str, row: ClientRow) -> None:
    """Remove every command that is ours and unchanged."""
    assert row.form is not None
    removed = _remove(folder, row.form, keep=set())
    if removed:
        say(f"Removed {removed} files of Taskie's commands from {shown(folder, 4096)}.")


def _place(form: Form) -> str:
    """The folder in which the newest of its files are."""
    return form.places[-1].partition(os.sep + "*")[0]


def _prompts(folder: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(folder) if name.endswith(".md"))
    except OSError:
        return []


def _write(path: str, data: bytes) -> None:
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, exist_ok=True)
        replace(path, data)
    except (OSError, StoreError) as error:
        why = f"cannot be created ({error.strerror})" if isinstance(error, OSError) else str(error)
        raise CommandError(f"{shown(folder, 4096)}: {why}. The hook is installed; fix that, run this again.") from None


def _content(path: str) -> bytes | None:
    """What the path holds; b"" for what we cannot read, which is not ours, and None for nothing."""
    try:
        return read_regular(path)
    except StoreError:
        return b"" if _is_there(path) else None


def _is_there(path: str) -> bool:
    """Where the disk does not say, it may be, and would be written over."""
    try:
        return bool(mode_of(path))
    except StoreError:
        return True


def _remove(folder: str, form: Form, keep: set[str]) -> int:
    """Remove our own unchanged files but these, and the folders that are empty then."""
    removed = 0
    for place in form.places:
        for path in sorted(glob.glob(os.path.join(glob.escape(folder), place))):
            relative = os.path.relpath(path, folder)
            if relative in keep or not is_ours(_content(path) or b""):
                continue
            try:
                os.unlink(path)
                removed += 1
                for parent in _parents(relative):
                    os.rmdir(os.path.join(folder, parent))
            except OSError:
                pass  # a folder that is not empty; or not ours to write, and then nothing is lost
    return removed


def _parents(relative: str) -> list[str]:
    """The folders of one command, the inner one first; the outermost may be somebody else's."""
    parent = os.path.dirname(relative)
    folders = []
    while os.path.dirname(parent):
        folders.append(parent)
        parent = os.path.dirname(parent)
    return folders
