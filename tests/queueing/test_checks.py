"""Each law catches what breaks it, and names it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from slipstick.errors import NoAnswerError
from slipstick.queueing.checks import checked_solution
from slipstick.queueing.exact import exact
from slipstick.queueing.network import network_arrays

GIVEN = network_arrays(
    [[0.6, 0.4], [0.3, 0.5]],
    population=[3, 2],
    think=1.0,
    stations=["cpu", "disk"],
    classes=["a", "b"],
)
RIGHT = exact(GIVEN, with_marginals=True)
CHANCE = RIGHT.probability[0]
assert CHANCE is not None


def times(array: Any, place: tuple[int, ...], factor: float) -> Any:
    changed = array.copy()
    changed[place] *= factor
    return changed


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"throughput": RIGHT.throughput * np.nan}, "throughput of a is nan"),
        ({"queue": times(RIGHT.queue, (0, 1, 1), -1)}, "queue of b at disk is -"),
        (
            {"queue": times(RIGHT.queue, (0, 1, 0), 1.001)},
            " breaks Little's law at a station, Q = X R for b at cpu: ",
        ),
        (
            {"queue": RIGHT.queue * 1.1, "residence": RIGHT.residence * 1.1},
            " breaks population, sum of Q + X Z = N for a: ",
        ),
        (
            {"utilization": times(RIGHT.utilization, (0, 0, 1), 1.01)},
            " breaks flow balance, U c = X D for a at disk: ",
        ),
        (
            {"probability": (CHANCE * 1.01, None)},
            " breaks probabilities at cpu add up to 1: 1.01 and 1",
        ),
        ({"probability": (CHANCE[:, ::-1], None)}, " breaks probabilities at cpu give its queue: "),
        ({"probability": (-CHANCE, None)}, ": P(0 present at cpu) is -"),
        (
            {"probability": (times(CHANCE, (0, 1), 1.5 / CHANCE[0, 1]), None)},
            ": P(1 present at cpu) is 1.5",
        ),
    ],
)
def test_a_broken_law_is_named(change: dict[str, Any], text: str) -> None:
    assert checked_solution(GIVEN, RIGHT) is RIGHT
    with pytest.raises(NoAnswerError) as refused:
        checked_solution(GIVEN, replace(RIGHT, **change))
    assert str(refused.value).startswith("exact mean values")
    assert text in str(refused.value)


def test_a_utilization_above_one_is_named() -> None:
    given = network_arrays([0.5], arrivals=1.9, stations=["cpu"])
    fast = replace(given, arrivals=given.arrivals * 1.1)
    right = exact(given)
    wrong = replace(
        right,
        throughput=right.throughput * 1.1,
        queue=right.queue * 1.1,
        utilization=right.utilization * 1.1,
    )
    with pytest.raises(NoAnswerError, match=r"cpu is busy for 1\.045 of the time, above 1"):
        checked_solution(fast, wrong)


def test_a_throughput_outside_its_bounds_is_named() -> None:
    """The recursion of a station of rates went wrong, say: all other laws hold."""
    given = network_arrays([0.5, 0.1], population=4, rates=[[1.0], None], classes=["jobs"])
    right = exact(given)
    fast = right.throughput * 1.2
    time = right.residence / 1.2
    wrong = replace(
        right,
        throughput=fast,
        residence=time,
        utilization=times(right.utilization, (0, 0, 1), 1.2),
        probability=(),
    )
    with pytest.raises(
        NoAnswerError,
        match=r"throughput of jobs is 2\.39.*, outside its asymptotic bounds 1\.66.* and 2",
    ):
        checked_solution(given, wrong)
