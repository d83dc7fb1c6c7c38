"""Constructs in pairs: what a method answers it answers right, else it refuses by name. A fixed
sample here; all of them in benchmarks/pairs.py.
"""

from __future__ import annotations

from itertools import islice

import pytest

from slipstick import Simulation, solve
from slipstick.model.activity import attempt, choose, delay, hold, repeat, service
from slipstick.model.steps import Activity
from slipstick.model.system import closed_model
from slipstick.vocabulary import CONSTRUCTS, MARKOV_CHAIN, REGIONS, RETRIES, SIMULATION
from tests.paired_constructs import WITH, Pair, apart, pairs, problems

SETTINGS = Simulation(seed=7, events=20_000)
SAMPLE = [*islice(pairs(), 0, None, 17)]


def test_every_construct_is_in_a_pair() -> None:
    of_activities = CONSTRUCTS.keys() - {REGIONS, RETRIES}
    assert frozenset().union(*(pair.constructs for pair in pairs())) == of_activities


@pytest.mark.turns(5)
@pytest.mark.parametrize("pair", SAMPLE, ids=lambda pair: pair.title)
def test_a_pair_is_answered_right_or_refused_by_name(pair: Pair) -> None:
    assert problems(pair, SETTINGS) == []


@pytest.mark.turns(4)
def test_a_construct_that_is_left_out_is_noticed() -> None:
    first, second = [pair for pair in pairs() if "batches" in pair.title][:2]
    other = second.constructs - first.constructs
    pair = Pair("wrong", first.constructs | other, first.build, limited=False)
    assert problems(pair, SETTINGS) == [f"the model has no {min(other)}"]
    early = next(pair for pair in pairs() if pair.title == "first of two then send")
    longer = solve(
        early.build(WITH), {"population.processors": 9}, method=SIMULATION, simulation=SETTINGS
    )
    assert [*apart(longer, solve(early.build(WITH), simulation=SETTINGS), 0.01)]


def _impatient() -> Activity:
    held = hold("pool", service("disk", 0.5, scv=1.0))
    return attempt(held, patience=0.3, otherwise=delay(0.1, name="late", scv=1.0))


@pytest.mark.turns(4)
@pytest.mark.parametrize("shared", [True, False], ids=["shared", "copied"])
def test_an_attempt_in_two_places_is_abandoned_in_its_own(shared: bool) -> None:
    """The customers of both places went on in the last one: some released a lock that they did not
    hold.
    """
    first = _impatient()
    second = first if shared else _impatient()
    places = choose((0.5, hold("left", first)), (0.5, hold("right", second) >> second))
    model = closed_model(delay(1.0, name="think", scv=1.0) >> repeat(2, places), 3)
    exact = solve(model, method=MARKOV_CHAIN)
    simulated = solve(model, method=SIMULATION, simulation=Simulation(seed=3, events=60_000))
    assert not [*apart(exact, simulated, 0.002)]
