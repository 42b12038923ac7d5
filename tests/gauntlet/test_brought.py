"""What the rules bring with them, and so what a person is asked to trust."""

from __future__ import annotations

from taskie.gauntlet.brought import brought

from .gates import Gauntlet


def test_a_rule_that_is_a_link_brings_the_link_and_what_it_leads_to(gauntlet: Gauntlet) -> None:
    gauntlet.write("shared/lint.yml", "command: 'true'\n")
    (gauntlet.path / ".gauntlet" / "checks").mkdir()
    (gauntlet.path / ".gauntlet" / "checks" / "lint.yml").symlink_to("../../shared/lint.yml")
    found = dict(brought(str(gauntlet.path)))
    assert (".gauntlet/checks/lint.yml", b"../../shared/lint.yml") in brought(str(gauntlet.path))
    assert found["shared/lint.yml"] == b"command: 'true'\n"
