"""Circuit breakers and services that are given up: by the chain, by both kernels of the simulator,
and by sums over renewals, birth and death, and sequences of outcomes that share no code with them.
"""

from __future__ import annotations

from itertools import product
from math import comb, exp, prod
from pathlib import Path

import numpy as np
import pytest

from slipstick import Answer, Simulation, dump, load, solve
from slipstick.errors import NoAnswerError, SpecError
from slipstick.expression.nodes import RATE, TIME, Parameter
from slipstick.method.simulation.flatten import flatten
from slipstick.model.activity import attempt, barrier, delay, hold, service
from slipstick.model.steps import Activity
from slipstick.model.system import (
    Barrier,
    Breaker,
    Model,
    Permits,
    Resource,
    Station,
    closed_model,
    grouped_model,
    open_model,
)
from slipstick_chains.activity_chain import _remembered_outcomes
from tests.sim.test_same import check_same

SETTINGS = Simulation(seed=11, events=250_000, precision=1e-9)
THINK, SERVICE, PATIENCE, OPEN = 2.0, 1.0, 0.5, 3.0
FAILS = SERVICE / (SERVICE + PATIENCE)
"""Probability that an exponential service outlasts an exponential patience."""


def thinks(time: float = THINK) -> Activity:
    return delay(time, name="think", scv=1.0)


def guard(failures: int, of: int | None = None, trials: int = 1, scv: float = 1.0) -> Breaker:
    return Breaker(failures, Parameter("open", TIME, OPEN), of, trials, scv)


def alone(breaker: Breaker | None, patience: float = PATIENCE) -> Model:
    """Make a model of one customer, whose calls fail independently of each other."""
    call = attempt(
        service("far", SERVICE, scv=1.0),
        patience=patience,
        limits="visit",
        breaker=None if breaker is None else "guard",
    )
    resources: dict[str, Resource] = {"far": Station(1, "is")}
    if breaker is not None:
        resources["guard"] = breaker
    return closed_model(thinks() >> call, 1, resources=resources)


def calls_until_open(failures: int, of: int, fails: float) -> float:
    """Compute the mean number of calls until so many of the last ones have failed, from the linear
    equations over how each of them has ended.
    """
    windows = [each for each in product((0, 1), repeat=of) if sum(each) < failures]
    place = {window: index for index, window in enumerate(windows)}
    left = np.eye(len(windows))
    for window, index in place.items():
        for outcome, chance in ((1, fails), (0, 1 - fails)):
            if (following := (*window[1:], outcome)) in place:
                left[index, place[following]] -= chance
    return float(np.linalg.solve(left, np.ones(len(windows)))[place[(0,) * of]])


def shares_by_renewal(failures: int, of: int, trials: int) -> dict[str, float]:
    """Compute the values of one customer whose breaker opens for an exponential time, from one
    closing to the next.
    """
    visit = SERVICE * PATIENCE / (SERVICE + PATIENCE)
    passes = 1 - FAILS
    closed_calls = calls_until_open(failures, of, FAILS)
    openings = 1 / passes**trials
    # A trial follows while all before it have passed.
    trial_calls = openings * sum(passes**trial for trial in range(trials))
    refused_calls = openings * OPEN / THINK
    admitted_calls = closed_calls + trial_calls
    duration = admitted_calls * (THINK + visit) + refused_calls * THINK
    calls = admitted_calls + refused_calls
    return {
        "open_share[guard]": openings * OPEN / duration,
        "refused_share[guard]": refused_calls / calls,
        "time": duration / calls,
    }


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("failures", "of", "trials"),
    [(1, 1, 1), (3, 3, 1), (2, 4, 2), (3, 5, 1), (2, 2, 4), (3, 16, 1)],
)
def test_one_customer_has_the_shares_of_a_renewal(failures: int, of: int, trials: int) -> None:
    model = alone(guard(failures, of, trials))
    chain = solve(model) if of < 16 else solve(model, method="markov-chain")
    simulated = solve(model, method="simulation", simulation=SETTINGS)
    assert chain.method == "markov-chain"
    assert chain.exact
    for name, share in shares_by_renewal(failures, of, trials).items():
        assert chain[name] == pytest.approx(share, rel=1e-9), name
        assert_near(simulated, name, share)


def assert_near(simulated: Answer, name: str, truth: float) -> None:
    """Check an estimate, which without an interval may be 3 % off."""
    value = simulated.values[name]
    assert value.value is not None, name
    reach = 4 * (value.high - value.value) if value.high is not None else 0.03 * abs(truth)
    assert abs(value.value - truth) <= reach + 1e-9, f"{name}: {truth} and {value}"


def test_a_constant_open_time_has_the_shares_of_a_renewal_too() -> None:
    simulated = solve(alone(guard(3, scv=0.0)), method="simulation", simulation=SETTINGS)
    for name, share in shares_by_renewal(3, 3, 1).items():
        assert_near(simulated, name, share)


def crowded(breaker: Breaker, kind: str) -> Model:
    """Make a model of four customers that fail together, because they wait for each other."""
    visit: Activity = service("disk", SERVICE, scv=1.0)
    if kind == "hold":
        visit = hold("pool", delay(0.4, name="inside", scv=1.0) >> service("disk", 0.6, scv=1.0))
    tried = attempt(
        visit,
        patience=0.8,
        limits="visit" if kind == "cut" else "wait",
        queue=1 if kind == "full" else None,
        retries=1,
        back_off=0.5,
        breaker="guard",
        otherwise=delay(0.3, name="instead", scv=1.0),
    )
    return closed_model(
        thinks(1.0) >> tried, 4, resources={"guard": breaker, "pool": Permits(1), "disk": Station()}
    )


BREAKERS = {
    "in a row": guard(2),
    "of the last": guard(2, 5),
    "trials": guard(1, 1, 2),
    "trials and last": guard(3, 4, 3),
}


@pytest.mark.turns(5)
@pytest.mark.parametrize("kind", ["wait", "cut", "hold", "full"])
@pytest.mark.parametrize("name", BREAKERS)
def test_the_chain_of_several_customers_equals_simulation(name: str, kind: str) -> None:
    model = crowded(BREAKERS[name], kind)
    chain = solve(model, method="markov-chain")
    simulated = solve(model, method="simulation", simulation=SETTINGS)
    for value in chain.values:
        if value in simulated.values and not value.startswith("share["):
            truth = chain[value]
            assert truth is not None
            assert_near(simulated, value, truth)


@pytest.mark.turns(8)
@pytest.mark.parametrize("method", ["markov-chain", "simulation"])
def test_a_breaker_that_never_opens_changes_nothing(method: str) -> None:
    settings = Simulation(seed=3, events=20_000, precision=1e-9)
    never, without = (
        solve(alone(breaker), method=method, simulation=settings) for breaker in (guard(9000), None)
    )
    assert never["refused_share[guard]"] == pytest.approx(0, abs=1e-12)
    assert never["open_share[guard]"] == pytest.approx(0, abs=1e-12)
    for name, value in without.values.items():
        assert never[name] == pytest.approx(value.value, rel=1e-9), name


def test_a_breaker_is_shared_by_all_that_name_it() -> None:
    """Calls of a second group fail always, and are the only ones: they open it for all."""
    good = attempt(service("far", 0.1, scv=1.0), patience=1e6, limits="visit", breaker="guard")
    bad = attempt(service("lost", 1e6, scv=1.0), patience=0.1, limits="visit", breaker="guard")
    resources: dict[str, Resource] = {
        "far": Station(1, "is"),
        "lost": Station(1, "is"),
        "guard": guard(1),
    }
    groups = {
        "users": (1, delay(1.0, name="think", scv=1.0) >> good),
        "others": (1, delay(1.0, name="pause", scv=1.0) >> bad),
    }
    shared = solve(grouped_model(groups, resources=resources), method="markov-chain")
    apart = solve(
        grouped_model({"users": groups["users"], "others": groups["users"]}, resources=resources),
        method="markov-chain",
    )
    assert (shared["refused_share[guard]"] or 0) > 0.3
    assert apart["refused_share[guard]"] == pytest.approx(0.0, abs=1e-6)


def chances_to_give_up(customers: int, servers: int, shared: bool) -> list[float]:
    """Compute, by the number present, the probability that a service under way will be given up.

    Where a service has a server of its own, it ends or is given up at fixed rates; else its speed
    follows the number present, which changes until it leaves.
    """
    if not shared:
        return [SERVICE / (SERVICE + PATIENCE)] * (customers + 1)
    left = np.zeros((customers + 1, customers + 1))
    for n in range(1, customers + 1):
        service_rate = min(1.0, servers / n) / SERVICE
        arrival_rate = (customers - n) / THINK
        leaving_rate = service_rate + 1 / PATIENCE
        left[n, n] = arrival_rate + n * leaving_rate
        left[n, n - 1] = -(n - 1) * leaving_rate
        if n < customers:
            left[n, n + 1] = -arrival_rate
    left[0, 0] = 1.0
    right = np.array([0.0] + [1 / PATIENCE] * customers)
    return [float(chance) for chance in np.linalg.solve(left, right)]


@pytest.mark.turns(4)
@pytest.mark.parametrize("discipline", ["fcfs", "lcfs", "random", "priority", "ps"])
@pytest.mark.parametrize("servers", [1, 2])
def test_services_that_are_given_up_are_those_of_birth_and_death(
    discipline: str, servers: int
) -> None:
    """Each customer present leaves at the rate 1 / patience, beside those that are served."""
    customers = 4
    visit = attempt(
        service("desk", SERVICE, scv=1.0, rank=1 if discipline == "priority" else 0),
        patience=PATIENCE,
        limits="visit",
    )
    model = closed_model(
        thinks() >> visit, customers, resources={"desk": Station(servers, discipline)}
    )
    weights = [
        prod(
            (customers - k) / THINK / (min(k + 1, servers) / SERVICE + (k + 1) / PATIENCE)
            for k in range(n)
        )
        for n in range(customers + 1)
    ]
    chances = [weight / sum(weights) for weight in weights]
    truth = {
        "queue_length[desk]": sum(n * chance for n, chance in enumerate(chances)),
        "utilization[desk]": sum(
            min(n, servers) / servers * chance for n, chance in enumerate(chances)
        ),
    }
    served = truth["utilization[desk]"] * servers / SERVICE
    chain = solve(model, method="markov-chain")
    simulated = solve(model, method="simulation", simulation=SETTINGS)
    for name, value in truth.items():
        assert chain[name] == pytest.approx(value, rel=1e-9), name
        assert_near(simulated, name, value)
    assert_near(simulated, "goodput[desk]", served)
    given_up = chances_to_give_up(customers, servers, shared=discipline == "ps")
    wasted = sum(
        min(n, servers) / servers * chance * given_up[n] for n, chance in enumerate(chances)
    )
    assert_near(simulated, "wasted_utilization[desk]", wasted)
    assert_near(simulated, "useful_utilization[desk]", truth["utilization[desk]"] - wasted)
    wasted_time = wasted * servers * (chain["time"] or 0.0) / customers
    assert simulated.account["given-up:desk"] == pytest.approx(wasted_time, rel=0.03)
    if discipline != "ps":
        assert chain["wasted_utilization[desk]"] == pytest.approx(wasted, rel=1e-9)
        assert chain.account["given-up:desk"] == pytest.approx(wasted_time, rel=1e-9)
    for name in ("time", "wait[desk]"):
        assert_near(simulated, name, chain[name] or 0.0)


@pytest.mark.turns(4)
def test_services_in_two_phases_are_wasted_as_long_as_they_last() -> None:
    """One customer, whose service has two equal phases: the first is followed by the second, or
    given up, and what was spent in both is lost if the second is given up.
    """
    visit = attempt(
        service("desk", SERVICE, name="call", scv=0.5), patience=PATIENCE, limits="visit"
    )
    model = closed_model(thinks() >> visit, 1, resources={"desk": Station()}, useful=("busy",))
    phase_rate, leaving_rate = 2 / SERVICE, 1 / PATIENCE
    phase_time = 1 / (phase_rate + leaving_rate)
    goes_on = phase_rate * phase_time
    visit_time = phase_time * (1 + goes_on)
    wasted_time = visit_time - goes_on**2 * 2 * phase_time
    cycle = THINK + visit_time
    chain = solve(model, method="markov-chain")
    simulated = solve(model, method="simulation", simulation=SETTINGS)
    truth = {
        "wasted_utilization[desk]": wasted_time / cycle,
        "useful_utilization[desk]": (visit_time - wasted_time) / cycle,
        "goodput[desk]": goes_on**2 / cycle,
        "efficiency": (cycle - wasted_time) / cycle,
    }
    for name, value in truth.items():
        assert chain[name] == pytest.approx(value, rel=1e-9), name
        assert_near(simulated, name, value)
    assert chain.account["given-up:desk"] == pytest.approx(wasted_time, rel=1e-9)


@pytest.mark.turns(4)
def test_waste_of_several_groups_counts_together() -> None:
    """The account is that of the first group, and the servers waste what all groups give up."""
    groups = {
        name: (
            count,
            thinks()
            >> attempt(
                service("desk", SERVICE, name=name, scv=scv),
                patience=Parameter(f"patience-{name}", TIME, patience),
                limits="visit",
                retries=1,
                back_off=0.5,
            ),
        )
        for name, count, scv, patience in (("early", 2, 1.0, 0.5), ("late", 2, 2.0, 3.0))
    }
    model = grouped_model(groups, resources={"desk": Station(2)})
    chain = solve(model, method="markov-chain")
    simulated = solve(model, method="simulation", simulation=SETTINGS)
    for name in ("wasted_utilization[desk]", "useful_utilization[desk]", "utilization[desk]"):
        assert_near(simulated, name, chain[name] or 0.0)
    assert simulated.account["given-up:desk"] == pytest.approx(
        chain.account["given-up:desk"], rel=0.03
    )


def test_a_constant_time_out_cuts_services_of_infinite_servers() -> None:
    """A share exp(-t) of exponential services lasts longer than t, and all last at most t."""
    limit = 0.7
    call = attempt(service("far", SERVICE, scv=1.0), timeout=limit, limits="visit")
    model = open_model(call, Parameter("rate", RATE, 2.0), resources={"far": Station(1, "is")})
    simulated = solve(model, simulation=SETTINGS)
    assert_near(simulated, "abandonment[far]", exp(-limit))
    assert_near(simulated, "time", 1 - exp(-limit))


SAME = {
    f"{name}, {kind}": crowded(breaker, kind)
    for name, breaker in {
        **BREAKERS,
        "constant": guard(2, 4, 2, scv=0.0),
        "spread": guard(1, 3, scv=4.0),
    }.items()
    for kind in ("wait", "cut", "hold", "full")
}


@pytest.mark.turns(4)
@pytest.mark.parametrize("name", SAME)
def test_both_kernels_simulate_a_breaker_alike(name: str) -> None:
    check_same(flatten(SAME[name]).plan, 4000)


@pytest.mark.turns(4)
@pytest.mark.parametrize("discipline", ["fcfs", "lcfs", "random", "priority", "is", "ps"])
def test_both_kernels_cut_services_alike(discipline: str) -> None:
    ranks = (1, 0) if discipline == "priority" else (0, 0)
    first = attempt(
        service("desk", SERVICE, name="a", scv=1.0, rank=ranks[0]),
        patience=0.9,
        limits="visit",
        retries=1,
    )
    second = attempt(
        service("desk", SERVICE, name="b", rank=ranks[1]), timeout=0.9, limits="visit", retries=1
    )
    model = closed_model(
        thinks(1.0) >> first >> service("desk", 0.2, name="c") >> second,
        5,
        resources={"desk": Station(1, discipline)},
    )
    check_same(flatten(model).plan, 4000)


@pytest.mark.parametrize(("failures", "of"), [(5, 5), (2, 100), (3, 16), (4, 9)])
def test_a_chain_tells_as_few_windows_as_there_are(failures: int, of: int) -> None:
    """A window with j failures counts if the oldest can still open the breaker: C(n, k - 1) do."""
    seen, new = {0}, [0]
    while new:
        window = new.pop()
        for outcomes in (2 * window, 2 * window + 1):
            after = _remembered_outcomes(guard(failures, of), outcomes)
            if outcomes.bit_count() < failures and after not in seen:
                seen.add(after)
                new.append(after)
    assert len(seen) == comb(of, failures - 1)


@pytest.mark.turns(4)
def test_a_breaker_that_looks_back_at_many_calls_is_solved_by_its_windows() -> None:
    chain = solve(crowded(guard(2, 60), "wait"), method="markov-chain")
    simulated = solve(crowded(guard(2, 60), "wait"), method="simulation", simulation=SETTINGS)
    for name in ("time", "open_share[guard]", "refused_share[guard]", "goodput[disk]"):
        assert_near(simulated, name, chain[name] or 0.0)


def test_methods_refuse_what_they_cannot_follow() -> None:
    for breaker, message in (
        (guard(2, scv=0.0), "exponential open times of circuit breakers, and guard has scv 0"),
        (
            guard(10, 20),
            (
                "the chain of model has at least 1.68e+05 states; the limit is 30,000: ask for"
                " simulation, or"
            ),
        ),
    ):
        with pytest.raises(NoAnswerError) as raised:
            solve(alone(breaker), method="markov-chain")
        assert message in str(raised.value)
    meeting = attempt(service("desk", 1.0, scv=1.0), queue=0, breaker="guard") >> barrier("meet")
    cost = Parameter("cost", TIME, 0.5)
    resources: dict[str, Resource] = {"guard": guard(2), "meet": Barrier("central", cost)}
    with pytest.raises(NoAnswerError) as raised:
        solve(closed_model(thinks() >> meeting, 2, resources=resources), method="markov-chain")
    assert str(raised.value) == (
        "markov-chain takes no circuit breaker beside a barrier with a cost, such as meet; "
        "leave the cost out, or ask for simulation"
    )
    with pytest.raises(NoAnswerError) as raised:
        solve(alone(guard(2)), {"open": 1e300}, method="simulation")
    assert str(raised.value).startswith(
        "the open time of circuit breaker guard comes out as 1e+300 s; what is simulated takes"
    )


def test_attempts_that_fail_again_and_again_without_time_are_refused() -> None:
    call = attempt(service("far", SERVICE), timeout=PATIENCE, limits="visit", breaker="guard")
    model = closed_model(call, 2, resources={"guard": guard(1, scv=0.0)})
    with pytest.raises(NoAnswerError) as raised:
        solve(model, simulation=Simulation(events=20_000))
    assert str(raised.value) == (
        "attempts of model fail and are made again at once, so that no time passes; give the "
        "cycle a think time, or the attempt a back_off or something that takes time otherwise"
    )


def test_a_file_with_more_failures_than_tries_is_refused_at_its_key(tmp_path: Path) -> None:
    file = tmp_path / "guarded.yaml"
    file.write_text(
        "activity: 1\npopulation: {processors: 3}\n"
        "resources: {guard: {breaker: 5, of: 3, open: 30 s}, db: {}}\n"
        "cycle: [{attempt: [{service: db, time: 1 s}], timeout: 1 s, breaker: guard}]\n"
    )
    with pytest.raises(SpecError) as raised:
        load(file)
    assert str(raised.value).endswith(
        "guarded.yaml:3:37: resources.guard.of: 5 failures open it, so that it looks back at 5 "
        "tries or more; got 3"
    )
    file.write_text(file.read_text().replace("of: 3", "of: 8, trials: 2, scv: 1"))
    model = load(file)
    assert isinstance(model, Model)
    written = tmp_path / "written.yaml"
    written.write_text(dump(model))
    again = load(written)
    assert isinstance(again, Model)
    assert again.resources == model.resources


@pytest.mark.turns(4)
@pytest.mark.parametrize("servers", [1, 2])
@pytest.mark.parametrize("weight", [None, 3.0])
def test_shared_services_that_are_given_up_are_those_of_the_chain(
    servers: int, weight: float | None
) -> None:
    long = attempt(
        service("cpu", SERVICE, name="long", scv=2.0, weight=weight),
        patience=1.5,
        limits="visit",
        retries=1,
        otherwise=delay(0.2, name="late", scv=1.0),
    )
    short = service("cpu", 0.3, name="short", scv=0.5)
    model = closed_model(thinks(1.0) >> long >> short, 4, resources={"cpu": Station(servers, "ps")})
    chain = solve(model, method="markov-chain")
    simulated = solve(model, method="simulation", simulation=SETTINGS)
    for name in ("time", "utilization[cpu]", "queue_length[cpu]", "wait[cpu]"):
        assert_near(simulated, name, chain[name] or 0.0)
    # The chain does not tell the work of services that are given up apart.
    estimates = dict(simulated.account)
    estimates["busy"] += estimates.pop("given-up:cpu")
    for label, estimate in estimates.items():
        assert chain.account[label] == pytest.approx(estimate, rel=0.04), label
    assert "the time of services at cpu that are given up is in that of their steps" in str(
        chain.notes
    )
    check_same(flatten(model).plan, 4000)
