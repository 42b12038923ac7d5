"""Directories that the first test makes and every later one copies: git takes longer to make a repository than most
tests take. Knows no test and no git.

    @pytest.fixture(scope="session")
    def templates(tmp_path_factory: pytest.TempPathFactory) -> Templates:
        return Templates(tmp_path_factory.mktemp("templates"))
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Callable


class Templates:
    """One copy of each, in a directory that belongs to no test: no test can change what another one gets."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def fill(self, directory: Path, name: str, make: Callable[[], object]) -> None:
        """Fill the directory as `make` does. What it leaves there must not name the directory itself."""
        template = self._directory / name
        if template.exists():
            shutil.copytree(template, directory, symlinks=True, dirs_exist_ok=True)
            return
        make()
        shutil.copytree(directory, template, symlinks=True)
