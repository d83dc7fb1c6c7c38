"""Simulations in which nothing is random: which answers are called exact."""

from pathlib import Path

import pytest

from slipstick import Simulation, Station, open_model, service, solve
from slipstick.model.system import ArrivalPattern
from slipstick.vocabulary import SIMULATION

SHORT = Simulation(seed=1, events=20_000)


def test_an_estimated_throughput_is_not_called_exact() -> None:
    """Constant arrivals and services at processor sharing: each request takes the sum of its
    services, 1.7 s, and the arrivals counted in a run of some hundred requests are an estimate of
    0.7 /s.
    """
    cycle = service("cpu", 1.0, name="serve", scv=0) >> service("disk", 0.7, name="write", scv=0)
    resources = {"cpu": Station(2, "ps"), "disk": Station(1, "ps")}
    model = open_model(cycle, 0.7, resources=resources, pattern=ArrivalPattern(0.0))
    answer = solve(model, method=SIMULATION, simulation=SHORT)
    throughput = answer.values["throughput"]
    assert answer["time"] == pytest.approx(1.7, rel=1e-9)
    assert throughput.low is not None
    assert throughput.high is not None
    assert throughput.low <= 0.7 <= throughput.high
    assert throughput.low < throughput.high
    assert not answer.exact


def test_all_values_of_an_exact_run_are_points() -> None:
    """One request at a time at one station: time and throughput are both known."""
    cycle = service("cpu", 1.0, name="serve", scv=0)
    model = open_model(cycle, 0.7, resources={"cpu": Station(1, "ps")}, pattern=ArrivalPattern(0.0))
    answer = solve(model, method=SIMULATION, simulation=SHORT)
    assert answer.exact
    assert answer["time"] == pytest.approx(1.0, rel=1e-9)
    assert answer["throughput"] == pytest.approx(0.7, rel=1e-9)


def test_a_closed_group_of_constant_cycles_has_an_exact_throughput(tmp_path: Path) -> None:
    """The second group counts no whole number of cycles in the time of the first one's, so that
    the count is an estimate; N members that each take T go round N / T times a second.
    """
    file = tmp_path / "groups.yaml"
    file.write_text(
        "activity: 1\nresources: {cpu: {servers: 3}}\ngroups:\n"
        "  first: {processors: 1, cycle: [{name: serve, service: cpu, time: 1 ms}]}\n"
        "  second: {processors: 2, cycle: [{name: write, service: cpu, time: 0.7785 ms}]}\n"
    )
    answer = solve(str(file), method=SIMULATION, simulation=SHORT)
    assert answer.exact
    for name, rate in (("first", 1000.0), ("second", 2 / 0.7785e-3)):
        throughput = answer.values[f"throughput[{name}]"]
        assert throughput.value == pytest.approx(rate, rel=1e-9)
        assert throughput.ends == (throughput.value, throughput.value)
