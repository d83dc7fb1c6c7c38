"""What Hypothesis draws: expressions, activities, models, cost tables, and values for their
parameters.

Everything that several tests draw is here, so that a new construct is added to one file and to all
tests.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence

from hypothesis import settings
from hypothesis import strategies as st

from slipstick.expression.nodes import (
    BYTES,
    COUNT,
    RATE,
    TIME,
    TIME_PER_BYTE,
    Dimension,
    Expr,
    Like,
    Number,
    Parameter,
    ceil,
    ceil_log,
    floor,
    log2,
    maximum,
    minimum,
    select,
    sqrt,
    total,
)
from slipstick.model.activity import (
    Hold,
    Stage,
    Step,
    barrier,
    choose,
    delay,
    fork,
    hold,
    parallel,
    pipeline,
    repeat,
    serial,
    service,
    then,
)
from slipstick.model.machine import LinearCost, Machine, Network, SizeRange
from slipstick.model.steps import Activity, steps
from slipstick.model.system import (
    Barrier,
    Lock,
    Model,
    Resource,
    Station,
    closed_model,
    open_model,
    phased_model,
)
from tests.examples import examples

PARAMETERS: dict[Dimension, tuple[Parameter, ...]] = {
    TIME: (
        Parameter("work", TIME, 9.0),
        Parameter("bus.time", TIME, 2.0),
        Parameter("sync-time", TIME, 0.5),
    ),
    BYTES: (Parameter("size", BYTES, 12.0), Parameter("page", BYTES, 4096.0)),
    TIME_PER_BYTE: (Parameter("wire", TIME_PER_BYTE, 0.25),),
    RATE: (Parameter("rate", RATE, 0.75),),
    COUNT: (Parameter("parts", COUNT, 3.0), Parameter("speed", COUNT, 1.5)),
}
"""A few quantities of several dimensions, with base values."""

ALL_PARAMETERS = tuple(parameter for each in PARAMETERS.values() for parameter in each)

quick = settings(max_examples=examples(100), deadline=None, derandomize=True)
"""The same examples on every run, without a limit on time."""


def values() -> st.SearchStrategy[float]:
    """Draw positive values; a few round ones come often, so that ties happen."""
    return st.sampled_from([0.5, 1.0, 2.0, 3.0, 8.0]) | st.floats(0.25, 16.0, allow_subnormal=False)


def parameter_values() -> st.SearchStrategy[dict[str, float]]:
    """Draw a value for each of `PARAMETERS`."""
    return st.fixed_dictionaries({each.name: values() for each in ALL_PARAMETERS})


@st.composite
def expressions(
    draw: st.DrawFn, dimension: Dimension = TIME, depth: int = 3, smooth: bool = False
) -> Expr:
    """Draw a tree of one dimension.

    Parameters
    ----------
    dimension : of the result, one of `PARAMETERS`
    depth : of the tree
    smooth : without steps and range limits, whose two sides rounding may exchange
    """

    def of(wanted: Dimension) -> Expr:
        return draw(expressions(wanted, depth - 1, smooth))

    if depth == 0:
        leaves = st.sampled_from(PARAMETERS[dimension])
        return draw(
            leaves | st.sampled_from([0.5, 1.0, 2.0, 7.0]).map(Number)
            if dimension == COUNT
            else leaves
        )
    kinds = ["leaf", "sum", "difference", "scaled", "divided", "max", "min"]
    kinds += [] if smooth else ["select"]
    kinds += {
        TIME: ["by size", "by rate"],
        COUNT: [
            "ratio",
            "power",
            "sqrt",
            "log2",
            *([] if smooth else ["ceil", "floor", "ceil_log"]),
        ],
    }.get(dimension, [])
    match draw(st.sampled_from(kinds)):
        case "sum":
            return total([of(dimension) for _ in range(draw(st.integers(1, 3)))], dimension)
        case "difference":
            return of(dimension) - of(dimension)
        case "scaled":
            return of(COUNT) * of(dimension)
        case "divided":
            return of(dimension) / maximum(of(COUNT), 0.25)
        case "max":
            return maximum(*(of(dimension) for _ in range(draw(st.integers(1, 3)))))
        case "min":
            return minimum(of(dimension), of(dimension))
        case "select":
            return select(of(BYTES), PARAMETERS[BYTES][0], of(dimension), of(dimension))
        case "by size":
            return of(TIME_PER_BYTE) * of(BYTES)
        case "by rate":
            return of(COUNT) / draw(st.sampled_from(PARAMETERS[RATE]))
        case "ratio":
            return of(TIME) / draw(st.sampled_from(PARAMETERS[TIME]))
        case "power":
            return maximum(of(COUNT), 0.25) ** draw(st.integers(-3, 3))
        case "sqrt":
            return sqrt(maximum(of(COUNT), 0.25))
        case "log2":
            return log2(maximum(of(COUNT), 0.25))
        case "ceil":
            return ceil(of(COUNT))
        case "floor":
            return floor(of(COUNT))
        case "ceil_log":
            return ceil_log(of(COUNT), draw(st.integers(2, 36)))
    return draw(st.sampled_from(PARAMETERS[dimension]))


STEPS: tuple[Step, ...] = (
    delay(PARAMETERS[TIME][0], name="work"),
    service("bus", PARAMETERS[TIME][1], name="transfer", component="memory", technology="memory"),
    service(
        "link",
        PARAMETERS[TIME_PER_BYTE][0] * PARAMETERS[BYTES][0],
        name="send",
        component="message",
        technology="wire",
    ),
    service(
        "own",
        PARAMETERS[TIME][2] / PARAMETERS[COUNT][1],
        name="call",
        component="message",
        technology="system",
    ),
    delay(1 / PARAMETERS[RATE][0], name="think", component="think"),
    service(
        "disk",
        maximum(PARAMETERS[TIME][1], PARAMETERS[TIME][2]),
        name="read",
        component="io",
        scv=1.0,
    ),
)
"""Steps of several components and technology classes; a name stands for one step wherever it is
drawn.
"""

RESOURCES: Mapping[str, Resource] = {
    "bus": Station(),
    "link": Station(servers=2),
    "disk": Station(discipline="ps"),
    "door": Lock(),
    "meet": Barrier("central", PARAMETERS[TIME][2]),
}


def activities(depth: int = 3) -> st.SearchStrategy[Activity]:
    """Draw activities of every construct."""
    return st.builds(itertools.count).flatmap(lambda numbers: _activity(numbers, depth))


@st.composite
def _activity(draw: st.DrawFn, numbers: Iterator[int], depth: int) -> Activity:
    def inner() -> Activity:
        return draw(_activity(numbers, depth - 1))

    kinds = (
        ["step"]
        if depth == 0
        else ["step", "then", "fork", "choose", "repeat", "hold", "pipeline", "barrier"]
    )
    match draw(st.sampled_from(kinds)):
        case "then":
            return then(*(inner() for _ in range(draw(st.integers(2, 3)))))
        case "fork":
            return fork(*(inner() for _ in range(draw(st.integers(1, 3)))))
        case "choose":
            p = draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]))
            return choose((p, inner()), (1 - p, inner()))
        case "repeat":
            counts: list[Like] = [0, 1, 3, PARAMETERS[COUNT][0]]
            return repeat(draw(st.sampled_from(counts)), inner())
        case "hold":
            body = inner()
            # Who holds a lock cannot ask for it again.
            return (
                body if any(isinstance(node, Hold) for node in steps(body)) else hold("door", body)
            )
        case "pipeline":
            # A name of its own for each: a model refuses two different pipelines of one name.
            return draw(_pipeline(numbers, depth))
        case "barrier":
            return barrier("meet")
    return draw(st.sampled_from(STEPS))


@st.composite
def _pipeline(draw: st.DrawFn, numbers: Iterator[int], depth: int) -> Activity:
    items = draw(st.integers(1, 4))
    uneven = items > 1 and draw(st.booleans())
    stages: list[Stage] = []
    for index in range(draw(st.integers(1, 3))):
        many = items if uneven and draw(st.booleans()) else 1
        bodies = [draw(_activity(numbers, depth - 1)) for _ in range(many)]
        stages.append(draw(st.sampled_from([serial, parallel]))(*bodies, name=f"stage{index}"))
    counts: list[Like] = [items] if uneven else [items, PARAMETERS[COUNT][0]]
    return pipeline(stages, draw(st.sampled_from(counts)), name=f"line{next(numbers)}")


@st.composite
def models(draw: st.DrawFn, depth: int = 3, arrivals: Sequence[float] = (1e-6,)) -> Model:
    """Draw models of all three populations; processors use every resource of `RESOURCES` or none.

    Parameters
    ----------
    depth : of the activities
    arrivals : factors of the arrival rate; by default arrivals are so few that no resource is
        saturated, whatever the activity asks of it and whatever values the parameters get
    """
    numbers = itertools.count()
    useful = draw(st.sampled_from([("busy",), ("busy", "memory"), ()]))
    kind = draw(st.sampled_from(["closed", "phases", "arrivals"]))
    if kind == "phases":
        parts = [
            (
                draw(st.sampled_from([1, 2, 5])),
                draw(st.sampled_from([1, 2, 8])),
                draw(_activity(numbers, depth - 1)),
            )
            for _ in range(draw(st.integers(1, 3)))
        ]
        return phased_model(*parts, resources=RESOURCES, useful=useful)
    cycle = draw(_activity(numbers, depth))
    if kind == "arrivals":
        return open_model(
            cycle,
            PARAMETERS[RATE][0] * draw(st.sampled_from(arrivals)),
            resources=RESOURCES,
            useful=useful,
        )
    return closed_model(cycle, draw(st.integers(1, 16)), resources=RESOURCES, useful=useful)


def microseconds() -> st.SearchStrategy[float]:
    """Draw a time between 0 and 1 ms, in seconds."""
    return st.floats(0.0, 1000.0).map(lambda us: us * 1e-6)


@st.composite
def networks(draw: st.DrawFn) -> Network:
    """Draw a cost table of one to three ranges of sizes."""

    def quantity(path: str, dimension: Dimension, value: float) -> Expr:
        return Parameter(f"machine.network.{path}", dimension, value)

    ends = [*sorted(draw(st.lists(st.integers(1, 5000), max_size=2, unique=True))), None]
    ranges = [
        SizeRange(
            name=f"r{index}",
            up_to=None if end is None else quantity(f"protocol.r{index}.up_to", BYTES, float(end)),
            total=LinearCost(
                quantity(f"protocol.r{index}.fixed", TIME, draw(microseconds())),
                quantity(f"protocol.r{index}.per_byte", TIME_PER_BYTE, draw(microseconds()) / 1000),
            ),
        )
        for index, end in enumerate(ends)
    ]
    return Network(
        name="drawn",
        protocol_added=quantity("protocol.added", BYTES, float(draw(st.integers(0, 100)))),
        ranges=tuple(ranges),
        wire_per_byte=quantity("wire.per_byte", TIME_PER_BYTE, draw(microseconds()) / 1000),
        wire_added=quantity("wire.added", BYTES, float(draw(st.integers(0, 100)))),
        adapter=quantity("adapter", TIME, draw(microseconds())),
        switch=quantity("switch", TIME, draw(microseconds())),
        switches=quantity("switches", COUNT, float(draw(st.integers(0, 3)))),
        medium=draw(st.sampled_from(["shared", "switched", "none"])),
    )


@st.composite
def machines(draw: st.DrawFn) -> Machine:
    """Draw a machine on a drawn network."""
    return Machine(
        name="drawn",
        processors=Parameter("machine.processors.count", COUNT, float(draw(st.integers(2, 64)))),
        speed=Parameter(
            "machine.processors.speed", COUNT, draw(st.sampled_from([0.25, 1.0, 2.0, 8.0]))
        ),
        page=Parameter("machine.memory.page", BYTES, 4096.0),
        signal=Parameter("machine.signal", TIME, draw(microseconds())),
        network=draw(networks()),
    )
