"""Traffic equations against visit counts worked by hand."""

from __future__ import annotations

import numpy as np
import pytest

from slipstick import arrivals, chain, customers, network, queue, route
from slipstick.method.networks.traffic import traffic

STATIONS = {"cpu": queue(service={"a": 1.0}), "disk": queue(service={"a": 1.0})}
BACK = [
    route(("a", "cpu"), ("a", "disk"), 0.75),
    route(("a", "cpu"), ("a", "cpu"), 0.25),
    route(("a", "disk"), ("a", "cpu"), 1.0),
]
OUT = [route(("a", "cpu"), None, 0.2), route(("a", "cpu"), ("a", "disk"), 0.8), route(("a", "disk"), ("a", "cpu"), 1.0)]


def test_a_cycle_is_one_visit_to_the_reference() -> None:
    made = network({}, STATIONS, chains={"users": chain(["a"], customers(2), ("a", "cpu"))}, routing=BACK)
    visits = traffic(made, "users", np.array([[0.75, 0.25, 1.0], [0.5, 0.5, 1.0]]))
    assert visits["a", "cpu"] == pytest.approx([1.0, 1.0])
    assert visits["a", "disk"] == pytest.approx([0.75, 0.5])


def test_a_stream_comes_in_at_the_reference() -> None:
    made = network({}, STATIONS, chains={"web": chain(["a"], arrivals(1.0), ("a", "cpu"))}, routing=OUT)
    visits = traffic(made, "web", np.array([[0.2, 0.8, 1.0]]))
    assert (visits["a", "cpu"][0], visits["a", "disk"][0]) == pytest.approx((5.0, 4.0))


def test_where_nobody_comes_back_there_are_no_visits_and_elsewhere_there_are() -> None:
    made = network({}, STATIONS, chains={"web": chain(["a"], arrivals(1.0), ("a", "cpu"))}, routing=OUT)
    visits = traffic(made, "web", np.array([[0.0, 1.0, 1.0], [0.5, 0.5, 1.0]]))
    assert np.isnan(visits["a", "cpu"][0])
    assert visits["a", "cpu"][1] == pytest.approx(2.0)


def test_a_small_imaginary_step_gives_the_derivative_by_a_probability() -> None:
    made = network({}, STATIONS, chains={"web": chain(["a"], arrivals(1.0), ("a", "cpu"))}, routing=OUT)
    step = 1e-20
    visits = traffic(made, "web", np.array([[0.2, 0.8 + 1j * step, 1.0]]))
    assert visits["a", "cpu"][0].imag / step == pytest.approx(25.0)  # of 1 / (1 - p)
