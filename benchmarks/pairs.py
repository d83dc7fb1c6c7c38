"""Hold every pair of constructs against simulation: in activities in a row, one inside the other,
and each with every kind of arrivals; in networks at one station and at two, with arrivals and with
customers that change class. The first of them also at the value at which it changes nothing.

    python benchmarks/pairs.py [--seed 7] [--events 20000] [--short] [--part 2 --parts 8]
        [--only 'two streams']
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path

from slipstick import Simulation
from slipstick.errors import SlipstickError

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.paired_constructs import pairs, problems
from tests.paired_networks import network_pairs, network_problems


def titled_checks() -> Iterator[tuple[str, Callable[[Simulation], list[str]]]]:
    """Yield the title of each pair, and what lists the problems of its answers."""
    for pair in pairs():
        yield pair.title, partial(problems, pair)
    for network_pair in network_pairs():
        yield f"network: {network_pair.title}", partial(network_problems, network_pair)


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
    named = (check for check in titled_checks() if options.only in check[0])
    for title, list_problems in islice(named, options.part - 1, None, step):
        count += 1
        try:
            listed = list_problems(settings)
        except SlipstickError as error:
            refused += 1
            print(f"refused: {title}: {error}", flush=True)
            continue
        wrong += bool(listed)
        for problem in listed:
            print(f"WRONG: {title}: {problem}", flush=True)
    print(f"{count} pairs, {refused} refused, {wrong} with wrong answers")


if __name__ == "__main__":
    main()
