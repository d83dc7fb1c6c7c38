"""Sizes solved through forms: beside sizes worked by hand, symbols, and another method."""

from __future__ import annotations

import numpy as np
import pytest

from slipstick.expression.nodes import COUNT, TIME, Parameter, log2
from slipstick.law import LAWS
from slipstick.method.answers import CompiledModel
from slipstick.method.methods import form_of
from slipstick.model.activity import delay, hold
from slipstick.model.system import closed_model
from slipstick.sim.settings import Simulation
from slipstick.vocabulary import CLOSED_FORM
from slipstick_laws.scalability import LATENCY_SCALABILITY, TIME_BOUND_LATENCY_SCALABILITY
from slipstick_scaling.isoefficiency import (
    EFFICIENCY_CONSERVED,
    FIXED_SIZE,
    MEMORY_BOUND,
    TIME_BOUND,
    Runs,
    isoefficiency,
    largest_root,
    nearest_root,
    run_in_symbols,
    scalability,
    size_factors,
)
from tests.scaling.test_overhead import ADDING, GRID, ITEMS, START, STEP, N

FEW = np.array([2.0, 4.0, 16.0, 64.0])
NUMBER = "population.processors"


def runs(form: CompiledModel, against: str = "useful", **size: tuple[float, float]) -> Runs:
    return Runs([(form, FEW)], NUMBER, size or {"items": (4096.0, 1.0)}, against)


def test_a_fixed_size_does_not_grow() -> None:
    assert (
        size_factors(runs(form_of(ADDING, {}, CLOSED_FORM)), FIXED_SIZE, FEW).tolist() == [1.0] * 4
    )


def test_at_one_time_numbers_are_added_as_worked_by_hand() -> None:
    # items / N x 1 us + log2(N) x 20 us = 1 ms
    sizes = runs(form_of(ADDING, {}, CLOSED_FORM)).sizes(
        size_factors(runs(form_of(ADDING, {}, CLOSED_FORM)), TIME_BOUND, FEW, 1e-3)
    )["items"]
    assert sizes == pytest.approx(FEW * (1000 - 20 * np.log2(FEW)), rel=1e-9)


@pytest.mark.turns(4)
@pytest.mark.parametrize("model", [ADDING, GRID], ids=["adding", "grid"])
def test_at_one_efficiency_forms_and_symbols_give_one_size(model: object) -> None:
    form = form_of(model, {}, CLOSED_FORM)  # type: ignore[arg-type]
    sizes = runs(form).sizes(size_factors(runs(form), EFFICIENCY_CONSERVED, FEW, 0.7))["items"]
    symbols = isoefficiency(run_in_symbols(model, "items"), 0.7).size(FEW)  # type: ignore[arg-type]
    assert sizes == pytest.approx(symbols, rel=1e-8)


def test_sizes_grow_in_the_proportion_stated() -> None:
    both = runs(form_of(GRID, {}, CLOSED_FORM), items=(4096.0, 1.0), rounds=(2.0, 0.5))
    factor = size_factors(both, TIME_BOUND, FEW, 0.2)
    sizes = both.sizes(factor)
    assert sizes["items"] / 4096 == pytest.approx((sizes["rounds"] / 2) ** 2, rel=1e-12)
    assert both.columns(factor, FEW)["time"] == pytest.approx(0.2, rel=1e-9)


def test_memory_is_kept_by_its_own_formula() -> None:
    factor = size_factors(
        runs(form_of(ADDING, {}, CLOSED_FORM)),
        MEMORY_BOUND,
        FEW,
        1024.0,
        lambda factor, count, _: 8 * 4096 * factor / count,
    )
    assert 4096 * factor == pytest.approx(128 * FEW, rel=1e-9)


def test_what_no_size_reaches_is_not_a_number() -> None:
    # The exchange alone takes 120 us on 64 processors.
    found = size_factors(runs(form_of(ADDING, {}, CLOSED_FORM)), TIME_BOUND, FEW, 100e-6)
    assert np.isfinite(found).tolist() == [True, True, True, False]
    replicated = closed_model(
        delay(ITEMS / N * STEP, name="add", component="busy")
        >> delay(ITEMS * STEP, name="same", component="copy"),
        N,
    )
    # E = 1 / (1 + N) whatever the size.
    assert np.isnan(
        size_factors(runs(form_of(replicated, {})), EFFICIENCY_CONSERVED, FEW, 0.5)
    ).all()


def test_against_one_processor_a_law_has_an_efficiency() -> None:
    law = LAWS["amdahl-time"]
    form = form_of(law, _symbols())
    amdahl = Runs([(form, FEW)], "processors", {"parallel": (8.0, 1.0)}, "one-processor")
    columns = amdahl.columns(np.ones(4), FEW)
    assert columns["efficiency"] == pytest.approx(
        LAWS["amdahl-speedup"](serial=0.2, processors=FEW) / FEW, rel=1e-12
    )
    # Parallel work p at E = 0.5: (s + p) = 0.5 N (s + p / N), so p = s (N - 2).
    found = 8.0 * size_factors(amdahl, EFFICIENCY_CONSERVED, FEW[1:], 0.5)
    assert found == pytest.approx(2.0 * (FEW[1:] - 2.0), rel=1e-9)


def _symbols() -> dict[str, Parameter]:
    given = (("processors", COUNT, 4.0), ("parallel", TIME, 8.0), ("serial", TIME, 2.0))
    return {name: Parameter(name, dimension, value) for name, dimension, value in given}


@pytest.mark.turns(4)
def test_waiting_asks_for_more_work_than_the_closed_form_sees_and_simulation_agrees() -> None:
    locked = closed_model(
        delay(ITEMS / N * STEP, name="add", component="busy", scv=1)
        >> hold("sum", delay(START, name="sum", component="sum", scv=1)),
        N,
    )
    few = np.array([8.0])
    sizes = {
        method: (
            4096
            * size_factors(
                runs(form_of(locked, {}, method, Simulation(seed=1))),
                EFFICIENCY_CONSERVED,
                few,
                0.8,
            )[0]
        )
        for method in ("closed-form", "mean-value", "simulation")
    }
    assert sizes["closed-form"] == pytest.approx(4 * 20 * 8)
    assert sizes["mean-value"] > 1.5 * sizes["closed-form"]
    assert sizes["simulation"] == pytest.approx(sizes["mean-value"], rel=0.1)


def test_a_model_built_anew_for_each_number_is_solved_by_its_own_form() -> None:
    apart = [
        (
            form_of(
                closed_model(
                    delay(ITEMS / n * STEP, name="add", component="busy")
                    >> delay(log2(n) * START, name="exchange", component="send"),
                    n,
                ),
                {},
            ),
            np.array([n]),
        )
        for n in FEW
    ]
    built = Runs(apart, "parts", {"items": (4096.0, 1.0)}, "useful")
    assert not built.varies_processors
    whole = runs(form_of(ADDING, {}, CLOSED_FORM))
    assert size_factors(built, TIME_BOUND, FEW, 1e-3) == pytest.approx(
        size_factors(whole, TIME_BOUND, FEW, 1e-3), rel=1e-9
    )


def test_the_matrix_holds_the_latency_metric_above_its_diagonal() -> None:
    time, efficiency = np.array([1.0, 2.0, 3.0]), np.array([0.9, 0.8, 0.7])
    table = scalability(time, efficiency)
    assert np.isnan(np.tril(table)).sum() - np.isnan(np.triu(table, 1)).sum() == 6
    latency = time * (1 - efficiency)
    assert table[0, 2] == pytest.approx(
        LATENCY_SCALABILITY(latency=latency[0], more_latency=latency[2])
    )


def test_at_one_time_the_matrix_is_the_papers_equation_12() -> None:
    table = scalability(np.array([100.0, 100.0]), np.array([0.5, 0.39]))
    assert table[0, 1] == pytest.approx(
        TIME_BOUND_LATENCY_SCALABILITY(efficiency=0.5, more_efficiency=0.39)
    )
    assert round(table[0, 1], 2) == 0.82  # printed for 4 to 32 processors


def test_without_latency_there_is_nothing_to_compare() -> None:
    assert np.isnan(scalability(np.array([1.0, 1.0]), np.array([1.0, 0.5]))).all()


def test_roots_are_found_on_either_side_and_the_nearest_first() -> None:
    goals = np.array([-6.0, 0.0, 0.3, 40.0])
    assert nearest_root(lambda x, goal: x - goal, goals) == pytest.approx(goals, abs=1e-9)
    # Also where the function is 0 or 1 where the search begins.
    assert nearest_root(lambda x, goal: goal - x, np.array([0.0, 1.0])) == pytest.approx(
        [0.0, 1.0], abs=1e-9
    )
    assert np.isnan(nearest_root(lambda x, goal: x - goal, np.array([65.0, -65.0, 1e9]))).all()
    assert np.isnan(
        nearest_root(lambda x, goal: np.where(x > 1, np.nan, x - goal), np.array([3.0]))
    ).all()


def test_a_root_is_found_just_before_the_function_ends_and_where_it_touches_twice() -> None:
    # A time that grows without limit up to saturation at x = 1.25.
    queue = nearest_root(
        lambda x, goal: np.where(x < 1.25, 1 / np.maximum(1.25 - x, 1e-300) - goal, np.nan),
        np.full(1, 1e6),
    )
    assert queue == pytest.approx([1.25 - 1e-6], abs=1e-12)
    # An efficiency that rises and falls again between two places that are tried first.
    tops = np.array([20.1, -40.3, 0.2])
    places = nearest_root(lambda x, top: 1e-4 - (x - top) ** 2, tops)
    assert abs(places - tops) == pytest.approx([0.01] * 3, abs=1e-9)
    assert np.isnan(nearest_root(lambda x, top: -1e-9 - (x - top) ** 2, tops)).all()


def test_the_last_root_is_the_one_beyond_which_the_function_stays_below() -> None:
    found = largest_root(
        lambda x, top: np.sin(x) * (x < top),
        np.array([17.0, 8.0]),
        candidates=np.arange(0.1, 30, 0.5),
    )
    assert found[0] == pytest.approx(5 * np.pi)
    assert found[1] == pytest.approx(8.0, abs=0.5)
