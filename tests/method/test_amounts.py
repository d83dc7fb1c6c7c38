"""Amounts of activities and networks follow from the values of any method."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slipstick.api import dump, load, solve
from slipstick.errors import ModelError, SpecError
from slipstick.expression.nodes import RATE, TIME, Number, Parameter
from slipstick.method.methods import form_of
from slipstick.method.names import names_of
from slipstick.model.activity import delay, service
from slipstick.model.amounts import answer_value
from slipstick.model.network import QueueingNetwork, closed_class, network, station
from slipstick.model.system import (
    Model,
    Station,
    closed_model,
    grouped_model,
    open_model,
    phased_model,
)
from slipstick.sim.settings import Simulation

PARAMETERS = {"servers": 2, "price": 0.4, "idle": 80, "busy": 220}
AMOUNTS = {
    "cost": "servers * price",
    "watts": "servers * (idle + (busy - idle) * utilization[cpu])",
}
ACTIVITY: dict[str, Any] = {
    "activity": 1,
    "parameters": PARAMETERS,
    "population": {"processors": 8},
    "resources": {"cpu": {"servers": "servers"}},
    "cycle": [
        {"name": "think", "delay": "1 s", "scv": 1, "think": True},
        {"name": "work", "service": "cpu", "time": "0.2 s", "scv": 1},
    ],
    "amounts": AMOUNTS,
}
NETWORK: dict[str, Any] = {
    "queueing-network": 1,
    "parameters": PARAMETERS,
    "classes": {"users": {"population": 8, "think_time": "1 s"}},
    "stations": {"cpu": {"servers": "servers", "demand": {"users": "0.2 s"}}},
    "amounts": AMOUNTS,
}
SHORT = Simulation(cycles=4000)
THINK = Parameter("pause", TIME, 1.0)


@pytest.mark.parametrize("model", [ACTIVITY, NETWORK])
@pytest.mark.parametrize("method", [None, "markov-chain", "simulation"])
def test_amounts_follow_from_the_values_of_each_method(
    model: dict[str, Any], method: str | None
) -> None:
    answer = solve(model, {"parameters.price": 3}, method=method, simulation=SHORT)
    busy = answer.values["utilization[cpu]"]
    assert answer["amount[cost]"] == 6
    watts = answer.values["amount[watts]"]
    assert watts.value == pytest.approx(2 * (80 + 140 * float(busy.value or 0)))
    if method == "simulation":
        assert watts.ends == pytest.approx([2 * (80 + 140 * float(end or 0)) for end in busy.ends])


def test_an_activity_and_a_network_of_one_meaning_have_one_amount() -> None:
    both = [solve(model)["amount[watts]"] for model in (ACTIVITY, NETWORK)]
    assert both[0] == pytest.approx(both[1], rel=1e-9)


def test_what_amounts_alone_are_computed_from_varies() -> None:
    """A price changes no value, so that one solution holds for several points."""
    cost = Number(2.0) * answer_value("queue_length[cpu]")
    model = network(
        {"users": closed_class(3, think_time=1.0)},
        {"cpu": station(demand={"users": 0.2})},
    )
    price = Parameter("price", value=0.5)
    priced = replace(model, amounts={"cost": price * cost})
    form = form_of(priced, {}, "exact")
    points = form.points({"price": np.array([0.5, 1.0, 2.0])})
    column = points.columns()["amount[cost]"]
    assert column / column[0] == pytest.approx([1.0, 2.0, 4.0])
    assert points.answer(2)["amount[cost]"] == pytest.approx(column[2])
    assert len(points.provenance().methods) == 3
    assert model.parameters.keys() | {"price"} == priced.parameters.keys()


def test_bounds_and_a_closed_form_list_only_what_follows_from_their_values() -> None:
    body = delay(1.0, name="think", scv=1.0) >> service("cpu", 0.2, scv=1.0)
    made = closed_model(body, processors=3)
    model = Model(
        made.name,
        made.population,
        {"cpu": Station()},
        amounts={"load": Number(2.0) * answer_value("utilization[cpu]")},
    )
    assert "amount[load]" in names_of(model)
    assert "amount[load]" not in names_of(model, "bounds")


def test_an_amount_names_values_of_the_answer_and_is_a_plain_number() -> None:
    with pytest.raises(SpecError, match=r"did you mean 'utilization\[cpu\]'"):
        solve({**ACTIVITY, "amounts": {"watts": "2 * utilization[cpux]"}})
    with pytest.raises(
        SpecError, match=r"gives a \[1/s\], but a \[1\] is wanted; multiply by a time"
    ):
        solve({**NETWORK, "amounts": {"rate": "2 * throughput[users]"}})


def test_several_groups_name_theirs_in_amounts() -> None:
    groups = {
        name: {"processors": 2, "cycle": [{"name": name, "service": "cpu", "time": "0.2 s"}]}
        for name in ("readers", "writers")
    }
    model = {key: ACTIVITY[key] for key in ("activity", "parameters", "resources")}
    with pytest.raises(SpecError, match="there is no name 'throughput'"):
        solve({**model, "groups": groups, "amounts": {"income": "throughput * 1 s"}})
    income = {"income": "throughput[readers] * 1 s"}
    answer = solve({**model, "groups": groups, "amounts": income}, simulation=SHORT)
    assert answer["amount[income]"] == pytest.approx(answer["throughput[readers]"])


@pytest.mark.parametrize("model", [ACTIVITY, NETWORK])
def test_a_model_with_amounts_is_written_with_them(model: dict[str, Any], tmp_path: Path) -> None:
    loaded = load(model)
    assert isinstance(loaded, Model | QueueingNetwork)
    path = tmp_path / "again.yaml"
    path.write_text(dump(loaded))
    again = load(path)
    assert isinstance(again, Model | QueueingNetwork)
    assert dump(again) == path.read_text()
    assert solve(again)["amount[watts]"] == pytest.approx(solve(loaded)["amount[watts]"])
    odd = replace(
        loaded, amounts={"late": Number(2.0) * answer_value("time_quantile[0.9]") / THINK}
    )
    words = (
        "the amount late is computed from time_quantile.0.9, which no file can name; leave it out"
    )
    with pytest.raises(ModelError, match=words):
        dump(odd)


@pytest.mark.turns(4)
@pytest.mark.parametrize("model", [ACTIVITY, NETWORK])
def test_shares_of_an_amount_are_its_elasticities(model: dict[str, Any]) -> None:
    """One percent more of a parameter changes an amount by its share, in percent: against two
    solutions beside each other.
    """
    found = solve(model)
    shares = found.share["amount[watts]"]
    work = next(name for name in shares if name.endswith(("work.time", "demand.users")))
    for name, value in {work: 0.2, "parameters.idle": 80.0, "parameters.busy": 220.0}.items():
        ends = [solve(model, {name: value * by})["amount[watts]"] or 0.0 for by in (1.001, 0.999)]
        change = (ends[0] - ends[1]) / 0.002 / (found["amount[watts]"] or 1.0)
        assert shares[name] == pytest.approx(change, rel=1e-3)
    assert shares["parameters.price"] == 0
    assert found.share["amount[cost]"]["parameters.price"] == pytest.approx(1.0)
    assert "amount[watts]" not in solve(model, method="simulation", simulation=SHORT).share


def test_builders_take_amounts() -> None:
    load_of_cpu = {"load": Number(2.0) * answer_value("utilization[cpu]")}
    body = delay(1.0, name="think", scv=1.0) >> service("cpu", 0.2, scv=1.0)
    closed = closed_model(body, 3, amounts=load_of_cpu)
    users = {"users": closed_class(3, think_time=1.0)}
    stations = {"cpu": station(demand={"users": 0.2})}
    both: list[Model | QueueingNetwork] = [closed, network(users, stations, amounts=load_of_cpu)]
    loads = [solve(each)["amount[load]"] for each in both]
    assert loads[0] == pytest.approx(loads[1])
    grouped = grouped_model({"a": (2, body)}, amounts=load_of_cpu)
    assert grouped.amounts == phased_model((1, 2, body), amounts=load_of_cpu).amounts
    rate = Parameter("rate", RATE, 1.0)
    assert open_model(body, rate, amounts=load_of_cpu).amounts == load_of_cpu
