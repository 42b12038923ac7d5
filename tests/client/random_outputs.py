"""Outputs of hooks as nobody would write them: from a seed, and chosen where Python and the client might differ."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from typing import Any

from pytest_taskie._contract import contract

from .outputs import BLOCK, Output

FIELDS = contract().fields
SPECIFIC = {
    event: {name: row for name, row in contract().specific(event).items() if "." not in name}
    for event in contract().events
    if contract().specific(event)
}

# What JavaScript trims, and beside it what it does not.
BLANKS = [*" \n\t\r\v\f", "\u00a0", "\u1680", *map(chr, range(0x2000, 0x200B)), "\u2028", "\u2029"]
BLANKS += ["\u202f", "\u205f", "\u3000", "\ufeff"]
OTHERS = ["\u200b", "\u180e", "\u0085", "\x1c", "\x1f", "\x00", "\u2060", "\x7f"]
_DECISIONS: list[Any] = [
    {"behavior": "deny", "message": 5},
    {"behavior": "deny", "interrupt": "yes"},
    {"behavior": "deny", "updatedInput": 5},
    {"behavior": "allow", "updatedInput": 5},
    {"behavior": "allow", "updatedPermissions": 5},
    {"behavior": "allow", "message": 5, "interrupt": 5},
]
STDERR = ["", "", "more please", "more please: No such file", "sh: can't open it", "two\nlines\n", "  "]
EXITS = [0] * 14 + [2] * 3 + [1, 1, 3, 127]
WRONG: list[Any] = [[], {}, None, 5, True, ""]
EVENTS = [*SPECIFIC, "Nothing", "stop", "PreCompact", "SessionEnd"]


class Outputs:
    """The random outputs of one event, each with its own reason, so that none is mixed up with another."""

    def __init__(self, event: str, seed: object) -> None:
        self._event = event
        self._random = random.Random(f"{event} {seed}")
        self._number = 0

    def take(self, count: int) -> list[Output]:
        return [self._output() for _ in range(count)]

    def _output(self) -> Output:
        self._number += 1
        stdout = self._stdout()
        return Output(str(self._number), "allowed", stdout, self._stderr(), self._random.choice(EXITS))

    def _stderr(self) -> str:
        text = self._random.choice(STDERR)
        return text.replace("please", f"please e{self._number}e")

    def _stdout(self) -> str:
        chance = self._random.random()
        if chance < 0.08:
            return self._random.choice(["", " ", "\n", "more please", "null", "[]", '"block"', "5", "{", "\u3000"])
        text = self._written(self._document())
        if chance < 0.30:
            return self._mangled(text)
        return text

    def _document(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        if self._random.random() < 0.6:
            found.update(decision="block", reason=f"more please r{self._number}r")
        for name, accepted in FIELDS.items():
            if name != "hookSpecificOutput" and self._random.random() < 0.12:
                found[name] = self._value(name, accepted)
        if self._random.random() < 0.4:
            found["hookSpecificOutput"] = self._specific()
        if self._random.random() < 0.3:
            found[self._name()] = self._any()
        if self._random.random() < 0.02:
            found["async"] = self._random.choice([False, None, "true", 0])
        keys = list(found)
        self._random.shuffle(keys)
        return {key: found[key] for key in keys}

    def _specific(self) -> Any:
        if self._random.random() < 0.06:
            return self._any()
        event = self._event if self._random.random() < 0.7 else self._random.choice(EVENTS)
        found: dict[str, Any] = {"hookEventName": event if self._random.random() < 0.94 else self._any()}
        for name, accepted in SPECIFIC.get(event, {}).items():
            # With an input or an answer of its own the call would be another one.
            if self._random.random() < 0.5 and not name.startswith("updated"):
                found[name] = self._value(name, accepted)
        if self._random.random() < 0.2:
            found[self._name()] = self._any()
        return found

    def _value(self, name: str, accepted: Any) -> Any:
        if self._random.random() < 0.1:
            return self._any()
        if "values" in accepted:
            return self._random.choice(accepted["values"])
        if accepted["type"] == "boolean":
            return self._random.random() < 0.5
        if accepted["type"] == "string":
            return self._random.choice(["", f"more please {name[:4]}{self._number}s"])
        if accepted["type"] == "array of strings":
            return self._random.choice([[], ["/nowhere/x"], [5]])
        if name == "decision":
            return self._random.choice([{"behavior": "allow"}, {"behavior": "deny", "message": "no"}, {}])
        return {}

    def _name(self) -> str:
        return self._random.choice(
            ["extra", "verdict", "", "Decision", "__proto__", "constructor", "toString", "größe"]
        )

    def _any(self, depth: int = 0) -> Any:
        plain: list[Any] = [None, True, False, 0, -1, 1.5, 1e300, "", "block", "\x00", "\ud800", "🙂", [], {}]
        if depth > 3 or self._random.random() < 0.7:
            return self._random.choice(plain)
        inside = [self._any(depth + 1) for _ in range(self._random.randrange(4))]
        return inside if self._random.random() < 0.5 else {self._name(): value for value in inside}

    def _written(self, document: dict[str, Any]) -> str:
        ascii_only = self._random.random() < 0.5
        text = json.dumps(document, ensure_ascii=ascii_only, indent=self._random.choice([None, None, 1]))
        return text.encode("utf-8", "replace").decode()

    def _mangled(self, text: str) -> str:
        """Something beside it, or something inside it that Python and JavaScript might read differently."""
        blank = "".join(self._random.choice(BLANKS) for _ in range(self._random.randrange(1, 4)))
        number = self._random.choice(["1" * 5000, "-0", "1e999", "1E-9", "0.0", "01", "+1", ".5", "1.", "0x1", "NaN"])
        deep = self._random.choice([600, 1500, 3000])
        nested = self._random.choice(["[" * deep + "]" * deep, '{"a":' * deep + "1" + "}" * deep, "[" * deep])
        string = self._random.choice(["\\ud83d", "\\u00", "\\x41", "\\/", "\t", "\x7f", "\\uD800\\uDC00"])
        inner = text[1:] if len(text) > 2 else '"x":1}'
        ways: list[str] = [
            blank + text,
            text + blank,
            blank + text + blank,
            self._random.choice(OTHERS) + text,
            text + self._random.choice(OTHERS),
            f'{{"extra":{number},{inner}',
            f'{{"extra":{nested},{inner}',
            f'{{"extra":"{string}",{inner}',
            f"{{{blank}{inner}",
            f"{text}\n{text}",
            f"warning\n{text}",
            f"{text}\ndone",
            text[: self._random.randrange(len(text))],
            text[:-1] + ",}",
            f"[{text}]",
            text.replace('"', "'"),
            f"{text}// note",
            text.replace("block", "bl\\u006fck"),
            text.replace(":", " :\r\n\t"),
        ]
        return self._random.choice(ways)


def outputs(event: str, seed: object, count: int) -> list[Output]:
    return Outputs(event, seed).take(count)


def chosen(event: str) -> list[Output]:
    """Each blank that is trimmed, or is not; depths and numbers; exit 2 beside everything; what is for other events."""
    texts = [blank + BLOCK for blank in (*BLANKS, *OTHERS)] + [BLOCK + blank for blank in (*BLANKS, *OTHERS)]
    texts += [beside_a_block(f"{'[' * deep}{']' * deep}") for deep in (500, 1000, 3000, 10_000, 100_000)]
    texts += [beside_a_block("1" * digits) for digits in (300, 400, 4300, 5000, 100_000)]
    texts += [f'{{"reason":{value},"decision":"block"}}' for value in ("[" * 3000 + "]" * 3000, "1" * 5000)]
    texts += [json.dumps({"decision": value, "reason": "more please"}) for value in WRONG]
    texts += [json.dumps({**json.loads(BLOCK), "hookSpecificOutput": value}) for value in _for_other_events()]
    found = [(text, "", 0) for text in texts]
    for text in (
        "",
        " ",
        "text",
        "{}",
        '{"suppressOutput":true}',
        '{"systemMessage":5}',
        "[]",
        "{",
        _stray(event),
        BLOCK,
    ):
        found += [(text, stderr, 2) for stderr in ("", "  ", "more please", "No such file")]
    for permission in ("allow", "deny", "ask", "defer"):
        specific = {"hookEventName": "PreToolUse", "permissionDecision": permission}
        found += [(json.dumps({"continue": False, "hookSpecificOutput": specific}), "", code) for code in (0, 2)]
    return [
        Output(f"chosen {number}", "allowed", own(stdout, number), own(stderr, number), code)
        for number, (stdout, stderr, code) in enumerate(found)
    ]


def own(text: str, number: int) -> str:
    return text.replace("please", f"please c{number}c")


def beside_a_block(value: str) -> str:
    return f'{{"extra":{value},{BLOCK[1:]}'


def _stray(event: str) -> str:
    other = "PostToolUse" if event != "PostToolUse" else "PreToolUse"
    return json.dumps({"hookSpecificOutput": {"hookEventName": other, "additionalContext": "more please"}})


def _for_other_events() -> Iterator[object]:
    for name in (*WRONG, "Nothing", "stop", "__proto__", "constructor"):
        yield {"hookEventName": name}
    for event, fields in SPECIFIC.items():
        yield {"hookEventName": event}
        for field in fields:
            decisions = _DECISIONS if field == "decision" else ()
            for value in (None, 5, "x", [], [5], {}, {"behavior": "x"}, {"behavior": "deny"}, True, *decisions):
                if not field.startswith("updated"):
                    yield {"hookEventName": event, field: value}
