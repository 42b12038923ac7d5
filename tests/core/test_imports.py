"""The hook runs at every stop, so what it imports is a contract: a list cannot flake as a measurement can."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

from pytest_taskie import Events, FakeCli, Plan, Project

ALWAYS = "__future__ os sys json enum fcntl errno time select re signal stat"
TOO_DEAR = {"argparse", "contextlib", "dataclasses", "logging", "pathlib", "tempfile", "typing"}

# Runs the hook in this very process, then writes what it has imported.
DRIVER = """
import sys
sys.path.insert(0, sys.argv[1])
from taskie.hook import main
code = main(["--fail-open"])
imported = "\\n".join(sys.modules)
with open(sys.argv[2], "w") as file:
    file.write(imported)
sys.exit(code)
"""


class Imports:
    """What one run of the hook imports."""

    def __init__(self, project: Project, events: Events, directory: Path) -> None:
        self._project = project
        self._events = events
        self._listing = directory / "modules"

    def of_a_stop(self, **env: str) -> set[str]:
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", DRIVER, str(ROOT), str(self._listing)],
            input=json.dumps(self._events.stop()),
            env={**self._project.env, **env},
            cwd=self._project.path,
            capture_output=True,
            text=True,
            check=True,
        )
        self.said = json.loads(done.stdout)
        return set(self._listing.read_text().split())

    def beyond(self, allowed: str, **env: str) -> set[str]:
        """What a stop imports besides these modules, what they import themselves, and our own."""
        script = f"import sys, {', '.join(allowed.split())}; print(*sys.modules)"
        listed = subprocess.run(
            [sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=True
        ).stdout
        ours = self.of_a_stop(**env) - set(listed.split())
        return {name for name in ours if name.split(".")[0] != "taskie"}


@pytest.fixture
def imports(project: Project, events: Events, tmp_path: Path) -> Imports:
    return Imports(project, events, tmp_path)


def test_validation(imports: Imports, plan: Plan) -> None:
    assert imports.beyond(ALWAYS) == set()
    assert "has no state.json" in imports.said["systemMessage"]


def test_validation_with_a_state(imports: Imports, plan: Plan) -> None:
    plan.state.write(phase="complete", next_phase=None)
    assert imports.beyond(ALWAYS) == set()
    assert imports.said == {"suppressOutput": True}


def test_validation_is_not_dear(imports: Imports, plan: Plan) -> None:
    modules = imports.of_a_stop()
    assert "taskie.plans.engine" in modules
    assert (
        modules
        & {
            *TOO_DEAR,
            *("subprocess", "tomllib", "tomli", "traceback"),
            *("taskie.programs", "taskie.plans.journal", "taskie.transcript"),
        }
        == set()
    )


def test_no_plans_no_engine(imports: Imports, project: Project) -> None:
    assert imports.beyond(ALWAYS) == set()
    modules = imports.of_a_stop()
    assert "taskie.plans.engine" not in modules
    assert imports.said == {"suppressOutput": True}


def test_skipped(imports: Imports, plan: Plan) -> None:
    assert "taskie.plans" not in imports.of_a_stop(TASKIE_HOOK_SKIP="1")


def test_review(imports: Imports, plan: Plan, fake_claude: FakeCli) -> None:
    fake_claude.reviews("FAIL")
    plan.state.write(next_phase="plan-review")
    assert imports.beyond(ALWAYS) == set()
    assert imports.said["decision"] == "block"
    modules = imports.of_a_stop()
    assert modules & {"dataclasses", "pathlib", "tempfile", "logging", "argparse", "tomllib", "tomli"} == set()


def test_toml_only_with_a_file(imports: Imports, project: Project, plan: Plan) -> None:
    parser = "tomllib" if sys.version_info >= (3, 11) else "tomli"
    (project.path / "pyproject.toml").write_text("[tool.other]\n")
    assert parser not in imports.of_a_stop()
    (project.path / "pyproject.toml").write_text("[tool.taskie.review]\nmax_reviews = 3\n")
    assert parser in imports.of_a_stop()
    assert "has no state.json" in imports.said["systemMessage"]
    assert "TOML" not in imports.said["systemMessage"]


def test_a_public_name_is_imported_when_asked_for() -> None:
    script = "import sys; sys.path.insert(0, sys.argv[1]); import taskie; print(*sys.modules)"
    command = [sys.executable, "-I", "-S", "-c", script, str(ROOT)]
    modules = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert "json" not in modules
    import taskie

    for name in taskie.__all__:
        assert getattr(taskie, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        taskie.nothing  # noqa: B018 - the access is the test
