"""Steady states of closed populations, as the mean-value recursion computes them.

The recursion computes the state of a population from the states with one processor fewer, so that
all populations of one number of processors in the same groups can be computed at the same time.
Their states are rows of the arrays: [populations, points] in place of [points].
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from typing import TypeVar

from slipstick.late import np
from slipstick.random_times import Array, RandomTime
from slipstick_mean_value.arrivals import ArrivalState
from slipstick_mean_value.traversal import VisitTimes

Key = TypeVar("Key")

Population = tuple[int, ...]
"""Number of processors of each group."""

Members = tuple[int | Array, ...]
"""Number of processors of each group, or of several populations as columns [populations, 1]."""


@dataclass(frozen=True, slots=True)
class CycleState:
    """The cycle of one group at one population: its time, waits and services.

    Parameters
    ----------
    members : processors of the group; an array for several populations
    time : of a cycle
    visit_times : waits and services
    """

    members: int | Array
    time: RandomTime
    visit_times: VisitTimes

    @property
    def rate(self) -> Array:
        """Return how many cycles all members complete in a second [1/s]."""
        mean_time = self.time.mean
        rate: Array = self.members / np.where(mean_time.real > 0, mean_time, np.inf)
        return rate


@dataclass(frozen=True, slots=True)
class PopulationState:
    """The steady state of a population.

    Parameters
    ----------
    processors : of all groups
    cycles : of each group; None where it is empty
    arrivals : what one more processor would find
    """

    processors: int
    cycles: tuple[CycleState | None, ...]
    arrivals: ArrivalState

    @property
    def first_cycle(self) -> CycleState:
        """Return the state of the group that answers are about."""
        assert self.cycles[0] is not None
        return self.cycles[0]


def batches(largest_population: Population, most_together: int) -> Iterator[list[Population]]:
    """Yield all populations up to the largest one, each after the populations with one processor
    fewer. They come in lists of up to `most_together` that have the same number of processors in
    the same groups.

    >>> list(batches((1, 2), 8))
    [[(0, 0)], [(0, 1)], [(1, 0)], [(0, 2)], [(1, 1)], [(1, 2)]]
    """
    populations = sorted(
        product(*(range(processors + 1) for processors in largest_population)),
        key=_shared_properties,
    )
    for _, alike_populations in groupby(populations, key=_shared_properties):
        batch = list(alike_populations)
        for first_population in range(0, len(batch), most_together):
            yield batch[first_population : first_population + most_together]


def _shared_properties(population: Population) -> tuple[int, tuple[bool, ...]]:
    """Return what populations must have in common to be solved together: their number of
    processors, and the groups that have any.
    """
    return sum(population), tuple(members > 0 for members in population)


def stacked_states(
    states: Sequence[PopulationState], cycles_alone: Sequence[CycleState]
) -> PopulationState:
    """Return the states of several populations of one number of processors as one state, whose
    arrays have a row for each population. It holds only what the waits of an arriving processor
    need.

    Parameters
    ----------
    states : of the populations; without locks and permits
    cycles_alone : the cycle of one processor of each group, which stands for that of an empty group
    """
    cycles = []
    for group_index, cycle_alone in enumerate(cycles_alone):
        cycles_of_group = [state.cycles[group_index] or cycle_alone for state in states]
        members = np.array([[cycle.members] for cycle in cycles_of_group])
        time = _stacked_times([cycle.time for cycle in cycles_of_group])
        cycles.append(CycleState(members, time, VisitTimes()))
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
            all_busy=_rows_by_key([state.all_busy for state in arrivals]),
            whole_service=_rows_by_key([state.whole_service for state in arrivals]),
        ),
    )


def rows_of_columns(columns: Sequence[Array]) -> Array:
    """Return columns as the rows of one array."""
    if len({column.shape for column in columns}) > 1:
        columns = np.broadcast_arrays(*columns)
    # `np.stack` costs twice as much, for it adds an axis to each column.
    rows: Array = np.concatenate(columns).reshape(len(columns), *columns[0].shape)
    return rows


def _rows_by_key(columns: Sequence[Mapping[Key, Array]]) -> dict[Key, Array]:
    """Return several tables of columns as one table of arrays, with a row for each of the
    tables.
    """
    return {key: rows_of_columns([column[key] for column in columns]) for key in columns[0]}


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
    state : of all populations
    populations : in the order of the rows
    """
    for row_index, population in enumerate(populations):
        row = _RowOfBatch(row_index)
        yield PopulationState(
            state.processors,
            tuple(
                row.cycle(members, cycle) if cycle else None
                for members, cycle in zip(population, state.cycles, strict=True)
            ),
            row.arrivals(state.arrivals),
        )


class _RowOfBatch:
    """Selects the row of one population from the arrays of a batch."""

    def __init__(self, row_index: int) -> None:
        self._row_index = row_index

    def row_of(self, array: Array) -> Array:
        """Return the row of this population. An array without an axis of populations is returned
        unchanged, and a single row holds for all populations.
        """
        if array.ndim < 2:
            return array
        row: Array = array[self._row_index if len(array) > 1 else 0]
        return row

    def columns(self, arrays: Mapping[Key, Array]) -> dict[Key, Array]:
        """Return the row of this population from each array of a table."""
        return {key: self.row_of(array) for key, array in arrays.items()}

    def time(self, time: RandomTime) -> RandomTime:
        """Return the random time of this population."""
        return RandomTime(self.row_of(time.mean), self.row_of(time.variance), time.kind)

    def times(self, times: Mapping[int, RandomTime]) -> dict[int, RandomTime]:
        """Return the random time of each visit for this population."""
        return {visit_index: self.time(time) for visit_index, time in times.items()}

    def cycle(self, members: int, cycle: CycleState) -> CycleState:
        """Return the cycle of a group of `members` processors for this population."""
        visit_times = VisitTimes(
            self.times(cycle.visit_times.waits),
            self.times(cycle.visit_times.services),
            self.columns(cycle.visit_times.branch_waits),
            shortfalls=self.columns(cycle.visit_times.shortfalls),
        )
        return CycleState(members, self.time(cycle.time), visit_times)

    def arrivals(self, arrivals: ArrivalState) -> ArrivalState:
        """Return the state that an arriving processor finds for this population."""
        return ArrivalState(
            arrivals.other_processors,
            present=self.columns(arrivals.present),
            in_service=self.columns(arrivals.in_service),
            services=self.times(arrivals.services),
            all_busy=self.columns(arrivals.all_busy),
            whole_service=self.columns(arrivals.whole_service),
        )
