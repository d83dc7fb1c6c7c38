"""Activities before their steady state: against networks, the long run, and passages by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from slipstick import (
    Model,
    Parameter,
    Permits,
    attempt,
    closed_class,
    closed_model,
    delay,
    grouped_model,
    hold,
    network,
    open_class,
    open_model,
    phased_model,
    service,
    solve,
    station,
    time_until,
    transient,
)
from slipstick.cli.main import main
from slipstick.errors import ModelError, NoAnswerError, UnknownNameError
from slipstick.expression.nodes import RATE, TIME, Number
from slipstick.model.network import QueueingNetwork
from slipstick.model.system import ArrivalPattern
from slipstick_chains.transient import transient_values

AWAY = delay(4.0, name="away", scv=1.0, think=True)
WORKERS = closed_model(AWAY >> service("disk", 1.0, scv=1.0), 3)
POOL = closed_model(
    AWAY >> hold("pool", service("disk", 1.0, scv=1.0) >> delay(2.0, name="talk", scv=0.5)),
    3,
    resources={"pool": Permits(2)},
)
USERS = network({"jobs": closed_class(3, think_time=4.0)}, {"disk": station(service={"jobs": 1.0})})


def test_an_activity_and_a_network_fill_alike() -> None:
    times = [0.0, 0.5, 3.0]
    by_network, by_activity = transient(USERS, times), transient(WORKERS, times)
    for name, column in by_activity.items():
        assert column == pytest.approx(by_network[name], abs=1e-9), name
    for present in (1, 2, 3):
        filled = time_until(WORKERS, "disk", present)
        assert filled == pytest.approx(time_until(USERS, "disk", present), rel=1e-9)


def test_the_first_of_three_comes_after_a_third_of_the_time_away() -> None:
    assert time_until(WORKERS, "disk", 1) == pytest.approx(4.0 / 3)
    assert time_until(POOL, "pool", 1) == pytest.approx(4.0 / 3)
    # One processor is at the disk a time t after its start if it is in the second of two phases.
    single = closed_model(AWAY >> service("disk", 1.0, scv=1.0), 1)
    found = transient(single, [0.7])["queue_length[disk]"]
    assert found == pytest.approx([0.2 * (1 - np.exp(-1.25 * 0.7))])


@pytest.mark.parametrize("model", [WORKERS, POOL], ids=["a station", "permits"])
def test_in_the_end_it_is_as_in_the_long_run(model: Model) -> None:
    late, answer = transient(model, [500.0]), solve(model, method="markov-chain")
    for name in ("disk", *(["pool"] if model is POOL else [])):
        queue = f"queue_length[{name}]"
        assert late[queue][0] == pytest.approx(answer[queue], rel=1e-8)
        chances = [
            column[0] for key, column in late.items() if key.startswith(f"probability[{name}")
        ]
        assert sum(chances) == pytest.approx(1.0)


def test_what_an_activity_has_no_value_of_is_refused() -> None:
    with pytest.raises(NoAnswerError, match="never are 4 customers at disk; at most 3 are"):
        time_until(WORKERS, "disk", 4)
    with pytest.raises(UnknownNameError, match="disc"):
        time_until(WORKERS, "disc", 1)
    with pytest.raises(ModelError, match="no streams come to model, so leave out most"):
        transient(WORKERS, [1.0], most=3)
    with pytest.raises(ModelError, match="has no parameter 'speed' to look at on its way"):
        transient(WORKERS, [1.0], {"speed": 3.0})
    program = phased_model((1, 2, service("disk", 1.0, scv=1.0)))
    words = "values before the steady state need processors that repeat a cycle, or streams, and"
    with pytest.raises(NoAnswerError, match=f"{words} model has other work; ask for time"):
        transient(program, [1.0])
    with pytest.raises(NoAnswerError, match=r"has scv 0: write from 0.01 \(1 is exponential\)$"):
        transient(closed_model(delay(1.0) >> service("disk", 1.0), 2), [1.0])


FILE = """
activity: 1
parameters: {moment: {value: 3 s, meaning: when to look}}
population: {processors: 3}
resources: {disk: {servers: 1}}
cycle: [{name: away, delay: 4 s, scv: 1}, {service: disk, time: 1 s, scv: 1}]
"""


def test_files_and_commands_have_them_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "disk.yaml").write_text(FILE)
    names = ["time_until[disk,2]", "queue_length_at[disk,3 s]", "probability_at[disk,0,3 s]"]
    options = [option for name in names for option in ("--value", name)]
    assert main(["solve", str(tmp_path / "disk.yaml"), *options]) == 0
    output = capsys.readouterr().out
    assert f"{time_until(WORKERS, 'disk', 2):.4g} s" in output
    columns = transient(WORKERS, [3.0])
    assert f"{columns['queue_length[disk]'][0]:.4g}" in output
    assert f"{columns['probability[disk,0]'][0]:.4g}" in output
    assert main(["solve", str(tmp_path / "disk.yaml"), "--value", "time_until[dis,2]"]) == 2
    assert "did you mean 'time_until[disk,1]'" in capsys.readouterr().err


STREAM = Parameter("arrivals", RATE, 0.5)


@pytest.mark.turns(8)
def test_a_stream_fills_a_station_as_the_same_network_does() -> None:
    served = service("disk", 1.0, scv=1.0)
    impatient = attempt(service("disk", 1.0, name="try", scv=1.0), patience=2.0)
    users = closed_class(2, think_time=4.0)
    pairs = [
        (open_model(served, STREAM), network({"a": open_class(0.5)}, {"disk": at_disk("a")})),
        (
            open_model(impatient, STREAM),
            network({"a": open_class(0.5)}, {"disk": at_disk("a", patience={"a": 2.0})}),
        ),
        (
            grouped_model({"users": (2, AWAY >> served), "a": (STREAM, served)}),
            network({"users": users, "a": open_class(0.5)}, {"disk": at_disk("users", "a")}),
        ),
    ]
    times = [0.0, 0.5, 3.0, 20.0]
    for activity, as_network in pairs:
        by_network, by_activity = transient(as_network, times, most=30), transient(activity, times)
        for name in ("queue_length[disk]", "probability[disk,0]", "probability[disk,3]"):
            assert by_activity[name] == pytest.approx(by_network[name], abs=1e-5), name
        for present in (1, 4):
            filled = time_until(activity, "disk", present)
            expected = time_until(as_network, "disk", present, most=30)
            assert filled == pytest.approx(expected, rel=1e-5), present


def at_disk(*classes: str, **traits: Any) -> Any:
    return station(service=dict.fromkeys(classes, 1.0), **traits)


@pytest.mark.turns(4)
@pytest.mark.parametrize("backlog", [1, 7, 30])
def test_a_backlog_is_gone_after_the_time_of_busy_periods(backlog: int) -> None:
    """Each customer brings a busy period of 1 / (1 - 0.5) s; at two servers, until one is idle."""
    single = open_model(service("disk", 1.0, scv=1.0), STREAM)
    assert time_until(single, "disk", 0, backlog=backlog) == pytest.approx(2.0 * backlog, rel=1e-5)
    held = open_model(hold("pool", delay(1.0, scv=1.0)), STREAM, resources={"pool": Permits(1)})
    assert time_until(held, "pool", 0, backlog=backlog) == pytest.approx(2.0 * backlog, rel=1e-5)
    found = transient(single, [0.0, 400.0], backlog=backlog)["queue_length[disk]"]
    assert found == pytest.approx([backlog, 1.0], abs=1e-3)
    few = transient(single, [0.0], most=40, backlog=backlog)
    assert few["queue_length[disk]"] == pytest.approx([backlog])


def arriving(**pattern: Any) -> QueueingNetwork:
    return network({"a": open_class(0.5, **pattern)}, {"disk": at_disk("a", capacity=4)})


def test_a_network_with_a_backlog_drains_like_births_and_deaths() -> None:
    """With n present, at most 4, customers arrive at rate 0.5 and leave at rate min(n, 2)."""
    full = network({"a": open_class(0.5)}, {"disk": at_disk("a", servers=2, capacity=4)})
    left = np.zeros((4, 4))
    for row, present in enumerate(range(1, 5)):
        departures, arrivals = min(present, 2), 0.5 if present < 4 else 0.0
        left[row, row] = departures + arrivals
        if row:
            left[row, row - 1] = -departures
        if present < 4:
            left[row, row + 1] = -arrivals
    drained = np.linalg.solve(left, np.ones(4))
    assert time_until(full, "disk", 0, backlog=4) == pytest.approx(drained[3], rel=1e-9)
    assert time_until(full, "disk", 0, backlog=2) == pytest.approx(drained[1], rel=1e-9)
    found = transient(full, [0.0, 200.0], backlog=4)["queue_length[disk]"]
    weights = [1.0, 0.5, 0.125, 0.03125, 0.0078125]
    mean = sum(n * weight for n, weight in enumerate(weights)) / sum(weights)
    assert found == pytest.approx([4.0, mean], rel=1e-6)


def in_bursts(duration: float, rate: float = 0.1, rate_in_bursts: float = 2.0) -> Model:
    """Make a queue to which customers come in bursts as long as the times between them."""
    burst_time, quiet_time = (Parameter(name, TIME, duration) for name in ("burst", "quiet"))
    pattern = ArrivalPattern(
        1.0, 1, Parameter("in-bursts", RATE, rate_in_bursts), burst_time, quiet_time
    )
    visit = service("disk", 1.0, scv=1.0)
    return open_model(visit, Parameter("rate", RATE, rate), pattern=pattern)


@pytest.mark.turns(8)
def test_bursts_at_an_activity_are_those_of_a_network() -> None:
    by_bursts = in_bursts(3.0, rate_in_bursts=1.5)
    same = network(
        {"a": open_class(0.1, burst_arrivals=1.5, burst_time=3.0, quiet_time=3.0)},
        {"disk": at_disk("a")},
    )
    times = [0.0, 1.0, 6.0]
    lengths = transient(by_bursts, times)["queue_length[disk]"]
    assert lengths == pytest.approx(transient(same, times)["queue_length[disk]"], rel=1e-6)
    filled = time_until(by_bursts, "disk", 4)
    assert filled == pytest.approx(time_until(same, "disk", 4), rel=1e-6)
    # A network with a backlog is followed as an activity.
    drained = time_until(by_bursts, "disk", 0, backlog=6)
    assert time_until(same, "disk", 0, backlog=6) == pytest.approx(drained, rel=1e-6)


def test_short_bursts_are_a_poisson_stream_of_their_mean_rate() -> None:
    drained = time_until(in_bursts(0.001, 0.0, 1.2), "disk", 0, backlog=3)
    assert drained == pytest.approx(3 / (1 - 0.6), rel=2e-3)


def test_bursts_that_last_no_time_are_refused() -> None:
    with pytest.raises(NoAnswerError) as refused:
        transient(in_bursts(0.0), [1.0])
    assert str(refused.value) == "bursts, and the times between them, last longer than 0 s"


def test_values_before_the_long_run_that_have_no_rule_are_refused_by_name() -> None:
    single = open_model(service("disk", 1.0, scv=1.0), STREAM)
    no_batches = (
        "values before the long run follow Poisson streams, bursts and profiles; "
        "network has batches: give a backlog, or"
        " ask for values of the long run"
    )
    no_trace = (
        "values before the long run follow Poisson streams, bursts and profiles; "
        "network has recorded arrivals: ask for"
        " values of the long run, by simulation"
    )
    no_spread = (
        "values before the long run follow Poisson streams, bursts and profiles; "
        "model has arrivals that are not "
        "Poisson: leave their scv out"
    )
    regular = open_model(service("disk", 1.0, scv=1.0), STREAM, pattern=ArrivalPattern(0.0))
    closed = "no streams come to network, so leave out the backlog"
    no_streams = "no streams come to model, so leave out the backlog"
    too_many = "a backlog of 4 is more than most, 3; raise most"
    refusals: list[tuple[Callable[[], object], str]] = [
        (lambda: transient(WORKERS, [1.0], backlog=2), no_streams),
        (lambda: transient(USERS, [1.0], backlog=2), closed),
        (lambda: time_until(arriving(batch=2), "disk", 2), no_batches),
        (lambda: transient(arriving(trace=[1.0, 3.0]), [1.0]), no_trace),
        (lambda: transient(regular, [1.0]), no_spread),
        (lambda: transient(single, [1.0], most=3, backlog=4), too_many),
    ]
    for refused, message in refusals:
        with pytest.raises((ModelError, NoAnswerError)) as raised:
            refused()
        assert str(raised.value) == message


def test_a_backlog_drains_where_nobody_arrives() -> None:
    """The last of five customers leaves after five services; one server serves a Poisson number of
    them by a time.
    """
    none = Number(0.0, RATE)
    activity = open_model(service("disk", 1.0, scv=1.0), none, pattern=ArrivalPattern(backlog=5))
    desk = network({"jobs": open_class(0.0, backlog=5)}, {"disk": station(service={"jobs": 1.0})})
    served = stats.poisson(2.0)
    present = sum(number * served.pmf(5 - number) for number in range(1, 6))
    for model in (activity, desk):
        assert time_until(model, "disk", 0) == pytest.approx(5.0)
        assert transient(model, [2.0])["queue_length[disk]"][0] == pytest.approx(present)


def test_a_simulation_refuses_a_backlog_without_arrivals_by_name() -> None:
    constant = network(
        {"jobs": open_class(0.0, backlog=5)},
        {"desk": station(service={"jobs": 1.0}, scv={"jobs": 0.0})},
    )
    reasons = transient_values(constant, ["queue_length_at[desk,2]"], {})
    assert "customers of jobs wait at time 0, and no more" in str(
        reasons["queue_length_at[desk,2]"]
    )


@pytest.mark.parametrize("rate", [1e-9, 0.3])
def test_a_simulation_begins_with_the_backlog_of_the_only_stream(rate: float) -> None:
    """Of five customers with constant services two have left after two services."""
    activity = open_model(service("disk", 1.0, scv=0.0), rate, pattern=ArrivalPattern(backlog=5))
    names = ["time_until[disk,0]", "queue_length_at[disk,1.5]"]
    empty, present = transient_values(activity, names, {}).values()
    assert not isinstance(empty, str)
    assert not isinstance(present, str)
    assert empty.value == pytest.approx(5.0 / (1 - rate), rel=0.05)
    assert present.value == pytest.approx(4.0 + 1.5 * rate, rel=0.05)


def test_streams_that_share_an_activity_have_their_own_backlogs() -> None:
    """Three customers of each of two streams are served one after the other: the last leaves after
    six services.
    """
    visit = service("disk", 1.0, scv=1.0)
    pattern = ArrivalPattern(backlog=3)
    stream = (Number(0.0, RATE), visit, pattern)
    model = grouped_model({"a": stream, "b": stream})
    assert time_until(model, "disk", 0) == pytest.approx(6.0)


def test_customers_of_a_class_are_not_counted_beside_a_backlog() -> None:
    desk = network({"a": open_class(0.1, backlog=3)}, {"desk": station(service={"a": 1.0})})
    values = transient_values(desk, ["queue_length_at[a,desk,2]", "queue_length_at[desk,2]"], {})
    assert "customers of one class are not counted" in str(values["queue_length_at[a,desk,2]"])
    assert not isinstance(values["queue_length_at[desk,2]"], str)
