"""Follow the ways out that refusals name: networks with rare traits, and the ordinary programs and
services of ordinary.py, each asked of every method, alone and in studies with questions.

Usage: python benchmarks/ways_out.py [--short] [FIRST [COUNT]]

FIRST is the first seed: take one that was never used.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from slipstick.errors import SlipstickError, SpecError
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import Model

sys.path.insert(0, str(Path(__file__).parents[1]))

from benchmarks.ordinary import ordinary
from tests.ways_out import dead_ends, drawn_network, study_dead_ends


def main() -> None:
    """Print each refusal that names methods of which none answers, without saying why."""
    numbers = [int(text) for text in sys.argv[1:] if text.isdigit()]
    first, count = [*numbers, *(1, 1 if "--short" in sys.argv else 300)[len(numbers) :]]
    make: Callable[[int], Model | QueueingNetwork]
    for kind, make in (("networks", drawn_network), ("activities", ordinary)):
        models = wrong = 0
        for seed in range(first, first + count):
            try:
                model = make(seed)
            except SlipstickError:
                continue
            models += 1
            for words in (*dead_ends(model), *_of_studies(model)):
                wrong += 1
                print(f"{seed} {words}", flush=True)
        print(f"{models} {kind}, {wrong} refusals that lead nowhere")


def _of_studies(model: Model | QueueingNetwork) -> list[str]:
    """List the dead ends of studies of a model; none where no file can hold it."""
    with TemporaryDirectory() as folder:
        try:
            return list(study_dead_ends(model, Path(folder)))
        except SpecError:  # such as a group without processors
            return []


if __name__ == "__main__":
    main()
