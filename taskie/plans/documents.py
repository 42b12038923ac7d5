"""What each provider's client printed, in the form of Claude Code's result. Knows no option, and judges nothing."""

from __future__ import annotations

import json

from taskie.plans.reviewed import printed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST = 1 << 20


def codex(output: bytes) -> dict[str, Any]:
    """One event a line; the last message is the answer."""
    document: dict[str, Any] = {}
    for line in output.splitlines():
        event = printed(line)
        item = event.get("item")
        if isinstance(item, dict) and item.get("type") == "agent_message":
            document["result"] = item.get("text")
        elif event.get("type") == "turn.completed":
            document["usage"] = _codex_usage(event.get("usage"))
        elif event.get("type") in ("turn.failed", "error"):
            error = event.get("error")
            said = error.get("message") if isinstance(error, dict) else event.get("message")
            document.update(is_error=event["type"] == "turn.failed", result=said)
    return document


def _codex_usage(usage: object) -> dict[str, Any] | None:
    """Codex counts what came from the cache as input too; Claude Code does not."""
    if not isinstance(usage, dict):
        return None
    cached, all_input = usage.get("cached_input_tokens"), usage.get("input_tokens")
    uncached = all_input - cached if type(all_input) is int and type(cached) is int else all_input
    return {
        "input_tokens": uncached,
        "output_tokens": usage.get("output_tokens"),
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": usage.get("cache_write_input_tokens"),
    }


def copilot(output: bytes) -> dict[str, Any]:
    """One event a line, as in its sessions; the last message that calls no tool is the answer."""
    document: dict[str, Any] = {}
    for line in output.splitlines():
        event = printed(line)
        found = event.get("data")
        data = found if isinstance(found, dict) else {}
        if event.get("type") == "assistant.message" and not data.get("toolRequests"):
            document.update(_answered(data.get("content")))
        elif event.get("type") == "session.error":
            document.update(is_error=True, result=data.get("message"))
    return document


def qwen(output: bytes) -> dict[str, Any]:
    """A list of events, the last of which is the result, in the form of Claude Code's but for one name."""
    try:
        events = json.loads(output.decode("utf-8"))
    except (ValueError, RecursionError):
        return {}
    last = events[-1] if isinstance(events, list) and events else None
    if not isinstance(last, dict):
        return {}
    error = last.get("error")
    said = {"result": error.get("message")} if isinstance(error, dict) else {}
    return {**last, **said, "structured_output": last.get("structured_result")}


def gemini(output: bytes) -> dict[str, Any]:
    """One object, with the answer as a text, and what each model has used."""
    said = printed(output)
    error = said.get("error")
    if isinstance(error, dict):
        return {"is_error": True, "result": error.get("message")}
    return {**_answered(said.get("response")), "usage": _gemini_usage(said.get("stats"))}


def _gemini_usage(stats: object) -> dict[str, int] | None:
    """What came from the cache counts as input there too."""
    models = stats.get("models") if isinstance(stats, dict) else None
    spent = {"input_tokens": 0, "output_tokens": 0, "cache_read_input_tokens": 0}
    for model in models.values() if isinstance(models, dict) else ():
        tokens = model.get("tokens") if isinstance(model, dict) else None
        if not isinstance(tokens, dict):
            return None
        prompt, cached, candidates = (tokens.get(name) for name in ("prompt", "cached", "candidates"))
        if not (type(prompt) is int and type(cached) is int and type(candidates) is int):
            return None
        spent["input_tokens"] += prompt - cached
        spent["cache_read_input_tokens"] += cached
        spent["output_tokens"] += candidates
    return spent if models else None


def _answered(text: object) -> dict[str, Any]:
    """The object at the end of an answer in words, which a model may put into a fence; what it quotes before counts
    for nothing."""
    if not isinstance(text, str):
        return {}
    end = text.rstrip().removesuffix("```").rstrip()[-LONGEST:]
    for at in reversed([place for place, char in enumerate(end) if char == "{"]):
        found = printed(end[at:].encode("utf-8", "replace"))
        if "verdict" in found:
            return {"result": text, "structured_output": found}
    return {"result": text}
