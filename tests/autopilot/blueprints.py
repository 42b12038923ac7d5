"""Specs that are held against a blueprint. Knows no test."""

from __future__ import annotations

from pathlib import Path

from taskie.autopilot import blueprint

REFERENCE = "# Feature\n\n## Blueprint Reference\n\nSee the map.\n\n## Tasks\n"
HERE = REFERENCE.count("\n") + 1  # the line that follows


def write(root: Path, name: str, text: str | bytes) -> None:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)


def judged(root: Path, text: str | bytes) -> list[str] | None:
    write(root, "spec.md", text)
    return blueprint.violations(str(root), "spec.md")


def judged_after_the_reference(root: Path, text: str) -> list[str]:
    """The violations of a spec in which only this text can be wrong, each without the spec's name."""
    found = judged(root, REFERENCE + text)
    assert found is not None
    assert all(line.startswith("spec.md:") for line in found)
    return [line.partition(":")[2] for line in found]


def rule(root: Path, text: str) -> None:
    write(root, f"{blueprint.DIRECTORY}/cross-cutting.md", f"# Rules\n\n{text}\n")
