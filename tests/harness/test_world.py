"""What surrounds a hook under test: its programs, its temporary files, its network, its paths. Seen from the hook."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_taskie import Events, Project, RunHook, _offline, _processes
from pytest_taskie._path import hide

WHERE = "import sys; print(sys.prefix)"


def passes(pytester: pytest.Pytester, test: str, ini: str = "", **outcome: int) -> pytest.RunResult:
    """Run one test in a pytest of its own."""
    pytester.makeini(f"[pytest]\n{ini}")
    pytester.makepyfile(test)
    result = pytester.runpytest_subprocess("-p", "no:randomly")
    result.assert_outcomes(**(outcome or {"passed": 1}))
    return result


class TestPrograms:
    def test_python3_is_not_that_of_the_tests_virtual_environment(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert sys.prefix != sys.base_prefix, "this suite runs in a virtual environment"
        monkeypatch.setenv("PATH", f"{sys.prefix}/bin{os.pathsep}{os.environ['PATH']}")
        monkeypatch.setenv("VIRTUAL_ENV", sys.prefix)
        passes(
            pytester,
            f"""
            import sys

            def test_it(run_hook):
                assert run_hook(command=["python3", "-c", {WHERE!r}]).stdout.strip() != sys.prefix
                assert run_hook(command="python3 -c 'import pytest_taskie'").exit_code == 1
                assert run_hook(command="echo $VIRTUAL_ENV").stdout == "\\n"
            """,
        )

    def test_the_tests_own_python3_by_a_setting(self, pytester: pytest.Pytester) -> None:
        passes(
            pytester,
            f"""
            import sys

            def test_it(run_hook):
                assert run_hook(command=["python3", "-c", {WHERE!r}]).stdout.strip() == sys.prefix
            """,
            "taskie_python = tests",
        )

    def test_no_other_setting(self, pytester: pytest.Pytester) -> None:
        result = passes(pytester, "def test_it(project): pass", "taskie_python = mine", errors=1)
        result.stdout.fnmatch_lines(["*taskie_python is 'mine'; it is `system` or `tests`*"])

    def test_where_nothing_else_is_there_it_is_what_the_environment_was_made_of(
        self, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        tools = pytester.mkdir("tools")
        for name in ("sh", "env", "git"):
            (tools / name).symlink_to(str(shutil.which(name)))
        monkeypatch.setenv("PATH", f"{sys.prefix}/bin{os.pathsep}{tools}")
        passes(
            pytester,
            f"""
            import sys

            def test_it(run_hook):
                assert run_hook(command=["python3", "-c", {WHERE!r}]).stdout.strip() == sys.base_prefix
            """,
        )

    def test_without(self, project: Project, run_hook: RunHook) -> None:
        assert run_hook(command="command -v sed grep").exit_code == 0
        project.without("sed", "no-such-program")
        assert run_hook(command="sed --version").exit_code == 127
        assert run_hook(command=["/bin/sh", "-c", "command -v sed"]).exit_code != 0
        assert run_hook(command="echo a | grep a && ls / > /dev/null").exit_code == 0
        project.without("grep")
        assert [run_hook(command=f"command -v {name}").exit_code != 0 for name in ("sed", "grep")] == [True, True]

    def test_without_leaves_the_other_tests_alone(self, project: Project, run_hook: RunHook) -> None:
        assert run_hook(command="command -v sed").exit_code == 0

    def test_without_keeps_the_interpreter(self, project: Project, run_hook: RunHook) -> None:
        before = run_hook(command=["python3", "-c", WHERE]).stdout
        program = next(p for p in Path(sys.executable).parent.iterdir() if not p.name.startswith("python"))
        project.without(program.name)
        assert run_hook(command=["python3", "-c", WHERE]).stdout == before

    @pytest.mark.parametrize("name", ["", "/usr/bin/jq"])
    def test_without_takes_names(self, project: Project, name: str) -> None:
        with pytest.raises(ValueError, match="names of programs"):
            project.without(name)


class TestTemporaryFiles:
    def test_each_test_has_a_directory_of_its_own(self, pytester: pytest.Pytester) -> None:
        passes(
            pytester,
            """
            import pytest

            @pytest.mark.parametrize("time", [1, 2])
            def test_it(time, run_hook, project, tmp_path):
                result = run_hook(command="mktemp; ls -A $TMPDIR | grep -vc ^claude-")
                made, count = result.stdout.split()
                assert made.startswith(f"{tmp_path}/tmp/")
                assert count == "1"
                assert list(project.path.iterdir()) == []
            """,
            passed=2,
        )


class TestNetwork:
    @pytest.fixture
    def server(self) -> Any:
        with socket.create_server(("127.0.0.1", 0)) as server:
            yield server.getsockname()[1]

    REACHES = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5)"

    @pytest.mark.parametrize(
        ("setting", "alone"), [("", True), ("taskie_network = false", True), ("taskie_network = true", False)]
    )
    def test_a_hook_reaches_nobody_unless_it_may(
        self, setting: str, alone: bool, server: int, pytester: pytest.Pytester
    ) -> None:
        if alone and _offline.why_not():
            pytest.skip(f"no network can be made here: {_offline.why_not()}")
        passes(
            pytester,
            f"""
            import os

            def test_it(run_hook):
                result = run_hook(command=["python3", "-c", {self.REACHES!r}, "{server}"])
                assert result.exit_code == {int(alone)}, result.report()
                assert ("refused" in result.stderr) == {alone}
                if {alone}:
                    up = run_hook(command="cat /proc/net/dev").stdout
                    assert [line.split(":")[0].strip() for line in up.splitlines()[2:]] == ["lo"]
                assert run_hook(command="echo words; exit 3").exit_code == 3
                assert run_hook(command="id -u").stdout.strip() == str(os.getuid())
                assert run_hook(command="id -u").command == "id -u"
                assert run_hook(command="echo $PPID").stdout.strip() == str(os.getpid())
            """,
            setting,
        )

    def test_it_serves_itself(self, run_hook: RunHook) -> None:
        serves = "import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname())"
        assert run_hook(command=["python3", "-c", serves]).exit_code == 0

    def test_one_network_for_all_hooks_of_a_process(self, run_hook: RunHook) -> None:
        """To make one for each took a hundred times as long."""
        names = {run_hook(command="readlink /proc/self/ns/net").stdout for _ in range(3)}
        assert len(names) == 1

    def test_it_is_the_network_of_nobody_else(self) -> None:
        if _offline.why_not():
            pytest.skip(f"no network can be made here: {_offline.why_not()}")
        name = ["readlink", "/proc/self/ns/net"]
        others = (
            f"from pytest_taskie._offline import entrance; import subprocess; subprocess.run([*entrance(), *{name}])"
        )
        asked = name, [*_offline.entrance(), *name], [sys.executable, "-c", others]
        assert len({subprocess.run(one, capture_output=True, check=True).stdout for one in asked}) == 3

    def test_nobody_stays_to_keep_it(self) -> None:
        """Its maker ends at once: no process is left for a killed test run to leave behind."""
        if _offline.why_not():
            pytest.skip(f"no network can be made here: {_offline.why_not()}")
        code = "from pytest_taskie import _offline as o; import os; o.entrance(); os.waitpid(-1, 0)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "ChildProcessError" in done.stderr

    @pytest.fixture
    def unable(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = hide(os.environ["PATH"].split(os.pathsep), ["nsenter"], tmp_path / "shadows")
        monkeypatch.setenv("PATH", os.pathsep.join(path))

    @pytest.mark.usefixtures("unable")
    def test_where_none_can_be_made_the_run_says_so(self, pytester: pytest.Pytester) -> None:
        test = "def test_it(run_hook): assert run_hook(command='exit 3').exit_code == 3"
        outcome = passes(pytester, test)
        outcome.stdout.fnmatch_lines(["taskie: hooks have this machine's network, since no other*: nsenter*PATH"])
        assert "network" not in passes(pytester, test, "taskie_network = true").stdout.str()

    @pytest.mark.usefixtures("unable")
    def test_where_one_is_wanted_and_none_can_be_made_the_test_fails(self, pytester: pytest.Pytester) -> None:
        test = "def test_it(run_hook): run_hook(command='true')"
        outcome = passes(pytester, test, "taskie_network = false", failed=1)
        outcome.stdout.fnmatch_lines(["*taskie_network = false, but*: nsenter*PATH*"])

    def test_other_systems_have_none(self) -> None:
        code = "import sys; sys.platform = 'other'; from pytest_taskie import _offline; print(_offline.why_not())"
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert told.stdout == "other has no network namespaces\n"


class TestDisk:
    def test_a_file_has_a_largest_size(
        self, run_hook: RunHook, project: Project, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(_processes, "LARGEST_FILE", 1 << 20)
        result = run_hook(command="head -c 3000000 /dev/zero > large; head -c 1000 /dev/zero > small")
        assert (project.path / "large").stat().st_size == 1 << 20
        assert (project.path / "small").stat().st_size == 1000
        assert result.exit_code == 0
        assert subprocess.run("head -c 3000000 /dev/zero | cat > ours", shell=True, cwd=project.path, check=True)
        assert (project.path / "ours").stat().st_size == 3000000, "the tests themselves have no such limit"

    def test_a_gigabyte(self, run_hook: RunHook) -> None:
        limit = run_hook(command=["bash", "-c", "ulimit -Sf"]).stdout.strip()
        assert limit == str((1 << 30) // 1024)

    def test_a_smaller_limit_of_the_users_stays(self, pytester: pytest.Pytester) -> None:
        pytester.makepyfile(
            """
            def test_it(run_hook):
                assert run_hook(command=["bash", "-c", "ulimit -Sf"]).stdout.strip() == "5000"
            """
        )
        shell = f"ulimit -f 5000; exec {sys.executable} -m pytest -q {pytester.path}"
        assert subprocess.run(["bash", "-c", shell], cwd=pytester.path, check=False).returncode == 0


class TestAwkwardPath:
    # The fault: the variable is not in quotes.
    UNQUOTED, QUOTED = "cd $CLAUDE_PROJECT_DIR && echo ok", 'cd "$CLAUDE_PROJECT_DIR" && echo ok'
    TEST = f"""
        import pytest

        def runs(run_hook, command):
            return run_hook(command=command).stdout == "ok\\n"

        {{marker}}
        def test_it(run_hook, project, events):
            assert " " in str(project.path) and "'" in str(project.path)
            assert not runs(run_hook, {UNQUOTED!r})
            assert runs(run_hook, {QUOTED!r})
            event = events.stop()
            assert event["cwd"] == str(project.path)
            assert project.git("status", "--short") == ""
        """

    @pytest.mark.parametrize("way", ["marker", "setting"])
    def test_by_marker_or_setting(self, way: str, pytester: pytest.Pytester) -> None:
        marker = "@pytest.mark.taskie_awkward_path" if way == "marker" else ""
        ini = "taskie_awkward_path = true" if way == "setting" else "addopts = --strict-markers"
        passes(pytester, self.TEST.format(marker=marker), ini)

    def test_not_by_default_nor_where_a_test_does_without(self, pytester: pytest.Pytester) -> None:
        test = """
            import pytest
            {}
            def test_it(project):
                assert project.path.name == "project"
            """
        passes(pytester, test.format(""))
        passes(pytester, test.format("@pytest.mark.taskie_awkward_path(False)"), "taskie_awkward_path = true")

    @pytest.mark.parametrize(
        ("body", "runs"),
        [
            ('. "$(dirname "$0")/../lib/words.sh"', True),
            (". $(dirname $0)/../lib/words.sh", False),
            ('. "$CLAUDE_PLUGIN_ROOT"/lib/words.sh', True),
            (". $CLAUDE_PLUGIN_ROOT/lib/words.sh", False),
        ],
    )
    def test_the_plugins_path_is_awkward_too(self, body: str, runs: bool, pytester: pytest.Pytester) -> None:
        pytester.mkdir("hooks").joinpath("stop.sh").write_text(f"#!/bin/sh\n{body}\n")
        (pytester.path / "hooks" / "stop.sh").chmod(0o755)
        pytester.mkdir("lib").joinpath("words.sh").write_text("echo ok\n")
        passes(
            pytester,
            f"""
            def test_it(run_hook):
                assert (run_hook().stdout == "ok\\n") is {runs}
            """,
            "taskie_hook = hooks/stop.sh\ntaskie_awkward_path = true",
        )


class TestPluginRoot:
    def plugin(self, pytester: pytest.Pytester) -> Path:
        """A plugin inside a larger repository."""
        root = pytester.path / "plugins" / "mine"
        (root / ".claude-plugin").mkdir(parents=True)
        (root / ".claude-plugin" / "plugin.json").write_text('{"name": "my-plugin"}')
        (root / "stop.sh").write_text('#!/bin/sh\necho "$CLAUDE_PLUGIN_ROOT $CLAUDE_PLUGIN_DATA"\n')
        (root / "stop.sh").chmod(0o755)
        return root

    @pytest.mark.parametrize(
        "command", ['"${CLAUDE_PLUGIN_ROOT}"/stop.sh', "echo $CLAUDE_PLUGIN_ROOT $CLAUDE_PLUGIN_DATA"]
    )
    def test_a_setting_names_it(self, command: str, pytester: pytest.Pytester) -> None:
        root = self.plugin(pytester)
        passes(
            pytester,
            f"""
            from pathlib import Path

            def test_it(run_hook, project):
                for result in (run_hook(), run_hook(command={command!r})):
                    root, data = result.stdout.split()
                    assert root == {str(root)!r}
                    assert data == str(project.home / ".claude/plugins/data/my-plugin-inline")
                    assert Path(data).is_dir()
            """,
            "taskie_hook = plugins/mine/stop.sh\ntaskie_plugin_root = plugins/mine",
        )

    def test_a_line_of_hooks_json_runs_as_it_stands(self, pytester: pytest.Pytester) -> None:
        self.plugin(pytester)
        passes(
            pytester,
            f"""
            def test_it(run_hook):
                result = run_hook(command='"${{CLAUDE_PLUGIN_ROOT}}"/plugins/mine/stop.sh')
                assert result.stdout.split()[0] == {str(pytester.path)!r}
                assert run_hook(command="echo $CLAUDE_PLUGIN_DATA").stdout == "\\n", "a hook of the settings"
            """,
        )

    def test_one_that_is_not_there(self, pytester: pytest.Pytester) -> None:
        result = passes(
            pytester, "def test_it(run_hook): run_hook(command='true')", "taskie_plugin_root = nowhere", errors=1
        )
        result.stdout.fnmatch_lines(["*taskie_plugin_root*nowhere*is not a directory*"])


class TestEnvFile:
    def test_what_a_hook_exports_reaches_the_agents_commands(
        self, run_hook: RunHook, events: Events, project: Project
    ) -> None:
        say = 'echo \'export NAME="a b"\' >> "$CLAUDE_ENV_FILE"'
        assert run_hook(events.session_start(), command=say).exit_code == 0
        assert project.bash("echo $NAME; env | grep ^NAME") == "a b\nNAME=a b\n"
        assert run_hook(command="echo $NAME").stdout == "\n", "but not the next hook"

    @pytest.mark.parametrize("name", ["Stop", "PreToolUse", "SessionEnd"])
    def test_other_events_have_none(self, name: str, run_hook: RunHook, events: Events) -> None:
        assert run_hook(events.build(name), command="echo $CLAUDE_ENV_FILE").stdout == "\n"
