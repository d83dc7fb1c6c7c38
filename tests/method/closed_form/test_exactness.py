"""An answer is called exact only where nobody can wait and nothing random is compared."""

from __future__ import annotations

import pytest

from slipstick.expression.nodes import Parameter
from slipstick.method.answers import NOTE_ON_SPEEDUP
from slipstick.model.activity import (
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
)
from slipstick.model.steps import Activity
from slipstick.model.system import (
    Model,
    Station,
    closed_model,
    grouped_model,
    open_model,
    phased_model,
)
from slipstick.structure.contention import Contention
from tests.closed_form import solve

WORK = delay(9.0, name="work")
RANDOM = delay(9.0, name="random", scv=1.0)
BUS, CPU = service("bus", 1.0), service("cpu", 2.0)
MEET = barrier("meet")
OWN, OTHER, EACH = (
    service(name, 1.0, name=f"at-{name}") for name in ("own", "other", "each-other")
)
LONGEST = "ignores that parallel times vary, so waits for the slowest are too short"


WORDS = {
    "own": "the processors",
    "other": "the processors",
    "each-other": "the processors",
}


def waiting(*names: str) -> str:
    told = dict.fromkeys(WORDS.get(name, name) for name in names)
    return f"leaves out waiting for {', '.join(told)}"


def separate(*names: str) -> str:
    used = ", ".join(WORDS.get(name, name) for name in names)
    return f"takes the stages of pipeline as separate servers, although several use {used}"


def line(items: float, *stages: Activity) -> Activity:
    return pipeline(
        [serial(stage, name=f"stage{index}") for index, stage in enumerate(stages)], items
    )


CASES: list[tuple[str, Model, tuple[str, ...]]] = [
    ("delays only", closed_model(WORK, 8), ()),
    ("random delays in a row", closed_model(RANDOM >> RANDOM, 8), ()),
    ("one asker", closed_model(WORK >> BUS, 1), ()),
    ("two askers, one server", closed_model(WORK >> BUS, 2), (waiting("bus"),)),
    ("two askers, two servers", closed_model(WORK >> BUS, 2, resources={"bus": Station(2)}), ()),
    (
        "three askers, two servers",
        closed_model(WORK >> BUS, 3, resources={"bus": Station(2)}),
        (waiting("bus"),),
    ),
    ("one lock, one holder", closed_model(hold("door", WORK), 1), ()),
    ("one lock, two holders", closed_model(hold("door", WORK), 2), (waiting("door"),)),
    (
        "branches of one processor at one lock",
        closed_model(fork(hold("door", WORK), hold("door", WORK >> WORK))),
        (waiting("door"),),
    ),
    ("branches at one server", closed_model(fork(BUS, WORK >> BUS)), (waiting("bus"),)),
    ("branches at different servers", closed_model(fork(BUS, CPU)), ()),
    ("branches of random length", closed_model(fork(WORK, RANDOM)), (LONGEST,)),
    (
        "a random choice in a branch",
        closed_model(fork(WORK, choose((0.5, WORK), (0.5, BUS)))),
        (LONGEST,),
    ),
    ("a random choice in a row", closed_model(choose((0.5, WORK), (0.5, BUS))), ()),
    ("own processor, nobody asks", closed_model(OWN, 8), ()),
    ("own processor, others ask", closed_model(OWN >> OTHER, 8), (waiting("own", "other"),)),
    ("others at random", closed_model(OTHER, 8), (waiting("other"),)),
    ("each other of one asker", closed_model(pipeline([parallel(EACH)], 7)), ()),
    (
        "each other of many askers",
        closed_model(pipeline([parallel(EACH)], 7), 2),
        (waiting("each-other"),),
    ),
    (
        "one named processor, many askers",
        closed_model(service("processor[0]", 1.0), 2),
        (waiting("processor[0]"),),
    ),
    ("parallel items at one server", closed_model(pipeline([parallel(BUS)], 3)), (waiting("bus"),)),
    ("serial items at one server", closed_model(line(3, BUS)), ()),
    (
        "stages at one server",
        closed_model(line(3, BUS, WORK >> BUS)),
        (waiting("bus"), separate("bus")),
    ),
    ("stages at one server, one item", closed_model(line(1, BUS, WORK >> BUS)), ()),
    ("random stages", closed_model(line(3, RANDOM)), (LONGEST,)),
    ("a barrier of constant times", closed_model(WORK >> barrier("meet"), 8), ()),
    ("a barrier of random times", closed_model(RANDOM >> barrier("meet"), 8), (LONGEST,)),
    ("a barrier for oneself", closed_model(RANDOM >> barrier("meet"), 1), ()),
    (
        "a barrier of groups",
        grouped_model({"a": (2, WORK >> MEET), "b": (1, BUS >> MEET)}),
        (waiting("meet"),),
    ),
    ("a barrier of one group", grouped_model({"a": (2, WORK >> MEET), "b": (1, BUS)}), ()),
    (
        "a barrier of a group and an empty one",
        grouped_model({"a": (2, WORK >> MEET), "b": (0, BUS >> MEET)}),
        (),
    ),
    ("a barrier of two of three", closed_model(WORK >> barrier("meet", 2), 3), (waiting("meet"),)),
    ("a barrier of two of two", closed_model(WORK >> barrier("meet", 2), 2), ()),
    ("phases of constant times", phased_model((1, 1, WORK), (3, 8, WORK)), ()),
    ("phases of random times", phased_model((1, 1, WORK), (3, 8, RANDOM)), (LONGEST,)),
    ("phases of one processor", phased_model((3, 1, RANDOM)), ()),
    ("phases with a shared server", phased_model((1, 1, WORK), (3, 8, BUS)), (waiting("bus"),)),
    ("arrivals that only wait", open_model(WORK, 1.0), ()),
    ("arrivals at a server", open_model(repeat(2, BUS), 0.1), (waiting("bus"),)),
]


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("model", "notes"), [each[1:] for each in CASES], ids=[each[0] for each in CASES]
)
def test_exact_or_a_note_says_why_not(model: Model, notes: tuple[str, ...]) -> None:
    answer = solve(model)
    compared = (
        "the efficiency is",
        "processors lost are",
        NOTE_ON_SPEEDUP,
        "time, throughput, account",
    )
    assert tuple(note for note in answer.notes if not note.startswith(compared)) == notes
    assert answer.exact == (not notes)
    assert Contention(model).neglects_nothing({}).all() == answer.exact


def test_the_note_is_of_the_point_not_of_the_model() -> None:
    """A model built for one processor or one item and asked about eight leaves out their
    waiting.
    """
    model = closed_model(WORK >> BUS, 1)
    assert [solve(model, {"population.processors": n}).exact for n in (1.0, 8.0)] == [True, False]
    line_of_n = closed_model(pipeline([parallel(BUS)], Parameter("items", value=1.0)))
    assert [solve(line_of_n, {"items": n}).exact for n in (1.0, 8.0)] == [True, False]


@pytest.mark.parametrize(("processors", "is_exact"), [(1, True), (2, False)])
def test_a_processor_alone_waits_for_nobody_at_a_barrier(processors: int, is_exact: bool) -> None:
    answer = solve(closed_model(RANDOM >> MEET, processors=processors))
    assert (answer["time"], answer.exact) == (9.0, is_exact)
    assert (LONGEST in answer.notes) is not is_exact
