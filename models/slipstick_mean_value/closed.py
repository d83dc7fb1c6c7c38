"""Closed populations: N processors that repeat a cycle, or groups of them, each with a cycle of its
own.

Where every station has product form, the exact solver of queueing networks answers; else the
mean-value recursion. An arriving processor of group r finds the mean numbers of the population with
one processor fewer of r. So the waits follow from those numbers, the time T_r of a cycle from the
waits and the activity, and the mean numbers at each visit from Little's law, n_r R / T_r. The
recursion computes all populations up to the one asked for, prod (N_r + 1) of them, N for a single
group. It needs no convergence, and gives the whole curve over N; only for more than
`MOST_ONE_BY_ONE` processors it begins at a fixed point, a few sqrt(N) processors before. Exact in
product form, else approximate as `visits` says.

Source: Reiser and Lavenberg, J. ACM 27(2), 1980, 313-322.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from typing import cast

from slipstick.errors import NoAnswerError
from slipstick.expression.nodes import Expr, Parameter
from slipstick.late import dataclass, np, replace
from slipstick.limits import WorkPace, check_cost
from slipstick.method.activity_form import ActivityTable
from slipstick.method.activity_numbers import (
    MOST_PROCESSORS,
    reasons_not_whole,
    reasons_out_of_range,
)
from slipstick.method.answers import COMPLEX_STEP
from slipstick.model.activity import (
    Choice,
)
from slipstick.model.steps import (
    ALWAYS,
    HELD,
    MET,
    SERVED,
    Activity,
    Combination,
    requested_resource,
    steps,
)
from slipstick.model.system import BARRIER, Model, Station, is_processor
from slipstick.queueing.residual_wait import (
    finite_source_numbers_up_to_servers,
    finite_source_residual,
    residual_time,
)
from slipstick.random_times import (
    LEAST_VARIED,
    ZERO_TIME,
    Array,
    RandomTime,
    limited_to_range,
    sum_of_columns,
    without_zeros,
)
from slipstick.structure.visits import (
    OTHER_PROCESSORS,
    PROCESSORS,
    Numbers,
    Places,
    Visit,
    VisitedHold,
    VisitedStep,
    VisitTree,
    mean_service,
    visit_trees,
    visits_of_tree_part,
    without_holding,
)
from slipstick.vocabulary import DISCIPLINES, OVERTAKING_DISCIPLINES
from slipstick_mean_value.arrivals import (
    ArrivalState,
    ArrivalWaits,
    ByPlace,
    PairTimes,
    all_busy_probability,
    whole_service_weight,
)
from slipstick_mean_value.in_a_row import SuccessiveVisits, successive_visits
from slipstick_mean_value.product_form import network_of_groups, product_form_points
from slipstick_mean_value.queues import LumpedActivities, Queue, lump_alike_resources, queues_of
from slipstick_mean_value.shared_locks import reader_writer_waits
from slipstick_mean_value.spin_locks import SpinLock
from slipstick_mean_value.states import (
    CycleState,
    Members,
    Population,
    PopulationState,
    batches,
    single_states,
    stacked_states,
)
from slipstick_mean_value.traversal import MOST_FOLLOWED, Traversal, VisitTimes, cycle_time

NEWTON_STEPS = 12
"""Number of steps of Newton's method, which doubles the number of correct digits with each."""

FULL_UTILIZATION = 1 + 1e-12
"""Utilization from which on a queue is taken as overloaded; rounding errors stay below it."""

MOST_AT_ONCE = 4096
"""Largest product of the number of labels and the number of rows that are computed together."""

MOST_ONE_BY_ONE = 1_000
"""Largest number of processors that are counted one by one from the first on."""

LAST_ONE_BY_ONE = 1_000
"""Largest number of processors of a larger population that are counted one by one, after the fixed
point.
"""

MOST_ITERATIONS = 4_000
"""Largest number of iterations to that fixed point, 1 s for one station; after them there is no
answer.
"""

MOST_SHARING = 256
"""Largest number of processors in a model with a reader-writer lock: each step of the recursion
takes 6 ms for each parameter.
"""

WINDOW_LENGTH, SETTLED_SPREAD, CYCLING_CHANGE = 64, 1e-4, 1e-3
"""Criteria of the iteration to that fixed point: the number of successive cycle times that are
compared; their relative spread below which the state has settled [1]; and the relative change of
the spread, from one window to the next, below which the iteration is a limit cycle [1]."""


def select_points(
    value_by_expr: Numbers, point_indexes: Sequence[int] | Array
) -> dict[Expr, Array]:
    """Return the values of each expression at some of the points only."""
    return {expr: column[point_indexes] for expr, column in value_by_expr.items()}


@dataclass(frozen=True, slots=True)
class SolvedPopulation:
    """The solved state of one population, for the points that have this population.

    Points that differ in nothing else share a row of the arrays.

    Parameters
    ----------
    state : the state [rows]
    value_by_expr : every number of the model [rows]
    point_indexes : indexes of the points that have this population
    row_by_point : the row of each of these points
    cycle_time_by_processors : for a single group, the mean time of a cycle with 1, 2, ...
        processors up to this population [s]
    """

    state: PopulationState
    value_by_expr: Numbers
    point_indexes: Array
    row_by_point: Array
    cycle_time_by_processors: Sequence[Array] = ()


def solve_closed(model: Model, value_by_expr: Numbers, with_account: bool) -> ActivityTable:
    """Solve a closed population at all points; in a model with several groups, time and account
    describe the first group.

    Parameters
    ----------
    model : with a `ClosedPopulation`
    value_by_expr : every number of the model [points]
    with_account : also compute the account and the use of each queue
    """
    groups = model.population.groups
    recursion = Recursion(model, model.bodies)
    table = ActivityTable(
        np.array(value_by_expr[groups[0].processors]),
        _unsolvable_number_reasons(model, value_by_expr),
    )
    processors_of_groups = [np.rint(value_by_expr[group.processors].real) for group in groups]
    processors_by_point = np.stack(processors_of_groups, axis=-1)
    is_in_product_form = product_form_points(
        model, recursion.trees, recursion.queues, value_by_expr
    )[table.answerable_points]
    exact_points = table.answerable_points[is_in_product_form]
    approximate_points = table.answerable_points[~is_in_product_form]
    for solved_population in _exact_populations(
        recursion, value_by_expr, processors_by_point, exact_points
    ):
        _write_answers(
            table,
            solved_population,
            recursion,
            recursion,
            LumpedActivities(model.bodies),
            with_account,
        )
    if len(groups) > 1 and len(approximate_points) and (reason := _unsolvable_groups_reason(model)):
        table.refuse(dict.fromkeys(approximate_points.tolist(), reason), another_may_answer=True)
    elif len(approximate_points):
        lumping = lump_alike_resources(model.bodies, model)
        lumped_recursion = recursion
        if lumping.copies_by_resource:
            lumped_recursion = Recursion(model, lumping.activities, lumping.copies_by_resource)
            value_by_expr = _with_lumped_probabilities(value_by_expr, lumping)
        unsolved_points = {*approximate_points.tolist()}
        try:
            for solved_population in lumped_recursion.solve(
                value_by_expr,
                processors_by_point,
                approximate_points,
                model.population.processor_counts,
            ):
                _write_answers(
                    table, solved_population, lumped_recursion, recursion, lumping, with_account
                )
                unsolved_points -= {*solved_population.point_indexes.tolist()}
        except NoAnswerError as error:
            # Populations that were solved before keep their answers.
            table.refuse(dict.fromkeys(sorted(unsolved_points), str(error)))
    return table


def _unsolvable_number_reasons(model: Model, value_by_expr: Numbers) -> dict[int, str]:
    """Return, by the index of the point, why its numbers allow no answer: a number is out of its
    range, or a number of processors is not whole or is too large.
    """
    reason_by_point = reasons_out_of_range(model, value_by_expr)
    uses_shared_locks = any(node.mode for body in model.bodies for node in steps(body))
    most_processors = MOST_SHARING if uses_shared_locks else MOST_PROCESSORS
    for group_index, group in enumerate(model.population.groups):
        number_in_words = (
            f"the processors of group {group.name}"
            if group.name
            else f"the population of {model.name}"
        )
        # Only the first group, whose time is the answer, must have a processor.
        least_processors = int(group_index == 0)
        reasons_of_counts = reasons_not_whole(
            value_by_expr[group.processors],
            number_in_words,
            least_count=least_processors,
            most_count=most_processors,
        )
        # A point keeps its first reason: a number out of its range goes before a count.
        reason_by_point = {**reasons_of_counts, **reason_by_point}
    return reason_by_point


def _with_lumped_probabilities(value_by_expr: Numbers, lumping: LumpedActivities) -> Numbers:
    """Return the numbers of a model with the probabilities of lumped options: an option that stands
    for several alike ones has the probability of all of them.
    """
    lumped_probabilities = {
        expression: option_count * value_by_expr[probability]
        for expression, (probability, option_count) in lumping.options_by_probability.items()
    }
    return {**value_by_expr, **lumped_probabilities}


def _write_answers(
    table: ActivityTable,
    solved_population: SolvedPopulation,
    recursion: Recursion,
    unlumped_recursion: Recursion,
    lumping: LumpedActivities,
    with_account: bool,
) -> None:
    """Write the answers of one population into the table, at the points that have this population.

    Parameters
    ----------
    table : table of the answers at all points
    solved_population : the population and its state
    recursion : the recursion that solved it, in which alike resources may be lumped
    unlumped_recursion : the recursion in which every resource stands for itself
    lumping : the resources that are lumped
    with_account : also write the account and the use of each queue
    """
    groups = unlumped_recursion.model.population.groups
    cycle_time_by_group = {
        group.name: cycle.time.mean
        for group, cycle in zip(groups, solved_population.state.cycles, strict=True)
        if group.name and cycle is not None
    }
    booked_time_by_label = {}
    use_by_queue = {}
    if with_account:
        queue_names = [queue.name for queue in unlumped_recursion.queues]
        booked_time_by_label = lumping.divide_account(
            recursion.account(solved_population), unlumped_recursion.labels
        )
        use_by_queue = lumping.copy_uses(recursion.use_by_queue(solved_population), queue_names)
    first_cycle = solved_population.state.first_cycle
    table.fill_in(
        solved_population.point_indexes,
        solved_population.row_by_point,
        first_cycle.time.mean,
        time_by_label=booked_time_by_label,
        use_by_queue=use_by_queue,
        time_by_group=cycle_time_by_group,
        pipeline_times=first_cycle.visit_times.pipeline_times,
    )


def _unsolvable_groups_reason(model: Model) -> str:
    """Return why mean value has no answer for several groups: they meet at a barrier, or use a
    station whose discipline lets customers overtake each other. Return an empty text if there is no
    such reason.
    """
    nodes = (node for body in model.bodies for node in steps(body))
    barrier_names = [
        barrier_name for node in nodes if node.use == MET for barrier_name in node.uses
    ]
    discipline_by_station = {
        station_name: station.discipline
        for station_name, station in model.resources.items()
        if isinstance(station, Station)
    }
    reasons = [
        f"barrier {barrier_name} is met by groups whose cycles differ"
        for barrier_name in barrier_names
    ]
    reasons += [
        f"{station_name} is {DISCIPLINES[discipline].title}, where groups wait unequally long"
        for station_name, discipline in discipline_by_station.items()
        if discipline in OVERTAKING_DISCIPLINES
    ]
    return f"{reasons[0]}; mean-value has no answer for that, simulation may" if reasons else ""


def _different_branch_count(fork: Activity) -> int:
    """Count the branches of a fork that differ in the resources that they use. Branches that use
    the same resources need only one integral for the maximum of their times.
    """
    requests_of_branches = (
        tuple(requested_resource(node) for node in steps(branch) if node.use in (SERVED, HELD))
        for branch in fork.children
    )
    return len(set(requests_of_branches))


class Recursion:
    """The recursion of the arrival theorem over the populations of one or several groups.

    Parameters
    ----------
    model : the system
    activities : the cycle of each group
    copies_by_resource : names of the alike resources that one resource stands for, by its name
    trees : the visits of each activity; if not given, they are found from the activities

    Attributes
    ----------
    queues : stations, locks and processors that the activities use
    spin_locks : the spin locks among the queues
    """

    def __init__(
        self,
        model: Model,
        activities: Sequence[Activity],
        copies_by_resource: Mapping[str, Sequence[str]] | None = None,
        trees: Sequence[VisitTree] | None = None,
    ) -> None:
        self.model = model
        self.activities = tuple(activities)
        self._copies_by_resource = copies_by_resource
        self.trees = trees or visit_trees(activities, model)
        # Both counts are checked before any work, because the time and the memory of a step of the
        # recursion grow with them.
        visit_count = sum(len(tree.visits) for tree in self.trees)
        check_cost(
            "visits",
            visit_count,
            f"mean-value would follow {visit_count} visits to resources",
            "simulate it",
        )
        nodes_with_branches = (
            node
            for activity in activities
            for node in steps(activity)
            if node.combination is Combination.LONGEST
        )
        branch_count = max(map(_different_branch_count, nodes_with_branches), default=0)
        check_cost(
            "branches",
            branch_count,
            f"mean-value would join {branch_count} branches that use different resources",
            "simulate it",
        )
        self.queues = queues_of(model, self.trees, copies_by_resource or {})
        self.spin_locks = tuple(
            SpinLock(model, queue, self.queues) for queue in self.queues if queue.is_spin_lock
        )
        self._expressions_read = frozenset(model.expressions_of(activities))

    @cached_property
    def isolated_permits(self) -> list[tuple[Queue, Recursion]]:
        """Return the permits whose holders wait only for each other, each with a recursion over
        these holders alone.

        The queues used while such a permit is held have no other visits, and nothing else is held
        when it is acquired. The cycle of the recursion is the activity under the permit, with one
        option for each place of the model at which a permit is acquired.
        """
        permits_and_recursions: list[tuple[Queue, Recursion]] = []
        nodes = [node for node in steps(self.tree.root) if isinstance(node, VisitedHold)]
        # Permits acquired with others at one moment are waited for together, which no server for
        # their body alone describes.
        permits_taken_together = {
            visit.queue
            for node in nodes
            if node.together
            for visit in (node.visit, next(visits_of_tree_part(node.body)))
        }
        # With several groups the holders would be of several classes, in mixtures that change.
        for queue in self.queues if len(self.trees) == 1 else ():
            holds_of_permits = [node for node in nodes if node.visit in queue.visits]
            queues_inside = {
                visit.queue for hold in holds_of_permits for visit in visits_of_tree_part(hold.body)
            }
            are_used_inside_only = all(
                queue.name in visit.held_resources
                for inner_queue in self.queues
                if inner_queue.name in queues_inside
                for visit in inner_queue.visits
            )
            are_plain_permits = (
                queue.is_lock
                and queue.servers > 1
                and not queue.order
                and queue.name not in permits_taken_together
            )
            are_requested_alone = queue.requests == queue.copies == 1 and not any(
                visit.held_resources for visit in queue.visits
            )
            if (
                are_plain_permits
                and are_requested_alone
                and queues_inside
                and are_used_inside_only
                and all(_is_memoryless(hold.body, self.model) for hold in holds_of_permits)
            ):
                shares_and_bodies = (
                    (_share_parameter(hold.visit), without_holding(hold.body, queue.name))
                    for hold in holds_of_permits
                )
                root = Choice(tuple(shares_and_bodies))
                tree = VisitTree(root, tuple(visits_of_tree_part(root)))
                permits_and_recursions.append(
                    (queue, Recursion(self.model, (), self._copies_by_resource, [tree]))
                )
        return permits_and_recursions

    @property
    def tree(self) -> VisitTree:
        """Return the visits of the first group's cycle."""
        return self.trees[0]

    @property
    def labels(self) -> list[str]:
        """Return the labels to which an account books the time of the first group's cycle: its
        steps, in the order written, then its waits, then its barriers.
        """
        nodes = list(steps(self.activities[0]))
        nodes_of_cycle = set(nodes)
        step_names = [step.name for step in self.model.steps if step in nodes_of_cycle]
        wait_labels = [visit.label for visit in self.tree.visits]
        barrier_labels = [
            f"{BARRIER}:{name}" for node in nodes if node.use == MET for name in node.uses
        ]
        return list(dict.fromkeys([*step_names, *wait_labels, *barrier_labels]))

    def solve(
        self,
        value_by_expr: Numbers,
        processors_by_point: Array,
        point_indexes: Array,
        count_exprs: Sequence[Expr],
        every_population: bool = False,
    ) -> Iterator[SolvedPopulation]:
        """Solve the populations from one processor up to the largest population of any point, and
        yield the populations that some point has. A single group of more than `MOST_ONE_BY_ONE`
        processors is solved directly, without the smaller populations.

        Points that differ only in the size of the population share one recursion.

        Parameters
        ----------
        value_by_expr : every number of the model, at all points
        processors_by_point : whole numbers of processors [points, groups]
        point_indexes : indexes of the points to solve
        count_exprs : expressions of the numbers of processors
        every_population : also compute the small populations that no point has, so that the cycle
            times of all numbers of processors are known
        """
        if not len(point_indexes):
            return
        values_at_points = select_points(value_by_expr, point_indexes)
        processor_counts = processors_by_point[point_indexes].astype(int)
        # Large populations begin at a fixed point, so that their smaller ones are not solved; one
        # that does not settle ends the solution, so that they come last.
        is_large = processor_counts.max(axis=1) > MOST_ONE_BY_ONE
        if len(processor_counts[0]) == 1 and is_large.any() and not every_population:
            yield from self.solve(
                value_by_expr, processors_by_point, point_indexes[~is_large], count_exprs
            )
            yield from self._solve_large(
                select_points(values_at_points, np.flatnonzero(is_large)),
                processor_counts[is_large],
                point_indexes[is_large],
                count_exprs,
            )
            return
        distinct_values, row_by_point = self._without_duplicates(
            values_at_points, len(point_indexes), count_exprs
        )
        requested_populations = {tuple(map(int, processors)) for processors in processor_counts}
        omits_small_populations = not every_population and self._processors_start_together()
        cycle_times = list[Array]()
        for population, state in self._states_in_order(
            distinct_values, requested_populations, MOST_FOLLOWED if omits_small_populations else 0
        ):
            if len(population) == 1:
                cycle_times.append(state.first_cycle.time.mean)
            if population in requested_populations:
                matching_indices = np.flatnonzero(np.all(processor_counts == population, axis=1))
                yield SolvedPopulation(
                    state,
                    distinct_values,
                    point_indexes[matching_indices],
                    row_by_point[matching_indices],
                    cycle_times,
                )

    def _states_in_order(
        self,
        value_by_expr: Numbers,
        requested_populations: Collection[Population],
        omitted_processors: int,
    ) -> Iterator[tuple[Population, PopulationState]]:
        """Yield each population up to the largest wanted one, with its state.

        Parameters
        ----------
        value_by_expr : every number of the model [rows]
        requested_populations : populations whose states are asked for
        omitted_processors : number of processors of the first group below which other populations
            than the wanted ones are left out, because no larger one depends on their states
        """
        largest_population: Population = tuple(
            max(member_count) for member_count in zip(*requested_populations, strict=True)
        )
        count_in_words = self._checked_count_in_words(largest_population)
        population_count = math.prod(member_count + 1 for member_count in largest_population)
        work_pace = WorkPace()
        recursion_step = _RecursionStep(self, value_by_expr)
        empty_state = PopulationState(0, (None,) * len(largest_population), ArrivalState())
        state_by_population = {(0,) * len(largest_population): empty_state}
        row_count = len(next(iter(value_by_expr.values()), ()))
        largest_batch_size = (
            max(1, MOST_AT_ONCE // max(row_count, 1)) if self._rows_are_independent else 1
        )
        solved_population_count = 0
        for batch in batches(largest_population, largest_batch_size):
            # Larger populations take longer.
            work_pace.check(solved_population_count**2, population_count**2, count_in_words)
            solved_population_count += len(batch)
            if not any(batch[0]):
                continue
            if batch[0][0] < omitted_processors and batch[0] not in requested_populations:
                state_by_population[batch[0]] = empty_state
                continue
            states = recursion_step.solve_batch(batch, state_by_population)
            for population, state in zip(batch, states, strict=True):
                state_by_population[population] = state
                yield population, state
                # A population is computed from those with one processor fewer; all earlier ones are
                # no longer needed.
                state_by_population.pop((population[0] - 2, *population[1:]), None)

    @cached_property
    def _rows_are_independent(self) -> bool:
        """Return whether several populations can be solved together as rows of arrays: populations
        of several groups that hold no lock, use no processor and have no parallel branches.
        """
        return (
            len(self.trees) > 1
            and not self.spin_locks
            and not any(
                queue.order or queue.is_lock or queue.name == PROCESSORS or is_processor(queue.name)
                for queue in self.queues
            )
            and not any(
                node.combination is Combination.LONGEST
                for activity in self.activities
                for node in steps(activity)
            )
        )

    def _checked_count_in_words(self, largest_population: Population) -> str:
        """Return a sentence with the number of the populations up to the largest one, for the
        message of a refusal; raise if there are more than may be solved.
        """
        counts_in_words = " x ".join(str(member_count + 1) for member_count in largest_population)
        count_in_words = (
            "mean-value goes through every population of groups up to the one asked for,"
            f" {counts_in_words} of {self.model.name}"
        )
        population_count = math.prod(member_count + 1 for member_count in largest_population)
        # Each group is solved in the presence of each other one: 12 groups took from 40 to 100
        # times as long as two (51-replication of benchmarks/layered.py, 29 November 2026).
        relative_population_cost = max(1.0, (len(largest_population) / 2) ** 2)
        if relative_population_cost > 1:
            count_in_words += f", each in the time of {relative_population_cost:.3g} of two groups"
        check_cost(
            "populations",
            relative_population_cost * population_count,
            count_in_words,
            "simulate it",
        )
        return count_in_words

    def _without_duplicates(
        self, values_at_points: Numbers, point_count: int, count_exprs: Sequence[Expr]
    ) -> tuple[Numbers, Array]:
        """Merge the points that differ only in the number of processors. Return the numbers of the
        distinct points, as rows, and the row of each point.
        """
        columns_used = {
            expr: column
            for expr, column in values_at_points.items()
            if expr not in count_exprs or expr in self._expressions_read
        }
        first_points, row_by_point = _distinct_points(columns_used, point_count)
        return select_points(values_at_points, first_points), row_by_point

    def _solve_large(
        self,
        values_at_points: Numbers,
        processor_counts: Array,
        point_indexes: Array,
        count_exprs: Sequence[Expr],
    ) -> Iterator[SolvedPopulation]:
        """Solve populations too large for the whole recursion by its last 8 sqrt(N) steps, at most
        `LAST_ONE_BY_ONE`.

        The first of these steps begins at a fixed point, s = F(N, s), where F(N, s) is the state of
        N processors that each find the state s on arrival. The recursion has s(N) = F(N, s(N - 1)),
        so the fixed point leaves out the change by one processor: a part of the time of the order
        of 1/N, and of 1/sqrt(N) near saturation, up to 0.7 % at 2,000 processors. This error decays
        within a few sqrt(N) steps: after 4.5 sqrt(N) all times were within 4e-6 of the whole
        recursion, from half to three times the saturated load, and after 8 sqrt(N) within 1e-12
        (tests/method/mean_value/test_large_populations.py). Above 15,000 processors the limit
        allows fewer than 8 sqrt(N) steps: 1,000 steps to 100,000 processors gave the time of 7,906
        steps within 8e-7.
        """
        for processor_count in np.unique(processor_counts[:, 0]).tolist():
            matching_indices = np.flatnonzero(processor_counts[:, 0] == processor_count)
            distinct_values, row_by_point = self._without_duplicates(
                select_points(values_at_points, matching_indices),
                len(matching_indices),
                count_exprs,
            )
            recursion_step = _RecursionStep(self, distinct_values)
            first_count = processor_count - min(
                math.ceil(8 * math.sqrt(processor_count)), LAST_ONE_BY_ONE
            )
            state = recursion_step.solve_fixed_point(first_count, processor_count)
            work_pace = WorkPace()
            for processors in range(first_count + 1, processor_count + 1):
                state = recursion_step.solve_population((processors,), {(processors - 1,): state})
                step_in_words = (
                    f"mean-value goes through the last {processor_count - first_count} of"
                    f" {processor_count} processors of {self.model.name}"
                )
                work_pace.check(
                    processors - first_count, processor_count - first_count, step_in_words
                )
            yield SolvedPopulation(
                state, distinct_values, point_indexes[matching_indices], row_by_point
            )

    def _processors_start_together(self) -> bool:
        """Return whether all processors start each section of the cycle together at a barrier, so
        that smaller populations need not be solved first.

        In such a cycle `time_from_common_start` computes all waits of up to `MOST_FOLLOWED`
        processors, except those at a station that is used both under a lock and elsewhere.
        """
        nodes = list(steps(self.activities[0]))
        if (
            len(self.trees) > 1
            or self.spin_locks
            or all(step.scv == 0 for step in self.model.steps if step in set(nodes))
        ):
            return False
        single_servers = {queue.name for queue in self.queues if queue.servers == 1}
        for queue in self.queues:
            held_at_visits = [visit.held_resources for visit in queue.visits]
            if queue.name in OTHER_PROCESSORS or queue.name == PROCESSORS:
                return False
            if any(held_at_visits) and not single_servers & frozenset.intersection(
                *map(frozenset, held_at_visits)
            ):
                return False
        party_counts = [node.parties for node in nodes if node.use == MET]
        return bool(party_counts) and not any(party_counts)

    def account(self, solved_population: SolvedPopulation) -> dict[str, Array]:
        """Split the time of the first group's cycle by label [s].

        The part of a label is the derivative of the cycle time by a factor on all times booked to
        the label. For a maximum with the mean E(R) of random times R that is R dE/dR, and the parts
        add up to the cycle time (Euler's theorem).
        """
        row_count = len(next(iter(solved_population.value_by_expr.values())))
        labels = self.labels
        seconds_by_label = dict[str, Array]()
        fixed_times = solved_population.state.first_cycle.visit_times
        label_block_size = max(1, MOST_AT_ONCE // row_count)
        for first_label in range(0, len(labels), label_block_size):
            label_block = labels[first_label : first_label + label_block_size]
            imaginary_steps = 1j * COMPLEX_STEP * np.eye(len(label_block))
            factor_by_label = {
                label: (1 + imaginary_steps[:, label_index])[:, None]
                for label_index, label in enumerate(label_block)
            }
            traversal = Traversal(
                self.model,
                solved_population.value_by_expr,
                solved_population.state.processors,
                {},
                factor_by_label,
                fixed_times,
            )
            shortfall_time = sum_of_columns(
                shortfall * factor_by_label.get(label, 1.0)
                for label, shortfall in fixed_times.shortfalls.items()
            )
            seconds_of_block = (
                np.imag(cycle_time(traversal, self.tree.root).mean + shortfall_time) / COMPLEX_STEP
            )
            seconds_by_label.update(
                zip(
                    label_block,
                    np.broadcast_to(seconds_of_block, (len(label_block), row_count)),
                    strict=True,
                )
            )
        return without_negative_parts(seconds_by_label)

    def use_by_queue(self, solved_population: SolvedPopulation) -> dict[str, Array]:
        """Return the utilization [1], number present [1], visits in a second [1/s] and mean wait
        [s] of each queue, over all groups [4, points].
        """
        mean_numbers = MeanNumbers()
        for tree, cycle in zip(self.trees, solved_population.state.cycles, strict=True):
            if cycle is not None:
                mean_numbers.add_group(
                    tree.visit_ratios(solved_population.value_by_expr),
                    cycle.rate,
                    cycle.visit_times,
                )
        spinning_by_station: dict[str, Array] = {}
        # One processor finds every lock free, so it never spins.
        for spin_lock in self.spin_locks if solved_population.state.processors > 1 else ():
            if spin_lock.word_queue is not None:
                spinning_numbers = spin_lock.spinning_at(
                    solved_population.state.arrivals, solved_population.value_by_expr
                ).numbers_at_word()
                spinning_by_station[spin_lock.word_queue.name] = (
                    spinning_by_station.get(spin_lock.word_queue.name, np.zeros(1))
                    + spinning_numbers
                )
        return mean_numbers.use_by_queue(
            self.queues, solved_population.state.processors, spinning_by_station
        )

    def demand_by_queue(
        self, visit_ratios: Mapping[int, Array], visit_times: VisitTimes, processors: int
    ) -> list[Array]:
        """Return the service demand of one cycle at each queue, divided by the number of servers
        [s].
        """
        demands_of_queues = []
        for queue in self.queues:
            # One processor alone sends requests to processors outside the population.
            visits_inside = [
                visit
                for visit in queue.visits
                if not (processors == 1 and visit.queue in OTHER_PROCESSORS)
            ]
            work_of_queue = sum_of_columns(
                visit_ratios[visit.index] * visit_times.services[visit.index].mean
                for visit in visits_inside
                if visit.index in visit_ratios
            )
            demands_of_queues.append(work_of_queue / (queue.all_servers(processors) * queue.copies))
        return demands_of_queues


class MeanNumbers:
    """Mean numbers of customers at each visit, by Little's law.

    Attributes
    ----------
    flows : visits in a second, by the index of the visit [1/s]
    in_service, present : mean number in service, and waiting or in service, at each visit [1]
    """

    def __init__(self) -> None:
        self.flows: dict[int, Array] = {}
        self.in_service: dict[int, Array] = {}
        self.present: dict[int, Array] = {}

    def add_group(
        self,
        visit_ratios: Mapping[int, Array],
        cycle_rate: Array,
        visit_times: VisitTimes,
        counts_items: bool = True,
    ) -> None:
        """Add the visits of one group to the mean numbers.

        Parameters
        ----------
        visit_ratios : visits in one cycle of the group, by the index of the visit [1]
        cycle_rate : cycles of all its members in a second [1/s]
        visit_times : waits and services at its visits
        counts_items : whether items that wait for other items of their own pipeline count as
            present
        """
        for visit_index, visit_ratio in visit_ratios.items():
            visit_rate = cycle_rate * visit_ratio
            mean_service_time = visit_times.services[visit_index].mean
            time_at_visit = (
                mean_service_time
                + visit_times.waits[visit_index].mean
                + visit_times.branch_waits.get(visit_index, 0.0)
            )
            self.flows[visit_index] = visit_rate
            self.in_service[visit_index] = visit_rate * mean_service_time
            self.present[visit_index] = visit_rate * (
                time_at_visit + visit_times.item_waits.get(visit_index, 0.0)
                if counts_items
                else time_at_visit
            )

    def selected_rows(
        self, queue: Queue, is_selected: Array, shape: tuple[int, ...]
    ) -> MeanNumbers:
        """Return the mean numbers at the visits of one queue, in the selected rows only.

        Parameters
        ----------
        queue : the queue
        is_selected : whether each row is selected [rows]
        shape : shape of the arrays of all rows, to which smaller arrays are broadcast
        """
        numbers_of_rows = MeanNumbers()
        for attribute in ("flows", "in_service", "present"):
            column_by_visit = getattr(self, attribute)
            getattr(numbers_of_rows, attribute).update(
                {
                    visit.index: np.broadcast_to(column_by_visit[visit.index], shape)[is_selected]
                    for visit in queue.visits
                }
            )
        return numbers_of_rows

    def numbers_at_queue(self, queue: Queue) -> tuple[Array, Array, Array]:
        """Return the mean numbers at one copy of a queue, added up over its visits: number in
        service [1], number present [1], and visits in a second [1/s].
        """
        busy_servers, number_present, visit_rate = (
            sum_of_columns(
                number_by_visit[visit.index]
                for visit in queue.visits
                if visit.index in number_by_visit
            )
            for number_by_visit in (self.in_service, self.present, self.flows)
        )
        return busy_servers / queue.copies, number_present / queue.copies, visit_rate / queue.copies

    def use_by_queue(
        self,
        queues: Sequence[Queue],
        processors: int,
        spinning_by_station: Mapping[str, Array] | None = None,
    ) -> dict[str, Array]:
        """Return utilization [1], number present [1], visits in a second [1/s] and mean wait [s] of
        each queue, in the order of `ActivityTable` [4, points].

        Parameters
        ----------
        queues : queues of the model
        processors : number of processors, each of which is a station of its own
        spinning_by_station : mean numbers of spinning processors, in the order of
            `numbers_at_queue`, to be added at each station
        """
        uses_by_queue = {}
        for queue in queues:
            numbers_of_spinning = (spinning_by_station or {}).get(queue.name, np.zeros(3))
            servers = queue.all_servers(processors)
            busy_servers, number_present, visit_rate = (
                mean_number + number_of_spinning
                for mean_number, number_of_spinning in zip(
                    self.numbers_at_queue(queue), numbers_of_spinning, strict=True
                )
            )
            # A queue that stands for all processors has as many servers as there are stations; the
            # number present in the answer is that at one of these stations.
            mean_wait = (number_present - busy_servers) / without_zeros(visit_rate)
            uses_by_queue[queue.name] = np.stack(
                np.broadcast_arrays(
                    busy_servers / servers,
                    number_present / (servers / queue.servers),
                    visit_rate,
                    mean_wait,
                )
            )
        return uses_by_queue


TraversedCycles = Sequence[tuple[RandomTime, VisitTimes] | None]
"""For each group, the time of a cycle, and the waits and services at its visits; None for a group
without processors.
"""


class _RecursionStep:
    """Computes the state of a population from the states of the populations with one processor
    fewer.

    Parameters
    ----------
    recursion : the recursion of the model
    value_by_expr : every number of the model [rows]
    """

    def __init__(self, recursion: Recursion, value_by_expr: Numbers) -> None:
        self.recursion = recursion
        self.value_by_expr = value_by_expr
        self._trees = recursion.trees
        self._queues = recursion.queues
        self._spin_locks = recursion.spin_locks
        self._visit_ratios = [tree.visit_ratios(value_by_expr) for tree in recursion.trees]
        visits = [visit for tree in recursion.trees for visit in tree.visits]
        self._mean_services = {
            visit.index: mean_service(visit.step, value_by_expr)
            for visit in visits
            if visit.step is not None
        }
        self._group_of_visit = {
            visit.index: group_index
            for group_index, tree in enumerate(recursion.trees)
            for visit in tree.visits
        }
        traversals = [Traversal(recursion.model, value_by_expr, 1, {}) for _ in recursion.trees]
        self._single_cycles = [
            CycleState(1, cycle_time(traversal, tree.root), traversal.visit_times)
            for traversal, tree in zip(traversals, recursion.trees, strict=True)
        ]
        """The cycle of one processor of each group that is alone, without waits."""
        self._service_alone_by_visit = {
            visit_index: service
            for traversal in traversals
            for visit_index, service in traversal.visit_times.services.items()
        }
        self._processors_follow_in_step = len(recursion.trees) == 1 and _processors_follow_in_step(
            recursion
        )
        """Whether the processors follow each other in a fixed order."""
        self._repeated_visits_by_queue = self._successive_visits_by_queue()
        # A flow-equivalent server describes random states, in which processors in step never are.
        self._permit_server_by_name = {
            queue.name: FlowEquivalentServer(
                queue, holder_recursion, value_by_expr, self._visit_ratios[0]
            )
            for queue, holder_recursion in (
                () if self._processors_follow_in_step else recursion.isolated_permits
            )
        }
        queues_inside = {
            queue.name
            for permit_server in self._permit_server_by_name.values()
            for queue in permit_server.queues_inside
        }
        self._queues_outside_permits = [
            queue for queue in self._queues if queue.name not in queues_inside
        ]

    def _successive_visits_by_queue(self) -> dict[str, SuccessiveVisits]:
        """Return, by the name of the queue, the visits that follow immediately on another visit to
        the same queue.
        """
        places = Places()
        for tree in self._trees:
            places.add(tree.root, self.value_by_expr, is_repeated=True)
        visits_in_row_by_queue = {
            queue.name: successive_visits(queue, places) for queue in self._queues
        }
        return {
            queue_name: visits_in_row
            for queue_name, visits_in_row in visits_in_row_by_queue.items()
            if visits_in_row is not None
        }

    def solve_batch(
        self,
        populations: Sequence[Population],
        smaller_states: Mapping[Population, PopulationState],
    ) -> Iterator[PopulationState]:
        """Yield the states of populations that have equal total numbers of processors, in the same
        groups. Each follows from the states with one processor fewer (`smaller_states`).
        """
        if len(populations) == 1:
            yield self.solve_population(populations[0], smaller_states)
            return
        states_before: list[PopulationState | None] = []
        for group_index, member_count in enumerate(populations[0]):
            smaller_populations = [
                _with_one_fewer(population, group_index) for population in populations
            ]
            states_before.append(
                stacked_states(
                    [smaller_states[population] for population in smaller_populations],
                    self._single_cycles,
                )
                if member_count
                else None
            )
        member_table = np.array(populations)[..., None]
        members_of_groups = tuple(
            member_table[:, group_index] if member_count else 0
            for group_index, member_count in enumerate(populations[0])
        )
        common_state = self._state_of_population(
            sum(populations[0]), members_of_groups, states_before
        )
        yield from single_states(common_state, populations)

    def solve_population(
        self, population: Population, smaller_states: Mapping[Population, PopulationState]
    ) -> PopulationState:
        """Return the state of a population from the states with one processor fewer."""
        states_before = [
            smaller_states[_with_one_fewer(population, group_index)] if member_count else None
            for group_index, member_count in enumerate(population)
        ]
        return self._state_of_population(sum(population), population, states_before)

    def _state_of_population(
        self,
        processors: int,
        population: Members,
        states_before: Sequence[PopulationState | None],
    ) -> PopulationState:
        """Return the state of a population, or of several populations as rows.

        Parameters
        ----------
        processors : number of processors of all groups
        population : number of processors of each group
        states_before : for each group, the state with one processor fewer in that group; None for
            a group without processors
        """
        traversed_cycles: list[tuple[RandomTime, VisitTimes] | None] = []
        wait_by_pair: PairTimes = {}
        share_by_place: ByPlace = {}
        for group_index, (tree, state_before) in enumerate(
            zip(self._trees, states_before, strict=True)
        ):
            if state_before is None:
                traversed_cycles.append(None)
                continue
            # Processors of constant times that follow each other in step wait only at the busiest
            # queue; `_limit_utilization` adds that wait.
            arrival_waits = (
                ArrivalWaits({}, {})
                if self._processors_follow_in_step
                else self._arrival_waits(population, group_index, state_before)
            )
            waits_and_spinning = self._with_spinning(arrival_waits.waits, state_before.arrivals)
            traversal = Traversal(
                self.recursion.model, self.value_by_expr, processors, waits_and_spinning
            )
            time_of_cycle = cycle_time(traversal, tree.root)
            self._add_hand_overs(traversal.visit_times, state_before.arrivals)
            traversed_cycles.append((time_of_cycle, traversal.visit_times))
            wait_by_pair.update(
                {
                    visit_pair: wait
                    for visit_pair, wait in arrival_waits.wait_by_pair.items()
                    if self._group_of_visit[visit_pair[0]] == group_index
                }
            )
            share_by_place |= arrival_waits.share_by_place if len(self._trees) == 1 else {}
        cycle_times = self._limit_utilization(processors, population, traversed_cycles)
        cycles: list[CycleState | None] = []
        for member_count, mean_time, cycle_before in zip(
            population, cycle_times, traversed_cycles, strict=True
        ):
            if cycle_before is None:
                cycles.append(None)
                continue
            time_before, visit_times = cycle_before
            longer_time = RandomTime(mean_time, time_before.variance, time_before.kind)
            cycles.append(CycleState(member_count, longer_time, visit_times))
        arrivals = self._arrival_state(processors, population, cycles, wait_by_pair, share_by_place)
        return PopulationState(processors, tuple(cycles), arrivals)

    def solve_fixed_point(self, member_count: int, wanted_processors: int) -> PopulationState:
        """Iterate the state of a large population of a single group to its fixed point, and return
        this state.

        Some iterations oscillate permanently within 1e-5 of the time. So the state has settled when
        the last `WINDOW_LENGTH` cycle times, and their derivatives, lie within `SETTLED_SPREAD` of
        each other. When their spread is the same as two and four windows ago, the iteration is a
        limit cycle and is given up.

        Parameters
        ----------
        member_count : processors of the group at the fixed point
        wanted_processors : processors of the population that is asked for, for the error message

        Raises
        ------
        NoAnswerError : the state does not settle
        """
        state = PopulationState(0, (None,), ArrivalState())
        recent_times = list[Array]()
        spreads = list[float]()
        iteration_count = 0
        while iteration_count < MOST_ITERATIONS:
            iteration_count += 1
            state = self.solve_population((member_count,), {(member_count - 1,): state})
            recent_times = [*recent_times[1 - WINDOW_LENGTH :], state.first_cycle.time.mean]
            if len(recent_times) == WINDOW_LENGTH:
                time_table = np.stack(recent_times)
                spread = max(
                    np.ptp(time_component, axis=0).max()
                    / without_zeros(abs(time_component[-1]).max())
                    for time_component in (time_table.real, time_table.imag)
                )
                if spread <= SETTLED_SPREAD:
                    return state
                spreads.append(spread)
                spreads_before = spreads[-1 : -6 * WINDOW_LENGTH : -2 * WINDOW_LENGTH]
                if len(spreads_before) == 3 and np.ptp(spreads_before) <= CYCLING_CHANGE * spread:
                    break
        raise NoAnswerError(
            f"the state of {wanted_processors:,} processors does not settle within"
            f" {iteration_count:,} steps; ask for simulation or bounds"
        )

    def _arrival_waits(
        self, population: Members, group_index: int, state_before: PopulationState
    ) -> ArrivalWaits:
        """Return the waits of an arriving processor of one group, from the state with one processor
        fewer of that group.

        The rates of other groups relative to this one are those of that state; a group that is
        empty there counts with the rate of a cycle without waits.
        """
        cycles = [
            cycle or cycle_alone
            for cycle, cycle_alone in zip(state_before.cycles, self._single_cycles, strict=True)
        ]
        rate_by_group = [cycle.rate / cycle.members for cycle in cycles]
        visit_ratios = dict(self._visit_ratios[group_index])
        for met_group, group_ratios in enumerate(self._visit_ratios):
            if met_group != group_index:
                relative_rate = (
                    rate_by_group[met_group]
                    * population[met_group]
                    / (rate_by_group[group_index] * population[group_index])
                )
                visit_ratios.update(
                    {
                        visit_index: visit_ratio * relative_rate
                        for visit_index, visit_ratio in group_ratios.items()
                    }
                )
        arrival_waits = state_before.arrivals.waits(
            self._queues_outside_permits,
            visit_ratios,
            self._mean_services,
            self._visit_ratios[group_index].keys(),
        )
        # Visits in a row find other numbers than visits at random moments, so that their waits
        # replace the first ones.
        for visits_in_row in (
            self._repeated_visits_by_queue.values()
            if state_before.arrivals.other_processors
            else ()
        ):
            mean_waits = state_before.arrivals.waits_in_a_row(visits_in_row, arrival_waits.waits)
            arrival_waits.waits.update(
                visits_in_row.with_mean_waits(arrival_waits.waits, mean_waits)
            )
            arrival_waits.share_by_place[visits_in_row.visits] = visits_in_row.shares_present(
                mean_waits, visits_in_row.stack_by_place(self._mean_services)
            )
        for queue in (
            ordered_queue
            for ordered_queue in self._queues_outside_permits
            if ordered_queue.order and state_before.arrivals.other_processors
        ):
            arrival_waits.waits.update(
                reader_writer_waits(
                    queue, state_before.arrivals, visit_ratios, cycles[group_index].rate
                )
            )
        for permit_name, permit_server in self._permit_server_by_name.items():
            arrival_waits.waits.update(
                permit_server.waits(state_before.arrivals.holder_probabilities.get(permit_name))
            )
        return arrival_waits

    def _with_spinning(
        self, waits: Mapping[int, RandomTime], arrivals: ArrivalState
    ) -> dict[int, RandomTime]:
        """Return the waits with the delays that spinning processors cause; these delays are taken
        as exponential (chosen here; only maxima of times read the variance).
        """
        waits_with_spinning = dict(waits)
        for spin_lock in self._spin_locks if arrivals.other_processors else ():
            for visit_index, spinning_delay in (
                spin_lock.spinning_at(arrivals, self.value_by_expr)
                .waits(self._service_alone_by_visit)
                .items()
            ):
                wait = waits_with_spinning.get(visit_index, ZERO_TIME)
                # An exponential time has the square of its mean as its variance.
                waits_with_spinning[visit_index] = RandomTime(
                    wait.mean + spinning_delay, wait.variance + spinning_delay * spinning_delay
                )
        return waits_with_spinning

    def _add_hand_overs(self, visit_times: VisitTimes, arrivals: ArrivalState) -> None:
        """Add the mean time of a hand-over to the time for which each spin lock is held."""
        for spin_lock in self._spin_locks if arrivals.other_processors else ():
            spinning_customers = spin_lock.spinning_at(arrivals, self.value_by_expr)
            hand_over_time = (
                spinning_customers.lock_use.utilization
                * spinning_customers.time_of_hand_over(
                    spinning_customers.lock_use.spinning_at_hand_over
                )
            )
            for visit_index in (
                visit.index
                for visit in spin_lock.queue.visits
                if visit.index in visit_times.services
            ):
                # The time of this cycle has the hand-over as a wait already; the longer service is
                # what later arrivals find.
                service = visit_times.services[visit_index]
                visit_times.services[visit_index] = RandomTime(
                    service.mean + hand_over_time, service.variance
                )

    def _limit_utilization(
        self, processors: int, population: Members, traversed_cycles: TraversedCycles
    ) -> list[Array]:
        """Lengthen the cycles, one queue after the other, until no queue has a utilization above 1;
        return the mean time of a cycle of each group [s].

        Utilization law: group r, of n_r processors and cycle time T_r, needs the service w_r of the
        queue in v_r visits of a cycle, so sum_r n_r w_r / (T_r + v_r d) <= 1; the least wait d of
        each visit that satisfies it is added. With a single group T becomes N w.
        """
        mean_times_before = [
            np.zeros(1) if traversed_cycle is None else traversed_cycle[0].mean
            for traversed_cycle in traversed_cycles
        ]
        work_by_queue, visits_by_queue = self._work_and_visits(
            processors, population, traversed_cycles
        )
        mean_times = mean_times_before
        for work_of_groups, visits_of_groups in zip(work_by_queue, visits_by_queue, strict=True):
            missing_wait = _missing_wait(mean_times, work_of_groups, visits_of_groups)
            if np.any(missing_wait.real > 0):
                mean_times = [
                    mean_time + visits_of_group * missing_wait
                    for mean_time, visits_of_group in zip(mean_times, visits_of_groups, strict=True)
                ]
        if mean_times is not mean_times_before:
            utilization_by_queue = [
                sum_of_columns(
                    work_of_group / without_zeros(mean_time)
                    for work_of_group, mean_time in zip(
                        work_of_groups, mean_times_before, strict=True
                    )
                )
                for work_of_groups in work_by_queue
            ]
            added_times = [
                mean_time - mean_time_before
                for mean_time, mean_time_before in zip(mean_times, mean_times_before, strict=True)
            ]
            self._book_added_waits(
                processors, added_times, utilization_by_queue, visits_by_queue, traversed_cycles
            )
        return mean_times

    def _work_and_visits(
        self, processors: int, population: Members, traversed_cycles: TraversedCycles
    ) -> tuple[list[list[Array]], list[list[Array]]]:
        """Return, for each queue and group, the work of one cycle of all members of the group for
        each server of the queue [s], and the visits of one cycle of one member [1].
        """
        demands_of_groups = []
        for visit_ratios, traversed_cycle in zip(self._visit_ratios, traversed_cycles, strict=True):
            if traversed_cycle is None:
                demands_of_groups.append([np.zeros(1)] * len(self._queues))
            else:
                demands_of_groups.append(
                    self.recursion.demand_by_queue(visit_ratios, traversed_cycle[1], processors)
                )
        work_by_queue = [
            [
                member_count * demand_by_queue[queue_index]
                for member_count, demand_by_queue in zip(population, demands_of_groups, strict=True)
            ]
            for queue_index in range(len(self._queues))
        ]
        visits_by_queue = [
            [
                sum_of_columns(
                    visit_ratios[visit.index]
                    for visit in queue.visits
                    if traversed_cycle is not None and visit.index in visit_ratios
                )
                for traversed_cycle, visit_ratios in zip(
                    traversed_cycles, self._visit_ratios, strict=True
                )
            ]
            for queue in self._queues
        ]
        return work_by_queue, visits_by_queue

    def _booking_weights(
        self, processors: int, utilization_by_queue: Sequence[Array]
    ) -> Sequence[Array]:
        """Return the weight of each queue in the split of an added wait: the square of its
        utilization in excess of 1 [1].

        The weight of a queue that is only used under one lock, or under fewer permits than there
        are processors, is added to the weight of that lock or permit.
        """
        excess_by_queue = (
            np.where(utilization.real > FULL_UTILIZATION, utilization - 1, 0.0) ** 2
            for utilization in utilization_by_queue
        )
        squared_excess = np.stack(np.broadcast_arrays(*excess_by_queue))
        index_by_queue = {queue.name: queue_index for queue_index, queue in enumerate(self._queues)}
        for queue_index, queue in enumerate(self._queues):
            held_at_all_visits = frozenset.intersection(
                *(visit.held_resources for visit in queue.visits)
            )
            lock_indexes = [
                index_by_queue[lock_name]
                for lock_name in held_at_all_visits
                if self._queues[index_by_queue[lock_name]].servers < processors
            ]
            if lock_indexes:
                # The outermost lock is acquired while the fewest others are held; the index decides
                # between equal ones, because the order of a set is not fixed.
                outermost_lock = min(
                    lock_indexes,
                    key=lambda lock_index: (
                        max(len(visit.held_resources) for visit in self._queues[lock_index].visits),
                        lock_index,
                    ),
                )
                squared_excess[outermost_lock] = (
                    squared_excess[outermost_lock] + squared_excess[queue_index]
                )
                squared_excess[queue_index] = 0.0
        return list(squared_excess)

    def _book_added_waits(
        self,
        processors: int,
        added_waits: Sequence[Array],
        utilization_by_queue: Sequence[Array],
        visits_by_queue: Sequence[Sequence[Array]],
        traversed_cycles: TraversedCycles,
    ) -> None:
        """Split the wait that was added to the cycle of each group (`added_waits`) [s] among the
        queues with a utilization above 1, and book it in `traversed_cycles`.

        A lock is often as busy as the station that is used under it, up to rounding. So the queues
        share the wait in proportion to the squares of their excess utilization, which has no jumps
        where two are equal (chosen here; the sum is exact, its split is not checked).
        """
        booking_weights = self._booking_weights(processors, utilization_by_queue)
        for group_index, traversed_cycle in enumerate(traversed_cycles):
            if traversed_cycle is None:
                continue
            visit_times = traversed_cycle[1]
            weight_by_queue = [
                np.where(visits_of_groups[group_index].real > 0, booking_weight, 0.0)
                for visits_of_groups, booking_weight in zip(
                    visits_by_queue, booking_weights, strict=True
                )
            ]
            total_weight = sum_of_columns(weight_by_queue)
            for queue, queue_weight, visits_of_groups in zip(
                self._queues, weight_by_queue, visits_by_queue, strict=True
            ):
                if np.any(queue_weight.real > 0):
                    shortfall = (
                        added_waits[group_index] * queue_weight / without_zeros(total_weight)
                    )
                    visit_times.shortfalls[queue.label] = (
                        visit_times.shortfalls.get(queue.label, 0.0) + shortfall
                    )
                    for visit_index in (
                        visit.index
                        for visit in queue.visits
                        if self._group_of_visit[visit.index] == group_index
                    ):
                        visit_times.branch_waits[visit_index] = visit_times.branch_waits.get(
                            visit_index, 0.0
                        ) + shortfall / without_zeros(visits_of_groups[group_index])

    def _arrival_state(
        self,
        other_processors: int,
        population: Members,
        cycles: Sequence[CycleState | None],
        wait_by_pair: Mapping[tuple[int, int], Array],
        share_by_place: ByPlace,
    ) -> ArrivalState:
        """Return the mean state that one more processor finds on arrival.

        Parameters
        ----------
        other_processors : number of processors that it finds, of all groups
        population : number of processors of each group
        cycles : the cycle of each group
        wait_by_pair : by two visits, the time that a processor at the first waits for processors at
            the second [s]
        share_by_place : shares of the customers at visits that follow each other immediately
        """
        mean_numbers, service_by_visit = self._means_and_services(cycles)
        probability_all_busy = {
            queue.name: _probability_all_busy(queue, other_processors, mean_numbers)
            for queue in self._queues
        }
        holder_probabilities = self._holder_probabilities(other_processors, mean_numbers)
        # The probabilities of a birth-death process replace the estimates above.
        for permit_name, permit_server in self._permit_server_by_name.items():
            if permit_server.can_hold_all_permits(other_processors):
                probability_all_busy[permit_name] = holder_probabilities[permit_name][..., -1]
                time_held = permit_server.time_held_by_all()
                for visit in permit_server.queue.visits:
                    service_by_visit[visit.index] = time_held
        members_by_queue = {
            queue.name: self._members_of_queue(queue, population) for queue in self._queues
        }
        whole_service_weights = {
            queue.name: _weight_of_members(
                queue,
                members_by_queue[queue.name],
                mean_numbers,
                service_by_visit,
                self._weight_of_whole_service(queue, other_processors, cycles, mean_numbers),
            )
            for queue in self._queues
        }
        # Little's law: flow at one visit times its wait for processors at another.
        numbers_waiting = {
            (waiting_visit, served_visit): mean_numbers.flows[waiting_visit] * pair_wait
            for (waiting_visit, served_visit), pair_wait in wait_by_pair.items()
        }
        return ArrivalState(
            other_processors=other_processors,
            present=mean_numbers.present,
            in_service=mean_numbers.in_service,
            services=service_by_visit,
            probability_all_busy=probability_all_busy,
            other_holder_fraction={
                queue.name: 1
                - probability_all_busy[queue.name]
                / without_zeros(mean_numbers.numbers_at_queue(queue)[0])
                for queue in self._queues
                if queue.is_lock and queue.servers > 1
            },
            whole_service_weight=whole_service_weights,
            members_by_queue=members_by_queue,
            since_acquisition={
                lock_and_visit: time_since
                for cycle in cycles
                if cycle
                for lock_and_visit, time_since in cycle.visit_times.since_acquisition.items()
            },
            number_waiting_for=numbers_waiting,
            holder_probabilities=holder_probabilities,
            share_by_place=share_by_place,
        )

    def _holder_probabilities(self, processors: int, mean_numbers: MeanNumbers) -> dict[str, Array]:
        """Return, for each permit whose holders are solved alone, the probabilities of the numbers
        of processors that hold or want it [1].
        """
        return {
            permit_name: permit_server.holder_probabilities(processors, mean_numbers)
            for permit_name, permit_server in self._permit_server_by_name.items()
        }

    def _members_of_queue(self, queue: Queue, population: Members) -> int | Array:
        """Return the number of processors of the groups that visit a queue."""
        groups = {self._group_of_visit[visit.index] for visit in queue.visits}
        return sum(population[group_index] for group_index in groups)

    def _means_and_services(
        self, cycles: Sequence[CycleState | None]
    ) -> tuple[MeanNumbers, dict[int, RandomTime]]:
        """Return the mean numbers and the services at the visits of all groups."""
        zeros = np.zeros(1)
        mean_numbers = MeanNumbers()
        service_by_visit: dict[int, RandomTime] = {}
        for visit_ratios, cycle in zip(self._visit_ratios, cycles, strict=True):
            if cycle is None:
                # An empty group makes no visits, but its numbers are read on arrivals of other
                # groups.
                service_by_visit.update(
                    dict.fromkeys(visit_ratios, RandomTime(zeros, zeros, "constant"))
                )
                for numbers_by_visit in (
                    mean_numbers.flows,
                    mean_numbers.in_service,
                    mean_numbers.present,
                ):
                    numbers_by_visit.update(dict.fromkeys(visit_ratios, zeros))
            else:
                service_by_visit.update(cycle.visit_times.services)
                mean_numbers.add_group(
                    visit_ratios, cycle.rate, cycle.visit_times, counts_items=False
                )
        return mean_numbers, service_by_visit

    def _weight_of_whole_service(
        self,
        queue: Queue,
        processors: int,
        cycles: Sequence[CycleState | None],
        mean_numbers: MeanNumbers,
    ) -> Array:
        """Return the weight of a whole service in the remaining time of a service that an arriving
        processor finds at a queue (see `whole_service_weight`); for several groups, the mean of
        their weights in proportion to their service there [1].
        """
        served_by_visit = mean_numbers.in_service
        utilization = mean_numbers.numbers_at_queue(queue)[0] / queue.all_servers(processors)
        weighted_services = []
        for group_index, cycle in enumerate(cycles):
            visit_indices = [
                visit.index
                for visit in queue.visits
                if self._group_of_visit[visit.index] == group_index
            ]
            if cycle is not None and visit_indices:
                weight_of_group = whole_service_weight(
                    utilization,
                    processors,
                    self._scv_between_visits(group_index, cycle, visit_indices, queue.copies),
                )
                weighted_services.append(
                    (
                        sum_of_columns(
                            served_by_visit[visit_index] for visit_index in visit_indices
                        ),
                        weight_of_group,
                    )
                )
        total_served = sum_of_columns(number_served for number_served, _ in weighted_services)
        return sum_of_columns(
            number_served * weight_of_group for number_served, weight_of_group in weighted_services
        ) / without_zeros(total_served)

    def _scv_between_visits(
        self, group_index: int, cycle: CycleState, visit_indices: Sequence[int], copy_count: int
    ) -> Array:
        """Return the squared coefficient of variation, between 0 and 1, of the time that a
        processor spends between two visits to a queue [1].
        """
        mean_between_visits = cycle.time.mean
        variance_between_visits = cycle.time.variance
        # The time between visits is the cycle without the visits to the queue. Both are taken as
        # independent, so that the variances of the visits are subtracted.
        for visit_index in visit_indices:
            service = cycle.visit_times.services[visit_index]
            wait = cycle.visit_times.waits[visit_index]
            visit_ratio = self._visit_ratios[group_index][visit_index] / copy_count
            mean_between_visits = mean_between_visits - visit_ratio * (service.mean + wait.mean)
            variance_between_visits = variance_between_visits - visit_ratio * (
                service.variance + wait.variance
            )
        scv = variance_between_visits / without_zeros(mean_between_visits * mean_between_visits)
        # Where only rounding errors remain of the time between visits, its scv is not known. With 1
        # the weight of a whole service has the exponent of an exponential time.
        is_unknown = (mean_between_visits.real <= 1e-9 * cycle.time.mean.real) | (scv.real > 1)
        return np.where(is_unknown, 1.0, limited_to_range(scv))


class FlowEquivalentServer:
    """A flow-equivalent server for the body of permits, solved alone with each number of holders.

    Holders queue only with each other there, so k of them are k customers of a closed network of
    the body: with cycle time T(k) they release permits at the rate k / T(k). The number of
    processors that hold or want a permit is a birth-death process with these rates, up to all c
    permits, in which the rest of the cycle is a delay. An arriving processor has the waits of one
    holder more, and processors that wait for a permit advance at the rate c / T(c). The result is
    exact in product form where the rest of the cycle is a delay and there are permits for all, and
    where the body uses a single exponential station.

    The server is used only for exponential times (`_is_memoryless`). For other times an arriving
    processor meets residual services that the closed network does not show: with scv 0.25 the 95th
    percentile of the error of the time was 4 %, and 1.3 % if the permits are a queue whose service
    is the whole body. With scv 1 it is 1.1 %, and 2.5 % with such a queue
    (benchmarks/mean_value.py, construct "layered permits").

    Source: Chandy, Herzog and Woo, IBM J. Res. Dev. 19(1), 1975, 36-42; Courtois, Decomposability,
    Academic Press 1977.

    Parameters
    ----------
    queue : the permits
    recursion : recursion over the holders alone; see `Recursion.isolated_permits`
    value_by_expr : every number of the model [rows]
    visit_ratios : visits of a cycle of the whole model, by the index of the visit [1]

    Attributes
    ----------
    queues_inside : queues that the holders use
    """

    def __init__(
        self,
        queue: Queue,
        recursion: Recursion,
        value_by_expr: Numbers,
        visit_ratios: Mapping[int, Array],
    ) -> None:
        total_ratio = without_zeros(
            sum_of_columns(visit_ratios[visit.index] for visit in queue.visits)
        )
        share_by_parameter = {
            _share_parameter(visit): visit_ratios[visit.index] / total_ratio
            for visit in queue.visits
        }
        self.queue = queue
        self.queues_inside = recursion.queues
        self._step_of_holders = _RecursionStep(recursion, {**value_by_expr, **share_by_parameter})
        self._ratios_of_holders = recursion.tree.visit_ratios(
            {**value_by_expr, **share_by_parameter}
        )
        self._state_by_holders = [PopulationState(0, (None,), ArrivalState())]
        self._wait_moments: tuple[int, dict[int, tuple[Array, Array]]] = (0, {})
        """The largest number of holders solved so far, and the result of `_waits_alone` for it."""

    def can_hold_all_permits(self, processors: int) -> bool:
        """Return whether there are enough processors to hold all permits at the same time."""
        return processors >= self.queue.servers

    def _cycles_of_holders(self, most_holders: int) -> list[CycleState]:
        """Solve the body for 1, 2, ... holders alone, and return their cycles."""
        states = self._state_by_holders
        for number_of_holders in range(len(states), most_holders + 1):
            states.append(
                self._step_of_holders.solve_population(
                    (number_of_holders,), {(number_of_holders - 1,): states[-1]}
                )
            )
            # The next step reads only the last state; what arrivals find in earlier states is
            # dropped to free memory.
            states[-2] = replace(states[-2], arrivals=ArrivalState())
        return [state.first_cycle for state in states[1 : most_holders + 1]]

    def holder_probabilities(self, processors: int, mean_numbers: MeanNumbers) -> Array:
        """Return the probabilities that 0, 1, ... of some processors hold or wait for a permit [1]
        [rows, numbers]. The last one is the probability that their number is at least the number of
        permits.
        """
        most_holders = min(self.queue.servers, processors)
        _, number_present, flow = mean_numbers.numbers_at_queue(self.queue)
        processors_away = processors - number_present
        # At saturation all processors are at the permits; a rest of 1e-12 keeps the ratios finite.
        time_elsewhere = limited_to_range(processors_away, 1e-12 * processors) / without_zeros(flow)
        times_of_holders = (cycle.time.mean for cycle in self._cycles_of_holders(most_holders))
        times_alone = _stacked_columns([time_elsewhere, *times_of_holders])[..., 1:]
        rate_ratios = times_alone / (np.arange(1, most_holders + 1) * time_elsewhere[..., None])
        return finite_source_numbers_up_to_servers(rate_ratios, processors)

    def time_held_by_all(self) -> RandomTime:
        """Return the time for which one permit is held while all are held.

        Its scv is that of a cycle alone where holders do not wait, and that of the services they
        wait for where waits take most of the time; in between it is interpolated by the part of the
        waits in the time (chosen here; its error is in that of the class).
        """
        cycle_alone, *_, full_cycle = self._cycles_of_holders(self.queue.servers)
        visit_times = full_cycle.visit_times
        visit_ratios = self._ratios_of_holders
        wait_by_visit = {
            visit_index: visit_ratios[visit_index] * wait.mean
            for visit_index, wait in visit_times.waits.items()
        }
        total_wait = sum_of_columns(wait_by_visit.values())
        mean_time = full_cycle.time.mean
        mean_scv = sum_of_columns(
            waited_time * visit_times.services[visit_index].scv
            for visit_index, waited_time in wait_by_visit.items()
        ) / without_zeros(total_wait)
        scv = cycle_alone.time.scv + total_wait / without_zeros(mean_time) * (
            mean_scv - cycle_alone.time.scv
        )
        return RandomTime(mean_time, scv * mean_time * mean_time)

    def waits(self, holder_probabilities: Array | None) -> dict[int, RandomTime]:
        """Return the waits of a processor that has acquired a permit, at each visit that it makes
        under the permit.

        Parameters
        ----------
        holder_probabilities : result of the method of this name for the other processors; None if
            there are no others
        """
        if holder_probabilities is None:
            return {}
        probability_by_holders = holder_probabilities[..., : self.queue.servers].copy()
        waits_by_visit = {}
        # A processor that had to wait for one of c permits is one of c holders once it has a
        # permit, like a processor that found c - 1 permits held.
        probability_by_holders[..., -1] += holder_probabilities[..., self.queue.servers :].sum(
            axis=-1
        )
        for visit_index, (mean_waits, mean_squares) in self._waits_alone(
            holder_state_count := probability_by_holders.shape[-1]
        ).items():
            mean_wait, mean_square = (
                np.einsum(
                    "...k,...k->...",
                    probability_by_holders,
                    moment_columns[..., :holder_state_count],
                )
                for moment_columns in (mean_waits, mean_squares)
            )
            waits_by_visit[visit_index] = RandomTime(mean_wait, mean_square - mean_wait * mean_wait)
        return waits_by_visit

    def _waits_alone(self, holder_count: int) -> dict[int, tuple[Array, Array]]:
        """Return means and mean squares of the waits at each visit for 1, 2, ... holders, up to
        `holder_count` or more [s, s^2] [rows, holders].
        """
        if self._wait_moments[0] < holder_count:
            # The recursion asks for one holder more at each step: doubling keeps stacking rare.
            most_holders = min(2 * holder_count, self.queue.servers)
            waits_of_holder_counts = [
                cycle.visit_times.waits for cycle in self._cycles_of_holders(most_holders)
            ]
            mean_by_visit, variance_by_visit = (
                {
                    visit_index: _stacked_columns(
                        [
                            getattr(wait_by_visit[visit_index], moment)
                            for wait_by_visit in waits_of_holder_counts
                        ]
                    )
                    for visit_index in waits_of_holder_counts[0]
                }
                for moment in ("mean", "variance")
            )
            moments = {
                visit_index: (mean_wait, variance_by_visit[visit_index] + mean_wait * mean_wait)
                for visit_index, mean_wait in mean_by_visit.items()
            }
            self._wait_moments = (most_holders, moments)
        return self._wait_moments[1]


def _stacked_columns(columns: Sequence[Array]) -> Array:
    """Return several columns, broadcast to one shape, as one array whose last axis numbers the
    columns.
    """
    return np.stack(np.broadcast_arrays(*columns), axis=-1)


def _is_memoryless(node: Activity, model: Model, is_nested: bool = False) -> bool:
    """Return whether all times of an activity are exponential, except where product form does not
    need it: delays, and services at shared servers, may have any distribution outside of a nested
    lock.
    """
    if isinstance(node, VisitedStep):
        station = node.visit and model.resources.get(node.visit.queue)
        shares_servers = isinstance(station, Station) and DISCIPLINES[station.discipline].at_once
        return node.step.scv == 1.0 or (not is_nested and (node.visit is None or shares_servers))
    return all(
        _is_memoryless(child, model, is_nested or isinstance(node, VisitedHold))
        for child in node.children
    )


def _share_parameter(visit: Visit) -> Expr:
    """Return the parameter whose value is the fraction of the acquisitions of a permit that are
    made at one visit [1].
    """
    return Parameter(f"share.visit-{visit.index}")


def _with_one_fewer(population: Population, group_index: int) -> Population:
    """Return a population with one processor of a group fewer."""
    return tuple(
        member_count - (member_group == group_index)
        for member_group, member_count in enumerate(population)
    )


def _weight_of_members(
    queue: Queue,
    members: int | Array,
    mean_numbers: MeanNumbers,
    service_by_visit: Mapping[int, RandomTime],
    usual_weight: Array,
) -> Array:
    """Return the weight of a whole service in the remaining time of a service at a queue [1], by
    `_weight_by_machine_repair`, for one population or for each population of a batch.

    Parameters
    ----------
    queue : the queue
    members : processors that visit the queue, in one population or in each row
    mean_numbers : mean numbers at all visits
    service_by_visit : service at each visit
    usual_weight : weight where services vary no more than exponential ones
    """
    if isinstance(members, int):
        return _weight_by_machine_repair(
            queue, members, mean_numbers, service_by_visit, usual_weight
        )
    row_counts = members[:, 0]
    if (row_counts == row_counts[0]).all():
        return _weight_by_machine_repair(
            queue, int(row_counts[0]), mean_numbers, service_by_visit, usual_weight
        )
    weight_shape = (len(row_counts), usual_weight.shape[-1])
    weight_by_row = np.empty(weight_shape, dtype=usual_weight.dtype)
    for member_count in np.unique(row_counts).tolist():
        has_count = row_counts == member_count
        weight_by_row[has_count] = _weight_by_machine_repair(
            queue,
            member_count,
            mean_numbers.selected_rows(queue, has_count, weight_shape),
            service_by_visit,
            np.broadcast_to(usual_weight, weight_shape)[has_count],
        )
    return weight_by_row


def _weight_by_machine_repair(
    queue: Queue,
    member_count: int,
    mean_numbers: MeanNumbers,
    service_by_visit: Mapping[int, RandomTime],
    usual_weight: Array,
) -> Array:
    """Return the weight of a whole service in the remaining time of a service that an arriving
    processor finds [1]: by the machine-repair model where services have an scv above 1, else
    `usual_weight`.

    The services are the mixture of all visits, each as if it were drawn anew. The rest of the cycle
    is taken as an exponential delay, and c servers as one that is c times as fast, for those
    customers that find all busy. Exact for one queue of one server behind an exponential delay; at
    scv 4 the time behind two or three servers is up to 3.7 % too long
    (tests/method/mean_value/test_closed.py).
    """
    rates_and_services = [
        (mean_numbers.flows[visit.index] / queue.copies, service_by_visit[visit.index])
        for visit in queue.visits
    ]
    total_visit_rate = sum_of_columns(visit_rate for visit_rate, _ in rates_and_services)
    mean_service_time = sum_of_columns(
        visit_rate * service.mean for visit_rate, service in rates_and_services
    ) / without_zeros(total_visit_rate)
    mean_square = sum_of_columns(
        visit_rate * (service.variance + service.mean**2)
        for visit_rate, service in rates_and_services
    ) / without_zeros(total_visit_rate)
    scv = mean_square / without_zeros(mean_service_time * mean_service_time) - 1
    is_varied = (scv.real > LEAST_VARIED) & (mean_service_time.real > 0)
    other_requests = member_count * queue.requests - queue.servers + 1
    if other_requests < 1 or not np.any(is_varied):
        return usual_weight
    number_present = mean_numbers.numbers_at_queue(queue)[1]
    requests_away = limited_to_range(member_count * queue.requests - number_present)
    mean_service_time, total_visit_rate = (
        np.where(is_varied, column, 1.0) for column in (mean_service_time, total_visit_rate)
    )
    # At least a millionth of a service is spent elsewhere, so that nothing divides by 0.
    time_elsewhere = limited_to_range(requests_away / total_visit_rate, 1e-6 * mean_service_time)
    service_classes = []
    for visit_rate, service in rates_and_services:
        probability = np.where(
            is_varied, visit_rate / total_visit_rate, 1.0 / len(rates_and_services)
        )
        service_time = np.where(is_varied, service.mean, 1.0) / queue.servers
        service_scv = np.where(is_varied, service.scv, 2.0)
        service_classes.append((probability, service_time, service_scv))
    # Solved for the weight w in residual = (1 - w) full + w mean.
    residual_service = (
        finite_source_residual(other_requests + 1, time_elsewhere, service_classes) * queue.servers
    )
    full_residual = residual_time(mean_service_time, scv)
    return np.where(
        is_varied,
        (full_residual - residual_service) / (full_residual - mean_service_time),
        usual_weight,
    )


def without_negative_parts(seconds_booked: dict[str, Array]) -> dict[str, Array]:
    """Return an account, by label, without negative parts and with the same sum: negative parts
    become 0, and the other parts shrink in proportion.

    The account can book a negative part to a label, because a longer time may make a mixture less
    variable, and a maximum over it shorter.
    """
    sum_of_all = sum_of_columns(seconds_booked.values())
    not_below_zero = {
        label: np.where(seconds > 0, seconds, 0.0) for label, seconds in seconds_booked.items()
    }
    sum_above_zero = sum_of_columns(not_below_zero.values())
    reduction_factor = np.where(
        sum_above_zero > sum_of_all,
        sum_of_all / np.where(sum_above_zero > 0, sum_above_zero, 1.0),
        1.0,
    )
    return {label: seconds * reduction_factor for label, seconds in not_below_zero.items()}


def _missing_wait(
    cycle_times: Sequence[Array],
    works_of_groups: Sequence[Array],
    visits_of_groups: Sequence[Array],
) -> Array:
    """Return the wait that must be added to each visit to a queue so that its utilization is not
    above 1 [s]; 0 if that holds without it.

    The wait d solves sum a / (t + v d) = 1 over the groups, where a is the work of a group at the
    queue in a cycle, t its cycle time and v its number of visits. It is found by Newton's method;
    for one group a single step is exact.
    """
    missing_wait = np.zeros(1)
    for _ in range(NEWTON_STEPS):
        longer_times = [
            mean_time + visits_of_group * missing_wait
            for mean_time, visits_of_group in zip(cycle_times, visits_of_groups, strict=True)
        ]
        utilization = sum_of_columns(
            work_of_group / without_zeros(longer_time)
            for work_of_group, longer_time in zip(works_of_groups, longer_times, strict=True)
        )
        utilization_slope = sum_of_columns(
            work_of_group * visits_of_group / without_zeros(longer_time * longer_time)
            for work_of_group, visits_of_group, longer_time in zip(
                works_of_groups, visits_of_groups, longer_times, strict=True
            )
        )
        # To the last digit, so that derivatives, which lag a step behind, converge too.
        if not np.any(utilization.real > 1):
            break
        # Newton's method solves 1 - 1 / utilization = 0, which is linear in the wait for one group.
        is_overloaded = (utilization.real > 1) & (utilization_slope.real > 0)
        newton_step = np.where(
            is_overloaded,
            (utilization * utilization - utilization) / without_zeros(utilization_slope),
            0.0,
        )
        missing_wait = missing_wait + newton_step
    return missing_wait


def _probability_all_busy(queue: Queue, processors: int, mean_numbers: MeanNumbers) -> Array:
    """Return the probability that all servers of a queue are busy [1]; the rest of the cycle is
    taken as a delay (chosen here; see the construct "permits" of benchmarks/mean_value.py).
    """
    busy_servers, number_present, _ = mean_numbers.numbers_at_queue(queue)
    if queue.servers == 1:
        return limited_to_range(busy_servers, high=1.0)
    return all_busy_probability(
        number_present, busy_servers, processors * queue.requests, queue.servers
    )


def _processors_follow_in_step(recursion: Recursion) -> bool:
    """Return whether all times of a model are constant, so that the processors follow each other in
    a fixed order and wait only at the busiest queue.
    """
    nodes = [node for tree in recursion.trees for node in steps(tree.root)]
    is_random = bool(recursion.spin_locks) or any(node.variation == ALWAYS for node in nodes)
    return not is_random and not any(
        queue.serves_at_once or queue.name == PROCESSORS for queue in recursion.queues
    )


def _distinct_points(columns: Mapping[Expr, Array], point_count: int) -> tuple[Array, Array]:
    """Find points with equal numbers. Return the index of the first point of each set of equal
    points, and for each point the index of its set.
    """
    if not columns:
        return np.zeros(1, dtype=int), np.zeros(point_count, dtype=int)
    number_table = np.stack(list(columns.values()), axis=1)
    _, first_points, set_by_point = np.unique(
        number_table, axis=0, return_index=True, return_inverse=True
    )
    return first_points, set_by_point.reshape(-1)


def _exact_populations(
    recursion: Recursion, value_by_expr: Numbers, processors_by_point: Array, point_indexes: Array
) -> Iterator[SolvedPopulation]:
    """Solve points in product form, with groups as classes, and yield each population with the
    points that have it.

    Parameters
    ----------
    recursion : the recursion of the model
    value_by_expr : every number of the model, at all points
    processors_by_point : whole numbers of processors [points, groups]
    point_indexes : indexes of the points to solve
    """
    for processors_of_groups in np.unique(processors_by_point[point_indexes], axis=0):
        chosen_indexes = point_indexes[
            (processors_by_point[point_indexes] == processors_of_groups).all(axis=1)
        ]
        member_counts = tuple(map(int, processors_of_groups))
        values_at_points = select_points(value_by_expr, chosen_indexes)
        cycles = _cycles_alone(recursion, values_at_points, member_counts)
        relative_waits = _relative_waits(recursion, values_at_points, cycles)
        cycles_with_waits: list[CycleState | None] = []
        for tree, cycle, wait_by_queue in zip(recursion.trees, cycles, relative_waits, strict=True):
            visit_ratios = tree.visit_ratios(values_at_points)
            services = cycle.visit_times.services
            # No maximum is taken in product form, so that nothing reads the variance of a wait.
            waits = {}
            for visit in tree.visits:
                if visit.queue in wait_by_queue:
                    mean_wait = services[visit.index].mean * wait_by_queue[visit.queue]
                    waits[visit.index] = RandomTime(mean_wait, 0 * mean_wait)
            mean_time = cycle.time.mean + sum_of_columns(
                visit_ratios[visit_index] * waits[visit_index].mean for visit_index in waits
            )
            time_of_cycle = RandomTime(mean_time, cycle.time.variance)
            visit_times = VisitTimes(waits, services)
            cycles_with_waits.append(
                CycleState(cycle.members, time_of_cycle, visit_times) if cycle.members else None
            )
        processors = sum(member_counts)
        state = PopulationState(processors, tuple(cycles_with_waits), ArrivalState(processors))
        yield SolvedPopulation(
            state, values_at_points, chosen_indexes, np.arange(len(chosen_indexes))
        )


def _cycles_alone(
    recursion: Recursion, value_by_expr: Numbers, member_counts: Population
) -> list[CycleState]:
    """Return the cycle of each group without waits.

    Parameters
    ----------
    member_counts : number of processors of each group
    """
    cycles = []
    for tree, member_count in zip(recursion.trees, member_counts, strict=True):
        traversal = Traversal(recursion.model, value_by_expr, sum(member_counts), {})
        time_of_cycle = traversal.time(tree.root)
        cycles.append(CycleState(member_count, time_of_cycle, traversal.visit_times))
    return cycles


def _relative_waits(
    recursion: Recursion, value_by_expr: Numbers, cycles: Sequence[CycleState]
) -> list[dict[str, Array]]:
    """Return for each group the wait at each queue, by the name of the queue, as a multiple of the
    group's service demand there [1].
    """
    queue_names = [queue.name for queue in recursion.queues]
    if not queue_names:
        return [{} for _ in cycles]
    from slipstick.queueing.exact import exact

    times_and_services = []
    for cycle in cycles:
        services = {
            visit_index: service_time.mean
            for visit_index, service_time in cycle.visit_times.services.items()
        }
        times_and_services.append((cycle.time.mean, services))
    member_counts = [cast(int, cycle.members) for cycle in cycles]
    network = network_of_groups(
        recursion.trees, recursion.queues, value_by_expr, member_counts, times_and_services
    )
    has_customers = network.population.any(axis=1)
    relative_waits = np.zeros(network.demand.shape, dtype=network.demand.dtype)
    if has_customers.any():
        demand = network.demand[has_customers]
        relative_residence = exact(network.select(has_customers)).residence / without_zeros(demand)
        # A queue without demand has no wait.
        relative_waits[has_customers] = np.where(demand.real > 0, relative_residence - 1, 0.0)
    return [
        dict(zip(queue_names, relative_waits[:, group_index].T, strict=True))
        for group_index in range(len(cycles))
    ]
