"""Circuit breakers of stations in networks: beside the chain of the same activity, which shares no
code with the simulation of networks, by both kernels, and at the limit at which they never open.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick import Answer, Breaker, Simulation, dump, load, solve
from slipstick.errors import ModelFaultsError, NoAnswerError, SpecError
from slipstick.expression.nodes import TIME, Number, Parameter
from slipstick.method.networks.arrays import NetworkLayout
from slipstick.method.networks.blocking import flat_network
from slipstick.model.network import (
    GuardedStations,
    NetworkStation,
    QueueingNetwork,
    closed_class,
    guard,
    network,
    open_class,
    region,
    station,
)
from slipstick_chains.lowering import lower_network
from tests.sim.test_same import check_same

SETTINGS = Simulation(seed=19, events=250_000, precision=1e-9)
OPEN = Parameter("breakers.guard.open", TIME, 3.0)
TWO = Number(2.0, TIME)


def closed_with(
    breaker: Breaker | None, desk: NetworkStation, others: dict[str, NetworkStation] | None = None
) -> QueueingNetwork:
    breakers = {} if breaker is None else {"guard": guard(["desk"], breaker)}
    stations = {**(others or {}), "desk": desk}
    return network({"calls": closed_class(4, think_time=1.0)}, stations, breakers=breakers)


IMPATIENT = station(service={"calls": 1.0}, patience={"calls": 0.8})
DESKS = {
    "patience": IMPATIENT,
    "full": station(service={"calls": 1.0}, capacity=2),
    "both": station(service={"calls": 1.0}, capacity=3, patience={"calls": 0.8}),
}


def assert_near(simulated: Answer, name: str, truth: float) -> None:
    value = simulated.values[name]
    assert value.value is not None, name
    reach = 4 * (value.high - value.value) if value.high is not None else 0.03 * abs(truth)
    assert abs(value.value - truth) <= reach + 1e-9, f"{name}: {truth} and {value}"


@pytest.mark.turns(4)
@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("kind", DESKS)
@pytest.mark.parametrize("rule", [(1, None, 1), (2, 5, 2)])
def test_a_network_with_a_breaker_equals_the_chain_of_its_activity(
    rule: tuple[int, int | None, int], kind: str, before: bool
) -> None:
    failures, of, trials = rule
    breaker = Breaker(failures, OPEN, of, trials, scv=1.0)
    others = {"entry": station(service={"calls": 0.3}, discipline="ps")} if before else {}
    model = closed_with(breaker, DESKS[kind], others)
    chain = solve(lower_network(model), method="markov-chain")
    simulated = solve(model, method="simulation", simulation=SETTINGS)
    names = ["open_share[guard]", "refused_share[guard]", "queue_length[desk]", "utilization[desk]"]
    for name in [*names, *(["queue_length[entry]"] if before else [])]:
        assert_near(simulated, name, chain[name] or 0.0)


@pytest.mark.turns(4)
def test_calls_in_a_stream_have_the_shares_of_their_activity() -> None:
    model = network(
        {"calls": open_class(8.0)},
        {"desk": station(service={"calls": 0.3}, servers=2, patience={"calls": 0.5})},
        breakers={"guard": guard(["desk"], Breaker(2, OPEN, of=5))},
    )
    simulated = solve(model, simulation=SETTINGS)
    lowered = solve(lower_network(model), method="simulation", simulation=SETTINGS)
    for name in ("open_share[guard]", "refused_share[guard]", "queue_length[desk]"):
        assert_near(simulated, name, lowered[name] or 0.0)
    served = 8.0 * (1 - (simulated["refused_share[guard]"] or 0))
    served *= 1 - (simulated["abandonment[calls,desk]"] or 0)
    assert simulated["throughput[calls]"] == pytest.approx(served, rel=0.02)


@pytest.mark.turns(4)
@pytest.mark.parametrize("kind", DESKS)
def test_a_breaker_that_never_opens_changes_nothing(kind: str) -> None:
    settings = Simulation(seed=5, events=20_000, precision=1e-9)
    never, without = (
        solve(closed_with(breaker, DESKS[kind]), method="simulation", simulation=settings)
        for breaker in (Breaker(9000, OPEN), None)
    )
    assert (never["open_share[guard]"], never["refused_share[guard]"]) == (0, 0)
    for name, value in without.values.items():
        assert never[name] == pytest.approx(value.value, rel=1e-9), name


@pytest.mark.turns(4)
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("kind", DESKS)
def test_both_kernels_simulate_guarded_stations_alike(kind: str, inside: bool) -> None:
    model = network(
        {"calls": closed_class(4, think_time=1.0), "jobs": open_class(0.5)},
        {
            "desk": station(
                service={"calls": 1.0, "jobs": 0.5},
                capacity=DESKS[kind].capacity,
                patience={"calls": 0.8, "jobs": 2.0},
            ),
            "store": station(service={"calls": 0.4}, timeout={"calls": 0.5}),
        },
        breakers={"guard": guard(["desk", "store"], Breaker(2, TWO, of=3))},
        regions={"hall": region(["desk"], 3)} if inside else None,
    )
    layout = NetworkLayout(model)
    check_same(flat_network(layout, {}).plan, 4000)


def test_other_methods_refuse_a_breaker_by_name() -> None:
    model = closed_with(Breaker(2, OPEN), IMPATIENT)
    for method in ("exact", "linearizer", "bounds"):
        with pytest.raises(NoAnswerError) as raised:
            solve(model, method=method)
        assert str(raised.value).startswith(
            f"{method} cannot solve circuit breakers (visits that a circuit breaker may refuse); "
            "markov-chain and simulation can"
        )


@pytest.mark.parametrize(
    ("stations", "breakers", "message"),
    [
        (
            {"desk": station(service={"calls": 1.0})},
            {"guard": ["desk"]},
            "no visit to desk fails; give it a timeout, patience or a capacity",
        ),
        (
            {"desk": IMPATIENT},
            {"guard": ["desk"], "second": ["desk"]},
            "desk has a breaker already: guard",
        ),
        ({"desk": IMPATIENT}, {"guard": []}, "breaker guard guards no station; list some"),
        (
            {"desk": IMPATIENT},
            {"guard": ["dusk"]},
            "there is no station 'dusk'; did you mean 'desk'?",
        ),
        (
            {
                "first": station(service={"calls": 1.0}),
                "desk": station(service={"calls": 1.0}, capacity=2, blocking="after-service"),
            },
            {"guard": ["desk"]},
            "no method has breakers before desk, which blocks; leave one of them out",
        ),
    ],
)
def test_breakers_without_a_meaning_are_refused(
    stations: dict[str, NetworkStation], breakers: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(ModelFaultsError) as raised:
        network(
            {"calls": closed_class(2, think_time=1.0)},
            stations,
            breakers={name: guard(names, Breaker(1, TWO)) for name, names in breakers.items()},
        )
    assert message in str(raised.value)


def test_customers_that_come_back_at_once_are_refused() -> None:
    model = network(
        {"calls": closed_class(2)},
        {"desk": IMPATIENT},
        breakers={"guard": guard(["desk"], Breaker(1, TWO))},
    )
    with pytest.raises(NoAnswerError) as raised:
        solve(model, method="simulation")
    assert (
        "a cycle of calls may begin at a station of guard: a customer that it refuses would come "
        "back at the same instant; give calls a think time"
    ) in str(raised.value)


def test_a_breaker_is_read_from_a_file_and_written_as_one(tmp_path: Path) -> None:
    file = tmp_path / "guarded.yaml"
    file.write_text(
        "queueing-network: 1\nclasses: {calls: {arrivals: 8 /s}}\n"
        "stations:\n"
        "  desk: {servers: 2, service: {calls: 300 ms}, patience: {calls: 500 ms}}\n"
        "breakers: {guard: {breaker: 2, of: 5, open: 3 s, scv: 1, stations: [desk]}}\n"
    )
    model = load(file)
    assert isinstance(model, QueueingNetwork)
    guarded = model.breakers["guard"]
    assert isinstance(guarded, GuardedStations)
    assert (guarded.stations, guarded.breaker.failures, guarded.breaker.scv) == (("desk",), 2, 1.0)
    assert model.parameters["breakers.guard.open"].value == 3.0
    written = tmp_path / "written.yaml"
    written.write_text(dump(model))
    again = load(written)
    assert isinstance(again, QueueingNetwork)
    assert again.breakers["guard"].stations == ("desk",)
    assert again.breakers["guard"].breaker.of == 5
    assert again.parameters["parameters.breakers_guard_open"].value == 3.0
    file.write_text(file.read_text().replace("[desk]", "[disk]"))
    with pytest.raises(SpecError) as raised:
        load(file)
    assert "breakers.guard.stations" in str(raised.value)
    assert "there is no station 'disk'; did you mean 'desk'?" in str(raised.value)
    file.write_text(
        "queueing-network: 1\nclasses: {calls: {arrivals: 8 /s}}\n"
        "stations: {desk: {service: {calls: 300 ms}, breaker: {breaker: 2, open: 3 s}}}\n"
    )
    with pytest.raises(SpecError) as raised:
        load(file)
    assert "{breakers: {NAME: {breaker: 5, open: 30 s, stations: [STATION]}}}" in str(raised.value)


def test_words_of_others_are_answered_with_those_of_a_breaker(tmp_path: Path) -> None:
    file = tmp_path / "guarded.yaml"
    file.write_text(
        "queueing-network: 1\nclasses: {calls: {arrivals: 8 /s}}\n"
        "stations: {desk: {service: {calls: 100 ms}, timeout: {calls: 1 s}}}\n"
        "breakers: {guard: {failures: 5, window: 20, open: 30 s, stations: [desk]}}\n"
    )
    with pytest.raises(SpecError) as raised:
        load(file)
    assert "breakers.guard.failures: unknown key; write breaker" in str(raised.value)
    assert "breakers.guard.window: unknown key; write of" in str(raised.value)
    file.write_text(
        "activity: 1\npopulation: {processors: 3, think_time: 1 s}\n"
        "cycle: [{name: work, delay: 1 s}]\n"
    )
    with pytest.raises(SpecError) as raised:
        load(file)
    assert "thinking is a step of the cycle: {name: think, delay: 1 s, scv: 1}" in str(raised.value)
