"""Several streams by mean value: against product form of networks, Pollaczek and Khinchine, a
single stream of their sum, and simulation.
"""

from __future__ import annotations

import pytest

from slipstick import Answer, Simulation, network, open_class, solve, station
from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import RATE, Parameter
from slipstick.model.activity import choose, delay, service
from slipstick.model.steps import Activity
from slipstick.model.system import Model, Station, grouped_model, open_model
from slipstick_mean_value.form import promised_error

SETTINGS = Simulation(seed=5, events=400_000, precision=1e-9)


def rate(name: str, value: float) -> Parameter:
    return Parameter(f"{name}-rate", RATE, value)


def shop(web: float = 0.01) -> Model:
    """Make two streams through a station of two servers and a shared one."""
    readers = service("web", web, name="read", scv=1.0) >> service("db", 0.005, name="look")
    buyers = (
        service("web", 0.01, name="order", scv=1.0)
        >> delay(0.3, name="pay", scv=1.0)
        >> service("db", 0.02, name="write", scv=4.0)
    )
    return grouped_model(
        {"readers": (rate("readers", 60.0), readers), "buyers": (rate("buyers", 20.0), buyers)},
        resources={"web": Station(2), "db": Station(1, "ps")},
    )


def test_product_form_of_streams_is_that_of_the_network() -> None:
    alike = network(
        {"readers": open_class(60.0), "buyers": open_class(20.0)},
        {
            "web": station(service={"readers": 0.01, "buyers": 0.01}, servers=2),
            "db": station(service={"readers": 0.005, "buyers": 0.02}, discipline="ps"),
            "pay": station(service={"buyers": 0.3}, discipline="is"),
        },
    )
    truth, answer = solve(alike), solve(shop())
    assert truth.exact
    assert answer.method == "mean-value"
    assert answer.exact
    for name in ("response_time[readers]", "response_time[buyers]", "queue_length[db]"):
        assert answer[name] == pytest.approx(truth[name], rel=1e-9), name
    assert answer["throughput[buyers]"] == 20.0
    for path, name in (("buyers-rate", "buyers"), ("readers-rate", "readers")):
        share = answer.share["time[readers]" if "time[readers]" in answer.share else "time"][path]
        in_network = truth.share["response_time[readers]"][f"classes.{name}.arrivals"]
        assert share == pytest.approx(in_network, rel=1e-6), path


def test_unlike_services_at_two_servers_are_no_product_form() -> None:
    answer = solve(shop(web=0.011), method="mean-value")
    assert not answer.exact
    assert promised_error(shop(web=0.011)) == 0.1


@pytest.mark.turns(4)
@pytest.mark.parametrize("discipline", ["fcfs", "lcfs", "random"])
def test_single_visits_wait_as_pollaczek_and_khinchine_say(discipline: str) -> None:
    """W = lambda E[S^2] / 2 / (1 - load), the same for each stream, whatever comes before."""
    disk = {"disk": Station(1, discipline)}
    first = delay(1.0, name="before") >> service("disk", 0.3, name="short", scv=2.0)
    second = choose(
        (0.5, service("disk", 0.8, name="long")), (0.5, delay(2.0, name="elsewhere", scv=1.0))
    )
    model = grouped_model(
        {"many": (rate("many", 1.0), first), "few": (rate("few", 0.8), second)}, resources=disk
    )
    load = 0.3 + 0.4 * 0.8
    wait = (0.09 * 3 + 0.4 * 0.64) / 2 / (1 - load)
    answer = solve(model, method="mean-value")
    simulated = solve(model, method="simulation", simulation=SETTINGS)
    assert answer.exact
    truth = {
        "time[many]": 1.3 + wait,
        "time[few]": 0.5 * (0.8 + wait) + 1.0,
        "wait[disk]": wait,
        "utilization[disk]": load,
        "queue_length[disk]": load + 1.4 * wait,
    }
    for name, value in truth.items():
        assert answer[name] == pytest.approx(value, rel=1e-9), name
        assert_near(simulated, name, value)


def assert_near(simulated: Answer, name: str, truth: float) -> None:
    value = simulated.values[name]
    assert value.value is not None
    assert value.high is not None
    assert abs(value.value - truth) <= 4 * (value.high - value.value), name


def visits() -> Activity:
    return (
        service("web", 0.2, name="work", scv=0.5)
        >> service("web", 0.1, name="again", scv=2.0)
        >> service("disk", 0.3, name="read", scv=2.0)
    )


def test_alike_streams_are_one_stream_of_their_sum() -> None:
    resources = {"web": Station(1), "disk": Station(2)}
    whole = open_model(visits(), rate("whole", 2.0), resources=resources)
    parts = grouped_model(
        {"a": (rate("a", 1.5), visits()), "b": (rate("b", 0.5), visits())}, resources=resources
    )
    one, several = (solve(model, method="mean-value") for model in (whole, parts))
    assert several["time[a]"] == pytest.approx(one["time"], rel=1e-12)
    assert several["time[b]"] == pytest.approx(one["time"], rel=1e-12)
    for name in ("utilization[web]", "queue_length[web]", "wait[disk]"):
        assert several[name] == pytest.approx(one[name], rel=1e-12), name


def test_streams_saturate_a_station_together() -> None:
    model = grouped_model(
        {
            "a": (rate("a", 3.0), service("web", 0.2, name="work", scv=1.0)),
            "b": (rate("b", 2.5), service("web", 0.2, name="more", scv=1.0)),
        },
        resources={"web": Station(1)},
    )
    with pytest.raises(NoAnswerError) as raised:
        solve(model, method="mean-value")
    assert str(raised.value).startswith(
        "station web is saturated: 5.5/s arrive, fewer than 5/s can be served (load 1.1, the limit"
        " is 1)"
    )


def test_a_stream_that_does_not_come_is_named() -> None:
    with pytest.raises(NoAnswerError) as raised:
        solve(shop(), {"readers-rate": 0.0}, method="mean-value")
    assert str(raised.value) == (
        "customers of readers arrive 0 times a second; mean-value needs a rate above 0, or a group"
        " of which some arrive written first; no other method has an answer here; simulation has no"
        " answer either: no customers of readers arrive, whose account the answer would hold; write"
        " a group of which some arrive first"
    )
    # A further stream may have no customers, and its times are those that one would find.
    answer = solve(shop(), {"buyers-rate": 0.0})
    alone = open_model(
        service("web", 0.01, name="read", scv=1.0) >> service("db", 0.005, name="look"),
        rate("readers", 60.0),
        resources={"web": Station(2), "db": Station(1, "ps")},
    )
    assert answer["time[readers]"] == pytest.approx(solve(alone)["time"], rel=1e-12)
    assert answer["throughput[buyers]"] == 0.0
    assert (answer["time[buyers]"] or 0.0) > 0.33


def test_a_check_that_is_undecided_names_the_stream() -> None:
    """The times of the streams differ by twenty times, so that a number alone misleads."""
    unlike = service("db", 0.005, name="look", scv=1.0)
    buyers = delay(0.3, name="pay", scv=1.0) >> service("db", 0.01, name="write", scv=1.0)
    model = grouped_model(
        {"readers": (rate("readers", 250.0), unlike), "buyers": (rate("buyers", 20.0), buyers)},
        resources={"db": Station(2)},
    )
    check = solve(model).check
    assert check is not None
    assert check.word == "undecided"
    assert check.reason.endswith(" s for response time of readers")
