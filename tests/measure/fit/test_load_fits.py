"""Response times against load: known stations are found, and what no station has is within the
intervals or refused.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from slipstick.cli.main import main
from slipstick.errors import SpecError
from slipstick_measure.fit.loads import fit_loads, load_of
from slipstick_measure.formats import load_test
from slipstick_measure.imports.loads import load_spec
from slipstick_measure.loads import LoadRow, LoadTest
from slipstick_measure.measurements import Hints
from slipstick_measure.report.loads import draw_load_fit, load_fit_text
from tests.measure.test_loads import closed_by_hand


def erlang_by_hand(load: float, servers: int) -> float:
    """Return the probability of waiting by the recursion of Erlang's loss formula."""
    lost = 1.0
    for number in range(1, servers + 1):
        lost = load * lost / (number + load * lost)
    return lost / (1 - load / servers * (1 - lost))


def response_by_hand(rate: float, service: float, servers: int, scv: float = 1.0) -> float:
    load = rate * service
    wait = erlang_by_hand(load, servers) * service / (servers - load)
    return service + (1 + scv) / 2 * wait


def noisy(rates: list[float], times: list[float], seed: int = 0) -> LoadTest:
    noise = np.random.default_rng(seed).normal(0, 0.02 if seed else 0.0, len(rates))
    rows = [
        LoadRow(at, rate=rate, response=time * float(np.exp(error)))
        for at, (rate, time, error) in enumerate(zip(rates, times, noise, strict=True), 1)
    ]
    return LoadTest("load.csv", tuple(rows))


RATES = [10.0, 30.0, 50.0, 70.0, 85.0, 93.0]


@pytest.mark.turns(5)
@pytest.mark.parametrize(("servers", "scv"), [(1, 0.0), (1, 1.0), (4, 1.0), (8, 4.0)])
def test_a_known_station_is_found(servers: int, scv: float) -> None:
    service = 0.01 * servers
    test = noisy(RATES, [0.005 + response_by_hand(rate, service, servers, scv) for rate in RATES])
    found = fit_loads(test, [97.0, 120.0])
    assert (found.best_station.station_model.servers, found.best_station.station_model.scv) == (
        servers,
        scv,
    )
    assert (found.best_station.service_demand, found.best_station.time_elsewhere) == pytest.approx(
        (service, 0.005), rel=1e-5
    )
    sure, saturated = found.predictions
    assert sure.value == pytest.approx(
        0.005 + response_by_hand(97, service, servers, scv), rel=1e-4
    )
    assert saturated.value is None
    assert "saturates at 100 /s" in saturated.reason


@pytest.mark.turns(4)
def test_predictions_enclose_what_comes_beyond_the_rows() -> None:
    """Of truths that the model has not: an scv between those tried, and two stations."""
    truths: list[Callable[[float], float]] = [
        lambda rate: 0.004 + response_by_hand(rate, 0.01, 1, 0.5),
        lambda rate: 0.004 + response_by_hand(rate, 0.02, 2, 2.0),
        lambda rate: response_by_hand(rate, 0.01, 1) + response_by_hand(rate, 0.006, 1),
    ]
    rates = [10.0, 25.0, 40.0, 55.0, 70.0, 80.0]
    inside = []
    for seed, truth in enumerate(truths, 1):
        (predicted,) = fit_loads(
            noisy(rates, [truth(rate) for rate in rates], seed), [87.0]
        ).predictions
        assert predicted.low is not None, predicted.reason
        assert predicted.high is not None
        inside.append(predicted.low <= truth(87.0) <= predicted.high)
    assert inside == [True, True, True]


def users_test(demands: tuple[float, ...], counts: tuple[int, ...]) -> LoadTest:
    rows = []
    for at, users in enumerate(counts, 1):
        throughput, response = closed_by_hand(users, demands, 1.0)
        rows.append(LoadRow(at, users=float(users), throughput=throughput, response=response))
    return LoadTest("users.csv", tuple(rows))


@pytest.mark.turns(6)
def test_users_who_think_are_those_of_a_closed_network() -> None:
    found = fit_loads(users_test((0.01,), (5, 40, 80, 100)), [150.0])
    assert found.think == pytest.approx(1.0)
    assert found.best_station.service_demand == pytest.approx(0.01, rel=1e-4)
    assert found.best_station.station_model.servers == 1
    (predicted,) = found.predictions
    assert predicted.value == pytest.approx(closed_by_hand(150, (0.01,), 1.0)[1], rel=1e-3)
    twin = fit_loads(users_test((0.01, 0.01), (5, 40, 80, 100)), [150.0])
    assert twin.best_station.station_model.second_demand_ratio == 1.0
    assert "and a second one with 100% of its demand" in load_fit_text(twin.result())


@pytest.mark.turns(4)
def test_one_user_is_no_users() -> None:
    text = load_fit_text(fit_loads(users_test((0.01,), (1, 40, 80, 100)), [150.0]).result())
    assert " at 1 user to " in text
    assert " at 100 users." in " ".join(text.split())


def test_a_percentile_is_fitted_where_no_mean_was_measured() -> None:
    """Of M/M/1 a time is exponential, so that its 95 % is its mean times ln 20."""
    rows = [
        LoadRow(at, rate=rate, quantiles={0.95: 0.01 / (1 - 0.01 * rate) * np.log(20)})
        for at, rate in enumerate((10.0, 50.0, 80.0, 90.0))
    ]
    found = fit_loads(LoadTest("p95.csv", tuple(rows)), [95.0], servers=1)
    assert found.best_station.service_demand == pytest.approx(0.01, rel=1e-4)
    assert found.predictions[0].value == pytest.approx(0.2 * np.log(20), rel=1e-3)
    assert "the 95 % response time goes from" in load_fit_text(found.result())


def test_rows_that_completed_less_than_was_offered_are_left_out() -> None:
    test = noisy(RATES, [0.005 + response_by_hand(rate, 0.01, 1) for rate in RATES])
    late = LoadRow(9, rate=150.0, throughput=99.0, response=8.0)
    found = fit_loads(LoadTest(test.file, (*test.rows, late)), servers=1)
    assert found.best_station.service_demand == pytest.approx(0.01, rel=1e-5)
    assert "Left out: 150 /s offered" in load_fit_text(found.result())


@pytest.mark.turns(4)
def test_rows_that_no_station_explains_are_said_to_be_so() -> None:
    test = noisy(RATES, [0.02, 0.01, 0.03, 0.01, 0.02, 0.01])
    found = fit_loads(test, [95.0])
    assert "No station describes these rows" in load_fit_text(found.result())
    assert "no station describes the rows" in found.predictions[0].reason
    with pytest.raises(SpecError) as caught:
        load_spec(test)
    assert (
        "there is no utilization of a tier, so demands are not known (D = U c / X), nor mean"
        " response times at several loads that a station explains; add a column such as 'db CPU"
        " %', and --servers db=4 where a tier has several"
    ) in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            [LoadRow(1, users=1.0, response=1.0), LoadRow(2, rate=1.0, response=1.0)],
            "some rows have users and some a rate; give a table of one kind",
        ),
        (
            [LoadRow(1, rate=1.0, response=1.0)],
            (
                "response times at two loads at least are needed, at which the requests that "
                "come are completed; there are 1"
            ),
        ),
        (
            [LoadRow(1, users=1.0, response=1.0), LoadRow(2, users=2.0, response=1.0)],
            (
                "users need a throughput and a mean response time in each row, from which "
                "their think time follows (Little's law)"
            ),
        ),
        ([LoadRow(1, rate=1.0), LoadRow(2, rate=2.0)], "there are no response times in it"),
    ],
)
def test_what_cannot_be_fitted_is_refused(rows: list[LoadRow], message: str) -> None:
    with pytest.raises(SpecError) as caught:
        fit_loads(LoadTest("load.csv", tuple(rows)))
    assert message in str(caught.value)


def test_two_loads_determine_a_station_and_predict_nothing() -> None:
    found = fit_loads(noisy([10.0, 90.0], [0.012, 0.1]), [95.0], servers=1)
    assert "without one left over" in found.predictions[0].reason


@pytest.mark.parametrize(("servers", "way_out"), [(0, "(--servers)"), (1, "")])
def test_a_prediction_of_an_interval_beyond_a_factor_of_four_is_not_given(
    servers: int, way_out: str
) -> None:
    times = [0.004 + response_by_hand(rate, 0.01, 1) for rate in (10.0, 50.0, 80.0)]
    rows = noisy([10.0, 50.0, 80.0], times, seed=1)
    near, far = fit_loads(rows, [95.0, 96.0], servers=servers or None).predictions
    assert near.low is not None
    assert near.high is not None
    assert 3 * near.low < near.high < 4 * near.low
    assert far.value is None
    assert "it lies between 0.144 and 0.756 s, too wide to be of use" in far.reason
    assert far.reason.endswith(way_out or "measure at a larger load")


TABLE = """rate [1/s],mean [ms],p95 [ms]
10,16.1111,33
50,25,60
80,55,149
90,105,299
"""


@pytest.mark.turns(5)
def test_the_command_fits_and_import_makes_the_network(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "load.csv").write_text(TABLE)
    load, network = str(tmp_path / "load.csv"), str(tmp_path / "net.yaml")
    assert main(["fit", load, "--at", "95,96 /s", "--servers", "1"]) == 0
    text = capsys.readouterr().out
    assert "a request needs 10 ms" in text
    assert "At 95 /s, beyond the rows: 205 ms" in text
    assert main(["fit", load, "--at", "95", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)["load_fit"]
    assert document["stations"][0]["service"] == pytest.approx(0.01, rel=1e-3)
    assert main(["import", load, "-o", network]) == 0
    assert main(["solve", network, "--set", "classes.requests.arrivals=95 /s", "--json"]) == 0
    *_, line = capsys.readouterr().out.strip().splitlines()
    values = json.loads(line)["answers"][0]["values"]
    assert values["response_time[requests]"]["value"] == pytest.approx(0.205, rel=0.01)
    picture = tmp_path / "load.png"
    assert main(["fit", load, "--at", "95", "--picture", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.turns(4)
def test_the_picture_has_the_rows_the_stations_and_the_predictions(tmp_path: Path) -> None:
    (tmp_path / "load.csv").write_text(TABLE)
    test = load_test([tmp_path / "load.csv"], [Hints()])
    assert test is not None
    found = fit_loads(test, [95], 1)
    (axes,) = draw_load_fit(found.result(), found.curves(), "a test").axes
    lines = {str(line.get_label()): line for line in axes.get_lines()}
    measured = np.asarray(lines["measured"].get_xdata(), float)
    assert measured.tolist() == [load_of(row) for row in found.rows]
    curve = lines[found.best_station.station_model.description]
    at, times = np.asarray(curve.get_xdata(), float), np.asarray(curve.get_ydata(), float)
    assert at[-1] == 95  # as far as was asked for
    assert np.interp(90, at, times) == pytest.approx(
        float(found.response(found.best_station, [90])[0]), rel=0.02
    )
    assert "predicted" in axes.get_legend_handles_labels()[1]
    assert axes.get_ylabel() == "mean response time [s]"
