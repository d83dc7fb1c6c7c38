"""Timelines for the eye and for trace viewers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slipstick.errors import InputError
from slipstick.report.pictures import look
from slipstick.report.timeline import chrome_trace, draw_timeline
from slipstick.report.write import write_timeline
from slipstick.results.study import Timeline, TimelineInterval

WORK, ASK, WAIT = (
    TimelineInterval(0, 0, "work", 0.0, 2e-3),
    TimelineInterval(1, 0, "ask", 0.0, 1e-3),
    TimelineInterval(1, 1, "wait:bus", 0.0, 1.5e-3, 0),
)
FOUND = Timeline((WORK, ASK, WAIT), {"bus": ((0.0, 2, 1), (1e-3, 0, 0))}, 2e-3, (WORK,), {"work": "busy"})


def test_a_trace_has_all_spans_and_counters_in_microseconds() -> None:
    events = json.loads(chrome_trace(FOUND))["traceEvents"]
    spans = [each for each in events if each["ph"] == "X"]
    assert [(each["name"], each["cat"], each["pid"], each["tid"], each["ts"], each["dur"]) for each in spans] == [
        ("work", "busy", 0, 0, 0.0, 2000.0),
        ("ask", "ask", 1, 0, 0.0, 1000.0),
        ("wait:bus", "wait:bus", 1, 1, 0.0, 1500.0),
    ]
    counters = [(each["ts"], each["args"]) for each in events if each["ph"] == "C"]
    assert counters == [(0.0, {"present": 2, "busy": 1}), (1000.0, {"present": 0, "busy": 0})]
    names = {each["pid"]: each["args"]["name"] for each in events if each["ph"] == "M"}
    assert names == {0: "processor 0", 1: "processor 1", -1: "resources"}


def test_a_picture_has_a_bar_for_each_span_and_lanes_for_branches() -> None:
    with look():
        figure = draw_timeline(FOUND, "Who did what")
    rows, active, queues = figure.axes
    bars = [(bar.get_x(), bar.get_width(), round(bar.get_height(), 3)) for bar in rows.patches]  # type: ignore[attr-defined]
    assert sorted(bars) == [(0.0, 1.0, 0.4), (0.0, 1.5, 0.4), (0.0, 2.0, 0.8)]
    assert rows.get_title(loc="left") == "critical path of this run (no average): busy 100 %"
    assert active.get_title(loc="left") == "processors at useful work (busy)"
    assert queues.get_xlabel() == "time [ms]"
    assert [line.get_label() for line in queues.lines] == ["bus"]


@pytest.mark.parametrize("ending", ["json", "png", "svg"])
def test_it_is_written_by_the_ending_of_its_name(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"run.{ending}"
    write_timeline(FOUND, path, "Who did what")
    assert path.stat().st_size > 100
    assert list(tmp_path.iterdir()) == [path]


def test_another_ending_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        write_timeline(FOUND, tmp_path / "run.txt", "Who did what")
    assert str(caught.value) == "a timeline is written to a file that ends in .json, .png or .svg, not to run.txt"
    assert list(tmp_path.iterdir()) == []
