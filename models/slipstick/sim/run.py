"""Running plans until the answer is sure enough, or a budget is used up; and saying which."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from slipstick.errors import ModelError, NoAnswerError
from slipstick.sim.compiled.state import AVAILABLE
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
from slipstick.sim.plan.plan import Plan
from slipstick.sim.plan.streams import Array
from slipstick.sim.settings import Effort

KERNELS = ("auto", "plain", "compiled")

LOOP = "slipstick.sim.compiled.kernel"
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


Make = Callable[[int, int], AnyKernel]


def simulate(plan: Plan, seed: int = 0, effort: Effort | None = None, kernel: str = "auto") -> Result:
    """Run a plan until its mean times are known to the wished precision.

    Parameters
    ----------
    plan : what to run
    seed : key of all random streams, at least 0
    effort : precision wished and budget
    kernel : plain, compiled, or auto: begins plain and takes the compiled one for long runs

    Raises
    ------
    NoAnswerError : deadlock, or time does not pass
    ModelError : numba is not there for the compiled kernel, or the seed is below 0

    >>> from slipstick.sim.plan.build import Builder
    >>> from slipstick.sim.plan.distributions import Distribution
    >>> builder = Builder()
    >>> builder.delay(Distribution("deterministic", 2.0, 0.0))
    >>> builder.closed("all", members=3, at=0)
    >>> simulate(builder.plan()).mean_time()
    Estimate(mean=2.0, low=2.0, high=2.0)
    """
    if seed < 0:
        raise ModelError(f"a seed is at least 0, got {seed}")
    wished = effort or Effort()
    if not plan.random:
        wished = replace(wished, least=min(wished.least, 4 * BATCHES * max(plan.population, 1)))
    run = _programs if plan.once else _steady
    return _with_kernel(plan, seed, wished, kernel, run)


def _with_kernel(
    plan: Plan, seed: int, effort: Effort, kernel: str, run: Callable[[Plan, int, Effort, Make, str], Result | None]
) -> Result:
    """Choose the kernel: both give the same, so a run that turns out long is begun anew."""
    if kernel not in KERNELS:
        raise ModelError(f"there is no kernel {kernel!r}; there are {', '.join(KERNELS)}")
    if kernel == "compiled" or (kernel == "auto" and AVAILABLE and LOOP in sys.modules):
        found = run(plan, seed, effort, _compiled(plan), "compiled")
        assert found is not None
        return found
    short = replace(effort, events=min(effort.events, PLAIN_EVENTS))
    alone = kernel == "plain" or not AVAILABLE or short.events == effort.events
    make: Make = lambda seed, replication: Kernel(plan, seed, replication)
    found = run(plan, seed, effort if alone else short, make, "plain")
    assert found is not None
    if alone or found.stopped != "events":
        return found
    found = run(plan, seed, effort, _compiled(plan), "compiled")
    assert found is not None
    return found


def _compiled(plan: Plan) -> Make:
    from slipstick.sim.compiled.kernel import CompiledKernel

    return lambda seed, replication: CompiledKernel(plan, seed, replication)


def _steady(plan: Plan, seed: int, effort: Effort, make: Make, name: str) -> Result:
    """Run one long replication; look at it at growing distances."""
    record, layout = Record(plan), Layout(plan)
    kernel = make(seed, 0)
    last_row = -(-(effort.cycles or 2**60) // chunk(plan))
    look_at = max(-(-effort.least // chunk(plan)), 2 * BATCHES)
    stopped = ""
    try:
        while not stopped:
            going = kernel.run(_STRETCH)
            record.take(kernel)
            if not going or (not record.pending and record.seen == 0):
                _check_alive(plan, kernel, going, effort)
            while record.pending and not stopped:
                # Decisions fall at the same rows however many events the kernel is given at a time.
                row = record.add(min(look_at, last_row) - record.seen, effort.events)
                if record.seen >= last_row:
                    stopped = "cycles"
                elif row[layout.order] >= effort.events:
                    stopped = "events"
                elif record.seen >= look_at:
                    look_at = int(look_at * 1.25) + 1
                    if effort.cycles is None and _judged(record, seed, effort, "precision", name).converged:
                        stopped = "precision"
    except KeyboardInterrupt:
        stopped = "interrupted"
    return _judged(record, seed, effort, stopped, name)


def _check_alive(plan: Plan, kernel: AnyKernel, going: bool, effort: Effort) -> None:
    """Refuse to wait for what can never come."""
    waits = kernel.waits()
    if not going:
        raise deadlock(plan, kernel.now, waits)
    if kernel.events > min(effort.events, _PATIENCE):
        circle = lock_cycle(waits)
        if circle:
            raise deadlock(plan, kernel.now, circle)
        passes = "no cycle has ended" if kernel.now > 0 else "no time has passed"
        raise NoAnswerError(f"{passes} after {kernel.events} events, at {kernel.now:g} s: there is nothing to estimate")


def _judged(record: Record, seed: int, effort: Effort, stopped: str, name: str) -> Result:
    """Drop the warm-up and see how sure the mean times are."""
    plan, layout = record.plan, Layout(record.plan)
    sums = record.sums()
    cycles = sums[:, layout.cycles].sum(axis=1)
    dropped, trusted = 0, len(sums) >= 2 * BATCHES
    if trusted:
        series = sums[:, layout.cycle_time].sum(axis=1) / cycles
        dropped = warm_up(series)
        # A warm-up that reaches the middle may go on behind it.
        trusted = len(sums) - dropped >= 2 * BATCHES and dropped < len(sums) // 2
    batches = grouped(sums[dropped:]) if trusted else sums
    result = Result(
        plan=plan,
        seed=seed,
        effort=effort,
        batches=batches,
        quantiles=record.quantiles,
        stopped=stopped,
        converged=False,
        trusted=trusted,
        dropped=int(cycles[: len(sums) - _kept(sums, dropped, trusted)].sum()),
        cycles=int(cycles.sum()),
        events=int(record.last[layout.order]),
        kernel=name,
    )
    if not trusted:
        return result
    groups = range(len(plan.members))
    means = [batches[:, layout.cycle_time[each]] / np.maximum(batches[:, layout.cycles[each]], 1) for each in groups]
    result = replace(result, trusted=not any(correlated(each, effort.precision * _NEGLIGIBLE) for each in means))
    known = all(sure(result.mean_time(each), effort.precision) for each in groups)
    return replace(result, converged=known and result.trusted and stopped != "interrupted")


def _kept(sums: Array, dropped: int, trusted: bool) -> int:
    rest = len(sums) - dropped
    return rest // BATCHES * BATCHES if trusted else rest


def _programs(plan: Plan, seed: int, effort: Effort, make: Make, name: str) -> Result:
    """Run a program to its end, again and again; once if nothing in it is random."""
    rows: list[Array] = []
    seen = tuple(Quantiles(section=1) for _ in plan.members)
    layout = Layout(plan)
    least = effort.cycles or (min(effort.least, _REPLICATIONS) if plan.random else 1)
    look_at, events, stopped = least, 0.0, ""
    try:
        while not stopped:
            kernel = make(seed, len(rows))
            while kernel.run(_STRETCH) and events + kernel.events < effort.events:
                pass
            ended = kernel.take_rows()
            if not len(ended):
                _check_program(plan, kernel, effort, events)
                stopped = "events"
                break
            rows.append(ended[-1])
            for quantiles in seen:
                quantiles.add(ended[-1:, layout.time])
            events += rows[-1][layout.order]
            stopped = _program_stops(plan, effort, rows, events, look_at, least)
            if len(rows) >= look_at:
                look_at = int(look_at * 1.25) + 1
    except KeyboardInterrupt:
        stopped = "interrupted"
    batches = np.array(rows) if rows else np.zeros((0, layout.width))
    return Result(
        plan, seed, effort, batches, seen, stopped, False, len(rows) >= FEWEST, 0, len(rows), int(events), name
    ).with_convergence()


def _check_program(plan: Plan, kernel: AnyKernel, effort: Effort, before: float) -> None:
    """Tell a run that can never end from one that the events allowed, those of runs before it included, cut short."""
    waits = kernel.waits()
    if before + kernel.events < effort.events or lock_cycle(waits):
        raise deadlock(plan, kernel.now, lock_cycle(waits) or waits)


def _program_stops(plan: Plan, effort: Effort, rows: list[Array], events: float, look_at: int, least: int) -> str:
    if not plan.random:
        return "complete"
    if len(rows) >= least and effort.cycles is not None:
        return "cycles"
    if events >= effort.events:
        return "events"
    if len(rows) >= max(look_at, FEWEST):
        layout = Layout(plan)
        table = np.array(rows)
        if sure(ratio(table[:, layout.time], np.ones(len(rows)), effort.level), effort.precision):
            return "precision"
    return ""
