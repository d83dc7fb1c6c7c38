"""Single stations as chains, against closed forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from slipstick.queueing.network import MarkovSolution, network_arrays
from slipstick_chains.networks.solve import markov_chain, solve_markov_chain
from slipstick_chains.uniformization import transient
from tests.queueing.yardstick import present


def erlang_b(servers: int, load: float) -> float:
    blocked = 1.0
    for n in range(1, servers + 1):
        blocked = load * blocked / (n + load * blocked)
    return blocked


def birth_death(up: list[float], down: list[float]) -> Any:
    weights = np.cumprod([1.0, *(u / d for u, d in zip(up, down, strict=True))])
    return weights / weights.sum()


@pytest.mark.parametrize("load", [0.3, 0.9, 1.0, 2.0])
@pytest.mark.parametrize(("servers", "room"), [(1, 1), (1, 7), (3, 3), (3, 10)])
def test_a_queue_with_room_for_some(load: float, servers: int, room: int) -> None:
    found = solve_markov_chain(
        network_arrays([1.0], arrivals=load, discipline="fcfs", servers=servers, capacity=[room])
    )
    expected = birth_death([load] * room, [min(n, servers) for n in range(1, room + 1)])
    assert present(found, 0) == pytest.approx(expected, abs=1e-14)
    assert found.loss_probability.item() == pytest.approx(expected[-1], rel=1e-12)
    assert found.throughput.item() == pytest.approx(load * (1 - expected[-1]), rel=1e-12)
    assert found.utilization.item() == pytest.approx(load * (1 - expected[-1]) / servers, rel=1e-12)


@pytest.mark.parametrize("scv", [0.5, 1.0, 3.0])
def test_the_loss_of_erlang_b_depends_on_the_mean_alone(scv: float) -> None:
    found = solve_markov_chain(
        network_arrays([2.0], arrivals=1.3, discipline="fcfs", servers=4, scv=scv, capacity=[4])
    )
    assert found.loss_probability.item() == pytest.approx(erlang_b(4, 2.6), rel=1e-11)


@pytest.mark.parametrize("servers", [1, 4, 20])
def test_the_wait_of_erlang_c(servers: int) -> None:
    load = 0.8 * servers
    found = solve_markov_chain(
        network_arrays([1.0], arrivals=load, discipline="fcfs", servers=servers)
    )
    blocked = erlang_b(servers, load)
    waits = blocked / (1 - 0.8 * (1 - blocked))
    assert found.residence.item() == pytest.approx(1 + waits / (servers - load), rel=1e-9)
    assert found.exact


def test_engset_loses_what_its_sources_see() -> None:
    # P(lost) of N sources is P(all busy) of N - 1 sources.
    sources, lines, ask, mean = 9, 4, 0.3, 1.4
    found = solve_markov_chain(
        network_arrays(
            [mean],
            population=sources,
            think=1 / ask,
            discipline="fcfs",
            servers=lines,
            capacity=[lines],
        )
    )
    weights = [math.comb(sources - 1, n) * (ask * mean) ** n for n in range(lines + 1)]
    assert found.loss_probability.item() == pytest.approx(weights[-1] / sum(weights), rel=1e-12)


@pytest.mark.parametrize("repairmen", [1, 2])
def test_the_machine_repairman(repairmen: int) -> None:
    machines, run, mend = 6, 10.0, 3.0
    found = solve_markov_chain(
        network_arrays([mend], population=machines, think=run, discipline="fcfs", servers=repairmen)
    )
    expected = birth_death(
        [(machines - n) / run for n in range(machines)],
        [min(n, repairmen) / mend for n in range(1, machines + 1)],
    )
    assert present(found, 0) == pytest.approx(expected, abs=1e-14)


def test_who_never_waits_is_poisson() -> None:
    found = solve_markov_chain(network_arrays([2.0], arrivals=1.5, discipline="is"))
    expected = [math.exp(-3.0) * 3.0**n / math.factorial(n) for n in range(12)]
    assert present(found, 0)[:12] == pytest.approx(expected, rel=1e-9)
    assert found.utilization.item() == pytest.approx(3.0)


def test_speeds_by_number_present() -> None:
    found = solve_markov_chain(
        network_arrays([1.0], population=5, think=1.0, rates=[[1.0, 1.5, 1.7]])
    )
    expected = birth_death([5.0, 4, 3, 2, 1], [1.0, 1.5, 1.7, 1.7, 1.7])
    assert present(found, 0) == pytest.approx(expected, abs=1e-14)
    assert found.utilization.item() == pytest.approx(1 - expected[0])


def wait_of_pollaczek(load: float, scv: float) -> float:
    return load * (1 + scv) / 2 / (1 - load)


@pytest.mark.parametrize("scv", [0.1, 0.25, 0.6, 4.0])
@pytest.mark.parametrize("load", [0.3, 0.7])
def test_service_in_phases_waits_as_pollaczek_and_khinchine_say(load: float, scv: float) -> None:
    found = solve_markov_chain(network_arrays([1.0], arrivals=load, discipline="fcfs", scv=scv))
    assert found.residence.item() == pytest.approx(1 + wait_of_pollaczek(load, scv), rel=1e-8)
    assert not found.exact
    assert (
        "times with an scv other than 1 are replaced by phases with the same mean and scv"
        in found.notes
    )


@pytest.mark.parametrize("discipline", ["ps", "lcfs-pr"])
def test_sharing_and_the_stack_depend_on_the_mean_alone(discipline: str) -> None:
    found = solve_markov_chain(
        network_arrays([1.0], arrivals=0.5, discipline=discipline, scv=3.0, capacity=[9])
    )
    assert present(found, 0) == pytest.approx(birth_death([0.5] * 9, [1.0] * 9), abs=1e-12)


ARRIVALS, SERVICE = np.array([0.3, 0.2]), np.array([1.0, 2.5])
LOAD = np.cumsum(ARRIVALS * SERVICE)
RESIDUAL = float((ARRIVALS * SERVICE**2).sum())


def two_classes(discipline: str) -> MarkovSolution:
    given = network_arrays(
        SERVICE[:, None], arrivals=ARRIVALS, discipline=discipline, priority=[0, 1]
    )
    return solve_markov_chain(given, error=1e-8)


def test_unequal_classes_in_one_line_wait_alike() -> None:
    found = two_classes("fcfs")
    assert found.residence.ravel() == pytest.approx(SERVICE + RESIDUAL / (1 - LOAD[1]), rel=1e-6)


def test_priorities_wait_as_cobham_says() -> None:
    waits = RESIDUAL / (1 - LOAD[0]), RESIDUAL / (1 - LOAD[0]) / (1 - LOAD[1])
    assert two_classes("priority").residence.ravel() == pytest.approx(SERVICE + waits, rel=1e-6)


def test_preemption_hides_the_lower_class() -> None:
    first = SERVICE[0] / (1 - LOAD[0])
    second = SERVICE[1] / (1 - LOAD[0]) + RESIDUAL / (1 - LOAD[0]) / (1 - LOAD[1])
    assert two_classes("priority-preemptive").residence.ravel() == pytest.approx(
        [first, second], rel=1e-6
    )


def test_a_preempted_service_in_phases_is_resumed() -> None:
    # Residual of class r is arrivals x E[S^2] / 2; the formulas of preemptive-resume M/G/1.
    scv = np.array([3.0, 0.5])
    arrivals, service = np.array([0.15, 0.1]), np.array([1.0, 1.5])
    given = network_arrays(
        service[:, None],
        arrivals=arrivals,
        discipline="priority-preemptive",
        priority=[0, 1],
        scv=scv[:, None],
    )
    found = solve_markov_chain(given, error=1e-5)
    load = np.cumsum(arrivals * service)
    residual = np.cumsum(arrivals * service**2 * (1 + scv) / 2)
    first = service[0] + residual[0] / (1 - load[0])
    second = service[1] / (1 - load[0]) + residual[1] / (1 - load[0]) / (1 - load[1])
    assert found.residence.ravel() == pytest.approx([first, second], rel=1e-4)


@pytest.mark.parametrize("load", [0.2, 0.6, 0.95])
@pytest.mark.parametrize("error", [1e-3, 1e-6])
def test_no_more_lies_beyond_the_truncation_than_promised(load: float, error: float) -> None:
    found = solve_markov_chain(network_arrays([1.0], arrivals=load, discipline="fcfs"), error=error)
    mean = load / (1 - load)
    assert abs(found.queue.item() - mean) <= 2 * error * mean
    # Levels fall by the load, each; but for what the cut itself moves to the levels before it.
    assert load ** (found.truncation[0] + 1) == pytest.approx(
        found.probability_beyond[0], rel=0.1, abs=1e-16
    )
    assert f"open classes truncated at {found.truncation[0]} customers" in found.notes[1]


def test_a_station_fills_as_known_over_time() -> None:
    space, chain = markov_chain(
        network_arrays([1 / 1.9], arrivals=0.7, discipline="fcfs", capacity=[1])
    )
    found = transient(chain, [0.4])[0]
    busy = 0.7 / 2.6 * -math.expm1(-2.6 * 0.4)
    assert found @ space.stations[0].length(np.asarray(chain.states)) == pytest.approx(
        busy, abs=1e-10
    )


@pytest.mark.parametrize("scv", [0.5, 1.0, 3.0])
@pytest.mark.parametrize(
    "options", [{}, {"servers": 3}, {"discipline": "fcfs", "servers": 2}, {"discipline": "lcfs"}]
)
def test_the_states_that_arrivals_lead_to_are_those_of_one_arrival_after_the_other(
    options: Any, scv: float
) -> None:
    ordered = {"discipline": "fcfs", "servers": 3, **options}
    space, chain = markov_chain(
        network_arrays([1.0], arrivals=0.4, scv=scv, **ordered), truncation=9
    )
    one_by_one = space.start[None, :]
    at, known = space.columns(0), {row.tobytes() for row in np.asarray(chain.states)}
    for filled in space.stations[0].rows_after_arrivals(one_by_one[:, at], 0, 9):
        one_by_one = next(space.stations[0].enter(one_by_one, 0))[1]
        assert filled.tolist() == one_by_one[0].tolist()
        assert filled.tobytes() in known
