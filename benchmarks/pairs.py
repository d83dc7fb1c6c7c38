"""Hold every pair of constructs against simulation: in a row, one inside the other, and each with
every kind of arrivals; the first of them also at the value at which it changes nothing.

    python benchmarks/pairs.py [--seed 7] [--events 20000] [--short] [--part 2 --parts 8]
        [--only 'two streams']
"""

from __future__ import annotations

import argparse
import sys
from itertools import islice
from pathlib import Path

from slipstick import Simulation
from slipstick.errors import SlipstickError

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.paired_constructs import pairs, problems


def main() -> None:
    """Print the number of pairs, those that are refused, and what is wrong with answers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--short", action="store_true", help="every fiftieth pair")
    parser.add_argument("--only", default="", help="pairs whose title holds this text")
    parser.add_argument("--parts", type=int, default=1, help="of which one is run")
    parser.add_argument("--part", type=int, default=1, help="which one, from 1")
    options = parser.parse_args()
    settings = Simulation(seed=options.seed, events=options.events)
    count = refused = wrong = 0
    step = 50 if options.short else options.parts
    named = (pair for pair in pairs() if options.only in pair.title)
    for pair in islice(named, options.part - 1, None, step):
        count += 1
        try:
            listed = problems(pair, settings)
        except SlipstickError as error:
            refused += 1
            print(f"refused: {pair.title}: {error}", flush=True)
            continue
        wrong += bool(listed)
        for problem in listed:
            print(f"WRONG: {pair.title}: {problem}", flush=True)
    print(f"{count} pairs, {refused} refused, {wrong} with wrong answers")


if __name__ == "__main__":
    main()
