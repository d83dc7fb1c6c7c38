"""Grain efficiency, interference and WARPS, by every method, against two models solved apart and
the paper's equations.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from slipstick.answer import Answer
from slipstick.expression.nodes import Number
from slipstick.method.closed_form import ClosedForm
from slipstick.model.system import Model, scaled_model
from slipstick.program import PROGRAMS
from slipstick.sim.settings import Simulation
from slipstick_mean_value.form import MeanValue
from tests.closed_form import solve
from tests.specs import shared_machine

SYMMETRY, TC2000 = shared_machine("sequent-symmetry-s81"), shared_machine("bbn-tc2000")
SHORT = Simulation(seed=1, cycles=4000)
RANDOM = {"elements": 128 * 1024, "pattern": "random", "accesses": 3, "compute": 2.0, "scv": 1.0}


def unit(machine: Any = TC2000, **inputs: Any) -> Model:
    return PROGRAMS["grain/unit"].on(machine, **inputs)


def value(answer: Answer, name: str = "time") -> float:
    found = answer[name]
    assert found is not None
    return found


@pytest.mark.turns(6)
@pytest.mark.parametrize("method", ["mean-value", "simulation"])
def test_it_is_the_time_alone_divided_by_the_time_among_others(method: str) -> None:
    alone, among = (
        solve(unit(competitors=n, **RANDOM), method=method, simulation=SHORT) for n in (0, 12)
    )
    zeta = value(among, "grain_efficiency")
    # What is simulated alone knows its time to a hundredth; beside it stands the exact one.
    assert value(among, "time_alone") == pytest.approx(
        value(alone), rel=1e-9 if method == "mean-value" else 0.03
    )
    assert zeta == pytest.approx(value(among, "time_alone") / value(among))
    assert value(among, "grain_interference") == pytest.approx((1 - zeta) / zeta)
    assert value(among, "warps") == pytest.approx(13 * 3 / value(among))
    assert among.values["warps"].unit == "1/s"
    assert zeta < 1


def test_the_closed_form_gives_them_where_it_is_exact() -> None:
    alone = solve(unit(competitors=0, **RANDOM))
    assert value(alone, "grain_efficiency") == 1.0
    assert value(alone, "grain_interference") == 0.0
    assert value(alone, "warps") == pytest.approx(3 / value(alone))
    nobody_in_the_way = solve(unit(competitors=9, accesses=0, compute=5.0))
    assert value(nobody_in_the_way, "grain_efficiency") == 1.0
    assert "grain_efficiency" not in solve(unit(competitors=9, **RANDOM)).values


@pytest.mark.turns(4)
def test_a_simulation_gives_them_with_intervals() -> None:
    model = unit(competitors=12, **RANDOM)
    seen = solve(model, method="simulation", simulation=SHORT)
    zeta, phi, time = (
        seen.values[name] for name in ("grain_efficiency", "grain_interference", "time")
    )
    assert zeta.low is not None
    assert zeta.high is not None
    assert phi.low is not None
    assert phi.high is not None
    assert time.low is not None
    # The time alone is exact here, so zeta is as sure as the time among others.
    assert seen.values["time_alone"].low == seen.values["time_alone"].high
    assert (zeta.high - zeta.low) / value(seen, "grain_efficiency") == pytest.approx(
        2 * (value(seen) - time.low) / value(seen)
    )
    expected = value(solve(model, method="mean-value"), "grain_efficiency")
    assert zeta.low - 0.01 < expected < zeta.high + 0.01
    assert phi.low < 1 / expected - 1 < phi.high


def test_a_time_alone_that_no_closed_form_has_is_simulated() -> None:
    # A write fetches a line and sends one back side by side, over one bus.
    walk = {"access": "write", "elements": 128 * 1024, "stride": 16, "compute": 2.0, "scv": 1.0}
    assert not solve(unit(SYMMETRY, competitors=0, **walk)).exact
    seen = solve(unit(SYMMETRY, competitors=4, **walk), method="simulation", simulation=SHORT)
    alone = solve(unit(SYMMETRY, competitors=0, **walk), method="simulation", simulation=SHORT)
    assert seen.values["time_alone"] == alone.values["time"]


@pytest.mark.turns(4)
def test_competitors_of_another_kind_leave_words_uncounted() -> None:
    model = unit(competitors=6, **RANDOM, other_accesses=0, other_lock="mcs")
    found = solve(model, method="mean-value")
    assert value(found, "grain_efficiency") == pytest.approx(
        value(found, "time_alone") / value(found)
    )
    assert "warps" not in found.values
    assert (
        "warps" not in solve(unit(competitors=6, stride=1, accesses=2), method="mean-value").values
    )


def test_one_sweep_gives_them_at_every_point() -> None:
    from slipstick.expression.nodes import COUNT, Parameter

    model = unit(
        **{
            **RANDOM,
            "competitors": Parameter("competitors", COUNT, 0.0),
            "accesses": Parameter("accesses", COUNT, 3.0),
        }
    )
    points = {"competitors": np.array([0.0, 4.0, 12.0]), "accesses": np.array([3.0, 3.0, 1.0])}
    columns = MeanValue(model).points(points).columns()
    assert columns["grain_efficiency"][0] == 1.0
    assert columns["grain_efficiency"] == pytest.approx(columns["time_alone"] / columns["time"])
    assert columns["warps"] == pytest.approx(
        (points["competitors"] + 1) * points["accesses"] / columns["time"]
    )
    plain = ClosedForm(model).points(points).columns()
    assert plain["grain_efficiency"][0] == 1.0
    assert np.isnan(plain["grain_efficiency"][1:]).all()


def test_a_faster_memory_is_faster_alone_too() -> None:
    model = unit(competitors=6, accesses=4, elements=1)
    faster = scaled_model(model, dict.fromkeys(("memory", "switch", "application"), Number(0.5)))
    before, after = (solve(each, method="mean-value") for each in (model, faster))
    assert value(after) == pytest.approx(value(before) / 2)
    assert value(after, "grain_efficiency") == pytest.approx(value(before, "grain_efficiency"))
