"""Answers on queueing networks: names, account, shares, sweeps; against recursions and laws
written out here.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slipstick import (
    Parameter,
    QueueingNetwork,
    chain,
    closed_class,
    network,
    open_class,
    route,
    solve,
    station,
)
from slipstick.answer import Answer
from slipstick.errors import NoAnswerError
from slipstick.method.methods import compute_answers, form_of
from slipstick.method.networks.form import CompiledNetwork
from slipstick.model.network import CustomerClass
from slipstick.vocabulary import METHODS

THINK, DEMANDS = 5.0, {"cpu": 0.2, "fast": 0.09, "slow": 0.12}
CENTRAL = network(
    {"jobs": closed_class(20, think_time=THINK)},
    {name: station(demand={"jobs": each}) for name, each in DEMANDS.items()},
)
MIXED = network(
    {"batch": closed_class(3, think_time=1.0), "web": open_class(2.0)},
    {
        "cpu": station(demand={"batch": 0.05, "web": 0.1}, discipline="ps"),
        "disk": station(
            service={"batch": 0.02, "web": 0.02}, visits={"batch": 3, "web": 2}, servers=2
        ),
        "net": station(demand={"web": 0.3}, discipline="is"),
        "pool": station(demand={"batch": 0.01}, discipline="ps", rates=[1, 1.5, 2]),
    },
)
LOSSY = network({"jobs": open_class(0.5)}, {"cpu": station(demand={"jobs": 1.0}, capacity=3)})
SWITCHING = network(
    {},
    {
        "cpu": station(service={"a": 0.01, "b": 0.05}, discipline="ps"),
        "disk": station(service={"a": 0.07, "b": 0.07}),
    },
    chains={"users": chain(["a", "b"], closed_class(4, think_time=0.2), ("a", "cpu"))},
    routing=[
        route(("a", "cpu"), ("a", "disk"), 0.7),
        route(("a", "cpu"), ("b", "cpu"), 0.3),
        route(("b", "cpu"), ("b", "disk"), 0.6),
        route(("b", "cpu"), ("a", "cpu"), 0.4),
        route(("a", "disk"), ("a", "cpu"), 1.0),
        route(("b", "disk"), ("b", "cpu"), 1.0),
    ],
)
EXACT, ALL = (
    ("exact", "convolution"),
    ("exact", "convolution", "schweitzer", "linearizer", "markov-chain"),
)


def recursion(size: int) -> tuple[float, dict[str, float]]:
    """Return throughput and queues of CENTRAL by mean value analysis as the textbooks print it."""
    queues, rate = dict.fromkeys(DEMANDS, 0.0), 0.0
    for n in range(1, size + 1):
        times = {name: demand * (1 + queues[name]) for name, demand in DEMANDS.items()}
        rate = n / (THINK + sum(times.values()))
        queues = {name: rate * time for name, time in times.items()}
    return rate, queues


def known(answer: Answer, name: str) -> float:
    value = answer[name]
    assert value is not None
    return value


@pytest.mark.parametrize("method", EXACT)
def test_the_answer_is_that_of_the_textbook_recursion(method: str) -> None:
    answer, (rate, queues) = solve(CENTRAL, method=method), recursion(20)
    assert answer.exact
    assert answer["throughput[jobs]"] == pytest.approx(rate, rel=1e-12)
    assert answer["response_time[jobs]"] == pytest.approx(20 / rate - THINK, rel=1e-11)
    for name, each in queues.items():
        assert answer[f"queue_length[jobs,{name}]"] == pytest.approx(each, rel=1e-11)
        assert answer[f"utilization[jobs,{name}]"] == pytest.approx(rate * DEMANDS[name], rel=1e-12)
        assert answer[f"residence_time[jobs,{name}]"] == pytest.approx(each / rate, rel=1e-11)
    assert answer["saturation_population[jobs]"] == pytest.approx(
        (THINK + sum(DEMANDS.values())) / 0.2
    )


def test_every_method_is_near_the_exact_one() -> None:
    exact = solve(MIXED)
    for method in ("convolution", "schweitzer", "linearizer"):
        answer = solve(MIXED, method=method)
        assert answer.method == method
        assert answer.exact == (method in EXACT)
        assert answer["throughput[batch]"] == pytest.approx(exact["throughput[batch]"], rel=0.02)
    error, steps = solve(MIXED, method="linearizer").notes[:2]
    assert error.startswith("typical error: throughput ")
    assert "iterations" in steps


def test_the_best_that_applies_is_chosen() -> None:
    many = network(
        {name: closed_class(100) for name in "abcd"},
        {
            "cpu": station(demand=dict.fromkeys("abcd", 1.0)),
            "disk": station(demand=dict.fromkeys("abcd", 2.0)),
        },
    )
    unequal = network(
        {"a": closed_class(2, 1.0), "b": closed_class(2, 1.0)},
        {
            "cpu": station(service={"a": 1.0, "b": 3.0}),
            "disk": station(service={"a": 1.0, "b": 1.0}),
        },
    )
    assert [solve(each).method for each in (CENTRAL, many, unequal, LOSSY)] == [
        "exact",
        "linearizer",
        "markov-chain",
        "markov-chain",
    ]


def test_per_visit_and_per_cycle_go_together() -> None:
    answer = solve(MIXED)
    for place in ("batch,disk", "web,disk"):
        visits = 3 if place.startswith("batch") else 2
        assert known(answer, f"time_per_visit[{place}]") * visits == pytest.approx(
            answer[f"residence_time[{place}]"]
        )
        assert known(answer, f"waiting_time[{place}]") == pytest.approx(
            known(answer, f"time_per_visit[{place}]") - 0.02
        )
    assert answer["waiting_time[web,net]"] == 0.0
    assert "utilization[web,net]" not in answer.values
    assert "waiting_time[batch,pool]" not in answer.values
    total = known(answer, "queue_length[batch,disk]") + known(answer, "queue_length[web,disk]")
    assert answer["queue_length[disk]"] == pytest.approx(total)


def test_a_station_of_rates_is_busy_when_it_is_not_empty() -> None:
    answer = solve(MIXED)
    assert answer["utilization[pool]"] == pytest.approx(1 - known(answer, "probability[pool,0]"))


def test_probabilities_add_up_and_give_the_queue() -> None:
    answer = solve(CENTRAL)
    chances = [known(answer, f"probability[cpu,{n}]") for n in range(21)]
    assert math.fsum(chances) == pytest.approx(1.0)
    assert sum(n * each for n, each in enumerate(chances)) == pytest.approx(
        answer["queue_length[cpu]"]
    )
    assert 1 - chances[0] == pytest.approx(answer["utilization[cpu]"])


@pytest.mark.turns(4)
@pytest.mark.parametrize("method", EXACT)
def test_probabilities_are_of_all_who_are_present_streams_among_them(method: str) -> None:
    stations = {
        "one": station(service={"batch": 0.3, "web": 0.3}),
        "two": station(service={"batch": 0.5, "web": 0.5}, servers=2),
        "fast": station(demand={"batch": 0.1, "web": 0.3}, discipline="ps", rates=[1, 1.3, 1.9]),
    }
    for name, each in stations.items():
        mixed = network(
            {"batch": closed_class(2, think_time=1.0), "web": open_class(0.5)}, {name: each}
        )
        exact, markov = solve(mixed, method=method), solve(mixed, method="markov-chain")
        chances = [known(exact, f"probability[{name},{n}]") for n in range(100)]
        assert chances[:20] == pytest.approx(
            [known(markov, f"probability[{name},{n}]") for n in range(20)], abs=1e-9
        )
        assert math.fsum(chances) == pytest.approx(1.0)
        assert sum(n * each for n, each in enumerate(chances)) == pytest.approx(
            exact[f"queue_length[{name}]"]
        )


def test_approximate_quantiles_do_not_depend_on_the_unit_of_time() -> None:
    def quantiles(unit: float) -> list[float | None]:
        stations = {
            name: station(service={"web": time * unit}, discipline="ps")
            for name, time in (("cpu", 0.3), ("disk", 0.2))
        }
        answer = solve(network({"web": open_class(1.5 / unit)}, stations))
        return [answer[f"response_time_quantile[web,{p}]"] for p in (0.5, 0.9, 0.95, 0.99)]

    seconds, milliseconds = quantiles(1.0), quantiles(1e-3)
    assert all(seconds)
    assert [1e3 * (each or 0.0) for each in milliseconds] == pytest.approx(seconds, rel=1e-6)


@pytest.mark.turns(4)
def test_an_answer_lists_the_probabilities_of_the_first_hundred_thousand_customers() -> None:
    answer = solve(
        network({"jobs": closed_class(100_500)}, {"cpu": station(demand={"jobs": 1.0}, servers=2)})
    )
    listed = [name for name in answer.names if name.startswith("probability[")]
    assert listed == [f"probability[cpu,{n}]" for n in range(100_000)]


def test_probabilities_of_a_stream_alone_are_geometric() -> None:
    answer = solve(network({"web": open_class(0.5)}, {"cpu": station(demand={"web": 1.0})}))
    assert [answer[f"probability[cpu,{n}]"] for n in range(4)] == pytest.approx(
        [0.5, 0.25, 0.125, 0.0625]
    )


def test_the_account_of_a_cycle_adds_up_to_it() -> None:
    answer = solve(CENTRAL)
    assert list(answer.account) == [
        "think",
        "cpu",
        "wait:cpu",
        "fast",
        "wait:fast",
        "slow",
        "wait:slow",
    ]
    assert math.fsum(answer.account.values()) == pytest.approx(
        THINK + known(answer, "response_time[jobs]")
    )
    assert [answer.account[name] for name in DEMANDS] == pytest.approx(list(DEMANDS.values()))
    assert solve(MIXED).account == {}


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "model", [CENTRAL, MIXED, SWITCHING, LOSSY], ids=["central", "mixed", "switching", "lossy"]
)
def test_shares_of_times_and_rates_add_up_to_one(model: QueueingNetwork) -> None:
    share = solve(model).share
    assert set(share) == {
        name for name in solve(model).values if name.startswith(("throughput", "response_time"))
    }
    for name, each in share.items():
        assert math.fsum(each.values()) == pytest.approx(1.0, abs=1e-9), name


@pytest.mark.turns(4)
@pytest.mark.parametrize("method", ALL)
def test_derivatives_are_those_of_small_differences(method: str) -> None:
    model = network(
        {"jobs": closed_class(4, think_time=1.0)},
        {
            "cpu": station(service={"jobs": 0.2}, visits={"jobs": 2}),
            "disk": station(demand={"jobs": 0.3}),
        },
    )
    slopes = solve(model, method=method).gradient
    form = form_of(model, {}, method)
    values = {
        each.name: each.value or 0.0
        for _, each in model.quantities.items()
        if isinstance(each, Parameter)
    }
    for name, slope in slopes["throughput[jobs]"].items():
        here, step = form.points({}), 1e-5
        value = values[name]
        ends = form.points({name: np.array([value - step, value + step])}).columns()[
            "throughput[jobs]"
        ]
        assert slope == pytest.approx((ends[1] - ends[0]) / (2 * step), rel=1e-5), name
        assert len(here) == 1
    assert "classes.jobs.population" not in slopes["throughput[jobs]"]


def test_a_chain_is_its_classes() -> None:
    answer = solve(SWITCHING)
    label = SWITCHING.chains["users"].reference[0]
    assert answer["throughput[users]"] == pytest.approx(answer[f"throughput[{label}]"])
    present = [
        known(answer, f"response_time[{name}]") * known(answer, f"throughput[{name}]")
        for name in ("a", "b", "users")
    ]
    assert present[0] + present[1] == pytest.approx(present[2])
    cycle = 0.2 + known(answer, "response_time[users]")
    assert known(answer, "throughput[users]") * cycle == pytest.approx(4.0)
    assert math.fsum(answer.account.values()) == pytest.approx(cycle)
    # Both wait equally long for the disk, whatever they are.
    assert answer["waiting_time[a,disk]"] == pytest.approx(answer["waiting_time[b,disk]"])


def test_an_open_chain_takes_in_what_arrives() -> None:
    ways = [route(("a", "cpu"), None, 0.25), route(("a", "cpu"), ("a", "cpu"), 0.75)]
    stations = {"cpu": station(service={"a": 0.1})}
    answer = solve(
        network(
            {}, stations, chains={"web": chain(["a"], open_class(2.0), ("a", "cpu"))}, routing=ways
        )
    )
    assert answer["throughput[a]"] == answer["throughput[web]"] == 2.0
    assert answer["utilization[a,cpu]"] == pytest.approx(0.8)
    assert answer["response_time[a]"] == pytest.approx(0.4 / (1 - 0.8))


def test_a_station_that_is_full_loses_who_arrives() -> None:
    answer = solve(LOSSY)
    lost = 0.5**3 / sum(0.5**n for n in range(4))
    assert answer["loss_probability[jobs,cpu]"] == pytest.approx(lost)
    assert answer["throughput[jobs]"] == pytest.approx(0.5 * (1 - lost))
    with pytest.raises(NoAnswerError) as caught:
        solve(LOSSY, method="exact")
    assert (
        str(caught.value)
        == "cpu has a capacity, which the method exact does not take; ask for markov-chain or"
        " simulation"
    )


class TestSweeps:
    """Many points are one call, and each is what it is alone."""

    @pytest.mark.parametrize("method", ["exact", "schweitzer", "markov-chain"])
    def test_each_point_is_what_it_is_alone(self, method: str) -> None:
        form = CompiledNetwork(CENTRAL, method)
        sizes, demands = np.array([0.0, 1.0, 2.0, 5.0]), np.array([0.1, 0.2, 0.3, 0.4])
        many = form.points({"classes.jobs.population": sizes, "stations.cpu.demand.jobs": demands})
        columns = many.columns()
        for index in range(4):
            given = {
                "classes.jobs.population": sizes[index],
                "stations.cpu.demand.jobs": demands[index],
            }
            alone = form.points(given).answer(0)
            assert many.answer(index).values.keys() <= alone.values.keys()
            for name, value in many.answer(index).values.items():
                assert value.value == pytest.approx(alone[name], rel=1e-9, abs=1e-12), name
                assert columns.get(name, [value.value] * 4)[index] == pytest.approx(
                    value.value, nan_ok=True
                )

    def test_the_curve_over_customers_is_the_recursion(self) -> None:
        sizes = np.arange(1, 51)
        times = CompiledNetwork(CENTRAL, "best").times(
            {"classes.jobs.population": sizes.astype(float)}
        )
        assert times == pytest.approx([n / recursion(int(n))[0] - THINK for n in sizes], rel=1e-9)

    def test_probabilities_are_columns_too(self) -> None:
        columns = (
            CompiledNetwork(CENTRAL, "best")
            .points({"classes.jobs.population": np.array([1.0, 3.0])})
            .columns()
        )
        assert columns["probability[cpu,1]"][0] == pytest.approx(columns["utilization[cpu]"][0])
        assert sum(columns[f"probability[cpu,{n}]"] for n in range(4)) == pytest.approx(np.ones(2))
        assert columns["probability[cpu,3]"][0] == 0.0

    def test_points_without_an_answer_leave_the_others_alone(self) -> None:
        form = CompiledNetwork(
            network({"web": open_class(1.0)}, {"cpu": station(demand={"web": 1.0})}), "best"
        )
        points = form.points({"classes.web.arrivals": np.array([0.5, 1.0, 0.8, -1.0, 1.5])})
        assert points.columns()[form.quantity] == pytest.approx(
            [2.0, math.nan, 5.0, math.nan, math.nan], nan_ok=True
        )
        assert points.answer(2)["response_time[web]"] == pytest.approx(5.0)
        assert [points.answer(index).failed for index in (1, 3)] == [
            (
                "station cpu is saturated: arrivals need 1 s of service a second, and it"
                " gives less than 1; lower the arrivals, shorten the demand, or add servers"
            ),
            "classes.web.arrivals must be a finite number that is not negative, got -1",
        ]

    def test_a_point_that_only_the_solver_refuses_leaves_the_others_alone(self) -> None:
        form = CompiledNetwork(
            network({"jobs": closed_class(2)}, {"cpu": station(demand={"jobs": 1.0})}), "exact"
        )
        points = form.points({"stations.cpu.demand.jobs": np.array([1.0, 0.0, 3.0])})
        assert points.columns()[form.quantity] == pytest.approx([2.0, math.nan, 6.0], nan_ok=True)
        assert (
            points.answer(1).failed
            == "a cycle of jobs takes no time: all its demands and its think time are 0"
        )

    def test_probabilities_of_routing_vary_together(self) -> None:
        form = CompiledNetwork(SWITCHING, "exact")
        points = form.points(
            {
                "routing.0.probability": np.array([0.7, 0.5, 0.5]),
                "routing.1.probability": np.array([0.3, 0.5, 0.4]),
            }
        )
        assert np.isfinite(points.columns()[form.quantity]).tolist() == [True, True, False]
        assert (
            points.answer(2).failed
            == "the probabilities of leaving cpu as a add up to 0.9, not to 1"
        )


class TestEdges:
    """What has hardly anything in it."""

    @pytest.mark.parametrize("method", ALL)
    def test_nobody_does_nothing(self, method: str) -> None:
        answer = solve(CENTRAL, {"classes.jobs.population": 0.0}, method=method)
        assert {
            answer[name]
            for name in answer.values
            if not name.startswith(("saturation", "probability"))
        } == {0.0}
        assert answer.account == {}

    def test_who_only_thinks_never_waits(self) -> None:
        answer = solve(network({"jobs": closed_class(3, think_time=2.0)}, {}))
        assert (answer["throughput[jobs]"], answer["response_time[jobs]"]) == (1.5, 0.0)
        assert answer.account == {"think": 2.0}

    def test_one_station_holds_everybody(self) -> None:
        answer = solve(network({"jobs": closed_class(7)}, {"cpu": station(demand={"jobs": 0.5})}))
        assert (answer["queue_length[cpu]"], answer["utilization[cpu]"]) == pytest.approx(
            (7.0, 1.0)
        )

    def test_no_demand_at_one_station_is_no_station(self) -> None:
        answer = solve(CENTRAL, {"stations.slow.demand.jobs": 0.0})
        left = {name: station(demand={"jobs": DEMANDS[name]}) for name in ("cpu", "fast")}
        other = solve(network({"jobs": closed_class(20, think_time=THINK)}, left))
        assert answer["throughput[jobs]"] == pytest.approx(other["throughput[jobs]"], rel=1e-12)

    def test_more_servers_than_customers_are_a_delay(self) -> None:
        answer = solve(
            network(
                {"jobs": closed_class(3, think_time=2.0)},
                {"cpu": station(demand={"jobs": 1.0}, servers=8)},
            )
        )
        assert (answer["throughput[jobs]"], answer["waiting_time[jobs,cpu]"]) == pytest.approx(
            (1.0, 0.0)
        )

    def test_half_a_customer_is_refused(self) -> None:
        with pytest.raises(NoAnswerError) as caught:
            solve(CENTRAL, {"classes.jobs.population": 2.5})
        assert (
            str(caught.value)
            == "classes.jobs.population must be a whole number that is not negative, got 2.5"
        )

    def test_demands_of_several_classes_in_order_are_visits_of_one_service_time(self) -> None:
        demands: dict[str, dict[str, float]] = {
            "cpu": {"a": 1.0, "b": 2.0},
            "disk": {"a": 3.0, "b": 4.0},
        }
        pair = {"a": closed_class(1), "b": closed_class(1)}
        first = solve(network(pair, {name: station(demand=each) for name, each in demands.items()}))
        shared = solve(
            network(
                pair,
                {name: station(demand=each, discipline="ps") for name, each in demands.items()},
            )
        )
        assert first["throughput[a]"] == pytest.approx(shared["throughput[a]"])
        assert (
            first.notes[-1]
            == "disk is first come first served: the demands of several classes there are read as"
            " visits of one service time; give service and visits to say otherwise"
        )


@pytest.mark.parametrize(("servers", "rate"), [(1, 0.5), (3, 2.5), (3, 2.0), (2, 1e-9)])
def test_quantiles_are_where_the_distribution_says(servers: int, rate: float) -> None:
    answer = solve(
        network({"web": open_class(rate)}, {"cpu": station(demand={"web": 1.0}, servers=servers)})
    )
    terms = [rate**n / math.factorial(n) for n in range(servers)]
    last = rate**servers / math.factorial(servers) / (1 - rate / servers)
    waits, slack = last / (sum(terms) + last), servers - rate
    for q in (0.5, 0.9, 0.95, 0.99):
        t = known(answer, f"response_time_quantile[web,{q:g}]")
        # Served at once, or after an exponential wait: the integral of one density against the
        # other's tail.
        grid = np.linspace(0, t, 20_001)
        waiting = np.trapezoid(
            slack * np.exp(-slack * grid) * np.exp(-(t - grid)), grid
        ) + math.exp(-slack * t)
        assert (1 - waits) * math.exp(-t) + waits * waiting == pytest.approx(1 - q, rel=1e-6)


TWO = {name: station(service={"web": 1.0}) for name in ("cpu", "disk")}
WIDE = {**TWO, "out": station(service={"web": 0.1})}


@pytest.mark.parametrize(
    ("model", "p50", "p95", "p99"),
    [
        # Two stations of rates 1 and 0.5 after the load: P(T > t) = 2 exp(-t/2) - exp(-t).
        (
            network(
                {"web": open_class(1.0)},
                {"a": station(service={"web": 0.5}), "b": station(service={"web": 2 / 3})},
            ),
            2.455894,
            7.352277,
            10.591616,
        ),
        # One other customer in a ring of two: an Erlang time of three phases.
        (network({"web": closed_class(2)}, TWO), 2.674060, 6.295794, 8.405947),
        (
            network(
                {"web": closed_class(3)},
                {"a": station(service={"web": 1.0}), "b": station(service={"web": 0.5})},
            ),
            2.897825,
            6.476793,
            8.574533,
        ),
        (network({"web": closed_class(5)}, TWO), 5.670161, 10.513035, 13.108484),
    ],
    ids=["open", "Erlang", "ring of three", "ring of five"],
)
def test_quantiles_without_overtaking(
    model: QueueingNetwork, p50: float, p95: float, p99: float
) -> None:
    answer = solve(model)
    for q, expected in ((0.5, p50), (0.95, p95), (0.99, p99)):
        assert answer[f"response_time_quantile[web,{q:g}]"] == pytest.approx(expected, abs=2e-6)


def test_quantiles_are_exact_where_nobody_overtakes_and_have_an_error_elsewhere() -> None:
    again = network(
        {"web": open_class(0.2)}, {"cpu": station(service={"web": 1.0}, visits={"web": 2})}
    )
    varied = network(
        {"web": open_class(0.5)},
        {"cpu": station(demand={"web": 1.0}, discipline="ps", scv={"web": 4.0})},
    )
    for model in (again, varied):
        assert "response_time_quantile[web,0.5]" not in solve(model).values
    shared = network(
        {"web": open_class(0.5)}, {"cpu": station(demand={"web": 1.0}, discipline="ps")}
    )
    middle = {**WIDE, "disk": station(service={"web": 1.0}, servers=2)}
    short = {name: station(service={"web": 0.1, "fast": 0.1}) for name in ("cpu", "disk", "out")}
    short["disk"] = station(service={"web": 0.1})
    streams = {"web": open_class(0.5), "fast": open_class(0.1)}
    for model in (shared, network({"web": open_class(0.5)}, middle), network(streams, short)):
        answer = solve(model)
        found = answer.values["response_time_quantile[web,0.99]"]
        assert found.value is not None
        assert found.ends == pytest.approx((found.value * 0.87, found.value * 1.13))
        assert any("assume independent visits of a customer" in note for note in answer.notes)
    # Who takes the short cut is overtaken by nobody.
    assert solve(network(streams, short)).values["response_time_quantile[fast,0.5]"].ends == (
        None,
        None,
    )
    delay = solve(
        network({"web": open_class(0.5)}, {"net": station(demand={"web": 2.0}, discipline="is")})
    )
    assert delay["response_time_quantile[web,0.5]"] == pytest.approx(2.0 * math.log(2.0))
    counted = network(
        {"web": open_class(0.5), "more": open_class(0.1)},
        {"cpu": station(service={"web": 1.0, "more": 1.0}, visits={"more": 2})},
    )
    assert solve(counted)["response_time_quantile[web,0.5]"] == pytest.approx(
        math.log(2.0) / (1 - 0.7)
    )


@given(
    st.lists(st.floats(0.01, 1.0), min_size=1, max_size=4),
    st.integers(1, 12),
    st.just(0.0) | st.floats(1e-100, 5.0),
    st.sampled_from(EXACT),
)
def test_bounds_enclose_and_nobody_is_lost(
    demands: list[float], size: int, think: float, method: str
) -> None:
    stations = {f"s{index}": station(demand={"jobs": each}) for index, each in enumerate(demands)}
    model = network({"jobs": closed_class(size, think_time=think)}, stations)
    answer = solve(model, method=method)
    there = math.fsum(known(answer, f"queue_length[{name}]") for name in stations)
    assert there + known(answer, "throughput[jobs]") * think == pytest.approx(size, rel=1e-9)
    for each in compute_answers(model, {}, "bounds"):
        for name, value in each.values.items():
            if value.low is not None and value.high is not None:
                assert value.low * (1 - 1e-9) <= known(answer, name) <= value.high * (1 + 1e-9), (
                    each.method,
                    name,
                )


def test_every_method_of_networks_is_in_the_table() -> None:
    assert [*METHODS["queueing-network"]] == ["best", *ALL, "simulation", "bounds"]


def test_more_may_come_than_can_be_served_where_the_others_are_lost() -> None:
    """M/M/1/K at load a: P(n) = a^n / sum."""
    load, most = 1.5, 3
    chances = [load**n / sum(load**k for k in range(most + 1)) for n in range(most + 1)]
    alone: dict[str, CustomerClass] = {"jobs": open_class(load)}
    for classes in (alone, {**alone, "batch": closed_class(1, think_time=1.0)}):
        service = {"jobs": 1.0} if len(classes) == 1 else {"jobs": 1.0, "batch": 0.0}
        answer = solve(network(classes, {"cpu": station(service=service, capacity=most)}))
        assert answer["loss_probability[jobs,cpu]"] == pytest.approx(chances[-1])


@pytest.mark.turns(4)
def test_the_throughput_of_a_class_that_customers_change_to_is_its_own() -> None:
    members = open_class(1.25)
    chains = {"pages": chain(["first", "second", "third"], members, ("first", "database"))}
    first, second, third = ((label, "database") for label in ("first", "second", "third"))
    model = network(
        {},
        {
            "database": station(
                service={"first": 0.05, "second": 0.05, "third": 0.5}, discipline="ps"
            )
        },
        chains=chains,
        routing=[
            route(first, second, 1.0),
            route(second, third, 0.6),
            route(second, first, 0.4),
            route(third, None, 1.0),
        ],
    )
    # 5 / 3 visits by the first two classes for one by the third.
    expected = {"first": 1.25 / 0.6, "second": 1.25 / 0.6, "third": 1.25}
    answer = solve(model)
    simulated = solve(model, method="simulation")
    for label, rate in expected.items():
        assert answer[f"throughput[{label}]"] == pytest.approx(rate)
        assert simulated[f"throughput[{label}]"] == pytest.approx(rate, rel=0.03)


def test_probabilities_of_very_many_numbers_are_left_to_convolution() -> None:
    """A thousand stations of a hundred customers would have 100,000 values that no one reads."""
    customers = 100
    stations = {f"s{place}": station(service={"jobs": 0.01}) for place in range(300)}
    model = network({"jobs": closed_class(customers)}, stations)
    assert not [name for name in solve(model).values if name.startswith("probability[")]
    few = network({"jobs": closed_class(customers)}, dict(list(stations.items())[:3]))
    answer = solve(few)
    assert answer["probability[s2,100]"] == pytest.approx(1 / (51 * 101), rel=1e-9)


@pytest.mark.parametrize("think_time", [0.0, 2.0])
def test_a_class_of_no_customers_has_no_shares_and_no_warning(think_time: float) -> None:
    model = network(
        {"jobs": closed_class(0, think_time=think_time)},
        {"cpu": station(service={"jobs": 0.2}, visits={"jobs": 2})},
    )
    answer = solve(model, method="exact")
    assert answer["throughput[jobs]"] == 0
    assert not any(shares for shares in dict(answer.share).values())
    assert not any(map(np.isnan, answer.gradient.get("throughput[jobs]", {}).values()))
