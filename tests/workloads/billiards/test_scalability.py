"""The printed cell of Scale-Graph's matrix, 4 to 32 processors at five balls a step: 0.82 / 0.54 /
0.53.

Sizes, times and memory of its runs are not printed, so our three numbers are not to be the same.
What must hold is what the dependency rule says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import numpy as np
import pytest

from slipstick import PROGRAMS
from slipstick.method.closed_form import ClosedForm
from slipstick_laws.account import AVERAGE_LATENCY
from slipstick_laws.scalability import LATENCY_SCALABILITY
from tests.specs import shared_machine

COSTS = {
    "adding": 30.5,
    "searching": 8.35,
    "removing": 30.5,
    "meeting": 9.0,
    "collide": 9.0,
    "misses": 7.0,
    "check": 1.0,
}
FREE = {
    "adding": 400.0,
    "searching": 0.0,
    "removing": 30.5,
    "meeting": 0.0,
    "collide": 9.0,
    "misses": 0.0,
    "check": 0.0,
}
LOCKED = {"lock": "hardware", "barrier": "tournament"}
Run = Callable[[float], tuple[float, float]]
"""From balls to time [s] and efficiency [1]."""


def runs(
    processors: int,
    costs: dict[str, float],
    words: dict[str, str],
    balls_of_a_step: float = 5.0,
    machine_times: Mapping[str, float] = MappingProxyType({}),
) -> Run:
    program, machine = PROGRAMS["billiards/parallel"], shared_machine("ksr-1")
    given = {"balls": 5000.0, "steps": 1000.0, "processors": float(processors), **costs}
    form = ClosedForm(program.on(machine, parallelism="expected", **given, **words))

    def run(balls: float) -> tuple[float, float]:
        sizes = {"balls": np.array([balls]), "steps": np.array([balls / balls_of_a_step])}
        times = {path: np.array([value]) for path, value in machine_times.items()}
        columns = form.points({**sizes, **times}).columns()
        return float(columns["time"][0]), float(columns["efficiency"][0])

    return run


def reached(value: Callable[[float], float], goal: float) -> float:
    """Find the balls, between 2 and 10^9, at which what grows with them comes to a goal."""
    low, high = 2.0, 1e9
    assert value(low) < goal < value(high)
    for _ in range(45):  # to 1e-12 of the balls
        middle = (low * high) ** 0.5
        low, high = (middle, high) if value(middle) < goal else (low, middle)
    return low


def scalability(few: tuple[float, float], many: tuple[float, float]) -> float:
    latency, more_latency = (
        AVERAGE_LATENCY.equation(time, efficiency) for time, efficiency in (few, many)
    )
    return float(LATENCY_SCALABILITY.equation(latency, more_latency))


@pytest.fixture(scope="module", params=[4, 8, 16])
def pair(request: pytest.FixtureRequest) -> tuple[int, Run, Run]:
    return request.param, runs(request.param, COSTS, LOCKED), runs(32, COSTS, LOCKED)


def cell(
    few: int,
    costs: dict[str, float],
    kept: float,
    words: dict[str, str] = LOCKED,
    balls: float = 1250.0,
    machine_times: Mapping[str, float] = MappingProxyType({}),
) -> tuple[float, float, float]:
    """Yield the scalability to 32 processors at 100 s, at an efficiency, and with as many balls a
    processor.
    """
    on_few, on_many = (
        runs(count, costs, words, machine_times=machine_times) for count in (few, 32)
    )

    def at_equal(value: int, goal: float) -> Iterator[tuple[float, float]]:
        """Yield the runs of both machines with as many balls as reach a value."""
        for run in (on_few, on_many):
            yield run(reached(lambda balls, run=run: run(balls)[value], goal))  # type: ignore[misc]

    by_time, by_efficiency = at_equal(0, 100.0), at_equal(1, kept)
    by_memory = (on_few(balls * few), on_many(balls * 32))
    return scalability(*by_time), scalability(*by_efficiency), scalability(*by_memory)


@pytest.mark.turns(8)
@pytest.mark.parametrize("few", [4, 8, 16])
def test_memory_scales_better_than_efficiency_and_time_better_than_both(few: int) -> None:
    by_time, by_efficiency, by_memory = cell(few, COSTS, kept=0.6)
    assert 0 < by_efficiency < by_memory < 1
    assert by_memory < by_time < 1.1


MISSES = {0.0: (1.09, 0.08, 0.43), 1.0: (0.86, 0.01, 0.21)}
"""Ours in place of the printed 0.82, 0.54, 0.53, by fetches of each bin or collision passed:
none, or each.
"""


@pytest.mark.turns(6)
@pytest.mark.parametrize("fetches", MISSES)
def test_four_to_thirty_two_beside_the_printed_cell(fetches: float) -> None:
    # 1250 balls, 1.2 MB at the printed 960 B each, are assumed; a processor of the KSR-1 has room
    # for more.
    assert cell(4, COSTS | {"search_misses": fetches}, kept=0.5) == pytest.approx(
        MISSES[fetches], abs=0.01
    )


@pytest.mark.turns(12)
def test_the_printed_cell_lies_within_the_ranges_of_what_is_not_printed() -> None:
    """Nothing excludes the three printed values together: with these inputs, each within the range
    that the study scale-graph gives it, all are met within a tenth. They were sought for that, so
    they are no evidence for the model.
    """
    costs = COSTS | {"misses": 2.73, "check": 0.308, "search_misses": 0.1}
    machine_times = {"machine.processors.step": 10.0, "machine.locks.hardware.latency": 35.4e-6}
    cells = cell(4, costs, 0.5, LOCKED | {"bins": "best"}, balls=204.0, machine_times=machine_times)
    assert cells == pytest.approx((0.82, 0.54, 0.53), rel=0.1)
    assert cells == pytest.approx((0.879, 0.507, 0.495), abs=0.003)


@pytest.mark.turns(4)
def test_dependencies_alone_ask_for_balls_as_the_square_of_processors() -> None:
    # The share that executes depends on N^2 / n; steps are so many that the setup does not count.
    free = [runs(count, FREE, {}, balls_of_a_step=1e-3) for count in (16, 32)]
    few, many = (reached(lambda balls, run=run: run(balls)[1], 0.7) for run in free)  # type: ignore[misc]
    assert many / few == pytest.approx(4.0, rel=0.02)
