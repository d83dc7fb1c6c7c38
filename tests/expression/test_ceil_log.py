"""Levels of a tree are counted exactly, where a quotient of logarithms is not."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick.expression.nodes import Number, Parameter, ceil_log, log2
from slipstick.expression.tape import Tape
from tests.strategies import quick

N, RADIX = Parameter("n"), Parameter("radix", value=2.0)
LEVELS = Tape([ceil_log(N, RADIX)])


def levels(counts: list[float], radix: float = 2.0) -> list[int]:
    return [int(k) for k in LEVELS.run({"n": np.array(counts, dtype=float), "radix": radix})[0]]


def test_powers_of_two_and_their_neighbours() -> None:
    for k in range(2, 53):
        assert levels([2.0**k - 1, 2.0**k, 2.0**k + 1]) == [k, k, k + 1], k


def test_every_power_of_two_that_a_double_holds() -> None:
    exponents = range(1, 1024)
    assert levels([2.0**k for k in exponents]) == list(exponents)
    assert levels([float(np.nextafter(2.0**k, np.inf)) for k in exponents]) == [
        k + 1 for k in exponents
    ]


@pytest.mark.parametrize("radix", [3, 7, 8, 10, 36, 1000])
def test_other_radices_with_their_neighbours(radix: int) -> None:
    k = 2
    while radix**k < 2**53:
        assert levels([radix**k - 1, radix**k, radix**k + 1], radix) == [k, k, k + 1]
        k += 1


def test_the_case_that_a_logarithm_gets_wrong() -> None:
    assert levels([36**3], 36) == [3]
    assert ceil_log(36**3, 36) == Number(3.0)


def test_few_leaves_and_the_largest_number() -> None:
    assert levels([-3.0, 0.0, 0.5, 1.0, 1.5, 2.0]) == [0, 0, 0, 0, 1, 1]
    assert levels([sys.float_info.max]) == [1024]
    assert levels([sys.float_info.max], 36) == [199]
    assert 36**198 < sys.float_info.max < 36**199


@pytest.mark.turns(4)
@quick
@given(st.floats(0.0, 1e300), st.integers(2, 64))
def test_levels_reach_the_count_and_one_less_does_not(count: float, radix: int) -> None:
    """Held against whole numbers of any length; constants and arrays agree."""
    k = levels([count], radix)[0]
    assert radix**k >= count
    assert k == 0 or radix ** (k - 1) < count
    assert ceil_log(count, radix) == Number(float(k))


def test_each_point_may_have_its_own_radix() -> None:
    found = LEVELS.run({"n": np.array([8.0, 8.0, 81.0]), "radix": np.array([2.0, 8.0, 3.0])})[0]
    assert found.tolist() == [3.0, 1.0, 4.0]


def test_log2_is_exact_at_powers_of_two() -> None:
    exponents = np.arange(-1000.0, 1000.0)
    assert Tape([log2(N)]).run({"n": 2.0**exponents})[0].tolist() == exponents.tolist()
