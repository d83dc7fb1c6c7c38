"""Accesses to the words and flags of locks, from their own node and from others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from slipstick import solve
from slipstick.expression.nodes import TIME, Parameter
from slipstick.method.names import names_of
from slipstick.method.simulation.flatten import flatten
from slipstick.model.activity import delay, hold
from slipstick.model.system import (
    Lock,
    Model,
    Resource,
    Station,
    closed_model,
    open_model,
    phased_model,
)
from slipstick.sim.plain.kernel import Kernel
from slipstick.sim.plan.plan import Op
from slipstick.sim.settings import Simulation
from slipstick.vocabulary import LOCKS

SECTION = delay(1.0, name="work", scv=1.0) >> hold("door", delay(2.0, name="inside", scv=1.0))


def door(kind: str, home: int | None, word: str | None = "bus") -> Lock:
    access, pause = Parameter("door.access", TIME, 0.25), Parameter("door.base", TIME, 3.0)
    return Lock(kind, word, access, "constant" if kind == "tas" else "none", pause, home=home)


def program(lock: Lock, processors: int) -> Model:
    return phased_model((10, processors, SECTION), resources={"bus": Station(), "door": lock})


def accesses(model: Model) -> tuple[float, float]:
    answer = solve(model, None, method="simulation", simulation=Simulation(seed=3, cycles=3))
    local, remote = (answer[f"accesses[door,{where}]"] for where in ("local", "remote"))
    assert local is not None
    assert remote is not None
    return local, remote


@pytest.mark.parametrize("kind", ["tas", "ttas", "ticket"])
def test_accesses_to_the_word_are_the_visits_of_its_station_by_each_processor(kind: str) -> None:
    trace: list[tuple[float, int, int, int]] = []
    plan = flatten(program(door(kind, 2), 5)).plan
    kernel = Kernel(plan, 1, trace=trace)
    while kernel.run(1000):
        pass
    visits = Counter(customer for _, customer, _, pc in trace if plan.code[pc][0] == Op.SERVE)
    assert kernel.tries == [visits.total()]
    assert kernel.refusals == [visits[2]]
    assert visits.total() > 10 * 5 * 3


@pytest.mark.turns(4)
@pytest.mark.parametrize("kind", [kind for kind in LOCKS if kind != "fifo"])
@pytest.mark.parametrize("word", ["bus", None])
def test_one_alone_accesses_what_its_kind_of_lock_counts(kind: str, word: str | None) -> None:
    wanted = LOCKS[kind].acquire + LOCKS[kind].release
    assert accesses(program(door(kind, 0, word), 1)) == (wanted, 0)
    own = {"array": 3}.get(kind, 0)  # with nobody waiting, a flag of its own is left set
    assert accesses(program(door(kind, 1, word), 1)) == (own, wanted - own)


@pytest.mark.parametrize(("kind", "own", "free"), [("array", 2, range(3, 6)), ("mcs", 0, [0])])
def test_a_queue_of_processors_tells_the_next_one_at_its_node(
    kind: str, own: int, free: Sequence[int]
) -> None:
    local, remote = accesses(program(door(kind, 0), 5))
    # The word is local to one of five; the flag of the next never, but in an array for releases
    # with nobody waiting: the last one of each of three runs of 50, and few more.
    alone = (local - own - 0.2) * 3 * 50
    assert alone == pytest.approx(round(alone), abs=1e-9)
    assert round(alone) in free
    assert local + remote == pytest.approx(own + 2)


def test_without_a_home_or_processors_nothing_is_counted() -> None:
    plain = program(door("tas", None), 3)
    assert not [name for name in names_of(plain) if name.startswith("accesses")]
    assert {"accesses[door,local]", "accesses[door,remote]"} <= set(
        names_of(program(door("tas", 0), 3))
    )
    assert "accesses[door,local]" not in names_of(program(door("tas", 0), 3), "mean-value")
    resources: dict[str, Resource] = {"bus": Station(), "door": door("tas", 0)}
    arriving = open_model(SECTION, Parameter("rate", TIME**-1, 0.1), resources=resources)
    answer = solve(arriving, None, method="simulation", simulation=Simulation(cycles=100))
    assert not [name for name in answer.values if name.startswith("accesses")]


def test_counting_takes_no_time() -> None:
    times = []
    for home in (None, 0):
        model = closed_model(SECTION, 4, resources={"bus": Station(), "door": door("mcs", home)})
        times.append(
            solve(model, None, method="simulation", simulation=Simulation(seed=1, cycles=2000))[
                "time"
            ]
        )
    assert times[0] == times[1]
