"""Closed classes whose times are all constant have no product form: their customers stay in
step.
"""

from __future__ import annotations

import pytest

from slipstick import solve
from slipstick.model.network import closed_class, network, open_class, station
from slipstick.queueing.exact import exact
from slipstick.queueing.network import network_arrays

WORDS = "station 1 serves customers whose times are all constant, so there is no product form"


@pytest.mark.parametrize("discipline", ["ps", "lcfs-pr"])
def test_customers_in_step_have_no_product_form(discipline: str) -> None:
    in_step = network_arrays([1.0, 1.0], population=2, discipline=discipline, scv=0.0)
    with pytest.raises(Exception, match=WORDS):
        exact(in_step)


@pytest.mark.parametrize(
    "changed", [{"scv": 0.25}, {"think": 1.0}, {"visits": 1.5}, {"population": 1}]
)
def test_a_random_time_or_route_or_a_single_customer_gives_product_form(
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
