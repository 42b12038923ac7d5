"""Taskie's commands for Codex, as files in its folder: skills, and the prompts of the versions before it had skills.

Codex reads `prompts/NAME.md` up to 0.116 and `skills/NAME/SKILL.md` since. Each file that we write ends in a line
with the checksum of the rest: what a person has changed, or made under the same name, is never touched.
"""

from __future__ import annotations

import hashlib
import json
import os
import re

from taskie import project
from taskie.errors import CommandError
from taskie.protocol import shown
from taskie.store import StoreError, mode_of, read_regular, replace
from taskie.terminal import say

_MARK = re.compile(rb"(?:<!--|#) written by taskie install, sha256 ([0-9a-f]{64})(?: -->)?\n\Z")
_FRONT = re.compile(r"---\r?\n(.*?)^---\r?\n", re.DOTALL | re.MULTILINE)
_DESCRIPTION = re.compile(r"^description: *(.+?)\s*$", re.MULTILINE)
# The commands are for the person to call, not for the model to choose: see the skills of the Claude Code plugin.
_POLICY = "policy:\n  allow_implicit_invocation: false\n"


def commands(prompts: str, root: str, *, with_prompts: bool) -> dict[str, str]:
    """What belongs in Codex's folder: relative paths and their text. `root` is where the plugin's files are."""
    files: dict[str, str] = {}
    for file in sorted(os.listdir(prompts)) if os.path.isdir(prompts) else ():
        name, extension = os.path.splitext(file)
        if extension != ".md":
            continue
        with open(os.path.join(prompts, file), encoding="utf-8") as source:
            text = source.read().replace("${TASKIE_ROOT}", root)
        if with_prompts:
            files[os.path.join("prompts", file)] = text
        skill = os.path.join("skills", name)
        files[os.path.join(skill, "SKILL.md")] = _skill(name, text)
        files[os.path.join(skill, "agents", "openai.yaml")] = _POLICY
    return files


def _skill(name: str, prompt: str) -> str:
    """The prompt as a skill, whose text Codex passes on as it is: it has no $ARGUMENTS."""
    front = _FRONT.match(prompt)
    body = prompt[front.end() :] if front else prompt
    described = _DESCRIPTION.search(front[1]) if front else None
    description = described[1].strip("\"'") if described else name
    body = body.replace("$ARGUMENTS", f"what follows ${name} in their message.")
    return f"---\nname: {name}\ndescription: {json.dumps(description, ensure_ascii=False)}\n---\n{body}"


def stamped(path: str, text: str) -> bytes:
    """The text with its checksum in a last line, as a comment of the file's own kind."""
    data = (text if text.endswith("\n") else text + "\n").encode("utf-8")
    mark = f"written by taskie install, sha256 {hashlib.sha256(data).hexdigest()}"
    return data + (f"# {mark}\n" if path.endswith(".yaml") else f"<!-- {mark} -->\n").encode()


def is_ours(data: bytes) -> bool:
    """Whether we wrote exactly this, in this version or another."""
    mark = _MARK.search(data)
    return mark is not None and mark[1].decode() == hashlib.sha256(data[: mark.start()]).hexdigest()


def install(folder: str, *, with_prompts: bool) -> None:
    """Write the commands into Codex's folder, replace older ones of ours, remove those that no longer exist."""
    root = os.path.abspath(project.plugin_root())
    wanted = commands(os.path.join(root, "codex", "prompts"), root, with_prompts=with_prompts)
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
    _remove(folder, keep=set(wanted))
    names = [path.split(os.sep)[1] for path in wanted if path.endswith("SKILL.md")]
    if names:
        done = "Installed" if written else "Already installed:"
        example = "taskie-new-plan" if "taskie-new-plan" in names else names[0]
        skills = shown(os.path.join(folder, "skills"), 4096)
        say(f"{done} {len(names)} commands in {skills}: type ${example} and the like.")
    for path in kept:
        say(f"Left as it is, since it is yours: {shown(path, 4096)}. Remove it and install again to get Taskie's.")


def uninstall(folder: str) -> None:
    """Remove every command that is ours and unchanged."""
    removed = _remove(folder, keep=set())
    if removed:
        say(f"Removed {removed} files of Taskie's commands from {shown(folder, 4096)}.")


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


def _remove(folder: str, keep: set[str]) -> int:
    """Remove our own unchanged files but these, and the folders that are empty then."""
    removed = 0
    for relative in _candidates(folder):
        path = os.path.join(folder, relative)
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


def _candidates(folder: str) -> list[str]:
    candidates = [os.path.join("prompts", name) for name in _names(os.path.join(folder, "prompts"))]
    for name in _names(os.path.join(folder, "skills")):
        # The deeper file first, so that the folder is empty after the second.
        skill = os.path.join("skills", name)
        candidates += [os.path.join(skill, "agents", "openai.yaml"), os.path.join(skill, "SKILL.md")]
    return candidates


def _parents(relative: str) -> list[str]:
    """The folders of one skill, the inner one first; `prompts` and `skills` themselves may be somebody else's."""
    parent = os.path.dirname(relative)
    folders = []
    while os.path.dirname(parent):
        folders.append(parent)
        parent = os.path.dirname(parent)
    return folders


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
