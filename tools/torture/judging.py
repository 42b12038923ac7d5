"""`judge` against the real client: the comparison of the client tests, on many more outputs than they try each time."""

from __future__ import annotations

import os
import re
import subprocess
import sys

from tools.torture.places import ROOT
from tools.torture.results import Failure, Result

TESTS = "tests/client/test_random_outputs.py"
OUTPUTS = 1000
_COMPARED = re.compile(r"^\w+: (\d+) compared", re.MULTILINE)
_LINES = 40  # of what the tests say at the end


def run(seconds: float, seed: int) -> Result:
    result = Result("judge")
    argv = [sys.executable, "-m", "pytest", "-q", "-rP", "-n", "2", "-k", "not hard", "--taskie-require-client", TESTS]
    env = {**os.environ, "JUDGE_OUTPUTS": str(OUTPUTS), "JUDGE_SEED": str(seed)}
    again = f"python -m tools.torture --only judge --seed {seed}"
    try:
        done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        result.notes.append(f"not measured: it took longer than {seconds:g} s")
        return result
    result.many = result.reached = sum(int(number) for number in _COMPARED.findall(done.stdout))
    if done.returncode:
        said = "\n".join(done.stdout.splitlines()[-_LINES:])
        result.failures = [Failure("disagreement", said or done.stderr, again)]
    return result
