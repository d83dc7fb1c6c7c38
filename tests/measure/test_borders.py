"""Shares and counts at which readers of measurements decide otherwise."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from slipstick.errors import NoAnswerError
from slipstick_measure.fit.estimation import _check_combinations
from slipstick_measure.fit.loads import _is_overloaded
from slipstick_measure.loads import LoadRow
from slipstick_measure.readers.load_tests import _did_users_vary
from slipstick_measure.readers.sheets import _stem_and_number


def _row(rate: float | None, throughput: float | None) -> LoadRow:
    """Return a row of a load test with an offered and a completed rate [1/s]."""
    return cast("LoadRow", SimpleNamespace(rate=rate, throughput=throughput))


@pytest.mark.parametrize(
    ("rate", "throughput", "is_overloaded"),
    [
        *[(100.0, 95.0, False), (100.0, 94.9, True), (100.0, 101.0, False)],
        *[(None, 94.0, False), (100.0, None, False), (0.0, 0.0, False)],
    ],
)
def test_a_row_that_completes_less_than_95_percent_is_overloaded(
    rate: float | None, throughput: float | None, is_overloaded: bool
) -> None:
    assert _is_overloaded(_row(rate, throughput)) == is_overloaded


@pytest.mark.parametrize(
    ("least", "most", "did_vary"), [(5, 10, False), (4, 10, True), (10, 10, False), (1, 2, False)]
)
def test_users_vary_where_fewer_than_half_remain(least: int, most: int, did_vary: bool) -> None:
    assert _did_users_vary(least, most) == did_vary


@pytest.mark.parametrize(
    ("heading", "found"),
    [
        *[("run 0", ("run", 0)), ("run 123456", ("run", 123456)), ("run 1234567", (None, 0))],
        *[("run", (None, 0)), ("", (None, 0)), ("7", ("", 7)), ("run.7", ("run", 7))],
    ],
)
def test_a_heading_ends_with_a_run_of_one_to_six_digits(
    heading: str, found: tuple[str | None, int]
) -> None:
    assert _stem_and_number(heading) == found


def test_unknown_choices_have_at_most_32_combinations() -> None:
    def check(*counts: int) -> None:
        """Check choices with some numbers of values."""
        choices = [SimpleNamespace(values=[""] * count) for count in counts]
        _check_combinations(cast("Any", SimpleNamespace(choices=choices)))

    check()
    check(32)
    check(4, 8)
    for counts, combinations in (((33,), 33), ((3, 11), 33), ((2, 4, 5), 40)):
        with pytest.raises(NoAnswerError, match=f"have {combinations} combinations, at most 32;"):
            check(*counts)
