"""`judge` against the real client: the place for the comparison. The comparison itself is the client tests' own.

It is a function `compare(outputs: int, seconds: float, seed: int) -> tuple[int, list[str]]`: how many random outputs
were given to both, and a sentence for each on which they differ. Where it is not there, that is said, not passed over.
"""

from __future__ import annotations

import importlib
import sys
from typing import Callable

from tools.torture.places import ROOT
from tools.torture.results import Failure, Result

COMPARISON = "client.random_outputs"  # below tests/
OUTPUTS = 1000


def run(seconds: float, seed: int) -> Result:
    result = Result("judge")
    sys.path.insert(0, str(ROOT / "tests"))
    try:
        compare: Callable[[int, float, int], tuple[int, list[str]]] = importlib.import_module(COMPARISON).compare
    except ImportError as error:
        result.notes.append(f"not measured: there is no comparison with the real client here ({error})")
        return result
    finally:
        sys.path.pop(0)
    result.many, differences = compare(OUTPUTS, seconds, seed)
    result.reached = result.many
    again = f"python -m tools.torture --only judge --seed {seed}"
    result.failures = [Failure("disagreement", each, again) for each in differences]
    return result
