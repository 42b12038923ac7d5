"""One settings file on disk: read it through its links, back it up, replace it as a whole. Knows no hook."""

from __future__ import annotations

import os
import stat
from typing import Callable, Literal, Optional

from taskie.errors import CommandError
from taskie.protocol import shown
from taskie.setup.paths import BACKUP
from taskie.setup.settings import Uneditable
from taskie.store import Lock, StoreError, read_regular, replace

PATIENCE = 5.0
AGAIN = "Nothing was changed. Fix that, then run this again."
Change = Callable[[Optional[str], Optional[str]], Optional[str]]
Edit = Literal["none", "written", "backed up"]


def read(path: str) -> str | None:
    """The file's text, None if there is none. StoreError says what is wrong with it."""
    try:
        data = read_regular(os.path.realpath(path))
        return None if data is None else data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1 if data else 1
        raise StoreError(f"{os.path.basename(path)} is not valid JSON: it is not UTF-8, at line {line}") from None


def edit(path: str, change: Change, has_ours: Callable[[str], bool]) -> Edit:
    """Write what `change` makes of the text and of its backup's, if that is another text. None removes the file.

    A link stays a link: people keep their settings in a repository of their own. The backup is the file as it was
    before it had anything of ours.
    """
    real = os.path.realpath(path)
    try:
        before, saved = read(path), _saved(path)
        after = change(before, saved)
        if after == before:
            return "none"
        _make_folder(os.path.dirname(real))
        with Lock(os.path.dirname(real)) as lock:
            if not lock.take(PATIENCE):
                raise StoreError(f"{os.path.basename(path)} is being changed by another process")
            if read(path) != before:
                raise StoreError(f"{os.path.basename(path)} was changed by another program at the same time")
            if before is not None and not os.access(real, os.W_OK):
                raise StoreError(f"{os.path.basename(path)} is write-protected")
            needs_backup = before is not None and after != saved and (saved is None or not has_ours(before))
            if needs_backup:
                _back_up(path, real, before or "")
            if after is None:
                os.unlink(real)
            else:
                replace(real, after.encode("utf-8"))
            if after is not None and after == saved:
                _drop(path + BACKUP)  # the file itself is again what the backup was
    except Uneditable as error:
        raise CommandError(f"{shown(path, 4096)} {error}. {AGAIN}") from None
    except StoreError as error:
        raise CommandError(f"{shown(os.path.dirname(path), 4096)}: {error}. {AGAIN}") from None
    except OSError as error:
        raise CommandError(f"{shown(path, 4096)} cannot be used ({error.strerror}). {AGAIN}") from None
    return "backed up" if needs_backup else "written"


def _saved(path: str) -> str | None:
    try:
        return read(path + BACKUP)
    except StoreError:
        return None


def _drop(path: str) -> None:
    try:
        os.unlink(path)
    except OSError:
        pass  # one copy too many does no harm; the settings are written


def _make_folder(folder: str) -> None:
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise StoreError(f"the folder cannot be created ({error.strerror})") from None


def _back_up(path: str, real: str, text: str) -> None:
    """With the mode of the original: settings hold keys."""
    backup = path + BACKUP
    mode = stat.S_IMODE(os.stat(real).st_mode)
    if os.path.isfile(backup) and not os.path.islink(backup):
        os.chmod(backup, mode)
    mask = os.umask(0o777 & ~mode)
    try:
        replace(backup, text.encode("utf-8"))
    finally:
        os.umask(mask)
