"""The runs of function hooks, which the client tells its debug log alone. Knows that log's lines; starts nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pytest_taskie.client._hook_runs import HookRun

# The event of a module that never came to be run.
LOAD = "load"
# The client has modules of its own; nobody tests those.
LINE = re.compile(
    r"\S+ \[\w+\] (?:"
    r"hooks module (?P<broken>\S+)@(?!builtin )\S+ failed to load: (?P<why>.*)|"
    r"(?P<thrower>\S+): \S+ hook skipped: (?P<error>.*)|"
    r"(?P<decider>\S+) \(\w+\) answered \S+ without next\(\).*|"
    r"hooks module (?P<ended>\S+)@(?!builtin )\S+ (?P<event>\w+(?:\.\w+)+) settled in .*)"
)


def read_module_runs(log: str) -> Iterator[HookRun]:
    """Each call of a plugin's function in the order of their ends, and each module that could not be loaded.

    `outcome`: "success" for one that let the client go on, "answered" for one that decided itself, "error" for one
    that threw or was not loaded, with the reason in `stderr`.
    """
    thrown: dict[str, str] = {}
    decided: set[str] = set()
    for line in filter(None, map(LINE.fullmatch, log.split("\n"))):
        if line["broken"]:
            yield HookRun(LOAD, line["broken"], stderr=line["why"], outcome="error")
        elif line["thrower"]:
            thrown[line["thrower"]] = line["error"]
        elif line["decider"]:
            decided.add(line["decider"])
        elif name := line["ended"]:
            error = thrown.pop(name, None)
            outcome = "error" if error else "answered" if name in decided else "success"
            decided.discard(name)
            yield HookRun(line["event"], name, stderr=error, outcome=outcome)
