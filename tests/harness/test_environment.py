"""The environment of a hook under test: an allow-list, and what `taskie_pass_env` adds to it. Seen from the hook."""

from __future__ import annotations

import json

import pytest

SECRETS = [
    "GITHUB_TOKEN",
    "GH_TOKEN",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_PROFILE",
    "NPM_TOKEN",
    "GEMINI_API_KEY",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    "SSH_AUTH_SOCK",
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_HOST",
    "DATABASE_URL",
    "PIP_INDEX_URL",
    "MY_VARIABLE",
]
PROXIES = ["HTTP_PROXY", "https_proxy", "All_Proxy", "NO_PROXY"]
OTHERS = [
    "TASKIE_HOOK_SKIP",
    "TASKIE_REVIEW_COMMAND",
    "CLAUDECODE_X",
    "CLAUDE_CONFIG_DIR",
    "CODEX_HOME",
    "GIT_DIR",
    "MOCK_CLAUDE_VERDICT",
    "XDG_RUNTIME_DIR",
    "PYTEST_ADDOPTS_X",
    "BASH_ENV",
    "OLDPWD",
]
KEPT = {
    "LANG": "C.UTF-8",
    "LC_MESSAGES": "C",
    "TERM": "vt100",
    "TZ": "Asia/Tokyo",
    "USER": "someone",
    "LOGNAME": "someone",
    "SHELL": "/bin/sh",
    "PYTHONDONTWRITEBYTECODE": "1",
    "COVERAGE_FILE": "/nowhere/data",
}
HOOK = "env -0"


def environment_of_a_hook(pytester: pytest.Pytester, before: str = "", ini: str = "") -> dict[str, str]:
    """Run a test in a pytest of its own; what its hook has for an environment."""
    pytester.makeini(f"[pytest]\n{ini}")
    pytester.makepyfile(
        f"""
        import json

        def test_it(project, run_hook):
            {before or "pass"}
            pairs = (pair.split("=", 1) for pair in run_hook(command={HOOK!r}).stdout.split("\\0") if pair)
            open("found.json", "w").write(json.dumps(dict(pairs)))
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)
    found: dict[str, str] = json.loads((pytester.path / "found.json").read_text())
    return found


@pytest.fixture(autouse=True)
def _outer(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [*SECRETS, *PROXIES, *OTHERS]:
        monkeypatch.setenv(name, "from-outside")
    for name, value in KEPT.items():
        monkeypatch.setenv(name, value)


def test_nothing_of_the_users_arrives(pytester: pytest.Pytester) -> None:
    found = environment_of_a_hook(pytester)
    assert [name for name, value in found.items() if value == "from-outside"] == []


def test_what_programs_need_arrives(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(pytester.mkdir("machines")))
    found = environment_of_a_hook(pytester)
    assert {name: found.get(name) for name in KEPT} == KEPT
    assert found["TMPDIR"] == found["HOME"][: -len("home")] + "tmp", "its own, beside its home"
    assert found["PATH"]
    assert found["HOME"].endswith("/home")
    assert found["CLAUDE_PROJECT_DIR"].endswith("/project")


@pytest.mark.parametrize(
    ("setting", "passed"),
    [
        ("MY_VARIABLE", {"MY_VARIABLE"}),
        ("MY_* GITHUB_TOKEN", {"MY_VARIABLE", "GITHUB_TOKEN"}),
        ("\n  AWS_*\n  NPM_TOKEN", {"AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "NPM_TOKEN"}),
        ("*_proxy", {"https_proxy"}),
        ("my_variable NOT_SET", set()),
        ("TASKIE_HOOK_SKIP", {"TASKIE_HOOK_SKIP"}),
        # All there is, but nothing that would make the hook another: those are named, or they stay out.
        ("*", {*SECRETS, *PROXIES} - {"ANTHROPIC_API_KEY", "OPENAI_API_KEY"}),
    ],
)
def test_the_setting_adds_names_and_patterns(setting: str, passed: set[str], pytester: pytest.Pytester) -> None:
    found = environment_of_a_hook(pytester, ini=f"taskie_pass_env = {setting}\n")
    assert {name for name, value in found.items() if value == "from-outside"} == passed


def test_a_list_in_pyproject_toml(pytester: pytest.Pytester) -> None:
    pytester.makepyprojecttoml('[tool.pytest.ini_options]\ntaskie_pass_env = ["MY_*", "NPM_TOKEN"]\n')
    pytester.makepyfile(
        """
        def test_it(run_hook):
            assert run_hook(command="echo $MY_VARIABLE $NPM_TOKEN $GITHUB_TOKEN").stdout.split() == ["from-outside"] * 2
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_one_test_adds_its_own(pytester: pytest.Pytester) -> None:
    found = environment_of_a_hook(pytester, before='project.pass_env("MY_*")')
    assert [name for name, value in found.items() if value == "from-outside"] == ["MY_VARIABLE"]


def test_the_setting_never_changes_home_or_path(pytester: pytest.Pytester) -> None:
    plain = environment_of_a_hook(pytester)
    found = environment_of_a_hook(pytester, before='project.pass_env("*")', ini="taskie_pass_env = HOME PATH PWD\n")
    assert found["HOME"].endswith("/home")
    assert found["PATH"] == plain["PATH"]
    assert found["PWD"].endswith("/project")
