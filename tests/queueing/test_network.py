"""What a network takes, in which shapes, and what it refuses."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from slipstick.errors import ModelError
from slipstick.queueing.network import _is_in_range, network_arrays


def test_numbers_spread_over_points_classes_and_stations() -> None:
    built = network_arrays(
        np.ones((1, 3)), [[1.0], [2.0]], population=[[1, 2], [3, 4], [5, 6]], think=2.0
    )
    assert built.demand.shape == (3, 2, 3)
    assert built.think.shape == (3, 2)
    assert built.population.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert built.classes == ("class 1", "class 2")
    assert built.point_count == 3


def test_classes_are_closed_or_open_as_given() -> None:
    assert network_arrays([1.0], population=2).closed.tolist() == [True]
    assert network_arrays([1.0], arrivals=0.2).closed.tolist() == [False]
    assert network_arrays([[1.0], [1.0]], population=[2, 0], arrivals=[0, 0.2]).closed.tolist() == [
        True,
        False,
    ]
    assert network_arrays(
        [[1.0], [1.0]], population=[2, 0], arrivals=[0, 0], closed=[1, 0]
    ).closed.tolist() == [
        True,
        False,
    ]


def test_some_points_are_a_network() -> None:
    whole = network_arrays(
        np.arange(1.0, 5).reshape(4, 1, 1), population=3, rates=[np.arange(1.0, 9).reshape(4, 2)]
    )
    some = whole.select([1, 3])
    assert some.service[:, 0, 0].tolist() == [2.0, 4.0]
    assert some.rates[0] is not None
    assert some.rates[0].tolist() == [[3.0, 4.0], [7.0, 8.0]]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (
            {"service": [np.nan], "population": 1},
            "class 1 at station 1: service is nan; give a finite number that is not negative",
        ),
        (
            {"service": [-1.0], "population": 1},
            "class 1 at station 1: service is -1; give a finite number that is not n",
        ),
        (
            {"service": [1.0], "population": 1, "think": np.inf},
            "class 1: think is inf; give a finite number that is ",
        ),
        (
            {"service": [1.0], "population": -1},
            "class 1: population is -1; give a whole number that is not negative",
        ),
        (
            {"service": [1.0], "population": 1.5},
            "class 1: population is 1.5; give a whole number that is not negative",
        ),
        (
            {"service": [1.0], "population": 1, "servers": 0},
            "station 1: servers is 0; give 1 or more",
        ),
        (
            {"service": [1.0], "population": 1, "rates": [[1, 0]]},
            "station 1: rates must be finite and above 0",
        ),
        (
            {"service": [1.0], "population": 1, "rates": [None] * 2},
            "rates is given for 2 stations; there are 1",
        ),
        (
            {"service": [1.0], "population": 1, "discipline": ["ps"] * 3},
            "discipline is given for 3 stations; there are 1",
        ),
        (
            {"service": [1.0], "population": 1, "discipline": "lifo"},
            "station 1: there is no discipline 'lifo'; known: fcf",
        ),
        (
            {"service": [1.0], "population": 1, "servers": [1, 2]},
            "servers has the shape (2,), which does not fit (1,)",
        ),
    ],
    ids=lambda each: str(each)[:50],
)
def test_what_cannot_be_a_network_is_named(given: dict[str, Any], text: str) -> None:
    with pytest.raises(ModelError) as refused:
        network_arrays(**given)
    assert str(refused.value).startswith(text)


@pytest.mark.parametrize(
    ("numbers", "is_whole", "in_range"),
    [
        ([1.0, 2.5], False, True),
        ([1.0, 2.5], True, False),
        ([1.0, -2.0], False, False),
        ([1.0, math.inf], False, False),
        ([-1.0, math.inf], False, False),
        ([], True, True),
        ([3.0], True, True),
        ([-3.0], True, False),
    ],
)
def test_numbers_in_range_are_finite_and_not_negative(
    numbers: list[float], is_whole: bool, in_range: bool
) -> None:
    assert _is_in_range(np.array(numbers), is_whole) == in_range
