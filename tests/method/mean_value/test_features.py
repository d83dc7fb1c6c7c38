"""What a model measures at its own values, and what is promised for it."""

from __future__ import annotations

import pytest

from benchmarks.mean_value import Genes, adversary, error_of
from slipstick.model.activity import choose, delay, hold, repeat, service
from slipstick.model.steps import Activity
from slipstick.model.system import (
    Lock,
    Model,
    Resource,
    Station,
    closed_model,
    grouped_model,
    open_model,
)
from slipstick_mean_value.features import Features
from slipstick_mean_value.form import (
    MeanValue,
    features_at_model_values,
    promised_error,
    reasons_without_promised_error,
)


def _stream(*visits: Activity, rate: float, **resources: Station) -> Model:
    cycle = visits[0]
    for visit in visits[1:]:
        cycle = cycle >> visit
    return open_model(cycle, rate, resources=resources)


def _features(model: Model) -> Features:
    found = features_at_model_values(model)
    assert found is not None
    return found


def _mixture(servers: int) -> Model:
    cycle = delay(5.0, scv=1.0, name="think") >> choose(
        (0.02, service("disk", 10.0, scv=1.0, name="long")),
        (0.98, service("disk", 0.02, scv=1.0, name="short")),
    )
    return closed_model(cycle, 24, resources={"disk": Station(servers)})


def test_the_scv_of_all_that_a_station_serves() -> None:
    second = 0.02 * 2 * 10.0**2 + 0.98 * 2 * 0.02**2
    mean = 0.02 * 10.0 + 0.98 * 0.02
    scv = _features(_mixture(1)).served_scv["disk"]
    assert scv == pytest.approx(second / mean**2 - 1)
    # One server behind a delay is exact, so only several lose the promise.
    assert promised_error(_mixture(1)) == 0.1
    assert promised_error(_mixture(2)) is None


def test_unlike_visits_in_a_row_of_a_stream_at_several_servers() -> None:
    short, long = (service("s", time, scv=1.0, name=f"v{time}") for time in (0.02, 0.5))
    for servers, promise in ((1, 0.1), (2, None)):
        model = _stream(repeat(4, short), long, rate=1.0, s=Station(servers))
        assert _features(model).stations_in_a_row == ("s",)
        assert promised_error(model) == promise


def test_busy_stations_in_a_row_whose_services_are_not_exponential() -> None:
    first, second = service("a", 1.0, scv=4.0, name="a"), service("b", 0.9, scv=0.25, name="b")
    stations = {"a": Station(), "b": Station()}
    assert promised_error(_stream(first, second, rate=0.9, **stations)) is None
    assert promised_error(_stream(first, second, rate=0.2, **stations)) == 0.1


@pytest.mark.turns(4)
def test_a_station_that_holders_share_with_another_group_is_close_but_not_promised() -> None:
    update = service("s", 1.2, scv=1.0, name="update")
    held = delay(1.3, scv=1.0, name="y") >> hold("lock", update)
    free = delay(3.6, scv=1.0, name="z") >> service("s", 0.83, scv=1.0, name="other")
    resources: dict[str, Resource] = {"s": Station(1, "ps"), "lock": Lock("fifo")}
    model = grouped_model({"a": (8, held), "b": (15, free)}, resources=resources)
    # A chain of 144 states has 111.963 s and 13.62 s.
    answer = MeanValue(model).points({}).answer(0)
    assert answer["time[a]"] == pytest.approx(111.963, rel=0.04)
    assert answer["time[b]"] == pytest.approx(13.62, rel=0.01)
    assert _features(model).stations_shared_by_holders == ("s",)
    assert "that one group uses under a lock or permits" in reasons_without_promised_error(model)[0]


WORST = [
    Genes(
        3,
        1,
        0.018,
        1.0,
        (
            ("twice", "b", 0.105, 4.0),
            ("visit", "b", 1.491, 4.0),
            ("visit", "a", 1.189, 0.5),
            ("choice", "a", 0.24, 0.5),
        ),
        False,
    ),
    Genes(
        3,
        1,
        0.167,
        1.0,
        (
            ("choice", "a", 1.686, 0.5),
            ("visit", "b", 1.719, 1.0),
            ("choice", "b", 0.076, 1.0),
            ("choice", "a", 1.847, 4.0),
        ),
        False,
    ),
    Genes(2, 1, 0.095, 1.0, (("twice", "b", 0.06, 4.0), ("held", "b", 1.319, 0.5)), False),
]
"""Worst models of 24 searches of the adversary (seeds from 8201), where an error is promised."""

UNDER_AND_OUTSIDE = [
    Genes(
        3,
        1,
        0.188,
        0.5,
        (("visit", "a", 0.534, 1.0), ("choice", "a", 0.236, 1.0), ("held", "a", 0.069, 1.0)),
        True,
    ),
    Genes(3, 1, 0.307, 0.5, (("twice", "a", 1.759, 0.5), ("held", "a", 0.12, 1.0)), True),
]
"""Its models that lost their promise: off by 46 and 35 %."""


@pytest.mark.turns(4)
@pytest.mark.parametrize("genes", WORST)
def test_the_worst_models_do_not_become_worse(genes: Genes) -> None:
    error = error_of(genes)
    assert error is not None
    assert abs(error) < 0.24


@pytest.mark.parametrize("genes", UNDER_AND_OUTSIDE)
def test_a_station_under_a_lock_and_outside_before_a_barrier_is_not_promised(genes: Genes) -> None:
    assert "before a barrier" in reasons_without_promised_error(genes.model())[0]


@pytest.mark.turns(4)
def test_a_search_finds_larger_errors_and_the_same_again() -> None:
    (first, _), (error, genes) = adversary(3, 0), adversary(3, 12)
    assert abs(error) >= abs(first)
    assert error_of(genes) == error
    assert adversary(3, 12) == (error, genes)
