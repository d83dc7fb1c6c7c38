"""Finite programs: phases of identical iterations, and supersteps in which each processor has an
activity of its own.

A phase ends with the slowest of its processors. Its iterations take the time of the steady state of
the processors that are still at work, except that all of them start together.

A superstep is as long as its slowest processor. Loads are averages over the superstep: a visit of
processor i to processor j finds each other customer k of j (j's own operations, and the requests of
the others, spread evenly) in service with probability U, for the residual time R, or waiting before
it::

    W[i,j] = sum over k of others (U[k,j] R[k,j] + X[k,j] W[k,j] S[k,j]),  R = E S^2 / (2 E S)

but at most k's whole service there over i's visits, because each service delays a visitor at most
once.

Source: Nanda and Ni, Supercomputing 1992, 20-29 (phases and transitions, T = T_S + sum (r_k t_k +
T_B), T_S a phase of one processor); Schweitzer, Int. Conf. on Stochastic Control and Optimization,
Amsterdam 1979, and Bard, Modelling and Performance Evaluation of Computer Systems, North-Holland
1979, 51-62 (arrival theorem at the mean loads of the population itself), here with one customer a
class. Checked by simulation of the programs in tests/workloads/application (usual error of
supersteps under 5 %) and tests/method/mean_value/test_programs.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from slipstick.errors import NoAnswerError
from slipstick.late import np
from slipstick.method.activity_form import ActivityTable
from slipstick.method.activity_numbers import reasons_not_whole, reasons_out_of_range
from slipstick.model.activity import Pipeline, Step
from slipstick.model.steps import MET, NOTHING, Activity, Combination, steps
from slipstick.model.system import (
    IDLE_PROCESSORS,
    Model,
    Phase,
    PhasedPopulation,
    Superstep,
    SuperstepPopulation,
    is_processor,
)
from slipstick.random_times import (
    Array,
    RandomTime,
    largest_at_points,
    limited_to_range,
    maximum_of_identical,
    repeated_time,
    sum_of_columns,
    without_zeros,
)
from slipstick.structure.visits import Numbers, executions_at_points
from slipstick_mean_value.closed import (
    MeanNumbers,
    Recursion,
    SolvedPopulation,
    without_negative_parts,
)
from slipstick_mean_value.traversal import (
    Traversal,
    is_contended,
    mean_end_times_in_order,
    time_from_common_start,
)

FIXED_POINT_STEPS, FIXED_POINT_TOLERANCE = 400, 1e-13
"""The largest number of steps of the iteration for the waits in a superstep, and the change,
relative to the time, that ends it [1].
"""

LARGEST_LAST_CHANGE = 1e-9
"""Last change, relative to the time, above which no fixed point was reached [1]."""

OWN, AWAY = "own", "away"
"""The names, within supersteps, of the queue at the processor's own station and of that at any
other processor.
"""


def solve_phases(model: Model, value_by_expr: Numbers, with_account: bool) -> ActivityTable:
    """Solve phases at all points: T = sum over phases of E max over processors of r iterations.

    Parameters
    ----------
    model : with a `PhasedPopulation`
    value_by_expr : every number of the model [points]
    with_account : also find the account and the use of each queue
    """
    assert isinstance(model.population, PhasedPopulation)
    phase_solvers = [_PhaseSolver(model, phase) for phase in model.population.phases]
    reason_by_point = reasons_out_of_range(model, value_by_expr)
    for phase_index, phase_solver in enumerate(phase_solvers):
        reason_by_point = {
            **reasons_not_whole(
                value_by_expr[phase_solver.phase.processors],
                f"the processors of phase {phase_index + 1}",
            ),
            **reason_by_point,
        }
    most_processors = largest_at_points(
        [value_by_expr[phase_solver.phase.processors] for phase_solver in phase_solvers]
    )
    program_table = ActivityTable(np.array(most_processors), reason_by_point)
    phase_tables = [
        phase_solver.solve(
            value_by_expr, most_processors, program_table.answerable_points, with_account
        )
        for phase_solver in phase_solvers
    ]
    program_table.time = sum_of_columns(phase_table.time for phase_table in phase_tables)
    program_time = np.where(program_table.time > 0, program_table.time, np.inf)
    for phase_table in phase_tables:
        program_table.pipeline_times.update(phase_table.pipeline_times)
        for label, column in phase_table.time_by_label.items():
            program_table.time_by_label[label] = (
                program_table.time_by_label.get(label, np.zeros(1)) + column
            )
        for queue_name, (
            busy_share,
            number_present,
            visit_rate,
            wait,
        ) in phase_table.use_by_queue.items():
            # The wait of a visit is weighted by the visits, all else by the times of the phases.
            weighted_visits = phase_table.time * visit_rate
            weighted_use = np.stack(
                [
                    phase_table.time * busy_share,
                    phase_table.time * number_present,
                    weighted_visits,
                    weighted_visits * wait,
                ]
            )
            program_table.use_by_queue[queue_name] = (
                program_table.use_by_queue.get(queue_name, np.zeros(1)) + weighted_use
            )
    for use_of_queue in program_table.use_by_queue.values():
        use_of_queue /= program_time
        use_of_queue[3] /= without_zeros(use_of_queue[2])
    if IDLE_PROCESSORS in program_table.time_by_label:
        # Removed and added again, so that it comes last.
        program_table.time_by_label[IDLE_PROCESSORS] = program_table.time_by_label.pop(
            IDLE_PROCESSORS
        )
    return program_table


class _PhaseSolver:
    """Solves one phase of a program with the steady state of its processors, at all points."""

    def __init__(self, model: Model, phase: Phase) -> None:
        self.model = model
        self.phase = phase
        self.recursion = Recursion(model, [phase.cycle])
        self._has_barriers = any(node.use == MET for node in steps(phase.cycle))

    def solve(
        self,
        value_by_expr: Numbers,
        most_processors: Array,
        point_indexes: Array,
        with_account: bool,
    ) -> ActivityTable:
        """Return the answers of the phase alone. The account is the mean over all processors of the
        program, those that are idle in this phase included.

        Parameters
        ----------
        value_by_expr : every number of the model [points]
        most_processors : processors of the program: the largest number of any phase [points]
        point_indexes : indexes of the points to solve
        with_account : also compute the account and the use of each queue
        """
        table = ActivityTable(np.array(most_processors), {})
        processors_expr = self.phase.processors
        processors_by_point = np.rint(value_by_expr[processors_expr].real)[:, None]
        for solved_population in self.recursion.solve(
            value_by_expr,
            processors_by_point,
            point_indexes,
            [processors_expr],
            every_population=True,
        ):
            # The waits are replaced by those of the phase, so a copy of them is used.
            cycle = replace(
                solved_population.state.first_cycle,
                visit_times=solved_population.state.first_cycle.visit_times.copy(),
            )
            solved_phase = replace(
                solved_population, state=replace(solved_population.state, cycles=(cycle,))
            )
            iterations = solved_population.value_by_expr[self.phase.repeat]
            phase_time = self._time_of_phase(solved_phase, iterations)
            booked_times, use_by_queue = (
                self._account_and_uses(solved_phase, phase_time, iterations)
                if with_account
                else ({}, {})
            )
            table.fill_in(
                solved_phase.point_indexes,
                solved_phase.row_by_point,
                phase_time,
                time_by_label=booked_times,
                use_by_queue=use_by_queue,
                pipeline_times=cycle.visit_times.pipeline_times,
            )
            if with_account:
                # The account above is that of a processor that takes part in the phase; the other
                # processors are idle.
                member_share = cycle.members / most_processors[solved_phase.point_indexes].real
                for column in table.time_by_label.values():
                    column[solved_phase.point_indexes] *= member_share
                table.time_by_label[IDLE_PROCESSORS][solved_phase.point_indexes] += (
                    1 - member_share
                ) * table.time[solved_phase.point_indexes]
        return table

    def _time_of_phase(self, solved_population: SolvedPopulation, iterations: Array) -> Array:
        """Return the time of the phase [s], and replace the waits of the solved population by the
        waits in this phase.

        The time is that of a phase that begins in the steady state (`_StaggeredEnd`), plus a start
        delay: the time by which a single iteration takes longer from the common start than in the
        steady state.
        """
        cycle = solved_population.state.first_cycle
        processors = solved_population.state.processors
        iterations_time = repeated_time(iterations, cycle.time)
        if self._has_barriers or processors == 1:
            # Barriers keep the processors together, so that all end at once.
            return iterations_time.mean
        traversal = Traversal(
            self.model, solved_population.value_by_expr, processors, cycle.visit_times.waits
        )
        traversal.visit_times = cycle.visit_times
        steady_waits = dict(cycle.visit_times.waits)
        synchronized_end = time_from_common_start(traversal, [self.recursion.tree.root], processors)
        if not is_contended([self.recursion.tree.root]):
            time_of_all_turns, time_of_one_turn = (
                maximum_of_identical(turn_time, np.full(1, float(processors))).mean
                for turn_time in (iterations_time, cycle.time)
            )
            return np.where(iterations.real == 1, time_of_one_turn, time_of_all_turns)
        end_of_one_turn, end_of_all_turns = (
            _StaggeredEnd(solved_population.cycle_time_by_processors, processor_time)
            for processor_time in (cycle.time, iterations_time)
        )
        start_delay = (
            end_of_one_turn.time if synchronized_end is None else synchronized_end.mean
        ) - end_of_one_turn.time
        staggered_end = end_of_all_turns.time + start_delay
        wait_factor = end_of_all_turns.relative_wait(iterations)
        staggered_time = np.where(
            iterations.real > 1, staggered_end, iterations * (end_of_one_turn.time + start_delay)
        )
        cycle.visit_times.waits = {
            visit_index: _first_or_second_time(
                iterations.real > 1, wait.scaled(wait_factor), cycle.visit_times.waits[visit_index]
            )
            for visit_index, wait in steady_waits.items()
        }
        # Operational: a phase is no shorter than the work of all its processors at any queue.
        work_by_queue = self.recursion.demand_by_queue(
            self.recursion.tree.visit_ratios(solved_population.value_by_expr),
            cycle.visit_times,
            processors,
        )
        return largest_at_points(
            [staggered_time, *(processors * iterations * work_time for work_time in work_by_queue)]
        )

    def _account_and_uses(
        self, solved_population: SolvedPopulation, phase_time: Array, iterations: Array
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Return the account of one processor that takes part in the phase: its time by label [s];
        and the use of each queue.
        """
        recursion = self.recursion
        cycle = solved_population.state.first_cycle
        booked_times = {
            label: iterations * seconds
            for label, seconds in recursion.account(solved_population).items()
        }
        mean_numbers = MeanNumbers()
        cycle_rate = cycle.members * iterations / np.where(phase_time > 0, phase_time, np.inf)
        mean_numbers.add_group(
            recursion.tree.visit_ratios(solved_population.value_by_expr),
            cycle_rate,
            cycle.visit_times,
        )
        booked_with_idle = without_negative_parts(
            {**booked_times, IDLE_PROCESSORS: phase_time - sum_of_columns(booked_times.values())}
        )
        return booked_with_idle, mean_numbers.use_by_queue(
            recursion.queues, solved_population.state.processors
        )


class _StaggeredEnd:
    """The end of a phase in the steady state: processors end one after the other, and those that
    remain run faster.

    Derived here: at the speed of all N processors, each takes an independent time V, the sum of its
    iterations. While only k of them are left, a cycle takes T(k) instead of T(N), so that the
    expected gaps g(N), g(N-1), ..., g(1) between the ends, numbered by k, shrink to g(k) T(k) /
    T(N). At a queue that is always busy T(k) is k times its service, and the sum of the gaps is N
    times the work of one processor there, as it must be; without queues T(k) = T(N), and it is the
    maximum of the times V. Against exact chains the error is 2 %
    (tests/method/mean_value/test_programs.py).

    Parameters
    ----------
    cycle_time_by_processors : T(1), ..., T(N) [s]
    time_of_iterations : V

    Attributes
    ----------
    time : mean time at which the last processor ends [s]
    mean_end : mean over the processors of the time at which each ends [s]
    """

    def __init__(
        self, cycle_time_by_processors: Sequence[Array], time_of_iterations: RandomTime
    ) -> None:
        self.cycle_time_by_processors = cycle_time_by_processors
        ordered_end_times = mean_end_times_in_order(
            time_of_iterations, len(cycle_time_by_processors)
        )
        # The order is from N down to 1, because the first gap passes while all processors work.
        cycle_times = np.stack(np.broadcast_arrays(*reversed(cycle_time_by_processors)), axis=-1)
        gaps = (
            np.diff(ordered_end_times, axis=-1, prepend=0)
            * cycle_times
            / without_zeros(cycle_time_by_processors[-1])[..., None]
        )
        working_share = np.arange(len(cycle_time_by_processors), 0, -1) / len(
            cycle_time_by_processors
        )
        self.time: Array = gaps.sum(axis=-1)
        self.mean_end: Array = (gaps * working_share).sum(axis=-1)

    def relative_wait(self, iterations: Array) -> Array:
        """Return the mean wait over the phase relative to the wait in the steady state of all
        processors [1]. It is at most 1, because waits become shorter as processors end.
        """
        longest_wait = self.cycle_time_by_processors[-1] - self.cycle_time_by_processors[0]
        relative_wait = (
            self.mean_end / np.where(iterations.real > 0, iterations, 1)
            - self.cycle_time_by_processors[0]
        ) / without_zeros(longest_wait)
        # Where more processors do not lengthen the cycle there is no wait to scale; a difference
        # below 1e-12 is rounding.
        return np.where(
            longest_wait.real > 1e-12 * self.cycle_time_by_processors[0].real,
            limited_to_range(relative_wait),
            1.0,
        )


def _first_or_second_time(
    takes_first: Array, first_time: RandomTime, second_time: RandomTime
) -> RandomTime:
    """Return the first time at the points where `takes_first` holds, and the second at the
    others.
    """
    return RandomTime(
        np.where(takes_first, first_time.mean, second_time.mean),
        np.where(takes_first, first_time.variance, second_time.variance),
    )


def solve_supersteps(model: Model, value_by_expr: Numbers, with_account: bool) -> ActivityTable:
    """Solve supersteps at all points: T = sum over supersteps of repeat x (largest time of a
    processor + time of the barrier).

    Parameters
    ----------
    model : with a `SuperstepPopulation`; without locks, barriers and forks
    value_by_expr : every number of the model [points]
    with_account : also find the account

    Notes
    -----
    As in the simulation, a processor's wait for other processors to handle its requests is booked
    apart from its service of the requests of others.
    """
    population = model.population
    assert isinstance(population, SuperstepPopulation)
    totals_reader = _TotalsReader(model, value_by_expr)
    superstep_totals = [
        _SuperstepSolver(totals_reader, superstep).solve(with_account)
        for superstep in population.supersteps
    ]
    program_time = sum_of_columns(totals["time", ""] for totals in superstep_totals)
    processor_column = np.full(
        len(next(iter(value_by_expr.values()))), float(population.processors)
    )
    table = ActivityTable(processor_column.astype(program_time.dtype), {})
    table.time[:] = program_time
    for total_key in dict.fromkeys(
        total_key for totals in superstep_totals for total_key in totals if total_key[0] == "step"
    ):
        table.time_by_label[total_key[1]] = 0 * processor_column + sum_of_columns(
            totals[total_key] for totals in superstep_totals if total_key in totals
        )
    return table


_ActivityTotals = dict[tuple[str, str], Array]
"""Sums over an activity without waits, by kind and by name of a step or queue.

``time``: time of the closed form [s]; ``step``: the part of each step in it [s]; and by queue
``waited``: visits on the path that ends last [1]; ``visits``: all visits [1]; ``service``: sum of
the service times of all visits [s]; ``square``: sum of the mean squares of these times [s^2]."""

_ON_PATH = ("time", "step", "waited")
"""The kinds of totals that count along the path that ends last; the other kinds count all
executions.
"""


def _add_times(
    totals: _ActivityTotals,
    added_totals: _ActivityTotals,
    executions_on_path: Array,
    executions: Array,
) -> None:
    """Add the totals of an activity to the totals of the activity that contains it.

    Parameters
    ----------
    totals : totals to which the others are added
    added_totals : totals of one execution of the contained activity
    executions_on_path : its executions on the path that ends last, for the kinds of `_ON_PATH` [1]
    executions : all its executions, for the other kinds [1]
    """
    for total_key, total_of_one in added_totals.items():
        added_total = (
            executions_on_path if total_key[0] in _ON_PATH else executions
        ) * total_of_one
        totals[total_key] = totals[total_key] + added_total if total_key in totals else added_total


class _TotalsReader:
    """Computes the totals of activities: times, visits and services without waits. An activity that
    several processors share is computed once.

    The time is that of the closed form. It is computed here term by term, because the numbers may
    be complex, which a tape of the closed form does not take.
    """

    def __init__(self, model: Model, value_by_expr: Numbers) -> None:
        self.model = model
        self.value_by_expr = value_by_expr
        self._totals_by_activity: dict[int, _ActivityTotals] = {}

    def totals(self, activity: Activity) -> _ActivityTotals:
        """Return the totals of one execution of an activity; compute them if they are not known."""
        if id(activity) not in self._totals_by_activity:
            self._totals_by_activity[id(activity)] = self._computed_totals(activity)
        return self._totals_by_activity[id(activity)]

    def _computed_totals(self, activity: Activity) -> _ActivityTotals:
        """Compute the totals of one execution of an activity."""
        one_visit = np.ones(1)
        totals = _ActivityTotals({("time", ""): np.zeros(1)})
        match activity:
            case Step(name, time_expression, queue_name):
                time = self.value_by_expr[time_expression]
                totals |= {("time", ""): time, ("step", name): time}
                if queue_name is not None:
                    queue_name = (
                        (OWN if queue_name == "own" else AWAY)
                        if is_processor(queue_name)
                        else queue_name
                    )
                    totals |= {
                        ("waited", queue_name): one_visit,
                        ("visits", queue_name): one_visit,
                        ("service", queue_name): time,
                    }
                    totals["square", queue_name] = time**2 * (1 + activity.scv)
                return totals
            case Pipeline():
                return self._totals_of_pipeline(activity)
            case _ if activity.combination is Combination.IN_TURN and activity.use == NOTHING:
                for count, child in activity.weighted_children:
                    executions = executions_at_points(count, self.value_by_expr)
                    _add_times(totals, self.totals(child), executions, executions)
                return totals
            case _:
                raise NoAnswerError(
                    f"mean-value cannot solve {activity.kind} in the supersteps of"
                    f" {self.model.name}; simulate it"
                )

    def _totals_of_pipeline(self, pipeline: Pipeline) -> _ActivityTotals:
        """Return the totals of a pipeline, as of a flow line: the time of one item in all stages,
        plus the time of the longest serial stage for each further item.
        """
        if not pipeline.identical:
            raise NoAnswerError(
                f"mean-value takes no pipeline of unlike items; {pipeline.name} has them,"
                " simulate it"
            )
        item_count = self.value_by_expr[pipeline.items]
        one_execution = np.ones(1)
        serial_flags_and_totals = [
            (stage.kind == "serial", self.totals(stage.bodies[0])) for stage in pipeline.stages
        ]
        stage_times = [stage_totals["time", ""] for _, stage_totals in serial_flags_and_totals]
        serial_times = [
            time
            for (is_serial, _), time in zip(serial_flags_and_totals, stage_times, strict=True)
            if is_serial
        ]
        longest_time = largest_at_points(serial_times or [np.zeros(1)])
        totals = _ActivityTotals({("time", ""): np.zeros(1)})
        has_bottleneck = False
        for (is_serial, stage_totals), time in zip(
            serial_flags_and_totals, stage_times, strict=True
        ):
            is_bottleneck = (
                is_serial and not has_bottleneck and bool(np.all(time.real == longest_time.real))
            )
            has_bottleneck = has_bottleneck or is_bottleneck
            _add_times(
                totals, stage_totals, item_count if is_bottleneck else one_execution, item_count
            )
        if any(is_serial for is_serial, _ in serial_flags_and_totals) and not has_bottleneck:
            # Where different stages are the longest at different points, the time is computed
            # here; its split by step is not right.
            totals["time", ""] = sum_of_columns(stage_times) + (item_count - 1) * longest_time
        return totals


def _may_wait_at(model: Model, station_name: str, processor_count: int) -> bool:
    """Return whether processors may wait at a station in a superstep; they may not if each of
    `processor_count` processors finds a server of its own.

    Raises
    ------
    NoAnswerError : there are several servers, but not one for each processor; the formula of the
        waits holds for one server
    """
    if station_name not in model.resources:  # the processors
        return True
    servers = model.resources[station_name].capacity
    if 1 < servers < processor_count:
        raise NoAnswerError(
            f"mean-value takes stations of one server, or of one for each processor, in supersteps;"
            f" {station_name} has {servers} for {processor_count}: simulate it"
        )
    return servers < processor_count


class _SuperstepSolver:
    """Solves one superstep. Its tables have a row for each processor [processors, points]."""

    def __init__(self, totals_reader: _TotalsReader, superstep: Superstep) -> None:
        self._totals_by_processor = [totals_reader.totals(body) for body in superstep.bodies]
        self._barrier_totals = totals_reader.totals(superstep.barrier)
        self._repeat = totals_reader.value_by_expr[superstep.repeat]
        self._model_name = totals_reader.model.name
        processors_by_queue = Counter(
            queue_name
            for processor_totals in self._totals_by_processor
            for total_kind, queue_name in processor_totals
            if total_kind == "visits"
        )
        self._queues = [
            queue_name
            for queue_name, processor_count in processors_by_queue.items()
            if _may_wait_at(totals_reader.model, queue_name, processor_count)
        ]
        self._times_without_waits = self._rows_of_processors("time", "")
        self._visits_on_path, self._visits, self._service_sums, self._square_sums = (
            {
                queue_name: self._rows_of_processors(total_kind, queue_name)
                for queue_name in self._queues
            }
            for total_kind in ("waited", "visits", "service", "square")
        )

    def _rows_of_processors(self, total_kind: str, queue_name: str) -> Array:
        """Return the totals of one kind at a queue, with a row for each processor; 0 for a
        processor that never visits the queue.
        """
        columns = (
            processor_totals.get((total_kind, queue_name), np.zeros(1))
            for processor_totals in self._totals_by_processor
        )
        return np.stack(np.broadcast_arrays(*columns))

    def solve(self, with_account: bool) -> _ActivityTotals:
        """Return the time of the superstep and, with `with_account`, the time that the mean
        processor spends in each step and wait [s].
        """
        totals_by_processor = self._totals_by_processor
        waits = self._waits_of_visit()
        times = self._times_of_processors(waits)
        longest_time = largest_at_points(list(times))
        totals = _ActivityTotals()
        if with_account:
            repeats_per_processor = self._repeat / len(totals_by_processor)
            for processor_totals in totals_by_processor:
                _add_times(totals, processor_totals, repeats_per_processor, repeats_per_processor)
            _add_times(totals, self._barrier_totals, self._repeat, self._repeat)
            for queue_name in self._queues:
                wait_name = {OWN: "wait:own", AWAY: "wait:other"}.get(
                    queue_name, f"wait:{queue_name}"
                )
                totals["step", wait_name] = repeats_per_processor * (
                    self._visits_on_path[queue_name] * waits[queue_name]
                ).sum(axis=0)
            totals["step", IDLE_PROCESSORS] = repeats_per_processor * (longest_time - times).sum(
                axis=0
            )
        totals["time", ""] = self._repeat * (longest_time + self._barrier_totals["time", ""])
        return totals

    def _times_of_processors(self, waits: Mapping[str, Array]) -> Array:
        """Return the time of each processor, with given waits at its visits [s] [processors,
        points].
        """
        times: Array = self._times_without_waits + sum(
            self._visits_on_path[queue_name] * waits[queue_name] for queue_name in self._queues
        )
        return times

    def _waits_of_visit(self) -> dict[str, Array]:
        """Return, by queue, the wait of one visit of each processor, with loads averaged over the
        superstep, by a fixed-point iteration [s] [processors, points].
        """
        waits = {queue: np.zeros((len(self._totals_by_processor), 1)) for queue in self._queues}
        relative_change = 0.0
        for _ in range(FIXED_POINT_STEPS):
            longest_time = largest_at_points(list(self._times_of_processors(waits)))
            # A superstep that takes no time has no loads: any divisor gives 0.
            longest_time = np.where(longest_time == 0, 1.0, longest_time)
            next_waits = self._next_waits(waits, longest_time)
            changes = (
                np.max(np.abs(next_waits[queue_name] - waits[queue_name]))
                for queue_name in next_waits
            )
            largest_change = max(map(float, changes), default=0.0)
            waits = {**waits, **next_waits}
            relative_change = largest_change / float(np.max(np.abs(longest_time)))
            if relative_change <= FIXED_POINT_TOLERANCE:
                return waits
        if relative_change > LARGEST_LAST_CHANGE:
            raise NoAnswerError(
                f"the waits in the supersteps of {self._model_name} do not settle: after"
                f" {FIXED_POINT_STEPS} steps they still change by {relative_change:.1g} of the"
                " time; simulate it"
            )
        return waits

    def _next_waits(self, waits: Mapping[str, Array], longest_time: Array) -> dict[str, Array]:
        """Return, by queue, the wait of each processor for the work of all other processors there:
        the remaining time of a visit in service and the services of visits that wait, each with its
        probability [s] [processors, points].

        Parameters
        ----------
        waits : waits of the iteration before [s]
        longest_time : time of the slowest processor with these waits [s]
        """
        work_left = {}
        for queue_name in self._queues:
            waiting_work = waits[queue_name] * self._service_sums[queue_name]
            work_left[queue_name] = (
                self._square_sums[queue_name] / 2 + waiting_work
            ) / longest_time
        new_waits = {
            queue_name: self._total_wait(queue_name, work_left[queue_name], queue_name)
            for queue_name in self._queues
            if queue_name not in (OWN, AWAY)
        }
        other_processors = len(self._totals_by_processor) - 1
        if other_processors and AWAY in work_left:
            work_left[AWAY] = work_left[AWAY] / other_processors
            # A visitor of another processor j finds there the operations of j itself, and the
            # requests of all processors but the visitor and j.
            new_waits[AWAY] = (
                self._total_wait(AWAY, work_left[AWAY], AWAY)
                * (other_processors - 1)
                / other_processors
            )
            if OWN in work_left:
                new_waits[AWAY] = (
                    self._total_wait(OWN, work_left[OWN], AWAY, other_processors) / other_processors
                    + new_waits[AWAY]
                )
                new_waits[OWN] = self._total_wait(AWAY, work_left[AWAY], OWN, 1 / other_processors)
        return new_waits

    def _total_wait(
        self, met_queue_name: str, work_left: Array, queue_name: str, visit_factor: float = 1.0
    ) -> Array:
        """Return the wait of one visit of each processor for the visits of all other processors
        [s] [processors, points]. Over all its visits, a processor waits for each other processor at
        most as long as that processor's whole service.

        Parameters
        ----------
        met_queue_name : queue of the visits of the other processors
        work_left : work of each other processor that a visit finds there [s] [processors, points]
        queue_name : queue of the visits of the processor that waits
        visit_factor : number of all its visits over the number of those that meet a certain other
            processor [1]
        """
        visit_counts = np.where(self._visits[queue_name].real > 0, self._visits[queue_name], 1.0)
        whole_service = visit_factor * self._service_sums[met_queue_name] / visit_counts[:, None]
        waits_by_pair = np.where(work_left.real <= whole_service.real, work_left, whole_service)
        # A processor does not wait for itself.
        waits_by_pair[np.diag_indices(len(waits_by_pair))] = 0
        total_wait: Array = waits_by_pair.sum(axis=1)
        return total_wait
