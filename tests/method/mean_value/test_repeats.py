"""A body that is repeated is the body written out, also where processors start together."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import count

import pytest

from slipstick.model.activity import barrier, choose, delay, fork, repeat, service, then
from slipstick.model.steps import Activity
from slipstick.model.system import Barrier, Model, Resource, Station, closed_model, phased_model
from slipstick_mean_value.form import MeanValue


def _body(draw: random.Random, names: Iterator[int]) -> Activity:
    """Draw one to three parts: services, and seldom a delay, a choice or a fork."""
    parts: list[Activity] = []
    for _ in range(draw.randint(1, 3)):
        time, scv, station = (
            draw.uniform(0.05, 0.5),
            draw.choice([0.25, 1.0, 4.0]),
            draw.choice("ab"),
        )
        part: Activity = service(station, time, name=f"step{next(names)}", scv=scv)
        if (kind := draw.random()) < 0.2:
            part = delay(time, name=f"step{next(names)}", scv=scv)
        elif kind < 0.4:
            other = delay(0.3, name=f"step{next(names)}", scv=1.0)
            part = choose((0.4, part), (0.6, other))
        elif kind < 0.5:
            part = fork(part, service("b", 0.1, name=f"step{next(names)}", scv=1.0))
        parts.append(part)
    return then(*parts)


def _model(seed: int, written_out: bool) -> Model:
    """Draw a model with a barrier or phases, its loop repeated or written out.

    More than 12 visits are not told apart by turns, so there are at most 4 turns.
    """
    draw, names = random.Random(f"repeats {seed}"), count()
    times, processors = draw.choice([2, 3, 4]), draw.choice([2, 5, 16, 40])
    resources: dict[str, Resource] = {
        "a": Station(draw.choice([1, 2])),
        "b": Station(1, draw.choice(["fcfs", "ps"])),
    }
    work, phases = delay(2.0, name="work", scv=1.0), draw.random() < 0.3
    state = draw.getstate()

    def body() -> Activity:
        draw.setstate(state)
        return _body(draw, names)

    loop = then(*(body() for _ in range(times))) if written_out else repeat(times, body())
    if phases:
        return phased_model((3, processors, work >> loop), resources=resources)
    cycle = work >> loop >> barrier("meet")
    return closed_model(cycle, processors, resources={**resources, "meet": Barrier()})


@pytest.mark.turns(4)
@pytest.mark.parametrize("seed", range(12))
def test_a_repeated_body_is_the_body_written_out(seed: int) -> None:
    repeated, written_out = (
        float(MeanValue(_model(seed, out)).times({})[0]) for out in (False, True)
    )
    # The variance of a wait is that of its mean over the turns, which differ.
    assert repeated == pytest.approx(written_out, rel=1e-4)


@pytest.mark.turns(4)
def test_fractions_of_turns_lie_between_whole_ones() -> None:
    def time(turns: float) -> float:
        body = service("a", 0.2, scv=1.0, name="a") >> service("b", 0.3, scv=1.0, name="b")
        cycle = delay(2.0, name="work", scv=1.0) >> repeat(turns, body) >> barrier("meet")
        resources: dict[str, Resource] = {"a": Station(), "b": Station(), "meet": Barrier()}
        return float(MeanValue(closed_model(cycle, 16, resources=resources)).times({})[0])

    assert (time(3) + time(4)) / 2 == pytest.approx(time(3.5), rel=0.02)
    assert time(40) - time(39) == pytest.approx(time(39) - time(38), rel=1e-6)


@pytest.mark.turns(4)
def test_many_turns_are_close_to_the_body_written_out() -> None:
    def time(loop: Activity) -> float:
        cycle = delay(2.0, name="work", scv=1.0) >> loop >> barrier("meet")
        resources: dict[str, Resource] = {"a": Station(), "b": Station(), "meet": Barrier()}
        return float(MeanValue(closed_model(cycle, 16, resources=resources)).times({})[0])

    def body(turn: int) -> Activity:
        first = service("a", 0.2, scv=1.0, name=f"a{turn}")
        return first >> service("b", 0.3, scv=1.0, name=f"b{turn}")

    assert time(repeat(15, body(0))) == pytest.approx(time(then(*map(body, range(15)))), rel=1e-4)
