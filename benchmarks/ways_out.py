"""Follow the ways out that refusals name: networks with rare traits, and the ordinary programs and
services of ordinary.py, each asked of every method.

Usage: python benchmarks/ways_out.py [--short] [FIRST [COUNT]]

FIRST is the first seed: take one that was never used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from slipstick.errors import SlipstickError
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.ordinary import ordinary
from tests.ways_out import dead_ends, drawn_network


def main() -> None:
    """Print each refusal that names methods of which none answers, without saying why."""
    numbers = [int(text) for text in sys.argv[1:] if text.isdigit()]
    first, count = [*numbers, *(1, 4 if "--short" in sys.argv else 300)[len(numbers) :]]
    make: Callable[[int], Model | QueueingNetwork]
    for what, make in (("networks", drawn_network), ("activities", ordinary)):
        models = wrong = 0
        for seed in range(first, first + count):
            try:
                model = make(seed)
            except SlipstickError:
                continue
            models += 1
            for words in dead_ends(model):
                wrong += 1
                print(f"{seed} {words}", flush=True)
        print(f"{models} {what}, {wrong} refusals that lead nowhere")


if __name__ == "__main__":
    main()
