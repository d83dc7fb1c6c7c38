"""Which examples a test tries: a part of the whole, which ``make thorough`` tries."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Sequence
from math import ceil
from random import Random
from typing import TypeVar
from zlib import crc32

PART = float(os.environ.get("SLIPSTICK_EXAMPLES", "0.1"))
"""The part of all examples that is tried."""
TURN = int(os.environ.get("SLIPSTICK_SAMPLE", "0"))
"""The number of the sample: ``make test`` takes the number of commits, so that all cases have their
turn.
"""

T = TypeVar("T")


def examples(whole: int) -> int:
    """Return how many of the examples of a property are tried in this run.

    >>> examples(10) <= 10
    True
    """
    return min(whole, max(10, round(PART * whole)))


def sample(cases: Iterable[T], least: int = 1, part: float = PART, turn: int = TURN) -> list[T]:
    """Return a part of the cases in their order, with at least a given number of them.

    >>> sample("abcdefgh", least=2, part=0.25, turn=0)
    ['c', 'd']
    >>> sample("abcdefgh", least=2, part=0.25, turn=1)
    ['e', 'h']
    >>> sample("abc", part=1.0)
    ['a', 'b', 'c']
    """
    whole = list(cases)
    count = min(len(whole), max(least, round(part * len(whole))))
    chosen = Random(len(whole) + turn).sample(range(len(whole)), count)
    return [whole[index] for index in sorted(chosen)]


def tried_cases(
    tests: Sequence[tuple[str, int]],
    whole_suite: bool = True,
    part: float = PART,
    turn: int = TURN,
) -> list[bool]:
    """Return which cases are tried.

    Parameters
    ----------
    tests : the name of the test of each case without the name of the case, and its turns: one of so
        many cases is tried
    whole_suite : in a run of all tests, each case is tried at one commit of so many; otherwise of
        each test at least one
    part, turn : all cases are tried where the part is 1; the number of the sample

    >>> tests = [("slow", 3)] * 4 + [("quick", 1)]
    >>> tried_cases(tests, part=0.1, turn=0)
    [False, True, False, False, True]
    >>> tried_cases(tests, part=0.1, turn=1)
    [False, False, True, False, True]
    >>> [tried_cases([("single", 3)], part=0.1, turn=turn) for turn in range(4)]
    [[False], [False], [True], [False]]
    >>> tried_cases([("single", 3)], whole_suite=False, part=0.1, turn=0)
    [True]
    """
    counts = Counter(test for test, _ in tests)
    seen = Counter[str]()
    tried = []
    for test, turns in tests:
        # Tests begin at different cases, so that each commit has its part of the long ones.
        first_case = (turn + crc32(test.encode())) % turns
        if not whole_suite:
            first_case %= min(turns, counts[test])
        tried.append(part >= 1 or seen[test] % turns == first_case)
        seen[test] += 1
    return tried


def most_cases(tests: Iterable[tuple[str, int]]) -> dict[str, int]:
    """Return the number of cases of each test in its longest sample.

    >>> most_cases([("slow", 3)] * 4 + [("quick", 1)])
    {'slow': 2, 'quick': 1}
    >>> most_cases([("some", 1)] * 4 + [("some", 5)] * 6)
    {'some': 6}
    """
    cases = Counter[str]()
    for (test, turns), count in Counter(tests).items():
        cases[test] += ceil(count / turns)
    return dict(cases)
