"""Visits in a row: exact for an open stream at one first-come server, close to chains when
closed.
"""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import count

import numpy as np
import pytest

from slipstick.model.activity import choose, delay, repeat, service, then
from slipstick.model.steps import Activity
from slipstick.model.system import Station, closed_model, grouped_model, open_model
from slipstick_chains.activity_chain import ActivityChain
from slipstick_mean_value import in_a_row
from slipstick_mean_value.form import MeanValue


@pytest.mark.turns(4)
def test_one_service_time_and_random_feedback_as_by_takacs() -> None:
    visit = service("s", 1.0, scv=4.0, name="s")
    model = open_model(repeat(1.5, visit), 0.5, resources={"s": Station()})
    # The recursion of the numbers found, followed for a long time by hand.
    rate, load, back = 0.5, 0.75, 1.5 / 1.5 - 1 / 1.5
    wait = _followed(rate, [1.0], [4.0], np.array([[back]]), np.array([1.5]))
    assert MeanValue(model).times({})[0] == pytest.approx(1.5 * (1 + wait[0]), rel=1e-9)
    assert load < 1


def _followed(
    rate: float, times: list[float], scvs: list[float], onward: np.ndarray, visits: np.ndarray
) -> np.ndarray:
    """Iterate what a customer finds at each visit, one equation after the other."""
    service, scv = np.array(times), np.array(scvs)
    flows = rate * visits
    entering = visits - onward.T @ visits
    waits = np.zeros(len(times))
    found = np.zeros((len(times), len(times)))
    for _ in range(20_000):
        at_random = flows * (waits + service)
        first = flows * waits @ service + flows * service @ (service * (1 + scv) / 2)
        arrives = rate * entering
        moved = found @ onward + np.outer(waits + service, arrives)
        weights = (onward * visits[:, None] / visits[None, :]).T
        own = entering / visits
        found = weights @ moved + np.outer(own, at_random)
        waits = weights @ (moved @ service) + own * first
    return waits


def test_turns_and_one_matrix_give_the_same_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no visits go round in a loop, each is found from those before it."""
    turns = in_a_row._order_of_places(np.eye(4, k=1)[None])
    assert turns == (0, 1, 2, 3)
    assert in_a_row._order_of_places(np.ones((2, 2))) is None
    visits = [service("s", 0.1 * (k + 1), scv=k % 3, name=f"v{k}") for k in range(4)]
    body = then(
        delay(1.0, name="think", scv=1.0),
        *visits[:3],
        choose((0.3, visits[3]), (0.7, delay(0.1, name="rest"))),
    )
    models = [
        open_model(body, 0.5, resources={"s": Station()}),
        closed_model(body, 5, resources={"s": Station()}),
        grouped_model({"a": (3, body), "b": (2, then(visits[1], visits[2]))}),
    ]
    by_turns = [MeanValue(model).times({})[0] for model in models]
    monkeypatch.setattr(in_a_row, "_order_of_places", lambda follows: None)
    by_matrix = [MeanValue(model).times({})[0] for model in models]
    assert by_turns == pytest.approx(by_matrix, rel=1e-12)


@pytest.mark.turns(4)
def test_five_short_visits_and_a_long_one_of_a_stream() -> None:
    times = [0.02] * 5 + [0.65]
    cycle = then(*(service("s", time, scv=1.0, name=f"v{k}") for k, time in enumerate(times)))
    loop = repeat(5, service("s", 0.02, scv=1.0, name="short")) >> service(
        "s", 0.65, scv=1.0, name="long"
    )
    onward = np.eye(6, k=1)
    known = 0.75 + _followed(16 / 15, times, [1.0] * 6, onward, np.ones(6)).sum()
    for activity in (cycle, loop):
        model = open_model(activity, 16 / 15, resources={"s": Station()})
        assert MeanValue(model).times({})[0] == pytest.approx(known, rel=1e-6)


def _cycle(draw: random.Random) -> Activity:
    names = count()

    def visit() -> Activity:
        scv = draw.choice([0.5, 1.0, 4.0])
        return service("s", 0.05 * 20 ** draw.random(), scv=scv, name=f"v{next(names)}")

    parts: list[Activity] = []
    for _ in range(draw.randint(1, 2)):
        kind = draw.random()
        parts.append(
            visit()
            if kind < 0.4
            else repeat(2, visit())
            if kind < 0.7
            else choose((0.3, visit()), (0.7, visit() >> visit()))
        )
    return delay(draw.uniform(0.3, 3.0), scv=1.0, name="think") >> then(*parts)


@pytest.mark.turns(4)
@pytest.mark.parametrize("seed", range(12))
def test_closed_populations_are_close_to_their_chains(seed: int) -> None:
    draw = random.Random(f"visits in a row {seed}")
    model = closed_model(_cycle(draw), draw.choice([2, 3]), resources={"s": Station()})
    exact = ActivityChain(model).times({})[0]
    assert MeanValue(model).times({})[0] == pytest.approx(exact, rel=0.04)


def test_the_mixture_of_services_is_that_of_machine_repair() -> None:
    cycle = delay(5.0, scv=1.0, name="think") >> choose(
        (0.02, service("disk", 10.0, scv=1.0, name="long")),
        (0.98, service("disk", 0.02, scv=1.0, name="short")),
    )
    model = closed_model(cycle, 3, resources={"disk": Station()})
    assert MeanValue(model).times({})[0] == pytest.approx(ActivityChain(model).times({})[0])


def test_a_first_wait_below_the_work_that_is_present_does_not_grow_without_end() -> None:
    """The approximation then gives waits below 0, from which the arrivals of later passes grew
    until the equations had no solution.
    """
    onward, visits = np.array([[0.22, 0.08], [0.25, 0.05]]), np.ones(2)
    row = in_a_row.SuccessiveVisits((0, 1), visits, onward, onward, 1 - onward.sum(axis=0))
    service, present = np.array([4.4, 3.1]), np.array([1.1, 1.8])
    waits = row.closed_waits(np.array(1.0), present, service, visits, 3.0)
    assert (np.abs(waits) < 10 * service.sum() * present.sum()).all()


@pytest.mark.parametrize("seed", range(4))
def test_visits_without_a_loop_are_solved_as_by_the_equations_of_a_loop(seed: int) -> None:
    """Four visits, each followed by the next two with some probabilities; of the first, some follow
    none.
    """
    draw = np.random.default_rng(2026113000 + seed)
    follows = np.triu(draw.uniform(0, 0.5, (4, 4)), k=1)
    ordered = in_a_row.SuccessiveVisits(
        (0, 1, 2, 3), np.ones(4), follows, follows, 1 - follows.sum(axis=0), (0, 1, 2, 3)
    )
    numbers = draw.uniform(0, 2, (5, 4))
    flows = draw.uniform(0.1, 0.5, (5, 4)) * (1 + 1e-20j)
    wait = (numbers * 1.5).sum(axis=-1)
    by_order, by_matrix = (
        row.closed_waits(wait, numbers, np.full(4, 1.5), flows, 9.0)
        for row in (ordered, replace(ordered, place_order=None))
    )
    assert by_order == pytest.approx(by_matrix, rel=1e-9)
    assert by_order.imag == pytest.approx(by_matrix.imag, rel=1e-6)
