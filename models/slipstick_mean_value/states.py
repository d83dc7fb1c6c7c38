"""Steady states of closed populations, as the mean-value recursion computes them.

The recursion computes the state of a population from the states with one processor fewer, so that
all populations of one number of processors in the same groups can be computed at the same time.
Their states are rows of the arrays: [populations, points] in place of [points].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, product
from typing import TypeVar

from slipstick.late import dataclass, np
from slipstick.random_times import Array, RandomTime
from slipstick_mean_value.arrivals import ArrivalState
from slipstick_mean_value.traversal import VisitTimes

Key = TypeVar("Key")

Population = tuple[int, ...]
"""Number of processors of each group."""

Members = tuple[int | Array, ...]
"""Number of processors of each group: one number, or a column with the numbers in several
populations [populations, 1].
"""


@dataclass(frozen=True, slots=True)
class CycleState:
    """The cycle of one group of processors in the steady state.

    Parameters
    ----------
    members : number of processors of the group; an array for several populations
    time : time of a cycle
    visit_times : waits and services at the visits of a cycle
    """

    members: int | Array
    time: RandomTime
    visit_times: VisitTimes

    @property
    def rate(self) -> Array:
        """Return the number of cycles that all members together complete in a second [1/s]."""
        mean_time = self.time.mean
        rate: Array = self.members / np.where(mean_time.real > 0, mean_time, np.inf)
        return rate


@dataclass(frozen=True, slots=True)
class PopulationState:
    """The steady state of a population.

    Parameters
    ----------
    processors : number of processors of all groups
    cycles : the cycle of each group; None for a group without processors
    arrivals : the mean state that one more processor finds on arrival
    """

    processors: int
    cycles: tuple[CycleState | None, ...]
    arrivals: ArrivalState

    @property
    def first_cycle(self) -> CycleState:
        """Return the cycle of the first group, whose time is the answer."""
        assert self.cycles[0] is not None
        return self.cycles[0]


def batches(largest_population: Population, largest_batch_size: int) -> Iterator[list[Population]]:
    """Yield all populations up to the largest one, each after the populations with one processor
    fewer. They come in lists of up to `largest_batch_size` populations, which have the same total
    number of processors, in the same groups.

    >>> list(batches((1, 2), 8))
    [[(0, 0)], [(0, 1)], [(1, 0)], [(0, 2)], [(1, 1)], [(1, 2)]]
    """
    populations = sorted(
        product(*(range(processors + 1) for processors in largest_population)),
        key=_shared_properties,
    )
    for _, alike_populations in groupby(populations, key=_shared_properties):
        batch = list(alike_populations)
        for first_population in range(0, len(batch), largest_batch_size):
            yield batch[first_population : first_population + largest_batch_size]


def _shared_properties(population: Population) -> tuple[int, tuple[bool, ...]]:
    """Return the properties that populations must have in common to be solved together: the total
    number of processors, and for each group whether it has processors.
    """
    return sum(population), tuple(member_count > 0 for member_count in population)


def stacked_states(
    states: Sequence[PopulationState], cycles_alone: Sequence[CycleState]
) -> PopulationState:
    """Return the states of several populations, with equal total numbers of processors, as one
    state, whose arrays have a row for each population. The result has only the numbers that the
    waits of an arriving processor depend on.

    Parameters
    ----------
    states : states of the populations, in models without locks and permits
    cycles_alone : for each group, the cycle of one processor alone; it stands for the cycle of a
        group without processors
    """
    cycles = []
    for group_index, cycle_alone in enumerate(cycles_alone):
        cycles_of_group = [state.cycles[group_index] or cycle_alone for state in states]
        member_counts = np.array([[cycle.members] for cycle in cycles_of_group])
        time = _stacked_times([cycle.time for cycle in cycles_of_group])
        cycles.append(CycleState(member_counts, time, VisitTimes()))
    arrivals = [state.arrivals for state in states]
    return PopulationState(
        states[0].processors,
        tuple(cycles),
        ArrivalState(
            arrivals[0].other_processors,
            present=_rows_by_key([state.present for state in arrivals]),
            in_service=_rows_by_key([state.in_service for state in arrivals]),
            services={
                visit_index: _stacked_times([state.services[visit_index] for state in arrivals])
                for visit_index in arrivals[0].services
            },
            probability_all_busy=_rows_by_key([state.probability_all_busy for state in arrivals]),
            whole_service_weight=_rows_by_key([state.whole_service_weight for state in arrivals]),
        ),
    )


def rows_of_columns(columns: Sequence[Array]) -> Array:
    """Return columns as the rows of one array."""
    if len({column.shape for column in columns}) > 1:
        columns = np.broadcast_arrays(*columns)
    # `np.stack` costs twice as much, for it adds an axis to each column.
    rows: Array = np.concatenate(columns).reshape(len(columns), *columns[0].shape)
    return rows


def _rows_by_key(tables: Sequence[Mapping[Key, Array]]) -> dict[Key, Array]:
    """Return several tables, each with one array by key, as one table whose arrays have a row for
    each of the tables.
    """
    return {key: rows_of_columns([table[key] for table in tables]) for key in tables[0]}


def _stacked_times(times: Sequence[RandomTime]) -> RandomTime:
    """Return several random times as one whose arrays have a row for each of them."""
    return RandomTime(
        rows_of_columns([time.mean for time in times]),
        rows_of_columns([time.variance for time in times]),
    )


def single_states(
    state: PopulationState, populations: Sequence[Population]
) -> Iterator[PopulationState]:
    """Yield the state of each population of a batch from their common state.

    Parameters
    ----------
    state : common state, whose arrays have a row for each population
    populations : populations in the order of the rows
    """
    for row_index, population in enumerate(populations):
        row_selector = _RowSelector(row_index)
        yield PopulationState(
            state.processors,
            tuple(
                row_selector.cycle_at_row(member_count, cycle) if cycle else None
                for member_count, cycle in zip(population, state.cycles, strict=True)
            ),
            row_selector.arrivals_at_row(state.arrivals),
        )


class _RowSelector:
    """Selects the row of one population from arrays that have a row for each of several
    populations.
    """

    def __init__(self, row_index: int) -> None:
        self._row_index = row_index

    def row_of(self, array: Array) -> Array:
        """Return the row of this population. An array without an axis of populations is returned
        unchanged; of an array with a single row that row is returned, because it holds for all
        populations.
        """
        if array.ndim < 2:
            return array
        row: Array = array[self._row_index if len(array) > 1 else 0]
        return row

    def rows_by_key(self, arrays: Mapping[Key, Array]) -> dict[Key, Array]:
        """Return the row of this population from each array of a table."""
        return {key: self.row_of(array) for key, array in arrays.items()}

    def time_at_row(self, time: RandomTime) -> RandomTime:
        """Return a random time in this population."""
        return RandomTime(self.row_of(time.mean), self.row_of(time.variance), time.kind)

    def times_at_row(self, time_by_visit: Mapping[int, RandomTime]) -> dict[int, RandomTime]:
        """Return the random time of each visit in this population."""
        return {visit_index: self.time_at_row(time) for visit_index, time in time_by_visit.items()}

    def cycle_at_row(self, member_count: int, cycle: CycleState) -> CycleState:
        """Return the cycle of a group, which has `member_count` processors in this population."""
        visit_times = VisitTimes(
            self.times_at_row(cycle.visit_times.waits),
            self.times_at_row(cycle.visit_times.services),
            self.rows_by_key(cycle.visit_times.branch_waits),
            shortfalls=self.rows_by_key(cycle.visit_times.shortfalls),
        )
        return CycleState(member_count, self.time_at_row(cycle.time), visit_times)

    def arrivals_at_row(self, arrivals: ArrivalState) -> ArrivalState:
        """Return the mean state that an arriving processor finds in this population."""
        return ArrivalState(
            arrivals.other_processors,
            present=self.rows_by_key(arrivals.present),
            in_service=self.rows_by_key(arrivals.in_service),
            services=self.times_at_row(arrivals.services),
            probability_all_busy=self.rows_by_key(arrivals.probability_all_busy),
            whole_service_weight=self.rows_by_key(arrivals.whole_service_weight),
        )
