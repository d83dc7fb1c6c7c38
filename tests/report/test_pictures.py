"""Pictures: labelled axes with units, legends, hard cases, the same bytes each time."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import rgb_to_hsv, to_rgb
from matplotlib.container import BarContainer, ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from slipstick.answer import Answer, Value
from slipstick.errors import MissingExtraError, UnknownNameError
from slipstick.results.study import Results
from slipstick.results.sweep import Axis, Provenance, Sweep
from slipstick.results.words import Words
from slipstick.schema.kinds.study import BarsSpec, LinesSpec, MapSpec, PictureSpec
from slipstick_pictures.look import (
    FILLS,
    STROKES,
    fill_style,
    fills_of,
    make_narrow,
    new_figure,
    set_plain_ticks,
    with_title_and_legend,
    write_remark,
)
from slipstick_pictures.pictures import (
    Line,
    draw,
    fill_indices_by_label,
    grid_of,
    lines_of,
    notes_on_coinciding_lines,
    save,
)
from tests.processes import HANGS
from tests.report.made_up import (
    ADAPTER,
    BARS,
    BASE,
    LINES,
    NETWORK,
    SMALL,
    SMALL_RESULTS,
    US,
    limit_map,
    sweep,
    with_sweeps,
)

REPORTS = Path(__file__).parents[2] / "reports"
_PATTERN = re.compile(r'<pattern id="(\w+)".*?<rect [^>]*? fill="([^"]+"/>.*?)" style', re.DOTALL)
_SWATCH = re.compile(
    r'style="fill: ([^;]+); [^"]*"/>\s*</g>\s*<g id="text_\d+">\s*<text[^>]*>([^<]+)<'
)
LONG = "machine.network.protocol.ranges.small.total.per_byte"


def test_bars_have_a_unit_a_legend_and_their_total() -> None:
    figure = draw(SMALL_RESULTS, BARS)
    axes = figure.axes[0]
    assert axes.get_ylabel() == "time [ms]"
    assert _legend(figure) == ["fault", "useful work"]
    assert [text.get_text() for text in axes.texts] == ["1.705 ms"]


def test_shares_are_percent_and_still_show_the_time() -> None:
    spec = BarsSpec(
        kind="bars", name="b", title="t", cases=["base", "broken"], stack="technology", share=True
    )
    figure = draw(SMALL_RESULTS, spec)
    assert figure.axes[0].get_ylabel() == "share of the time [%]"
    assert [text.get_text() for text in figure.axes[0].texts] == ["1.705 ms", "0 s"]
    assert _heights(figure) == pytest.approx([70.38, 0, 29.62, 0], abs=0.01)


def test_named_sums_are_stacked_as_asked() -> None:
    stack = {
        "software": ["step[send]"],
        "both | $x$": ["once[send]", "step[wire]"],
        "none": ["step[nowhere]"],
    }
    spec = BarsSpec(kind="bars", name="b", title="t", cases=["base"], stack=stack)
    figure = draw(SMALL_RESULTS, spec)
    assert _legend(figure) == ["both | $x$", "software"]
    assert _heights(figure) == pytest.approx([1.2, 0.905])


def test_areas_lie_along_the_number_that_the_cases_set() -> None:
    counts = {"many": 16, "few": 2, "some": 8}
    results = replace(
        SMALL_RESULTS,
        cases=dict.fromkeys(counts, BASE),
        settings={case: {"processors": str(count)} for case, count in counts.items()},
    )
    spec = BarsSpec(
        kind="bars", name="b", title="t", cases=[*counts], stack="component", along="processors"
    )
    (axes,) = draw(results, spec).axes
    assert _legend(axes.figure) == ["fault", "useful work"]  # type: ignore[arg-type]  # of a figure
    assert axes.get_xlim() == (2, 16)
    assert axes.get_xlabel() == "processors"
    tops = [np.asarray(area.get_paths()[0].vertices)[:, 1].max() for area in axes.collections]
    assert tops == pytest.approx([1.0, 1.705])


def test_a_class_keeps_its_fill_when_others_are_absent() -> None:
    lonely = replace(BASE, technology={"wire": 1.0})
    results = replace(SMALL_RESULTS, cases={"base": BASE, "lonely": lonely})
    fills = []
    for case in ("base", "lonely"):
        spec = BarsSpec(kind="bars", name="b", title="t", cases=[case], stack="technology")
        axes = draw(results, spec).axes[0]
        bars = [each for each in axes.containers if isinstance(each, BarContainer)]
        fills.append(
            next(each.patches[0].get_facecolor() for each in bars if each.get_label() == "the wire")
        )
    assert fills[0] == fills[1]


@pytest.mark.turns(4)
def test_many_bars_with_long_names_lie_under_their_own_labels() -> None:
    for name, rotation in (("fast-ethernet-with-latency", 0.0), ("interconnection-networks", 30.0)):
        cases = {f"{name}-{index}": BASE for index in range(14)}
        spec = BarsSpec(
            kind="bars", name="b", title="t " * 90, cases=list(cases), stack="component"
        )
        labels = draw(replace(SMALL_RESULTS, cases=cases), spec).axes[0].get_xticklabels()
        assert {label.get_rotation() for label in labels} == {rotation}
        assert all("\n" in label.get_text() for label in labels) == (not rotation)


@pytest.mark.turns(4)
def test_bars_of_measured_runs_are_called_by_what_tells_them_apart() -> None:
    measured = {f"two-cores-{p}": replace(BASE, point={"p": p}) for p in (1, 2)}
    spec = BarsSpec(kind="bars", name="b", title="t", cases=list(measured), stack="component")

    def labels(cases: dict[str, Answer]) -> list[str]:
        asked = spec.model_copy(update={"cases": list(cases)})
        axes = draw(replace(SMALL_RESULTS, cases=cases), asked).axes[0]
        return [label.get_text().replace("\n", " ") for label in axes.get_xticklabels()]

    assert labels(measured) == ["1 processor", "2 processors"]
    further = {"printed-16": replace(BASE, point={"p": 16})}
    assert labels({**measured, **further})[1:] == [
        "two cores, 2 processors",
        "printed, 16 processors",
    ]
    assert labels({"two-cores-1": BASE}) == ["two cores-1"]


def test_nothing_to_stack_is_drawn_all_the_same() -> None:
    results = replace(
        SMALL_RESULTS, cases={"base": Answer("m", "closed-form", values={"time": Value(0.0, "s")})}
    )
    assert draw(results, BARS).axes[0].get_ylabel() == "time [s]"


def test_neighbours_in_a_stack_differ_in_grey_or_hatch() -> None:
    for (colour, hatch), (neighbour, beside) in combinations(FILLS, 2):
        greys = [np.dot(to_rgb(fill), [0.299, 0.587, 0.114]) for fill in (colour, neighbour)]
        assert set(hatch) != set(beside) or abs(greys[0] - greys[1]) > 0.12, (colour, neighbour)
    assert len({(marker, dashes) for _, marker, dashes in STROKES}) == len(STROKES)


def test_a_line_goes_through_its_points_in_the_units_of_the_axes() -> None:
    figure = draw(SMALL_RESULTS, LINES)
    axes = figure.axes[0]
    assert (axes.get_xlabel(), axes.get_ylabel()) == (
        "latency of the network adapter [us]",
        "time [ms]",
    )
    assert axes.get_xscale() == "log"
    assert not figure.legends, "the title says what a single line is"
    line = axes.get_lines()[0]
    assert _drawn(line)[0] == pytest.approx([10, 20, 40])
    assert _drawn(line)[1] == pytest.approx([1.04, math.nan, 1.16], nan_ok=True)


@pytest.mark.parametrize(
    ("values", "log", "scale"),
    [
        ((1.0, 2.0, 4.0, 8.0, 16.0), {}, "log"),
        ((1.0, 2.0, 4.0, 8.0, 16.0), {"log": "none"}, "linear"),
        ((1.0, 2.0, 4.0), {}, "log"),
        ((1.0, 2.0), {}, "linear"),
        ((1.0, 2.0, 3.0, 4.0, 5.0), {}, "linear"),
    ],
)
def test_an_axis_by_a_factor_is_logarithmic_unless_its_author_says_otherwise(
    values: tuple[float, ...], log: dict[str, str], scale: str
) -> None:
    axis = Axis("machine.network.adapter", "s", values)
    results = with_sweeps(sweep("latency", [axis], lambda case, x: 1 / x, ["base"]))
    plain = {name: value for name, value in LINES.model_dump().items() if name != "log"}
    (axes,) = draw(results, type(LINES).model_validate({**plain, **log})).axes
    assert axes.get_xscale() == scale


@pytest.mark.parametrize(
    ("values", "log", "power", "scale"),
    [
        ((1.0, 2.0, 4.0, 8.0, 16.0), {}, 3, "log"),
        ((1.0, 2.0, 4.0, 8.0, 16.0), {}, 1, "linear"),
        ((1.0, 2.0, 4.0, 8.0, 16.0), {"log": "x"}, 3, "linear"),
        ((1.0, 4.0, 7.0, 10.0, 13.0), {}, 3, "linear"),
    ],
)
def test_values_that_differ_much_along_an_axis_by_a_factor_have_a_logarithmic_axis(
    values: tuple[float, ...], log: dict[str, str], power: int, scale: str
) -> None:
    axis = Axis("machine.network.adapter", "s", values)
    results = with_sweeps(sweep("latency", [axis], lambda case, x: x**power, ["base"]))
    plain = {name: value for name, value in LINES.model_dump().items() if name != "log"}
    (axes,) = draw(results, type(LINES).model_validate({**plain, **log})).axes
    assert axes.get_yscale() == scale


def test_twelve_lines_are_told_apart_without_colour() -> None:
    cases = [f"case-{index}" for index in range(12)]
    results = with_sweeps(
        sweep("latency", [SMALL.axes[0]], lambda case, x: x * (1 + cases.index(case)), cases)
    )
    figure = draw(results, LINES)
    assert _legend(figure) == cases
    assert (
        len({(line.get_marker(), line.get_linestyle()) for line in figure.axes[0].get_lines()})
        == 12
    )


def test_lines_by_another_axis_bear_its_values_with_their_unit() -> None:
    sizes = Axis(LONG, "s/B", (10e-9, 80e-9))
    results = with_sweeps(sweep("latency", [SMALL.axes[0], sizes], lambda _, x, y: x + 1000 * y))
    figure = draw(results, LINES.model_copy(update={"series": LONG}))
    assert _legend(figure) == ["10 ns/B", "80 ns/B"]
    assert figure.legends[0].get_title().get_text() == "time of a byte on the\nprotocol"


def test_further_axes_and_cases_part_lines_too() -> None:
    networks, parts = Axis(NETWORK, "1", ("fe", "atm")), Axis("parts", "1", (1.0, 3.0))
    made = sweep(
        "latency", [SMALL.axes[0], networks, parts], lambda _, x, n, p: x * p, ["base", "faster"]
    )
    lines = lines_of(made, LINES.model_copy(update={"series": NETWORK}))
    assert len(lines) == 8
    assert lines[0].label == "fe, base, 1 part"
    assert all(len(line.x) == 3 for line in lines)


def test_a_line_of_every_method_keeps_its_colour_and_what_was_simulated_is_dots() -> None:
    networks, methods = (
        Axis(NETWORK, "1", ("fe", "atm")),
        Axis("method", "1", ("mean-value", "simulation", "bounds")),
    )
    made = sweep("latency", [SMALL.axes[0], networks, methods], lambda _, x, *__: x)
    figure = draw(with_sweeps(made), LINES.model_copy(update={"series": NETWORK}))
    assert _legend(figure) == ["fe", "atm (covers fe)", "mean-value", "simulation", "bounds"]
    drawn = [
        (each.get_color(), each.get_linestyle(), each.get_marker())
        for each in figure.axes[0].get_lines()
    ]
    (black, circle, _), (blue, square, _) = STROKES[:2]
    seen = [(black, "None", circle), (blue, "None", square)]
    assert sorted(drawn) == sorted(
        [*seen, *((colour, dash, "") for colour in (black, blue) for dash in ("-", "--"))]
    )


def test_names_along_the_axis_are_categories_in_order() -> None:
    networks = Axis(NETWORK, "1", ("fast-ethernet", "atm", "25gbe"))
    results = with_sweeps(sweep("latency", [networks], lambda *_: 1.0))
    axes = draw(results, LINES.model_copy(update={"x": NETWORK})).axes[0]
    assert [label.get_text() for label in axes.get_xticklabels()] == [
        "fast-ethernet",
        "atm",
        "25gbe",
    ]
    assert axes.get_xlabel() == "network"
    words = Words(specs={"atm": "ATM OC-3"})
    axes = draw(replace(results, words=words), LINES.model_copy(update={"x": NETWORK})).axes[0]
    assert axes.get_xticklabels()[1].get_text() == "ATM OC-3"


def test_quantiles_on_an_axis_name_what_the_study_calls_its_customers() -> None:
    made = sweep("latency", [Axis("n", "1", (1.0, 2.0))], lambda *_: 1.0)
    name = "time_quantile[0.99]"
    quantiles = replace(made, columns={name: made.columns["time"]}, units={name: "s"})
    results = replace(with_sweeps(quantiles), words=Words({}, {}, member="request"))
    asked = LINES.model_copy(update={"x": "n", "y": [name], "log": "none"})
    assert draw(results, asked).axes[0].get_ylabel() == "99 % of requests end within [s]"


def test_lines_of_one_case_and_one_kind_are_called_by_what_tells_them_apart() -> None:
    axis = Axis("n", "1", (1.0, 2.0))
    made = sweep("latency", [axis], lambda *_: 1.0, cases=("base", "faster"))
    columns = {"account[lock]": made.columns["time"], "account[idle]": made.columns["time"]}
    accounts = replace(made, columns=columns, units=dict.fromkeys(columns, "s"))
    asked = LINES.model_copy(update={"x": "n", "y": list(columns), "log": "none"})
    everyone = ["lock, base", "lock, faster", "idle, base", "idle, faster"]
    assert [line.label for line in lines_of(accounts, asked)] == everyone
    assert [
        line.label for line in lines_of(accounts, asked.model_copy(update={"cases": ["faster"]}))
    ] == [
        "lock",
        "idle",
    ]


def test_relative_lines_begin_at_one_and_have_no_unit() -> None:
    axes = draw(SMALL_RESULTS, LINES.model_copy(update={"relative": True})).axes[0]
    assert axes.get_ylabel() == "time / first of its line"
    assert _drawn(axes.get_lines()[0])[1] == pytest.approx(
        [1.0, math.nan, 1.16 / 1.04], nan_ok=True
    )


@pytest.mark.turns(4)
def test_lines_against_an_axis_are_what_its_first_value_gives_divided_by_each() -> None:
    sizes, parts = Axis(ADAPTER, "s", (1.0, 2.0)), Axis(LONG, "1", (0.0, 1.0, 3.0))
    made = sweep("grid", [sizes, parts], lambda _, size, part: size * (1 + part))
    across = {"sweep": "grid", "x": ADAPTER, "series": LONG, "against": LONG}
    lines = lines_of(made, LINES.model_copy(update=across))
    assert [(line.label, line.unit, line.y.tolist()) for line in lines] == [
        ("1", "", [0.5, 0.5]),
        ("3", "", [0.25, 0.25]),
    ]
    along = lines_of(made, LINES.model_copy(update={**across, "x": LONG, "series": ADAPTER}))
    assert [line.y.tolist() for line in along] == [[1.0, 0.5, 0.25]] * 2
    axes = draw(with_sweeps(made), LINES.model_copy(update=across)).axes[0]
    assert axes.get_ylabel().startswith("time at first ")


def test_a_picture_calls_a_value_as_its_author_says() -> None:
    named = LINES.model_copy(update={"called": {"time": "time of a fault"}})
    assert draw(SMALL_RESULTS, named).axes[0].get_ylabel().startswith("time of a fault [")
    with pytest.raises(ValueError, match="called names speedup, which is not drawn; write it in y"):
        type(LINES).model_validate({**LINES.model_dump(), "called": {"speedup": "gain"}})


def test_lines_are_compared_in_one_way_only() -> None:
    with pytest.raises(
        ValueError, match="draw relative to the first point of a line, or against an axis; not both"
    ):
        type(LINES).model_validate(
            {
                "kind": "lines",
                "name": "a",
                "title": "b",
                "sweep": "c",
                "x": "d",
                "y": ["time"],
                "relative": True,
                "against": "e",
            }
        )


def test_values_of_different_units_have_panels_of_their_own() -> None:
    made = replace(
        SMALL, columns={**SMALL.columns, "speedup": np.ones(3)}, units={"time": "s", "speedup": "1"}
    )
    figure = draw(with_sweeps(made), LINES.model_copy(update={"y": ["time", "speedup"]}))
    assert [axes.get_ylabel() for axes in figure.axes] == ["time [ms]", "speed-up"]
    assert not figure.legends
    assert make_narrow(figure)
    figure.draw_without_rendering()
    upper, lower = (axes.get_window_extent() for axes in figure.axes)
    assert lower.y1 < upper.y0
    assert (upper.x0, upper.x1) == pytest.approx((lower.x0, lower.x1))


@pytest.mark.turns(5)
@pytest.mark.parametrize("log", ["none", "x", "y", "both"])
@pytest.mark.parametrize("relative", [False, True])
@pytest.mark.parametrize(
    "values", [[1e-6], [float("nan")], [0.0], [0.0, 1e-6], [1e-6, float("nan"), 3e-6]]
)
def test_hard_lines_are_drawn_without_a_warning(
    tmp_path: Path, values: list[float], relative: bool, log: str
) -> None:
    axis = Axis(ADAPTER, "s", tuple(index * US for index in range(len(values))))
    results = with_sweeps(sweep("latency", [axis], lambda _, x: values[round(x / US)]))
    save(results, LINES.model_copy(update={"log": log, "relative": relative}), tmp_path)


def test_a_map_has_the_values_where_its_axes_say() -> None:
    axes = _map_results()[1]
    spec = MapSpec(kind="map", name="m", title="t", sweep="grid", x=ADAPTER, y=LONG, value="time")
    made = _map_results()[0].sweeps[0]
    grid = grid_of(made, spec)
    assert grid.shape == (2, 3)
    assert made.points[ADAPTER][grid[1, 2]] == axes[0].values[2]
    assert made.points[LONG][grid[1, 2]] == axes[1].values[1]
    figure = draw(_map_results()[0], spec)
    assert figure.axes[0].get_xlabel() == "latency of the network adapter [us]"
    assert figure.axes[0].get_ylabel() == "time of a byte on the protocol [ns/B]"
    assert figure.axes[1].get_ylabel() == "time [us]"
    assert [text.get_text() for text in figure.axes[0].texts] == [
        "20",
        "30",
        "50",
        "90",
        "100",
        "120",
    ]


def test_a_map_of_stages_has_letters_and_a_legend() -> None:
    figure = draw(_map_results()[0], limit_map("m", "grid", ADAPTER, LONG))
    assert _legend(figure) == ["A  sends", "B  wire"]
    assert [text.get_text() for text in figure.axes[0].texts] == ["A", "A", "B", "B", "B", "B"]


def test_a_map_cut_through_further_axes_says_where() -> None:
    further = Axis("parts", "1", (1.0, 3.0))
    made = sweep(
        "grid",
        [*_map_results()[1], further],
        lambda _, x, y, p: x + y + p,
        limit=lambda *_: "sends",
    )
    figure = draw(with_sweeps(made), limit_map("m", "grid", ADAPTER, LONG))
    assert figure.get_suptitle() == "Limits (at parts = 1)"


@pytest.mark.turns(4)
@pytest.mark.parametrize("value", ["time", "limit[diffs]"])
@pytest.mark.parametrize("count", [1, 40])
def test_hard_maps_are_drawn_without_a_warning(tmp_path: Path, value: str, count: int) -> None:
    x, y = Axis("x", "s", tuple(np.linspace(1, 9, count).tolist())), Axis(NETWORK, "1", ("a", "b"))
    made = sweep(
        "grid",
        [x, y],
        lambda _, u, v: float("nan") if v == "b" or count == 1 else u,
        limit=_no_limit,
    )
    spec = MapSpec(kind="map", name="m", title="t", sweep="grid", x="x", y=NETWORK, value=value)
    save(with_sweeps(made), spec, tmp_path)


@pytest.mark.turns(3)
@pytest.mark.parametrize(
    "spec", [BARS, LINES, limit_map("map", "grid", ADAPTER, LONG)], ids=lambda spec: spec.name
)
def test_a_picture_has_the_same_bytes_each_time(tmp_path: Path, spec: PictureSpec) -> None:
    results = replace(_map_results()[0], sweeps=(*_map_results()[0].sweeps, SMALL))
    (tmp_path / "again").mkdir()
    first, second = save(results, spec, tmp_path), save(results, spec, tmp_path / "again")
    assert [path.name for path in first] == [f"{spec.name}.png", f"{spec.name}.svg"]
    assert [path.read_bytes() for path in first] == [path.read_bytes() for path in second]
    assert b"date" not in first[1].read_bytes().lower()


def test_drawing_leaves_the_users_settings_as_they_were() -> None:
    before = dict(matplotlib.rcParams)
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "red"}):
        figure = draw(SMALL_RESULTS, BARS)
    assert dict(matplotlib.rcParams) == before
    assert figure.axes[0].get_facecolor() == (1.0, 1.0, 1.0, 1.0)


@pytest.mark.turns(6)
def test_drawing_never_loads_the_global_interface() -> None:
    program = (
        "import sys, matplotlib, slipstick_pictures.pictures\nfrom slipstick_pictures.look import"
        " look, new_figure\nwith look(): new_figure(4, 3).subplots()\n"
    )
    program += "sys.exit('matplotlib.pyplot' in sys.modules)"
    assert (
        subprocess.run([sys.executable, "-c", program], check=False, timeout=HANGS).returncode == 0
    )


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (
            BARS.model_copy(update={"cases": ["bose"]}),
            "there is no case 'bose'; did you mean 'base'?",
        ),
        (LINES.model_copy(update={"sweep": "x"}), "there is no sweep 'x'; known: latency"),
        (
            LINES.model_copy(update={"x": "parts"}),
            f"there is no axis of sweep latency 'parts'; known: {ADAPTER}",
        ),
        (
            LINES.model_copy(update={"series": "parts"}),
            f"there is no axis of sweep latency 'parts'; known: {ADAPTER}",
        ),
        (
            LINES.model_copy(update={"y": ["tine"]}),
            "there is no value in sweep latency 'tine'; did you mean 'time'?",
        ),
        (
            limit_map("m", "latency", ADAPTER, ADAPTER).model_copy(update={"value": "limit[dif]"}),
            "there is no limit in sweep latency 'dif'; did you mean 'diffs'?",
        ),
    ],
    ids=["case", "sweep", "axis", "series", "value", "limit"],
)
def test_what_is_not_there_is_refused_by_name(spec: PictureSpec, message: str) -> None:
    with pytest.raises(UnknownNameError) as caught:
        draw(SMALL_RESULTS, spec)
    assert str(caught.value) == message


def test_without_matplotlib_the_message_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError) as caught:
        draw(SMALL_RESULTS, BARS)
    assert str(caught.value) == "drawing pictures needs matplotlib: pip install 'slipstick[report]'"


def _map_results() -> tuple[Results, tuple[Axis, Axis]]:
    x, y = Axis(ADAPTER, "s", (10 * US, 20 * US, 40 * US)), Axis(LONG, "s/B", (10e-9, 80e-9))
    made = sweep(
        "grid",
        [x, y],
        lambda _, adapter, byte: adapter + 1000 * byte,
        limit=lambda _, adapter, byte: "wire" if adapter + 1000 * byte > 40 * US else "sends",
    )
    return with_sweeps(made), (x, y)


def _no_limit(*_: object) -> str:
    return ""


def _legend(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.legends[0].get_texts()]


def _heights(figure: Figure) -> list[float]:
    bars = [each for each in figure.axes[0].containers if isinstance(each, BarContainer)]
    return [patch.get_height() for each in bars for patch in each.patches]


def _drawn(line: Line2D) -> tuple[list[float], list[float]]:
    return np.asarray(line.get_xdata()).tolist(), np.asarray(line.get_ydata()).tolist()


def estimates() -> Sweep:
    """A sweep by simulation along two axes: the times are known within 10 %, the last of them
    not at all.
    """
    x, y = Axis("x", "1", (1.0, 2.0, 3.0)), Axis("y", "1", (1.0, 2.0))
    made = sweep("s", [x, y], lambda _, u, v: u * v)
    time = made.columns["time"]
    ends = {"low[time]": 0.9 * time, "high[time]": 1.1 * time}
    for each in ends.values():
        each[-1] = math.nan
    how = Provenance(["simulation"] * len(made), [False] * len(made))
    return replace(made, columns={**made.columns, **ends}, provenance=how)


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "changes", [{}, {"relative": True}, {"series": "y", "against": "y"}], ids=str
)
def test_lines_of_estimates_have_their_intervals(changes: dict[str, object]) -> None:
    spec = LINES.model_copy(update={"sweep": "s", "x": "x", "series": "y", **changes})
    lines = lines_of(estimates(), spec)
    assert lines
    for line in lines:
        known = np.isfinite(line.low) & np.isfinite(line.high)
        assert (line.low[known] <= line.y[known]).all()
        assert (line.y[known] <= line.high[known]).all()
        assert (line.low[known] < line.high[known]).any()
    assert not np.isfinite(lines[-1].high[-1] - lines[-1].low[-1])
    figure = draw(with_sweeps(estimates()), spec)
    assert figure.get_supxlabel() == "Error bars and shades are intervals of the values."
    axes = figure.axes[0]
    drawn = [each for each in axes.containers if isinstance(each, ErrorbarContainer)]
    assert len(drawn) == len(lines)


def test_a_line_of_many_estimates_has_a_band() -> None:
    axis = Axis("x", "1", tuple(float(x) for x in range(1, 31)))
    made = sweep("s", [axis], lambda _, x: x)
    time = made.columns["time"]
    made = replace(
        made, columns={**made.columns, "low[time]": 0.9 * time, "high[time]": 1.1 * time}
    )
    axes = draw(
        with_sweeps(made), LINES.model_copy(update={"sweep": "s", "x": "x", "series": ""})
    ).axes[0]
    assert len(axes.collections) == 1


def test_cells_of_estimates_have_their_intervals() -> None:
    spec = MapSpec(kind="map", name="m", title="t", sweep="s", x="x", y="y", value="time")
    written = {text.get_text() for text in draw(with_sweeps(estimates()), spec).axes[0].texts}
    assert {"0.9 to 1.1", "3.6 to 4.4", "no interval"} <= written


@pytest.mark.parametrize(
    "stack", ["component", {"all": ["account[busy]", "account[fault]"]}], ids=str
)
def test_a_bar_of_estimates_has_the_interval_of_its_total(stack: Any) -> None:
    time = Value(1705 * US, "s", 1600 * US, 1800 * US)
    parts = {"account[busy]": (950 * US, 1050 * US), "account[fault]": (650 * US, 750 * US)}
    estimated = replace(BASE, values={"time": time}, intervals=parts)
    spec = BarsSpec(kind="bars", name="b", title="t", cases=["base"], stack=stack)
    axes = draw(replace(SMALL_RESULTS, cases={"base": estimated}), spec).axes[0]
    (bar,) = (each for each in axes.containers if isinstance(each, ErrorbarContainer))
    (_, low), (_, high) = bar.lines[2][0].get_segments()[0]
    assert (low, high) == pytest.approx((1.6, 1.8))


def test_a_component_has_one_fill_in_all_pictures_of_a_study_and_the_useful_come_first() -> None:
    late = replace(BASE, account={"idle": 1e-3, "fault": 1e-3}, useful=("busy",))
    results = replace(
        SMALL_RESULTS,
        cases={"base": replace(BASE, account={"fault": 7e-4, "busy": 1e-3}), "late": late},
    )
    sums = BARS.model_copy(
        update={"name": "sums", "stack": {"fault": ["time"], "others": ["time"]}}
    )
    order = fill_indices_by_label(results, [BARS, sums])
    assert order == fills_of(["busy", "fault", "idle", "others"])
    assert [*order] == ["busy", "fault", "idle", "others"]
    colours = [
        {
            bar.get_label(): bar[0].get_facecolor()
            for bar in draw(results, spec, order).axes[0].containers
        }
        for spec in (BARS.model_copy(update={"cases": ["base", "late"]}), sums)
    ]
    assert colours[0]["fault"] == colours[1]["fault"]
    assert len({*colours[0].values(), colours[1]["others"]}) == 4


@pytest.mark.turns(4)
def test_many_bars_stand_in_rows() -> None:
    many = {f"case-{number}": BASE for number in range(24)}
    figure = draw(replace(SMALL_RESULTS, cases=many), BARS.model_copy(update={"cases": list(many)}))
    assert [len(axes.get_xticks()) for axes in figure.axes] == [8, 8, 8]
    named = {f"{name}{end}": BASE for name in "abcdefgh" for end in ("", "-half", "-full")}
    figure = draw(
        replace(SMALL_RESULTS, cases=named), BARS.model_copy(update={"cases": list(named)})
    )
    assert [len(axes.get_xticks()) for axes in figure.axes] == [9, 9, 6]


def test_a_narrow_picture_has_its_texts_inside_and_its_legend_below() -> None:
    figure = draw(SMALL_RESULTS, BARS)
    labels = [label.get_text() for label in figure.legends[0].get_texts()]
    assert make_narrow(figure)
    figure.draw_without_rendering()
    width, height = figure.get_size_inches() * figure.dpi
    (axes,), (legend,) = figure.axes, figure.legends
    plot, legend_box = axes.get_tightbbox(), legend.get_window_extent()
    assert plot is not None
    assert [label.get_text().replace("\n", " ") for label in legend.get_texts()] == labels
    assert 0 <= legend_box.y0 < legend_box.y1 <= plot.y0
    assert 0 <= plot.x0 < plot.x1 <= width
    assert plot.y1 <= height
    assert width == pytest.approx(3.8 * figure.dpi)


def test_remarks_stand_one_after_another_and_below_the_axis_of_a_narrow_picture() -> None:
    figure = draw(SMALL_RESULTS, BARS)
    intervals, guesses = "Error bars are intervals.", "the rate of the wire is a guess"
    for remark in (intervals, guesses, intervals, ""):
        write_remark(figure, remark)
    assert figure.get_supxlabel().replace("\n", " ") == f"{intervals} {guesses}"
    assert make_narrow(figure)
    assert figure.get_supxlabel() == ""
    assert f"{intervals} {guesses}" in figure.axes[0].get_xlabel().replace("\n", " ")
    write_remark(figure, 12 * intervals)
    assert not make_narrow(figure)


def test_no_heading_runs_into_a_legend() -> None:
    figure = draw(
        SMALL_RESULTS,
        BARS.model_copy(update={"title": "Where all of the time of every processor goes " * 2}),
    )
    figure.draw_without_rendering()
    assert figure.texts[0].get_window_extent().x1 <= figure.legends[0].get_window_extent().x0


def test_a_cause_has_one_look_in_all_pictures_of_the_gallery() -> None:
    looks: dict[str, set[str]] = {}
    for path in REPORTS.glob("*/*.svg"):
        text = path.read_text()
        hatches = dict(_PATTERN.findall(text))
        swatches = _SWATCH.findall(text.rpartition('id="legend_1"')[2])
        areas = [hatches[fill[5:-1]] for fill, _ in swatches if fill[5:-1] in hatches]
        assert len(areas) == len({*areas}) or path.name == "work.svg", path  # has two legends
        for fill, label in swatches:
            looks.setdefault(label, set()).add(hatches.get(fill[5:-1], fill))
    assert {"busy", "barrier", "fault", "lock", "idle time", "wire"} <= looks.keys()
    assert {label: fills for label, fills in looks.items() if len(fills) > 1} == {}
    assert looks["busy"] == looks["useful"] == looks["useful work"]


def test_labels_of_different_pictures_may_have_the_same_fill_of_a_cause() -> None:
    answers = {"base": SMALL_RESULTS.cases["base"]}
    stacks = [{"2a lock": ["account[a]"]}, {"lock x": ["account[a]"], "lock y": ["account[b]"]}]
    pictures = [BARS.model_copy(update={"stack": stack}) for stack in stacks]
    fills = fill_indices_by_label(replace(SMALL_RESULTS, cases=answers), pictures)
    assert fills["2a lock"] == fills["lock x"] == fills_of(["lock"])["lock"]
    assert fills["lock y"] != fills["lock x"]


def test_lines_of_causes_have_the_hue_of_their_areas() -> None:
    axis = Axis("n", "1", (1.0, 2.0))
    made = sweep("latency", [axis], lambda *_: 1.0)
    columns = dict.fromkeys(("account[barrier]", "account[busy]"), made.columns["time"])
    accounts = replace(made, columns=columns, units=dict.fromkeys(columns, "s"))
    spec = LINES.model_copy(update={"x": "n", "y": list(columns), "log": "none"})
    lines = draw(with_sweeps(accounts), spec).axes[0].get_lines()
    for line, label in zip(lines, ("barrier", "busy"), strict=True):
        area = to_rgb(fill_style(fills_of([label])[label])["facecolor"])
        hues = [rgb_to_hsv(colour)[0] for colour in (area, to_rgb(str(line.get_color())))]
        assert hues[0] == pytest.approx(hues[1], abs=0.01)


def test_what_all_bars_have_stands_once_below_them() -> None:
    words = Words(titles={"base": "SOR on ATM", "faster": "IS on ATM"})
    cases = dict.fromkeys(words.titles, SMALL_RESULTS.cases["base"])
    results = replace(SMALL_RESULTS, cases=cases, words=words)
    spec = BARS.model_copy(update={"cases": [*cases]})
    axes = draw(results, spec).axes[0]
    assert [text.get_text() for text in axes.get_xticklabels()] == ["SOR", "IS"]
    assert axes.get_xlabel() == "all on ATM"
    said = draw(results, spec.model_copy(update={"title": "Times on ATM"})).axes[0]
    assert said.get_xlabel() == ""


def test_labels_of_one_cause_share_a_colour_and_no_two_labels_a_fill() -> None:
    labels = ["2a entry", "entry", "lock:door", "marvels", "lock", "wonders"]
    fills = fills_of(labels)
    assert list(fills) == labels
    assert len(set(fills.values())) == 6
    assert fills["lock"] == fills_of(["lock"])["lock"]
    assert fill_style(fills["lock"])["facecolor"] == fill_style(fills["lock:door"])["facecolor"]
    assert fill_style(fills["lock"])["hatch"] != fill_style(fills["lock:door"])["hatch"]


@pytest.mark.parametrize(
    ("second", "added"), [([1.0, 2.0, 4.0], " (covers a)"), ([1.0, 2.0, 4.1], "")], ids=str
)
def test_a_line_on_an_earlier_one_says_so(second: list[float], added: str) -> None:
    none, x = np.full(3, math.nan), np.arange(3.0)
    lines = [
        Line("time", "s", label, x, np.array(y), none, none)
        for label, y in (("a", [1.0, 2.0, 4.0]), ("b", second))
    ]
    assert notes_on_coinciding_lines(lines) == ({"b": added} if added else {})


def test_lines_apart_on_a_logarithmic_axis_do_not_lie_on_each_other() -> None:
    """A barrier of a manager was said to cost what one of a counter costs: 4 us are not 3 us."""
    none, x = np.full(2, math.nan), np.arange(2.0)
    lines = [
        Line("time", "s", label, x, np.array([first, 1024.0]), none, none)
        for label, first in (("counter", 3.0), ("manager", 4.0))
    ]
    assert notes_on_coinciding_lines(lines) == {"manager": " (covers counter)"}
    assert notes_on_coinciding_lines(lines, is_logarithmic=True) == {}


def test_numbers_that_shape_a_model_stand_where_they_belong_on_an_axis() -> None:
    sweep = _swept(Axis("resources.pool.permits", "", ("1", "2", "20")), [1e-3, 2e-3, 3e-3])
    spec = LinesSpec(kind="lines", name="l", title="t", sweep="s", x=sweep.axes[0].path, y=["time"])
    axes = draw(with_sweeps(sweep), spec).axes[0]
    assert np.asarray(axes.lines[0].get_xdata()).tolist() == [1.0, 2.0, 20.0]
    assert axes.get_xlabel() == "permits of pool"


@pytest.mark.parametrize(
    ("values", "side"),
    [
        ([1.0, 2.0], ("right", "bottom")),
        ([1.0, 10.1], ("left", "bottom")),
        ([9.81, 11.0, 9.81], ("right", "top")),
    ],
)
def test_the_label_of_a_limit_stands_where_no_line_is(
    values: list[float], side: tuple[str, str]
) -> None:
    places = (1.0, 2.0, 3.0)[: len(values)]
    sweep = _swept(Axis("parameters.work", "s", places), values)
    spec = LinesSpec(kind="lines", name="l", title="t", sweep="s", x="parameters.work", y=["time"])
    words = Words(limits={"time": 9.8})
    (label,) = draw(replace(with_sweeps(sweep), words=words), spec).axes[0].texts
    assert label.get_text() == "limit 9.8 s"
    assert (label.get_horizontalalignment(), label.get_verticalalignment()) == side


def _swept(axis: Axis, times: Sequence[float]) -> Sweep:
    count = len(times)
    return Sweep(
        name="s",
        axes=(axis,),
        cases=("base",) * count,
        points={axis.path: axis.values},
        columns={"time": np.array(times)},
        units={"time": "s"},
        limits={},
        provenance=Provenance.of([Answer("m", "closed-form")] * count),
        failed={},
    )


def test_ticks_of_whole_numbers_are_whole() -> None:
    axes = new_figure(4.0, 3.0).subplots()
    servers = np.arange(12.0, 33.0, 2.0)
    axes.plot(servers, servers)
    set_plain_ticks(axes.xaxis, servers)
    assert all(tick == int(tick) for tick in axes.get_xticks())


@pytest.mark.parametrize("columns", [1, 2])
def test_plots_side_by_side_stand_one_below_the_other_in_a_narrow_picture(columns: int) -> None:
    figure = new_figure(9.0, 3.0)
    for axes in figure.subplots(2, columns, sharey=True, squeeze=False).ravel():
        axes.plot([1, 2], [3, 4])
    with_title_and_legend(figure, "Four plots")
    assert make_narrow(figure)
    figure.draw_without_rendering()
    boxes = [axes.get_tightbbox() for axes in figure.axes]
    width, height = figure.get_size_inches() * figure.dpi
    for upper, lower in pairwise(boxes):
        assert upper is not None
        assert lower is not None
        assert lower.y1 <= upper.y0 + 1
        assert 0 <= lower.x0 < lower.x1 <= width
        assert upper.y1 <= height


def test_many_names_of_a_narrow_picture_stand_upright() -> None:
    cases = {f"case-{index}": BASE for index in range(9)}
    figure = draw(
        replace(SMALL_RESULTS, cases=cases), BARS.model_copy(update={"cases": list(cases)})
    )
    assert make_narrow(figure)
    labels = figure.axes[0].get_xticklabels()
    assert {label.get_rotation() for label in labels} == {90.0}
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in labels]
    assert all(left.x1 <= right.x0 for left, right in pairwise(boxes))


def test_a_colour_bar_stands_below_a_narrow_map() -> None:
    figure = new_figure(9.0, 3.0)
    axes = figure.subplots()
    figure.colorbar(axes.pcolormesh(np.ones((2, 2))), ax=axes, label="speed-up")
    assert make_narrow(with_title_and_legend(figure, "A map"))
    figure.draw_without_rendering()
    plot, bar = figure.axes
    assert bar.get_xlabel() == "speed-up"
    plot_box, bar_box = plot.get_window_extent(), bar.get_window_extent()
    assert bar_box.y1 <= plot_box.y0
    assert bar_box.width > plot_box.width / 2
    assert not plot.texts


def test_a_narrow_map_of_many_columns_has_no_numbers_in_its_cells() -> None:
    figure = new_figure(9.0, 3.0)
    axes = figure.subplots()
    figure.colorbar(axes.pcolormesh(np.ones((1, 9))), ax=axes)
    for column in range(9):
        axes.text(column + 0.5, 0.5, "1.23")
    assert make_narrow(with_title_and_legend(figure, "A map"))
    assert not axes.texts
