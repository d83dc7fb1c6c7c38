"""Networks with two constructs: what a method answers it answers right, else it refuses by name. A
fixed sample here; all of them in benchmarks/pairs.py.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest

from slipstick import Simulation
from slipstick.vocabulary import BREAKERS, REGIONS, RETRIES, WEIGHTS
from tests.paired_constructs import LIMIT, WITH, WITHOUT
from tests.paired_networks import NetworkPair, network_pairs, network_problems

SETTINGS = Simulation(seed=7, events=20_000)
PAIRS = [*network_pairs()]
SAMPLE = [*islice(PAIRS, 0, None, 61)]


@pytest.mark.turns(8)
def test_constructs_and_kinds_of_arrivals_are_in_pairs() -> None:
    models = [pair.build(WITH) for pair in PAIRS]
    constructs = {construct for model in models for construct in model.constructs}
    assert constructs == {BREAKERS, REGIONS, RETRIES, WEIGHTS}


@pytest.mark.turns(8)
def test_every_pair_has_its_construct_and_lacks_it_without() -> None:
    for pair in PAIRS:
        if pair.limited:
            assert repr(pair.build(WITH)) != repr(pair.build(WITHOUT)), pair.title


@pytest.mark.turns(6)
@pytest.mark.parametrize("pair", SAMPLE, ids=lambda pair: pair.title)
def test_a_pair_is_answered_right_or_refused_by_name(pair: NetworkPair) -> None:
    assert network_problems(pair, SETTINGS) == []


@pytest.mark.turns(6)
def test_a_limit_that_changes_something_is_noticed() -> None:
    pair = next(pair for pair in PAIRS if pair.title == "patience beside servers")
    builders = {WITH: pair.build(WITH), LIMIT: pair.build(WITH), WITHOUT: pair.build(WITHOUT)}
    found = network_problems(replace(pair, build=builders.__getitem__), SETTINGS)
    assert any(problem.startswith("at its limit queue_length[desk]: ") for problem in found)
