"""What large networks cost: counted, announced or refused before it is paid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from slipstick import QueueingNetwork, chain, closed_class, network, route, solve, station
from slipstick.answer import DeferredShares
from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import COUNT, TIME, Number, Parameter
from slipstick.limits import ANNOUNCE, LIMITS, with_limits
from slipstick.method.answers import BLOCK
from slipstick.method.methods import form_of
from slipstick.method.networks.form import CompiledNetwork
from slipstick.queueing.approximate import linearizer, schweitzer
from slipstick.queueing.network import network_arrays
from slipstick.report.answer import answer_text
from slipstick.results.question import answer_document
from slipstick_chains.networks.build import routing_in_order


def stations_of(count: int, customers: int) -> QueueingNetwork:
    return network(
        {"jobs": closed_class(customers, think_time=1.0)},
        {f"s{k}": station(service={"jobs": 0.01 / count * (1 + k % 7)}) for k in range(count)},
    )


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list that grows with each computation of derivatives."""
    computations: list[str] = []
    compute = CompiledNetwork._slopes

    def counted(form: CompiledNetwork, here: Mapping[str, float], *more: Any) -> Any:
        computations.append(form.model.name)
        return compute(form, here, *more)

    monkeypatch.setattr(CompiledNetwork, "_slopes", counted)
    return computations


def test_an_answer_computes_its_derivatives_once_when_they_are_read(computed: list[str]) -> None:
    answer = solve(stations_of(3, 10))
    assert answer["throughput[jobs]"]
    assert not computed
    assert sum(answer.share["response_time[jobs]"].values()) == pytest.approx(1.0)
    assert answer.share["response_time[jobs]"]
    assert len(computed) == 1


def test_a_screen_leaves_shares_out_that_take_long(
    computed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = solve(stations_of(3, 10))
    monkeypatch.setattr("slipstick.report.answer.MOST_SECONDS_OF_SHARES", 0.0)
    text = answer_text(answer)
    assert not computed
    assert "what shortens" not in text
    assert "slipstick solve --all adds: shares (about 0 s of processor time)" in text
    assert "what shortens response_time[jobs]" in answer_text(answer, in_full=True)
    assert answer_document(solve(stations_of(3, 10)))["share"]["response_time[jobs]"]


@pytest.mark.turns(4)
def test_a_thousand_stations_are_shown_with_shares(computed: list[str]) -> None:
    answer = solve(stations_of(1000, 1000))
    assert isinstance(answer.share, DeferredShares)
    # 1,001 parameters x 2 numbers at each station at 50 ns.
    assert answer.share.seconds == pytest.approx(0.1, rel=0.01)
    assert not computed
    assert "what shortens response_time[jobs]" in answer_text(answer)
    assert sum(answer.share["response_time[jobs]"].values()) == pytest.approx(1.0)


@pytest.mark.parametrize("customers", [1, 2, 40])
@pytest.mark.parametrize("think_time", [0.0, 0.02, 30.0])
def test_shares_of_one_class_by_its_queues_are_those_of_complex_steps(
    monkeypatch: pytest.MonkeyPatch, customers: int, think_time: float
) -> None:
    model = network(
        {"jobs": closed_class(customers, think_time=think_time)},
        {
            "cpu": station(demand={"jobs": 0.3}, discipline="ps"),
            "disk": station(service={"jobs": 0.02}, visits={"jobs": 7.0}),
            "idle": station(service={"jobs": 1e-6}, visits={"jobs": 0.25}, scv={"jobs": 1.0}),
        },
    )
    answer = solve(model)
    gradient = {name: dict(slopes) for name, slopes in answer.gradient.items()}
    assert gradient.keys() == {"throughput[jobs]", "response_time[jobs]"}
    monkeypatch.setattr(CompiledNetwork, "_has_one_class", lambda *_: False)
    assert isinstance(answer.share, DeferredShares)
    for name, slopes in solve(model).gradient.items():
        assert gradient[name] == pytest.approx(dict(slopes), rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("is_routed", [False, True])
def test_shares_of_parameters_of_several_stations_are_differences(is_routed: bool) -> None:
    def model(unit: float, factor: float, think_time: float) -> QueueingNetwork:
        unit_time, count = Parameter("unit", TIME, unit), Parameter("factor", COUNT, factor)
        stations = {
            "cpu": station(service={"jobs": 2 * unit_time}),
            "disk": station(service={"jobs": unit_time * count + Number(0.05, TIME)}),
        }
        routing = [
            route(("jobs", "cpu"), ("jobs", "disk"), count / 4),
            route(("jobs", "cpu"), ("jobs", "cpu"), 1 - count / 4),
            route(("jobs", "disk"), ("jobs", "cpu")),
        ]
        members = closed_class(5, think_time=Parameter("think", TIME, think_time) + unit_time)
        if is_routed:
            own_chain = chain(["jobs"], members, reference=("jobs", "cpu"))
            return network({}, stations, chains={"jobs": own_chain}, routing=routing)
        return network({"jobs": members}, stations)

    values = {"unit": 0.3, "factor": 1.5, "think": 2.0}
    gradient = solve(model(*values.values())).gradient
    for name in ("response_time[jobs]", "throughput[jobs]"):
        for parameter_name, value in values.items():
            step = 1e-5 * value
            above, below = (
                solve(model(*{**values, parameter_name: value + change}.values()))[name] or 0
                for change in (step, -step)
            )
            difference = (above - below) / (2 * step)
            assert gradient[name][parameter_name] == pytest.approx(difference, rel=1e-6, abs=1e-9)


def test_queues_give_no_shares_where_stations_are_not_single() -> None:
    for odd in (
        station(demand={"jobs": 0.3}, servers=2),
        station(service={"jobs": 0.3}, discipline="is"),
    ):
        model = network(
            {"jobs": closed_class(3)}, {"cpu": station(demand={"jobs": 0.4}), "odd": odd}
        )
        slopes = solve(model).gradient["response_time[jobs]"]
        step = 1e-6
        path = next(name for name in slopes if name.startswith("stations.odd"))
        at_both_ends = solve(model, {path: np.array([0.0, step]) + model.parameters[path].value})
        low, high = at_both_ends["response_time[jobs]"]
        assert slopes[path] == pytest.approx((high - low) / step, rel=1e-4)


def shares_seconds(stations: int, classes: int, method: str) -> float:
    """Return the estimate for the shares of a network of 5 customers of each class."""
    names = [f"c{r}" for r in range(classes)]
    demand = dict.fromkeys(names, 0.01)
    model = network(
        {name: closed_class(5, think_time=1.0) for name in names},
        {f"s{k}": station(demand=demand) for k in range(stations)},
    )
    share = solve(model, method=method).share
    assert isinstance(share, DeferredShares)
    return share.seconds


@pytest.mark.turns(4)
def test_the_estimate_of_shares_grows_as_their_work() -> None:
    # Each place of the lattice multiplies a matrix of all stations, for each parameter.
    assert 6 < shares_seconds(60, 2, "exact") / shares_seconds(30, 2, "exact") < 9
    assert 2 < shares_seconds(60, 1, "exact") / shares_seconds(30, 1, "exact") < 4
    # An iteration of Linearizer solves the network once more for each class that leaves.
    linearizer, schweitzer = (shares_seconds(30, 1, name) for name in ("linearizer", "schweitzer"))
    assert linearizer == pytest.approx(2.5 * schweitzer)


@pytest.mark.turns(4)
def test_points_of_many_numbers_are_solved_a_few_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    many = stations_of(3, 10)
    values = {"classes.jobs.think_time": np.linspace(0.5, 2.0, 7)}
    at_once = solve(many, values, method="linearizer")
    small = form_of(many, many.parameters, "linearizer")
    assert small.block_size == BLOCK
    monkeypatch.setattr("slipstick.method.networks.form.MOST_HELD", 18)  # 6 numbers at each point
    assert small.block_size == 3
    assert [len(rows) for rows in small.blocks(values, 7)] == [3, 3, 1]
    in_blocks = solve(many, values, method="linearizer")
    assert in_blocks["throughput[jobs]"].tolist() == at_once["throughput[jobs]"].tolist()


def test_shares_over_the_limit_are_noted_with_the_way_to_have_them() -> None:
    with with_limits({"derivatives": 23}):  # 2 numbers at each of 3 stations, for 4 parameters
        answer = solve(stations_of(3, 10))
    assert answer.share == {}
    assert any(
        "shares of 4 parameters are left out" in note and "--limit derivatives=25" in note
        for note in answer.notes
    )
    assert "response_time[jobs]" in solve(stations_of(3, 10), limits={"derivatives": 24}).share


def test_classes_by_stations_are_refused_before_their_corrections_are_held() -> None:
    many = network_arrays(np.full((50, 800), 1e-5), population=[5] * 50, think=1.0)
    with pytest.raises(
        NoAnswerError,
        match=r"50 classes at 800 stations take 102,000,000 .* 30,000,000: ask for schweitzer",
    ):
        linearizer(many)
    assert schweitzer(many).throughput.shape == (1, 50)
    with pytest.raises(NoAnswerError, match=r"routing probabilities .* --limit routing="):
        routing_in_order(np.ones((50, 800)))


def test_a_network_too_large_for_the_default_is_refused_without_a_simulation() -> None:
    classes = {f"c{r}": closed_class(30, think_time=1.0) for r in range(5)}
    model = network(
        classes, {f"s{k}": station(demand=dict.fromkeys(classes, 0.01)) for k in range(4)}
    )
    with pytest.raises(NoAnswerError, match=r"5 classes at 4 stations take 600 .* schweitzer"):
        solve(model, limits={"corrections": 599})
    assert solve(model, limits={"corrections": 600}).method == "linearizer"


def test_the_cost_of_linearizer_is_announced(monkeypatch: pytest.MonkeyPatch) -> None:
    small = network_arrays(np.full((2, 3), 0.1), population=[4, 3], think=1.0)
    announced: list[str] = []
    token = ANNOUNCE.set(announced.append)
    try:
        linearizer(small)
        assert not announced
        monkeypatch.setattr("slipstick.limits.ANNOUNCED", 35 * LIMITS["corrections"].seconds)
        linearizer(small)
    finally:
        ANNOUNCE.reset(token)
    assert [text.partition(":")[0] for text in announced] == [
        "2 classes at 3 stations take 36 corrections of Linearizer"
    ]
