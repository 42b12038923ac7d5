"""`python -m benchmarks.rules`: what rules for ending a review loop leave behind and cost, as a simulation.

No model is asked and no code is read. A text has some defects. Each reviewer finds each with a chance of its own, says
now and then that something is wrong that is not, and the author fixes what is found and sometimes breaks something.
A rule says who reviews, what makes a review fail, and when the loop ends. What comes out says how the rules compare
under these assumptions, not how good any model is.

Where the numbers come from ([A]: an assumption, nobody has measured it in this form):

  recall 0.35, uneven     eight models find 15 to 31 % of what people flag (arXiv 2603.26130); the best tool has an F1
                          of 19.4 % (arXiv 2509.01494). Higher here, where a reviewer sees one task at a time. [A]
  0.5 wrong per review    precision is the weak side (arXiv 2509.01494). Judges prefer the other one of two answers in
                          13.6 % of repeated trials (arXiv 2606.13685), and borderline verdicts differ from run to run
                          even at temperature 0 (arXiv 2606.26185). The number itself: [A]
  models alike, 0.6       on one leaderboard, two models that err give the same wrong answer in 60 % of cases
                          (arXiv 2506.07962). The same source finds strong models alike across providers too, so 0.3
                          for another provider is hopeful. [A]
  checks see 0.3          verifiers that run code and verifiers that read it each reach 42 to 43 %, together 51 %
                          (arXiv 2504.07164): they see different things. The share: [A]
  evidence                a finding that needs a command or a failing test: a quarter of the wrong ones are left, and
                          nine of ten right ones. [A]
  severity                six of ten defects are worth a FAIL in a late review, and two of ten wrong findings. [A]
  3 defects, 90 % fixed, 8 % of changes bring a new defect, at most 8 reviews. [A]
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SPREAD = 1.5  # of a defect's ease, in units of the logistic curve: some are seen by everybody, some by nobody
LATE = 3  # reviews after which a threshold rises


@dataclass(frozen=True)
class World:
    """What holds whatever the rule."""

    defects: int = 3
    recall: float = 0.35
    wrong: float = 0.5
    alike: float = 0.6
    alike_elsewhere: float = 0.3
    seen_by_checks: float = 0.3
    wrong_with_evidence: float = 0.25
    right_with_evidence: float = 0.9
    severe: float = 0.6
    wrong_and_severe: float = 0.2
    fixed: float = 0.9
    broken: float = 0.08
    most: int = 8


@dataclass(frozen=True)
class Rule:
    """When a loop ends. `models` take turns; `pair`: both read the same text, and both must pass."""

    name: str
    passes: int = 2
    models: int = 2
    elsewhere: bool = False
    pair: bool = False
    checks: bool = False
    evidence: bool = False
    rises: bool = False


RULES = (
    Rule("one pass", passes=1, models=1),
    Rule("two passes, one model", models=1),
    Rule("two passes, models alternate"),
    Rule("pair on one snapshot", passes=1, pair=True),
    Rule("alternate + evidence", evidence=True),
    Rule("alternate + rising threshold", rises=True),
    Rule("alternate + checks first", checks=True),
    Rule("alternate + checks + evidence", checks=True, evidence=True),
    Rule("three passes + checks + evidence + provider", passes=3, checks=True, evidence=True, elsewhere=True),
)


@dataclass(frozen=True)
class Average:
    """The mean of many loops: defects left, the share of loops that leave none, reviews, the share at the limit."""

    left: float
    clean: float
    reviews: float
    capped: float


@dataclass
class Defect:
    """How likely each model sees it, whether a check does, whether it is severe."""

    ease: Sequence[float]
    checkable: bool
    severe: bool


@dataclass
class Loop:
    """One text on its way through one rule."""

    rule: Rule
    world: World
    random: Random
    defects: list[Defect] = field(default_factory=list)
    reviews: int = 0

    def run(self) -> bool:
        """Until the rule is content; False: until the limit is reached."""
        self.defects = [self._defect() for _ in range(self.world.defects)]
        in_a_row = 0
        while in_a_row < self.rule.passes:
            if self.reviews + 1 + self.rule.pair > self.world.most:
                return False
            if self.rule.checks:
                self._fix([defect for defect in self.defects if defect.checkable])
            readers = (0, 1) if self.rule.pair else (self.reviews % self.rule.models,)
            right, wrong, fails = self._review(readers)
            in_a_row = 0 if fails else in_a_row + 1
            if in_a_row < self.rule.passes:
                self._fix(right)
                self._break(wrong)
        return True

    def _defect(self) -> Defect:
        """Its ease is partly its own, and partly a matter of who looks."""
        world = self.world
        alike = world.alike_elsewhere if self.rule.elsewhere else world.alike
        middle = math.log(world.recall / (1 - world.recall)) * math.sqrt(1 + math.pi * SPREAD**2 / 8)
        own = self.random.gauss(0, 1)
        ease = []
        for _ in range(2):
            seen = math.sqrt(alike) * own + math.sqrt(1 - alike) * self.random.gauss(0, 1)
            ease.append(1 / (1 + math.exp(-(middle + SPREAD * seen))))
        return Defect(ease, self.random.random() < world.seen_by_checks, self.random.random() < world.severe)

    def _review(self, readers: Sequence[int]) -> tuple[list[Defect], int, bool]:
        """What is found by somebody, how many findings are wrong, and whether that fails."""
        world = self.world
        shown = world.right_with_evidence if self.rule.evidence else 1.0
        right: list[Defect] = []
        wrong: list[bool] = []  # whether it is said to be severe
        for reader in readers:
            self.reviews += 1
            seen = [defect for defect in self.defects if self.random.random() < defect.ease[reader] * shown]
            right += [defect for defect in seen if not any(defect is other for other in right)]
            noise = self._poisson(world.wrong * (world.wrong_with_evidence if self.rule.evidence else 1.0))
            wrong += [self.random.random() < world.wrong_and_severe for _ in range(noise)]
        if self.rule.rises and self.reviews > LATE:
            return right, len(wrong), any(defect.severe for defect in right) or any(wrong)
        return right, len(wrong), bool(right or wrong)

    def _fix(self, found: list[Defect]) -> None:
        gone = [defect for defect in found if self.random.random() < self.world.fixed]
        self.defects = [defect for defect in self.defects if not any(defect is other for other in gone)]
        self._break(len(found))

    def _break(self, changes: int) -> None:
        self.defects += [self._defect() for _ in range(changes) if self.random.random() < self.world.broken]

    def _poisson(self, mean: float) -> int:
        number, left = 0, self.random.random()
        chance = math.exp(-mean)
        while left > chance:
            left -= chance
            number += 1
            chance *= mean / number
        return number


def simulate(rule: Rule, world: World, runs: int, seed: int) -> Average:
    """The same seed gives every rule the same kind of luck, and the same result each time."""
    random = Random(seed)
    loops = [Loop(rule, world, random) for _ in range(runs)]
    ended = [loop.run() for loop in loops]
    return Average(
        left=sum(len(loop.defects) for loop in loops) / runs,
        clean=sum(not loop.defects for loop in loops) / runs,
        reviews=sum(loop.reviews for loop in loops) / runs,
        capped=ended.count(False) / runs,
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.rules", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=4000, help="loops for each rule (default: 4000)")
    parser.add_argument("--seed", type=int, default=1, help="of the random numbers (default: 1)")
    parser.add_argument("--recall", type=float, default=World.recall, help="of one review, on average (default: 0.35)")
    parser.add_argument("--wrong", type=float, default=World.wrong, help="wrong findings in a review (default: 0.5)")
    given = parser.parse_args(argv)
    if given.runs < 1 or not 0 < given.recall < 1 or not 0 <= given.wrong <= 20:
        parser.error("at least one run, a recall between 0 and 1, and 0 to 20 wrong findings")
    world = World(recall=given.recall, wrong=given.wrong)
    print(f"{'rule':<45}{'defects left':>13}{'none left':>11}{'reviews':>9}{'at the limit':>14}")
    for rule in RULES:
        found = simulate(rule, world, given.runs, given.seed)
        print(f"{rule.name:<45}{found.left:>13.2f}{found.clean:>11.0%}{found.reviews:>9.1f}{found.capped:>14.0%}")


if __name__ == "__main__":
    main()
