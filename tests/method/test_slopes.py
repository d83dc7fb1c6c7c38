"""Slopes over arrays: the tape's, those of one point, and differences agree."""

from __future__ import annotations

import numpy as np
import pytest

from slipstick.expression.nodes import TIME, Expr, Parameter
from slipstick.method.answers import CompiledModel
from slipstick.method.methods import form_of
from slipstick.model.activity import delay, fork, repeat, service
from slipstick.model.system import Model, Station, closed_model, grouped_model
from slipstick.vocabulary import MARKOV_CHAIN


def test_the_tape_follows_sums_maxima_and_repeats() -> None:
    cycle = repeat(3, fork(delay(2.0, name="a"), delay(3.0, name="b"))) >> delay(1.0, name="c")
    form = form_of(closed_model(cycle, processors=2), {}, "closed-form")
    random = np.random.default_rng(3)
    values = {name: np.exp(random.normal(size=5000)) for name in ("a", "b", "c")}
    time, slopes = form.slopes(values, ["a", "b", "c"], ["time"])["time"]
    assert time == pytest.approx(3 * np.maximum(values["a"], values["b"]) + values["c"])
    assert slopes["a"] == pytest.approx(np.where(values["a"] > values["b"], 3.0, 0.0))
    assert slopes["b"] == pytest.approx(np.where(values["a"] > values["b"], 0.0, 3.0))
    assert slopes["c"] == pytest.approx(np.ones(5000))


@pytest.mark.parametrize("method", ["closed-form", "mean-value", "markov-chain"])
def test_every_method_has_slopes(method: str) -> None:
    cycle = delay(9.0, name="work", scv=1.0) >> service("bus", 1.0, scv=1.0, name="use")
    form = form_of(closed_model(cycle, processors=6), {}, method)
    values = {"work": np.array([5.0, 9.0]), "use": np.array([1.0, 2.0])}
    names = ["work", "use"]
    found = form.slopes(values, names, ["time", "throughput"])
    plain = CompiledModel.slopes(form, values, names, ["time"])
    for name in names:
        assert found["time"][1][name] == pytest.approx(plain["time"][1][name], rel=1e-4)
    if method == "mean-value":
        answer = form.points({name: each[:1] for name, each in values.items()}).answer(0)
        assert found["time"][1]["use"][0] == pytest.approx(answer.gradient["time"]["use"], rel=1e-4)
    rate, slope = found["throughput"]
    assert slope["use"] == pytest.approx(
        -found["time"][1]["use"] * 6 / found["time"][0] ** 2, rel=1e-3
    )
    assert rate == pytest.approx(6 / found["time"][0])


TOTAL, CHUNK = Parameter("total", TIME, 6.0), Parameter("chunk", TIME, 2.0)


def in_rounds(spread: str, rounds: Expr) -> Model:
    served = service("bus", CHUNK, name="use", scv=1.0)
    cycle = delay(1.0, name="think", scv=1.0) >> repeat(rounds, served, spread=spread)
    return closed_model(cycle, 3, resources={"bus": Station()})


def weighted() -> Model:
    heavy = service("bus", 1.0, name="heavy", scv=1.0, weight=TOTAL / CHUNK)
    light = service("bus", CHUNK, name="light", scv=1.0)
    groups = {"a": (2, delay(1.0, name="rest", scv=1.0) >> heavy), "b": (2, light)}
    return grouped_model(groups, resources={"bus": Station(1, "ps")})


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "model",
    [
        in_rounds("whole", TOTAL / CHUNK),
        in_rounds("whole", 1.25 * TOTAL / CHUNK),
        in_rounds("geometric", TOTAL / CHUNK),
        weighted(),
    ],
    ids=["whole number", "fraction", "geometric", "weight"],
)
def test_numbers_that_are_made_of_times_have_slopes_in_a_chain(model: Model) -> None:
    """Rounds were taken as constants: shorter pieces of the same work seemed to save time."""
    form = form_of(model, {}, MARKOV_CHAIN)
    values = {"total": np.array([6.0]), "chunk": np.array([2.0])}
    slopes = form.points(values).answer(0).gradient["time"]
    for name, column in values.items():
        below, above = (
            form.times({**values, name: column * part})[0] for part in (1 - 1e-4, 1 + 1e-4)
        )
        difference = (above - below) / (2e-4 * column[0])
        assert slopes[name] == pytest.approx(difference, rel=1e-4, abs=1e-4), name


def test_a_difference_that_is_not_chosen_is_no_nan() -> None:
    """min(1 / x, 2) at x = 0 has a slope of 0, though that of 1 / x has none."""
    from slipstick.expression.nodes import COUNT, Parameter, minimum
    from slipstick.expression.tape import Tape

    x = Parameter("x", COUNT)
    value, slopes = Tape([minimum(1.0 / x, 2.0)]).slopes({"x": np.array([0.0, 1.0])}, ["x"])
    assert value.tolist() == [2.0, 1.0]
    assert slopes["x"].tolist() == [0.0, -1.0]
