"""Running a plan until its mean times are known to the wanted precision, or the budget is used up."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from slipstick.errors import NoAnswerError
from slipstick.sim.compiled.kernel import AVAILABLE, CompiledKernel
from slipstick.sim.deadlock import deadlock, lock_cycle
from slipstick.sim.estimate import (
    BATCHES,
    FEWEST,
    AnyKernel,
    Layout,
    Quantiles,
    Record,
    Result,
    chunk,
    correlated,
    grouped,
    ratio,
    sure,
    warm_up,
)
from slipstick.sim.plain.kernel import Kernel
from slipstick.sim.plan.distributions import Array
from slipstick.sim.plan.plan import Plan
from slipstick.sim.settings import Simulation

LOOP = "slipstick.sim.compiled.loop"
"""The module of the compiled loop: once it is loaded, every run takes it."""

PLAIN_EVENTS = 200_000
"""Events that the plain kernel is given before the compiled one, once loaded, takes over from the start."""

_NEGLIGIBLE = 0.01
"""Batches that differ from their mean by less than this part of the wished precision may be alike: it does not matter."""

_STRETCH = 16_384
"""Events between two looks at what came out."""

_PATIENCE = 2_000_000
"""Events without a single row of statistics that are borne."""

_REPLICATIONS = 30
"""Replications of a program that are run at least."""


Make = Callable[[Plan, int, int], AnyKernel]


def simulate(plan: Plan, simulation: Simulation | None = None) -> Result:
    """Run a plan until its mean times are known to the wanted precision.

    Parameters
    ----------
    plan : what to run
    simulation : seed, precision, budget and kernel

    Raises
    ------
    NoAnswerError : deadlock, or time does not pass
    MissingExtraError : the compiled kernel is asked for and numba is not installed

    >>> from slipstick.sim.plan.builder import Builder
    >>> from slipstick.sim.plan.distributions import ServiceTime
    >>> builder = Builder()
    >>> builder.delay(ServiceTime("deterministic", 2.0, 0.0))
    >>> builder.closed("all", customers=3, at=0)
    >>> simulate(builder.plan()).mean_time()
    Estimate(mean=2.0, low=2.0, high=2.0)
    """
    settings = simulation or Simulation()
    if not plan.random:
        settings = replace(settings, least=min(settings.least, 4 * BATCHES * max(plan.population, 1)))
    run = _programs if plan.once else _steady
    return _with_kernel(plan, settings, run)


def _with_kernel(plan: Plan, settings: Simulation, run: Callable[[Plan, Simulation, Make, str], Result]) -> Result:
    """Choose the kernel: both give the same events, so a run that turns out long is started again, compiled."""
    kernel = settings.kernel
    # A row of statistics waits for a cycle of every customer, so that a short run of many has none.
    long = LOOP in sys.modules or 10 * plan.population > PLAIN_EVENTS
    if kernel == "compiled" or (kernel == "auto" and AVAILABLE and long):
        return run(plan, settings, CompiledKernel, "compiled")
    short = replace(settings, events=min(settings.events, PLAIN_EVENTS))
    alone = kernel == "plain" or not AVAILABLE or short.events == settings.events
    found = run(plan, settings if alone else short, Kernel, "plain")
    if alone or found.stopped != "events":
        return found
    return run(plan, settings, CompiledKernel, "compiled")


def _steady(plan: Plan, settings: Simulation, make: Make, name: str) -> Result:
    """Run one long replication; estimate at growing distances."""
    record, layout = Record(plan), Layout(plan)
    kernel = make(plan, settings.seed, 0)
    last_row = -(-(settings.cycles or 2**60) // chunk(plan))
    look_at = max(-(-settings.least // chunk(plan)), 2 * BATCHES)
    stopped = ""
    try:
        while not stopped:
            going = kernel.run(_STRETCH)
            record.take(kernel)
            if not going or (not record.pending and record.seen == 0):
                _check_alive(plan, kernel, going, settings)
            while record.pending and not stopped:
                # Decisions are made at the same rows, whatever number of events the kernel simulates at a time.
                row = record.add(min(look_at, last_row) - record.seen, settings.events)
                if record.seen >= last_row:
                    stopped = "cycles"
                elif row[layout.order] >= settings.events:
                    stopped = "events"
                elif record.seen >= look_at:
                    look_at = int(look_at * 1.25) + 1
                    if settings.cycles is None and _judged(record, settings, "precision", name).converged:
                        stopped = "precision"
    except KeyboardInterrupt:
        stopped = "interrupted"
    return _judged(record, settings, stopped, name)


def _check_alive(plan: Plan, kernel: AnyKernel, going: bool, settings: Simulation) -> None:
    """Raise an error for a deadlock, or where no cycle can end."""
    waits = kernel.waits()
    if not going:
        raise deadlock(plan, kernel.now, waits)
    if kernel.events > min(settings.events, _PATIENCE + 10 * plan.population):
        circle = lock_cycle(waits)
        if circle:
            raise deadlock(plan, kernel.now, circle)
        passes = "no cycle has ended" if kernel.now > 0 else "no time has passed"
        raise NoAnswerError(f"{passes} after {kernel.events} events, at {kernel.now:g} s: there is nothing to estimate")


def _judged(record: Record, settings: Simulation, stopped: str, name: str) -> Result:
    """Drop the warm-up and estimate the mean times."""
    plan, layout = record.plan, Layout(record.plan)
    sums = record.sums()
    cycles = sums[:, layout.cycles].sum(axis=1)
    dropped, trusted = 0, len(sums) >= 2 * BATCHES
    if trusted:
        series = sums[:, layout.cycle_time].sum(axis=1) / cycles
        dropped = warm_up(series)
        # A warm-up that reaches the middle of the run may be longer.
        trusted = len(sums) - dropped >= 2 * BATCHES and dropped < len(sums) // 2
    batches = grouped(sums[dropped:]) if trusted else sums
    kept = (len(sums) - dropped) // BATCHES * BATCHES if trusted else len(sums)
    result = Result(
        plan=plan,
        settings=settings,
        batches=batches,
        quantiles=record.quantiles,
        stopped=stopped,
        converged=False,
        trusted=trusted,
        dropped=int(cycles[: len(sums) - kept].sum()),
        cycles=int(cycles.sum()),
        events=int(record.last[layout.order]),
        kernel=name,
    )
    if not trusted:
        return result
    groups = range(len(plan.groups))
    means = [batches[:, layout.cycle_time[each]] / np.maximum(batches[:, layout.cycles[each]], 1) for each in groups]
    result = replace(result, trusted=not any(correlated(each, settings.precision * _NEGLIGIBLE) for each in means))
    known = all(sure(result.mean_time(each), settings.precision) for each in groups)
    return replace(result, converged=known and result.trusted and stopped != "interrupted")


def _programs(plan: Plan, settings: Simulation, make: Make, name: str) -> Result:
    """Run replications of a program; one if nothing in it is random."""
    rows: list[Array] = []
    seen = tuple(Quantiles(section=1) for _ in plan.groups)
    layout = Layout(plan)
    least = settings.cycles or (min(settings.least, _REPLICATIONS) if plan.random else 1)
    look_at, events, stopped = least, 0.0, ""
    try:
        while not stopped:
            kernel = make(plan, settings.seed, len(rows))
            while kernel.run(_STRETCH) and events + kernel.events < settings.events:
                pass
            ended = kernel.take_rows()
            if not len(ended):
                _check_program(plan, kernel, settings, events)
                stopped = "events"
                break
            rows.append(ended[-1])
            for quantiles in seen:
                quantiles.add(ended[-1:, layout.time])
            events += rows[-1][layout.order]
            stopped = _program_stops(plan, settings, rows, events, look_at, least)
            if len(rows) >= look_at:
                look_at = int(look_at * 1.25) + 1
    except KeyboardInterrupt:
        stopped = "interrupted"
    batches = np.array(rows) if rows else np.zeros((0, layout.width))
    return Result(
        plan, settings, batches, seen, stopped, False, len(rows) >= FEWEST, 0, len(rows), int(events), name
    ).with_convergence()


def _check_program(plan: Plan, kernel: AnyKernel, settings: Simulation, before: float) -> None:
    """Raise an error for a deadlock, unless the budget of events, over all replications, ended the run."""
    waits = kernel.waits()
    if before + kernel.events < settings.events or lock_cycle(waits):
        raise deadlock(plan, kernel.now, lock_cycle(waits) or waits)


def _program_stops(plan: Plan, settings: Simulation, rows: list[Array], events: float, look_at: int, least: int) -> str:
    if not plan.random:
        return "complete"
    if len(rows) >= least and settings.cycles is not None:
        return "cycles"
    if events >= settings.events:
        return "events"
    if len(rows) >= max(look_at, FEWEST):
        layout = Layout(plan)
        table = np.array(rows)
        if sure(ratio(table[:, layout.time], np.ones(len(rows)), settings.level), settings.precision):
            return "precision"
    return ""
