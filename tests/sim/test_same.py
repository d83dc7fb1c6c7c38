"""Plain and compiled runs are the same to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from slipstick.errors import NoAnswerError
from slipstick.limits import with_limits
from slipstick.method.simulation.flatten import flatten
from slipstick.model.system import Model
from slipstick.sim.estimate import Layout
from slipstick.sim.plain.kernel import Kernel
from slipstick.sim.plan.builder import Builder, LockImplementation
from slipstick.sim.plan.distributions import ServiceTime, service_time
from slipstick.sim.plan.plan import COUNTER, Plan
from slipstick.vocabulary import SIMULATED_DISCIPLINES
from slipstick_compiled.kernel import AVAILABLE, CompiledKernel
from tests.examples import examples
from tests.sim_strategies import busy_models, open_models

pytestmark = pytest.mark.skipif(not AVAILABLE, reason="numba is not installed")

EXPONENTIAL = ServiceTime("exponential", 1.0)
CONSTANT = ServiceTime("deterministic", 0.25, 0.0)


def check_same(plan: Plan, events: int = 3000) -> None:
    traces: list[list[tuple[float, int, int, int]]] = [[], []]
    plain, fast = Kernel(plan, 5, trace=traces[0]), CompiledKernel(plan, 5, trace=traces[1])
    # In pieces, as the loop must take up where it left off.
    going = [[each.run(count) for count in (1, 7, events)] for each in (plain, fast)]
    assert going[0] == going[1]
    # The first difference says all, and a table of every one takes minutes.
    assert next((pair for pair in zip(*traces, strict=False) if pair[0] != pair[1]), None) is None
    assert len(traces[0]) == len(traces[1])
    assert plain.now == fast.now
    assert plain.events == fast.events
    np.testing.assert_array_equal(plain.take_rows(), fast.take_rows())
    for group in range(len(plan.groups)):
        np.testing.assert_array_equal(plain.take_responses(group), fast.take_responses(group))
    assert sorted(map(str, plain.waits())) == sorted(map(str, fast.waits()))


@pytest.mark.turns(4)
@settings(max_examples=examples(80), deadline=None, derandomize=True)
@given(busy_models())
def test_of_generated_models(model: Model) -> None:
    check_same(flatten(model).plan)


@pytest.mark.turns(6)
@settings(max_examples=15, deadline=None, derandomize=True)
@given(open_models())
def test_of_open_models(model: Model) -> None:
    check_same(flatten(model).plan)


@pytest.mark.turns(4)
@pytest.mark.parametrize("discipline", SIMULATED_DISCIPLINES)
@pytest.mark.parametrize("servers", [1, 2])
def test_of_every_discipline(discipline: str, servers: int) -> None:
    builder = Builder()
    builder.add_station("cpu", servers, discipline)
    starts = []
    for rank in (2, 1, 0):
        starts.append(builder.next_instruction)
        builder.serve("cpu", EXPONENTIAL, f"work{rank}", rank=rank)
        builder.delay(EXPONENTIAL, f"think{rank}")
        builder.add_closed_group(f"class{rank}", 3, first_instruction=starts[-1])
    check_same(builder.plan(), 6000)


@pytest.mark.turns(4)
@pytest.mark.parametrize("discipline", SIMULATED_DISCIPLINES)
@pytest.mark.parametrize("rates", [(2.0,), (1.0, 1.5, 1.75), (0.5, 3.0)])
def test_of_speeds_that_depend_on_how_many_are_there(
    discipline: str, rates: tuple[float, ...]
) -> None:
    builder = Builder()
    builder.add_station("pool", 1, discipline, rates=rates)
    builder.add_station("cpu")
    for rank in (1, 0):
        start = builder.next_instruction
        builder.delay(EXPONENTIAL, f"think{rank}")
        builder.serve("pool", service_time(0.4, 4.0), f"work{rank}", rank=rank)
        builder.serve("pool", CONSTANT, f"rest{rank}", rank=rank)
        builder.serve("cpu", EXPONENTIAL, f"end{rank}")
        builder.add_closed_group(f"class{rank}", 4, first_instruction=start)
    check_same(builder.plan(), 6000)


@pytest.mark.parametrize("rates", [(), (1.0, 1.7, 1.5)])
def test_of_weights_at_a_shared_station(rates: tuple[float, ...]) -> None:
    builder = Builder()
    builder.add_station("cpu", 1, "ps", rates=rates)
    for number, weight in enumerate((1.0, 0.1, 3.7)):
        start = builder.next_instruction
        builder.serve("cpu", EXPONENTIAL, f"work{number}", weight=weight)
        builder.serve("cpu", CONSTANT, f"rest{number}")
        builder.delay(EXPONENTIAL, f"think{number}")
        builder.add_closed_group(f"class{number}", 3, first_instruction=start)
    check_same(builder.plan(), 6000)


def test_of_ends_at_one_instant_at_a_shared_station() -> None:
    """Of those that end at the same progress, the one that came first leaves first."""
    builder = Builder()
    builder.add_station("cpu", 1, "ps")
    for number, count in enumerate((7, 30)):
        start = builder.next_instruction
        builder.serve("cpu", CONSTANT, f"work{number}")
        builder.serve("cpu", service_time(0.4, 4.0), f"rest{number}")
        builder.add_closed_group(f"class{number}", count, first_instruction=start)
    check_same(builder.plan(), 1500)


@pytest.mark.parametrize("branches", [2, 3])
def test_of_streams_whose_customers_take_all_the_space_that_there_is(branches: int) -> None:
    """More and more come than leave, each with branches, so that tables are full at arrivals and
    at forks.
    """
    builder = Builder()
    builder.fork([lambda: builder.delay(ServiceTime("exponential", 300.0), "long")] * branches)
    builder.add_open_group("jobs", EXPONENTIAL, first_instruction=0)
    check_same(builder.plan(), 2000)


def test_customers_that_would_take_more_memory_than_the_limit_are_refused() -> None:
    builder = Builder()
    builder.delay(ServiceTime("deterministic", 1e9, 0.0))
    builder.add_open_group("jobs", CONSTANT, first_instruction=0)
    kernel = CompiledKernel(builder.plan(), 1)
    said = (
        r"more than 128 customers and branches are in progress after 12\d events, at 32\S* s, and"
        r" take 0 MB of memory: they begin faster than they end, as in a long burst, or last longer"
        r" than the run; shorten the burst or their times, or allow more with --limit customers=\d+"
    )
    with with_limits({"customers": 200}):
        assert kernel.run(120)
        with pytest.raises(NoAnswerError, match=said):
            kernel.run(1000)


def test_of_ways_that_lead_anywhere_and_of_gates() -> None:
    builder = Builder()
    builder.add_station("cpu")
    builder.add_station("disk", 2)
    builder.delay(EXPONENTIAL, "think")
    builder.start_response()
    builder.mark("cpu")
    builder.repeat_with_probability(0.4, lambda: builder.serve("cpu", EXPONENTIAL), "again")
    builder.jump_at_random([(0.3, "cpu"), (0.5, "disk"), (0.2, "end")], "from cpu")
    builder.mark("disk")
    builder.admit("jobs at disk", "disk", 3, "refused")
    builder.serve("disk", EXPONENTIAL)
    builder.mark("end")
    builder.finish(goes_onward=True)
    builder.admit("jobs at end")
    builder.delay(CONSTANT, "rest")
    builder.jump_at_random([(1.0, "cpu")], "back")
    builder.mark("refused")
    builder.finish(is_lost=True)
    builder.add_closed_group("jobs", 7, first_instruction=0)
    at = builder.next_instruction
    builder.admit("web at disk", "disk", 3, "away")
    builder.serve("disk", EXPONENTIAL, "web")
    builder.mark("away")
    builder.finish(is_lost=True)
    builder.add_open_group("web", ServiceTime("exponential", 0.4), first_instruction=at)
    plan = builder.plan()
    check_same(plan, 6000)
    kernel = Kernel(plan, 1)
    kernel.run(6000)
    assert all(refused > 100 for refused in (kernel.refusals[0], kernel.refusals[2]))
    assert kernel.cycles[1] == 0


@pytest.mark.parametrize("discipline", ["fcfs", "lcfs", "random", "priority"])
def test_of_customers_that_abandon_queues(discipline: str) -> None:
    builder = Builder()
    builder.add_station("cpu", 2, discipline)
    for rank, patience in ((1, EXPONENTIAL), (0, CONSTANT)):
        at = builder.next_instruction
        builder.limit_next_visit(patience, f"left{rank}", f"patience{rank}")
        builder.serve("cpu", EXPONENTIAL, f"work{rank}", rank=rank)
        builder.serve("cpu", CONSTANT, f"again{rank}", rank=rank)
        builder.finish()
        builder.mark(f"left{rank}")
        builder.admit(f"left{rank}")
        builder.finish(is_lost=True)
        builder.add_open_group(
            f"class{rank}", ServiceTime("exponential", 0.6 + rank), first_instruction=at
        )
    check_same(builder.plan(), 6000)


LOCKS = [
    LockImplementation("fifo"),
    LockImplementation("queue", "bus", CONSTANT),
    LockImplementation("tas", "bus", CONSTANT),
    LockImplementation("tas", "bus", CONSTANT, "constant", 0.5),
    LockImplementation("tas", "bus", CONSTANT, "exponential", 0.25, 4.0),
    LockImplementation("ttas", "bus", CONSTANT),
    LockImplementation("ticket", "bus", CONSTANT),
    LockImplementation("ticket"),
    LockImplementation("tas", "bus", CONSTANT, "exponential", 0.25, 4.0, home=3),
    LockImplementation("queue", "bus", CONSTANT, home=1, own_flags=1),
]


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    "form", LOCKS, ids=lambda form: f"{form.kind}-{form.back_off}-{form.word}-{form.home}"
)
def test_of_every_lock(form: LockImplementation) -> None:
    builder = Builder()
    builder.add_station("bus")
    builder.add_lock("door", form)
    builder.delay(EXPONENTIAL, "work")
    builder.hold("door", lambda: builder.delay(EXPONENTIAL, "inside"))
    builder.add_closed_group("all", 5, first_instruction=0)
    check_same(builder.plan(), 6000)


def test_of_locks_that_are_taken_together() -> None:
    builder = Builder()
    for name in ("door", "gate"):
        builder.add_lock(name, LockImplementation("tas", back_off="constant", first_back_off=0.5))
        builder.delay(EXPONENTIAL, f"work {name}")
        builder.hold(name, lambda: builder.delay(EXPONENTIAL, "inside"))
    builder.hold_together(["door", "gate"], lambda: builder.delay(EXPONENTIAL, "inside both"))
    builder.add_closed_group("all", 5, first_instruction=0)
    check_same(builder.plan(), 6000)


def test_of_accesses_to_several_locks() -> None:
    builder = Builder()
    builder.add_station("bus")
    for home, name in enumerate(("door", "gate")):
        builder.add_lock(
            name, LockImplementation("queue", "bus", CONSTANT, home=home, own_flags=home)
        )
        builder.delay(EXPONENTIAL, f"work {name}")
        builder.hold(name, lambda: builder.delay(EXPONENTIAL, "inside"))
    builder.add_closed_group("all", 3, first_instruction=0)
    check_same(builder.plan(), 6000)


@pytest.mark.turns(4)
@pytest.mark.parametrize("number", [1, 2, 3, 20])
def test_of_permits(number: int) -> None:
    builder = Builder()
    builder.add_station("bus")
    builder.add_permits("pool", number)
    builder.add_permits("connections", 2)
    builder.delay(EXPONENTIAL, "work")

    def query() -> None:
        builder.hold("connections", lambda: builder.serve("bus", CONSTANT, "query"))

    def inside() -> None:
        builder.fork([query, query, lambda: builder.delay(EXPONENTIAL, "other")])

    builder.hold("pool", inside)
    builder.add_closed_group("all", 7, first_instruction=0)
    check_same(builder.plan(), 6000)


@pytest.mark.turns(4)
@pytest.mark.parametrize("monitor", ["door", None])
@pytest.mark.parametrize("producing", [0.5, 2.0])
def test_of_a_counter_beside_a_station(monitor: str | None, producing: float) -> None:
    builder = Builder()
    builder.add_station("bus")
    builder.add_permits("door", 1, "monitor")
    builder.add_permits("units", 1, COUNTER)

    def take() -> None:
        builder.wait("units", monitor)
        builder.serve("bus", CONSTANT, "taken")

    def give() -> None:
        builder.give("units", monitor)

    for name, body, time in (("consumers", take, 1.0), ("producers", give, producing)):
        start = builder.next_instruction
        builder.delay(ServiceTime("exponential", time), name)
        if monitor:
            builder.hold(monitor, body)
        else:
            body()
        builder.add_closed_group(name, 4, first_instruction=start)
    check_same(builder.plan(), 6000)


@pytest.mark.parametrize("members", [1, 2, 5, 9])
def test_of_a_barrier(members: int) -> None:
    builder = Builder()
    builder.delay(EXPONENTIAL, "work")
    builder.barrier("meet", members, CONSTANT)
    builder.add_closed_group("all", members, first_instruction=0)
    plan = builder.plan()
    check_same(plan, 6000)
    kernel = Kernel(plan, 1)
    kernel.run(6000)
    assert kernel.cycles[0] > 100
    assert Layout(plan).column_count == len(kernel.rows[-1])
