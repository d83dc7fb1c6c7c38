"""Takeovers: at the value that is named two stages are equally long, and the named one binds
beyond it.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick.answer import Takeover
from slipstick.expression.nodes import BYTES, COUNT, TIME, TIME_PER_BYTE, Parameter
from slipstick.method.closed_form import ClosedForm, with_takeovers
from slipstick.model.activity import delay, parallel, pipeline, serial
from slipstick.model.system import Model, closed_model
from tests.closed_form import solve
from tests.paper import NETWORKS, diff_request
from tests.strategies import quick, values

SIZE = Parameter("size", BYTES, 100.0)
PRICE = Parameter("price", TIME_PER_BYTE, 0.01)
SPEED = Parameter("speed", COUNT, 1.0)


def two_stages() -> Model:
    """Software of 2 s on a processor, and a wire of 0.01 s a byte; a parallel stage is never the
    limit.
    """
    software = delay(Parameter("call", TIME, 2.0) / SPEED, name="software")
    wire = delay(PRICE * SIZE, name="wire")
    return closed_model(
        pipeline(
            [serial(software), parallel(delay(99.0, name="far")), serial(wire)], 3, name="line"
        )
    )


def takeovers(model: Model, values: dict[str, float] | None = None) -> dict[str, Takeover]:
    (limit,) = with_takeovers(ClosedForm(model), solve(model, values).limits, values or {})
    return {each.path: each for each in limit.takeovers}


def test_takeovers_worked_by_hand() -> None:
    """Software 2 s, wire 1 s: half the software, twice the bytes, or twice the price of one."""
    found = takeovers(two_stages())
    assert {path: each.value for path, each in found.items()} == pytest.approx(
        {"call": 1.0, "speed": 2.0, "price": 0.02, "size": 200.0}, rel=1e-9
    )
    assert {each.stage for each in found.values()} == {"wire"}
    assert {path: each.unit for path, each in found.items()} == {
        "call": "s",
        "speed": "1",
        "price": "s/B",
        "size": "B",
    }


def test_takeovers_start_from_the_values_that_were_set() -> None:
    found = takeovers(two_stages(), {"size": 400.0})
    assert {path: each.value for path, each in found.items()} == pytest.approx(
        {"call": 4.0, "speed": 0.5, "price": 0.005, "size": 200.0}, rel=1e-9
    )
    assert {each.stage for each in found.values()} == {"software"}


def test_takeovers_are_not_sought_at_zero() -> None:
    assert takeovers(two_stages(), {"size": 5e-324}).keys() <= {"call", "speed", "price"}


def test_nearest_comes_first() -> None:
    model = closed_model(
        pipeline([serial(delay(s, name=n)) for n, s in (("a", 8.0), ("b", 4.0), ("c", 7.0))], 2)
    )
    (limit,) = with_takeovers(ClosedForm(model), solve(model).limits, {})
    assert [(each.path, each.stage) for each in limit.takeovers] == [
        ("a", "c"),
        ("c", "c"),
        ("b", "b"),
    ]
    assert [each.value for each in limit.takeovers] == pytest.approx([7.0, 8.0, 8.0])


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e3])
def test_one_stage_is_never_taken_over(scale: float) -> None:
    assert takeovers(closed_model(pipeline([serial(delay(scale, name="only"))], 3))) == {}


def test_a_parameter_of_value_zero_is_passed_over() -> None:
    assert set(takeovers(two_stages(), {"size": 0.0})) == {"call", "speed"} - {"call", "speed"}


@pytest.mark.turns(4)
@quick
@given(st.lists(values(), min_size=2, max_size=4), st.integers(2, 5))
def test_another_stage_binds_beyond_and_none_before(times: list[float], items: int) -> None:
    stages = [serial(delay(seconds, name=f"s{index}")) for index, seconds in enumerate(times)]
    model = closed_model(pipeline(stages, items, name="line"))
    here = solve(model).limits[0].stage
    for path, each in takeovers(model).items():
        now = times[int(path[1:])]
        beyond, before = (each.value + sign * 1e-6 * (each.value - now) for sign in (1, -1))
        if each.value != now:  # at a tie the named stage binds as soon as the value moves
            assert solve(model, {path: before}).limits[0].stage == here
            assert solve(model, {path: beyond}).limits[0].stage == each.stage


@pytest.mark.parametrize("network", NETWORKS)
def test_a_faster_network_card_does_not_move_the_paper_s_limit(network: str) -> None:
    """Adapter latency lies in the parallel stage: no takeover along it; along the price of a
    byte there is one.
    """
    found = takeovers(diff_request(4, network, "I"))
    assert "machine.network.adapter" not in found
    assert found["machine.network.wire.per_byte"].stage == "wire"


@pytest.mark.parametrize(("change", "is_found"), [(1.5e-4, True), (0.7e-4, False)])
def test_takeovers_are_sought_down_to_a_ten_thousandth(change: float, is_found: bool) -> None:
    """The software is as long as the wire, 1 s, at this change of its speed-down."""
    found = takeovers(two_stages(), {"call": 1 / change})
    assert ("call" in found) is is_found
    if is_found:
        assert found["call"].value == pytest.approx(1.0)
