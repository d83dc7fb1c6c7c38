"""How often the intervals of fits hold the truth, and what the comparison of families makes of it.

Thirteen synthetic truths of several kinds, 1 % of noise, 1 to 32 processors, three times each. For each truth: how often
the 90 % intervals hold its parameters (those at a bound apart) and its time on 64 processors, by profile and, with
``--draws``, by bootstrap; the largest error of the fitted family at 128 processors; how often the comparison leaves the
truth's family in.

    python benchmarks/fit_coverage.py [--sets 40] [--draws 0] [--only NAME]
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))  # the truths are the tests' own

from slipstick.measure.fit.comparison import compare
from slipstick.measure.fit.families import FAMILIES
from slipstick.measure.fit.intervals import Interval, Profiled, Resampled, profile, resample
from slipstick.measure.fit.least_squares import FittedFormula, fit
from tests.measure.fit.truths import TRUTHS, Truth, noisy

LEVEL = 0.9
NEAR, FAR = np.array([64.0]), np.array([128.0])
Sure = Callable[[FittedFormula, int], "Resampled | Profiled"]


def at_bound(name: str, value: float) -> bool:
    """Say whether a true parameter lies at the end of what it may be, where an interval always holds it."""
    return value == 0 or (name == "serial" and value == 1)


def holds(interval: Interval, value: float) -> bool:
    return bool(interval.low <= value <= interval.high)


def covered(truth: Truth, sets: int, sure: Sure) -> tuple[float, float]:
    """Give the part of intervals that hold: of the parameters, of the time on 64 processors."""
    inside = [name for name, value in truth.parameters.items() if not at_bound(name, value)]
    parameters = ahead = 0
    for seed in range(sets):
        found = sure(fit(FAMILIES[truth.family], noisy(truth, seed)), seed)
        between = found.parameters(LEVEL)
        parameters += sum(holds(between[name], truth.parameters[name]) for name in inside)
        ahead += holds(found.predict(NEAR.tolist(), level=LEVEL)[0], float(truth.time(NEAR)[0]))
    return parameters / sets / len(inside), ahead / sets


def compared(truth: Truth, sets: int) -> tuple[float, float]:
    """Give how often the truth's family is left in, and the largest relative error at 128 processors."""
    left, worst = 0, 0.0
    for seed in range(sets):
        found = compare(noisy(truth, seed))
        left += truth.family in [each.name for each in found.rivals]
        own = next(each for each in found.candidates if each.name == truth.family)
        worst = max(worst, abs(float(own.fitted.predict(FAR)[0] / truth.time(FAR)[0]) - 1))
    return left / sets, worst


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=40, help="data sets of each truth")
    parser.add_argument("--draws", type=int, default=0, help="of the bootstrap; none by default, for it takes long")
    parser.add_argument("--only", choices=TRUTHS, help="one truth")
    asked = parser.parse_args()
    methods: dict[str, Sure] = {"profile": lambda fitted, _: profile(fitted)}
    if asked.draws:
        methods["bootstrap"] = lambda fitted, seed: resample(fitted, seed, asked.draws)
    error = math.sqrt(LEVEL * (1 - LEVEL) / asked.sets)
    print(
        f"{asked.sets} sets of each truth; {LEVEL:.0%} intervals, so {LEVEL:.0%} +- {2 * error:.0%} is to be expected"
    )
    for name, truth in TRUTHS.items():
        if asked.only not in (None, name):
            continue
        begin = time.perf_counter()
        left, worst = compared(truth, max(1, asked.sets // 5))
        words = [f"{name:<22} {truth.family:<14} left in {left:4.0%}, off at 128 by at most {worst:5.1%}"]
        for method, sure in methods.items():
            parameters, ahead = covered(truth, asked.sets, sure)
            words.append(f"{method}: parameters {parameters:4.0%}, time on 64 {ahead:4.0%}")
        print("; ".join(words), f"({time.perf_counter() - begin:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
