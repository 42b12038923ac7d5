"""An `http` hook under a test's control: what the client posted, and what it is answered.

Knows posts and answers; the server is the one of the scripted model, which is in the client's network already.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Callable, Union

from pytest_taskie.client._server import HttpReply, json_reply

PREFIX = "/taskie-hook"


@dataclass(frozen=True)
class Post:
    """One call of the hook: `event` is what a command hook reads from its stdin."""

    path: str
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)

    @property
    def event(self) -> Mapping[str, Any]:
        value = json.loads(self.content)
        return value if isinstance(value, Mapping) else {}


# Fields as JSON; a text as it is; a status and nothing else; or whatever a function makes of the post.
Answer = Union[Mapping[str, Any], str, int, "Callable[[Post], Answer]"]


class HttpHook:
    """`hooks={"Stop": http_hook.entry}`. Without `answers` it allows everything."""

    def __init__(self, origin: str) -> None:
        self.url = f"{origin}{PREFIX}"
        self.posts: list[Post] = []
        self._answers: list[Answer] | None = None
        self._repeats = False
        self._surplus: list[Post] = []
        self._lock = threading.Lock()

    @property
    def entry(self) -> dict[str, Any]:
        """The entry of a settings file; `{**http_hook.entry, "timeout": 1}` adds to it."""
        return {"type": "http", "url": self.url}

    def answers(self, *answers: Answer, repeat: bool = False) -> None:
        """Each post gets the next answer; `repeat` gives the last one for ever."""
        if repeat and not answers:
            raise ValueError("there is no answer to repeat")
        self._answers, self._repeats = list(answers), repeat

    def complaints(self) -> list[str]:
        """Posts that had no answer, answers that nobody fetched."""
        found = [
            f"a post to the http hook has no answer: {post.event.get('hook_event_name', '')} {post.content[:600]!r}"
            for post in self._surplus
        ]
        left = (self._answers or [])[: -1 if self._repeats else None]
        return [*found, *(f"never fetched from the http hook: {answer!r}" for answer in left)]

    def reply(self, path: str, headers: Mapping[str, str], content: bytes) -> HttpReply:
        post = Post(path, headers, content)
        with self._lock:
            self.posts.append(post)
            if self._answers is None:
                return json_reply(200, {})
            if not self._answers:
                self._surplus.append(post)
                return json_reply(500, {"error": "the test has no answer to this"})
            is_last = len(self._answers) == 1
            answer = self._answers[0] if self._repeats and is_last else self._answers.pop(0)
        while callable(answer):
            answer = answer(post)
        if isinstance(answer, int):
            return HttpReply(answer, "text/plain", b"")
        if isinstance(answer, str):
            return HttpReply(200, "text/plain; charset=utf-8", answer.encode())
        return json_reply(200, dict(answer))
