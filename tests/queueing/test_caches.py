"""Che's approximation of LRU against King's exact sum over orders, and against a cache that is
run.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from itertools import permutations

import numpy as np
import pytest

from slipstick.errors import ModelError
from slipstick.queueing.caches import lru_hit_ratios


def exact_hit_ratio(chances: list[float], capacity: int) -> float:
    """Add up King's probabilities of the most recent distinct objects: the product of p_i over 1
    minus what stands before.
    """
    total = 0.0
    for order in permutations(range(len(chances)), capacity):
        left, weight = 1.0, 1.0
        for index in order:
            weight *= chances[index] / left
            left -= chances[index]
        total += weight * sum(chances[index] for index in order)
    return total


@pytest.mark.parametrize(("objects", "capacity"), [(4, 1), (4, 2), (6, 2), (6, 3), (6, 5)])
@pytest.mark.parametrize("exponent", [0.0, 0.8, 1.2])
def test_few_objects_against_all_orders(objects: int, capacity: int, exponent: float) -> None:
    chances = np.arange(1, objects + 1.0) ** -exponent
    chances /= chances.sum()
    hits = lru_hit_ratios(chances, capacity)
    assert hits.sum() == pytest.approx(capacity, rel=1e-12)
    assert chances @ hits == pytest.approx(exact_hit_ratio(chances.tolist(), capacity), abs=0.021)


def test_many_objects_against_a_cache_that_is_run() -> None:
    rng, weights = np.random.default_rng(7), np.arange(1, 501.0) ** -0.9
    chances = weights / weights.sum()
    hits, cache = 0, OrderedDict[int, None]()
    requests = rng.choice(500, size=60_000, p=chances).tolist()
    for place, index in enumerate(requests):
        hits += index in cache and place >= 10_000
        cache[index] = None
        cache.move_to_end(index)
        if len(cache) > 50:
            cache.popitem(last=False)
    found = float(chances @ lru_hit_ratios(weights, 50))
    error = math.sqrt(found * (1 - found) / 50_000)
    assert abs(hits / 50_000 - found) < 5 * error + 0.001


def test_equal_objects_are_hit_alike() -> None:
    assert lru_hit_ratios(np.ones(10), 3) == pytest.approx([0.3] * 10, rel=1e-12)


@pytest.mark.parametrize(
    ("weights", "capacity", "message"),
    [
        ([1.0, 0.0], 1, "popularity is a list of weights above 0, one for each object"),
        ([1.0, 1.0], 2, "the capacity of a cache lies between 0 and the 2 objects, got 2"),
    ],
)
def test_what_is_no_cache_is_refused(weights: list[float], capacity: float, message: str) -> None:
    with pytest.raises(ModelError, match=message):
        lru_hit_ratios(np.array(weights), capacity)
