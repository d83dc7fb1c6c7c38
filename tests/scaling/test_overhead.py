"""Overheads taken from models: beside the account of the closed form at numbers."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from slipstick.errors import ModelError
from slipstick.expression.nodes import TIME, Parameter, ceil, ceil_log, log2, maximum, sqrt
from slipstick.law import LAWS
from slipstick.method.closed_form import ClosedForm
from slipstick.model.activity import delay, fork, hold
from slipstick.model.system import Model, closed_model, open_model, phased_model
from slipstick_scaling.isoefficiency import isoefficiency, run_in_symbols

ITEMS, ROUNDS = Parameter("items", value=4096.0), Parameter("rounds", value=2.0)
N = Parameter("population.processors", value=16.0)
STEP, START = Parameter("step", TIME, 1e-6), Parameter("start", TIME, 20e-6)
POINTS = {
    "population.processors": np.array([2.0, 8.0, 32.0, 128.0]),
    "items": np.array([256.0, 1000.0, 64.0, 1e6]),
}

ADDING = closed_model(
    delay(ITEMS / N * STEP, name="add", component="busy")
    >> delay(log2(N) * START, name="exchange", component="send"),
    N,
)
GRID = closed_model(
    delay(ROUNDS * ITEMS**2 / N * STEP, name="update", component="busy")
    >> delay(ROUNDS * (START + ITEMS / sqrt(N) * STEP), name="border", component="send")
    >> hold("sum", delay(START, name="add", component="send")),
    N,
)
PROGRAM = phased_model(
    (1, 1, delay(START * 3, name="read", component="busy")),
    (
        ROUNDS,
        N,
        delay(ITEMS / N * STEP, name="compute", component="busy")
        >> delay(START, name="meet", component="send"),
    ),
)


@pytest.mark.parametrize("model", [ADDING, GRID, PROGRAM], ids=["adding", "grid", "program"])
def test_the_overhead_is_what_the_account_leaves_of_all_processors(model: Model) -> None:
    run = run_in_symbols(model, "items")
    columns = ClosedForm(model).points(POINTS).columns()
    useful = columns["time"] * columns["efficiency"]
    for index, (count, items) in enumerate(zip(*POINTS.values(), strict=True)):
        at = {**run.values, run.size: items, run.processors: count}
        lost = count * (columns["time"][index] - useful[index])
        assert float(run.overhead.subs(at)) == pytest.approx(lost, rel=1e-12)
        assert float(run.work.subs(at)) == pytest.approx(count * useful[index], rel=1e-12)


def test_a_model_that_adds_numbers_is_n_log_n() -> None:
    assert (
        str(isoefficiency(run_in_symbols(ADDING, "items"), 0.8).order)
        == "population.processors*log(population.processors)"
    )


def test_the_size_found_in_symbols_has_that_efficiency_in_the_model() -> None:
    found = isoefficiency(run_in_symbols(GRID, "items"), 0.6)
    counts = np.array([2.0, 16.0, 1024.0])
    columns = (
        ClosedForm(GRID)
        .points({"items": found.size(counts), "population.processors": counts})
        .columns()
    )
    assert columns["efficiency"] == pytest.approx(0.6, rel=1e-9)


def test_several_parameters_grow_in_proportion() -> None:
    alone, both = run_in_symbols(GRID, "items"), run_in_symbols(GRID, {"items": 1.0, "rounds": 0.5})
    at = {both.size: 4.0, both.processors: 16.0, **both.values}
    rounds = next(each for each in alone.values if str(each) == "rounds")
    same = {**alone.values, alone.size: 4 * 4096.0, rounds: 4.0, alone.processors: 16.0}
    assert float(both.overhead.subs(at)) == pytest.approx(
        float(alone.overhead.subs(same)), rel=1e-12
    )
    assert float(both.work.subs(at)) == pytest.approx(float(alone.work.subs(same)), rel=1e-12)


def test_against_one_processor_the_work_is_the_time_with_n_1() -> None:
    run = run_in_symbols(PROGRAM, "items", against="one-processor")
    one = ClosedForm(PROGRAM).times({"population.processors": 1.0, "items": 64.0})
    assert float(run.work.subs({**run.values, run.size: 64.0})) == pytest.approx(
        float(one[0]), rel=1e-12
    )


def test_a_law_is_held_against_one_processor() -> None:
    run = run_in_symbols(
        LAWS["amdahl-time"],
        "parallel",
        "processors",
        against="one-processor",
        values={"serial": 2.0},
    )
    # T_o = N (s + p/N) - s - p
    serial = next(iter(run.values))
    assert sympy.expand(run.overhead - (run.processors - 1) * serial) == 0
    assert isoefficiency(run, 0.5).size(np.array([11.0])) == pytest.approx([18.0])


def test_rounding_is_left_out_and_said_so() -> None:
    tree = closed_model(
        delay(ceil(ITEMS / N) * STEP, name="add", component="busy")
        >> delay(ceil_log(N, 2) * START, name="combine", component="send"),
        N,
    )
    run = run_in_symbols(tree, "items")
    assert run.rounded
    assert not run_in_symbols(ADDING, "items").rounded
    assert sympy.simplify(run.overhead - run_in_symbols(ADDING, "items").overhead) == 0


REPEATED = closed_model(delay(ITEMS * STEP, name="same", component="busy"), N)
LONGEST = closed_model(delay(maximum(ITEMS / N, 64) * STEP, name="add", component="busy"), N)
FORKED = closed_model(fork(delay(ITEMS / N * STEP, name="a"), delay(START, name="b")), N)

WRONG = [
    (
        lambda: run_in_symbols(ADDING, "item"),
        "the time of model does not depend on 'item'; did you mean 'items'?",
    ),
    (
        lambda: run_in_symbols(ADDING, "items", "processors"),
        "the time of model does not depend on 'processors'; did you mean 'population.processors'?",
    ),
    (
        lambda: run_in_symbols(ADDING, "items", against="one"),
        "there is no work 'one' to hold a run against; did you mean 'one-processor'?",
    ),
    (
        lambda: run_in_symbols(LAWS["amdahl-time"], "parallel", "processors"),
        "law amdahl-time has no account of what is useful; hold it against one-processor instead",
    ),
    (
        lambda: run_in_symbols(REPEATED, "items"),
        "the time of model does not depend on 'population.processors'; known: items, step",
    ),
    (
        lambda: run_in_symbols(
            closed_model(
                delay(ITEMS * STEP, name="a", component="busy") >> delay(N * START, name="b"), N
            ),
            "items",
        ),
        (
            "the useful work of model depends on population.processors; hold it against"
            " one-processor instead"
        ),
    ),
    (
        lambda: run_in_symbols(LONGEST, "items"),
        "the time of model holds a maximum or a choice, so its overhead is no sum of terms",
    ),
    (
        lambda: run_in_symbols(FORKED, "items"),
        "the time of model holds a maximum or a choice, so its overhead is no sum of terms",
    ),
    (
        lambda: run_in_symbols(open_model(delay(1.0, name="a"), 0.5), "a"),
        "model is not a run of N processors; give it one population, or phases",
    ),
]


@pytest.mark.parametrize(("does", "words"), WRONG, ids=range(len(WRONG)))
def test_what_has_no_overhead_in_closed_form_is_refused(does: object, words: str) -> None:
    assert callable(does)
    with pytest.raises(ModelError) as caught:
        does()
    assert str(caught.value) == words
