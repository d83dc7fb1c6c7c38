"""Response times without thinking, their quantiles and the share within a target, of activities
beside networks of the same meaning.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import pytest
import scipy.stats

from slipstick.api import dump, load, solve
from slipstick.errors import ModelError, UnknownNameError
from slipstick.expression.nodes import TIME, Parameter
from slipstick.method.methods import compute_answers
from slipstick.method.networks.arrays import NetworkLayout
from slipstick.method.networks.form import shares_within_target
from slipstick.model.activity import Step, delay, service
from slipstick.model.network import chain, closed_class, network, open_class, route, station
from slipstick.model.system import Model, Station, closed_model, grouped_model, open_model
from slipstick.sim.settings import Simulation

THINK = delay(1.0, name="think", scv=1.0, think=True)
ASK = service("server", 0.08, name="ask", scv=1.0)
WEB = closed_model(THINK >> ASK, 20)
SHORT = Simulation(cycles=20_000, shares=0)

FILE = """\
activity: 1
groups:
  users:
    processors: 6
    target_time: 300 ms
    cycle: [{delay: 1 s, scv: 1, think: true}, {service: server, time: 80 ms, scv: 1}]
  calls:
    arrivals: 3 /s
    target_time: 100 ms
    cycle: [{service: server, name: call, time: 40 ms, scv: 1}]
resources: {server: {servers: 2}}
"""


def test_an_activity_has_the_response_time_of_its_network() -> None:
    (network_answer,) = compute_answers(
        network(
            {"users": closed_class(20, think_time=1.0)},
            {"server": station(service={"users": 0.08})},
        ),
        {},
        "exact",
    )
    expected = network_answer["response_time[users]"]
    assert expected is not None
    for method in ("mean-value", "markov-chain", "simulation"):
        (answer,) = compute_answers(WEB, {}, method, SHORT)
        precision = 0.05 if method == "simulation" else 1e-9
        assert answer["response_time"] == pytest.approx(expected, rel=precision)
        assert answer["time"] == pytest.approx(1 + expected, rel=precision)
    assert solve(WEB, method="closed-form")["response_time"] == pytest.approx(0.08)


def test_quantiles_of_responses_are_without_thinking() -> None:
    alone = closed_model(THINK >> ASK, 1)
    (answer,) = compute_answers(alone, {}, "simulation", SHORT)
    for part in (0.5, 0.9):
        exact = -0.08 * math.log(1 - part)
        assert answer[f"response_time_quantile[{part}]"] == pytest.approx(exact, rel=0.05)
    with pytest.raises(UnknownNameError, match=r"response_time_quantile\[0.95\]"):
        answer["time_quantile[0.95]"]


def test_each_group_that_does_not_think_has_quantiles_of_its_time() -> None:
    pause, work = delay(0.3, name="pause", scv=1.0), service("server", 0.1, name="work", scv=1.0)
    groups = {"users": (2, THINK >> ASK), "timers": (3, pause), "workers": (1, work >> work)}
    model = grouped_model(groups, resources={"server": Station(3)})
    (answer,) = compute_answers(model, {}, "simulation", SHORT)
    for level in (0.5, 0.95):
        exponential = -0.3 * math.log(1 - level)
        assert answer[f"time_quantile[timers,{level}]"] == pytest.approx(exponential, rel=0.04)
        two_phases = float(scipy.stats.gamma.ppf(level, 2, scale=0.1))
        assert answer[f"time_quantile[workers,{level}]"] == pytest.approx(two_phases, rel=0.04)
    with pytest.raises(UnknownNameError, match=r"write .* or time_quantile\[workers,0.5\]"):
        answer["time_quantile[0.5]"]
    (needed,) = compute_answers(model, {}, values=["time_quantile[workers,0.95]"])
    assert needed.method == "simulation"


def test_without_thinking_the_time_is_that_of_the_response() -> None:
    short = delay(1e-9, name="think", scv=1.0, think=True)
    with_think, without = closed_model(short >> ASK, 3), closed_model(ASK, 3)
    (expected,) = compute_answers(without, {}, "markov-chain")
    (answer,) = compute_answers(with_think, {}, "markov-chain")
    assert answer["response_time"] == pytest.approx(expected["time"], rel=1e-6)


def test_groups_respond_each_for_itself(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text(FILE)
    model = load(str(tmp_path / "two.yaml"))
    assert isinstance(model, Model)
    (tmp_path / "again.yaml").write_text(dump(model))
    again = load(str(tmp_path / "again.yaml"))
    assert isinstance(again, Model)
    assert dump(again) == dump(model)
    answer = solve(model, simulation=Simulation(cycles=20_000, shares=0))
    values = {name: value.value or 0.0 for name, value in answer.values.items()}
    assert values["time[users]"] == pytest.approx(1 + values["response_time[users]"], rel=0.03)
    assert answer["response_time[calls]"] == answer["time[calls]"]
    for name, limit in (("users", 0.3), ("calls", 0.1)):
        level = values[f"within_target[{name}]"]
        below, above = (values[f"response_time_quantile[{name},{p}]"] for p in (0.5, 0.99))
        assert below < limit < above
        assert 0.5 < level < 0.99


def test_the_share_within_a_target_is_that_of_the_formula_and_of_a_run() -> None:
    rate, speed, limit = 12.0, 12.5, 0.2
    load_ = rate / speed
    waits = load_**2 / 2 / (1 - load_ / 2)
    waits /= 1 + load_ + waits
    slack = 2 * speed - rate
    slow, fast = math.exp(-slack * limit), math.exp(-speed * limit)
    late = fast * (1 - waits) + waits * (slack * fast - speed * slow) / (slack - speed)
    desk = network(
        {"calls": open_class(rate, target_time=limit)},
        {"desk": station(servers=2, service={"calls": 1 / speed})},
    )
    (exact,) = compute_answers(desk, {}, "exact", values=["within_target[calls]"])
    assert exact["within_target[calls]"] == pytest.approx(1 - late, rel=1e-8)
    (seen,) = compute_answers(desk, {}, "simulation", SHORT)
    assert seen["within_target[calls]"] == pytest.approx(1 - late, abs=0.02)
    patient = network(
        {"calls": open_class(rate, target_time=1e6)},
        {"desk": station(servers=2, service={"calls": 1 / speed})},
    )
    (all_of_them,) = compute_answers(patient, {}, "exact", values=["within_target[calls]"])
    assert all_of_them["within_target[calls]"] == pytest.approx(1.0, abs=1e-9)


WORDS = (
    "has think: true; think time must be the first step of a cycle with other steps; "
    "elsewhere, and for arrivals and programs, leave think out"
)


def test_thinking_elsewhere_is_refused() -> None:
    with pytest.raises(ModelError, match="think time is spent at no resource; make it a delay"):
        Step("ask", ASK.time, "server", think=True)
    makers: list[Callable[[], Model]] = [
        lambda: open_model(THINK >> ASK, 1.0),
        lambda: closed_model(ASK >> THINK, 2),
        lambda: closed_model(THINK, 2),
        lambda: grouped_model({"users": (2, THINK >> ASK), "others": (1, ASK >> THINK)}),
    ]
    for make in makers:
        with pytest.raises(ModelError, match=WORDS):
            make()


def test_a_target_of_0_s_has_no_share_by_a_formula() -> None:
    """A transform is inverted at times above 0 alone."""
    calls = open_class(1.0, target_time=Parameter("target", TIME, 0.0))
    desk = network({"calls": calls}, {"desk": station(service={"calls": 0.5})})
    layout = NetworkLayout(desk)
    arrays = layout.network_points(layout.columns({})).network
    assert shares_within_target(layout, arrays, {}) == {}
    shares = shares_within_target(layout, arrays, {"target": 1.0})
    assert shares["within_target[calls]"] == pytest.approx(1 - math.exp(-1), rel=1e-8)


def test_a_target_of_classes_that_switch_has_no_share_by_a_formula() -> None:
    """The transform is of one visit after another of a class that stays as it is."""
    jobs = open_class(0.5, target_time=2.0)
    stations = {"desk": station(service={"a": 0.5, "b": 0.5, "calls": 0.5})}
    switching = network(
        {"calls": open_class(0.2, target_time=2.0)},
        stations,
        chains={"jobs": chain(["a", "b"], jobs, ("a", "desk"))},
        routing=[route(("a", "desk"), ("b", "desk")), route(("b", "desk"), None)],
    )
    layout = NetworkLayout(switching)
    assert shares_within_target(layout, layout.network_points(layout.columns({})).network, {}) == {}
