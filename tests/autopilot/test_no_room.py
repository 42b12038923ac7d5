"""No temporary folder, no descriptors left: a sentence and exit 1, never a traceback, and nothing half done."""

from __future__ import annotations

import os
import resource
import subprocess
from pathlib import Path

import pytest

from autopilot.conftest import TASKIE, Autopilot
from autopilot.test_regression import FILE, due


def run(autopilot: Autopilot, *words: str, files: int | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    def few() -> None:
        if files is not None:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    return subprocess.run(
        [*TASKIE, *words],
        cwd=autopilot.root,
        env={**autopilot.project.env, **env},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=few,
        timeout=60,
    )


@pytest.mark.parametrize("how", ["missing", "a file"])
def test_a_commit_without_a_temporary_folder(autopilot: Autopilot, tmp_path: Path, how: str) -> None:
    autopilot.begin("first")
    autopilot.go_to("commit")
    # Python tries other folders, down to the one that it is in, before it gives up.
    script = (
        "import os, sys, tempfile; sys.path.insert(0, sys.argv.pop(1)); "
        "tempfile._candidate_tempdir_list = lambda: [os.environ['TMPDIR']]; "
        "from taskie.cli import main; sys.exit(main())"
    )
    place = tmp_path / "gone"
    if how == "a file":
        place.touch()
    before = autopilot.bytes(), autopilot.project.git("rev-parse", "HEAD")
    done = subprocess.run(
        [TASKIE[0], "-c", script, str(Path(__file__).parents[2]), "autopilot", "commit", "-m", "feat(app): greet"],
        cwd=autopilot.root,
        env={**autopilot.project.env, "TMPDIR": str(place)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert "No usable temporary directory found" in done.stderr
    assert "Traceback" not in done.stderr
    assert (autopilot.bytes(), autopilot.project.git("rev-parse", "HEAD")) == before


@pytest.mark.skipif("COVERAGE_RUN" in os.environ, reason="what measures needs descriptors of its own")
def test_few_descriptors(autopilot: Autopilot) -> None:
    """As few as there may be: it works, or says why not, and a test that was not captured leaves no file."""
    due(autopilot)
    before = autopilot.bytes()
    codes = []
    enough = next(files for files in range(4, 40) if run(autopilot, "--help", files=files).returncode == 0)
    for files in range(enough, 40):
        done = run(autopilot, "regression", files=files)
        codes.append(done.returncode)
        assert "Traceback" not in done.stderr, f"{files}: {done.stderr}"
        if autopilot.bytes() != before:
            break
        assert done.returncode == 1, f"{files}: {done.stdout} {done.stderr}"
        assert done.stderr.startswith("taskie: "), f"{files}: {done.stderr}"
        assert not (autopilot.root / FILE).exists()
    assert 1 in codes
