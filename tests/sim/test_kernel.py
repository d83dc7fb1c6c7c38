"""What the plain kernel does, as stories: who was where when."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import pytest

from slipstick.sim.deadlock import lock_cycle
from slipstick.sim.plain.event_loop import EventLoop, Token
from slipstick.sim.plain.kernel import Kernel
from slipstick.sim.plain.stations import Fcfs
from slipstick.sim.plan.builder import Builder, LockImplementation
from slipstick.sim.plan.distributions import ServiceTime
from slipstick.sim.plan.plan import Op, Plan, StationPlan, Where
from slipstick.sim.run import can_compile, is_loaded
from tests.compiling import compile_loops
from tests.sim.stories import Story, constant, story


def at_the_cpu(discipline: str, *visits: tuple[float, float, int], servers: int = 1) -> Story:
    """Let each member come to one station at a time, with so much work, and a rank."""
    builder = Builder()
    builder.add_station("cpu", servers, discipline)
    starts = []
    for index, (arrives, work, rank) in enumerate(visits):
        starts.append(builder.next_instruction)
        builder.delay(constant(arrives), "away", stream=f"away{index}")
        builder.serve("cpu", constant(work), stream=f"work{index}", rank=rank)
        builder.finish()
    builder.add_program("all", starts)
    return [each for each in story(builder) if each[1] != "away"]


def test_first_come_first_served() -> None:
    assert at_the_cpu("fcfs", (0, 2, 0), (0, 2, 0), (1, 2, 0)) == [
        (0, "cpu", 0.0, 2.0),
        (1, "wait:cpu", 0.0, 2.0),
        (1, "cpu", 2.0, 4.0),
        (2, "wait:cpu", 1.0, 4.0),
        (2, "cpu", 4.0, 6.0),
    ]


def test_two_servers_serve_two() -> None:
    assert at_the_cpu("fcfs", (0, 3, 0), (0, 2, 0), (1, 2, 0), servers=2) == [
        (1, "cpu", 0.0, 2.0),
        (0, "cpu", 0.0, 3.0),
        (2, "wait:cpu", 1.0, 2.0),
        (2, "cpu", 2.0, 4.0),
    ]


def test_the_last_to_come_cuts_in_and_what_was_cut_off_is_resumed() -> None:
    told = at_the_cpu("lcfs-pr", (0, 4, 0), (1, 1, 0))
    assert told == [(1, "cpu", 1.0, 2.0), (0, "wait:cpu", 0.0, 1.0), (0, "cpu", 1.0, 5.0)]


def test_sharing_stretches_both() -> None:
    """One alone for 1 s, then two at half the speed each until the second has had its 2 s."""
    told = at_the_cpu("ps", (0, 3, 0), (1, 2, 0))
    assert [(who, end) for who, label, _, end in told if label == "cpu"] == [(0, 5.0), (1, 5.0)]


def test_two_servers_are_shared_by_three() -> None:
    told = at_the_cpu("ps", (0, 2, 0), (0, 2, 0), (0, 2, 0), servers=2)
    assert {end for _, label, _, end in told if label == "cpu"} == {3.0}


def test_a_higher_rank_waits_for_the_service_under_way_or_cuts_it_off() -> None:
    assert at_the_cpu("priority", (0, 4, 1), (1, 1, 1), (2, 1, 0)) == [
        (0, "cpu", 0.0, 4.0),
        (2, "wait:cpu", 2.0, 4.0),
        (2, "cpu", 4.0, 5.0),
        (1, "wait:cpu", 1.0, 5.0),
        (1, "cpu", 5.0, 6.0),
    ]
    told = at_the_cpu("priority-preemptive", (0, 4, 1), (1, 1, 1), (2, 1, 0))
    assert [(who, end) for who, label, _, end in told if label == "cpu"] == [
        (2, 3.0),
        (0, 5.0),
        (1, 6.0),
    ]


def locked(form: LockImplementation, members: int = 3) -> Story:
    """Let members take a lock at the same time, and hold it for 10 s each; its word is on a bus."""
    builder = Builder()
    builder.add_station("bus")
    builder.add_lock("door", form)
    builder.hold("door", lambda: builder.delay(constant(10.0), "inside"))
    builder.add_program("all", [0] * members)
    return story(builder)


def held(told: Story) -> list[tuple[int, float]]:
    return [(who, start) for who, label, start, _ in told if label == "inside"]


def accesses(form: LockImplementation, members: int = 3) -> int:
    """Count the visits to the bus that taking and leaving the lock costs in all."""
    builder = Builder()
    builder.add_station("bus")
    builder.add_lock("door", form)
    builder.hold("door", lambda: builder.delay(constant(10.0), "inside"))
    builder.add_program("all", [0] * members)
    kernel = Kernel(builder.plan())
    while kernel.run(1000):
        pass
    return kernel.stations[0].ended_visits


def test_a_fifo_lock_is_handed_over_at_no_cost() -> None:
    assert held(locked(LockImplementation())) == [(0, 0.0), (1, 10.0), (2, 20.0)]


def test_permits_are_granted_in_the_order_of_the_requests() -> None:
    builder = Builder()
    builder.add_permits("pool", 2)
    builder.hold("pool", lambda: builder.delay(constant(10.0), "inside"))
    builder.add_program("all", [0] * 5)
    told = story(builder)
    assert held(told) == [(0, 0.0), (1, 0.0), (2, 10.0), (3, 10.0), (4, 20.0)]
    assert {label for _, label, _, _ in told} == {"inside", "wait:pool"}


def test_a_deadlock_names_all_that_hold_permits() -> None:
    """All six hold one of the permits and wait for a second; a seventh, that goes on for ever,
    hides nothing.
    """
    builder = Builder()
    builder.add_permits("pool", 6)

    def twice() -> None:
        builder.delay(constant(1.0), "outer")
        builder.hold("pool", lambda: builder.delay(constant(1.0), "inner"))

    builder.hold("pool", twice)
    builder.add_closed_group("all", 6, first_instruction=0)
    at = builder.next_instruction
    builder.delay(constant(1.0), "work")
    builder.add_closed_group("other", 1, first_instruction=at)
    kernel = Kernel(builder.plan())
    kernel.run(100)
    first, *_ = found = lock_cycle(kernel.waits())
    assert len(found) == 1
    assert str(first) == "processor 0 waits for permits pool, held by processors 0, 1, 2, 3, 4, 5"


def test_a_queue_lock_costs_two_accesses_a_visit_however_many_wait() -> None:
    form = LockImplementation("queue", word="bus", access=constant(1.0))
    assert held(locked(form)) == [(0, 1.0), (1, 12.0), (2, 23.0)]
    assert accesses(form, 8) == 16


def test_test_and_set_loads_the_bus_as_long_as_somebody_waits() -> None:
    """It is used all the time, until the second has the lock at 13 s; then once more, for its
    release.
    """
    form = LockImplementation("tas", word="bus", access=constant(1.0))
    assert held(locked(form, 2)) == [(0, 1.0), (1, 13.0)]
    assert accesses(form, 2) == 13 + 1
    assert (
        accesses(
            LockImplementation(
                "tas", word="bus", access=constant(1.0), back_off="constant", first_back_off=4.0
            ),
            2,
        )
        < 9
    )


@pytest.mark.parametrize("together", [False, True])
def test_pauses_are_spread_from_nothing_to_twice_their_mean_which_doubles(together: bool) -> None:
    builder = Builder()
    for name in ("gate", "door"):
        builder.add_lock(
            name, LockImplementation("tas", back_off="exponential", first_back_off=1.0)
        )
    builder.hold("door", lambda: builder.delay(constant(100.0), "inside"))
    builder.finish()
    others = builder.next_instruction
    builder.delay(constant(1.0), "away")
    if together:
        builder.hold_together(["gate", "door"], lambda: builder.delay(constant(0.01), "both"))
    else:
        builder.hold("door", lambda: builder.delay(constant(0.01), "then"))
    builder.add_program("all", [0, *[others] * 30])
    told = [
        (who, end - start)
        for who, label, start, end in story(builder)
        if label == "lock:door" and who
    ]
    for k in range(4):
        pauses = [
            [each for member, each in told if member == who][k] / 2**k for who in range(1, 31)
        ]
        assert max(pauses) <= 2.0
        assert sum(pauses) / 30 == pytest.approx(1.0, abs=0.35)


def test_a_ticket_lock_goes_in_the_order_of_asking_and_all_who_wait_look_at_each_release() -> None:
    form = LockImplementation("ticket", word="bus", access=constant(1.0))
    told = held(locked(form))
    # Three numbers, then three looks; the first of these ends at 4 s. After each release whoever is
    # next looks when its place in the order comes.
    assert [who for who, _ in told] == [0, 1, 2]
    assert told[0][1] == 4.0
    assert told[1][1] in (16.0, 17.0)
    assert told[2][1] == told[1][1] + 12.0
    # A number, a look and a release each, and a look more for everyone who waits when somebody
    # leaves.
    assert accesses(form, 8) == 3 * 8 + 7 * 8 / 2
    assert accesses(form, 1) == 3


def test_numbers_are_called_up_in_order_whoever_looks_first() -> None:
    form = LockImplementation("ticket", word="bus", access=constant(0.5))
    builder = Builder()
    builder.add_station("bus")
    builder.add_lock("door", form)

    def visit() -> None:
        builder.delay(ServiceTime("exponential", 4.0), "away")
        builder.hold("door", lambda: builder.delay(ServiceTime("exponential", 2.0), "inside"))

    builder.repeat(20, visit, "visits")
    builder.add_program("all", [0] * 12)
    told = story(builder)
    # Who asks first has its number first, as the bus serves in the order of asking.
    asked = sorted((end, who) for who, label, _, end in told if label == "away")
    served = sorted((start, who) for who, label, start, _ in told if label == "inside")
    assert [who for _, who in served] == [who for _, who in asked]
    assert len(served) == 20 * 12


def test_whoever_spins_on_a_copy_reads_the_word_when_it_is_freed() -> None:
    form = LockImplementation("ttas", word="bus", access=constant(1.0))
    # Test, test and set; then inside; the others watch their copies until the release is written.
    told = locked(form, 2)
    assert [who for who, _ in held(told)] == [0, 1]
    assert accesses(form, 2) < accesses(
        LockImplementation("tas", word="bus", access=constant(1.0)), 2
    )


@pytest.mark.parametrize("members", [1, 2, 5, 8])
def test_nobody_passes_a_barrier_before_the_last_has_come(members: int) -> None:
    builder = Builder()
    starts = []
    for member in range(members):
        starts.append(builder.next_instruction)
        builder.delay(constant(float(member)), "before", stream=f"before{member}")
        builder.emit(Op.JUMP, 0)  # to where they meet, once that is known
    meet = builder.next_instruction
    builder.barrier("meet", members, constant(0.125))
    builder.delay(constant(1.0), "after")
    builder.finish()
    for start in starts:
        builder.patch(start + 1, 0, meet)
    builder.add_program("all", starts)
    after = [start for _, label, start, _ in story(builder) if label == "after"]
    assert len(after) == members
    assert min(after) >= members - 1


def test_a_barrier_costs_what_it_says() -> None:
    builder = Builder()
    builder.barrier("meet", 2, constant(0.5))
    builder.delay(constant(1.0), "after")
    builder.add_program("all", [0, 0])
    assert [start for _, label, start, _ in story(builder) if label == "after"] == [0.5, 0.5]


def test_branches_run_side_by_side_and_queue_for_the_same() -> None:
    builder = Builder()
    builder.add_station("bus")
    builder.fork(
        [lambda: builder.serve("bus", constant(1.0)), lambda: builder.serve("bus", constant(1.0))]
    )
    builder.delay(constant(1.0), "after")
    builder.add_program("all", [0])
    assert [start for _, label, start, _ in story(builder) if label == "after"] == [2.0]


def test_items_pass_a_serial_stage_in_order_and_a_parallel_one_together() -> None:
    builder = Builder()
    first, second = (
        lambda name=name: builder.delay(constant(2.0), name) for name in ("first", "second")
    )
    builder.pipeline(3, [(True, [first]), (False, [second])], "items")
    builder.add_program("all", [0])
    told = story(builder)
    assert sorted(start for _, label, start, _ in told if label == "first") == [0.0, 2.0, 4.0]
    assert sorted(start for _, label, start, _ in told if label == "second") == [2.0, 4.0, 6.0]


def test_a_processor_of_its_own_and_that_of_another() -> None:
    builder = Builder()
    builder.add_station("own", copies=2)
    builder.serve("own", constant(1.0), "mine", where=Where.OWN)
    builder.next_destination(2)
    builder.serve("own", constant(2.0), "yours", where=Where.DESTINATION)
    builder.add_program("all", [0, 0])
    assert [(who, label, end) for who, label, _, end in story(builder)] == [
        (0, "mine", 1.0),
        (1, "mine", 1.0),
        (0, "yours", 3.0),
        (1, "yours", 3.0),
    ]


def test_requests_to_others_go_to_each_of_them_alike_and_never_to_oneself() -> None:
    """Members 3 to 7; uniform numbers in the middle of each fourth, and the branches of a fork
    in turn.
    """
    kernel = Kernel(one_delay(5), 1)
    for customer in range(3, 8):
        others = {*range(3, 8)} - {customer}
        token = SimpleNamespace(customer=customer, index=0, destination=-1)
        drawn, turns = [], []
        for draw in (0.125, 0.375, 0.625, 0.875):
            kernel.draw_destination(iter([draw]), 3, 5, token, 0.0)  # type: ignore[arg-type]
            drawn.append(token.destination)
        for token.index in range(8):
            kernel.next_destination(3, 5, token, 0.0)  # type: ignore[arg-type]
            turns.append(token.destination)
        assert {*drawn} == {*turns} == others
        assert turns[:4] == turns[4:] == drawn


def one_delay(members: int) -> Plan:
    builder = Builder()
    builder.delay(constant(1.0))
    builder.add_closed_group("all", members, first_instruction=0)
    return builder.plan()


def test_rounds_of_nothing_leave_no_instruction() -> None:
    """A million rounds around a collective of one rank took a minute within one event."""

    def code(rounds: float) -> tuple[tuple[int, ...], ...]:
        builder = Builder()
        builder.delay(constant(1.0), "work")
        if rounds:
            inner = partial(builder.delay, constant(1.0), "work")
            builder.repeat(rounds, partial(builder.repeat, 0.0, inner, "inner"), "outer")
        builder.add_closed_group("all", customer_count=1, first_instruction=0)
        return builder.plan().code

    assert code(1e6) == code(1e6 + 0.5) == code(0.0)


def test_the_code_that_workers_share_is_compiled() -> None:
    """Where `tests.compiling` fails, each process that runs tests compiles the loops again."""
    compile_loops()
    assert is_loaded() or not can_compile()


def test_a_service_that_a_limit_cuts_leaves_no_work_behind() -> None:
    """Customers who choose the station by its work see the time that is left to the limit."""
    station = Fcfs(EventLoop(), StationPlan("app", servers=2))
    station.add_work(5.0)
    station.present_count = 1
    station.add_work(3.0)
    token = Token(0, 0, [], [], patience=1.0, booked_until=2.0)
    assert station.limit_service(token, 5.0, now=2.25) == 0.75
    assert token.is_cut
    assert station.requested_work == pytest.approx(0.75 + 3.0)
    station.present_count = 2
    station.counted_until = 2.25
    assert station.work_per_server(2.25) == pytest.approx((0.75 + 3.0) / 2)
