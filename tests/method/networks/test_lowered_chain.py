"""Networks with regions, retries and circuit breakers as Markov chains: against simulations, and
queues with formulas.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import factorial
from typing import Any

import pytest

from slipstick import (
    Breaker,
    QueueingNetwork,
    Simulation,
    closed_class,
    network,
    open_class,
    solve,
    station,
    sweep,
)
from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import TIME, Parameter
from slipstick.model.network import GuardedStations, chain, guard, region, route
from slipstick.vocabulary import MARKOV_CHAIN, SIMULATION
from tests.simulation import assert_within_intervals

RUN = Simulation(seed=61, events=80_000, precision=1e-9)
OPEN = Parameter("breakers.guard.open", TIME, 3.0)
AGAIN: Mapping[str, Any] = {"retries": {"calls": 1}, "back_off": {"calls": 0.5}}


def guards(*stations: str, rule: Breaker | None = None) -> dict[str, GuardedStations]:
    return {"guard": guard(stations, rule or Breaker(2, OPEN, 5, 2, scv=1.0))}


def network_of(
    classes: Any, breakers: Any = None, regions: Any = None, **stations: Any
) -> QueueingNetwork:
    return network(
        {"calls": classes} if not isinstance(classes, Mapping) else classes,
        {name: station(**traits) for name, traits in stations.items()},
        breakers=breakers,
        regions=regions,
    )


FOUR, STREAM = closed_class(4, think_time=1.0), open_class(0.6)
DESK: Mapping[str, Any] = {"service": {"calls": 1.0}}
ENTRY = {"service": {"calls": 0.3}, "discipline": "ps"}
TWO = {"calls": closed_class(3, think_time=1.0), "jobs": closed_class(2, think_time=1.0)}
MODELS: Mapping[str, QueueingNetwork] = {
    "retries after patience": network_of(FOUR, desk={**DESK, **AGAIN, "patience": {"calls": 0.5}}),
    "retries at a full station": network_of(
        FOUR, entry=ENTRY, desk={**DESK, **AGAIN, "capacity": 2}
    ),
    "retries of a stream": network_of(STREAM, entry=ENTRY, desk={**DESK, **AGAIN, "capacity": 1}),
    "retries of one of two classes": network_of(
        TWO,
        entry={"service": {"calls": 0.3, "jobs": 0.2}},
        desk={
            **AGAIN,
            "service": {"calls": 1.0, "jobs": 0.5},
            "capacity": 3,
            "patience": {"calls": 1.0},
        },
    ),
    "a breaker and patience": network_of(
        FOUR, guards("desk"), desk={**DESK, "patience": {"calls": 0.8}}
    ),
    "a breaker and a full station": network_of(FOUR, guards("desk"), desk={**DESK, "capacity": 2}),
    "a breaker and balking": network_of(
        FOUR, guards("desk"), entry=ENTRY, desk={**DESK, "balking": {"calls": [0.5, 1.0]}}
    ),
    "a breaker before a stream": network_of(
        STREAM, guards("desk"), desk={**DESK, "patience": {"calls": 1.0}}
    ),
    "a region": network_of(
        TWO,
        regions={"hall": region(["desk", "store"], 2)},
        entry={"service": {"calls": 0.3, "jobs": 0.2}, "discipline": "ps"},
        desk={"service": {"calls": 1.0, "jobs": 0.5}},
        store={"service": {"calls": 0.5}, "visits": {"calls": 0.5}},
    ),
    "a region and a stream": network_of(
        STREAM,
        regions={"hall": region(["desk", "store"], 3)},
        desk={**DESK, "servers": 2},
        store={"service": {"calls": 0.5}, "visits": {"calls": 1.5}},
    ),
    "balking in a region": network_of(
        FOUR,
        regions={"hall": region(["desk"], 2)},
        entry=ENTRY,
        desk={**DESK, "balking": {"calls": [0.5]}},
    ),
    "retries in a region": network_of(
        FOUR, regions={"hall": region(["desk"], 3)}, desk={**DESK, **AGAIN, "capacity": 2}
    ),
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", MODELS)
def test_a_simulation_has_the_values_of_the_chain(name: str) -> None:
    exact = solve(MODELS[name], method=MARKOV_CHAIN)
    simulated = solve(MODELS[name], method=SIMULATION, simulation=RUN)
    assert exact.exact
    assert {"throughput[calls]", "queue_length[calls,desk]"} <= exact.values.keys()
    assert_within_intervals(
        simulated, {name: value.value for name, value in exact.values.items()}, absolute=1e-9
    )
    for label, seconds in exact.account.items():
        assert simulated.account[label] == pytest.approx(seconds, rel=0.06, abs=0.01), label


def test_values_at_which_the_activity_has_another_shape_are_simulated() -> None:
    """One visit in a cycle is a step of the activity, and half a visit a choice."""
    desk = {**DESK, **AGAIN, "capacity": 2}
    one, half = (
        network_of(FOUR, entry={**ENTRY, "visits": {"calls": v}}, desk=desk) for v in (1.0, 0.5)
    )
    values = {"stations.entry.visits.calls": 0.5}
    with pytest.raises(NoAnswerError) as refusal:
        solve(one, values, method=MARKOV_CHAIN)
    assert str(refusal.value) == (
        "markov-chain solves network at its own value of stations.entry.visits.calls, 1; ask for"
        " simulation, or write the value in the model"
    )
    answer = solve(one, values, simulation=RUN)
    assert answer.method == SIMULATION
    assert answer["throughput[calls]"] == pytest.approx(solve(half)["throughput[calls]"], rel=0.02)


def test_rounding_is_no_wait() -> None:
    model = network_of(
        FOUR,
        regions={"hall": region(["desk", "walk"], 2)},
        desk=DESK,
        walk={"service": {"calls": 0.2}, "discipline": "is"},
    )
    answer = solve(model)
    assert answer.method == MARKOV_CHAIN
    assert answer["waiting_time[calls,walk]"] == 0
    assert not answer.account.get("wait:walk")


def test_losses_before_other_visits_name_the_simulation() -> None:
    desk = {**DESK, **AGAIN, "patience": {"calls": 1.0}}
    with pytest.raises(NoAnswerError, match=r"as the last station; ask for simulation$"):
        solve(network_of(FOUR, desk=desk, store=DESK), method=MARKOV_CHAIN)


def test_a_region_around_infinite_servers_is_a_queue_with_as_many() -> None:
    """Its wait is that of Erlang: of a load a, and c places, C / (c - a) services."""
    load, places = 1.5, 3
    terms = [load**n / factorial(n) for n in range(places)]
    last = load**places / factorial(places) / (1 - load / places)
    wait = last / (sum(terms) + last) / (places - load)
    model = network_of(
        open_class(load),
        regions={"hall": region(["desk"], places)},
        desk={**DESK, "discipline": "is"},
    )
    answer = solve(model)
    assert answer.method == MARKOV_CHAIN
    assert answer["waiting_time[hall]"] == pytest.approx(wait, rel=1e-8)
    assert answer["response_time[calls]"] == pytest.approx(1 + wait, rel=1e-8)
    assert answer["utilization[hall]"] == pytest.approx(load / places, rel=1e-8)


def test_a_breaker_has_the_balance_of_its_states() -> None:
    """A stream at one place, whose first failure opens the breaker for a time: busy or not, and
    open or not; a trial that passes closes it.
    """
    rate, opening = 0.8, 1 / 3.0
    rule = Breaker(1, OPEN, scv=1.0)
    answer = solve(
        network_of(open_class(rate), guards("desk", rule=rule), desk={**DESK, "capacity": 1})
    )
    # Closed: 0 and 1 present; open: 0 and 1 present; half-open: 0 and 1 present, the latter being
    # the trial (T) or a customer of before (B).
    import numpy as np

    names = ["C0", "C1", "O0", "O1", "H0", "HB", "HT"]
    moves = [
        *[("C0", "C1", rate), ("C1", "C0", 1.0), ("C1", "O1", rate)],
        *[("O1", "O0", 1.0), ("O0", "H0", opening), ("O1", "HB", opening)],
        *[("H0", "HT", rate), ("HB", "H0", 1.0), ("HB", "O1", rate), ("HT", "C0", 1.0)],
    ]
    generator = np.zeros((7, 7))
    for source, target, speed in moves:
        generator[names.index(source), names.index(target)] += speed
        generator[names.index(source), names.index(source)] -= speed
    equations = np.vstack([generator.T, np.ones(7)])
    parts, *_ = np.linalg.lstsq(equations, np.array([0.0] * 7 + [1.0]), rcond=None)
    part = dict(zip(names, parts.tolist(), strict=True))
    assert answer["open_share[guard]"] == pytest.approx(part["O0"] + part["O1"], rel=1e-6)
    busy = part["C1"] + part["O1"] + part["HB"] + part["HT"]
    assert answer["utilization[desk]"] == pytest.approx(busy, rel=1e-6)


def test_points_of_a_sweep_are_solved_one_by_one() -> None:
    model = MODELS["a breaker and patience"]
    path = "stations.desk.service.calls"
    swept = solve(model, sweep({path: [0.5, 1.0, 2.0]}), method=MARKOV_CHAIN)
    for service, time in zip([0.5, 1.0, 2.0], swept["response_time[calls]"], strict=True):
        alone = solve(model, {path: service}, method=MARKOV_CHAIN)
        assert time == pytest.approx(alone["response_time[calls]"], rel=1e-12)


def test_a_share_within_a_target_is_simulated() -> None:
    calls = open_class(0.5, target_time=2.0)
    answer = solve(
        network_of(calls, regions={"hall": region(["desk"], 2)}, desk=DESK), simulation=RUN
    )
    assert (answer.method, "within_target[calls]" in answer.values) == (SIMULATION, True)


PLACE = ("calls", "desk")


@pytest.mark.parametrize(
    ("model", "part"),
    [
        (
            network(
                {},
                {"desk": station(**DESK), "next": station(service={"calls": 1.0})},
                chains={"users": chain(["calls"], FOUR, PLACE)},
                routing=[route(PLACE, ("calls", "next")), route(("calls", "next"), PLACE)],
                regions={"hall": region(["next"], 2)},
            ),
            "customers that change class",
        ),
        (
            network_of(
                FOUR, regions={"hall": region(["desk"], 2)}, desk={**DESK, "rates": [1.0, 1.5]}
            ),
            "the rates of desk",
        ),
    ],
)
def test_what_the_chain_has_no_words_for_is_refused(model: QueueingNetwork, part: str) -> None:
    with pytest.raises(NoAnswerError) as refusal:
        solve(model, method=MARKOV_CHAIN)
    expected = f"markov-chain takes no regions, retries or breakers beside {part}; ask for"
    assert str(refusal.value).startswith(expected)
    assert solve(model, simulation=Simulation(events=2_000)).method == SIMULATION
