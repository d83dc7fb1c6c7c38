"""Timelines for the eye and for trace viewers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from slipstick.errors import InputError, ModelError
from slipstick.expression.nodes import TIME, Number
from slipstick.method.simulation.flatten import timeline
from slipstick.model.activity import barrier, delay, parallel, pipeline, serial, service, then
from slipstick.model.system import Barrier, closed_model, grouped_model
from slipstick.results.study import Timeline, TimelineInterval
from slipstick_pictures.files import write_timeline
from slipstick_pictures.look import look
from slipstick_pictures.timeline import chrome_trace_json, draw_phase, draw_steps, draw_timeline

WORK, ASK, WAIT = (
    TimelineInterval(0, 0, "work", 0.0, 2e-3),
    TimelineInterval(1, 0, "ask", 0.0, 1e-3),
    TimelineInterval(1, 1, "wait:bus", 0.0, 1.5e-3, 0),
)
FOUND = Timeline(
    (WORK, ASK, WAIT), {"bus": ((0.0, 2, 1), (1e-3, 0, 0))}, 2e-3, (WORK,), {"work": "busy"}
)


def test_a_trace_has_all_spans_and_counters_in_microseconds() -> None:
    events = json.loads(chrome_trace_json(FOUND))["traceEvents"]
    spans = [each for each in events if each["ph"] == "X"]
    assert [
        (each["name"], each["cat"], each["pid"], each["tid"], each["ts"], each["dur"])
        for each in spans
    ] == [
        ("work", "busy", 0, 0, 0.0, 2000.0),
        ("ask", "ask", 1, 0, 0.0, 1000.0),
        ("wait:bus", "wait:bus", 1, 1, 0.0, 1500.0),
    ]
    counters = [(each["ts"], each["args"]) for each in events if each["ph"] == "C"]
    assert counters == [(0.0, {"present": 2, "busy": 1}), (1000.0, {"present": 0, "busy": 0})]
    names = {each["pid"]: each["args"]["name"] for each in events if each["ph"] == "M"}
    assert names == {0: "processor 0", 1: "processor 1", -1: "resources"}


@pytest.mark.turns(4)
def test_a_picture_has_a_bar_for_each_span_and_lanes_for_branches() -> None:
    with look():
        figure = draw_timeline(FOUND, "Who did what")
    rows, active, queues = figure.axes
    bars = [(left, width, round(height, 3)) for _, left, _, width, height in bars_of(rows)]
    assert sorted(bars) == [(0.0, 1.0, 0.4), (0.0, 1.5, 0.4), (0.0, 2.0, 0.8)]
    assert len(rows.patches) == 3, "one shape for each name, however many its bars"
    assert rows.get_title(loc="left") == "critical path of this run (no average): useful work 100 %"
    assert active.get_title(loc="left") == "processors at useful work"
    assert queues.get_xlabel() == "time [ms]"
    assert [line.get_label() for line in queues.lines] == ["bus"]


def bars_of(axes: Any) -> list[tuple[str, float, float, float, float]]:
    """List the bars of a picture: name, left end, bottom, width and height."""
    return [
        (patch.get_label(), *corners.min(0), *np.ptp(corners, 0))
        for patch in axes.patches
        for corners in patch.get_path().to_polygons()
    ]


def rows_of(figure: Any) -> dict[str, list[tuple[str, float, float]]]:
    """Return by row the name, start and length of its bars."""
    (axes,) = figure.axes
    names = [each.get_text() for each in axes.get_yticklabels()]
    found: dict[str, list[tuple[str, float, float]]] = {name: [] for name in names}
    for name, left, bottom, width, height in bars_of(axes):
        row = names[round(bottom + height / 2)]
        found[row].append((name, round(left, 6), round(width, 6)))
    return found


@pytest.mark.parametrize("count", [4000, 1])
def test_a_name_is_one_shape_however_many_bars_it_has(count: int) -> None:
    spans = tuple(replace(WORK, start=k * 1e-3, end=k * 1e-3 + 5e-4) for k in range(count))
    with look():
        figure = draw_timeline(replace(FOUND, spans=spans, until=count * 1e-3, path=()), "t")
    (shape,) = figure.axes[0].patches
    assert len(shape.get_path().to_polygons()) == count


def test_steps_stand_in_the_rows_of_those_who_take_part() -> None:
    remote = then(
        service("wire", 1.0, name="request", technology="wire"),
        delay(0.5, name="adapter", technology="adapter"),
        service("each-other", 4.0, name="serve"),
    )
    stages = [
        serial(service("own", 2.0, name="send"), name="sends"),
        parallel(remote, name="remote"),
    ]
    cycle = pipeline(stages, 2, name="parts") >> delay(1.0, name="compute")
    with look():
        figure = draw_steps(timeline(closed_model(cycle, useful=()), cycles=1), "Two parts")
    assert rows_of(figure) == {
        "processor 0": [("send", 0.0, 2.0), ("send", 2.0, 2.0), ("compute", 9.5, 1.0)],
        "processor 1": [("serve", 3.5, 4.0)],
        "processor 2": [("serve", 5.5, 4.0)],
        "network": [("adapter", 3.0, 0.5), ("adapter", 5.0, 0.5)],
        "wire": [("request", 2.0, 1.0), ("request", 4.0, 1.0)],
    }


def test_a_phase_adds_up_what_each_processor_did_until_the_slowest_arrived() -> None:
    wait = barrier("gate")
    slow = then(
        delay(1.0, name="a"), delay(2.0, name="b", component="other"), delay(1.0, name="c"), wait
    )
    groups = {"fast": (1, delay(3.0, name="d") >> wait), "slow": (1, slow)}
    found = timeline(
        grouped_model(groups, resources={"gate": Barrier("central", Number(0.5, TIME))}), cycles=2
    )
    assert found.phase == 4.0
    with look():
        figure = draw_phase(found, "One phase")
    assert rows_of(figure) == {
        "processor 0": [("useful work", 0.0, 3.0), ("barrier", 3.0, 1.0)],
        "processor 1": [("useful work", 0.0, 2.0), ("other", 2.0, 2.0)],
    }


def test_a_phase_without_a_barrier_is_refused() -> None:
    with pytest.raises(
        ModelError,
        match="'Who': no processor waits for another at a barrier; draw it with show: run",
    ):
        draw_phase(FOUND, "Who")


@pytest.mark.turns(4)
@pytest.mark.parametrize("ending", ["json", "png", "svg"])
def test_it_is_written_by_the_ending_of_its_name(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"run.{ending}"
    write_timeline(FOUND, path, "Who did what")
    assert path.stat().st_size > 100
    assert list(tmp_path.iterdir()) == [path]


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        write_timeline(FOUND, tmp_path / "run.txt", "Who did what")
    assert (
        str(caught.value)
        == "a timeline is written to a file that ends in .json, .png or .svg, not to run.txt"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_picture_of_too_many_bars_is_refused() -> None:
    many = replace(FOUND, spans=(WORK,) * 4001)
    with pytest.raises(ModelError) as caught:
        draw_timeline(many, "t")
    assert (
        str(caught.value)
        == "4,001 bars are too many for a picture, which has 4,000 at most; draw fewer cycles or"
        " processors, or write a .json file for a trace viewer"
    )
