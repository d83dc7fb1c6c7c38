"""What rows say comes first; a law speaks only if it describes them."""

from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest

from slipstick.errors import NoAnswerError
from slipstick.late import Array
from slipstick_measure.fit.comparison import compare, fits
from slipstick_measure.fit.families import (
    FAMILIES,
    cycle_times,
    repairman_cycle_time,
)
from slipstick_measure.fit.formula import Timings
from slipstick_measure.fit.least_squares import fit
from slipstick_measure.fit.rows import MeasuredRows
from slipstick_measure.report.fits import draw_fits, fits_text, main_findings


def timings(p: Array, time: Array, **more: int) -> Timings:
    return Timings(p, np.ones(len(p)), time, False, more.get("servers"), more.get("domain"))


def noisy(p: Array, time: Array, seed: int, noise: float = 0.01, times: int = 3) -> Timings:
    random = np.random.default_rng(seed)
    every = np.repeat(p, times)
    return timings(every, np.repeat(time, times) * np.exp(noise * random.normal(size=len(every))))


POWERS = np.array([1.0, 2, 4, 8, 16])


def test_rows_name_the_neighbours_of_a_crossing() -> None:
    rows = MeasuredRows(timings(POWERS, 100 / POWERS + np.array([0, 0.2, 1, 4, 7])), 0.75)
    assert rows.crossing == (8.0, 16.0) or rows.crossing == (4.0, 8.0)
    (said,) = rows.sentences()
    assert said.startswith("Measured: efficiency falls below 75 % between p = ")
    assert rows.agrees_on_efficiency(rows.crossing[0])
    assert not rows.agrees_on_efficiency(265.0)


def test_rows_that_never_fall_say_so() -> None:
    rows = MeasuredRows(timings(POWERS, 100 / POWERS), 0.75)
    assert rows.sentences() == [
        (
            "Measured: efficiency is 100 % at p = 16, the largest measured; it does not fall below "
            "75 %."
        )
    ]
    assert rows.crossing == (16.0, np.inf)


@pytest.mark.parametrize(
    ("last_time", "processors", "agrees"),
    [
        # A twentieth faster, or a twentieth of the processors away, is the same.
        *((9.9, 8.0, True), (9.9, 7.7, True), (9.9, 8.4, True), (9.0, 8.0, False)),
        *((9.9, 7.5, False), (9.9, 4.0, False), (9.0, 16.0, True), (9.0, 0.5, True)),
    ],
)
def test_a_fastest_number_of_processors_agrees_where_no_row_beyond_is_faster(
    last_time: float, processors: float, agrees: bool
) -> None:
    rows = MeasuredRows(timings(POWERS, np.array([40.0, 30.0, 20.0, 10.0, last_time])), 0.75)
    assert bool(rows.agrees_on_fastest(processors)) is agrees


def test_a_weak_table_that_begins_above_one() -> None:
    rate = np.array([1.42e7, 2.48e7, 4.88e7, 7.78e7])
    p = np.array([2.0, 4, 8, 16])
    rows = MeasuredRows(Timings(p, np.ones(4), p / rate, True), 0.75)
    assert rows.crossing == (8.0, 16.0)
    assert "efficiency over p = 2 falls below 75 % between p = 8 (85.9 %)" in rows.sentences()[0]


@pytest.mark.turns(8)
@pytest.mark.parametrize("seed", range(71, 74))
def test_a_limit_that_begins_in_the_last_row_is_no_law(seed: int) -> None:
    """A shared limit of 70 s that begins between 8 and 16 of 16 processors."""
    truth = np.maximum(700 / POWERS, 70) + 300 / POWERS
    found = fits(noisy(POWERS, truth, seed), p=[32.0, 64.0])
    assert not found.has_law
    lines = main_findings(found)
    assert lines[0].startswith("Measured: ")
    assert lines[1].startswith("No law describes these rows: the nearest is ")
    assert all("beyond the rows, as no law describes them" in each for each in found.warnings)
    assert not any(name.startswith("time[") for each in found.answers for name in each.values)
    assert "measure on 11 and 24 next" in " ".join(fits_text(found).split())


@pytest.mark.parametrize(
    ("domain", "cause"),
    [
        ({}, "such as a limit of memory or a second node (then say how many processors a node"),
        ({"domain": 2}, "such as a limit of memory; measure on"),
    ],
)
def test_the_node_is_asked_for_unless_it_is_known(domain: dict[str, int], cause: str) -> None:
    rows = timings(POWERS, np.array([100.0, 52.0, 60.0, 20.0, 37.0]), **domain)
    warning = fits(rows, p=[128.0]).warnings[0]
    assert cause in warning


@pytest.mark.turns(8)
def test_a_scatter_that_repetitions_do_not_have_is_no_law() -> None:
    time = np.array([10.0, 9.0, 4.0, 4.5, 1.0])
    assert "no law describes these rows" in fits(timings(POWERS, time)).verdict
    assert compare(timings(POWERS, time)).best.misfit(0.5) == ""


@pytest.mark.turns(4)
def test_a_prediction_of_no_use_is_refused_with_what_to_measure() -> None:
    found = compare(noisy(POWERS, 1 + 99 / POWERS, 5, 0.05))
    wide = [p for p in (32.0, 64.0) if found.refusal_as_too_wide(p, 0.999999)]
    for p in wide:
        assert "; measure on 24 and 32 next" in found.refusal_as_too_wide(p, 0.999999)
    assert found.next_runs_text() == "24 and 32"


@pytest.mark.turns(6)
def test_a_saturating_maximum_is_found_where_rows_show_it() -> None:
    p = np.array([1.0, 2, 4, 8, 12, 16, 24, 32])
    truth = np.maximum(700 / p, 70) + 300 / p
    fitted = fit(FAMILIES["saturating"], noisy(p, truth, 6))
    assert fitted.predict([64.0])[0] == pytest.approx(70 + 300 / 64, rel=0.05)
    assert compare(noisy(p, truth, 6)).best.name == "saturating"


def test_domains_fill_one_after_the_other() -> None:
    p = np.array([1.0, 2, 4, 8, 16, 32])
    truth = 3 / p + np.maximum(7 / p, 1.4 / np.ceil(p / 8))
    fitted = fit(FAMILIES["saturating"], timings(p, truth, domain=8))
    assert fitted.predict([64.0])[0] == pytest.approx(3 / 64 + 1.4 / 8, rel=0.1)


def test_a_step_at_a_node_that_is_told() -> None:
    p = np.array([1.0, 2, 4, 8, 12, 16, 24])
    truth = 400 / p * np.where(p > 8, 1.25, 1.0) + 1
    fitted = fit(FAMILIES["nodes"], timings(p, truth, domain=8))
    assert fitted.parameters["slower"] == pytest.approx(0.25, rel=0.02)
    with pytest.raises(NoAnswerError) as error:
        fit(FAMILIES["nodes"], timings(p, truth))
    assert str(error.value) == "say how many processors a node has (--domain)"


def test_a_queue_with_the_servers_of_the_hardware() -> None:
    p = np.array([1.0, 2, 4, 8, 16, 32])
    truth = repairman_cycle_time(np.full(6, 9.0), np.full(6, 1.0), 4, p)
    weak = Timings(p, np.ones(6), truth, True, servers=4)
    fitted = fit(FAMILIES["servers"], weak)
    assert fitted.theta == pytest.approx([9.0, 1.0], rel=1e-3)
    with pytest.raises(NoAnswerError) as error:
        fit(FAMILIES["servers"], Timings(p, np.ones(6), truth, True))
    assert str(error.value) == "say how many processors the hardware has (--servers)"


def test_repairmen_agree_with_the_recursion_and_their_limits() -> None:
    p = np.array([1.0, 5, 40, 300])
    outside, service = np.array([9.0, 0.0, 30.0, 250.0]), np.ones(4)
    single = cycle_times(outside, service[:, None], p)
    assert repairman_cycle_time(outside, service, 1, p) == pytest.approx(single, rel=1e-9)
    large = np.array([5000.0])
    assert repairman_cycle_time(np.array([1.0]), np.array([1.0]), 10, large) == pytest.approx(500.0)


def test_many_customers_are_solved_exactly() -> None:
    for count in (1025.0, 4096.0):
        p, demand, outside = np.array([count]), np.array([[1.0]]), np.array([count - 1])
        exact_cycle = repair_knee(count)
        assert cycle_times(outside, demand, p)[0] == pytest.approx(exact_cycle, rel=1e-9)
        assert repairman_cycle_time(outside, demand[0], 1, p)[0] == pytest.approx(
            exact_cycle, rel=1e-9
        )
    assert cycle_times(np.array([1.0]), np.array([[1.0, 2.0]]), np.array([1e7]))[
        0
    ] == pytest.approx(2e7, rel=1e-3)


@pytest.mark.parametrize("servers", [1, 3, 40])
@pytest.mark.parametrize("outside", [700, 200_000])
def test_a_station_of_several_servers_is_solved_exactly(servers: int, outside: int) -> None:
    """The weights of all states, in decimals of 40 digits."""
    with localcontext(prec=40):
        for customers in (2, 30, 1500):
            weights = [Decimal(1)]
            for n in range(1, customers + 1):
                weights.append(weights[-1] * (customers - n + 1) / outside / min(n, servers))
            busy = sum(min(n, servers) * weight for n, weight in enumerate(weights)) / sum(weights)
            point = np.array([float(outside)]), np.ones(1), servers, np.array([float(customers)])
            assert repairman_cycle_time(*point)[0] == pytest.approx(
                float(customers / busy), rel=1e-9
            )
    for population in (2.0, 1500.0):
        alone = repairman_cycle_time(np.zeros(1), np.ones(1), servers, np.array([population]))
        assert alone[0] == pytest.approx(population / min(servers, population), rel=1e-9)


def repair_knee(count: float) -> float:
    """Return the exact cycle of N customers with N - 1 outside and a server of 1, by Erlang's
    loss: X = 1 - B(N, Z / D) of the reversed queue.
    """
    load, blocked = count - 1, 1.0
    for n in range(1, int(count) + 1):
        blocked = load * blocked / (n + load * blocked)
    return count / (1 - blocked)


@pytest.mark.turns(8)
@pytest.mark.parametrize("limit", [0.0, 70.0])
def test_only_rows_that_a_law_describes_have_intervals_and_limits(limit: float) -> None:
    """With a shared limit of 70 s that begins in the last row, and without it."""
    found = fits(
        noisy(POWERS, np.maximum(700 / POWERS, limit) + 300 / POWERS, 72), with_curves=True
    )
    is_described = limit == 0
    assert found.has_law is is_described
    assert any(curve.low for curve in found.curves) is is_described
    assert ("Efficiency is at least" in fits_text(found)) is is_described
    figure = draw_fits(found, "Timings")
    (legend,) = figure.legends
    labels = [text.get_text() for text in legend.get_texts()]
    assert any(label.startswith("interval of") for label in labels) is is_described


def test_rows_that_are_too_few_for_a_fit_are_compared_with_the_goal_that_is_asked() -> None:
    few = timings(np.array([1.0, 8, 32, 64]), np.array([3730.0, 521, 185, 151]))
    with pytest.raises(NoAnswerError, match="falls below 75 % between p = 8"):
        fits(few)
    with pytest.raises(NoAnswerError, match="falls below 50 % between p = 32") as refusal:
        fits(few, efficiency=0.5)
    assert "(63 %) and p = 64 (38.6 %)" in str(refusal.value)
