"""Dimensions form a group under multiplication, and have one spelling."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from slipstick.expression.nodes import BASES, BYTES, COUNT, RATE, TIME, TIME_PER_BYTE, Dimension
from tests.strategies import quick

DIMENSIONS = st.tuples(*[st.integers(-3, 3)] * len(BASES)).map(Dimension)


@quick
@given(DIMENSIONS, DIMENSIONS, DIMENSIONS)
def test_multiplication_is_a_commutative_group(a: Dimension, b: Dimension, c: Dimension) -> None:
    assert a * b == b * a
    assert (a * b) * c == a * (b * c)
    assert a * COUNT == a
    assert a / a == COUNT
    assert a / b * b == a


@quick
@given(DIMENSIONS, st.integers(0, 4))
def test_a_power_is_repeated_multiplication(a: Dimension, n: int) -> None:
    product = COUNT
    for _ in range(n):
        product = product * a
    assert a**n == product
    assert a**-n == COUNT / product


@quick
@given(DIMENSIONS)
def test_what_is_written_reads_back(a: Dimension) -> None:
    assert Dimension.of(str(a)) == a
    assert eval(repr(a), {"Dimension": Dimension}) == a


@quick
@given(DIMENSIONS, DIMENSIONS)
def test_the_power_of_time_adds_up(a: Dimension, b: Dimension) -> None:
    assert (a * b).time_power == a.time_power + b.time_power
    assert (a / b).time_power == a.time_power - b.time_power


def test_the_names_mean_what_they_say() -> None:
    assert [str(each) for each in (COUNT, TIME, BYTES, TIME_PER_BYTE, RATE)] == [
        "1",
        "s",
        "B",
        "s/B",
        "1/s",
    ]
    assert TIME_PER_BYTE * BYTES == TIME == COUNT / RATE
    assert str(TIME**2 * BYTES / Dimension.of("op")) == "s^2 B/op"
