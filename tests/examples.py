"""How many examples a test tries: a fixed part of the whole, which ``make thorough`` tries."""

from __future__ import annotations

import os
from collections.abc import Iterable
from random import Random
from typing import TypeVar

PART = float(os.environ.get("SLIPSTICK_EXAMPLES", "0.1"))
"""The part of all examples that is tried."""

T = TypeVar("T")


def examples(whole: int) -> int:
    """Return how many of the examples of a property are tried in this run.

    >>> examples(10) <= 10
    True
    """
    return min(whole, max(10, round(PART * whole)))


def sample(cases: Iterable[T], least: int = 1, part: float = PART) -> list[T]:
    """Return a fixed sample of cases in their order: a part of them, but at least so many.

    >>> sample("abcdefgh", least=2, part=0.25)
    ['c', 'd']
    >>> sample("abc", part=1.0)
    ['a', 'b', 'c']
    """
    whole = list(cases)
    count = min(len(whole), max(least, round(part * len(whole))))
    chosen = Random(len(whole)).sample(range(len(whole)), count)
    return [whole[index] for index in sorted(chosen)]
