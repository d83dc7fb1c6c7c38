"""Which kernel runs."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from slipstick.sim import run
from slipstick.sim.plan.builder import Builder
from slipstick.sim.plan.distributions import ServiceTime
from slipstick.sim.settings import Simulation


def test_without_numba_the_plain_kernel_runs_even_where_the_loop_was_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, run.LOOP, ModuleType("loop"))
    monkeypatch.setattr(run, "AVAILABLE", False)
    builder = Builder()
    builder.delay(ServiceTime("exponential", 2.0))
    builder.closed("all", customers=1, at=0)
    assert run.simulate(builder.plan(), Simulation(cycles=100)).kernel == "plain"
