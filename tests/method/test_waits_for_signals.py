"""Reader-writer locks, semaphores, bounded buffers and monitors: against Markov chains, each
other, and refusals.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np
import pytest

from slipstick import (
    Lock,
    Model,
    Monitor,
    ReaderWriterLock,
    Semaphores,
    Simulation,
    Station,
    buffer,
    choose,
    closed_model,
    delay,
    dump,
    fork,
    get,
    grouped_model,
    hold,
    put,
    repeat,
    service,
    signal,
    solve,
    superstep_model,
    wait,
)
from slipstick.errors import NoAnswerError
from slipstick.method.simulation.flatten import flatten
from slipstick.model.steps import Activity
from slipstick.model.system import Resource
from slipstick.vocabulary import READER_WRITER_ORDERS
from slipstick_compiled.kernel import AVAILABLE
from tests.bounds import bounds
from tests.sim.test_same import check_same

EXACT = Simulation(seed=1, precision=0.01, kernel="compiled" if AVAILABLE else "plain")
State = tuple[int, str, str]
"""Thinking customers; who holds the lock; and who waits for it, in the order of service: letters
r and w.
"""


def readers_and_writers(
    users: int, writers: float, reading: float, order: str, readers: int = 10**6
) -> Model:
    cycle = delay(1.0, name="think", scv=1) >> choose(
        (1 - writers, hold("table", delay(1 / reading, name="read", scv=1), "read")),
        (writers, hold("table", delay(1.0, name="write", scv=1), "write")),
    )
    return closed_model(cycle, users, resources={"table": ReaderWriterLock(order, readers)})


def granted(holding: str, waiting: str, readers: int) -> tuple[str, str]:
    """Let in who fits, from the head of the queue on."""
    while waiting and (not holding or ("w" not in holding + waiting[0] and len(holding) < readers)):
        holding, waiting = holding + waiting[0], waiting[1:]
    return holding, waiting


def cycles_a_second(
    users: int, writers: float, reading: float, order: str, readers: int = 10**6
) -> float:
    """Solve the Markov chain of the lock."""
    first = READER_WRITER_ORDERS[order][:1]

    def moves(state: State) -> list[tuple[State, float]]:
        thinking, holding, waiting = state
        found = []
        for kind, part in (("r", 1 - writers), ("w", writers)):
            ahead = waiting.rfind(first) + 1 if first == kind else len(waiting)
            queue = waiting[:ahead] + kind + waiting[ahead:]
            found.append(((thinking - 1, *granted(holding, queue, readers)), thinking * part))
        if holding:
            rate = 1.0 if holding == "w" else len(holding) * reading
            found.append(((thinking + 1, *granted(holding[1:], waiting, readers)), rate))
        return [(to, rate) for to, rate in found if rate]

    rates = reachable((users, "", ""), moves)
    return sum(part * state[0] for state, part in rates.items())


def reachable(
    start: State, moves: Callable[[State], list[tuple[State, float]]]
) -> dict[State, float]:
    """Return the long-run probability of each state."""
    index, ahead = {start: 0}, deque([start])
    entries = []
    while ahead:
        state = ahead.popleft()
        for to, rate in moves(state):
            if to not in index:
                index[to] = len(index)
                ahead.append(to)
            entries.append((index[state], index[to], rate))
    matrix = np.zeros((len(index), len(index)))
    for one, other, rate in entries:
        matrix[other, one] += rate
        matrix[one, one] -= rate
    matrix[0] = 1.0
    found = np.linalg.solve(matrix, np.eye(len(index))[0])
    return dict(zip(index, found.tolist(), strict=True))


@pytest.mark.parametrize(
    ("users", "writers", "reading", "printed"), [(3, 0.2, 1, 1.230924), (6, 0.5, 2, 1.465184)]
)
def test_the_chain_is_the_one_that_was_solved_elsewhere(
    users: int, writers: float, reading: float, printed: float
) -> None:
    assert cycles_a_second(users, writers, reading, "fair") == pytest.approx(printed, abs=1e-6)


@pytest.mark.turns(4)
@pytest.mark.parametrize("order", READER_WRITER_ORDERS)
@pytest.mark.parametrize("readers", [2, 10**6])
def test_a_reader_writer_lock_is_its_markov_chain(order: str, readers: int) -> None:
    model = readers_and_writers(5, 0.3, 1.5, order, readers)
    rate = solve(model, method="simulation", simulation=EXACT).values["throughput"]
    assert rate.low is not None
    assert rate.high is not None
    wide = rate.high - rate.low
    assert (
        rate.low - wide / 2 <= cycles_a_second(5, 0.3, 1.5, order, readers) <= rate.high + wide / 2
    )
    assert (bounds(model).values["throughput"].high or 0.0) >= rate.low


def test_writers_alone_have_a_lock() -> None:
    def model(lock: Resource, mode: str) -> Model:
        cycle = delay(4.0, name="think", scv=1) >> hold(
            "table", delay(1.0, name="write", scv=1), mode
        )
        return closed_model(cycle, 6, resources={"table": lock})

    rw, lock = model(ReaderWriterLock(), "write"), model(Lock(), "")
    one, other = (solve(model, method="simulation", simulation=EXACT) for model in (rw, lock))
    assert one["time"] == other["time"]
    assert dict(one.account) == dict(other.account)
    assert one["fairness[table]"] == other["fairness[table]"]
    assert bounds(rw).values["time"].low == pytest.approx(bounds(lock).values["time"].low)


def chain_of_two(first: Activity, second: Activity, **resources: Semaphores | Monitor) -> Model:
    return grouped_model(
        {
            "producer": (1, delay(1.0, name="make", scv=1) >> first),
            "consumer": (1, second >> delay(1.25, name="use", scv=1)),
        },
        resources=resources,
    )


def in_a_buffer(places: int) -> Model:
    return chain_of_two(
        put("queue", delay(0.0, name="in")),
        get("queue", delay(0.0, name="out")),
        queue=buffer(places),
    )


def in_a_monitor(places: int) -> Model:
    entrance = Monitor({"places": places, "items": 0})
    first = hold("queue", wait("queue.places") >> delay(0.0, name="in") >> signal("queue.items"))
    second = hold("queue", wait("queue.items") >> delay(0.0, name="out") >> signal("queue.places"))
    return chain_of_two(first, second, queue=entrance)


@pytest.mark.turns(4)
@pytest.mark.parametrize("places", [1, 4])
@pytest.mark.parametrize("make", [in_a_buffer, in_a_monitor])
def test_a_buffer_between_two_is_a_queue_with_room_for_so_many(
    make: Callable[[int], Model], places: int
) -> None:
    """A producer is stopped by one item in service, all places taken, and one in its hands:
    M/M/1/K with K two larger.
    """
    room, load = places + 2, 1.25
    empty = (1 - load) / (1 - load ** (room + 1))
    answer = solve(make(places), method="simulation", simulation=EXACT)
    rate = answer.values["throughput"]
    assert rate.low is not None
    assert rate.high is not None
    assert rate.low <= (1 - empty) / 1.25 <= rate.high
    units = (answer.values[f"units[queue.{each}]"].value or 0.0 for each in ("items", "places"))
    assert sum(units) == pytest.approx(places)
    assert answer.account["wait:queue.places"] == pytest.approx(
        answer["wait[queue.places]"], rel=0.02
    )


@pytest.mark.turns(4)
def test_a_monitor_without_time_inside_is_a_buffer() -> None:
    one, other = (
        solve(make(3), method="simulation", simulation=EXACT)
        for make in (in_a_buffer, in_a_monitor)
    )
    assert one["time"] == other["time"]
    assert dict(one.account) == dict(other.account)


def test_a_monitor_is_handed_over_before_those_at_its_entrance() -> None:
    """The consumer waits from 0; the producer signals at 2, the consumer is inside to 5, and the
    third from 5 to 6.
    """
    lines = [
        hold("m", wait("m.item") >> delay(3.0, name="take")),
        delay(1.0, name="make") >> hold("m", delay(1.0, name="bring") >> signal("m.item")),
        delay(1.5, name="come") >> hold("m", delay(1.0, name="look")),
    ]
    model = superstep_model(
        (1, lines, delay(0.0, name="end")), resources={"m": Monitor({"item": 0})}
    )
    answer = solve(model, method="simulation")
    assert answer["time"] == pytest.approx(6.0)
    assert answer.account["wait:m.item"] == pytest.approx(2.0 / 3)
    assert answer.account["entry:m"] == pytest.approx(3.5 / 3)


def test_a_monitor_without_conditions_is_a_lock() -> None:
    cycle = delay(4.0, name="think", scv=1) >> hold("m", delay(1.0, name="inside", scv=1))
    one, other = (
        closed_model(cycle, 6, resources={"m": Monitor()}),
        closed_model(cycle, 6, resources={"m": Lock()}),
    )
    for method in ("closed-form", "mean-value", "simulation"):
        first, second = (solve(model, method=method, simulation=EXACT) for model in (one, other))
        assert first["time"] == second["time"]
        assert dict(first.account) == {
            name.replace("lock:", "entry:"): each for name, each in second.account.items()
        }


@pytest.mark.turns(4)
@pytest.mark.skipif(not AVAILABLE, reason="numba is not installed")
@pytest.mark.parametrize(
    "make",
    [
        *(
            lambda order=order: readers_and_writers(7, 0.3, 1.0, order, 3)
            for order in READER_WRITER_ORDERS
        ),
        lambda: in_a_buffer(2),
        lambda: in_a_monitor(2),
    ],
)
def test_both_kernels_are_the_same(make: Callable[[], Model]) -> None:
    check_same(flatten(make()).plan, 6000)


def test_mean_value_refuses_and_the_default_simulates() -> None:
    model = in_a_buffer(2)
    with pytest.raises(NoAnswerError) as caught:
        solve(model, method="mean-value")
    assert (
        str(caught.value)
        == "mean value has no approximation of waits for queue.places: waits for signals are"
        " simulated, and bounds enclose them; units that the same processor gives back are"
        " permits, which mean value takes"
    )
    assert solve(model).method == "simulation"
    assert "leaves out waiting for queue.places" in solve(model, method="closed-form").notes[0]


def test_files_say_them() -> None:
    texts = [
        dump(in_a_buffer(3)),
        dump(in_a_monitor(3)),
        dump(readers_and_writers(3, 0.2, 1.0, "writer-first")),
    ]
    for text, words in zip(
        texts, ("places: 3, items: 0", "monitor: {places: 3, items: 0}", "mode: read"), strict=True
    ):
        assert words in text


def test_a_wait_that_nothing_ends_is_a_deadlock() -> None:
    cycle = wait("all.units") >> wait("all.units") >> delay(1.0) >> signal("all.units")
    with pytest.raises(NoAnswerError, match=r"deadlock at .*waits for counter all.units"):
        solve(
            closed_model(cycle, 2, resources={"all": Semaphores({"units": 1})}), method="simulation"
        )


def within(*resources: str) -> Activity:
    made: Activity = wait("m.c") >> delay(1.0) >> signal("m.c")
    for each in resources:
        made = hold(each, made)
    return made


REFUSED: list[tuple[Callable[[], object], str]] = [
    (
        lambda: closed_model(wait("x.y"), resources={"x": Semaphores({"y": 0})}),
        "no step signals x.y, so a wait for it never ends",
    ),
    (
        lambda: closed_model(delay(1.0) >> signal("x.y"), resources={"x": Semaphores({"y": 0})}),
        "no step waits for x.y, so its units grow without end",
    ),
    (
        lambda: closed_model(signal("quee.items"), resources={"queue": buffer(1)}),
        (
            "signal('quee.items') needs a semaphore, the places or items of a buffer, or a "
            "condition of a monitor; did you mean 'queue.items'?"
        ),
    ),
    (
        lambda: closed_model(within(), resources={"m": Monitor({"c": 0})}),
        (
            "wait('m.c') must be directly inside a hold of the monitor m, not in a fork, a choice "
            "or a pipeline"
        ),
    ),
    (
        lambda: closed_model(within("m", "door"), resources={"m": Monitor({"c": 0})}),
        "wait('m.c') leaves m, but not door, which is held as well: a deadlock",
    ),
    (
        lambda: closed_model(
            hold("m", signal("m.c") >> delay(1.0)), resources={"m": Monitor({"c": 0})}
        ),
        "signal('m.c') must be the last step inside m: a signal leaves the monitor at once",
    ),
    (
        lambda: closed_model(
            hold("m", fork(signal("m.c"), delay(1.0))), resources={"m": Monitor({"c": 0})}
        ),
        (
            "signal('m.c') must be directly inside a hold of the monitor m, not in a fork, a "
            "choice or a pipeline"
        ),
    ),
    (
        lambda: closed_model(hold("t", delay(1.0)), resources={"t": ReaderWriterLock()}),
        "t is a reader-writer lock; hold it in one of the modes read, write",
    ),
    (
        lambda: closed_model(hold("t", delay(1.0), "read"), resources={"t": Lock()}),
        "t is a lock; hold it without a mode",
    ),
    (
        lambda: buffer(2, 3),
        "Semaphores: units['places'] must be a whole number from 0 to 1,000,000, got -1",
    ),
    (
        lambda: ReaderWriterLock(readers=0),
        "ReaderWriterLock: readers must be a whole number from 1 to 1,000,000, got 0",
    ),
    (
        lambda: ReaderWriterLock("readers"),
        "there is no order 'readers'; did you mean 'reader-first'?",
    ),
]


@pytest.mark.parametrize(
    ("waits_for_both", "printed"),
    [((True, True), (0.584719, 0.585908)), ((False, True), (0.665232, 0.666455))],
)
def test_two_requests_that_meet_in_a_server_have_the_published_throughputs(
    waits_for_both: tuple[bool, bool], printed: tuple[float, float]
) -> None:
    """Regressions 80 and 81 of the layered solver, as its simulator printed them within 1 %: a
    server goes on when both of its entries were called, and answers the first at once in the second
    model. The number of calls is geometric.
    """

    def caller(number: int, waits: bool) -> Activity:
        first = delay(0.5, name=f"before{number}", scv=1.0)
        called = service("p3", 0.1, name=f"a{number}", scv=1.0)
        request = wait(f"s.free{number}") >> called >> signal(f"s.came{number}")
        answered = request >> wait(f"s.answer{number}") if waits else request
        rounds = repeat(1.0, first >> answered, spread="geometric")
        return rounds >> delay(0.5, name=f"after{number}", scv=1.0)

    both = wait("s.came1") >> wait("s.came2") >> service("p3", 0.1, name="a3", scv=1.0)
    for number, waits in enumerate(waits_for_both, 1):
        both = both >> signal(f"s.free{number}")
        both = both >> signal(f"s.answer{number}") if waits else both
    units = {
        f"{word}{n}": int(word == "free") for word in ("free", "came", "answer") for n in (1, 2)
    }
    groups = {
        "t1": (1, caller(1, waits_for_both[0])),
        "t2": (1, caller(2, waits_for_both[1])),
        "t3": (1, both),
    }
    resources: dict[str, Resource] = {"s": Semaphores(units), "p3": Station()}
    found = solve(grouped_model(groups, resources=resources), method="markov-chain")
    for name, throughput in zip(("t1", "t2"), printed, strict=True):
        assert found[f"throughput[{name}]"] == pytest.approx(throughput, rel=0.01)
