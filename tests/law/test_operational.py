"""Laws of operation, backlogs, checkpoints and rooflines by second roads: simulation by formula,
chains, networks, and a search for the best interval.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from slipstick import solve
from slipstick.law import LAWS
from slipstick.model.network import closed_class, network, open_class, station
from slipstick.study.catalogue import catalogue_lines


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("word", "law"),
    [
        ("little", "little"),
        ("M/M/1", "mm1-response-time"),
        ("m/m/c", "erlang-c"),
        ("roofline", "roofline"),
        ("checkpoint", "checkpoint-interval-daly"),
        ("p99", "mmc-response-tail"),
        ("autoscaler", "autoscaler-servers"),
        ("kafka", "drain-time"),
        ("Cobham", "mmc-priority-waiting-time"),
        ("service level", "mmc-service-level"),
        ("forced flow", "forced-flow-law"),
    ],
)
def test_laws_are_found_by_the_words_people_use(word: str, law: str) -> None:
    assert law in [line.name for line in catalogue_lines(search=word) if line.kind == "law"]


def test_operational_laws_hold_between_the_values_of_a_network() -> None:
    """Each law gives a value of the exact answer from the others."""
    model = network(
        {"users": closed_class(7, think_time=2.0)},
        {
            "cpu": station(service={"users": 0.05}, visits={"users": 4}, servers=2),
            "disk": station(service={"users": 0.08}, visits={"users": 3}),
        },
    )
    answer = solve(model)
    throughput = answer["throughput[users]"]
    at_disk = LAWS["forced-flow-law"](visits=3.0, throughput=throughput)
    number = LAWS["little"](throughput=at_disk, time=answer["time_per_visit[users,disk]"])
    assert number == pytest.approx(answer["queue_length[disk]"], rel=1e-9)
    at_cpu = LAWS["forced-flow-law"](visits=4.0, throughput=throughput)
    busy = LAWS["utilization-law"](throughput=at_cpu, service=0.05, servers=2.0)
    assert busy == pytest.approx(answer["utilization[cpu]"], rel=1e-9)
    demand = LAWS["service-demand-law"](utilization=busy, servers=2.0, throughput=throughput)
    assert demand == pytest.approx(0.2, rel=1e-9)
    response = LAWS["response-time-law"](customers=7.0, throughput=throughput, think=2.0)
    assert response == pytest.approx(answer["response_time[users]"], rel=1e-9)


@pytest.mark.parametrize(("servers", "arrivals"), [(2, 1.3), (4, 3.1)])
def test_ranks_at_several_servers_wait_as_in_the_network(servers: int, arrivals: float) -> None:
    ranks = {"first": 0.3, "second": 0.5, "third": 0.2}
    model = network(
        {name: open_class(part * arrivals) for name, part in ranks.items()},
        {
            "desk": station(
                service=dict.fromkeys(ranks, 1.0),
                servers=servers,
                discipline="priority",
                priority={name: rank for rank, name in enumerate(ranks)},
            )
        },
    )
    answer = solve(model)
    above = 0.0
    for name, part in ranks.items():
        up_to = above + part * arrivals / servers
        wait = LAWS["mmc-priority-waiting-time"](
            above=above, up_to=up_to, servers=servers, service=1.0, arrivals=arrivals
        )
        assert wait == pytest.approx(answer[f"waiting_time[{name},desk]"], rel=1e-12)
        above = up_to


@pytest.mark.parametrize(("servers", "arrivals", "backlog"), [(1, 0.7, 30), (4, 3.0, 50)])
def test_a_backlog_drains_as_a_birth_death_chain_says(
    servers: int, arrivals: float, backlog: int
) -> None:
    """The mean first passage from each number to the one below, added up."""
    down, total = 0.0, 0.0
    for present in range(3000, servers - 1, -1):
        down = (1 + arrivals * down) / min(present, servers)
        total += down if present <= backlog else 0.0
    late = LAWS["drain-time"](
        backlog=float(backlog - servers + 1), servers=float(servers), service=1.0, arrivals=arrivals
    )
    assert total == pytest.approx(late, rel=1e-9)


def run_time(interval: float, checkpoint: float, restart: float, failures: float) -> float:
    return float(
        LAWS["checkpoint-run-time"](
            interval=interval, checkpoint=checkpoint, restart=restart, failures=failures, work=1e4
        )
    )


def test_a_run_with_failures_takes_as_long_as_simulated() -> None:
    """Segments drawn failure by failure; each try of a restart may fail, too."""
    rng, (interval, checkpoint, restart, failures) = np.random.default_rng(3), (2.0, 0.5, 0.7, 4.0)

    def until(length: float) -> tuple[float, bool]:
        failure = rng.exponential(failures)
        return min(failure, length), failure >= length

    times = []
    for _ in range(20_000):
        elapsed, done = until(interval + checkpoint)
        while not done:
            spent, restarted = until(restart)
            elapsed += spent
            if restarted:
                spent, done = until(interval + checkpoint)
                elapsed += spent
        times.append(elapsed)
    mean, error = np.mean(times), np.std(times) / math.sqrt(len(times))
    law = run_time(interval, checkpoint, restart, failures) / (1e4 / interval)
    assert abs(mean - law) < 4 * error


@pytest.mark.parametrize("checkpoint", [0.001, 0.02, 0.2, 0.5])
def test_the_intervals_between_checkpoints_against_the_best(checkpoint: float) -> None:
    """The least run time, searched; the notes of the laws say how far off each is."""
    best = minimize_scalar(
        lambda interval: run_time(interval, checkpoint, 0.1, 1.0),
        bounds=(1e-4, 5.0),
        method="bounded",
        options={"xatol": 1e-10},
    ).x
    at = {"checkpoint": checkpoint, "failures": 1.0}
    daly, young = (LAWS[f"checkpoint-interval-{name}"](**at) for name in ("daly", "young"))
    assert daly == pytest.approx(best, rel=0.006)
    assert 0 < young / best - 1 < 0.87 * math.sqrt(checkpoint / 2)
    assert run_time(daly, checkpoint, 0.1, 1.0) <= 1.0001 * run_time(best, checkpoint, 0.1, 1.0)


@pytest.mark.turns(4)
@pytest.mark.parametrize("quality", [0.5, 1.0, 1.5])
def test_the_square_root_rule_keeps_the_share_that_waits(quality: float) -> None:
    limit = {0.5: 0.51, 1.0: 0.23, 1.5: 0.09}[quality]
    for load in (1e4, 1e6):
        servers = LAWS["square-root-staffing"](arrivals=load, service=1.0, quality=quality)
        waits = LAWS["erlang-c"](servers=math.ceil(servers), service=1.0, arrivals=load)
        assert waits == pytest.approx(limit, abs=0.01)


def test_a_roofline_has_its_ridge_at_the_balance_of_the_machine() -> None:
    at = {"bandwidth": 15e9, "peak": 17.6e9}
    ridge = LAWS["machine-balance"](**at)
    assert LAWS["roofline"](intensity=ridge, **at) == pytest.approx(17.6e9, rel=1e-12)
    assert LAWS["roofline"](intensity=0.99 * ridge, **at) < 17.6e9
    for moved in (1e9, 15e9, 40e9):
        time = LAWS["roofline-time"](operations=2e10, bytes=moved, **at)
        allowed = LAWS["roofline"](intensity=2e10 / moved, **at)
        assert time == pytest.approx(2e10 / allowed, rel=1e-12)
