"""A pool of processes that match sequences in groups, to be traced: the trace of the study
my-trace.

    viztracer --ignore_c_function --max_stack_depth 5 --output_file trace.json
    benchmarks/traced_pool.py 12

Each process takes the number of the next group from a counter that all share (`take`), and counts
how many words of a probe each sequence of the group has (`match`). The arguments are how many
sequences are a group and how many processes work.
"""

from __future__ import annotations

import multiprocessing
import random
import sys
from typing import Any

SEQUENCES, LETTERS, WORD = 240, 160, 6
"""Sequences to match, letters of each, and letters of a word."""


def take(counter: Any, group: int) -> int:
    """Take the next group: the number of its first sequence."""
    with counter.get_lock():
        counter.value += group
        return int(counter.value) - group


def match(words: frozenset[str], sequence: str) -> int:
    """Count the words of the probe that a sequence has."""
    hits = 0
    for at in range(len(sequence) - WORD):
        hits += sequence[at : at + WORD] in words
    return hits


def work(
    start: Any, counter: Any, result: Any, group: int, sequences: list[str], words: frozenset[str]
) -> None:
    """Match groups until none is left, from when all processes are there."""
    start.wait()
    while (first_index := take(counter, group)) < SEQUENCES:
        hits = 0
        for sequence in sequences[first_index : first_index + group]:
            hits += match(words, sequence)
        report(result, hits)


def report(result: Any, hits: int) -> None:
    """Add the hits of a group to those of all."""
    with result.get_lock():
        result.value += hits


def main(group: int = 12, processes: int = 2) -> None:
    """Match all sequences."""
    chance = random.Random(1)
    sequences = ["".join(chance.choices("ACGT", k=LETTERS)) for _ in range(SEQUENCES)]
    words = frozenset(sequences[0][at : at + WORD] for at in range(LETTERS - WORD))
    counter, result = multiprocessing.Value("i", 0), multiprocessing.Value("i", 0)
    arguments = multiprocessing.Barrier(processes), counter, result, group, sequences, words
    workers = [multiprocessing.Process(target=work, args=arguments) for _ in range(processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(f"{result.value} words found in {SEQUENCES} sequences")


if __name__ == "__main__":
    main(*(int(word) for word in sys.argv[1:] if word != "--short"))
