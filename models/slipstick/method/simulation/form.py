"""Simulation of activities: the same tree as in closed form, executed event by event.

What a run saw becomes values with intervals (`value_of_estimate`), notes (`notes_of`) and, where
asked, shares from differences of runs with the same random numbers (`Differences`): the same for
activities and queueing networks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from slipstick.answer import SURE_HALF_WIDTHS, Value, labelled_name, unit_of
from slipstick.errors import (
    Doubt,
    NoAnswerError,
    NotConverged,
    RunLength,
    SlipstickError,
    Unsolvable,
)
from slipstick.expression.nodes import TIME, Expr, Parameter, total, zero
from slipstick.expression.tape import Tape, Values, selected_values
from slipstick.late import Array, dataclass, np, replace
from slipstick.law.account import GRAIN_EFFICIENCY, GRAIN_INTERFERENCE
from slipstick.method.answers import (
    ROUNDING,
    Answers,
    CompiledModel,
    Gradient,
    Remarks,
    Solution,
    join_solutions,
)
from slipstick.method.closed_form import ClosedForm
from slipstick.method.names import QUANTILES, cycle_by_group
from slipstick.method.simulation.flatten import ALL, FlatModel, flatten
from slipstick.model.activity import Attempt, think_step
from slipstick.model.steps import distinct_activities, list_parallel_nodes, steps
from slipstick.model.system import IDLE, IDLE_PROCESSORS, Labels, Model, SingleProcessor
from slipstick.sim.estimate import (
    Estimate,
    Result,
    t_quantile,
    weights_of_cycle_time,
    weights_of_time,
)
from slipstick.sim.plan.builder import ACCESSES, CONSULTED, GIVEN_UP, TRIES
from slipstick.sim.plan.distributions import TracedTimes
from slipstick.sim.plan.plan import BREAKER, COUNTER
from slipstick.sim.plan.rare_events import FEWEST_EVENTS_SEEN
from slipstick.sim.run import FEWEST_PERIODS, expected_rare_events, longest_period, simulate
from slipstick.sim.settings import Simulation
from slipstick.structure.work import ParallelWork, demands, held_times
from slipstick.vocabulary import EARLY_JOINS, MOST_HOLDERS, SIMULATION

STEP = 0.02
"""Relative step of the differences that shares are read from."""

NOT_TRUSTED = NotConverged.because(
    "the run is too short, or its values drift, so it has no reliable interval"
)
RARE_EVENTS = (
    "a branch or a long time that matters for the mean is so rare that a run of this length has"
    " {:.2g} of them on average: allow more events (simulation.events)"
)


def value_of_estimate(estimate: Estimate, unit: str) -> Value:
    """Return an estimate as a value with its interval.

    Parameters
    ----------
    estimate : of something that is never negative
    unit : its base unit
    """
    if _has_no_width(estimate):
        return Value(estimate.mean, unit, estimate.mean, estimate.mean)
    # A wait or a use cannot be below nothing, however wide its interval.
    low = None if estimate.low is None else min(max(estimate.low, 0.0), estimate.mean)
    return Value(estimate.mean, unit, low, estimate.high)


_LEAST_GAP, _GAP_OF_ONE = 0.02, 8.0
"""By which part of the arrivals the departures of a run that has not reached its precision must be
fewer for the run to be refused: the first, and the second over the root of the departures, which is
eight standard deviations of a Poisson number."""


def least_gap(departure_count: float, variance_factor: float = 1.0) -> float:
    """Return the smallest difference of arrivals and departures in a run, relative to the arrivals,
    that is too large to be chance [1].

    Parameters
    ----------
    departure_count : their number
    variance_factor : variance of the number of arrivals in its mean
    """
    return float(
        max(_LEAST_GAP, _GAP_OF_ONE * (variance_factor / max(departure_count, 1.0)) ** 0.5)
    )


def surplus_of_stream(arrival_times: object) -> float:
    """Return by how many customers a run may exceed the mean arrivals of a stream if it ends in the
    middle of a period: twice the customers of a period, because as many may be present after a
    peak; infinite for traces.
    """
    if isinstance(arrival_times, TracedTimes):
        return math.inf
    return 2 * float(getattr(arrival_times, "customers_of_period", 0.0))


def check_departures(result: Result, lossy_groups: Collection[str] = ()) -> None:
    """Raise if fewer customers of a stream leave than arrive, in a run that has not reached its
    precision: in the long run both are equal.

    Only a run tells how much work resources do that are held up by others, or that customers choose
    by their state. Streams along traces are left out: their arrivals in a run may be far from their
    rate. Those of a profile are not: over whole periods they are as many as at its mean rate.

    Parameters
    ----------
    result : of a simulation
    lossy_groups : groups that lose customers, who are not counted when they leave

    Raises
    ------
    NoAnswerError : more customers arrive than leave
    """
    if result.converged or not len(result.batches):
        return
    column_sums = result.batches.sum(axis=0)
    simulated_time = float(column_sums[result.layout.time_column])
    for group_index, group in enumerate(result.plan.groups):
        if group.kind != "open" or group.name in lossy_groups:
            continue
        arrival_times = result.plan.draws[group.arrivals].distribution
        departure_count = float(column_sums[result.layout.cycle_columns[group_index]])
        # The gap may be above 1, and infinity times a negative number would be a large one.
        least_arrival_count = max(
            0.0, simulated_time / arrival_times.mean - surplus_of_stream(arrival_times)
        )
        times_between = getattr(arrival_times, "between", arrival_times)
        variance_factor = max(1.0, float(getattr(times_between, "scv", 1.0)))
        variance_factor *= float(getattr(arrival_times, "size", 1.0))
        customers_noun = group.name.removeprefix(ALL) or "customers"
        if (
            0
            < departure_count
            < least_arrival_count * (1 - least_gap(departure_count, variance_factor))
        ):
            raise NoAnswerError(
                f"{customers_noun} arrive faster than they leave: {1 / arrival_times.mean:.4g} in a"
                " second, and"
                f" {departure_count / simulated_time:.4g} leave in the {simulated_time:.4g} s that"
                " were simulated; a resource receives more work than it can do, or customers stay"
                " longer than the run: lower the arrivals, or simulate longer"
            )


def notes_of(result: Result) -> tuple[str, ...]:
    """Return notes on the length of the run, why the run ended, and the precision of the least
    precise mean time.

    Parameters
    ----------
    result : of a simulation
    """
    unit_noun = "replication" if result.plan.is_program else "cycle"
    cycles_run, cycles_asked = (
        f"{cycle_count} {unit_noun}{'s' * (cycle_count != 1)}"
        for cycle_count in (result.cycles, result.settings.cycles)
    )
    requested_precision_text = f"{100 * result.settings.precision:g} %"
    stop_reason = {
        "precision": f"stopped at the requested precision of {requested_precision_text}",
        "events": f"stopped at the budget of {result.settings.events} events",
        "cycles": f"ran {cycles_asked}, as requested",
        "complete": "simulated once, because nothing in the program is random",
        "interrupted": "unfinished: it was interrupted",
    }[result.stop_cause]
    run_length = stop_reason
    if result.stop_cause != "complete" or (
        result.dropped_cycle_count and not result.plan.is_program
    ):
        run_length += f", after {cycles_run}"
    if result.dropped_cycle_count and not result.plan.is_program:
        run_length += f"; {result.dropped_cycle_count} of them dropped as warm-up"
    if result.is_pooled:
        run_length += f"; in {result.settings.replications} replications"
    notes: list[str] = [RunLength(run_length)]
    if not result.converged:
        mean_times = map(result.mean_time, range(len(result.plan.groups)))
        precision_reached = max(
            mean_time.half_width / mean_time.mean if mean_time.mean else math.inf
            for mean_time in mean_times
        )
        precision_text = f"the mean time is known within {100 * precision_reached:.2g} %"
        notes.append(
            NotConverged.because(precision_text)
            if math.isfinite(precision_reached)
            else NOT_TRUSTED
        )
        if (event_count := expected_rare_events(result)) < FEWEST_EVENTS_SEEN:
            notes.append(Doubt(RARE_EVENTS.format(event_count)))
    if period := longest_period(result.plan):
        notes.append(_period_note(result, period))
    for group_index, group in enumerate(result.plan.groups):
        if unended_share := result.unended_share(group_index):
            notes.append(
                f"customers ({group.name}) spend {100 * unended_share:.3g} % of their time in"
                " cycles that had not ended with the run: they starve, or the run is too short;"
                " the mean time counts all of them, quantiles count only cycles that ended"
            )
    return tuple(notes)


def _period_note(result: Result, period: float) -> str:
    """Return how many periods of a profile the batches of a run cover, and how many a run needs."""
    simulated_time = float(result.batches[:, result.layout.time_column].sum())
    note = f"values are means over {simulated_time / period:.3g} periods of the profile of arrivals"
    if result.is_trusted:
        return note
    return (
        f"{note}; intervals need {FEWEST_PERIODS} whole periods or more, whose means do not drift:"
        " allow more events (simulation.events)"
    )


@dataclass(frozen=True, slots=True)
class Differences:
    """Computes shares of a mean by differences between runs with the same random numbers.

    Parameters
    ----------
    value_name : of the mean
    rerun : runs the model once more, at the values given and as long as asked, and gives its means
        over the batches
    base_result : the run that the answer was made of

    Source: common random numbers; Law, Simulation Modeling and Analysis, 4th ed., 2007, section
    11.2.
    """

    value_name: str
    rerun: Callable[[Mapping[str, float], Simulation], Array]
    base_result: Result

    def shares(
        self,
        mean: float,
        parameter_names: Sequence[str],
        point_values: Mapping[str, float],
        parameters: Mapping[str, Parameter],
    ) -> tuple[Gradient, dict[str, Value], str]:
        """Return the gradient, shares with intervals, and a note; each parameter takes two runs,
        and a parameter that is 0 has no share.

        Parameters
        ----------
        mean : what is differentiated
        parameter_names : of the parameters
        point_values : their values, in base units
        parameters : with their units
        """
        slope_by_parameter: dict[str, float] = {}
        share_values: dict[str, Value] = {}
        for parameter_name in parameter_names if mean else ():
            if not point_values[parameter_name]:
                continue
            elasticity = self._elasticity_by_batches(
                parameter_name, point_values[parameter_name], mean
            )
            time_power = parameters[parameter_name].dimension.time_power
            slope_by_parameter[parameter_name] = (
                elasticity.mean * mean / point_values[parameter_name]
            )
            share_ends = [
                None if end is None else time_power * end
                for end in (elasticity.low, elasticity.high)
            ]
            low, high = share_ends if time_power > 0 else reversed(share_ends)
            share_values[f"share[{self.value_name},{parameter_name}]"] = Value(
                time_power * elasticity.mean, "1", low, high
            )
        note = (
            f"shares of the largest {len(share_values)} by differences of {100 * STEP:g} % under"
            " common random numbers"
        )
        return (
            Gradient({self.value_name: slope_by_parameter}, point_values, parameters),
            share_values,
            note,
        )

    def _elasticity_by_batches(
        self, parameter_name: str, parameter_value: float, mean: float
    ) -> Estimate:
        """Estimate theta / T x dT/dtheta from two runs, batch by batch."""
        simulation = replace(self.base_result.settings, cycles=self.base_result.cycles)
        means_above, means_below = (
            self.rerun({parameter_name: parameter_value * (1 + relative_step)}, simulation)
            for relative_step in (STEP, -STEP)
        )
        # The last batches of both runs are compared, because their numbers of batches may differ.
        batch_count = min(len(means_above), len(means_below))
        # A central difference: its error falls with the square of the step.
        differences = (means_above[-batch_count:] - means_below[-batch_count:]) / (2 * STEP * mean)
        mean_slope = float(differences.mean())
        if batch_count < 2:
            return (
                Estimate(mean_slope, mean_slope, mean_slope)
                if self.base_result.stop_cause == "complete"
                else Estimate(mean_slope)
            )
        half_width = (
            t_quantile(self.base_result.settings.level, batch_count - 1)
            * float(differences.std(ddof=1))
            / math.sqrt(batch_count)
        )
        return Estimate(mean_slope, mean_slope - half_width, mean_slope + half_width)


def with_single_processor_values(
    values: dict[str, Value],
    single_processor: SingleProcessor,
    processor_count: float,
    parameter_values: Mapping[str, float],
    simulation: Simulation,
) -> dict[str, Value]:
    """Add the values that compare the time of a processor among others with its time alone.

    The efficiency zeta is at most 1, the interference phi at least 0, and so are the ends of their
    intervals. The times alone and among others are taken as independent; the intervals of their
    ratios follow to first order.

    Parameters
    ----------
    values : of the model, by simulation
    single_processor : the processor alone
    processor_count : of the model; of one alone, T_0 and T_N are the same run
    parameter_values : parameters that differ from the model's own, in base units
    simulation : of the simulation
    """
    time_alone = _time_alone(single_processor.model, parameter_values, simulation)
    time_among_others = values["time"]
    if not (time_alone.value and time_among_others.value):
        return values
    if processor_count == 1 or math.isclose(
        time_alone.value, time_among_others.value, rel_tol=ROUNDING
    ):
        # The same run is T_0 and T_N; or, without contention, they differ by the rounding of the
        # simulation's clock.
        time_alone = replace(time_alone, value=time_among_others.value)
    assert time_alone.value
    # Relative errors of independent estimates add up by their squares in a ratio.
    relative_error = (
        0.0
        if processor_count == 1
        else math.hypot(_relative_half_width(time_alone), _relative_half_width(time_among_others))
    )
    least_time = time_alone.value
    if time_among_others.value < least_time <= time_among_others.value * (1 + relative_error):
        # No competitor makes a grain faster, so that zeta is at most 1; a larger value is noise.
        least_time = time_among_others.value
    efficiency = float(GRAIN_EFFICIENCY.equation(least_time, time_among_others.value))
    interference = float(GRAIN_INTERFERENCE.equation(least_time, time_among_others.value))
    efficiency_value = _ratio_value(efficiency, relative_error * efficiency)
    interference_value = _ratio_value(interference, relative_error / efficiency)
    ratio_values = {
        "time_alone": time_alone,
        "grain_efficiency": efficiency_value
        if efficiency_value.high is None
        else replace(efficiency_value, high=min(efficiency_value.high, 1.0)),
        "grain_interference": interference_value
        if interference_value.low is None
        else replace(interference_value, low=max(interference_value.low, 0.0)),
    }
    if single_processor.words is not None:
        word_count = _number_at(single_processor.words, parameter_values)
        throughput = values["throughput"]
        warp_rate, low, high = (
            None if interval_end is None else word_count * interval_end
            for interval_end in (throughput.value, throughput.low, throughput.high)
        )
        ratio_values["warps"] = Value(warp_rate, "1/s", low, high)
    return {**values, **ratio_values}


def _time_alone(
    model: Model, parameter_values: Mapping[str, float], simulation: Simulation
) -> Value:
    """Return the time of a processor alone: by the closed form if it is exact, else simulated."""
    closed_form = ClosedForm(model)
    own_values = {
        name: value for name, value in parameter_values.items() if name in closed_form.parameters
    }
    answer = closed_form.points(own_values).answer(0, shares=False)
    if not answer.exact:
        return Answers(_solution(model, own_values, simulation)).answer(0).values["time"]
    time_alone = answer.values["time"]
    return replace(time_alone, low=time_alone.value, high=time_alone.value)


def _number_at(expression: Expr, parameter_values: Mapping[str, float]) -> float:
    """Return the number of an expression at some values of parameters, in base units."""
    tape = Tape([expression])
    return float(tape.run(selected_values(parameter_values, tape.parameters))[0][0])


def _relative_half_width(time: Value) -> float:
    """Return half the width of an interval relative to the mean; NaN without an interval."""
    if time.low is None or time.high is None:
        return math.nan
    assert time.value
    return (time.high - time.low) / 2 / time.value


def _ratio_value(value: float, half_width: float) -> Value:
    """Return a value with an interval of a given half-width; without an interval if that is NaN."""
    return (
        Value(value, "1")
        if math.isnan(half_width)
        else Value(value, "1", value - half_width, value + half_width)
    )


def _solution(
    model: Model, parameter_values: Mapping[str, float], simulation: Simulation
) -> Solution:
    """Simulate an activity at one point, and return the values estimated from the run."""
    flat_model = flatten(model, parameter_values)
    result = simulate(flat_model.plan, simulation)
    check_departures(result)
    _refuse_standstill(model, result)
    simulated_account = _SimulatedAccount(model, result)
    estimates = {
        **_time_estimates(model, flat_model, result),
        **_efficiency_estimates(model, flat_model, simulated_account),
        **_parallel_estimates(model, parameter_values, flat_model, simulated_account),
        **_resource_estimates(result),
        **_access_estimates(result),
        **_attempt_estimates(result),
        **_fairness_estimates(result),
    }
    values = {
        value_name: value_of_estimate(estimate, unit_of(value_name))
        for value_name, estimate in estimates.items()
    }
    if model.single:
        processor_count = _number_at(total(model.population.processor_counts), parameter_values)
        values = with_single_processor_values(
            values, model.single, processor_count, parameter_values, simulation
        )
    values |= {
        value_name: Value(counted_value, unit_of(value_name))
        for value_name, counted_value in model.counted.items()
    }
    remarks = Remarks(
        notes=(
            *(*notes_of(result), *flat_model.fraction_notes),
            *_overload_notes(model, parameter_values, values),
        ),
        seed=result.settings.seed,
        converged=result.converged,
        interrupted=result.stop_cause == "interrupted",
    )
    gradient = None
    if simulation.shares:
        gradient, shares, note = _shares(
            model, parameter_values, values["time"].value or 0.0, result, simulation
        )
        values = {**values, **shares}
        remarks = replace(remarks, notes=(*remarks.notes, note))
    account = {
        "account": simulated_account.estimates(simulated_account.labels.component),
        "technology": simulated_account.estimates(simulated_account.labels.technology),
        "step": simulated_account.estimates(
            lambda label: IDLE_PROCESSORS if label == IDLE else label
        ),
    }
    execution_times = {
        value_name: np.array([execution_time])
        for value_name, execution_time in flat_model.execution_times.items()
    }
    return replace(
        one_point_solution(model.name, values, remarks, gradient, account),
        exact=np.array([_is_exact(flat_model, result, estimates)]),
        once=execution_times,
        useful=model.useful,
        events={0: result.events},
    )


def _is_exact(flat_model: FlatModel, result: Result, estimates: Mapping[str, Estimate]) -> bool:
    """Return whether nothing is random and the cycles repeat, so that no interval has a width."""
    # Constant arrivals may give every cycle the same time though their number in the run is still
    # an estimate.
    throughputs = [estimates[name] for name in estimates if name.partition("[")[0] == "throughput"]
    return not flat_model.plan.is_random and all(
        map(_has_no_width, (result.mean_time(), *throughputs))
    )


def _refuse_standstill(model: Model, result: Result) -> None:
    """Raise if attempts that fail at once are made again and again while no time passes."""
    has_attempts = any(isinstance(node, Attempt) for node in distinct_activities(model.bodies))
    if not has_attempts or result.plan.is_program or not len(result.batches):
        return
    if not result.batches[-1, result.layout.time_column] > 0:
        reason = Unsolvable.with_advice(
            f"attempts of {model.name} fail and are made again at once, so that no time passes",
            "give the cycle a think time, or the attempt a back_off or something that takes time"
            " otherwise",
        )
        raise NoAnswerError(reason)


def _overload_notes(
    model: Model, parameter_values: Mapping[str, float], values: Mapping[str, Value]
) -> Iterator[str]:
    """Yield a note for each resource that may be overloaded by branches that no processor waits
    for, so that nothing slows down those that begin them.

    A run of any length has finite queues there, so the load is computed from the throughput: its
    service of one cycle is known.

    Raises
    ------
    NoAnswerError : a resource is asked for more
    """
    groups = model.population.groups if EARLY_JOINS in model.constructs else ()
    throughput_names = [
        f"throughput[{group.name}]" if len(groups) > 1 else "throughput" for group in groups
    ]
    try:
        work_of_groups = [
            demands(group.cycle, model) | held_times(group.cycle, model) for group in groups
        ]
    except NoAnswerError:  # what is asked depends on the state
        return
    nodes_with_branches = [
        node for node in list_parallel_nodes(model.bodies) if node.unawaited_children
    ]
    unawaited_nodes = [
        unawaited_node
        for node in nodes_with_branches
        for branch in node.unawaited_children
        for unawaited_node in steps(branch)
    ]
    resources_used = {
        resource_name for unawaited_node in unawaited_nodes for resource_name in unawaited_node.uses
    }
    for resource_name, resource in model.resources.items():
        if resource_name not in resources_used:
            continue
        work_expressions_at_resource = [
            work_of_group.get(resource_name, zero(TIME)) for work_of_group in work_of_groups
        ]
        tape = Tape(work_expressions_at_resource)
        columns = tape.run(selected_values(parameter_values, tape.parameters))
        low, mean_load, high = (
            sum(
                float(column[0])
                * (
                    getattr(values[throughput_name], interval_end)
                    or values[throughput_name].value
                    or 0.0
                )
                for throughput_name, column in zip(throughput_names, columns, strict=True)
                if throughput_name in values
            )
            / resource.capacity
            for interval_end in ("low", "value", "high")
        )
        if high < 1:
            continue
        description = (
            f"{resource.noun.split()[-1]} {resource_name} is asked for {mean_load:.4g} of its"
            " time, at"
            " branches that are not waited for too"
        )
        # At a bottleneck that all share the load is 1, and its estimate a little above or below.
        if mean_load - SURE_HALF_WIDTHS * (mean_load - low) > 1 + ROUNDING:
            raise NoAnswerError(
                f"{description}: what is begun there is more than it can do; begin less, or shorten"
                " it"
            )
        yield f"{description}: its queue may grow without end, and depends on the length of the run"


def one_point_solution(
    model_name: str,
    values: Mapping[str, Value],
    remarks: Remarks,
    gradient: Gradient | None,
    estimates_by_table: Mapping[str, Mapping[str, Estimate]],
) -> Solution:
    """Build the solution of one run from its values.

    Parameters
    ----------
    model_name : of the model
    values : with their intervals
    remarks, gradient : of the run
    estimates_by_table : seconds of a cycle, as ``account``, ``technology`` and ``step``
    """
    value_tables = {
        table_name: {
            entry_name: value_of_estimate(estimate, "s")
            for entry_name, estimate in estimates.items()
        }
        for table_name, estimates in estimates_by_table.items()
    }
    all_values = {
        **values,
        **{
            f"{table_name}[{entry_name}]": value
            for table_name, table_values in value_tables.items()
            for entry_name, value in table_values.items()
        },
    }

    def columns(value_by_name: Mapping[str, Value], value_part: str = "value") -> dict[str, Array]:
        # A value may lack a bound, and an array of numbers cannot hold None.
        number_by_name = {
            entry_name: getattr(value, value_part) for entry_name, value in value_by_name.items()
        }
        return {
            entry_name: np.array([math.nan if number is None else number])
            for entry_name, number in number_by_name.items()
        }

    return Solution(
        model=model_name,
        method=SIMULATION,
        values=columns(values),
        low=columns(all_values, "low"),
        high=columns(all_values, "high"),
        account=columns(value_tables.get("account", {})),
        technology=columns(value_tables.get("technology", {})),
        steps=columns(value_tables.get("step", {})),
        remarks=lambda _: remarks,
        gradient=None if gradient is None else lambda _: gradient,
        interrupted=remarks.interrupted,
    )


class _SimulatedAccount:
    """The account of a run: the seconds of a cycle by label; labels without time are left out.

    It adds up to the mean time. The cycles that ended are booked, and are scaled to the time of all
    customers (`slipstick.sim.estimate.weights_of_time`). Where a part of that time is in cycles
    that have not ended, it is spent in queues: it is booked to the waits of the resources, in
    proportion to the time waited there beyond what is booked.
    """

    def __init__(self, model: Model, result: Result) -> None:
        self.result = result
        self.layout = result.layout
        self.labels = Labels.from_model(model)
        self.time_weights = _cycle_time_weights(model, result)
        first_column = self.layout.first_label_columns[0]
        label_count = len(result.plan.labels)
        column_sums = result.batches.sum(axis=0)
        booked_weights = np.zeros(self.layout.column_count)
        booked_weights[first_column : first_column + label_count] = 1.0
        booked_time = float(column_sums @ booked_weights)
        has_unended = bool(result.unended_share())
        # Booked are the ended cycles; those cut off by the ends of the run scale them to all of the
        # time.
        scale_factor = (
            float(column_sums @ self.time_weights) / booked_time
            if booked_time and not has_unended
            else 1.0
        )
        self._weights = {
            label: scale_factor * self.layout.column_weights(first_column + label_index)
            for label_index, label in enumerate(result.plan.labels)
            if column_sums[first_column + label_index]
        }
        # Where customers starve, the time of cycles that never end is waiting, divided by resource.
        for label, share_of_unbooked in unbooked_waits(result).items() if has_unended else ():
            earlier_weights = self._weights.get(label, np.zeros(self.layout.column_count))
            self._weights[label] = earlier_weights + share_of_unbooked * (
                self.time_weights - booked_weights
            )

    def estimates(self, name_of_label: Callable[[str], str]) -> dict[str, Estimate]:
        """Estimate the seconds of a cycle, added up under the names that `name_of_label` gives the
        labels.
        """
        cycle_weights = self.layout.column_weights(self.layout.cycle_columns[0])
        return {
            name: self.result.estimated_ratio(label_weights, cycle_weights)
            for name, label_weights in self.weights(name_of_label).items()
        }

    def weights(self, name_of_label: Callable[[str], str]) -> dict[str, Array]:
        """Return the weights of the labels, added up under the names that `name_of_label` gives
        them, in the order of first appearance.
        """
        weights_by_name: dict[str, Array] = {}
        for label, weights in self._weights.items():
            summed_name = name_of_label(label)
            weights_by_name[summed_name] = (
                weights_by_name[summed_name] + weights
                if summed_name in weights_by_name
                else weights
            )
        return weights_by_name


def weights_of_waiting(result: Result, resource_index: int) -> Array:
    """Return weights of the statistics whose weighted sum is the time that customers waited at a
    resource. It is the time present less the time in service. Where holders take several permits,
    and at stations with rates, it is the sum of the waits that were counted.
    """
    plan = result.plan
    layout = result.layout
    lock_index = resource_index - len(plan.stations)
    if lock_index in plan.locks_of_several_permits:
        return layout.column_weights(layout.waiting_time_columns[lock_index])
    if resource_index in layout.extra_time_column_by_station:
        return layout.column_weights(layout.extra_time_column_by_station[resource_index])
    return layout.column_weights(
        layout.present_time_columns[resource_index]
    ) - layout.column_weights(layout.busy_time_columns[resource_index])


def unbooked_waits(result: Result) -> dict[str, float]:
    """Divide the waiting time that is in no ended cycle among the resources.

    Parameters
    ----------
    result : of a run in which customers starve

    Returns
    -------
    by the label of the wait, the part of each [1]
    """
    plan = result.plan
    layout = result.layout
    column_sums = result.batches.sum(axis=0)
    wait_labels = [f"wait:{station.name}" for station in plan.stations]
    wait_labels += [lock.label for lock in plan.locks]
    time_by_label: dict[str, float] = {}
    # All waiting time, of the cycles that ended and of those that did not.
    for resource_index, label in enumerate(wait_labels):
        waiting_time = float(column_sums @ weights_of_waiting(result, resource_index))
        time_by_label[label] = time_by_label.get(label, 0.0) + waiting_time
    # What is booked belongs to cycles that ended.
    for label in time_by_label:
        if label in plan.labels:
            booked_columns = np.array(layout.first_label_columns) + plan.labels.index(label)
            time_by_label[label] -= float(column_sums[booked_columns].sum())
    unbooked_by_label = {label: seconds for label, seconds in time_by_label.items() if seconds > 0}
    total_time = sum(unbooked_by_label.values())
    return {label: seconds / total_time for label, seconds in unbooked_by_label.items()}


def _cycle_time_weights(model: Model, result: Result) -> Array:
    """Return the weights of the statistics that add up to the time of the cycles of the first
    group, thinking included [s].
    """
    weight_function = weights_of_cycle_time if think_step(model.bodies[0]) else weights_of_time
    return weight_function(result.plan, result.batches, 0)


def _response_estimates(
    model: Model, flat_model: FlatModel, result: Result
) -> Iterator[tuple[str, Estimate]]:
    """Yield the response times of the groups that think or arrive, and the share of responses
    within the target of each group with a target.
    """
    group_by_name = {
        model_group.name or ALL: model_group for model_group in model.population.groups
    }
    for group_index, plan_group in enumerate(result.plan.groups):
        model_group = group_by_name.get(plan_group.name)
        if model_group is not None and model_group.has_response_time:
            yield labelled_name("response_time", model_group.name), result.mean_time(group_index)
            for level in QUANTILES:
                quantile = result.time_quantile(level, group_index)
                yield (
                    labelled_name("response_time_quantile", model_group.name, f"{level:g}"),
                    quantile,
                )
    index_by_name = {
        plan_group.name: group_index for group_index, plan_group in enumerate(result.plan.groups)
    }
    for group_name, target in flat_model.targets.items():
        if (index_of_group := index_by_name.get(group_name or ALL)) is not None:
            yield (
                labelled_name("within_target", group_name),
                result.share_within(target, index_of_group),
            )


def _time_estimates(model: Model, flat_model: FlatModel, result: Result) -> dict[str, Estimate]:
    """Estimate times and throughputs of the model and of its groups, and quantiles of times."""
    layout = result.layout
    has_thinking = think_step(model.bodies[0]) is not None
    first_time = result.cycle_time() if has_thinking else result.mean_time()
    estimates = {"time": first_time}
    if model.population.open:
        elapsed_weights = layout.column_weights(layout.time_column)
        estimates["throughput"] = result.estimated_ratio(
            layout.column_weights(layout.cycle_columns[0]), elapsed_weights
        )
    elif first_time.mean > 0:
        estimates["throughput"] = _throughput_of_members(flat_model.population, first_time)
    if model.population.groups and model.population.groups[0].name:
        group_by_name = {group.name: group for group in model.population.groups}
        for group_index, plan_group in enumerate(result.plan.groups):
            group_thinks = think_step(group_by_name[plan_group.name].cycle) is not None
            mean_time = (
                result.cycle_time(group_index) if group_thinks else result.mean_time(group_index)
            )
            estimates[f"time[{plan_group.name}]"] = mean_time
            estimates[f"throughput[{plan_group.name}]"] = (
                _throughput_of_members(len(plan_group.starts), mean_time)
                if plan_group.kind == "closed" and mean_time.mean > 0
                else result.estimated_ratio(
                    layout.column_weights(layout.cycle_columns[group_index]),
                    layout.column_weights(layout.time_column),
                )
            )
    cycle_by_name = cycle_by_group(model)
    for group_index, plan_group in enumerate(result.plan.groups[: len(cycle_by_name)]):
        group_name = plan_group.name if len(cycle_by_name) > 1 else ""
        if think_step(cycle_by_name[group_name]) is None:
            for level in QUANTILES:
                value_name = labelled_name("time_quantile", group_name, f"{level:g}")
                estimates[value_name] = result.time_quantile(level, group_index)
    return {**estimates, **dict(_response_estimates(model, flat_model, result))}


def _throughput_of_members(member_count: float, mean_time: Estimate) -> Estimate:
    """Return the cycles of members that are never away, N / T [1/s]: Little's law on the whole
    system.
    """
    # The reciprocal turns the ends of the interval around.
    low, high = (
        None if interval_end is None or interval_end <= 0 else member_count / interval_end
        for interval_end in (mean_time.high, mean_time.low)
    )
    return Estimate(member_count / mean_time.mean, low, high)


def _has_no_width(estimate: Estimate) -> bool:
    """Return whether the interval of an estimate has no width except by rounding."""
    return estimate.half_width <= ROUNDING * abs(estimate.mean)


def _efficiency_estimates(
    model: Model, flat_model: FlatModel, simulated_account: _SimulatedAccount
) -> dict[str, Estimate]:
    """Estimate efficiency, speed-up and the processors lost, from the account of a run."""
    result = simulated_account.result
    layout = simulated_account.layout
    time_weights = simulated_account.time_weights
    if model.population.open or not result.mean_time().mean > 0:
        return {}
    weights_by_component = simulated_account.weights(simulated_account.labels.component)
    estimates = {}
    if any(component in weights_by_component for component in model.useful):
        useful_weights = sum(
            (
                component_weights
                for component, component_weights in weights_by_component.items()
                if component in model.useful
            ),
            np.zeros(layout.column_count),
        )
        estimates["efficiency"] = result.estimated_ratio(useful_weights, time_weights)
        estimates["speedup"] = result.estimated_ratio(
            flat_model.population * useful_weights, time_weights
        )
    for component, component_weights in weights_by_component.items():
        if component not in model.useful:
            estimates[f"processors_lost[{component}]"] = result.estimated_ratio(
                flat_model.population * component_weights, time_weights
            )
    return estimates


def _parallel_estimates(
    model: Model,
    parameter_values: Mapping[str, float],
    flat_model: FlatModel,
    simulated_account: _SimulatedAccount,
) -> dict[str, Estimate]:
    """Estimate occupation, overlap and bubbles, and efficiency and speed-up where they differ from
    those that the account gives.

    The mean time of all executed steps is known from the model; times, the account and pipelines
    are from the run.
    """
    parallel_work = ParallelWork(model)
    result = simulated_account.result
    layout = simulated_account.layout
    weights_by_component = simulated_account.weights(simulated_account.labels.component)
    column_by_symbol = parallel_work.values_by_symbol(parameter_values)
    number_by_symbol = {symbol: float(column[0]) for symbol, column in column_by_symbol.items()}
    time_weights = simulated_account.time_weights
    cycle_weights = layout.column_weights(layout.cycle_columns[0])
    estimates = {}
    if ("work", "") in number_by_symbol and result.mean_time().mean > 0:
        useful_weights = flat_model.population * number_by_symbol["work", ""] * cycle_weights
        worker_count = float(parallel_work.worker_count(column_by_symbol, flat_model.population)[0])
        estimates["efficiency"] = result.estimated_ratio(
            useful_weights / worker_count, time_weights
        )
        estimates["speedup"] = result.estimated_ratio(useful_weights, time_weights)
    for component in parallel_work.components:
        work_weights = number_by_symbol["work of", component] * cycle_weights
        estimates[f"occupation[{component}]"] = result.estimated_ratio(work_weights, time_weights)
        overlap = result.estimated_ratio(
            work_weights - weights_by_component.get(component, 0.0), time_weights
        )
        # The difference of an expectation and what was seen may come out below nothing.
        is_zero = overlap.mean <= ROUNDING * estimates[f"occupation[{component}]"].mean
        upper_end = 0.0 if overlap.high is None or abs(overlap.high) <= ROUNDING else overlap.high
        estimates[f"overlap[{component}]"] = (
            Estimate(0.0, 0.0, max(upper_end, 0.0)) if is_zero else overlap
        )
    for pipeline_index, pipeline_name in enumerate(result.plan.pipelines):
        if pipeline_name in parallel_work.pipelines:
            place_time_weights = number_by_symbol["places", pipeline_name] * layout.column_weights(
                layout.execution_time_columns[pipeline_index]
            )
            idle_time_weights = place_time_weights - number_by_symbol[
                "stages", pipeline_name
            ] * layout.column_weights(layout.execution_columns[pipeline_index])
            # A pipeline that no run has executed has no bubble.
            if (result.batches @ place_time_weights).any():
                estimates[f"bubble[{pipeline_name}]"] = result.estimated_ratio(
                    idle_time_weights, place_time_weights
                )
    return estimates


def _resource_estimates(result: Result) -> dict[str, Estimate]:
    """Estimate use, queue and wait of each resource; copies, such as processors, count as one on
    average.
    """
    plan = result.plan
    layout = result.layout
    resource_names = plan.resources
    server_count_by_name = {station.name: station.servers for station in plan.stations} | {
        lock.name: lock.permits for lock in plan.locks
    }
    counter_names = {lock.name for lock in plan.locks if lock.noun == COUNTER}
    breaker_names = {lock.name for lock in plan.locks if lock.noun == BREAKER}
    elapsed_weights = layout.column_weights(layout.time_column)
    estimates = {}
    for resource_name in dict.fromkeys(resource_names):
        present_weights, busy_weights, departure_weights, waiting_weights = (
            np.zeros(layout.column_count) for _ in range(4)
        )
        for resource_index in (
            resource_index
            for resource_index, other_name in enumerate(resource_names)
            if other_name == resource_name
        ):
            waiting_weights += weights_of_waiting(result, resource_index)
            present_weights[layout.present_time_columns[resource_index]] = busy_weights[
                layout.busy_time_columns[resource_index]
            ] = departure_weights[layout.ended_visit_columns[resource_index]] = 1.0
        copy_count = resource_names.count(resource_name)
        given_up_columns = [
            layout.given_up_time_column_by_station[resource_index]
            for resource_index in layout.given_up_time_column_by_station
            if resource_names[resource_index] == resource_name
        ]
        if resource_name in counter_names:
            # What is in use of a counter are the units that are there.
            estimates[f"units[{resource_name}]"] = result.estimated_ratio(
                busy_weights, elapsed_weights
            )
            waiting_weights = present_weights
        elif resource_name in breaker_names:
            # It is in use while it is open; no visit waits there.
            estimates[f"open_share[{resource_name}]"] = result.estimated_ratio(
                busy_weights, elapsed_weights
            )
            continue
        elif server_count_by_name[resource_name] < MOST_HOLDERS:
            server_time_weights = elapsed_weights * server_count_by_name[resource_name] * copy_count
            estimates[f"utilization[{resource_name}]"] = result.estimated_ratio(
                busy_weights, server_time_weights
            )
            if given_up_columns:
                given_up_weights = np.zeros(layout.column_count)
                given_up_weights[given_up_columns] = 1.0
                estimates[f"wasted_utilization[{resource_name}]"] = result.estimated_ratio(
                    given_up_weights, server_time_weights
                )
                estimates[f"useful_utilization[{resource_name}]"] = result.estimated_ratio(
                    busy_weights - given_up_weights, server_time_weights
                )
        estimates[f"queue_length[{resource_name}]"] = result.estimated_ratio(
            present_weights, elapsed_weights * copy_count
        )
        # A resource that no visit has ended at has no mean wait.
        if result.batches @ departure_weights @ np.ones(len(result.batches)) > 0:
            estimates[f"wait[{resource_name}]"] = result.estimated_ratio(
                waiting_weights, departure_weights
            )
    return estimates


def _access_estimates(result: Result) -> dict[str, Estimate]:
    """Estimate, for each lock with a home node, the accesses to its words and flags per
    acquisition, from that node and from other nodes.
    """
    layout = result.layout
    estimates = {}
    lock_names = [lock.name for lock in result.plan.locks]
    for tally_index, (tally_kind, _, lock_name) in enumerate(
        tally.partition(":") for tally in result.plan.tallies
    ):
        if tally_kind == ACCESSES:
            acquisition_weights = layout.column_weights(
                layout.grant_columns[lock_names.index(lock_name)]
            )
            local_access_weights = layout.column_weights(layout.refusal_columns[tally_index])
            estimates[f"accesses[{lock_name},local]"] = result.estimated_ratio(
                local_access_weights, acquisition_weights
            )
            estimates[f"accesses[{lock_name},remote]"] = result.estimated_ratio(
                layout.column_weights(layout.try_columns[tally_index]) - local_access_weights,
                acquisition_weights,
            )
    return estimates


def _attempt_estimates(result: Result) -> dict[str, Estimate]:
    """Estimate for each resource that attempts visit the fraction of tries that are abandoned, the
    tries per attempt, and the rate of attempts that succeed. Estimate for each circuit breaker the
    fraction of tries that it refuses.
    """
    layout = result.layout
    estimates = {}
    weights_by_tally = {
        tuple(tally_name.split(":", 1)): (
            layout.column_weights(try_weights),
            layout.column_weights(refusal_weights),
        )
        for tally_name, try_weights, refusal_weights in zip(
            result.plan.tallies, layout.try_columns, layout.refusal_columns, strict=True
        )
    }
    for (tally_kind, resource_name), (try_weights, refusal_weights) in weights_by_tally.items():
        if tally_kind == TRIES:
            attempt_weights, given_up_weights = weights_by_tally[GIVEN_UP, resource_name]
            estimates[f"abandonment[{resource_name}]"] = result.estimated_ratio(
                refusal_weights, try_weights
            )
            estimates[f"amplification[{resource_name}]"] = result.estimated_ratio(
                try_weights, attempt_weights
            )
            success_weights = attempt_weights - given_up_weights
            elapsed_weights = layout.column_weights(layout.time_column)
            estimates[f"goodput[{resource_name}]"] = result.estimated_ratio(
                success_weights, elapsed_weights
            )
        if tally_kind == CONSULTED:
            estimates[f"refused_share[{resource_name}]"] = result.estimated_ratio(
                refusal_weights, try_weights
            )
    return estimates


def _fairness_estimates(result: Result) -> dict[str, Estimate]:
    r"""Estimate how evenly waits are spread, for each lock and for all locks together: Jain's
    index.

    W^2 / (n Q) of n waits, where W adds them up, from request until acquisition, and Q their
    squares: 1 where all waits are as long, 1 / n where one waits for all. The interval is that of
    the ratio of (2 W_b / W - n_b / n) to Q_b / Q over batches b, which is the same to first order.

    Source: Jain, Chiu and Hawe, DEC Research Report TR-301, 1984.
    """
    layout = result.layout
    index_by_lock = {
        lock.name: lock_index
        for lock_index, lock in enumerate(result.plan.locks)
        if lock.label.startswith("lock:")
    }
    indices_by_name = {
        "fairness": tuple(index_by_lock.values()),
        **{
            f"fairness[{lock_name}]": (lock_index,)
            for lock_name, lock_index in index_by_lock.items()
        },
    }
    column_sums = result.batches.sum(axis=0)
    estimates = {}
    for value_name, lock_indices in indices_by_name.items():
        count_weights, wait_weights, square_weights = (
            sum(
                (layout.column_weights(column_indexes[lock_index]) for lock_index in lock_indices),
                np.zeros(layout.column_count),
            )
            for column_indexes in (
                layout.grant_columns,
                layout.waiting_time_columns,
                layout.squared_wait_columns,
            )
        )
        wait_count, wait_sum, square_sum = (
            float(column_sums @ weights)
            for weights in (count_weights, wait_weights, square_weights)
        )
        if square_sum > 0:
            # The derivatives of w^2 / (n q) by w and n, so that the batches give its variance.
            fairness = wait_sum * wait_sum / (wait_count * square_sum)
            estimates[value_name] = result.estimated_ratio(
                2 * fairness / wait_sum * wait_weights - fairness / wait_count * count_weights,
                square_weights / square_sum,
            )
    return estimates


def _shares(
    model: Model,
    parameter_values: Mapping[str, float],
    mean_time: float,
    base_result: Result,
    simulation: Simulation,
) -> tuple[Gradient, dict[str, Value], str]:
    """Estimate shares by differences of simulations, for the parameters that have the largest
    shares in closed form.
    """
    closed_form = ClosedForm(model)
    # The closed form only ranks the parameters; each of those chosen costs two simulations.
    answer = closed_form.points(parameter_values).answer(0)
    ranked_shares = sorted(
        answer.share.get("time", {}).items(), key=lambda name_and_share: -abs(name_and_share[1])
    )[: simulation.shares]
    parameters = closed_form.tape.parameters

    def rerun(changed_values: Mapping[str, float], rerun_simulation: Simulation) -> Array:
        """Simulate again with some values changed, and return the mean time of each batch [s]."""
        result = simulate(
            flatten(model, {**parameter_values, **changed_values}).plan, rerun_simulation
        )
        time_sums = result.batches @ _cycle_time_weights(model, result)
        batch_means: Array = time_sums / result.batches[:, result.layout.cycle_columns[0]]
        return batch_means

    own_values = {
        parameter_name: parameter_values.get(parameter_name, parameter.value or 0.0)
        for parameter_name, parameter in parameters.items()
    }
    return Differences("time", rerun, base_result).shares(
        mean_time, [parameter_name for parameter_name, _ in ranked_shares], own_values, parameters
    )


class CompiledSimulation(CompiledModel):
    """A model that is simulated at each point by itself.

    Every point has the same streams of random numbers, so that points differ by what was varied and
    not by chance.

    Parameters
    ----------
    name : of the model
    quantity : what it gives first of all
    parameters : names of everything that can be varied
    solve : simulates at the values of one point
    """

    block_size = 1
    is_estimated = True

    def __init__(
        self,
        name: str,
        quantity: str,
        parameters: Sequence[str],
        solve: Callable[[Mapping[str, float]], Solution],
    ) -> None:
        self.name = name
        self.quantity = quantity
        self.parameters = tuple(parameters)
        self._solve = solve

    def solution(self, values: Values) -> Solution:
        """Simulate every point; each parameter has an array with a value for each point, or a
        single number.
        """
        columns = {
            parameter_name: np.atleast_1d(np.asarray(value, dtype=np.float64))
            for parameter_name, value in values.items()
        }
        point_count = max(map(len, columns.values()), default=1)
        broadcast_columns = {
            parameter_name: np.broadcast_to(column, (point_count,))
            for parameter_name, column in columns.items()
        }
        solutions = [
            self._solution_at(
                {
                    parameter_name: float(column[point_index])
                    for parameter_name, column in broadcast_columns.items()
                }
            )
            for point_index in range(point_count)
        ]
        return (
            solutions[0]
            if point_count == 1
            else join_solutions(
                [([point_index], solution) for point_index, solution in enumerate(solutions)]
            )
        )

    def _solution_at(self, values: Mapping[str, float]) -> Solution:
        """Simulate one point; a refusal becomes a solution without an answer."""
        try:
            return self._solve(values)
        except SlipstickError as error:
            refusal = Remarks(failed=str(error))
            empty_values = {self.quantity: np.array([math.nan])}
            return Solution(
                model=self.name, method=SIMULATION, values=empty_values, remarks=lambda _: refusal
            )


def simulation_of(model: Model, simulation: Simulation) -> CompiledSimulation:
    """Compile an activity for simulation; every value has its 95 % interval.

    Parameters
    ----------
    model : the system
    simulation : seed, precision and budget

    >>> from slipstick.model.activity import delay, service
    >>> from slipstick.model.system import closed_model
    >>> four = closed_model(
    ...     delay(9.0, name="work") >> service("bus", 3.0, component="wait"), processors=4
    ... )
    >>> answer = simulation_of(four, Simulation()).points({}).answer(0)
    >>> answer["time"], answer["throughput"], answer.account
    (12.0, 0.33, {'busy': 9.0, 'wait': 3.0})
    """
    parameter_names = tuple(Tape(model.expressions(with_unused_resources=True)).parameters)
    return CompiledSimulation(
        model.name, "time", parameter_names, lambda values: _solution(model, values, simulation)
    )
