"""Customers that leave at once with a probability that grows with the queue: against the balance
equations of the queue, and at the ends of the probabilities.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick import Model, Simulation, Station, closed_model, delay, load, open_model, solve
from slipstick.errors import ModelError, NoAnswerError
from slipstick.expression.nodes import RATE, Parameter
from slipstick.model.activity import Attempt, attempt, service
from slipstick.model.steps import Activity
from slipstick.vocabulary import MARKOV_CHAIN

BALKING = (0.2, 0.5, 1.0)
CUT = service("barber", 0.5, name="cut", scv=1.0)


def visits(chair: Activity) -> Model:
    think = delay(2.0, name="think", scv=1.0)
    return closed_model(think >> chair, 5, resources={"barber": Station(2)})


def test_the_chain_has_the_balance_of_the_queue() -> None:
    """With n at two chairs, five minus n think, of whom one that finds w waiting stays with 1 -
    p(w).
    """
    weights = [1.0]
    for present in range(5):
        waiting = present - 2
        staying = 1.0 if waiting < 0 else 1 - BALKING[min(waiting, 2)]
        weights.append(weights[-1] * (5 - present) / 2.0 * staying / (min(present + 1, 2) / 0.5))
    served = sum(w * min(n, 2) / 0.5 for n, w in enumerate(weights)) / sum(weights)
    model = visits(attempt(CUT, balking=BALKING))
    answer = solve(model, method=MARKOV_CHAIN)
    assert answer["goodput[barber]"] == pytest.approx(served, rel=1e-9)
    run = solve(model, method="simulation", simulation=Simulation(seed=4, events=40_000))
    assert run["goodput[barber]"] == pytest.approx(served, rel=0.03)


def test_customers_that_join_any_queue_count_too() -> None:
    """Half of the customers stay however many wait: those served are the work of the chairs."""
    answer = solve(visits(attempt(CUT, balking=[0.2, 0.5])), method=MARKOV_CHAIN)
    busy, rate = answer["utilization[barber]"], answer["throughput"]
    assert busy is not None
    assert rate is not None
    served = 2 * busy / 0.5
    assert answer["goodput[barber]"] == pytest.approx(served, rel=1e-9)
    assert answer["abandonment[barber]"] == pytest.approx(1 - served / rate, rel=1e-9)


def test_customers_that_join_any_queue_saturate_a_station_and_obey_a_breaker() -> None:
    chair = attempt(CUT, balking=[0.2, 0.5])
    with pytest.raises(NoAnswerError) as refusal:
        solve(open_model(chair, Parameter("rate", RATE, 10.0), resources={"barber": Station(2)}))
    assert "station barber is saturated: 10/s arrive, fewer than 8/s can be served" in str(
        refusal.value
    )
    guarded = attempt(CUT, balking=[0.2, 0.5], breaker="guard")
    assert all(isinstance(node, Attempt) and node.breaker for node in guarded.children)


def test_certain_balking_is_a_queue_without_places_and_none_is_a_visit() -> None:
    def time(chair: Activity) -> float:
        value = solve(visits(chair), method=MARKOV_CHAIN)["time"]
        assert value is not None
        return value

    assert time(attempt(CUT, balking=[1.0])) == pytest.approx(time(attempt(CUT, queue=0)))
    assert time(attempt(CUT, balking=[0.0, 0.0])) == pytest.approx(time(CUT))
    patient = attempt(CUT, balking=[0.0], patience=0.7)
    assert time(patient) == pytest.approx(time(attempt(CUT, patience=0.7)))


def test_a_file_says_it(tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(
        "activity: 1\npopulation: {arrivals: 6 /h}\nresources: {barber: {servers: 1}}\ncycle:\n"
        "- attempt: [{name: cut, service: barber, time: 12 min, scv: 1}]\n"
        "  balking: [0, 30 %, 0.6, 1]\n"
    )
    model = load(path)
    assert isinstance(model, Model)
    # One chair: 6 arrive and 5 are served in an hour.
    weights = [1.0, 1.2, 1.2**2, 1.2**3 * 0.7, 1.2**4 * 0.7 * 0.4]
    answer = solve(model, simulation=Simulation(seed=4, precision=0.01))
    assert answer["utilization[barber]"] == pytest.approx(1 - 1 / sum(weights), rel=0.02)


@pytest.mark.parametrize("balking", [[0.5, 0.2], [0.5, 1.2]])
def test_probabilities_that_fall_or_exceed_one_are_refused(balking: list[float]) -> None:
    with pytest.raises(ModelError) as refusal:
        attempt(CUT, balking=balking)
    assert str(refusal.value) == (
        "probabilities of balking do not fall with the queue, and are at most 1, got"
        f" {balking[0]:g}, {balking[1]:g}"
    )


def test_a_queue_beside_balking_is_refused() -> None:
    with pytest.raises(ModelError) as refusal:
        open_model(attempt(CUT, balking=[0.5], queue=2), Parameter("rate", RATE, 1.0))
    assert str(refusal.value) == (
        "an attempt at barber cannot have both a queue and balking; to limit the queue by balking,"
        " write 1 as the last probability"
    )
