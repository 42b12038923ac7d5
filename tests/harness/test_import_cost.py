"""What loading the plugin costs a run that does not use it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import pytest_taskie

# Each is paid for by the test that uses it.
LATER = {
    "asyncio",
    "http.server",
    "jq",
    "pytest_subprocess",
    "pytest_taskie.client._server",
    "pytest_taskie.client._claude",
    "pytest_taskie.client._scripted",
    "pytest_taskie._accidents",
    "pytest_taskie._assertions",
    "pytest_taskie._checking",
    "pytest_taskie._clients",
    "pytest_taskie._comparisons",
    "pytest_taskie._contract",
    "pytest_taskie._events",
    "pytest_taskie._fake_cli",
    "pytest_taskie._judgement",
    "pytest_taskie._parsing",
    "pytest_taskie._processes",
    "pytest_taskie._results",
    "pytest_taskie._running",
    "pytest_taskie._sorting",
    "pytest_taskie._transcript",
    "pytest_taskie._transcript_lines",
    "pytest_taskie._workspace",
    "socketserver",
    "taskie",
    "yaml",
}


def test_only_pytest_and_light_modules() -> None:
    code = (
        "import sys, pytest; before = set(sys.modules)\n"
        "import pytest_taskie\n"
        "for name in pytest_taskie.pytest_plugins: __import__(name)\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    listed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(listed.stdout.split())
    assert "pytest_taskie._plugin" in imported
    assert not imported & LATER
    if sys.version_info >= (3, 10):
        known = {*sys.stdlib_module_names, "pytest_taskie"}
        assert not {name for name in imported if name.partition(".")[0] not in known}


def test_a_run_that_does_not_use_it_does_not_import_more(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        f"""
        import sys

        def test_it(tmp_path):
            assert not set(sys.modules) & {LATER - {"asyncio", "pytest_subprocess", "socketserver"}!r}
        """
    )
    pytester.runpytest_subprocess().assert_outcomes(passed=1)


def test_the_public_names() -> None:
    assert pytest_taskie.__all__ == sorted(pytest_taskie.__all__)
    for name in pytest_taskie.__all__:
        assert getattr(pytest_taskie, name)
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = pytest_taskie.nonsense  # type: ignore[attr-defined]
