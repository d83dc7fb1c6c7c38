"""Arrivals in activity files: groups that arrive, patterns, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick import dump, load, service, solve
from slipstick.errors import NoAnswerError, SpecError
from slipstick.expression.nodes import RATE, Parameter
from slipstick.method.methods import note_on_groups
from slipstick.model.system import (
    ClosedPopulation,
    Model,
    OpenPopulation,
    StreamsPopulation,
    grouped_model,
)
from slipstick.vocabulary import BATCHES, BURSTS, PROFILES, RENEWALS, STREAMS, TRACES

USERS = "users: {processors: 2, cycle: [{service: disk, time: 1 s}]}"
DAY = "[{lasts: 16 h, rate: 0.1 /s}, {lasts: 8 h, rate: 0.4 /s}]"
CYCLE = "cycle: [{name: serve, service: disk, time: 1 s}]"


def written(folder: Path, population: str) -> Path:
    path = folder / "arriving.yaml"
    path.write_text(f"activity: 1\nresources: {{disk: {{servers: 1}}}}\n{population}\n")
    return path


def read(folder: Path, population: str) -> Model:
    model = load(str(written(folder, population)))
    assert isinstance(model, Model)
    return model


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("keys", "constructs"),
    [
        ("arrivals: 0.3 /s", set()),
        ("arrivals: 0.3 /s, arrivals_scv: 0", {RENEWALS}),
        ("arrivals: 0.3 /s, batch: 3", {BATCHES}),
        ("arrivals: 0.3 /s, burst_arrivals: 2 /s, burst_time: 3 s, quiet_time: 9 s", {BURSTS}),
        ("arrivals: 0.3 /s, trace: {gaps: 1 2 3}", {TRACES}),
        (f"profile: {DAY}", {PROFILES}),
        (f"arrivals: 0.3 /s, batch: 2, profile: {DAY}", {PROFILES, BATCHES}),
    ],
)
def test_a_pattern_is_read_and_written(tmp_path: Path, keys: str, constructs: set[str]) -> None:
    alone = read(tmp_path, f"population: {{{keys}}}\n{CYCLE}")
    assert isinstance(alone.population, OpenPopulation)
    assert alone.constructs == constructs
    beside = read(tmp_path, f"groups: {{{USERS}, jobs: {{{keys}, {CYCLE}}}}}")
    assert isinstance(beside.population, ClosedPopulation)
    assert beside.constructs == constructs | {STREAMS}
    for model in (alone, beside):
        again = tmp_path / "again.yaml"
        again.write_text(dump(model))
        reread = load(str(again))
        assert isinstance(reread, Model)
        assert reread.constructs == model.constructs
        assert dump(reread) == dump(model)


SHOP = (
    "groups: {readers: {arrivals: 20 /s, cycle: [{service: disk, time: 10 ms, scv: 1}]},"
    " buyers: {arrivals: 4 /s, target_time: 60 ms, cycle: [{service: disk, time: 30 ms, scv: 2}]}}"
)


@pytest.mark.turns(4)
def test_several_streams_need_no_processors(tmp_path: Path) -> None:
    model = read(tmp_path, SHOP)
    assert isinstance(model.population, StreamsPopulation)
    again = tmp_path / "again.yaml"
    again.write_text(dump(model))
    reread = load(str(again))
    assert isinstance(reread, Model)
    assert dump(reread) == dump(model)
    exact = solve(model)
    assert (exact.method, exact.exact) == ("mean-value", True)
    answer = solve(model, method="simulation")
    # Pollaczek and Khinchine: the residual service of both streams over the share of idle time.
    wait = (20 * 2 * 0.01**2 + 4 * 3 * 0.03**2) / 2 / (1 - 20 * 0.01 - 4 * 0.03)
    for stream, service_time, rate in (("readers", 0.01, 20.0), ("buyers", 0.03, 4.0)):
        for name, expected in (
            (f"response_time[{stream}]", wait + service_time),
            (f"throughput[{stream}]", rate),
        ):
            assert exact[name] == pytest.approx(expected, rel=1e-9)
            value = answer.values[name]
            assert value.value is not None
            assert value.low is not None
            assert abs(value.value - expected) < 4 * (value.value - value.low), name
    share_within_target = answer["within_target[buyers]"]
    assert share_within_target is not None
    assert 0 < share_within_target < 1


def test_one_stream_is_the_same_as_a_population_of_arrivals(tmp_path: Path) -> None:
    keys = "arrivals: 20 /s, target_time: 60 ms"
    cycle = "cycle: [{service: disk, time: 10 ms, scv: 1}]"
    grouped = read(tmp_path, f"groups: {{readers: {{{keys}, {cycle}}}}}")
    alone = read(tmp_path, f"population: {{{keys}}}\n{cycle}")
    assert isinstance(grouped.population, OpenPopulation)
    assert solve(grouped)["time"] == solve(alone)["time"]


def test_streams_are_built_in_python() -> None:
    rate = Parameter("calls", RATE, 2.0)
    visit = service("desk", 0.1)
    model = grouped_model({"calls": (rate, visit), "letters": (rate / 2, visit)})
    assert isinstance(model.population, StreamsPopulation)
    assert [str(stream_rate) for stream_rate, _ in model.population.streams] == [
        "calls",
        "calls / 2",
    ]
    assert solve(model)["throughput[letters]"] == 1.0
    with pytest.raises(NoAnswerError) as unanswered:
        solve(model, set={"calls": 0.0})
    assert str(unanswered.value) == (
        "customers of calls arrive 0 times a second; mean-value needs a rate above 0, or a group of"
        " which some arrive written first"
    )
    with pytest.raises(NoAnswerError) as caught:
        solve(model, set={"calls": 0.0}, method="simulation")
    assert str(caught.value).startswith(
        "no customers of calls arrive, whose account the answer would hold; write a group of which"
        " some arrive first"
    )


def test_a_trace_is_read_from_the_folder_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("time [s]\n0\n1\n4\n")
    model = read(tmp_path, f"population: {{trace: {{file: log.txt}}}}\n{CYCLE}")
    assert isinstance(model.population, OpenPopulation)
    assert model.population.pattern.trace == (0.5, 1.5)
    assert model.parameters["population.arrivals"].value == 0.5


def test_streams_and_processors_stand_in_any_order(tmp_path: Path) -> None:
    """Answers are about the first group of processors."""
    stream = f"jobs: {{arrivals: 0.3 /s, {CYCLE}}}"
    first, last = (
        read(tmp_path, f"groups: {{{groups}}}")
        for groups in (f"{stream}, {USERS}", f"{USERS}, {stream}")
    )
    assert first == last
    assert isinstance(first.population, ClosedPopulation)
    assert first.population.first.arrivals is None
    assert note_on_groups(first).endswith("are those of the first group of processors, users")


@pytest.mark.parametrize(
    ("population", "message"),
    [
        (
            f"groups: {{{USERS}, jobs: {{processors: 1, arrivals: 0.3 /s, {CYCLE}}}}}",
            "groups.jobs.cycle: a group has processors, or arrivals; give one of them",
        ),
        (
            f"population: {{processors: 2, arrivals_scv: 4}}\n{CYCLE}",
            "population.arrivals_scv: arrivals_scv says how arrivals vary; give their rate",
        ),
        (
            f"population: {{processors: 2, batch: 4}}\n{CYCLE}",
            "population.batch: a batch belongs to a stream; give it arrivals",
        ),
        (
            f"population: {{profile: {DAY}, burst_time: 1 s, quiet_time: 1 s}}\n{CYCLE}",
            (
                "population.profile: a profile says at which rate customers arrive; leave "
                "bursts and traces out"
            ),
        ),
        (
            f"population: {{profile: {DAY}, arrivals_scv: 0}}\n{CYCLE}",
            (
                "population.arrivals_scv: arrivals by a profile are a Poisson stream at any "
                "time; leave arrivals_scv out"
            ),
        ),
        (
            f"population: {{profile: [{{lasts: 1 h, rate: 0 /s}}]}}\n{CYCLE}",
            "population.profile: a profile needs a piece in which customers arrive",
        ),
        (
            f"population: {{profile: [{{time: 1 h, rate: 1 /s}}]}}\n{CYCLE}",
            "population.profile.0.time: unknown key; write lasts",
        ),
    ],
)
def test_what_is_wrong_is_told_at_its_place(tmp_path: Path, population: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        load(str(written(tmp_path, population)))
    assert message in str(caught.value)
