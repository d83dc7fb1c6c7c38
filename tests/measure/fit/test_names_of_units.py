"""Units at the ends of names of measured columns."""

from __future__ import annotations

import pytest

from slipstick_measure.fit.columns import unit_at_end_of_name


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("heading", "expected_unit", "unit"),
    [
        ("tpot_ms", "s", "ms"),
        ("Latency_US", "s", "us"),
        ("transactions_per_s", "1/s", "1/s"),
        ("tpot_ms", "1/s", ""),
        ("transactions_per_s", "s", ""),
        ("ms", "s", ""),
        ("time", "s", ""),
        ("time_mean", "s", ""),
    ],
)
def test_a_name_ends_with_the_unit_of_what_is_measured(
    heading: str, expected_unit: str, unit: str
) -> None:
    assert unit_at_end_of_name(heading, expected_unit) == unit
