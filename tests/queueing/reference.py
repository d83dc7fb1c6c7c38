"""Product form written out: every state of a small closed network, in exact fractions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import factorial
from typing import NamedTuple

Rows = Sequence[Sequence[float]]


class Enumerated(NamedTuple):
    """Mean numbers present (R, K), thinking (R,), and P(n present) for each station."""

    queue: list[list[Fraction]]
    thinking: list[Fraction]
    probability: list[list[Fraction]]


def spread(count: int, places: int) -> Iterator[tuple[int, ...]]:
    """Yield every way to put customers into places."""
    if places == 1:
        yield (count,)
        return
    for first in range(count + 1):
        for rest in spread(count - first, places - 1):
            yield (first, *rest)


def enumerate_states(
    demand: Rows, think: Sequence[float], population: Sequence[int], speeds: Rows
) -> Enumerated:
    """Add up the product form over all states; the last speed of a station holds for more
    customers.
    """
    exact = [[Fraction(each) for each in row] for row in demand]
    away = [Fraction(each) for each in think]
    paces = [[Fraction(each) for each in row] for row in speeds]
    classes, stations = len(exact), len(exact[0])
    total = Fraction(0)
    queue = [[Fraction(0)] * stations for _ in exact]
    thinking = [Fraction(0)] * classes
    chance = [[Fraction(0)] * (sum(population) + 1) for _ in range(stations)]
    for state in product(*(list(spread(count, stations + 1)) for count in population)):
        weight = Fraction(1)
        for r, row in enumerate(state):
            weight *= away[r] ** row[stations] / factorial(row[stations])
        for k in range(stations):
            there = [row[k] for row in state]
            weight *= factorial(sum(there))
            for r, n in enumerate(there):
                weight *= exact[r][k] ** n / factorial(n)
            for i in range(sum(there)):
                weight /= paces[k][min(i, len(paces[k]) - 1)]
        total += weight
        for r, row in enumerate(state):
            thinking[r] += weight * row[stations]
            for k in range(stations):
                queue[r][k] += weight * row[k]
        for k in range(stations):
            chance[k][sum(row[k] for row in state)] += weight
    return Enumerated(
        [[each / total for each in row] for row in queue],
        [each / total for each in thinking],
        [[each / total for each in row] for row in chance],
    )
