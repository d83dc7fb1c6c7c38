"""What answers for a network by default: nothing whose error was measured over a tenth."""

from __future__ import annotations

from math import factorial
from typing import Any

import numpy as np
import pytest

from slipstick import solve
from slipstick.method.methods import compute_answers, form_of
from slipstick.method.networks import solvers
from slipstick.method.networks.arrays import NetworkPoints
from slipstick.model.network import (
    QueueingNetwork,
    closed_class,
    network,
    open_class,
    station,
)


def ranked(discipline: str, servers: int, rates: tuple[float, ...]) -> QueueingNetwork:
    names = [f"c{number}" for number in range(len(rates))]
    return network(
        {name: open_class(rate) for name, rate in zip(names, rates, strict=True)},
        {
            "clerks": station(
                discipline=discipline,
                servers=servers,
                service=dict.fromkeys(names, 1.0),
                priority={name: number for number, name in enumerate(names)},
            )
        },
    )


@pytest.mark.parametrize("servers", [2, 3, 7])
def test_ranks_at_several_servers_with_one_service_time_are_those_of_cobham(servers: int) -> None:
    rates = tuple(servers * part for part in (0.3, 0.25, 0.37))
    answer = solve(ranked("priority", servers, rates))
    assert answer.exact
    load = sum(rates)
    terms = [load**k / factorial(k) for k in range(servers)]
    full = load**servers / factorial(servers) / (1 - load / servers)
    busy = full / (sum(terms) + full)
    below = 1.0
    for number in range(3):
        at = 1 - sum(rates[: number + 1]) / servers
        wait = busy / servers / (below * at)
        assert answer[f"waiting_time[c{number},clerks]"] == pytest.approx(wait, rel=1e-12)
        below = at


@pytest.mark.turns(4)
@pytest.mark.parametrize("discipline", ["priority", "priority-preemptive"])
def test_ranks_at_several_servers_are_those_of_the_chain_and_add_up_without_ranks(
    discipline: str,
) -> None:
    model = ranked(discipline, 2, (0.5, 0.4))
    answer, chain = solve(model), solve(model, method="markov-chain")
    for name in ("response_time[c0]", "response_time[c1]", "utilization[clerks]"):
        assert answer[name] == pytest.approx(chain[name], rel=1e-6)
    plain = network({"c": open_class(0.9)}, {"clerks": station(servers=2, service={"c": 1.0})})
    assert answer["queue_length[clerks]"] == pytest.approx(solve(plain)["queue_length[clerks]"])
    slope = answer.gradient["response_time[c1]"]["classes.c0.arrivals"]
    ends = [solve(ranked(discipline, 2, (0.5 + side * 1e-5, 0.4))) for side in (-1, 1)]
    low, high = (each.find("response_time[c1]") or 0.0 for each in ends)
    assert slope == pytest.approx((high - low) / 2e-5, rel=1e-4)


@pytest.mark.turns(5)
def test_an_approximation_with_a_large_error_is_simulated_and_one_that_is_named_is_not() -> None:
    """Both stations alone are solved exactly; in a row the low class leaves in bursts."""
    ranks = {"high": 1, "low": 2}
    model = network(
        {"high": open_class(0.4), "low": open_class(0.4)},
        {
            name: station(discipline="priority", service={"high": 1.0, "low": 1.2}, priority=ranks)
            for name in ("first", "second")
        },
    )
    answer = solve(model)
    assert answer.method == "simulation"
    (noted,) = compute_answers(model, {})
    assert noted.notes[0].startswith(
        "simulated by default: the approximation of priorities at first has errors"
    )
    assert form_of(model, {}, must_be_smooth=True).points({}).answer(0).method == "linearizer"
    assert solve(model, method="linearizer").method == "linearizer"


@pytest.mark.turns(8)
def test_points_of_one_sweep_have_the_method_that_each_needs() -> None:
    names = {"a": 1.0, "b": 2.0}

    def model(customers: int) -> QueueingNetwork:
        return network(
            {name: closed_class(customers) for name in names},
            {
                "desk": station(servers=3, service=names),
                "hall": station(discipline="is", service=dict.fromkeys(names, 5.0)),
                "door": station(discipline="ps", service=dict.fromkeys(names, 0.1)),
            },
        )

    form = form_of(model(2), {})
    assert not form.is_estimated
    assert form_of(model(400), {}).is_estimated
    values = {f"classes.{name}.population": np.array([2.0, 400.0]) for name in names}
    points = form.points(values)
    assert points.provenance().methods == ["markov-chain", "simulation"]
    both = points.columns()["response_time[a]"]
    assert both[0] == pytest.approx(solve(model(2))["response_time[a]"])
    assert np.isfinite(points.columns()["low[response_time[a]]"]).tolist() == [False, True]


def test_a_network_is_solved_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What decides whether a solver answers by default is its answer."""
    points: list[int] = []
    solve_network = solvers._solution_of_solver

    def counted(network_points: NetworkPoints, *arguments: Any) -> Any:
        points.append(network_points.network.point_count)
        return solve_network(network_points, *arguments)

    monkeypatch.setattr(solvers, "_solution_of_solver", counted)
    jobs = {"jobs": closed_class(3, think_time=1.0), "tasks": closed_class(2)}
    service = {"jobs": 0.5, "tasks": 2.0}
    assert solve(network(jobs, {"disk": station(service=service)})).method == "markov-chain"
    assert points == [1]
