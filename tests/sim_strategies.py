"""What Hypothesis draws for the simulator: calm trees, busy models, small closed networks.

Times are multiples of 1/8, so that sums are exact and ties are ties.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from hypothesis import settings
from hypothesis import strategies as st

from slipstick.model.activity import (
    Stage,
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
from slipstick.model.steps import Activity
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

LOCKS = ("door", "gate", "hatch")
"""Taken in this order from the outside in, so that nobody waits in a circle."""

RESOURCES: dict[str, Resource] = {
    "bus": Station(),
    "pool": Station(servers=2),
    "disk": Station(discipline="ps"),
    **{name: Lock() for name in LOCKS},
    "meet": Barrier(),
}

few = settings(max_examples=examples(40), deadline=None, derandomize=True)
many = settings(max_examples=examples(80), deadline=None, derandomize=True)


def times() -> st.SearchStrategy[float]:
    """Draw a time that adds up without rounding; zero too."""
    return st.integers(0, 64).map(lambda eighths: eighths / 8)


def trees(depth: int = 3, calm: bool = False, random: bool = True) -> st.SearchStrategy[Activity]:
    """Draw activities; every step has a name of its own.

    Parameters
    ----------
    depth : of the tree
    calm : what runs side by side uses no resource, and nothing is random
    random : times may be random and choices made
    """
    return st.builds(itertools.count).flatmap(
        lambda numbers: _tree(numbers, depth, calm, random and not calm)
    )


@st.composite
def _tree(
    draw: st.DrawFn,
    numbers: Iterator[int],
    depth: int,
    calm: bool,
    random: bool,
    alone: bool = True,
    locks: int = 0,
) -> Activity:
    """Draw a tree. `alone`: no other branch of the same member runs beside it; `locks`: the number
    of locks held.
    """

    def inner(alone: bool = alone, locks: int = locks) -> Activity:
        return draw(_tree(numbers, depth - 1, calm, random, alone, locks))

    kinds = ["then", "fork", "repeat", "pipeline", "step"] if depth else ["step"]
    if depth and (alone or not calm) and locks < len(LOCKS):
        kinds.append("hold")
    if depth and random:
        kinds.append("choose")
    match draw(st.sampled_from(kinds)):
        case "then":
            return then(*(inner() for _ in range(draw(st.integers(2, 3)))))
        case "fork":
            return fork(*(inner(alone=False) for _ in range(draw(st.integers(2, 3)))))
        case "repeat":
            return repeat(draw(st.integers(0, 3)), inner())
        case "hold":
            return hold(LOCKS[locks], inner(locks=locks + 1))
        case "choose":
            return choose((0.25, inner()), (0.75, inner()))
        case "pipeline":
            return draw(_pipeline(numbers, depth, calm, random, locks))
    resources = ["bus", "pool", "disk", "own"] if alone or not calm else []
    resource = draw(st.sampled_from([None, *resources]))
    name, time = f"s{next(numbers)}", draw(times())
    scv = draw(st.sampled_from([0.0, 0.5, 1.0, 4.0])) if random else 0.0
    component = draw(st.sampled_from(["busy", "io"]))
    if resource is None:
        return delay(time, name=name, component=component, scv=scv)
    return service(resource, time, name=name, component=component, scv=scv)


@st.composite
def _pipeline(
    draw: st.DrawFn, numbers: Iterator[int], depth: int, calm: bool, random: bool, locks: int
) -> Activity:
    items = draw(st.integers(1, 4))
    stages: list[Stage] = []
    # Where items differ, two lines may end at one instant, and the closed form may follow the other
    # one.
    uneven = items > 1 and not calm and draw(st.booleans())
    for index in range(draw(st.integers(1, 3))):
        count = items if uneven and draw(st.booleans()) else 1
        bodies = [draw(_tree(numbers, depth - 1, calm, random, False, locks)) for _ in range(count)]
        stages.append(draw(st.sampled_from([serial, parallel]))(*bodies, name=f"stage{index}"))
    return pipeline(stages, items, name=f"line{next(numbers)}")


@st.composite
def calm_models(draw: st.DrawFn) -> Model:
    """Draw deterministic models of one processor without any contention."""
    if draw(st.booleans()):
        return phased_model(
            (draw(st.integers(0, 3)), 1, draw(trees(calm=True))), (1, 1, delay(1.0, name="end"))
        )
    return closed_model(delay(1.0, name="begin") >> draw(trees(calm=True)), 1, resources=RESOURCES)


@st.composite
def busy_models(draw: st.DrawFn, random: bool = True) -> Model:
    """Draw models of several processors, with a barrier now and then."""
    cycle = delay(1.0, name="begin", scv=1.0 if random else 0.0) >> draw(
        trees(depth=2, random=random)
    )
    if draw(st.booleans()):
        cycle = cycle >> barrier("meet")
    processors = draw(st.integers(1, 5))
    match draw(st.sampled_from(["closed", "phases"])):
        case "phases":
            part = (draw(st.integers(1, 3)), processors, cycle)
            return phased_model(part, (1, 1, delay(2.0, name="last")), resources=RESOURCES)
        case _:
            return closed_model(cycle, processors, resources=RESOURCES)


@st.composite
def open_models(draw: st.DrawFn) -> Model:
    """Draw open models with random service."""
    cycle = service("bus", draw(times()) / 16, name="ask", scv=1.0) >> delay(
        draw(times()), name="stay"
    )
    return open_model(cycle, 1.0, resources=RESOURCES)
