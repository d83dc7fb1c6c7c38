"""What fits are made of: the closed queue, the largest of several, timings, least squares,
limits.
"""

from __future__ import annotations

import math
from dataclasses import replace
from decimal import Decimal, localcontext
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick.errors import ModelError, NoAnswerError
from slipstick_measure.fit.extrapolation import Extrapolation, size_needed
from slipstick_measure.fit.families import FAMILIES, cycle_times, expected_largest
from slipstick_measure.fit.formula import Timings, observations_of
from slipstick_measure.fit.least_squares import FittedFormula, fit
from tests.measure.data import run, table
from tests.measure.fit.truths import MEASURED, TRUTHS, noisy

positive = st.floats(0.01, 100)


@given(positive, positive, st.integers(1, 60))
def test_one_station_is_the_machine_repairman(
    outside: float, service: float, machines: int
) -> None:
    """The station is idle with probability 1 / sum_k N! / (N - k)! (D / Z)^k; Allen 1990,
    machine repair.
    """
    terms = [
        math.exp(
            math.lgamma(machines + 1)
            - math.lgamma(machines - k + 1)
            + k * math.log(service / outside)
        )
        for k in range(machines + 1)
    ]
    busy = 1 - 1 / math.fsum(terms)
    if busy > 1e-6:
        assert cycle_times(outside, np.array([service]), np.array([float(machines)]))[
            0
        ] == pytest.approx(machines * service / busy, rel=1e-9)


@given(st.integers(1, 5), positive, st.integers(1, 50))
def test_equal_stations_without_time_outside_share_evenly(
    stations: int, demand: float, customers: int
) -> None:
    found = cycle_times(0.0, np.full(stations, demand), np.array([float(customers)]))
    assert found[0] == pytest.approx(demand * (customers + stations - 1))


def _by_recursion(outside: float, demands: list[float], customers: int) -> float:
    """Mean value analysis, customer by customer."""
    present = [0.0] * len(demands)
    for number in range(1, customers + 1):
        times = [demand * (1 + queue) for demand, queue in zip(demands, present, strict=True)]
        rate = number / (outside + sum(times))
        present = [rate * time for time in times]
    return customers / rate


@pytest.mark.turns(4)
@pytest.mark.parametrize("outside", [0.0, 3.0, 700.0, 2e5])
@pytest.mark.parametrize(
    "demands",
    [[1.0], [2.0, 0.3], [1.0, 1.001], [1.0, 1.00005], [1.0, 1.0], [0.0, 0.0], [1e-5, 4.0]],
)
def test_few_stations_have_a_closed_form(outside: float, demands: list[float]) -> None:
    if not outside and not sum(demands):
        pytest.skip("a cycle of no time")
    populations = np.array([1.0, 2.0, 40.0, 900.0, 1024.0])
    recursion = [_by_recursion(outside, demands, int(number)) for number in populations]
    assert cycle_times(outside, np.array(demands), populations) == pytest.approx(
        recursion, rel=1e-9
    )


def _by_decimals(outside: int, demands: tuple[str, str], customers: int) -> float:
    """The closed form of two stations in decimals of 60 digits, which lose nothing that counts."""
    with localcontext(prec=60):
        large, small = (Decimal(demand) for demand in demands)
        sums = []
        for demand in (large, small):
            sums.append(term := Decimal(1))
            for number in range(customers - 1, 0, -1):
                term *= number * demand / outside
                sums[-1] += term
        above = outside * (large - small) + customers * (large**2 * sums[0] - small**2 * sums[1])
        return float(above / (large * sums[0] - small * sums[1]))


@pytest.mark.parametrize("outside", [2000, 4000, 4040, 8000])
def test_stations_that_are_nearly_alike_lose_few_digits(outside: int) -> None:
    for demands, error in ((("1.0002", "1"), 2e-9), (("1.00001", "1"), 5e-5)):
        cycle = cycle_times(float(outside), np.array(demands, dtype=float), np.array([4000.0]))
        assert cycle[0] == pytest.approx(_by_decimals(outside, demands, 4000), rel=error)


@given(positive, st.lists(positive, min_size=1, max_size=3), st.integers(1, 50))
def test_the_bounds_enclose_the_cycle(outside: float, demands: list[float], customers: int) -> None:
    found = cycle_times(outside, np.array(demands), np.array([float(customers)]))[0]
    least = max(outside + sum(demands), customers * max(demands))
    assert least * (1 - 1e-12) <= found <= (outside + customers * sum(demands)) * (1 + 1e-12)


@pytest.mark.parametrize(
    "name", ["lock", "lock, shared work", "two stations", "serial part", "coherency"]
)
def test_what_is_lost_and_what_one_processor_takes_add_up_to_the_time(name: str) -> None:
    timings = noisy(TRUTHS[name], 0, noise=0.0)
    fitted = fit(FAMILIES[TRUTHS[name].family], timings)
    for p in (1.0, 8.0, 64.0):
        single, time = fitted.predict([1.0, p])
        useful = single / time if timings.weak_scaling else single / (p * time)
        assert p * useful + sum(fitted.lost_processors(p).values()) == pytest.approx(p, abs=1e-6)
    assert list(fitted.lost_processors(64.0).values()) == sorted(
        fitted.lost_processors(64.0).values(), reverse=True
    )


def test_several_sets_of_parameters_are_evaluated_at_once() -> None:
    timings = noisy(TRUTHS["lock"], 0)
    for family in ("queue-2", "usl", "phase-barrier", "power-log"):
        *_, formula = FAMILIES[family].formulas(timings)
        sets = np.linspace(0.1, 0.9, 3 * len(formula.parameters)).reshape(3, -1)
        each = [formula.time(theta, timings) for theta in sets]
        assert formula.times(sets, timings) == pytest.approx(np.array(each))


@pytest.mark.parametrize(
    ("count", "largest"),
    [
        (1, 0.0),
        (2, 1 / math.sqrt(math.pi)),
        (3, 1.5 / math.sqrt(math.pi)),
        (5, 1.16296),  # Harter, Biometrika 48, 1961, expected values of normal order statistics
        (10, 1.53875),
        (20, 1.86748),
        (100, 2.50759),
    ],
)
def test_the_largest_of_normal_numbers(count: int, largest: float) -> None:
    assert expected_largest(np.array([float(count)]))[0] == pytest.approx(largest, abs=5e-6)


@given(st.integers(2, 10**6))
def test_the_largest_stays_below_its_bound(count: int) -> None:
    assert expected_largest(np.array([float(count)]))[0] <= math.sqrt(2 * math.log(count))


def test_timings_are_all_repetitions_of_the_whole() -> None:
    records = [
        run(p, "time", 9.0 / p + at, region, repetition=at)
        for p in (1, 2)
        for at in (1, 2)
        for region in ("", "a")
    ]
    found = observations_of(table(*records)).timings()
    assert (found.p.tolist(), found.time.tolist()) == ([1, 1, 2, 2], [10, 11, 5.5, 6.5])
    assert (found.weak_scaling, found.has_sizes, len(found)) == (False, False, 4)
    assert observations_of(table(*records), "a").timings().time.tolist() == found.time.tolist()
    cycles = observations_of(
        table(run(2, "cycle", 3.0, n=7.0), run(2, "cycle", 3.0, n=8.0))
    ).timings()
    assert (cycles.weak_scaling, cycles.has_sizes) == (True, True)


def test_the_runs_of_one_size_can_be_taken() -> None:
    records = table(*(run(p, "time", n / p, n=n) for p in (1, 2) for n in (8.0, 9.0)))
    assert observations_of(records, size=9.0).timings().time.tolist() == [9.0, 4.5]
    with pytest.raises(ModelError) as caught:
        observations_of(records, size=7.0)
    assert str(caught.value) == "no run has the size 7; known: 8, 9"
    with pytest.raises(ModelError) as caught:
        observations_of(table(run(1, "time", 1.0)), size=7.0)
    assert str(caught.value) == "no run has the size 7; known: none, because no run has a size"


def test_what_cannot_be_fitted_is_refused() -> None:
    with pytest.raises(
        ModelError,
        match="a fit needs times, cycles or throughputs, one of the three; there are none",
    ):
        observations_of(table(run(1, "wait", 1.0)))
    with pytest.raises(ModelError, match="one of the three; there are time, cycle"):
        observations_of(table(run(1, "time", 1.0), run(1, "cycle", 1.0)))
    with pytest.raises(ModelError, match="f:1: time is 0; a fit needs values above 0"):
        observations_of(table(run(1, "time", 0.0)))


def test_errors_are_relative_so_long_runs_do_not_outweigh_short_ones() -> None:
    """Noise of one sign at the short runs moves the fit as much as at the long ones."""
    truth = TRUTHS["serial part"]
    exact = noisy(truth, 0, noise=0.0)
    family = FAMILIES["power-log"]
    assert fit(family, exact).formula.text == "T = constant + factor p^-1"
    up = fit(FAMILIES["amdahl"], exact.with_time(exact.time * 1.1))
    assert up.parameters == pytest.approx({"single": 110, "serial": 0.05})


def test_points_measured_more_often_weigh_more() -> None:
    p = np.array([1.0, 1, 2, 2, 4, 4])
    time = np.array([100.0, 100, 50, 50, 25, 30])
    often = np.array([0, 1, 2, 3, *[4] * 50, 5])
    once = fit(FAMILIES["amdahl"], Timings(p, np.ones(6), time))
    more = fit(FAMILIES["amdahl"], Timings(p[often], np.ones(len(often)), time[often]))
    assert more.parameters["serial"] < once.parameters["serial"] / 2


def test_sizes_are_part_of_the_latency() -> None:
    """Scale-Graph, equation 3, with L growing as the root of the size."""
    p, n = np.tile([1.0, 2, 4, 8, 16], 3), np.repeat([100.0, 400, 1600], 5)
    timings = Timings(p, n, 0.01 * n / p + 0.002 * np.log2(p) * np.sqrt(n))
    fitted = fit(FAMILIES["latency"], timings)
    assert fitted.formula.text == "T = work n / p + latency log2(p) n^(1/2)"
    assert fitted.parameters == pytest.approx({"work": 0.01, "latency": 0.002})
    assert fitted.predict([32], 6400.0) == pytest.approx([2 + 0.002 * 5 * 80])


def test_where_a_program_is_fastest() -> None:
    """USL, T falls until p = sqrt((1 - contention) / coherency)."""
    fitted = fit(FAMILIES["usl"], noisy(TRUTHS["coherency"], 0, noise=0.0))
    found = Extrapolation(fitted).fastest_point()
    assert found is not None
    assert abs(found[0] - math.sqrt(0.97 / 0.0008)) <= 1
    assert found[1] == pytest.approx(fitted.predict([found[0]])[0])
    assert (
        Extrapolation(fit(FAMILIES["amdahl"], noisy(TRUTHS["serial part"], 0))).fastest_point()
        is None
    )
    assert (
        Extrapolation(fit(FAMILIES["usl"], noisy(TRUTHS["coherency, own work"], 0))).fastest_point()
        is None
    )


@pytest.mark.parametrize("efficiency", [0.5, 0.75, 0.9, 1.0])
def test_the_largest_efficient_number_of_processors(efficiency: float) -> None:
    """Amdahl, E = 1 / (1 + serial (p - 1))."""
    fitted = fit(FAMILIES["amdahl"], noisy(TRUTHS["serial part"], 0, noise=0.0))
    wanted = 1 + (1 / efficiency - 1) / 0.05
    assert Extrapolation(fitted).largest_efficient_processors(efficiency) == math.floor(
        wanted + 1e-6
    )


def test_a_form_that_never_falls_below_an_efficiency_reaches_the_end() -> None:
    p = MEASURED
    fitted = fit(FAMILIES["amdahl"], Timings(p, np.ones(len(p)), 100 / p))
    assert Extrapolation(fitted).largest_efficient_processors(0.9) == 64 * 32


@pytest.mark.parametrize("name", FAMILIES)
def test_a_family_says_what_it_is(name: str) -> None:
    family = FAMILIES[name]
    assert family.name == name
    assert family.title
    assert family.source
    timings = replace(noisy(TRUTHS["serial part"], 0), servers=4, domain=4)
    for formula in family.formulas(timings):
        assert formula.family == name
        assert formula.text.startswith("T = ")
        assert all(
            parameter.meaning and parameter.unit in ("s", "1") for parameter in formula.parameters
        )
        assert len(set(formula.names)) == len(formula.names)
        for start in formula.starting_points(timings):
            assert start.shape == (len(formula.parameters),)
            assert (start >= 0).all()


@pytest.mark.parametrize("largest", [1, 2, 255, 256, 257, 258, 262, 300, 1000, 65536])
def test_a_fit_is_evaluated_at_every_number_up_to_256_and_in_steps_of_two_percent(
    largest: int,
) -> None:
    fitted = SimpleNamespace(
        formula=SimpleNamespace(largest_extrapolation_ratio=1.0),
        timings=SimpleNamespace(p=np.array([1.0, float(largest)])),
    )
    numbers = Extrapolation(cast("FittedFormula", fitted)).p
    assert numbers[:256].tolist() == [*range(1, min(256, largest) + 1)]
    assert numbers[-1] == largest
    assert (numbers == np.round(numbers)).all()
    beyond = numbers[numbers >= 256]
    # Rounding to whole numbers moves each end of a step by up to a half.
    assert (np.diff(beyond) <= 0.02 * beyond[:-1] + 1).all()
    if largest > 1000:
        assert len(beyond) == 1 + math.ceil(math.log(largest / 256) / math.log(1.02))


@pytest.mark.parametrize(("predicted", "end"), [(None, 64), (63.0, 63), (64.0, 64), (65.0, 64)])
def test_a_fit_is_evaluated_no_further_than_is_predicted(predicted: float | None, end: int) -> None:
    fitted = SimpleNamespace(
        formula=SimpleNamespace(largest_extrapolation_ratio=4.0),
        timings=SimpleNamespace(p=np.array([1.0, 16.0])),
    )
    numbers = Extrapolation(cast("FittedFormula", fitted), largest_predicted=predicted).p
    assert numbers.tolist() == [*range(1, end + 1)]


def test_the_size_that_more_processors_need_is_the_isoefficiency() -> None:
    """T = w n / p + l, so E = w n / (w n + l) at p over one processor: n = (p E - 1) l / ((1 -
    E) w).
    """
    p, n = np.tile(MEASURED, 2), np.repeat([100.0, 800.0], len(MEASURED))
    fitted = fit(FAMILIES["latency"], Timings(p, n, 2 * n / p + 3))
    found = size_needed(fitted, 64, 0.75)
    assert found == pytest.approx((64 * 0.75 - 1) * 3 / (0.25 * 2), rel=1e-4)
    assert size_needed(fitted, 1, 0.75) == 100
    assert size_needed(fit(FAMILIES["amdahl"], noisy(TRUTHS["serial part"], 0)), 64, 0.75) is None
    assert (
        size_needed(fit(FAMILIES["latency"], Timings(p, n, 2 * n / p + 0.1 * n)), 64, 0.75) is None
    )
    # Over 4 processors E = 4 (w n / 4 + l) / (w n + l p).
    fitted = fit(FAMILIES["latency"], Timings(4 * p, n, 2 * n / (4 * p) + 3))
    found = size_needed(fitted, 64, 0.75)
    assert found == pytest.approx((64 * 0.75 - 4) * 3 / (0.25 * 2), rel=1e-4)
    with pytest.raises(NoAnswerError) as caught:
        fit(FAMILIES["usl"], Timings(p, n, 2 * n / p + 3))
    words = "the data have 2 sizes, and this family has no size; fit the runs of one size (--size)"
    assert str(caught.value) == words


def test_the_largest_speedup_of_amdahl_is_at_its_end() -> None:
    most, at = Extrapolation(
        fit(FAMILIES["amdahl"], noisy(TRUTHS["serial part"], 0, noise=0.0))
    ).largest_speedup()
    assert most == pytest.approx(1 / (0.05 + 0.95 / at), rel=1e-6)
    assert at > 2000


def test_a_speedup_that_levels_off_names_the_first_number_near_it() -> None:
    """A lock of a tenth of the cycle lets at most 10 processors work; a speed-up that falls again,
    or that rises to its end, has no such number.
    """

    def first_of_level(name: str) -> int | None:
        truth = TRUTHS[name]
        return Extrapolation(
            fit(FAMILIES[truth.family], noisy(truth, 0, noise=0.0))
        ).first_level_processors()

    p = np.arange(1.0, 100.0)
    speedups = p * 10.0 / TRUTHS["lock"].time(p)
    assert first_of_level("lock") == p[speedups >= 0.95 * 10.0][0] < 20
    assert first_of_level("coherency") is None
    assert first_of_level("serial part") is None
