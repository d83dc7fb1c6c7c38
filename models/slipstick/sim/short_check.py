"""A check of mean times that another method computed: one short run, which is only simulated until
it is decided whether they are right.

The run is inspected after 2,500, 5,000, 10,000 ... events and stops at the first inspection that
decides. Its first fifth is dropped, the rest are at most 16 batches, and the interval of their mean
is multiplied by 1.3: intervals of so short a run are too narrow (of 30 seeds of six closed models
97 to 100 of 100 then hold the mean). What is known of a cycle beside its time, the mean times of
its steps, is a control variate: the part of the time that follows from what was drawn is taken out,
which decides mixtures of short and long services with a tenth of the events.

The seed is fixed and both kernels give the same events, so a verdict is the same on all machines.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from slipstick.late import Array, dataclass, field, np, replace
from slipstick.sim.estimate import (
    AnyKernel,
    Estimate,
    Layout,
    cycles_per_row,
    estimated_ratio,
    least_half_widths_of_run,
    sums_by_batch,
    t_quantile,
    unended_share_of,
    weights_of_time,
)
from slipstick.sim.heavy_traffic import open_queues
from slipstick.sim.plain.kernel import Kernel
from slipstick.sim.plan.distributions import ServiceTime
from slipstick.sim.plan.plan import Plan
from slipstick.sim.plan.rare_events import fewest_cycles
from slipstick.sim.run import COMPILED, KERNELS, PLAIN, can_compile, is_loaded

AGREES = "agrees"
DIFFERS = "differs"
UNDECIDED = "undecided"
UNSETTLED = "unsettled"

WAIT, UTILIZATION = "wait", "utilization"
"""The kinds of values of a resource that are compared with the run in addition to the times of
cycles.
"""

SEED = 20_011
"""Key of the random streams: not 0, so that a simulation that is asked for has other
random numbers.
"""

FIRST_INSPECTION = 2_500
"""Number of events before the first inspection; each later one is after twice as many."""

FEWEST_EVENTS = 20_000
"""Smallest number of events after which a mean that is called exact can be contradicted."""

WIDENING = 1.3
"""Factor by which the intervals of such short runs are widened."""

WIDEST_INTERVAL = 0.25
"""Half-width, relative to the mean, above which nothing is contradicted [1]."""

CERTAIN_HALF_WIDTH = 0.03
"""Half-width, relative to the mean, up to which a run that holds an exact mean confirms it [1]."""

MOST_UNLIKE = 0.3
"""Difference of the times drawn from their means, relative to these and weighted by the time of one
step, from which a run says nothing [1].
"""

VALUE_TOLERANCE = 0.05
"""Largest difference of a wait, as a part of the time of a cycle, and of a utilization, as a part
of the servers, that counts as agreement where the times of cycles agree [1].
"""

_FEWEST_VISITS = 300
"""Smallest number of visits to a resource whose mean wait is compared: of fewer, none may have
waited yet.
"""

_LEVEL = 0.95
"""Level of the confidence intervals at an inspection [1]."""

_WARM_UP_PART = 5
"""The warm-up is the first of this many equal parts of a run."""

# Rows are joined into so many batches, so that neighbours are hardly correlated. With 15 degrees
# of freedom an interval is 9 % wider than with infinitely many.
_BATCHES = 16
_FEWEST_ROWS = 5
"""Smallest number of rows of statistics, or of replications of a program, with which a mean is
compared.
"""
_CONTROLS = 3
"""Largest number of control variates: each costs a degree of freedom."""


@dataclass(frozen=True, slots=True)
class Expected:
    """The expected mean time of one group of customers, and how exactly a run must confirm it.

    Parameters
    ----------
    mean : of the time of a cycle [s]
    tolerance : relative difference from the simulated mean up to which the mean counts as confirmed
        [1]
    is_exact : whether the method states that the mean is exact
    least_cycles : number of cycles that have to end before there is a verdict
    step_times : by label of a step, its mean time in a cycle, where it is known [s]
    execution_times : by label of these steps, the mean time of one execution [s]
    """

    mean: float
    tolerance: float
    is_exact: bool = False
    least_cycles: float = 0.0
    step_times: Mapping[str, float] = field(default_factory=dict)
    execution_times: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of comparing a run with the expected means.

    Parameters
    ----------
    verdict : `AGREES`, `DIFFERS`, `UNDECIDED` (the interval is too wide) or `UNSETTLED` (no
        interval can be trusted)
    group : the number of the group that differs, or is farthest off
    estimate : its mean time in the run, with the widened interval [s]
    relative_error : of the expected mean [1]
    reason : why there is no verdict
    events : simulated
    value_name : name of the wait or utilization that differs, where the time does not; `estimate`
        is then an estimate of it
    verdict_by_value : of each wait and utilization compared, `AGREES`, `DIFFERS` or `UNDECIDED`
    """

    verdict: str
    group: int = 0
    estimate: Estimate = field(default_factory=lambda: Estimate(math.nan))
    relative_error: float = math.nan
    reason: str = ""
    events: int = 0
    value_name: str = ""
    verdict_by_value: Mapping[str, str] = field(default_factory=dict)


def check_by_short_run(
    plan: Plan,
    expected_by_group: Mapping[int, Expected],
    event_limit: int,
    waits_and_utilizations: Mapping[str, float] | None = None,
) -> CheckResult:
    """Simulate a plan until it is decided whether the expected mean times of its groups, from
    another method, are right; return the verdict and the simulated time.

    Parameters
    ----------
    plan : what is run
    expected_by_group : the mean time of each group by the other method, by the number of the group
    event_limit : at most
    waits_and_utilizations : of a visit and of resources, by names such as ``wait[bus]``, which are
        held against the run as well [s, 1]

    >>> from slipstick.sim.plan.builder import Builder
    >>> from slipstick.sim.plan.distributions import ServiceTime
    >>> builder = Builder()
    >>> builder.add_station("bus")
    >>> builder.serve("bus", ServiceTime("deterministic", 2.0, 0.0))
    >>> builder.add_closed_group("all", customer_count=3, first_instruction=0)
    >>> plan = builder.plan()
    >>> check_by_short_run(plan, {0: Expected(6.0, 0.01)}, 10_000).verdict
    'agrees'
    >>> check_by_short_run(plan, {0: Expected(5.0, 0.01)}, 10_000).verdict
    'differs'
    """
    run: _Steady | _Programs = _Programs(plan, event_limit) if plan.is_program else _Steady(plan)
    check_result = CheckResult(UNSETTLED, reason="nothing was simulated")
    events_at_inspection = FIRST_INSPECTION
    most_events = max(event_limit, FIRST_INSPECTION)
    while events_at_inspection <= most_events:
        verdict_before = check_result.verdict
        # Each inspection is at twice as many events, so that all together cost at most twice the
        # last one.
        can_continue = run.continue_to(events_at_inspection)
        check_result = replace(
            _worst_check_result(run, expected_by_group, event_limit), events=run.events
        )
        is_confirmed = check_result.verdict == DIFFERS and (
            verdict_before == DIFFERS or not plan.is_random
        )
        if check_result.verdict == AGREES or is_confirmed or not can_continue:
            break
        if check_result.reason and run.is_hopeless(expected_by_group, event_limit):
            break
        events_at_inspection *= 2
        if check_result.verdict == DIFFERS:
            # One inspection may differ by chance, so the next has to as well.
            most_events = max(most_events, events_at_inspection)
    if check_result.verdict not in (AGREES, UNDECIDED) or not waits_and_utilizations:
        return check_result
    events_at_last_inspection = (
        events_at_inspection if check_result.verdict == AGREES else events_at_inspection // 2
    )
    return _with_waits_and_utilizations(
        check_result, run, waits_and_utilizations, events_at_last_inspection, most_events
    )


class _Steady:
    """A steady-state run that can be continued to any number of events."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.layout = Layout(plan)
        # Loading the compiled loop costs more than such a short run.
        make_kernel = KERNELS[COMPILED if is_loaded() and can_compile() else PLAIN]
        self._kernel: AnyKernel = make_kernel(plan, SEED, 0)
        self._rows = [np.zeros((1, self.layout.column_count))]

    @property
    def events(self) -> int:
        """Events simulated so far."""
        return self._kernel.events

    def continue_to(self, event_count: int) -> bool:
        """Continue to a number of events; return False at a deadlock."""
        has_next_event = self._kernel.run(event_count - self._kernel.events)
        self._rows.append(self._kernel.take_rows())
        for group_index in range(len(self.plan.groups)):
            self._kernel.take_responses(group_index)
        return has_next_event

    def sums(self) -> Array:
        """Return the statistics summed over each stretch of the run, without the first fifth of the
        run [stretches, columns of the layout].
        """
        self._rows = [np.concatenate(self._rows)]
        stretches: Array = np.diff(self._rows[0], axis=0)
        return (
            stretches[max(1, len(stretches) // _WARM_UP_PART) :]
            if self.plan.is_random
            else stretches
        )

    def is_hopeless(self, expected_by_group: Mapping[int, Expected], event_limit: int) -> bool:
        """Return whether a run of `event_limit` events would end fewer cycles, or write fewer rows
        of statistics, than a verdict needs.
        """
        rows = self._rows[0]
        if len(rows) * event_limit < _FEWEST_ROWS * self.events:
            return True
        # Cycles that ended since the last row are not in it, and all others may be about to end.
        uncounted_cycles = cycles_per_row(self.plan) + max(self.plan.population, 1)
        return any(
            (rows[-1][self.layout.cycle_columns[group_index]] + uncounted_cycles) * event_limit
            < max(expected_time.least_cycles, fewest_cycles(self.plan, group_index)) * self.events
            for group_index, expected_time in expected_by_group.items()
        )


class _Programs:
    """Independent replications of a program. A new kernel for each of them costs more than its
    events.
    """

    EVENTS_DIVISOR = 4
    """Divisor of the number of events of a steady run, because an event of these runs costs so many
    times as much.
    """

    def __init__(self, plan: Plan, event_limit: int) -> None:
        self.plan = plan
        self.layout = Layout(plan)
        self.events = 0
        self._most_events = event_limit
        self._rows = list[Array]()

    def continue_to(self, event_count: int) -> bool:
        """Run replications up to a number of events; at the last inspection, run more until there
        are enough replications. Return False if one replication decides, or takes all events.
        """
        is_last_inspection = 2 * event_count > self._most_events
        while self.events < max(event_count // self.EVENTS_DIVISOR, FIRST_INSPECTION) or (
            is_last_inspection
            and len(self._rows) < _FEWEST_ROWS
            and self.events < self._most_events
        ):
            kernel = Kernel(self.plan, SEED, len(self._rows))
            while kernel.run(min(1024, self._most_events)) and kernel.events < self._most_events:
                pass
            statistics_rows = kernel.take_rows()
            self.events += max(kernel.events, 1)
            if not len(statistics_rows):
                return False
            self._rows.append(statistics_rows[-1:])
            if not self.plan.is_random:
                return False
        return True

    def sums(self) -> Array:
        """Return the statistics summed over each replication [replications, columns of the
        layout].
        """
        no_rows = np.zeros((0, self.layout.column_count))
        return np.concatenate([no_rows, *self._rows])

    def is_hopeless(self, expected_by_group: Mapping[int, Expected], event_limit: int) -> bool:
        """Return False: more replications always add information."""
        return False


def _worst_check_result(
    run: _Steady | _Programs, expected_by_group: Mapping[int, Expected], event_limit: int
) -> CheckResult:
    """Compare the mean time of each group with the expected one, and return the comparison with the
    worst verdict.
    """
    check_results = []
    row_sums = run.sums()
    column_sums = row_sums.sum(axis=0, keepdims=True)
    for group_index, expected_time in expected_by_group.items():
        estimate, reason = _simulated_time(
            run.plan, row_sums, column_sums, group_index, expected_time
        )
        if reason:
            check_results.append(CheckResult(UNSETTLED, group_index, estimate, reason=reason))
            continue
        relative_half_width = estimate.half_width / estimate.mean
        relative_error = expected_time.mean / estimate.mean - 1
        verdict = _verdict(
            abs(relative_error),
            relative_half_width,
            expected_time,
            run.plan.is_random and run.events < FEWEST_EVENTS,
        )
        is_last_inspection = 2 * run.events > event_limit
        # At the last inspection an exact mean within twice the interval is confirmed by an interval
        # twice as wide as usual.
        if (
            expected_time.is_exact
            and verdict == UNDECIDED
            and is_last_inspection
            and abs(relative_error) <= 2 * relative_half_width
        ):
            verdict = AGREES if relative_half_width <= 2 * CERTAIN_HALF_WIDTH else UNDECIDED
        least_relative_half_width = _least_relative_half_width(run.plan, column_sums[0])
        if verdict == DIFFERS and (
            least_relative_half_width > WIDEST_INTERVAL
            or abs(relative_error)
            <= expected_time.tolerance + (1 + expected_time.is_exact) * least_relative_half_width
        ):
            verdict = UNDECIDED
        if verdict == UNDECIDED and least_relative_half_width > relative_half_width:
            half_width = least_relative_half_width * estimate.mean
            estimate = Estimate(
                estimate.mean, estimate.mean - half_width, estimate.mean + half_width
            )
        check_results.append(CheckResult(verdict, group_index, estimate, relative_error))
    verdict_order = [DIFFERS, UNSETTLED, UNDECIDED, AGREES]
    worst_index = min(verdict_order.index(check_result.verdict) for check_result in check_results)
    return max(
        (
            check_result
            for check_result in check_results
            if check_result.verdict == verdict_order[worst_index]
        ),
        key=lambda check_result: abs(check_result.relative_error),
    )


def _least_relative_half_width(plan: Plan, column_sums: Array) -> float:
    """Return the least half-width of the interval of a mean wait, relative to that wait, by
    heavy-traffic theory; see `slipstick.sim.heavy_traffic`. It is 0 where the theory does not
    apply.

    Near saturation batches of a run vary too little: at a load of 0.97 an exact mean of 82.8 s was
    contradicted after 800,000 events.

    Parameters
    ----------
    column_sums : of the whole run [columns]
    """
    half_widths = least_half_widths_of_run(plan, column_sums, _LEVEL) if open_queues(plan) else {}
    return max(half_widths.values(), default=0.0)


def _with_waits_and_utilizations(
    check_result: CheckResult,
    run: _Steady | _Programs,
    waits_and_utilizations: Mapping[str, float],
    events_at_inspection: int,
    most_events: int,
) -> CheckResult:
    """Continue a run whose mean times agree or are undecided, until the waits and utilizations are
    decided, too; return the check result with a verdict on each of them. A value that differs at
    two inspections in a row makes the verdict `DIFFERS`.

    Parameters
    ----------
    events_at_inspection : events after which the times were decided [1]
    most_events : up to which the run is continued for what is undecided
    """
    differing_before: list[str] = []
    while True:
        differences = _relative_differences(run, waits_and_utilizations)
        verdict_by_name = _verdicts_on_resources(run, differences)
        differing_names = [
            value_name for value_name, verdict in verdict_by_name.items() if verdict == DIFFERS
        ]
        check_result = replace(check_result, events=run.events, verdict_by_value=verdict_by_name)
        confirmed_names = [
            value_name
            for value_name in differing_names
            if value_name in differing_before or not run.plan.is_random
        ]
        if confirmed_names:
            worst_name = max(
                confirmed_names, key=lambda value_name: abs(differences[value_name].mean)
            )
            simulated_value = _simulated_resource_value(run, worst_name)
            expected_value = waits_and_utilizations[worst_name]
            relative_error = (
                expected_value / simulated_value.mean - 1 if simulated_value.mean else math.inf
            )
            return replace(
                check_result,
                verdict=DIFFERS,
                estimate=simulated_value,
                relative_error=relative_error,
                value_name=worst_name,
            )
        events_at_inspection *= 2
        has_undecided = differing_names or UNDECIDED in verdict_by_name.values()
        # One inspection may differ by chance, so the next has to as well, whatever it costs.
        has_run_enough = events_at_inspection > most_events and (
            differing_before or not differing_names
        )
        if not has_undecided or has_run_enough or not run.continue_to(events_at_inspection):
            undecided_parts = dict.fromkeys(differing_names, UNDECIDED)
            return replace(check_result, verdict_by_value={**verdict_by_name, **undecided_parts})
        differing_before = differing_names


def _verdicts_on_resources(
    run: _Steady | _Programs, differences: Mapping[str, Estimate]
) -> dict[str, str]:
    """Return the verdict on each wait and utilization by its name, from its difference to the
    expected value. A wait that differs by what may be noise is undecided.
    """
    verdict_by_name = {
        value_name: _verdict_on_resource(difference)
        for value_name, difference in differences.items()
    }
    least_relative_half_width = _least_relative_half_width(run.plan, run.sums().sum(axis=0))
    for value_name, verdict in verdict_by_name.items():
        if verdict == DIFFERS and value_name.startswith(WAIT) and least_relative_half_width:
            is_noise = least_relative_half_width > WIDEST_INTERVAL or (
                abs(differences[value_name].mean) <= VALUE_TOLERANCE + least_relative_half_width
            )
            verdict_by_name[value_name] = UNDECIDED if is_noise else DIFFERS
    return verdict_by_name


def _verdict_on_resource(difference: Estimate) -> str:
    """Return the verdict on the wait or the utilization of a resource, from its difference to the
    expected value.
    """
    if abs(difference.mean) > VALUE_TOLERANCE + difference.half_width:
        return DIFFERS
    return AGREES if abs(difference.mean) + difference.half_width <= VALUE_TOLERANCE else UNDECIDED


def _relative_differences(
    run: _Steady | _Programs, waits_and_utilizations: Mapping[str, float]
) -> dict[str, Estimate]:
    """Estimate the difference of each expected wait from the simulated one, relative to the mean
    time of a cycle, and the difference of each expected utilization from the simulated one [1].

    A wait counts as a part of the time of a cycle: that of one visit, or of all visits of a cycle
    where there are several. So the wait of a seldom visit, which users read as such, counts as much
    as that of a frequent one; after few visits nothing is known of it.

    Parameters
    ----------
    waits_and_utilizations : what is expected, by names such as ``wait[bus]`` [s, 1]
    """
    plan = run.plan
    row_sums = run.sums()
    column_sums = row_sums.sum(axis=0, keepdims=True)
    layout = Layout(plan)
    group_indexes = range(len(plan.groups))
    customer_time_weights = sum(
        (weights_of_time(plan, column_sums, group_index) for group_index in group_indexes),
        np.zeros(1),
    )
    ended_cycles = sum(
        float(column_sums[0, layout.cycle_columns[group_index]]) for group_index in group_indexes
    )
    differences = {}
    for value_name, expected_value in waits_and_utilizations.items():
        value_kind, _, resource_name = value_name.partition("[")
        numerator_weights, visit_or_server_weights = _weights_of_resource_value(
            plan, value_kind, resource_name.removesuffix("]")
        )
        visits_or_server_time = float((column_sums @ visit_or_server_weights)[0])
        if not visits_or_server_time:
            continue
        denominator_weights = visit_or_server_weights
        if value_kind == WAIT:
            mean_time = float((column_sums @ customer_time_weights)[0]) / max(ended_cycles, 1.0)
            denominator_weights = (
                customer_time_weights
                if visits_or_server_time > ended_cycles
                else mean_time * visit_or_server_weights
            )
        if value_kind == WAIT and plan.is_random and visits_or_server_time < _FEWEST_VISITS:
            differences[value_name] = Estimate(0.0, -math.inf, math.inf)
            continue
        differences[value_name] = _controlled_ratio(
            row_sums,
            expected_value * visit_or_server_weights - numerator_weights,
            denominator_weights,
            [],
            in_one_run=not plan.is_program,
        )
    return differences


def _simulated_resource_value(run: _Steady | _Programs, value_name: str) -> Estimate:
    """Estimate the wait or the utilization of a resource from a run; `value_name` names the value
    and the resource.
    """
    value_kind, _, resource_name = value_name.partition("[")
    numerator_weights, denominator_weights = _weights_of_resource_value(
        run.plan, value_kind, resource_name.removesuffix("]")
    )
    return _controlled_ratio(
        run.sums(), numerator_weights, denominator_weights, [], in_one_run=not run.plan.is_program
    )


def _weights_of_resource_value(
    plan: Plan, value_kind: str, resource_name: str
) -> tuple[Array, Array]:
    """Return the weights of numerator and denominator of a wait (waiting time over visits) or a
    utilization (busy servers over all servers) of a resource; all its copies count.
    """
    layout = Layout(plan)
    servers_by_name = {station.name: station.servers for station in plan.stations}
    servers_by_name |= {lock.name: lock.permits for lock in plan.locks}
    numerator_weights = np.zeros(layout.column_count)
    denominator_weights = np.zeros(layout.column_count)
    for resource_index in (
        resource_index
        for resource_index, candidate_name in enumerate(plan.resources)
        if candidate_name == resource_name
    ):
        if value_kind == WAIT:
            # All customers present less those in service: the integral of both is the time that
            # customers wait.
            (
                numerator_weights[layout.present_time_columns[resource_index]],
                numerator_weights[layout.busy_time_columns[resource_index]],
            ) = 1.0, -1.0
            denominator_weights[layout.ended_visit_columns[resource_index]] = 1.0
        else:
            numerator_weights[layout.busy_time_columns[resource_index]] = 1.0
            denominator_weights[layout.time_column] += servers_by_name[resource_name]
    return numerator_weights, denominator_weights


def _verdict(difference: float, half_width: float, expected_time: Expected, is_early: bool) -> str:
    """Return whether an expected time agrees with a simulation, differs from it or is undecided,
    from their relative difference and the relative half-width of the simulation's interval.
    """
    if expected_time.is_exact:
        # An answer called exact is contradicted only by twice the interval, and by no short run.
        if (
            difference > expected_time.tolerance + 2 * half_width
            and not is_early
            and half_width <= WIDEST_INTERVAL
        ):
            return DIFFERS
        return (
            AGREES
            if difference <= half_width <= CERTAIN_HALF_WIDTH
            or difference + half_width <= expected_time.tolerance
            else UNDECIDED
        )
    if difference > expected_time.tolerance + half_width and half_width <= WIDEST_INTERVAL:
        return DIFFERS
    return AGREES if difference + half_width <= expected_time.tolerance else UNDECIDED


def _simulated_time(
    plan: Plan, row_sums: Array, column_sums: Array, group_index: int, expected_time: Expected
) -> tuple[Estimate, str]:
    """Estimate the mean time of a group from a run; return the estimate and an empty text, or an
    empty estimate and the reason why there is none.

    Parameters
    ----------
    row_sums, column_sums : rows over stretches of the run, and all of them added up to one row
    """
    layout = Layout(plan)
    no_estimate = Estimate(math.nan)
    if plan.is_program and not plan.is_random and len(row_sums):
        mean = float(
            row_sums[0, layout.cycle_time_columns[group_index]]
            / max(row_sums[0, layout.cycle_columns[group_index]], 1.0)
        )
        return Estimate(mean, mean, mean), ""
    if reason := _reason_to_wait(plan, row_sums, column_sums, group_index, expected_time):
        return no_estimate, reason
    weight_vectors = [
        weights_of_time(plan, column_sums, group_index),
        layout.column_weights(layout.cycle_columns[group_index]),
    ]
    weight_vectors += _control_weights(plan, column_sums, group_index, expected_time)
    # Of many groups each reads few columns of a row.
    used_columns = np.flatnonzero(np.any(weight_vectors, axis=0))
    row_sums = row_sums[:, used_columns]
    numerator_weights, denominator_weights, *control_weights = (
        weight_vector[used_columns] for weight_vector in weight_vectors
    )
    control_weights = [
        weight_vector for weight_vector in control_weights if np.ptp(row_sums @ weight_vector) > 0
    ]
    estimate = _controlled_ratio(
        row_sums,
        numerator_weights,
        denominator_weights,
        control_weights,
        in_one_run=not plan.is_program,
    )
    group = plan.groups[group_index]
    if not (math.isfinite(estimate.half_width) and estimate.mean > 0):
        return no_estimate, f"no interval of the time of {group.name} can be trusted"
    if (
        not plan.is_program
        and group.kind == "open"
        and _halves_differ(row_sums, numerator_weights, denominator_weights, control_weights)
    ):
        return no_estimate, "the run has not settled"
    return estimate, ""


def _reason_to_wait(
    plan: Plan, row_sums: Array, column_sums: Array, group_index: int, expected_time: Expected
) -> str:
    """Return why a run is still too short for an estimate of the mean time of a group; empty if it
    is long enough.
    """
    ended_cycles = float(column_sums[0, Layout(plan).cycle_columns[group_index]])
    if not ended_cycles:
        return f"no cycle of {plan.groups[group_index].name} was counted"
    if len(row_sums) < _FEWEST_ROWS:
        return "too few cycles ended"
    if ended_cycles < expected_time.least_cycles:
        return f"near saturation it takes {expected_time.least_cycles:,.0f} cycles to settle"
    seen_cycles = len(row_sums) if plan.is_program else ended_cycles
    if seen_cycles < (needed_cycles := fewest_cycles(plan, group_index)):
        return f"rare events that matter need {needed_cycles:,.0f} cycles"
    if _is_unlike_the_model(plan, column_sums, group_index, expected_time):
        return "the random times drawn so far are far from their means"
    return ""


def _is_unlike_the_model(
    plan: Plan, column_sums: Array, group_index: int, expected_time: Expected
) -> bool:
    """Return whether the drawn times of the steps differ so much from their means that neither mean
    nor interval can be trusted, for example because a rare long step has not happened yet.
    """
    if unended_share_of(plan, column_sums, group_index):
        return False
    layout = Layout(plan)
    ended_cycles = float(column_sums[0, layout.cycle_columns[group_index]])
    weighted_difference = 0.0
    total_weight = 0.0
    for label, mean_time in expected_time.step_times.items():
        if label in plan.labels and mean_time > 0:
            booked_time = float(
                column_sums[0, layout.first_label_columns[group_index] + plan.labels.index(label)]
            )
            # A long step delays the others by its time, so that it matters by its square.
            step_weight = mean_time * expected_time.execution_times[label]
            total_weight += step_weight
            weighted_difference += step_weight * abs(booked_time / (mean_time * ended_cycles) - 1.0)
    return weighted_difference > MOST_UNLIKE * total_weight


def _control_weights(
    plan: Plan, column_sums: Array, group_index: int, expected_time: Expected
) -> list[Array]:
    """Return the weights of the control variates. The control variate of a step is its time in the
    ended cycles less its known mean; a single stream has the time elapsed less the known mean time
    between arrivals in each cycle. Their expected sums are 0.
    """
    if unended_share_of(plan, column_sums, group_index):
        return []
    layout = Layout(plan)
    cycle_weights = layout.column_weights(layout.cycle_columns[group_index])
    control_weights = [
        layout.column_weights(layout.first_label_columns[group_index] + plan.labels.index(label))
        - mean_time * cycle_weights
        for label, mean_time in expected_time.step_times.items()
        if label in plan.labels and mean_time > 0
    ]
    if len(plan.groups) == 1 and plan.groups[0].kind == "open":
        arrival_times = plan.draws[plan.groups[0].arrivals].distribution
        if isinstance(arrival_times, ServiceTime):  # of bursts and profiles one run has few
            control_weights.append(
                layout.column_weights(layout.time_column) - arrival_times.mean * cycle_weights
            )
    return control_weights


def _controlled_ratio(
    row_sums: Array,
    numerator_weights: Array,
    denominator_weights: Array,
    control_weights: list[Array],
    in_one_run: bool,
) -> Estimate:
    """Estimate a ratio of sums, with the control variates that explain most of its variation and
    the interval widened by `_with_wider_interval`.

    Source: Lavenberg and Welch, Management Science 27(3), 1981, 322-335.
    """
    row_count = len(row_sums)
    batch_count = (
        _BATCHES
        if row_count >= 2 * _BATCHES
        else row_count // 2
        if row_count >= 2 * _FEWEST_ROWS
        else row_count
    )
    batches = sums_by_batch(row_sums, batch_count)
    estimate_without_controls = estimated_ratio(
        batches @ numerator_weights, batches @ denominator_weights, in_one_run=in_one_run
    )
    denominator_sum = float((batches @ denominator_weights).sum())
    residual = batches @ numerator_weights - estimate_without_controls.mean * (
        batches @ denominator_weights
    )
    control_batches = np.array(
        [batches @ weight_vector for weight_vector in control_weights]
    ).reshape(len(control_weights), batch_count)
    chosen_controls = _chosen_controls(residual, control_batches)
    if not len(chosen_controls) or not estimate_without_controls.half_width:
        return _with_wider_interval(estimate_without_controls)
    centred_controls = chosen_controls - chosen_controls.mean(axis=1, keepdims=True)
    # Least squares bear controls that depend on each other, where normal equations would not.
    slopes = np.linalg.lstsq(centred_controls.T, residual, rcond=None)[0]
    mean = (
        estimate_without_controls.mean
        - float(slopes @ chosen_controls.sum(axis=1)) / denominator_sum
    )
    residual_left = residual - slopes @ centred_controls
    squared_residuals = float(residual_left @ residual_left)
    autocorrelation = (
        float(residual_left[1:] @ residual_left[:-1]) / squared_residuals
        if in_one_run and squared_residuals
        else 0.0
    )
    variance_inflation = (
        (1 + autocorrelation) / (1 - autocorrelation) if autocorrelation > 0 else 1.0
    )
    degree_count = batch_count - 1 - len(chosen_controls)
    half_width = (
        t_quantile(0.95, degree_count)
        * math.sqrt(variance_inflation * batch_count * squared_residuals / degree_count)
        / abs(denominator_sum)
    )
    return _with_wider_interval(Estimate(mean, mean - half_width, mean + half_width))


def _chosen_controls(residual: Array, control_batches: Array) -> Array:
    """Return the control variates that are selected one after the other: each time the one that
    explains most of the remaining variation.
    """
    chosen_indices: list[int] = []
    residual_left = residual.copy()
    # At least three batches are left for each control variate.
    most_controls = min(_CONTROLS, (len(residual) - 3) // 3)
    for _ in range(min(most_controls, len(control_batches))):
        centred_controls = control_batches - control_batches.mean(axis=1, keepdims=True)
        # A control variate that is constant in all batches explains nothing: 0 / 1e-300 in place of
        # 0 / 0.
        norms = np.maximum(
            (centred_controls**2).sum(axis=1) * float(residual_left @ residual_left), 1e-300
        )
        explained_parts = (centred_controls @ residual_left) ** 2 / norms
        explained_parts[chosen_indices] = 0.0
        best_index = int(np.argmax(explained_parts))
        # One that explains less narrows the interval by less than 5 %, and takes a degree of
        # freedom.
        if explained_parts[best_index] < 0.1:
            break
        chosen_indices.append(best_index)
        chosen_centred_controls = centred_controls[chosen_indices].T
        residual_left = (
            residual
            - chosen_centred_controls
            @ np.linalg.lstsq(chosen_centred_controls, residual, rcond=None)[0]
        )
    chosen_controls: Array = control_batches[chosen_indices]
    return chosen_controls


def _with_wider_interval(estimate: Estimate) -> Estimate:
    """Return an estimate whose interval is wider by the factor `WIDENING`."""
    half_width = WIDENING * estimate.half_width
    return Estimate(estimate.mean, estimate.mean - half_width, estimate.mean + half_width)


def _halves_differ(
    row_sums: Array,
    numerator_weights: Array,
    denominator_weights: Array,
    control_weights: list[Array],
) -> bool:
    """Return whether the two halves of a run differ by more than their intervals explain."""
    half_length = len(row_sums) // 2
    if half_length < _FEWEST_ROWS:
        return True
    estimate_of_first_half, estimate_of_second_half = (
        _controlled_ratio(half_sums, numerator_weights, denominator_weights, [], in_one_run=True)
        for half_sums in (row_sums[:half_length], row_sums[-half_length:])
    )
    return abs(estimate_of_first_half.mean - estimate_of_second_half.mean) > math.hypot(
        estimate_of_first_half.half_width, estimate_of_second_half.half_width
    )
