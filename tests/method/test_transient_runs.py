"""Values before the steady state by simulation: against the Markov chain, the equations of a
schedule and constant times; and in answers, studies and files.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from scipy.linalg import expm

from slipstick import (
    Model,
    QueueingNetwork,
    Simulation,
    closed_class,
    closed_model,
    delay,
    dump,
    hold,
    load,
    network,
    open_class,
    open_model,
    phased_model,
    run,
    service,
    station,
    time_until,
    transient,
)
from slipstick.answer import Value
from slipstick.errors import NoAnswerError, SpecError
from slipstick.expression.nodes import TIME, Parameter
from slipstick.method.methods import compute_answers
from slipstick_chains.breakdowns import network_with_breakdowns
from slipstick_chains.schedules import network_with_schedules
from slipstick_chains.transient import backlogs_of, transient_values
from slipstick_chains.transient_runs import simulated_values

SETTINGS = Simulation(seed=3, events=100_000, precision=0.02)


def simulated(
    model: Model | QueueingNetwork, *names: str, settings: Simulation = SETTINGS
) -> dict[str, Value | str]:
    return simulated_values(model, names, {}, float, backlogs_of(model), settings)


def is_near(value: Value | str, truth: float) -> bool:
    assert isinstance(value, Value)
    assert value.value is not None
    assert value.low is not None
    assert value.high is not None
    # Twice the interval, so that one of many values does not fail by chance.
    margin = value.high - value.low
    return margin < 0.2 * max(truth, 0.5) and abs(value.value - truth) <= margin


def bank(backlog: int = 30) -> QueueingNetwork:
    return network(
        {"payments": open_class(1.5, backlog=backlog)},
        {"bank": station(service={"payments": 1.0}, servers=2)},
    )


def locked() -> Model:
    held = hold("door", service("disk", 0.5, scv=1.0))
    return closed_model(delay(2.0, name="think", scv=1.0) >> held, processors=4)


@pytest.mark.turns(10)
@pytest.mark.parametrize("moment", [0.5, 4.0, 40.0])
def test_lengths_and_probabilities_are_those_of_the_chain(moment: float) -> None:
    for model, place in ((bank(6), "bank"), (locked(), "door")):
        truth = transient(model, [moment])
        names = [f"queue_length_at[{place},{moment}]", f"probability_at[{place},2,{moment}]"]
        estimates = simulated(model, *names)
        assert is_near(estimates[names[0]], float(truth[f"queue_length[{place}]"][0]))
        assert is_near(estimates[names[1]], float(truth[f"probability[{place},2]"][0]))


@pytest.mark.turns(5)
def test_times_until_a_number_are_those_of_the_chain() -> None:
    for model, place, number in (
        (bank(10), "bank", 0),
        (bank(10), "bank", 4),
        (locked(), "door", 3),
    ):
        name = f"time_until[{place},{number}]"
        assert is_near(simulated(model, name)[name], time_until(model, place, number))


@pytest.mark.turns(6)
def test_a_backlog_of_a_file_is_that_of_the_argument() -> None:
    assert time_until(bank(8), "bank", 0) == pytest.approx(
        time_until(bank(0), "bank", 0, backlog=8), rel=1e-9
    )


@pytest.mark.turns(10)
def test_bursts_and_profiles_begin_as_in_the_chain() -> None:
    stations = {"bank": station(service={"payments": 1.0}, servers=2)}
    bursts = open_class(0.2, burst_arrivals=4.0, burst_time=5.0, quiet_time=10.0)
    profile = open_class(0.9, profile=((3.0, 1.8), (3.0, 0.0)))
    for stream in (bursts, profile):
        model = network({"payments": stream}, stations)
        truth = transient(model, [2.5, 5.0])["queue_length[bank]"]
        names = [f"queue_length_at[bank,{moment}]" for moment in (2.5, 5.0)]
        estimates = simulated(model, *names)
        for name, length in zip(names, truth, strict=True):
            assert is_near(estimates[name], float(length)), name


def length_by_schedule(moment: float, backlog: int, rate: float, most: int = 80) -> float:
    """Compute the expected number present with servers 0, 2 and 1 in parts of 4 s."""
    chances = np.zeros(most + 1)
    chances[backlog] = 1.0
    for part, servers in enumerate((0, 2, 1)):
        generator = np.zeros((most + 1, most + 1))
        for present in range(most + 1):
            if present < most:
                generator[present, present + 1] = rate
            if present:
                generator[present, present - 1] = min(present, servers)
        generator -= np.diag(generator.sum(axis=1))
        duration = min(max(moment - 4.0 * part, 0.0), 4.0)
        chances = chances @ expm(generator * duration)
    return float(chances @ np.arange(most + 1))


@pytest.mark.turns(10)
def test_servers_off_duty_at_the_start_are_away() -> None:
    """The last part before time 0 has one server: the second is off duty until 4 s."""
    desk = network({"calls": open_class(0.7, backlog=5)}, {"desk": station(service={"calls": 1.0})})
    model = network_with_schedules(desk, {"desk": ((4.0, 0), (4.0, 2), (4.0, 1))})
    for moment in (3.0, 6.0, 11.0):
        name = f"queue_length_at[desk,{moment}]"
        assert is_near(simulated(model, name)[name], length_by_schedule(moment, 5, 0.7)), moment


def test_servers_in_repair_are_no_customers() -> None:
    desk = network({"calls": closed_class(3, 2.0)}, {"desk": station(service={"calls": 1.0})})
    times = (Parameter("up", TIME, 1.0), Parameter("down", TIME, 50.0))
    broken = network_with_breakdowns(desk, {"desk": times})
    truth = transient(broken, [10.0])["queue_length[desk]"][0]
    name = "queue_length_at[desk,10]"
    assert is_near(simulated(broken, name)[name], float(truth))


def test_constant_times_that_no_chain_has_are_simulated_by_default() -> None:
    """Nine customers of 1 s each: six of them are left at 3.5 s."""
    empty = open_model(service("desk", 1.0), 1e-9)
    names = ["queue_length_at[desk,3.5]", "time_until[desk,0]"]
    waiting = network(
        {"calls": open_class(1e-9, backlog=9)},
        {"desk": station(service={"calls": 1.0}, scv={"calls": 0})},
    )
    values = transient_values(waiting, names, {}, Simulation(seed=1))
    assert values == {
        names[0]: Value(6.0, "1", 6.0, 6.0),
        names[1]: Value(9.0, "s", 9.0, 9.0),
    }
    assert transient_values(empty, names, {})[names[1]] == (
        "desk is empty at time 0; give the classes or groups that come there first a backlog, or"
        " ask for queue_length_at"
    )
    assert time_until(waiting, "desk", 0, simulation=Simulation(seed=1)) == 9.0
    columns = transient(waiting, [1.5, 8.5], simulation=Simulation(seed=1))
    assert columns["queue_length[desk]"].tolist() == [8.0, 1.0]
    assert columns["low[queue_length[desk]]"].tolist() == [8.0, 1.0]


@pytest.mark.turns(8)
def test_the_same_seed_gives_the_same_estimate() -> None:
    name = "queue_length_at[bank,4]"
    few = Simulation(seed=8, events=20_000)
    first, again, other = (
        simulated(bank(), name, settings=settings)[name]
        for settings in (few, few, Simulation(seed=9, events=20_000))
    )
    assert first == again
    assert first != other


@pytest.mark.turns(4)
def test_what_a_run_cannot_tell_is_said() -> None:
    delays = network(
        {"calls": closed_class(2, 1.0)},
        {
            "desk": station(service={"calls": 1.0}),
            "walk": station(service={"calls": 1.0}, discipline="is"),
        },
    )
    assert simulated(delays, "queue_length_at[walk,1]") == {
        "queue_length_at[walk,1]": "walk is no resource whose customers a simulation counts"
    }
    assert simulated(delays, "queue_length_at[calls,desk,1]") == {
        "queue_length_at[calls,desk,1]": "a simulation counts the customers of a whole station, not"
        " those of one class"
    }
    few = Simulation(events=1000)
    never = simulated(delays, "time_until[desk,3]", "queue_length_at[desk,1]", settings=few)
    assert isinstance(never["queue_length_at[desk,1]"], Value)
    assert never["time_until[desk,3]"] == (
        "a simulation did not reach it within 200,000 events; ask for queue_length_at or"
        " probability_at"
    )


FILE = """
queueing-network: 1
classes: {calls: {arrivals: 5 /h, backlog: 12}}
stations: {desk: {servers: 2, service: {calls: 12 min}, scv: {calls: 0}}}
"""


def answer_of(path: Path, name: str) -> Mapping[str, Value]:
    model = load(str(path))
    assert isinstance(model, QueueingNetwork)
    (answer,) = compute_answers(
        model, model.parameters, simulation=Simulation(events=60_000), values=[name]
    )
    return answer.values


def test_a_program_that_ends_is_refused() -> None:
    model = phased_model((3, 2, service("desk", 1.0, scv=1.0)))
    with pytest.raises(NoAnswerError) as raised:
        simulated(model, "queue_length_at[desk,1]")
    assert str(raised.value) == "model is a program that ends, and has no time after a start"


@pytest.mark.turns(5)
def test_answers_and_studies_of_a_file_have_intervals(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text(FILE)
    name = "time_until[desk,0]"
    value = answer_of(tmp_path / "desk.yaml", name)[name]
    assert value.value is not None
    assert value.low is not None
    assert value.low < value.value < (value.high or 0.0)
    study = f"""
study: 1
title: When is the backlog served?
base: {{model: {tmp_path}/desk.yaml, simulation.events: 60000}}
answer: ["{name}"]
vary: {{classes.calls.arrivals: [3 /h, 5 /h]}}
cases: {{short: {{classes.calls.backlog: 6}}}}
"""
    (tmp_path / "study.yaml").write_text(study)
    results = run(str(tmp_path / "study.yaml"))
    (sweep,) = results.sweeps
    lows, means, highs = (sweep.columns[part] for part in (f"low[{name}]", name, f"high[{name}]"))
    assert (lows < means).all()
    assert (means < highs).all()
    assert means[0] < means[1]
    assert means[1] == value.value
    short = results.cases["short"].values[name]
    assert short.value is not None
    assert short.low is not None
    assert short.value < value.value


def test_a_backlog_is_written_again_and_belongs_to_arrivals(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text(FILE)
    model = load(str(tmp_path / "desk.yaml"))
    assert isinstance(model, QueueingNetwork)
    assert "backlog: 12" in dump(model)
    (tmp_path / "wrong.yaml").write_text(FILE.replace("arrivals: 5 /h", "population: 4"))
    with pytest.raises(SpecError) as raised:
        load(str(tmp_path / "wrong.yaml"))
    assert "a backlog belongs to an open class; give it arrivals" in str(raised.value)


def test_a_backlog_falls_to_a_number_by_one_at_a_time() -> None:
    """With all of two servers busy, the number falls by one in 1 / (2 - 1.5) s on average."""
    assert time_until(bank(10), "bank", 4) == pytest.approx(6 / 0.5, rel=1e-6)
