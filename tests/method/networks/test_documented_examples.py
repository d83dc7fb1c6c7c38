"""The documented examples of another simulator, Ciw 3 (its guides and tutorials, read in November
2026), each with the number that its documentation prints and how far its short runs may be off.
"""

from __future__ import annotations

import pytest

from slipstick import (
    Answer,
    Simulation,
    attempt,
    network,
    open_class,
    open_model,
    service,
    solve,
    station,
    transient,
)
from slipstick.time_distributions import uniform

SETTINGS = Simulation(seed=8, events=400_000, precision=0.01)


def value(answer: Answer, name: str) -> float:
    amount = answer[name]
    assert amount is not None
    return amount


def test_the_wait_of_the_queue_in_its_advice_on_simulations() -> None:
    """The mean of 25 runs of 40 units of time is 0.2013."""
    answer = solve(network({"a": open_class(5.0)}, {"desk": station(service={"a": 1 / 8})}))
    assert answer.exact
    assert value(answer, "waiting_time[a,desk]") == pytest.approx(0.2013, rel=0.05)


def test_the_time_of_a_shared_processor() -> None:
    """The mean of one run of 1000 customers is 0.1936."""
    shared = station(service={"a": 1 / 9}, discipline="ps")
    answer = solve(network({"a": open_class(4.0)}, {"cpu": shared}))
    assert answer.exact
    assert value(answer, "response_time[a]") == pytest.approx(0.1936, rel=0.05)


def test_the_numbers_present_at_three_shared_processors() -> None:
    """Shares of 800 units of time with 0, 1, ... customers."""
    shared = station(service={"a": 1 / 12}, discipline="ps", servers=3)
    columns = transient(network({"a": open_class(10.0)}, {"cpu": shared}), [100.0])
    for present, share in enumerate((0.4399, 0.3635, 0.1451, 0.0392, 0.0092)):
        assert columns[f"probability[cpu,{present}]"][0] == pytest.approx(share, abs=0.01)


@pytest.mark.turns(4)
@pytest.mark.parametrize(("low", "high", "broken"), [(3.0, 5.0, 7.25), (3.5, 4.5, 0.875)])
def test_the_stools_that_fall_from_a_belt(low: float, high: float, broken: float) -> None:
    """Seats that come every 4 s are lost if three wait at the first of three workstations, each of
    which blocks the one before. The means of 8 hours have standard errors of about 1.
    """
    legs = uniform(low, high)
    way_of_blocking = {"one": "loss", "two": "after-service", "three": "after-service"}
    line = {
        name: station(
            service={"stools": legs.mean},
            distribution={"stools": legs.distribution},
            capacity=4,
            blocking=blocking,
        )
        for name, blocking in way_of_blocking.items()
    }
    stools = network({"stools": open_class(0.25, trace=[4.0])}, line)
    answer = solve(stools, method="simulation", simulation=SETTINGS)
    assert 900 * value(answer, "loss_probability[stools,one]") == pytest.approx(broken, abs=2.0)


def test_the_customers_that_balk_at_a_long_queue() -> None:
    """Of 5 arrivals in a unit of time none balks before fewer than three, each second before three
    to six, and all before seven; the first that balks is number 44 of the run.
    """
    weights = [0.5**present * 0.5 ** max(0, present - 3) for present in range(8)]
    balking = [0.0, 0.0, *[0.5] * 4, 1.0]  # by those that wait, one fewer than are present
    share = sum(weights[present] * balking[present - 1] for present in range(1, 8)) / sum(weights)
    assert 1 / 88 < share < 1 / 22
    visit = service("desk", 1 / 10, scv=1.0)
    model = open_model(attempt(visit, balking=balking), 5.0)
    answer = solve(model, simulation=Simulation(seed=8, events=60_000))
    assert value(answer, "abandonment[desk]") == pytest.approx(share, rel=0.12)
