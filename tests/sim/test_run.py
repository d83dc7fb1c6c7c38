"""Which kernel runs, and what is left out of a run."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

from slipstick.sim import run
from slipstick.sim.deadlock import Wait
from slipstick.sim.estimate import Layout, Record
from slipstick.sim.plan.builder import Builder
from slipstick.sim.plan.distributions import Array, ServiceTime
from slipstick.sim.plan.plan import Plan
from slipstick.sim.settings import Simulation


def test_without_numba_the_plain_kernel_runs_even_where_the_loop_was_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, run.LOOP, ModuleType("loop"))
    monkeypatch.setattr(run, "AVAILABLE", False)
    builder = Builder()
    builder.delay(ServiceTime("exponential", 2.0))
    builder.closed("all", customers=1, at=0)
    assert run.simulate(builder.plan(), Simulation(cycles=100)).kernel == "plain"


class Rows:
    """A kernel that has ended cycles of given times, one a row."""

    now, events = 1e9, 0

    def __init__(self, times: list[float]) -> None:
        self.rows = np.zeros((len(times), LAYOUT.width))
        self.rows[:, LAYOUT.cycles[0]] = np.arange(1, len(times) + 1)
        self.rows[:, LAYOUT.cycle_time[0]] = np.cumsum(times)

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
    builder.closed("all", customers=1, at=0)
    return builder.plan()


LAYOUT = Layout(one_delay())


@pytest.mark.parametrize(
    ("slow", "steady", "trusted", "dropped"),
    [(0, 63, False, 0), (40, 60, False, 0), (40, 64, True, 40), (40, 170, True, 50), (100, 80, False, 0)],
)
def test_the_warm_up_is_left_out_where_enough_is_left(slow: int, steady: int, trusted: bool, dropped: int) -> None:
    record = Record(one_delay())
    record.take(Rows([9.0] * slow + [1.0, 1.5] * (steady // 2) + [1.0] * (steady % 2)))
    record.add(slow + steady, 10**9)
    result = run._judged(record, Simulation(), "events", "plain")
    assert result.trusted == trusted
    assert result.dropped == dropped
    assert result.batches[:, LAYOUT.cycles[0]].sum() == result.cycles - dropped


def test_many_customers_are_compiled_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "AVAILABLE", True)
    monkeypatch.delitem(sys.modules, run.LOOP, raising=False)
    chosen: list[str] = []
    monkeypatch.setattr(run, "_steady", lambda plan, settings, make, name: chosen.append(name))
    for customers in (10, 1_000_000):
        builder = Builder()
        builder.delay(ServiceTime("exponential", 2.0))
        builder.closed("all", customers=customers, at=0)
        run.simulate(builder.plan(), Simulation(events=100_000))
    assert chosen == ["plain", "compiled"]
