"""Results made by hand: small enough to know every byte that should come of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from slipstick.answer import Answer, Limit, Takeover, Value
from slipstick.errors import WaitingLeftOut
from slipstick.results.study import Results
from slipstick.results.sweep import Axis, Provenance, Sweep
from slipstick.schema.kinds.study import BarsSpec, LinesSpec, MapSpec, StudySpec
from slipstick_papers.compare import CompareResult, PublishedTable, TableCell, TableRow
from slipstick_questions.rank import Ranking, RankResult

US = 1e-6
ADAPTER, NETWORK = "machine.network.adapter", "machine.network"

BASE = Answer(
    "dvsm/diff-request",
    "closed-form",
    values={"time": Value(1705 * US, "s"), "throughput": Value(586.5, "1/s")},
    account={"busy": 1000 * US, "fault": 705 * US},
    technology={"protocol": 1200 * US, "wire": 505 * US},
    steps={"send": 1200 * US, "wire": 505 * US},
    once={"send": 400 * US, "wire": 505 * US},
    share={"time": {"send_call": 0.7, ADAPTER: 0.3}},
    notes=(WaitingLeftOut("leaves out waiting for own", resource_names=("own",)),),
    limits=(
        Limit(
            "diffs",
            "sends",
            {"sends": 146 * US, "wire": 12 * US},
            (Takeover(ADAPTER, 25 * US, 40 * US, "s", "wire"),),
        ),
    ),
)
FASTER = Answer(
    "dvsm/diff-request", "closed-form", values={"time": Value(853 * US, "s")}, exact=True
)
BROKEN = Answer("dvsm/diff-request", "closed-form", failed="the time comes out as inf s")


def sweep(
    name: str,
    axes: Sequence[Axis],
    time: Callable[..., float],
    cases: Sequence[str] = ("base",),
    limit: Callable[..., str] | None = None,
    failed: Mapping[int, str] | None = None,
) -> Sweep:
    """Make a grid; `time` and `limit` are called with the case and the value on each axis."""
    grid = [
        (case, *values) for case in cases for values in product(*(axis.values for axis in axes))
    ]
    points = {
        axis.path: (
            [str(each[1 + at]) for each in grid]
            if axis.has_names
            else np.array([each[1 + at] for each in grid])
        )
        for at, axis in enumerate(axes)
    }
    return Sweep(
        name=name,
        axes=tuple(axes),
        cases=[str(each[0]) for each in grid],
        points=points,
        columns={"time": np.array([time(*each) for each in grid])},
        units={"time": "s"},
        limits={} if limit is None else {"diffs": [limit(*each) for each in grid]},
        provenance=Provenance(["closed-form"] * len(grid), [True] * len(grid)),
        failed=failed or {},
    )


LATENCY = Axis(ADAPTER, "s", (10 * US, 20 * US, 40 * US))
SMALL = sweep(
    "latency",
    [LATENCY],
    lambda _, adapter: float("nan") if adapter == 20 * US else 1e-3 + 4 * adapter,
    limit=lambda _, adapter: {10 * US: "sends", 20 * US: "", 40 * US: "wire"}[adapter],
    failed={1: "the time comes out as nan s"},
)
COMPARISON = PublishedTable(
    title="Table 4",
    source="Table 4",
    text="",
    unit="us",
    columns=("base", "faster"),
    rows=(
        TableRow(
            "wire", (TableCell("base", 11.84, 12.0, 0.5), TableCell("faster", 5.2, 12.0, 0.5))
        ),
        TableRow(
            "total",
            (
                TableCell("base", 1705.0, 1759.0, 0.5, "the +105 was left out"),
                TableCell("faster", 853.0, None, 0.5),
            ),
        ),
        TableRow(
            "measured",
            (TableCell("base", 1705.0, 1759.0, 0.5), TableCell("faster", 853.0, 800.0, 0.5)),
            measured=True,
        ),
    ),
)


def ranked(
    path: str,
    meaning: str,
    value: Value,
    share: float | None,
    elasticity: float,
    saved: float | None,
) -> Answer:
    numbers = {
        "share": share,
        "elasticity": elasticity,
        "time_saved": saved,
        "opposite": None if saved is None else -saved,
    }
    point = {
        "parameter": path,
        "meaning": meaning,
        "change": "half" if saved is not None else "",
        "without an answer": "" if saved is not None else "half and twice",
    }
    return Answer(
        "rank",
        "",
        {"value": value, **{key: Value(each, "1") for key, each in numbers.items()}},
        point=point,
    )


RANKING = Ranking(
    case="base",
    change=0.5,
    rows=(
        ranked("send_call", "each send", Value(42 * US, "s"), 0.7, 0.7, 0.35),
        ranked("parts", "processors asked", Value(3.0, "1"), None, 0.2, None),
    ),
    idle=("machine.memory.page",),
)
SMALL_RESULTS = Results(
    name="demo",
    title="A demonstration",
    text="What it is about.",
    source="Somebody, 1997",
    cases={"base": BASE, "faster": FASTER, "broken": BROKEN},
    settings={
        "base": {},
        "faster": {"machine.processors.speed": "2"},
        "broken": {"parts": "1e308"},
    },
    sweeps=(SMALL,),
    questions={"compare": CompareResult((COMPARISON,)), "rank": RankResult((RANKING,))},
    hashes={"specs/studies/demo.yaml": "0" * 64},
    resolved={"base": {"parts": 3, "sizes": (20.0, 4120.0), "same": [1], "again": [1]}},
    versions={"slipstick": "0.1.0", "numpy": "2.0"},
    notes=("nothing else",),
)
BARS = BarsSpec(
    kind="bars",
    name="bars",
    title="Where the time goes",
    text="See.",
    cases=["base"],
    stack="component",
)
LINES = LinesSpec(
    kind="lines", name="lines", title="Time", sweep="latency", x=ADAPTER, y=["time"], log="x"
)
STUDY = StudySpec(study=1, answer=["time", "account[fault]"], pictures=[BARS, LINES])


def with_sweeps(*sweeps: Sweep) -> Results:
    """Put sweeps in the place of the small one."""
    return replace(SMALL_RESULTS, sweeps=sweeps)


def limit_map(name: str, sweep_name: str, x: str, y: str) -> MapSpec:
    """Ask for a map of limiting stages."""
    return MapSpec(
        kind="map", name=name, title="Limits", sweep=sweep_name, x=x, y=y, value="limit[diffs]"
    )
