"""Arrivals in activity files: groups that arrive, patterns, and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from slipstick import dump, load
from slipstick.errors import SpecError
from slipstick.model.system import ClosedPopulation, Model, OpenPopulation
from slipstick.vocabulary import BATCHES, BURSTS, RENEWALS, STREAMS, TRACES

USERS = "users: {processors: 2, cycle: [{service: disk, time: 1 s}]}"
CYCLE = "cycle: [{name: serve, service: disk, time: 1 s}]"


def written(folder: Path, population: str) -> Path:
    path = folder / "arriving.yaml"
    path.write_text(f"activity: 1\nresources: {{disk: {{servers: 1}}}}\n{population}\n")
    return path


def read(folder: Path, population: str) -> Model:
    model = load(str(written(folder, population)))
    assert isinstance(model, Model)
    return model


@pytest.mark.parametrize(
    ("keys", "constructs"),
    [
        ("arrivals: 0.3 /s", set()),
        ("arrivals: 0.3 /s, arrivals_scv: 0", {RENEWALS}),
        ("arrivals: 0.3 /s, batch: 3", {BATCHES}),
        ("arrivals: 0.3 /s, burst_arrivals: 2 /s, burst_time: 3 s, quiet_time: 9 s", {BURSTS}),
        ("arrivals: 0.3 /s, trace: {gaps: 1 2 3}", {TRACES}),
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


def test_a_trace_is_read_from_the_folder_of_the_file(tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text("time [s]\n0\n1\n4\n")
    model = read(tmp_path, f"population: {{trace: {{file: log.txt}}}}\n{CYCLE}")
    assert isinstance(model.population, OpenPopulation)
    assert model.population.pattern.trace == (0.5, 1.5)
    assert model.parameters["population.arrivals"].value == 0.5


@pytest.mark.parametrize(
    ("population", "message"),
    [
        (
            f"groups: {{jobs: {{arrivals: 0.3 /s, {CYCLE}}}, {USERS}}}",
            (
                "3:16: groups.jobs: answers are about the first group, which must be closed,"
                " but jobs arrives; write a group with processors first,"
                " or without `groups` a `population` of arrivals and a `cycle`"
            ),
        ),
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
    ],
)
def test_what_is_wrong_is_told_at_its_place(tmp_path: Path, population: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        load(str(written(tmp_path, population)))
    assert message in str(caught.value)
