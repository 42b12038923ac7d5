"""What the pre-check finds in Python files, what it leaves alone, and what the project's own script adds."""

from __future__ import annotations

import os
import sys
import textwrap
from pathlib import Path

import pytest

from autopilot.conftest import note_on
from taskie.autopilot import pre_check


def found(root: Path, *files: str) -> list[str]:
    """The findings, where there must be no note."""
    lines, notes = pre_check.findings(str(root), files)
    assert notes == []
    return lines


def found_in(root: Path, text: str | bytes, name: str = "a.py") -> list[str]:
    """File, line and check of every finding in one file with this text."""
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return [line.partition("]")[0] + "]" for line in found(root, name)]


def handler(head: str, body: str = "pass") -> str:
    return f"try:\n    pass\n{head}\n{textwrap.indent(body, '    ')}\n"


class TestTodo:
    @pytest.mark.parametrize(
        "comment",
        [
            "# TODO", "# FIXME", "#TODO", "#   todo: later", "#\tFixMe(me)", "# Todo", "## TODO", "# noqa # TODO",
            "# noqa#fixme",
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("code", ["", "y = 2  ", "    "], ids=["alone", "after code", "indented"])
    def test_a_comment_is_found(self, tmp_path: Path, comment: str, code: str) -> None:
        assert found_in(tmp_path, f"x = 1\n{code}{comment}\n") == ["a.py:2: [TODO]"]

    @pytest.mark.parametrize(
        "line",
        [
            "x = '# TODO'", "x = '''\n# TODO\n'''", "# TODOS", "# TODO_LIST", "# FIXME2", "# nothing to do",
            "# see TODO", "# AUTODO", "todo = fixme = 1",
        ],
    )  # fmt: skip
    def test_what_is_none(self, tmp_path: Path, line: str) -> None:
        assert found_in(tmp_path, f"{line}\n") == []

    def test_two_in_one_comment_are_one_finding(self, tmp_path: Path) -> None:
        assert found_in(tmp_path, "# TODO # FIXME\n") == ["a.py:1: [TODO]"]

    def test_the_message_says_which_word(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("x = 1  # fixme: y\n")
        assert found(tmp_path, "a.py") == ["a.py:1: [TODO] FIXME is left in a comment: do it or drop it"]

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
    def test_lines_are_counted_as_an_editor_does(self, tmp_path: Path, end: str) -> None:
        text = end.join(["x = 1", "\f", "", "y = '\\f'", "# TODO", ""])
        assert found_in(tmp_path, text.encode()) == ["a.py:5: [TODO]"]


class TestExcept:
    @pytest.mark.parametrize(
        "head",
        [
            "except:", "except Exception:", "except Exception as error:", "except BaseException:",
            "except (ValueError, Exception):", "except (BaseException,) as error:", "except builtins.Exception:",
            "except (OSError, builtins.BaseException):",
        ],
    )  # fmt: skip
    def test_a_handler_that_takes_everything_and_raises_nothing(self, tmp_path: Path, head: str) -> None:
        assert found_in(tmp_path, handler(head)) == ["a.py:3: [EXCEPT]"]

    @pytest.mark.parametrize(
        "head",
        [
            "except ValueError:", "except (OSError, ValueError):", "except other.Exception:", "except ():",
            "except builtins.OSError:", "except MyException:", "except Exception():", "except a.builtins.Exception:",
        ],
    )  # fmt: skip
    def test_a_handler_that_names_its_errors(self, tmp_path: Path, head: str) -> None:
        assert found_in(tmp_path, handler(head)) == []

    @pytest.mark.parametrize(
        "body",
        [
            "raise", "raise Other() from None", "if x:\n    raise", "for x in y:\n    with z:\n        raise",
            "try:\n    raise\nfinally:\n    pass", "log()\nraise",
        ],
        ids=["bare", "another error", "under a condition", "deep inside", "in a try", "at the end"],
    )  # fmt: skip
    def test_a_handler_that_raises(self, tmp_path: Path, body: str) -> None:
        assert found_in(tmp_path, handler("except Exception:", body)) == []

    @pytest.mark.parametrize(
        "body",
        [
            "def f():\n    raise", "async def f():\n    raise", "class A:\n    raise", "x = lambda: fail()",
            "if x:\n    def f():\n        raise", "'raise'  # raise",
        ],
        ids=["function", "coroutine", "class", "lambda", "nested function", "string and comment"],
    )  # fmt: skip
    def test_a_raise_that_is_not_the_handlers_own(self, tmp_path: Path, body: str) -> None:
        assert found_in(tmp_path, handler("except Exception:", body)) == ["a.py:3: [EXCEPT]"]

    @pytest.mark.parametrize("body", ["def f():\n    pass\nraise", "if x:\n    raise\ndef f():\n    pass"])
    def test_a_raise_beside_a_function_counts(self, tmp_path: Path, body: str) -> None:
        assert found_in(tmp_path, handler("except Exception:", body)) == []

    def test_a_raise_elsewhere_does_not_count(self, tmp_path: Path) -> None:
        text = "try:\n    raise ValueError\nexcept Exception:\n    pass\nelse:\n    raise\nfinally:\n    raise\n"
        assert found_in(tmp_path, text) == ["a.py:3: [EXCEPT]"]

    def test_every_handler_is_looked_at(self, tmp_path: Path) -> None:
        inner = textwrap.indent(handler("except:"), "        ")
        text = f"class A:\n    def f(self):\n{inner}\n{handler('except ValueError:')}{handler('except Exception:')}"
        assert found_in(tmp_path, text) == ["a.py:5: [EXCEPT]", "a.py:14: [EXCEPT]"]

    def test_one_text_is_not_a_handler(self, tmp_path: Path) -> None:
        assert found_in(tmp_path, "x = '''\ntry:\n    pass\nexcept:\n    pass\n'''\n") == []

    @pytest.mark.skipif(sys.version_info < (3, 11), reason="except* is new in Python 3.11")
    def test_a_group_of_exceptions(self, tmp_path: Path) -> None:
        assert found_in(tmp_path, handler("except* Exception:")) == ["a.py:3: [EXCEPT]"]

    def test_the_message_helps(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text(handler("except:"))
        said = "this handler catches every error and raises none: name the errors that you expect, or raise again"
        assert found(tmp_path, "a.py") == [f"a.py:3: [EXCEPT] {said}"]


class TestLength:
    @pytest.mark.parametrize("name", ["a.py", "src/contest.py", "mytests/a.py", "tests.py", "src/a_tests.py"])
    def test_code(self, tmp_path: Path, name: str) -> None:
        assert found_in(tmp_path, "x = 1\n" * 400, name) == []
        assert found_in(tmp_path, "x = 1\n" * 401, name) == [f"{name}:401: [LOC]"]

    @pytest.mark.parametrize("name", ["test_a.py", "a_test.py", "tests/a.py", "src/tests/deep/a.py", "src/test_a.py"])
    def test_tests(self, tmp_path: Path, name: str) -> None:
        assert found_in(tmp_path, "x = 1\n" * 600, name) == []
        assert found_in(tmp_path, "x = 1\n" * 601, name) == [f"{name}:601: [LOC]"]

    def test_directories_above_the_root_do_not_matter(self, tmp_path: Path) -> None:
        root = tmp_path / "tests" / "project"
        assert found_in(root, "x = 1\n" * 401) == ["a.py:401: [LOC]"]
        assert len(found(root, str(root / "a.py"))) == 1

    def test_blank_lines_and_comments_count(self, tmp_path: Path) -> None:
        assert found_in(tmp_path, "#\n\n" * 200 + "\n") == ["a.py:401: [LOC]"]

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=["LF", "CRLF", "CR"])
    def test_every_line_ending(self, tmp_path: Path, end: str) -> None:
        assert found_in(tmp_path, f"x = 1{end}".encode() * 400) == []
        assert found_in(tmp_path, f"x = 1{end}".encode() * 400 + b"x = 1") == ["a.py:401: [LOC]"]

    @pytest.mark.parametrize("char", ["\f", "\v", "\x1c", "\x85", "\u2028"])
    def test_other_separators_end_no_line(self, tmp_path: Path, char: str) -> None:
        assert found_in(tmp_path, f"# {char}\n" * 400) == []

    def test_the_message_says_how_long_it_is(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("\n" * 500)
        assert found(tmp_path, "a.py") == ["a.py:401: [LOC] 500 lines, 400 are allowed for code: split the file"]


class TestFiles:
    def test_findings_are_in_the_order_of_the_files_then_of_the_lines(self, tmp_path: Path) -> None:
        text = handler("except:") + "# TODO\n" + "\n" * 400 + "# FIXME\n"
        assert found_in(tmp_path, text, "b.py") == [
            "b.py:3: [EXCEPT]", "b.py:5: [TODO]", "b.py:401: [LOC]", "b.py:406: [TODO]",
        ]  # fmt: skip
        (tmp_path / "a.py").write_text("# TODO\n")
        assert [line[:4] for line in found(tmp_path, "b.py", "a.py")] == ["b.py"] * 4 + ["a.py"]

    @pytest.mark.parametrize("name", ["a.txt", "a.pyi", "a.PY", "py", "a.py.orig"])
    def test_only_python_files(self, tmp_path: Path, name: str) -> None:
        assert found_in(tmp_path, "# TODO\n", name) == []

    @pytest.mark.parametrize("name", ["missing.py", "", "nul\0.py", "no/where/a.py", "x" * 5000 + ".py"])
    def test_a_missing_file_is_skipped(self, tmp_path: Path, name: str) -> None:
        assert found(tmp_path, name) == []

    def test_a_directory_is_skipped(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").mkdir()
        assert found(tmp_path, "a.py") == []

    def test_a_fifo_is_skipped(self, tmp_path: Path) -> None:
        os.mkfifo(tmp_path / "a.py")
        (tmp_path / "link.py").symlink_to("a.py")
        assert found(tmp_path, "a.py", "link.py") == []

    def test_a_link_inside_the_root_is_followed(self, tmp_path: Path) -> None:
        (tmp_path / "real").write_text("# TODO\n")
        (tmp_path / "link.py").symlink_to("real")
        assert found(tmp_path, "link.py") == ["link.py:1: [TODO] TODO is left in a comment: do it or drop it"]

    @pytest.mark.parametrize("name", ["link.py", "folder/out.py", "../out.py", "loop.py", "dangling.py"])
    def test_what_leads_out_of_the_root_is_skipped(self, tmp_path: Path, name: str) -> None:
        (tmp_path / "out.py").write_text("# TODO\n")
        root = tmp_path / "root"
        root.mkdir()
        (root / "link.py").symlink_to(tmp_path / "out.py")
        (root / "folder").symlink_to(tmp_path)
        (root / "loop.py").symlink_to("loop.py")
        (root / "dangling.py").symlink_to("nothing.py")
        assert found(root, name) == []

    def test_a_directory_whose_name_begins_as_the_roots_is_outside(self, tmp_path: Path) -> None:
        (tmp_path / "root").mkdir()
        assert found_in(tmp_path, "# TODO\n", "root-2/a.py") == ["root-2/a.py:1: [TODO]"]
        assert found(tmp_path / "root", "../root-2/a.py") == []

    def test_an_absolute_name_is_shown_as_given(self, tmp_path: Path) -> None:
        assert found_in(tmp_path, "# TODO\n", str(tmp_path / "a.py")) == [f"{tmp_path}/a.py:1: [TODO]"]

    def test_a_root_behind_a_link(self, tmp_path: Path) -> None:
        root = tmp_path / "tests"
        root.mkdir()
        (tmp_path / "link").symlink_to("tests")
        assert found_in(root, "\n" * 401) == ["a.py:401: [LOC]"]
        assert len(found(tmp_path / "link", "a.py", str(root / "a.py"), str(tmp_path / "link" / "a.py"))) == 3

    def test_a_hostile_name_stays_on_one_line(self, tmp_path: Path) -> None:
        assert found_in(tmp_path, "# TODO\n", "a\n\x1b[31m.py") == ["a\\x0a\\x1b[31m.py:1: [TODO]"]

    def test_a_file_that_is_too_large_is_a_note(self, tmp_path: Path) -> None:
        with (tmp_path / "a.py").open("wb") as file:
            file.truncate((4 << 20) + 1)
        assert pre_check.findings(str(tmp_path), ["a.py"]) == (
            [], ["a.py was not checked: a.py is larger than 4 MB"],
        )  # fmt: skip

    def test_an_empty_file(self, tmp_path: Path) -> None:
        assert found_in(tmp_path, "") == []

    def test_a_file_that_python_warns_about(self, tmp_path: Path) -> None:
        assert found_in(tmp_path, "x = '\\d'; y = 1 is 1\n" + handler("except:")) == ["a.py:4: [EXCEPT]"]


class TestEncodings:
    @pytest.mark.parametrize(
        "data",
        [
            b"\xef\xbb\xbfx = 1  # TODO\n",
            b"# -*- coding: latin-1 -*- TODO\nx = '\xe9'  # TODO\n",
            b"# vim: set fileencoding=cp1252 :\nx = '\x80'  # TODO\n",
            "x = 'é日本'  # TODO\n".encode(),
        ],
        ids=["BOM", "latin-1", "cp1252", "UTF-8"],
    )
    def test_what_a_file_declares_is_respected(self, tmp_path: Path, data: bytes) -> None:
        line = data.count(b"\n")
        assert found_in(tmp_path, data + handler("except:").encode()) == [
            f"a.py:{line}: [TODO]", f"a.py:{line + 3}: [EXCEPT]",
        ]  # fmt: skip

    @pytest.mark.parametrize(
        "data",
        [
            b"x = 1  # TODO\ny = '\xe9'\n",
            b"# coding: nonsense\nx = 1  # TODO\n",
            b"# coding: hex\nx = 1  # TODO\n",
        ],
        ids=["not UTF-8", "unknown", "no text encoding"],
    )
    def test_a_file_that_is_not_in_its_encoding_is_a_note(self, tmp_path: Path, data: bytes) -> None:
        (tmp_path / "a.py").write_bytes(data)
        lines, notes = pre_check.findings(str(tmp_path), ["a.py"])
        assert notes == [note_on("a.py")]
        assert [line.split()[1] for line in lines] == ["[TODO]"]

    def test_a_byte_order_mark_against_the_declaration_is_a_note(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_bytes(b"\xef\xbb\xbf# coding: latin-1\nx = 1\n")
        assert pre_check.findings(str(tmp_path), ["a.py"]) == ([], [note_on("a.py")])


class TestUnparsable:
    @pytest.mark.parametrize(
        "text",
        [
            "def f(:\n", "x = \n", "x = '\0'\n", "-" * 200_000 + "1\n", "(" * 1000 + ")" * 1000 + "\n",
            "if x:\n        y\n    z\n", "print 'x'\n", "x = '''\n",
        ],
        ids=["error", "incomplete", "NUL", "nested operators", "nested brackets", "dedent", "Python 2", "open string"],
    )  # fmt: skip
    def test_it_is_a_note_and_the_other_checks_are_made(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "a.py").write_text("# TODO\n" + "\n" * 400 + text + handler("except:"))
        lines, notes = pre_check.findings(str(tmp_path), ["a.py"])
        assert notes == [note_on("a.py")]
        assert [line.partition("]")[0] for line in lines] == ["a.py:1: [TODO", "a.py:401: [LOC"]

    def test_the_next_file_is_checked_as_ever(self, tmp_path: Path) -> None:
        (tmp_path / "a.py").write_text("(\n")
        (tmp_path / "b.py").write_text(handler("except:"))
        lines, notes = pre_check.findings(str(tmp_path), ["a.py", "b.py"])
        assert notes == [note_on("a.py")]
        assert [line[:15] for line in lines] == ["b.py:3: [EXCEPT"]

    def test_a_hostile_name_in_a_note(self, tmp_path: Path) -> None:
        (tmp_path / "a\n.py").write_text("(\n")
        assert pre_check.findings(str(tmp_path), ["a\n.py"])[1] == [note_on("a\\x0a.py")]

    def test_a_handler_in_code_that_is_deeper_than_our_stack(self, tmp_path: Path) -> None:
        deep = "a" + ".b" * (sys.getrecursionlimit() + 500)
        assert found_in(tmp_path, handler("except:", deep)) == ["a.py:3: [EXCEPT]"]
