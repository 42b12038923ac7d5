"""jq as a query language for people, on values that are already parsed. It never validates and never rewrites."""

from __future__ import annotations

from typing import Any


def first_result(query: str, value: object) -> Any:
    """The first result of a jq filter on this value."""
    try:
        import jq
    except ImportError:
        raise ImportError(
            f"The filter {query!r} needs the package jq, which is not installed: pip install jq"
        ) from None
    results = jq.compile(query).input_value(value)
    for result in results:
        return result
    raise LookupError(f"The jq filter {query!r} has no result on {value!r}.")
