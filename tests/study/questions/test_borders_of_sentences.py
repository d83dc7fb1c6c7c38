"""Numbers at which a sentence changes, and how many items a sentence lists."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from slipstick.answer import Answer, Value
from slipstick.results.sweep import Provenance
from slipstick_questions.bottleneck import CaseBottlenecks, _with_value_near_limit
from slipstick_questions.conditions import names_limit
from slipstick_questions.crossing_years import crossing_band_text
from slipstick_questions.rank import _saving_clause
from slipstick_questions.seek import (
    ConditionSearch,
    UnansweredPlaces,
    _stretches_sentence,
    _values_in_words,
)
from slipstick_questions.sign_changes import Change
from slipstick_questions.trends import ended_data_text


def _search(count: int) -> ConditionSearch:
    """Return a search with some changes, and as many stretches without an answer and with a
    saturated resource.
    """
    return ConditionSearch(
        "it",
        "base",
        "n",
        "",
        "",
        "wait <= 1 s",
        0,
        100,
        True,
        True,
        9,
        tuple(Change(10.0 * index, None, starts=index % 2 == 0) for index in range(1, count + 1)),
        nearest=0.0,
        unanswered=tuple(
            UnansweredPlaces(10.0 * index, 10.0 * index + 1, None, None, False, False)
            for index in range(1, count + 1)
        ),
        saturated=tuple((10.0 * index, 10.0 * index + 1, "cpu") for index in range(1, count + 1)),
    )


@pytest.mark.parametrize(
    ("count", "further_changes", "further_stretches"),
    [
        (8, "", ""),
        (9, ", and 1 further changes in the table", " and 1 further stretches"),
        (10, ", and 2 further changes in the table", " and 2 further stretches"),
    ],
)
def test_a_sentence_has_eight_changes_and_counts_the_others(
    count: int, further_changes: str, further_stretches: str
) -> None:
    search = _search(count)
    changes = _values_in_words(search)
    assert ("80" in changes, "90" in changes) == (True, False)
    assert changes.partition(", and")[2] == further_changes.partition(", and")[2]
    stretches = _stretches_sentence(search)
    unanswered, *saturated = stretches.split(", cpu saturated")
    assert len(saturated) == 8
    assert unanswered.endswith(f"from 80 to 81{further_stretches}")


@pytest.mark.parametrize(
    ("share", "beginning"),
    [
        (0.999, ""),
        (0.998, "(uncertain: by 2040 in 99.8 % of"),
        (0.5, "(uncertain: by 2040 in 50 % of"),
        (0.499, "(at the stated rates, not in most random draws: by 2040 in 49.9 % of"),
        (0.001, "(at the stated rates, not in most random draws: by 2040 in 0.1 % of"),
        (0.0, "(at the stated rates only: by 2040 in none of"),
    ],
)
def test_the_draws_that_reach_a_year_are_all_most_some_or_none(
    share: float, beginning: str
) -> None:
    found = crossing_band_text(None, None, share, 2040.0)
    assert found == (f" {beginning} the random draws)" if beginning else "")


def test_two_rates_whose_data_end_are_told_one_by_one_and_three_are_counted() -> None:
    years = {"a": 2021.0, "b": 2024.0}
    start = "the data of these rates end before the base year 2026"
    assert ended_data_text(2026, years) == f"{start}: a (2021) and b (2024)"
    assert ended_data_text(2026, {**years, "c": 2020.0}) == (
        "the data of 3 rates end before the base year 2026, the first in 2020 (c)"
    )
    # Of equal years the first data is named.
    assert ended_data_text(2026, {**years, "c": 2021.0}).endswith("the first in 2021 (a)")


@pytest.mark.parametrize(
    ("title", "is_named"),
    [
        *[("within 35 s?", True), ("within 35s?", True), ("35 s or more?", True)],
        *[("within 135 s?", False), ("within 1.35 s?", False), ("within 35 steps?", False)],
        *[("within 35  s?", False), ("within 35 ms?", False)],
    ],
)
def test_a_title_names_a_limit_by_the_whole_number_and_unit(title: str, is_named: bool) -> None:
    assert names_limit(title, "time <= 35 s") == is_named


def _bottlenecks(*throughputs: float) -> CaseBottlenecks:
    """Return bottlenecks along 1, 11, 21, ... customers of a resource with a demand of 1 s."""
    count = len(throughputs)
    customers = np.array([1.0 + 10.0 * index for index in range(count)])
    return CaseBottlenecks(
        "base",
        Provenance([], []),
        "n",
        "1",
        customers,
        customers,
        np.array(throughputs),
        np.ones(count),
        {"bus": np.ones(count)},
    )


@pytest.mark.parametrize(
    ("throughputs", "near", "far"),
    [
        ((0.5, 0.95), 11.0, 1.0),
        ((0.5, 0.9499), None, None),
        ((0.95, 0.99), 1.0, None),
        ((0.9499, 0.95, 0.99), 11.0, 1.0),
        ((0.96, 0.94, 0.95), 21.0, 11.0),
    ],
)
def test_a_throughput_is_near_its_limit_from_95_percent_of_it_on(
    throughputs: tuple[float, ...], near: float | None, far: float | None
) -> None:
    found = _with_value_near_limit(_bottlenecks(*throughputs), None)
    assert (found.near_limit, found.far_from_limit) == (near, far)


def test_the_number_near_the_limit_is_the_first_that_reaches_it() -> None:
    for first in range(2, 12):

        def throughput_at(number: int, first: int = first) -> float:
            """Return a throughput that is near the limit from a number of customers on [1/s]."""
            return 0.95 if number >= first else 0.94

        found = _with_value_near_limit(_bottlenecks(0.5, 0.99), throughput_at)
        assert (found.near_limit, found.far_from_limit) == (first, None)


@pytest.mark.parametrize(
    ("saved", "clause"),
    [
        (0.001, "yes, this saves 0.1 % of the time"),
        (1e-9, "yes, this saves "),
        (0.0, "no, this does not change the time"),
        (-0.0009, "no, this does not change the time"),
        (-0.001, "no, this takes 1.001 times as long as base"),
        (-0.01, "no, this takes 1.01 times as long as base"),
        (-0.012, "no, this takes 1.01 times as long as base"),
        (-1.2345, "no, this takes 2.23 times as long as base"),
        (None, "this has no answer"),
    ],
)
def test_a_change_saves_nothing_below_a_thousandth_of_the_time(
    saved: float | None, clause: str
) -> None:
    assert _saving_clause("this", Value(saved, "1"), "base", []).startswith(clause)


@pytest.mark.parametrize(
    ("low", "high", "is_decided"),
    [(0.05, 0.2, True), (0.0, 0.2, False), (-0.2, 0.0, False), (-0.2, -0.05, True)],
)
def test_whether_a_change_saves_time_is_undecided_where_the_range_has_0(
    low: float, high: float, is_decided: bool
) -> None:
    clause = _saving_clause("this", Value((low + high) / 2, "1", low, high), "base", [])
    assert clause.startswith(("yes, ", "no, ")) == is_decided


def test_the_number_near_the_limit_is_of_the_largest_demand_and_the_population() -> None:
    one = _bottlenecks(0.25, 0.495)
    doubled = replace(one, demands={"bus": np.array([2.0, 2.0]), "disk": np.array([1.0, 1.0])})
    found = _with_value_near_limit(doubled, lambda number: 0.475 if number >= 7 else 0.4)
    assert found.near_limit == 7
    of_another = replace(doubled, population=doubled.values + 1)
    assert _with_value_near_limit(of_another, None) is of_another


def test_a_band_within_one_year_names_it_once() -> None:
    for low, high, band in (
        (2010.1, 2010.9, " (in 2011)"),
        (2010.1, 2011.1, " (uncertain: 2011 to 2012)"),
        (2010.1, None, " (uncertain: 2011 or later)"),
    ):
        assert crossing_band_text(low, high, None, 2040.0) == band


def test_the_largest_shares_are_three_of_at_least_a_twentieth() -> None:
    account = {"a": 90.0, "b": 5.0, "c": 4.99, "d": 0.01}
    assert Answer("m", "closed-form", account=account).largest_shares == {"a": 0.9, "b": 0.05}
    # Of equal times the first is named first.
    equal = dict.fromkeys("wxyz", 1.0)
    assert [*Answer("m", "closed-form", account=equal).largest_shares] == ["w", "x", "y"]
    assert Answer("m", "closed-form", account={"a": 1.0}).largest_shares == {}
    assert Answer("m", "closed-form", account={"a": 0.0, "b": 0.0}).largest_shares == {}
