"""The environment of the real client, as its hooks see it: none of the user's secrets, and no proxy."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.client

SECRETS = ["GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "NPM_TOKEN", "GEMINI_API_KEY", "SSH_AUTH_SOCK", "MY_VARIABLE"]
PROXIES = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"]


@pytest.fixture(autouse=True)
def _outer(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in SECRETS:
        monkeypatch.setenv(name, "from-outside")
    for name in PROXIES:
        monkeypatch.setenv(name, "http://192.0.2.1:3128")


@pytest.mark.parametrize("kind", ["claude_client", "codex_client"])
def test_of_the_client(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    client: Any = request.getfixturevalue(kind)(hooks={"Stop": f"env -0 > {tmp_path}/env"})
    client.agent("Done.")
    assert client.prompt("go on").answer == "Done."
    found = dict(pair.split("=", 1) for pair in (tmp_path / "env").read_text().split("\0") if pair)
    assert [name for name, value in found.items() if value == "from-outside"] == []
    assert {name.lower(): value for name, value in found.items() if name.lower().endswith("_proxy")} == {
        "no_proxy": "*"
    }


@pytest.mark.in_both
def test_a_test_may_pass_what_it_names_but_no_proxy(claude_client: Any, project: Any, tmp_path: Path) -> None:
    project.pass_env("MY_VARIABLE", "*_PROXY", "*_proxy")
    client = claude_client(hooks={"Stop": f"echo $MY_VARIABLE,$HTTPS_PROXY > {tmp_path}/said"})
    client.agent("Done.")
    client.prompt("go on")
    assert (tmp_path / "said").read_text() == "from-outside,\n"
