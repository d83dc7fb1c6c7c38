"""Stations that break down: as a network, as an activity, and by the formula of White and
Christie.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from slipstick import Answer, Simulation, dump, load, solve
from slipstick.errors import ModelError, NoAnswerError, SpecError
from slipstick.expression.nodes import TIME, Parameter
from slipstick.law import LAWS
from slipstick.method.methods import compute_answers, form_of
from slipstick.method.names import names_of
from slipstick.model.activity import delay, service
from slipstick.model.network import QueueingNetwork, closed_class, network, open_class, station
from slipstick.model.system import Model, Station, closed_model
from slipstick.report.answer import answer_text
from slipstick.vocabulary import LINEARIZER, MARKOV_CHAIN, SCHWEITZER, SIMULATION
from slipstick_chains.breakdowns import Breakdown, model_with_breakdowns, network_with_breakdowns
from slipstick_chains.transient import time_until, transient

FAILURES = "breakdowns_disk"
SHORT = Simulation(events=2_000)


def breakdown(every: float = 20.0, repair: float = 5.0) -> dict[str, Breakdown]:
    return {"disk": Breakdown(Parameter("every", TIME, every), Parameter("repair", TIME, repair))}


def value_of(answer: Answer, name: str) -> float:
    value = answer[name]
    assert value is not None
    return value


def closed(servers: int = 1) -> QueueingNetwork:
    disk = station(service={"jobs": 1.0}, servers=servers)
    return network({"jobs": closed_class(3, think_time=4.0)}, {"disk": disk})


def workers(servers: int = 1) -> Model:
    cycle = delay(4.0, name="away", scv=1.0, think=True) >> service("disk", 1.0, scv=1.0)
    return closed_model(cycle, 3, resources={"disk": Station(servers)})


@pytest.mark.parametrize(("arrivals", "every", "repair"), [(0.5, 20.0, 5.0), (0.2, 3.0, 1.0)])
def test_the_chain_of_one_queue_is_the_law(arrivals: float, every: float, repair: float) -> None:
    queue = network({"jobs": open_class(arrivals)}, {"disk": station(service={"jobs": 1.0})})
    answer = solve(network_with_breakdowns(queue, breakdown(every, repair)), method=MARKOV_CHAIN)
    law = LAWS["mm1-breakdown-response-time"]
    by_law = law(service=1.0, arrivals=arrivals, failures=every, repair=repair)
    assert answer["response_time[jobs]"] == pytest.approx(by_law, rel=1e-6)


def test_a_network_and_an_activity_break_down_alike() -> None:
    arrays = solve(network_with_breakdowns(closed(), breakdown()), method=MARKOV_CHAIN)
    positions = solve(model_with_breakdowns(workers(), breakdown()), method=MARKOV_CHAIN)
    served = value_of(positions, "response_time[processors]")
    assert served == pytest.approx(value_of(arrays, "response_time[jobs]"), rel=1e-9)
    for answer in (arrays, positions):
        assert value_of(answer, "amount[availability_disk]") == 0.8
    for name in ("utilization[disk]", "queue_length[disk]"):
        assert value_of(positions, name) == pytest.approx(value_of(arrays, name), rel=1e-9)
    waiting_time = value_of(arrays, "waiting_time[jobs,disk]")
    assert value_of(positions, "wait[disk]") == pytest.approx(waiting_time, rel=1e-9)


def customers_by_hand(every: float, repair: float) -> np.ndarray:
    """Solve the chain of `closed` by hand: the probabilities of 0 to 3 jobs at the disk."""
    states = [(jobs, up) for jobs in range(4) for up in (True, False)]
    generator = np.zeros((8, 8))
    for row, (jobs, up) in enumerate(states):
        moves = {(jobs + 1, up): (3 - jobs) / 4.0, (jobs, not up): 1 / (every if up else repair)}
        moves |= {(jobs - 1, up): 1.0} if up and jobs else {}
        for state, rate in moves.items():
            if state in states:
                generator[row, states.index(state)] += rate
    generator -= np.diag(generator.sum(axis=1))
    equations = np.vstack([generator.T[:-1], np.ones(8)])
    solution: np.ndarray = np.linalg.solve(equations, np.eye(8)[-1]).reshape(4, 2).sum(axis=1)
    return solution


@pytest.mark.turns(4)
def test_only_customers_are_present() -> None:
    """Utilization, queue length and probabilities leave a broken server out."""
    model = network_with_breakdowns(closed(), breakdown())
    chain = solve(model, method=MARKOV_CHAIN)
    by_hand = customers_by_hand(20.0, 5.0)
    for jobs, probability in enumerate(by_hand):
        assert value_of(chain, f"probability[disk,{jobs}]") == pytest.approx(probability, rel=1e-9)
    assert value_of(chain, "queue_length[disk]") == pytest.approx(by_hand @ range(4), rel=1e-9)
    assert value_of(chain, "utilization[disk]") == value_of(chain, "utilization[jobs,disk]")
    settings = Simulation(seed=3, events=60_000)
    activity = model_with_breakdowns(workers(), breakdown())
    for simulated in (model, activity):
        answer = solve(simulated, method=SIMULATION, simulation=settings)
        for name in ("queue_length[disk]", "utilization[disk]"):
            low, high = answer.ends(name)
            assert low is not None
            assert high is not None
            mean, reach = (low + high) / 2, 1.5 * (high - low)
            assert abs(mean - value_of(chain, name)) <= reach


@pytest.mark.turns(4)
def test_values_before_the_steady_state_leave_broken_servers_out() -> None:
    model = network_with_breakdowns(closed(), breakdown())
    activity = model_with_breakdowns(workers(), breakdown())
    by_hand = customers_by_hand(20.0, 5.0)
    for subject in (model, activity):
        late = transient(subject, [3.0, 5000.0])
        assert late["queue_length[disk]"][1] == pytest.approx(by_hand @ range(4), rel=1e-6)
        assert late["probability[disk,0]"][1] == pytest.approx(by_hand[0], rel=1e-6)
    early = [transient(subject, [3.0])["queue_length[disk]"][0] for subject in (model, activity)]
    assert early[0] == pytest.approx(early[1], rel=1e-6)
    times = [time_until(subject, "disk", 3) for subject in (model, activity)]
    assert times[0] == pytest.approx(times[1], rel=1e-6)


@pytest.mark.turns(4)
@pytest.mark.parametrize("build", [lambda: closed(), lambda: workers()])
def test_answers_are_of_customers_alone(build: Callable[[], Model | QueueingNetwork]) -> None:
    """Failures have no value, share, column or name of a value, and none of the text."""
    plain = build()
    model = (
        model_with_breakdowns(plain, breakdown())
        if isinstance(plain, Model)
        else network_with_breakdowns(plain, breakdown())
    )
    for method in (None, SIMULATION, "bounds"):
        answer = solve(model, method=method, simulation=Simulation(seed=1, events=20_000))
        names = [*answer.names, *answer.share, *answer.gradient, *names_of(model, method)]
        text = answer_text(answer, in_full=True)
        if isinstance(model, Model):
            assert {"time", "throughput"} <= {*names_of(model)}
        for word in ("breakdowns", "up-disk", "repair-disk"):
            assert word not in text
            assert [name for name in names if word in name] == []
    chain = solve(model)
    customers = "jobs" if isinstance(model, QueueingNetwork) else "processors"
    assert sum(chain.account.values()) == pytest.approx(
        3 / value_of(chain, f"throughput[{customers}]")
    )


def test_the_only_group_has_the_values_of_the_model() -> None:
    answer = solve(model_with_breakdowns(workers(), breakdown()))
    assert answer["time"] == answer["time[processors]"]
    assert answer["throughput"] == answer["throughput[processors]"]
    first_line, *_ = answer_text(answer).splitlines()
    assert "time of processors" not in first_line.replace("response time of processors", "")
    assert any(name.startswith("time") for name in answer.share)


def test_a_queue_length_of_customers_has_its_derivative(tmp_path: Path) -> None:
    """Longer repairs lengthen the queue of customers by what two solutions say."""
    path = tmp_path / "model.yaml"
    path.write_text(ACTIVITY.replace("count: 2, ", ""))
    model = load(path)
    assert isinstance(model, Model)
    form = form_of(model, model.parameters)
    repair = "resources.disk.breakdown.repair"
    name = "queue_length[disk]"
    ((_, slopes),) = form.slopes({repair: np.array([5.0])}, [repair], [name]).values()
    low, high = (form.points({repair: np.array([at])}).columns()[name] for at in (4.9, 5.1))
    assert slopes[repair][0] == pytest.approx((high[0] - low[0]) / 0.2, rel=1e-3)
    assert slopes[repair][0] > 0


@pytest.mark.turns(4)
def test_each_of_two_servers_fails_by_itself() -> None:
    model = network_with_breakdowns(closed(servers=2), breakdown())
    chain = solve(model, method=MARKOV_CHAIN)
    # The flow of jobs is 3 / (think time + response time), and each is served for 1 s.
    flow = 3 / (4.0 + value_of(chain, "response_time[jobs]"))
    assert value_of(chain, "utilization[disk]") == pytest.approx(flow / 2, rel=1e-6)
    settings = Simulation(seed=3, events=60_000)
    activity = model_with_breakdowns(workers(servers=2), breakdown())
    by_simulation = {
        "response_time[jobs]": solve(model, method=SIMULATION, simulation=settings),
        "response_time[processors]": solve(activity, method=SIMULATION, simulation=settings),
    }
    for name, simulated in by_simulation.items():
        estimate = simulated.values[name]
        assert estimate.value is not None
        assert estimate.high is not None
        reach = 3 * (estimate.high - estimate.value)
        assert abs(estimate.value - value_of(chain, "response_time[jobs]")) <= reach


def test_repairs_of_no_length_change_nothing() -> None:
    instant = breakdown(repair=1e-9)
    broken = solve(network_with_breakdowns(closed(), instant), method=MARKOV_CHAIN)
    whole = solve(closed(), method=MARKOV_CHAIN)
    assert broken["response_time[jobs]"] == pytest.approx(whole["response_time[jobs]"], rel=1e-6)


NETWORK = """
queueing-network: 1
classes: {high: {arrivals: 0.2 /s}, low: {arrivals: 0.1 /s}}
stations:
  disk:
    discipline: priority-preemptive
    priority: {high: 0, low: 1}
    service: {high: 1 s, low: 2 s}
    breakdown: {every: 20 s, repair: 5 s}
"""
ACTIVITY = """
activity: 1
population: {processors: 2}
resources: {disk: {count: 2, breakdown: {every: 20 s, repair: 5 s}}}
cycle: [{name: away, delay: 4 s, scv: 1}, {service: disk, time: 1 s, scv: 1}]
"""


@pytest.mark.turns(4)
def test_files_are_read_and_written(tmp_path: Path) -> None:
    for text in (NETWORK, ACTIVITY):
        path = tmp_path / "broken.yaml"
        path.write_text(text)
        model = load(path)
        assert isinstance(model, Model | QueueingNetwork)
        path.write_text(written := dump(model))
        again = load(path)
        assert isinstance(again, Model | QueueingNetwork)
        assert dump(again) == written
        assert "breakdown:" in written
        settings = Simulation(seed=1, events=5_000)
        answers = [solve(subject, simulation=settings).values for subject in (model, again)]
        assert answers[0] == answers[1]
    assert isinstance(model, Model)
    assert [group.name for group in model.population.groups] == [
        *("processors", "breakdowns_disk_0", "breakdowns_disk_1")
    ]
    assert {"resources.disk.breakdown.every", "resources.disk.breakdown.repair"} <= {
        *model.parameters
    }


def test_ranks_stay_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(NETWORK)
    model = load(path)
    assert isinstance(model, QueueingNetwork)
    assert model.stations["disk"].priority == {"high": 1, "low": 2, FAILURES: 0}


@pytest.mark.parametrize(
    ("text", "old", "new", "words"),
    [
        (
            NETWORK,
            "breakdown:",
            "capacity: 3\n    breakdown:",
            (
                "disk cannot break down with a capacity: a server in repair would count among the "
                "customers"
            ),
        ),
        (
            ACTIVITY.replace("count: 2, ", ""),
            "{service: disk, time: 1 s, scv: 1}",
            "{attempt: [{service: disk, time: 1 s, scv: 1}], timeout: 9 s}",
            (
                "disk cannot break down with an attempt: a server in repair would count among the"
                " customers present"
            ),
        ),
        (
            ACTIVITY,
            "every: 20 s",
            "every: 0 s",
            "4:49: resources.disk.breakdown.every: must be more than 0 s, got 0 s",
        ),
    ],
)
def test_what_cannot_break_down_is_refused_where_it_stands(
    tmp_path: Path, text: str, old: str, new: str, words: str
) -> None:
    path = tmp_path / "broken.yaml"
    path.write_text(text.replace(old, new))
    with pytest.raises(SpecError) as refused:
        load(path)
    assert words in str(refused.value)


@pytest.mark.parametrize("method", [LINEARIZER, SCHWEITZER])
def test_approximations_refuse_repairs_by_name(method: str) -> None:
    words = (
        "breakdowns_disk takes servers of disk from all others, as a breakdown does; approximate"
        " response times had errors of up to 280 % there (95th percentile); ask for markov-chain"
        " or simulation"
    )
    for model in (closed(), closed(servers=2)):
        with pytest.raises(NoAnswerError) as refused:
            solve(network_with_breakdowns(model, breakdown()), method=method)
        assert words in str(refused.value)


def test_the_default_method_speaks_of_breakdowns_not_of_the_ranks_that_they_are_solved_as() -> None:
    stations = {name: station(service={"jobs": 0.1}, servers=3) for name in ("disk", "tape")}
    model = network({"jobs": open_class(20.0)}, stations)
    repairs = {name: breakdown()["disk"] for name in stations}
    (answer,) = compute_answers(network_with_breakdowns(model, repairs), {}, None, SHORT)
    assert (
        "simulated by default: the approximation of servers that are away at disk has errors of the"
        " response time of up to 280 % (95th percentile)"
    ) in answer.notes


def test_more_customers_of_the_first_rank_than_servers_are_approximated() -> None:
    first, second = closed_class(2, think_time=5.0), closed_class(2, think_time=5.0)
    disk = station(
        service={"first": 1.0, "second": 1.0},
        discipline="priority-preemptive",
        priority={"first": 0, "second": 1},
    )
    answer = solve(network({"first": first, "second": second}, {"disk": disk}), method=LINEARIZER)
    assert not answer.exact


def test_a_queue_that_repairs_overload_is_saturated() -> None:
    """0.9 of the time is asked for, and the disk is there for 0.8 of it."""
    queue = network({"jobs": open_class(0.9)}, {"disk": station(service={"jobs": 1.0})})
    model = network_with_breakdowns(queue, breakdown())
    with pytest.raises(NoAnswerError) as refused:
        solve(model)
    assert str(refused.value) == (
        "station disk is saturated: arrivals need 0.9 s of service a second, and it gives"
        " less than 0.8, for on average 0.2 of 1 servers are broken or off duty; lower the"
        " arrivals, shorten the demand, or add servers"
    )


def test_a_name_that_stands_for_failures_is_refused() -> None:
    words = (
        f"slipstick calls servers of disk that are away {FAILURES}, a name that the model has too;"
        " change it there"
    )
    disk = station(service={FAILURES: 1.0})
    with pytest.raises(ModelError) as refused:
        network_with_breakdowns(network({FAILURES: open_class(0.1)}, {"disk": disk}), breakdown())
    assert str(refused.value) == words
    cycle = service("disk", 1.0) >> service(FAILURES, 1.0)
    with pytest.raises(ModelError) as refused:
        model_with_breakdowns(closed_model(cycle, 1), breakdown())
    assert str(refused.value) == words


@pytest.mark.parametrize("method", ["best", "bounds"])
def test_failures_are_no_population_that_saturates(method: str) -> None:
    broken = network_with_breakdowns(closed(), breakdown())
    populations = [
        name for name in solve(broken, method=method).values if name.startswith("saturation")
    ]
    assert populations == ["saturation_population[jobs]"]
    assert f"saturation_population[{FAILURES}]" not in names_of(broken, method)
