"""How far ends of an interval move where answers between runs are taken as quadratic in each range.

A case that is simulated is run at the middle of its ranges and on both sides of each, and answers
at draws are taken as quadratic between (`slipstick.study.uncertain`). Here queues are drawn that
mean value solves, closed and open, of two to four stations with a range for each service time; the
ends by the quadratic are compared with those of all 512 draws, so that no noise of a simulation is
in them.

    python benchmarks/ranges.py [--seed 5] [--models 120]
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

import numpy as np

from slipstick.study.evaluator import Evaluator, evaluator
from slipstick.study.run import prepare
from slipstick.study.uncertain import HIGH_PROBABILITY, LOW_PROBABILITY, POINTS, columns_of_draws

FACTORS = (1.5, 2.0, 3.0)
"""High over low end of each range."""


def drawn(chance: random.Random, factor: float, is_open: bool, folder: Path) -> Evaluator:
    """Draw a queueing model whose service times have ranges."""
    times = [chance.uniform(1e-3, 6e-3) for _ in range(chance.choice([2, 3, 4]))]
    load = chance.choice([0.3, 0.6])
    customers = chance.choice([2, 8, 30])
    rate = load / (max(times) * factor)
    lines = ["activity: 1", "parameters:"]
    lines += [f"  s{at}: {time!r} s" for at, time in enumerate(times)]
    lines += [f"  rate: {rate!r} /s"] if is_open else []
    lines += [f"population: {{{'arrivals: rate' if is_open else f'processors: {customers}'}}}"]
    lines += ["resources:", *(f"  r{at}: {{servers: 1}}" for at, _ in enumerate(times)), "cycle:"]
    lines += [
        f"  - {{name: a{at}, service: r{at}, time: s{at}, scv: 1}}" for at, _ in enumerate(times)
    ]
    (folder / "model.yaml").write_text("\n".join(lines))
    half = factor**0.5
    ranges = [
        f"parameters.s{at}: {time / half!r} s..{time * half!r} s" for at, time in enumerate(times)
    ]
    base = ", ".join(["model: model.yaml", "method: mean-value", *ranges])
    (folder / "study.yaml").write_text(f"study: 1\nbase: {{{base}}}\n")
    study = prepare(str(folder / "study.yaml")).context
    return evaluator("base", study.cases["base"], study.library)


def moved(case: Evaluator) -> float:
    """Return the relative change of the end that changes more [1]."""
    name = case.form.quantity
    all_draws, between = (
        columns_of_draws(case, [name], POINTS, is_quadratic=quadratic)[name][:, 0]
        for quadratic in (False, True)
    )
    ends = np.quantile([all_draws, between], [LOW_PROBABILITY, HIGH_PROBABILITY], axis=1)
    return float(abs(ends[:, 1] / ends[:, 0] - 1).max())


def main() -> None:
    """Print how far ends move, by width of the ranges."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=5, help="of the drawn models")
    parser.add_argument("--models", type=int, default=120, help="of each row")
    parser.add_argument("--short", action="store_true", help="two of each row")
    options = parser.parse_args()
    chance = random.Random(options.seed)
    with TemporaryDirectory() as folder:
        for is_open in (False, True):
            for factor in FACTORS:
                errors = [
                    moved(drawn(chance, factor, is_open, Path(folder)))
                    for _ in range(2 if options.short else options.models)
                ]
                print(
                    f"{'open' if is_open else 'closed'}, ranges of a factor of {factor:g}: ends"
                    f" move by {median(errors):.1%} in the median, {max(errors):.0%} at most",
                    flush=True,
                )


if __name__ == "__main__":
    main()
