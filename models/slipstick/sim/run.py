"""Running a plan until its mean times are known to the wanted precision, or the budget is used up.

One long run is the default. With `replications` the run is parted into that many independent ones,
and the replications of a program are independent by themselves: each is a `Replication`, which any
process may run. `SPREAD` says where they run; results are combined by number, so that neither place
nor order changes them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from slipstick.errors import NoAnswerError, NothingToEstimate
from slipstick.extensions import Registry
from slipstick.late import Array, dataclass, replace
from slipstick.limits import ANNOUNCE, WorkPace
from slipstick.sim.deadlock import deadlock_error, lock_cycle
from slipstick.sim.estimate import (
    BATCHES,
    FEWEST_REPLICATIONS,
    AnyKernel,
    Layout,
    Quantiles,
    Record,
    ReplicationResult,
    Result,
    cycles_per_row,
    dropped_cycle_count_of,
    estimated_ratio,
    is_correlated,
    is_precise_enough,
    sums_by_batch,
    sums_by_period,
    warm_up_length,
    weights_of_time,
)
from slipstick.sim.plain.kernel import Kernel
from slipstick.sim.plan.distributions import BatchTimes, BurstyTimes, ProfiledTimes
from slipstick.sim.plan.plan import Plan
from slipstick.sim.plan.rare_events import FEWEST_EVENTS_SEEN, fewest_cycles
from slipstick.sim.settings import Simulation
from slipstick.vocabulary import DISCIPLINES, REVERSE

PLAIN = "plain"
COMPILED = "compiled"

KERNELS: Registry[Callable[[Plan, int, int], AnyKernel]] = Registry(
    "slipstick.kernels", {PLAIN: Kernel}
)
"""The kernels that run a plan: the plain one and, where `slipstick_compiled` and numba are
installed, the compiled one, which gives the same events. Each is made of a plan, the seed and the
number of its random streams.
"""

LOOP = "slipstick_compiled.loop"
"""The module of the compiled loop, whose import takes longer than many a run."""

PLAIN_EVENTS = 200_000
"""Events that the plain kernel is given before the compiled one, once loaded, takes over from
the start.
"""

_NEGLIGIBLE = 0.01
"""Relative difference of batches from their mean, as a part of the wished precision, below which it
does not matter whether batches are correlated.
"""

_EVENTS_AT_A_TIME = 16_384
"""Events between two reads of the rows of a kernel."""

BURSTS = 100
"""Smallest number of bursts of arrivals that a run contains, unless its events or cycles are
limited. The rate that is seen then has a standard error of a few per cent; a run of 5,000 cycles
that saw no burst stopped with an interval 15 % below the mean rate.
"""

PERIODS, FEWEST_PERIODS = 16, 10
"""Periods of a profile that a run has at least, unless its events or cycles are limited, and those
that an interval is made of at least: a batch is a whole number of periods, because the hours of a
day differ far more than days do. Intervals of 95 % covered the mean in 91 % of 140 runs of 18
periods of 900 customers, with a peak beyond the capacity, in 95 % of 148 runs of 600 periods of 18,
and in 171 of 180 runs of the days of 18, 54 and 270 customers of benchmarks/interval_coverage.py.
"""

_LARGEST_FEWEST_CUSTOMERS = 10**9
"""Largest number of customers that a run must serve for its bursts or periods."""
_MOST_EVENTS_WITHOUT_ROW = 2_000_000
"""Events without a single row of statistics that are borne; a quarter where customers arrive,
whose queue takes 1 KB each.
"""

_AT_MOST = "the simulation takes at most {:,} events"
_REPLICATIONS = 30
"""Smallest number of replications of a program that are run."""

_EVENTS_OF_START = 150
"""Events that a replication of a program counts as at least, of the budget: its start takes as long
as so many (0.4 ms beside 1 to 3 us an event of the plain kernel)."""

_LENGTH_FACTORS = (1.5, 8.0)
"""Least and largest factor by which replications that are not precise enough are made longer;
they start again.
"""

_LENGTH_MARGIN = 1.1
"""Factor beyond the length by which the interval would just be narrow enough, so that the next
round is usually the last.
"""

_LOOK_SPACING = 1.25
"""Factor between the lengths at which a run is judged: at most a quarter of it is more than needed,
and the judgements, each one more chance to stop at an interval that is narrow by luck, are few."""

FEW_UNENDED, PART_UNENDED, MOST_UNENDED = 100, 0.02, 200_000
"""Branches without a waiting processor that have not ended: a run has no steady state where they
are more than the first and this part of all that were begun; the last is looked at within a run,
because each takes 0.5 KB or more. A load of 1.02 of their resource leaves one of 50.
"""


@cache
def can_compile() -> bool:
    """Return whether a compiled kernel can run here."""
    return find_spec("numba") is not None and COMPILED in KERNELS


def is_loaded() -> bool:
    """Return whether the compiled event loop is already imported; if so, every run uses it."""
    return LOOP in sys.modules


@dataclass(frozen=True, slots=True)
class Replication:
    """One replication of a plan, whose random numbers are independent of all other replications.

    Parameters
    ----------
    plan : what to run
    settings : its own number of cycles, budget of events and kernel, which is not auto
    number : number of the replication, which is the key of its random streams, from 0
    """

    plan: Plan
    settings: Simulation
    number: int

    def run(self) -> ReplicationResult:
        """Run the replication in this process."""
        return _run_program(self) if self.plan.is_program else _run_steady(self)


Spread = Callable[[Iterable[Replication]], Iterable[ReplicationResult]]

SPREAD: ContextVar[Spread] = ContextVar(
    "spread", default=lambda replications: map(Replication.run, replications)
)
"""The function that runs replications and returns their results in the same order; by default it
runs one after the other in this process, on demand.
"""


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
    >>> builder.add_closed_group("all", customer_count=3, first_instruction=0)
    >>> simulate(builder.plan()).mean_time()
    Estimate(mean=2.0, low=2.0, high=2.0)
    """
    settings = simulation or Simulation()
    # Where nothing is random, more cycles than a few in each batch add no information.
    if not plan.is_random:
        settings = replace(
            settings, least=min(settings.least, 4 * BATCHES * max(plan.population, 1))
        )
    settings = replace(settings, least=max(settings.least, _least_customer_count(plan)))
    if plan.is_program:
        return _with_kernel(plan, settings, _run_programs)
    if settings.replications > 1 and plan.is_random:
        return _with_kernel(plan, settings, _run_replications)
    return _with_kernel(
        plan,
        settings,
        lambda plan, run_settings: _combined_result(
            plan, run_settings, [_run_steady(Replication(plan, run_settings, 0))]
        ),
    )


def _arrival_times(plan: Plan) -> list[Any]:
    """List the distributions of the times between arrivals of all streams."""
    return [
        plan.draws[group.arrivals].distribution for group in plan.groups if group.kind == "open"
    ]


def _least_customer_count(plan: Plan) -> int:
    """Return the number of customers that a run must serve at least, so that it includes `BURSTS`
    bursts of arrivals or `PERIODS` periods of a profile.
    """
    customer_counts = [
        arrival_times.customers_of_period
        * (PERIODS if getattr(arrival_times, "period", 0.0) else BURSTS)
        for arrival_times in _arrival_times(plan)
        if isinstance(arrival_times, BurstyTimes | BatchTimes | ProfiledTimes)
    ]
    return min(math.ceil(max(customer_counts, default=0.0)), _LARGEST_FEWEST_CUSTOMERS)


def longest_period(plan: Plan) -> float:
    """Return the longest period of the arrival profiles; 0 where there is none [s]."""
    return max(
        (getattr(arrival_times, "period", 0.0) for arrival_times in _arrival_times(plan)),
        default=0.0,
    )


def _with_kernel(
    plan: Plan, settings: Simulation, run_plan: Callable[[Plan, Simulation], Result]
) -> Result:
    """Run a plan with the kernel that the settings name, or else with the faster one, and return
    the result. Both kernels simulate the same events: a run that turns out to be long in the plain
    kernel is started again in the compiled kernel.
    """
    kernel_name = settings.kernel
    # A row of statistics waits for a cycle of every customer, so that a short run of many has none.
    is_long = is_loaded() or 10 * plan.population > PLAIN_EVENTS
    has_compiled = can_compile()
    compiled_settings = replace(settings, kernel=COMPILED)

    def run_compiled() -> Result:
        """Run the plan with the compiled kernel, and announce its compilation."""
        announce_compilation()
        return run_plan(plan, compiled_settings)

    if kernel_name == COMPILED or (kernel_name == "auto" and has_compiled and is_long):
        return replace(run_compiled(), settings=settings)
    short_settings = replace(settings, events=min(settings.events, PLAIN_EVENTS), kernel=PLAIN)
    uses_plain_kernel_only = (
        kernel_name == PLAIN or not has_compiled or short_settings.events == settings.events
    )
    result = run_plan(
        plan, replace(settings, kernel=PLAIN) if uses_plain_kernel_only else short_settings
    )
    if not uses_plain_kernel_only and result.stop_cause == "events":
        result = run_compiled()
    return replace(result, settings=settings)


def announce_compilation() -> None:
    """Announce that the event loop is compiled, if its code is not kept from an earlier run."""
    announce = ANNOUNCE.get()
    if announce is None or not can_compile():
        return
    code_folder = Path(import_module(LOOP).run_events.stats.cache_path)
    python_version = "".join(map(str, sys.version_info[:2]))
    if not any(code_folder.glob(f"*run_events*.py{python_version}*.nbi")):
        announce(
            f"the simulator is compiled once, and its code is kept in {code_folder}: about"
            f" {_COMPILATION_SECONDS:g} s of processor time"
        )


_COMPILATION_SECONDS = 30.0
"""Processor time of compiling the event loop, as measured on an idle machine [s]."""


def _run_replications(plan: Plan, settings: Simulation) -> Result:
    """Run independent replications of equal length, and repeat them with a greater length until the
    mean times are precise enough.

    Longer replications start again from time 0, because a process keeps nothing of an earlier
    round. Each replication has its own warm-up and its share of the budget of events.
    """
    # The half width falls with the root of the length, so the next length follows from the square
    # of what is missing.
    replication_count = settings.replications
    run_replications = SPREAD.get()
    least_cycles = settings.cycles or max(
        settings.least, 2 * BATCHES * cycles_per_row(plan) * replication_count
    )
    while True:
        # Rounded up, so that all replications together have at least the cycles asked for.
        replication_settings = replace(
            settings,
            cycles=-(-least_cycles // replication_count),
            events=-(-settings.events // replication_count),
        )
        replication_results: list[ReplicationResult] = []
        for replication_result in run_replications(
            [
                Replication(plan, replication_settings, replication_number)
                for replication_number in range(replication_count)
            ]
        ):
            replication_results.append(replication_result)
            if replication_result.stop_cause == "interrupted":
                return _combined_result(plan, settings, replication_results)
        result = _combined_result(plan, settings, replication_results)
        if result.stop_cause == "events" or settings.cycles is not None:
            return result
        if result.converged:
            return replace(result, stop_cause="precision")
        growth_factor = _LENGTH_FACTORS[0]
        if result.is_trusted:
            greatest_error = max(
                estimate.half_width / estimate.mean if estimate.mean else math.inf
                for estimate in map(result.mean_time, range(len(plan.groups)))
            )
            growth_factor = min(
                max(_LENGTH_MARGIN * (greatest_error / settings.precision) ** 2, growth_factor),
                _LENGTH_FACTORS[1],
            )
        # A round whose intervals cannot be trusted says nothing of the length that is needed: it
        # grows by the least factor.
        least_cycles = math.ceil(least_cycles * growth_factor)


def _run_steady(replication: Replication) -> ReplicationResult:
    """Run one replication. Unless its number of cycles is given, check the estimates after growing
    numbers of rows until the mean times are precise enough.
    """
    plan = replication.plan
    settings = replication.settings
    record = Record(plan)
    layout = Layout(plan)
    kernel = KERNELS[settings.kernel](plan, settings.seed, replication.number)
    # Rounded up: a run ends at whole rows of statistics. 2^60 cycles are never reached.
    last_row = -(-(settings.cycles or 2**60) // cycles_per_row(plan))
    next_look_row = max(-(-settings.least // cycles_per_row(plan)), 2 * BATCHES)
    stop_cause = ""
    work_pace = WorkPace()
    try:
        while not stop_cause:
            # Short stretches at first, so that a run which soon is precise is not simulated far
            # beyond its end.
            has_next_event = kernel.run(min(kernel.events + 64, _EVENTS_AT_A_TIME))
            work_pace.check(kernel.events, settings.events, _AT_MOST.format(settings.events))
            record.take(kernel)
            if kernel.unended_branches > MOST_UNENDED:
                _refuse_growing_branches(kernel)
            if not has_next_event or (not record.pending and record.row_count == 0):
                _refuse_deadlock(plan, kernel, has_next_event, settings)
            while record.pending and not stop_cause:
                # Decisions are made at the same rows, whatever number of events the kernel
                # simulates at a time.
                latest_row = record.add(
                    min(next_look_row, last_row) - record.row_count, settings.events
                )
                if record.row_count >= last_row:
                    stop_cause = "cycles"
                elif latest_row[layout.event_count_column] >= settings.events:
                    stop_cause = "events"
                elif record.row_count >= next_look_row:
                    next_look_row = int(next_look_row * _LOOK_SPACING) + 1
                    if (
                        settings.cycles is None
                        and _combined_result(plan, settings, [_without_warm_up(record)]).converged
                    ):
                        stop_cause = "precision"
    except KeyboardInterrupt:
        stop_cause = "interrupted"
    _refuse_growing_branches(kernel)
    return _without_warm_up(record, settings.replications, stop_cause)


def _refuse_growing_branches(kernel: AnyKernel) -> None:
    """Raise an error if branches that no customer waits for begin faster than they end."""
    if kernel.unended_branches > FEW_UNENDED + PART_UNENDED * kernel.unawaited_branches:
        raise NoAnswerError(
            f"of {kernel.unawaited_branches:,} branches that continued without their processors,"
            f" {kernel.unended_branches:,} have not ended after {kernel.now:.4g} s: they are begun"
            " faster than their resources serve them, or last longer than the run; begin fewer,"
            " shorten them, or simulate longer"
        )


def _refuse_deadlock(
    plan: Plan, kernel: AnyKernel, has_next_event: bool, settings: Simulation
) -> None:
    """Raise an error for a deadlock, or where no cycle can end."""
    most_events = (
        _MOST_EVENTS_WITHOUT_ROW // 4
        if any(group.kind == "open" for group in plan.groups)
        else _MOST_EVENTS_WITHOUT_ROW
    )
    # A large population needs some events of each member before the first cycle can end.
    if has_next_event and kernel.events <= min(settings.events, most_events + 10 * plan.population):
        return
    waits = kernel.waits()
    if not has_next_event or lock_cycle(waits):
        raise deadlock_error(kernel.now, waits if not has_next_event else lock_cycle(waits))
    progress_text = "no cycle has ended" if kernel.now > 0 else "no time has passed"
    reason = NothingToEstimate(
        f"{progress_text} after {kernel.events} events, at {kernel.now:g} s: there is nothing to"
        " estimate"
    )
    raise NoAnswerError(reason)


def _without_warm_up(
    record: Record, replication_count: int = 1, stop_cause: str = ""
) -> ReplicationResult:
    """Return the statistics of a replication after its warm-up, summed by batches."""
    layout = record.layout
    row_sums = record.sums()
    cycles_run = int(row_sums[:, layout.cycle_columns].sum())
    period = longest_period(record.plan)
    # All replications together have as many batches as one run: degrees of freedom cost cycles.
    batch_count = max(BATCHES // replication_count, 1)
    fewest_rows = 2 * BATCHES
    if period:
        row_sums = sums_by_period(row_sums, layout.time_column, period)
        fewest_rows = FEWEST_PERIODS
        if replication_count > 1:
            batch_count = min(batch_count, FEWEST_PERIODS)
    cycles_by_row = row_sums[:, layout.cycle_columns].sum(axis=1)
    dropped_rows = 0
    is_trusted = len(row_sums) >= fewest_rows
    if is_trusted:
        mean_times = row_sums[:, layout.cycle_time_columns].sum(axis=1) / cycles_by_row
        # Of few periods the rule would choose the stretch in which they happen to vary least.
        is_short = bool(period) and len(row_sums) < 2 * BATCHES
        dropped_rows = 1 if is_short else warm_up_length(mean_times)
        # A warm-up that reaches the middle of the run may be longer.
        is_trusted = (
            len(row_sums) - dropped_rows >= fewest_rows and dropped_rows < len(row_sums) // 2
        )
    # Rows that fill no batch are dropped with the warm-up.
    if period and replication_count == 1:
        # Batches of equally many periods, so many that few are left over.
        whole_periods = len(row_sums) - dropped_rows
        batch_count = max(whole_periods // max(whole_periods // BATCHES, 1), 1)
    kept_rows = (
        (len(row_sums) - dropped_rows) // batch_count * batch_count if is_trusted else len(row_sums)
    )
    return ReplicationResult(
        batches=sums_by_batch(row_sums[dropped_rows:], batch_count) if is_trusted else row_sums,
        quantiles=record.quantiles,
        stop_cause=stop_cause,
        is_trusted=is_trusted,
        dropped_cycle_count=int(cycles_by_row[: len(row_sums) - kept_rows].sum()),
        cycles=cycles_run,
        events=int(record.last_row[layout.event_count_column]),
    )


LARGEST_UNENDED_SHARE = 0.9
"""Part of a closed group's time in cycles that have not ended, above which the run says too little
of them for any interval [1]: of a group that ended nothing, a run of 15 million events gave 233 s
+- 0.1 %, and one with other random numbers 351 s."""

STARVED_TOGETHER = 0.05
"""Part of the time in cycles that have not ended, of each of two groups, above which no interval is
trusted [1]: which customers of them starve changes slowly, and decides how many of each group are
served. Two groups at a station served last come first, of which 75 and 33 % of the time was in such
cycles, gave 5.132 s +- 1 %, and 10.3 s with other random numbers. The part itself is a choice, not
a measurement: where less of the time is in such cycles, they can change the numbers that are served
by about as much.
"""


ALWAYS_BUSY = 0.999
"""Utilization of a station served last come first from which its queue does not empty, so that
those at its end are served by rare chance [1]."""


def _may_bury_customers(plan: Plan, batches: Array) -> bool:
    """Return whether customers of one group may wait very long at the end of the queue of a
    saturated station that serves the last arrival first. Even a run in which this has not happened
    yet cannot be trusted then.

    Six customers beside a saturated group gave 2.51 s +- 4 %, and 4.53 s with other random numbers.
    Of a station that one group uses it does not matter which customer is kept. Where two use it,
    groups that do not have no interval either, because they may meet these elsewhere.
    """
    if len(plan.groups) < 2 or not len(batches):
        return False
    layout = Layout(plan)
    column_sums = batches.sum(axis=0)
    last_come_stations = [
        station for station in plan.stations if DISCIPLINES[station.discipline].order == REVERSE
    ]
    servers_by_name = {station.name: station.servers for station in last_come_stations}
    return any(
        column_sums[layout.busy_time_columns[resource_index]]
        > ALWAYS_BUSY * servers_by_name[resource_name] * column_sums[layout.time_column]
        and _waiting_group_count(plan, layout, column_sums, resource_name) > 1
        for resource_index, resource_name in enumerate(plan.resources)
        if resource_name in servers_by_name
    )


def _waiting_group_count(plan: Plan, layout: Layout, column_sums: Array, resource_name: str) -> int:
    """Return the number of groups that waited for a resource; all groups if the waits for it are
    booked to other labels, as in networks.
    """
    if (label := f"wait:{resource_name}") not in plan.labels:
        return len(plan.groups)
    label_index = plan.labels.index(label)
    return sum(
        column_sums[first_column + label_index] > 0 for first_column in layout.first_label_columns
    )


def _combined_result(
    plan: Plan, settings: Simulation, replication_results: Sequence[ReplicationResult]
) -> Result:
    """Return the result of all replications together, with `trusted` and `converged` set: whether
    its intervals can be trusted, and whether they are narrow enough.
    """
    result = _joined_result(plan, settings, replication_results)
    if not result.is_trusted:
        return result
    result = replace(result, is_trusted=_can_trust_intervals(result, len(replication_results)))
    is_precise = all(
        is_precise_enough(result.mean_time(group_index), settings.precision)
        for group_index in range(len(plan.groups))
    )
    has_converged = is_precise and result.is_trusted and result.stop_cause != "interrupted"
    return replace(result, converged=has_converged)


def _joined_result(
    plan: Plan, settings: Simulation, replication_results: Sequence[ReplicationResult]
) -> Result:
    """Return the result of all replications together, which is trusted if each of them is."""
    first_result = replication_results[0]
    stop_causes = {replication_result.stop_cause for replication_result in replication_results}
    is_single = len(replication_results) == 1
    return Result(
        batches=first_result.batches
        if is_single
        else np.concatenate(
            [replication_result.batches for replication_result in replication_results]
        ),
        quantiles=first_result.quantiles
        if is_single
        else _pooled_quantiles(plan, replication_results),
        stop_cause=next(
            (cause for cause in ("interrupted", "events") if cause in stop_causes),
            first_result.stop_cause,
        ),
        is_trusted=all(replication_result.is_trusted for replication_result in replication_results),
        dropped_cycle_count=sum(
            replication_result.dropped_cycle_count for replication_result in replication_results
        ),
        cycles=sum(replication_result.cycles for replication_result in replication_results),
        events=sum(replication_result.events for replication_result in replication_results),
        plan=plan,
        settings=settings,
        is_pooled=not is_single,
    )


def _can_trust_intervals(result: Result, replication_count: int) -> bool:
    """Return whether the intervals of a result can be trusted: no group starves, the rare events
    that matter were seen, and successive batches are not correlated.
    """
    plan, layout = result.plan, Layout(result.plan)
    group_indexes = range(len(plan.groups))
    batch_table = result.batches.reshape(replication_count, -1, layout.column_count)
    # A batch in which a group ended no cycle is divided by 1: it matters for the test of
    # correlation only.
    batch_means = [
        batch_table
        @ weights_of_time(plan, result.batches, group_index)
        / np.maximum(batch_table[..., layout.cycle_columns[group_index]], 1)
        for group_index in group_indexes
    ]
    negligible_difference = result.settings.precision * _NEGLIGIBLE
    unended_shares = [result.unended_share(group_index) for group_index in group_indexes]
    is_starved = (
        max(unended_shares) > LARGEST_UNENDED_SHARE
        or sum(share > STARVED_TOGETHER for share in unended_shares) > 1
        or _may_bury_customers(plan, result.batches)
    )
    return (
        not is_starved
        and expected_rare_events(result) >= FEWEST_EVENTS_SEEN
        and not any(
            is_correlated(means_of_group, negligible_difference) for means_of_group in batch_means
        )
    )


def expected_rare_events(result: Result) -> float:
    """Return the expected number of occurrences, in a run as long as this, of the rarest event that
    matters for a mean time [1]; infinity if there is no such event.
    """
    return min(
        (
            FEWEST_EVENTS_SEEN * _ended_cycle_count(result, group_index) / needed_cycles
            for group_index in range(len(result.plan.groups))
            if (needed_cycles := fewest_cycles(result.plan, group_index))
        ),
        default=math.inf,
    )


def _ended_cycle_count(result: Result, group_index: int) -> float:
    """Return the number of ended cycles of a group; of a program, the number of replications."""
    if result.plan.is_program:
        return result.cycles
    return float(result.batches[:, result.layout.cycle_columns[group_index]].sum())


def _pooled_quantiles(
    plan: Plan, replication_results: Sequence[ReplicationResult]
) -> tuple[Quantiles, ...]:
    """Return the quantiles of the response times of several replications together, by group; the
    warm-ups are left out.
    """
    layout = Layout(plan)
    pooled_quantiles = tuple(Quantiles() for _ in plan.groups)
    for replication_result in replication_results:
        for group_index, quantiles in enumerate(pooled_quantiles):
            quantiles.join(
                replication_result.quantiles[group_index],
                dropped_cycle_count_of(replication_result, layout, group_index),
            )
    return pooled_quantiles


def _run_programs(plan: Plan, settings: Simulation) -> Result:
    """Run replications of a program; a single one if nothing in it is random."""
    final_rows: list[Array] = []
    quantiles_by_group = tuple(Quantiles(section_size=1) for _ in plan.groups)
    layout = Layout(plan)
    least_count = settings.cycles or (min(settings.least, _REPLICATIONS) if plan.is_random else 1)
    next_look = least_count
    events_used = 0
    stop_cause = ""
    work_pace = WorkPace()

    def next_replications() -> Iterator[Replication]:
        """Yield the replications until their number suffices."""
        # One after the other each has what is left of the budget; side by side, what was left when
        # they began.
        for replication_number in range(len(final_rows), next_look):
            yield Replication(
                plan, replace(settings, events=settings.events - events_used), replication_number
            )

    try:
        while not stop_cause:
            for replication_result in SPREAD.get()(next_replications()):
                events_used += replication_result.events
                work_pace.check(
                    max(events_used, 1), settings.events, _AT_MOST.format(settings.events)
                )
                if not len(replication_result.batches) or events_used > settings.events:
                    stop_cause = "events"
                    break
                final_rows.append(replication_result.batches[-1])
                for quantiles in quantiles_by_group:
                    quantiles.add(final_rows[-1][[layout.time_column]])
                stop_cause = _stop_reason_of_program(
                    plan, settings, final_rows, events_used, next_look, least_count
                )
                if stop_cause:
                    break
            next_look = int(next_look * _LOOK_SPACING) + 1
    except KeyboardInterrupt:
        stop_cause = "interrupted"
    batches = np.array(final_rows) if final_rows else np.zeros((0, layout.column_count))
    is_trusted = len(final_rows) >= _fewest_replications(plan)
    return Result(
        batches,
        quantiles_by_group,
        stop_cause,
        is_trusted,
        0,
        len(final_rows),
        events_used,
        plan,
        settings,
    ).with_convergence()


def _fewest_replications(plan: Plan) -> float:
    """Return the number of replications of a program from which on its interval is trusted."""
    return max(
        FEWEST_REPLICATIONS,
        *(fewest_cycles(plan, group_index) for group_index in range(len(plan.groups))),
    )


def _run_program(replication: Replication) -> ReplicationResult:
    """Run a program once, or as far as the budget of events reaches."""
    plan = replication.plan
    settings = replication.settings
    kernel = KERNELS[settings.kernel](plan, settings.seed, replication.number)
    work_pace = WorkPace()
    while kernel.run(_EVENTS_AT_A_TIME) and kernel.events < settings.events:
        work_pace.check(kernel.events, settings.events, _AT_MOST.format(settings.events))
    final_rows = kernel.take_rows()
    if not len(final_rows):
        waits = kernel.waits()
        # Customers that wait for each other never end, whatever the budget.
        if kernel.events < settings.events or lock_cycle(waits):
            raise deadlock_error(kernel.now, lock_cycle(waits) or waits)
        return ReplicationResult(final_rows, (), "events", False, 0, 0, 0)
    events = int(final_rows[-1, Layout(plan).event_count_column])
    return ReplicationResult(final_rows[-1:], (), "complete", False, 0, 1, events)


def _stop_reason_of_program(
    plan: Plan,
    settings: Simulation,
    final_rows: list[Array],
    events_used: int,
    next_look: int,
    least_count: int,
) -> str:
    """Return why no further replication of a program is run; empty if another one is run."""
    if not plan.is_random:
        return "complete"
    if len(final_rows) >= least_count and settings.cycles is not None:
        return "cycles"
    most_replications = max(settings.events / _EVENTS_OF_START, least_count)
    if events_used >= settings.events or len(final_rows) >= most_replications:
        return "events"
    # Where the budget does not reach to a trusted interval, no replication more brings it nearer.
    fewest_replications = _fewest_replications(plan)
    if fewest_replications > most_replications:
        fewest_replications = FEWEST_REPLICATIONS
    if len(final_rows) >= max(next_look, fewest_replications):
        layout = Layout(plan)
        row_table = np.array(final_rows)
        if is_precise_enough(
            estimated_ratio(
                row_table[:, layout.time_column], np.ones(len(final_rows)), settings.level
            ),
            settings.precision,
        ):
            return "precision"
    return ""
