"""Our hook in the text of a settings file: what is not ours keeps every byte."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from taskie.setup import layout
from taskie.setup.settings import Uneditable, enabled_plugin, fresh, handlers, install, load, ours, script_of, uninstall

HOOK = {"type": "command", "command": "exec /new/hooks/stop-hook.sh --fail-open", "timeout": 600, "statusMessage": "…"}
GROUP = {"hooks": [HOOK]}
OLD = {"type": "command", "command": "exec '/an old/hooks/stop-hook.sh' --fail-open", "timeout": 60}
OTHER = {"type": "command", "command": "make lint"}
GROUPS = {"Stop": GROUP}
BEFORE = {"type": "command", "command": "exec /new/hooks/stop-hook.sh --pre-tool-use", "timeout": 30}
BOTH: dict[str, dict[str, Any]] = {"PreToolUse": {"matcher": "Edit|Write", "hooks": [BEFORE]}, **GROUPS}


def stop(*groups: Any, **more: Any) -> dict[str, Any]:
    return {"hooks": {"Stop": list(groups), **more}}


# Documents that are as they were, to the byte, after our hook has come and gone.
TEXTS = {
    "one line": '{"model": "opus"}',
    "no blanks": '{"a":1,"b":[1,2]}',
    "two blanks": '{\n  "model": "opus",\n  "env": {"A": "b"}\n}\n',
    "four blanks": '{\n    "model": "opus"\n}',
    "tabs": '{\n\t"model": "opus"\n}\n\n',
    "CRLF": '{\r\n  "model": "opus"\r\n}\r\n',
    "no newline at the end": '{\n  "a": 1\n}',
    "blanks around": '\n \t {\n  "a": 1\n}  \n',
    "byte order mark": '\ufeff{\n  "a": 1\n}\n',
    "spelling of numbers and strings": '{\n  "a": 1.10, "b": 1e400,\n  "c": "\\u00e9é\\/", "d": -0\n}',
    "comma first": '{\n    "a": 1\n  , "b": 2\n}',
    "another event": '{\n  "hooks": {\n    "PreToolUse": []\n  }\n}\n',
    "another stop hook": json.dumps(stop({"hooks": [OTHER]}), indent=2),
    "another stop hook on one line": json.dumps(stop({"hooks": [OTHER]})),
    "one line inside many": '{\n  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}\n}\n',
    "a key twice": '{"hooks": {"Stop": 5}, "a": 1, "hooks": {"Stop": [{"hooks": []}]}}',
    "strings with brackets": '{"a": "}],{\\"", "b": ["]"]}',
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_install_then_uninstall_gives_back_every_byte(text: str) -> None:
    with_hook = install(text, GROUPS)
    assert handlers(load(with_hook)) == [HOOK]
    assert install(with_hook, GROUPS) == with_hook
    assert uninstall(with_hook) == text
    assert uninstall(text) == text


@pytest.mark.parametrize(
    "name", [name for name in TEXTS if name != "another event"]
)  # an empty list does not outlive its first entry
def test_two_events_too(name: str) -> None:
    text = TEXTS[name]
    with_hooks = install(text, BOTH)
    assert ours(load(with_hooks)) == BOTH
    assert install(with_hooks, BOTH) == with_hooks
    assert uninstall(with_hooks) == text


def test_one_event_more_leaves_the_other_alone() -> None:
    one = install('{\n  "a": 1\n}\n', GROUPS)
    assert uninstall(install(one, BOTH)) == uninstall(one)
    assert load(install(one, BOTH))["hooks"]["Stop"] == [GROUP]


@pytest.mark.parametrize("text", TEXTS.values(), ids=list(TEXTS))
def test_install_only_inserts(text: str) -> None:
    with_hook = install(text, GROUPS)
    shared = next(at for at, (a, b) in enumerate(zip(text + "\0", with_hook)) if a != b)
    assert with_hook.endswith(text[shared:])


@pytest.mark.parametrize("newline", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("indent", ["  ", "    ", "\t"])
def test_laid_out_like_its_neighbours(indent: str, newline: str) -> None:
    def written(document: object) -> str:
        return json.dumps(document, indent=indent, ensure_ascii=False).replace("\n", newline)

    before: dict[str, Any] = {"model": "opus", "permissions": {"allow": ["Bash"]}}
    assert install(written(before), GROUPS) == written({**before, **stop(GROUP)})
    before["hooks"] = {"PreToolUse": [{"hooks": [OTHER]}]}
    after = {**before, "hooks": {**before["hooks"], "Stop": [GROUP]}}
    assert install(written(before), GROUPS) == written(after)
    before["hooks"] = {"Stop": [{"hooks": [OTHER]}]}
    after = {**before, "hooks": {"Stop": [{"hooks": [OTHER]}, GROUP]}}
    assert install(written(before), GROUPS) == written(after)
    assert install(written({**before, "hooks": {"Stop": []}}), GROUPS) == written({**before, **stop(GROUP)})
    assert install(written({**before, "hooks": {}}), GROUPS) == written({**before, **stop(GROUP)})


def test_on_one_line_it_stays_one_line() -> None:
    assert install('{"a": 1}', GROUPS) == f'{{"a": 1, {json.dumps(stop(GROUP), ensure_ascii=False)[1:]}'
    assert install('{"a":1,"b":2}', GROUPS) == f'{{"a":1,"b":2,{json.dumps(stop(GROUP), ensure_ascii=False)[1:]}'
    assert install('{"hooks": {}}', GROUPS) == json.dumps(stop(GROUP), ensure_ascii=False)


@pytest.mark.parametrize("text", ["", "  \n", "{}", "{}\n", "{ }", "{\n}\n"])
def test_an_empty_file_becomes_a_readable_one(text: str) -> None:
    assert install(text, GROUPS).rstrip("\n") == fresh(GROUPS).rstrip("\n")
    assert install(text, BOTH).rstrip("\n") == fresh(BOTH).rstrip("\n")
    assert load(uninstall(install(text, GROUPS))) == {}


class TestOlderEntries:
    def test_is_brought_up_to_date_in_its_place(self) -> None:
        text = json.dumps({**stop({"matcher": "", "hooks": [OTHER, OLD, OTHER]}), "z": 1}, indent=2)
        expected = {**stop({"matcher": "", "hooks": [OTHER, HOOK, OTHER]}), "z": 1}
        assert load(install(text, GROUPS)) == expected

    def test_what_a_person_added_to_it_stays(self) -> None:
        text = json.dumps(stop({"hooks": [{**OLD, "async": False}]}))
        assert handlers(load(install(text, GROUPS))) == [{**HOOK, "async": False}]

    def test_several_become_one(self) -> None:
        text = json.dumps(stop({"hooks": [OLD, OTHER, OLD]}, {"hooks": [HOOK]}, {"hooks": [OTHER]}), indent=2)
        assert load(install(text, GROUPS)) == stop({"hooks": [HOOK, OTHER]}, {"hooks": [OTHER]})

    def test_one_that_is_right_is_not_written_again(self) -> None:
        odd = json.dumps(stop({"hooks": [dict(reversed(HOOK.items()))]}), separators=(" ,", " : "))
        assert install(odd, GROUPS) == odd

    @pytest.mark.parametrize(
        ("command", "script"),
        [
            ("exec /a/hooks/stop-hook.sh --fail-open", "/a/hooks/stop-hook.sh"),
            ("exec '/a b/hooks/stop-hook.sh' --fail-open", "/a b/hooks/stop-hook.sh"),
            ("/a/hooks/stop-hook.sh --fail-open", "/a/hooks/stop-hook.sh"),
            ('exec "${CLAUDE_PLUGIN_ROOT}"/hooks/stop-hook.sh --fail-open', "${CLAUDE_PLUGIN_ROOT}/hooks/stop-hook.sh"),
            ("exec /a/hooks/stop-hook.sh", None),
            ("exec /a/hooks/stop-hook.sh --verbose", None),
            ("/a/hooks/stop-hook.sh --fail-open && make", None),
            ("/a/myhooks/stop-hook.sh --fail-open", None),
            ("echo 'unclosed", None),
            ("", None),
            (5, None),
            (None, None),
        ],
    )
    def test_which_commands_are_ours(self, command: object, script: str | None) -> None:
        assert script_of({"type": "command", "command": command}) == script
        assert script_of([command]) is None
        assert script_of({"type": "command", "command": command}, "PreToolUse") is None

    def test_a_command_is_ours_for_its_own_event(self) -> None:
        assert script_of(BEFORE, "PreToolUse") == "/new/hooks/stop-hook.sh"
        assert script_of(BEFORE) is None


class TestUninstall:
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            (stop({"hooks": [OTHER, HOOK]}), stop({"hooks": [OTHER]})),
            (stop({"hooks": [HOOK, OTHER]}), stop({"hooks": [OTHER]})),
            (stop({"matcher": "x", "hooks": [HOOK]}, {"hooks": [OTHER]}), stop({"hooks": [OTHER]})),
            (stop(GROUP, PreToolUse=[]), {"hooks": {"PreToolUse": []}}),
            ({"a": 1, **stop(GROUP), "b": 2}, {"a": 1, "b": 2}),
            ({**stop(GROUP), "b": 2}, {"b": 2}),
            (stop(GROUP, GROUP, {"hooks": [OLD, OLD]}), {}),
            (stop(GROUP, PreToolUse=[BOTH["PreToolUse"]]), {}),
            (stop({"hooks": [BEFORE]}), stop({"hooks": [BEFORE]})),
            (stop(), stop()),
            ({}, {}),
        ],
    )
    @pytest.mark.parametrize("indent", [None, 2])
    def test_takes_out_ours_and_what_held_nothing_else(self, before: Any, after: Any, indent: int | None) -> None:
        assert uninstall(json.dumps(before, indent=indent)) == json.dumps(after, indent=indent)

    def test_blank(self) -> None:
        assert uninstall(" \n") == " \n"


class TestUneditable:
    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("{", "is not valid JSON: .* at line 1 column 2"),
            ('{\n  "a": 1,\n}', "is not valid JSON: .* at line [23] column"),
            ('// comment\n{"a": 1}', "has a comment, at line 1 column 1; only JSON without comments can be edited"),
            ('{"a": 1, /* x */ "b": 2}', "has a comment, at line 1 column 10"),
            ('{"a": 1}\n{"b": 2}', "is not valid JSON: Extra data at line 2 column 1"),
            ('{"a": NaN}', "is not valid JSON: NaN is not JSON"),
            ("[" * 100_000, "is not valid JSON: "),
            ("\n [1]", "must be a JSON object, at line 2 column 2"),
            ("null", "must be a JSON object, at line 1 column 1"),
            ('\ufeff"x"', "must be a JSON object, at line 1 column 1"),
            ('{\n "hooks": []}', "hooks must be an object, at line 2 column 11"),
            ('{"hooks": null}', "hooks must be an object, at line 1 column 11"),
            ('{"hooks": {\n"Stop": {}}}', r"hooks\.Stop must be a list, at line 2 column 9"),
            ('{"hooks": {"Stop": [{"hooks": []},\n "x"]}}', r"hooks\.Stop\[1\] must be an object, at line 2 column 2"),
            ('{"hooks": {"Stop": [\n{}]}}', r"hooks\.Stop\[0\] has no list of hooks, at line 2 column 1"),
            ('{"hooks": {"Stop": [{"hooks": {}}]}}', r"Stop\[0\]\.hooks must be a list, at line 1 column 31"),
            ('{"hooks": {"Stop": [{"hooks": [1]}]}}', r"hooks\[0\] must be an object, at line 1 column 32"),
            ('{"hooks": {"PreToolUse": 5}}', r"hooks\.PreToolUse must be a list, at line 1 column 26"),
        ],
    )
    def test_says_where(self, text: str, message: str) -> None:
        with pytest.raises(Uneditable, match=message):
            install(text, BOTH)
        with pytest.raises(Uneditable, match=message):
            uninstall(text)


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        ({"taskie@taskie": True}, ("taskie@taskie", True)),
        ({"taskie@a": False, "taskie@b": True}, ("taskie@b", True)),
        ({"taskie@a": False}, ("taskie@a", False)),
        ({"taskie@a": ["^1"]}, ("taskie@a", True)),
        ({"other@taskie": True, "taskies@x": True}, None),
        ({}, None),
        (["taskie@taskie"], None),
        (None, None),
    ],
)
def test_enabled_plugin(plugins: object, expected: object) -> None:
    assert enabled_plugin({"enabledPlugins": plugins}) == expected


@pytest.mark.parametrize("odd", [5, [], {"Stop": 5}, {"Stop": [5]}, {"Stop": [{}]}, {"Stop": [{"hooks": [5]}]}])
def test_settings_of_another_shape_hold_none_of_ours(odd: object) -> None:
    assert handlers({"hooks": odd}) == []
    assert ours({"hooks": odd}) == {}


class _Documents:
    """Random settings in random layouts."""

    def __init__(self, number: int) -> None:
        self._random = random.Random(number)

    def settings(self) -> dict[str, Any]:
        found = {f"k{n}": self._value(2) for n in range(self._random.randrange(3))}
        if self._random.random() < 0.7:
            found["hooks"] = {}
            if self._random.random() < 0.5:
                found["hooks"]["SubagentStop"] = self._value(2)
            for event in BOTH:
                if self._random.random() < 0.7:
                    found["hooks"][event] = [self._group() for _ in range(self._random.randrange(3))]
        names = list(found)
        self._random.shuffle(names)
        return {name: found[name] for name in names}

    def _group(self) -> dict[str, Any]:
        inside = [self._random.choice((OTHER, OTHER, OLD, HOOK, BEFORE)) for _ in range(self._random.randrange(3))]
        return {"hooks": inside, **({"matcher": "*"} if self._random.random() < 0.3 else {})}

    def _value(self, depth: int) -> Any:
        if depth and self._random.random() < 0.5:
            many = range(self._random.randrange(3))
            if self._random.random() < 0.5:
                return [self._value(depth - 1) for _ in many]
            return {f"é{n}": self._value(depth - 1) for n in many}
        return self._random.choice(('a\n"b\\', 1, 1.5, None, True, "{]", -0.0))

    def text(self, value: Any) -> str:
        """With blanks of all kinds in every place where there may be some."""
        return f"{self._blank()}{self._written(value)}{self._blank()}"

    def _blank(self) -> str:
        return self._random.choice(("", "", " ", "\n  ", "\r\n\t", "\n"))

    def _written(self, value: Any) -> str:
        if isinstance(value, dict):
            pairs = [f"{json.dumps(k)}{self._blank()}:{self._blank()}{self._written(v)}" for k, v in value.items()]
            return "{" + self._joined(pairs) + "}"
        if isinstance(value, list):
            return "[" + self._joined([self._written(v) for v in value]) + "]"
        return json.dumps(value, ensure_ascii=self._random.random() < 0.5)

    def _joined(self, parts: list[str]) -> str:
        return ",".join(f"{self._blank()}{part}{self._blank()}" for part in parts) or self._blank()


def without_ours(settings: dict[str, Any]) -> Any:
    """What remains, said independently of the code: no handler of ours, and no container that is empty then."""
    found = json.loads(json.dumps(settings))
    hooks = found.get("hooks", {})
    for event in BOTH:
        for group in hooks.get(event, []):
            group["hooks"] = [each for each in group["hooks"] if not script_of(each, event)]
        hooks[event] = [group for group in hooks.get(event, []) if group["hooks"]]
        if not hooks[event]:
            del hooks[event]
    return {k: v for k, v in found.items() if k != "hooks" or v}


@pytest.mark.parametrize("number", range(300))
def test_any_document(number: int) -> None:
    documents = _Documents(number)
    before = documents.settings()
    text = documents.text(before)
    with_hook = install(text, BOTH)
    assert [handlers(load(with_hook), event) for event in BOTH] == [[BEFORE], [HOOK]]
    assert without_ours(load(with_hook)) == without_ours(before)
    assert install(with_hook, BOTH) == with_hook
    bare = uninstall(with_hook)
    assert not ours(load(bare))
    assert without_ours(load(bare)) == without_ours(before)
    assert uninstall(bare) == bare


@pytest.mark.parametrize("text", ["[1,\n 2]", '{"a": [],\n"b": {}}'])
def test_children_lie_where_they_are_said_to(text: str) -> None:
    for child in layout.children(text, 0):
        assert json.loads(text[child.value : child.end]) == layout.value_of(text, child)
        assert child.key is None or text[child.start :].startswith(json.dumps(child.key))
