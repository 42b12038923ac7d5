"""`python -m tools.torture`: choose the parts, run them, print one table. Exit 1 on any failure."""

from __future__ import annotations

import argparse
import sys
import time
from typing import Callable

from tools.torture.results import Result, listed, table

PARTS = ("sweep", "fuzz", "storms", "concurrency", "kills", "judge", "mutants")


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.torture", description=__doc__)
    parser.add_argument("--only", action="append", choices=PARTS, help="a part; may be given more than once")
    parser.add_argument("--seconds", type=float, default=3600.0, help="for each part at most (default: 3600)")
    parser.add_argument("--seed", type=int, default=0, help="of what is chosen at random (default: 0)")
    parser.add_argument("--points", type=int, default=5000, help="of the sweep (default: 5000)")
    parser.add_argument("--inputs", type=int, default=500_000, help="of the fuzz (default: 500,000)")
    parser.add_argument("--mutants", type=int, default=300, help="how many mutants (default: 300)")
    parser.add_argument("--workers", type=int, default=2, help="how many mutants at once (default: 2)")
    parser.add_argument("--at", metavar="POINT", help="only this point, input or mutant, as a failure names it")
    parser.add_argument("--scene", action="append", default=[], help="of the sweep: only this command")
    parser.add_argument("--most", type=int, default=5, help="how many failures of a kind are listed (default: 5)")
    parser.add_argument("--write", action="store_true", help="put the table into docs/torture.md")
    options = parser.parse_args()
    results = []
    for part in options.only or PARTS:
        began = time.time()
        result = _part(part)(options)
        result.seconds = time.time() - began
        results.append(result)
        print(f"{part}: {result.many:,} tried, {len(result.failures)} failures", file=sys.stderr)
    failures = listed(results, options.most)
    if failures:
        print(failures, end="\n\n")
    print(table(results))
    if options.write:
        from tools.torture import written

        written.write(results)
    return 1 if any(each.failures for each in results) else 0


def _part(name: str) -> Callable[[argparse.Namespace], Result]:
    def sweep(options: argparse.Namespace) -> Result:
        from tools.torture import sweep

        return sweep.run(options.points, options.seconds, options.seed, only=options.scene, at=options.at)

    def fuzz(options: argparse.Namespace) -> Result:
        from tools.torture import fuzz

        return fuzz.run(options.inputs, options.seconds, options.seed, at=options.at)

    def storm(options: argparse.Namespace) -> Result:
        from tools.torture import storms

        function: Callable[[float, int], Result] = getattr(storms, name)
        return function(options.seconds, options.seed)

    def judge(options: argparse.Namespace) -> Result:
        from tools.torture import judging

        return judging.run(options.seconds, options.seed)

    def mutants(options: argparse.Namespace) -> Result:
        from tools.torture import mutants

        return mutants.run(options.mutants, options.seconds, options.seed, workers=options.workers, at=options.at)

    parts = {"sweep": sweep, "fuzz": fuzz, "judge": judge, "mutants": mutants}
    return parts.get(name, storm)


if __name__ == "__main__":
    sys.exit(main())
