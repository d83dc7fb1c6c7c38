"""Every kind of step and of resource in every place: what methods call exact is what a simulation
finds. A fixed sample here; all of them in benchmarks/exact_steps.py.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import pytest

from slipstick import Simulation
from slipstick.errors import SlipstickError
from slipstick.model import activity, system
from slipstick.model.steps import Activity
from slipstick.model.system import Model, ResourceKind
from tests.every_step import RESOURCES, STEPS, contradictions, every_model, exact_answers, kinds_of

SETTINGS = Simulation(seed=11, events=40_000)
SAMPLE = list(islice(every_model(), 3, None, 13))


def test_every_kind_has_an_example() -> None:
    assert kinds_of(activity, Activity) == set(STEPS)
    assert kinds_of(system, ResourceKind) == set(RESOURCES)


@pytest.mark.turns(5)
@pytest.mark.parametrize("build", [build for _, build in SAMPLE], ids=[name for name, _ in SAMPLE])
def test_exact_answers_lie_in_the_interval_of_the_simulation(build: Callable[[], Model]) -> None:
    try:
        model = build()
    except SlipstickError:  # such as a barrier inside a fork
        return
    assert contradictions(model, SETTINGS) == []


@pytest.mark.turns(5)
def test_the_sample_holds_exact_answers() -> None:
    exact = 0
    for _, build in SAMPLE:
        try:
            exact += bool(exact_answers(build()))
        except SlipstickError:
            continue
    assert exact >= 10
