"""Closed classes whose times are all constant have no product form: their customers stay in
step.
"""

from __future__ import annotations

import pytest

from slipstick import Simulation, solve
from slipstick.model.network import (
    QueueingNetwork,
    chain,
    closed_class,
    network,
    open_class,
    route,
    station,
)
from slipstick.queueing.exact import exact
from slipstick.queueing.network import network_arrays

WORDS = "station 1 serves customers whose times are all constant, so there is no product form"


@pytest.mark.parametrize("discipline", ["ps", "lcfs-pr"])
def test_customers_in_step_have_no_product_form(discipline: str) -> None:
    in_step = network_arrays([1.0, 1.0], population=2, discipline=discipline, scv=0.0)
    with pytest.raises(Exception, match=WORDS):
        exact(in_step)


@pytest.mark.parametrize(
    "changed",
    [{"scv": 0.25}, {"think": 1.0}, {"population": 1}],
)
def test_a_random_time_or_a_single_customer_gives_product_form(
    changed: dict[str, float],
) -> None:
    one = {"population": 2, "discipline": "ps", "scv": 0.0, **changed}
    other = {**one, "scv": 1.0}
    assert exact(network_arrays([1.0, 1.0], **one)).throughput == pytest.approx(  # type: ignore[arg-type]
        exact(network_arrays([1.0, 1.0], **other)).throughput  # type: ignore[arg-type]
    )


def test_an_open_stream_parts_no_customers_in_step() -> None:
    """Two that start together share each station with the same others."""
    mixed = network(
        {"jobs": closed_class(2), "requests": open_class(0.3)},
        {
            name: station(
                discipline="ps", service={"jobs": 1.0, "requests": 0.2}, scv={"jobs": 0.0}
            )
            for name in ("first", "second")
        },
    )
    found = solve(mixed)
    assert found.method == "simulation"
    assert found["response_time[jobs]"] is not None
    # In step each takes at least the service of both at both stations.
    assert found["response_time[jobs]"] > 4


def test_two_in_step_take_the_time_of_both_at_each_station() -> None:
    found = solve(
        network(
            {"jobs": closed_class(2)},
            {
                name: station(discipline="ps", service={"jobs": 1.0}, scv={"jobs": 0.0})
                for name in ("first", "second")
            },
        )
    )
    assert found["response_time[jobs]"] == pytest.approx(4)


LONG = Simulation(seed=8, events=400_000, precision=1e-9)


def assert_exact_is_simulated(model: QueueingNetwork, names: tuple[str, ...]) -> None:
    computed, simulated = solve(model), solve(model, method="simulation", simulation=LONG)
    assert computed.exact
    for name in names:
        value = simulated.values[name]
        assert value.value is not None
        assert value.high is not None
        assert abs(value.value - (computed[name] or 0.0)) <= 3 * (value.high - value.value), name


def test_one_customer_of_constant_times_among_random_ones_has_product_form() -> None:
    stations = {
        name: station(discipline="ps", service={"one": 1.0, "many": 0.4}, scv={"one": 0.0})
        for name in ("first", "second")
    }
    model = network({"one": closed_class(1), "many": closed_class(2)}, stations)
    assert_exact_is_simulated(model, ("response_time[one]", "response_time[many]"))


@pytest.mark.parametrize("discipline", ["ps", "lcfs-pr"])
def test_random_visits_do_not_part_customers_of_constant_times(discipline: str) -> None:
    """A cycle takes 2, 3, 4 ... s of work, so that customers come to the first two stations at
    whole seconds of it, together or not at all.
    """
    model = network(
        {"jobs": closed_class(2)},
        {
            name: station(
                discipline=discipline,
                service={"jobs": time},
                visits={"jobs": mean},
                scv={"jobs": 0.0},
            )
            for name, time, mean in (("a", 0.5, 1.0), ("b", 0.5, 1.0), ("c", 1.0, 1.5))
        },
    )
    simulated = solve(model, simulation=LONG)
    assert simulated.method == "simulation"
    value = simulated.values["response_time[jobs]"]
    assert value.low is not None
    assert value.high is not None
    assert not value.low - 0.1 < 3.6 < value.high + 0.1  # what product form says


def test_a_chain_of_classes_that_take_unlike_constant_times_stays_in_step() -> None:
    """The joined times of a chain vary, but each customer takes the same ones in every cycle."""
    places = [("early", "first"), ("early", "second"), ("late", "first"), ("late", "second")]
    times = {"first": {"early": 1.0, "late": 3.0}, "second": {"early": 1.0, "late": 2.0}}
    model = network(
        {},
        {
            name: station(discipline="ps", service=time, scv=dict.fromkeys(time, 0.0))
            for name, time in times.items()
        },
        chains={"jobs": chain(list(times["first"]), closed_class(2), places[0])},
        routing=[route(place, places[(index + 1) % 4]) for index, place in enumerate(places)],
    )
    answer = solve(model)
    assert answer.method == "simulation"
    # Both together: 2 (1 + 1 + 3 + 2) s.
    assert answer["response_time[jobs]"] == pytest.approx(14)


def test_a_random_route_does_not_part_customers_of_constant_times() -> None:
    """After the first station, 2 s, they are at the same of two others, 2 s, or apart, 1 s."""
    model = network(
        {},
        {
            name: station(discipline="ps", service={"jobs": 1.0}, scv={"jobs": 0.0})
            for name in ("first", "left", "right")
        },
        chains={"all": chain(["jobs"], closed_class(2), ("jobs", "first"))},
        routing=[
            route(("jobs", "first"), ("jobs", "left"), 0.5),
            route(("jobs", "first"), ("jobs", "right"), 0.5),
            route(("jobs", "left"), ("jobs", "first")),
            route(("jobs", "right"), ("jobs", "first")),
        ],
    )
    answer = solve(model, simulation=LONG)
    assert answer.method == "simulation"
    assert answer["response_time[all]"] == pytest.approx(3.5, rel=0.01)  # product form: 2.75
