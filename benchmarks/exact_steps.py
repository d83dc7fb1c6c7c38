"""Hold every answer called exact against simulation: every kind of step and of resource, alone,
side by side, in whole and fractional repetitions, in a choice, before a barrier and under a lock,
of one and of three processors, of constant and of exponential times; and each alone in phases, in
supersteps, in two groups and in a stream.

    python benchmarks/exact_steps.py [--seed 7] [--events 20000] [--short]
"""

from __future__ import annotations

import argparse
import sys
from itertools import islice
from pathlib import Path

from slipstick import Simulation
from slipstick.errors import SlipstickError

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.every_step import contradictions, every_model, exact_answers


def main() -> None:
    """Print the models, those with exact answers, and what simulation contradicts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--short", action="store_true", help="every fiftieth model")
    options = parser.parse_args()
    settings = Simulation(seed=options.seed, events=options.events)
    models = refused_count = answered = contradicted = 0
    for title, build in islice(every_model(), 0, None, 50 if options.short else 1):
        models += 1
        try:
            model = build()
            exact = exact_answers(model)
            answered += bool(exact)
            problems = contradictions(model, settings)
        except SlipstickError as error:
            refused_count += 1
            print(f"refused: {title}: {error}")
            continue
        contradicted += bool(problems)
        for problem in problems:
            print(f"CONTRADICTED: {title}: {problem}")
    print(
        f"{models} models, {refused_count} refused, {answered} with answers called exact,"
        f" {contradicted} contradicted"
    )


if __name__ == "__main__":
    main()
