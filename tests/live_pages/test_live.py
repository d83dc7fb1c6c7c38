"""Pages in which a model runs: the arithmetic of the page against Python's, and what a page may
hold.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from base64 import b64encode
from dataclasses import asdict, replace
from hashlib import sha256
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import quickjs

from slipstick import solve
from slipstick.answer import ANSWERED, Answer, AskedValue, Value
from slipstick.cli.main import main
from slipstick.errors import ModelError, NoAnswerError, UnknownNameError
from slipstick.expression.nodes import (
    COUNT,
    RATE,
    TIME,
    Booked,
    Dimension,
    Expr,
    Parameter,
    ceil,
    ceil_log,
    floor,
    function_of_counts,
    log2,
    maximum,
    minimum,
    select,
    sqrt,
)
from slipstick.expression.operators import OPERATORS
from slipstick.expression.special import real_power
from slipstick.expression.tape import Tape
from slipstick.limits import ANNOUNCE
from slipstick.method.closed_form import ClosedForm
from slipstick.method.methods import form_of
from slipstick.model.activity import delay, service
from slipstick.model.system import Model, closed_model
from slipstick.report.formatting import quantity
from slipstick.report.html import MOST_PAGE_BYTES, report_page
from slipstick.schema.inputs import build, resolve
from slipstick.schema.library import Library, names_of_kind
from slipstick.schema.text import read_value
from slipstick.study.run import prepare
from slipstick.study.run import run as run_study
from slipstick.units import show, units_by_size
from slipstick_pages import model as live
from slipstick_pages.grid import AnswerGrid, GridForm
from slipstick_pages.model import PAGE_OPERATORS, LiveModel, Slider, live_page, page_section
from slipstick_pages.solve import live_model, live_model_of_study

SCRIPT = (Path(live.__file__).parent / "live.js").read_text()
POINTS = 10_000
X, Y, N = Parameter("x", COUNT, 1.7), Parameter("y", COUNT, 0.6), Parameter("n", COUNT, 12.0)
EVERYTHING: list[Expr] = [
    maximum(X, Y, X * Y) + minimum(X, N) - ceil(X / Y) * floor(N / X),
    ceil_log(N, 2) * log2(N) + ceil_log(N * 1000, 3) + sqrt(X + Y) + X**3 / Y**-2,
    select(N, 8, X, Y)
    + real_power(X, Y)
    + function_of_counts("exp", Y)
    + function_of_counts("log", N),
    function_of_counts("erlang_b", X, Parameter("servers", COUNT, 4.0)),
    function_of_counts("drop_stages", Y / (1 + X + Y), 2.0, 4.0, 3.0),
]
WITHOUT_FORM = {
    "connection-pool": "attempts with a time limit",
    "early-reply": "early replies",
    "hedged-reads": "backup requests",
    "replicated-store": "forks that do not wait for all branches",
    "retrying-service": "attempts with a time limit",
}
"""Shipped models with what no closed form follows."""
CASES = {name: name for name in names_of_kind("activity") if name not in WITHOUT_FORM}


@pytest.fixture(scope="module")
def engine() -> quickjs.Context:
    made = quickjs.Context()
    made.eval(SCRIPT)
    made.eval(
        "const told = (x) => (Number.isFinite(x) ? x : String(x));"
        "const all = (tape, names, rows) => JSON.stringify(rows.map((row) => {"
        "  const values = Object.fromEntries(names.map((name, at) => [name, row[at]]));"
        "  const registers = run(tape, values);"
        "  return tape.outputs.map((each) => told(registers[each]));"
        "}));"
        "const slopes = (tape, names, row) => JSON.stringify(((values) => {"
        "  const bars = derivatives(tape, run(tape, values), tape.outputs[0]);"
        "  return tape.inputs.map(([register]) => told(bars[register]));"
        "})(Object.fromEntries(names.map((name, at) => [name, row[at]]))));"
    )
    return made


def around(tape: Tape, count: int) -> dict[str, np.ndarray[Any, np.dtype[np.float64]]]:
    rng = np.random.default_rng(16)
    found = {}
    for name, each in tape.parameters.items():
        given = float(each.value or 0.0)
        drawn = given * 10.0 ** rng.uniform(-1.0, 1.0, count)
        # Numbers of processors and items are whole, and the tape is asked at the values where its
        # steps are.
        whole = each.dimension == COUNT and given >= 2 and given == int(given)
        found[name] = np.maximum(1.0, drawn.round()) if whole else drawn
    return found


def compared(engine: quickjs.Context, tape: Tape, count: int) -> float:
    values = around(tape, count)
    rows = np.array(list(values.values())).T.tolist()
    found = json.loads(
        engine.eval(
            f"all({json.dumps(tape.listing())}, {json.dumps(list(values))}, {json.dumps(rows)})"
        )
    )
    theirs = np.array(found, dtype=float).T
    ours = np.array([np.broadcast_to(each, count) for each in tape.run(values)])
    assert np.array_equal(np.isnan(theirs), np.isnan(ours))
    return float(np.nanmax(np.abs(theirs - ours) / np.maximum(np.abs(ours), 1e-300)))


def closed_forms() -> dict[str, Tape]:
    tapes = {"every operator": Tape(EVERYTHING)}
    for name, construct in WITHOUT_FORM.items():
        built = build(resolve({"model": read_value(name, "model")}, Library()))
        assert isinstance(built.model, Model)
        with pytest.raises(NoAnswerError, match=f"cannot solve {construct}"):
            ClosedForm(built.model)
    for name in CASES:
        built = build(resolve({"model": read_value(name, "model")}, Library()))
        assert isinstance(built.model, Model)
        form = ClosedForm(built.model)
        tapes[name] = Tape([form.time, form.account])
    return tapes


@pytest.mark.turns(5)
def test_a_page_computes_what_python_does(engine: quickjs.Context) -> None:
    tapes = closed_forms()
    apart = {name: compared(engine, tape, -(-POINTS // len(tapes))) for name, tape in tapes.items()}
    assert len(apart) == len(CASES) + 1
    assert {name: each for name, each in apart.items() if not each <= 1e-12} == {}


@pytest.mark.turns(6)
def test_a_page_has_the_derivatives_of_python(engine: quickjs.Context) -> None:
    for tape in [*(Tape([each]) for each in EVERYTHING), *closed_forms().values()]:
        values = {name: float(each[0]) for name, each in around(tape, 3).items()}
        call = (
            f"slopes({json.dumps(tape.listing())}, {json.dumps(list(values))},"
            f" {json.dumps(list(values.values()))})"
        )
        theirs = dict(
            zip(
                (name for _, name in tape.listing()["inputs"]),
                json.loads(engine.eval(call)),
                strict=True,
            )
        )
        ours = {
            name: float(each[0])
            for name, each in tape.differentiate(values).derivative_by_parameter.items()
        }
        counts = {"servers", "n"}  # what counts does not vary, or in steps
        assert {name: each for name, each in theirs.items() if name not in counts} == pytest.approx(
            {name: each for name, each in ours.items() if name not in counts}, rel=1e-11, abs=1e-300
        )


def test_every_operator_that_a_page_knows_is_one_of_ours(engine: quickjs.Context) -> None:
    assert (
        set(json.loads(engine.eval("JSON.stringify(Object.keys(OPERATORS))")))
        == set(PAGE_OPERATORS)
        <= {*OPERATORS, "booked"}
    )


@pytest.mark.parametrize(
    ("value", "unit"),
    [
        (0.001705, "s"),
        (0.3, "1/s"),
        (4120.0, "B"),
        (65536.0, "B"),
        (1.5e7, "B"),
        (90.0, "s"),
        (8.0, "1"),
        (1.1e8, "B/s"),
        (0.0, "s"),
    ],
)
def test_a_page_writes_quantities_as_the_terminal_does(
    engine: quickjs.Context, value: float, unit: str
) -> None:
    dimension = Dimension.of(unit)
    written = engine.eval(
        f"valueText({value}, {json.dumps(unit)}, {json.dumps({unit: units_by_size(dimension)})})"
    )
    assert written == show(value, dimension)


HOSTILE = "<script>alert(1)</script><!-- \"quoted\" 'x' &amp;"


def hostile() -> LiveModel:
    time = Booked(HOSTILE, Parameter("work", TIME, 2.0))
    answer = Answer(
        HOSTILE,
        "closed-form",
        {"time": Value(2.0, "s")},
        {HOSTILE: 2.0},
        notes=(HOSTILE,),
        given={"a": HOSTILE},
    )
    tape = Tape([time, time]).listing()
    slider = live.Slider("work", 2.0, 0.2, 20.0, "s", False, HOSTILE)
    return LiveModel(
        HOSTILE,
        answer,
        "time",
        tape,
        values={"work": 2.0},
        component_by_label={HOSTILE: HOSTILE},
        sliders=[slider],
        pipelines={HOSTILE: [HOSTILE]},
    )


def test_texts_of_a_spec_stay_texts() -> None:
    for page in (
        live_page(hostile()),
        live_page(LiveModel(HOSTILE, hostile().answer, "time", reason_fixed=HOSTILE)),
    ):
        assert "alert(1)</" not in page.replace("alert(1)&lt;/", "")
        assert page.count("<script") == page.count("</script>") <= 2
        assert "<!--" not in page


def test_a_page_asks_for_nothing_outside_and_can_be_used_by_keyboard(tmp_path: Path) -> None:
    page = live_page(live_model({"model": read_value("my-program", "model")}))
    assert len(page.encode()) <= MOST_PAGE_BYTES
    assert not re.search(r"""https?:|(?:src|href)="(?!#")|url\(|@import""", page)
    sliders = re.findall(r'<input type="range" id="([^"]+)"', page)
    assert len(sliders) >= 3
    assert [f'<label for="{each}">' in page for each in sliders] == [True] * len(sliders)
    assert all(
        words in page
        for words in (
            "<noscript>",
            "prefers-color-scheme: dark",
            "@media print",
            'aria-live="polite"',
        )
    )


def test_a_model_that_does_not_run_has_its_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert (
        main(
            [
                "page",
                "law/flow-line",
                "--set",
                "items=3",
                "--set",
                "once=1 us",
                "--set",
                "longest=0.5 us",
            ]
        )
        == 0
    )
    page = Path("flow-line.html").read_text()
    assert "This page shows fixed answers: the law holds under conditions" in page
    assert "<script" not in page


@pytest.mark.turns(3)
@pytest.mark.parametrize(("name", "within"), [("lock-and-bus", 0.004), ("central-server", 0.02)])
def test_a_grid_is_as_far_off_as_its_page_says(
    engine: quickjs.Context, name: str, within: float
) -> None:
    found = live_model({"model": read_value(name, "model")})
    assert found.grid is not None
    page = live_page(found)
    assert ("stay as given: " in page) == bool(found.grid["still"])
    assert all(slider.name not in found.grid["still"] for slider in found.sliders)
    assert 0 < found.grid["error"] < within
    model = json.dumps({"grid": found.grid})
    given = json.loads(engine.eval(f"JSON.stringify(solve({model}, {json.dumps(found.values)}))"))
    assert given["value"] == pytest.approx(found.answer[found.quantity], rel=1e-7)
    if given["account"]:
        assert given["account"] == pytest.approx(found.answer.account, rel=1e-3, abs=1e-6)
    # A place between the nodes, which is none of those that the error was measured at.
    moved = {
        each.name: round(1.37 * each.value) if each.whole else 1.37 * each.value
        for each in found.sliders
    }
    texts = {
        each.name: f"{moved[each.name]!r} {each.unit}".removesuffix(" 1") for each in found.sliders
    }
    settings = {
        "model": read_value(name, "model"),
        **{path: read_value(text, path) for path, text in texts.items()},
    }
    answer = live_model(settings).answer
    guess = json.loads(engine.eval(f"JSON.stringify(solve({model}, {json.dumps(moved)}))"))["value"]
    assert guess == pytest.approx(answer[found.quantity], rel=2 * found.grid["error"])
    assert "Computed at" in live_page(found)


@pytest.mark.turns(4)
def test_the_account_beside_a_rate_is_that_of_the_time(engine: quickjs.Context) -> None:
    """It was the throughput divided by shares, in hours."""
    settings = {"model": read_value("lock-and-bus", "model")}
    found = live_model(settings, wanted_values=["throughput"])
    assert found.quantity == "throughput"
    page = solved(engine, found, {})
    assert page["account"] == pytest.approx(found.answer.account, rel=1e-3)
    assert "<h2>Account of the time</h2>" in live_page(found)


SHOP = """\
queueing-network: 1
classes: {{requests: {{arrivals: {arrivals} /s}}}}
stations:
  web: {{servers: 2, discipline: fcfs, service: {{requests: 5 ms}}}}
  db: {{discipline: fcfs, service: {{requests: 10 ms}}}}
"""


@pytest.mark.turns(4)
@pytest.mark.parametrize("arrivals", [80, 95, 99])
def test_sliders_of_an_open_network_go_just_beyond_saturation(
    engine: quickjs.Context, tmp_path: Path, arrivals: int
) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(SHOP.format(arrivals=arrivals))
    found = live_model({"model": read_value(str(path), "model")})
    sliders = {slider.name: slider for slider in found.sliders}
    assert sliders["classes.requests.arrivals"].high == pytest.approx(110)
    assert sliders["stations.db.service.requests"].high == pytest.approx(1.1 / arrivals)
    assert sliders["stations.db.servers"].has_position_per_value
    assert sliders["stations.db.servers"].low == 1
    beyond = solved(engine, found, {"classes.requests.arrivals": 101.0})
    assert (beyond["saturated"], beyond["value"]) == (["db"], None)
    enough = solved(engine, found, {"classes.requests.arrivals": 101.0, "stations.db.servers": 2.0})
    assert enough["saturated"] == []
    # An M/M/2 queue at each station: S / (1 - rho^2).
    at_web, at_db = 0.005 / (1 - 0.2525**2), 0.010 / (1 - 0.505**2)
    assert enough["value"] == pytest.approx(at_web + at_db, rel=1e-12)


def test_a_page_leaves_out_probabilities_that_nobody_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(SHOP.format(arrivals=80))
    found = live_model({"model": read_value(str(path), "model")})
    assert sum(name.startswith("probability[") for name in found.answer.values) > 50
    page = live_page(found)
    assert "probability of" not in page
    assert found.words.value("utilization[db]") in page
    asked = {"probability[db,3]": AskedValue(ANSWERED)}
    page = live_page(replace(found, answer=replace(found.answer, asked=asked)))
    assert page.count(found.words.value("probability[db,3]")) == 1


@pytest.mark.turns(4)
def test_the_end_of_a_slider_follows_the_capacity_with_the_other_inputs(
    engine: quickjs.Context, tmp_path: Path
) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(SHOP.format(arrivals=80))
    found = live_model({"model": read_value(str(path), "model")})

    def ends(index: int, changed: dict[str, float], anchor: float) -> list[float]:
        """Return the ends of a slider by the script of the page."""
        model = json.dumps({"tape": found.tape, "busy": found.utilization_registers, "shown": {}})
        slider = json.dumps(asdict(found.sliders[index]))
        values = json.dumps({**found.values, **changed})
        ends_text = (
            f"(({{ low, high }}) => [low, high])(reach({model}, {slider}, {values}, {anchor}))"
        )
        return [float(end) for end in json.loads(engine.eval(f"JSON.stringify({ends_text})"))]

    for index, slider in enumerate(found.sliders):
        assert ends(index, {}, slider.value) == pytest.approx([slider.low, slider.high])
    arrivals = next(
        index for index, slider in enumerate(found.sliders) if slider.name.endswith("arrivals")
    )
    # The two web servers of 5 ms carry 400 /s, if the servers of 10 ms behind them carry more.
    assert ends(arrivals, {"stations.db.servers": 5.0}, 80.0) == pytest.approx([8.0, 440.0])
    assert ends(arrivals, {"stations.db.servers": 5.0}, 500.0) == pytest.approx([8.0, 500.0])
    assert ends(arrivals, {"stations.db.service.requests": 0.02}, 80.0) == pytest.approx(
        [8.0, 80.0]
    )
    many = {"stations.db.servers": 30.0, "stations.web.servers": 30.0}
    assert ends(arrivals, many, 80.0) == pytest.approx([8.0, 800.0])


def solved(engine: quickjs.Context, found: LiveModel, changed: dict[str, float]) -> Any:
    """Solve the model of a page by its script."""
    model = {
        "tape": found.tape,
        "grid": found.grid,
        "shown": found.register_by_shown_value,
        "busy": found.utilization_registers,
    }
    values = {**found.values, **changed}
    return json.loads(
        engine.eval(f"JSON.stringify(solve({json.dumps(model)}, {json.dumps(values)}))")
    )


@pytest.mark.turns(4)
def test_a_page_solves_open_networks_as_the_exact_solver_does(
    engine: quickjs.Context, tmp_path: Path
) -> None:
    rng = np.random.default_rng(20261125)
    path = tmp_path / "open.yaml"
    for _ in range(8):
        rates = rng.uniform(1, 20, 2)
        demands = rng.uniform(1, 30, 4)
        servers = rng.integers(1, 5, 2)
        path.write_text(
            f"""\
queueing-network: 1
classes: {{a: {{arrivals: {rates[0]} /s}}, b: {{arrivals: {rates[1]} /s}}}}
stations:
  cpu: {{servers: {servers[0]}, discipline: ps, demand: {{a: {demands[0]} ms, b: {demands[1]} ms}}}}
  disk: {{servers: {servers[1]}, service: {{a: {demands[2]} ms}}, visits: {{a: 1.5}}}}
  wire: {{discipline: is, demand: {{b: {demands[3]} ms}}}}
"""
        )
        settings = {"model": read_value(str(path), "model")}
        found = live_model(settings)
        assert found.utilization_registers
        page = solved(engine, found, {})
        for name in found.register_by_shown_value:
            assert page["values"][name] == pytest.approx(found.answer[name], rel=1e-9), name
        assert sum(page["account"].values()) == pytest.approx(page["value"], rel=1e-12)


def test_a_page_has_the_intervals_of_ranges_that_are_not_moved(
    engine: quickjs.Context, tmp_path: Path
) -> None:
    path, out = tmp_path / "two.yaml", tmp_path / "two.html"
    path.write_text(
        "activity: 1\nparameters: {work: 4 ms, start: 1 ms}\npopulation: {processors: 1}\n"
        "cycle: [{name: work, delay: work}, {name: start, delay: start}]\n"
    )
    options = ["--set", "parameters.work=2 ms..8 ms", "-o", str(out)]
    assert main(["page", str(path), *options]) == 0
    assert "Intervals hold 9 of 10 draws of the ranges of what is not moved." in out.read_text()
    data = re.search(r'id="model">(.*?)</script>', out.read_text())
    assert data
    script = f"const ranged = {data[1]}; const at = (more) => JSON.stringify(ends(ranged,"
    engine.eval(f"{script} {{...ranged.values, ...more}}, 'time'));")
    given, moved = json.loads(engine.eval("at({'parameters.start': 0.003})")), "at({})"
    assert given == pytest.approx([5e-3, 11e-3], rel=0.05)
    assert json.loads(engine.eval(moved)) == pytest.approx([3e-3, 9e-3], rel=0.05)
    assert json.loads(engine.eval("at({'parameters.work': 0.003})")) == [None, None]


@pytest.mark.turns(4)
def test_servers_of_a_closed_network_slide_as_whole_numbers(engine: quickjs.Context) -> None:
    path = "stations.slow.servers"
    settings = {"model": read_value("central-server", "model")}
    found = live_model(settings, wanted_inputs=[path])
    slider = found.sliders[0]
    assert (slider.name, slider.whole, slider.low) == (path, True, 1.0)
    for servers in (2, 3):
        answer = live_model({**settings, path: read_value(str(servers), path)}).answer
        page = solved(engine, found, {path: float(servers)})
        for name in found.outputs:
            assert page["values"][name] == pytest.approx(answer[name], rel=1e-5), name


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("90 req/s", "1/s", 90.0),
        ("90/s", "1/s", 90.0),
        ("6 /min", "1/s", 0.1),
        ("1.5 ms", "s", 0.0015),
        ("1e3 us", "s", 0.001),
        ("5%", "1", 0.05),
        ("12", "1", 12.0),
        ("12", "s", None),
        ("12 B", "s", None),
        ("many", "1", None),
    ],
)
def test_a_value_is_typed_with_its_unit(
    engine: quickjs.Context, text: str, unit: str, value: float | None
) -> None:
    units = json.dumps(live.typed_unit_factors(unit))
    found = json.loads(engine.eval(f"JSON.stringify(typed({json.dumps(text)}, {units}))"))
    assert found == (value if value is None else pytest.approx(value))


@pytest.mark.parametrize(
    ("value", "text"),
    [(1 / 90, "40 /h"), (1 / 30, "2 /min"), (0.05, "0.05 /s"), (0.0, "0 /s"), (20.0, "20 /s")],
)
def test_a_slow_rate_is_written_in_a_minute_or_an_hour(
    engine: quickjs.Context, value: float, text: str
) -> None:
    ladders = json.dumps({"1/s": units_by_size(RATE)})
    assert engine.eval(f"valueText({value!r}, '1/s', {ladders})") == text
    assert quantity(value, "1/s") == text


@pytest.mark.turns(8)
def test_a_grid_over_the_limits_leaves_the_answers_fixed(tmp_path: Path) -> None:
    """Chains of all points together are over the limit; no input is blamed for it."""
    path = tmp_path / "press.yaml"
    path.write_text(
        "queueing-network: 1\nclasses: {jobs: {arrivals: 4 /h}}\n"
        "stations: {press: {service: {jobs: 10 min}, breakdown: {every: 5 h, repair: 30 min}}}\n"
    )
    page = live_model({"model": read_value(str(path), "model")})
    assert page.reason_fixed == "the points of a grid take more than the limits of one answer allow"


def test_a_page_that_would_be_too_large_has_fixed_answers() -> None:
    large = hostile()
    page = live_page(
        LiveModel(
            "t",
            large.answer,
            "time",
            {**(large.tape or {}), "numbers": [[9, 1.5]] * 40_000},
            values=large.values,
        )
    )
    assert f"the page would have more than {MOST_PAGE_BYTES // 1024} KiB" in page
    assert len(page) <= MOST_PAGE_BYTES


@pytest.mark.turns(4)
def test_a_page_of_words_alone_stays_small(tmp_path: Path) -> None:
    values = {f"utilization[station-{number}]": Value(0.5, "1") for number in range(3000)}
    answer = Answer(
        "m", "exact", values, dict.fromkeys(values, 1.0), notes=("a note of some length",) * 3000
    )
    page = live_page(LiveModel("t", answer, "time", reason_fixed="too many"))
    assert page.count("and 2700 more: slipstick solve --all") == 3
    lines = "".join(f"- {'statement ' * 9}{each}\n" for each in range(2000))
    report = f"# Long\n\n- Asked: x.\n\n## Checked\n\n{lines}\n## Inputs\n\nNone."
    told = report_page("Long", report, tmp_path)
    assert '1988 more lines in <a href="details.md">' in told
    assert "<li>Asked: x.</li>" in told
    assert max(len(page), len(told)) <= MOST_PAGE_BYTES


@pytest.mark.turns(6)
def test_sliders_keep_an_exact_answer_exact() -> None:
    """One processor at a bus waits for nobody, two may: so their number is no slider."""
    settings = {
        "model": read_value("lock-and-bus", "model"),
        "population.processors": read_value("1", "n"),
    }
    found = live_model(settings)
    assert found.answer.exact
    assert found.sliders
    assert "population.processors" not in [each.name for each in found.sliders]
    alone = {
        "model": read_value("relaxation", "model"),
        "parameters.processors": read_value("1", "n"),
    }
    with pytest.raises(
        ModelError, match="the closed form is not exact any more; choose --with mean-value"
    ):
        live_model(alone, wanted_inputs=["parameters.processors"])
    with pytest.raises(
        UnknownNameError,
        match=r"there is no input to move 'parameters\.wrk'; did you mean 'parameters\.work'",
    ):
        live_model(settings, wanted_inputs=["parameters.wrk"])
    asked = live_model(
        {"model": read_value("lock-and-bus", "model")}, wanted_inputs=["population.processors"]
    )
    assert (asked.sliders[0].name, asked.sliders[0].whole) == ("population.processors", True)
    closed = live_model({"model": read_value("lock-and-bus", "model")}, "closed-form")
    assert closed.tape is not None
    assert not closed.answer.exact


def test_a_slider_ends_before_the_last_number(tmp_path: Path) -> None:
    path = tmp_path / "long.yaml"
    path.write_text(
        "activity: 1\nparameters: {work: 1e308 s}\npopulation: {processors: 1}\ncycle: [{delay:"
        " work}]\n"
    )
    found = live_model({"model": read_value(str(path), "model")})
    assert [(each.name, each.value, each.high) for each in found.sliders] == [
        ("parameters.work", 1e308, 1e308)
    ]
    assert "1e+308" in live_page(found)


def test_a_report_in_html_has_the_words_and_pictures_of_the_report(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(b"picture")
    text = (
        "# A & B\n\n- Asked: x \\| y.\n\n![all](a.png)\n\n| a | b |\n| - | -: |\n| <i> | 2"
        " |\n\n<script>alert(1)</script>\n"
    )
    page = report_page("A & B", text, tmp_path)
    assert "<h1>A &amp; B</h1>" in page
    assert "<li>Asked: x | y.</li>" in page
    assert 'src="data:image/png;base64,cGljdHVyZQ=="' in page
    assert "<td>&lt;i&gt;" in page
    assert '<td class="r">2' in page
    assert "<script" not in page
    assert "report.md" not in page


def test_a_page_allows_its_own_style_and_script_alone(tmp_path: Path) -> None:
    model = live_model({"model": read_value("my-program", "model")})
    for page in (live_page(model), live_page(replace(model, reason_fixed="fixed"))):
        policy = re.search(r'Content-Security-Policy" content="([^"]*)"', page)
        assert policy is not None
        rules = dict(rule.strip().split(" ", 1) for rule in policy[1].split(";"))
        scripts = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
        styles = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
        assert rules == {
            "default-src": "'none'",
            "img-src": "data:",
            "style-src": " ".join(map(hashed, styles)),
            "script-src": " ".join(map(hashed, scripts)) or "'none'",
            "base-uri": "'none'",
            "form-action": "'none'",
        }
        assert not re.search(r'\s(style|on\w+)="', page)


def hashed(text: str) -> str:
    """Write a hash as a policy has it."""
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


def test_pictures_of_other_places_are_links_and_those_of_other_folders_stay_there(
    tmp_path: Path,
) -> None:
    work = tmp_path / "report"
    work.mkdir()
    for place in (tmp_path / "secret.png", work / "own.png"):
        place.write_bytes(b"picture")
    text = (
        "![a <b>](http://example.org/a.png) [![inside](//example.org/b.png)](c.svg)"
        f" ![up](../secret.png) ![there]({tmp_path}/secret.png) ![own](own.png) ![](x.gif)"
        " ![data](data:image/gif;base64,R0lGODlhAQABAAAAACw=)"
    )
    (work / "own.narrow.png").write_bytes(b"small")
    page = report_page("Pictures", text, work)
    assert re.findall(r'<img src="([^"]*)"', page) == [
        "data:image/png;base64,cGljdHVyZQ==",
        "data:image/gif;base64,R0lGODlhAQABAAAAACw=",
    ]
    narrow = '<source media="(max-width: 40rem)" srcset="data:image/png;base64,c21hbGw=">'
    assert page.count(narrow) == page.count("<picture>") == 1
    assert '<a href="http://example.org/a.png">a &lt;b&gt;</a>' in page
    assert '<a href="c.svg">inside</a>' in page
    assert '<a href="../secret.png">up</a>' in page
    assert '<a href="x.gif">x.gif</a>' in page


@pytest.mark.turns(4)
def test_a_long_report_is_folded_in_its_page_and_a_larger_one_is_its_first_page(
    tmp_path: Path,
) -> None:
    (tmp_path / "a.png").write_bytes(b"picture" * MOST_PAGE_BYTES)

    def text(tables: int) -> str:
        table = "\n\n| a | b |\n| - | -: |\n" + 200 * f"| {'x' * 30} | 2 |\n"
        parts = "".join(f"\n### {each}{table}" for each in range(tables))
        return (
            f"# Long\n\n![all](a.png)\n\n## Changes\n{parts}\n\n## Cases{table}\n\n##"
            " Inputs\n\nNone."
        )

    def size(page: str) -> int:
        return len(re.sub('data:[^"]*', "", page))

    whole = report_page("Long", text(3), tmp_path)
    assert whole.count("<table>") == 4
    assert whole.count("<details><summary><h2>") == 2
    assert "details.md" not in whole
    page = report_page("Long", text(20), tmp_path)
    assert 'The whole report is <a href="details.md">' in page
    assert "<details" not in page
    model = live_model({"model": read_value("lock-and-bus", "model")})
    assert 'type="range"' in report_page("Long", text(20), tmp_path, page_section(model))
    without = report_page(
        "Long",
        text(20),
        tmp_path,
        page_section(replace(model, reason_fixed="n" * (MOST_PAGE_BYTES - 4_000))),
    )
    assert "too large to run in this page" in without
    assert max(map(size, (whole, page, without))) <= MOST_PAGE_BYTES


def test_a_study_becomes_one_file_in_which_its_base_moves(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "mine.yaml"
    study.write_text(
        "study: 1\ntitle: Two grains\nbase: {model: three-parts}\ncases: {more:"
        " {population.processors: 4}}\n"
    )
    assert main(["run", str(study), "--out", str(tmp_path / "out")]) == 0
    assert "report.html" in capsys.readouterr().out
    page = (tmp_path / "out" / "report.html").read_text()
    assert "<h1>Two grains</h1>" in page
    assert page.count('<input type="range"') >= 2
    assert page.count("<script") == 2
    assert "  report.html: drawn\n" in (tmp_path / "out" / "inputs.yaml").read_text()


FORKED = """activity: 1
population: {processors: 3}
resources: {a: {}, b: {}}
cycle:
- fork:
  - [{name: one, service: a, time: 1 ms}]
  - [{name: two, service: b, time: 2 ms}]
- {name: think, delay: 5 ms}
"""


@pytest.mark.turns(4)
def test_a_model_that_is_costly_is_computed_at_fewer_points(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "f.yaml").write_text(FORKED)
    settings = {"model": read_value(str(tmp_path / "f.yaml"), "model")}
    for costly, nodes in ((True, 13), (False, 25)):
        monkeypatch.setattr(
            "slipstick_pages.solve._is_costly", lambda *model, costly=costly: costly
        )
        monkeypatch.setattr("slipstick_pages.grid._LARGEST_ERROR", 0.0)
        grid = live_model(settings, "mean-value").grid
        assert grid is not None
        assert grid["error"] < 0.02
        assert nodes in [len(axis["nodes"]) for axis in grid["axes"]]


@pytest.mark.turns(4)
def test_a_grid_that_takes_long_is_announced_with_its_points(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds = count(0.0)
    monkeypatch.setattr("slipstick.limits.thread_time", lambda: next(seconds))
    announcements: list[str] = []
    token = ANNOUNCE.set(announcements.append)
    try:
        live_model(
            {"model": read_value("central-server", "model")},
            wanted_inputs=["stations.slow.servers"],
        )
    finally:
        ANNOUNCE.reset(token)
    # 13 and 25 nodes at most, and 100 points at which the grid is tested, on two axes.
    assert [text for text in announcements if "894 points" in text]


def test_the_choice_of_the_inputs_of_a_page_is_announced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of eight numbers of servers and one of customers, each takes a second."""
    stations = "".join(
        f"  s{number}: {{demand: {{jobs: {number} ms}}}}\n" for number in range(1, 9)
    )
    path = tmp_path / "eight.yaml"
    path.write_text(
        "queueing-network: 1\nclasses: {jobs: {population: 9, think_time: 1 s}}\n"
        f"stations:\n{stations}"
    )
    seconds = count(0.0)
    monkeypatch.setattr("slipstick.limits.thread_time", lambda: next(seconds))
    announcements: list[str] = []
    token = ANNOUNCE.set(announcements.append)
    try:
        live_model({"model": read_value(str(path), "model")}, "linearizer")
    finally:
        ANNOUNCE.reset(token)
    assert announcements[0] == (
        "the page compares what 9 numbers of processors, customers, servers or permits would"
        " change: about 9 s of processor time"
    )


@pytest.mark.turns(5)
def test_a_page_is_the_same_in_every_process(tmp_path: Path) -> None:
    """Strings hash differently in each process: the order of a set must not reach the page."""
    pages = []
    for seed in ("1", "2"):
        page = tmp_path / f"{seed}.html"
        command = [sys.executable, "-m", "slipstick", "page", "central-server", "-o", str(page)]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run(command, check=True, capture_output=True, env=environment)
        pages.append(page.read_bytes())
    assert pages[0] == pages[1]


def test_a_simulated_model_has_its_answer_in_words_and_names_the_method_that_moves(
    tmp_path: Path,
) -> None:
    """What a reader sees are words, not the names of values."""
    (tmp_path / "pool.yaml").write_text(
        "activity: 1\n"
        "population: {arrivals: 50 /s}\n"
        "resources: {pool: {permits: 2}, db: {servers: 2}}\n"
        "cycle: [{hold: pool, body: [{service: db, time: 15 ms, scv: 0}]}]\n"
    )
    assert main(["page", str(tmp_path / "pool.yaml"), "-o", str(tmp_path / "pool.html")]) == 0
    page = (tmp_path / "pool.html").read_text()
    assert (
        "This page shows fixed answers: answers by simulation do not run in a page; with mean value"
        " analysis (--with mean-value) most models do."
    ) in page
    assert "utilization of pool" in page
    assert "utilization[pool]" not in page


@pytest.mark.turns(4)
def test_a_page_has_the_intervals_of_a_fit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sure, fitted = tmp_path / "sure.html", tmp_path / "fitted.html"
    assert main(["page", "serving-step", "-o", str(sure)]) == 0
    assert main(["page", "serving-step", "--fitted", "serving-vllm", "-o", str(fitted)]) == 0
    assert '"draws"' in fitted.read_text()
    assert '"parameters.launch"' in fitted.read_text()
    assert len(fitted.read_text()) > len(sure.read_text()) + 1000
    assert main(["page", "serving-step", "--fitted", "serving-vlm", "-o", str(sure)]) == 2
    assert (
        "there is no fitted 'serving-vlm'; did you mean 'serving-vllm'?" in capsys.readouterr().err
    )


def test_a_chain_is_tried_at_few_numbers_of_processors() -> None:
    """A chain was explored for each of 43 numbers: the page of 20 processors took 12 s."""
    model = closed_model(delay(9.0, scv=1.0) >> service("bus", 1.0, scv=1.0), processors=20)
    sliders = [Slider("x", 9.0, 2.0, 40.0, "s", False), Slider("n", 20.0, 1.0, 80.0, "1", True)]
    for method, fewest, most in (("markov-chain", 6, 10), ("mean-value", 30, 80)):
        form = GridForm(form_of(model, {}, method), {}, lambda _: None)
        grid = AnswerGrid(form, solve(model, method=method), "time", ["time"], is_costly=False)
        times, numbers = grid._test_points(sliders)
        assert len(times) == len(set(times)) == len(numbers) == 100
        assert fewest <= len(set(numbers)) <= most
        assert set(numbers) <= set(range(1, 81))


@pytest.mark.turns(4)
def test_the_page_of_a_study_shows_the_value_that_the_study_asks_for(tmp_path: Path) -> None:
    study = tmp_path / "study.yaml"
    study.write_text("study: 1\nbase: {model: lock-and-bus}\nanswer: [throughput, time]\n")
    prepared = prepare(str(study))
    page_model = live_model_of_study(run_study(prepared), prepared.cases, prepared.context.library)
    assert page_model is not None
    assert (page_model.quantity, page_model.outputs[0]) == ("throughput", "throughput")
    assert page_model.sliders


def test_a_page_has_rates_in_the_unit_in_which_its_model_states_them(tmp_path: Path) -> None:
    (tmp_path / "desk.yaml").write_text(
        "queueing-network: 1\n"
        "classes: {calls: {arrivals: 4.8 /min}, mails: {arrivals: 2.4 /h}}\n"
        "stations: {desk: {servers: 5, discipline: ps, service: {calls: 30 s, mails: 40 s}}}\n"
    )
    assert main(["page", str(tmp_path / "desk.yaml"), "--out", str(tmp_path / "desk.html")]) == 0
    page = (tmp_path / "desk.html").read_text()
    assert 'value="4.8 /min"' in page
    assert 'value="0.04 /min"' in page
    # The script writes moved rates as the text does.
    assert '"1/s": [["1/min", 0.016666666666666666, 0.016666666666666666]]' in page
    assert not re.search(r"[0-9] /(s|h)\b", page)
