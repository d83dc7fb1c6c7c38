"""Tests of rare branches and long times, of which a short run may contain none."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from slipstick import delay, hold, open_model, service, solve
from slipstick.expression.nodes import RATE, Parameter
from slipstick.model.system import Permits
from slipstick.sim.plan.builder import Builder
from slipstick.sim.plan.distributions import ServiceTime
from slipstick.sim.plan.plan import Plan
from slipstick.sim.plan.rare_events import FEWEST_EVENTS_SEEN, fewest_cycles
from slipstick.sim.run import expected_rare_events, simulate
from slipstick.sim.settings import Simulation
from slipstick.sim.short_check import UNSETTLED, Expected, check_by_short_run

WORK, FAULT = 1.0, 100.0


def constant(mean: float) -> ServiceTime:
    return ServiceTime("deterministic", mean, 0.0)


def program(write: Callable[[Builder], object]) -> Plan:
    """Return a program that works for 1 s, and then does what a function writes."""
    builder = Builder()
    builder.delay(constant(WORK), "work")
    write(builder)
    builder.add_program("all", [0])
    return builder.plan()


def fault(builder: Builder, probability: float, time: float = FAULT) -> None:
    """Write a delay that takes place with a probability."""
    builder.choose(
        [
            (probability, lambda: builder.delay(constant(time), "fault")),
            (1 - probability, lambda: None),
        ],
        "is fault",
    )


def stages_with_faults(builder: Builder) -> None:
    """Write a pipeline of 20 items, each of which has a fault with a probability of 1/1000."""
    builder.pipeline(20, [(True, [lambda: fault(builder, 0.001)])], "line")


def forked_faults(builder: Builder) -> None:
    builder.fork([lambda: fault(builder, 0.001), lambda: builder.delay(constant(2.0), "other")])


def nested_faults(builder: Builder) -> None:
    """Write a fault of probability 1/100 within a branch of probability 1/10."""
    builder.choose([(0.1, lambda: fault(builder, 0.01)), (0.9, lambda: None)], "part")


@pytest.mark.parametrize(
    ("write", "events_in_cycle"),
    [
        (lambda builder: fault(builder, 0.01), 0.01),
        (lambda builder: builder.repeat(8, lambda: fault(builder, 0.001), "rounds"), 0.008),
        (
            lambda builder: builder.repeat(
                0.02, lambda: builder.delay(constant(FAULT), "fault"), "rounds"
            ),
            0.02,
        ),
        (stages_with_faults, 0.02),
        (forked_faults, 0.001),
        (nested_faults, 0.001),
        (
            lambda builder: builder.delay(ServiceTime("hyperexponential", 1.0, 24.0), "request"),
            0.02,
        ),
    ],
)
def test_cycles_needed_are_those_that_contain_ten_events(
    write: Callable[[Builder], object], events_in_cycle: float
) -> None:
    needed_cycles = fewest_cycles(program(write), 0)
    assert needed_cycles == pytest.approx(FEWEST_EVENTS_SEEN / events_in_cycle, rel=1e-9)


def test_events_without_effect_need_no_cycles() -> None:
    assert fewest_cycles(program(lambda builder: fault(builder, 1e-6, time=1.0)), 0) <= 20
    assert fewest_cycles(program(lambda builder: None), 0) == 0


def test_both_branches_of_equal_times_need_no_cycles() -> None:
    def write(builder: Builder) -> None:
        bodies = [
            (probability, lambda: builder.delay(constant(3.0), "copy"))
            for probability in (1e-4, 1 - 1e-4)
        ]
        builder.choose(bodies, "which copy")

    assert fewest_cycles(program(write), 0) == 0


@pytest.mark.turns(6)
@pytest.mark.parametrize("seed", range(3))
def test_equal_replications_are_not_precise_before_a_rare_branch(seed: int) -> None:
    # Thirty equal replications, as three of four seeds give, said "1.0 to 1.0, precise".
    result = simulate(
        program(lambda builder: fault(builder, 0.01)), Simulation(seed, precision=0.5)
    )
    assert result.cycles >= 1000
    mean_time = result.mean_time()
    assert mean_time.low is not None
    assert mean_time.high is not None
    assert mean_time.high > WORK + 0.01 * FAULT / 2


def test_a_budget_below_a_rare_event_gives_no_interval() -> None:
    plan = program(lambda builder: fault(builder, 1e-5, time=1e6))
    result = simulate(plan, Simulation(events=100_000))
    assert not result.is_trusted
    assert not result.converged
    assert result.mean_time().low is None
    assert expected_rare_events(result) == pytest.approx(result.cycles * 1e-5)


def test_a_steady_run_waits_for_a_rare_branch() -> None:
    builder = Builder()
    builder.delay(constant(WORK), "work")
    fault(builder, 2e-4, time=5000.0)
    builder.add_closed_group("all", customer_count=2, first_instruction=0)
    result = simulate(builder.plan(), Simulation(7, precision=0.3))
    assert result.converged
    assert result.cycles >= FEWEST_EVENTS_SEEN / 2e-4
    assert result.mean_time().mean == pytest.approx(WORK + 1.0, rel=0.3)


def test_classes_that_change_are_followed_over_their_cycles() -> None:
    # A customer goes on behind the end of its cycle; only every second cycle may have a fault.
    builder = Builder()
    builder.mark("first")
    builder.delay(constant(WORK), "work")
    builder.finish(goes_onward=True)
    builder.delay(constant(WORK), "work")
    fault(builder, 0.002)
    builder.finish(goes_onward=True)
    builder.jump("first")
    builder.add_closed_group("all", customer_count=1, first_instruction=0)
    assert fewest_cycles(builder.plan(), 0) == pytest.approx(FEWEST_EVENTS_SEEN / 0.001, rel=0.02)


@pytest.mark.turns(8)
def test_a_short_check_says_nothing_before_a_rare_branch() -> None:
    plan = program(lambda builder: fault(builder, 1e-4, time=1e4))
    look = check_by_short_run(plan, {0: Expected(2.0, 0.05)}, 20_000)
    assert look.verdict == UNSETTLED
    assert "rare events that matter need 100,000 cycles" in look.reason


@pytest.mark.turns(5)
def test_a_plan_without_rare_events_is_not_awaited() -> None:
    result = simulate(program(lambda builder: builder.delay(ServiceTime("exponential", 1.0), "a")))
    assert expected_rare_events(result) == math.inf


def test_a_loop_without_an_end_is_no_obstacle() -> None:
    def write(builder: Builder) -> None:
        builder.mark("again")
        fault(builder, 0.5)
        builder.jump("again")

    assert fewest_cycles(program(write), 0) <= 2 * FEWEST_EVENTS_SEEN


def test_a_mean_of_nothing_is_not_precise_after_a_few_cycles() -> None:
    """Of requests to a bucket of 20 tokens, which 90 % of the refills use, one in 25 waits, and
    with this seed none of the first 5,000 does. Lindley's recursion gives 0.9 ms.
    """
    refill = service("refill", 0.01, name="refill")
    request = hold("tokens", delay(0.0, name="request"), after=refill)
    bucket = open_model(request, Parameter("rate", RATE, 90.0), resources={"tokens": Permits(20)})
    answer = solve(bucket, simulation=Simulation(seed=1, events=2_000_000))
    time = answer.values["time"]
    assert time.low is not None
    assert time.high is not None
    assert 0 < time.low <= 0.9e-3 <= time.high
    # Without any wait the run takes the whole budget.
    answer = solve(bucket, {"rate": 9.0}, simulation=Simulation(seed=1, events=100_000))
    assert answer["time"] == 0.0
    assert any("stopped at the budget of 100000 events" in note for note in answer.notes)
