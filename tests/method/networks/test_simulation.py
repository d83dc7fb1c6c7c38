"""Simulated networks against exact answers, within their intervals, and what the simulation
refuses.

Each value is checked at a level so high that all of them together raise a false alarm in fewer than
1 of 200 choices of seeds; the seeds are fixed, so a failure is not chance.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pytest

from slipstick import (
    QueueingNetwork,
    Simulation,
    chain,
    closed_class,
    closed_model,
    delay,
    load,
    network,
    open_class,
    route,
    service,
    solve,
    station,
)
from slipstick.answer import Answer
from slipstick.errors import NoAnswerError
from slipstick.method.methods import compute_answers, form_of
from slipstick.model.network import NetworkStation
from slipstick_compiled.kernel import AVAILABLE
from slipstick_questions.agreement import agreement
from tests.method.networks.test_form import CENTRAL, LOSSY, MIXED, SWITCHING

CHECKS = 1500
LEVEL = 1 - 0.005 / CHECKS
CYCLES = 60_000 if AVAILABLE else 12_000


def seen(model: QueueingNetwork, seed: int = 1, cycles: int = CYCLES) -> Answer:
    settings = Simulation(
        seed=seed, level=LEVEL, cycles=cycles, kernel="compiled" if AVAILABLE else "plain"
    )
    return solve(model, method="simulation", simulation=settings)


def outside(
    found: Answer, truth: Mapping[str, float]
) -> dict[str, tuple[float | None, float | None, float]]:
    """List the values whose interval does not hold the truth, or says nothing."""
    wrong = {}
    for name, exact in truth.items():
        value = found.values[name]
        if (
            value.low is None
            or value.high is None
            or not value.low - 1e-9 <= exact <= value.high + 1e-9
        ):
            wrong[name] = (value.low, value.high, exact)
    return wrong


def known(answer: Answer) -> dict[str, float]:
    """Take what an exact method says of what is simulated."""
    assert answer.failed is None
    assert answer.exact
    return {
        name: each.value
        for name, each in answer.values.items()
        if each.value is not None and not name.startswith(("probability", "saturation_population"))
    }


def two_kinds(cpu: NetworkStation, think: float = 1.0) -> QueueingNetwork:
    disk = station(service={"a": 1.0, "b": 1.0}, discipline="lcfs-pr", visits={"a": 0.5, "b": 1.5})
    return network(
        {"a": closed_class(2, think), "b": closed_class(2, think)}, {"cpu": cpu, "disk": disk}
    )


WORK = {"a": 1.0, "b": 2.0}
FIRST_B = {"a": 1, "b": 0}
PASSING = network(
    {},
    {
        "cpu": station(service={"new": 0.2, "old": 0.1}, discipline="ps"),
        "disk": station(service={"old": 0.3}),
    },
    chains={"web": chain(["new", "old"], open_class(1.0), ("new", "cpu"))},
    routing=[
        route(("new", "cpu"), ("old", "disk"), 0.8),
        route(("new", "cpu"), None, 0.2),
        route(("old", "disk"), ("old", "cpu"), 1.0),
        route(("old", "cpu"), ("old", "disk"), 0.3),
        route(("old", "cpu"), None, 0.7),
    ],
)
MODELS: dict[str, tuple[QueueingNetwork, str]] = {
    "central": (CENTRAL, "exact"),
    "mixed, rates, several servers, delay": (MIXED, "exact"),
    "switching": (SWITCHING, "exact"),
    "switching and leaving": (PASSING, "convolution"),
    "visits below and above one": (
        network(
            {"jobs": closed_class(3)},
            {
                "one": station(service={"jobs": 1.25}, servers=2, visits={"jobs": 2.5}),
                "two": station(service={"jobs": 2.0}, visits={"jobs": 0.4}),
            },
        ),
        "convolution",
    ),
    "rates in turn": (
        network(
            {"jobs": closed_class(5, 1.0)},
            {
                "pool": station(service={"jobs": 1.0}, visits={"jobs": 2.0}, rates=[1, 1.5, 2.5]),
                "slow-start": station(service={"jobs": 1.0}, rates=[0.5, 1.5]),
            },
        ),
        "exact",
    ),
    "times that ps and lcfs-pr do not notice": (
        network(
            {"jobs": closed_class(4, 1.0)},
            {
                "cpu": station(service={"jobs": 0.5}, discipline="ps", scv={"jobs": 4}),
                "disk": station(service={"jobs": 0.4}, discipline="lcfs-pr", scv={"jobs": 0.25}),
                "net": station(service={"jobs": 0.4}, discipline="is", scv={"jobs": 0}),
            },
        ),
        "exact",
    ),
    "unequal fcfs": (two_kinds(station(service=WORK)), "markov-chain"),
    "two servers": (two_kinds(station(service=WORK, servers=2)), "markov-chain"),
    "priority": (
        two_kinds(station(service=WORK, discipline="priority", priority=FIRST_B)),
        "markov-chain",
    ),
    "preemptive": (
        two_kinds(station(service=WORK, discipline="priority-preemptive", priority=FIRST_B)),
        "markov-chain",
    ),
    "one queue with losses": (LOSSY, "markov-chain"),
    "losses where the speed varies": (
        network(
            {"jobs": open_class(1.5)},
            {
                "cpu": station(service={"jobs": 1.0}, rates=[1, 1.5], capacity=3),
                "disk": station(service={"jobs": 0.5}, discipline="ps"),
            },
        ),
        "markov-chain",
    ),
    "demands of two classes": (
        network(
            {"a": closed_class(2, 1.0), "b": open_class(0.2)},
            {
                "cpu": station(demand={"a": 1.0, "b": 0.5}),
            },
        ),
        "exact",
    ),
    "only thinking": (
        network(
            {"a": closed_class(2, 1.0), "b": closed_class(1, 3.0)},
            {
                "cpu": station(demand={"a": 1.0, "b": 0.0}),
            },
        ),
        "exact",
    ),
}


@pytest.mark.turns(5)
@pytest.mark.parametrize("name", MODELS)
def test_exact_answers_lie_within_the_intervals(name: str) -> None:
    model, method = MODELS[name]
    found, truth = seen(model), known(solve(model, method=method))
    assert outside(found, truth) == {}
    assert {each for each in found.values if not each.startswith("response_time_quantile")} <= set(
        truth
    )


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "name", ["bolch-8-5", "bolch-8-6", "lazowska-mixed", "schwetman-mixed", "bolch-8-4"]
)
def test_of_textbook_networks(name: str) -> None:
    model = load(f"queueing-network/{name}")
    assert isinstance(model, QueueingNetwork)
    assert outside(seen(model, 3), known(solve(model))) == {}


@pytest.mark.turns(4)
def test_intervals_are_narrow_enough_to_say_something() -> None:
    for model in (CENTRAL, MIXED, SWITCHING):
        for name, each in seen(model).values.items():
            if (
                name.startswith(("throughput", "response_time["))
                and each.value
                and each.high is not None
            ):
                assert each.high - each.value < 0.12 * each.value, name


@pytest.mark.turns(4)
def test_losses_are_those_of_erlang_and_of_one_server() -> None:
    load_, most = 0.8, 3
    empty = (1 - load_) / (1 - load_ ** (most + 1))
    lost = empty * load_**most
    present = sum(n * empty * load_**n for n in range(most + 1))
    one = network(
        {"jobs": open_class(load_)}, {"cpu": station(service={"jobs": 1.0}, capacity=most)}
    )
    truth = {
        "loss_probability[jobs,cpu]": lost,
        "throughput[jobs]": load_ * (1 - lost),
        "response_time[jobs]": present / (load_ * (1 - lost)),
        "queue_length[cpu]": present,
    }
    assert outside(seen(one), truth) == {}
    terms = [3.0**n / math.factorial(n) for n in range(5)]
    lines = network(
        {"calls": open_class(3.0)},
        {"lines": station(service={"calls": 1.0}, servers=4, capacity=4, scv={"calls": 4})},
    )
    assert outside(seen(lines), {"loss_probability[calls,lines]": terms[-1] / sum(terms)}) == {}


@pytest.mark.turns(4)
def test_whoever_is_lost_on_the_way_leaves_or_begins_anew() -> None:
    model = network(
        {"a": closed_class(2, 1.0), "b": open_class(0.3)},
        {
            "cpu": station(service={"a": 1.0, "b": 1.0}, visits={"a": 2.0, "b": 0.5}, capacity=2),
            "disk": station(service={"a": 1.0, "b": 0.5}, capacity=1),
        },
    )
    found = seen(model)
    truth = known(solve(model, method="markov-chain"))
    assert outside(found, truth) == {}
    assert truth["waiting_time[a,disk]"] == pytest.approx(0.0, abs=1e-9)
    # Nobody waits where one fits in.
    assert found["waiting_time[a,disk]"] == 0.0
    assert outside(found, {"time_per_visit[a,disk]": 1.0, "time_per_visit[b,disk]": 0.5}) == {}


def test_a_chain_with_losses_is_counted_where_its_cycle_ends() -> None:
    model = network(
        {},
        {
            "home": station(service={"x": 1.0, "y": 1.0}, discipline="is"),
            "bay": station(service={"x": 2.0}, capacity=1),
        },
        chains={"lorries": chain(["x", "y"], closed_class(2), ("x", "home"))},
        routing=[
            route(("x", "home"), ("x", "bay"), 0.5),
            route(("x", "home"), ("y", "home"), 0.5),
            route(("x", "bay"), ("x", "home"), 1.0),
            route(("y", "home"), ("x", "home"), 1.0),
        ],
    )
    found = seen(model)
    # One who comes to the bay, at the rate 1/2 of each x at home, is lost if the other is in it:
    # states (x, y, in bay).
    generator = np.zeros((5, 5))
    for here, there, rate in [
        (0, 1, 1.0),
        (0, 3, 1.0),
        (1, 2, 0.5),
        (1, 0, 1.0),
        (1, 4, 0.5),
        (2, 1, 2.0),
    ]:
        generator[here, there] += rate
    for here, there, rate in [(3, 4, 0.5), (3, 0, 0.5), (4, 3, 1.0), (4, 1, 0.5)]:
        generator[here, there] += rate
    generator -= np.diag(generator.sum(axis=1))
    pi = np.linalg.lstsq(
        np.vstack([generator.T, np.ones(5)]), np.array([0, 0, 0, 0, 0, 1.0]), rcond=None
    )[0]
    xs, ys, busy = np.array([2, 1, 0, 1, 0]), np.array([0, 1, 2, 0, 1]), np.array([0, 0, 0, 1, 1])
    comes = 0.5 * float(pi @ xs)
    truth = {
        "loss_probability[x,bay]": 0.5 * float(pi @ (xs * busy)) / comes,
        "throughput[x]": float(pi @ xs),
        "throughput[y]": float(pi @ ys),
        "throughput[lorries]": float(pi @ xs),
        "utilization[bay]": float(pi @ busy),
    }
    assert outside(found, truth) == {}


def test_a_speed_that_does_not_depend_on_who_is_there_is_a_faster_server() -> None:
    """Pollaczek and Khinchin's formula, of half the service time."""
    model = network(
        {"jobs": open_class(1.2)},
        {"cpu": station(service={"jobs": 1.0}, scv={"jobs": 4}, rates=[2])},
    )
    wait = 1.2 * 0.5**2 * (1 + 4) / 2 / (1 - 0.6)
    assert (
        outside(seen(model), {"response_time[jobs]": 0.5 + wait, "utilization[jobs,cpu]": 0.6})
        == {}
    )


@pytest.mark.turns(4)
@pytest.mark.parametrize("seed", [1, 2])
def test_the_parts_of_classes_in_a_utilization_vary_beside_it(seed: int) -> None:
    """With the part taken for certain the intervals were a tenth as wide, and missed."""
    cpu = station(service={"a": 0.7, "b": 0.4}, discipline="lcfs-pr", rates=(1.0, 1.5, 1.8))
    users = {"a": closed_class(3, think_time=1.0), "b": closed_class(3, think_time=0.7)}
    model = network(users, {"cpu": cpu})
    exact = known(solve(model))
    assert (
        outside(
            seen(model, seed),
            {f"utilization[{key}]": exact[f"utilization[{key}]"] for key in ("a,cpu", "b,cpu")},
        )
        == {}
    )


@pytest.mark.turns(4)
def test_quantiles_are_those_of_several_servers_without_thinking() -> None:
    model = network({"jobs": open_class(1.5)}, {"cpu": station(service={"jobs": 1.0}, servers=2)})
    truth = {
        name: each
        for name, each in known(solve(model)).items()
        if name.startswith("response_time_quantile")
    }
    assert len(truth) == 4
    assert outside(seen(model), truth) == {}
    row = {
        "a": station(service={"jobs": 1.0}),
        "b": station(service={"jobs": 0.7}),
        "c": station(service={"jobs": 0.2}),
    }
    for members in (open_class(0.8), closed_class(6, think_time=3.0)):
        model = network({"jobs": members}, row)
        truth = {
            name: each
            for name, each in known(solve(model)).items()
            if name.startswith("response_time_quantile")
        }
        assert len(truth) == 4
        assert outside(seen(model), truth) == {}
    alone = network(
        {"jobs": closed_class(1, think_time=50.0)}, {"cpu": station(service={"jobs": 1.0})}
    )
    assert outside(seen(alone), {"response_time_quantile[jobs,0.9]": math.log(10)}) == {}


def test_a_mean_number_of_visits_varies_and_the_note_says_so() -> None:
    """One customer alone: a geometric number of exponential visits takes an exponential time, and
    exactly two visits take an Erlang time.
    """
    alone = closed_class(1, think_time=50.0)
    model = network({"jobs": alone}, {"cpu": station(service={"jobs": 1.0}, visits={"jobs": 2.0})})
    found = seen(model)
    exponential = {"response_time_quantile[jobs,0.95]": 2 * math.log(20)}
    assert outside(found, exponential) == {}
    (note,) = (note for note in found.notes if "visits" in note)
    assert note == (
        "numbers of visits vary: of jobs to cpu about 2; the probability of one more does not"
        " depend on those made; with fixed numbers, high quantiles are shorter"
    )
    # Several classes have one note, which names each; the largest number comes first.
    two = {name: closed_class(1, think_time=50.0) for name in ("jobs", "sales")}
    visits = {"jobs": 2.0, "sales": 3.0}
    mixed = network(two, {"cpu": station(service=dict.fromkeys(two, 1.0), visits=visits)})
    (note,) = (note for note in seen(mixed).notes if "visits" in note)
    assert "vary: of sales to cpu about 3, of jobs to cpu about 2; " in note
    once = network({"jobs": alone}, {"cpu": station(service={"jobs": 1.0}, visits={"jobs": 1.0})})
    assert not any("visits" in note for note in seen(once).notes)
    # An activity states two visits: the sum of two exponential times, with the 95 % quantile t of
    # (1 + t) exp(-t) = 0.05.
    program = closed_model(
        delay(50.0, name="wait", scv=1, think=True)
        >> service("cpu", 1.0, name="first", scv=1)
        >> service("cpu", 1.0, name="second", scv=1),
        1,
    )
    settings = Simulation(cycles=CYCLES, kernel="compiled" if AVAILABLE else "plain")
    answer = solve(program, method="simulation", simulation=settings)
    assert answer["response_time_quantile[0.95]"] == pytest.approx(4.744, rel=0.03)


def test_the_account_adds_up_to_the_cycle() -> None:
    found = seen(CENTRAL, cycles=2000)
    assert list(found.account) == list(solve(CENTRAL).account)
    time = found["response_time[jobs]"]
    assert time is not None
    assert math.fsum(found.account.values()) - found.account["think"] == pytest.approx(
        time, rel=1e-12
    )
    assert found.account["think"] == pytest.approx(5.0, rel=0.1)
    assert seen(MIXED, cycles=500).account == {}


def test_parts_add_up_to_the_whole() -> None:
    found = {name: each.value or 0.0 for name, each in seen(MIXED, cycles=2000).values.items()}
    assert found["response_time[batch]"] == pytest.approx(
        sum(found[f"residence_time[batch,{name}]"] for name in ("cpu", "disk", "pool")), rel=1e-9
    )
    assert found["waiting_time[batch,disk]"] < found["time_per_visit[batch,disk]"]
    assert found["time_per_visit[batch,disk]"] * 3 == pytest.approx(
        found["residence_time[batch,disk]"]
    )
    assert found["queue_length[net]"] == pytest.approx(found["queue_length[web,net]"])
    assert "utilization[web,net]" not in found
    assert "waiting_time[batch,pool]" not in found


@pytest.mark.turns(4)
def test_the_same_seed_gives_the_same_answer_by_either_kernel() -> None:
    made = [
        solve(model, method="simulation", simulation=Simulation(seed=7, cycles=1500, kernel=kernel))
        for model in (MIXED, SWITCHING, LOSSY)
        for kernel in (("plain", "compiled") if AVAILABLE else ("plain", "plain"))
    ]
    assert made[0::2] == made[1::2]
    other = solve(MIXED, method="simulation", simulation=Simulation(seed=8, cycles=1500))
    assert other.values != made[0].values
    assert (made[0].seed, other.seed) == (7, 8)


def test_a_new_station_does_not_disturb_the_others_numbers() -> None:
    def model(**more: NetworkStation) -> QueueingNetwork:
        return network({"jobs": closed_class(1)}, {"cpu": station(service={"jobs": 1.0}), **more})

    alone, beside = (
        seen(each, cycles=320) for each in (model(), model(disk=station(service={"jobs": 1.0})))
    )
    assert alone["residence_time[jobs,cpu]"] == pytest.approx(
        beside["residence_time[jobs,cpu]"], rel=1e-9
    )


def test_constant_times_are_exact() -> None:
    model = network(
        {"jobs": closed_class(3, think_time=0.0)},
        {
            "cpu": station(demand={"jobs": 2.0}, scv={"jobs": 0}),
            "disk": station(demand={"jobs": 1.0}, scv={"jobs": 0}),
        },
    )
    found = compute_answers(model, {}, "simulation")[0]
    assert found.exact
    assert (found["throughput[jobs]"], found["utilization[cpu]"]) == (0.5, 1.0)
    assert found["response_time[jobs]"] == pytest.approx(6.0)


def test_only_those_who_come_to_a_station_can_fill_it() -> None:
    model = network(
        {"few": closed_class(2), "many": closed_class(5)},
        {
            "small": station(
                service={"few": 1.0, "many": 0.0}, visits={"few": 1.0, "many": 0.0}, capacity=2
            ),
            "large": station(service={"few": 0.0, "many": 0.5}, visits={"few": 0.0, "many": 1.0}),
        },
    )
    found = seen(model, cycles=4000)
    assert found["throughput[few]"] == pytest.approx(1.0, rel=0.1)
    assert found["throughput[many]"] == pytest.approx(2.0, rel=0.1)


def test_of_nobody_nothing_is_seen() -> None:
    empty = network({"jobs": closed_class(0)}, {"cpu": station(demand={"jobs": 1.0})})
    found = compute_answers(empty, {}, "simulation")[0]
    assert found.exact
    assert found.notes == ("the network has no customers and no arrivals",)
    assert {each.value for each in found.values.values()} == {0.0}
    assert found.account == {}
    half = network(
        {"jobs": closed_class(0), "web": open_class(0.0), "batch": closed_class(1)},
        {"cpu": station(demand={"jobs": 1.0, "web": 1.0, "batch": 1.0}, discipline="ps")},
    )
    found = seen(half, cycles=500)
    assert (found["throughput[jobs]"], found["response_time[jobs]"], found["throughput[web]"]) == (
        0.0,
        0.0,
        0.0,
    )
    assert "response_time[web]" not in found.values
    assert found["utilization[cpu]"] == pytest.approx(1.0)


LOOP = network(
    {"jobs": closed_class(3)},
    {"cpu": station(service={"jobs": 1.0}, capacity=2), "disk": station(service={"jobs": 1.0})},
)
REFUSED: list[tuple[QueueingNetwork, str]] = [
    (
        network({"jobs": open_class(2.0)}, {"cpu": station(service={"jobs": 1.0})}),
        (
            "station cpu is saturated: arrivals need 2 s of service a second, and it gives"
            " less than 1; lower the arrivals, shorten the demand, or add servers"
        ),
    ),
    (
        network({"jobs": closed_class(2)}, {"cpu": station(service={"jobs": 0.0})}),
        "a cycle of jobs takes no time: all its demands and its think time are 0",
    ),
    (
        network(
            {"jobs": closed_class(50_000)}, {"cpu": station(service={"jobs": 1.0}, discipline="ps")}
        ),
        (
            "a simulation follows each customer, and jobs has 50,000, so 2.5e+09 pairs share"
            " servers; the limit is 2,000,000,000: ask for an approximate method, or allow more"
            " with --limit shares=2.6e+09 (limits: in a study, limits= in Python)"
        ),
    ),
    (
        network({"jobs": closed_class(2_000_000)}, {"cpu": station(service={"jobs": 1.0})}),
        (
            "a simulation follows each customer, and jobs has 2,000,000; the limit is 1,000,000:"
            " ask for an approximate method, or allow more with --limit customers=2.1e+06 (limits:"
            " in a study, limits= in Python)"
        ),
    ),
    (
        LOOP,
        (
            "a cycle of jobs may begin at cpu, which may be full: a lost customer would come back"
            " at the same instant; give jobs a think time, or cpu more capacity; no other method"
            " has an answer here"
        ),
    ),
    (
        network({"jobs": closed_class(2)}, {"cpu": station(service={"jobs": 1.0}, rates=[0, 2])}),
        (
            "station cpu: a simulation needs every rate to be above 0, got 0; no other method has"
            " an answer here"
        ),
    ),
]


@pytest.mark.turns(8)
@pytest.mark.parametrize(("model", "words"), REFUSED, ids=range(len(REFUSED)))
def test_what_cannot_be_simulated_is_named(model: QueueingNetwork, words: str) -> None:
    assert compute_answers(model, {}, "simulation")[0].failed == words


def test_a_capacity_that_nobody_reaches_loses_nobody() -> None:
    roomy = network({"jobs": closed_class(2)}, {"cpu": station(service={"jobs": 1.0}, capacity=2)})
    assert seen(roomy, cycles=500)["loss_probability[jobs,cpu]"] == 0.0


def test_points_of_a_sweep_are_what_they_are_alone() -> None:
    settings = Simulation(seed=3, cycles=4000)
    form = form_of(CENTRAL, {}, "simulation", settings)
    assert form.quantity == "response_time[jobs]"
    assert form.unit("low[response_time[jobs]]") == form.unit("residence_time[jobs,cpu]") == "s"
    points = form.points({"classes.jobs.population": np.array([1.0, 20.0, 2.5])})
    columns = points.columns()
    assert points.answer(1) == solve(CENTRAL, method="simulation", simulation=settings)
    assert (
        columns["low[response_time[jobs]]"][1] == points.answer(1).values["response_time[jobs]"].low
    )
    assert columns["response_time[jobs]"][0] < columns["response_time[jobs]"][1]
    assert np.isnan(columns["response_time[jobs]"][2])
    assert (
        points.answer(2).failed
        == "classes.jobs.population must be a whole number that is not negative, got 2.5"
    )


@pytest.mark.turns(4)
def test_shares_come_from_differences_and_are_those_of_mean_values() -> None:
    small = network(
        {"jobs": closed_class(4, 1.0)},
        {name: station(demand={"jobs": each}) for name, each in (("cpu", 0.5), ("disk", 0.2))},
    )
    settings = Simulation(seed=2, cycles=20_000, shares=2)
    found, exact = solve(small, method="simulation", simulation=settings), solve(small)
    wanted = exact.share["response_time[jobs]"]
    assert (
        list(found.share["response_time[jobs]"])
        == sorted(wanted, key=lambda name: -abs(wanted[name]))[:2]
    )
    for name, each in found.share["response_time[jobs]"].items():
        assert each == pytest.approx(wanted[name], rel=0.05)
        assert found.gradient["response_time[jobs]"][name] == pytest.approx(
            exact.gradient["response_time[jobs]"][name], rel=0.05
        )
    assert found.notes[-1].startswith("shares of the largest 2 by differences of 2 %")
    nobody = network(
        {"web": open_class(0.0), "jobs": closed_class(1)},
        {"cpu": station(demand={"web": 1.0, "jobs": 1.0})},
    )
    assert solve(nobody, method="simulation", simulation=settings).share == {}


def test_simulation_is_held_against_exact_methods_by_response_time() -> None:
    answers = [
        each
        for name in ("exact", "simulation", "bounds")
        for each in compute_answers(CENTRAL, {}, name)
    ]
    found = agreement("central", answers)
    assert found.findings == ()
    assert found.verdicts[0].startswith("exact is ")


def test_a_queue_that_grows_while_no_cycle_ends_is_followed_a_quarter_as_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("slipstick.sim.run._MOST_EVENTS_WITHOUT_ROW", 80_000)
    cpu = station(service={"web": 0.25, "batch": 2.5e8})
    blocked = network({"web": open_class(1.0), "batch": closed_class(3)}, {"cpu": cpu})
    with pytest.raises(NoAnswerError) as caught:
        solve(blocked, method="simulation", simulation=Simulation(seed=1, events=10_000_000))
    events = int(str(caught.value).removeprefix("no cycle has ended after ").partition(" ")[0])
    assert 20_000 < events < 20_030 + 16_384  # it is looked at after each stretch
