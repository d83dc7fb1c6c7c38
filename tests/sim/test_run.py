"""Which kernel runs, and what is left out of a run."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest

from slipstick import closed_model, delay, open_model, repeat, solve, then
from slipstick.errors import ModelError, NoAnswerError
from slipstick.late import Array
from slipstick.limits import ANNOUNCE
from slipstick.sim import run
from slipstick.sim.deadlock import Wait
from slipstick.sim.estimate import (
    Layout,
    Quantiles,
    Record,
    ReplicationResult,
    estimated_ratio,
    is_correlated,
)
from slipstick.sim.plain.kernel import Kernel
from slipstick.sim.plan.builder import Builder
from slipstick.sim.plan.distributions import ServiceTime
from slipstick.sim.plan.plan import Plan
from slipstick.sim.run import announce_compilation
from slipstick.sim.settings import Simulation


def test_without_numba_the_plain_kernel_runs_even_where_the_loop_was_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, run.LOOP, ModuleType("loop"))
    monkeypatch.setattr(run, "can_compile", lambda: False)
    monkeypatch.setattr(run, "KERNELS", {run.PLAIN: Kernel})
    assert run.simulate(one_delay(), Simulation(cycles=100)).cycles >= 100


class Rows:
    """A kernel that has ended cycles of given times, one a row."""

    now, events, unawaited_branches, unended_branches = 1e9, 0, 0, 0

    def __init__(self, times: list[float]) -> None:
        self.rows = np.zeros((len(times), LAYOUT.column_count))
        self.rows[:, LAYOUT.cycle_columns[0]] = np.arange(1, len(times) + 1)
        self.rows[:, LAYOUT.cycle_time_columns[0]] = np.cumsum(times)

    def take_rows(self) -> Array:
        return self.rows

    def take_responses(self, group: int) -> Array:
        return np.zeros(0)

    def run(self, events: int) -> bool:
        return False

    def waits(self) -> list[Wait]:
        return []


def one_delay() -> Plan:
    builder = Builder()
    builder.delay(ServiceTime("exponential", 2.0))
    builder.add_closed_group("all", customer_count=1, first_instruction=0)
    return builder.plan()


LAYOUT = Layout(one_delay())


@pytest.mark.parametrize(
    ("slow", "steady", "trusted", "dropped"),
    [
        (0, 63, False, 0),
        (40, 60, False, 0),
        (40, 64, True, 40),
        (40, 170, True, 50),
        (100, 80, False, 0),
    ],
)
def test_the_warm_up_is_left_out_where_enough_is_left(
    slow: int, steady: int, trusted: bool, dropped: int
) -> None:
    record = Record(one_delay())
    record.take(Rows([9.0] * slow + [1.0, 1.5] * (steady // 2) + [1.0] * (steady % 2)))
    record.add(slow + steady, 10**9)
    result = run._combined_result(one_delay(), Simulation(), [run._without_warm_up(record)])
    assert result.is_trusted == trusted
    assert result.dropped_cycle_count == dropped
    assert result.batches[:, LAYOUT.cycle_columns[0]].sum() == result.cycles - dropped


def test_many_customers_are_compiled_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "can_compile", lambda: True)
    monkeypatch.delitem(sys.modules, run.LOOP, raising=False)
    chosen: list[str] = []
    ended = run.Replication(one_delay(), Simulation(kernel="plain", cycles=1), 0).run()

    def steady(given: run.Replication) -> ReplicationResult:
        chosen.append(given.settings.kernel)
        return ended

    monkeypatch.setattr(run, "_run_steady", steady)
    for customers in (10, 1_000_000):
        builder = Builder()
        builder.delay(ServiceTime("exponential", 2.0))
        builder.add_closed_group("all", customer_count=customers, first_instruction=0)
        run.simulate(builder.plan(), Simulation(events=100_000))
    assert chosen == ["plain", "compiled"]


def queue(load: float = 0.5) -> Plan:
    builder = Builder()
    builder.add_station("cpu")
    builder.serve("cpu", ServiceTime("exponential", 1.0))
    builder.add_open_group("jobs", ServiceTime("exponential", 1 / load), first_instruction=0)
    return builder.plan()


@pytest.mark.turns(4)
def test_replications_are_runs_of_streams_of_their_own_and_are_combined_by_number() -> None:
    settings = Simulation(seed=3, cycles=12_000, replications=4, kernel="plain")
    found = run.simulate(queue(), settings)
    alone = [run.simulate(queue(), replace(settings, replications=1, cycles=3000))]
    pieces = [
        run.Replication(queue(), replace(settings, cycles=3000), number).run()
        for number in range(4)
    ]
    assert (found.cycles, found.stop_cause, found.is_pooled, len(found.batches)) == (
        12_000,
        "cycles",
        True,
        32,
    )
    assert pieces[0].cycles == alone[0].cycles == 3000
    assert found.dropped_cycle_count == sum(each.dropped_cycle_count for each in pieces)
    assert np.array_equal(found.batches, np.concatenate([each.batches for each in pieces]))
    mean, quantile = found.mean_time(), found.time_quantile(0.5)
    assert mean.low is not None
    assert mean.high is not None
    assert mean.low < 2.0 < mean.high
    assert quantile.low is not None
    assert quantile.high is not None
    assert quantile.low < 2 * np.log(2) < quantile.high
    kept = sum(each.batches[:, Layout(queue()).cycle_columns[0]].sum() for each in pieces)
    assert abs(len_of(found.quantiles[0]) - kept) < 4 * 256


def len_of(seen: Quantiles) -> float:
    return float(sum(counts.sum() for counts, _ in seen._full_sections) + seen._part_length)


@pytest.mark.turns(5)
def test_replications_grow_until_the_mean_is_known_or_the_budget_ends() -> None:
    wished = Simulation(seed=1, precision=0.05, replications=2, kernel="plain", events=190_000)
    found = run.simulate(queue(0.7), wished)
    assert (found.stop_cause, found.converged) == ("precision", True)
    estimate = found.mean_time()
    assert estimate.half_width <= 0.05 * estimate.mean
    assert run.simulate(queue(0.7), replace(wished, precision=0.001)).stop_cause == "events"
    nothing_random = Builder()
    nothing_random.delay(ServiceTime("deterministic", 2.0, 0.0))
    nothing_random.add_closed_group("all", customer_count=3, first_instruction=0)
    assert not run.simulate(nothing_random.plan(), wished).is_pooled


def test_where_replications_run_and_in_what_order_changes_nothing() -> None:
    settings = Simulation(seed=5, cycles=9000, replications=3, kernel="plain")
    here = run.simulate(queue(), settings)

    def backwards(given: Iterable[run.Replication]) -> list[ReplicationResult]:
        return [each.run() for each in reversed(list(given))][::-1]

    token = run.SPREAD.set(backwards)
    try:
        there = run.simulate(queue(), settings)
    finally:
        run.SPREAD.reset(token)
    assert np.array_equal(here.batches, there.batches)
    assert here.time_quantile(0.9) == there.time_quantile(0.9)


def test_batches_of_replications_are_correlated_within_one_only() -> None:
    rising = np.linspace(1.0, 2.0, 8)
    assert is_correlated(np.array([rising, rising, rising, rising]))
    assert not is_correlated(np.array([[1.0], [2.0], [3.0], [4.0]]))


@pytest.mark.turns(4)
@pytest.mark.parametrize(
    ("correlation", "apart", "successive"),
    [(0.0, (0.94, 0.96), (0.95, 0.97)), (0.2, (0.87, 0.91), (0.91, 0.95))],
)
def test_intervals_of_successive_batches_count_their_correlation(
    correlation: float, apart: tuple[float, float], successive: tuple[float, float]
) -> None:
    """Batches of an autoregressive process of first order around 10: how many of 2,000 intervals
    hold 10.
    """
    noise = np.random.default_rng(1).standard_normal((2_000, 132))
    for at in range(1, noise.shape[1]):
        noise[:, at] += correlation * noise[:, at - 1]
    for follow, (low, high) in ((False, apart), (True, successive)):
        found = [
            estimated_ratio(10 + each, np.ones(32), in_one_run=follow) for each in noise[:, 100:]
        ]
        assert low <= np.mean([abs(each.mean - 10) <= each.half_width for each in found]) <= high


def program(rounds: int) -> Plan:
    """Repeat an exponential delay, once."""
    builder = Builder()
    builder.repeat(rounds, lambda: builder.delay(ServiceTime("exponential", 1.0)), "again")
    builder.add_program("all", [0])
    return builder.plan()


def test_a_program_is_run_as_often_as_asked() -> None:
    found = run.simulate(program(3), Simulation(cycles=12))
    assert (found.cycles, found.stop_cause) == (12, "cycles")


def test_the_mean_of_a_program_is_known_but_for_an_interrupt(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    wished = Simulation(seed=1, precision=0.2, kernel="plain")
    assert run.simulate(program(200), wished).converged
    plain, calls = Kernel.run, iter(range(100))

    def interrupted(self: Kernel, events: int) -> bool:
        if next(calls) == 15:
            raise KeyboardInterrupt
        return plain(self, events)

    monkeypatch.setattr(Kernel, "run", interrupted)
    found = run.simulate(program(200), wished)
    # Precise enough already, but not as many runs as are made at least.
    assert found.mean_time().half_width < 0.2 * found.mean_time().mean
    assert (found.cycles, found.stop_cause, found.is_trusted, found.converged) == (
        15,
        "interrupted",
        True,
        False,
    )


def test_a_program_simulates_no_more_events_than_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, seen = Kernel.run, list[int]()

    def counted(self: Kernel, events: int) -> bool:
        going = plain(self, events)
        seen.append(self.events)
        return going

    monkeypatch.setattr(Kernel, "run", counted)
    monkeypatch.setattr(run, "_EVENTS_AT_A_TIME", 8)
    found = run.simulate(program(100), Simulation(seed=1, events=24, kernel="plain"))
    assert seen == [8, 16, 24]
    assert (found.stop_cause, found.cycles, found.events) == ("events", 0, 0)


def test_many_customers_may_have_ten_events_each_before_a_cycle_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run, "_MOST_EVENTS_WITHOUT_ROW", 64)

    def time_of(steps: int) -> float | None:
        settings = Simulation(kernel="plain", cycles=500)
        cycle = then(*(delay(1.0, name=f"step{number}") for number in range(steps)))
        return solve(closed_model(cycle, processors=300), method="simulation", simulation=settings)[
            "time"
        ]

    assert time_of(8) == pytest.approx(8.0)
    with pytest.raises(NoAnswerError, match="no cycle has ended after"):
        time_of(20)


def test_a_run_may_use_all_events_that_it_is_allowed() -> None:
    kernel, wished = Kernel(one_delay(), 1), Simulation(events=2)
    for events in (1, 2):
        kernel.events = events
        run._refuse_deadlock(one_delay(), kernel, True, wished)
    kernel.events = 3
    with pytest.raises(NoAnswerError) as told:
        run._refuse_deadlock(one_delay(), kernel, True, wished)
    assert (
        str(told.value) == "no time has passed after 3 events, at 0 s: there is nothing to estimate"
    )


def test_a_plan_is_looked_up_without_a_hash_of_its_code() -> None:
    class Unhashed(tuple[tuple[int, ...], ...]):
        def __hash__(self) -> int:
            raise AssertionError("the code of a large plan takes milliseconds to hash")

    plan = one_delay()
    assert run.simulate(replace(plan, code=Unhashed(plan.code)), Simulation(cycles=100))


def test_too_many_replications_are_refused() -> None:
    with pytest.raises(ModelError) as told:
        Simulation(replications=1001)
    assert (
        str(told.value)
        == "Simulation: replications must be a whole number from 1 to 1,000, got 1001"
    )


@pytest.mark.parametrize("opened", [True, False])
def test_a_cycle_of_no_rounds_takes_no_time(opened: bool) -> None:
    nothing = repeat(0, delay(1.0, name="never"))
    model = open_model(nothing, 2.0) if opened else closed_model(nothing, 2)
    answer = solve(model, method="simulation", simulation=Simulation(events=500))
    assert answer["time"] == 0.0


def test_compilation_is_announced_until_its_code_is_kept(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    loop = SimpleNamespace(
        run_events=SimpleNamespace(stats=SimpleNamespace(cache_path=str(tmp_path)))
    )
    monkeypatch.setitem(sys.modules, run.LOOP, loop)
    monkeypatch.setattr(run, "can_compile", lambda: True)
    announced: list[str] = []
    token = ANNOUNCE.set(announced.append)
    try:
        announce_compilation()
        python_version = f"py{sys.version_info.major}{sys.version_info.minor}"
        (tmp_path / f"loop.run_events-1.{python_version}.nbi").touch()
        announce_compilation()
    finally:
        ANNOUNCE.reset(token)
    (announcement,) = announced
    assert announcement == (
        f"the simulator is compiled once, and its code is kept in {tmp_path}: about 30 s of"
        " processor time"
    )
