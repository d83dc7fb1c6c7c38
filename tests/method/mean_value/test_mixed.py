"""Streams beside processors by mean value: against published mixed networks, hand computation,
networks in product form, and simulation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from slipstick import Answer, Simulation, closed_class, network, open_class, solve, station
from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import COUNT, RATE, Parameter
from slipstick.model.activity import delay, fork, hold, repeat, service, then
from slipstick.model.steps import Activity
from slipstick.model.system import Lock, Model, Station, grouped_model
from slipstick_mean_value.form import MeanValue, promised_error

PUBLISHED = yaml.safe_load((Path(__file__).parents[2] / "published" / "queueing.yaml").read_text())
MIXED = [example for example in PUBLISHED if example["name"].startswith("mixed")]


def arrivals(value: float) -> Parameter:
    return Parameter("arrivals", RATE, value)


def beside(
    processors: int = 6,
    rate: float = 4.0,
    *,
    own: float = 0.05,
    theirs: float = 0.05,
    resource: Station | None = None,
    before: float = 1.0,
    scv: float = 1.0,
) -> Model:
    """Make processors that think and visit a disk, beside a stream that visits it."""
    cycle = delay(before, name="think", scv=1.0) >> service("disk", own, name="own", scv=scv)
    return grouped_model(
        {
            "users": (Parameter("users", COUNT, processors), cycle),
            "visitors": (arrivals(rate), service("disk", theirs, name="theirs", scv=scv)),
        },
        resources={"disk": resource or Station(1)},
    )


def by_mean_value(model: Model) -> Answer:
    return solve(model, method="mean-value")


def _program(number: int, services: list[float], visits: list[float]) -> Activity:
    """Visit stations as often as a published network says, in the mean."""
    return then(
        *(
            repeat(count, service(f"station{place}", time, name=f"visit{number}-{place}", scv=1.0))
            for place, (time, count) in enumerate(zip(services, visits, strict=True))
            if count and time
        )
    )


@pytest.mark.parametrize("example", MIXED, ids=lambda example: example["name"])
def test_published_mixed_networks(example: dict[str, Any]) -> None:
    given, expected = example["network"], example["answers"]
    order = sorted(range(len(given["closed"])), key=lambda number: not given["closed"][number])
    groups: dict[str, Any] = {}
    for number in order:
        program = _program(number, given["service"][number], given["visits"][number])
        size = (
            given["population"][number]
            if given["closed"][number]
            else Parameter(f"rate{number}", RATE, given["arrivals"][number])
        )
        groups[f"class{number}"] = (size, program)
    stations = {f"station{place}": Station(1, "ps") for place in range(2)}
    answer = by_mean_value(grouped_model(groups, resources=stations))
    assert answer.exact
    for number in order:
        cycle_time = sum(
            count * time
            for count, time in zip(
                given["visits"][number], expected["per_visit"][number], strict=True
            )
            if time is not None
        )
        within = example["within"]
        assert answer[f"time[class{number}]"] == pytest.approx(cycle_time, rel=within), number


def test_a_server_is_slowed_by_the_load_of_the_stream() -> None:
    """One user and a load U of visitors: R = S / (1 - U); visitors find 1 + X R users."""
    answer = by_mean_value(beside(1, 4.0))
    slowed = 0.05 / (1 - 0.2)
    users_present = slowed / (1 + slowed)
    assert answer["time[users]"] == pytest.approx(1 + slowed, rel=1e-12)
    assert answer["time[visitors]"] == pytest.approx(slowed * (1 + users_present), rel=1e-12)
    assert answer["throughput[visitors]"] == 4.0
    assert answer["utilization[disk]"] == pytest.approx(0.2 + 0.05 / (1 + slowed), rel=1e-12)
    # The same processors alone at a server that takes 1 / (1 - U) times as long.
    shared = Station(1, "ps")
    alone = by_mean_value(beside(6, 0.0, own=slowed, resource=shared))
    assert by_mean_value(beside(6))["time[users]"] == pytest.approx(alone["time[users]"], rel=1e-12)


@pytest.mark.parametrize("resource", [Station(1), Station(3), Station(2, "ps"), Station(1, "is")])
def test_product_form_is_that_of_the_network(resource: Station) -> None:
    answer = by_mean_value(beside(resource=resource, rate=10.0))
    truth = solve(
        network(
            {"users": closed_class(6, 1.0), "visitors": open_class(10.0)},
            {
                "disk": station(
                    service={"users": 0.05, "visitors": 0.05},
                    discipline=resource.discipline,
                    servers=resource.servers,
                )
            },
        ),
        method="exact",
    )
    assert answer.exact
    response = truth["response_time[users]"]
    assert response is not None
    assert answer["time[users]"] == pytest.approx(1 + response, rel=1e-9)
    assert answer["time[visitors]"] == pytest.approx(truth["response_time[visitors]"], rel=1e-9)
    assert answer["queue_length[disk]"] == pytest.approx(truth["queue_length[disk]"], rel=1e-9)


def test_without_arrivals_the_processors_are_alone() -> None:
    alone = by_mean_value(grouped_model({"users": (6, beside().population.groups[0].cycle)}))
    assert by_mean_value(beside(rate=0.0))["time[users]"] == pytest.approx(alone["time"], rel=1e-9)


@pytest.mark.turns(4)
@pytest.mark.parametrize(("own", "theirs"), [(0.12, 0.03), (0.03, 0.12)])
def test_unlike_services_are_near_a_simulation(own: float, theirs: float) -> None:
    model = beside(own=own, theirs=theirs, before=0.5)
    answer = by_mean_value(model)
    assert not answer.exact
    assert promised_error(model) == 0.1
    assert any(note.startswith("visitors beside processors: Linearizer") for note in answer.notes)
    settings = Simulation(seed=11, events=400_000, precision=1e-9)
    simulated = solve(model, method="simulation", simulation=settings)
    for name in ("time[users]", "time[visitors]"):
        assert answer[name] == pytest.approx(simulated[name], rel=0.1), name


def test_what_has_no_measured_error_promises_none() -> None:
    assert promised_error(beside(own=0.12, resource=Station(2))) is None
    assert promised_error(beside(scv=4.0)) is None
    assert promised_error(beside(scv=0.25)) is None
    assert promised_error(beside(scv=4.0, resource=Station(1, "ps"))) is not None


def test_a_saturated_point_leaves_the_others() -> None:
    solution = MeanValue(beside()).points({"arrivals": np.array([4.0, 25.0, 10.0])})
    answers = [solution.answer(point) for point in range(3)]
    assert answers[1].failed == (
        "station disk is saturated: 25/s arrive, fewer than 20/s can be served (load 1.25, the"
        " limit is 1); lower the arrivals, or shorten what is asked of it"
    )
    for point, rate in ((0, 4.0), (2, 10.0)):
        assert answers[point]["time[users]"] == by_mean_value(beside(rate=rate))["time[users]"]


def test_shares_are_differences() -> None:
    for own in (0.05, 0.12):
        base = by_mean_value(beside(own=own))
        step = 1e-4
        later = by_mean_value(beside(own=own, rate=4.0 * (1 + step)))
        assert later["time"] is not None
        assert base["time"] is not None
        slope = (later["time"] / base["time"] - 1) / step
        assert base.share["time"]["arrivals"] == pytest.approx(-slope, rel=2e-3)


def test_other_parts_are_refused_by_name() -> None:
    held = hold("door", service("disk", 0.05, name="inside", scv=1.0))
    forked = fork(delay(1.0, name="left", scv=1.0), delay(1.0, name="right", scv=1.0))
    for cycle, name in ((held, "door"), (forked, "fork")):
        model = grouped_model(
            {
                "users": (2, delay(1.0, name="think", scv=1.0) >> cycle),
                "visitors": (arrivals(1.0), service("disk", 0.05, name="theirs", scv=1.0)),
            },
            resources={"disk": Station(1), **({"door": Lock()} if name == "door" else {})},
        )
        with pytest.raises(NoAnswerError) as error:
            solve(model, method="mean-value")
        assert str(error.value) == (
            "beside processors, mean-value takes streams of customers at stations alone, but"
            f" model uses {name}; simulate it"
        )


def test_several_servers_of_equal_times_are_exact_by_default() -> None:
    assert promised_error(beside(resource=Station(3))) == 0.1
