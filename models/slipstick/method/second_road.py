"""The second road: a short simulation checks each default answer that is not solved exactly. It is
called a second road because it shares nothing with the method that gave the answer.

Promises are given by what a model is made of; this checks the answer itself. Where the simulation
differs by more than is promised, the usual simulation answers, and the answer says what was
rejected; where it agrees the answer is checked; else the answer says what is known. Why this shape:
methods know nothing of it, and it knows of a method no more than its solution, so that it hooks
into the choice of methods at one place.

Of several points the two ends, the one nearest to a knee and two at random are checked; all
others too where one of them differs.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

from slipstick.answer import Rejected, Verdict, unit_of
from slipstick.errors import SlipstickError
from slipstick.expression.tape import Values, entry_at
from slipstick.late import Array, np
from slipstick.method.answers import TABLES, Solution, join_solutions
from slipstick.model.activity import (
    Ask,
    BarrierWait,
    Fork,
    Pipeline,
    Repeat,
    timed_steps,
)
from slipstick.model.network import QueueingNetwork
from slipstick.model.steps import ASKED, distinct_activities, is_parallel
from slipstick.model.system import Model
from slipstick.results.words import NO_WORDS
from slipstick.sim.settings import Simulation
from slipstick.vocabulary import (
    AGREED,
    CHECK_AGAIN,
    CHECK_ALL,
    CHECK_OFF,
    CLOSED_FORM,
    LINEARIZER,
    MEAN_VALUE,
    NOT_CHECKED,
    REPLACED,
    SCHWEITZER,
    UNDECIDED,
)

EVENTS = 80_000
"""The largest number of events of the short simulation of an activity: in 169 random models 27 %
were still undecided after them, 18 % after twice as many.
"""

NETWORK_FACTOR = 4
"""The factor on the events for queueing networks, whose approximation promises no error."""

CLOSED_FORM_EVENTS, MOST_PROCESSORS_CHECKED = 10_000, 64
"""Events of the short simulation of a closed form that is called exact, and the largest number of
processors for which there is one: nothing is random there, so that one cycle decides.
"""

FACTOR_OF_LONGER_RUN, SUSPICIOUS_TOLERANCE_PART = 4, 0.5
"""The factor on the events where the short simulation ends undecided. It is applied if the mean of
the run is farther off than this part of the tolerance, or if so many events are expected to decide.
"""

FACTOR_FOR_STREAMS, STREAM_TOLERANCE_PART = 10, 0.75
"""The same factor for streams, whose queues near saturation vary for long: 800,000 events take a
second of processor time. It is applied where the interval is expected to become this part of the
tolerance. At loads of 0.85 to 0.95 that decides few of them: after 80,000 events intervals of the
mean are 10 to 35 % wide on each side, and most need some millions of events.
"""

MOST_EVENTS_TO_DECIDE = 5_000_000
"""The largest number of events up to which the usual simulation decides where the short one ends
undecided with a mean outside of the tolerance. The number is estimated from the interval of the
short simulation, which is wider than that of the usual one.
"""

TOLERANCES = {"certain": 0.01, "close": 0.03, "usual": 0.04}
"""The relative differences that a check accepts: of an answer called exact, of one that promises
2 %, and of all others, of which 10 % are promised, or nothing [1].
"""

_CLOSE_PROMISE = 0.02
"""The largest promised error of an answer that is held to the tolerance "close" [1]."""
_RANDOM_POINTS = 2
"""Points of a sweep, drawn at random, that are checked beside its ends and its knee."""
_NARROW_WIDTH = 0.1
"""Width of the interval of a simulation, relative to its mean, up to which it confirms a value
inside [1]."""
_KNEE_UTILIZATION = 0.85
"""Utilization of the point that is nearest to a knee [1]."""

if TYPE_CHECKING:
    from slipstick.sim.plan.plan import Plan
    from slipstick.sim.short_check import CheckResult, Expected

SimulatePoints = Callable[[Values], Solution]
"""A function that answers points by the usual simulation."""


def check_solution(
    subject: Model | QueueingNetwork,
    values: Values,
    solution: Solution,
    simulation: Simulation,
    simulate: SimulatePoints,
) -> Solution:
    """Check a solution by a short simulation of some points; a point whose check contradicts the
    answer is answered by simulation.

    Parameters
    ----------
    subject : the system or the network
    values : of its parameters [points]
    solution : by the default method
    simulation : settings; `Simulation.check` says how many points are checked
    simulate : answers points by simulation
    """
    doubtful_indexes = _doubtful_points(subject, solution) if simulation.check != CHECK_OFF else []
    if not doubtful_indexes:
        return solution
    method_by_point = solution.methods or [solution.method] * solution.count
    verdict_by_checked_point: dict[int, Verdict] = {}
    chosen_indexes = (
        doubtful_indexes
        if simulation.check == CHECK_ALL
        else _chosen_points(solution, doubtful_indexes)
    )
    # All other points are simulated only after a chosen one was rejected: a method that errs once
    # may err elsewhere in the sweep.
    for indexes_of_round in (
        chosen_indexes,
        [point_index for point_index in doubtful_indexes if point_index not in chosen_indexes],
    ):
        if indexes_of_round is not chosen_indexes and not any(
            verdict.word == REPLACED for verdict in verdict_by_checked_point.values()
        ):
            break
        for point_index in indexes_of_round:
            verdict_by_checked_point[point_index] = _verdict_by_short_run(
                subject, _values_at_point(values, point_index), solution, point_index, simulation
            )
    checks_in_words = (
        f"{len(verdict_by_checked_point)} of {len(doubtful_indexes)} points were looked at"
    )
    verdict_by_point = {
        point_index: verdict_by_checked_point.get(
            point_index, Verdict(NOT_CHECKED, checks_in_words)
        )
        for point_index in doubtful_indexes
    }
    # A closed form adds up what the model states: only points that were checked have a verdict.
    settled_verdicts = (AGREED, REPLACED)
    verdict_by_point = {
        point_index: verdict
        for point_index, verdict in verdict_by_point.items()
        if method_by_point[point_index] != CLOSED_FORM or verdict.word in settled_verdicts
    }
    return _with_simulated_answers(values, solution, verdict_by_point, simulate)


def _with_simulated_answers(
    values: Values,
    solution: Solution,
    verdict_by_point: Mapping[int, Verdict],
    simulate: SimulatePoints,
) -> Solution:
    """Return a solution in which answers of the usual simulation replace rejected ones."""
    rejected_indexes = [
        point_index for point_index, verdict in verdict_by_point.items() if verdict.rejected
    ]
    simulated_solutions = []
    new_verdicts = dict(verdict_by_point)
    # A copy that can be written to, one flag for each point.
    is_exact = np.broadcast_to(solution.exact, (solution.count,)).copy()
    for point_index in rejected_indexes:
        simulated_answer = simulate(_values_at_point(values, point_index))
        remarks = simulated_answer.remarks_at(0)
        is_suspicion = verdict_by_point[point_index].word == UNDECIDED
        if is_suspicion and (remarks.failed or not remarks.converged):
            new_verdicts[point_index] = replace(verdict_by_point[point_index], rejected=None)
            continue
        if remarks.failed or remarks.interrupted:
            reason = f"simulation differs, but has no answer: {remarks.failed or 'interrupted'}"
            new_verdicts[point_index] = Verdict(UNDECIDED, reason)
            is_exact[point_index] = False  # the short simulation contradicts the method
            continue
        verdict = _verdict_by_simulation(verdict_by_point[point_index], simulated_answer)
        new_verdicts[point_index] = verdict
        if verdict.word == REPLACED:
            simulated_solutions.append(
                (point_index, replace(simulated_answer, checks={0: verdict}))
            )
    solution = replace(solution, checks=new_verdicts, exact=is_exact)
    if not simulated_solutions:
        return solution
    if solution.count == 1:
        return simulated_solutions[0][1]
    accepted_indexes = [
        point_index
        for point_index in range(solution.count)
        if point_index not in dict(simulated_solutions)
    ]
    accepted_pieces = [
        ([point_index], _solution_at_point(solution, point_index))
        for point_index in accepted_indexes
    ]
    return join_solutions(
        [
            *accepted_pieces,
            *(
                ([point_index], simulated_solution)
                for point_index, simulated_solution in simulated_solutions
            ),
        ]
    )


def _verdict_by_simulation(verdict: Verdict, simulated_answer: Solution) -> Verdict:
    """Return the verdict of the usual simulation on a value that the short check rejected. The
    usual simulation is longer and has other random streams; a value inside its interval is
    accepted.
    """
    rejected_answer = verdict.rejected
    if (
        rejected_answer is None
        or rejected_answer.name not in simulated_answer.values
        or rejected_answer.value is None
    ):
        return verdict
    means_and_ends = (simulated_answer.values, simulated_answer.low, simulated_answer.high)
    if not all(rejected_answer.name in column_by_name for column_by_name in means_and_ends):
        return verdict
    mean, low, high = (
        float(entry_at(column_by_name[rejected_answer.name], 0))
        for column_by_name in means_and_ends
    )
    if not mean > 0:
        return verdict
    percent = 100 * abs(rejected_answer.value / mean - 1)
    if low <= rejected_answer.value <= high and high - low <= _NARROW_WIDTH * mean:
        agreement_sentence = f"within {max(percent, 0.01):.2g} % of a simulation"
        return Verdict(AGREED, agreement_sentence, value=verdict.value, mean=mean)
    return replace(verdict, word=REPLACED, reason=f"{float(f'{percent:.2g}'):g} % off")


def _solution_at_point(solution: Solution, point_index: int) -> Solution:
    """Return the solution of one of the points alone."""

    def columns_at_point(columns: Mapping[str, Array]) -> dict[str, Array]:
        return {name: np.array([entry_at(column, point_index)]) for name, column in columns.items()}

    column_tables: dict[str, Any] = {
        name: columns_at_point(getattr(solution, name)) for name in TABLES
    }
    is_exact = np.array([bool(entry_at(solution.exact, point_index))])
    return replace(
        solution,
        count=1,
        methods=[solution.methods[point_index]] if solution.methods else [],
        exact=is_exact,
        stages={name: columns_at_point(stages) for name, stages in solution.stages.items()},
        errors={0: solution.errors[point_index]} if point_index in solution.errors else {},
        checks={0: solution.checks[point_index]} if point_index in solution.checks else {},
        detail=lambda _: (
            (solution, point_index) if solution.detail is None else solution.detail(point_index)
        ),
        **column_tables,
    )


def _values_at_point(values: Values, point_index: int) -> dict[str, float]:
    return {
        parameter_name: float(entry_at(np.ravel(column), point_index))
        for parameter_name, column in values.items()
    }


def _doubtful_points(subject: Model | QueueingNetwork, solution: Solution) -> list[int]:
    """List the points whose answers need a check: those by an approximation, and closed forms that
    may contain a maximum.
    """
    first_values = next(iter(solution.values.values()), np.full(1, np.nan))
    time_by_point = np.broadcast_to(first_values, (solution.count,))
    method_by_point = solution.methods or [solution.method] * solution.count
    approximate_methods = (MEAN_VALUE, LINEARIZER, SCHWEITZER)
    takes_maxima = isinstance(subject, Model) and _takes_maxima(subject)
    return [
        point_index
        for point_index in range(solution.count)
        if np.isfinite(time_by_point[point_index])
        and time_by_point[point_index] > 0
        and (
            method_by_point[point_index] in approximate_methods
            or (takes_maxima and method_by_point[point_index] == CLOSED_FORM)
        )
    ]


def _takes_maxima(model: Model) -> bool:
    """Return whether the closed form of a model may contain a maximum or a fractional count, which
    it could wrongly call exact.
    """
    node_types = (BarrierWait, Fork, Pipeline, Repeat, Ask)
    return any(isinstance(node, node_types) for node in distinct_activities(model.bodies))


def _chosen_points(solution: Solution, doubtful_indexes: list[int]) -> list[int]:
    """Select the points to check: both ends, the point nearest to a knee, and two at random."""
    largest_utilizations = _largest_utilizations(solution)
    index_at_knee = min(
        doubtful_indexes,
        key=lambda point_index: abs(
            float(entry_at(largest_utilizations, point_index)) - _KNEE_UTILIZATION
        ),
    )
    # Seeded by the number of points, so that the same sweep checks the same points.
    random_generator = random.Random(len(doubtful_indexes))
    random_indexes = random_generator.sample(
        doubtful_indexes, min(_RANDOM_POINTS, len(doubtful_indexes))
    )
    return list(
        dict.fromkeys([doubtful_indexes[0], doubtful_indexes[-1], index_at_knee, *random_indexes])
    )


def _largest_utilizations(solution: Solution) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Return the largest utilization of each point; 0 where there is none."""
    utilizations = [
        np.broadcast_to(column, (solution.count,))
        for name, column in solution.values.items()
        if name.startswith("utilization[")
    ]
    if not utilizations:
        return np.zeros(solution.count)
    utilization_table = np.stack(utilizations)
    return np.asarray(np.where(np.isnan(utilization_table), 0.0, utilization_table).max(axis=0))


def _verdict_by_short_run(
    subject: Model | QueueingNetwork,
    parameter_values: Mapping[str, float],
    solution: Solution,
    point_index: int,
    simulation: Simulation,
) -> Verdict:
    """Simulate one point shortly, and return the verdict on its answer."""
    from slipstick.sim.short_check import UNSETTLED, check_by_short_run
    from slipstick.sim.stored_checks import stored_check

    try:
        is_network = isinstance(subject, QueueingNetwork)
        plan, expected_by_group = (
            _plan_and_expectations_of_network if is_network else _plan_and_expectations_of_activity
        )(subject, parameter_values, solution, point_index)
        event_limit = EVENTS * (NETWORK_FACTOR if is_network else 1)
        if isinstance(simulation.check, int):
            event_limit = simulation.check
        # The events of one cycle grow with the processors, and a cycle must fit into the run.
        if _method_at(solution, point_index) == CLOSED_FORM:
            if plan.population > MOST_PROCESSORS_CHECKED:
                return Verdict(NOT_CHECKED, "it is added up of too many processors")
            # Closed forms are rarely wrong, so that their check is short.
            event_limit = min(event_limit, CLOSED_FORM_EVENTS)
        waits_and_utilizations = _waits_and_utilizations(plan, solution, point_index)
        simulate_shortly = check_by_short_run if simulation.check == CHECK_AGAIN else stored_check
        short_run = simulate_shortly(plan, expected_by_group, event_limit, waits_and_utilizations)
        if event_factor := _factor_of_longer_run(short_run, expected_by_group[short_run.group]):
            short_run = simulate_shortly(
                plan, expected_by_group, event_factor * event_limit, waits_and_utilizations
            )
    except SlipstickError as error:
        return Verdict(NOT_CHECKED, f"it is not simulated: {error}")
    except Exception as error:  # noqa: BLE001  # the answer stands without its check
        fault_text = f"{type(error).__name__}: {error}"
        return Verdict(NOT_CHECKED, f"the check failed, a fault of slipstick ({fault_text})")
    if short_run.verdict == UNSETTLED:
        return Verdict(NOT_CHECKED, f"{short_run.reason}, after {short_run.events:,} events")
    verdict = _verdict_of(short_run, plan, solution, point_index, waits_and_utilizations)
    if _is_worth_simulating(short_run, expected_by_group[short_run.group], simulation.precision):
        value_name, value = _mean_time_of_group(plan, short_run.group, solution, point_index)
        rejected = Rejected(_method_at(solution, point_index), value_name, value, "s")
        return replace(verdict, rejected=rejected)
    return verdict


def _is_worth_simulating(short_run: CheckResult, expected_time: Expected, precision: float) -> bool:
    """Return whether the usual simulation should decide on an answer: the mean of a short
    simulation that ended undecided contradicts the answer, and few events are expected to give the
    usual precision.
    """
    from slipstick.sim.short_check import UNDECIDED as IS_UNDECIDED

    if short_run.verdict != IS_UNDECIDED or short_run.value_name:
        return False
    relative_half_width = short_run.estimate.half_width / short_run.estimate.mean
    events_expected = short_run.events * max(relative_half_width / precision, 1.0) ** 2
    return (
        abs(short_run.relative_error) > expected_time.tolerance
        and events_expected <= MOST_EVENTS_TO_DECIDE
    )


def _factor_of_longer_run(short_run: CheckResult, expected_time: Expected) -> int:
    """Return by how much a short simulation without a verdict should be longer; 0 where a longer
    one is not worth it.

    It is worth it where its interval, which narrows with the root of the events, would be narrow
    enough, or where its difference is near the tolerance.
    """
    from slipstick.sim.short_check import AGREES, CERTAIN_HALF_WIDTH, DIFFERS, UNSETTLED

    is_stream = expected_time.least_cycles > 0
    if short_run.verdict in (AGREES, DIFFERS):
        return 0
    if short_run.verdict == UNSETTLED:
        return FACTOR_FOR_STREAMS if is_stream else FACTOR_OF_LONGER_RUN
    difference = abs(short_run.relative_error)
    relative_half_width = short_run.estimate.half_width / short_run.estimate.mean
    # Within a wide interval, most of the difference of a stream is noise.
    half_width_expected = relative_half_width / math.sqrt(FACTOR_FOR_STREAMS)
    if is_stream and half_width_expected <= STREAM_TOLERANCE_PART * expected_time.tolerance:
        return FACTOR_FOR_STREAMS
    half_width_needed = (
        CERTAIN_HALF_WIDTH if expected_time.is_exact else expected_time.tolerance - difference
    )
    is_worth_it = (
        difference > SUSPICIOUS_TOLERANCE_PART * expected_time.tolerance
        or relative_half_width <= math.sqrt(FACTOR_OF_LONGER_RUN) * half_width_needed
    )
    return FACTOR_OF_LONGER_RUN if is_worth_it else 0


def _method_at(solution: Solution, point_index: int) -> str:
    """Return the name of the method that answered a point."""
    return solution.methods[point_index] if solution.methods else solution.method


def _verdict_of(
    short_run: CheckResult,
    plan: Plan,
    solution: Solution,
    point_index: int,
    waits_and_utilizations: Mapping[str, float],
) -> Verdict:
    """Return the verdict on an answer after a short simulation that settled."""
    from slipstick.sim.short_check import AGREES, DIFFERS

    value_name, answer_value = _mean_time_of_group(plan, short_run.group, solution, point_index)
    unit = "s"
    if short_run.value_name:
        value_name = short_run.value_name
        answer_value = waits_and_utilizations[short_run.value_name]
        unit = unit_of(short_run.value_name)
    estimate = short_run.estimate
    if short_run.verdict == AGREES:
        percent = f"{max(100 * abs(short_run.relative_error), 0.01):.2g}"
        return Verdict(
            AGREED,
            f"within {percent} % of a short simulation",
            value=value_name,
            mean=estimate.mean,
            parts=_verdict_by_part(short_run.verdict_by_value),
        )
    half_width = estimate.half_width
    if short_run.verdict == DIFFERS:
        return Verdict(
            REPLACED,
            f"{float(f'{100 * abs(short_run.relative_error):.2g}'):g} % off"
            if estimate.mean
            else "none is seen",
            Rejected(_method_at(solution, point_index), value_name, answer_value, unit),
            value=value_name,
            mean=estimate.mean,
            half_width=half_width,
        )
    # Of several groups and resources the reader must know which is meant.
    value_in_words = f" for {NO_WORDS.value(value_name)}" if "[" in value_name else ""
    written_unit = f" {unit}" * (unit != "1")
    return Verdict(
        UNDECIDED,
        f"a short simulation says {estimate.mean:.4g} +-"
        f" {half_width:.2g}{written_unit}{value_in_words}",
        value=value_name,
        mean=estimate.mean,
        half_width=half_width,
        parts=_verdict_by_part(short_run.verdict_by_value),
    )


def _verdict_by_part(state_by_value: Mapping[str, str]) -> dict[str, str]:
    """Return the verdict on each wait and utilization that was compared."""
    from slipstick.sim.short_check import AGREES

    return {
        value_name: AGREED if state == AGREES else UNDECIDED
        for value_name, state in state_by_value.items()
    }


def _waits_and_utilizations(plan: Plan, solution: Solution, point_index: int) -> dict[str, float]:
    """Return the answer's wait of a visit at each resource of a plan, and the utilization of the
    resource [s, 1].
    """
    from slipstick.sim.short_check import UTILIZATION, WAIT

    value_names = [
        f"{value_kind}[{resource_name}]"
        for value_kind in (WAIT, UTILIZATION)
        for resource_name in plan.resources
    ]
    value_by_name = {
        value_name: float(entry_at(solution.values[value_name], point_index))
        for value_name in value_names
        if value_name in solution.values
    }
    return {value_name: value for value_name, value in value_by_name.items() if np.isfinite(value)}


Expectations: TypeAlias = "dict[int, Expected]"


def _plan_and_expectations_of_activity(
    model: Model | QueueingNetwork,
    parameter_values: Mapping[str, float],
    solution: Solution,
    point_index: int,
) -> tuple[Plan, Expectations]:
    """Return the plan of an activity, and the expected mean times of its groups."""
    from slipstick.method.simulation.flatten import flatten
    from slipstick.sim.short_check import Expected

    assert isinstance(model, Model)
    plan = flatten(model, parameter_values).plan
    is_exact = bool(entry_at(solution.exact, point_index))
    promise = None if is_exact else solution.remarks_at(point_index).promise
    is_close = promise is not None and promise <= _CLOSE_PROMISE
    tolerance_name = "certain" if is_exact else "close" if is_close else "usual"
    mean_by_step: dict[str, float] = {}
    execution_times = {
        time_name: float(entry_at(column, point_index))
        for time_name, column in solution.once.items()
    }
    if len(plan.groups) == 1:
        # Known means of steps are control variates: they take their own noise out of the estimate.
        # An account follows only one of parallel branches and of the tasks of a pool.
        names_in_branches = {
            step.name
            for node in distinct_activities(model.bodies)
            if is_parallel(node) or node.use == ASKED
            for step in timed_steps([node])
        }
        step_columns = {
            time_name: solution.steps[time_name]
            for time_name in solution.once
            if time_name in solution.steps and time_name not in names_in_branches
        }
        mean_by_step = {
            time_name: float(entry_at(column, point_index))
            for time_name, column in step_columns.items()
        }
    cycles_needed = _needed_cycle_count(solution, point_index)
    expected_by_group = {}
    for group_index, group in enumerate(plan.groups):
        time_name, mean_time = _mean_time_of_group(plan, group_index, solution, point_index)
        if np.isfinite(mean_time):
            cycles_of_group = cycles_needed if group.kind == "open" else 0.0
            # A response time has no think time, of which the known steps may be.
            known_steps = {} if time_name.startswith("response_time") else mean_by_step
            expected_by_group[group_index] = Expected(
                mean_time,
                TOLERANCES[tolerance_name],
                is_exact,
                cycles_of_group,
                known_steps,
                execution_times,
            )
    return plan, expected_by_group


def _plan_and_expectations_of_network(
    model: Model | QueueingNetwork,
    parameter_values: Mapping[str, float],
    solution: Solution,
    point_index: int,
) -> tuple[Plan, Expectations]:
    """Return the plan of a network, and the expected mean times of its chains."""
    from slipstick.method.networks.arrays import NetworkLayout
    from slipstick.method.networks.blocking import flat_network
    from slipstick.sim.short_check import Expected

    assert isinstance(model, QueueingNetwork)
    planned_network = flat_network(NetworkLayout(model), parameter_values)
    cycles_needed = _needed_cycle_count(solution, point_index)
    expected_by_group = {}
    for group_index, group in enumerate(planned_network.plan.groups):
        _, mean_time = _mean_time_of_group(planned_network.plan, group_index, solution, point_index)
        if np.isfinite(mean_time):
            cycles_of_group = cycles_needed if group.kind == "open" else 0.0
            step_times, execution_times = planned_network.known_times(group.name)
            expected_by_group[group_index] = Expected(
                mean_time, TOLERANCES["usual"], False, cycles_of_group, step_times, execution_times
            )
    return planned_network.plan, expected_by_group


def _name_of_time(plan: Plan, group_index: int, solution: Solution) -> str:
    """Return the name under which a solution has the mean time of a group; empty if it has none."""
    group_name = plan.groups[group_index].name
    plain_names = [] if group_index else ["response_time", "time"]
    for time_name in (f"response_time[{group_name}]", f"time[{group_name}]", *plain_names):
        if time_name in solution.values:
            return time_name
    return ""


def _mean_time_of_group(
    plan: Plan, group_index: int, solution: Solution, point_index: int
) -> tuple[str, float]:
    """Return the name and the value of the mean time of a group; NaN if it has none."""
    time_name = _name_of_time(plan, group_index, solution)
    column = solution.values.get(time_name)
    return time_name, float("nan") if column is None else float(entry_at(column, point_index))


def _needed_cycle_count(solution: Solution, point_index: int) -> float:
    """Return the number of requests of a stream after which a run is in steady state: 100 / (1 -
    load)^2.
    """
    # At a load of 1 no run is long enough.
    largest_utilization = min(float(entry_at(_largest_utilizations(solution), point_index)), 0.9999)
    return 100.0 / (1.0 - largest_utilization) ** 2
