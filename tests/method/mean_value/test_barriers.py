"""All set out at once after a barrier, through pipelines and forks: against work that must be done, and simulation."""

from __future__ import annotations

import pytest

from slipstick.method.mean_value import MeanValue
from slipstick.method.simulation.form import solve
from slipstick.model.activity import Activity, barrier, delay, fork, parallel, pipeline, serial, service, then
from slipstick.model.resources import Station
from slipstick.model.system import Model, closed_model
from slipstick.sim.settings import Simulation

SETTINGS = Simulation(seed=1, precision=0.01, events=200_000)


def visit(station: str, time: float) -> Activity:
    return service(station, time, name=f"at-{station}", scv=0.25)


def met(processors: int, *parts: Activity, **stations: Station) -> Model:
    """Work, the parts, and a barrier of all."""
    start = delay(4.0, name="work", scv=0.25)
    return closed_model(then(start, *parts, barrier("meet")), processors, resources=stations)


def times(model: Model) -> tuple[float, float]:
    """Give the time by mean value and by simulation."""
    one, other = MeanValue(model).points({}).answer(0)["time"], solve(model, None, SETTINGS)["time"]
    assert one is not None
    assert other is not None
    return one, other


def test_stages_of_a_pipeline_hold_up_side_by_side() -> None:
    """The busiest stage alone takes 12 x 9 x 0.6 s; queues passed one after the other would take 0.35 + 0.6 for each."""
    line = pipeline([serial(visit("a", 0.35)), serial(visit("b", 0.6)), serial(visit("c", 0.45))], items=9)
    mean, simulated = times(met(12, line))
    assert 12 * 9 * 0.6 < mean < 12 * 9 * 0.6 + 4 * 4.0
    assert mean == pytest.approx(simulated, rel=0.03)


def test_items_side_by_side_stand_in_line_together() -> None:
    """Who comes first is through with all items first, and passes the next station while the others wait."""
    line = pipeline([parallel(delay(1.0, name="ahead", scv=0.25)), parallel(visit("a", 0.24))], items=12)
    mean, simulated = times(met(24, line, visit("b", 0.9), a=Station(1, "fcfs"), b=Station(1, "fcfs")))
    assert mean == pytest.approx(simulated, rel=0.03)


@pytest.mark.parametrize(("discipline", "within"), [("fcfs", 0.03), ("ps", 0.1)])
def test_items_that_wait_for_each_other_take_turns(discipline: str, within: float) -> None:
    """All are through at about the same time, so the next station starts late."""
    line = pipeline([serial(visit("a", 0.24)), parallel(visit("b", 0.5))], items=6)
    mean, simulated = times(met(16, line, visit("c", 0.9), b=Station(1, discipline)))
    assert mean == pytest.approx(simulated, rel=within)


@pytest.mark.parametrize("servers", [1, 2, 4])
def test_a_fork_asks_for_several_servers_at_once(servers: int) -> None:
    """Within what such an answer promises."""
    branches = [service("a", time, name=f"branch{time}", scv=0.25) for time in (0.25, 1.1, 0.3, 1.9)]
    mean, simulated = times(met(3, fork(*branches), visit("b", 0.6), a=Station(servers, "fcfs"), b=Station(1, "fcfs")))
    assert mean == pytest.approx(simulated, rel=0.1)
